/* Operations on a map of files, {path: {content, encoding, created_at, modified_at}}: the state's field, and what
 * long-term memory has of a namespace. They do not wait. */
#include "backend_part.h"

#include <stdlib.h>
#include <string.h>

#include "file_glob.h"
#include "loop.h"

/* --- one file --------------------------------------------------------------------------- */

static bool
is_base64(const struct value *file)
{
	return value_text_is(value_get(file, "encoding"), "base64");
}

/* The text of a file; of one in the form of older versions, a list of lines, too. NULL: it has none. */
static const struct value *
content_of(struct arena *arena, const struct value *file)
{
	const struct value *content = value_get(file, "content");
	struct packet text = { 0 };
	size_t i;

	if (value_is(content, VALUE_STR))
		return content;
	if (!value_is(content, VALUE_ARRAY))
		return NULL;
	for (i = 0; i < content->size; i++) {
		const struct value *line = content->items[i];

		if (i > 0)
			packet_append(&text, "\n", 1);
		if (value_is(line, VALUE_STR))
			packet_append(&text, line->text, line->size);
	}
	content = value_strn(arena, text.data, text.size);
	packet_release(&text);
	return content;
}

static const struct value *
do_read(struct arena *arena, const struct value *files, const char *path,
    const struct value *op)
{
	const struct value *file = value_get(files, path);
	const struct value *content = content_of(arena, file);

	if (content == NULL)
		return backend_missing(arena, backend_outside(arena, op, path));
	return value_map(
	    arena, "file", value_map_with(arena, file, "content", content), NULL);
}

static const struct value *
put_text(struct arena *arena, const struct value *files, const struct value *op,
    const struct value *content, const struct value **changed_r)
{
	const char *path = value_get_text(op, "path"),
		   *said = backend_outside(arena, op, path);

	if (strcmp(path, "/") == 0)
		return backend_refusal(arena, "'%s' is no name for a file", said);
	if (content->size > BACKEND_FILE_BYTES_MAX)
		return backend_refusal(arena,
		    "'%s' would have more than the %u bytes that a file may have", said,
		    BACKEND_FILE_BYTES_MAX);
	*changed_r = value_map_with(arena, NULL, path,
	    backend_file_value(arena, value_get(files, path), content));
	return value_empty_map();
}

/* A text, or bytes as base64. */
static const struct value *
do_write(struct arena *arena, const struct value *files, const char *path,
    const struct value *op, const struct value **changed_r)
{
	const struct value *encoding = value_get(op, "encoding"), *file;
	const struct value *answer =
	    put_text(arena, files, op, value_get(op, "content"), changed_r);

	if (*changed_r == NULL || !value_text_is(encoding, "base64"))
		return answer;
	file = value_map_with(arena, value_get(*changed_r, path), "encoding", encoding);
	*changed_r = value_map_with(arena, NULL, path, file);
	return answer;
}

static const struct value *
joined(struct arena *arena, const struct value *a, const struct value *b)
{
	char *text = arena_take(arena, (size_t)a->size + b->size);

	memcpy(text, a->text, a->size);
	memcpy(text + a->size, b->text, b->size);
	return value_strn(arena, text, (size_t)a->size + b->size);
}

static const struct value *
do_append(struct arena *arena, const struct value *files, const char *path,
    const struct value *op, const struct value **changed_r)
{
	const struct value *content = value_get(op, "content");
	const struct value *file = value_get(files, path);
	const struct value *before = content_of(arena, file);

	if (is_base64(file))
		return backend_refusal(
		    arena, "'%s' is not text", backend_outside(arena, op, path));
	if (before != NULL)
		content = joined(arena, before, content);
	return put_text(arena, files, op, content, changed_r);
}

/* --- editing --------------------------------------------------------------------------- */

static const struct value *
do_edit(struct arena *arena, const struct value *files, const char *path,
    const struct value *op, const struct value **changed_r)
{
	const struct value *file = value_get(files, path), *refusal = NULL;
	const struct value *content = content_of(arena, file), *answer;
	size_t count;

	if (content == NULL)
		return backend_missing(arena, backend_outside(arena, op, path));
	if (is_base64(file))
		return backend_refusal(
		    arena, "'%s' is not text", backend_outside(arena, op, path));
	content = backend_replace(arena, content, op, &count, &refusal);
	if (content == NULL)
		return refusal;
	answer = put_text(arena, files, op, content, changed_r);
	return value_has(answer, "error")
		   ? answer
		   : value_map(arena, "count", value_int(arena, (int64_t)count), NULL);
}

/* --- many files ------------------------------------------------------------------------- */

/* The part of file's path below the folder path; of path itself its name; NULL: it is elsewhere. */
static const char *
inside_of(const char *file, const char *path)
{
	size_t size = strcmp(path, "/") == 0 ? 0 : strlen(path);

	if (strncmp(file, path, size) != 0)
		return NULL;
	if (file[size] == '/')
		return file + size + 1;
	return file[size] == '\0' ? strrchr(file, '/') + 1 : NULL;
}

static const struct value *
do_delete(struct arena *arena, const struct value *files, const char *path,
    const struct value *op, const struct value **changed_r)
{
	struct value_fields gone = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(files); i++) {
		const struct value *key = files->pairs[i].key;

		if (key->text[0] == '/' && inside_of(key->text, path) != NULL)
			value_fields_put(&gone, key, value_nil());
	}
	if (gone.count == 0)
		return backend_missing(arena, backend_outside(arena, op, path));
	*changed_r = value_fields_end(&gone);
	return value_empty_map();
}

static const char *
modified_of(const struct value *file)
{
	return value_get_text(file, "modified_at");
}

