#include "chat.h"

#include <string.h>

#include "chat_answers.h"

/* --- making ------------------------------------------------------------------------- */

static const struct value *
message(struct arena *arena, const char *type, const char *content)
{
	return value_map(arena, "type", value_str(arena, type), "content",
	    value_str(arena, content == NULL ? "" : content), NULL);
}

const struct value *
chat_human(struct arena *arena, const char *content)
{
	return message(arena, "human", content);
}

const struct value *
chat_system(struct arena *arena, const char *content)
{
	return message(arena, "system", content);
}

const struct value *
chat_ai(struct arena *arena, const char *content)
{
	return message(arena, "ai", content);
}

const struct value *
chat_tool(struct arena *arena, const char *content, const char *tool_call_id,
    const char *name, const char *status)
{
	return value_map(arena, "type", value_str(arena, "tool"), "content",
	    value_str(arena, content == NULL ? "" : content), "tool_call_id",
	    value_str(arena, tool_call_id), "name",
	    name == NULL ? NULL : value_str(arena, name), "status",
	    value_str(arena, status), NULL);
}

/* --- asking ------------------------------------------------------------------------- */

bool
chat_is(const struct value *message, const char *type)
{
	return value_text_is(value_get(message, "type"), type);
}

static bool
is_sound_call(const struct value *call, bool valid)
{
	const struct value *id = value_get(call, "id");

	return value_is(call, VALUE_MAP) &&
	       (value_is_nil(id) || value_is(id, VALUE_STR)) &&
	       (!valid || (value_get_text(call, "name") != NULL &&
			      value_is(value_get(call, "args"), VALUE_MAP)));
}

static bool
are_sound(const struct value *calls, bool valid)
{
	size_t i;

	if (!value_is_nil(calls) && !value_is(calls, VALUE_ARRAY))
		return false;
	for (i = 0; i < value_size(calls); i++)
		if (!is_sound_call(value_at(calls, i), valid))
			return false;
	return true;
}

bool
chat_is_sound(const struct value *message)
{
	if (chat_is(message, "ai"))
		return are_sound(value_get(message, "tool_calls"), true) &&
		       are_sound(value_get(message, "invalid_tool_calls"), false);
	return chat_is(message, "human") || chat_is(message, "system") ||
	       chat_is(message, "tool");
}

/* Returns the text of a content block, or NULL: a block may be a bare string. */
static const struct value *
block_text(const struct value *block)
{
	const struct value *text = value_get(block, "text");

	if (value_is(block, VALUE_STR))
		return block;
	return value_text_is(value_get(block, "type"), "text") &&
		       value_is(text, VALUE_STR)
		   ? text
		   : NULL;
}

const struct value *
chat_said(struct arena *arena, const struct value *message)
{
	const struct value *content = value_get(message, "content"), *text;
	struct packet joined = { 0 };
	size_t i;

	if (value_is(content, VALUE_STR))
		return content;
	for (i = 0; value_is(content, VALUE_ARRAY) && i < value_size(content); i++) {
		text = block_text(value_at(content, i));
		if (text != NULL)
			packet_append(&joined, text->text, text->size);
	}
	text = value_strn(arena, joined.data, joined.size);
	packet_release(&joined);
	return text;
}

