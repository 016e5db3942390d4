#include "redis.h"

#include <assert.h>
#include <hiredis/async.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>
#include <sys/socket.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <hiredis/adapters/libuv.h>
#pragma GCC diagnostic pop

#include "fiber.h"
#include "memory.h"
#include "redis_url.h"

#define BACKOFF_MS_MIN 50u
#define BACKOFF_MS_MAX 1000u
#define CONNECT_MS 5000u /* a connection not set up by then is given up */
#define TRY_AGAIN_MS 50u /* after an answer such as LOADING */
#define TEXT_ARGS_MAX 32u

enum state {
	STATE_DOWN,  /* nothing; the timer will connect */
	STATE_SETUP, /* connecting, AUTH, SELECT, FUNCTION LOAD */
	STATE_UP,
};

/* A fiber that waits for the connection. Lives on its stack. */
struct waiter {
	struct fiber *fiber;
	TAILQ_ENTRY(waiter) entry;
};

struct redis {
	struct loop *loop;
	struct redis_url url;
	char *library;
	enum state state;
	unsigned setup_step;
	redisAsyncContext *context; /* hiredis frees it when the connection ends */
	struct timer *timer;        /* to connect again, or to give up setting up */
	uint64_t backoff_ms;
	bool is_closing;
	char trouble[256];
	TAILQ_HEAD(, waiter) waiters;
};

/* One command under way. Outlives a cancelled fiber: the reply is dropped then. */
struct request {
	struct fiber *fiber; /* NULL: nobody waits any more */
	struct arena *arena;
	bool done;
	enum redis_status status;
	const struct value *reply;
};

static void connect_now(void *arg);
static void next_setup_step(struct redis *redis);

/* --- replies ---------------------------------------------------------------------------- */

static const struct value *
reply_value(struct arena *arena, const redisReply *reply)
{
	const struct value **items;
	size_t i;

	switch (reply->type) {
	case REDIS_REPLY_INTEGER:
		return value_int(arena, reply->integer);
	case REDIS_REPLY_ARRAY:
		items = arena_alloc(arena, (reply->elements + 1) * sizeof *items);
		for (i = 0; i < reply->elements; i++)
			items[i] = reply_value(arena, reply->element[i]);
		return value_array(arena, items, reply->elements);
	case REDIS_REPLY_NIL:
		return value_nil();
	default:
		return value_bin(arena, reply->str, (size_t)reply->len);
	}
}

const char *
redis_reply_text(const struct value *reply)
{
	if (value_is(reply, VALUE_BIN) || value_is(reply, VALUE_STR))
		return reply->text;
	return NULL;
}

static void
on_reply(redisAsyncContext *context, void *answer, void *data)
{
	struct request *request = data;
	const redisReply *reply = answer;

	(void)context;
	if (request->fiber == NULL) {
		free(request);
		return;
	}
	request->done = true;
	if (reply == NULL) {
		request->status = REDIS_LOST;
	} else {
		request->status =
		    reply->type == REDIS_REPLY_ERROR ? REDIS_ERROR : REDIS_OK;
		request->reply = reply_value(request->arena, reply);
	}
	fiber_wake(request->fiber);
}

/* --- the connection ----------------------------------------------------------------------- */

static void
set_trouble(struct redis *redis, const char *what, const char *why)
{
	snprintf(redis->trouble, sizeof redis->trouble, "%s: %s", what, why);
}

static uint64_t
jittered(uint64_t ms)
{
	uint32_t random = 0;

	if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
		random = 0;
	return ms / 2 + random % (ms / 2 + 1);
}

static void
connect_later(struct redis *redis)
{
	redis->state = STATE_DOWN;
	redis->context = NULL;
	timer_stop(&redis->timer);
	if (redis->is_closing)
		return;
	redis->timer =
	    timer_start(redis->loop, jittered(redis->backoff_ms), 0, connect_now, redis);
	redis->backoff_ms = redis->backoff_ms * 2 > BACKOFF_MS_MAX
				? BACKOFF_MS_MAX
				: redis->backoff_ms * 2;
}

/* Ends the connection from the loop's stack, outside of hiredis's callbacks: it answers every
 * command under way with "lost", and calls on_disconnect unless it was never connected. */
static void
drop_connection(void *arg)
{
	struct redis *redis = arg;
	redisAsyncContext *context = redis->context;

	redis->context = NULL;
	if (context != NULL)
		redisAsyncFree(context);
	connect_later(redis);
}

static void
drop_soon(struct redis *redis)
{
	timer_stop(&redis->timer);
	redis->state = STATE_DOWN;
	redis->timer = timer_start(redis->loop, 0, 0, drop_connection, redis);
}

