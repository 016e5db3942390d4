/* model_server: an OpenAI-compatible server that costs next to nothing, for measuring a
 * fleet and not its provider.
 *
 *	model-server [-p port] [-f port_file] [-l latency_ms] [-r rounds] [-n tool]
 *	    [-a arguments]
 *
 * The number of assistant messages in the request decides: the first `rounds` (3) answers
 * call `tool` (lookup) with `arguments` (a JSON object), all later ones are the final
 * text. Streams when asked to. One thread, epoll, keep-alive; a request costs one read and
 * one write. Prints its port (to port_file, if given), says READY=1, serves until SIGTERM.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>

#include "model_replies.h"

#define EVENTS_MAX 256
#define REQUEST_BYTES_MAX ((size_t)64 << 20)
#define READ_BYTES ((size_t)16 << 10)

/* One client; what it sends is gathered in `in`. */
struct connection {
	TAILQ_ENTRY(connection) entries;
	TAILQ_ENTRY(connection) queue; /* of those that wait */
	int fd;
	char *in;
	size_t size, room;
	const struct reply *reply; /* on its way; NULL: none */
	uint64_t due_ms;
};
TAILQ_HEAD(connections, connection);

struct server {
	int epoll_fd, listen_fd, signal_fd;
	uint64_t latency_ms;
	struct replies replies;
	struct connections open;
	struct connections waiting; /* the one due first is first: latency is constant */
};

static uint64_t
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* --- requests ---------------------------------------------------------------------- */

/* Returns the length of the body that head announces. */
static size_t
body_length(const char *head, const char *end)
{
	static const char name[] = "\r\ncontent-length:";
	size_t size = sizeof name - 1;

	for (; head + size < end; head++)
		if (*head == '\r' && strncasecmp(head, name, size) == 0)
			return (size_t)strtoull(head + size, NULL, 10);
	return 0;
}

/* Returns the size of the request that c has gathered, with *reply_r the reply to it; 0:
 * it is not whole yet. */
static size_t
whole_request(
    const struct server *server, const struct connection *c, const struct reply **reply_r)
{
	const char *end = memmem(c->in, c->size, "\r\n\r\n", 4);
	size_t head_size, length;

	if (end == NULL)
		return 0;
	head_size = (size_t)(end - c->in) + 4;
	length = body_length(c->in, end + 2);
	if (length > REQUEST_BYTES_MAX || c->size < head_size + length)
		return 0;
	*reply_r =
	    replies_for(&server->replies, c->in, head_size, c->in + head_size, length);
	return head_size + length;
}

/* --- connections ------------------------------------------------------------------- */

static void
connection_close(struct server *server, struct connection *c)
{
	if (c->reply != NULL)
		TAILQ_REMOVE(&server->waiting, c, queue);
	TAILQ_REMOVE(&server->open, c, entries);
	close(c->fd);
	free(c->in);
	free(c);
}

/* Replies are smaller than an empty socket's buffer, and a client waits for one before it
 * sends more: a write that is cut short is a client that does not read. Returns 0, or -1
 * when the connection is no good. */
static int
send_reply(const struct connection *c, const struct reply *reply)
{
	return write(c->fd, reply->bytes, reply->size) == (ssize_t)reply->size ? 0 : -1;
}

/* Answers the requests gathered, or puts the answer in the queue. Returns 0 or -1. */
static int
serve_gathered(struct server *server, struct connection *c)
{
	const struct reply *reply;
	size_t used;

	while (c->reply == NULL && (used = whole_request(server, c, &reply)) > 0) {
		c->size -= used;
		memmove(c->in, c->in + used, c->size);
		if (server->latency_ms > 0) {
			c->reply = reply;
			c->due_ms = now_ms() + server->latency_ms;
			TAILQ_INSERT_TAIL(&server->waiting, c, queue);
		} else if (send_reply(c, reply) == -1) {
			return -1;
		}
	}
	return 0;
}

static int
make_room(struct connection *c)
{
	char *in;

	if (c->room - c->size >= READ_BYTES / 2)
		return 0;
	if (c->room > REQUEST_BYTES_MAX)
		return -1;
	c->room = c->room * 2 + READ_BYTES;
	in = realloc(c->in, c->room + 1);
	if (in == NULL)
		err(EXIT_FAILURE, "memory");
	c->in = in;
	return 0;
}

static void
on_readable(struct server *server, struct connection *c)
{
	ssize_t got;

	if (make_room(c) == -1) {
		connection_close(server, c);
		return;
	}
	got = read(c->fd, c->in + c->size, c->room - c->size);
	if (got <= 0) {
		if (got == 0 || (errno != EAGAIN && errno != EINTR))
			connection_close(server, c);
		return;
	}
	c->size += (size_t)got;
	c->in[c->size] = '\0'; /* numbers in the head end somewhere */
	if (serve_gathered(server, c) == -1)
		connection_close(server, c);
}

