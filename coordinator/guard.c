#include "guard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator.h"
#include "fiber.h"
#include "log.h"
#include "memory.h"
#include "store_fleet.h"

#define LOOK_EVERY_MS 1000u
#define LOOK_MS 500u /* a look that takes longer has failed */
#define FIRST_LOOK_MS 2000u
#define MEGABYTE (1u << 20)

enum state {
	UNKNOWN, /* not looked at yet */
	WELL,
	GONE,
	FULL,    /* nearly */
	REFUSES, /* to write */
	EVICTS,  /* throws keys away when it is full */
};
static const char *const state_names[] = { "unknown", "well", "gone", "full", "refuses",
	"evicts" };

struct guard {
	struct coordinator *coordinator;
	struct fiber *fiber; /* NULL: ended */
	enum state state;
	bool has_looked; /* once, and Redis answered */
	bool is_waiting; /* in guard_wait */
	char reason[256];
};

/* --- the first look --------------------------------------------------------------------- */

static void
require_policy(const struct store_health *health)
{
	if (health->policy == NULL) {
		log_warnx("redis does not tell its maxmemory-policy: make sure that it "
			  "is noeviction");
		return;
	}
	if (strcmp(health->policy, "noeviction") != 0)
		fatalx("Redis has maxmemory-policy %s: it would throw runs away when "
		       "it is full. `redis-cli CONFIG SET maxmemory-policy "
		       "noeviction`, and the same in its redis.conf",
		    health->policy);
}

static void
look_first(struct guard *guard, const struct store_health *health)
{
	if (health->is_cluster)
		fatalx("this Redis is a Redis Cluster, whose keys lie apart from each "
		       "other: give --redis one without (cluster-enabled no), with "
		       "replicas if it is to outlive a machine");
	require_policy(health);
	if (!health->is_logged)
		log_warnx("redis keeps no log of its writes (appendonly no): what it has "
			  "not saved is lost when it ends");
	guard->has_looked = true;
}

/* --- each look -------------------------------------------------------------------------- */

/* Asks for a write that changes nothing: whether Redis still refuses them is not said else while
 * nobody asks for one. */
static void
probe(struct guard *guard, struct arena *arena)
{
	const struct value *reply;

	redis_text(guard->coordinator->redis, arena, 0, &reply, "HDEL",
	    arena_printf(arena, "%sleases", store_prefix(arena, 0)), "nobody", NULL);
}

static enum state
judge(struct guard *guard, const struct store_health *health)
{
	struct coordinator *coordinator = guard->coordinator;
	unsigned full = store_fullness(health);
	const char *refusal = redis_refusal(coordinator->redis);

	if (refusal == NULL && coordinator->inbox_redis != NULL)
		refusal = redis_refusal(coordinator->inbox_redis);
	if (refusal == NULL && health->is_log_broken)
		refusal = "it cannot write its append-only file";
	if (refusal == NULL && store_lacks_replicas(coordinator->store))
		refusal = "too few replicas acknowledge commits";
	if (refusal != NULL) {
		snprintf(guard->reason, sizeof guard->reason, "%s", refusal);
		return REFUSES;
	}
	if (health->policy != NULL && strcmp(health->policy, "noeviction") != 0) {
		snprintf(guard->reason, sizeof guard->reason, "maxmemory-policy is %s",
		    health->policy);
		return EVICTS;
	}
	snprintf(guard->reason, sizeof guard->reason,
	    "%" PRIu64 " MB of %" PRIu64 " MB used, %u %%", health->used / MEGABYTE,
	    health->max / MEGABYTE, full);
	if (full >= STORE_FULL || (guard->state == FULL && full >= STORE_ROOM_AGAIN))
		return FULL;
	return WELL;
}

static void
tell_log(const struct guard *guard)
{
	switch (guard->state) {
	case WELL:
		log_info("redis is well");
		break;
	case GONE:
		log_warnx("redis lost: %s", guard->reason);
		break;
	case FULL:
		log_warnx("redis is nearly full (%s): new submissions wait in the inbox; "
			  "raise maxmemory, or delete what is old",
		    guard->reason);
		break;
	case REFUSES:
		log_warnx("redis refuses to write (%s): nothing new is begun, what runs "
			  "waits",
		    guard->reason);
		break;
	case EVICTS:
		log_warnx("redis throws keys away when it is full (%s): nothing new is "
			  "begun until it is noeviction",
		    guard->reason);
		break;
	default:
		break;
	}
}

