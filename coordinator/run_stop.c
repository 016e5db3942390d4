/* run_stop: a run is to end before it is done: it has failed, is cancelled, late, given back, given up. */
#include "run.h"

#include "children.h"
#include "log.h"
#include "suspects.h"

#define HOLD_MS 5000u /* what takes the catalog some 100 ms to tell */

bool
run_stops_with_its_own(struct run *run)
{
	if (!run_must_stop(run) && store_cancel_wanted(run->coordinator->store,
				       run->arena, run->thread, run->id))
		run->cancel_wanted = true;
	return run_must_stop(run);
}

enum go
run_stopped_by(struct run *run, const struct fault *fault)
{
	if (run_stops_with_its_own(run) || run->is_dropped || fiber_cancelled())
		return GO_DROP;
	return run_fail_with(run, fault);
}

bool
run_must_stop(const struct run *run)
{
	return run->cancel_wanted || run->releasing || run->is_lost;
}

void
run_give_up(struct run *run)
{
	run->is_lost = true;
	if (!run->releasing)
		suspects_leave(run); /* it waits for no turn any more, and has none */
	caller_disown(run->coordinator->caller, run->id);
}

static void
cancel(void *arg)
{
	struct run *run = arg;

	run->cancel_wanted = true;
	if (run->fiber != NULL)
		fiber_cancel(run->fiber);
}

void
run_cancel(struct run *run)
{
	if (!run->holds_cancel)
		cancel(run);
	else if (run->held_cancel == NULL)
		run->held_cancel =
		    timer_start(run->coordinator->loop, HOLD_MS, 0, cancel, run);
}

void
run_hold_cancel(struct run *run)
{
	run->holds_cancel = run->recovered;
	if (run->holds_cancel && run_record_text(run, "cancelling") != NULL)
		run_cancel(run);
}

/* The run waits for its calls, whose fibers have had no turn yet. */
static void
let_go(void *arg)
{
	struct run *run = arg;

	timer_stop(&run->held_cancel);
	run->held_cancel = timer_start(run->coordinator->loop, 0, 0, cancel, run);
}

enum go
run_let_cancel(struct run *run, enum go go)
{
	run->holds_cancel = false;
	if (run->held_cancel == NULL)
		return go;
	if (go != GO_ON)
		return run_unless_cancelled(run, go);
	timer_stop(&run->held_cancel);
	run->held_cancel = timer_start(run->coordinator->loop, 0, 0, let_go, run);
	return GO_ON;
}

enum go
run_unless_cancelled(struct run *run, enum go go)
{
	if (run->held_cancel == NULL || (go != GO_ON && go != GO_FAIL))
		return go;
	cancel(run);
	return GO_DROP;
}

static void
on_deadline(void *arg)
{
	struct run *run = arg;

	if (run_must_stop(run))
		return;
	run->is_late = true;
	cancel(run); /* calls that nobody cancels end soon by themselves */
}

void
run_watch_deadline(struct run *run)
{
	uint64_t now_ms = loop_now_ms(run->coordinator->loop);

	if (run->last_ms != 0)
		run->deadline = timer_start(run->coordinator->loop,
		    run->last_ms > now_ms ? run->last_ms - now_ms : 0, 0, on_deadline,
		    run);
}

void
run_release(struct run *run)
{
	run->releasing = true;
	run_strike_unsent(run);
	/* Its calls go on: who takes the run over asks for them under the same ids. But those of one that ends are to be over first. */
	if (run->id != NULL && !run->is_ending)
		caller_disown(run->coordinator->caller, run->id);
	if (run->fiber != NULL)
		fiber_cancel(run->fiber);
}

/* What the failure has cut off is over before that is told: who goes on behind it makes those calls again. */
static void
wait_cut_off(struct run *run)
{
	suspects_end(run); /* others need not wait meanwhile */
	caller_wait_left(
	    run->coordinator->caller, run->batch, run->id, &run->unconfirmed);
}

enum go
run_end_failed(struct run *run)
{
	log_info("run=%s thread=%s error=%s: %s", run->id, run->thread, run->fault->type,
	    run->fault->message);
	if (run->round != NULL)
		wait_cut_off(run);
	return run_commit_end(run, "error", NULL);
}

enum go
run_end_early(struct run *run)
{
	const uint64_t begun_ms = loop_now_ms(run->coordinator->loop);

	suspects_end(run); /* its children may be suspects, too */
	/* All are asked first, and then waited for: calls are given up in the time of one wait. */
	children_cancel(run->coordinator, run->batch, run->thread, run->id);
	caller_wait_left(
	    run->coordinator->caller, run->batch, run->id, &run->unconfirmed);
	children_end(run->coordinator, run->thread, run->id, begun_ms);
	if (run->is_late)
		run_fail(run, "TimeoutError",
		    "the run was not done at its deadline, %s ms after its start",
		    run_record_text(run, "deadline_ms"));
	else
		run_fail(run, "CancelledError", "cancelled");
	if (run->state != NULL)
		run_repair(run, run->arena);
	run->round = NULL; /* its calls are answered */
	return run_commit_end(run, run->is_late ? "error" : "cancelled", NULL);
}