const char *
chat_text(struct arena *arena, const struct value *message)
{
	const struct value *said = chat_said(arena, message);
	char *text;
	size_t i;

	if (said->size == 0 || memchr(said->text, '\0', said->size) == NULL)
		return value_text(said);
	text = arena_copy(arena, said->text, said->size);
	for (i = 0; i < said->size; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	return text;
}

static const struct value *
call_with(const struct value *calls, const struct value *id)
{
	for (size_t i = 0; i < value_size(calls); i++)
		if (value_equal(value_get(value_at(calls, i), "id"), id))
			return value_at(calls, i);
	return NULL;
}

const struct value *
chat_call(const struct value *message, const struct value *id)
{
	const struct value *call = call_with(value_get(message, "tool_calls"), id);

	return call != NULL ? call
			    : call_with(value_get(message, "invalid_tool_calls"), id);
}

long
chat_last_ai(const struct value *messages)
{
	long i = (long)value_size(messages) - 1;

	while (i >= 0 && !chat_is(value_at(messages, (size_t)i), "ai"))
		i--;
	return i;
}

/* --- calls and their answers -------------------------------------------------------- */

const struct value *
chat_pending_calls(struct arena *arena, const struct value *messages)
{
	struct value_list pending = { .arena = arena };
	const struct value *calls, *call;
	long ai = chat_last_ai(messages);
	struct chat_answers *answers;
	const char *id;
	size_t i;

	if (ai == -1)
		return value_empty_array();
	answers = chat_answers_new(arena, messages, (size_t)ai);
	calls = value_get(value_at(messages, (size_t)ai), "tool_calls");
	for (i = 0; i < value_size(calls); i++) {
		call = value_at(calls, i);
		id = value_get_text(call, "id");
		if (id == NULL || !chat_answers_has(answers, (size_t)ai, id))
			value_list_add(&pending, call);
	}
	return value_list_end(&pending);
}

/* Adds an answer to repaired for each call of calls, made by the message at ai, that has
 * none. A call without an id cannot be answered. */
static void
answer_calls(struct value_list *repaired, struct chat_answers *answers, size_t ai,
    const struct value *calls, const char *outcome)
{
	const struct value *call;
	const char *id, *name;
	size_t i;

	for (i = 0; i < value_size(calls); i++) {
		call = value_at(calls, i);
		id = value_get_text(call, "id");
		name = value_get_text(call, "name");
		if (id == NULL || chat_answers_has(answers, ai, id))
			continue;
		value_list_add(repaired,
		    chat_tool(repaired->arena,
			arena_printf(repaired->arena, "Tool call %s with id %s %s",
			    name == NULL ? "without a name" : name, id, outcome),
			id, name, "error"));
	}
}

/* True when one of calls, made by the message at ai, can be answered and is not. */
static bool
is_dangling(struct chat_answers *answers, size_t ai, const struct value *calls)
{
	const char *id;
	size_t i;

	for (i = 0; i < value_size(calls); i++) {
		id = value_get_text(value_at(calls, i), "id");
		if (id != NULL && !chat_answers_has(answers, ai, id))
			return true;
	}
	return false;
}

static void
add_slice(struct value_list *list, const struct value *array, size_t from, size_t to)
{
	for (; from < to; from++)
		value_list_add(list, value_at(array, from));
}

const struct value *
chat_answer_dangling(struct arena *arena, const struct value *messages)
{
	return chat_answer_dangling_from(arena, messages, 0);
}

const struct value *
chat_answer_dangling_from(struct arena *arena, const struct value *messages, size_t from)
{
	struct value_list repaired = { .arena = arena };
	struct chat_answers *answers = chat_answers_new(arena, messages, from);
	const struct value *ai, *calls, *invalid;
	size_t i = from, at, taken = 0;

	while (i < value_size(messages)) {
		at = i;
		ai = value_at(messages, i++);
		if (!chat_is(ai, "ai"))
			continue;
		calls = value_get(ai, "tool_calls");
		invalid = value_get(ai, "invalid_tool_calls");
		if (!is_dangling(answers, at, calls) &&
		    !is_dangling(answers, at, invalid))
			continue;
		add_slice(&repaired, messages, taken, i);
		taken = i;
		answer_calls(&repaired, answers, at, calls,
		    "was cancelled: the conversation went on without its result. Whether "
		    "it was done, in part or in whole, is not known.");
		answer_calls(&repaired, answers, at, invalid,
		    "was not run: its arguments could not be read.");
	}
	if (taken == 0)
		return messages;
	add_slice(&repaired, messages, taken, value_size(messages));
	return value_list_end(&repaired);
}

/* --- add_messages ------------------------------------------------------------------- */

static const struct value *
id_of(const struct value *message)
{
	const struct value *id = value_get(message, "id");

	return value_is(id, VALUE_STR) ? id : NULL;
}

/* Where messages from elsewhere get their ids. */
struct ids {
	struct arena *arena;
	const struct value *(*fresh)(void *arg, struct arena *arena);
	void *arg;
};

static const struct value *
with_id(const struct ids *ids, const struct value *message)
{
	if (id_of(message) != NULL)
		return message;
	return value_map_with(
	    ids->arena, message, "id", ids->fresh(ids->arg, ids->arena));
}

/* Returns the position behind the last marker that removes all, 0 when there is none. */
static size_t
start_of(const struct value *right)
{
	size_t i;

	for (i = value_size(right); i > 0; i--)
		if (chat_is(value_at(right, i - 1), "remove") &&
		    value_text_is(value_get(value_at(right, i - 1), "id"), REMOVE_ALL))
			break;
	return i;
}

static bool
all_are_new(const struct value *messages, size_t from)
{
	size_t i;

	for (i = from; i < value_size(messages); i++)
		if (id_of(value_at(messages, i)) != NULL ||
		    chat_is(value_at(messages, i), "remove"))
			return false;
	return true;
}

/* Appends messages from position from on; nobody can have named their ids yet. */
static const struct value *
append_new(const struct ids *ids, const struct value *left, const struct value *right,
    size_t from)
{
	struct value_list list = { .arena = ids->arena };

	value_list_add_all(&list, left);
	for (; from < value_size(right); from++)
		value_list_add(&list, with_id(ids, value_at(right, from)));
	return value_list_end(&list);
}

/* Lays right over left in fields, by id. A removal takes the place of what it removes,
 * and a message set behind it takes the removal's: that keeps the old position. */
static const char *
lay_over(const struct ids *ids, struct value_fields *fields, const struct value *right,
    size_t from)
{
	const struct value *message;
	size_t before;

	for (; from < value_size(right); from++) {
		message = value_at(right, from);
		if (chat_is(message, "remove") && id_of(message) == NULL)
			return arena_printf(
			    ids->arena, "messages[%zu]: a removal needs an id", from);
		message = with_id(ids, message);
		before = fields->count;
		value_fields_put(fields, id_of(message), message);
		if (chat_is(message, "remove") && fields->count > before)
			return arena_printf(ids->arena,
			    "messages[%zu]: there is no message with id %s to remove",
			    from, value_text(id_of(message)));
	}
	return NULL;
}

const struct value *
chat_add_messages(struct arena *arena, const struct value *left,
    const struct value *right,
    const struct value *(*fresh)(void *arg, struct arena *arena), void *arg,
    const char **error_r)
{
	const struct ids ids = { arena, fresh, arg };
	struct value_fields fields = { .arena = arena };
	struct value_list list = { .arena = arena };
	size_t from = start_of(right), i;
	const char *error;

	if (from > 0)
		left = NULL;
	if (all_are_new(right, from))
		return append_new(&ids, left, right, from);
	for (i = 0; i < value_size(left); i++) {
		const struct value *message = with_id(&ids, value_at(left, i));

		value_fields_put(&fields, id_of(message), message);
	}
	error = lay_over(&ids, &fields, right, from);
	if (error != NULL) {
		*error_r = error;
		return NULL;
	}
	for (i = 0; i < fields.count; i++)
		if (!chat_is(fields.pairs[i].value, "remove"))
			value_list_add(&list, fields.pairs[i].value);
	return value_list_end(&list);
}
