/* A backend as its callers see it: operations, the way to the part that a path is in, and back. */
#include "backend_part.h"

#include <string.h>

#include "file_glob.h"
#include "loop.h"

/* --- an operation in a part ------------------------------------------------------------- */

/* files with what changed folded in, as the field's reducer does it. */
static const struct value *
folded(struct arena *arena, const struct value *files, const struct value *changed)
{
	const struct value *merged = value_map_merge(arena, files, changed);
	struct value_fields fields = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(merged); i++)
		if (!value_is_nil(merged->pairs[i].value))
			value_fields_put(
			    &fields, merged->pairs[i].key, merged->pairs[i].value);
	return value_fields_end(&fields);
}

static size_t
bytes_of(const struct value *files)
{
	size_t i, bytes = 0;

	for (i = 0; i < value_size(files); i++)
		bytes += files->pairs[i].key->size +
			 value_size(value_get(files->pairs[i].value, "content"));
	return bytes;
}

static const struct value *
do_in_state(struct backend *backend, const struct value *op)
{
	struct arena *arena = backend->arena;
	const struct value *changed, *files;
	const struct value *answer = backend_map_do(arena, backend->state, op, &changed);

	if (changed == NULL)
		return answer;
	files = folded(arena, backend->state, changed);
	if (bytes_of(files) > BACKEND_STATE_BYTES_MAX &&
	    bytes_of(files) > bytes_of(backend->state))
		return backend_refusal(arena,
		    "the files of this thread would have more than %u bytes together: "
		    "delete what is no longer needed",
		    BACKEND_STATE_BYTES_MAX);
	backend->state = files;
	backend->update = value_map_merge(arena, backend->update, changed);
	return answer;
}

const struct value *
backend_do(
    struct backend *backend, const struct backend_part *part, const struct value *op)
{
	if (strcmp(part->kind, "state") == 0)
		return do_in_state(backend, op);
	if (strcmp(part->kind, "store") == 0)
		return backend_store_do(backend, part, op);
	return backend->caller->folder(backend, part, op);
}

/* --- routes ----------------------------------------------------------------------------- */

static const struct value *
items_outside(struct arena *arena, const struct value *op, const struct value *items)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(items); i++) {
		const char *path = value_get_text(items->items[i], "path");

		value_list_add(
		    &list, value_map_with(arena, items->items[i], "path",
			       value_str(arena, backend_outside(arena, op, path))));
	}
	return value_list_end(&list);
}

/* What a part answers, as it is seen from outside of its route. */
static const struct value *
ask_part(struct backend *backend, const struct backend_part *part, const char *path,
    const struct value *op)
{
	struct arena *arena = backend->arena;
	const struct value *answer, *items;

	op = value_map_with(arena, op, "path", value_str(arena, path));
	if (part->route[0] == '\0')
		return backend_do(backend, part, op);
	op = value_map_with(arena, op, "route", value_str(arena, part->route));
	answer = backend_do(backend, part, op);
	items = value_get(answer, "items");
	return items == NULL ? answer
			     : value_map_with(arena, answer, "items",
				   items_outside(arena, op, items));
}

static bool
is_beneath(const char *route, const char *path)
{
	size_t size = strcmp(path, "/") == 0 ? 0 : strlen(path);

	return strncmp(route, path, size) == 0 && route[size] == '/' &&
	       route[size + 1] != '\0';
}

static bool
has_path(const struct value *items, const char *path)
{
	size_t i;

	for (i = 0; i < value_size(items); i++)
		if (value_text_is(value_get(items->items[i], "path"), path))
			return true;
	return false;
}

/* items with the folder in path that leads to route. */
static const struct value *
with_folder(
    struct arena *arena, const struct value *items, const char *path, const char *route)
{
	size_t size = strcmp(path, "/") == 0 ? 0 : strlen(path);
	const char *slash = strchr(route + size + 1, '/');
	const char *folder = arena_copy(arena, route, (size_t)(slash + 1 - route));
	struct backend_entries entries = { .arena = arena };

