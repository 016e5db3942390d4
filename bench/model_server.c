/* model_server: an OpenAI-compatible server that costs next to nothing, for measuring a
 * fleet and not its provider.
 *
 *	model-server [-p port] [-f port_file] [-l latency_ms] [-r rounds] [-n tool]
 *	    [-a arguments] [-c calls] [-b bytes] [-t tokens] [-g gap_ms]
 *
 * The number of assistant messages in the request decides: the first `rounds` (3) answers
 * call `tool` (lookup) `calls` times (1) with `arguments` (a JSON object), all later ones
 * are the final text. Each has a text of `bytes`. Streams when asked to: the text in
 * `tokens` events, in one write, or each in its own, `gap_ms` behind the one before. One
 * thread, epoll, keep-alive; a small request costs one read and one write. Prints its port (to
 * port_file, if given), says READY=1, serves until SIGTERM.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>

#include "model_replies.h"
#include "usage.h"

#define EVENTS_MAX 256
#define REQUEST_BYTES_MAX ((size_t)64 << 20)
#define READ_BYTES ((size_t)16 << 10)

TAILQ_HEAD(connections, connection);

/* One client; what it sends is gathered in `in`. */
struct connection {
	TAILQ_ENTRY(connection) entries;
	TAILQ_ENTRY(connection) queue; /* of those that wait */
	int fd;
	char *in;
	size_t size, room;
	const struct reply *reply;    /* on its way; NULL: none */
	size_t sent;                  /* bytes of it, */
	size_t begun;                 /* and parts */
	struct connections *queue_in; /* NULL: none */
	bool is_full;                 /* until it can be written to */
	uint64_t due_ms;
};

struct server {
	int epoll_fd, listen_fd, signal_fd;
	uint64_t latency_ms, gap_ms;
	struct replies replies;
	struct connections open;
	/* In both the one due first is first: what they wait for is constant. */
	struct connections waiting; /* for the first byte: latency_ms */
	struct connections pausing; /* between two parts: gap_ms */
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
queue_leave(struct connection *c)
{
	if (c->queue_in != NULL)
		TAILQ_REMOVE(c->queue_in, c, queue);
	c->queue_in = NULL;
}

static void
queue_join(struct connection *c, struct connections *queue, uint64_t wait_ms)
{
	c->due_ms = now_ms() + wait_ms;
	c->queue_in = queue;
	TAILQ_INSERT_TAIL(queue, c, queue);
}

static void
connection_close(struct server *server, struct connection *c)
{
	queue_leave(c);
	TAILQ_REMOVE(&server->open, c, entries);
	close(c->fd);
	free(c->in);
	free(c);
}

/* To be told when c can be read, and, while is_full, when it can be written to. */
static void
set_full(const struct server *server, struct connection *c, bool is_full)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };

	if (c->is_full == is_full)
		return;
	c->is_full = is_full;
	if (is_full)
		event.events |= EPOLLOUT;
	if (epoll_ctl(server->epoll_fd, EPOLL_CTL_MOD, c->fd, &event) == -1)
		err(EXIT_FAILURE, "epoll_ctl");
}

/* Sends of the reply what is to go out now and what the socket takes. Returns 0, or -1 when
 * the connection is no good. */
static int
send_reply(struct server *server, struct connection *c)
{
	const struct reply *reply = c->reply;
	size_t end = reply->size;
	ssize_t sent;

	if (server->gap_ms > 0)
		end = reply->ends[c->begun];
	sent = write(c->fd, reply->bytes + c->sent, end - c->sent);
	if (sent == -1 && errno != EAGAIN && errno != EINTR)
		return -1;
	c->sent += sent > 0 ? (size_t)sent : 0;
	set_full(server, c, c->sent < end);
	if (c->sent == reply->size)
		c->reply = NULL;
	else if (c->sent == end) {
		c->begun++;
		queue_join(c, &server->pausing, server->gap_ms);
	}
	return 0;
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
		c->reply = reply;
		c->sent = c->begun = 0;
		if (server->latency_ms > 0)
			queue_join(c, &server->waiting, server->latency_ms);
		else if (send_reply(server, c) == -1)
			return -1;
	}
	return 0;
}

/* Sends more of the reply, then serves what was asked meanwhile. */
static void
go_on(struct server *server, struct connection *c)
{
	if (send_reply(server, c) == -1 || serve_gathered(server, c) == -1)
		connection_close(server, c);
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

/* Sends what is due in queue. Returns how long to sleep, -1: for ever. */
static int
send_due(struct server *server, struct connections *queue)
{
	struct connection *c;
	uint64_t now = now_ms();

	while ((c = TAILQ_FIRST(queue)) != NULL && c->due_ms <= now) {
		queue_leave(c);
		go_on(server, c);
	}
	return c == NULL ? -1 : (int)(c->due_ms - now);
}

static int
send_all_due(struct server *server)
{
	int first = send_due(server, &server->waiting);
	int next = server->gap_ms > 0 ? send_due(server, &server->pausing) : -1;

	return first == -1 || (next != -1 && next < first) ? next : first;
}

static void
on_event(struct server *server, const struct epoll_event *event)
{
	struct connection *c = event->data.ptr;

	if ((event->events & EPOLLOUT) != 0 && c->is_full)
		go_on(server, c);
	else
		on_readable(server, c);
}

static void
serve(struct server *server)
{
	struct epoll_event events[EVENTS_MAX];

	for (;;) {
		int ready = epoll_wait(
		    server->epoll_fd, events, EVENTS_MAX, send_all_due(server));

		for (int i = 0; i < ready; i++) {
			if (events[i].data.ptr == &server->signal_fd)
				return;
			if (events[i].data.ptr == &server->listen_fd)
				on_connect(server);
			else
				on_event(server, &events[i]);
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
	TAILQ_INIT(&server->pausing);
	usage_raise_file_limit(); /* a connection a call */
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

/* What a letter of the command line sets, and up to where. */
static void
set_number(struct server *server, int option, const char *text)
{
	struct replies *replies = &server->replies;

	if (option == 'l')
		server->latency_ms = number(text, INT_MAX);
	else if (option == 'g')
		server->gap_ms = number(text, INT_MAX);
	else if (option == 'r')
		replies->rounds = (unsigned)number(text, ROUNDS_MAX);
	else if (option == 'c')
		replies->parallel = (unsigned)number(text, TOOL_CALLS_MAX);
	else if (option == 'b')
		replies->content_bytes = number(text, CONTENT_BYTES_MAX);
	else if (option == 't')
		replies->pieces = (unsigned)number(text, PIECES_MAX);
	else
		exit(EXIT_FAILURE);
}

int
main(int argc, char *argv[])
{
	static struct server server = { .replies.rounds = 3 };
	const char *tool = "lookup", *arguments = "{\"q\": \"question\"}",
		   *port_file = NULL;
	uint16_t port = 0;
	int option;

	while ((option = getopt(argc, argv, "p:f:l:r:n:a:c:b:t:g:")) != -1) {
		if (option == 'p')
			port = (uint16_t)number(optarg, UINT16_MAX);
		else if (option == 'n')
			tool = optarg;
		else if (option == 'a')
			arguments = optarg;
		else if (option == 'f')
			port_file = optarg;
		else
			set_number(&server, option, optarg);
	}
	replies_make(&server.replies, tool, arguments);
	open_server(&server, port, port_file);
	serve(&server);
	close_server(&server);
	return EXIT_SUCCESS;
}
