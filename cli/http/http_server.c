#include "http_server.h"

#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fiber.h"
#include "listen_address.h"
#include "log.h"
#include "memory.h"

#define CHECK_MS 1000u
#define GONE_MS                                                                          \
	15000u /* what takes longer than anything should is given up with who asked */
#define STREAM_BLOCK_BYTES 16384u
#define SMALL_BYTES 16384u /* of an answer that always has room */
#define TOO_MUCH "Too much is going on.\n"
#define PLAIN_TYPE "text/plain; charset=utf-8"

/* A connection. */
struct visitor {
	TAILQ_ENTRY(visitor) link;
	int fd;
	uint64_t since_ms; /* its beginning, or the end of its last answer */
	bool is_served;    /* somebody answers: its time is not the visitor's fault */
};

/* A request. Its connection and its fiber use it, each until it ends. */
struct request {
	struct exchange exchange;
	TAILQ_ENTRY(request) link;
	struct http_server *server;
	struct MHD_Connection *connection; /* NULL: gone */
	struct visitor *visitor;
	struct fiber *fiber; /* that answers; NULL: none, or it has ended */
	uint64_t begun_ms;   /* it was */
	struct packet body;
	size_t counted;  /* of body, among the server's */
	size_t answered; /* the same of an answer in one piece */
	struct MHD_Response *response;
	unsigned status;
	const struct value *headers; /* [name, value, ...] */
	struct packet pending;       /* of a stream, from taken on */
	size_t taken;
	bool is_ended;  /* of a stream: nothing follows */
	bool is_queued; /* its answer is libmicrohttpd's */
	bool is_suspended;
	uv_poll_t *watch; /* for who goes away while we wait */
};

struct http_server {
	struct loop *loop;
	struct http_server_options options;
	struct MHD_Daemon *daemon;
	TAILQ_HEAD(, visitor) visitors;
	TAILQ_HEAD(, request) requests;
	size_t bodies_bytes, answers_bytes;
	uv_poll_t poll;
	uv_timer_t timer; /* of the daemon's own times, and ours */
	uint64_t look_at; /* for who has gone */
	unsigned open;    /* handles of libuv's */
	bool has_room;    /* a connection was closed */
	bool is_closing;
	char where[128];
};

static void on_timer(uv_timer_t *timer);

static void
run_soon(struct http_server *server)
{
	uv_timer_start(&server->timer, on_timer, 0, 0);
}

static struct request *
request_of(const struct exchange *exchange)
{
	return (struct request *)exchange; /* its first member */
}

/* --- who goes away ---------------------------------------------------------------------- */

static void
on_watch_closed(uv_handle_t *handle)
{
	close((int)(intptr_t)handle->data);
	free(handle);
}

static void
on_hang_up(uv_poll_t *poll, int status, int events)
{
	struct request *request = (struct request *)poll->data;

	(void)status;
	(void)events;
	uv_poll_stop(poll);
	if (request->fiber != NULL)
		fiber_cancel(request->fiber);
}

/* libmicrohttpd looks at no connection that is suspended. A descriptor of our own may outlive it. */
static void
watch_visitor(struct request *request)
{
	int fd = dup(request->visitor->fd);

	if (fd == -1)
		return;
	request->watch = xcalloc(1, sizeof *request->watch);
	if (uv_poll_init(loop_uv(request->server->loop), request->watch, fd) != 0) {
		close(fd);
		free(request->watch);
		request->watch = NULL;
		return;
	}
	request->watch->data = request;
	uv_poll_start(request->watch, UV_DISCONNECT, on_hang_up);
}

static void
unwatch_visitor(struct request *request)
{
	int fd;

	if (request->watch == NULL)
		return;
	if (uv_fileno((const uv_handle_t *)request->watch, &fd) != 0)
		fd = -1;
	uv_poll_stop(request->watch);
	request->watch->data = (void *)(intptr_t)fd;
	uv_close((uv_handle_t *)request->watch, on_watch_closed);
	request->watch = NULL;
}

/* --- a request's life ------------------------------------------------------------------- */

static void
suspend(struct request *request)
{
	request->is_suspended = true;
	MHD_suspend_connection(request->connection);
}

static void
resume(struct request *request)
{
	if (!request->is_suspended || request->connection == NULL)
		return;
	request->is_suspended = false;
	MHD_resume_connection(request->connection);
	run_soon(request->server);
}

