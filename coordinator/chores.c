#include "chores.h"

#include <stdlib.h>

#include "children.h"
#include "coordinator.h"
#include "fiber.h"
#include "firing.h"
#include "items.h"
#include "log.h"
#include "memory.h"
#include "retention.h"
#include "webhooks.h"

#define ROUND_MS 1000u
#define ROUND_JITTER_MS 250u  /* coordinators that began together do not stay so */
#define TOOLS_FIRST_MS 60000u /* the fleet's workers are known by then */
#define TOOLS_MS 3600000u
#define DAMAGE_MS 3600000u
#define SWEEPERS 16u
#define SWEEPS_MAX 8u /* of a shard, from one look of the round to the next */

struct shard_chores {
	struct chores *chores;
	unsigned number;
	struct store_chores found; /* for the fiber below */
	struct fiber *fiber;       /* at work there, or NULL */
	struct fiber *firing;      /* likewise, for crons */
	bool has_over;             /* threads whose time is over, or what they left */
	bool is_swept;             /* by a sweeper, now */
	uint64_t damage_ms;        /* when it may be said again what is damaged */
};

/* Does away with threads whose time is over. Each answer of Redis is heard at this process's next turn, which is a long one where there
 * is more to do than can be done: few sweepers, or little at a time, delete less than such a fleet makes. */
struct sweeper {
	struct chores *chores;
	struct fiber *fiber;
};

struct chores {
	struct coordinator *coordinator;
	struct redis *redis; /* for the looks and the sweepers */
	struct store *store; /* on it */
	struct fiber *round;
	uint64_t tools_ms; /* when it is to be said which tools are served */
	struct sweeper sweepers[SWEEPERS];
	struct shard_chores shards[SHARDS];
};

/* --- what is short ------------------------------------------------------------------ */

static void
shard_main(void *arg)
{
	struct shard_chores *shard = arg;
	struct coordinator *coordinator = shard->chores->coordinator;

	if (shard->found.webhooks)
		webhooks_sweep(coordinator, shard->number);
	if (shard->found.items && !coordinator->draining)
		items_sweep(coordinator->store, shard->number);
	if (shard->found.orphans)
		children_sweep(coordinator, shard->number);
	shard->fiber = NULL;
}

/* Apart from the others, which free memory: where Redis has no room for a submission it waits. */
static void
firing_main(void *arg)
{
	struct shard_chores *shard = arg;

	firing_sweep(shard->chores->coordinator, shard->number);
	shard->firing = NULL;
}

/* The rest of the shard is seen to all the same. */
static void
tell_damage(struct shard_chores *shard, const char *key)
{
	uint64_t now_ms = loop_now_ms(shard->chores->coordinator->loop);

	if (now_ms < shard->damage_ms)
		return;
	shard->damage_ms = now_ms + DAMAGE_MS;
	log_warnx("what Redis has at %s is damaged: it is of a wrong type, and what is "
		  "to be done there is left undone",
	    key);
}

static void
look(struct shard_chores *shard)
{
	struct coordinator *coordinator = shard->chores->coordinator;
	struct arena *arena = arena_new();
	struct store_chores found;
	enum store_status status =
	    store_chores(shard->chores->store, arena, shard->number, &found);

	if (status == STORE_OK && found.damaged != NULL)
		tell_damage(shard, found.damaged);
	arena_destroy(&arena);
	if (status != STORE_OK)
		return;
	found.damaged = NULL;
	shard->has_over = found.threads || found.gone;
	if (found.crons && shard->firing == NULL && !coordinator->draining)
		shard->firing =
		    fiber_start(coordinator->loop, "firing", firing_main, shard);
	/* Without a fiber for it now, the next round finds it again. */
	if (shard->fiber != NULL || !(found.orphans || found.webhooks || found.items))
		return;
	shard->found = found;
	shard->fiber = fiber_start(coordinator->loop, "chores", shard_main, shard);
}

/* --- threads whose time is over ------------------------------------------------------ */

