#include "shards.h"

#include <czmq.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator.h"
#include "fiber.h"
#include "guard.h"
#include "log.h"
#include "memory.h"
#include "run.h"

#define SWEEP_THREADS_MAX 200u
#define STILL_MS_MAX 10000u /* a shard where nothing was done for longer is trouble */

struct shard {
	struct shards *shards;
	unsigned number;
	uint64_t moved_ms; /* when Redis has last done what was to do, or nothing was */
	struct fiber *fiber;
	uint64_t renewed_ms; /* when our lease was last prolonged, or we held nothing */
};

struct shards {
	struct coordinator *coordinator;
	struct shard shards[SHARDS];
	unsigned connects;      /* of Redis, as last seen */
	uint64_t sweep_from_ms; /* no sweep before: others may be on their way back */
};

/* The ids, as keys. */
static zhashx_t *
set_of(const struct value *ids)
{
	zhashx_t *set = zhashx_new();
	size_t i;

	if (set == NULL)
		arena_exhausted();
	zhashx_set_key_duplicator(set, NULL);
	zhashx_set_key_destructor(set, NULL);
	for (i = 0; i < value_size(ids); i++)
		zhashx_update(set, value_text(value_at(ids, i)), set);
	return set;
}

/* Cancels the runs of ours that are wanted ended. The others are those of other coordinators, and may be many. */
static void
cancel_runs(const struct shard *shard, const struct value *cancels)
{
	struct coordinator *coordinator = shard->shards->coordinator;
	zhashx_t *wanted;
	struct run *run;

	if (value_size(cancels) == 0)
		return;
	wanted = set_of(cancels);
	for (run = zhashx_first(coordinator->runs); run != NULL;
	     run = zhashx_next(coordinator->runs))
		if (run->shard == shard->number && run->id != NULL &&
		    !run->cancel_wanted && zhashx_lookup(wanted, run->id) != NULL)
			run_cancel(run);
	zhashx_destroy(&wanted);
}

/* The runs held here, as they are before a wait: one may commit meanwhile. */
static struct store_hold *
list_held(const struct shard *shard, struct arena *arena, size_t *count_r)
{
	const struct coordinator *coordinator = shard->shards->coordinator;
	struct store_hold *held =
	    arena_alloc(arena, (zhashx_size(coordinator->runs) + 1) * sizeof *held);
	struct run *run;
	size_t count = 0;

	for (run = zhashx_first(coordinator->runs); run != NULL;
	     run = zhashx_next(coordinator->runs))
		if (run->shard == shard->number && run->id != NULL)
			held[count++] =
			    (struct store_hold){ arena_strdup(arena, run->thread),
				    arena_strdup(arena, run->id), run->epoch,
				    STORE_ANY_VERSION };
	*count_r = count;
	return held;
}

/* Our lease had run out: this process slept, or Redis was gone. A run that another has
 * claimed since may wait here for a call whose outcome goes to its new owner: it would wait
 * for ever, and keep us from claiming the thread again; or for a child, which may take long. */
static void
drop_lost(const struct shard *shard, struct arena *arena)
{
	struct coordinator *coordinator = shard->shards->coordinator;
	size_t count, i;
	const struct store_hold *held = list_held(shard, arena, &count);

	for (i = 0; i < count; i++) {
		enum store_status status =
		    store_results(coordinator->store, arena, &held[i], value_empty_map());
		struct run *run = zhashx_lookup(coordinator->runs, held[i].thread);

		/* One without an id has ended meanwhile, and claims what is next on the thread. */
		if (status != STORE_FENCED || run == NULL || run->id == NULL ||
		    run->epoch != held[i].epoch)
			continue;
		log_info("run=%s thread=%s lost while the lease had run out", held[i].run,
		    held[i].thread);
		run_give_up(run);
		if (run->awaits > 0)
			fiber_cancel(run->fiber);
	}
}

static void
renew(struct shard *shard, struct arena *arena)
{
	struct coordinator *coordinator = shard->shards->coordinator;
	struct store_renewed renewed;
	uint64_t now_ms = loop_now_ms(coordinator->loop);
	/* A claim of ours may have prolonged a lease that had lapsed, before this could see it: so
	 * the time between two renewals counts, whatever Redis says. */
	bool is_late = now_ms - shard->renewed_ms > LEASE_MS - RENEW_MS;

	if (store_renew(coordinator->store, arena, shard->number, LEASE_MS, &renewed) !=
	    STORE_OK)
		return;
	shard->renewed_ms = now_ms;
	shard->moved_ms = loop_now_ms(coordinator->loop);
	if (renewed.lapsed || is_late)
		drop_lost(shard, arena);
	cancel_runs(shard, renewed.cancels);
}

/* When Redis was away, or refused to write, all leases have run out: those who come back get the
 * time to renew them before their runs are taken from them. */
static bool
may_sweep(struct shards *shards)
{
	uint64_t now_ms = loop_now_ms(shards->coordinator->loop);
	unsigned connects = redis_connects(shards->coordinator->redis);
	bool refuses = !guard_claims(shards->coordinator->guard);

	if (shards->connects != 0 && (refuses || connects != shards->connects))
		shards->sweep_from_ms = now_ms + LEASE_MS;
	shards->connects = connects;
	return !refuses && now_ms >= shards->sweep_from_ms;
}

static void
sweep(struct shard *shard, struct arena *arena)
{
	struct coordinator *coordinator = shard->shards->coordinator;
	size_t room = coordinator_room(coordinator), i;
	const struct value *threads;

	if (room == 0 && coordinator->owned[shard->number] == 0)
		shard->moved_ms = loop_now_ms(coordinator->loop);
	if (!may_sweep(shard->shards) || room == 0)
		return;
	if (store_sweep(coordinator->store, arena, shard->number,
		room < SWEEP_THREADS_MAX ? (unsigned)room : SWEEP_THREADS_MAX,
		&threads) != STORE_OK)
		return;
	shard->moved_ms = loop_now_ms(coordinator->loop);
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
			else
				shard->renewed_ms =
				    loop_now_ms(shards->coordinator->loop);
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
	struct shards *shards = xcalloc(1, sizeof *shards);
	unsigned i;

	shards->coordinator = coordinator;
	for (i = 0; i < SHARDS; i++) {
		shards->shards[i] = (struct shard){ .shards = shards,
			.number = i,
			.renewed_ms = loop_now_ms(coordinator->loop),
			.moved_ms = loop_now_ms(coordinator->loop) };
		shards->shards[i].fiber = fiber_start(
		    coordinator->loop, "shard", shard_main, &shards->shards[i]);
	}
	return shards;
}

bool
shards_trouble(const struct shards *shards, char *text, size_t size)
{
	const struct coordinator *coordinator = shards->coordinator;
	const struct shard *oldest = &shards->shards[0];
	uint64_t now = loop_now_ms(coordinator->loop), since;
	const char *why;
	unsigned i;

	for (i = 1; i < SHARDS; i++)
		if (shards->shards[i].moved_ms < oldest->moved_ms)
			oldest = &shards->shards[i];
	/* While we stood still nobody could sweep. */
	since = oldest->moved_ms;
	if (loop_gap_ms(coordinator->loop) > since)
		since = loop_gap_ms(coordinator->loop);
	if (coordinator->draining || now < since + STILL_MS_MAX)
		return false;
	why = redis_trouble(coordinator->redis);
	snprintf(text, size, "Redis has done nothing in shard %u for %llu s (%s)",
	    oldest->number, (unsigned long long)(now - oldest->moved_ms) / 1000,
	    *why == '\0' ? "it is connected" : why);
	return true;
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
