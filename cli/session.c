#include "session.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "command.h"
#include "curve.h"
#include "fiber.h"
#include "fleet_file.h"
#include "log.h"
#include "models.h"
#include "redis_address.h"
#include "registry.h"
#include "tame.h"
#include "utf8.h"

#define CONNECT_WAIT_MS 3000u

struct session {
	struct loop *loop;
	struct arena *arena;
	bool json;
	uint64_t redis_wait_ms; /* of each step of the store */
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
	struct arena *arena = arena_new();
	va_list args;
	char *text, *shown;
	size_t size;

	fflush(stdout);
	va_start(args, format);
	if (vasprintf(&text, format, args) == -1)
		fatal("no memory");
	va_end(args);
	shown = utf8_repair(arena, text, strlen(text), &size);
	tame(shown); /* it may be a tool's or a model's word */
	fprintf(stderr, "flotilla: %s\n", shown);
	free(text);
	arena_destroy(&arena);
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
	session->redis_wait_ms = CONNECT_WAIT_MS;
	session->fiber = fiber_current();
	fleet_file_find(session->arena, &session->fleet);
	if (settings->redis != NULL) {
		session->fleet.redis = settings->redis;
		session->fleet.passed_over = NULL;
	}
	if (settings->brokers != NULL && settings->brokers[0] != NULL)
		session->fleet.brokers = (const char *const *)settings->brokers;
	if (settings->statuses != NULL && settings->statuses[0] != NULL)
		session->fleet.statuses = (const char *const *)settings->statuses;
	uv_signal_init(loop_uv(loop), &session->interrupt);
	session->interrupt.data = session;
	uv_signal_start(&session->interrupt, on_interrupt, SIGINT);
	uv_unref((uv_handle_t *)&session->interrupt);
	return session;
}

int
session_open_keys(struct session *session, const struct common_settings *settings)
{
	const char *key = settings->key, *broker_key = settings->broker_key, *error;

	if (key == NULL && broker_key == NULL)
		key = broker_key = session->fleet.key;
	if (key == NULL && broker_key == NULL)
		return 0;
	if (key == NULL || broker_key == NULL) {
		complain("--%s goes together with --%s",
		    key == NULL ? "broker-key" : "key",
		    key == NULL ? "key FILE, our own pair"
				: "broker-key, the broker's public key");
		return -1;
	}
	if (curve_open(key, broker_key, &error) == 0)
		return 0;
	complain("%s", error);
	return -1;
}

int
session_load_models(struct session *session, const char *given)
{
	const char *error;

	if (given == NULL)
		given = session->fleet.models;
	if (models_load(given, session->arena, &error) == 0)
		return STATUS_OK;
	complain("--models %s", error);
	return STATUS_FAILED;
}

int
session_load_plugins(const char *const *plugins)
{
	const char *error;

	for (; plugins != NULL && *plugins != NULL; plugins++) {
		if (registry_load(*plugins, &error) == -1) {
			complain("--plugin %s: %s", *plugins, error);
			return STATUS_FAILED;
		}
	}
	return STATUS_OK;
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
session_redis_shown(struct session *session)
{
	return redis_addresses_shown(session->arena, session->fleet.redis);
}

const char *const *
session_brokers(struct session *session)
{
	return session->fleet.brokers;
}

const char *const *
session_statuses(struct session *session)
{
	return session->fleet.statuses;
}

const char *
session_join(struct session *session, const char *const *endpoints)
{
	const char *text = *endpoints;

	for (endpoints++; *endpoints != NULL; endpoints++)
		text = arena_printf(session->arena, "%s, %s", text, *endpoints);
	return text;
}

bool
session_interrupted(const struct session *session)
{
	return session->interrupted || ferror(stdout);
}

static void
complain_no_redis(struct session *session, const char *trouble)
{
	if (strstr(trouble, "is a replica") != NULL)
		complain("no primary Redis at %s (%s): --redis must name the primary, or "
			 "all servers, with commas",
		    session_redis_shown(session), trouble);
	else if (session->fleet.passed_over != NULL)
		complain(
		    "no Redis at %s (%s); the fleet of %s was passed over: it, or its "
		    "fleet.json, is not yours, or others may write it",
		    session_redis_shown(session), trouble, session->fleet.passed_over);
	else
		complain("no Redis at %s (%s); is the fleet up? `flotilla up` starts one",
		    session_redis_shown(session), trouble);
}

/* While we stood still ourselves nobody could answer us. */
static bool
has_had_its_time(const struct session *session, uint64_t begun_ms)
{
	uint64_t gap_ms = loop_gap_ms(session->loop), wait_ms = session->redis_wait_ms;

	if (wait_ms < CONNECT_WAIT_MS)
		wait_ms = CONNECT_WAIT_MS;
	return loop_now_ms(session->loop) >
	       (gap_ms > begun_ms ? gap_ms : begun_ms) + wait_ms;
}

static struct store *
connect_store(struct session *session, struct redis **redis_p)
{
	const char *error;
	uint64_t begun_ms = loop_now_ms(session->loop);

	*redis_p =
	    redis_new(session->loop, session->fleet.redis, store_library(), &error);
	if (*redis_p == NULL) {
		complain("--redis %s: %s", session_redis_shown(session), error);
		return NULL;
	}
	while (!redis_is_up(*redis_p)) {
		if (redis_is_denied(*redis_p)) {
			complain(
			    "Redis does not let us in (%s): the password belongs into "
			    "--redis, redis://[user]:password@host",
			    redis_trouble(*redis_p));
			return NULL;
		}
		if (has_had_its_time(session, begun_ms)) {
			complain_no_redis(session, redis_trouble(*redis_p));
			return NULL;
		}
		if (fiber_sleep(5) == -1)
			return NULL; /* Ctrl-C: whoever pressed it knows */
	}
	return store_new(*redis_p, session->redis_wait_ms);
}

void
session_wait_for_redis(struct session *session, uint64_t ms)
{
	session->redis_wait_ms = ms;
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

#define CLUSTER                                                                          \
	" (this is a Redis Cluster: give --redis one that is none, cluster-enabled no)"

const char *
session_remedy(const char *error)
{
	static const struct {
		const char *error, *remedy;
	} remedies[] = {
		{ "OOM ",
		    " (Redis is full: raise its maxmemory, or delete what is old)" },
		{ "MISCONF ", " (Redis cannot write to its disk: is it full?)" },
		{ "Function not found", " (our functions could not be loaded: is Redis "
					"full, or may this user not "
					"load them, and no coordinator has?)" },
		{ "CLUSTERDOWN ", CLUSTER },
		{ "MOVED ", CLUSTER },
		{ "CROSSSLOT ", CLUSTER },
	};
	size_t i;

	for (i = 0; i < sizeof remedies / sizeof *remedies; i++)
		if (strstr(error, remedies[i].error) != NULL)
			return remedies[i].remedy;
	return "";
}

int
session_step_failed(const struct store *store, enum store_status status)
{
	if (status == STORE_CANCELLED)
		return STATUS_FAILED;
	if (store != NULL)
		complain("%s%s", store_error(store), session_remedy(store_error(store)));
	return status == STORE_DAMAGED ? STATUS_FAILED : STATUS_UNREACHABLE;
}

int
session_store_failed(struct session *session, enum store_status status)
{
	return session_step_failed(session->store, status);
}

int
session_events_failed(struct session *session, enum store_status status)
{
	return session_step_failed(session->events_store, status);
}
