#include "arrival.h"

#include <stdlib.h>

#include "fiber.h"
#include "memory.h"
#include "run.h"

/* The run's, which frees it when it is over. */
struct arrival {
	struct arena *arena;
	struct store_claim claim; /* in arena, if there is one */
	enum store_status status;
	bool claimed, is_over;
};

static const char *
reason_of(struct store *store, struct arena *arena, enum store_status status)
{
	return status == STORE_REJECTED || status == STORE_TAKEN
		   ? arena_strdup(arena, store_error(store))
		   : NULL;
}

enum store_status
arrival_queue(struct coordinator *coordinator, struct arena *arena,
    const struct store_newcomer *comer, const char **why_r)
{
	bool claimed;
	enum store_status status =
	    store_arrive(coordinator->store, arena, comer, 0, &claimed, NULL);

	*why_r = reason_of(coordinator->store, arena, status);
	return status;
}

enum store_status
arrival_submit(struct coordinator *coordinator, struct arena *arena,
    const struct store_newcomer *comer, const char **why_r)
{
	struct run *run = coordinator_hold(coordinator, comer->thread);
	struct arrival *arrival;
	enum store_status status;

	if (run == NULL) {
		status = arrival_queue(coordinator, arena, comer, why_r);
		if (status == STORE_OK)
			coordinator_claim(coordinator, comer->thread);
		return status;
	}
	run->arrival = arrival = xcalloc(1, sizeof *arrival);
	arrival->arena = arena_new();
	status = store_arrive(coordinator->store, arrival->arena, comer, LEASE_MS,
	    &arrival->claimed, &arrival->claim);
	*why_r = reason_of(coordinator->store, arena, status);
	arrival->status = status;
	arrival->is_over = true;
	if (run->fiber != NULL) /* it has begun */
		fiber_wake(run->fiber);
	return status;
}

/* Waits until it is known what became of it, and takes it from run. */
static struct arrival *
take(struct run *run)
{
	struct arrival *arrival = run->arrival;

	fiber_shield(true);
	while (!arrival->is_over)
		fiber_wait();
	fiber_shield(false);
	run->arrival = NULL;
	return arrival;
}

enum store_status
arrival_claim(struct run *run, struct store_claim *claim_r)
{
	struct arrival *arrival = take(run);
	enum store_status status = arrival->status;
	bool claimed = arrival->claimed;

	arena_destroy(&run->arena);
	run->arena = arrival->arena;
	*claim_r = arrival->claim;
	free(arrival);
	/* One that is known may be ours: Redis had done it, and its answer was lost. */
	if (!claimed && (status == STORE_OK || status == STORE_KNOWN))
		status = run_claim(run, claim_r);
	return status;
}

void
arrival_leave(struct run *run)
{
	struct arrival *arrival;

	if (run->arrival == NULL)
		return;
	arrival = take(run);
	arena_destroy(&arrival->arena);
	free(arrival);
}