/* What its fiber alone needed: a reader who takes his time shall not hold that, too. */
static void
let_go(struct request *request)
{
	request->server->bodies_bytes -= request->counted;
	request->counted = 0;
	packet_release(&request->body);
	request->headers = value_empty_array();
	arena_destroy(&request->exchange.arena);
	request->exchange = (struct exchange){ 0 };
}

/* Neither its connection nor its fiber use it any more. */
static void
free_if_unused(struct request *request)
{
	if (request->connection != NULL || request->fiber != NULL)
		return;
	unwatch_visitor(request);
	TAILQ_REMOVE(&request->server->requests, request, link);
	request->server->answers_bytes -= request->answered;
	let_go(request);
	packet_release(&request->pending);
	if (request->response != NULL)
		MHD_destroy_response(request->response);
	free(request);
}

static struct request *
request_new(struct http_server *server, struct MHD_Connection *connection,
    const char *method, const char *path)
{
	struct request *request = xcalloc(1, sizeof *request);
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	request->server = server;
	request->connection = connection;
	request->visitor = info->socket_context;
	request->exchange.arena = arena_new();
	request->exchange.method = arena_strdup(request->exchange.arena, method);
	request->exchange.path = arena_strdup(request->exchange.arena, path);
	request->headers = value_empty_array();
	TAILQ_INSERT_TAIL(&server->requests, request, link);
	return request;
}

static void
answer_text(struct exchange *exchange, unsigned status, const char *text)
{
	exchange_answer(exchange, status, PLAIN_TYPE, text, strlen(text));
}

static void
serve(void *arg)
{
	struct request *request = arg;
	struct exchange *exchange = &request->exchange;

	request->server->options.on_request(request->server->options.arg, exchange);
	if (!exchange_is_answered(exchange))
		answer_text(exchange, MHD_HTTP_INTERNAL_SERVER_ERROR, "No answer.\n");
	request->is_ended = true;
	request->fiber = NULL;
	let_go(request);
	resume(request);
	free_if_unused(request);
}

/* All of it is there. */
static void
begin_service(struct request *request)
{
	struct http_server *server = request->server;

	packet_append(&request->body, "", 1);
	request->exchange.body = request->body.data;
	request->exchange.body_size = request->body.size - 1;
	if (server->is_closing || (request->fiber = fiber_start(server->loop, "request",
				       serve, request)) == NULL) {
		answer_text(&request->exchange, MHD_HTTP_SERVICE_UNAVAILABLE, TOO_MUCH);
		return;
	}
	request->begun_ms = loop_now_ms(server->loop);
	request->visitor->is_served = true;
	suspend(request);
}

/* --- answers ---------------------------------------------------------------------------- */

static void
add_headers(const struct request *request)
{
	size_t i;

	for (i = 0; i + 1 < value_size(request->headers); i += 2)
		MHD_add_response_header(request->response,
		    value_text(value_at(request->headers, i)),
		    value_text(value_at(request->headers, i + 1)));
}

void
exchange_add_header(struct exchange *exchange, const char *name, const char *value)
{
	struct request *request = request_of(exchange);
	struct arena *arena = exchange->arena;

	if (strpbrk(value, "\r\n") != NULL)
		return;
	request->headers =
	    value_array_add(arena, request->headers, value_str(arena, name));
	request->headers =
	    value_array_add(arena, request->headers, value_str(arena, value));
}

bool
exchange_is_answered(const struct exchange *exchange)
{
	return request_of(exchange)->response != NULL;
}

static void
answer_with(struct request *request, unsigned status, const char *type,
    struct MHD_Response *response)
{
	if (response == NULL)
		fatal("no memory");
	request->response = response;
	request->status = status;
	if (type != NULL)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	add_headers(request);
	resume(request);
}

void
exchange_answer(struct exchange *exchange, unsigned status, const char *type,
    const void *text, size_t size)
{
	struct request *request = request_of(exchange);
	struct http_server *server = request->server;
	size_t most = server->options.answers_bytes_max;

	if (request->response != NULL)
		return;
	if (most > 0 && size > SMALL_BYTES && server->answers_bytes + size > most) {
		answer_text(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, TOO_MUCH);
		return;
	}
	request->answered = size;
	server->answers_bytes += size;
	answer_with(request, status, type,
	    MHD_create_response_from_buffer(
		size, size > 0 ? (void *)(uintptr_t)text : NULL, MHD_RESPMEM_MUST_COPY));
}

