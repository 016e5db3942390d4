/* human_in_the_loop: calls of tools that a human decides (semantics.md 6.1, 13.14).
 *
 * batched: after_model asks for all calls of a message at once. What was rejected or responded to is
 * answered there; what was edited is rewritten in the message, or, with edit_notice, kept beside it
 * (edited_call.h) and swapped by wrap_tool_call, which tells the model. per_call: wrap_tool_call asks
 * for each call alone. */
#include "human_in_the_loop.h"

#include <string.h>

#include "edited_call.h"

#define PER_CALL "per_call"

static const char *const modes[] = { "batched", PER_CALL, NULL };

static const struct option options[] = {
	{ .name = "interrupt_on",
	    .type = OPTION_MAP,
	    .required = true,
	    .text = "The tools whose calls a human decides: true (all four decisions), "
		    "false (none), or a policy." },
	{ .name = "description_prefix",
	    .type = OPTION_TEXT,
	    .otherwise = "\"This call of a tool waits for your decision\"",
	    .text = "What a description begins with, where the policy has none." },
	{ .name = "edit_notice",
	    .type = OPTION_TEXT,
	    .nullable = true,
	    .text =
		"What the model is told of an edit, in front of the result, while its "
		"call stays as it made it; null: nothing. Without it: `batched` "
		"rewrites the call itself, `per_call` has a text of its own." },
	{ .name = "interrupt_mode",
	    .type = OPTION_TEXT,
	    .otherwise = "\"batched\"",
	    .choices = modes,
	    .text = "One question for all calls of a message, or one for each." },
	{ 0 },
};

static const struct field fields[] = {
	{ .name = EDITED_CALLS,
	    .type = "object",
	    .reducer = REDUCE_LAST,
	    .omit_from_input = true,
	    .omit_from_output = true },
	{ 0 },
};

static bool
is_per_call(const struct value *settings)
{
	return value_text_is(value_get(settings, "interrupt_mode"), PER_CALL);
}

/* The call stays as the model made it. */
static bool
keeps_calls(const struct value *settings)
{
	return value_has(settings, "edit_notice");
}

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	bool per_call = is_per_call(use->settings), keeps = keeps_calls(use->settings);
	const struct value *field = value_str(arena, EDITED_CALLS);

	*error_r = hitl_flaw_of_policies(arena, use->settings);
	use->hooks[HOOK_AFTER_MODEL] = !per_call;
	use->hooks[HOOK_WRAP_TOOL_CALL] = per_call || keeps;
	if (per_call || !keeps)
		use->field_count = 0;
	else
		use->reads = value_array(arena, &field, 1);
	if (per_call && *error_r == NULL)
		use->tool_reads = hitl_reads(arena, use->settings);
	return *error_r == NULL ? 0 : -1;
}

/* --- batched: the question ---------------------------------------------------------- */

/* The calls that a human decides, in their order. */
struct batch {
	struct turn *turn;
	const struct value *calls; /* [tool call] */
	const struct value *decisions;
};

static struct hitl_call
call_of(const struct batch *batch, const struct value *tool_call)
{
	return (struct hitl_call){
		.arena = turn_arena(batch->turn),
		.settings = turn_settings(batch->turn),
		.context = turn_context(batch->turn),
		.state = turn_state(batch->turn),
		.name = value_get_text(tool_call, "name"),
		.args = value_get(tool_call, "args"),
	};
}

/* Those that the answer is about, where there is one: whatever `when` says of them by now, a human has decided them. */
static const struct value *
select_calls(const struct batch *batch)
{
	struct arena *arena = turn_arena(batch->turn);
	const struct value *pending =
	    chat_pending_calls(arena, turn_messages(batch->turn));
	const struct value *decided = turn_answered_calls(batch->turn);
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(pending); i++) {
		struct hitl_call call = call_of(batch, pending->items[i]);
		const char *id = value_get_text(pending->items[i], "id"), *failed = NULL;

		if (decided != NULL && id != NULL ? !value_contains(decided, id)
						  : !hitl_wants(&call, &failed))
			continue;
		if (failed != NULL)
			turn_note(batch->turn,
			    "%s: `when` failed, so a human is asked: %s", call.name,
			    failed);
		value_list_add(&list, pending->items[i]);
	}
	return value_list_end(&list);
}

