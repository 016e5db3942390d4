/* Files in long-term memory: an item each, whose key is the path and whose value is the file. */
#include "backend_part.h"

#include <inttypes.h>
#include <string.h>

#include "slot.h"

#define PAGE_ITEMS 100
#define CONTEXT "context."

/* --- the namespace ---------------------------------------------------------------------- */

/* The value of {tenant}, {thread}, {agent} or {context.NAME} as a label; NULL: it has none. */
static const char *
slot_value(void *arg, const char *name)
{
	const struct backend *backend = arg;
	const struct value *value;
	const char *text = NULL;
	size_t i;

	if (strcmp(name, "thread") == 0)
		text = backend->thread;
	else if (strcmp(name, "agent") == 0)
		text = backend->agent;
	else if (strcmp(name, "tenant") == 0)
		text = backend->tenant;
	value = strncmp(name, CONTEXT, strlen(CONTEXT)) == 0
		    ? value_get(backend->context, name + strlen(CONTEXT))
		    : NULL;
	if (value != NULL && value_is(value, VALUE_STR) &&
	    strlen(value->text) == value->size)
		text = value->text;
	else if (value != NULL && value_is(value, VALUE_INT))
		text = arena_printf(backend->arena, "%" PRId64, value->integer);
	for (i = 0; text != NULL && text[i] != '\0'; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return NULL;
	return text == NULL || text[0] == '\0' ? NULL : text;
}

bool
backend_is_slot(const char *name)
{
	return strcmp(name, "thread") == 0 || strcmp(name, "agent") == 0 ||
	       strcmp(name, "tenant") == 0 ||
	       (strncmp(name, CONTEXT, strlen(CONTEXT)) == 0 &&
		   name[strlen(CONTEXT)] != '\0');
}

/* The labels with what the run knows in their places. NULL with *refusal_r. */
static const struct value *
namespace_of(struct backend *backend, const struct backend_part *part,
    const struct value **refusal_r)
{
	struct arena *arena = backend->arena;
	const struct value *given = value_get(part->settings, "namespace");
	const struct value *label = VALUE_TEXT("filesystem");
	struct value_list labels = { .arena = arena };
	size_t i;

	if (given == NULL)
		return value_array(arena, &label, 1);
	for (i = 0; i < value_size(given); i++) {
		const char *text = slot_fill(
		    arena, value_text(given->items[i]), ".", slot_value, backend);

		if (text == NULL) {
			*refusal_r = backend_refusal(arena,
			    "the run has nothing for '%s', a part of the place in "
			    "long-term "
			    "memory where the files are",
			    value_text(given->items[i]));
			return NULL;
		}
		value_list_add(&labels, value_str(arena, text));
	}
	return value_list_end(&labels);
}

/* --- items ------------------------------------------------------------------------------ */

/* Asks the store for {op, namespace, key...}; NULL: cancelled. *refusal_r: what it refuses with. */
static const struct value *
ask(struct backend *backend, const struct value *op, const struct value **refusal_r)
{
	const struct value *answer = backend->caller->store(backend->arg, op), *fault;

	*refusal_r = NULL;
	fault = value_get(answer, "fault");
	if (fault != NULL)
		*refusal_r = backend_refusal(backend->arena, "long-term memory: %s",
		    fault_from_value(backend->arena, fault)->message);
	return answer;
}

static const struct value *
keyed(struct arena *arena, const char *op, const struct value *namespace,
    const struct value *key, const struct value *value)
{
	return value_map(arena, "op", value_str(arena, op), "namespace", namespace, "key",
	    key, "value", value, NULL);
}

/* {path: file}, of one path. NULL with *answer_r: cancelled, or the refusal. */
static const struct value *
load_one(struct backend *backend, const struct value *namespace, const struct value *path,
    const struct value **answer_r)
{
	struct arena *arena = backend->arena;
	const struct value *refusal, *file;
	const struct value *answer =
	    ask(backend, keyed(arena, "get", namespace, path, NULL), &refusal);

	*answer_r = refusal;
	if (answer == NULL || refusal != NULL)
		return NULL;
	file = value_get(value_get(answer, "item"), "value");
	return value_is(file, VALUE_MAP) ? value_map_with(arena, NULL, path->text, file)
					 : value_empty_map();
}

/* Adds a page's items, of the namespace itself, to files. */
static void
keep(struct value_fields *files, const struct value *namespace, const struct value *items,
    size_t *bytes)
{
	size_t i;

	for (i = 0; i < value_size(items); i++) {
		const struct value *item = items->items[i];
		const struct value *file = value_get(item, "value");

		if (!value_equal(value_get(item, "namespace"), namespace) ||
		    !value_is(file, VALUE_MAP))
			continue;
		*bytes += value_size(value_get(file, "content"));
		value_fields_put(files, value_get(item, "key"), file);
	}
}

/* {path: file} of all; likewise. */
static const struct value *
load_all(
    struct backend *backend, const struct value *namespace, const struct value **answer_r)
{
	struct arena *arena = backend->arena;
	struct value_fields files = { .arena = arena };
	const struct value *answer, *items;
	size_t offset = 0, bytes = 0, limit = PAGE_ITEMS;

	for (;;) {
		answer = ask(backend,
		    value_map(arena, "op", VALUE_TEXT("search"), "namespace", namespace,
			"limit", value_int(arena, (int64_t)limit), "offset",
			value_int(arena, (int64_t)offset), NULL),
		    answer_r);
		if (answer == NULL)
			return NULL;
		/* Large ones do not fit into an answer together. */
		if (*answer_r != NULL && limit > 1) {
			limit = limit / 10 + (limit == 1);
			continue;
		}
		if (*answer_r != NULL)
			return NULL;
		items = value_get(answer, "items");
		keep(&files, namespace, items, &bytes);
		offset += value_size(items);
		if (value_size(items) < limit)
			return value_fields_end(&files);
		if (offset >= BACKEND_STORE_FILES_MAX ||
		    bytes > BACKEND_STORE_BYTES_MAX) {
			*answer_r = backend_refusal(arena,
			    "there is too much in this part of long-term memory to look "
			    "at all of it");
			return NULL;
		}
	}
}

/* Writes what changed. Returns answer, a refusal, or NULL. */
static const struct value *
save(struct backend *backend, const struct value *namespace, const struct value *changed,
    const struct value *answer)
{
	struct arena *arena = backend->arena;
	const struct value *refusal;
	size_t i;

	for (i = 0; i < value_size(changed); i++) {
		const struct value *path = changed->pairs[i].key;
		const struct value *file = changed->pairs[i].value;
		bool is_gone = value_is_nil(file);

		if (ask(backend,
			keyed(arena, is_gone ? "delete" : "put", namespace, path,
			    is_gone ? NULL : file),
			&refusal) == NULL)
			return NULL;
		if (refusal != NULL)
			return refusal;
	}
	return answer;
}

const struct value *
backend_store_do(
    struct backend *backend, const struct backend_part *part, const struct value *op)
{
	static const char *const many[] = { "delete", "ls", "glob", "grep" };
	const struct value *files, *answer = NULL, *changed;
	const struct value *namespace = namespace_of(backend, part, &answer);
	bool all = false;
	size_t i;

	if (namespace == NULL)
		return answer;
	for (i = 0; i < sizeof many / sizeof *many; i++)
		all = all || value_text_is(value_get(op, "op"), many[i]);
	files = all ? load_all(backend, namespace, &answer)
		    : load_one(backend, namespace, value_get(op, "path"), &answer);
	if (files == NULL)
		return answer;
	answer = backend_map_do(backend->arena, files, op, &changed);
	return save(backend, namespace, changed, answer);
}
