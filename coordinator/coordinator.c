#include "coordinator.h"

#include <czmq.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "chain.h"
#include "chores.h"
#include "embedder.h"
#include "fiber.h"
#include "guard.h"
#include "heard.h"
#include "inbox.h"
#include "log.h"
#include "memory.h"
#include "models.h"
#include "registry.h"
#include "run.h"
#include "shards.h"
#include "store_service.h"
#include "suspects.h"
#include "submission.h"
#include "tally.h"
#include "webhooks.h"
#include "redis_address.h"

#define DRAIN_CHECK_MS 20u
#define WARM_BYTES_MAX                                                                   \
	(64u << 20) /* of messages that wait for their threads' next runs */
#define DRAIN_MS_MAX 10000u

#define SETTING(field) offsetof(struct coordinator_settings, field)
const struct setting coordinator_table[] = {
	SERVICE_SETTINGS,
	{ "broker", SETTING_LIST, SETTING(brokers), "tcp://127.0.0.1:7700", 0, 0, NULL,
	    "a broker's endpoint; give each of several", 0 },
	{ "redis", SETTING_TEXT, SETTING(redis), "redis://127.0.0.1:6379", 0, 0, NULL,
	    "where Redis is: redis://[:password@]host[:port][/db], rediss:// with TLS, "
	    "or unix:///path; several with commas: the one that is primary is used",
	    0 },
	{ "redis-wait-ms", SETTING_INTEGER, SETTING(redis_wait_ms), "600000", 100,
	    86400000, "ms",
	    "how long a step waits for a Redis that is gone; then the run is dropped, "
	    "and "
	    "found again when it is back",
	    0 },
	{ "wait-replicas", SETTING_INTEGER, SETTING(wait_replicas), "0", 0, 8, NULL,
	    "replicas that must have a commit before the run goes on", 0 },
	{ "wait-ms", SETTING_INTEGER, SETTING(wait_ms), "200", 10, 1000, "ms",
	    "how long one question for them may hold up Redis", 0 },
	{ "slots", SETTING_INTEGER, SETTING(slots), "10000", 1, 25000, NULL,
	    "runs this process holds at most, beside those that wait for children", 0 },
	{ "call-deadline-ms", SETTING_INTEGER, SETTING(call_deadline_ms), "600000", 100,
	    CALL_DEADLINE_MS_MAX, "ms", "deadline of a model or tool call", 0 },
	{ "served-wait-ms", SETTING_INTEGER, SETTING(served_wait_ms), "10000", 0, 3600000,
	    "ms", "how long a run waits for a worker that serves its model and tools",
	    0 },
	{ "webhook-attempts", SETTING_INTEGER, SETTING(webhook_attempts), "10", 1, 100,
	    NULL, "how often a webhook is tried before it is given up", 0 },
	{ "webhook-wait-ms", SETTING_INTEGER, SETTING(webhook_wait_ms), "1000", 1,
	    WEBHOOK_WAIT_MS_MAX, "ms",
	    "between the first two tries; doubles from one to the next, up to 10 minutes",
	    0 },
	{ "webhook-unserved-ms", SETTING_INTEGER, SETTING(webhook_unserved_ms),
	    "86400000", 1000, WEBHOOK_UNSERVED_MS_MAX, "ms",
	    "for how long on end no worker may be able to try one before it is given up",
	    0 },
	{ "embed", SETTING_TEXT, SETTING(embed), NULL, 0, 0, NULL,
	    "the model that long-term memory is searched by meaning with, such as "
	    "openai:text-embedding-3-small (default: it is not); the same for all "
	    "coordinators",
	    0 },
	{ "embed-field", SETTING_LIST, SETTING(embed_fields), NULL, 0, 0, NULL,
	    "with --embed: a field of a value that says what it means (default: all of "
	    "the value); may be given several times",
	    0 },
	{ "thread-ttl-ms", SETTING_INTEGER, SETTING(thread_ttl_ms), "0", 0,
	    (int64_t)TTL_MS_MAX, "ms",
	    "how long a thread is kept after its last run, unless its submissions say "
	    "otherwise (0: for ever)",
	    0 },
	{ "thread-ttl-action", SETTING_TEXT, SETTING(thread_ttl_action), "delete", 0, 0,
	    NULL, "what is done with it then: delete, or keep_latest", 0 },
	TRACE_SETTING(SETTING(trace_endpoint)),
	{ "trace-sample", SETTING_TEXT, SETTING(trace_sample), "1", 0, 0, NULL,
	    "the share of runs that is traced, 0 to 1, unless a submission brings a "
	    "trace; the same for all coordinators",
	    0 },
	{ "plugin", SETTING_LIST, SETTING(plugins), NULL, 0, 0, NULL,
	    "a shared object with middleware; may be given several times", 0 },
	{ "models", SETTING_TEXT, SETTING(models), NULL, 0, 0, NULL,
	    "a YAML file with what models can do, hold and cost: \"name*\": "
	    "{max_input_tokens: 32768}; it comes before the built-in table",
	    0 },
	{ NULL, SETTING_TEXT, 0, NULL, 0, 0, NULL, NULL, 0 },
};

