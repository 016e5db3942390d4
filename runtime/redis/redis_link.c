#include "redis_link.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "redis_reply.h" /* before hiredis */

#include <hiredis/hiredis.h>

#include "bounds.h"
#include "memory.h"
#include "redis_address.h"
#include "redis_output.h"
#include "redis_socket.h"
#include "redis_tls.h"

#define BUFFER_KEPT (1u << 20) /* of an empty reader */
#define INPUT_BYTES (64u << 10)
#define TOO_LARGE "a reply is too large"

enum state { CONNECTING, SHAKING, OPEN, CLOSED };

/* Of commands without an answer, in order: a ring. */
struct tokens {
	void **items;
	size_t first, count, room;
};

struct redis_link {
	struct loop *loop;
	const struct redis_address *address;
	const struct redis_link_events *events;
	void *arg;
	enum state state;
	int fd;
	struct redis_tls *tls; /* NULL: none */
	uv_poll_t poll;
	int polled; /* UV_READABLE, UV_WRITABLE */
	uint64_t heard_ms;
	redisReader *reader;
	struct tokens waiting;
	struct redis_output output;
	bool has_heard;    /* a byte of Redis's */
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
	redis_tls_destroy(&link->tls);
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
	if (link->tls != NULL)
		redis_tls_end(link->tls);
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
		redis_link_close(
		    link, reader->err == REDIS_ERR_OOM ? TOO_LARGE : reader->errstr);
	else if (reader->len > REDIS_TEXT_BYTES_MAX)
		redis_link_close(link, TOO_LARGE);
	else if (reply != NULL)
		answer(link, reply);
	if (reply != NULL)
		reader->fn->freeObject(reply);
	return reply != NULL;
}

/* --- the socket ----------------------------------------------------------------------- */

#define GONE "it closed the connection"

/* As redis_tls_read and redis_tls_write, of a socket without TLS. */
static ssize_t
judge(ssize_t size, const char **reason_r)
{
	if (size > 0)
		return size;
	if (size == -1 && (errno == EAGAIN || errno == EINTR))
		return 0;
	*reason_r = size == -1 ? strerror(errno) : GONE;
	return -1;
}

static ssize_t
get(struct redis_link *link, const char **reason_r)
{
	if (link->tls != NULL)
		return redis_tls_read(
		    link->tls, link->input, sizeof link->input, reason_r);
	return judge(recv(link->fd, link->input, sizeof link->input, 0), reason_r);
}

static ssize_t
put(struct redis_link *link, const char *bytes, size_t size, const char **reason_r)
{
	if (link->tls != NULL)
		return redis_tls_write(link->tls, bytes, size, reason_r);
	return judge(send(link->fd, bytes, size, MSG_NOSIGNAL), reason_r);
}

/* It cannot be read, or written, any more. A server that wants TLS ends the connection of who begins without. */
static void
end(struct redis_link *link, const char *reason)
{
	char text[192];

	snprintf(text, sizeof text, "%s (does it want TLS, rediss://?)", reason);
	redis_link_close(
	    link, link->address->path == NULL && link->tls == NULL && !link->has_heard
		      ? text
		      : reason);
}

/* Returns whether there was any. */
static bool
take_input(struct redis_link *link)
{
	const char *reason;
	ssize_t size;

	do {
		size = get(link, &reason);
		if (size == -1)
			end(link, reason);
		if (size <= 0)
			return false;
		link->has_heard = true;
		link->heard_ms = loop_now_ms(link->loop);
		redisReaderFeed(link->reader, link->input, (size_t)size);
		while (link->state != CLOSED && take_reply(link))
			;
	} while (
	    link->state != CLOSED && link->tls != NULL && redis_tls_has_input(link->tls));
	return true;
}

