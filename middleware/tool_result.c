/* Results of tool calls: making them, and bringing them into form. */
#include "tool_request.h"

#include <string.h>

/* --- making ------------------------------------------------------------------------- */

struct tool_result *
tool_result_failed(struct arena *arena, const struct fault *fault)
{
	struct tool_result *result = arena_alloc(arena, sizeof *result);

	result->fault = fault;
	return result;
}

struct tool_result *
tool_fail(struct tool_request *request, const struct fault *fault)
{
	return tool_result_failed(request->run->arena, fault);
}

struct tool_result *
tool_command(struct tool_request *request, const struct value *update)
{
	struct arena *arena = request->run->arena;
	struct tool_result *result = arena_alloc(arena, sizeof *result);
	const struct value *command = value_map(arena, "update", update, NULL);

	result->commands = value_array(arena, &command, 1);
	return result;
}

struct tool_result *
tool_goto(struct tool_request *request, const struct value *update, const char *node)
{
	struct arena *arena = request->run->arena;
	struct tool_result *result = arena_alloc(arena, sizeof *result);
	const struct value *command =
	    value_map(arena, "update", update, "goto", value_str(arena, node), NULL);

	result->commands = value_array(arena, &command, 1);
	return result;
}

struct tool_result *
tool_commands(struct tool_request *request, const struct value *commands)
{
	struct arena *arena = request->run->arena;
	struct tool_result *result = arena_alloc(arena, sizeof *result);

	result->commands = commands;
	return result;
}

struct tool_result *
tool_answer(struct tool_request *request, const char *content, const char *status)
{
	struct arena *arena = request->run->arena;
	const struct value *message =
	    chat_tool(arena, content, request->id, request->name, status);

	return tool_command(
	    request, value_map(arena, "messages", value_array(arena, &message, 1), NULL));
}

/* --- looking ------------------------------------------------------------------------ */

static bool
answers(const struct tool_request *request, const struct value *message)
{
	return chat_is(message, "tool") &&
	       value_text_is(value_get(message, "tool_call_id"), request->id);
}

const struct value *
tool_message_of(const struct tool_request *request, const struct tool_result *result)
{
	size_t i, j;

	for (i = 0; i < value_size(result->commands); i++) {
		const struct value *update =
		    value_get(value_at(result->commands, i), "update");
		const struct value *messages = value_get(update, "messages");

		for (j = 0; j < value_size(messages); j++) {
			if (answers(request, value_at(messages, j)))
				return value_at(messages, j);
		}
	}
	return NULL;
}

/* --- bringing into form ------------------------------------------------------------- */

/* A result under inspection. */
struct inspection {
	const struct tool_request *request;
	bool of_body;
	/* What the messages of all its commands hold. */
	size_t answers;
	size_t others; /* but removals of everything */
	size_t wipes;  /* removals of everything */
};

/* A tool message as users write it. */
static bool
is_tool_message(const struct value *message)
{
	return chat_is(message, "tool") ||
	       (!value_has(message, "type") &&
		   value_text_is(value_get(message, "role"), "tool"));
}

/* A tool message without a call id is the answer to this call. */
static const struct value *
adopted(const struct inspection *inspection, const struct value *message)
{
	const struct tool_request *request = inspection->request;
	struct arena *arena = request->run->arena;

	if (!is_tool_message(message))
		return message;
	if (value_is_nil(value_get(message, "tool_call_id")))
		message = value_map_with(
		    arena, message, "tool_call_id", value_str(arena, request->id));
	if (!value_text_is(value_get(message, "tool_call_id"), request->id))
		return message;
	if (value_is_nil(value_get(message, "status")))
		message =
		    value_map_with(arena, message, "status", value_str(arena, "success"));
	if (!inspection->of_body && !value_is_nil(value_get(message, "name")))
		return message;
	return value_map_with(arena, message, "name", value_str(arena, request->name));
}

static const struct value *
adopt_all(const struct inspection *inspection, const struct value *messages)
{
	struct value_list list = { .arena = inspection->request->run->arena };
	size_t i;

	if (!value_is(messages, VALUE_ARRAY))
		return adopted(inspection, messages);
	for (i = 0; i < messages->size; i++)
		value_list_add(&list, adopted(inspection, messages->items[i]));
	return value_list_end(&list);
}

static void
count_messages(struct inspection *inspection, const struct value *messages)
{
	size_t i;

	for (i = 0; i < value_size(messages); i++) {
		const struct value *message = value_at(messages, i);

		if (answers(inspection->request, message))
			inspection->answers++;
		else if (chat_is(message, "remove") &&
			 value_text_is(value_get(message, "id"), REMOVE_ALL))
			inspection->wipes++;
		else
			inspection->others++;
	}
}

/* Returns command in form, or NULL with a reason. */
static const struct value *
settle_command(
    struct inspection *inspection, const struct value *command, const char **error_r)
{
	struct arena *arena = inspection->request->run->arena;
	const struct value *update = value_get(command, "update"), *messages;
	const char *error = NULL;

	if (!value_is(command, VALUE_MAP)) {
		*error_r = "gave a command that is not a map";
		return NULL;
	}
	if (value_is_nil(update))
		return value_map_with(arena, command, "update", value_empty_map());
	if (!value_is(update, VALUE_MAP)) {
		*error_r = "gave a command whose update is not a map";
		return NULL;
	}
	if (value_is_nil(value_get(update, "messages")))
		return command;
	messages = chat_normalise(
	    arena, adopt_all(inspection, value_get(update, "messages")), &error);
	if (messages == NULL) {
		*error_r = arena_printf(arena, "gave a message that is none: %s", error);
		return NULL;
	}
	count_messages(inspection, messages);
	update = value_map_with(arena, update, "messages", messages);
	return value_map_with(arena, command, "update", update);
}

/* Exactly one message answers a call; only who empties the thread need not. */
static const char *
answer_flaw(const struct inspection *inspection)
{
	const struct tool_request *request = inspection->request;

	if (inspection->answers == 1)
		return NULL;
	if (inspection->answers == 0 && inspection->others == 0 && inspection->wipes > 0)
		return NULL;
	if (inspection->answers == 0)
		return arena_printf(request->run->arena,
		    "gave a command without a tool message that answers the call %s of "
		    "tool %s",
		    request->id, request->name);
	return arena_printf(request->run->arena,
	    "gave %zu tool messages that answer the call %s of tool %s: it takes one",
	    inspection->answers, request->id, request->name);
}

const char *
tool_result_settle(
    const struct tool_request *request, struct tool_result *result, bool of_body)
{
	struct inspection inspection = { .request = request, .of_body = of_body };
	struct value_list list = { .arena = request->run->arena };
	const struct value *commands = result->commands;
	const char *flaw = NULL;
	size_t i;

	if (commands != NULL && commands == request->run->settled)
		return NULL;
	if (value_is(commands, VALUE_MAP))
		commands = value_array(request->run->arena, &commands, 1);
	if (commands == NULL || commands->type != VALUE_ARRAY)
		return "gave neither a command nor a fault";
	for (i = 0; i < commands->size; i++) {
		const struct value *command =
		    settle_command(&inspection, commands->items[i], &flaw);

		if (command == NULL)
			return flaw;
		value_list_add(&list, command);
	}
	flaw = answer_flaw(&inspection);
	if (flaw == NULL)
		result->commands = request->run->settled = value_list_end(&list);
	return flaw;
}
