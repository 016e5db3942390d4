#include "openai_tools.h"

#include <ctype.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SCHEMA_NAME_BYTES_MAX 64u

/* --- tools ------------------------------------------------------------------------- */

static const struct value *
any_object(struct arena *arena)
{
	return value_map(arena, "type", value_str(arena, "object"), "properties",
	    value_empty_map(), NULL);
}

const struct value *
openai_function(struct arena *arena, const struct value *tool)
{
	const struct value *parameters = value_get(tool, "parameters");

	if (!value_is(parameters, VALUE_MAP))
		parameters = any_object(arena);

	const struct value_pair function[] = {
		{ VALUE_TEXT("name"), value_get(tool, "name") },
		{ VALUE_TEXT("description"), value_get(tool, "description") },
		{ VALUE_TEXT("parameters"), parameters },
		{ VALUE_TEXT("strict"), value_get(tool, "strict") },
	};
	return value_map_of(arena, function, COUNT(function));
}

const struct value *
openai_tool_choice(const struct ask *ask,
    const struct value *(*named)(struct arena *arena, const struct value *name))
{
	struct arena *arena = ask->arena;
	const struct value *choice = ask->tool_choice;

	if (value_is_nil(choice))
		choice = value_get(ask->settings, "tool_choice");
	if (value_is(choice, VALUE_BOOL))
		return choice->boolean ? value_str(arena, "required") : NULL;
	if (value_is(choice, VALUE_MAP))
		return value_has(choice, "name") ? named(arena, value_get(choice, "name"))
						 : choice;
	if (!value_is(choice, VALUE_STR))
		return NULL;
	if (value_text_is(choice, "any") || value_text_is(choice, "required"))
		return value_str(arena, "required");
	if (value_text_is(choice, "auto") || value_text_is(choice, "none"))
		return choice;
	return named(arena, choice);
}

/* --- structured output --------------------------------------------------------------- */

/* What they take as a schema's name. */
static const struct value *
schema_name(struct arena *arena, const char *title)
{
	size_t size = strnlen(title, SCHEMA_NAME_BYTES_MAX), i;
	char *name = arena_alloc(arena, size + 1);

	for (i = 0; i < size; i++)
		name[i] =
		    isalnum((unsigned char)title[i]) || title[i] == '-' ? title[i] : '_';
	name[size] = '\0';
	return value_str(arena, name);
}

const struct value *
openai_schema(struct arena *arena, const struct value *format)
{
	const struct value *schema = value_at(value_get(format, "schemas"), 0);
	const char *title = value_get_text(schema, "title");

	if (!value_text_is(value_get(format, "strategy"), "provider") || title == NULL)
		return NULL;
	return value_map(arena, "name", schema_name(arena, title), "description",
	    value_get(schema, "description"), "schema", schema, "strict",
	    value_get(format, "strict"), NULL);
}

/* --- models -------------------------------------------------------------------------- */

static bool
begins(const char *text, const char *begin)
{
	return strncmp(text, begin, strlen(begin)) == 0;
}

bool
openai_thinks(const char *model)
{
	if (model[0] == 'o' && isdigit((unsigned char)model[1]))
		return true;
	return (begins(model, "gpt-5") || begins(model, "gpt-6")) &&
	       !openai_thinks_not(model);
}

bool
openai_thinks_not(const char *model)
{
	static const char *const names[] = { "gpt-3", "gpt-4", "chatgpt-", "gpt-5-chat",
		"gpt-6-chat" };

	if (begins(model, "ft:"))
		model += strlen("ft:");
	for (size_t i = 0; i < COUNT(names); i++)
		if (begins(model, names[i]))
			return true;
	return false;
}
