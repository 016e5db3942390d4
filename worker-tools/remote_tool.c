#include "remote_tool.h"

#include <string.h>

#include "bodies.h"
#include "caller.h"
#include "chain.h"
#include "fault.h"

/* By way of `tools` from a coordinator that saw nobody serve `wraps`. */
static bool
is_with_wraps(const char *service)
{
	return service != NULL && (strcmp(service, SERVICE_WRAPS) == 0 ||
				      strcmp(service, SERVICE_TOOLS) == 0);
}

bool
remote_tool_is(const struct worker_call *call, const char *name)
{
	const struct value *tool = value_get(call->request, "tool");

	return is_with_wraps(call->header->service) &&
	       value_get_bool(tool, "plain", false) &&
	       value_text_is(value_get(tool, "name"), name);
}

static const struct value *
profile_of(struct worker_call *call)
{
	return value_freeze(call->arena, value_map_with(call->arena, call->profile,
					     "middleware", value_empty_array()));
}

/* What the tool reads; the rest of what came is the wraps'. */
static const struct value *
state_of(struct worker_call *call, const struct tool_request *request)
{
	const struct value *reads = value_get(value_get(call->request, "tool"), "reads");
	struct value_fields fields = { .arena = call->arena };
	size_t i;

	for (i = 0; i < value_size(reads); i++) {
		const char *name = value_text(value_at(reads, i));

		if (name != NULL)
			value_fields_set(&fields, name, tool_state(request, name));
	}
	return fields.count == 0 ? NULL : value_fields_end(&fields);
}

/* What the wraps have made of the call. */
static const struct value *
request_of(struct worker_call *call, const struct tool_request *request,
    const struct value *answers)
{
	struct arena *arena = call->arena;
	const struct value *tool_call = value_map_with(
	    arena, value_get(call->request, "tool_call"), "args", tool_args(request));

	return value_map(arena, "run", value_get(call->request, "run"), "thread",
	    value_get(call->request, "thread"), "tool_call", tool_call, "tool",
	    value_get(call->request, "tool"), "state", state_of(call, request), "context",
	    value_get(call->request, "context"), "answers",
	    value_size(answers) > 0 ? answers : NULL, NULL);
}

static struct tool_result *
without_answer(struct worker_call *call, struct tool_request *request,
    const struct call_outcome *outcome)
{
	struct arena *arena = tool_arena(request);
	const char *reason =
	    outcome->reason != NULL ? outcome->reason : wire_code_text(outcome->code);
	const char *type = "WorkerLostError";
	struct fault *fault;

	call->lost =
	    outcome->code == CODE_WORKER_LOST && (call->header->flags & WIRE_ONCE) != 0;
	/* No wrap may try again what may have happened. */
	if (outcome->code == CODE_CANCELLED || call->lost)
		return tool_fail(request, fault_cancelled(arena));
	if (outcome->code == CODE_EXPIRED || outcome->code == CODE_NOT_SERVED)
		type = "TimeoutError";
	else if (outcome->code == CODE_POISON)
		type = "PoisonError";
	else if (outcome->code == CODE_TOO_LARGE || outcome->code == CODE_MALFORMED)
		type = "RuntimeError";
	fault = fault_new(arena, type, "tool:%s: %s", tool_name(request), reason);
	if (outcome->code == CODE_TOO_LARGE || outcome->code == CODE_MALFORMED)
		fault->retryable = false;
	fault->fatal = outcome->code == CODE_POISON || outcome->code == CODE_TOO_LARGE;
	return tool_fail(request, fault);
}

/* The wraps may outlive the call (peer/seat.h). */
static const struct value *
kept(const struct worker_call *call, struct tool_request *request,
    const struct value *body)
{
	struct arena *arena = tool_arena(request);

	return arena == call->arena ? body : value_copy(arena, body);
}

static struct tool_result *
call_once(struct worker_call *call, struct tool_request *request,
    const struct value *answers, uint64_t left_ms, unsigned number,
    const struct value **asked_r)
{
	struct arena *arena = call->arena;
	const struct header *header = call->header;
	const struct call_request inner = {
		.id = arena_printf(arena, "%s/t%u", header->call_id, number),
		.run = header->run,
		.service =
		    arena_printf(arena, SERVICE_TOOL_PREFIX "%s", tool_name(request)),
		.step = header->step,
		.epoch = header->epoch,
		.deadline_ms = left_ms,
		.priority = header->priority,
		.tenant = header->tenant,
		.flags = header->flags & WIRE_ONCE,
		.idempotency_key = tool_idempotency_key(request),
		.profile = profile_of(call),
		.request = request_of(call, request, answers),
	};
	struct call_outcome outcome;
	const struct value *body;

	if (worker_nested_call(call, &inner, &outcome) == -1)
		return tool_fail(request, fault_cancelled(tool_arena(request)));
	if (outcome.code != CODE_OK)
		return without_answer(call, request, &outcome);
	body = kept(call, request, outcome.body);
	if (value_has(body, "fault"))
		return tool_fail(request,
		    fault_from_value(tool_arena(request), value_get(body, "fault")));
	*asked_r = value_has(body, "interrupt") ? body : NULL;
	return tool_commands(request, value_get(body, "commands"));
}

/* One that asks begins anew with the answer, when there is one. */
struct tool_result *
remote_tool_run(struct worker_call *call, struct tool_request *request, uint64_t left_ms,
    unsigned *count)
{
	const struct value *answers = tool_answers(request), *asked, *answer;
	struct tool_result *result;

	for (;;) {
		asked = NULL;
		result = call_once(call, request, answers, left_ms, ++*count, &asked);
		if (asked == NULL)
			return result;
		answer = tool_interrupt_about(
		    request, value_get(asked, "interrupt"), value_get(asked, "about"));
		if (answer == NULL)
			return NULL;
		answers = value_array_add(tool_arena(request), answers, answer);
	}
}