static void
on_connect(struct server *server)
{
	int fd;

	while ((fd = accept4(
		    server->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) != -1) {
		struct connection *c = calloc(1, sizeof *c);
		struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };

		if (c == NULL)
			err(EXIT_FAILURE, "memory");
		c->fd = fd;
		TAILQ_INSERT_TAIL(&server->open, c, entries);
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
		if (epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event) == -1)
			err(EXIT_FAILURE, "epoll_ctl");
	}
}

/* --- the loop ---------------------------------------------------------------------- */

/* Sends what is due. Returns how long to sleep. */
static int
send_due(struct server *server)
{
	struct connection *c;
	uint64_t now = now_ms();

	while ((c = TAILQ_FIRST(&server->waiting)) != NULL && c->due_ms <= now) {
		const struct reply *reply = c->reply;

		TAILQ_REMOVE(&server->waiting, c, queue);
		c->reply = NULL;
		if (send_reply(c, reply) == -1 || serve_gathered(server, c) == -1)
			connection_close(server, c);
	}
	return c == NULL ? -1 : (int)(c->due_ms - now);
}

static void
serve(struct server *server)
{
	struct epoll_event events[EVENTS_MAX];

	for (;;) {
		int ready =
		    epoll_wait(server->epoll_fd, events, EVENTS_MAX, send_due(server));

		for (int i = 0; i < ready; i++) {
			if (events[i].data.ptr == &server->signal_fd)
				return;
			if (events[i].data.ptr == &server->listen_fd)
				on_connect(server);
			else
				on_readable(server, events[i].data.ptr);
		}
	}
}

static void
watch(const struct server *server, int fd, void *which)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = which };

	if (fd == -1 || epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event) == -1)
		err(EXIT_FAILURE, "epoll");
}

static uint16_t
listen_on(struct server *server, uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof address;

	server->listen_fd =
	    socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	setsockopt(server->listen_fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(server->listen_fd, (struct sockaddr *)&address, sizeof address) == -1 ||
	    listen(server->listen_fd, SOMAXCONN) == -1 ||
	    getsockname(server->listen_fd, (struct sockaddr *)&address, &size) == -1)
		err(EXIT_FAILURE, "bind");
	return ntohs(address.sin_port);
}

/* A connection a call in flight: as many as the system lets us have. */
static void
raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
		err(EXIT_FAILURE, "getrlimit");
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) == -1)
		err(EXIT_FAILURE, "setrlimit");
}

static void
tell_port(uint16_t port, const char *port_file)
{
	FILE *file = port_file == NULL ? stdout : fopen(port_file, "we");

	if (file == NULL || fprintf(file, "%u\n", port) < 0 || fflush(file) == EOF)
		err(EXIT_FAILURE, "port");
	if (file != stdout)
		fclose(file);
}

static void
open_server(struct server *server, uint16_t port, const char *port_file)
{
	sigset_t ends;

	TAILQ_INIT(&server->open);
	TAILQ_INIT(&server->waiting);
	raise_file_limit();
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
	server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	server->signal_fd = signalfd(-1, &ends, SFD_CLOEXEC);
	port = listen_on(server, port);
	watch(server, server->signal_fd, &server->signal_fd);
	watch(server, server->listen_fd, &server->listen_fd);
	tell_port(port, port_file);
	sd_notify(0, "READY=1");
}

static void
close_server(struct server *server)
{
	struct connection *c, *next;

	for (c = TAILQ_FIRST(&server->open); c != NULL; c = next) {
		next = TAILQ_NEXT(c, entries);
		connection_close(server, c);
	}
	replies_free(&server->replies);
}

/* Reads a number of an option, 0 to max. */
static unsigned long
number(const char *text, unsigned long max)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (*end != '\0' || end == text || value > max)
		errno = ERANGE;
	if (errno != 0)
		err(EXIT_FAILURE, "%s", text);
	return value;
}

int
main(int argc, char *argv[])
{
	static struct server server = { .replies.rounds = 3 };
	const char *tool = "lookup", *arguments = "{\"q\": \"question\"}",
		   *port_file = NULL;
	uint16_t port = 0;
	int option;

	while ((option = getopt(argc, argv, "p:f:l:r:n:a:")) != -1) {
		if (option == 'p')
			port = (uint16_t)number(optarg, UINT16_MAX);
		else if (option == 'l')
			server.latency_ms = number(optarg, INT_MAX);
		else if (option == 'r')
			server.replies.rounds = (unsigned)number(optarg, ROUNDS_MAX);
		else if (option == 'n')
			tool = optarg;
		else if (option == 'a')
			arguments = optarg;
		else if (option == 'f')
			port_file = optarg;
		else
			return EXIT_FAILURE;
	}
	replies_make(&server.replies, tool, arguments);
	open_server(&server, port, port_file);
	serve(&server);
	close_server(&server);
	return EXIT_SUCCESS;
}
