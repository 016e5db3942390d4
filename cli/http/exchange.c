#include "http_server_private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fiber.h"
#include "log.h"
#include "memory.h"

#define STREAM_BLOCK_BYTES 16384u
#define SMALL_BYTES 16384u /* of an answer that always has room */
#define STALLED_MS 1000u   /* who takes nothing for so long gives way to who does */
#define PLAIN_TYPE "text/plain; charset=utf-8"

static bool
is_head(const struct exchange *exchange)
{
	return strcmp(exchange->method, MHD_HTTP_METHOD_HEAD) == 0;
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

void
request_resume(struct request *request)
{
	if (!request->is_suspended || request->connection == NULL)
		return;
	request->is_suspended = false;
	MHD_resume_connection(request->connection);
	http_server_run_soon(request->server);
}

/* What its fiber alone needed: a reader who takes his time shall not hold that, too. */
static void
let_go(struct request *request)
{
	request_uncount(request);
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
	request_tell_done(request);
	request->server->answers_bytes -= request->answered;
	let_go(request);
	if (request->whose != NULL)
		request->server->options.on_end(
		    request->server->options.arg, request->whose);
	packet_release(&request->pending);
	if (request->response != NULL)
		MHD_destroy_response(request->response);
	free(request);
}

struct request *
request_new(struct http_server *server, struct MHD_Connection *connection,
    const char *method, const char *path)
{
	struct request *request = xcalloc(1, sizeof *request);
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	request->server = server;
	request->connection = connection;
	request->visitor = info->socket_context;
	request->visitor->since_ms = loop_now_ms(server->loop);
	request->exchange.arena = arena_new();
	request->exchange.method = arena_strdup(request->exchange.arena, method);
	request->exchange.path = arena_strdup(request->exchange.arena, path);
	request->headers = value_empty_array();
	TAILQ_INSERT_TAIL(&server->requests, request, link);
	request_keep(request);
	return request;
}

void
request_answer_text(struct request *request, unsigned status, const char *text)
{
	if (request->server->options.tells_json) {
		text = arena_printf(request->exchange.arena, "{\"detail\":\"%.*s\"}",
		    (int)strcspn(text, "\n"), text);
		exchange_answer(
		    &request->exchange, status, "application/json", text, strlen(text));
		return;
	}
	exchange_answer(&request->exchange, status, PLAIN_TYPE, text, strlen(text));
}

static void
serve(void *arg)
{
	struct request *request = arg;
	struct exchange *exchange = &request->exchange;

	request->server->options.on_request(request->server->options.arg, exchange);
	if (!exchange_is_answered(exchange))
		request_answer_text(
		    request, MHD_HTTP_INTERNAL_SERVER_ERROR, "No answer.\n");
	request->is_ended = true;
	request->is_broken = fiber_cancelled();
	request->fiber = NULL;
	let_go(request);
	request_resume(request);
	free_if_unused(request);
}

/* All of it is there. */
void
request_begin(struct request *request)
{
	struct http_server *server = request->server;

	packet_append(&request->body, "", 1);
	request->exchange.body = request->body.data;
	request->exchange.body_size = request->body.size - 1;
	if (server->is_closing || (request->fiber = fiber_start(server->loop, "request",
				       serve, request)) == NULL) {
		request_answer_text(request, MHD_HTTP_SERVICE_UNAVAILABLE, HTTP_TOO_MUCH);
		return;
	}
	request->begun_ms = loop_now_ms(server->loop);
	request->visitor->is_served = true;
	suspend(request);
}

void
request_leave(struct request *request)
{
	request->connection = NULL;
	request->is_gone = request->is_gone || request->response == NULL;
	unwatch_visitor(request);
	if (request->fiber != NULL)
		fiber_cancel(request->fiber);
	free_if_unused(request);
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
	request_resume(request);
}

/* Of the answers of which much is held, the one whose reader has taken nothing for the longest. NULL: all take. */
static struct request *
find_stalled(const struct http_server *server)
{
	uint64_t now = loop_now_ms(server->loop);
	struct request *request, *stalled = NULL;

	TAILQ_FOREACH(request, &server->requests, link)
		if (request->is_stream && request->answered + request->kept > 0 &&
		    request->pending.size > request->taken && !request->is_cut &&
		    request->connection != NULL &&
		    now > request->visitor->since_ms + STALLED_MS &&
		    (stalled == NULL ||
			request->visitor->since_ms < stalled->visitor->since_ms))
			stalled = request;
	return stalled;
}

/* At once, and without what the kernel still has for the reader. */
static void
cut_off(struct request *request)
{
	struct linger none = { .l_onoff = 1 };

	request->is_cut = true;
	setsockopt(request->visitor->fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
	shutdown(request->visitor->fd, SHUT_RDWR);
}

bool
exchange_has_room(const struct exchange *exchange)
{
	struct http_server *server = request_of(exchange)->server;
	size_t most = server->options.answers_bytes_max;
	struct request *stalled;

	if (most == 0 || server->answers_bytes < most)
		return true;
	stalled = find_stalled(server);
	if (stalled != NULL)
		cut_off(stalled);
	return false;
}

/* Whoever was told that there is room finds it when he has made his answer, with others who were. */
static bool
fits(const struct exchange *exchange, size_t size)
{
	const struct http_server *server = request_of(exchange)->server;
	size_t most = server->options.answers_bytes_max;

	return exchange_has_room(exchange) ||
	       server->answers_bytes + size <= most + most / 2;
}

/* Counts what is held for who reads the stream, if that is more than each may have. */
static void
count_pending(struct request *request)
{
	size_t room = request->pending.room;

	request->server->answers_bytes -= request->answered;
	request->answered = room > HTTP_STREAM_BYTES_MAX ? room : 0;
	request->server->answers_bytes += request->answered;
}

/* All of it was taken. What one large frame has needed is not held until the next one. */
static void
empty_pending(struct request *request)
{
	request->taken = request->pending.size = 0;
	if (request->answered > 0)
		packet_release(&request->pending);
	count_pending(request);
}

/* Takes of what is pending; the connection is left alone until there is more. */
static ssize_t
read_stream(void *arg, uint64_t position, char *buffer, size_t room)
{
	struct request *request = arg;
	size_t left = request->pending.size - request->taken;

	(void)position;
	if (left == 0 && request->is_ended)
		return request->is_broken ? MHD_CONTENT_READER_END_WITH_ERROR
					  : MHD_CONTENT_READER_END_OF_STREAM;
	if (left == 0) {
		request->visitor->is_served = true;
		suspend(request);
		return 0;
	}
	left = left < room ? left : room;
	memcpy(buffer, request->pending.data + request->taken, left);
	request->taken += left;
	request->sent += left;
	if (request->taken == request->pending.size)
		empty_pending(request);
	request->visitor->since_ms = loop_now_ms(request->server->loop);
	if (request->fiber != NULL)
		fiber_wake(request->fiber);
	return (ssize_t)left;
}

/* A large one is taken as a stream is, so that it can be seen whether it is. */
static struct MHD_Response *
large_response(struct request *request, const void *text, size_t size)
{
	request->is_stream = request->is_ended = true;
	packet_append(&request->pending, text, size);
	count_pending(request);
	return MHD_create_response_from_callback(
	    size, STREAM_BLOCK_BYTES, read_stream, request, NULL);
}

static struct MHD_Response *
small_response(struct request *request, const void *text, size_t size)
{
	request->answered = size;
	request->server->answers_bytes += size;
	return MHD_create_response_from_buffer(
	    size, size > 0 ? (void *)(uintptr_t)text : NULL, MHD_RESPMEM_MUST_COPY);
}

void
exchange_answer(struct exchange *exchange, unsigned status, const char *type,
    const void *text, size_t size)
{
	struct request *request = request_of(exchange);

	if (request->response != NULL)
		return;
	if (size > SMALL_BYTES && !fits(exchange, size))
		request_answer_text(request, MHD_HTTP_SERVICE_UNAVAILABLE, HTTP_TOO_MUCH);
	else
		answer_with(request, status, type,
		    size > HTTP_STREAM_BYTES_MAX ? large_response(request, text, size)
						 : small_response(request, text, size));
	if (request->connection != NULL) { /* now it is the reader's time */
		request->visitor->since_ms = loop_now_ms(request->server->loop);
		request->visitor->is_served = false;
	}
}

void
exchange_stream(struct exchange *exchange, unsigned status, const char *type)
{
	struct request *request = request_of(exchange);

	/* libmicrohttpd would end the head of a stream by a last chunk, which is no part of an answer to HEAD: the next
	 * answer on that connection would be read from there. */
	if (is_head(exchange)) {
		answer_with(request, status, type, small_response(request, "", 0));
		fiber_cancel(request->fiber);
		return;
	}
	request->is_stream = true;
	watch_visitor(request);
	answer_with(request, status, type,
	    MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, STREAM_BLOCK_BYTES, read_stream, request, NULL));
}

/* What was taken leaves its place in front when it has more of it than what is left: who reads as fast as is written, and
 * never has all, shall not have all of the stream kept. */
static void
close_up(struct request *request)
{
	struct packet *pending = &request->pending;
	size_t left = pending->size - request->taken;

	if (request->taken == 0 || request->taken < left)
		return;
	memmove(pending->data, pending->data + request->taken, left);
	pending->size = left;
	request->taken = 0;
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
	if (request->taken == request->pending.size)
		request->visitor->since_ms = loop_now_ms(request->server->loop);
	close_up(request);
	packet_append(&request->pending, data, size);
	count_pending(request);
	request->visitor->is_served = false; /* now it is the reader's time */
	request_resume(request);
	return 0;
}

bool
exchange_is_gone(const struct exchange *exchange)
{
	const struct request *request = request_of(exchange);

	if (is_head(exchange))
		return false; /* it has what it wanted */
	return request->connection == NULL || request->is_gone ||
	       (request->watch != NULL &&
		   !uv_is_active((const uv_handle_t *)request->watch));
}
