/* A SKILL.md, as a model or anybody has left it: no skill, for a reason, or one whose texts have the
 * bounds of the specification. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "skills.h"
#include "utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_text(const struct value *text, size_t least, size_t most)
{
	if (!value_is(text, VALUE_STR) || !utf8_valid(text->text, text->size) ||
	    text->size < least || utf8_first(text->text, text->size, most) < text->size)
		abort();
}

static void
check_texts(const struct value *skill)
{
	const struct value *tools = value_get(skill, "allowed_tools");
	const struct value *metadata = value_get(skill, "metadata");
	size_t i;

	if (!value_is(tools, VALUE_ARRAY) || !value_is(metadata, VALUE_MAP))
		abort();
	for (i = 0; i < value_size(tools); i++)
		check_text(value_at(tools, i), 1, SIZE_MAX);
	for (i = 0; i < value_size(metadata); i++)
		check_text(metadata->pairs[i].value, 0, SIZE_MAX);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	const char *warning = NULL, *error = NULL;
	const char *text = arena_copy(arena, (const char *)data, size);
	const struct value *skill;

	/* A backend gives what is text as text. */
	if (utf8_valid(text, size)) {
		skill = skill_parse(
		    arena, "/s/a/SKILL.md", "a", text, size, &warning, &error);
		if (skill == NULL && (error == NULL || *error == '\0'))
			abort();
		if (skill != NULL) {
			check_text(value_get(skill, "name"), 1, SIZE_MAX);
			check_text(value_get(skill, "description"), 1,
			    SKILL_DESCRIPTION_CHARS_MAX);
			if (!value_is_nil(value_get(skill, "compatibility")))
				check_text(value_get(skill, "compatibility"), 1,
				    SKILL_COMPATIBILITY_CHARS_MAX);
			check_texts(skill);
		}
	}
	arena_destroy(&arena);
	return 0;
}
