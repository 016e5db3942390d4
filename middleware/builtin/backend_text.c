/* Entries, lines and replaced text: what all kinds of backends answer with. */
#include "backend_part.h"

#include <stdlib.h>
#include <string.h>

#include "file_glob.h"
#include "utf8.h"

#define TEXT_SHOWN_BYTES 500u /* of an old_string that is not there */

/* --- answers ---------------------------------------------------------------------------- */

const struct value *
backend_refusal(struct arena *arena, const char *format, ...)
{
	const char *text;
	va_list args;

	va_start(args, format);
	text = arena_vprintf(arena, format, args);
	va_end(args);
	return value_map(arena, "error", value_str(arena, text), NULL);
}

const char *
backend_outside(struct arena *arena, const struct value *op, const char *path)
{
	const char *route = value_get_text(op, "route");

	return route == NULL ? path : arena_printf(arena, "%s%s", route, path + 1);
}

const struct value *
backend_missing(struct arena *arena, const char *path)
{
	return value_map(arena, "error", value_printf(arena, "File '%s' not found", path),
	    "missing", value_bool(true), NULL);
}

const struct value *
backend_file_value(
    struct arena *arena, const struct value *before, const struct value *content)
{
	const struct value *now = value_str(arena, backend_now(arena));
	const struct value *created = value_get(before, "created_at");

	return value_map(arena, "content", content, "encoding", VALUE_TEXT("utf-8"),
	    "created_at", value_is(created, VALUE_STR) ? created : now, "modified_at",
	    now, NULL);
}

/* --- entries ---------------------------------------------------------------------------- */

bool
backend_entry_add(struct backend_entries *entries, const char *path, bool is_dir,
    uint64_t size, const char *modified_at)
{
	struct arena *arena = entries->arena;

	entries->items.arena = arena;
	if (entries->items.count == BACKEND_ENTRIES_MAX ||
	    entries->bytes + strlen(path) > BACKEND_ENTRIES_BYTES_MAX) {
		entries->is_cut = true;
		return false;
	}
	entries->bytes += strlen(path);
	value_list_add(&entries->items,
	    value_map(arena, "path", value_str(arena, path), "is_dir", value_bool(is_dir),
		"size", value_int(arena, (int64_t)size), "modified_at",
		modified_at == NULL ? NULL : value_str(arena, modified_at), NULL));
	return true;
}

int
backend_compare_paths(const void *a, const void *b)
{
	const struct value *one = *(const struct value *const *)a;
	const struct value *other = *(const struct value *const *)b;
	int order = strcmp(value_get_text(one, "path"), value_get_text(other, "path"));
	int64_t line = value_get_int(one, "line", 0);

	return order != 0                               ? order
	       : line < value_get_int(other, "line", 0) ? -1
							: line > 0;
}

const struct value *
backend_sorted(struct arena *arena, const struct value *items)
{
	const struct value **sorted = arena_alloc(arena, items->size * sizeof *sorted);

	if (items->size == 0)
		return items;
	memcpy(sorted, items->items, items->size * sizeof *sorted);
	qsort(sorted, items->size, sizeof *sorted, backend_compare_paths);
	return value_array(arena, sorted, items->size);
}

const struct value *
backend_entries_end(struct backend_entries *entries)
{
	entries->items.arena = entries->arena;
	return value_map(entries->arena, "items",
	    backend_sorted(entries->arena, value_list_end(&entries->items)), "cut",
	    value_bool(entries->is_cut), NULL);
}

/* --- lines ------------------------------------------------------------------------------ */

bool
backend_grep_text(
    struct backend_grep *grep, const char *path, const char *text, size_t size)
{
	struct arena *arena = grep->arena;
	const char *end = text + size, *line = text, *hit, *stop;
	int64_t number = 1;

