#include "metrics_server.h"

#include <assert.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bounds.h"
#include "listen_address.h"
#include "log.h"
#include "memory.h"

#define CHECK_MS 1000u
#define PLAIN_TYPE "text/plain; charset=utf-8"
#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* A connection. */
struct visitor {
	TAILQ_ENTRY(visitor) link;
	int fd;
	uint64_t since_ms; /* its beginning, or the end of its last answer */
	bool is_waiting;   /* for us */
};

/* What all who have waited for it get. */
struct answer {
	unsigned users;
	unsigned status;
	struct MHD_Response *response;
};

/* A request. */
struct question {
	TAILQ_ENTRY(question) link; /* while it waits */
	struct MHD_Connection *connection;
	struct visitor *visitor;
	struct answer *answer; /* NULL: none yet */
	bool is_waiting;
};

struct metrics_server {
	struct loop *loop;
	struct MHD_Daemon *daemon;
	TAILQ_HEAD(, visitor) visitors;
	TAILQ_HEAD(, question) waiting;
	uv_poll_t poll;
	uv_timer_t timer; /* of the daemon's own times, and ours */
	unsigned open;    /* handles of libuv's */
	bool has_room;    /* a connection was closed */
	char *url;
	void (*on_wanted)(void *arg);
	void *arg;
};

static void on_timer(uv_timer_t *timer);

/* --- answers ---------------------------------------------------------------------------- */

static struct MHD_Response *
text_response(const char *text, const char *type)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
	    strlen(text), xstrdup(text), MHD_RESPMEM_MUST_FREE);

	if (response == NULL)
		fatal("no memory");
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	return response;
}

static enum MHD_Result
say(struct MHD_Connection *connection, unsigned status, const char *text)
{
	struct MHD_Response *response = text_response(text, PLAIN_TYPE);
	enum MHD_Result result;

	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static void
let_wait(struct metrics_server *server, struct question *question)
{
	bool is_first = TAILQ_EMPTY(&server->waiting);

	question->is_waiting = question->visitor->is_waiting = true;
	TAILQ_INSERT_TAIL(&server->waiting, question, link);
	MHD_suspend_connection(question->connection);
	if (is_first)
		server->on_wanted(server->arg);
}

static struct visitor *
visitor_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info->socket_context;
}

/* Called with a request's head, behind it, and once more when it has waited.
 * NOLINTBEGIN(readability-function-size): the library says which parameters. */
