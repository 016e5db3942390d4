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
message_of(struct arena *arena, const struct value *message)
{
	const struct value *calls = value_get(message, "tool_calls"), *call;
	struct value_list list = { .arena = arena };
	bool changed = false;
	size_t i;

	if (!value_is(calls, VALUE_ARRAY))
		return message;
	for (i = 0; i < value_size(calls); i++) {
		call = call_of(arena, value_at(calls, i));
		changed = changed || call != value_at(calls, i);
		value_list_add(&list, call);
	}
	if (!changed)
		return message;
	return value_map_with(arena, message, "tool_calls", value_list_end(&list));
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
