#include "backend_bench.h"

#include <check.h>
#include <string.h>

#include "literal.h"

struct backend_bench desk;

/* --- long-term memory ------------------------------------------------------------------- */

static const char *
joined(const struct value *labels)
{
	const char *text = "";
	size_t i;

	for (i = 0; i < value_size(labels); i++)
		text = arena_printf(desk.arena, "%s%s%s", text, i == 0 ? "" : " ",
		    value_text(value_at(labels, i)));
	return text;
}

static const struct value *
split(const char *text)
{
	struct value_list labels = { .arena = desk.arena };
	size_t size;

	for (; *text != '\0'; text += size + strspn(text + size, " ")) {
		size = strcspn(text, " ");
		value_list_add(&labels, value_strn(desk.arena, text, size));
	}
	return value_list_end(&labels);
}

static const struct value *
item_of(const char *namespace, const struct value_pair *pair)
{
	return value_map(desk.arena, "namespace", split(namespace), "key", pair->key,
	    "value", pair->value, NULL);
}

/* All items whose namespace begins with prefix, from offset, at most limit. */
static const struct value *
search(const char *prefix, int64_t offset, int64_t limit)
{
	struct value_list items = { .arena = desk.arena };
	size_t i, j;
	int64_t at = 0;

	for (i = 0; i < value_size(desk.memory); i++) {
		const struct value_pair *space = &desk.memory->pairs[i];

		if (strncmp(space->key->text, prefix, strlen(prefix)) != 0)
			continue;
		for (j = 0; j < value_size(space->value); j++, at++)
			if (at >= offset && at < offset + limit)
				value_list_add(&items,
				    item_of(space->key->text, &space->value->pairs[j]));
	}
	return value_map(desk.arena, "items", value_list_end(&items), NULL);
}

static const struct value *
on_store(struct turn *turn, const struct value *op)
{
	struct arena *arena = desk.arena;
	const char *name = value_get_text(op, "op"), *key = value_get_text(op, "key");
	const char *space = joined(value_get(op, "namespace"));
	const struct value *items = value_get(desk.memory, space), *item;

	(void)turn;
	if (desk.memory == NULL)
		return value_map(arena, "fault",
		    fault_to_value(
			arena, fault_new(arena, "ConnectionError", "nobody is there")),
		    NULL);
	if (strcmp(name, "search") == 0)
		return search(space, value_get_int(op, "offset", 0),
		    value_get_int(op, "limit", 10));
	item = value_get(items, key);
	if (strcmp(name, "get") == 0)
		return item == NULL ? value_empty_map()
				    : value_map(arena, "item",
					  value_map(arena, "value", item, NULL), NULL);
	desk.memory = value_map_with(arena, desk.memory, space,
	    value_map_with(arena, items, key, value_get(op, "value")));
	return value_empty_map();
}

/* --- a backend -------------------------------------------------------------------------- */

/* Opens the backend of setting, with these files in the state. */
void
desk_use(const char *setting, const char *files)
{
	desk.use.settings =
	    literal(desk.arena, arena_printf(desk.arena, "{'backend': %s}", setting));
	desk.turn.arena = desk.arena;
	desk.turn.use = &desk.use;
	desk.turn.store = on_store;
	desk.turn.state =
	    literal(desk.arena, arena_printf(desk.arena, "{'files': %s}", files));
	backend_of_turn(&desk.backend, &desk.turn, NULL);
}

void
desk_open(void)
{
	memset(&desk, 0, sizeof desk);
	desk.arena = arena_new();
	desk.memory = value_empty_map();
	desk_use("'state'", "{}");
}

void
desk_close(void)
{
	arena_destroy(&desk.arena);
}

const char *
desk_read(const char *path)
{
	struct backend_file file;
	enum backend_end end = backend_read(&desk.backend, path, &file);

	if (end != BACKEND_DONE)
		return end == BACKEND_MISSING ? "missing" : desk.backend.error;
	ck_assert(!file.is_base64);
	return value_text(file.content);
}

void
desk_write(const char *path, const char *text)
{
	enum backend_end end =
	    backend_write(&desk.backend, path, value_str(desk.arena, text));

	ck_assert_msg(end == BACKEND_DONE, "%s: %s", path, desk.backend.error);
}

enum backend_end
desk_edit(const char *path, const char *old, const char *new, bool all, size_t *count_r)
{
	return backend_edit(&desk.backend, path, value_str(desk.arena, old),
	    value_str(desk.arena, new), all, count_r);
}

/* "path path/ path" of a list. */
static const char *
paths_of(const struct backend_list *list)
{
	const char *text = "";
	size_t i;

	for (i = 0; i < value_size(list->items); i++)
		text = arena_printf(desk.arena, "%s%s%s", text, i == 0 ? "" : " ",
		    value_get_text(value_at(list->items, i), "path"));
	return text;
}

const char *
desk_ls(const char *path)
{
	struct backend_list list;

	ck_assert_int_eq(backend_ls(&desk.backend, path, &list), BACKEND_DONE);
	return paths_of(&list);
}

const char *
desk_glob(const char *pattern, const char *path)
{
	struct backend_list list;

	if (backend_glob(&desk.backend, pattern, path, &list) != BACKEND_DONE)
		return desk.backend.error;
	return paths_of(&list);
}

/* "path:line:text ..." */
const char *
desk_grep(const char *text, const char *path, const char *names, size_t most)
{
	struct backend_list list;
	const char *lines = "";
	size_t i;

	if (backend_grep(&desk.backend, value_str(desk.arena, text), path, names, most,
		&list) != BACKEND_DONE)
		return desk.backend.error;
	for (i = 0; i < value_size(list.items); i++) {
		const struct value *match = value_at(list.items, i);

		lines = arena_printf(desk.arena, "%s%s%s:%d:%s", lines, i == 0 ? "" : " ",
		    value_get_text(match, "path"), (int)value_get_int(match, "line", 0),
		    value_get_text(match, "text"));
	}
	return list.is_cut ? arena_printf(desk.arena, "%s ...", lines) : lines;
}
