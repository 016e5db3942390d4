#include "probe.h"

/* The tools named; one the request has not got comes in as a new one. */
static const struct value *
named_tools(struct arena *arena, const struct value *tools, const struct value *names)
{
	struct value_list list = { .arena = arena };
	size_t i, j;

	for (i = 0; i < value_size(names); i++) {
		const char *name = value_text(value_at(names, i));
		const struct value *tool = NULL;

		for (j = 0; j < value_size(tools) && tool == NULL; j++)
			if (value_text_is(value_get(value_at(tools, j), "name"), name))
				tool = value_at(tools, j);
		if (tool == NULL)
			tool = value_map(arena, "name", value_str(arena, name),
			    "description", value_printf(arena, "The %s tool.", name),
			    "parameters",
			    value_map(arena, "type", value_str(arena, "object"),
				"properties", value_empty_map(), NULL),
			    NULL);
		value_list_add(&list, tool);
	}
	return value_list_end(&list);
}

static struct model_request *
change_messages(struct model_request *request, const struct value *change)
{
	struct arena *arena = model_arena(request);
	const struct value *messages = model_messages(request);
	int64_t keep = value_get_int(change, "messages_keep_last", -1);

	if (keep >= 0 && (size_t)keep < value_size(messages))
		messages = value_array_slice(arena, messages,
		    value_size(messages) - (size_t)keep, value_size(messages));
	messages =
	    value_array_concat(arena, messages, value_get(change, "messages_append"));
	return model_override(request, "messages", messages);
}

static struct model_request *
change_request(struct model_request *request, const struct value *change)
{
	static const char *const plain[] = { "system_prompt", "tool_choice", "model",
		"model_settings" };
	struct arena *arena = model_arena(request);
	const char *append = value_get_text(change, "append_system");
	size_t i;

	for (i = 0; i < sizeof plain / sizeof *plain; i++)
		if (value_has(change, plain[i]))
			request = model_override(
			    request, plain[i], value_get(change, plain[i]));
	if (append != NULL) {
		const char *prompt = model_system_prompt(request);

		request = model_override(request, "system_prompt",
		    value_printf(arena, "%s%s", prompt != NULL ? prompt : "", append));
	}
	if (value_has(change, "tools"))
		request = model_override(request, "tools",
		    named_tools(arena, model_tools(request), value_get(change, "tools")));
	return change_messages(request, change);
}

static struct model_response *
answer_with(struct model_request *request, const struct value *message)
{
	struct arena *arena = model_arena(request);

	if (!value_has(message, "type"))
		message = value_map_with(arena, message, "type", value_str(arena, "ai"));
	return model_answer(request, message);
}

static struct model_response *
with_suffix(struct model_request *request, const struct model_response *response,
    const char *suffix)
{
	struct arena *arena = model_arena(request);
	const struct value *message = value_at(response->messages, 0);
	struct model_response *changed = answer_with(
	    request, value_map_with(arena, message, "content",
			 value_printf(arena, "%s%s", chat_text(arena, message), suffix)));

	changed->messages = value_array_concat(arena, changed->messages,
	    value_array_slice(
		arena, response->messages, 1, value_size(response->messages)));
	changed->structured_response = response->structured_response;
	return changed;
}

static struct model_response *
call_model_rest(
    struct model_request *request, struct model_next *next, const struct value *action)
{
	int64_t calls = value_get_int(action, "calls", 1);
	struct model_response *response;

	if (calls <= 0)
		return answer_with(request, value_get(action, "response"));
	do { /* as a function would: a call that fails is the last one */
		response = model_next(next, request);
	} while (response->fault == NULL && --calls > 0);
	if (response->fault != NULL && !response->fault->control &&
	    value_has(action, "catch"))
		return answer_with(request, value_get(action, "catch"));
	return response;
}

struct model_response *
probe_wrap_model_call(struct model_request *request, struct model_next *next)
{
	struct arena *arena = model_arena(request);
	const struct value *settings = model_settings_of(request);
	const struct value *action =
	    probe_action(settings, "wrap_model_call", model_thread(request));
	const char *suffix = value_get_text(action, "content_suffix");
	struct model_response *response;

	probe_trace_wrap(arena, settings, "wrap_model_call", '>');
	if (value_has(action, "raise"))
		return model_fail(request, fault_new(arena, probe_error_type(action),
					       "%s", value_get_text(action, "raise")));
	if (value_has(action, "request"))
		request = change_request(request, value_get(action, "request"));
	response = call_model_rest(request, next, action);
	probe_trace_wrap(arena, settings, "wrap_model_call", '<');
	if (response->fault != NULL)
		return response;
	if (suffix != NULL)
		response = with_suffix(request, response, suffix);
	if (value_has(action, "update"))
		response->update = value_get(action, "update");
	return response;
}
