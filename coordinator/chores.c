#include "chores.h"

#include <stdlib.h>

#include "children.h"
#include "coordinator.h"
#include "fiber.h"
#include "items.h"
#include "retention.h"
#include "webhooks.h"

#define ROUND_MS 1000u
#define ROUND_JITTER_MS 250u /* coordinators that began together do not stay so */

struct shard_chores {
	struct chores *chores;
	unsigned number;
	struct store_chores found; /* for the fiber below */
	struct fiber *fiber;       /* at work there, or NULL */
	bool has_over;             /* threads whose time is over, or what they left */
};

struct chores {
	struct coordinator *coordinator;
	struct fiber *round, *retention;
	struct shard_chores shards[SHARDS];
};

/* --- what is short ------------------------------------------------------------------ */

static void
shard_main(void *arg)
{
	struct shard_chores *shard = arg;
	struct coordinator *coordinator = shard->chores->coordinator;
	struct arena *arena = arena_new();

	if (shard->found.webhooks)
		webhooks_sweep(coordinator, shard->number);
	if (shard->found.items && !coordinator->draining)
		items_sweep(coordinator->store, arena, shard->number);
	arena_destroy(&arena);
	if (shard->found.orphans)
		children_sweep(coordinator, shard->number);
	shard->fiber = NULL;
}

static void
look(struct shard_chores *shard)
{
	struct coordinator *coordinator = shard->chores->coordinator;
	struct arena *arena = arena_new();
	struct store_chores found;
	enum store_status status =
	    store_chores(coordinator->store, arena, shard->number, &found);

	arena_destroy(&arena);
	if (status != STORE_OK)
		return;
	shard->has_over = found.threads || found.gone;
	/* Without a fiber for it now, the next round finds it again. */
	if (shard->fiber != NULL || !(found.orphans || found.webhooks || found.items))
		return;
	shard->found = found;
	shard->fiber = fiber_start(coordinator->loop, "chores", shard_main, shard);
}

/* --- threads whose time is over ------------------------------------------------------ */

static void
retention_main(void *arg)
{
	struct chores *chores = arg;
	unsigned i;

	do {
		for (i = 0; i < SHARDS; i++) {
			if (!chores->shards[i].has_over || fiber_cancelled() ||
			    chores->coordinator->draining)
				continue;
			chores->shards[i].has_over = false;
			retention_sweep(chores->coordinator, i);
		}
	} while (fiber_wait() == 0);
	chores->retention = NULL;
}

/* --- the round ----------------------------------------------------------------------- */

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
		if (has_over && chores->retention != NULL)
			fiber_wake(chores->retention);
	} while (fiber_sleep(ROUND_MS + arc4random_uniform(ROUND_JITTER_MS)) == 0);
	chores->round = NULL;
}

struct chores *
chores_new(struct coordinator *coordinator)
{
	struct chores *chores = calloc(1, sizeof *chores);
	unsigned i;

	if (chores == NULL)
		abort();
	chores->coordinator = coordinator;
	for (i = 0; i < SHARDS; i++)
		chores->shards[i] =
		    (struct shard_chores){ .chores = chores, .number = i };
	chores->round = fiber_start(coordinator->loop, "round", round_main, chores);
	chores->retention =
	    fiber_start(coordinator->loop, "retention", retention_main, chores);
	return chores;
}

void
chores_stop(struct chores *chores)
{
	unsigned i;

	if (chores->round != NULL)
		fiber_cancel(chores->round);
	if (chores->retention != NULL)
		fiber_cancel(chores->retention);
	for (i = 0; i < SHARDS; i++)
		if (chores->shards[i].fiber != NULL)
			fiber_cancel(chores->shards[i].fiber);
}

void
chores_destroy(struct chores **chores_p)
{
	free(*chores_p);
	*chores_p = NULL;
}
