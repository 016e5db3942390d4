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
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>

#define EVENTS_MAX 256
#define REQUEST_BYTES_MAX ((size_t)64 << 20)
#define READ_BYTES ((size_t)16 << 10)
#define REPLY_BYTES_MAX 2048
#define ROUNDS_MAX 64

struct reply {
	char *bytes;
	size_t size;
};

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
	unsigned rounds;
	struct reply calls[2][ROUNDS_MAX]; /* plain, streamed; by round */
	struct reply final[2];
	struct reply health, refusal;
	struct connections open;
	struct connections waiting; /* the one due first is first: latency is constant */
};

_Noreturn static void
fail(const char *what)
{
	fprintf(stderr, "model-server: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static uint64_t
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* --- replies, made once ------------------------------------------------------------ */

static struct reply
reply_new(const char *status, const char *type, const char *body)
{
	struct reply reply;
	int size = asprintf(&reply.bytes,
	    "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s", status,
	    type, strlen(body), body);

	if (size == -1)
		fail("reply");
	reply.size = (size_t)size;
	return reply;
}

static struct reply
plain_reply(const char *message, const char *finish)
{
	char body[REPLY_BYTES_MAX];

	snprintf(body, sizeof body,
	    "{\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion\",\"created\":1,"
	    "\"model\":\"bench\",\"choices\":[{\"index\":0,\"message\":{\"role\":"
	    "\"assistant\",%s},\"finish_reason\":\"%s\"}],\"usage\":{\"prompt_tokens\":"
	    "100,"
	    "\"completion_tokens\":20,\"total_tokens\":120}}",
	    message, finish);
	return reply_new("200 OK", "application/json", body);
}

static struct reply
stream_reply(const char *delta, const char *finish)
{
	char body[REPLY_BYTES_MAX];

	snprintf(body, sizeof body,
	    "data: "
	    "{\"id\":\"chatcmpl-bench\",\"model\":\"bench\",\"choices\":[{\"index\":0,"
	    "\"delta\":{\"role\":\"assistant\",%s},\"finish_reason\":null}]}\n\n"
	    "data: "
	    "{\"id\":\"chatcmpl-bench\",\"model\":\"bench\",\"choices\":[{\"index\":0,"
	    "\"delta\":{},\"finish_reason\":\"%s\"}]}\n\n"
	    "data: [DONE]\n\n",
	    delta, finish);
	return reply_new("200 OK", "text/event-stream", body);
}

/* Writes text as it stands inside a JSON string. */
static void
escape(char *to, size_t room, const char *text)
{
	size_t size = 0;

	for (; *text != '\0' && size + 3 < room; text++) {
		if (*text == '"' || *text == '\\')
			to[size++] = '\\';
		to[size++] = *text;
	}
	if (*text != '\0') {
		errno = E2BIG;
		fail("arguments");
	}
	to[size] = '\0';
}

static void
make_replies(struct server *server, const char *tool, const char *arguments)
{
	const char *text = "\"content\":\"All looked up: this is the final answer.\"";
	char call[REPLY_BYTES_MAX / 2], escaped[REPLY_BYTES_MAX / 4];

	escape(escaped, sizeof escaped, arguments);
	for (unsigned i = 0; i < server->rounds; i++) {
		snprintf(call, sizeof call,
		    "\"content\":\"\",\"tool_calls\":[{\"index\":0,\"id\":\"call_%u\","
		    "\"type\":\"function\",\"function\":{\"name\":\"%s\",\"arguments\":"
		    "\"%s\"}}]",
		    i, tool, escaped);
		server->calls[0][i] = plain_reply(call, "tool_calls");
		server->calls[1][i] = stream_reply(call, "tool_calls");
	}
	server->final[0] = plain_reply(text, "stop");
	server->final[1] = stream_reply(text, "stop");
	server->health = reply_new("200 OK", "text/plain", "ok\n");
	server->refusal = reply_new("404 Not Found", "application/json",
	    "{\"error\":{\"message\":\"POST to .../chat/completions\"}}");
}

static void
free_replies(struct server *server)
{
	for (unsigned i = 0; i < server->rounds; i++) {
		free(server->calls[0][i].bytes);
		free(server->calls[1][i].bytes);
	}
	free(server->final[0].bytes);
	free(server->final[1].bytes);
	free(server->health.bytes);
	free(server->refusal.bytes);
}

/* --- requests ---------------------------------------------------------------------- */

/* How often needle stands in the size bytes at text, up to max. */
static unsigned
count(const char *text, size_t size, const char *needle, unsigned max)
{
	size_t needle_size = strlen(needle);
	const char *end = text + size, *found;
	unsigned found_count = 0;

	while (found_count < max && (found = memmem(text, (size_t)(end - text), needle,
					 needle_size)) != NULL) {
		text = found + needle_size;
		found_count++;
	}
	return found_count;
}

/* A role is the only string that is just "assistant"; in content its quotes are escaped. */
static const struct reply *
chat_reply(const struct server *server, const char *body, size_t size)
{
	bool streamed = count(body, size, "\"stream\":true", 1) > 0 ||
			count(body, size, "\"stream\": true", 1) > 0;
	unsigned turn = count(body, size, "\"assistant\"", server->rounds);

	return turn < server->rounds ? &server->calls[streamed][turn]
				     : &server->final[streamed];
}

static const struct reply *
reply_for(const struct server *server, const char *head, size_t head_size,
    const char *body, size_t body_size)
{
	if (strncmp(head, "GET ", 4) == 0)
		return &server->health;
	if (strncmp(head, "POST ", 5) == 0 &&
	    memmem(head, head_size, "/chat/completions ", 18) != NULL)
		return chat_reply(server, body, body_size);
	return &server->refusal;
}

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
	*reply_r = reply_for(server, c->in, head_size, c->in + head_size, length);
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
		fail("memory");
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
			fail("memory");
		c->fd = fd;
		TAILQ_INSERT_TAIL(&server->open, c, entries);
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
		if (epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event) == -1)
			fail("epoll_ctl");
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
		fail("epoll");
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
		fail("bind");
	return ntohs(address.sin_port);
}

/* A connection a call in flight: as many as the system lets us have. */
static void
raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
		fail("getrlimit");
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) == -1)
		fail("setrlimit");
}

static void
tell_port(uint16_t port, const char *port_file)
{
	FILE *file = port_file == NULL ? stdout : fopen(port_file, "we");

	if (file == NULL || fprintf(file, "%u\n", port) < 0 || fflush(file) == EOF)
		fail("port");
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
	free_replies(server);
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
		fail(text);
	return value;
}

int
main(int argc, char *argv[])
{
	static struct server server = { .rounds = 3 };
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
			server.rounds = (unsigned)number(optarg, ROUNDS_MAX);
		else if (option == 'n')
			tool = optarg;
		else if (option == 'a')
			arguments = optarg;
		else if (option == 'f')
			port_file = optarg;
		else
			return EXIT_FAILURE;
	}
	make_replies(&server, tool, arguments);
	open_server(&server, port, port_file);
	serve(&server);
	close_server(&server);
	return EXIT_SUCCESS;
}
