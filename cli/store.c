/* store: long-term memory, looked at and changed by hand. */
#include <stdio.h>
#include <string.h>

#include "bounds.h"
#include "command.h"
#include "items.h"
#include "json.h"
#include "show.h"
#include "tame.h"

#define SHOWN_BYTES 100

struct store_settings {
	struct common_settings common;
	int64_t ttl_ms, limit, offset, max_depth;
	const char *filter, *query, *index;
};
#define SETTING(field) offsetof(struct store_settings, field)
static const struct setting store_table[] = {
	COMMON_SETTINGS,
	{ "ttl-ms", SETTING_INTEGER, SETTING(ttl_ms), "0", 0, INT64_MAX, "ms",
	    "put: how long the item lasts; 0: for ever", 0 },
	{ "index", SETTING_TEXT, SETTING(index), NULL, 0, 0, NULL,
	    "put: what of the value a search by meaning looks at: false, or a JSON list "
	    "of "
	    "fields such as [\"text\"] (default: what coordinators look at)",
	    0 },
	{ "filter", SETTING_TEXT, SETTING(filter), NULL, 0, 0, NULL,
	    "search: what values must be, such as {\"age\": {\"$gte\": 18}}", 0 },
	{ "query", SETTING_TEXT, SETTING(query), NULL, 0, 0, NULL,
	    "search: what items are to mean; those that are most like it come first, if "
	    "coordinators have a model for it",
	    0 },
	{ "limit", SETTING_INTEGER, SETTING(limit), "10", 1, ITEMS_LIMIT_MAX, NULL,
	    "search, namespaces: so many at most", 0 },
	{ "offset", SETTING_INTEGER, SETTING(offset), "0", 0, ITEMS_SCANNED_MAX, NULL,
	    "search, namespaces: without the first ones", 0 },
	{ "max-depth", SETTING_INTEGER, SETTING(max_depth), "16", 1, ITEM_LABELS_MAX,
	    NULL, "namespaces: cut to so many labels", 0 },
	SETTINGS_END,
};

/* --- arguments ---------------------------------------------------------------------- */

static const struct value *
parse(struct arena *arena, const char *text, const char *what)
{
	const char *error;
	const struct value *value = json_parse(arena, text, strlen(text), &error);

	if (value == NULL)
		complain("%s is no JSON: %s", what, error);
	return value;
}

/* "users/7", or a JSON list for labels with slashes. */
static const struct value *
namespace_of(struct arena *arena, const char *path)
{
	struct value_list labels = { .arena = arena };

	if (path != NULL && *path == '[')
		return parse(arena, path, "NAMESPACE");
	while (path != NULL && *path != '\0') {
		size_t size = strcspn(path, "/");

		value_list_add(&labels, value_strn(arena, path, size));
		path += path[size] == '/' ? size + 1 : size;
	}
	return value_list_end(&labels);
}

/* Puts the operation that the arguments name together; NULL when one is wrong. */
static const struct value *
make_op(struct arena *arena, const struct store_settings *settings, const char *name,
    const char *const *rest)
{
	bool is_put = strcmp(name, "put") == 0, is_search = strcmp(name, "search") == 0;
	bool is_of_one =
	    is_put || strcmp(name, "get") == 0 || strcmp(name, "delete") == 0;
	const struct value *value = NULL, *filter = NULL, *index = NULL;
	const struct value *namespace = namespace_of(arena, rest[0]);

	if (namespace == NULL)
		return NULL;
	if (is_put && (rest[0] == NULL || rest[1] == NULL || rest[2] == NULL)) {
		complain("which NAMESPACE KEY VALUE?");
		return NULL;
	}
	if (is_of_one && (rest[0] == NULL || rest[1] == NULL)) {
		complain("which NAMESPACE KEY?");
		return NULL;
	}
	if (is_put && (value = parse(arena, rest[2], "VALUE")) == NULL)
		return NULL;
	if (is_put && settings->index != NULL &&
	    (index = parse(arena, settings->index, "--index")) == NULL)
		return NULL;
	if (is_search && settings->filter != NULL &&
	    (filter = parse(arena, settings->filter, "--filter")) == NULL)
		return NULL;
	return value_map(arena, "op", value_str(arena, name), "namespace", namespace,
	    "key", is_of_one ? value_str(arena, rest[1]) : NULL, "value", value, "index",
	    index, "ttl_ms",
	    is_put && settings->ttl_ms > 0 ? value_int(arena, settings->ttl_ms) : NULL,
	    "filter", filter, "query",
	    is_search && settings->query != NULL ? value_str(arena, settings->query)
						 : NULL,
	    "limit", is_of_one ? NULL : value_int(arena, settings->limit), "offset",
	    is_of_one ? NULL : value_int(arena, settings->offset), "max_depth",
	    is_of_one || is_search ? NULL : value_int(arena, settings->max_depth), NULL);
}

