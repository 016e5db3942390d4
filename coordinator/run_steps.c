/* run_steps: the node hooks and the model node of a superstep; calls. */
#include "run.h"

#include <inttypes.h>
#include <string.h>

#include "bodies.h"
#include "chain.h"
#include "items.h"
#include "model_wish.h"

#define AFTER_DEADLINE_MS 1000u /* a call may last beyond its run's deadline */

/* --- calls -------------------------------------------------------------------------- */

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

struct fault *
run_code_fault(
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
	static const char *const ours[] = { "ask", "lost", "then" };
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
	    fault_to_value(arena, run_code_fault(arena, call, outcome)), "lost",
	    outcome->code == CODE_WORKER_LOST && (call->flags & WIRE_ONCE) != 0
		? value_str(arena, outcome->reason != NULL
				       ? outcome->reason
				       : wire_code_text(outcome->code))
		: NULL,
	    NULL);
}

/* Somebody may have sent it before us. */
static bool
may_be_known(const struct run *run, const char *id)
{
	return run->recovered &&
	       (run->sent_before == NULL || value_contains(run->sent_before, id));
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
		caller_disown(coordinator->caller, run->id);
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

enum go
run_call(struct run *run, struct arena *arena, const struct run_call *call,
    const struct value **body_r)
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
	struct call_outcome outcome;

	/* A fiber of a round may come here after the run was told to stop, and must not send
	 * what the run's next owner would find cancelled. */
	if (run_must_stop(run))
		return GO_DROP;
	*body_r = value_get(run->results, call->id);
	if (*body_r != NULL)
		return GO_ON;
	if (!may_begin(run, arena, request.flags))
		return GO_DROP;
	value_list_add(&run->sent, value_str(run->batch, call->id));
	if (caller_call(run->coordinator->caller, arena, &request, &outcome) == -1)
		return GO_DROP;
	*body_r = outcome_body(arena, call, &outcome);
	return GO_ON;
}

/* --- results ------------------------------------------------------------------------ */

static void
add_write(struct step_result *result, const char *writer, const struct value *update)
{
	struct arena *arena = result->writers.arena;

	value_list_add(&result->writers, value_str(arena, writer));
	value_list_add(&result->updates, update);
}

/* --- node hooks --------------------------------------------------------------------- */

/* Stores the answer of a hook's call; false when it could not be. One that was found stored is
 * no progress of this owner. */
static bool
keep_answer(
    struct run *run, struct arena *arena, const char *id, const struct value *body)
{
	if (body != value_get(run->results, id) &&
	    run_store(run, arena, value_map(arena, id, body, NULL)) != STORE_OK) {
		/* If the run is ours to end, its end settles the call. */
		value_list_add(&run->answered, value_str(run->batch, id));
		return false;
	}
	run->results_stored = true;
	caller_stored(run->coordinator->caller, id);
	return true;
}

/* turn_call_model: a model call of a hook. What the run knows so far is committed with
 * this hook as the next node, so that a takeover runs the hook again and finds the call.
 */
static const struct value *
hook_call_model(struct turn *turn, const struct value *wish)
{
	struct run *run = turn->arg;
	struct arena *arena = run->scratch;
	struct agent *agent = run->agent;
	const char *model = value_get_text(wish, "model"), *service;
	const struct value *profile, *body;
	struct run_call call;
	enum go go;

	if (model == NULL)
		model = agent->spec->model;
	service = model_wish_service(arena, model);
	if (service == NULL)
		return model_wish_refused(arena, model);
	run->step--; /* the head names the step before this one */
	go = run_commit(run);
	run->step++;
	if (go != GO_ON)
		return NULL;
	profile = value_map(arena, "agent", value_str(arena, agent->spec->name),
	    "version", value_str(arena, agent->spec->version), "model",
	    value_str(arena, model), "system_prompt", value_get(wish, "system_prompt"),
	    "model_settings", value_get(wish, "model_settings"), "tools",
	    value_get(wish, "tools") != NULL ? value_get(wish, "tools")
					     : value_empty_array(),
	    "tool_choice", value_get(wish, "tool_choice"), "response_format",
	    value_get(wish, "response_format"), "middleware", value_empty_array(),
	    "wraps_tools", value_bool(true), "script", agent->spec->script, NULL);
	call = (struct run_call){
		.id = arena_printf(
		    arena, "%s.%" PRIu64 ".h%u", run->id, run->step, run->hook_calls++),
		.service = service,
		.flags = WIRE_INTERNAL,
		.profile = profile,
		.request = value_map(arena, "run", value_str(arena, run->id), "thread",
		    value_str(arena, run->thread), "messages",
		    value_get(wish, "messages"), NULL),
	};
	if (run_call(run, arena, &call, &body) != GO_ON ||
	    !keep_answer(run, arena, call.id, body))
		return NULL;
	return body;
}