static const struct value *
ask(const struct batch *batch)
{
	struct arena *arena = turn_arena(batch->turn);
	struct value_list requests = { .arena = arena }, configs = { .arena = arena },
			  ids = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(batch->calls); i++) {
		const struct value *tool_call = value_at(batch->calls, i);
		struct hitl_call call = call_of(batch, tool_call);

		value_list_add(
		    &requests, value_map(arena, "name", value_str(arena, call.name),
				   "args", call.args, "description",
				   value_str(arena, hitl_description(&call)), NULL));
		value_list_add(
		    &configs, value_map(arena, "action_name", value_str(arena, call.name),
				  "allowed_decisions",
				  hitl_allowed(arena, call.settings, call.name), NULL));
		value_list_add(&ids, value_get(tool_call, "id"));
	}
	return turn_interrupt_about(batch->turn,
	    value_map(arena, "action_requests", value_list_end(&requests),
		"review_configs", value_list_end(&configs), NULL),
	    value_map(arena, "tool_call_ids", value_list_end(&ids), NULL));
}

/* --- batched: the answer ------------------------------------------------------------ */

static bool
is_edit(const struct value *decision)
{
	return value_text_is(value_get(decision, "type"), "edit");
}

/* Whether answer decides all calls; else the turn has failed, and the question waits on. */
static bool
take_decisions(struct batch *batch, const struct value *answer)
{
	const struct value *tools = value_get(turn_call_profile(batch->turn), "tools");
	size_t count = value_size(batch->calls), i;

	batch->decisions = value_get(answer, "decisions");
	if (!value_is(batch->decisions, VALUE_ARRAY)) {
		turn_fail(batch->turn, "ValueError",
		    "the answer must be {\"decisions\": [...]}, with a decision for each "
		    "of the %zu actions",
		    count);
		return false;
	}
	if (value_size(batch->decisions) != count) {
		turn_fail(batch->turn, "ValueError",
		    "%zu actions wait for a decision each, and the answer has %zu", count,
		    value_size(batch->decisions));
		return false;
	}
	for (i = 0; i < count; i++) {
		struct hitl_call call = call_of(batch, value_at(batch->calls, i));
		const struct value *decision = value_at(batch->decisions, i);
		const char *flaw;

		flaw = hitl_flaw_of_decision(&call, decision, tools, NULL);
		if (flaw == NULL)
			continue;
		turn_fail(batch->turn, "ValueError", "action %zu: %s", i + 1, flaw);
		return false;
	}
	return true;
}

/* The decision about the call of that id, or NULL: nobody was asked. */
static const struct value *
decision_on(const struct batch *batch, const char *id)
{
	size_t i;

	for (i = 0; i < value_size(batch->calls); i++)
		if (id != NULL &&
		    value_text_is(value_get(value_at(batch->calls, i), "id"), id))
			return value_at(batch->decisions, i);
	return NULL;
}

static const struct value *
edit_of(const struct batch *batch, const struct value *part)
{
	const struct value *decision = decision_on(batch, value_get_text(part, "id"));

	return is_edit(decision) ? value_get(decision, "edited_action") : NULL;
}

/* list, of tool calls or of blocks of content, with the edited ones as they are to be; what holds
 * their arguments is named so. */
static const struct value *
rewritten(const struct batch *batch, const struct value *list, const char *args_name)
{
	struct arena *arena = turn_arena(batch->turn);
	struct value_list parts = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(list); i++) {
		const struct value *part = value_at(list, i);
		const struct value *edit =
		    value_has(part, args_name) ? edit_of(batch, part) : NULL;

		if (edit != NULL) {
			part =
			    value_map_with(arena, part, "name", value_get(edit, "name"));
			part = value_map_with(
			    arena, part, args_name, value_get(edit, "args"));
		}
		value_list_add(&parts, part);
	}
	return value_list_end(&parts);
}