static void
give_up_setup(void *arg)
{
	struct redis *redis = arg;

	set_trouble(redis, "no answer", "the connection was not set up in time");
	drop_connection(redis);
}

static void
tune_socket(const struct redis *redis)
{
	int fd = redis->context->c.fd, on = 1, idle = 15, interval = 5, count = 3;
	unsigned timeout = 10000;

	if (redis->url.path != NULL)
		return;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof timeout);
}

static void
on_connect(const redisAsyncContext *context, int status)
{
	struct redis *redis = context->data;

	if (status == REDIS_OK || redis->is_closing)
		return;
	/* hiredis frees the context after this callback. */
	set_trouble(redis, redis->url.path != NULL ? redis->url.path : redis->url.host,
	    context->errstr);
	connect_later(redis);
}

static void
on_disconnect(const redisAsyncContext *context, int status)
{
	struct redis *redis = context->data;

	if (redis->is_closing || redis->context != context)
		return;
	set_trouble(
	    redis, "connection lost", status == REDIS_OK ? "closed" : context->errstr);
	connect_later(redis);
}

static void
connect_now(void *arg)
{
	struct redis *redis = arg;
	redisAsyncContext *context;

	timer_stop(&redis->timer);
	context = redis->url.path != NULL
		      ? redisAsyncConnectUnix(redis->url.path)
		      : redisAsyncConnect(redis->url.host, redis->url.port);
	if (context == NULL)
		abort();
	if (context->err != 0) {
		set_trouble(redis,
		    redis->url.path != NULL ? redis->url.path : redis->url.host,
		    context->errstr);
		redisAsyncFree(context);
		connect_later(redis);
		return;
	}
	redis->context = context;
	context->data = redis;
	context->c.reader->maxbuf = 0; /* keep a large reply's buffer */
	redisLibuvAttach(context, loop_uv(redis->loop));
	redisAsyncSetConnectCallback(context, on_connect);
	redisAsyncSetDisconnectCallback(context, on_disconnect);
	tune_socket(redis);
	redis->state = STATE_SETUP;
	redis->setup_step = 0;
	redis->timer = timer_start(redis->loop, CONNECT_MS, 0, give_up_setup, redis);
	next_setup_step(redis);
}

/* --- setting up: AUTH, SELECT, FUNCTION LOAD --------------------------------------------------- */

static void
is_up(struct redis *redis)
{
	struct waiter *waiter;

	timer_stop(&redis->timer);
	redis->state = STATE_UP;
	redis->backoff_ms = BACKOFF_MS_MIN;
	redis->trouble[0] = '\0';
	TAILQ_FOREACH(waiter, &redis->waiters, entry)
	{
		fiber_wake(waiter->fiber);
	}
}

static void
on_setup(redisAsyncContext *context, void *answer, void *data)
{
	struct redis *redis = data;
	const redisReply *reply = answer;

	(void)context;
	if (reply == NULL || redis->is_closing || redis->state != STATE_SETUP)
		return;
	if (reply->type != REDIS_REPLY_ERROR) {
		redis->setup_step++;
		next_setup_step(redis);
		return;
	}
	set_trouble(redis, "Redis refused the connection", reply->str);
	drop_soon(redis);
}

static void
next_setup_step(struct redis *redis)
{
	redisAsyncContext *context = redis->context;
	const struct redis_url *url = &redis->url;

	if (redis->setup_step == 0) {
		if (url->user != NULL)
			redisAsyncCommand(context, on_setup, redis, "AUTH %s %s",
			    url->user, url->password);
		else if (url->password != NULL)
			redisAsyncCommand(
			    context, on_setup, redis, "AUTH %s", url->password);
		else
			redisAsyncCommand(context, on_setup, redis, "PING");
	} else if (redis->setup_step == 1) {
		redisAsyncCommand(context, on_setup, redis, "SELECT %d", url->db);
	} else if (redis->setup_step == 2 && redis->library != NULL) {
		redisAsyncCommand(
		    context, on_setup, redis, "FUNCTION LOAD REPLACE %s", redis->library);
	} else {
		is_up(redis);
	}
}

/* --- life ---------------------------------------------------------------------------------------- */

struct redis *
redis_new(struct loop *loop, const char *url, const char *library, const char **error_r)
{
	struct redis *redis = xcalloc(1, sizeof *redis);

	if (redis_url_parse(&redis->url, url, error_r) == -1) {
		free(redis);
		return NULL;
	}
	redis->loop = loop;
	redis->library = library != NULL ? xstrdup(library) : NULL;
	redis->backoff_ms = BACKOFF_MS_MIN;
	snprintf(redis->trouble, sizeof redis->trouble, "connecting");
	TAILQ_INIT(&redis->waiters);
	connect_now(redis);
	return redis;
}

