#include "tool_calls.h"

#include "suspects.h"

#define SETTLE_MS                                                                        \
	200u /* those that end soon behind one that fails the run are not cancelled for it */

static bool
body_fails_run(const struct tool_call *call)
{
	const struct value *fault = value_get(call->body, "fault");

	return value_is(fault, VALUE_MAP) &&
	       run_fault_ends(call->round->run, fault_from_value(call->arena, fault));
}

/* How many may be under way at once. */
static size_t
room_of(const struct tool_calls *round)
{
	uint64_t most = (uint64_t)round->run->max_concurrency;

	return most == 0 || most > round->count ? round->count : (size_t)most;
}

/* --- one call ----------------------------------------------------------------------- */

/* Stores an outcome that others of the round still wait behind. The last one needs no
 * write of its own: the next commit has it, and until then the worker keeps it. */
static void
store_outcome(struct tool_call *call)
{
	struct run *run = call->round->run;
	const char *id = call->effect->call.id;
	enum store_status status;

	if (call->round->left == 1 || call->body == call->effect->known ||
	    call->body == value_get(run->results, id) ||
	    value_has(call->body, "held")) /* the child's thread has it */
		return;
	status =
	    run_store(run, call->arena, value_map(call->arena, id, call->body, NULL));
	switch (status) {
	case STORE_OK:
		run->results_stored = true;
		caller_stored(run->coordinator->caller, call->effect->last_id);
		break;
	case STORE_FENCED:
	case STORE_STALE:
		/* The others of the round are the next owner's: not ours to cancel. */
		call->go = GO_DROP;
		break;
	default:
		break; /* the commit stores it */
	}
}

static const char *
mark_of(const struct tool_call *call)
{
	return arena_printf(call->arena, "%s!", call->effect->call.id);
}

/* It begins when others have ended, and who takes the run over must know whether it has: of any tool, since that one may know another
 * definition of it. */
static bool
is_marked(const struct tool_call *call)
{
	return call->index >= room_of(call->round);
}

bool
tool_calls_is_new(const struct tool_call *call)
{
	return is_marked(call) && !value_has(call->round->run->results, mark_of(call));
}

static enum go
mark(struct tool_call *call)
{
	struct run *run = call->round->run;

	if (!is_marked(call) || call->effect->known != NULL ||
	    value_has(run->results, mark_of(call)))
		return GO_ON;
	if (run_store(run, call->arena,
		value_map(call->arena, mark_of(call), value_bool(true), NULL)) !=
	    STORE_OK)
		return GO_DROP;
	run->results_stored = true;
	return GO_ON;
}

static void
make_one(struct tool_call *call)
{
	struct tool_calls *round = call->round;

	call->go = mark(call);
	if (call->go == GO_ON)
		call->go = run_effect_with_children(
		    round->run, call->arena, call->effect, &call->body);
	if (call->go == GO_ON)
		store_outcome(call);
	/* Redis is in trouble: the others go on, for whoever goes on with the run. */
	if (call->go == GO_DROP && !fiber_cancelled() && !run_must_stop(round->run))
		run_give_up(round->run);
	if (call->go == GO_DROP || (call->go == GO_ON && body_fails_run(call)))
		round->stop = true;
	call->fiber = NULL;
	round->left--;
}

/* --- all of them -------------------------------------------------------------------- */

/* Whether it is looked at also where no other is begun: its outcome is known, or who had the run before us has it under way. */
static bool
may_be_begun(const struct tool_call *call)
{
	return call->effect->known != NULL ||
	       (call->round->run->recovered && !call->effect->call.is_new);
}

/* Makes those that nobody has begun, one after the other. */
static void
make_calls(struct tool_calls *round, struct fiber *lane)
{
	while (round->next < round->count && !round->over) {
		struct tool_call *call = &round->calls[round->next++];

		if (round->stop && !may_be_begun(call))
			continue;
		call->fiber = lane;
		make_one(call);
	}
}

static void
lane_main(void *arg)
{
	struct tool_calls *round = arg;

	make_calls(round, fiber_current());
	suspects_fiber_ends(round->run);
	round->lanes--;
	fiber_wake(round->waiting);
}

static void
begin(struct tool_calls *round)
{
	struct run *run = round->run;
	size_t room = room_of(round);

	round->left = round->count;
	while (
	    round->count > 1 && round->lanes < room &&
	    fiber_start(run->coordinator->loop, "tool call", lane_main, round) != NULL) {
		suspects_fiber_begins(run);
		round->lanes++;
	}
	if (round->lanes == 0)
		make_calls(round, NULL); /* alone, or no room for fibers */
}

/* One has failed the run: what others have done by then, who goes on behind the failure need not do again. */
static void
settle(struct tool_calls *round)
{
	struct loop *loop = round->run->coordinator->loop;
	uint64_t last_ms = loop_now_ms(loop) + SETTLE_MS, now_ms = loop_now_ms(loop);

	while (round->lanes > 0 && now_ms < last_ms && !run_must_stop(round->run) &&
	       fiber_wait_ms(last_ms - now_ms) != -1)
		now_ms = loop_now_ms(loop);
}

static void
stop_others(struct tool_calls *round)
{
	size_t i;

	for (i = 0; i < round->count; i++)
		if (round->calls[i].fiber != NULL)
			fiber_cancel(round->calls[i].fiber);
}

enum go
tool_calls_run(struct tool_calls *round)
{
	struct run *run = round->run;
	bool stopped = false;

	round->waiting = fiber_current();
	begin(round);
	suspects_wait(run);
	while (round->lanes > 0) {
		if ((round->stop || fiber_cancelled()) && !stopped) {
			stopped = true;
			round->over = fiber_cancelled();
			settle(round);
			stop_others(round);
			fiber_shield(true);
		}
		if (round->lanes > 0)
			fiber_wait();
	}
	if (stopped)
		fiber_shield(false);
	suspects_go_on(run);
	if (fiber_cancelled() || run_must_stop(run))
		return GO_DROP;
	return GO_ON;
}
