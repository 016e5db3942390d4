#include "literal.h"

#include <check.h>
#include <string.h>

#include "json.h"

const struct value *
literal(struct arena *arena, const char *text)
{
	char *json = arena_strdup(arena, text), *at;
	const struct value *value;
	const char *error = NULL;

	for (at = json; *at != '\0'; at++) {
		if (*at == '\'')
			*at = '"';
	}
	value = json_parse(arena, json, strlen(json), &error);
	ck_assert_msg(value != NULL, "%s: %s", text, error);
	return value;
}

void
literal_assert(const char *file, int line, struct arena *arena, const struct value *value,
    const char *text)
{
	ck_assert_msg(value != NULL && value_equal(value, literal(arena, text)),
	    "%s:%d: is %s, expected %s", file, line,
	    value == NULL ? "nothing" : json_text(arena, value), text);
}