static enum MHD_Result
on_request(void *arg, struct MHD_Connection *connection, const char *path,
    const char *method, const char *version, const char *body, size_t *body_size,
    void **question_p)
{
	struct metrics_server *server = arg;
	struct question *question = *question_p;

	(void)version;
	(void)body;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
	    strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return say(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET only.\n");
	if (question == NULL) {
		*question_p = question = xcalloc(1, sizeof *question);
		question->connection = connection;
		question->visitor = visitor_of(connection);
		return MHD_YES;
	}
	if (*body_size > 0) { /* nobody needs it */
		*body_size = 0;
		return MHD_YES;
	}
	if (strcmp(path, "/") == 0)
		return say(connection, MHD_HTTP_OK,
		    "flotilla metrics: Prometheus scrapes /metrics\n");
	if (strcmp(path, "/metrics") != 0)
		return say(connection, MHD_HTTP_NOT_FOUND, "There is /metrics.\n");
	if (question->answer != NULL)
		return MHD_queue_response(
		    connection, question->answer->status, question->answer->response);
	let_wait(server, question);
	return MHD_YES;
}
/* NOLINTEND(readability-function-size) */

/* Takes *answer_p, when nobody else uses it. */
static void
answer_release(struct answer **answer_p)
{
	struct answer *answer = *answer_p;

	*answer_p = NULL;
	if (answer == NULL || --answer->users > 0)
		return;
	MHD_destroy_response(answer->response);
	free(answer);
}

/* It has an answer, or its connection is gone. */
static void
end_wait(struct metrics_server *server, struct question *question)
{
	TAILQ_REMOVE(&server->waiting, question, link);
	question->is_waiting = question->visitor->is_waiting = false;
}

static void
run_soon(struct metrics_server *server)
{
	uv_timer_start(&server->timer, on_timer, 0, 0);
}

void
metrics_server_answer(struct metrics_server *server, const char *text)
{
	struct answer *answer = xcalloc(1, sizeof *answer);
	struct question *question;

	answer->users = 1;
	answer->status = text != NULL ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
	answer->response = text_response(
	    text != NULL ? text : "It ends.\n", text != NULL ? METRICS_TYPE : PLAIN_TYPE);
	while ((question = TAILQ_FIRST(&server->waiting)) != NULL) {
		end_wait(server, question);
		question->visitor->since_ms = loop_now_ms(server->loop);
		question->answer = answer;
		answer->users++;
		MHD_resume_connection(question->connection);
	}
	answer_release(&answer);
	run_soon(server);
}

/* --- connections -------------------------------------------------------------------------- */

static void
on_connection(void *arg, struct MHD_Connection *connection, void **visitor_p,
    enum MHD_ConnectionNotificationCode what)
{
	struct metrics_server *server = arg;
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
on_completed(void *arg, struct MHD_Connection *connection, void **question_p,
    enum MHD_RequestTerminationCode why)
{
	struct metrics_server *server = arg;
	struct question *question = *question_p;

	(void)connection;
	(void)why;
	*question_p = NULL;
	if (question == NULL)
		return;
	if (question->is_waiting)
		end_wait(server, question);
	question->visitor->since_ms = loop_now_ms(server->loop);
	answer_release(&question->answer);
	free(question);
}

/* libmicrohttpd sees those on which nothing moves, not those on which a byte does now and then. */
static void
cut_slow(struct metrics_server *server)
{
	uint64_t now = loop_now_ms(server->loop);
	struct visitor *visitor;

	TAILQ_FOREACH(visitor, &server->visitors, link)
		if (!visitor->is_waiting && now > visitor->since_ms + METRICS_REQUEST_MS)
			shutdown(visitor->fd, SHUT_RDWR);
}

/* --- the loop ------------------------------------------------------------------------------- */

/* Behind the last connection may come one that has waited in the kernel for want of room: it is seen by
 * the run after the one that made room, and nothing else calls for that. */
static void
run(struct metrics_server *server)
{
	MHD_UNSIGNED_LONG_LONG wait_ms;

	cut_slow(server);
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
	struct metrics_server *server = handle->data;

	if (--server->open > 0)
		return;
	free(server->url);
	free(server);
}

/* --- life ------------------------------------------------------------------------------------- */

static struct MHD_Daemon *
start(struct metrics_server *server, int fd)
{
	return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
	    on_request, server, MHD_OPTION_LISTEN_SOCKET, (MHD_socket)fd,
	    MHD_OPTION_CONNECTION_LIMIT, METRICS_CONNECTIONS_MAX,
	    MHD_OPTION_CONNECTION_TIMEOUT, METRICS_IDLE_S,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)METRICS_HEAD_BYTES_MAX,
	    MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_NOTIFY_CONNECTION,
	    on_connection, server, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
	    MHD_OPTION_END);
}

static void
watch(struct metrics_server *server)
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

struct metrics_server *
metrics_server_new(struct loop *loop, const char *where, void (*on_wanted)(void *arg),
    void *arg, const char **error_r, bool *is_usage_r)
{
	int fd = listen_at(where, error_r, is_usage_r);
	struct metrics_server *server;
	char shown[128];

	if (fd == -1)
		return NULL;
	server = xcalloc(1, sizeof *server);
	server->loop = loop;
	server->on_wanted = on_wanted;
	server->arg = arg;
	TAILQ_INIT(&server->visitors);
	TAILQ_INIT(&server->waiting);
	server->daemon = start(server, fd);
	if (server->daemon == NULL) {
		*error_r = "libmicrohttpd does not start";
		close(fd);
		free(server);
		return NULL;
	}
	listen_shown(fd, shown, sizeof shown);
	if (asprintf(&server->url, "http://%s/metrics", shown) == -1)
		fatal("no memory");
	watch(server);
	return server;
}

void
metrics_server_destroy(struct metrics_server **server_p)
{
	struct metrics_server *server = *server_p;

	*server_p = NULL;
	if (server == NULL)
		return;
	metrics_server_answer(server, NULL); /* none may wait when it stops */
	MHD_run(server->daemon);
	uv_poll_stop(&server->poll);
	MHD_stop_daemon(server->daemon);
	assert(TAILQ_EMPTY(&server->visitors));
	uv_close((uv_handle_t *)&server->poll, on_closed);
	uv_close((uv_handle_t *)&server->timer, on_closed);
}

const char *
metrics_server_url(const struct metrics_server *server)
{
	return server->url;
}
