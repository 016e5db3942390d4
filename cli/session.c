#include "session.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "fiber.h"
#include "fleet_file.h"

#define CONNECT_WAIT_MS 3000u

struct session {
	struct loop *loop;
	struct arena *arena;
	bool json;
	struct fleet_file fleet;
	struct redis *redis, *events_redis;
	struct store *store, *events_store;
	uv_signal_t interrupt;
	struct fiber *fiber; /* that runs the command */
	bool interrupted;
};

void
complain(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fputs("flotilla: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static void
on_interrupt(uv_signal_t *handle, int number)
{
	struct session *session = handle->data;

	(void)number;
	session->interrupted = true;
	if (session->fiber != NULL)
		fiber_cancel(session->fiber);
}

struct session *
session_new(struct loop *loop, const struct common_settings *settings)
{
	struct session *session = calloc(1, sizeof *session);

	if (session == NULL)
		abort();
	session->loop = loop;
	session->arena = arena_new();
	session->json = settings->json;
	session->fiber = fiber_current();
	fleet_file_find(session->arena, &session->fleet);
	if (settings->redis != NULL)
		session->fleet.redis = settings->redis;
	if (settings->broker != NULL)
		session->fleet.broker = settings->broker;
	if (settings->status != NULL)
		session->fleet.status = settings->status;
	uv_signal_init(loop_uv(loop), &session->interrupt);
	session->interrupt.data = session;
	uv_signal_start(&session->interrupt, on_interrupt, SIGINT);
	uv_unref((uv_handle_t *)&session->interrupt);
	return session;
}

static void
on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void
session_at(struct session *session, const struct fleet_file *fleet)
{
	session->fleet = *fleet;
}

void
session_disconnect(struct session *session)
{
	if (session->events_store != NULL)
		store_destroy(&session->events_store);
	if (session->store != NULL)
		store_destroy(&session->store);
	redis_destroy(&session->events_redis);
	redis_destroy(&session->redis);
}

void
session_destroy(struct session **session_p)
{
	struct session *session = *session_p;

	if (session == NULL)
		return;
	*session_p = NULL;
	session_disconnect(session);
	arena_destroy(&session->arena);
	uv_close((uv_handle_t *)&session->interrupt, on_closed);
}

struct loop *
session_loop(struct session *session)
{
	return session->loop;
}

struct arena *
session_arena(struct session *session)
{
	return session->arena;
}

bool
session_json(const struct session *session)
{
	return session->json;
}

const char *
session_redis(struct session *session)
{
	return session->fleet.redis;
}

const char *
session_broker(struct session *session)
{
	return session->fleet.broker;
}

const char *
session_status(struct session *session)
{
	return session->fleet.status;
}

bool
session_interrupted(const struct session *session)
{
	return session->interrupted || ferror(stdout);
}

static struct store *
connect_store(struct session *session, struct redis **redis_p)
{
	const char *error;
	uint64_t deadline = loop_now_ms(session->loop) + CONNECT_WAIT_MS;

	*redis_p =
	    redis_new(session->loop, session->fleet.redis, store_library(), &error);
	if (*redis_p == NULL) {
		complain("--redis %s: %s", session->fleet.redis, error);
		return NULL;
	}
	while (!redis_is_up(*redis_p)) {
		if (fiber_sleep(5) == -1)
			return NULL; /* Ctrl-C: whoever pressed it knows */
		if (loop_now_ms(session->loop) > deadline) {
			complain("no Redis at %s (%s); is the fleet up? `flotilla up` "
				 "starts one",
			    session->fleet.redis, redis_trouble(*redis_p));
			return NULL;
		}
	}
	return store_new(*redis_p, CONNECT_WAIT_MS);
}

struct store *
session_store(struct session *session)
{
	if (session->store == NULL && session->redis == NULL)
		session->store = connect_store(session, &session->redis);
	return session->store;
}

struct store *
session_events_store(struct session *session)
{
	if (session->events_store == NULL && session->events_redis == NULL)
		session->events_store = connect_store(session, &session->events_redis);
	return session->events_store;
}

int
session_store_failed(struct session *session, enum store_status status)
{
	if (status == STORE_CANCELLED)
		return STATUS_FAILED;
	if (session->store != NULL)
		complain("%s", store_error(session->store));
	return STATUS_UNREACHABLE;
}
