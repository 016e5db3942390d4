#include "probe.h"

#include <string.h>

static struct tool_result *
tool_answer_with(struct tool_request *request, const struct value *message)
{
	struct arena *arena = tool_arena(request);
	const char *status = value_get_text(message, "status");

	return tool_answer(
	    request, chat_text(arena, message), status != NULL ? status : "success");
}

static struct tool_result *
call_tool_rest(
    struct tool_request *request, struct tool_next *next, const struct value *action)
{
	int64_t calls = value_get_int(action, "calls", 1);
	struct tool_result *result;

	if (calls <= 0)
		return tool_answer_with(request, value_get(action, "response"));
	do { /* as a function would: a call that fails is the last one */
		result = tool_next(next, request);
	} while (result->fault == NULL && --calls > 0);
	if (result->fault != NULL && !result->fault->control &&
	    value_has(action, "catch"))
		return tool_answer_with(request, value_get(action, "catch"));
	return result;
}

/* The command with message changed, and all else that it does. */
static const struct value *
with_message(struct arena *arena, const struct value *command,
    const struct value *message, const struct value *changed)
{
	const struct value *update = value_get(command, "update");
	const struct value *messages = value_get(update, "messages");
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(messages); i++) {
		const struct value *old = value_at(messages, i);

		value_list_add(&list, old == message ? changed : old);
	}
	if (list.count == 0)
		return command;
	return value_map_with(arena, command, "update",
	    value_map_with(arena, update, "messages", value_list_end(&list)));
}

static struct tool_result *
tool_suffix(struct tool_request *request, struct tool_result *result, const char *suffix)
{
	struct arena *arena = tool_arena(request);
	const struct value *message = tool_message_of(request, result);
	struct value_list list = { .arena = arena };
	const struct value *changed;
	size_t i;

	if (message == NULL)
		return result;
	changed = value_map_with(arena, message, "content",
	    value_printf(arena, "%s%s", chat_text(arena, message), suffix));
	for (i = 0; i < value_size(result->commands); i++)
		value_list_add(&list,
		    with_message(arena, value_at(result->commands, i), message, changed));
	result->commands = value_list_end(&list);
	return result;
}

/* The update as a command; the tool message comes along unless the update has messages. */
static struct tool_result *
tool_with_command(struct tool_request *request, const struct tool_result *result,
    const struct value *update)
{
	struct arena *arena = tool_arena(request);
	const struct value *message = tool_message_of(request, result);

	if (!value_has(update, "messages") && message != NULL)
		update = value_map_with(
		    arena, update, "messages", value_array(arena, &message, 1));
	return tool_command(request, update);
}

static struct tool_request *
change_args(struct tool_request *request, const struct value *args)
{
	struct arena *arena = tool_arena(request);

	return tool_override(
	    request, "args", value_map_merge(arena, tool_args(request), args));
}

struct tool_result *
probe_wrap_tool_call(struct tool_request *request, struct tool_next *next)
{
	struct arena *arena = tool_arena(request);
	const struct value *settings = tool_settings_of(request);
	const struct value *action =
	    probe_action(settings, "wrap_tool_call", tool_thread(request));
	const char *only = value_get_text(action, "tool");
	struct tool_result *result;

	if (only != NULL && strcmp(only, tool_name(request)) != 0)
		action = value_empty_map();
	probe_trace_wrap(arena, settings, "wrap_tool_call", '>');
	if (value_has(action, "raise"))
		return tool_fail(request, fault_new(arena, probe_error_type(action), "%s",
					      value_get_text(action, "raise")));
	if (value_has(action, "args"))
		request = change_args(request, value_get(action, "args"));
	result = call_tool_rest(request, next, action);
	probe_trace_wrap(arena, settings, "wrap_tool_call", '<');
	if (result->fault != NULL)
		return result;
	if (value_has(action, "content_suffix"))
		result = tool_suffix(
		    request, result, value_get_text(action, "content_suffix"));
	if (value_has(action, "command"))
		result = tool_with_command(request, result, value_get(action, "command"));
	return result;
}