/* --- the brokers -------------------------------------------------------------------- */

static void
on_up(void *arg, uint32_t link)
{
	struct coordinator *coordinator = arg;

	log_info(
	    "broker connected endpoint=%s", links_endpoint(coordinator->links, link));
	catalog_up(coordinator->catalog, link);
	caller_up(coordinator->caller, link);
}

static void
on_leaving(void *arg, uint32_t link, uint64_t ms)
{
	struct coordinator *coordinator = arg;

	log_info("broker leaves endpoint=%s ms=%llu",
	    links_endpoint(coordinator->links, link), (unsigned long long)ms);
	caller_leaving(coordinator->caller, link);
}

static void
on_down(void *arg, uint32_t link, const char *reason)
{
	struct coordinator *coordinator = arg;

	links_log_lost(coordinator->links, link, reason);
	catalog_down(coordinator->catalog, link);
	caller_down(coordinator->caller, link);
}

static void
on_message(void *arg, uint32_t link, const struct header *header, struct parts *bodies)
{
	struct coordinator *coordinator = arg;

	if (header->type == MSG_OFFER)
		catalog_offer(coordinator->catalog, link, header, bodies);
	else if (header->type == MSG_WITHDRAW)
		catalog_withdraw(coordinator->catalog, link, header);
	else if (header->type == MSG_ERROR)
		log_warnx("broker refused: %s", header->reason != NULL
						    ? header->reason
						    : wire_code_text(header->code));
	else if (!caller_message(coordinator->caller, link, header, bodies))
		log_debug("ignored %s", wire_message_name(header->type));
}

/* Alive, and still not at work: fills coordinator->trouble. */
static bool
has_trouble(struct coordinator *coordinator)
{
	char *text = coordinator->trouble;
	size_t size = sizeof coordinator->trouble;

	if (coordinator->guard != NULL && guard_trouble(coordinator->guard, text, size))
		return true;
	return coordinator->shards != NULL &&
	       shards_trouble(coordinator->shards, text, size);
}

static void
on_ping(void *arg, struct header *header)
{
	struct coordinator *coordinator = arg;

	header->load = zhashx_size(coordinator->runs);
	header->capacity = (uint64_t)coordinator->settings->slots;
	if (has_trouble(coordinator))
		header->reason = coordinator->trouble;
}

/* --- claiming ----------------------------------------------------------------------- */

static size_t
free_slots(const struct coordinator *coordinator)
{
	size_t slots = (size_t)coordinator->settings->slots;
	size_t busy = zhashx_size(coordinator->runs) - coordinator->waiting;

	return busy < slots ? slots - busy : 0;
}

size_t
coordinator_room(const struct coordinator *coordinator)
{
	/* Who waits for children must leave them fibers to run on. */
	if (coordinator->waiting > 0 && fiber_count(coordinator->loop) >= FIBERS_MAX / 2)
		return 0;
	return free_slots(coordinator);
}

struct run *
coordinator_hold(struct coordinator *coordinator, const char *thread)
{
	struct run *run;

	if (coordinator->draining || zhashx_lookup(coordinator->runs, thread) != NULL ||
	    free_slots(coordinator) == 0)
		return NULL;
	run = xcalloc(1, sizeof *run);
	run->coordinator = coordinator;
	run->thread = xstrdup(thread);
	run->shard = store_shard(thread);
	run->owned_ms = loop_now_ms(coordinator->loop); /* an arrival is claimed next */
	if (fiber_start(coordinator->loop, "run", run_main, run) == NULL) {
		free(run->thread);
		free(run);
		return NULL;
	}
	zhashx_insert(coordinator->runs, thread, run);
	coordinator->owned[run->shard]++;
	return run;
}

