#include "redis_link.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <uv.h>

#include "redis_reply.h" /* before hiredis */

#include <hiredis/async.h>

#include "bounds.h"
#include "memory.h"

#define KEEPALIVE_IDLE_S 15
#define KEEPALIVE_INTERVAL_S 5
#define KEEPALIVE_PROBES 3
#define UNANSWERED_MS 10000      /* sent bytes the other machine does not acknowledge */
#define BUFFER_KEPT (1u << 20)   /* of an empty reader */
#define COMMAND_KEPT (64u << 10) /* for the next command */

struct redis_link {
	redisAsyncContext *hiredis; /* NULL: it has freed itself */
	uv_poll_t poll;
	int polled; /* UV_READABLE, UV_WRITABLE */
	struct loop *loop;
	const struct redis_link_events *events;
	void *arg;
	size_t pending;
	uint64_t heard_ms;
	bool has_output; /* to write at the end of the turn */
	bool is_flushing;
	char reason[128]; /* why we close; "": hiredis knows */
	char *command;    /* the one that is sent, laid out */
	size_t room;
};

/* --- what nobody asked for ------------------------------------------------------------ */

#define UNASKED "the server says what nobody asked for"

/* hiredis takes a reply without a command for a mistake of ours and aborts, but for errors, which
 * a server may begin with ("-DENIED ..."). While no command is under way only these, or the
 * end, may come. */
static bool
is_unasked(const struct redis_link *link)
{
	char first;

	return link->pending == 0 && (link->hiredis->c.flags & REDIS_CONNECTED) &&
	       recv(link->hiredis->c.fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1 &&
	       first != '-';
}

/* The same, of what lies behind the reply to the last command. */
static bool
has_surplus(const struct redis_link *link)
{
	const redisReader *reader = link->hiredis->c.reader;

	return link->pending == 0 && reader->pos < reader->len &&
	       !(link->hiredis->c.flags & REDIS_FREEING);
}

/* --- libuv's side --------------------------------------------------------------------- */

static void
on_poll(uv_poll_t *poll, int status, int events)
{
	struct redis_link *link = poll->data;

	if (status < 0) { /* libuv has stopped the poll; hiredis shall find out why */
		link->polled = 0;
		events = UV_READABLE | UV_WRITABLE;
	}
	if (link->hiredis != NULL && (events & UV_READABLE)) {
		link->heard_ms = loop_now_ms(link->loop);
		if (is_unasked(link))
			redis_link_close(link, UNASKED);
		else
			redisAsyncHandleRead(link->hiredis);
	}
	if (link->hiredis != NULL && (events & UV_WRITABLE))
		redisAsyncHandleWrite(link->hiredis);
	if (link->hiredis != NULL && status < 0)
		redis_link_close(link, uv_strerror(status));
	if (link->hiredis != NULL && link->hiredis->c.reader->len > REDIS_REPLY_BYTES_MAX)
		redis_link_close(link, "a reply is too large");
}

static void
poll_for(struct redis_link *link, int events)
{
	if (events == link->polled)
		return;
	link->polled = events;
	if (events == 0)
		uv_poll_stop(&link->poll);
	else
		uv_poll_start(&link->poll, events, on_poll);
}

static void
on_poll_closed(uv_handle_t *handle)
{
	struct redis_link *link = handle->data;

	free(link->command);
	free(link);
}

/* --- what hiredis calls --------------------------------------------------------------- */

static void
add_read(void *arg)
{
	struct redis_link *link = arg;

	poll_for(link, link->polled | UV_READABLE);
}

static void
del_read(void *arg)
{
	struct redis_link *link = arg;

	poll_for(link, link->polled & ~UV_READABLE);
}

/* Connected, a socket can nearly always be written to: that is done at the end of the turn
 * without asking. */
static void
add_write(void *arg)
{
	struct redis_link *link = arg;

	if (!(link->hiredis->c.flags & REDIS_CONNECTED) || link->is_flushing)
		poll_for(link, link->polled | UV_WRITABLE);
	else
		link->has_output = true;
}

static void
del_write(void *arg)
{
	struct redis_link *link = arg;

	poll_for(link, link->polled & ~UV_WRITABLE);
}

/* hiredis frees the connection, for whatever reason; everything sent has been answered. */
static void
clean_up(void *arg)
{
	struct redis_link *link = arg;
	const char *reason = link->reason;

	if (reason[0] == '\0')
		reason = link->hiredis->err != 0 ? link->hiredis->errstr : "closed";
	uv_close((uv_handle_t *)&link->poll, on_poll_closed);
	link->events->on_closed(link->arg, reason);
	link->hiredis = NULL;
}

static void
on_reply(redisAsyncContext *hiredis, void *reply, void *token)
{
	struct redis_link *link = hiredis->ev.data;

	link->pending--;
	link->events->on_reply(link->arg, token, reply);
	/* Without a reply it is the end already, in the middle of one perhaps. */
	if (reply != NULL && has_surplus(link))
		redis_link_close(link, UNASKED);
}

/* --- connections ---------------------------------------------------------------------- */

static void
set_option(int fd, int level, int option, int value)
{
	/* One that a kernel does not have is no reason to do without Redis. */
	(void)setsockopt(fd, level, option, &value, sizeof value);
}

static void
set_socket(int fd, bool is_tcp)
{
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (!is_tcp)
		return;
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
	set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, UNANSWERED_MS);
}

