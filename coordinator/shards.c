#include "shards.h"

#include <stdlib.h>
#include <string.h>

#include "coordinator.h"
#include "fiber.h"
#include "log.h"
#include "run.h"

#define SWEEP_THREADS_MAX 200u

struct shard {
	struct shards *shards;
	unsigned number;
	struct fiber *fiber;
};

struct shards {
	struct coordinator *coordinator;
	struct shard shards[SHARDS];
	bool stopping;
};

/* Cancels the runs of ours that are wanted ended. */
static void
cancel_runs(struct coordinator *coordinator, const struct value *cancels)
{
	struct run *run;
	size_t i;

	for (i = 0; i < value_size(cancels); i++) {
		const char *wanted = value_text(value_at(cancels, i));

		for (run = zhashx_first(coordinator->runs); run != NULL;
		     run = zhashx_next(coordinator->runs))
			if (run->id != NULL && strcmp(run->id, wanted) == 0)
				break;
		if (run != NULL && !run->cancel_wanted)
			run_cancel(run);
	}
}

/* A run held here, as it was before a wait. */
struct held {
	const char *thread, *run;
	uint64_t epoch;
};

static struct held *
list_held(const struct shard *shard, struct arena *arena, size_t *count_r)
{
	const struct coordinator *coordinator = shard->shards->coordinator;
	struct held *held =
	    arena_alloc(arena, (zhashx_size(coordinator->runs) + 1) * sizeof *held);
	struct run *run;
	size_t count = 0;

	for (run = zhashx_first(coordinator->runs); run != NULL;
	     run = zhashx_next(coordinator->runs))
		if (run->shard == shard->number && run->id != NULL)
			held[count++] = (struct held){ arena_strdup(arena, run->thread),
				arena_strdup(arena, run->id), run->epoch };
	*count_r = count;
	return held;
}

/* Our lease had run out: this process slept, or Redis was gone. A run that another has
 * claimed since may wait here for a call whose outcome goes to its new owner: it would wait
 * for ever, and keep us from claiming the thread again. */
static void
drop_lost(const struct shard *shard, struct arena *arena)
{
	struct coordinator *coordinator = shard->shards->coordinator;
	size_t count, i;
	const struct held *held = list_held(shard, arena, &count);

	for (i = 0; i < count; i++) {
		enum store_status status = store_results(coordinator->store, arena,
		    held[i].thread, held[i].run, held[i].epoch, value_empty_map());
		const struct run *run = zhashx_lookup(coordinator->runs, held[i].thread);

		if (status != STORE_FENCED || run == NULL || run->epoch != held[i].epoch)
			continue;
		log_info("run=%s thread=%s lost while the lease had run out", held[i].run,
		    held[i].thread);
		caller_disown(coordinator->caller, held[i].run);
	}
}

static void
renew(struct shard *shard, struct arena *arena)
{
	struct coordinator *coordinator = shard->shards->coordinator;
	struct store_renewed renewed;

	if (store_renew(coordinator->store, arena, shard->number,
		coordinator_owner(coordinator), LEASE_MS, &renewed) != STORE_OK)
		return;
	if (renewed.lapsed)
		drop_lost(shard, arena);
	cancel_runs(coordinator, renewed.cancels);
}

static void
sweep(struct shard *shard, struct arena *arena)
{
	struct coordinator *coordinator = shard->shards->coordinator;
	const struct value *threads;
	size_t i;

	if (store_sweep(coordinator->store, arena, shard->number,
		coordinator_owner(coordinator), SWEEP_THREADS_MAX, &threads) != STORE_OK)
		return;
	for (i = 0; i < value_size(threads); i++)
		coordinator_claim(coordinator, value_text(value_at(threads, i)));
}

static void
shard_main(void *arg)
{
	struct shard *shard = arg;
	struct shards *shards = shard->shards;

	/* Spread over the interval, so that the shards do not all knock at once. */
	if (fiber_sleep(shard->number * RENEW_MS / SHARDS) == 0) {
		do {
			struct arena *arena = arena_new();

			if (shards->coordinator->owned[shard->number] > 0)
				renew(shard, arena);
			if (!shards->coordinator->draining)
				sweep(shard, arena);
			arena_destroy(&arena);
		} while (fiber_sleep(RENEW_MS) == 0);
	}
	shard->fiber = NULL;
}

struct shards *
shards_new(struct coordinator *coordinator)
{
	struct shards *shards = calloc(1, sizeof *shards);
	unsigned i;

	if (shards == NULL)
		abort();
	shards->coordinator = coordinator;
	for (i = 0; i < SHARDS; i++) {
		shards->shards[i] = (struct shard){ .shards = shards, .number = i };
		shards->shards[i].fiber = fiber_start(
		    coordinator->loop, "shard", shard_main, &shards->shards[i]);
	}
	return shards;
}

void
shards_stop(struct shards *shards)
{
	unsigned i;

	for (i = 0; i < SHARDS; i++)
		if (shards->shards[i].fiber != NULL)
			fiber_cancel(shards->shards[i].fiber);
}

void
shards_destroy(struct shards **shards_p)
{
	free(*shards_p);
	*shards_p = NULL;
}
