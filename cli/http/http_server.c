#include "http_server_private.h"

#include <ctype.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fiber.h"
#include "listen_address.h"
#include "log.h"
#include "memory.h"

#define CHECK_MS 1000u
#define GONE_MS                                                                          \
	3000u /* what takes longer than most, as one that waits for Redis, is given up with who asked */

static void on_timer(uv_timer_t *timer);

void
http_server_run_soon(struct http_server *server)
{
	uv_timer_start(&server->timer, on_timer, 0, 0);
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
		request_answer_text(
		    request, MHD_HTTP_CONTENT_TOO_LARGE, "The body is too large.\n");
		return;
	}
	if (request_count(request, size))
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
	bool is_odd; /* a coding that we do not know, a name that is none */
};

/* What stands in a name (RFC 9110, section 5.6.2). */
static bool
is_token(const char *name)
{
	static const char marks[] = "!#$%&'*+-.^_`|~";

	for (; *name != '\0'; name++)
		if (!isalnum((unsigned char)*name) && strchr(marks, *name) == NULL)
			return false;
	return true;
}

/* "Content-Length : 9", and what libmicrohttpd makes of one whose value stands on the next line, which others unfold:
 * "Content-Length9", without a value. */
static bool
is_disguised(const char *name)
{
	static const char *const names[] = { MHD_HTTP_HEADER_CONTENT_LENGTH,
		MHD_HTTP_HEADER_TRANSFER_ENCODING };
	size_t i, size;

	for (i = 0; i < sizeof names / sizeof *names; i++) {
		size = strlen(names[i]);
		if (strncasecmp(name, names[i], size) == 0 && name[size] != '\0')
			return true;
	}
	return !is_token(name);
}

static enum MHD_Result
on_framing(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct framing *framing = arg;

	(void)kind;
	framing->is_odd |= is_disguised(name);
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
		request_answer_text(request, MHD_HTTP_BAD_REQUEST,
		    "One Host, and one Content-Length or Transfer-Encoding: chunked, "
		    "in lines that begin with a name and a colon.\n");
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
		request_begin(request);
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
	*request_p = NULL;
	if (request == NULL)
		return;
	request->visitor->since_ms = loop_now_ms(request->server->loop);
	request->visitor->is_served = false;
	request->is_whole = why == MHD_REQUEST_TERMINATED_COMPLETED_OK;
	request_leave(request);
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
		    has_hung_up(request->visitor)) {
			request->is_gone = !exchange_is_answered(&request->exchange);
			fiber_cancel(request->fiber);
		}
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
		http_server_run_soon(server);
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

/* Slashes of names, so that they can be told from those between them. */
static void
mark_slashes(char *text)
{
	char *from = text, *to = text;

	while (*from != '\0') {
		bool is_slash = strncasecmp(from, "%2f", 3) == 0;

		*to = *from;
		if (is_slash)
			*to = HTTP_NAMED_SLASH;
		to++;
		from += is_slash ? 3 : 1;
	}
	*to = '\0';
}

/* A name with a NUL in it would be another one's, up to there: it becomes one that nothing can have; so does one with what is to
 * stand for a slash. */
static size_t
on_unescape(void *arg, struct MHD_Connection *connection, char *text)
{
	(void)arg;
	(void)connection;
	if (strstr(text, "%00") == NULL && strcasestr(text, "%1f") == NULL &&
	    strchr(text, HTTP_NAMED_SLASH) == NULL) {
		mark_slashes(text);
		return MHD_http_unescape(text);
	}
	text[0] = '\x7f';
	text[1] = '\0';
	return 1;
}

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
	    MHD_OPTION_UNESCAPE_CALLBACK, on_unescape, NULL, MHD_OPTION_NOTIFY_CONNECTION,
	    on_connection, server, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
	    MHD_OPTION_END);
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
		request_resume(request);
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
