#include "tiny_http.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>

#define ANSWERS_MAX 16u
#define DRIP_US 5000

struct tiny_http {
	struct event_base *base;
	struct evconnlistener *listener;
	struct event *stop;
	int stop_pipe[2];
	uint16_t port;
	pthread_t thread;
	struct connection *connections; /* of the thread alone */
	pthread_mutex_t mutex;          /* for what is below */
	struct tiny_answer answers[ANSWERS_MAX];
	unsigned answer_count, answered; /* the last one given */
	unsigned requests, accepted, open;
	char *kept[TINY_KEPT_MAX];
};

struct connection {
	struct connection *next, **link;
	struct tiny_http *server;
	struct bufferevent *stream;
	struct event *drip; /* or NULL */
	bool is_closing;    /* once all is written */
};

static void
close_connection(struct connection *connection)
{
	struct tiny_http *server = connection->server;

	pthread_mutex_lock(&server->mutex);
	server->open--;
	pthread_mutex_unlock(&server->mutex);
	*connection->link = connection->next;
	if (connection->next != NULL)
		connection->next->link = connection->link;
	if (connection->drip != NULL)
		event_free(connection->drip);
	bufferevent_free(connection->stream);
	free(connection);
}

static void
reset_connection(struct connection *connection)
{
	const struct linger linger = { .l_onoff = 1, .l_linger = 0 };

	setsockopt(bufferevent_getfd(connection->stream), SOL_SOCKET, SO_LINGER, &linger,
	    sizeof linger);
	close_connection(connection);
}

/* --- answering ----------------------------------------------------------------------- */

static void
echo(struct evbuffer *input, size_t size, struct evbuffer *output)
{
	evbuffer_add_printf(output,
	    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n",
	    size);
	evbuffer_remove_buffer(input, output, size);
}

/* Returns the next answer, or NULL to echo. */
static const struct tiny_answer *
next_answer(struct tiny_http *server)
{
	const struct tiny_answer *answer = NULL;

	pthread_mutex_lock(&server->mutex);
	server->requests++;
	if (server->answered < server->answer_count)
		server->answered++;
	if (server->answered > 0)
		answer = &server->answers[server->answered - 1];
	pthread_mutex_unlock(&server->mutex);
	return answer;
}

static void
keep_request(struct tiny_http *server, struct evbuffer *input, size_t size)
{
	pthread_mutex_lock(&server->mutex);
	if (server->requests < TINY_KEPT_MAX)
		server->kept[server->requests] =
		    strndup((const char *)evbuffer_pullup(input, (ssize_t)size), size);
	pthread_mutex_unlock(&server->mutex);
}

char *
tiny_http_request(struct tiny_http *server, unsigned index)
{
	char *copy = NULL;

	pthread_mutex_lock(&server->mutex);
	if (index < TINY_KEPT_MAX && server->kept[index] != NULL)
		copy = strdup(server->kept[index]);
	pthread_mutex_unlock(&server->mutex);
	return copy;
}

static void
on_drip(evutil_socket_t fd, short what, void *arg)
{
	struct connection *connection = arg;

	(void)fd, (void)what;
	evbuffer_add(bufferevent_get_output(connection->stream), "\n", 1);
}

static void
begin_to_drip(struct connection *connection)
{
	const struct timeval pause = { .tv_usec = DRIP_US };

	connection->drip =
	    event_new(connection->server->base, -1, EV_PERSIST, on_drip, connection);
	event_add(connection->drip, &pause);
}

/* Answers a request of size bytes. Returns false when the connection is gone. */
static bool
answer_request(struct connection *connection, struct evbuffer *input, size_t size)
{
	struct evbuffer *output = bufferevent_get_output(connection->stream);
	const struct tiny_answer *answer;

	keep_request(connection->server, input, size);
	answer = next_answer(connection->server);
	if (answer == NULL) {
		echo(input, size, output);
		return true;
	}
	evbuffer_drain(input, size);
	evbuffer_add(output, answer->bytes, answer->size);
	switch (answer->end) {
	case TINY_RESET:
		reset_connection(connection);
		return false;
	case TINY_CLOSE:
		connection->is_closing = true;
		if (evbuffer_get_length(output) > 0)
			return true;
		close_connection(connection);
		return false;
	case TINY_DRIP:
		begin_to_drip(connection);
		break;
	case TINY_KEEP:
	case TINY_HANG:
		break;
	}
	return true;
}

/* --- reading ------------------------------------------------------------------------- */

/* Returns the bytes of the request at the beginning of input, 0 when it is not whole. */
static size_t
request_bytes(struct evbuffer *input)
{
	struct evbuffer_ptr end = evbuffer_search(input, "\r\n\r\n", 4, NULL);
	size_t head, length = 0;
	const char *field;
	char *text;

	if (end.pos < 0)
		return 0;
	head = (size_t)end.pos + 4;
	text = strndup((const char *)evbuffer_pullup(input, (ssize_t)head), head);
	field = strcasestr(text, "\r\nContent-Length:");
	if (field != NULL)
		length = strtoul(field + strlen("\r\nContent-Length:"), NULL, 10);
	free(text);
	return evbuffer_get_length(input) >= head + length ? head + length : 0;
}

