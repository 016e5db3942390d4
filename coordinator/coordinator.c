#include "coordinator.h"

#include <stdlib.h>
#include <string.h>

#include "fiber.h"
#include "inbox.h"
#include "log.h"
#include "registry.h"
#include "run.h"
#include "shards.h"

/* How long a step on Redis waits for it to come back before the run is dropped for
 * another coordinator to find. */
#define REDIS_WAIT_MS 600000u
#define DRAIN_CHECK_MS 20u
#define DRAIN_MS_MAX 10000u

#define SETTING(field) offsetof(struct coordinator_settings, field)
const struct setting coordinator_table[] = {
	SERVICE_SETTINGS,
	{ "broker", SETTING_TEXT, SETTING(broker), "tcp://127.0.0.1:7700", 0, 0, NULL,
	    "the broker's endpoint", 0 },
	{ "redis", SETTING_TEXT, SETTING(redis), "redis://127.0.0.1:6379", 0, 0, NULL,
	    "where Redis is: redis://[:password@]host[:port][/db] or unix:///path", 0 },
	{ "slots", SETTING_INTEGER, SETTING(slots), "10000", 1, 25000, NULL,
	    "runs this process holds at most", 0 },
	{ "call-deadline-ms", SETTING_INTEGER, SETTING(call_deadline_ms), "600000", 100,
	    CALL_DEADLINE_MS_MAX, "ms", "deadline of a model or tool call", 0 },
	{ "served-wait-ms", SETTING_INTEGER, SETTING(served_wait_ms), "10000", 0, 3600000,
	    "ms", "how long a run waits for a worker that serves its model and tools",
	    0 },
	{ "plugin", SETTING_LIST, SETTING(plugins), NULL, 0, 0, NULL,
	    "a shared object with middleware; may be given several times", 0 },
	{ NULL, SETTING_TEXT, 0, NULL, 0, 0, NULL, NULL, 0 },
};

/* --- the broker --------------------------------------------------------------------- */

static void
on_up(void *arg)
{
	struct coordinator *coordinator = arg;

	log_info("broker connected");
	catalog_up(coordinator->catalog);
	caller_up(coordinator->caller);
}

static void
on_down(void *arg, const char *reason)
{
	struct coordinator *coordinator = arg;

	log_warnx("broker lost: %s", reason);
	catalog_down(coordinator->catalog);
	caller_down(coordinator->caller);
}

static void
on_message(void *arg, const struct header *header, struct parts *bodies)
{
	struct coordinator *coordinator = arg;

	if (header->type == MSG_OFFER)
		catalog_offer(coordinator->catalog, header, bodies);
	else if (header->type == MSG_WITHDRAW)
		catalog_withdraw(coordinator->catalog, header);
	else if (header->type == MSG_ERROR)
		log_warnx("broker refused: %s", header->reason != NULL
						    ? header->reason
						    : wire_code_text(header->code));
	else if (!caller_message(coordinator->caller, header, bodies))
		log_debug("ignored %s", wire_message_name(header->type));
}

static void
on_ping(void *arg, struct header *header)
{
	struct coordinator *coordinator = arg;

	header->load = zhashx_size(coordinator->runs);
	header->capacity = (uint64_t)coordinator->settings->slots;
}

/* --- claiming ----------------------------------------------------------------------- */

void
coordinator_claim(struct coordinator *coordinator, const char *thread)
{
	struct run *run = zhashx_lookup(coordinator->runs, thread);

	if (run != NULL)
		run->more_wait = true;
	if (run != NULL || coordinator->draining ||
	    zhashx_size(coordinator->runs) >= (size_t)coordinator->settings->slots)
		return;
	run = calloc(1, sizeof *run);
	if (run == NULL)
		abort();
	run->coordinator = coordinator;
	run->thread = strdup(thread);
	run->shard = store_shard(thread);
	if (fiber_start(coordinator->loop, "run", run_main, run) == NULL) {
		free(run->thread);
		free(run);
		return;
	}
	zhashx_insert(coordinator->runs, thread, run);
	coordinator->owned[run->shard]++;
}

const char *
coordinator_owner(const struct coordinator *coordinator)
{
	return peer_session(coordinator->peer);
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

static struct redis *
connect_redis(struct coordinator *coordinator, const char *library)
{
	const char *error;
	struct redis *redis =
	    redis_new(coordinator->loop, coordinator->settings->redis, library, &error);

	if (redis == NULL)
		fatalx("--redis %s: %s", coordinator->settings->redis, error);
	return redis;
}

static void
connect_broker(struct coordinator *coordinator)
{
	struct peer_options options = {
		.endpoint = coordinator->settings->broker,
		.role = ROLE_COORDINATOR,
		.name = coordinator->settings->common.name,
		.on_up = on_up,
		.on_down = on_down,
		.on_message = on_message,
		.on_ping = on_ping,
		.arg = coordinator,
	};

	coordinator->peer = peer_new(coordinator->loop, &options);
	if (coordinator->peer == NULL)
		fatalx(
		    "--broker %s: no endpoint of ZeroMQ", coordinator->settings->broker);
	coordinator->caller = caller_new(coordinator->loop, coordinator->peer);
}

struct coordinator *
coordinator_new(struct service *service, const struct coordinator_settings *settings)
{
	struct coordinator *coordinator = calloc(1, sizeof *coordinator);

	if (coordinator == NULL)
		abort();
	coordinator->service = service;
	coordinator->loop = service_loop(service);
	coordinator->settings = settings;
	load_plugins((const char *const *)settings->plugins);
	coordinator->runs = zhashx_new();
	coordinator->redis = connect_redis(coordinator, store_library());
	coordinator->inbox_redis = connect_redis(coordinator, NULL);
	coordinator->store = store_new(coordinator->redis, REDIS_WAIT_MS);
	coordinator->catalog = catalog_new(coordinator->loop, coordinator->store);
	coordinator->agents = agents_new(coordinator->store);
	connect_broker(coordinator);
	coordinator->shards = shards_new(coordinator);
	coordinator->inbox = inbox_new(coordinator);
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

/* Gives runs back, then leases, then ends. The wait for each is bounded: Redis may be gone. */
static void
drain_main(void *arg)
{
	struct coordinator *coordinator = arg;
	uint64_t deadline = loop_now_ms(coordinator->loop) + DRAIN_MS_MAX;

	inbox_stop(coordinator->inbox);
	while (
	    !inbox_idle(coordinator->inbox) && loop_now_ms(coordinator->loop) < deadline)
		fiber_sleep(DRAIN_CHECK_MS);
	release_runs(coordinator);
	while (zhashx_size(coordinator->runs) > 0 &&
	       loop_now_ms(coordinator->loop) < deadline)
		fiber_sleep(DRAIN_CHECK_MS);
	shards_stop(coordinator->shards);
	while (fiber_count(coordinator->loop) > 1) { /* this one */
		if (loop_now_ms(coordinator->loop) >= deadline)
			service_give_up("Redis does not take the runs back");
		fiber_sleep(DRAIN_CHECK_MS);
	}
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
	inbox_destroy(&coordinator->inbox);
	shards_destroy(&coordinator->shards);
	caller_destroy(&coordinator->caller);
	peer_destroy(&coordinator->peer);
	agents_destroy(&coordinator->agents);
	catalog_destroy(&coordinator->catalog);
	store_destroy(&coordinator->store);
	redis_destroy(&coordinator->inbox_redis);
	redis_destroy(&coordinator->redis);
	zhashx_destroy(&coordinator->runs);
	free(coordinator);
	*coordinator_p = NULL;
}
