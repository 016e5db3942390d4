#include "literal.h"

#include <check.h>
#include <string.h>

#include "json.h"

const char *
literal_text(struct arena *arena, const char *text)
{
	char *copy = arena_strdup(arena, text);

	for (char *at = copy; (at = strchr(at, '\'')) != NULL;)
		*at = '"';
	return copy;
}

const struct value *
literal(struct arena *arena, const char *text)
{
	const char *error = NULL;
	const struct value *value;

	text = literal_text(arena, text);
	value = json_parse(arena, text, strlen(text), &error);
	ck_assert_msg(value != NULL, "%s: %s", error, text);
	return value;
}

void
assert_literal(struct arena *arena, const struct value *value, const char *text)
{
	ck_assert_msg(value_equal(value, literal(arena, text)), "is     %s\nwanted %s",
	    json_text(arena, value), literal_text(arena, text));
}