static void
on_read(struct bufferevent *stream, void *arg)
{
	struct evbuffer *input = bufferevent_get_input(stream);
	size_t size;

	while ((size = request_bytes(input)) > 0)
		if (!answer_request(arg, input, size))
			return;
}

static void
on_written(struct bufferevent *stream, void *arg)
{
	struct connection *connection = arg;

	(void)stream;
	if (connection->is_closing)
		close_connection(connection);
}

static void
on_event(struct bufferevent *stream, short what, void *arg)
{
	(void)stream;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		close_connection(arg);
}

static void
on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
    int size, void *arg)
{
	struct tiny_http *server = arg;
	struct connection *connection = calloc(1, sizeof *connection);

	(void)listener, (void)address, (void)size;
	connection->server = server;
	connection->next = server->connections;
	connection->link = &server->connections;
	if (connection->next != NULL)
		connection->next->link = &connection->next;
	server->connections = connection;
	pthread_mutex_lock(&server->mutex);
	server->accepted++;
	server->open++;
	pthread_mutex_unlock(&server->mutex);
	connection->stream =
	    bufferevent_socket_new(server->base, fd, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(connection->stream, on_read, on_written, on_event, connection);
	bufferevent_enable(connection->stream, EV_READ | EV_WRITE);
}

/* --- the thread ---------------------------------------------------------------------- */

static void
on_stop(evutil_socket_t fd, short what, void *arg)
{
	struct tiny_http *server = arg;

	(void)fd, (void)what;
	event_base_loopbreak(server->base);
}

static void *
serve(void *arg)
{
	struct tiny_http *server = arg;

	event_base_dispatch(server->base);
	return NULL;
}

struct tiny_http *
tiny_http_new(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct tiny_http *server = calloc(1, sizeof *server);
	socklen_t size = sizeof address;

	pthread_mutex_init(&server->mutex, NULL);
	server->base = event_base_new();
	server->listener = evconnlistener_new_bind(server->base, on_accept, server,
	    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 1024,
	    (struct sockaddr *)&address, sizeof address);
	if (server->listener == NULL || pipe(server->stop_pipe) == -1)
		abort();
	getsockname(
	    evconnlistener_get_fd(server->listener), (struct sockaddr *)&address, &size);
	server->port = ntohs(address.sin_port);
	server->stop =
	    event_new(server->base, server->stop_pipe[0], EV_READ, on_stop, server);
	event_add(server->stop, NULL);
	if (pthread_create(&server->thread, NULL, serve, server) != 0)
		abort();
	return server;
}

void
tiny_http_destroy(struct tiny_http **server_p)
{
	struct tiny_http *server = *server_p;
	struct connection *connection, *next;
	unsigned i;

	if (server == NULL)
		return;
	close(server->stop_pipe[1]);
	pthread_join(server->thread, NULL);
	for (connection = server->connections; connection != NULL; connection = next) {
		next = connection->next;
		close_connection(connection);
	}
	evconnlistener_free(server->listener);
	event_free(server->stop);
	event_base_free(server->base);
	close(server->stop_pipe[0]);
	for (i = 0; i < server->answer_count; i++)
		free((char *)server->answers[i].bytes);
	for (i = 0; i < TINY_KEPT_MAX; i++)
		free(server->kept[i]);
	pthread_mutex_destroy(&server->mutex);
	free(server);
	*server_p = NULL;
}

uint16_t
tiny_http_port(const struct tiny_http *server)
{
	return server->port;
}

void
tiny_http_add(struct tiny_http *server, const struct tiny_answer *answer)
{
	struct tiny_answer copy = *answer;
	char *bytes;

	if (copy.size == 0 && copy.bytes != NULL)
		copy.size = strlen(copy.bytes);
	bytes = malloc(copy.size + 1);
	if (bytes == NULL || server->answer_count == ANSWERS_MAX)
		abort();
	if (copy.size > 0)
		memcpy(bytes, copy.bytes, copy.size);
	copy.bytes = bytes;
	pthread_mutex_lock(&server->mutex);
	server->answers[server->answer_count++] = copy;
	pthread_mutex_unlock(&server->mutex);
}

static unsigned
read_count(struct tiny_http *server, const unsigned *count)
{
	unsigned copy;

	pthread_mutex_lock(&server->mutex);
	copy = *count;
	pthread_mutex_unlock(&server->mutex);
	return copy;
}

unsigned
tiny_http_requests(struct tiny_http *server)
{
	return read_count(server, &server->requests);
}

unsigned
tiny_http_accepted(struct tiny_http *server)
{
	return read_count(server, &server->accepted);
}

unsigned
tiny_http_open(struct tiny_http *server)
{
	return read_count(server, &server->open);
}