/* --- showing ------------------------------------------------------------------------ */

static const char *
path_of(struct arena *arena, const struct value *labels)
{
	const char *path = "";
	size_t i;

	for (i = 0; i < value_size(labels); i++)
		path = arena_printf(arena, "%s%s%s", path, i > 0 ? "/" : "",
		    value_text(value_at(labels, i)));
	return show_line(
	    arena, path, (size_t)ITEM_LABELS_MAX * (ITEM_LABEL_BYTES_MAX + 1));
}

static void
show_item(struct arena *arena, const struct value *item)
{
	if (value_has(item, "score"))
		printf("%5.3f  ", value_number(value_get(item, "score"), 0));
	printf("%s  %s  %s\n", path_of(arena, value_get(item, "namespace")),
	    show_line(arena, value_get_text(item, "key"), ITEM_KEY_BYTES_MAX),
	    show_line(arena, tame_json(arena, value_get(item, "value")), SHOWN_BYTES));
}

static enum status
show(struct session *session, const char *name, const struct value *answer)
{
	struct arena *arena = session_arena(session);
	const struct value *items = value_get(answer, "items");
	const struct value *spaces = value_get(answer, "namespaces");
	bool is_missing =
	    (strcmp(name, "get") == 0 && !value_has(answer, "item")) ||
	    (value_has(answer, "deleted") && value_get_int(answer, "deleted", 0) == 0);
	size_t i;

	if (session_json(session)) {
		printf("%s\n", tame_json(arena, answer));
	} else if (is_missing) {
		complain("there is no such item; `flotilla store search` finds some");
	} else if (strcmp(name, "get") == 0) {
		printf("%s\n",
		    tame_json(arena, value_get(value_get(answer, "item"), "value")));
	}
	for (i = 0; !session_json(session) && i < value_size(items); i++)
		show_item(arena, value_at(items, i));
	for (i = 0; !session_json(session) && i < value_size(spaces); i++)
		printf("%s\n", path_of(arena, value_at(spaces, i)));
	return is_missing ? STATUS_NOT_FOUND : STATUS_OK;
}

static enum status
run_store(struct session *session, const void *settings, const char *const *rest)
{
	static const char *const names[] = { "put", "get", "delete", "search",
		"namespaces" };
	struct arena *arena = session_arena(session);
	const struct value *op, *answer, *fault;
	const char *text;
	size_t i;

	for (i = 0; i < sizeof names / sizeof names[0]; i++)
		if (rest[0] != NULL && strcmp(rest[0], names[i]) == 0)
			break;
	if (i == sizeof names / sizeof names[0]) {
		complain("store knows put, get, delete, search, namespaces%s%s",
		    rest[0] != NULL ? ", and no " : "", rest[0] != NULL ? rest[0] : "");
		return STATUS_USAGE;
	}
	op = make_op(arena, settings, rest[0], rest + 1);
	if (op == NULL)
		return STATUS_USAGE;
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	answer = items_do(session_store(session), arena, op);
	fault = value_get(answer, "fault");
	if (answer == NULL || fault != NULL) {
		text = fault != NULL ? value_get_text(fault, "message") : "given up";
		complain("%s%s", text, session_remedy(text));
		return STATUS_FAILED;
	}
	return show(session, rest[0], answer);
}

const struct command command_store = {
	.name = "store",
	.usage = "put NAMESPACE KEY VALUE | get NAMESPACE KEY | delete NAMESPACE KEY | "
		 "search [NAMESPACE] | namespaces [NAMESPACE]",
	.summary = "looks into long-term memory, and changes it",
	.text = "NAMESPACE is users/7, or a JSON list of labels. VALUE is a JSON map.",
	.table = store_table,
	.settings_size = sizeof(struct store_settings),
	.arguments_max = 4,
	.run = run_store,
};