	if (has_path(items, folder))
		return items;
	backend_entry_add(&entries, folder, true, 0, NULL);
	return value_array_concat(
	    arena, items, value_get(backend_entries_end(&entries), "items"));
}

/* The files of items whose path from the folder path matches pattern; *is_cut_p: not all were looked at. */
static const struct value *
that_match(struct arena *arena, const struct value *items, const char *path,
    const char *pattern, bool *is_cut_p)
{
	const char *error = "";
	const struct file_glob *glob = file_glob_parse(arena, pattern, &error);
	uint64_t end_us = loop_now_us() + BACKEND_LOOP_US;
	size_t size = strcmp(path, "/") == 0 ? 0 : strlen(path), i;
	struct value_list list = { .arena = arena };

	for (i = 0; glob != NULL && i < value_size(items); i++) {
		if (loop_now_us() > end_us) {
			*is_cut_p = true;
			break;
		}
		if (file_glob_matches(
			glob, value_get_text(items->items[i], "path") + size + 1))
			value_list_add(&list, items->items[i]);
	}
	return value_list_end(&list);
}

/* The op for a route below its path, of glob or grep: a pattern of paths means those from outside, *pattern_r is
 * what the items are held against (NULL: nothing). room: matches that are still wanted. */
static const struct value *
op_of_route(
    struct arena *arena, const struct value *op, int64_t room, const char **pattern_r)
{
	const char *glob = value_get_text(op, "glob"), *error;

	*pattern_r = value_get_text(op, "given");
	if (*pattern_r != NULL)
		return value_map_with(arena, op, "pattern", VALUE_TEXT("**"));
	if (glob == NULL || !file_glob_has_folders(file_glob_parse(arena, glob, &error)))
		return value_map_with(arena, op, "most", value_int(arena, room));
	*pattern_r = glob;
	return value_map_with(arena,
	    value_map_with(arena, op, "most", value_int(arena, BACKEND_MATCHES_MAX)),
	    "glob", NULL);
}

/* What a route below path adds to answer, one of ls, glob or grep. NULL: cancelled. */
static const struct value *
add_route(struct backend *backend, const struct value *answer, const char *route,
    const struct value *op)
{
	struct arena *arena = backend->arena;
	const char *path = value_get_text(op, "path"), *pattern;
	const struct value *items = value_get(answer, "items"), *more;
	int64_t most = value_get_int(op, "most", INT64_MAX);
	struct backend_part part;
	bool is_cut;

	if (value_text_is(value_get(op, "op"), "ls"))
		return value_map_with(
		    arena, answer, "items", with_folder(arena, items, path, route));
	backend_part_at(backend->setting, route, &part);
	more = ask_part(backend, &part, "/",
	    op_of_route(arena, op, most - (int64_t)value_size(items), &pattern));
	if (more == NULL || value_has(more, "error"))
		return more;
	is_cut =
	    value_get_bool(answer, "cut", false) || value_get_bool(more, "cut", false);
	more = value_get(more, "items");
	if (pattern != NULL)
		more = that_match(arena, more, path, pattern, &is_cut);
	items = value_array_concat(arena, items, more);
	if ((int64_t)items->size > most) {
		items = value_array_slice(arena, items, 0, (size_t)most);
		is_cut = true;
	}
	return value_map(arena, "items", items, "cut", value_bool(is_cut), NULL);
}

/* ls, glob and grep: path's part, and all routes beneath path. */
static const struct value *
ask_all(struct backend *backend, const struct value *op)
{
	struct arena *arena = backend->arena;
	const char *path = value_get_text(op, "path"), *inside;
	struct backend_part part =
	    backend_part_of(arena, backend->setting, path, &inside);
	const struct value *answer = ask_part(backend, &part, inside, op);
	const struct value *routes = backend_routes(arena, backend->setting);
	bool is_joined = false;
	size_t i;

	for (i = 0; i < routes->size; i++) {
		const char *route = routes->items[i]->text;

		if (answer == NULL || value_has(answer, "error"))
			return answer;
		if (!is_beneath(route, path) || strcmp(route, part.route) == 0)
			continue;
		answer = add_route(backend, answer, route, op);
		is_joined = true;
	}
	if (!is_joined || answer == NULL || value_has(answer, "error"))
		return answer;
	return value_map_with(
	    arena, answer, "items", backend_sorted(arena, value_get(answer, "items")));
}

