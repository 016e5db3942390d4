#include "redis.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "fiber.h"
#include "memory.h"
#include "redis_reply.h"
#include "redis_session.h"

/* A command that was sent. Its fiber may leave before the answer comes. */
struct request {
	struct fiber *fiber; /* NULL: left */
	struct arena *arena;
	const struct value *reply; /* NULL: lost */
	bool is_error;
	bool is_answered;
};

/* A redis_call under way; on its fiber's stack. */
struct call {
	TAILQ_ENTRY(call) entry;
	struct redis *redis; /* NULL: destroyed meanwhile */
	struct fiber *fiber;
	struct arena *arena;
	uint64_t until_ms;
	unsigned refusals;
	const struct value *reply; /* the last */
};

struct redis {
	struct loop *loop;
	struct redis_session *session;
	TAILQ_HEAD(, call) calls;
	char refusal[160]; /* "": none */
	uint64_t refused_ms;
};

/* --- what the session tells ----------------------------------------------------------- */

static void
on_up(void *arg)
{
	struct redis *redis = arg;
	struct call *call;

	TAILQ_FOREACH(call, &redis->calls, entry) {
		fiber_wake(call->fiber);
	}
}

static void
on_reply(void *arg, void *token, const struct redisReply *reply)
{
	struct request *request = token;

	(void)arg;
	if (request->fiber == NULL) {
		free(request);
		return;
	}
	request->is_answered = true;
	if (reply != NULL) {
		request->reply = redis_reply_value(request->arena, reply);
		request->is_error = redis_reply_is_error(reply);
	}
	fiber_wake(request->fiber);
}

static void
on_refused(void *arg, const char *error)
{
	struct redis *redis = arg;

	snprintf(redis->refusal, sizeof redis->refusal, "%s", error);
	redis->refused_ms = loop_now_ms(redis->loop);
}

static const struct redis_session_events events = {
	.on_up = on_up,
	.on_refused = on_refused,
	.on_reply = on_reply,
};

struct redis *
redis_new(struct loop *loop, const char *url, const char *library, const char **error_r)
{
	struct redis *redis = xcalloc(1, sizeof *redis);

	redis->loop = loop;
	TAILQ_INIT(&redis->calls);
	redis->session = redis_session_new(loop, url, library, &events, redis, error_r);
	if (redis->session == NULL) {
		free(redis);
		return NULL;
	}
	return redis;
}

void
redis_destroy(struct redis **redis_p)
{
	struct redis *redis = *redis_p;
	struct call *call;

	if (redis == NULL)
		return;
	TAILQ_FOREACH(call, &redis->calls, entry) {
		call->redis = NULL;
		fiber_wake(call->fiber);
	}
	redis_session_destroy(&redis->session);
	free(redis);
	*redis_p = NULL;
}

/* --- waiting -------------------------------------------------------------------------- */

/* Returns what there is left of the call's time. */
static uint64_t
left_ms(const struct call *call)
{
	uint64_t now_ms = loop_now_ms(call->redis->loop);

	return call->until_ms > now_ms ? call->until_ms - now_ms : 0;
}

/* What a call ends with that could not be done in its time. */
static enum redis_status
time_over(const struct call *call)
{
	return call->reply != NULL ? REDIS_ERROR : REDIS_AWAY;
}

/* Returns REDIS_OK once the connection is up. */
static enum redis_status
wait_until_up(struct call *call)
{
	while (call->redis != NULL && !redis_session_is_up(call->redis->session)) {
		if (left_ms(call) == 0)
			return time_over(call);
		if (fiber_wait_ms(left_ms(call)) == -1)
			return REDIS_CANCELLED;
	}
	return call->redis != NULL ? REDIS_OK : REDIS_LOST;
}

#define SLOWLY 4u /* steps of the back-off that what somebody must mend begins at */

/* Waits a while after a refusal. Returns REDIS_OK when there is time to try again. */
static enum redis_status
wait_for_better_times(struct call *call)
{
	uint64_t ms = redis_backoff_ms(++call->refusals);

	if (left_ms(call) == 0)
		return REDIS_ERROR;
	if (fiber_wait_ms(ms < left_ms(call) ? ms : left_ms(call)) == -1)
		return REDIS_CANCELLED;
	return call->redis != NULL ? REDIS_OK : REDIS_LOST;
}

/* --- calling -------------------------------------------------------------------------- */

