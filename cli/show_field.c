#include "show_field.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "show.h"
#include "tame.h"

#define LINES_MAX 5u  /* of a value */
#define FILES_MAX 50u /* of a thread */
#define NAME_WIDTH 64u

/* {path: {content, ...}}, as middleware/builtin/backend.h has them. */
static bool
are_files(const char *name, const struct value *value)
{
	static const char *const names[] = { "files", "text_editor_files",
		"memory_files" };
	size_t count = sizeof names / sizeof *names, i = 0;

	while (i < count && strcmp(names[i], name) != 0)
		i++;
	if (i == count || !value_is(value, VALUE_MAP) || value->size == 0)
		return false;
	for (i = 0; i < value->size; i++)
		if (!value_has(value->pairs[i].value, "content"))
			return false;
	return true;
}

static uint64_t
file_size(const struct value *file)
{
	const struct value *content = value_get(file, "content");
	uint64_t size = 0;
	size_t i;

	if (value_is(content, VALUE_STR))
		return content->size;
	for (i = 0; i < value_size(content); i++)
		size += value_at(content, i)->size + 1; /* a line */
	return size;
}

static const char *
file_words(struct arena *arena, const struct value *files, size_t at)
{
	const struct value *file = files->pairs[at].value;
	bool encoded = value_text_is(value_get(file, "encoding"), "base64");

	return arena_printf(arena, "%s (%s%s)", value_text(files->pairs[at].key),
	    show_count(arena, file_size(file), "byte"), encoded ? " of base64" : "");
}

static void
show_files(struct arena *arena, const struct value *files)
{
	size_t i;

	for (i = 0; i < files->size && i < FILES_MAX; i++)
		printf("  %s\n",
		    show_line(arena, file_words(arena, files, i), show_rest(2)));
	if (files->size > FILES_MAX)
		printf("  and %zu more\n", (size_t)files->size - FILES_MAX);
}

void
show_field(struct arena *arena, const char *name, const struct value *value)
{
	printf("%s:\n", show_line(arena, name, show_rest(1)));
	if (strcmp(name, "todos") == 0)
		show_todos(arena, value, "  ");
	else if (are_files(name, value))
		show_files(arena, value);
	else
		printf("  %s\n", show_line(arena, tame_json(arena, value),
				     LINES_MAX * show_width() - 2));
}

void
show_field_written(
    struct arena *arena, const char *name, const struct value *value, const char *indent)
{
	const char *text = "";
	size_t i;

	name = show_line(arena, name, NAME_WIDTH);
	if (strcmp(name, "todos") == 0) {
		printf("%stodos:\n", indent);
		show_todos(arena, value, arena_printf(arena, "%s  ", indent));
		return;
	}
	if (are_files(name, value))
		for (i = 0; i < value->size && i < FILES_MAX; i++)
			text = arena_printf(arena, "%s%s%s", text, i > 0 ? ", " : "",
			    file_words(arena, value, i));
	else
		text = tame_json(arena, value);
	printf("%s%s = %s\n", indent, name,
	    show_line(arena, text, show_rest(strlen(indent) + strlen(name) + 3)));
}
