#include "actions.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "asks.h"
#include "show.h"
#include "tame.h"

/* --- taking a pause apart ----------------------------------------------------------- */

static void
add_action(struct value_list *items, int64_t *index, const struct value *ask,
    const struct value *fields)
{
	struct arena *arena = items->arena;
	const struct value *head = value_map(arena, "kind", value_str(arena, "action"),
	    "index", value_int(arena, ++*index), "interrupt", value_get(ask, "id"), "by",
	    value_get(ask, "by"), "run", value_get(ask, "run"), NULL);

	value_list_add(items, value_map_merge(arena, head, fields));
}

/* All calls of a message in one question. False: it is none such. */
static bool
add_batch(struct value_list *items, int64_t *index, const struct value *ask)
{
	struct arena *arena = items->arena;
	const struct value *value = value_get(ask, "value");
	const struct value *requests = value_get(value, "action_requests");
	const struct value *configs = value_get(value, "review_configs");
	size_t count = value_size(requests), i;

	if (!value_is(requests, VALUE_ARRAY) || count == 0 ||
	    value_size(configs) != count)
		return false;
	for (i = 0; i < count; i++)
		if (value_get_text(value_at(requests, i), "name") == NULL)
			return false;
	for (i = 0; i < count; i++) {
		const struct value *one = value_at(requests, i);

		add_action(items, index, ask,
		    value_map(arena, "name", value_get(one, "name"), "args",
			value_get(one, "args"), "description",
			value_get(one, "description"), "allowed_decisions",
			value_get(value_at(configs, i), "allowed_decisions"),
			"tool_call_id", value_at(value_get(ask, "tool_call_ids"), i),
			"part", value_int(arena, (int64_t)i), "parts",
			value_int(arena, (int64_t)count), NULL));
	}
	return true;
}

/* One call in a question of its own; its schema tells what may be decided. */
static bool
add_single(struct value_list *items, int64_t *index, const struct value *ask)
{
	const struct value *value = value_get(ask, "value");
	const struct value *schema = value_get(ask, "response_schema");
	const struct value *type =
	    value_get(value_get(value_get(schema, "properties"), "type"), "enum");

	if (!value_text_is(value_get(value, "type"), "tool_approval") ||
	    value_get_text(value, "name") == NULL || !value_is(type, VALUE_ARRAY))
		return false;
	add_action(items, index, ask,
	    value_map(items->arena, "name", value_get(value, "name"), "args",
		value_get(value, "args"), "description", value_get(value, "description"),
		"allowed_decisions", type, "tool_call_id",
		value_get(value, "tool_call_id"), NULL));
	return true;
}

static void
add_question(struct value_list *items, const struct value *ask)
{
	struct arena *arena = items->arena;
	const struct value *value = value_get(ask, "value");
	bool uncertain = value_text_is(value_get(value, "type"), "uncertain");

	value_list_add(
	    items, value_map(arena, "kind",
		       value_str(arena, uncertain ? "uncertain" : "question"),
		       "interrupt", value_get(ask, "id"), "value", value, "by",
		       value_get(ask, "by"), "run", value_get(ask, "run"), NULL));
}

const struct value *
actions_of(struct arena *arena, const struct value *head)
{
	const struct value *asks = asks_of(arena, head);
	struct value_list items = { .arena = arena };
	int64_t index = 0;
	size_t i;

	for (i = 0; i < value_size(asks); i++)
		if (!add_batch(&items, &index, value_at(asks, i)) &&
		    !add_single(&items, &index, value_at(asks, i)))
			add_question(&items, value_at(asks, i));
	if (items.count == 0 && value_text_is(value_get(head, "status"), "interrupted"))
		value_list_add(&items, value_map(arena, "kind", value_str(arena, "pause"),
					   "paused", value_get(head, "paused"), "node",
					   value_get(head, "next"), NULL));
	return value_list_end(&items);
}

bool
actions_is_one(const struct value *item)
{
	return value_text_is(value_get(item, "kind"), "action");
}

