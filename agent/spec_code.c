/* Code that a middleware's settings name as a file: read when the agent's file is, so that
 * the stored agent is whole. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "loader.h"

#define CODE_BYTES_MAX (256u << 10)

/* "hooks/limit.lua" named in "agents/a.yaml" is "agents/hooks/limit.lua". */
static const char *
path_beside(struct arena *arena, const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	if (name[0] == '/' || slash == NULL)
		return name;
	return arena_printf(arena, "%.*s/%s", (int)(slash - path), path, name);
}

static const struct value *
read_code(struct arena *arena, const char *path, const char **error_r)
{
	char *text = arena_alloc(arena, CODE_BYTES_MAX + 1);
	FILE *file = fopen(path, "re");
	size_t size = 0;
	bool failed = file == NULL;

	errno = file == NULL ? errno : 0;
	if (file != NULL) {
		size = fread(text, 1, CODE_BYTES_MAX + 1, file);
		failed = ferror(file) != 0;
		fclose(file);
	}
	*error_r = NULL;
	if (failed)
		*error_r = arena_printf(arena, "%s: %s", path, strerror(errno));
	else if (size > CODE_BYTES_MAX)
		*error_r = arena_printf(
		    arena, "%s: more than %u bytes of code", path, CODE_BYTES_MAX);
	return *error_r == NULL ? value_strn(arena, text, size) : NULL;
}

/* Returns entry with the code of its `file`, entry itself when it has none to read, or
 * NULL. */
static const struct value *
with_code(struct arena *arena, const struct value *entry, const char *path,
    const char **error_r)
{
	const struct value *settings = value_get(entry, "lua"), *code;
	const char *name = value_get_text(settings, "file");

	if (name == NULL || value_size(entry) != 1 ||
	    !value_is_nil(value_get(settings, "code")))
		return entry;
	code = read_code(arena, path_beside(arena, path, name), error_r);
	if (code == NULL)
		return NULL;
	return value_map(
	    arena, "lua", value_map_with(arena, settings, "code", code), NULL);
}

const struct value *
load_code(struct arena *arena, const struct value *source, const char *path,
    const char **at_r, const char **error_r)
{
	const struct value *list = value_get(source, "middleware");
	struct value_list entries = { .arena = arena };
	bool changed = false;
	size_t i;

	if (!value_is(list, VALUE_ARRAY))
		return source;
	for (i = 0; i < list->size; i++) {
		const struct value *entry =
		    with_code(arena, list->items[i], path, error_r);

		if (entry == NULL) {
			*at_r = arena_printf(arena, "/middleware/%zu/lua/file", i);
			return NULL;
		}
		changed |= entry != list->items[i];
		value_list_add(&entries, entry);
	}
	if (!changed)
		return source;
	return value_map_with(arena, source, "middleware", value_list_end(&entries));
}
