#include "item_index.h"

#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "json.h"
#include "utf8.h"

/* --- fields --------------------------------------------------------------------------- */

static bool
is_field(const struct value *field)
{
	return value_is(field, VALUE_STR) && field->size > 0 &&
	       field->size <= ITEM_INDEX_BYTES_MAX;
}

int
item_index_check(struct arena *arena, const struct value *index, const char **error_r)
{
	size_t i = 0;

	if (value_is_nil(index) || (value_is(index, VALUE_BOOL) && !value_truthy(index)))
		return 0;
	while (i < value_size(index) && is_field(value_at(index, i)))
		i++;
	if (value_is(index, VALUE_ARRAY) && i == value_size(index) && i <= ITEM_INDEX_MAX)
		return 0;
	*error_r = arena_printf(arena,
	    "index: must be false, or a list of at most %u fields of up to %u bytes",
	    ITEM_INDEX_MAX, ITEM_INDEX_BYTES_MAX);
	return -1;
}

static const struct value *follow(
    struct arena *arena, const struct value *value, const char *path);

/* What the path names of each of the list's. */
static const struct value *
follow_all(struct arena *arena, const struct value *list, const char *path)
{
	struct value_list found = { .arena = arena };
	size_t i;

	for (i = 0; value_is(list, VALUE_ARRAY) && i < value_size(list); i++) {
		const struct value *one = follow(arena, value_at(list, i), path);

		if (!value_is_nil(one))
			value_list_add(&found, one);
	}
	list = value_list_end(&found);
	return value_size(list) > 0 ? list : NULL;
}

/* The one that "[n]" at path names. *path_p moves behind it. */
static const struct value *
follow_number(const struct value *list, const char **path_p)
{
	const long long count = (long long)value_size(list);
	char *end;
	long long at = strtoll(*path_p + 1, &end, 10);

	if (end == *path_p + 1 || *end != ']' || !value_is(list, VALUE_ARRAY))
		return NULL;
	*path_p = end + 1;
	at = at < 0 ? at + count : at;
	return at >= 0 && at < count ? value_at(list, (size_t)at) : NULL;
}

static const struct value *
follow(struct arena *arena, const struct value *value, const char *path)
{
	size_t size;

	while (*path != '\0' && value != NULL) {
		if (strncmp(path, "[*]", 3) == 0) {
			path += 3;
			path += *path == '.';
			return follow_all(arena, value, path);
		}
		if (*path == '[') {
			value = follow_number(value, &path);
		} else {
			size = strcspn(path, ".[");
			value = value_get(value, arena_copy(arena, path, size));
			path += size;
		}
		path += *path == '.';
	}
	return value;
}

/* The field of value, in arena; NULL when there is none, or it is null. */
static const struct value *
item_field(struct arena *arena, const struct value *value, const char *field)
{
	const struct value *found = value_get(value, field);

	if (found == NULL)
		found = strcmp(field, "$") == 0 ? value : follow(arena, value, field);
	return value_is_nil(found) ? NULL : found;
}

/* --- texts ---------------------------------------------------------------------------- */

static const struct value *
chosen(struct arena *arena, const struct value *value, const struct value *fields)
{
	const struct value *map = value_empty_map(), *field;
	size_t i;

	for (i = 0; i < value_size(fields); i++) {
		const char *name = value_text(value_at(fields, i));

		field = name != NULL ? item_field(arena, value, name) : NULL;
		if (field != NULL)
			map = value_map_with(arena, map, name, field);
	}
	return map;
}

/* What a model would refuse, and all other texts of that call with it, or could say nothing of. */
static bool
is_blank(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '\0';
}

const char *
item_index_text(
    struct arena *arena, const struct value *value, const struct value *fields)
{
	const struct value *only;
	const bool is_whole =
	    value_size(fields) == 0 || value_text_is(value_at(fields, 0), "$");
	const char *text;

	if (!is_whole)
		value = chosen(arena, value, fields);
	if (value_size(value) == 0)
		return NULL;
	only = value->pairs[0].value;
	if (!is_whole && value_size(fields) == 1 && value_is(only, VALUE_STR))
		text = value_text(only);
	else
		text = json_beginning(arena, value, EMBEDDED_TEXT_BYTES_MAX);
	text = arena_copy(
	    arena, text, utf8_prefix(text, strlen(text), EMBEDDED_TEXT_BYTES_MAX));
	return is_blank(text) ? NULL : text;
}
