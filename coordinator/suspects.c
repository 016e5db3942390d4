#include "suspects.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "fiber.h"
#include "log.h"
#include "memory.h"
#include "run.h"

#define SOME_MAX 64u  /* that move at once, of those that have had the fewest claims */
#define STILL_MS 100u /* until one that is still rests */
#define LOOK_MS (STILL_MS / 4)
#define FIRST_MS 1000u /* of a process: nobody is alone in it, others go on */

enum suspect_state {
	SUSPECT_RESTS, /* or has not begun */
	SUSPECT_ASKS,  /* Redis is being told; what was its turn before, is */
	SUSPECT_MOVES, /* or is still, and not for long */
};

struct suspect {
	struct run *run; /* NULL: it is none any more, and somebody has to see that */
	struct suspects *suspects;
	uint64_t attempts; /* its claims without progress, this one too */
	uint64_t late;     /* of those before, the ones that ended behind a rest */
	bool is_alone;
	bool is_through; /* it has sent its calls, and done all that comes before */
	bool is_late;    /* Redis may have been told that this claim is */
	enum suspect_state state;
	unsigned moving;   /* fibers of it that execute */
	uint64_t still_ms; /* since when there are none */
	unsigned refs;     /* the run, and fibers that wait with it in hand */
	TAILQ_ENTRY(suspect) link;
};

/* A fiber that waits until its run may move. */
struct turn_waiter {
	struct fiber *fiber;
	struct suspect *suspect;
	TAILQ_ENTRY(turn_waiter) link;
};

struct suspects {
	struct coordinator *coordinator;
	TAILQ_HEAD(, suspect) list;
	TAILQ_HEAD(, turn_waiter) waiters; /* who came first is first */
	size_t turns, alone; /* that are taken; those of runs that must be alone */
	uint64_t alone_from_ms;
	struct fiber *fiber;
};

static void
unref(struct suspect *suspect)
{
	if (--suspect->refs == 0)
		free(suspect);
}

/* --- turns --------------------------------------------------------------------------- */

/* When the first of those that are alone may have its turn; 0: now. */
static uint64_t
left_of_first(const struct suspects *suspects)
{
	uint64_t now_ms = loop_now_ms(suspects->coordinator->loop);

	return now_ms < suspects->alone_from_ms ? suspects->alone_from_ms - now_ms : 0;
}

static bool
has_turn(const struct suspects *suspects, bool is_alone)
{
	if (is_alone)
		return suspects->turns == 0 && left_of_first(suspects) == 0;
	return suspects->alone == 0 && suspects->turns < SOME_MAX;
}

static void
wake_first(struct suspects *suspects)
{
	struct turn_waiter *first = TAILQ_FIRST(&suspects->waiters);

	if (first != NULL)
		fiber_wake(first->fiber);
}

/* Its state has changed: its fibers may go on, wherever they stand in the line. */
static void
wake_its_own(struct suspect *suspect)
{
	struct turn_waiter *waiter;

	if (suspect->refs > 1)
		TAILQ_FOREACH(waiter, &suspect->suspects->waiters, link)
			if (waiter->suspect == suspect)
				fiber_wake(waiter->fiber);
}

static void
wake_fiber(struct suspects *suspects)
{
	if (suspects->fiber != NULL)
		fiber_wake(suspects->fiber);
}

/* The fiber has slept while nobody had one. */
static void
take_turn(struct suspect *suspect)
{
	struct suspects *suspects = suspect->suspects;

	suspects->turns++;
	suspects->alone += suspect->is_alone ? 1 : 0;
	wake_fiber(suspects);
}

static void
give_turn(struct suspect *suspect)
{
	suspect->suspects->turns--;
	suspect->suspects->alone -= suspect->is_alone ? 1 : 0;
	wake_first(suspect->suspects);
}

static bool
may_go(const struct turn_waiter *waiter)
{
	const struct suspect *suspect = waiter->suspect;
	const struct suspects *suspects = suspect->suspects;

	if (suspect->run == NULL || suspect->state == SUSPECT_MOVES)
		return true;
	return suspect->state == SUSPECT_RESTS &&
	       waiter == TAILQ_FIRST(&suspects->waiters) &&
	       has_turn(suspects, suspect->is_alone);
}

