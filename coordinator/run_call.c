/* run_call: a call of a run, sent and waited for. */
#include "run_round.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "suspects.h"
#include "tally.h"

#define AFTER_DEADLINE_MS 1000u /* a call may last beyond its run's deadline */

static const char *
type_of(enum wire_code code)
{
	switch (code) {
	case CODE_EXPIRED:
	case CODE_NOT_SERVED:
		return "TimeoutError";
	case CODE_POISON:
		return "PoisonError";
	case CODE_MALFORMED:
	case CODE_TOO_LARGE:
		return "RuntimeError";
	default:
		return "WorkerLostError";
	}
}

/* The outcome's code as a fault, when no worker answered. */
static struct fault *
code_fault(
    struct arena *arena, const struct run_call *call, const struct call_outcome *outcome)
{
	const char *reason =
	    outcome->reason != NULL ? outcome->reason : wire_code_text(outcome->code);
	struct fault *fault;

	if (outcome->code == CODE_CANCELLED)
		return fault_cancelled(arena);
	fault = fault_new(arena, type_of(outcome->code), "%s: %s", call->service, reason);
	fault->retryable = wire_code_retry(outcome->code);
	fault->fatal = outcome->code == CODE_POISON || outcome->code == CODE_TOO_LARGE;
	return fault;
}

/* A RESULT's body without the keys that only we add to it (struct effect). */
static const struct value *
workers_own(struct arena *arena, const struct value *body)
{
	static const char *const ours[] = { "ask", "asks", "held", "lost", "then" };
	size_t i;

	for (i = 0; i < sizeof ours / sizeof *ours; i++)
		if (value_has(body, ours[i]))
			body = value_map_with(arena, body, ours[i], NULL);
	return body;
}

/* An outcome that the broker made instead of a worker, as a RESULT body. */
static const struct value *
outcome_body(
    struct arena *arena, const struct run_call *call, const struct call_outcome *outcome)
{
	if (outcome->code == CODE_OK && value_is(outcome->body, VALUE_MAP))
		return workers_own(arena, outcome->body);
	if (outcome->code == CODE_OK)
		return value_map(arena, "fault",
		    fault_to_value(
			arena, fault_new(arena, "RuntimeError",
				   "the worker of %s gave an answer that cannot be read",
				   call->service)),
		    NULL);
	return value_map(arena, "fault",
	    fault_to_value(arena, code_fault(arena, call, outcome)), "lost",
	    outcome->code == CODE_WORKER_LOST && (call->flags & WIRE_ONCE) != 0
		? value_str(arena, outcome->reason != NULL
				       ? outcome->reason
				       : wire_code_text(outcome->code))
		: NULL,
	    NULL);
}

/* Whether body, or what came of it, may be stored and told: middleware takes out what may not. What
 * is stored has been through this. */
static const struct value *
sealed(struct run *run, struct arena *arena, const struct run_call *call,
    const struct value *body)
{
	static const char *const ours[] = { "kept", "whole" }; /* run_brief.c's */
	const struct spec *spec = run->agent->spec;
	const struct value *whole = body;
	size_t i;

	for (i = 0; i < spec->use_count; i++) {
		const struct middleware_use *use =
		    spec->uses[call->is_tool ? i : spec->use_count - 1 - i];

		if (use->type->seal_outcome != NULL)
			body = use->type->seal_outcome(arena, use, call->is_tool, body);
	}
	for (i = 0; body != whole && i < sizeof ours / sizeof *ours; i++)
		if (value_has(whole, ours[i]))
			body = value_map_with(
			    arena, body, ours[i], value_get(whole, ours[i]));
	return body;
}

/* Somebody may have sent it before us. */
static bool
may_be_known(const struct run *run, const char *id)
{
	return run->recovered &&
	       (run->sent_before == NULL || value_contains(run->sent_before, id));
}

bool
run_may_be_sent(const struct run *run, const struct effect *effect)
{
	size_t i;

	for (i = 0; i < run->sent.count; i++)
		if (value_text_is(run->sent.items[i], effect->last_id))
			return true;
	return !effect->call.is_new && may_be_known(run, effect->last_id);
}

/* A process that was frozen behind its commit finds it done, while the run has another owner
 * by now who has given the call up as uncertain: what must not run twice is not begun on the
 * word of a lease that is over. */
static bool
may_begin(struct run *run, struct arena *arena, unsigned flags)
{
	struct coordinator *coordinator = run->coordinator;
	uint64_t now_ms = loop_now_ms(coordinator->loop);
	enum store_status status;

	if ((flags & WIRE_ONCE) == 0 || (flags & WIRE_RESEND) != 0 ||
	    now_ms < run->owned_ms + LEASE_MS)
		return true;
	status = run_store(run, arena, value_empty_map());
	if (status == STORE_OK)
		run->owned_ms = now_ms;
	else
		run_give_up(run);
	return status == STORE_OK && !run_must_stop(run);
}

/* How long a call may take: not much longer than its run. The run ends first, so that it does not
 * see a call end for its own reason. */
static uint64_t
call_deadline(const struct run *run, const struct run_call *call)
{
	const struct coordinator *coordinator = run->coordinator;
	uint64_t ms = call->deadline_ms != 0
			  ? call->deadline_ms
			  : (uint64_t)coordinator->settings->call_deadline_ms;
	uint64_t now_ms = loop_now_ms(coordinator->loop), left_ms;

	if (run->last_ms == 0)
		return ms;
	left_ms = (run->last_ms > now_ms ? run->last_ms - now_ms : 0) + AFTER_DEADLINE_MS;
	return left_ms < ms ? left_ms : ms;
}