static void
attach(struct redis_link *link, redisAsyncContext *hiredis)
{
	link->hiredis = hiredis;
	hiredis->c.reader->maxbuf = BUFFER_KEPT;
	redis_reply_bound(hiredis->c.reader);
	hiredis->ev.data = link;
	hiredis->ev.addRead = add_read;
	hiredis->ev.delRead = del_read;
	hiredis->ev.addWrite = add_write;
	hiredis->ev.delWrite = del_write;
	hiredis->ev.cleanup = clean_up;
}

struct redis_link *
redis_link_open(struct loop *loop, const char *path, const char *ip, uint16_t port,
    const struct redis_link_events *events, void *arg, const char **error_r)
{
	static char error[128];
	redisAsyncContext *hiredis =
	    path != NULL ? redisAsyncConnectUnix(path) : redisAsyncConnect(ip, port);
	struct redis_link *link;

	if (hiredis == NULL)
		arena_exhausted();
	if (hiredis->err != 0) {
		snprintf(error, sizeof error, "%s", hiredis->errstr);
		*error_r = error;
		redisAsyncFree(hiredis);
		return NULL;
	}
	link = xcalloc(1, sizeof *link);
	link->loop = loop;
	link->events = events;
	link->arg = arg;
	link->heard_ms = loop_now_ms(loop);
	link->poll.data = link;
	set_socket(hiredis->c.fd, path == NULL);
	if (uv_poll_init(loop_uv(loop), &link->poll, hiredis->c.fd) != 0) {
		*error_r = "cannot poll the socket";
		redisAsyncFree(hiredis);
		free(link);
		return NULL;
	}
	attach(link, hiredis);
	return link;
}

void
redis_link_close(struct redis_link *link, const char *reason)
{
	snprintf(link->reason, sizeof link->reason, "%s", reason);
	redisAsyncFree(link->hiredis);
}

/* --- commands ------------------------------------------------------------------------- */

/* "*3\r\n", "$12\r\n" */
#define HEAD_BYTES_MAX 24u

static char *
put_end(char *at)
{
	*at++ = '\r';
	*at++ = '\n';
	return at;
}

static char *
put_head(char *at, char mark, size_t number)
{
	char digits[20], *digit = digits + sizeof digits;
	size_t size;

	do {
		*--digit = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	size = (size_t)(digits + sizeof digits - digit);
	*at++ = mark;
	memcpy(at, digit, size);
	return put_end(at + size);
}

/* Lays the command out as it is sent (redisFormatCommandArgv does it at several times the
 * cost, in memory of its own). Returns its size. */
static size_t
lay_out(struct redis_link *link, const struct redis_arg *args, size_t count)
{
	size_t room = HEAD_BYTES_MAX, i;
	char *at;

	for (i = 0; i < count; i++)
		room += HEAD_BYTES_MAX + args[i].size + 2;
	if (room > link->room) {
		free(link->command);
		link->room = room < COMMAND_KEPT ? COMMAND_KEPT : room;
		link->command = xcalloc(1, link->room);
	}
	at = put_head(link->command, '*', count);
	for (i = 0; i < count; i++) {
		at = put_head(at, '$', args[i].size);
		if (args[i].size > 0)
			memcpy(at, args[i].data, args[i].size);
		at = put_end(at + args[i].size);
	}
	return (size_t)(at - link->command);
}

void
redis_link_send(
    struct redis_link *link, const struct redis_arg *args, size_t count, void *token)
{
	size_t size = lay_out(link, args, count);
	int sent;

	if (link->pending++ == 0)
		link->heard_ms = loop_now_ms(link->loop);
	sent = redisAsyncFormattedCommand(
	    link->hiredis, on_reply, token, link->command, size);
	if (link->room > COMMAND_KEPT) {
		free(link->command);
		link->command = NULL;
		link->room = 0;
	}
	if (sent == REDIS_OK)
		return;
	link->pending--; /* it is closing already */
	link->events->on_reply(link->arg, token, NULL);
}

void
redis_link_flush(struct redis_link *link)
{
	if (!link->has_output)
		return;
	link->has_output = false;
	link->is_flushing = true; /* what cannot be written now is polled for */
	redisAsyncHandleWrite(link->hiredis);
	link->is_flushing = false;
}

size_t
redis_link_pending(const struct redis_link *link)
{
	return link->pending;
}

uint64_t
redis_link_heard_ms(const struct redis_link *link)
{
	return link->heard_ms;
}