/* Sends the command and waits for what comes of it. */
static enum redis_status
exchange(struct call *call, const struct redis_arg *args, size_t count)
{
	struct request *request = xcalloc(1, sizeof *request);
	enum redis_status status;

	request->fiber = call->fiber;
	request->arena = call->arena;
	redis_session_send(call->redis->session, args, count, request);
	while (!request->is_answered) {
		if (fiber_wait() == -1 && !request->is_answered) {
			request->fiber = NULL; /* who frees it when the answer comes */
			return REDIS_CANCELLED;
		}
	}
	status = request->reply == NULL ? REDIS_LOST
		 : request->is_error    ? REDIS_ERROR
					: REDIS_OK;
	if (request->reply != NULL)
		call->reply = request->reply;
	free(request);
	return status;
}

/* Does what the refusal asks for. Returns REDIS_OK when the command is to be sent again. */
static enum redis_status
heed(struct call *call)
{
	const char *error = value_text(call->reply);

	switch (redis_reply_verdict(error)) {
	case REDIS_ELSEWHERE:
		redis_session_leave(call->redis->session, error);
		break;
	case REDIS_LIBRARY:
		redis_session_load(call->redis->session);
		break;
	case REDIS_REFUSED:
		on_refused(call->redis, error);
		if (call->refusals < SLOWLY)
			call->refusals = SLOWLY;
		break;
	case REDIS_AGAIN:
		break;
	case REDIS_FINAL:
		return REDIS_ERROR;
	}
	return wait_for_better_times(call);
}

static enum redis_status
run(struct call *call, const struct redis_arg *args, size_t count)
{
	enum redis_status status = REDIS_OK;

	if (fiber_cancelled())
		return REDIS_CANCELLED;
	while (status == REDIS_OK) {
		status = wait_until_up(call);
		if (status != REDIS_OK)
			break;
		status = exchange(call, args, count);
		if (status == REDIS_OK && call->refusals > 0 && call->redis != NULL)
			call->redis->refusal[0] = '\0'; /* it does what it refused */
		if (status != REDIS_ERROR || call->redis == NULL)
			break;
		status = heed(call);
	}
	return status;
}

enum redis_status
redis_call(struct redis *redis, struct arena *arena, uint64_t wait_ms,
    const struct redis_arg *args, size_t count, const struct value **reply_r)
{
	struct call call = {
		.redis = redis,
		.fiber = fiber_current(),
		.arena = arena,
		.until_ms = loop_now_ms(redis->loop) + wait_ms,
	};
	enum redis_status status;

	assert(call.fiber != NULL && count > 0);
	TAILQ_INSERT_TAIL(&redis->calls, &call, entry);
	status = run(&call, args, count);
	if (call.redis != NULL)
		TAILQ_REMOVE(&redis->calls, &call, entry);
	if (status == REDIS_OK || status == REDIS_ERROR)
		*reply_r = call.reply;
	return status;
}

enum redis_status
redis_text(struct redis *redis, struct arena *arena, uint64_t wait_ms,
    const struct value **reply_r, const char *command, ...)
{
	size_t count = 1, i;
	struct redis_arg *args;
	va_list list;

	va_start(list, command);
	while (va_arg(list, const char *) != NULL)
		count++;
	va_end(list);
	args = arena_alloc(arena, count * sizeof *args);
	args[0] = (struct redis_arg){ command, strlen(command) };
	va_start(list, command);
	for (i = 1; i < count; i++) {
		args[i].data = va_arg(list, const char *);
		args[i].size = strlen(args[i].data);
	}
	va_end(list);
	return redis_call(redis, arena, wait_ms, args, count, reply_r);
}

struct loop *
redis_loop(const struct redis *redis)
{
	return redis->loop;
}

bool
redis_is_up(const struct redis *redis)
{
	return redis_session_is_up(redis->session);
}

unsigned
redis_connects(const struct redis *redis)
{
	return redis_session_connects(redis->session);
}

bool
redis_is_denied(const struct redis *redis)
{
	return redis_session_is_denied(redis->session);
}

const char *
redis_refusal(const struct redis *redis)
{
	bool is_old = loop_now_ms(redis->loop) - redis->refused_ms > REFUSAL_MS;

	return redis->refusal[0] != '\0' && !is_old ? redis->refusal : NULL;
}

const char *
redis_trouble(const struct redis *redis)
{
	return redis_session_trouble(redis->session);
}

void
redis_allow_silence(struct redis *redis, uint64_t ms)
{
	redis_session_allow(redis->session, ms);
}
