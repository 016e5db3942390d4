/* run_tools: the tools node: what is asked for every pending call of the last AI message, and what comes of
 * the outcomes, in call order (tool_calls.h: the calls under way). */
#include "tool_calls.h"

#include <stdlib.h>

#include "bodies.h"
#include "edited_call.h"

#define TOOL_WAIT_MS                                                                     \
	10000 /* a call may wait, beside the time that its tool says it takes */

bool
run_fault_ends(const struct run *run, const struct fault *fault)
{
	return run->agent->spec->raise_tool_errors || fault->fatal;
}

/* --- the round ---------------------------------------------------------------------- */

static const struct value *
tool_request_body(struct run *run, struct arena *arena, const struct effect *effect,
    const struct value *definition)
{
	const struct value_pair body[] = {
		{ VALUE_TEXT("run"), value_str(arena, run->id) },
		{ VALUE_TEXT("thread"), value_str(arena, run->thread) },
		{ VALUE_TEXT("tenant"), run_tenant(run, arena) },
		{ VALUE_TEXT("tool_call"), effect->tool_call },
		{ VALUE_TEXT("tool"), effect->tool },
		{ VALUE_TEXT("state"), run_tool_state(run, arena, definition) },
		{ VALUE_TEXT("context"), run->context },
		{ VALUE_TEXT("answers"), effect->answers },
		{ VALUE_TEXT("askers"), effect->askers },
	};

	return value_map_of(arena, body, sizeof body / sizeof *body);
}

/* Where the wraps around a plain tool run: by a service of its own, whose calls may wait for long (bodies.h). Not all
 * fleets need have it: who runs wraps may serve `tools` alone. */
static const char *
wraps_service(const struct catalog *catalog)
{
	return catalog_serves(catalog, SERVICE_WRAPS) ||
		       !catalog_serves(catalog, SERVICE_TOOLS)
		   ? SERVICE_WRAPS
		   : SERVICE_TOOLS;
}

/* Who is asked. A worker's tool is meant when the agent lists it; one of the same name that a
 * middleware brings is run by any tool worker. A tool that is neither may be known to a wrap, which
 * can run it only where it is. A plain tool's worker is called beneath one that runs the middleware. */
static const char *
service_of(struct run *run, struct arena *arena, const char *name,
    const struct value *definition, const struct value *middleware)
{
	const struct catalog *catalog = run->coordinator->catalog;
	const struct spec *spec = run->agent->spec;
	const char *service = arena_printf(arena, SERVICE_TOOL_PREFIX "%s", name);
	const char *pin = value_get_text(definition, "pin");

	if (pin != NULL)
		return run_pin_service(run, arena, pin);
	if (value_size(middleware) > 0 &&
	    value_get_bool(value_get(catalog_tools(catalog), name), "plain", false))
		return wraps_service(catalog);
	if (value_contains(spec->tools, name))
		return value_has(catalog_tools(catalog), name) ? service : SERVICE_TOOLS;
	if (spec->wraps_tools && !spec_has_tool(spec, name) &&
	    catalog_serves(catalog, service))
		return service;
	return SERVICE_TOOLS;
}

/* The tool that a call is for: where a reviewer has put another one in its place, that one is served
 * and must not run twice (middleware/edited_call.h). */
static const char *
edited_call_name(const struct state *state, const struct value *tool_call)
{
	const struct value *edited = edited_call(
	    state_field(state, EDITED_CALLS), value_get_text(tool_call, "id"));

	return value_get_text(edited != NULL ? edited : tool_call, "name");
}

uint64_t
run_tool_deadline(const struct run *run, const struct value *definition)
{
	int64_t own_ms = value_get_int(definition, "timeout_ms", 0);

	if (own_ms > CALL_DEADLINE_MS_MAX - TOOL_WAIT_MS)
		return CALL_DEADLINE_MS_MAX;
	own_ms += TOOL_WAIT_MS;
	return own_ms > run->coordinator->settings->call_deadline_ms ? (uint64_t)own_ms
								     : 0;
}