/* Nobody may be able to do away with what is there: so it ends, and the round looks again. */
static void
sweep(struct shard_chores *shard)
{
	struct coordinator *coordinator = shard->chores->coordinator;
	unsigned i;

	shard->is_swept = true;
	for (i = 0; i < SWEEPS_MAX && shard->has_over && !fiber_cancelled() &&
		    !coordinator->draining;
	     i++) {
		shard->has_over = false;
		retention_sweep(coordinator, shard->chores->store, shard->number, i > 0);
		look(shard);
	}
	shard->is_swept = false;
	if (i == SWEEPS_MAX)
		shard->has_over = false;
}

static void
sweeper_main(void *arg)
{
	struct sweeper *sweeper = arg;
	struct shard_chores *shards = sweeper->chores->shards;
	unsigned i;

	do {
		for (i = 0; i < SHARDS; i++)
			if (shards[i].has_over && !shards[i].is_swept)
				sweep(&shards[i]);
	} while (fiber_wait() == 0);
	sweeper->fiber = NULL;
}

/* --- the round ----------------------------------------------------------------------- */

static void
wake_sweepers(struct chores *chores)
{
	unsigned i;

	for (i = 0; i < SWEEPERS; i++)
		if (chores->sweepers[i].fiber != NULL)
			fiber_wake(chores->sweepers[i].fiber);
}

static void
tell_tools(struct chores *chores)
{
	uint64_t now_ms = loop_now_ms(chores->coordinator->loop);

	if (fiber_cancelled())
		return;
	if (now_ms < chores->tools_ms) {
		catalog_keep(chores->coordinator->catalog);
		return;
	}
	chores->tools_ms = now_ms + TOOLS_MS;
	catalog_tell(chores->coordinator->catalog);
}

static void
round_main(void *arg)
{
	struct chores *chores = arg;
	unsigned i;

	do {
		bool has_over = false;

		for (i = 0; i < SHARDS && !fiber_cancelled(); i++) {
			look(&chores->shards[i]);
			has_over = has_over || chores->shards[i].has_over;
		}
		if (has_over)
			wake_sweepers(chores);
		tell_tools(chores);
	} while (fiber_sleep(ROUND_MS + arc4random_uniform(ROUND_JITTER_MS)) == 0);
	chores->round = NULL;
}

struct chores *
chores_new(struct coordinator *coordinator)
{
	struct chores *chores = xcalloc(1, sizeof *chores);
	unsigned i;

	chores->coordinator = coordinator;
	chores->redis = coordinator_connect_redis(coordinator, store_library());
	chores->store =
	    store_new(chores->redis, (uint64_t)coordinator->settings->redis_wait_ms);
	chores->tools_ms = loop_now_ms(coordinator->loop) + TOOLS_FIRST_MS;
	for (i = 0; i < SHARDS; i++)
		chores->shards[i] =
		    (struct shard_chores){ .chores = chores, .number = i };
	chores->round = fiber_start(coordinator->loop, "round", round_main, chores);
	for (i = 0; i < SWEEPERS; i++) {
		chores->sweepers[i].chores = chores;
		chores->sweepers[i].fiber = fiber_start(
		    coordinator->loop, "retention", sweeper_main, &chores->sweepers[i]);
	}
	return chores;
}

void
chores_stop(struct chores *chores)
{
	unsigned i;

	if (chores->round != NULL)
		fiber_cancel(chores->round);
	for (i = 0; i < SWEEPERS; i++)
		if (chores->sweepers[i].fiber != NULL)
			fiber_cancel(chores->sweepers[i].fiber);
	for (i = 0; i < SHARDS; i++) {
		if (chores->shards[i].fiber != NULL)
			fiber_cancel(chores->shards[i].fiber);
		if (chores->shards[i].firing != NULL)
			fiber_cancel(chores->shards[i].firing);
	}
}

void
chores_destroy(struct chores **chores_p)
{
	store_destroy(&(*chores_p)->store);
	redis_destroy(&(*chores_p)->redis);
	free(*chores_p);
	*chores_p = NULL;
}
