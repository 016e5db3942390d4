#include "thread_walk.h"

#include <stdio.h>
#include <string.h>

#include "fiber.h"
#include "shape.h"
#include "store_runs.h"

#define LOOK_MS 1000u /* for a run that another server has begun */
#define PAGE 100u
#define PAGES_MAX 10u /* that are looked through for a run */

/* Who waits for the thread's next run. On its fiber's stack. */
struct thread_waiter {
	TAILQ_ENTRY(thread_waiter) link;
	const char *thread;
	struct fiber *fiber;
};

void
thread_walk_tell(struct api *api, const char *thread)
{
	struct thread_waiter *waiter;

	TAILQ_FOREACH(waiter, &api->waiters, link)
		if (strcmp(waiter->thread, thread) == 0)
			fiber_wake(waiter->fiber);
}

/* Returns -1: cancelled. */
static int
wait_for_run(struct thread_walk *walk)
{
	struct api *api = walk->call->api;
	struct thread_waiter waiter = { .thread = walk->thread,
		.fiber = fiber_current() };
	int woken;

	TAILQ_INSERT_TAIL(&api->waiters, &waiter, link);
	woken = fiber_wait_ms(LOOK_MS);
	TAILQ_REMOVE(&api->waiters, &waiter, link);
	return woken == -1 ? -1 : 0;
}

bool
thread_walk_is_away(enum store_status status)
{
	return status == STORE_FAILED || status == STORE_CANCELLED ||
	       status == STORE_REJECTED;
}

/* Reads some of the runs, and where they are. */
static enum store_status
read_ids(struct thread_walk *walk, struct arena *arena, uint64_t first, size_t limit,
    const struct value **runs_r)
{
	struct store_run_ids ids = { 0 };
	enum store_status status = store_run_ids(
	    api_store(walk->call->api), arena, walk->thread, first, limit, &ids);

	if (status == STORE_OK) {
		*runs_r = ids.runs;
		walk->count = ids.count;
		walk->cut = ids.cut;
	}
	return status;
}

/* Reads the last page of runs before the one of number end, or of all. */
static enum store_status
read_page(struct thread_walk *walk, struct arena *arena, uint64_t end, uint64_t *first_r,
    const struct value **runs_r)
{
	*first_r = end > PAGE ? end - PAGE : 0;
	return read_ids(walk, arena, *first_r, end - *first_r, runs_r);
}

/* How many there are. */
static enum store_status
count_runs(struct thread_walk *walk, struct arena *arena)
{
	const struct value *runs;

	walk->number = walk->count = walk->cut = 0;
	return read_ids(walk, arena, 0, 1, &runs);
}

static enum store_status
find(struct thread_walk *walk, struct arena *arena, const char *run)
{
	const struct value *runs;
	unsigned pages;
	uint64_t first;
	size_t i;
	enum store_status status = count_runs(walk, arena);

	first = walk->count;
	for (pages = 0; status == STORE_OK && first > 0 && pages < PAGES_MAX; pages++) {
		status = read_page(walk, arena, first, &first, &runs);
		for (i = 0; status == STORE_OK && i < value_size(runs); i++)
			if (value_text_is(value_at(runs, i), run)) {
				walk->number = first + i;
				return STORE_OK;
			}
	}
	return status == STORE_OK ? STORE_NONE : status;
}

enum store_status
thread_walk_find(struct thread_walk *walk, const char *run)
{
	struct arena *arena = arena_new();
	enum store_status status = find(walk, arena, run);

	arena_destroy(&arena);
	return status;
}

enum store_status
thread_walk_seek(struct thread_walk *walk, uint64_t number)
{
	struct arena *arena = arena_new();
	enum store_status status = count_runs(walk, arena);

	arena_destroy(&arena);
	if (status == STORE_OK && number >= walk->cut + walk->count)
		return STORE_NONE;
	walk->number = number > walk->cut ? number - walk->cut : 0;
	return status;
}

/* The run of thread that goes on, else the first that waits; or NULL. */
static const char *
busy_with(const struct value *thread)
{
	const char *run = value_get_text(thread, "run");

	return run != NULL && *run != '\0'
		   ? run
		   : value_text(value_at(value_get(thread, "queue"), 0));
}

enum store_status
thread_walk_begin(struct thread_walk *walk)
{
	struct arena *arena = arena_new();
	const struct value *thread = NULL;
	const char *run = NULL;
	enum store_status status = store_thread_outline(
	    api_store(walk->call->api), arena, walk->thread, &thread);

	walk->last[0] = '\0';
	if (!thread_walk_is_away(status)) {
		run = busy_with(thread);
		status = run == NULL ? STORE_NONE : find(walk, arena, run);
	}
	if (status == STORE_NONE) {
		status = count_runs(walk, arena);
		walk->number = walk->count;
	}
	arena_destroy(&arena);
	return thread_walk_is_away(status) ? status : STORE_OK;
}

int
thread_walk_read(struct thread_walk *walk, struct arena *arena, const char *run,
    const struct value **record_r)
{
	enum store_status status = store_run_brief(
	    api_store(walk->call->api), arena, walk->thread, run, record_r);

	if (thread_walk_is_away(status))
		return -1;
	return status == STORE_OK && !shape_run_is_gone(*record_r) &&
	       !value_text_is(value_get(*record_r, "status"), "delayed");
}

void
thread_walk_step(struct thread_walk *walk, const char *run)
{
	walk->number++;
	snprintf(walk->last, sizeof walk->last, "%s", run);
}

/* Finds its place in a list that was cut in front: behind the last run that was seen. The oldest go first: where that one has gone,
 * all that are left are new. Of very many nobody knows whether it has. */
static enum store_status
find_again(struct thread_walk *walk)
{
	enum store_status status = thread_walk_find(walk, walk->last);

	if (status == STORE_OK)
		walk->number++;
	if (status == STORE_NONE && walk->count > (uint64_t)PAGE * PAGES_MAX)
		return thread_walk_begin(walk);
	if (status == STORE_NONE)
		walk->last[0] = '\0'; /* the number is 0 */
	return status == STORE_NONE ? STORE_OK : status;
}

/* Where a run was that was deleted alone: the others have kept their places. */
static bool
is_hole(const struct value *run)
{
	return value_text_is(run, "");
}

/* The same, where none was seen, and the list has lost so many in front as cut says now and did not then; or is another thread's. */
static void
move_along(struct thread_walk *walk, uint64_t cut)
{
	uint64_t lost = walk->cut > cut ? walk->cut - cut : UINT64_MAX;

	walk->number = walk->number > lost ? walk->number - lost : 0;
}

int
thread_walk_next(struct thread_walk *walk, struct arena *arena, const char **run_r)
{
	const struct value *runs = NULL;
	bool has_last = walk->last[0] != '\0' && walk->number > 0;
	uint64_t cut = walk->cut;

	if (read_ids(walk, arena, walk->number - has_last, 1 + has_last, &runs) !=
	    STORE_OK)
		return -1;
	if (!has_last && walk->cut != cut) {
		move_along(walk, cut);
		return 0;
	}
	if (has_last && !value_text_is(value_at(runs, 0), walk->last) &&
	    !is_hole(value_at(runs, 0)))
		return find_again(walk) == STORE_OK ? 0 : -1;
	if (walk->number > walk->count)
		walk->number = walk->count;
	if (is_hole(value_at(runs, has_last))) {
		walk->number++;
		return 0;
	}
	*run_r = value_text(value_at(runs, has_last));
	return *run_r != NULL ? 1 : wait_for_run(walk);
}
