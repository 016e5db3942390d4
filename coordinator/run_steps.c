/* run_steps: the node hooks and the model node of a superstep. */
#include "run_round.h"

#include <string.h>

#include "bodies.h"
#include "chain.h"
#include "items.h"
#include "model_usage.h"
#include "model_wish.h"
#include "suspects.h"

/* --- results ------------------------------------------------------------------------ */

static void
add_write(struct step_result *result, const char *writer, const struct value *update)
{
	struct arena *arena = result->writers.arena;

	value_list_add(&result->writers, value_str(arena, writer));
	value_list_add(&result->updates, update);
}

/* --- node hooks --------------------------------------------------------------------- */

/* One that was found stored is no progress of this owner. */
bool
run_keep_answer(
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

const struct value *
run_drop_hook(struct run *run)
{
	run->is_dropped = true;
	return NULL;
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
	const struct value *profile, *body, *used;
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
		return run_drop_hook(run);
	profile = value_map(arena, "agent", value_str(arena, agent->spec->name),
	    "version", value_str(arena, agent->spec->version), "model",
	    value_str(arena, model), "system_prompt", value_get(wish, "system_prompt"),
	    "model_settings", value_get(wish, "model_settings"), "tools",
	    value_get(wish, "tools") != NULL ? value_get(wish, "tools")
					     : value_empty_array(),
	    "tool_choice", value_get(wish, "tool_choice"), "response_format",
	    value_get(wish, "response_format"), "task", value_get(wish, "task"),
	    "middleware", value_empty_array(), "wraps_tools", value_bool(true), "script",
	    agent->spec->script, "hides", spec_hides(agent->spec), NULL);
	call = (struct run_call){
		.id = run_call_id(run, arena, "h%u", run->hook_calls++),
		.service = service,
		.flags = WIRE_INTERNAL,
		.profile = profile,
		.request = value_map(arena, "run", value_str(arena, run->id), "thread",
		    value_str(arena, run->thread), "messages",
		    value_get(wish, "messages"), NULL),
	};
	if (run_call(run, arena, &call, &body) != GO_ON ||
	    !run_keep_answer(run, arena, call.id, body))
		return run_drop_hook(run);
	if (spec_counts_usage(agent->spec)) {
		used = model_usage_of_wish(arena, model, wish, body, true);
		run_used(run, used == NULL ? NULL : value_array(arena, &used, 1));
	}
	return body;
}

/* What a pause keeps of a node that is one call. */
static struct effect
one_effect(struct run *run, const char *id)
{
	struct arena *arena = run->scratch;
	struct effect effect = {
		.name = value_str(arena, run_node(run)->name),
		.call = { .id = run_call_id(run, arena, "%s", id) },
	};

	run_round_recall(run, 0, &effect);
	return effect;
}

static enum go
pause_hook(struct run *run, const struct interrupts *interrupts)
{
	const struct effect effect = one_effect(run, "hook");
	const struct value *outcome = interrupts_body(interrupts, run->scratch, NULL);

	return run_round_pause(run, &effect, &outcome, 1);
}

static const struct value *
hook_store(struct turn *turn, const struct value *op)
{
	struct run *run = turn->arg;

	return items_do(run->coordinator->store, turn->arena, op);
}

static const struct value *
hook_seal(struct turn *turn, const struct value *input)
{
	return run_sealed_input(turn->arg, turn->arena, input);
}

int
run_hook_sleep(uint64_t ms)
{
	struct run *run = fiber_data(fiber_current());
	int slept;

	if (run == NULL)
		return fiber_sleep(ms);
	suspects_wait(run);
	slept = fiber_sleep(ms);
	suspects_go_on(run);
	return slept;
}

static bool
hook_is_output_tool(struct turn *turn, const char *name)
{
	struct run *run = turn->arg;

	return spec_is_output_tool(run->agent->spec, name);
}

static const char *
told_topic(struct run *run)
{
	return arena_printf(run->scratch, "run.%s." TELLING_KIND, run->id);
}

static bool
hook_streams(struct turn *turn)
{
	struct run *run = turn->arg;
	struct links *links = run->coordinator->links;

	return links_wants(links, links_of_run(links, run->id), told_topic(run)) &&
	       telling_may(&run->telling, loop_now_ms(run->coordinator->loop));
}

static void
hook_stream(struct turn *turn, const struct value *value)
{
	struct run *run = turn->arg;
	struct arena *arena = run->scratch;

	if (!hook_streams(turn) ||
	    !telling_takes(&run->telling, loop_now_ms(run->coordinator->loop), value))
		return;
	links_publish(run->coordinator->links, run->id, told_topic(run),
	    value_map(arena, "kind", value_str(arena, TELLING_KIND), "run",
		value_str(arena, run->id), "thread", value_str(arena, run->thread),
		"agent", value_str(arena, turn->agent), "step",
		value_int(arena, (int64_t)run->step), "middleware",
		value_str(arena, turn->use->name), "value", value, NULL));
}

/* What a human has answered the hook, where the run goes on behind that. */
static void
recall_answers(struct run *run, struct interrupts *interrupts)
{
	struct effect effect;

	if (run->round == NULL)
		return;
	effect = one_effect(run, "hook");
	interrupts->answers = effect.answers;
	interrupts->answered_calls = effect.answered_calls;
}

static enum go
hook_node(
    struct run *run, const struct agent_profiles *profiles, struct step_result *result)
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
		.tenant = run->tenant,
		.profile = profiles->model,
		.call_model = hook_call_model,
		.call_tool = run_pin_call,
		.store = hook_store,
		.seal = hook_seal,
		.is_output_tool = hook_is_output_tool,
		.streams = hook_streams,
		.stream = hook_stream,
		.arg = run,
	};
	const struct value *update;

	recall_answers(run, &turn.interrupts);
	update = chain_node_hook(&turn, node->hook);

	if (turn.notes.count > 0)
		result->notes = value_list_end(&turn.notes);
	if (turn.fault != NULL)
		return turn.fault->control ? run_stopped_by(run, turn.fault)
					   : run_fail_with(run, turn.fault);
	if (fiber_cancelled())
		return GO_DROP;
	if (turn.interrupts.asked != NULL)
		return pause_hook(run, &turn.interrupts);
	if (value_is_nil(update))
		return GO_ON;
	result->jump = value_get_text(update, "jump_to");
	add_write(
	    result, node->name, value_map_with(run->scratch, update, "jump_to", NULL));
	return GO_ON;
}