void
coordinator_claim(struct coordinator *coordinator, const char *thread)
{
	struct run *run = zhashx_lookup(coordinator->runs, thread);

	if (run != NULL)
		run->more_wait = true;
	else
		coordinator_hold(coordinator, thread);
}

/* --- life --------------------------------------------------------------------------- */

static void
load_plugins(const char *const *plugins)
{
	const char *error;

	for (; plugins != NULL && *plugins != NULL; plugins++)
		if (registry_load(*plugins, &error) == -1)
			fatalx("plugin %s: %s", *plugins, error);
}

static void
load_models(const char *file)
{
	struct arena *arena = arena_new();
	const char *error;

	if (models_load(file, arena, &error) == -1)
		fatalx("--models %s", error);
	arena_destroy(&arena);
}

struct redis *
coordinator_connect_redis(const struct coordinator *coordinator, const char *library)
{
	const char *error;
	struct redis *redis =
	    redis_new(coordinator->loop, coordinator->settings->redis, library, &error);

	if (redis == NULL)
		fatalx("--redis %s: %s",
		    redis_addresses_shown(arena_new(), coordinator->settings->redis),
		    error);
	return redis;
}

static void
connect_brokers(struct coordinator *coordinator)
{
	const struct links_options options = {
		.endpoints = (const char *const *)coordinator->settings->brokers,
		.role = ROLE_COORDINATOR,
		.name = coordinator->settings->common.name,
		.on_up = on_up,
		.on_down = on_down,
		.on_leaving = on_leaving,
		.on_message = on_message,
		.on_ping = on_ping,
		.arg = coordinator,
	};
	const char *wrong, *allowed;

	coordinator->links = links_new(coordinator->loop, &options, &wrong, &allowed);
	if (coordinator->links == NULL)
		settings_refuse("coordinator", "--broker", wrong, allowed);
	coordinator->caller = caller_new(coordinator->loop, coordinator->links);
}

static void
open_trace(struct coordinator *coordinator)
{
	const struct coordinator_settings *settings = coordinator->settings;
	const struct trace_options options = {
		.program = settings->program != NULL ? settings->program : "coordinator",
		.instance = settings->common.name,
		.endpoint = settings->trace_endpoint,
	};

	if (trace_ratio_read(settings->trace_sample, &coordinator->trace_ratio) == -1)
		settings_refuse(options.program, "--trace-sample", settings->trace_sample,
		    "a number from 0 to 1");
	coordinator->trace = trace_new(coordinator->loop, &options);
}

static struct heard *
start_heard(void)
{
	uint64_t seed = 0;

	if (getentropy(&seed, sizeof seed) == -1)
		seed = loop_now_us();
	return heard_new(HEARD_THREADS_MAX, seed);
}

struct coordinator *
coordinator_new(struct service *service, const struct coordinator_settings *settings)
{
	struct coordinator *coordinator = xcalloc(1, sizeof *coordinator);
	char session[33];

	if (!submission_is_ttl_action(settings->thread_ttl_action))
		settings_refuse("coordinator", "--thread-ttl-action",
		    settings->thread_ttl_action, "delete or keep_latest");
	coordinator->service = service;
	coordinator->loop = service_loop(service);
	coordinator->settings = settings;
	open_trace(coordinator);
	load_plugins((const char *const *)settings->plugins);
	load_models(settings->models);
	coordinator->runs = zhashx_new();
	coordinator->awaited = zhashx_new();
	TAILQ_INIT(&coordinator->attempts);
	coordinator->redis = coordinator_connect_redis(coordinator, store_library());
	coordinator->inbox_redis = coordinator_connect_redis(coordinator, NULL);
	coordinator->store =
	    store_new(coordinator->redis, (uint64_t)settings->redis_wait_ms);
	store_want_replicas(coordinator->store, (unsigned)settings->wait_replicas,
	    (uint64_t)settings->wait_ms);
	service_session(session);
	store_act_as(coordinator->store, session, settings->common.name);
	store_keep_warm(coordinator->store, WARM_BYTES_MAX);
	coordinator->catalog = catalog_new(coordinator->loop, coordinator->store);
	coordinator->agents = agents_new(coordinator->store);
	coordinator->heard = start_heard();
	connect_brokers(coordinator);
	coordinator->guard = guard_new(coordinator);
	coordinator->shards = shards_new(coordinator);
	coordinator->chores = chores_new(coordinator);
	coordinator->suspects = suspects_new(coordinator);
	chain_sleep_with(run_hook_sleep);
	coordinator->tally = tally_new(coordinator->loop, coordinator->store);
	coordinator->embedder = embedder_new(coordinator);
	coordinator->inbox = inbox_new(coordinator);
	coordinator->store_service = store_service_new(coordinator);
	guard_wait(coordinator->guard);
	return coordinator;
}