static void
prepare(struct tool_call *call, const struct value *tool_call)
{
	struct run *run = call->round->run;
	struct arena *arena = call->arena;
	struct effect *effect = call->effect;
	const char *name = edited_call_name(run->state, tool_call);
	const struct value *profile = call->round->profiles->tool, *definition;

	effect->tool_call = tool_call;
	effect->name = value_get(tool_call, "id");
	effect->tool = definition = value_get(call->round->profiles->tools, name);
	/* What a wrap runs must not run twice either. */
	if (definition == NULL)
		definition = value_get(catalog_tools(run->coordinator->catalog), name);
	effect->call = (struct run_call){
		.id = run_call_id(run, arena, "%zu", call->index),
		.service = service_of(
		    run, arena, name, definition, value_get(profile, "middleware")),
		.is_tool = true,
		.flags = run_may_run_twice(run, definition) ? 0 : WIRE_ONCE,
		.deadline_ms = run_tool_deadline(run, definition),
		.profile = profile,
	};
	effect->last_id = effect->call.id;
	effect->call.is_new = tool_calls_is_new(call);
	run_round_recall(run, call->index, effect);
	effect->call.request = tool_request_body(run, arena, effect, definition);
}

/* An error of the tool's body that no wrapper absorbed: the model is told. */
static const struct value *
error_command(
    struct arena *arena, const struct value *tool_call, const struct fault *fault)
{
	const struct value *message = chat_tool(arena,
	    arena_printf(arena, "Error: %s: %s\nMend the cause and try again.",
		fault->type, fault->message),
	    value_get_text(tool_call, "id"), value_get_text(tool_call, "name"), "error");

	return value_map(arena, "update",
	    value_map(arena, "messages", value_array(arena, &message, 1), NULL), NULL);
}

/* What is wrong with an outcome, or NULL. */
static const struct fault *
fault_of(struct arena *arena, const struct value *tool_call, const struct value *outcome)
{
	if (value_has(outcome, "fault"))
		return fault_from_value(arena, value_get(outcome, "fault"));
	return run_round_asks(outcome)
		   ? NULL
		   : run_command_flaw(arena, tool_call, value_get(outcome, "commands"));
}

const struct value *
tool_calls_told(const struct run *run, struct arena *arena, const struct value *tool_call,
    const struct value *outcome)
{
	const struct fault *fault = fault_of(arena, tool_call, outcome);
	const struct value *command;

	if (fault == NULL || fault->control || run_fault_ends(run, fault))
		return outcome;
	command = error_command(arena, tool_call, fault);
	outcome = value_map_with(arena, outcome, "fault", fault_to_value(arena, fault));
	return value_map_with(
	    arena, outcome, "commands", value_array(arena, &command, 1));
}

static bool
is_direct(const struct effect *effect)
{
	return value_get_bool(effect->tool, "return_direct", false);
}

/* LangChain passes over calls of tools that the agent has not got, and of those that it only shows
 * to the model. One that is shown as direct was meant to count. */
static bool
has_implementation(const struct effect *effect)
{
	return effect->tool != NULL &&
	       (is_direct(effect) || !value_get_bool(effect->tool, "schema_only", false));
}

static bool
has_direct(const struct tool_calls *round)
{
	size_t i;

	for (i = 0; i < round->count; i++)
		if (is_direct(&round->effects[i]))
			return true;
	return false;
}

static enum go
collect_one(struct run *run, struct step_result *result, struct tool_call *call)
{
	const struct value *body = call->body, *commands = value_get(body, "commands");
	const struct value *tool_call = call->effect->tool_call;
	const struct fault *fault = fault_of(run->scratch, tool_call, body);

	if (fault != NULL && fault->control)
		return run_stopped_by(run, fault);
	if (fault != NULL && run_fault_ends(run, fault))
		return run_fail_with(run, fault);
	if (fault != NULL) {
		const struct value *command =
		    error_command(run->scratch, tool_call, fault);

		commands = value_array(run->scratch, &command, 1);
	}
	run_effect_events(run, call->effect, body);
	call->told = true;
	if (has_implementation(call->effect) &&
	    (!is_direct(call->effect) || !run_command_succeeded(tool_call, commands)))
		result->all_direct = false;
	return run_command_apply(run, result, tool_call, commands);
}

/* The next commit settles what was answered, be it the run's end. */
static void
note_answered(const struct tool_calls *round)
{
	struct run *run = round->run;
	size_t i;

	for (i = 0; i < round->count; i++)
		if (round->calls[i].body != NULL && round->effects[i].known == NULL)
			value_list_add(&run->answered,
			    value_str(run->batch, round->effects[i].last_id));
}

/* Brings the outcomes in call order into the step's result. A failure counts before a
 * drop: the others were cancelled because of it. */