enum go
run_hook_node(struct run *run, struct step_result *result)
{
	struct agent_profiles *profiles =
	    agent_profiles(run->agent, run->coordinator->catalog);
	enum go go = hook_node(run, profiles, result);

	agent_profiles_unref(&profiles);
	return go;
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

/* Returns update with one more in each field that counts model calls. */
static const struct value *
counted(struct run *run, const struct value *update)
{
	const struct spec *spec = run->agent->spec;
	size_t i;

	for (i = 0; i < spec->field_count; i++) {
		if (spec->fields[i].counts_model_calls)
			update = value_map_with(run->scratch, update,
			    spec->fields[i].name, value_int(run->scratch, 1));
	}
	return update;
}

static void
model_writes(struct run *run, const struct value *body, struct step_result *result)
{
	struct arena *arena = run->scratch;
	const struct value *updates = value_get(body, "updates");
	const struct value *writers = value_get(body, "writers");
	size_t i;

	add_write(result, "model",
	    counted(run, value_map(arena, "messages", new_messages(arena, body),
			     "structured_response",
			     value_get(body, "structured_response"), NULL)));
	for (i = 0; i < value_size(updates); i++) {
		const char *name = value_text(value_at(writers, i));

		add_write(result,
		    arena_printf(arena, "%s.wrap_model_call", name != NULL ? name : "a"),
		    value_at(updates, i));
	}
	result->notes = value_get(body, "notes");
	run_used(run, value_get(body, "usage"));
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
	const struct value *repaired = state_answer_dangling(run->state, arena);
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
		{ VALUE_TEXT("tenant"), run_tenant(run, arena) },
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