/* --- for people --------------------------------------------------------------------- */

static const char *
word(const struct value *map, const char *name)
{
	const char *text = value_get_text(map, name);

	return text != NULL ? text : "?";
}

const char *
actions_words(struct arena *arena, const struct value *words)
{
	size_t count = value_size(words), i;
	const char *text = "";

	for (i = 0; i < count; i++) {
		const char *one = value_text(value_at(words, i));

		text = arena_printf(arena, "%s%s%s", text,
		    i == 0           ? ""
		    : i + 1 == count ? " or "
				     : ", ",
		    one != NULL ? one : "?");
	}
	return text;
}

const char *
actions_command(struct arena *arena, const char *thread, const struct value *item)
{
	if (value_text_is(value_get(item, "kind"), "pause"))
		return arena_printf(arena, "flotilla resume %s", thread);
	if (value_text_is(value_get(item, "kind"), "uncertain"))
		return arena_printf(arena,
		    "flotilla resume %s --answer %s=repeat (or fail, or '{\"respond\": "
		    "TEXT}')",
		    thread, word(item, "interrupt"));
	return arena_printf(arena, "flotilla resume %s --answer %s=ANSWER", thread,
	    word(item, "interrupt"));
}

/* A description that says no more than the call itself is left out. */
static const char *
own_description(const struct value *item)
{
	const char *text = value_get_text(item, "description");

	return text == NULL || *text == '\0' || strstr(text, "\nArgs: ") != NULL ? NULL
										 : text;
}

/* Who asks, where that is an agent that works for the thread's. */
static void
show_asker(struct arena *arena, const struct value *item, const char *indent)
{
	const char *text;

	if (value_get_text(item, "by") == NULL)
		return;
	text = arena_printf(
	    arena, "asked by %s, run %s", word(item, "by"), word(item, "run"));
	printf(
	    "%s    %s\n", indent, show_line(arena, text, show_rest(strlen(indent) + 4)));
}

static void
show_action(struct arena *arena, const struct value *item, const char *indent)
{
	const char *id = value_get_text(item, "tool_call_id");
	const char *call = arena_printf(arena, "%s %s", word(item, "name"),
	    tame_json(arena, value_get(item, "args")));

	printf("%s%2" PRId64 "  %s%s%s\n", indent, value_get_int(item, "index", 0),
	    show_line(arena, call,
		show_rest(strlen(indent) + 8 + (id != NULL ? strlen(id) : 0))),
	    id != NULL ? "  " : "", id != NULL ? show_line(arena, id, 60) : "");
	if (own_description(item) != NULL)
		printf("%s    %s\n", indent,
		    show_line(
			arena, own_description(item), show_rest(strlen(indent) + 4)));
	show_asker(arena, item, indent);
	printf("%s    %s\n", indent,
	    actions_words(arena, value_get(item, "allowed_decisions")));
}

void
actions_show(
    struct arena *arena, const char *thread, const struct value *item, const char *indent)
{
	const struct value *value = value_get(item, "value");
	const struct value *call = value_get(value, "tool_call");
	const char *text;

	if (actions_is_one(item)) {
		show_action(arena, item, indent);
		return;
	}
	if (value_text_is(value_get(item, "kind"), "pause"))
		text = arena_printf(
		    arena, "stopped: %s %s", word(item, "paused"), word(item, "node"));
	else if (value_text_is(value_get(item, "kind"), "uncertain"))
		text = arena_printf(arena, "did %s %s take effect? Nobody knows",
		    word(call, "name"), tame_json(arena, value_get(call, "args")));
	else
		text = arena_printf(arena, "asks: %s", tame_json(arena, value));
	printf(
	    "%s    %s\n", indent, show_line(arena, text, show_rest(strlen(indent) + 4)));
	show_asker(arena, item, indent);
	printf("%s    %s\n", indent,
	    show_line(arena, actions_command(arena, thread, item), 400));
}
