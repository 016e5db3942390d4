/* owner_calls: the calls of a superstep, after coordinator/run_tools.c and run_steps.c. */
#include "owner_private.h"

/* --- calls ----------------------------------------------------------------------------- */

/* may_be_known() */
static bool
may_be_known(const struct held_run *run, const char *id)
{
	return run->recovered &&
	       (run->sent_before == NULL || strstr(run->sent_before, id) != NULL);
}

static unsigned
flags_of(const struct held_call *call)
{
	bool was_sent = call->cancels > 0 || may_be_known(call->run, call->fact->id);

	return (call->fact->once ? WIRE_ONCE : 0u) | (was_sent ? WIRE_RESEND : 0u);
}

/* service_of(): of what lives in one worker the run's state has the session. */
static const char *
service_of(struct world *world, struct call_fact *fact)
{
	static const char *const tools[] = { "tool:a", "tool:b", "tool:c" };
	unsigned which = (fact->run->index + fact->step) % world->plan.workers;

	if (fact->step % 2 == 1)
		return "model:m";
	if (!fact->pinned)
		return tools[fact->index];
	if (fact->pin[0] == '\0')
		snprintf(fact->pin, sizeof fact->pin, "worker:%s",
		    world->workers[which].peer.process.session);
	return fact->pin;
}

/* run_call() */
static void
begin_call(struct held_call *call)
{
	struct held_run *run = call->run;
	struct world *world = world_of(run);
	struct call_fact *fact = call->fact;
	const struct header header = {
		.type = MSG_CALL,
		.flags = flags_of(call),
		.call_id = fact->id,
		.run = run->fact->id,
		.service = service_of(world, fact),
		.step = fact->step,
		.epoch = run->epoch,
		.deadline_ms = world->plan.deadline_ms,
		.priority = 2,
		.idempotency_key = fact->id,
	};

	call->here = HERE_CALLING;
	run->sent[fact->index] = true;
	once_sent(call, (header.flags & WIRE_RESEND) == 0);
	coordinator_feed(run->coordinator,
	    &(struct ledger_event){ .type = LEDGER_CALL,
		.header = &header,
		.waiter = (struct waiter *)(void *)call,
		.cargo = (struct cargo *)(void *)payload_new(world, 0) });
}

static void call_over(struct held_call *call);
static void on_still_ours(struct redis_request *request, const struct reply *reply);

static void
ask_whether_ours(struct held_call *call)
{
	struct held_run *run = call->run;
	const char *const args[] = { thread_of(run)->key, SIM_PREFIX, owner_name(run),
		world_text(world_of(run), "%llu", (unsigned long long)run->epoch),
		run->fact->id,
		world_text(world_of(run), "%llu", (unsigned long long)run->version) };

	call->here = HERE_ASKING;
	call->asked_ms = world_of(run)->now_ms;
	ask(run, "fl_result", args, 6, on_still_ours, call);
}

/* may_begin(): what must not run twice is not begun on the word of a lease that is over. */
static void
send_call(struct held_call *call)
{
	struct held_run *run = call->run;

	if ((flags_of(call) & (WIRE_ONCE | WIRE_RESEND)) == WIRE_ONCE &&
	    world_of(run)->now_ms >= run->owned_ms + LEASE_MS)
		ask_whether_ours(call);
	else
		begin_call(call);
}

static void
on_still_ours(struct redis_request *request, const struct reply *reply)
{
	struct held_call *call = request->arg;
	struct held_run *run = call->run;

	if (run == NULL || request->arg_life != run->life || call->here != HERE_ASKING)
		return;
	if (reply == NULL && !call->asked_twice) {
		call->asked_twice = true;
		ask_whether_ours(call);
		return;
	}
	if (reply != NULL && !REFUSED(reply) && !must_stop(run)) {
		run->owned_ms = call->asked_ms;
		begin_call(call);
		return;
	}
	if (reply == NULL || REFUSED(reply))
		tell_ledger(run, LEDGER_DISOWN, run->fact->id);
	call->dropped = true;
	call_over(call);
}

