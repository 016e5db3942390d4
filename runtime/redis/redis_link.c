#include "redis_link.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "redis_reply.h" /* before hiredis */

#include <hiredis/hiredis.h>

#include "bounds.h"
#include "memory.h"
#include "redis_address.h"
#include "redis_output.h"

#define KEEPALIVE_IDLE_S 15
#define KEEPALIVE_INTERVAL_S 5
#define KEEPALIVE_PROBES 3
#define UNANSWERED_MS 10000    /* sent bytes the other machine does not acknowledge */
#define BUFFER_KEPT (1u << 20) /* of an empty reader */
#define INPUT_BYTES (64u << 10)

enum state { CONNECTING, OPEN, CLOSED };

/* Of commands without an answer, in order: a ring. */
struct tokens {
	void **items;
	size_t first, count, room;
};

struct redis_link {
	struct loop *loop;
	const struct redis_link_events *events;
	void *arg;
	enum state state;
	int fd;
	uv_poll_t poll;
	int polled; /* UV_READABLE, UV_WRITABLE */
	uint64_t heard_ms;
	redisReader *reader;
	struct tokens waiting;
	struct redis_output output;
	bool is_full;      /* the socket takes nothing now */
	bool is_answering; /* on_reply is under way */
	char reason[192];  /* why it is CLOSED */
	char input[INPUT_BYTES];
};

/* --- tokens --------------------------------------------------------------------------- */

static void
tokens_push(struct tokens *tokens, void *token)
{
	size_t i, room = 2 * tokens->room + 64;
	void **items;

	if (tokens->count == tokens->room) {
		items = xreallocarray(NULL, room, sizeof *items);
		for (i = 0; i < tokens->count; i++)
			items[i] = tokens->items[(tokens->first + i) % tokens->room];
		free(tokens->items);
		tokens->items = items;
		tokens->first = 0;
		tokens->room = room;
	}
	tokens->items[(tokens->first + tokens->count++) % tokens->room] = token;
}

static void *
tokens_take(struct tokens *tokens)
{
	void *token = tokens->items[tokens->first];

	tokens->first = (tokens->first + 1) % tokens->room;
	tokens->count--;
	return token;
}

/* --- the end -------------------------------------------------------------------------- */

static void
on_poll_closed(uv_handle_t *handle)
{
	struct redis_link *link = handle->data;

	redisReaderFree(link->reader);
	redis_output_free(&link->output);
	free(link->waiting.items);
	free(link);
}

static void
take_leave(struct redis_link *link)
{
	while (link->waiting.count > 0)
		link->events->on_reply(link->arg, tokens_take(&link->waiting), NULL);
	uv_close((uv_handle_t *)&link->poll, on_poll_closed);
	close(link->fd);
	link->events->on_closed(link->arg, link->reason);
}

void
redis_link_close(struct redis_link *link, const char *reason)
{
	if (link->state == CLOSED)
		return;
	link->state = CLOSED;
	snprintf(link->reason, sizeof link->reason, "%s", reason);
	if (!link->is_answering)
		take_leave(link);
}

/* --- replies -------------------------------------------------------------------------- */

static void
answer(struct redis_link *link, const redisReply *reply)
{
	void *token;

	if (link->waiting.count == 0) { /* "-DENIED ...", say */
		redis_link_close(link, redis_reply_is_error(reply)
					   ? reply->str
					   : "the server says what nobody asked for");
		return;
	}
	token = tokens_take(&link->waiting);
	link->is_answering = true;
	link->events->on_reply(link->arg, token, reply);
	link->is_answering = false;
	if (link->state == CLOSED)
		take_leave(link);
}

/* Returns whether there was a whole reply. */
static bool
take_reply(struct redis_link *link)
{
	redisReader *reader = link->reader;
	void *reply = NULL;

	if (redisReaderGetReply(reader, &reply) != REDIS_OK)
		redis_link_close(link, reader->errstr);
	else if (reader->len > REDIS_REPLY_BYTES_MAX)
		redis_link_close(link, "a reply is too large");
	else if (reply != NULL)
		answer(link, reply);
	if (reply != NULL)
		reader->fn->freeObject(reply);
	return reply != NULL;
}

/* --- the socket ----------------------------------------------------------------------- */

static bool
is_passing(int error)
{
	return error == EAGAIN || error == EINTR;
}

static void
take_input(struct redis_link *link)
{
	ssize_t size = recv(link->fd, link->input, sizeof link->input, 0);

	if (size == -1 && is_passing(errno))
		return;
	if (size <= 0) {
		redis_link_close(
		    link, size == 0 ? "it closed the connection" : strerror(errno));
		return;
	}
	link->heard_ms = loop_now_ms(link->loop);
	redisReaderFeed(link->reader, link->input, (size_t)size);
	while (link->state != CLOSED && take_reply(link))
		;
}

/* What a server says last, to whom it does not want ("-ERR max number of clients reached"), comes before the
 * end. */
static void
fail_to_write(struct redis_link *link)
{
	const char *reason = strerror(errno);

	take_input(link);
	redis_link_close(link, reason);
}