/* Takes of what is pending; the connection is left alone until there is more. */
static ssize_t
read_stream(void *arg, uint64_t position, char *buffer, size_t room)
{
	struct request *request = arg;
	size_t left = request->pending.size - request->taken;

	(void)position;
	if (left == 0 && request->is_ended)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (left == 0) {
		request->visitor->is_served = true;
		suspend(request);
		return 0;
	}
	left = left < room ? left : room;
	memcpy(buffer, request->pending.data + request->taken, left);
	request->taken += left;
	request->visitor->since_ms = loop_now_ms(request->server->loop);
	if (request->taken == request->pending.size)
		request->taken = request->pending.size = 0;
	if (request->fiber != NULL)
		fiber_wake(request->fiber);
	return (ssize_t)left;
}

void
exchange_stream(struct exchange *exchange, unsigned status, const char *type)
{
	struct request *request = request_of(exchange);

	watch_visitor(request);
	answer_with(request, status, type,
	    MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, STREAM_BLOCK_BYTES, read_stream, request, NULL));
}

int
exchange_write(struct exchange *exchange, const void *data, size_t size)
{
	struct request *request = request_of(exchange);

	while (request->connection != NULL &&
	       request->pending.size - request->taken > HTTP_STREAM_BYTES_MAX)
		if (fiber_wait() == -1)
			return -1;
	if (request->connection == NULL || fiber_cancelled())
		return -1;
	if (request->taken == request->pending.size) {
		request->taken = request->pending.size = 0;
		request->visitor->since_ms = loop_now_ms(request->server->loop);
	}
	packet_append(&request->pending, data, size);
	request->visitor->is_served = false; /* now it is the reader's time */
	resume(request);
	return 0;
}

bool
exchange_is_gone(const struct exchange *exchange)
{
	const struct request *request = request_of(exchange);

	return request->connection == NULL ||
	       (request->watch != NULL &&
		   !uv_is_active((const uv_handle_t *)request->watch));
}

const char *
exchange_header(const struct exchange *exchange, const char *name)
{
	struct MHD_Connection *connection = request_of(exchange)->connection;

	return connection == NULL
		   ? NULL
		   : MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* A parameter that is looked for, and its values so far. */
struct wanted {
	struct arena *arena;
	const char *name, *text;
};

static enum MHD_Result
on_parameter(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct wanted *wanted = arg;

	(void)kind;
	value = value != NULL ? value : "";
	if (strcmp(name, wanted->name) == 0)
		wanted->text = wanted->text == NULL ? arena_strdup(wanted->arena, value)
						    : arena_printf(wanted->arena, "%s,%s",
							  wanted->text, value);
	return MHD_YES;
}

const char *
exchange_query(const struct exchange *exchange, const char *name)
{
	struct MHD_Connection *connection = request_of(exchange)->connection;
	struct wanted wanted = { exchange->arena, name, NULL };

	if (connection != NULL)
		MHD_get_connection_values(
		    connection, MHD_GET_ARGUMENT_KIND, on_parameter, &wanted);
	return wanted.text;
}

/* --- libmicrohttpd's calls ---------------------------------------------------------------- */

/* Keeps a piece of the body, or answers that it is too much. */
static void
take_body(struct request *request, const char *data, size_t size)
{
	struct http_server *server = request->server;

	if (exchange_is_answered(&request->exchange))
		return;
	if (request->body.size + size > server->options.body_bytes_max) {
		answer_text(&request->exchange, MHD_HTTP_CONTENT_TOO_LARGE,
		    "The body is too large.\n");
		return;
	}
	if (server->bodies_bytes + size > server->options.bodies_bytes_max) {
		answer_text(&request->exchange, MHD_HTTP_SERVICE_UNAVAILABLE, TOO_MUCH);
		return;
	}
	server->bodies_bytes += size;
	request->counted += size;
	packet_append(&request->body, data, size);
}

static enum MHD_Result
queue(struct request *request)
{
	request->is_queued = true;
	return MHD_queue_response(
	    request->connection, request->status, request->response);
}

/* How often a request says what there is of it, and whom it is for. */
struct framing {
	unsigned lengths, codings, hosts;
	bool is_odd; /* a coding that we do not know */
};

static enum MHD_Result
on_framing(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct framing *framing = arg;

	(void)kind;
	framing->lengths += strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0;
	framing->hosts += strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0;
	if (strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) != 0)
		return MHD_YES;
	framing->codings++;
	framing->is_odd |= value == NULL || strcasecmp(value, "chunked") != 0;
	return MHD_YES;
}

