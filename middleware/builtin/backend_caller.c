/* Whoever uses a backend: a node hook, a tool, a model's wrap. */
#include "backend_part.h"

static void
open_for(struct backend *backend, struct arena *arena, const struct value *settings,
    const struct value *files)
{
	*backend = (struct backend){ .arena = arena,
		.error = "",
		.setting = value_get(settings, "backend"),
		.state = value_is(files, VALUE_MAP) ? files : NULL };
}

/* --- a node hook ------------------------------------------------------------------------ */

static const struct value *
store_of_turn(void *arg, const struct value *op)
{
	return turn_store(arg, op);
}

static const struct value *
folder_of_turn(
    struct backend *backend, const struct backend_part *part, const struct value *op)
{
	struct arena *arena = backend->arena;
	const struct value *body, *message, *fault;

	if (backend->tool == NULL)
		return backend_refusal(
		    arena, "this middleware does not reach a folder from its hooks");
	body = turn_call_tool(backend->arg, backend->tool,
	    value_map(arena, "route", value_str(arena, part->route), "op", op, NULL));
	if (body == NULL)
		return NULL;
	fault = value_get(body, "fault");
	if (fault != NULL)
		return backend_refusal(arena, "no tool worker could do it: %s",
		    fault_from_value(arena, fault)->message);
	message = value_at(
	    value_get(value_get(value_at(value_get(body, "commands"), 0), "update"),
		"messages"),
	    0);
	if (!value_is(value_get(message, "artifact"), VALUE_MAP))
		return backend_refusal(arena, "a tool worker gave no answer");
	return value_get(message, "artifact");
}

void
backend_of_turn(struct backend *backend, struct turn *turn, const char *tool)
{
	static const struct backend_caller caller = { store_of_turn, folder_of_turn };

	open_for(backend, turn_arena(turn), turn_settings(turn),
	    turn_get(turn, BACKEND_FILES));
	backend->context = turn_context(turn);
	backend->thread = turn_thread(turn);
	backend->agent = turn_agent(turn);
	backend->tenant = turn_tenant(turn);
	backend->caller = &caller;
	backend->arg = turn;
	backend->tool = tool;
}

/* --- a tool ----------------------------------------------------------------------------- */

static const struct value *
store_of_tool(void *arg, const struct value *op)
{
	return tool_store(arg, op);
}

void
backend_of_tool(struct backend *backend, struct tool_request *request)
{
	backend_of_tool_field(backend, request, BACKEND_FILES);
}

void
backend_of_tool_field(
    struct backend *backend, struct tool_request *request, const char *field)
{
	static const struct backend_caller caller = { store_of_tool, backend_folder_do };

	open_for(backend, tool_arena(request), tool_settings_of(request),
	    tool_state(request, field));
	backend->context = tool_context(request);
	backend->thread = tool_thread(request);
	backend->agent = tool_agent(request);
	backend->tenant = tool_tenant(request);
	backend->caller = &caller;
	backend->arg = request;
}

/* What a tool worker is asked is as its own coordinator says, but a path leads nowhere even so. */
struct tool_result *
backend_run_tool(struct tool_request *request)
{
	struct arena *arena = tool_arena(request);
	const struct value *args = tool_args(request), *op = value_get(args, "op");
	const char *route = value_get_text(args, "route"), *error, *path;
	const struct value *answer, *message;
	struct backend_part part;
	struct backend backend;

	backend_of_tool(&backend, request);
	path = value_get_text(op, "path") == NULL
		   ? NULL
		   : backend_path(arena, value_get_text(op, "path"), &error);
	if (path == NULL || route == NULL || value_get_text(op, "op") == NULL ||
	    value_text_is(value_get(op, "op"), "execute") ||
	    !backend_part_at(backend.setting, route, &part))
		return tool_fail(
		    request, fault_new(arena, "ValueError", "no operation on files"));
	answer = backend_folder_do(
	    &backend, &part, value_map_with(arena, op, "path", value_str(arena, path)));
	if (answer == NULL)
		return tool_fail(request, fault_cancelled(arena));
	message = value_map_with(arena,
	    chat_tool(arena, "", tool_call_id(request), tool_name(request), "success"),
	    "artifact", answer);
	return tool_command(
	    request, value_map(arena, "messages", value_array(arena, &message, 1), NULL));
}
