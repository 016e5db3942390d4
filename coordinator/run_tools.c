/* run_tools: the tools node: every pending call of the last AI message at once, each on a
 * fiber of its own; outcomes are stored as they arrive and applied in call order. */
#include "run.h"

#include <inttypes.h>
#include <stdlib.h>

#include "bodies.h"

struct tool_calls;

/* One call of the round. Its arena lives until the round is over. */
struct tool_call {
	struct tool_calls *round;
	struct arena *arena;
	struct fiber *fiber; /* while it waits */
	size_t index;
	struct run_call call;
	const struct value *tool; /* its definition, or NULL */
	const struct value *body;
	enum go go;
	bool ended;
};

struct tool_calls {
	struct run *run;
	struct agent_profiles *profiles;
	struct fiber *waiting; /* the run's */
	struct tool_call *calls;
	size_t count;
	size_t left;
	bool stop; /* one failed for good: the others are cancelled */
};

static bool
fails_run(const struct run *run, const struct value *body)
{
	const struct value *fault = value_get(body, "fault");

	return value_is(fault, VALUE_MAP) && (run->agent->spec->raise_tool_errors ||
						 value_get_bool(fault, "fatal", false));
}

/* --- one call ----------------------------------------------------------------------- */

/* Stores an outcome that others of the round still wait behind. The last one needs no
 * write of its own: the next commit has it, and until then the worker keeps it. */
static void
store_outcome(struct tool_call *call)
{
	struct run *run = call->round->run;
	enum store_status status;

	if (call->round->left == 1 || value_get(run->results, call->call.id) != NULL)
		return;
	/* Whoever finds it stored does not ask for it again: who stored it must know so,
	 * to acknowledge it. */
	fiber_shield(true);
	status = store_results(run->coordinator->store, call->arena, run->thread, run->id,
	    run->epoch, value_map(call->arena, call->call.id, call->body, NULL));
	fiber_shield(false);
	switch (status) {
	case STORE_OK:
		run->results_stored = true;
		caller_stored(run->coordinator->caller, call->call.id);
		break;
	case STORE_FENCED:
		/* The others of the round are the new owner's: not ours to cancel. */
		caller_disown(run->coordinator->caller, run->id);
		call->go = GO_DROP;
		break;
	default:
		break; /* the commit stores it */
	}
}

static void
run_one(void *arg)
{
	struct tool_call *call = arg;
	struct tool_calls *round = call->round;

	call->go = run_call(round->run, call->arena, &call->call, &call->body);
	if (call->go == GO_ON)
		store_outcome(call);
	if (call->go == GO_DROP ||
	    (call->go == GO_ON && fails_run(round->run, call->body)))
		round->stop = true;
	call->ended = true;
	call->fiber = NULL;
	round->left--;
	fiber_wake(round->waiting);
}

static void
stop_others(struct tool_calls *round)
{
	size_t i;

	for (i = 0; i < round->count; i++)
		if (!round->calls[i].ended && round->calls[i].fiber != NULL)
			fiber_cancel(round->calls[i].fiber);
}

/* Runs all calls; returns when every one has ended, cancelled or not. */
static enum go
run_all(struct tool_calls *round)
{
	struct run *run = round->run;
	bool stopped = false;
	size_t i;

	round->waiting = fiber_current();
	round->left = round->count;
	for (i = 0; i < round->count; i++) {
		struct tool_call *call = &round->calls[i];

		if (round->count > 1)
			call->fiber = fiber_start(
			    run->coordinator->loop, "tool call", run_one, call);
		if (call->fiber == NULL)
			run_one(call); /* alone, or no room for fibers */
	}
	while (round->left > 0) {
		if ((round->stop || fiber_cancelled()) && !stopped) {
			stopped = true;
			stop_others(round);
			fiber_shield(true);
		}
		fiber_wait();
	}
	if (stopped)
		fiber_shield(false);
	if (fiber_cancelled() || run_must_stop(run))
		return GO_DROP;
	return GO_ON;
}

/* --- the round ---------------------------------------------------------------------- */

static const struct value *
tool_request_body(struct run *run, struct arena *arena, const struct value *tool_call,
    const struct value *tool)
{
	return value_map(arena, "run", value_str(arena, run->id), "thread",
	    value_str(arena, run->thread), "tool_call", tool_call, "tool", tool, "state",
	    state_slice(run->state, arena, run->agent->spec->reads), "context",
	    run->context, NULL);
}