/* Waits until the running fiber may go on with suspect, whose turn it then takes if nobody has. Returns true
 * if it did. Keeps a reference meanwhile. */
static bool
await_turn(struct suspect *suspect)
{
	struct suspects *suspects = suspect->suspects;
	struct turn_waiter waiter = { fiber_current(), suspect, { 0 } };
	bool goes = !fiber_cancelled(), takes;

	suspect->refs++;
	TAILQ_INSERT_TAIL(&suspects->waiters, &waiter, link);
	wake_fiber(suspects);
	while (goes && !may_go(&waiter))
		goes = fiber_wait() == 0;
	takes = goes && suspect->run != NULL && suspect->state == SUSPECT_RESTS;
	TAILQ_REMOVE(&suspects->waiters, &waiter, link);
	if (takes) {
		take_turn(suspect);
		suspect->state = SUSPECT_ASKS;
	}
	wake_first(suspects);
	unref(suspect);
	return takes;
}

/* --- what Redis is told --------------------------------------------------------------- */

/* That so many claims count, so many of them behind a rest. Keeps a reference meanwhile. */
static enum store_status
tell(struct suspect *suspect, uint64_t attempts, uint64_t late)
{
	const struct run *run = suspect->run;
	struct arena *arena = arena_new();
	const struct store_hold hold = { arena_strdup(arena, run->thread),
		arena_strdup(arena, run->id), run->epoch, run->version };
	enum store_status status;

	suspect->refs++;
	status = store_attempts(run->coordinator->store, arena, &hold, attempts, late);
	arena_destroy(&arena);
	if (status == STORE_FENCED && suspect->run != NULL)
		run_give_up(suspect->run);
	unref(suspect);
	return status;
}

/* That this claim is none. Who is through with what comes before its calls takes nobody down there: of the claims before only
 * the late ones count. */
static enum store_status
tell_rest(struct suspect *suspect)
{
	uint64_t others = suspect->attempts - 1, late = SUSPECT_AFTER + suspect->late;

	return tell(
	    suspect, suspect->is_through && late < others ? late : others, suspect->late);
}

/* That all of them count, this one as a late one if it is that. */
static enum store_status
tell_moves(struct suspect *suspect)
{
	suspect->is_late = suspect->is_late || suspect->is_through;
	return tell(
	    suspect, suspect->attempts, suspect->late + (suspect->is_through ? 1 : 0));
}

/* What is told; the state behind it when that was done. It moves when it was not. */
static void
tell_and_become(struct suspect *suspect, enum suspect_state state)
{
	enum store_status status;

	suspect->state = SUSPECT_ASKS;
	suspect->refs++;
	status = state == SUSPECT_RESTS ? tell_rest(suspect) : tell_moves(suspect);
	if (suspect->run != NULL) {
		suspect->state = status == STORE_OK ? state : SUSPECT_MOVES;
		suspect->still_ms = loop_now_ms(suspect->run->coordinator->loop);
		if (suspect->state == SUSPECT_RESTS)
			give_turn(suspect);
		wake_its_own(suspect);
	}
	unref(suspect);
}

static bool
is_to_rest(const struct suspect *suspect, uint64_t now_ms)
{
	return suspect->state == SUSPECT_MOVES && suspect->moving == 0 &&
	       !run_must_stop(suspect->run) && now_ms >= suspect->still_ms + STILL_MS;
}

/* The first that has been still for long enough, or NULL. */
static struct suspect *
find_still(const struct suspects *suspects)
{
	uint64_t now_ms = loop_now_ms(suspects->coordinator->loop);
	struct suspect *suspect;

	TAILQ_FOREACH(suspect, &suspects->list, link)
		if (is_to_rest(suspect, now_ms))
			return suspect;
	return NULL;
}

/* Until one may be still for long enough, or the first one that is alone may begin. */
static int
wait_for_more(struct suspects *suspects)
{
	uint64_t first_ms = left_of_first(suspects);
	int waited;

	if (suspects->turns > 0)
		return fiber_wait_ms(LOOK_MS);
	if (first_ms == 0 || TAILQ_EMPTY(&suspects->waiters))
		return fiber_wait();
	waited = fiber_wait_ms(first_ms);
	wake_first(suspects);
	return waited;
}

