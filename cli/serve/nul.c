#include "nul.h"

#include <string.h>

static bool
has_nul(const struct value *text)
{
	return memchr(text->text, '\0', text->size) != NULL;
}

static bool
is_content(const struct value *name)
{
	static const char *const contents[] = { "input", "command", "context", "config",
		"value", "values", "filter", "params" };
	size_t i;

	for (i = 0; i < sizeof contents / sizeof *contents; i++)
		if (value_text_is(name, contents[i]))
			return true;
	return false;
}

/* What of a run's config goes on by names. */
static const struct value *
named_of(struct arena *arena, const struct value *config)
{
	return value_map(arena, "metadata", value_get(config, "metadata"), NULL);
}

/* Where in value there is one, "[0].schedule"; or NULL. */
static const char *
find(struct arena *arena, const struct value *value)
{
	const char *place = NULL;
	size_t i;

	if (value_is(value, VALUE_STR))
		return has_nul(value) ? "" : NULL;
	for (i = 0; value_is(value, VALUE_ARRAY) && i < value_size(value); i++)
		if ((place = find(arena, value_at(value, i))) != NULL)
			return arena_printf(arena, "[%zu]%s", i, place);
	for (i = 0; value_is(value, VALUE_MAP) && i < value_size(value); i++) {
		const struct value *name = value->pairs[i].key;

		if (has_nul(name))
			place = "";
		else if (!is_content(name))
			place = find(arena, value->pairs[i].value);
		else if (value_text_is(name, "config"))
			place = find(arena, named_of(arena, value->pairs[i].value));
		if (place != NULL)
			return arena_printf(arena, ".%s%s", value_text(name), place);
	}
	return NULL;
}

const char *
nul_check(struct arena *arena, const struct value *body)
{
	const char *place = find(arena, body);

	return place == NULL
		   ? NULL
		   : arena_printf(arena, "%s: holds a NUL, which no such text may have",
			 *place == '.' ? place + 1 : place);
}