	grep->items.arena = arena;
	while (grep->needle_size > 0 && (hit = memmem(line, (size_t)(end - line),
					     grep->needle, grep->needle_size)) != NULL) {
		size_t shown;

		while ((stop = memchr(line, '\n', (size_t)(hit - line))) != NULL) {
			line = stop + 1;
			number++;
		}
		stop = memchr(hit, '\n', (size_t)(end - hit));
		if (stop == NULL)
			stop = end;
		shown = (size_t)(stop - line);
		if (shown > 0 && line[shown - 1] == '\r')
			shown--;
		shown = utf8_prefix(line, shown, BACKEND_LINE_BYTES);
		if (grep->items.count == grep->most ||
		    grep->bytes + shown > BACKEND_MATCHES_BYTES_MAX) {
			grep->is_cut = true;
			return false;
		}
		grep->bytes += shown;
		value_list_add(
		    &grep->items, value_map(arena, "path", value_str(arena, path), "line",
				      value_int(arena, number), "text",
				      value_strn(arena, line, shown), NULL));
		if (stop == end)
			break;
		line = stop + 1;
		number++;
	}
	return true;
}

bool
backend_glob_means(const struct file_glob *glob, const char *name, const char *inside)
{
	return glob == NULL ||
	       file_glob_matches(glob, file_glob_has_folders(glob) ? inside : name);
}

/* --- replacing -------------------------------------------------------------------------- */

static size_t
count_of(const struct value *content, const struct value *old)
{
	const char *at = content->text, *end = at + content->size;
	size_t count = 0;

	for (; (at = memmem(at, (size_t)(end - at), old->text, old->size)) != NULL;
	     at += old->size)
		count++;
	return count;
}

static const struct value *
not_found(struct arena *arena, const struct value *content, const struct value *old)
{
	size_t size = old->size;

	/* A line that ends the file without a newline is quoted with one. */
	while (size > 0 && (old->text[size - 1] == '\n' || old->text[size - 1] == '\r'))
		size--;
	if (size < old->size && size > 0 &&
	    count_of(content, value_strn(arena, old->text, size)) > 0)
		return backend_refusal(arena,
		    "String not found in file: without the newline at its end "
		    "old_string is there. Leave that newline away in old_string and "
		    "new_string.");
	return backend_refusal(arena, "String not found in file: '%s'",
	    utf8_shown(arena, old->text, TEXT_SHOWN_BYTES));
}

const struct value *
backend_replace(struct arena *arena, const struct value *content, const struct value *op,
    size_t *count_r, const struct value **refusal_r)
{
	const struct value *old = value_get(op, "old_string");
	const struct value *new = value_get(op, "new_string"), *result;
	const char *at = content->text, *end = at + content->size, *hit;
	struct packet text = { 0 };

	*count_r = 0;
	if (old->size == 0 && content->size == 0)
		return new;
	*count_r = old->size == 0 ? 0 : count_of(content, old);
	if (old->size == 0)
		*refusal_r = backend_refusal(
		    arena, "old_string must not be empty for a file that has text");
	else if (*count_r == 0)
		*refusal_r = not_found(arena, content, old);
	else if (*count_r > 1 && !value_get_bool(op, "all", false))
		*refusal_r = backend_refusal(arena,
		    "String '%s' appears %zu times in file. Use replace_all=True for all "
		    "of them, or give more context, so that it is one alone.",
		    utf8_shown(arena, old->text, TEXT_SHOWN_BYTES), *count_r);
	else if (content->size + *count_r * (size_t) new->size >
		 BACKEND_FILE_BYTES_MAX + *count_r *(size_t)old->size)
		*refusal_r = backend_refusal(arena,
		    "the file would have more than the %u bytes that it may have",
		    BACKEND_FILE_BYTES_MAX);
	if (*refusal_r != NULL)
		return NULL;
	for (; (hit = memmem(at, (size_t)(end - at), old->text, old->size)) != NULL;
	     at = hit + old->size) {
		packet_append(&text, at, (size_t)(hit - at));
		packet_append(&text, new->text, new->size);
	}
	packet_append(&text, at, (size_t)(end - at));
	result = value_strn(arena, text.data, text.size);
	packet_release(&text);
	return result;
}
