#include "bedrock_tools.h"

/* --- tools --------------------------------------------------------------------------- */

static const struct value *
schema_of(struct arena *arena, const struct value *tool)
{
	const struct value *schema = value_get(tool, "parameters");

	if (!value_is(schema, VALUE_MAP))
		schema = value_get(tool, "input_schema");
	if (!value_is(schema, VALUE_MAP))
		return value_map(arena, "type", VALUE_TEXT("object"), "properties",
		    value_empty_map(), NULL);
	return value_has(schema, "type")
		   ? schema
		   : value_map_with(arena, schema, "type", VALUE_TEXT("object"));
}

/* One in the API's own form goes as it is, OpenAI's is understood. A description may not be empty. */
static const struct value *
tool_of(struct arena *arena, const struct value *tool)
{
	const struct value *function = value_get(tool, "function"),
			   *strict = value_get(tool, "strict"), *description, *mark;

	if (value_has(tool, "toolSpec") || value_has(tool, "systemTool") ||
	    value_has(tool, "cachePoint"))
		return tool;
	mark = value_get(value_get(tool, "extras"), "cache_control");
	if (mark == NULL)
		mark = value_get(tool, "cache_control");
	if (value_is(function, VALUE_MAP))
		tool = function;
	if (strict == NULL)
		strict = value_get(tool, "strict");
	description = value_get(tool, "description");
	return value_map(arena, "toolSpec",
	    value_map(arena, "name", value_get(tool, "name"), "description",
		value_truthy(description) ? description : value_get(tool, "name"),
		"inputSchema", value_map(arena, "json", schema_of(arena, tool), NULL),
		"strict", value_is(strict, VALUE_BOOL) ? strict : NULL, NULL),
	    "cache_control", mark, NULL);
}

/* --- the choice ---------------------------------------------------------------------- */

static const struct value *
given_choice(const struct ask *ask)
{
	return value_is_nil(ask->tool_choice) ? value_get(ask->settings, "tool_choice")
					      : ask->tool_choice;
}

static const struct value *
choice(struct arena *arena, const char *kind, const struct value *said)
{
	return value_map(arena, kind, said, NULL);
}

static bool
is_none(const struct value *given)
{
	return value_text_is(given, "none") ||
	       value_text_is(value_get(given, "type"), "none");
}

/* A string, true, {name}, {function: {name}}, Anthropic's {type}, or the API's own form. */
static const struct value *
choice_of(struct arena *arena, const struct value *given)
{
	const struct value *type = value_get(given, "type"), *name;

	if (value_is(given, VALUE_BOOL))
		return given->boolean ? choice(arena, "any", value_empty_map()) : NULL;
	if (value_text_is(given, "any") || value_text_is(given, "required") ||
	    value_text_is(type, "any"))
		return choice(arena, "any", value_empty_map());
	if (value_text_is(given, "auto") || value_text_is(type, "auto"))
		return choice(arena, "auto", value_empty_map());
	name = value_is(given, VALUE_STR) ? given : value_get(given, "name");
	if (name == NULL)
		name = value_get(value_get(given, "function"), "name");
	if (name != NULL)
		return choice(arena, "tool", value_map(arena, "name", name, NULL));
	return value_is(given, VALUE_MAP) ? given : NULL;
}

/* --- both ---------------------------------------------------------------------------- */

const struct value *
bedrock_tools(const struct ask *ask)
{
	struct value_list list = { .arena = ask->arena };

	if (is_none(given_choice(ask)))
		return NULL;
	for (size_t i = 0; i < value_size(ask->tools); i++)
		value_list_add(&list, tool_of(ask->arena, value_at(ask->tools, i)));
	return list.count > 0 ? value_list_end(&list) : NULL;
}

const struct value *
bedrock_tool_choice(const struct ask *ask, bool thinks)
{
	const struct value *said = choice_of(ask->arena, given_choice(ask));

	if (thinks && (value_has(said, "any") || value_has(said, "tool")))
		return choice(ask->arena, "auto", value_empty_map());
	return said;
}
