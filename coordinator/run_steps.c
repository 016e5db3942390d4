/* run_steps: the node hooks and the model node of a superstep; calls. */
#include "run.h"

#include <inttypes.h>
#include <string.h>

#include "bodies.h"
#include "chain.h"

/* --- calls -------------------------------------------------------------------------- */

struct fault *
run_code_fault(
    struct arena *arena, const struct run_call *call, const struct call_outcome *outcome)
{
	const char *reason =
	    outcome->reason != NULL ? outcome->reason : wire_code_text(outcome->code);
	struct fault *fault;

	if (outcome->code == CODE_CANCELLED)
		return fault_cancelled(arena);
	fault = fault_new(arena,
	    outcome->code == CODE_EXPIRED || outcome->code == CODE_NOT_SERVED
		? "TimeoutError"
		: "WorkerLostError",
	    "%s: %s", call->service, reason);
	fault->retryable = wire_code_retry(outcome->code);
	return fault;
}

/* An outcome that the broker made instead of a worker, as a RESULT body. */
static const struct value *
outcome_body(
    struct arena *arena, const struct run_call *call, const struct call_outcome *outcome)
{
	if (outcome->code == CODE_OK && value_is(outcome->body, VALUE_MAP))
		return outcome->body;
	if (outcome->code == CODE_OK)
		return value_map(arena, "fault",
		    fault_to_value(
			arena, fault_new(arena, "RuntimeError",
				   "the worker of %s gave an answer that cannot be read",
				   call->service)),
		    NULL);
	return value_map(arena, "fault",
	    fault_to_value(arena, run_code_fault(arena, call, outcome)), NULL);
}

/* Somebody may have sent it before us. */
static bool
may_be_known(const struct run *run, const char *id)
{
	return run->recovered &&
	       (run->sent_before == NULL || value_contains(run->sent_before, id));
}

enum go
run_call(struct run *run, struct arena *arena, const struct run_call *call,
    const struct value **body_r)
{
	const struct coordinator_settings *settings = run->coordinator->settings;
	struct call_request request = {
		.id = call->id,
		.run = run->id,
		.service = call->service,
		.step = run->step,
		.epoch = run->epoch,
		.deadline_ms = call->deadline_ms != 0
				   ? call->deadline_ms
				   : (uint64_t)settings->call_deadline_ms,
		.priority = 2,
		.flags = call->flags | (may_be_known(run, call->id) ? WIRE_RESEND : 0u),
		.idempotency_key = call->id,
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

static const char *
provider_of(struct arena *arena, const char *model)
{
	const char *colon = strchr(model, ':');

	return colon != NULL ? arena_copy(arena, model, (size_t)(colon - model)) : model;
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
	const char *model = value_get_text(wish, "model");
	const struct value *profile, *body;
	enum store_status stored;
	struct run_call call;
	enum go go;

	run->step--; /* the head names the step before this one */
	go = run_commit(run);
	run->step++;
	if (go != GO_ON)
		return NULL;
	if (model == NULL)
		model = agent->spec->model;
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
		.service = arena_printf(
		    arena, SERVICE_MODEL_PREFIX "%s", provider_of(arena, model)),
		.flags = WIRE_INTERNAL,
		.profile = profile,
		.request = value_map(arena, "run", value_str(arena, run->id), "thread",
		    value_str(arena, run->thread), "messages",
		    value_get(wish, "messages"), NULL),
	};
	if (run_call(run, arena, &call, &body) != GO_ON)
		return NULL;
	fiber_shield(true); /* as for tools' outcomes */
	stored = store_results(run->coordinator->store, arena, run->thread, run->id,
	    run->epoch, value_map(arena, call.id, body, NULL));
	fiber_shield(false);
	if (stored != STORE_OK) {
		/* If the run is ours to end, its end settles the call. */
		value_list_add(&run->answered, value_str(run->batch, call.id));
		return NULL;
	}
	run->results_stored = true;
	caller_stored(run->coordinator->caller, call.id);
	return body;
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
		.arg = run,
	};
	const struct value *update = chain_node_hook(&turn, node->hook);

	if (turn.fault != NULL)
		return turn.fault->control ? run_stopped_by(run, turn.fault)
					   : run_fail_with(run, turn.fault);
	if (fiber_cancelled())
		return GO_DROP;
	if (value_is_nil(update))
		return GO_ON;
	result->jump = value_get_text(update, "jump_to");
	add_write(
	    result, node->name, value_map_with(run->scratch, update, "jump_to", NULL));
	return GO_ON;
}

/* --- the model node ----------------------------------------------------------------- */

/* Answers the calls that could not be parsed, so that the loop goes on
 * (semantics.md 13.7). */
static void
answer_malformed(
    struct arena *arena, const struct value *message, struct value_list *list)
{
	const struct value *invalid = value_get(message, "invalid_tool_calls");
	size_t i;

	for (i = 0; i < value_size(invalid); i++) {
		const struct value *call = value_at(invalid, i);
		const char *name = value_get_text(call, "name");
		const char *error = value_get_text(call, "error");

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
			answer_malformed(arena, value_at(messages, i), &list);
	}
	return value_list_end(&list);
}

static void
model_writes(struct run *run, const struct value *body, struct step_result *result)
{
	struct arena *arena = run->scratch;
	const struct value *updates = value_get(body, "updates");
	size_t i;

	add_write(result, "model",
	    value_map(arena, "messages", new_messages(arena, body), "structured_response",
		value_get(body, "structured_response"), NULL));
	for (i = 0; i < value_size(updates); i++)
		add_write(result,
		    arena_printf(arena, "wrap_model_call update %zu", i + 1),
		    value_at(updates, i));
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

static const struct value *
model_request(struct run *run)
{
	struct arena *arena = run->scratch;

	return value_map(arena, "run", value_str(arena, run->id), "thread",
	    value_str(arena, run->thread), "messages", state_messages(run->state),
	    "state", state_slice(run->state, arena, run->agent->spec->reads), "context",
	    run->context, NULL);
}

enum go
run_model_node(struct run *run, struct step_result *result)
{
	struct arena *arena = run->scratch;
	const struct spec *spec = run->agent->spec;
	struct agent_profiles *profiles;
	const struct value *body;
	const struct fault *fault;
	struct run_call call;
	enum go go = run_repair(run, arena);

	run->step--;
	if (go == GO_ON)
		go = run_commit(run);
	run->step++;
	if (go != GO_ON)
		return go;
	profiles = agent_profiles(run->agent, run->coordinator->catalog);
	call = (struct run_call){
		.id = arena_printf(arena, "%s.%" PRIu64 ".0", run->id, run->step),
		.service = arena_printf(arena, SERVICE_MODEL_PREFIX "%s", spec->provider),
		.flags = run->stream ? WIRE_STREAM : 0,
		.profile = profiles->model,
		.request = model_request(run),
	};
	go = run_call(run, arena, &call, &body);
	agent_profiles_unref(&profiles);
	if (go != GO_ON)
		return go;
	value_list_add(&run->answered, value_str(run->batch, call.id));
	run->dirty = true;
	fault = value_has(body, "fault")
		    ? fault_from_value(arena, value_get(body, "fault"))
		    : NULL;
	if (fault != NULL)
		return fault->control ? run_stopped_by(run, fault)
				      : run_fail_with(run, fault);
	model_writes(run, body, result);
	return GO_ON;
}