static enum go
collect(struct tool_calls *round, struct step_result *result)
{
	struct value_list notes = { .arena = round->run->scratch };
	enum go go = GO_ON, one;
	size_t i;

	for (i = 0; i < round->count; i++) {
		struct tool_call *call = &round->calls[i];

		if (call->go == GO_ON && call->body != NULL) {
			one = collect_one(round->run, result, call);
			call->failed = one != GO_ON;
			run_used(round->run, value_get(call->body, "usage"));
			value_list_add_all(
			    &notes, value_copy(round->run->scratch,
					value_get(call->body, "notes") != NULL
					    ? value_get(call->body, "notes")
					    : value_empty_array()));
		} else {
			one = call->go == GO_ON ? GO_DROP : call->go;
		}
		if (one == GO_FAIL)
			return GO_FAIL;
		if (one != GO_ON)
			go = one;
	}
	if (notes.count > 0)
		result->notes = value_list_end(&notes);
	return go;
}

/* A human is to answer a call: the others keep what they have. */
static bool
asks(const struct tool_calls *round)
{
	size_t i;

	for (i = 0; i < round->count; i++)
		if (run_round_asks(round->calls[i].body))
			return true;
	return false;
}

static enum go
pause_round(struct tool_calls *round)
{
	const struct value **outcomes =
	    arena_alloc(round->run->scratch, (round->count + 1) * sizeof *outcomes);
	size_t i;

	for (i = 0; i < round->count; i++)
		outcomes[i] = round->calls[i].body;
	return run_round_pause(round->run, round->effects, outcomes, round->count);
}

/* What has ended is not made again by who goes on behind the failure. */
static void
leave_round(struct tool_calls *round)
{
	struct round_end *ends =
	    arena_alloc(round->run->scratch, (round->count + 1) * sizeof *ends);
	const struct tool_call *call;
	size_t i;

	for (i = 0; i < round->count; i++) {
		call = &round->calls[i];
		ends[i] =
		    (struct round_end){ .body = call->go == GO_ON ? call->body : NULL,
			    .failed = call->failed,
			    .told = call->told };
	}
	run_round_failed(round->run, round->effects, ends, round->count);
}

void
run_round_end(struct run *run, bool has_failed)
{
	struct tool_calls *round = run->calls;
	size_t i;

	if (round == NULL)
		return;
	if (has_failed)
		leave_round(round);
	for (i = 0; i < round->count; i++)
		arena_destroy(&round->calls[i].arena);
	agent_profiles_unref(&round->profiles);
	run->calls = NULL;
}

static struct tool_calls *
new_round(struct run *run, const struct value *pending)
{
	struct tool_calls *round = arena_alloc(run->scratch, sizeof *round);
	size_t count = value_size(pending), i;

	*round = (struct tool_calls){ .run = run, .count = count };
	round->profiles = agent_profiles(run->agent, run->coordinator->catalog);
	round->calls = arena_alloc(run->scratch, (count + 1) * sizeof *round->calls);
	round->effects = arena_alloc(run->scratch, (count + 1) * sizeof *round->effects);
	for (i = 0; i < count; i++) {
		round->calls[i].round = round;
		round->calls[i].arena = arena_new();
		round->calls[i].index = i;
		round->calls[i].effect = &round->effects[i];
		prepare(&round->calls[i], value_at(pending, i));
	}
	return round;
}

enum go
run_tools_node(struct run *run, struct step_result *result)
{
	const struct value *pending =
	    graph_tool_calls(run->scratch, run->agent->spec, state_messages(run->state));
	struct tool_calls *round;
	enum go go;

	if (value_size(pending) > ROUND_CALLS_MAX)
		return run_fail(run, "ValueError",
		    "%zu calls of tools in one message: a round has %u at most",
		    value_size(pending), ROUND_CALLS_MAX);
	run->step--;
	go = run_commit(run);
	run->step++;
	if (go != GO_ON)
		return go;
	run->calls = round = new_round(run, pending);
	go = tool_calls_run(round);
	note_answered(round);
	result->all_direct = has_direct(round);
	/* Given up, or back, it is for whoever goes on with the run to say how it ends, and to cancel what is left. */
	if (go == GO_ON || (round->stop && !run->is_lost && !run->releasing))
		go = collect(round, result);
	if (round->count > 0)
		run->dirty = true;
	if (go == GO_ON && asks(round))
		go = pause_round(round);
	return go;
}
