/* What a coordinator makes of what workers answer: an agent with the middleware that asks and counts
 * runs, and each line of the input, JSON, is the RESULT of its next call; a number instead is the code
 * of a call that no worker has answered. Whatever it says, the run goes on, pauses or ends with a
 * reason; and what the state has become can be packed, and read by who gets it in a call. */
#include <stdlib.h>
#include <string.h>

#include "../../coordinator/run.h"
#include "../../coordinator/tally.h"
#include "bodies.h"
#include "bounds.h"
#include "json.h"
#include "utf8.h"
#include "yaml_file.h"

#define STEPS_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_caller_call(struct caller *caller, struct arena *arena,
    const struct call_request *request, struct call_outcome *outcome_r);
void __wrap_caller_stored(struct caller *caller, const char *id);
void __wrap_caller_disown(struct caller *caller, const char *run);
enum go __wrap_run_commit(struct run *run);
enum go __wrap_run_commit_end(
    struct run *run, const char *status, const struct value *interrupts);
enum store_status __wrap_run_store(
    struct run *run, struct arena *arena, const struct value *outcomes);
enum go __wrap_run_stopped_by(struct run *run, const struct fault *fault);
struct fiber *__wrap_fiber_start(
    struct loop *loop, const char *name, void (*run)(void *arg), void *arg);
void __wrap_fiber_wake(struct fiber *fiber);

static const char agent_text[] =
    "name: clerk\n"
    "model: liar:m\n"
    "tools: [calculate, weather]\n"
    "debug: true\n"
    "state: {seen: {type: integer, reducer: add}, bag: {reducer: append}, any: {}, "
    "map: {reducer: merge}}\n"
    "middleware:\n"
    "  - shell_tool\n"
    "  - human_in_the_loop: {interrupt_on: {weather: true}}\n"
    "  - model_call_limit: {run_limit: 100}\n"
    "  - token_budget: {run_limit: {total_tokens: 1000}}\n"
    "  - tool_call_limit: {run_limit: 100}\n"
    "  - summarization: {model: liar:helper, trigger: [messages, 5]}\n"
    "  - context_editing\n"
    "  - pii: {pii_type: email, apply_to_output: true, apply_to_tool_results: true}\n"
    "  - openai_moderation: {check_input: false, check_output: true}\n"
    "  - todo_list\n"
    "  - lua:\n"
    "      name: own\n"
    "      code: |\n"
    "        function after_model(state) return {any = state.any, seen = 1} end\n"
    "response_format:\n"
    "  schema: {title: Contact, type: object, properties: {a: {type: integer}}}\n";

static struct coordinator coordinator;
static struct agent agent;
static const char *at, *end; /* what is still to be answered */

static void
require(bool fact)
{
	if (!fact)
		abort();
}

/* --- what others read --------------------------------------------------------------------- */

static void
check_readable(struct arena *arena, const struct value *value)
{
	struct packet packet = { 0 };
	const struct value *read;
	const char *error;

	value_pack(&packet, value);
	require(value_unpack(arena, packet.data, packet.size, &read, &error) == 0);
	packet_release(&packet);
}

/* --- in the place of others ------------------------------------------------------------- */

int
__wrap_caller_call(struct caller *caller, struct arena *arena,
    const struct call_request *request, struct call_outcome *outcome_r)
{
	const char *line = at, *error = NULL;
	size_t size;

	(void)caller;
	check_readable(arena, request->request);
	at = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
	size = (size_t)((at != NULL ? at : end) - line);
	at = at != NULL ? at + 1 : end;
	*outcome_r =
	    (struct call_outcome){ .body = json_parse(arena, line, size, &error) };
	if (value_is(outcome_r->body, VALUE_INT) && outcome_r->body->integer > 0)
		*outcome_r = (struct call_outcome){ .code = (enum wire_code)(
							outcome_r->body->integer % 15) };
	if (outcome_r->code == CODE_OK)
		error = bodies_answer(arena, &outcome_r->body);
	if (error != NULL)
		*outcome_r =
		    (struct call_outcome){ .code = CODE_MALFORMED, .reason = error };
	return 0;
}

void
__wrap_caller_stored(struct caller *caller, const char *id)
{
	(void)caller;
	(void)id;
}

void
__wrap_caller_disown(struct caller *caller, const char *run)
{
	(void)caller;
	(void)run;
}

enum go
__wrap_run_commit(struct run *run)
{
	(void)run;
	return GO_ON;
}

enum go
__wrap_run_commit_end(struct run *run, const char *status, const struct value *interrupts)
{
	(void)run;
	require(strcmp(status, "interrupted") == 0 && value_size(interrupts) > 0);
	return GO_END;
}

enum store_status
__wrap_run_store(struct run *run, struct arena *arena, const struct value *outcomes)
{
	(void)run;
	(void)arena;
	(void)outcomes;
	return STORE_OK;
}

/* Redis says that nobody has cancelled it: the worker has said so by itself. */
enum go
__wrap_run_stopped_by(struct run *run, const struct fault *fault)
{
	return run_fail_with(run, fault);
}

/* There is no room for fibers: calls of a round are made one behind the other. */
struct fiber *
__wrap_fiber_start(struct loop *loop, const char *name, void (*run)(void *arg), void *arg)
{
	(void)loop;
	(void)name;
	(void)run;
	(void)arg;
	return NULL;
}

void
__wrap_fiber_wake(struct fiber *fiber)
{
	(void)fiber;
}