/* delete: likewise. What is nowhere is missing. */
static const struct value *
delete_all(struct backend *backend, const struct value *op)
{
	struct arena *arena = backend->arena;
	const char *path = value_get_text(op, "path"), *inside;
	struct backend_part part =
				backend_part_of(arena, backend->setting, path, &inside),
			    other;
	const struct value *answer = ask_part(backend, &part, inside, op), *more;
	const struct value *routes = backend_routes(arena, backend->setting);
	size_t i;

	for (i = 0; i < routes->size && answer != NULL; i++) {
		const char *route = routes->items[i]->text;

		if (value_has(answer, "error") && !value_has(answer, "missing"))
			return answer;
		if (!is_beneath(route, path) || strcmp(route, part.route) == 0)
			continue;
		backend_part_at(backend->setting, route, &other);
		more = ask_part(backend, &other, "/", op);
		if (more == NULL || !value_has(more, "missing"))
			answer = more;
	}
	return answer;
}

static const struct value *
ask(struct backend *backend, const struct value *op)
{
	const char *name = value_get_text(op, "op"), *inside;
	struct backend_part part;

	if (strcmp(name, "ls") == 0 || strcmp(name, "glob") == 0 ||
	    strcmp(name, "grep") == 0)
		return ask_all(backend, op);
	if (strcmp(name, "delete") == 0)
		return delete_all(backend, op);
	part = backend_part_of(
	    backend->arena, backend->setting, value_get_text(op, "path"), &inside);
	return ask_part(backend, &part, inside, op);
}

/* --- operations ------------------------------------------------------------------------- */

static enum backend_end
refused(struct backend *backend, const char *error)
{
	backend->error = error;
	return BACKEND_FAILED;
}

/* Does op at path. */
static enum backend_end
run(struct backend *backend, const char *path, const struct value *op,
    const struct value **answer_r)
{
	const char *error;

	path = backend_path(backend->arena, path, &error);
	if (path == NULL)
		return refused(backend, error);
	*answer_r = ask(backend,
	    value_map_with(backend->arena, op, "path", value_str(backend->arena, path)));
	if (*answer_r == NULL)
		return BACKEND_CANCELLED;
	if (!value_has(*answer_r, "error"))
		return BACKEND_DONE;
	backend->error = value_get_text(*answer_r, "error");
	return value_get_bool(*answer_r, "missing", false) ? BACKEND_MISSING
							   : BACKEND_FAILED;
}

enum backend_end
backend_read(struct backend *backend, const char *path, struct backend_file *file_r)
{
	const struct value *answer, *file;
	enum backend_end end = run(backend, path,
	    value_map(backend->arena, "op", VALUE_TEXT("read"), NULL), &answer);

	if (end != BACKEND_DONE)
		return end;
	file = value_get(answer, "file");
	*file_r = (struct backend_file){ .content = value_get(file, "content"),
		.is_base64 = value_text_is(value_get(file, "encoding"), "base64"),
		.created_at = value_get_text(file, "created_at"),
		.modified_at = value_get_text(file, "modified_at") };
	return BACKEND_DONE;
}

enum backend_end
backend_write(struct backend *backend, const char *path, const struct value *content)
{
	const struct value *answer;

	return run(backend, path,
	    value_map(
		backend->arena, "op", VALUE_TEXT("write"), "content", content, NULL),
	    &answer);
}

enum backend_end
backend_write_base64(
    struct backend *backend, const char *path, const struct value *content)
{
	const struct value *answer;

	return run(backend, path,
	    value_map(backend->arena, "op", VALUE_TEXT("write"), "content", content,
		"encoding", VALUE_TEXT("base64"), NULL),
	    &answer);
}