/* The model's message, of the same id, with the calls that were edited; NULL: none was. */
static const struct value *
rewritten_message(const struct batch *batch)
{
	struct arena *arena = turn_arena(batch->turn);
	const struct value *messages = turn_messages(batch->turn);
	const struct value *message = value_at(messages, (size_t)chat_last_ai(messages));
	const struct value *content = value_get(message, "content");
	bool any = false;
	size_t i;

	for (i = 0; i < value_size(batch->decisions); i++)
		any = any || is_edit(value_at(batch->decisions, i));
	if (!any)
		return NULL;
	if (value_is(content, VALUE_ARRAY))
		message = value_map_with(
		    arena, message, "content", rewritten(batch, content, "input"));
	return value_map_with(arena, message, "tool_calls",
	    rewritten(batch, value_get(message, "tool_calls"), "args"));
}

static const struct value *
edited_map(const struct batch *batch)
{
	struct value_fields edits = { .arena = turn_arena(batch->turn) };
	size_t i;

	for (i = 0; i < value_size(batch->calls); i++) {
		const struct value *call = value_at(batch->calls, i);
		const struct value *edit = edit_of(batch, call);

		if (edit != NULL)
			value_fields_set(&edits, value_get_text(call, "id"),
			    value_map(edits.arena, "name", value_get(edit, "name"),
				"args", value_get(edit, "args"), NULL));
	}
	return value_fields_end(&edits);
}

/* Of those that need no tool any more, in the order of the calls. */
static void
add_answers(const struct batch *batch, struct value_list *messages)
{
	size_t i;

	for (i = 0; i < value_size(batch->calls); i++) {
		const struct value *tool_call = value_at(batch->calls, i);
		const struct value *decision = value_at(batch->decisions, i);
		const char *type = value_get_text(decision, "type");
		const char *id = value_get_text(tool_call, "id"), *status, *text;
		struct hitl_call call = call_of(batch, tool_call);

		turn_note(batch->turn, "%s (%s): %s", call.name, id, type);
		if (strcmp(type, "approve") == 0 || strcmp(type, "edit") == 0)
			continue;
		text = hitl_answer(&call, id, decision, &status);
		value_list_add(
		    messages, chat_tool(messages->arena, text, id, call.name, status));
	}
}

static const struct value *
after_model(struct turn *turn)
{
	struct batch batch = { .turn = turn };
	struct arena *arena = turn_arena(turn);
	struct value_list messages = { .arena = arena };
	const struct value *answer, *edits = NULL, *message = NULL;

	batch.calls = select_calls(&batch);
	if (value_size(batch.calls) > 0) {
		answer = ask(&batch);
		if (answer == NULL || !take_decisions(&batch, answer))
			return NULL;
	}
	if (keeps_calls(turn_settings(turn)))
		edits = edited_map(&batch);
	else if (value_size(batch.calls) > 0)
		message = rewritten_message(&batch);
	/* What the message before has left goes with this one. */
	if (value_size(edits) == 0 && value_size(turn_get(turn, EDITED_CALLS)) == 0)
		edits = NULL;
	if (message != NULL)
		value_list_add(&messages, message);
	add_answers(&batch, &messages);
	if (messages.count == 0 && edits == NULL)
		return NULL;
	return value_map(arena, "messages",
	    messages.count > 0 ? value_list_end(&messages) : NULL, EDITED_CALLS, edits,
	    NULL);
}

/* --- a call that runs --------------------------------------------------------------- */

/* content with text in front. */
static const struct value *
content_behind(struct arena *arena, const char *text, const struct value *content)
{
	const struct value *block;

	if (!value_is(content, VALUE_ARRAY))
		return value_printf(arena, "%s%s", text,
		    value_text(content) != NULL ? value_text(content) : "");
	block = value_map(arena, "type", value_str(arena, "text"), "text",
	    value_str(arena, text), NULL);
	return value_array_concat(arena, value_array(arena, &block, 1), content);
}

/* list with one item replaced. */
static const struct value *
replaced(struct arena *arena, const struct value *list, const struct value *old,
    const struct value *item)
{
	struct value_list items = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(list); i++)
		value_list_add(
		    &items, value_at(list, i) == old ? item : value_at(list, i));
	return value_list_end(&items);
}

