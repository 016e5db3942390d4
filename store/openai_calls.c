#include "openai_calls.h"

#include "json.h"

/* Models that need no arguments give an empty text. */
static const struct value *
args_of(struct arena *arena, const struct value *arguments)
{
	const char *error;
	const struct value *args;

	if (value_text(arguments) == NULL)
		return arguments;
	if (arguments->size == 0)
		return value_empty_map();
	args = json_parse(arena, arguments->text, arguments->size, &error);
	return args != NULL ? args : arguments;
}

static const struct value *
call_of(struct arena *arena, const struct value *call)
{
	const struct value *function = value_get(call, "function");

	if (!value_is(function, VALUE_MAP))
		return call;
	return value_map(arena, "name", value_get(function, "name"), "args",
	    args_of(arena, value_get(function, "arguments")), "id", value_get(call, "id"),
	    "type", value_str(arena, "tool_call"), NULL);
}

static const struct value *
with_calls(struct arena *arena, const struct value *message, const struct value *calls)
{
	struct value_list list = { .arena = arena };
	const struct value *call;
	bool changed = false;
	size_t i;

	for (i = 0; i < value_size(calls); i++) {
		call = call_of(arena, value_at(calls, i));
		changed = changed || call != value_at(calls, i);
		value_list_add(&list, call);
	}
	if (!changed)
		return message;
	return value_map_with(arena, message, "tool_calls", value_list_end(&list));
}

/* A model said them: with arguments that are no JSON object a call is an invalid one, and is answered as such. */
static void
add_beside(struct arena *arena, const struct value *given, struct value_list *valid,
    struct value_list *invalid)
{
	const struct value *call = call_of(arena, given);

	if (call == given)
		return;
	if (value_is(value_get(call, "args"), VALUE_MAP)) {
		value_list_add(valid, call);
		return;
	}
	call = value_map_with(
	    arena, call, "error", value_str(arena, "the arguments are no JSON object"));
	value_list_add(invalid,
	    value_map_with(arena, call, "type", value_str(arena, "invalid_tool_call")));
}

/* Calls that are in `additional_kwargs` alone, where what OpenAI answered stays in messages of LangChain. */
static const struct value *
with_calls_beside(
    struct arena *arena, const struct value *message, const struct value *calls)
{
	struct value_list valid = { .arena = arena }, invalid = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(calls); i++)
		add_beside(arena, value_at(calls, i), &valid, &invalid);
	if (valid.count > 0)
		message =
		    value_map_with(arena, message, "tool_calls", value_list_end(&valid));
	return invalid.count == 0 ? message
				  : value_map_with(arena, message, "invalid_tool_calls",
					value_list_end(&invalid));
}

static bool
is_ai(const struct value *message)
{
	const struct value *role = value_get(message, "role");

	return value_text_is(value_get(message, "type"), "ai") ||
	       value_text_is(role, "assistant") || value_text_is(role, "ai");
}

static const struct value *
message_of(struct arena *arena, const struct value *message)
{
	const struct value *calls = value_get(message, "tool_calls"),
			   *beside = value_get(
			       value_get(message, "additional_kwargs"), "tool_calls");

	if (value_is(calls, VALUE_ARRAY))
		return with_calls(arena, message, calls);
	if (value_is_nil(calls) && value_is(beside, VALUE_ARRAY) && is_ai(message) &&
	    value_size(value_get(message, "invalid_tool_calls")) == 0)
		return with_calls_beside(arena, message, beside);
	return message;
}

const struct value *
openai_calls(struct arena *arena, const struct value *messages)
{
	struct value_list list = { .arena = arena };
	size_t i;

	if (!value_is(messages, VALUE_ARRAY))
		return message_of(arena, messages);
	for (i = 0; i < value_size(messages); i++)
		value_list_add(&list, message_of(arena, value_at(messages, i)));
	return value_list_end(&list);
}