static void
suspects_main(void *arg)
{
	struct suspects *suspects = arg;
	int waited = 0;

	while (waited != -1) {
		struct suspect *still = find_still(suspects);

		if (still != NULL)
			tell_and_become(still, SUSPECT_RESTS);
		else
			waited = wait_for_more(suspects);
		if (fiber_cancelled())
			waited = -1;
	}
	suspects->fiber = NULL;
}

/* --- of runs --------------------------------------------------------------------------- */

int
suspects_enter(struct run *run, uint64_t attempts)
{
	struct suspects *suspects = run->coordinator->suspects;
	struct suspect *suspect = xcalloc(1, sizeof *suspect);

	*suspect = (struct suspect){ .run = run,
		.suspects = suspects,
		.attempts = attempts,
		.is_alone = attempts > SUSPECT_AFTER + 1,
		.refs = 1 };
	run->suspect = suspect;
	TAILQ_INSERT_TAIL(&suspects->list, suspect, link);
	if (!await_turn(suspect)) {
		suspects_leave(run);
		return -1;
	}
	suspect->state = SUSPECT_MOVES; /* its claim counts by itself */
	suspect->moving = 1;
	return 0;
}

void
suspects_claimed(struct run *run, const struct store_claim *claim)
{
	if (run->suspect == NULL)
		return;
	run->suspect->attempts = claim->attempts;
	run->suspect->late = claim->late;
	if (claim->attempts <= SUSPECT_AFTER)
		suspects_leave(run);
}

void
suspects_leave(struct run *run)
{
	struct suspect *suspect = run->suspect;

	if (suspect == NULL)
		return;
	TAILQ_REMOVE(&suspect->suspects->list, suspect, link);
	suspect->run = NULL;
	run->suspect = NULL;
	if (suspect->state != SUSPECT_RESTS)
		give_turn(suspect);
	wake_its_own(suspect);
	unref(suspect);
}

void
suspects_end(struct run *run)
{
	struct suspect *suspect = run->suspect;

	if (suspect == NULL)
		return;
	suspect->is_through = true;
	tell_moves(suspect);
	suspects_leave(run);
}

void
suspects_give_back(struct run *run)
{
	if (run->suspect != NULL && run->suspect->is_late)
		tell_rest(run->suspect);
}

void
suspects_fiber_begins(struct run *run)
{
	if (run->suspect != NULL)
		run->suspect->moving++;
}

void
suspects_fiber_ends(struct run *run)
{
	struct suspect *suspect = run->suspect;

	if (suspect == NULL)
		return;
	assert(suspect->moving > 0);
	if (--suspect->moving == 0)
		suspect->still_ms = loop_now_ms(run->coordinator->loop);
}

void
suspects_wait_served(struct run *run)
{
	suspects_fiber_ends(run);
}

void
suspects_wait(struct run *run)
{
	if (run->suspect != NULL)
		run->suspect->is_through = true;
	suspects_fiber_ends(run);
}

void
suspects_go_on(struct run *run)
{
	struct suspect *suspect = run->suspect;

	if (suspect == NULL)
		return;
	if (suspect->state != SUSPECT_MOVES && await_turn(suspect))
		/* What cannot be told, since Redis is in trouble, keeps nobody from going on. */
		tell_and_become(suspect, SUSPECT_MOVES);
	suspects_fiber_begins(run);
}

/* --- life -------------------------------------------------------------------------------- */

struct suspects *
suspects_new(struct coordinator *coordinator)
{
	struct suspects *suspects = xcalloc(1, sizeof *suspects);

	suspects->coordinator = coordinator;
	suspects->alone_from_ms = loop_now_ms(coordinator->loop) + FIRST_MS;
	TAILQ_INIT(&suspects->list);
	TAILQ_INIT(&suspects->waiters);
	suspects->fiber =
	    fiber_start(coordinator->loop, "suspects", suspects_main, suspects);
	return suspects;
}

void
suspects_stop(struct suspects *suspects)
{
	if (suspects->fiber != NULL)
		fiber_cancel(suspects->fiber);
}

void
suspects_destroy(struct suspects **suspects_p)
{
	free(*suspects_p);
	*suspects_p = NULL;
}