static unsigned
calls_left(const struct held_run *run)
{
	unsigned i, left = 0;

	for (i = 0; i < run->call_count; i++)
		left += run->calls[i].here != HERE_DONE;
	return left;
}

/* stop_others() */
static void
cancel_calls(struct held_run *run)
{
	unsigned i;

	for (i = 0; i < run->call_count; i++) {
		struct held_call *call = &run->calls[i];

		if (call->here != HERE_CALLING || call->news == NEWS_DELIVERED)
			continue;
		call->here = HERE_DONE;
		call->dropped = true;
		tell_ledger(run, LEDGER_CANCEL, call->fact->id);
	}
}

static void round_over(struct held_run *run);

void
owner_call(struct held_run *run)
{
	unsigned i;

	run->state = RUN_CALLING;
	run->call_count = step_calls(run->fact, run->step + 1);
	for (i = 0; i < run->call_count; i++) {
		struct held_call *call = &run->calls[i];
		bool stored = call->run == run && call->has_outcome &&
			      call->fact == &run->fact->calls[run->step + 1][i];

		if (stored) { /* found with the claim */
			call->here = HERE_DONE;
			continue;
		}
		*call = (struct held_call){ .run = run,
			.fact = &run->fact->calls[run->step + 1][i] };
		send_call(call);
	}
	if (calls_left(run) == 0)
		round_over(run);
}

static void on_stored(struct redis_request *request, const struct reply *reply);

/* store_outcome() */
static void
store(struct held_call *call)
{
	struct held_run *run = call->run;
	struct world *world = world_of(run);
	const char *const args[] = { thread_of(run)->key, SIM_PREFIX, owner_name(run),
		world_text(world, "%llu", (unsigned long long)run->epoch), run->fact->id,
		world_text(world, "%llu", (unsigned long long)run->version),
		call->fact->id,
		world_text(world, "%u:%u", call->value, (unsigned)call->code) };

	call->here = HERE_STORING;
	ask(run, "fl_result", args, 8, on_stored, call);
}

static void
call_over(struct held_call *call)
{
	struct held_run *run = call->run;

	call->here = HERE_DONE;
	if (call->dropped)
		cancel_calls(run);
	if (calls_left(run) == 0)
		round_over(run);
}

/* store_results asks twice at most: then the commit has it. */
static void
on_stored(struct redis_request *request, const struct reply *reply)
{
	struct held_call *call = request->arg;
	struct held_run *run = call->run;

	if (run == NULL || request->arg_life != run->life || call->here != HERE_STORING)
		return;
	if (reply == NULL) {
		if (call->asked_twice) {
			call_over(call);
			return;
		}
		call->asked_twice = true;
		store(call);
		return;
	}
	if (REFUSED(reply)) {
		tell_ledger(run, LEDGER_DISOWN, run->fact->id);
		call->dropped = true;
	} else {
		run->results_stored = true;
		tell_ledger(run, LEDGER_STORED, call->fact->id);
	}
	call_over(call);
}

/* --- when all calls of a superstep have ended ------------------------------------------- */

/* A failover may have forgotten who wanted it; a late call may end as either. */
static void
nobody_wanted(struct held_run *run, const struct reply *reply)
{
	if (reply != NULL && !world_of(run)->failed_over &&
	    world_of(run)->plan.deadline_ms == CALL_DEADLINE_MS)
		violate(world_of(run),
		    "14: a call of %s was cancelled, and nobody wanted that",
		    run->fact->id);
}

static void on_cancel_asked(struct redis_request *request, const struct reply *reply);

/* run_stopped_by(): somebody before us may have been told to cancel. */
static void
ask_who_cancelled(struct held_run *run)
{
	const char *const args[] = { world_text(
	    world_of(run), "%sr:%s", SIM_PREFIX, run->fact->id) };

	run->state = RUN_ASKING;
	ask(run, "HEXISTS cancelling", args, 1, on_cancel_asked, run);
}

static void
on_cancel_asked(struct redis_request *request, const struct reply *reply)
{
	struct held_run *run = request->arg;

	if (request->arg_life != run->life)
		return;
	if (reply != NULL && reply->integer == 1)
		run->cancel_wanted = true;
	if (must_stop(run)) {
		owner_stop(run);
		return;
	}
	nobody_wanted(run, reply);
	owner_commit_end(run, "error");
}

