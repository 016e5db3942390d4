#include "match.h"

#include <string.h>

#include "json.h"

#define ANY "<any>"
#define CONTAINS "<contains:"
#define UNORDERED "<unordered>"
#define SHOWN_BYTES 400

/* Two ways to compare maps: every field, or those that are given. */
enum fields { FIELDS_EXACT, FIELDS_GIVEN };

static const char *match(struct arena *arena, const char *place,
    const struct value *expected, const struct value *actual, enum fields fields);

static const char *
difference(struct arena *arena, const char *place, const struct value *expected,
    const struct value *actual)
{
	return arena_printf(arena, "%s: expected %.*s, got %.*s", place, SHOWN_BYTES,
	    json_text(arena, expected), SHOWN_BYTES, json_text(arena, actual));
}

static bool
is_any(const struct value *value)
{
	return value_text_is(value, ANY);
}

/* Empty content is "", null or absent. */
static bool
is_empty(const struct value *value)
{
	return value_is_nil(value) || (value_is(value, VALUE_STR) && value->size == 0);
}

static bool
text_matches(const struct value *expected, const struct value *actual)
{
	const char *wanted = value_text(expected), *text = value_text(actual);
	size_t prefix = strlen(CONTAINS);

	if (strncmp(wanted, CONTAINS, prefix) == 0 && wanted[strlen(wanted) - 1] == '>') {
		size_t size = strlen(wanted) - prefix - 1;

		return text != NULL &&
		       memmem(text, strlen(text), wanted + prefix, size) != NULL;
	}
	return value_equal(expected, actual);
}

const char *
match_text(
    struct arena *arena, const char *place, const char *expected, const char *actual)
{
	return match(arena, place, value_str(arena, expected),
	    actual != NULL ? value_str(arena, actual) : value_nil(), FIELDS_EXACT);
}

/* --- lists --------------------------------------------------------------------------------- */

static bool
is_unordered(const struct value *list)
{
	return value_is(list, VALUE_ARRAY) && value_text_is(value_at(list, 0), UNORDERED);
}

/* Elements that an element of an expected list stands for. */
static size_t
width(const struct value *element)
{
	return is_unordered(element) ? value_size(element) - 1 : 1;
}

/* Finds a partner for each wanted element: depth first, so that a loose pattern does not take
 * the partner of a strict one. */
static bool
assign(struct arena *arena, const struct value *wanted, size_t next,
    const struct value *actual, size_t from, bool *taken, enum fields fields)
{
	size_t count = value_size(wanted), i;

	if (next == count)
		return true;
	for (i = 0; i < count - 1; i++) {
		if (taken[i] || match(arena, "", value_at(wanted, next),
				    value_at(actual, from + i), fields) != NULL)
			continue;
		taken[i] = true;
		if (assign(arena, wanted, next + 1, actual, from, taken, fields))
			return true;
		taken[i] = false;
	}
	return false;
}

static const char *
match_unordered(struct arena *arena, const char *place, const struct value *wanted,
    const struct value *actual, size_t from, enum fields fields)
{
	size_t count = value_size(wanted) - 1;
	bool *taken = arena_alloc(arena, (count + 1) * sizeof *taken);

	if (from + count > value_size(actual) ||
	    !assign(arena, wanted, 1, actual, from, taken, fields))
		return difference(arena, place, wanted,
		    value_array_slice(arena, actual, from, from + count));
	return NULL;
}

static const char *
match_list(struct arena *arena, const char *place, const struct value *expected,
    const struct value *actual, enum fields fields)
{
	size_t length = 0, at = 0, i;

	if (!value_is(actual, VALUE_ARRAY) && !value_is_nil(actual))
		return difference(arena, place, expected, actual);
	for (i = 0; i < value_size(expected); i++)
		length += width(value_at(expected, i));
	if (is_unordered(expected))
		length = value_size(expected) - 1;
	if (length != value_size(actual))
		return arena_printf(arena, "%s: expected %zu elements, got %zu: %.*s",
		    place, length, value_size(actual), SHOWN_BYTES,
		    json_text(arena, actual));
	if (is_unordered(expected))
		return match_unordered(arena, place, expected, actual, 0, fields);
	for (i = 0; i < value_size(expected); i++) {
		const struct value *element = value_at(expected, i);
		const char *where = arena_printf(arena, "%s[%zu]", place, at);
		const char *found =
		    is_unordered(element)
			? match_unordered(arena, where, element, actual, at, fields)
			: match(arena, where, element, value_at(actual, at), fields);

		if (found != NULL)
			return found;
		at += width(element);
	}
	return NULL;
}