static void
enter(struct guard *guard, struct arena *arena, enum state state)
{
	struct coordinator *coordinator = guard->coordinator;

	if (state == guard->state)
		return;
	/* That all is well is worth a line only after something was not. */
	if (state != WELL || guard->state > WELL) {
		guard->state = state;
		tell_log(guard);
	}
	guard->state = state;
	links_publish(coordinator->links, NULL,
	    arena_printf(
		arena, "coordinator.%s.redis", coordinator->settings->common.name),
	    value_map(arena, "state", value_str(arena, state_names[state]), "reason",
		value_str(arena, guard->reason), NULL));
}

static void
look(struct guard *guard, struct arena *arena)
{
	struct coordinator *coordinator = guard->coordinator;
	struct store_health health;
	enum store_status status =
	    store_health(coordinator->store, arena, LOOK_MS, &health);

	if (status == STORE_CANCELLED)
		return;
	if (status == STORE_OK) {
		if (!guard->has_looked)
			look_first(guard, &health);
		if (guard->state == REFUSES)
			probe(guard, arena);
		enter(guard, arena, judge(guard, &health));
		return;
	}
	if (!guard->has_looked && redis_is_denied(coordinator->redis))
		fatalx("Redis does not let us in: %s; the password belongs into --redis, "
		       "redis://[user]:password@host",
		    redis_trouble(coordinator->redis));
	snprintf(
	    guard->reason, sizeof guard->reason, "%s", redis_trouble(coordinator->redis));
	enter(guard, arena, GONE);
}

static void
guard_main(void *arg)
{
	struct guard *guard = arg;

	do {
		struct arena *arena = arena_new();

		look(guard, arena);
		arena_destroy(&arena);
	} while (fiber_sleep(guard->has_looked ? LOOK_EVERY_MS : LOOK_MS / 10) == 0);
	guard->fiber = NULL;
}

/* --- for the others --------------------------------------------------------------------- */

struct guard *
guard_new(struct coordinator *coordinator)
{
	struct guard *guard = xcalloc(1, sizeof *guard);

	guard->coordinator = coordinator;
	guard->fiber = fiber_start(coordinator->loop, "guard", guard_main, guard);
	return guard;
}

void
guard_stop(struct guard *guard)
{
	if (guard->fiber != NULL)
		fiber_cancel(guard->fiber);
}

void
guard_destroy(struct guard **guard_p)
{
	free(*guard_p);
	*guard_p = NULL;
}

static void
on_time_over(void *arg)
{
	struct guard *guard = arg;

	guard->is_waiting = false;
}

static bool
has_waited(void *arg)
{
	const struct guard *guard = arg;

	return guard->has_looked || !guard->is_waiting;
}

void
guard_wait(struct guard *guard)
{
	struct timer *timer =
	    timer_start(guard->coordinator->loop, FIRST_LOOK_MS, 0, on_time_over, guard);

	guard->is_waiting = true;
	loop_run_until(guard->coordinator->loop, has_waited, guard);
	timer_stop(&timer);
}

bool
guard_trouble(const struct guard *guard, char *text, size_t size)
{
	if (guard->state != FULL && guard->state != REFUSES && guard->state != EVICTS)
		return false;
	snprintf(text, size, "Redis %s: %s",
	    guard->state == FULL      ? "is nearly full, nothing new is begun"
	    : guard->state == REFUSES ? "refuses to write"
				      : "throws keys away when it is full",
	    guard->reason);
	return true;
}

bool
guard_claims(const struct guard *guard)
{
	return guard->has_looked && guard->state != REFUSES && guard->state != EVICTS &&
	       redis_refusal(guard->coordinator->redis) == NULL;
}

bool
guard_admits(const struct guard *guard)
{
	return guard->state != FULL && guard_claims(guard);
}