/* Sends the call until it ends, and not because somebody else wanted that. Nobody here waits for one that he has
 * cancelled; but who owned the run before us may have done so before we asked for it: his clock said that its deadline is
 * over, another call of the round had failed for good. What may run twice is called anew; of what must not nobody knows how
 * far it had come. */
static enum go
ask_for(struct run *run, struct arena *arena, const struct run_call *call,
    struct call_request *request, struct call_outcome *outcome_r)
{
	struct caller *caller = run->coordinator->caller;
	unsigned count;
	int called;

	for (count = 1;; count++) {
		suspects_wait(run);
		called = caller_call(caller, arena, request, outcome_r);
		suspects_go_on(run);
		if (called == -1)
			return GO_DROP;
		if (outcome_r->code != CODE_CANCELLED || count == CALL_ATTEMPTS_MAX)
			return GO_ON;
		/* Given back, it must not be stored: its next owner would find it so. */
		if (run_stops_with_its_own(run))
			return run->cancel_wanted ? GO_ON : GO_DROP;
		log_info("call=%s was cancelled by another owner of its run", call->id);
		if ((call->flags & WIRE_ONCE) != 0)
			break;
		caller_stored(caller, call->id); /* or its broker would show it again */
		request->flags |= WIRE_RESEND;
		request->deadline_ms = call_deadline(run, call);
	}
	*outcome_r = (struct call_outcome){ .code = CODE_WORKER_LOST,
		.reason = "it was cancelled by another owner of its run" };
	return GO_ON;
}

const char *
again_mark(struct arena *arena, const char *again)
{
	return again == NULL ? ""
			     : arena_printf(arena, "g%llu", strtoull(again, NULL, 10));
}

const char *
run_call_id(const struct run *run, struct arena *arena, const char *index, ...)
{
	va_list args;
	char printed[16];

	va_start(args, index);
	vsnprintf(printed, sizeof printed, index, args);
	va_end(args);
	return arena_printf(arena, "%s.%" PRIu64 ".%s%s", run->id, run->step, printed,
	    again_mark(arena, run_record_text(run, "again")));
}

const struct value *
run_sent(struct run *run)
{
	size_t i;

	if (run->recovered && run->sent_before == NULL)
		return NULL;
	/* Who took the run over knows what was said to him, and says it to the next one. */
	for (i = 0; run->recovered && i < value_size(run->sent_before); i++)
		value_list_add(&run->sent, value_at(run->sent_before, i));
	return value_list_end(&run->sent);
}

void
run_strike_unsent(struct run *run)
{
	const struct caller *caller = run->coordinator->caller;
	size_t i, kept = 0;

	for (i = 0; i < run->sent.count; i++)
		if (!caller_is_unsent(caller, value_text(run->sent.items[i])))
			run->sent.items[kept++] = run->sent.items[i];
	run->sent.count = kept;
}

enum go
run_call_worked(struct run *run, struct arena *arena, const struct run_call *call,
    const struct value **body_r, bool *worked_r)
{
	struct call_request request = {
		.id = call->id,
		.run = run->id,
		.service = call->service,
		.step = run->step,
		.epoch = run->epoch,
		.deadline_ms = call_deadline(run, call),
		.priority = run->priority,
		.tenant = run->tenant,
		.flags =
		    call->flags |
		    (!call->is_new && may_be_known(run, call->id) ? WIRE_RESEND : 0u),
		.idempotency_key = call->key != NULL ? call->key : call->id,
		.profile = call->profile,
		.request = call->request,
	};
	struct run_trace_call traced;
	struct call_outcome outcome;

	/* A fiber of a round may come here after the run was told to stop, and must not send
	 * what the run's next owner would find cancelled. */
	if (run_must_stop(run))
		return GO_DROP;
	*body_r = value_get(run->results, call->id);
	*worked_r = true;
	if (*body_r != NULL)
		return GO_ON;
	if (!may_begin(run, arena, request.flags))
		return GO_DROP;
	value_list_add(&run->sent, value_str(run->batch, call->id));
	if (run->trace != NULL)
		run_trace_call(run, arena, call, &traced, &request);
	if (ask_for(run, arena, call, &request, &outcome) != GO_ON) {
		if (run->trace != NULL)
			run_trace_answered(run, &traced, NULL);
		return GO_DROP;
	}
	*worked_r = outcome.code == CODE_OK;
	if (outcome.code == CODE_OK)
		tally_result(run->coordinator->tally,
		    call->is_tool ? NULL : value_get_text(call->profile, "model"),
		    outcome.body);
	*body_r = sealed(run, arena, call, outcome_body(arena, call, &outcome));
	if (run->trace != NULL)
		run_trace_answered(run, &traced, *body_r);
	return GO_ON;
}

enum go
run_call(struct run *run, struct arena *arena, const struct run_call *call,
    const struct value **body_r)
{
	bool worked;

	return run_call_worked(run, arena, call, body_r, &worked);
}

const struct value *
run_tenant(const struct run *run, struct arena *arena)
{
	return run->tenant == NULL ? NULL : value_str(arena, run->tenant);
}
