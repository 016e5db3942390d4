/* run_pins: what a run has in the memory of one tool worker, as the shell of a shell_tool.
 *
 * The run's state names the worker: a field, a map with its `worker` (struct tool, pin). Calls go to
 * that worker's own service (SERVICE_WORKER_PREFIX); when it is gone they end as WORKER_LOST. Nobody
 * else may take them, for what they are about is gone, too: the model is told, and the state. */
#include "run.h"

#include <inttypes.h>
#include <string.h>

#include "bodies.h"
#include "chain.h"

#define RELEASE_MS 3000u /* who is gone or slow ends what it holds by itself, later */

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

const struct value *
run_pin_lost(
    struct arena *arena, const struct value *tool, const struct value **message_p)
{
	const char *field = value_get_text(tool, "pin");
	const char *lost = value_get_text(tool, "lost");

	if (field == NULL)
		return value_empty_map();
	if (lost != NULL)
		*message_p = value_map_with(arena, *message_p, "content",
		    value_str(arena, arena_printf(arena, "%s\n%s",
					 chat_text(arena, *message_p), lost)));
	return value_map(arena, field,
	    value_map(arena, "worker", value_nil(), "lost", value_bool(true), NULL),
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
	    value_str(arena, run->thread), "tool_call", call, "internal",
	    value_str(arena, use->name), "state",
	    state_slice(run->state, arena, run->agent->spec->reads), "context",
	    run->context, NULL);
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
		return NULL;
	profiles = agent_profiles(run->agent, run->coordinator->catalog);
	call = (struct run_call){
		.id = arena_printf(
		    arena, "%s.%" PRIu64 ".h%u", run->id, run->step, run->hook_calls++),
		.service = tool->pin == NULL ? SERVICE_TOOLS
					     : run_pin_service(run, arena, tool->pin),
		.is_tool = true,
		.flags = WIRE_INTERNAL,
		.profile = profiles->tool,
		.request = request_body(run, arena, turn->use, tool, args),
	};
	go = run_call(run, arena, &call, &body);
	agent_profiles_unref(&profiles);
	if (go != GO_ON || !run_keep_answer(run, arena, call.id, body))
		return NULL;
	return body;
}

/* --- when the run has ended --------------------------------------------------------- */

static void
release(struct run *run, const struct middleware_use *use, const struct tool *tool)
{
	struct arena *arena = run->batch;
	const struct value *args = value_map(arena, "ended", value_bool(true), NULL);
	struct agent_profiles *profiles =
	    agent_profiles(run->agent, run->coordinator->catalog);
	const struct call_request request = {
		.id = arena_printf(arena, "%s.end.%s", run->id, use->name),
		.run = run->id,
		.service = run_pin_service(run, arena, tool->pin),
		.step = run->step,
		.epoch = run->epoch,
		.deadline_ms = RELEASE_MS,
		.priority = run->priority,
		.tenant = run->tenant,
		.flags = WIRE_INTERNAL,
		.profile = profiles->tool,
		.request = request_body(run, arena, use, tool, args),
	};
	struct call_outcome outcome;

	if (caller_call(run->coordinator->caller, arena, &request, &outcome) == 0)
		caller_stored(run->coordinator->caller, request.id);
	agent_profiles_unref(&profiles);
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
			if (tools[j]->releases && worker_of(run, tools[j]->pin) != NULL)
				release(run, use, tools[j]);
	}
}
