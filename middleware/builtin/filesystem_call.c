/* A call of a tool of filesystem: its path, whether it may run, its answer. */
#include "filesystem_call.h"

#include "human_in_the_loop.h"

/* --- a call ----------------------------------------------------------------------------- */

/* An answer, with what the call has changed in the state. */
struct tool_result *
call_answer_with(struct call *call, const struct value *content, const char *status)
{
	struct arena *arena = call->arena;
	const struct value *message = chat_tool(
	    arena, "", tool_call_id(call->request), tool_name(call->request), status);

	message = value_map_with(arena, message, "content", content);
	return tool_command(
	    call->request, value_map(arena, "messages", value_array(arena, &message, 1),
			       BACKEND_FILES, call->backend.update, NULL));
}

struct tool_result *
call_answer(struct call *call, const char *text)
{
	return call_answer_with(call, value_str(call->arena, text), "success");
}

struct tool_result *
call_refuse(struct call *call, const char *error)
{
	return call_answer_with(
	    call, value_printf(call->arena, "Error: %s", error), "error");
}

/* What a call whose operation ended so answers. */
struct tool_result *
call_answer_end(struct call *call, enum backend_end end, const char *text)
{
	if (end == BACKEND_CANCELLED)
		return tool_fail(call->request, fault_cancelled(call->arena));
	return end == BACKEND_DONE ? call_answer(call, text)
				   : call_refuse(call, call->backend.error);
}

/* --- permissions ------------------------------------------------------------------------ */

/* The question of human_in_the_loop for this call, which may be approved or rejected. */
static struct hitl_call
question_of(struct call *call)
{
	const struct value *both[] = { VALUE_TEXT("approve"), VALUE_TEXT("reject") };
	const struct value *policy = value_map(
	    call->arena, "allowed_decisions", value_array(call->arena, both, 2), NULL);
	const char *name = tool_name(call->request);

	return (struct hitl_call){ .arena = call->arena,
		.settings = value_map(call->arena, "interrupt_on",
		    value_map_with(call->arena, NULL, name, policy), "description_prefix",
		    VALUE_TEXT("This call of a tool is for a path that waits for your "
			       "decision"),
		    NULL),
		.context = tool_context(call->request),
		.name = name,
		.args = call->args };
}

/* {decisions: [one]}, as the batched question of human_in_the_loop is answered. */
static const struct value *
schema_of(struct call *call, const struct hitl_call *question)
{
	struct arena *arena = call->arena;
	const struct value *one = value_int(arena, 1), *name = VALUE_TEXT("decisions");
	const struct value *list = value_map(arena, "type", VALUE_TEXT("array"),
	    "minItems", one, "maxItems", one, "items",
	    hitl_response_schema(question, tool_definition(call->request)), NULL);

	return value_map(arena, "type", VALUE_TEXT("object"), "properties",
	    value_map(arena, "decisions", list, NULL), "required",
	    value_array(arena, &name, 1), NULL);
}

static const struct value *
ask_human(struct call *call, const struct hitl_call *question)
{
	struct arena *arena = call->arena;
	const struct value *name = value_str(arena, question->name);
	const struct value *id = value_str(arena, tool_call_id(call->request));
	const struct value *action =
	    value_map(arena, "name", name, "args", question->args, "description",
		value_str(arena, hitl_description(question)), NULL);
	const struct value *review =
	    value_map(arena, "action_name", name, "allowed_decisions",
		hitl_allowed(arena, question->settings, question->name), NULL);

	return tool_interrupt_about(call->request,
	    value_map(arena, "action_requests", value_array(arena, &action, 1),
		"review_configs", value_array(arena, &review, 1), NULL),
	    value_map(arena, "tool_call_ids", value_array(arena, &id, 1),
		"response_schema", schema_of(call, question), NULL));
}

/* Whether a human lets the call run. */
static bool
is_approved(struct call *call)
{
	struct hitl_call question = question_of(call);
	const struct value *decision, *given = ask_human(call, &question);
	const char *status, *text;

	if (given == NULL)
		return false; /* it waits */
	decision = value_at(value_get(given, "decisions"), 0);
	if (value_text_is(value_get(decision, "type"), "approve"))
		return true;
	text = hitl_answer(&question, tool_call_id(call->request), decision, &status);
	call->result = call_answer_with(call, value_str(call->arena, text), status);
	return false;
}

bool
call_is_permitted(struct call *call, bool writes, bool has_more)
{
	enum filesystem_access access =
	    filesystem_access(call->rules, writes, call->path);

	if (access == FILESYSTEM_DENY) {
		call->result = call_refuse(
		    call, arena_printf(call->arena, "permission denied for %s on %s",
			      writes ? "write" : "read", call->path));
		return false;
	}
	if (access == FILESYSTEM_INTERRUPT ||
	    (has_more && filesystem_asks_beneath(call->rules, writes, call->path)))
		return is_approved(call);
	return true;
}

/* --- the begin of a call ---------------------------------------------------------------- */

void
call_open(struct call *call, struct tool_request *request)
{
	*call = (struct call){ .request = request,
		.arena = tool_arena(request),
		.args = tool_args(request),
		.settings = tool_settings_of(request) };
	call->rules = filesystem_rules_of(call->arena, call->settings);
	backend_of_tool(&call->backend, request);
}

/* Takes the path of the argument. False: call->result is the answer (NULL: it waits for a human). */
bool
call_take_path(struct call *call, struct tool_request *request, const char *argument)
{
	const char *given, *error;

	call_open(call, request);
	given = value_get_text(call->args, argument);
	call->path = backend_path(call->arena, given == NULL ? "/" : given, &error);
	if (call->path == NULL)
		call->result = call_refuse(call, error);
	return call->path != NULL;
}

bool
call_begin(struct call *call, struct tool_request *request, bool writes)
{
	return call_take_path(call, request, "file_path") &&
	       call_is_permitted(call, writes, false);
}

bool
call_begin_search(struct call *call, struct tool_request *request)
{
	return call_take_path(call, request, "path") &&
	       call_is_permitted(call, false, true);
}