enum backend_end
backend_append(struct backend *backend, const char *path, const struct value *content)
{
	const struct value *answer;

	return run(backend, path,
	    value_map(
		backend->arena, "op", VALUE_TEXT("append"), "content", content, NULL),
	    &answer);
}

enum backend_end
backend_edit(struct backend *backend, const char *path, const struct value *old_text,
    const struct value *new_text, bool all, size_t *count_r)
{
	const struct value *answer;
	enum backend_end end = run(backend, path,
	    value_map(backend->arena, "op", VALUE_TEXT("edit"), "old_string", old_text,
		"new_string", new_text, "all", value_bool(all), NULL),
	    &answer);

	if (end == BACKEND_DONE)
		*count_r = (size_t)value_get_int(answer, "count", 0);
	return end;
}

enum backend_end
backend_delete(struct backend *backend, const char *path)
{
	const struct value *answer;

	return run(backend, path,
	    value_map(backend->arena, "op", VALUE_TEXT("delete"), NULL), &answer);
}

static enum backend_end
run_list(struct backend *backend, const char *path, const struct value *op,
    struct backend_list *list_r)
{
	const struct value *answer;
	enum backend_end end = run(backend, path, op, &answer);

	if (end == BACKEND_DONE)
		*list_r = (struct backend_list){ value_get(answer, "items"),
			value_get_bool(answer, "cut", false) };
	return end;
}

enum backend_end
backend_ls(struct backend *backend, const char *path, struct backend_list *list_r)
{
	return run_list(backend, path,
	    value_map(backend->arena, "op", VALUE_TEXT("ls"), NULL), list_r);
}

enum backend_end
backend_glob(struct backend *backend, const char *pattern, const char *path,
    struct backend_list *list_r)
{
	struct arena *arena = backend->arena;
	const char *error;

	if (file_glob_parse(arena, pattern, &error) == NULL)
		return refused(
		    backend, arena_printf(arena, "the pattern is wrong: %s", error));
	return run_list(backend, path,
	    value_map(arena, "op", VALUE_TEXT("glob"), "pattern",
		value_str(arena, pattern), "given", value_str(arena, pattern), NULL),
	    list_r);
}

enum backend_end
backend_grep(struct backend *backend, const struct value *text, const char *path,
    const char *glob, size_t most, struct backend_list *list_r)
{
	struct arena *arena = backend->arena;
	const char *error;

	if (text->size == 0)
		return refused(backend, "the pattern is empty");
	if (glob != NULL && file_glob_parse(arena, glob, &error) == NULL)
		return refused(
		    backend, arena_printf(arena, "the glob is wrong: %s", error));
	if (most > BACKEND_MATCHES_MAX)
		most = BACKEND_MATCHES_MAX;
	return run_list(backend, path,
	    value_map(arena, "op", VALUE_TEXT("grep"), "text", text, "glob",
		glob == NULL ? NULL : value_str(arena, glob), "most",
		value_int(arena, (int64_t)most), NULL),
	    list_r);
}

enum backend_end
backend_execute(struct backend *backend, const struct value *command, uint64_t timeout_ms,
    struct backend_output *output_r)
{
	struct arena *arena = backend->arena;
	const struct value *answer;
	struct backend_part part;

	backend_part_at(backend->setting, "", &part);
	if (strcmp(part.kind, "local_shell") != 0)
		return refused(backend, "this backend runs no commands");
	answer = backend_do(backend, &part,
	    value_map(arena, "op", VALUE_TEXT("execute"), "command", command,
		"timeout_ms", value_int(arena, (int64_t)timeout_ms), NULL));
	if (answer == NULL)
		return BACKEND_CANCELLED;
	if (value_has(answer, "error"))
		return refused(backend, value_get_text(answer, "error"));
	*output_r = (struct backend_output){ .text = value_get(answer, "text"),
		.status = (int)value_get_int(answer, "status", 0),
		.is_cut = value_get_bool(answer, "cut", false) };
	return BACKEND_DONE;
}