/* What a pause keeps of a node that is one call. */
static struct effect
one_effect(struct run *run, const char *id)
{
	struct arena *arena = run->scratch;
	struct effect effect = {
		.name = value_str(arena, run_node(run)->name),
		.call = { .id = arena_printf(
			      arena, "%s.%" PRIu64 ".%s", run->id, run->step, id) },
	};

	run_round_recall(run, 0, &effect);
	return effect;
}

static enum go
pause_hook(struct run *run, const struct value *asked)
{
	const struct effect effect = one_effect(run, "hook");
	const struct value *outcome = value_map(run->scratch, "interrupt", asked, NULL);

	return run_round_pause(run, &effect, &outcome, 1);
}

static const struct value *
hook_store(struct turn *turn, const struct value *op)
{
	struct run *run = turn->arg;

	return items_do(run->coordinator->store, turn->arena, op);
}

enum go
run_hook_node(struct run *run, struct step_result *result)
{
	const struct node *node = run_node(run);
	struct turn turn = {
		.arena = run->scratch,
		.use = node->use,
		.messages = state_messages(run->state),
		.state = state_fields(run->state, run->scratch),
		.context = run->context,
		.run = run->id,
		.thread = run->thread,
		.agent = run->agent->spec->name,
		.call_model = hook_call_model,
		.store = hook_store,
		.arg = run,
		.interrupts = { .answers = run->round != NULL
					       ? one_effect(run, "hook").answers
					       : NULL },
	};
	const struct value *update = chain_node_hook(&turn, node->hook);

	if (turn.notes.count > 0)
		result->notes = value_list_end(&turn.notes);
	if (turn.fault != NULL)
		return turn.fault->control ? run_stopped_by(run, turn.fault)
					   : run_fail_with(run, turn.fault);
	if (fiber_cancelled())
		return GO_DROP;
	if (turn.interrupts.asked != NULL)
		return pause_hook(run, turn.interrupts.asked);
	if (value_is_nil(update))
		return GO_ON;
	result->jump = value_get_text(update, "jump_to");
	add_write(
	    result, node->name, value_map_with(run->scratch, update, "jump_to", NULL));
	return GO_ON;
}

/* --- the model node ----------------------------------------------------------------- */

static bool
is_answered(const struct value *messages, const struct value *id)
{
	size_t i;

	for (i = 0; i < value_size(messages); i++)
		if (chat_is(value_at(messages, i), "tool") &&
		    value_equal(value_get(value_at(messages, i), "tool_call_id"), id))
			return true;
	return false;
}

/* Answers the calls of message, among messages, that could not be parsed, so that the loop
 * goes on (semantics.md 13.7). Those of output tools have their answer. */
static void
answer_malformed(struct arena *arena, const struct value *message,
    const struct value *messages, struct value_list *list)
{
	const struct value *invalid = value_get(message, "invalid_tool_calls");
	size_t i;

	for (i = 0; i < value_size(invalid); i++) {
		const struct value *call = value_at(invalid, i);
		const char *name = value_get_text(call, "name");
		const char *error = value_get_text(call, "error");

		if (is_answered(messages, value_get(call, "id")))
			continue;
		value_list_add(list,
		    chat_tool(arena,
			arena_printf(arena,
			    "Error: the arguments of the call to '%s' are not valid JSON"
			    "%s%s. Call it again with arguments that are one JSON "
			    "object.",
			    name != NULL ? name : "?", error != NULL ? ": " : "",
			    error != NULL ? error : ""),
			value_get_text(call, "id"), name, "error"));
	}
}

static const struct value *
new_messages(struct arena *arena, const struct value *body)
{
	const struct value *messages = value_get(body, "messages");
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(messages); i++) {
		value_list_add(&list, value_at(messages, i));
		if (chat_is(value_at(messages, i), "ai"))
			answer_malformed(arena, value_at(messages, i), messages, &list);
	}
	return value_list_end(&list);
}