void
redis_destroy(struct redis **redis_p)
{
	struct redis *redis = *redis_p;

	if (redis == NULL)
		return;
	assert(TAILQ_EMPTY(&redis->waiters));
	*redis_p = NULL;
	redis->is_closing = true;
	timer_stop(&redis->timer);
	if (redis->context != NULL)
		redisAsyncFree(redis->context);
	redis_url_release(&redis->url);
	free(redis->library);
	free(redis);
}

bool
redis_is_up(const struct redis *redis)
{
	return redis->state == STATE_UP;
}

const char *
redis_trouble(const struct redis *redis)
{
	return redis->trouble;
}

/* --- commands --------------------------------------------------------------------------------------- */

/* Waits until the connection is up, at most until deadline. */
static enum redis_status
wait_up(struct redis *redis, uint64_t deadline)
{
	struct waiter waiter = { .fiber = fiber_current() };
	enum redis_status status = REDIS_OK;

	TAILQ_INSERT_TAIL(&redis->waiters, &waiter, entry);
	while (redis->state != STATE_UP && status == REDIS_OK) {
		uint64_t now = loop_now_ms(redis->loop);

		if (now >= deadline)
			status = REDIS_LOST;
		else if (fiber_wait_ms(deadline - now) == -1)
			status = REDIS_CANCELLED;
	}
	TAILQ_REMOVE(&redis->waiters, &waiter, entry);
	return status;
}

static enum redis_status
send_once(struct redis *redis, struct arena *arena, const struct redis_arg *args,
    size_t count, const struct value **reply_r)
{
	struct request *request = xcalloc(1, sizeof *request);
	const char **argv = arena_alloc(arena, count * sizeof *argv);
	size_t *sizes = arena_alloc(arena, count * sizeof *sizes);
	enum redis_status status;
	size_t i;

	for (i = 0; i < count; i++) {
		argv[i] = args[i].data;
		sizes[i] = args[i].size;
	}
	request->fiber = fiber_current();
	request->arena = arena;
	if (redisAsyncCommandArgv(
		redis->context, on_reply, request, (int)count, argv, sizes) != 0) {
		free(request);
		return REDIS_LOST;
	}
	while (!request->done) {
		if (fiber_wait() == -1 && !request->done) {
			request->fiber = NULL; /* on_reply frees it */
			return REDIS_CANCELLED;
		}
	}
	status = request->status;
	*reply_r = request->reply;
	free(request);
	return status;
}

/* Answers of a Redis that will do later (reliability.md 2.5). */
static bool
is_passing(const char *error)
{
	static const char *const codes[] = { "LOADING", "MASTERDOWN", "BUSY ", "TRYAGAIN",
		"CLUSTERDOWN", "MISCONF", "OOM", "NOREPLICAS", "READONLY", "UNBLOCKED" };
	size_t i;

	for (i = 0; error != NULL && i < sizeof codes / sizeof *codes; i++)
		if (strncmp(error, codes[i], strlen(codes[i])) == 0)
			return true;
	return false;
}

enum redis_status
redis_call(struct redis *redis, struct arena *arena, uint64_t wait_ms,
    const struct redis_arg *args, size_t count, const struct value **reply_r)
{
	uint64_t deadline = loop_now_ms(redis->loop) + wait_ms;
	enum redis_status status;

	assert(fiber_current() != NULL && count > 0);
	for (;;) {
		status = wait_up(redis, deadline);
		if (status != REDIS_OK)
			return status;
		status = send_once(redis, arena, args, count, reply_r);
		if (status != REDIS_ERROR || !is_passing(redis_reply_text(*reply_r)) ||
		    loop_now_ms(redis->loop) >= deadline)
			return status;
		if (fiber_sleep(TRY_AGAIN_MS) == -1)
			return REDIS_CANCELLED;
	}
}

enum redis_status
redis_text(struct redis *redis, struct arena *arena, uint64_t wait_ms,
    const struct value **reply_r, const char *command, ...)
{
	struct redis_arg args[TEXT_ARGS_MAX];
	size_t count = 0;
	va_list list;

	va_start(list, command);
	for (; command != NULL; command = va_arg(list, const char *)) {
		assert(count < TEXT_ARGS_MAX);
		args[count++] = (struct redis_arg){ command, strlen(command) };
	}
	va_end(list);
	return redis_call(redis, arena, wait_ms, args, count, reply_r);
}
