#include "openai_blocks.h"

#include <string.h>

#include "json.h"

const struct value *
openai_block_data(const struct value *block)
{
	const struct value *data = value_get(block, "base64");

	if (!value_is(data, VALUE_STR))
		data = value_get(block, "data");
	return value_is(data, VALUE_STR) ? data : NULL;
}

const struct value *
openai_data_url(struct arena *arena, const struct value *block, const char *mime)
{
	const char *given = value_get_text(block, "mime_type");

	return value_printf(arena, "data:%s;base64,%s", given == NULL ? mime : given,
	    value_text(openai_block_data(block)));
}

bool
openai_itself(const char *provider)
{
	return strcmp(provider, "openai") == 0;
}

/* Others read the text (vLLM, llama.cpp, Ollama), and refuse each request of a thread that has a malformed one in it. */
static const struct value *
object_or_nothing(struct arena *arena, const struct value *text)
{
	const char *error;

	return value_is(json_parse(arena, text->text, text->size, &error), VALUE_MAP)
		   ? text
		   : value_str(arena, "{}");
}

const struct value *
openai_arguments(struct arena *arena, const struct value *call, const char *provider)
{
	const struct value *args = value_get(call, "args");

	if (value_is(args, VALUE_STR))
		return openai_itself(provider) ? args : object_or_nothing(arena, args);
	return value_str(
	    arena, json_text(arena, value_is_nil(args) ? value_empty_map() : args));
}