static void
model_writes(struct run *run, const struct value *body, struct step_result *result)
{
	struct arena *arena = run->scratch;
	const struct value *updates = value_get(body, "updates");
	const struct value *writers = value_get(body, "writers");
	size_t i;

	add_write(result, "model",
	    value_map(arena, "messages", new_messages(arena, body), "structured_response",
		value_get(body, "structured_response"), NULL));
	for (i = 0; i < value_size(updates); i++) {
		const char *name = value_text(value_at(writers, i));

		add_write(result,
		    arena_printf(arena, "%s.wrap_model_call", name != NULL ? name : "a"),
		    value_at(updates, i));
	}
	result->notes = value_get(body, "notes");
}

/* What turns messages into repaired: appended where it can be. */
static const struct value *
mended_messages(
    struct arena *arena, const struct value *messages, const struct value *repaired)
{
	struct value_list list = { .arena = arena };
	size_t old = value_size(messages);

	if (old > 0 && value_at(repaired, old - 1) == value_at(messages, old - 1)) {
		value_list_add_all(
		    &list, value_array_slice(arena, repaired, old, value_size(repaired)));
	} else {
		value_list_add(&list, value_map(arena, "type", value_str(arena, "remove"),
					  "id", value_str(arena, REMOVE_ALL), NULL));
		value_list_add_all(&list, repaired);
	}
	return value_list_end(&list);
}

enum go
run_repair(struct run *run, struct arena *arena)
{
	const struct value *messages = state_messages(run->state);
	const struct value *repaired = chat_answer_dangling(arena, messages);
	const char *error;

	if (repaired == messages)
		return GO_ON;
	if (state_mend(run->state, arena, mended_messages(arena, messages, repaired),
		&error) == -1)
		return run_fail(run, "InvalidUpdateError", "%s", error);
	run->dirty = true;
	return GO_ON;
}

/* For middleware that may send the request to another provider's model. */
static const struct value *
providers(struct run *run, const struct value *profile)
{
	return value_size(value_get(profile, "middleware")) == 0
		   ? NULL
		   : catalog_providers(run->coordinator->catalog, run->scratch);
}

static const struct value *
model_request(struct run *run, const struct value *profile, const struct value *answers)
{
	struct arena *arena = run->scratch;
	const struct value_pair request[] = {
		{ VALUE_TEXT("run"), value_str(arena, run->id) },
		{ VALUE_TEXT("thread"), value_str(arena, run->thread) },
		{ VALUE_TEXT("messages"), state_messages(run->state) },
		{ VALUE_TEXT("state"),
		    state_slice(run->state, arena, run->agent->spec->reads) },
		{ VALUE_TEXT("context"), run->context },
		{ VALUE_TEXT("answers"), answers },
		{ VALUE_TEXT("providers"), providers(run, profile) },
	};

	return value_map_of(arena, request, sizeof request / sizeof *request);
}

enum go
run_model_node(struct run *run, struct step_result *result)
{
	struct arena *arena = run->scratch;
	const struct spec *spec = run->agent->spec;
	struct agent_profiles *profiles;
	const struct value *body;
	const struct fault *fault;
	struct effect effect;
	enum go go = run_repair(run, arena);

	run->step--;
	if (go == GO_ON)
		go = run_commit(run);
	run->step++;
	if (go != GO_ON)
		return go;
	profiles = agent_profiles(run->agent, run->coordinator->catalog);
	effect = one_effect(run, "0");
	effect.call.service =
	    arena_printf(arena, SERVICE_MODEL_PREFIX "%s", spec->provider);
	effect.call.flags = run->stream ? WIRE_STREAM : 0;
	effect.call.profile = profiles->model;
	effect.call.request = model_request(run, profiles->model, effect.answers);
	go = run_model_call(run, arena, &effect.call, &body);
	agent_profiles_unref(&profiles);
	if (go != GO_ON)
		return go;
	value_list_add(&run->answered, value_str(run->batch, effect.call.id));
	run->dirty = true;
	fault = value_has(body, "fault")
		    ? fault_from_value(arena, value_get(body, "fault"))
		    : NULL;
	if (fault != NULL)
		return fault->control ? run_stopped_by(run, fault)
				      : run_fail_with(run, fault);
	if (run_round_asks(body))
		return run_round_pause(run, &effect, &body, 1);
	model_writes(run, body, result);
	return GO_ON;
}