/* A proxy in front of us may read such a request in another way, and what it takes for a body as a request of somebody
 * else's. libmicrohttpd lets it pass. */
static void
refuse_ambiguous(struct request *request)
{
	struct framing framing = { 0 };

	MHD_get_connection_values(
	    request->connection, MHD_HEADER_KIND, on_framing, &framing);
	if (framing.lengths + framing.codings > 1 || framing.hosts > 1 || framing.is_odd)
		answer_text(&request->exchange, MHD_HTTP_BAD_REQUEST,
		    "One Host, and one Content-Length or Transfer-Encoding: chunked.\n");
}

/* Called with a request's head, with each piece of its body, behind them, and once more when it has
 * waited. NOLINTBEGIN(readability-function-size): the library says which parameters. */
static enum MHD_Result
on_call(void *arg, struct MHD_Connection *connection, const char *path,
    const char *method, const char *version, const char *body, size_t *body_size,
    void **request_p)
{
	struct http_server *server = arg;
	struct request *request = *request_p;

	(void)version;
	if (request == NULL) {
		*request_p = request = request_new(server, connection, method, path);
		refuse_ambiguous(request);
		if (!exchange_is_answered(&request->exchange) &&
		    server->options.on_head != NULL)
			server->options.on_head(server->options.arg, &request->exchange);
		return exchange_is_answered(&request->exchange) ? queue(request)
								: MHD_YES;
	}
	if (*body_size > 0) {
		take_body(request, body, *body_size);
		*body_size = 0;
		return MHD_YES;
	}
	if (!exchange_is_answered(&request->exchange) && request->fiber == NULL)
		begin_service(request);
	if (exchange_is_answered(&request->exchange) && !request->is_queued)
		return queue(request);
	return MHD_YES;
}
/* NOLINTEND(readability-function-size) */

static void
on_connection(void *arg, struct MHD_Connection *connection, void **visitor_p,
    enum MHD_ConnectionNotificationCode what)
{
	struct http_server *server = arg;
	struct visitor *visitor = *visitor_p;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		TAILQ_REMOVE(&server->visitors, visitor, link);
		server->has_room = true;
		free(visitor);
		return;
	}
	*visitor_p = visitor = xcalloc(1, sizeof *visitor);
	visitor->fd =
	    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
		->connect_fd;
	visitor->since_ms = loop_now_ms(server->loop);
	TAILQ_INSERT_TAIL(&server->visitors, visitor, link);
}

/* An answer was taken, or the connection broke. */
static void
on_completed(void *arg, struct MHD_Connection *connection, void **request_p,
    enum MHD_RequestTerminationCode why)
{
	struct request *request = *request_p;

	(void)arg;
	(void)connection;
	(void)why;
	*request_p = NULL;
	if (request == NULL)
		return;
	request->visitor->since_ms = loop_now_ms(request->server->loop);
	request->visitor->is_served = false;
	request->connection = NULL;
	unwatch_visitor(request);
	if (request->fiber != NULL)
		fiber_cancel(request->fiber);
	free_if_unused(request);
}

/* --- the loop ------------------------------------------------------------------------------- */

/* libmicrohttpd sees those on which nothing moves, not those on which a byte does now and then. */
static void
cut_slow(struct http_server *server)
{
	uint64_t now = loop_now_ms(server->loop);
	struct visitor *visitor;

	TAILQ_FOREACH(visitor, &server->visitors, link)
		if (!visitor->is_served &&
		    now > visitor->since_ms + server->options.request_ms)
			shutdown(visitor->fd, SHUT_RDWR);
}

static bool
has_hung_up(const struct visitor *visitor)
{
	struct pollfd fd = { .fd = visitor->fd, .events = POLLRDHUP };

	return poll(&fd, 1, 0) == 1;
}

/* Who waits for an answer in one piece and gives up is noticed now and then, so that what will not be done for long (no
 * coordinator is there) does not take all room. */
static void
cut_gone(struct http_server *server)
{
	uint64_t now = loop_now_ms(server->loop);
	struct request *request;

	if (now < server->look_at)
		return;
	server->look_at = now + CHECK_MS;
	TAILQ_FOREACH(request, &server->requests, link)
		if (request->fiber != NULL && request->connection != NULL &&
		    request->watch == NULL && now > request->begun_ms + GONE_MS &&
		    has_hung_up(request->visitor))
			fiber_cancel(request->fiber);
}

