/* run_stop: a run is to end before it is done: cancelled, late, given back, given up. */
#include "run.h"

enum go
run_stopped_by(struct run *run, const struct fault *fault)
{
	/* An owner before us was told that the run is to be cancelled, and cancelled its calls;
	 * we may find them so before we are told. */
	if (!run_must_stop(run) && store_cancel_wanted(run->coordinator->store,
				       run->arena, run->thread, run->id))
		run->cancel_wanted = true;
	if (run->is_dropped || run_must_stop(run) || fiber_cancelled())
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
	caller_disown(run->coordinator->caller, run->id);
}

void
run_cancel(struct run *run)
{
	run->cancel_wanted = true;
	if (run->fiber != NULL)
		fiber_cancel(run->fiber);
}

static void
on_deadline(void *arg)
{
	struct run *run = arg;

	if (run_must_stop(run))
		return;
	run->is_late = true;
	run_cancel(run);
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
	/* Its calls go on: who takes the run over asks for them under the same ids. */
	if (run->id != NULL)
		caller_disown(run->coordinator->caller, run->id);
	if (run->fiber != NULL)
		fiber_cancel(run->fiber);
}
