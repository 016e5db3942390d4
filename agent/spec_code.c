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

/* --- where middleware is listed --------------------------------------------------------- */

/* What is read for one file; at is filled where it fails. */
struct reading {
	struct arena *arena;
	const char *path; /* of the agent's file */
	const char *at, *error;
};

static const struct value *in_list(
    struct reading *reading, const struct value *list, const char *at);

static const struct value *
in_key(struct reading *reading, const struct value *map, const char *key, const char *at)
{
	const struct value *list = value_get(map, key), *read;

	if (!value_is(list, VALUE_ARRAY))
		return map;
	read = in_list(reading, list, arena_printf(reading->arena, "%s/%s", at, key));
	if (read == NULL)
		return NULL;
	return read == list ? map : value_map_with(reading->arena, map, key, read);
}

/* The agents under `subagents`, of a map that is at at. */
static const struct value *
in_subagents(struct reading *reading, const struct value *map, const char *at)
{
	const struct value *list = value_get(map, "subagents");
	struct value_list read = { .arena = reading->arena };
	bool changed = false;
	size_t i;

	if (!value_is(list, VALUE_ARRAY))
		return map;
	for (i = 0; i < list->size; i++) {
		const struct value *agent = in_key(reading, list->items[i], "middleware",
		    arena_printf(reading->arena, "%s/subagents/%zu", at, i));

		if (agent == NULL)
			return NULL;
		changed |= agent != list->items[i];
		value_list_add(&read, agent);
	}
	return changed ? value_map_with(
			     reading->arena, map, "subagents", value_list_end(&read))
		       : map;
}

/* An entry that has agents of its own. */
static const struct value *
in_subagent(struct reading *reading, const struct value *entry, const char *at)
{
	const struct value *settings = value_get(entry, "subagent"), *read;

	if (!value_is(settings, VALUE_MAP) || value_size(entry) != 1)
		return entry;
	at = arena_printf(reading->arena, "%s/subagent", at);
	read = in_subagents(reading, settings, at);
	if (read != NULL)
		read = in_key(reading, read, "default_middleware", at);
	if (read == NULL)
		return NULL;
	return read == settings ? entry
				: value_map(reading->arena, "subagent", read, NULL);
}

static const struct value *
in_list(struct reading *reading, const struct value *list, const char *at)
{
	struct value_list entries = { .arena = reading->arena };
	bool changed = false;
	size_t i;

	for (i = 0; i < list->size; i++) {
		const char *place = arena_printf(reading->arena, "%s/%zu", at, i);
		const struct value *entry = with_code(
		    reading->arena, list->items[i], reading->path, &reading->error);

		if (entry == NULL)
			reading->at = arena_printf(reading->arena, "%s/lua/file", place);
		else
			entry = in_subagent(reading, entry, place);
		if (entry == NULL)
			return NULL;
		changed |= entry != list->items[i];
		value_list_add(&entries, entry);
	}
	return changed ? value_list_end(&entries) : list;
}

const struct value *
load_code(struct arena *arena, const struct value *source, const char *path,
    const char **at_r, const char **error_r)
{
	struct reading reading = { .arena = arena, .path = path };
	const struct value *deep = value_get(source, "deep_agent"), *read;

	if (!value_is(source, VALUE_MAP))
		return source;
	read = in_key(&reading, source, "middleware", "");
	if (read != NULL && value_is(deep, VALUE_MAP)) {
		const struct value *with = in_subagents(&reading, deep, "/deep_agent");

		if (with == NULL)
			read = NULL;
		else if (with != deep)
			read = value_map_with(arena, read, "deep_agent", with);
	}
	*at_r = reading.at;
	*error_r = reading.error;
	return read;
}