static const struct value *
do_ls(struct arena *arena, const struct value *files, const char *path)
{
	struct backend_entries entries = { .arena = arena };
	struct value_fields folders = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(files); i++) {
		const char *name = files->pairs[i].key->text, *inside, *slash;
		const struct value *file = files->pairs[i].value;

		inside = name[0] == '/' ? inside_of(name, path) : NULL;
		if (inside == NULL || strcmp(name, path) == 0)
			continue;
		slash = strchr(inside, '/');
		if (slash != NULL)
			value_fields_set(&folders,
			    arena_copy(arena, name, (size_t)(slash + 1 - name)),
			    value_bool(true));
		else if (!backend_entry_add(&entries, name, false,
			     value_size(value_get(file, "content")), modified_of(file)))
			break;
	}
	for (i = 0; i < folders.count; i++)
		if (!backend_entry_add(
			&entries, folders.pairs[i].key->text, true, 0, NULL))
			break;
	return backend_entries_end(&entries);
}

static int
compare_ages(const void *a, const void *b)
{
	const char *one = value_get_text(*(const struct value *const *)a, "modified_at");
	const char *other =
	    value_get_text(*(const struct value *const *)b, "modified_at");
	int order = strcmp(other == NULL ? "" : other, one == NULL ? "" : one);

	return order != 0 ? order : backend_compare_paths(a, b);
}

/* Newest first. */
static const struct value *
by_age(struct arena *arena, const struct value *items)
{
	const struct value **sorted = arena_alloc(arena, items->size * sizeof *sorted);

	if (items->size == 0)
		return items;
	memcpy(sorted, items->items, items->size * sizeof *sorted);
	qsort(sorted, items->size, sizeof *sorted, compare_ages);
	return value_array(arena, sorted, items->size);
}

static const struct value *
do_glob(struct arena *arena, const struct value *files, const char *path,
    const struct value *op)
{
	const char *error = "";
	const struct file_glob *glob =
	    file_glob_parse(arena, value_get_text(op, "pattern"), &error);
	struct backend_entries entries = { .arena = arena };
	uint64_t end_us = loop_now_us() + BACKEND_LOOP_US;
	const struct value *answer;
	size_t i;

	if (glob == NULL)
		return backend_refusal(arena, "the pattern is wrong: %s", error);
	for (i = 0; i < value_size(files); i++) {
		const char *name = files->pairs[i].key->text;
		const struct value *file = files->pairs[i].value;
		const char *inside = name[0] == '/' ? inside_of(name, path) : NULL;

		if (loop_now_us() > end_us) {
			entries.is_cut = true;
			break;
		}
		if (inside != NULL && file_glob_matches(glob, inside) &&
		    !backend_entry_add(&entries, name, false,
			value_size(value_get(file, "content")), modified_of(file)))
			break;
	}
	answer = backend_entries_end(&entries);
	return value_map_with(
	    arena, answer, "items", by_age(arena, value_get(answer, "items")));
}

static const struct value *
do_grep(struct arena *arena, const struct value *files, const char *path,
    const struct value *op)
{
	const struct value *text = value_get(op, "text"), *content;
	const char *pattern = value_get_text(op, "glob"), *error = "";
	const struct file_glob *glob = NULL;
	struct backend_grep grep = { .arena = arena,
		.needle = text->text,
		.needle_size = text->size,
		.most = (size_t)value_get_int(op, "most", BACKEND_MATCHES_MAX) };
	uint64_t end_us = loop_now_us() + BACKEND_LOOP_US;
	size_t i;

	if (pattern != NULL && (glob = file_glob_parse(arena, pattern, &error)) == NULL)
		return backend_refusal(arena, "the glob is wrong: %s", error);
	for (i = 0; i < value_size(files); i++) {
		const char *name = files->pairs[i].key->text;
		const struct value *file = files->pairs[i].value;
		const char *inside = name[0] == '/' ? inside_of(name, path) : NULL;

		if (loop_now_us() > end_us) {
			grep.is_cut = true;
			break;
		}
		if (inside == NULL || is_base64(file) ||
		    !backend_glob_means(glob, strrchr(name, '/') + 1, inside))
			continue;
		content = content_of(arena, file);
		if (content != NULL &&
		    !backend_grep_text(&grep, name, content->text, content->size))
			break;
	}
	grep.items.arena = arena;
	return value_map(arena, "items",
	    backend_sorted(arena, value_list_end(&grep.items)), "cut",
	    value_bool(grep.is_cut), NULL);
}

/* --- all -------------------------------------------------------------------------------- */

const struct value *
backend_map_do(struct arena *arena, const struct value *files, const struct value *op,
    const struct value **changed_r)
{
	const char *name = value_get_text(op, "op"), *path = value_get_text(op, "path");

	*changed_r = NULL;
	if (strcmp(name, "read") == 0)
		return do_read(arena, files, path, op);
	if (strcmp(name, "write") == 0)
		return do_write(arena, files, path, op, changed_r);
	if (strcmp(name, "append") == 0)
		return do_append(arena, files, path, op, changed_r);
	if (strcmp(name, "edit") == 0)
		return do_edit(arena, files, path, op, changed_r);
	if (strcmp(name, "delete") == 0)
		return do_delete(arena, files, path, op, changed_r);
	if (strcmp(name, "ls") == 0)
		return do_ls(arena, files, path);
	if (strcmp(name, "glob") == 0)
		return do_glob(arena, files, path, op);
	if (strcmp(name, "grep") == 0)
		return do_grep(arena, files, path, op);
	return backend_refusal(arena, "this backend runs no commands");
}