static void
write_output(struct redis_link *link)
{
	const char *bytes, *reason;
	ssize_t sent = 1;
	size_t size;

	for (;;) {
		bytes = redis_output_next(&link->output, &size);
		if (size == 0)
			break;
		sent = put(link, bytes, size, &reason);
		if (sent <= 0)
			break;
		redis_output_done(&link->output, (size_t)sent);
		if (link->is_full) /* and the other side has read since */
			link->heard_ms = loop_now_ms(link->loop);
	}
	link->is_full = sent == 0;
	if (sent != -1)
		return;
	/* What a server says last, to whom it does not want ("-ERR max number of
	 * clients reached"), comes before the end. */
	take_input(link);
	end(link, reason);
}

static void
open_up(struct redis_link *link)
{
	link->state = OPEN;
	write_output(link);
}

static void
shake(struct redis_link *link)
{
	const char *reason;
	ssize_t done = redis_tls_shake(link->tls, &reason);

	link->heard_ms = loop_now_ms(link->loop);
	if (done == -1)
		redis_link_close(link, reason);
	else if (done > 0)
		open_up(link);
}

static void
end_connecting(struct redis_link *link)
{
	int error = redis_socket_error(link->fd);

	if (error != 0)
		redis_link_close(link, strerror(error));
	else if (link->tls == NULL)
		open_up(link);
	else
		link->state = SHAKING;
}

/* --- libuv's side --------------------------------------------------------------------- */

static void watch(struct redis_link *link);

/* libuv stops a poll that has an error, a refused connection's, and says no more than that there was one. What came
 * before it counts. */
static void
end_with_error(struct redis_link *link, int status)
{
	const char *reason = uv_strerror(status);
	int error;

	link->polled = 0;
	if (link->state == SHAKING)
		shake(link);
	while (link->state == OPEN && take_input(link))
		;
	if (link->state == CLOSED)
		return;
	error = redis_socket_error(link->fd);
	if (error != 0)
		reason = strerror(error);
	if (link->state == OPEN)
		end(link, reason);
	else
		redis_link_close(link, reason);
}

/* Of its own, TLS does: not what we send. */
static bool
wants_write(const struct redis_link *link)
{
	return link->tls != NULL && redis_tls_wants_write(link->tls);
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
	if (link->state == SHAKING)
		shake(link);
	if (link->state == OPEN && ((events & UV_READABLE) || wants_write(link)))
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
	if (link->state == CONNECTING || link->is_full || wants_write(link))
		events |= UV_WRITABLE;
	if (events == link->polled)
		return;
	link->polled = events;
	uv_poll_start(&link->poll, events, on_poll);
}

/* --- connections ---------------------------------------------------------------------- */

static struct redis_link *
link_new(struct loop *loop, const struct redis_address *address, int fd,
    const struct redis_link_events *events, void *arg)
{
	struct redis_link *link = xcalloc(1, sizeof *link);

	link->loop = loop;
	link->address = address;
	link->events = events;
	link->arg = arg;
	link->fd = fd;
	link->heard_ms = loop_now_ms(loop);
	link->reader = redisReaderCreateWithFunctions(NULL);
	if (link->reader == NULL)
		arena_exhausted();
	link->reader->maxbuf = BUFFER_KEPT;
	redis_reply_bound(link->reader, REDIS_REPLY_BYTES_MAX);
	link->poll.data = link;
	return link;
}

static int
begin(struct redis_link *link, const char **error_r)
{
	const struct redis_address *address = link->address;
	int status;

	if (address->tls != NULL) {
		link->tls = redis_tls_new(
		    link->fd, address->tls, address->host, address->is_number, error_r);
		if (link->tls == NULL)
			return -1;
	}
	status = uv_poll_init(loop_uv(link->loop), &link->poll, link->fd);
	if (status == 0)
		return 0;
	*error_r = uv_strerror(status);
	return -1;
}

struct redis_link *
redis_link_open(struct loop *loop, const struct redis_address *address, const char *ip,
    const struct redis_link_events *events, void *arg, const char **error_r)
{
	int fd = redis_socket_connect(address, ip);
	struct redis_link *link;

	if (fd == -1) {
		*error_r = strerror(errno);
		return NULL;
	}
	link = link_new(loop, address, fd, events, arg);
	if (begin(link, error_r) == -1) {
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

bool
redis_link_is_shaking(const struct redis_link *link)
{
	return link->state == SHAKING;
}
