#include "sample_messages.h"

const struct value *
sample_with(
    struct arena *arena, const struct value *message, const char *key, const char *text)
{
	return value_map_with(arena, message, key, value_str(arena, text));
}

const struct value *
sample_human(struct arena *arena, const char *id, const char *content)
{
	return sample_with(arena, chat_human(arena, content), "id", id);
}

const struct value *
sample_removal(struct arena *arena, const char *id)
{
	return value_map(
	    arena, "type", value_str(arena, "remove"), "id", value_str(arena, id), NULL);
}

const struct value *
sample_calling(struct arena *arena, const struct value *calls)
{
	return value_map_with(arena, chat_ai(arena, ""), "tool_calls", calls);
}

const struct value *
sample_call(struct arena *arena, const char *id, const char *name)
{
	return value_map(arena, "name", value_str(arena, name), "args", value_empty_map(),
	    "id", value_str(arena, id), "type", value_str(arena, "tool_call"), NULL);
}

const struct value *
sample_malformed_call(struct arena *arena, const char *id, const char *name)
{
	return value_map(arena, "name", value_str(arena, name), "args",
	    value_str(arena, "{\"a\":"), "id", value_str(arena, id), "error",
	    value_str(arena, "cut short"), NULL);
}

const struct value *
sample_answer(struct arena *arena, const char *id)
{
	return chat_tool(arena, "done", id, "search", "success");
}

const struct value *
sample_list(struct arena *arena, const struct value *const *items)
{
	size_t count = 0;

	while (items[count] != NULL)
		count++;
	return value_array(arena, items, count);
}
