#include "openai_blocks.h"

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

const struct value *
openai_arguments(struct arena *arena, const struct value *call)
{
	const struct value *args = value_get(call, "args");

	if (value_is(args, VALUE_STR))
		return args;
	return value_str(
	    arena, json_text(arena, value_is_nil(args) ? value_empty_map() : args));
}