/* --- maps ------------------------------------------------------------------------------------ */

/* A message's and a request's message's content may be empty in three ways. Arguments and
 * everything below a name like them are exact. */
static enum fields
fields_below(const char *key, enum fields fields)
{
	static const char *const exact[] = { "args", "state", "structured_response",
		"seen", "trace" };
	size_t i;

	for (i = 0; i < sizeof exact / sizeof *exact; i++)
		if (strcmp(exact[i], key) == 0)
			return FIELDS_EXACT;
	return fields;
}

static const char *
match_map(struct arena *arena, const char *place, const struct value *expected,
    const struct value *actual, enum fields fields)
{
	size_t i;

	if (!value_is(actual, VALUE_MAP) && !value_is_nil(actual))
		return difference(arena, place, expected, actual);
	for (i = 0; i < value_size(expected); i++) {
		const char *key = value_text(expected->pairs[i].key);
		const struct value *wanted = expected->pairs[i].value;
		const struct value *given = value_get(actual, key);
		const char *found;

		if (fields == FIELDS_GIVEN && strcmp(key, "content") == 0 &&
		    is_empty(wanted) && is_empty(given))
			continue;
		found = match(arena, arena_printf(arena, "%s.%s", place, key), wanted,
		    given, fields_below(key, fields));
		if (found != NULL)
			return found;
	}
	for (i = 0; fields == FIELDS_EXACT && i < value_size(actual); i++) {
		const char *key = value_text(actual->pairs[i].key);

		if (!value_has(expected, key) && !value_is_nil(actual->pairs[i].value))
			return arena_printf(arena, "%s.%s: not expected, got %.*s", place,
			    key, SHOWN_BYTES, json_text(arena, actual->pairs[i].value));
	}
	/* A message without tool_calls must have none. */
	if (fields == FIELDS_GIVEN &&
	    (value_has(expected, "type") || value_has(expected, "role")) &&
	    !value_has(expected, "tool_calls") &&
	    value_size(value_get(actual, "tool_calls")) > 0)
		return arena_printf(arena, "%s.tool_calls: expected none, got %.*s",
		    place, SHOWN_BYTES,
		    json_text(arena, value_get(actual, "tool_calls")));
	return NULL;
}

static const char *
match(struct arena *arena, const char *place, const struct value *expected,
    const struct value *actual, enum fields fields)
{
	if (is_any(expected))
		return NULL;
	if (value_is(expected, VALUE_ARRAY))
		return match_list(arena, place, expected, actual, fields);
	if (value_is(expected, VALUE_MAP))
		return match_map(arena, place, expected, actual, fields);
	if (value_is(expected, VALUE_STR))
		return text_matches(expected, actual)
			   ? NULL
			   : difference(arena, place, expected, actual);
	if (value_is_nil(expected) && value_is_nil(actual))
		return NULL;
	return value_equal(expected, actual) ? NULL
					     : difference(arena, place, expected, actual);
}

const char *
match_step(struct arena *arena, const struct value *expected, const struct value *actual)
{
	static const struct {
		const char *name;
		enum fields fields;
	} parts[] = { { "status", FIELDS_EXACT }, { "error", FIELDS_EXACT },
		{ "messages", FIELDS_GIVEN }, { "state", FIELDS_EXACT },
		{ "structured_response", FIELDS_EXACT }, { "interrupts", FIELDS_GIVEN },
		{ "requests", FIELDS_GIVEN }, { "trace", FIELDS_EXACT },
		{ "tool_calls", FIELDS_EXACT }, { "seen", FIELDS_EXACT } };
	size_t i;

	for (i = 0; i < sizeof parts / sizeof *parts; i++) {
		const char *found;

		if (!value_has(expected, parts[i].name))
			continue;
		found = match(arena, parts[i].name, value_get(expected, parts[i].name),
		    value_get(actual, parts[i].name), parts[i].fields);
		if (found != NULL)
			return found;
	}
	return NULL;
}