static void
check_state(struct run *run)
{
	struct arena *arena = arena_new();
	struct state_changes changes;
	size_t i;

	state_changes(run->state, arena, &changes);
	check_readable(arena, value_map(arena, "head", changes.fields, NULL));
	check_readable(arena,
	    value_map(arena, "state",
		value_map(arena, "messages", state_messages(run->state), NULL), NULL));
	check_readable(arena, state_fields(run->state, arena));
	for (i = 0; i < run->events.count; i++)
		check_readable(arena, run->events.items[i]);
	if (run->round != NULL) /* what a failure has left of it, too */
		check_readable(arena, value_map(arena, "head", run->round, NULL));
	state_digest(run->state, (uint8_t[DIGEST_BYTES]){ 0 });
	state_committed(run->state);
	arena_destroy(&arena);
}

/* --- the run -------------------------------------------------------------------------------- */

/* As coordinator/run.c applies and routes a step. */
static enum go
settle(struct run *run, struct step_result *result)
{
	struct state_write *writes =
	    arena_alloc(run->scratch, (result->updates.count + 1) * sizeof *writes);
	struct step_outcome outcome = { .all_direct = result->all_direct,
		.jump = result->jump };
	const char *error = NULL;
	long next;
	size_t i;

	for (i = 0; i < result->updates.count; i++)
		writes[i] = (struct state_write){ value_text(result->writers.items[i]),
			result->updates.items[i] };
	if (graph_check_jump(run->scratch, agent.graph, run->at, result->jump, &error) ==
		-1 ||
	    state_apply(
		run->state, run->scratch, writes, result->updates.count, &error) == -1)
		return run_fail(run, "InvalidUpdateError", "%s", error);
	outcome.messages = state_messages(run->state);
	outcome.has_structured_response =
	    state_field(run->state, "structured_response") != NULL;
	next = result->go_to != NULL ? graph_find(agent.graph, result->go_to)
				     : graph_next(run->scratch, agent.graph, agent.spec,
					   run->at, &outcome, &error);
	require(next >= 0 && (size_t)next < agent.graph->count);
	run->at = (size_t)next;
	return GO_ON;
}

static enum go
step(struct run *run)
{
	struct step_result result = { .writers = { .arena = run->scratch },
		.updates = { .arena = run->scratch } };
	enum go go;

	run->step++;
	run->hook_calls = 0;
	run->used = (struct value_list){ .arena = run->scratch };
	state_step(run->state, arena_printf(run->scratch, "r-%u", (unsigned)run->step));
	if (run_node(run)->kind == NODE_HOOK)
		go = run_hook_node(run, &result);
	else if (run_node(run)->kind == NODE_MODEL)
		go = run_model_node(run, &result);
	else
		go = run_tools_node(run, &result);
	if (go != GO_ON)
		return go;
	run_count_used(run, &result);
	run_event(run, "step",
	    value_map(run->batch, "notes", value_copy(run->batch, result.notes), NULL));
	return settle(run, &result);
}

static void
advance(struct run *run)
{
	enum go go = GO_ON;
	unsigned steps;

	for (steps = 0; go == GO_ON && steps < STEPS_MAX; steps++) {
		if (run_node(run)->kind == NODE_END)
			return;
		run->scratch = arena_new();
		go = step(run);
		if (go == GO_FAIL)
			require(
			    run->fault != NULL && run->fault->type[0] != '\0' &&
			    utf8_valid(run->fault->message, strlen(run->fault->message)));
		run_round_end(run, go == GO_FAIL);
		check_state(run);
		arena_destroy(&run->scratch);
		state_compact(run->state);
	}
}

/* --- the agent -------------------------------------------------------------------------------- */

static void
start(void)
{
	static struct coordinator_settings settings = { .call_deadline_ms = 60000 };
	const char *path = NULL, *error = NULL;
	struct yaml *yaml;

	agent.arena = arena_new();
	yaml =
	    yaml_parse(agent.arena, "agent", agent_text, sizeof agent_text - 1, &error);
	require(yaml != NULL);
	agent.spec = spec_load(agent.arena, yaml_root(yaml, 0), "version", &path, &error);
	yaml_destroy(&yaml);
	require(agent.spec != NULL);
	agent.graph = graph_compile(agent.arena, agent.spec, &path, &error);
	require(agent.graph != NULL);
	coordinator.settings = &settings;
	coordinator.loop = loop_new();
	coordinator.catalog = catalog_new(coordinator.loop, NULL);
	coordinator.tally = tally_new(coordinator.loop, NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new(), *batch = arena_new();
	struct run run = { .coordinator = &coordinator,
		.thread = arena_strdup(arena, "t"),
		.arena = arena,
		.id = "r",
		.owned_ms = UINT64_MAX / 2,
		.batch = batch,
		.events = { .arena = batch },
		.sent = { .arena = batch },
		.answered = { .arena = batch },
		.agent = &agent };
	const struct value *input = value_map(
	    arena, "messages", value_str(arena, "Hello, ann@example.org"), NULL);
	const char *error;

	if (agent.spec == NULL)
		start();
	at = arena_copy(arena, data, size);
	end = at + size;
	run.at = agent.graph->entry;
	run.state = state_new(agent.spec);
	require(state_begin(run.state, arena, "r-0", input, &error) == 0);
	advance(&run);
	state_destroy(&run.state);
	arena_destroy(&batch);
	arena_destroy(&arena);
	return 0;
}