/* note_answered(), collect() */
static void
round_over(struct held_run *run)
{
	bool dropped = false, cancelled = false, failed = false;
	unsigned i;

	run->answered_count = 0;
	for (i = 0; i < run->call_count; i++) {
		struct held_call *call = &run->calls[i];

		dropped = dropped || !call->has_outcome;
		if (!call->has_outcome)
			continue;
		run->answered[run->answered_count++] = *call;
		cancelled = cancelled || call->code == CODE_CANCELLED;
		/* A model that cannot be asked ends the run; of a tool the model is told. */
		failed = failed || (call->code != CODE_OK && call->fact->step % 2 == 1);
	}
	if (must_stop(run) || dropped)
		owner_stop(run);
	else if (cancelled)
		ask_who_cancelled(run);
	else if (failed)
		owner_commit_end(run, "error");
	else {
		run->step++;
		run->dirty = true;
		run->recovered = false;
		for (i = 0; i < CALLS; i++)
			run->calls[i].has_outcome = false;
		owner_advance(run);
	}
}

static void
answered(struct held_call *call)
{
	struct held_run *run = call->run;

	owner_go_on(run);
	call->has_outcome = true;
	check_outcome(world_of(run), call->fact, call->code);
	once_told(call);
	call->asked_twice = false;
	if (calls_left(run) == 1)
		call_over(call);
	else
		store(call);
}

static void on_wanted_asked(struct redis_request *request, const struct reply *reply);

/* ask_for(): who has cancelled it? */
static void
ask_who_cancelled_it(struct held_call *call)
{
	struct held_run *run = call->run;
	const char *const args[] = { world_text(
	    world_of(run), "%sr:%s", SIM_PREFIX, run->fact->id) };

	call->here = HERE_ASKING;
	ask(run, "HEXISTS cancelling", args, 1, on_wanted_asked, call);
}

static void
on_wanted_asked(struct redis_request *request, const struct reply *reply)
{
	struct held_call *call = request->arg;
	struct held_run *run = call->run;

	if (run == NULL || request->arg_life != run->life || call->here != HERE_ASKING)
		return;
	if (reply != NULL && reply->integer == 1)
		run->cancel_wanted = true;
	if (!run->cancel_wanted && run->releasing) {
		call->dropped = true;
		call_over(call);
	} else if (run->cancel_wanted) {
		answered(call);
	} else {
		nobody_wanted(run, reply);
		if (call->fact->once) {
			call->code = CODE_WORKER_LOST;
			answered(call);
		} else {
			call->cancels++;
			tell_ledger(run, LEDGER_STORED, call->fact->id);
			begin_call(call);
		}
	}
}

static void
call_news(struct held_call *call)
{
	enum news news = call->news;

	call->news = NEWS_NONE;
	if (call->here != HERE_CALLING)
		return;
	if (news == NEWS_REVOKED) {
		call->dropped = true;
		call_over(call);
	} else if (call->code == CODE_CANCELLED &&
		   call->cancels + 1 < CALL_ATTEMPTS_MAX) {
		ask_who_cancelled_it(call);
	} else {
		answered(call);
	}
}

void
owner_wake(struct held_run *run)
{
	unsigned i, life = run->life;

	if (run->state == RUN_CALLING) {
		for (i = 0; i < run->call_count && run->state == RUN_CALLING &&
			    run->life == life;
		     i++)
			if (run->calls[i].news != NEWS_NONE)
				call_news(&run->calls[i]);
	} else if (run->state == RUN_LEAVING) {
		owner_leave_calls(run);
	}
}

/* run_cancel(): what waits for calls stops waiting; a step on Redis is not interrupted. */
void
owner_cancel(struct held_run *run)
{
	if (run->cancel_wanted)
		return;
	run->cancel_wanted = true;
	if (run->state != RUN_CALLING)
		return;
	cancel_calls(run);
	if (calls_left(run) == 0)
		round_over(run);
}
