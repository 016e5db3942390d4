#include "model_profile.h"

#include <string.h>

#include "nearest.h"
#include "options.h"

static const char *const keys[] = { "structured_output", "except_with_tools" };
#define KEYS (sizeof keys / sizeof *keys)

static bool
is_key(const char *name)
{
	size_t i;

	for (i = 0; i < KEYS && strcmp(keys[i], name) != 0; i++)
		;
	return i < KEYS;
}

const char *
model_profile_flaw(struct arena *arena, const struct value *given, const char **key_r)
{
	size_t i;

	*key_r = "";
	if (!value_is(given, VALUE_MAP))
		return arena_printf(arena,
		    "must be a map, as in {structured_output: true}, not %s",
		    value_article_name(given));
	for (i = 0; i < given->size; i++) {
		const struct value_pair *pair = &given->pairs[i];
		const char *near = nearest_name(pair->key->text, keys, KEYS);

		*key_r = pair->key->text;
		if (!is_key(*key_r))
			return arena_printf(arena,
			    "a model's profile has no key \"%s\"%s", *key_r,
			    near == NULL
				? "; it has structured_output and except_with_tools"
				: arena_printf(arena, "; did you mean \"%s\"?", near));
		if (!value_is(pair->value, VALUE_BOOL))
			return arena_printf(arena, "must be true or false, not %s",
			    value_article_name(pair->value));
	}
	*key_r = "";
	return value_has(given, "structured_output")
		   ? NULL
		   : "needs structured_output: true or false";
}

bool
model_profile_gives_output(const struct value *profile, bool with_tools)
{
	return value_get_bool(profile, "structured_output", false) &&
	       !(with_tools && value_get_bool(profile, "except_with_tools", false));
}