/* --- draining ----------------------------------------------------------------------- */

static void
release_runs(struct coordinator *coordinator)
{
	struct run *run;

	for (run = zhashx_first(coordinator->runs); run != NULL;
	     run = zhashx_next(coordinator->runs))
		if (!run->releasing)
			run_release(run);
}

static void
on_store_drained(void *arg)
{
	struct coordinator *coordinator = arg;

	coordinator->store_drained = true;
}

/* Now, since in a hub coordinator_destroy comes after the broker's own end, which would wait for the calls of
 * runs that nobody has here any more. */
static void
say_goodbye(struct coordinator *coordinator)
{
	caller_destroy(&coordinator->caller);
	links_destroy(&coordinator->links);
}

/* Gives runs back, then ends; leases end by themselves. Each wait is bounded: Redis may be gone. */
static void
drain_main(void *arg)
{
	struct coordinator *coordinator = arg;
	const int64_t drain_ms = coordinator->settings->drain_ms;
	uint64_t deadline = loop_now_ms(coordinator->loop) +
			    (drain_ms > 0 ? (uint64_t)drain_ms : DRAIN_MS_MAX);

	guard_stop(coordinator->guard);
	store_service_drain(coordinator->store_service, on_store_drained, coordinator);
	inbox_stop(coordinator->inbox);
	while (
	    !inbox_idle(coordinator->inbox) && loop_now_ms(coordinator->loop) < deadline)
		fiber_sleep(DRAIN_CHECK_MS);
	release_runs(coordinator);
	while (zhashx_size(coordinator->runs) > 0 &&
	       loop_now_ms(coordinator->loop) < deadline)
		fiber_sleep(DRAIN_CHECK_MS);
	while (!coordinator->store_drained && loop_now_ms(coordinator->loop) < deadline)
		fiber_sleep(DRAIN_CHECK_MS);
	chores_stop(coordinator->chores);
	tally_stop(coordinator->tally);
	shards_stop(coordinator->shards);
	suspects_stop(coordinator->suspects);
	embedder_stop(coordinator->embedder);
	trace_flush(coordinator->trace, trace_flush_ms(coordinator->loop, deadline));
	while (fiber_count(coordinator->loop) > 1) { /* this one */
		if (loop_now_ms(coordinator->loop) >= deadline)
			service_give_up(
			    zhashx_size(coordinator->runs) > 0
				? "there are runs that could not be given back or ended"
				: "Redis has not answered all that it was asked");
		webhooks_leave(coordinator);
		fiber_sleep(DRAIN_CHECK_MS);
	}
	say_goodbye(coordinator);
	service_end(coordinator->service);
}

void
coordinator_drain(void *arg)
{
	struct coordinator *coordinator = arg;

	coordinator->draining = true;
	log_info("draining runs=%zu", zhashx_size(coordinator->runs));
	if (fiber_start(coordinator->loop, "drain", drain_main, coordinator) == NULL)
		service_end(coordinator->service);
}

void
coordinator_destroy(struct coordinator **coordinator_p)
{
	struct coordinator *coordinator = *coordinator_p;

	if (coordinator == NULL)
		return;
	store_service_destroy(&coordinator->store_service);
	embedder_destroy(&coordinator->embedder);
	inbox_destroy(&coordinator->inbox);
	chores_destroy(&coordinator->chores);
	tally_destroy(&coordinator->tally);
	shards_destroy(&coordinator->shards);
	suspects_destroy(&coordinator->suspects);
	guard_destroy(&coordinator->guard);
	heard_destroy(&coordinator->heard);
	caller_destroy(&coordinator->caller);
	links_destroy(&coordinator->links);
	agents_destroy(&coordinator->agents);
	catalog_destroy(&coordinator->catalog);
	store_destroy(&coordinator->store);
	redis_destroy(&coordinator->inbox_redis);
	redis_destroy(&coordinator->redis);
	zhashx_destroy(&coordinator->runs);
	zhashx_destroy(&coordinator->awaited);
	trace_destroy(&coordinator->trace);
	models_unload();
	free(coordinator);
	*coordinator_p = NULL;
}
