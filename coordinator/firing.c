#include "firing.h"

#include <inttypes.h>
#include <stdlib.h>

#include "assistants.h"
#include "bounds.h"
#include "coordinator.h"
#include "crons.h"
#include "fiber.h"
#include "log.h"
#include "store_agents.h"

#define DUE_MAX 100u     /* of a shard, at a time */
#define PUT_OFF_MS 60000 /* what cannot be fired here: another system may have its zone */

/* Why its run will be refused, as far as can be told, or NULL. It is submitted all the same: its record and its webhook
 * say so. */
static const char *
foreseen(struct coordinator *coordinator, struct arena *arena, const struct cron *cron)
{
	const char *version;

	return store_agent_version(coordinator->store, arena, cron->agent, &version) ==
		       STORE_NONE
		   ? arena_printf(arena, "there is no agent '%s'", cron->agent)
		   : NULL;
}

static void
put_off(struct coordinator *coordinator, struct arena *arena, const struct cron *cron,
    int64_t next_ms, const char *error)
{
	if (crons_put_off(coordinator->store, arena, cron, next_ms, error) == STORE_OK)
		log_warnx("cron=%s not fired: %s", cron->id, error);
}

/* Gives cron what its assistant gives its runs, as it is now. Returns STORE_OK; STORE_NONE: there is none, *error_r says so, and no run
 * can do what it was to do; or that Redis has not said. */
static enum store_status
equip(struct coordinator *coordinator, struct arena *arena, struct cron *cron,
    const char **error_r)
{
	struct store *store = coordinator->store;
	struct assistant assistant;
	struct cron whole;
	enum store_status status =
	    assistants_read(store, arena, cron->assistant, &assistant);

	*error_r = arena_printf(arena, "there is no assistant '%s'", cron->assistant);
	if (status == STORE_DAMAGED)
		*error_r = arena_strdup(arena, store_error(store));
	if (status != STORE_OK)
		return status == STORE_DAMAGED ? STORE_NONE : status;
	status = crons_read(store, arena, cron->id, &whole);
	if (status != STORE_OK) /* what is wrong with it is found as it is fired */
		return status == STORE_FAILED || status == STORE_CANCELLED ? status
									   : STORE_OK;
	cron->agent = assistant.agent;
	cron->given = assistant_gives(arena, &assistant, whole.entry, error_r);
	return cron->given != NULL ? STORE_OK : STORE_NONE;
}

/* Returns false when it stays due: Redis did not take its run. */
static bool
fire(struct coordinator *coordinator, struct arena *arena, struct cron *cron,
    int64_t now_ms)
{
	int64_t after = cron->next_ms > now_ms ? cron->next_ms : now_ms, next;
	const char *error, *run = cron_run_id(arena, cron->id, cron->next_ms);
	enum store_status status;

	if (cron_next(arena, cron, after, &next, &error) == -1) {
		put_off(coordinator, arena, cron, now_ms + PUT_OFF_MS, error);
		return true;
	}
	status =
	    cron->assistant != NULL ? equip(coordinator, arena, cron, &error) : STORE_OK;
	if (status == STORE_NONE)
		put_off(coordinator, arena, cron, next, error);
	if (status != STORE_OK)
		return status == STORE_NONE;
	error = foreseen(coordinator, arena, cron);
	status = crons_fire(coordinator->store, arena, cron, run, next, error);
	if (status == STORE_OK)
		log_info("cron=%s fired run=%s late_ms=%" PRId64, cron->id, run,
		    now_ms - cron->next_ms);
	else if (status == STORE_REJECTED || status == STORE_DAMAGED)
		/* The inbox may be mended: that is no trouble of the cron's own. */
		put_off(coordinator, arena, cron,
		    status == STORE_REJECTED ? CRON_NEVER : now_ms + PUT_OFF_MS,
		    arena_strdup(arena, store_error(coordinator->store)));
	else if (status == STORE_FAILED && !store_is_gone(coordinator->store))
		log_warnx(
		    "cron=%s not fired: %s", cron->id, store_error(coordinator->store));
	return status != STORE_FAILED;
}

/* Whether it is as we write them, and not what somebody has put there by hand. */
static bool
is_ours(const struct cron *cron, unsigned shard)
{
	return cron->agent != NULL && cron->next_ms != CRON_NEVER &&
	       store_shard(cron->id) == shard;
}

static void
put_away(struct coordinator *coordinator, struct arena *arena, unsigned shard,
    const struct cron *cron)
{
	if (crons_put_away(coordinator->store, arena, shard, cron->id) == STORE_OK)
		log_warnx("cron=%s not fired, and not due any more: what is in Redis "
			  "cannot be read (%scrons)",
		    cron->id, store_prefix(arena, shard));
}

/* Sees to those that have been due for longest. Returns whether there may be others that are to be seen to now. */
static bool
see_to_some(struct coordinator *coordinator, unsigned shard)
{
	struct arena *arena = arena_new();
	struct cron_list due = { 0 };
	size_t stays = 0, i;

	crons_due(coordinator->store, arena, shard, DUE_MAX, &due);
	for (i = 0; i < due.count && !coordinator->draining && !fiber_cancelled(); i++) {
		if (!is_ours(&due.items[i], shard))
			put_away(coordinator, arena, shard, &due.items[i]);
		else if (!fire(coordinator, arena, &due.items[i], due.now_ms))
			stays++;
	}
	arena_destroy(&arena);
	return due.count == DUE_MAX && stays == 0;
}

void
firing_sweep(struct coordinator *coordinator, unsigned shard)
{
	size_t left = CRONS_SHARD_MAX / DUE_MAX;

	while (left-- > 0 && !coordinator->draining && !fiber_cancelled() &&
	       see_to_some(coordinator, shard))
		continue;
}
