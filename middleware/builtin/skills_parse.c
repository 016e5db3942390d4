/* The beginning of a SKILL.md. */
#include "skills.h"

#include <ctype.h>
#include <string.h>

#include "json.h"
#include "pattern.h"
#include "utf8.h"
#include "yaml_file.h"

/* --- the YAML -------------------------------------------------------------------------- */

/* The size of the line at text when it is three hyphens, its end with it; 0: it is not. */
static size_t
marker(const char *text, size_t size)
{
	size_t at = 3;

	if (size < 3 || memcmp(text, "---", 3) != 0)
		return 0;
	while (at < size && text[at] != '\n' && isspace((unsigned char)text[at]))
		at++;
	if (at < size && text[at] != '\n')
		return 0;
	return at < size ? at + 1 : at;
}

/* Where the YAML at text, behind its first marker, ends: at the second one. NULL: nowhere. */
static const char *
end_of(const char *text, size_t size)
{
	const char *at = text, *end = text + size, *line;

	while (at < end) {
		if (marker(at, (size_t)(end - at)) > 0)
			return at;
		line = memchr(at, '\n', (size_t)(end - at));
		if (line == NULL || (size_t)(line - text) > SKILL_HEAD_BYTES_MAX)
			return NULL;
		at = line + 1;
	}
	return NULL;
}

/* The map in front of the text; NULL with *error_r. */
static const struct value *
head_of(struct arena *arena, const char *path, const char *text, size_t size,
    const char **error_r)
{
	const struct value *head = NULL;
	const char *end, *lines;
	struct yaml *yaml;
	size_t begin;

	if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		size -= 3;
	}
	begin = marker(text, size);
	end = begin == 0 ? NULL : end_of(text + begin, size - begin);
	if (end == NULL) {
		*error_r = arena_printf(
		    arena, "%s does not begin with YAML between two lines of ---", path);
		return NULL;
	}
	/* A line in the marker's place, so that reasons name the file's lines. */
	lines = arena_printf(
	    arena, "\n%.*s", (int)(end - text - (ptrdiff_t)begin), text + begin);
	yaml = yaml_parse(arena, path, lines, strlen(lines), error_r);
	if (yaml != NULL && yaml_count(yaml) > 0)
		head = yaml_root(yaml, 0);
	if (yaml != NULL && !value_is(head, VALUE_MAP)) {
		*error_r = arena_printf(arena, "%s: its YAML is no map", path);
		head = NULL;
	}
	yaml_destroy(&yaml);
	return head;
}

/* --- what it says ---------------------------------------------------------------------- */

/* A value as text, without the white space around it; "" for none, as for null. */
static const char *
text_of(struct arena *arena, const struct value *value)
{
	const char *text = value_text(value);
	size_t size;

	if (value_is_nil(value))
		return "";
	if (text == NULL)
		text = json_text(arena, value);
	while (isspace((unsigned char)*text))
		text++;
	for (size = strlen(text); size > 0 && isspace((unsigned char)text[size - 1]);)
		size--;
	return arena_copy(arena, text, size);
}

static const struct value *
text_or_nil(struct arena *arena, const char *text)
{
	return *text == '\0' ? value_nil() : value_str(arena, text);
}

static const char *
cut(struct arena *arena, const char *text, size_t most)
{
	return arena_copy(arena, text, utf8_first(text, strlen(text), most));
}

/* "a b, c" */
static void
add_words(struct value_list *list, const char *text)
{
	static const char between[] = " \t\r\n,";

	for (text += strspn(text, between); *text != '\0';
	     text += strspn(text, between)) {
		size_t size = strcspn(text, between);

		value_list_add(list, value_strn(list->arena, text, size));
		text += size;
	}
}

static const struct value *
tools_of(struct arena *arena, const struct value *given)
{
	struct value_list list = { .arena = arena };
	size_t i;

	if (value_is(given, VALUE_STR))
		add_words(&list, value_text(given));
	for (i = 0; value_is(given, VALUE_ARRAY) && i < given->size; i++) {
		const char *name = text_of(arena, given->items[i]);

		if (*name != '\0')
			value_list_add(&list, value_str(arena, name));
	}
	return value_list_end(&list);
}

/* Texts by texts, whatever they were. */
static const struct value *
metadata_of(struct arena *arena, const struct value *given)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	for (i = 0; value_is(given, VALUE_MAP) && i < given->size; i++)
		value_fields_put(&fields, given->pairs[i].key,
		    value_str(arena, text_of(arena, given->pairs[i].value)));
	return value_fields_end(&fields);
}

/* --- what it should be ------------------------------------------------------------------ */

static bool
is_name(struct arena *arena, const char *name)
{
	static const char text[] = "^[\\p{Ll}\\p{Nd}]+(?:-[\\p{Ll}\\p{Nd}]+)*$";
	const char *error;
	struct pattern *pattern = pattern_new(arena, text, sizeof text - 1, &error);
	bool is = pattern != NULL &&
		  pattern_find(pattern, name, strlen(name), 0, NULL, NULL) == 1;

	pattern_destroy(&pattern);
	return is;
}

static const char *
flaw_of_name(struct arena *arena, const char *path, const char *name, const char *folder)
{
	size_t size = strlen(name);

	if (utf8_first(name, size, SKILL_NAME_CHARS_MAX) < size)
		return arena_printf(arena, "%s: the name has more than %u characters",
		    path, SKILL_NAME_CHARS_MAX);
	if (!is_name(arena, name))
		return arena_printf(arena,
		    "%s: the name '%s' is not of small letters, digits and single "
		    "hyphens",
		    path, name);
	if (strcmp(name, folder) != 0)
		return arena_printf(
		    arena, "%s: the name '%s' is not the folder's", path, name);
	return NULL;
}

const struct value *
skill_parse(struct arena *arena, const char *path, const char *folder, const char *text,
    size_t size, const char **warning_r, const char **error_r)
{
	const struct value *head = head_of(arena, path, text, size, error_r);
	const char *name, *description, *compatibility;

	if (head == NULL)
		return NULL;
	name = text_of(arena, value_get(head, "name"));
	description = text_of(arena, value_get(head, "description"));
	compatibility = text_of(arena, value_get(head, "compatibility"));
	if (*name == '\0' || *description == '\0') {
		*error_r = arena_printf(
		    arena, "%s has no %s", path, *name == '\0' ? "name" : "description");
		return NULL;
	}
	*warning_r = flaw_of_name(arena, path, name, folder);
	return value_map(arena, "name", value_str(arena, name), "description",
	    value_str(arena, cut(arena, description, SKILL_DESCRIPTION_CHARS_MAX)),
	    "path", value_str(arena, path), "license",
	    text_or_nil(arena, text_of(arena, value_get(head, "license"))),
	    "compatibility",
	    text_or_nil(arena, cut(arena, compatibility, SKILL_COMPATIBILITY_CHARS_MAX)),
	    "metadata", metadata_of(arena, value_get(head, "metadata")), "allowed_tools",
	    tools_of(arena, value_get(head, "allowed-tools")), NULL);
}