static void
prepare(struct tool_call *call, const struct value *tool_call)
{
	struct run *run = call->round->run;
	struct arena *arena = call->arena;
	const char *name = value_get_text(tool_call, "name");
	bool served;

	call->tool = value_get(call->round->profiles->tools, name);
	/* A worker's tool is meant when the agent lists it; one of the same name that a
	 * middleware brings is run by any tool worker. */
	served = value_contains(run->agent->spec->tools, name) &&
		 value_has(catalog_tools(run->coordinator->catalog), name);
	call->call = (struct run_call){
		.id = arena_printf(
		    arena, "%s.%" PRIu64 ".%zu", run->id, run->step, call->index),
		.service = served ? arena_printf(arena, SERVICE_TOOL_PREFIX "%s", name)
				  : SERVICE_TOOLS,
		.flags = value_get_bool(call->tool, "idempotent", true) ? 0 : WIRE_ONCE,
		.profile = call->round->profiles->tool,
		.request = tool_request_body(run, arena, tool_call, call->tool),
	};
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

static void
add_commands(struct run *run, struct step_result *result, const struct value *tool_call,
    const struct value *commands)
{
	struct arena *arena = run->scratch;
	const char *writer =
	    arena_printf(arena, "tools:%s", value_get_text(tool_call, "name"));
	size_t i;

	for (i = 0; i < value_size(commands); i++) {
		const struct value *command = value_at(commands, i);
		const char *go_to = value_get_text(command, "goto");

		value_list_add(&result->writers, value_str(arena, writer));
		value_list_add(&result->updates,
		    value_copy(arena, value_get(command, "update") != NULL
					  ? value_get(command, "update")
					  : value_empty_map()));
		if (go_to != NULL)
			result->go_to = arena_strdup(arena, go_to);
	}
}

/* The call's tool message says whether it succeeded. */
static bool
succeeded(const struct value *commands, const char *id)
{
	size_t i, j;

	for (i = 0; i < value_size(commands); i++) {
		const struct value *messages =
		    value_get(value_get(value_at(commands, i), "update"), "messages");

		for (j = 0; j < value_size(messages); j++) {
			const struct value *message = value_at(messages, j);

			if (value_text_is(value_get(message, "tool_call_id"), id))
				return !value_text_is(
				    value_get(message, "status"), "error");
		}
	}
	return false;
}

static enum go
collect_one(struct run *run, struct step_result *result, struct tool_call *call,
    const struct value *tool_call)
{
	const struct value *body = call->body, *commands = value_get(body, "commands");
	struct fault *fault = value_has(body, "fault") ? fault_from_value(run->scratch,
							     value_get(body, "fault"))
						       : NULL;

	if (fault != NULL && fault->control)
		return run_stopped_by(run, fault);
	if (fault != NULL && fails_run(run, body))
		return run_fail_with(run, fault);
	if (fault != NULL) {
		const struct value *command =
		    error_command(run->scratch, tool_call, fault);

		commands = value_array(run->scratch, &command, 1);
	}
	if (!value_get_bool(call->tool, "return_direct", false) ||
	    !succeeded(commands, value_get_text(tool_call, "id")))
		result->all_direct = false;
	add_commands(run, result, tool_call, commands);
	return GO_ON;
}

/* The next commit settles what was answered, be it the run's end. */
static void
note_answered(const struct tool_calls *round)
{
	struct run *run = round->run;
	size_t i;

	for (i = 0; i < round->count; i++)
		if (round->calls[i].body != NULL)
			value_list_add(&run->answered,
			    value_str(run->batch, round->calls[i].call.id));
}

/* Brings the outcomes in call order into the step's result. A failure counts before a
 * drop: the others were cancelled because of it. */
static enum go
collect(struct tool_calls *round, const struct value *pending, struct step_result *result)
{
	struct value_list notes = { .arena = round->run->scratch };
	enum go go = GO_ON, one;
	size_t i;

	for (i = 0; i < round->count; i++) {
		struct tool_call *call = &round->calls[i];

		if (call->go == GO_ON && call->body != NULL) {
			one = collect_one(round->run, result, call, value_at(pending, i));
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

static void
release(struct tool_calls *round)
{
	size_t i;

	for (i = 0; i < round->count; i++)
		arena_destroy(&round->calls[i].arena);
	agent_profiles_unref(&round->profiles);
}

enum go
run_tools_node(struct run *run, struct step_result *result)
{
	const struct value *pending =
	    graph_tool_calls(run->scratch, run->agent->spec, state_messages(run->state));
	struct tool_calls round = { .run = run, .count = value_size(pending) };
	enum go go;
	size_t i;

	run->step--;
	go = run_commit(run);
	run->step++;
	if (go != GO_ON)
		return go;
	round.profiles = agent_profiles(run->agent, run->coordinator->catalog);
	round.calls = arena_alloc(run->scratch, (round.count + 1) * sizeof *round.calls);
	for (i = 0; i < round.count; i++) {
		round.calls[i].round = &round;
		round.calls[i].arena = arena_new();
		round.calls[i].index = i;
		prepare(&round.calls[i], value_at(pending, i));
	}
	go = run_all(&round);
	note_answered(&round);
	result->all_direct = round.count > 0;
	if (go == GO_ON || round.stop)
		go = collect(&round, pending, result);
	if (round.count > 0)
		run->dirty = true;
	release(&round);
	return go;
}