/* Behind the last connection may come one that has waited in the kernel for want of room: it is seen by
 * the run after the one that made room, and nothing else calls for that. */
static void
run(struct http_server *server)
{
	MHD_UNSIGNED_LONG_LONG wait_ms;

	cut_slow(server);
	cut_gone(server);
	server->has_room = false;
	MHD_run(server->daemon);
	if (MHD_get_timeout(server->daemon, &wait_ms) != MHD_YES || wait_ms > CHECK_MS)
		wait_ms = CHECK_MS;
	if (server->has_room)
		run_soon(server);
	else if (TAILQ_EMPTY(&server->visitors))
		uv_timer_stop(&server->timer);
	else
		uv_timer_start(&server->timer, on_timer, wait_ms, 0);
}

static void
on_ready(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	run(poll->data);
}

static void
on_timer(uv_timer_t *timer)
{
	run(timer->data);
}

static void
on_closed(uv_handle_t *handle)
{
	struct http_server *server = handle->data;

	if (--server->open == 0)
		free(server);
}

/* --- life ------------------------------------------------------------------------------------- */

static struct MHD_Daemon *
start(struct http_server *server, int fd)
{
	const struct http_server_options *options = &server->options;

	return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
	    on_call, server, MHD_OPTION_LISTEN_SOCKET, (MHD_socket)fd,
	    MHD_OPTION_CONNECTION_LIMIT, options->connections_max,
	    MHD_OPTION_CONNECTION_TIMEOUT, options->idle_s,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, options->head_bytes_max,
	    MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
	    MHD_OPTION_NOTIFY_CONNECTION, on_connection, server,
	    MHD_OPTION_NOTIFY_COMPLETED, on_completed, server, MHD_OPTION_END);
}

static void
watch(struct http_server *server)
{
	uv_loop_t *uv = loop_uv(server->loop);
	const union MHD_DaemonInfo *info =
	    MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);

	server->open = 2;
	server->timer.data = server->poll.data = server;
	uv_timer_init(uv, &server->timer);
	if (uv_poll_init(uv, &server->poll, info->epoll_fd) != 0 ||
	    uv_poll_start(&server->poll, UV_READABLE, on_ready) != 0)
		fatalx("epoll of libmicrohttpd cannot be watched");
}

struct http_server *
http_server_new(struct loop *loop, const struct http_server_options *options,
    const char **error_r, bool *is_usage_r)
{
	int fd = listen_at(options->listen, error_r, is_usage_r);
	struct http_server *server;

	if (fd == -1)
		return NULL;
	server = xcalloc(1, sizeof *server);
	server->loop = loop;
	server->options = *options;
	TAILQ_INIT(&server->visitors);
	TAILQ_INIT(&server->requests);
	listen_shown(fd, server->where, sizeof server->where);
	server->daemon = start(server, fd);
	if (server->daemon == NULL) {
		*error_r = "libmicrohttpd does not start";
		close(fd);
		free(server);
		return NULL;
	}
	watch(server);
	return server;
}

/* Has every fiber end; a shield, since whoever ends us may have been cancelled for it. */
static void
end_fibers(struct http_server *server)
{
	struct request *request;
	bool is_any = true;

	fiber_shield(true);
	while (is_any) {
		is_any = false;
		TAILQ_FOREACH(request, &server->requests, link)
			if (request->fiber != NULL) {
				fiber_cancel(request->fiber);
				is_any = true;
			}
		if (is_any)
			fiber_sleep(1);
	}
	fiber_shield(false);
}

void
http_server_destroy(struct http_server **server_p)
{
	struct http_server *server = *server_p;
	struct request *request;

	*server_p = NULL;
	if (server == NULL)
		return;
	server->is_closing = true;
	end_fibers(server);
	TAILQ_FOREACH(request, &server->requests, link)
		resume(request);
	MHD_run(server->daemon);
	uv_poll_stop(&server->poll);
	MHD_stop_daemon(server->daemon);
	uv_close((uv_handle_t *)&server->poll, on_closed);
	uv_close((uv_handle_t *)&server->timer, on_closed);
}

const char *
http_server_where(const struct http_server *server)
{
	return server->where;
}
