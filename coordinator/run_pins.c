/* run_pins: what a run has in the memory of one tool worker, as the shell of a shell_tool.
 *
 * The run's state names the worker: a field, a map with its `worker` (struct tool, pin). Calls go to
 * that worker's own service (SERVICE_WORKER_PREFIX); when it is gone they end as WORKER_LOST. Nobody
 * else may take them, for what they are about is gone, too: the model is told, and the state.
 *
 * One that a broker has lost sight of may live all the same. So what was lost stays in the map, as
 * `left`, and is told at the run's end with the rest. */
#include "run.h"

#include <string.h>

#include "bodies.h"
#include "chain.h"

#define RELEASE_MS 3000u /* who is gone or slow ends what it holds by itself, later */
#define LEFT_MS 1000u    /* the same, of one that was lost before: it hardly comes */
#define LEFT_MAX 4u      /* the last so many of them */

static const char *
worker_of(struct run *run, const char *field)
{
	return value_get_text(state_field(run->state, field), "worker");
}

const char *
run_pin_service(struct run *run, struct arena *arena, const char *field)
{
	const char *worker = worker_of(run, field);

	return worker == NULL ? SERVICE_TOOLS
			      : arena_printf(arena, SERVICE_WORKER_PREFIX "%s", worker);
}

/* What `left` becomes: all of a round that are lost say the same. */
static const struct value *
left_with(struct arena *arena, const struct value *held)
{
	const struct value *before = value_get(held, "left");
	size_t count = value_size(before), i;
	struct value_list left = { .arena = arena };

	for (i = count < LEFT_MAX ? 0 : count - LEFT_MAX + 1; i < count; i++)
		value_list_add(&left, value_at(before, i));
	value_list_add(&left, value_map_with(arena, held, "left", value_nil()));
	return value_list_end(&left);
}

const struct value *
run_pin_lost(struct run *run, struct arena *arena, const struct value *tool,
    const struct value **message_p)
{
	const char *field = value_get_text(tool, "pin");
	const char *lost = value_get_text(tool, "lost");
	const struct value *held;

	if (field == NULL)
		return value_empty_map();
	if (lost != NULL)
		*message_p = value_map_with(arena, *message_p, "content",
		    value_str(arena, arena_printf(arena, "%s\n%s",
					 chat_text(arena, *message_p), lost)));
	held = state_field(run->state, field);
	return value_map(arena, field,
	    value_map(arena, "worker", value_nil(), "lost", value_bool(true), "left",
		value_get_text(held, "worker") == NULL ? NULL : left_with(arena, held),
		NULL),
	    NULL);
}

/* --- for hooks ---------------------------------------------------------------------- */

static const struct value *
request_body(struct run *run, struct arena *arena, const struct middleware_use *use,
    const struct tool *tool, const struct value *args)
{
	const struct value *call =
	    value_map(arena, "name", value_str(arena, tool->name), "args", args, "id",
		value_str(arena, run->id), "type", value_str(arena, "tool_call"), NULL);

	return value_map(arena, "run", value_str(arena, run->id), "thread",
	    value_str(arena, run->thread), "tenant", run_tenant(run, arena), "tool_call",
	    call, "internal", value_str(arena, use->name), "state",
	    state_slice(run->state, arena, run->agent->spec->tool_reads), "context",
	    run->context, NULL);
}

/* Of what its tools say: an internal one says nothing itself. */
static uint64_t
deadline_of(const struct run *run, const struct middleware_use *use)
{
	uint64_t longest_ms = 0, own_ms;
	size_t i;

	for (i = 0; i < value_size(use->tools); i++) {
		own_ms = run_tool_deadline(run, value_at(use->tools, i));
		longest_ms = own_ms > longest_ms ? own_ms : longest_ms;
	}
	return longest_ms;
}

const struct value *
run_pin_call(struct turn *turn, const struct tool *tool, const struct value *args)
{
	struct run *run = turn->arg;
	struct arena *arena = run->scratch;
	struct agent_profiles *profiles;
	const struct value *body;
	struct run_call call;
	enum go go;

	run->step--; /* the head names the step before this one */
	go = run_commit(run);
	run->step++;
	if (go != GO_ON)
		return run_drop_hook(run);
	profiles = agent_profiles(run->agent, run->coordinator->catalog);
	call = (struct run_call){
		.id = run_call_id(run, arena, "h%u", run->hook_calls++),
		.service = tool->pin == NULL ? SERVICE_TOOLS
					     : run_pin_service(run, arena, tool->pin),
		.is_tool = true,
		.flags = WIRE_INTERNAL,
		.deadline_ms = deadline_of(run, turn->use),
		.profile = profiles->tool,
		.request = request_body(run, arena, turn->use, tool, args),
	};
	go = run_call(run, arena, &call, &body);
	agent_profiles_unref(&profiles);
	if (go != GO_ON || !run_keep_answer(run, arena, call.id, body))
		return run_drop_hook(run);
	return body;
}

/* --- when the run has ended --------------------------------------------------------- */

/* Tells the worker of held, which is what the tool's field is or was. number: of several. */
static void
release(struct run *run, const struct middleware_use *use, const struct tool *tool,
    const struct value *held, size_t number)
{
	struct arena *arena = run->batch;
	const struct value *body = request_body(
	    run, arena, use, tool, value_map(arena, "ended", value_bool(true), NULL));
	struct agent_profiles *profiles =
	    agent_profiles(run->agent, run->coordinator->catalog);
	const struct call_request request = {
		.id = arena_printf(arena, "%s.end%zu%s.%s", run->id, number,
		    again_mark(arena, run_record_text(run, "again")), use->name),
		.run = run->id,
		.service = arena_printf(
		    arena, SERVICE_WORKER_PREFIX "%s", value_get_text(held, "worker")),
		.step = run->step,
		.epoch = run->epoch,
		.deadline_ms = number == 0 ? RELEASE_MS : LEFT_MS,
		.priority = run->priority,
		.tenant = run->tenant,
		.flags = WIRE_INTERNAL,
		.profile = profiles->tool,
		.request = value_map_with(arena, body, "state",
		    value_map_with(arena, value_get(body, "state"), tool->pin, held)),
	};
	struct call_outcome outcome;

	if (caller_call(run->coordinator->caller, arena, &request, &outcome) == 0)
		caller_stored(run->coordinator->caller, request.id);
	agent_profiles_unref(&profiles);
}

static void
release_all(struct run *run, const struct middleware_use *use, const struct tool *tool)
{
	const struct value *held =
	    value_copy(run->batch, state_field(run->state, tool->pin));
	const struct value *left = value_get(held, "left");
	size_t i;

	if (value_get_text(held, "worker") != NULL)
		release(run, use, tool, held, 0);
	for (i = 0; i < value_size(left); i++)
		if (value_get_text(value_at(left, i), "worker") != NULL)
			release(run, use, tool, value_at(left, i), i + 1);
}

void
run_pins_release(struct run *run)
{
	const struct spec *spec = run->agent->spec;
	size_t i, j;

	for (i = 0; i < spec->use_count; i++) {
		const struct middleware_use *use = spec->uses[i];
		const struct tool *const *tools = use->type->tools;

		for (j = 0; tools != NULL && tools[j] != NULL; j++)
			if (tools[j]->releases)
				release_all(run, use, tools[j]);
	}
}