static void
write_output(struct redis_link *link)
{
	size_t size;
	const char *bytes = redis_output_next(&link->output, &size);
	ssize_t sent = 0;

	for (; size > 0; bytes = redis_output_next(&link->output, &size)) {
		sent = send(link->fd, bytes, size, MSG_NOSIGNAL);
		if (sent == -1)
			break;
		redis_output_done(&link->output, (size_t)sent);
	}
	link->is_full = sent == -1;
	if (link->is_full && !is_passing(errno))
		fail_to_write(link);
}

static int
error_of(int fd)
{
	int error = 0;
	socklen_t size = sizeof error;

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

static void
end_connecting(struct redis_link *link)
{
	int error = error_of(link->fd);

	if (error != 0) {
		redis_link_close(link, strerror(error));
		return;
	}
	link->state = OPEN;
	write_output(link);
}

/* --- libuv's side --------------------------------------------------------------------- */

static void watch(struct redis_link *link);

/* libuv stops a poll that has an error, a refused connection's, and says no more than that there was one. */
static void
end_with_error(struct redis_link *link, int status)
{
	int error = error_of(link->fd);

	link->polled = 0;
	if (error == 0 && link->state == OPEN)
		take_input(link);
	if (link->state != CLOSED)
		redis_link_close(
		    link, error != 0 ? strerror(error) : uv_strerror(status));
}

static void
on_poll(uv_poll_t *poll, int status, int events)
{
	struct redis_link *link = poll->data;

	if (status < 0) {
		end_with_error(link, status);
		return;
	}
	if (link->state == CONNECTING)
		end_connecting(link);
	if (link->state == OPEN && (events & UV_READABLE))
		take_input(link);
	if (link->state == OPEN && (events & UV_WRITABLE))
		write_output(link);
	watch(link);
}

/* Connected, a socket can nearly always be written to: that is done at the end of the turn
 * without asking. */
static void
watch(struct redis_link *link)
{
	int events = UV_READABLE;

	if (link->state == CLOSED)
		return;
	if (link->state == CONNECTING || link->is_full)
		events |= UV_WRITABLE;
	if (events == link->polled)
		return;
	link->polled = events;
	uv_poll_start(&link->poll, events, on_poll);
}

/* --- connections ---------------------------------------------------------------------- */

static void
set_option(int fd, int level, int option, int value)
{
	/* One that a kernel does not have is no reason to do without Redis. */
	(void)setsockopt(fd, level, option, &value, sizeof value);
}

static void
set_tcp(int fd)
{
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
	set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, UNANSWERED_MS);
}

/* Returns a socket that connects, or has connected, or -1 with errno. */
static int
connect_to(int family, const void *address, socklen_t size)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error;

	if (fd == -1)
		return -1;
	if (family != AF_UNIX)
		set_tcp(fd);
	if (connect(fd, address, size) == 0 || errno == EINPROGRESS)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static int
connect_unix(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	return connect_to(AF_UNIX, &address, sizeof address);
}

static int
connect_tcp(const char *ip, uint16_t port)
{
	const struct addrinfo wanted = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM };
	struct addrinfo *info = NULL;
	char service[8];
	int fd;

	snprintf(service, sizeof service, "%u", port);
	if (getaddrinfo(ip, service, &wanted, &info) != 0) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	fd = connect_to(info->ai_family, info->ai_addr, info->ai_addrlen);
	freeaddrinfo(info);
	return fd;
}

static struct redis_link *
link_new(struct loop *loop, int fd, const struct redis_link_events *events, void *arg)
{
	struct redis_link *link = xcalloc(1, sizeof *link);

	link->loop = loop;
	link->events = events;
	link->arg = arg;
	link->fd = fd;
	link->heard_ms = loop_now_ms(loop);
	link->reader = redisReaderCreateWithFunctions(NULL);
	if (link->reader == NULL)
		arena_exhausted();
	link->reader->maxbuf = BUFFER_KEPT;
	redis_reply_bound(link->reader);
	link->poll.data = link;
	return link;
}

struct redis_link *
redis_link_open(struct loop *loop, const struct redis_address *address, const char *ip,
    const struct redis_link_events *events, void *arg, const char **error_r)
{
	int fd = address->path != NULL ? connect_unix(address->path)
				       : connect_tcp(ip, address->port);
	struct redis_link *link;
	int status;

	if (fd == -1) {
		*error_r = strerror(errno);
		return NULL;
	}
	link = link_new(loop, fd, events, arg);
	status = uv_poll_init(loop_uv(loop), &link->poll, fd);
	if (status != 0) {
		*error_r = uv_strerror(status);
		close(fd);
		on_poll_closed((uv_handle_t *)&link->poll);
		return NULL;
	}
	watch(link);
	return link;
}

/* --- commands ------------------------------------------------------------------------- */

void
redis_link_send(
    struct redis_link *link, const struct redis_arg *args, size_t count, void *token)
{
	if (link->state == CLOSED) {
		link->events->on_reply(link->arg, token, NULL);
		return;
	}
	if (link->waiting.count == 0)
		link->heard_ms = loop_now_ms(link->loop);
	redis_output_add(&link->output, args, count);
	tokens_push(&link->waiting, token);
}

void
redis_link_flush(struct redis_link *link)
{
	if (link->state != OPEN || link->is_full)
		return;
	write_output(link);
	watch(link);
}

size_t
redis_link_pending(const struct redis_link *link)
{
	return link->waiting.count;
}

uint64_t
redis_link_heard_ms(const struct redis_link *link)
{
	return link->heard_ms;
}
