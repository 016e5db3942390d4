#include "literal.h"

#include <check.h>
#include <string.h>

#include "has.h"
#include "json.h"
#include "registry.h"

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

const struct middleware_use *
literal_use(struct arena *arena, const char *type, const char *settings)
{
	const char *path = "", *error = "";
	const struct middleware_use *use =
	    registry_use(arena, type, literal(arena, settings), &path, &error);

	ck_assert_msg(use != NULL, "%s: %s: %s", type, path, error);
	return use;
}

void
literal_refused(struct arena *arena, const char *type, const char *settings,
    const char *path, const char *reason)
{
	const char *found = "", *error = "";

	ck_assert_ptr_null(
	    registry_use(arena, type, literal(arena, settings), &found, &error));
	ck_assert_str_eq(found, path);
	ck_assert_has(error, reason);
}