/* commands, in which message stands behind what the model is told of the edit. */
static const struct value *
with_notice(struct tool_request *request, const struct value *commands,
    const struct value *message, const struct value *edited)
{
	struct arena *arena = tool_arena(request);
	const struct value *content = value_get(message, "content");
	const char *notice = hitl_notice(
	    arena, tool_settings_of(request), edited, value_size(content) > 0);
	const struct value *told = value_map_with(
	    arena, message, "content", content_behind(arena, notice, content));
	size_t i;

	for (i = 0; i < value_size(commands); i++) {
		const struct value *command = value_at(commands, i);
		const struct value *update = value_get(command, "update");
		const struct value *messages =
		    replaced(arena, value_get(update, "messages"), message, told);

		update = value_map_with(arena, update, "messages", messages);
		commands = replaced(arena, commands, command,
		    value_map_with(arena, command, "update", update));
	}
	return commands;
}

/* Runs what a human has put in the place of the call. */
static struct tool_result *
run_edited(
    struct tool_request *request, struct tool_next *next, const struct value *edited)
{
	const struct value *notice = value_get(tool_settings_of(request), "edit_notice");
	const struct value *message;
	struct tool_result *result;

	if (!value_text_is(value_get(edited, "name"), tool_name(request)))
		request = tool_override(request, "name", value_get(edited, "name"));
	result =
	    tool_next(next, tool_override(request, "args", value_get(edited, "args")));
	if (result->fault != NULL || (notice != NULL && value_is_nil(notice)))
		return result;
	message = tool_message_of(request, result);
	if (message != NULL)
		result->commands =
		    with_notice(request, result->commands, message, edited);
	return result;
}

/* --- per_call ----------------------------------------------------------------------- */

static const struct value *
ask_for(struct tool_request *request, const struct hitl_call *call)
{
	struct arena *arena = call->arena;
	const struct value *schema = hitl_response_schema(call, tool_definition(request));

	return tool_interrupt_about(request,
	    value_map(arena, "type", value_str(arena, "tool_approval"), "tool_call_id",
		value_str(arena, tool_call_id(request)), "name",
		value_str(arena, call->name), "args", call->args, "description",
		value_str(arena, hitl_description(call)), NULL),
	    value_map(arena, "response_schema", schema, NULL));
}

static struct tool_result *
decide(struct tool_request *request, struct tool_next *next, const struct hitl_call *call,
    const struct value *decision)
{
	const char *id = tool_call_id(request), *status, *text;
	const char *flaw =
	    hitl_flaw_of_decision(call, decision, NULL, tool_definition(request));

	if (flaw != NULL)
		return tool_fail(
		    request, fault_new(call->arena, "ValueError", "%s", flaw));
	tool_note(
	    request, "%s (%s): %s", call->name, id, value_get_text(decision, "type"));
	if (value_text_is(value_get(decision, "type"), "approve"))
		return tool_next(next, request);
	if (is_edit(decision))
		return run_edited(request, next, value_get(decision, "edited_action"));
	text = hitl_answer(call, id, decision, &status);
	return tool_answer(request, text, status);
}

static struct tool_result *
wrap_tool_call(struct tool_request *request, struct tool_next *next)
{
	struct hitl_call call = {
		.arena = tool_arena(request),
		.settings = tool_settings_of(request),
		.context = tool_context(request),
		.state = tool_whole_state(request),
		.name = tool_name(request),
		.args = tool_args(request),
	};
	const struct value *edited, *decision;
	const char *failed = NULL;

	if (!is_per_call(call.settings)) {
		edited =
		    edited_call(tool_state(request, EDITED_CALLS), tool_call_id(request));
		return edited != NULL ? run_edited(request, next, edited)
				      : tool_next(next, request);
	}
	/* Whatever `when` says of it by now, a human has decided it. */
	if (!tool_was_answered(request) && !hitl_wants(&call, &failed))
		return tool_next(next, request);
	if (failed != NULL)
		tool_note(request, "%s: `when` failed, so a human is asked: %s",
		    call.name, failed);
	decision = ask_for(request, &call);
	return decision != NULL ? decide(request, next, &call, decision) : NULL;
}

const struct middleware middleware_human_in_the_loop = {
	.abi = MIDDLEWARE_ABI,
	.name = "human_in_the_loop",
	.summary = "lets a human decide which calls of tools run",
	.options = options,
	.fields = fields,
	.configure = configure,
	.after_model = after_model,
	.wrap_tool_call = wrap_tool_call,
};
