#include "responses_items.h"

#include <string.h>

#include "call_words.h"
#include "chat.h"
#include "json.h"
#include "openai_blocks.h"
#include "responses_content.h"
#include "responses_kinds.h"

#define CALL_IDS "__openai_function_call_ids__" /* LangChain's, in additional_kwargs */

/* The items of one message under construction. */
struct items {
	struct arena *arena;
	const struct responses_reader *reader;
	const struct value *message;
	bool own; /* an answer of the provider that is asked */
	struct value_list list;
	struct value_list parts; /* of the text at the end, which is still to be added */
	const struct value *id, *phase; /* of that */
};

static bool
is_type(const struct value *block, const char *type)
{
	return value_text_is(value_get(block, "type"), type);
}

/* An answer that does not say whose it is, was given by hand. */
static bool
is_own(const struct responses_reader *reader, const struct value *message)
{
	const struct value *provider =
	    value_get(value_get(message, "response_metadata"), "model_provider");

	return value_is_nil(provider) || value_text_is(provider, reader->provider);
}

/* What follows a thought is known by its id together with that alone. */
static bool
has_ids(const struct items *items)
{
	return items->own && items->reader->keeps && !items->reader->thinks_not;
}

/* --- text ---------------------------------------------------------------------------- */

static void
end_text(struct items *items)
{
	if (items->parts.count == 0)
		return;
	value_list_add(&items->list,
	    value_map(items->arena, "type", VALUE_TEXT("message"), "role",
		VALUE_TEXT("assistant"), "id", has_ids(items) ? items->id : NULL,
		"content", value_list_end(&items->parts), "phase", items->phase, NULL));
	items->parts = (struct value_list){ .arena = items->arena };
}

static bool
is_same(const struct value *a, const struct value *b)
{
	return value_is_nil(a) ? value_is_nil(b) : value_equal(a, b);
}

/* Parts of one message stand behind each other. */
static void
add_part(struct items *items, const struct value *block, const struct value *part)
{
	const struct value *id = value_get(block, "id"),
			   *phase = value_get(block, "phase");

	if (!is_same(id, items->id) || !is_same(phase, items->phase))
		end_text(items);
	items->id = id;
	items->phase = phase;
	value_list_add(&items->parts, part);
}

static void
add_text(struct items *items, const struct value *block, const struct value *text)
{
	if (!value_is(text, VALUE_STR) || text->size == 0)
		return;
	add_part(items, block,
	    value_map(items->arena, "type", VALUE_TEXT("output_text"), "text", text,
		"annotations",
		responses_annotations_sent(items->arena, value_get(block, "annotations")),
		NULL));
}

static void
add_refusal(struct items *items, const struct value *block, const struct value *refusal)
{
	if (value_is(refusal, VALUE_STR) && refusal->size > 0)
		add_part(items, block,
		    value_map(items->arena, "type", VALUE_TEXT("refusal"), "refusal",
			refusal, NULL));
}

/* --- thoughts, and what the API's own tools did -------------------------------------- */

static void
add_item(struct items *items, const struct value *item)
{
	end_text(items);
	value_list_add(&items->list, item);
}

/* LangChain numbers the parts of a summary that was streamed. */
static const struct value *
summary_of(struct arena *arena, const struct value *block)
{
	const struct value *summary = value_get(block, "summary");
	struct value_list list = { .arena = arena };

	for (size_t i = 0; value_is(summary, VALUE_ARRAY) && i < summary->size; i++)
		value_list_add(
		    &list, value_map_with(arena, summary->items[i], "index", NULL));
	return value_list_end(&list);
}

static bool
is_text(const struct value *value)
{
	return value_is(value, VALUE_STR) && value->size > 0;
}

/* Who keeps nothing knows a thought by what is in it, another one by its id as well. */
static void
add_thought(struct items *items, const struct value *block)
{
	struct arena *arena = items->arena;
	bool known = items->reader->keeps && is_text(value_get(block, "id"));

	if (!items->own || items->reader->thinks_not ||
	    (!known && !is_text(value_get(block, "encrypted_content"))))
		return;
	block = value_map_with(arena, block, "index", NULL);
	block = value_map_with(arena, block, "type", VALUE_TEXT("reasoning"));
	add_item(
	    items, value_map_with(arena, block, "summary", summary_of(arena, block)));
}

/* A picture is long, and who keeps it knows it by its id. */
static void
add_own(struct items *items, const struct value *block)
{
	if (is_type(block, "image_generation_call") && items->reader->keeps)
		block = value_map(items->arena, "type", value_get(block, "type"), "id",
		    value_get(block, "id"), NULL);
	add_item(items, block);
}

/* --- calls --------------------------------------------------------------------------- */

static bool
has_call(const struct items *items, const struct value *id)
{
	for (size_t i = 0; i < items->list.count; i++)
		if (responses_call_of(items->list.items[i]) != NULL &&
		    value_equal(value_get(items->list.items[i], "call_id"), id))
			return true;
	return false;
}

static void
add_call(struct items *items, const struct value *call)
{
	struct arena *arena = items->arena;
	const struct value *id = value_get(call, "id");
	const struct value *more = value_get(items->message, "additional_kwargs");
	bool known = has_ids(items) && value_is(id, VALUE_STR);

	add_item(items,
	    value_map(arena, "type", VALUE_TEXT("function_call"), "id",
		known ? value_get(value_get(more, CALL_IDS), id->text) : NULL, "call_id",
		id == NULL ? VALUE_TEXT("") : id, "name",
		call_name(items->reader->ask, value_get(call, "name")), "arguments",
		openai_arguments(arena, call, items->reader->provider), NULL));
}

/* The call as it is now: a hook may have changed it, or taken it away. Of two with one id the second has
 * another one in tool_calls, if it is there. */
static void
add_call_block(struct items *items, const struct value *block)
{
	const struct value *id = value_get(block, "call_id");
	const struct value *call = chat_call(items->message, id);

	if (call == NULL || has_call(items, id))
		return;
	if (!items->own) {
		add_call(items, call);
		return;
	}
	block = responses_call_now(items->reader->ask, block, call);
	if (!has_ids(items) && is_type(block, "function_call"))
		block = value_map_with(items->arena, block, "id", NULL);
	add_item(items, block);
}

static void
add_calls(struct items *items, const char *key)
{
	const struct value *calls = value_get(items->message, key);

	for (size_t i = 0; i < value_size(calls); i++)
		if (!has_call(items, value_get(value_at(calls, i), "id")))
			add_call(items, value_at(calls, i));
}

/* --- answers ------------------------------------------------------------------------- */

static void
add_block(struct items *items, const struct value *block)
{
	if (value_is(block, VALUE_STR))
		add_text(items, NULL, block);
	else if (is_type(block, "text") || is_type(block, "output_text"))
		add_text(items, block, value_get(block, "text"));
	else if (is_type(block, "refusal"))
		add_refusal(items, block, value_get(block, "refusal"));
	else if (is_type(block, "reasoning"))
		add_thought(items, block);
	else if (responses_call_of(block) != NULL)
		add_call_block(items, block);
	else if (items->own && responses_goes_back(block))
		add_own(items, block);
}

static void
add_blocks(struct items *items, const struct value *blocks)
{
	for (size_t i = 0; value_is(blocks, VALUE_ARRAY) && i < blocks->size; i++)
		add_block(items, blocks->items[i]);
}

static bool
has_refusal(const struct value *blocks)
{
	for (size_t i = 0; value_is(blocks, VALUE_ARRAY) && i < blocks->size; i++)
		if (is_type(blocks->items[i], "refusal"))
			return true;
	return false;
}

/* LangChain's older form, and JavaScript's, has some of what was answered beside the content. */
static void
add_answer(struct items *items)
{
	const struct value *content = value_get(items->message, "content");
	const struct value *more = value_get(items->message, "additional_kwargs");

	if (value_is(value_get(more, "reasoning"), VALUE_MAP))
		add_thought(items, value_get(more, "reasoning"));
	if (items->own)
		add_blocks(items, value_get(more, "tool_outputs"));
	if (value_is(content, VALUE_STR) && content->size > 0)
		add_item(
		    items, value_map(items->arena, "type", VALUE_TEXT("message"), "role",
			       VALUE_TEXT("assistant"), "content", content, NULL));
	add_blocks(items, content);
	if (!has_refusal(content))
		add_refusal(items, NULL, value_get(more, "refusal"));
	end_text(items);
	add_calls(items, "tool_calls");
	add_calls(items, "invalid_tool_calls");
	while (items->list.count > 0 &&
	       is_type(items->list.items[items->list.count - 1], "reasoning"))
		items->list.count--;
}

/* --- people and tools ---------------------------------------------------------------- */

static const struct value *
message_item(struct arena *arena, const struct value *role, const struct value *content)
{
	return value_map(
	    arena, "type", VALUE_TEXT("message"), "role", role, "content", content, NULL);
}

static bool
is_item(const struct value *block)
{
	return is_type(block, "mcp_approval_response") ||
	       is_type(block, "configuration_update");
}

static void
add_said(struct items *items, const struct value *role)
{
	const struct value *content = value_get(items->message, "content");
	struct arena *arena = items->arena;
	struct value_list parts = { .arena = arena };

	if (value_is_nil(content))
		content = VALUE_TEXT("");
	if (!value_is(content, VALUE_ARRAY)) {
		if (!value_is(content, VALUE_STR))
			content = value_str(arena, json_text(arena, content));
		value_list_add(&items->list, message_item(arena, role, content));
		return;
	}
	for (size_t i = 0; i < content->size; i++) {
		if (is_item(content->items[i]))
			value_list_add(&items->list, content->items[i]);
		else
			value_list_add(&parts, responses_part(arena, content->items[i]));
	}
	if (parts.count > 0)
		value_list_add(
		    &items->list, message_item(arena, role, value_list_end(&parts)));
}

/* Returns what kind of call has that id in an answer: one that is no function is a block of its content. */
static const struct responses_call *
call_in(const struct value *message, const struct value *id)
{
	const struct value *content = value_get(message, "content");

	for (size_t i = 0; value_is(content, VALUE_ARRAY) && i < content->size; i++)
		if (responses_call_of(content->items[i]) != NULL &&
		    value_equal(value_get(content->items[i], "call_id"), id))
			return responses_call_of(content->items[i]);
	return NULL;
}

/* Returns what kind of call the tool's message at index answers, or NULL: a function. */
static const struct responses_call *
answered_call(
    const struct responses_reader *reader, const struct value *messages, size_t index)
{
	const struct value *id = value_get(value_at(messages, index), "tool_call_id");

	while (index-- > 0) {
		const struct value *message = value_at(messages, index);

		if (chat_is(message, "ai") && chat_call(message, id) != NULL)
			return is_own(reader, message) ? call_in(message, id) : NULL;
	}
	return NULL;
}

static void
add_result(struct items *items, const struct responses_call *call)
{
	const struct value *content = value_get(items->message, "content");
	const struct value *more = value_get(items->message, "additional_kwargs");
	bool screen = call != NULL &&
		      value_text_is(VALUE_TEXT("computer_call_output"), call->output);

	value_list_add(&items->list,
	    value_map(items->arena, "type",
		call == NULL ? VALUE_TEXT("function_call_output")
			     : value_str(items->arena, call->output),
		"call_id", value_get(items->message, "tool_call_id"), "output",
		screen ? responses_screen(items->arena, content)
		       : responses_output(items->arena, content),
		"acknowledged_safety_checks",
		screen ? value_get(more, "acknowledged_safety_checks") : NULL, NULL));
}

/* --- the whole ----------------------------------------------------------------------- */

static const struct value *
system_role(const struct responses_reader *reader)
{
	return reader->thinks ? VALUE_TEXT("developer") : VALUE_TEXT("system");
}

/* Makes the items of message number index. Returns 0, or -1 with a reason in arena. */
static int
message_items(
    struct items *items, const struct value *messages, size_t index, const char **error_r)
{
	const struct value *message = value_at(messages, index);

	items->list.arena = items->parts.arena = items->arena;
	items->message = message;
	items->own = is_own(items->reader, message);
	if (chat_is(message, "human"))
		add_said(items, VALUE_TEXT("user"));
	else if (chat_is(message, "system"))
		add_said(items, system_role(items->reader));
	else if (chat_is(message, "ai"))
		add_answer(items);
	else if (chat_is(message, "tool"))
		add_result(items, answered_call(items->reader, messages, index));
	else {
		*error_r = arena_printf(items->arena,
		    "messages[%zu].type: a model cannot be sent '%s'", index,
		    value_get_text(message, "type"));
		return -1;
	}
	return 0;
}

static void
add_system(
    struct value_list *list, const struct responses_reader *reader, const char *prompt)
{
	if (prompt != NULL && *prompt != '\0')
		value_list_add(list, message_item(list->arena, system_role(reader),
					 value_str(list->arena, prompt)));
}

const struct value *
responses_items(struct arena *arena, const struct responses_reader *reader,
    const char *system_prompt, const struct value *messages, const char **error_r)
{
	struct value_list list = { .arena = arena };

	add_system(&list, reader, system_prompt);
	for (size_t i = 0; i < value_size(messages); i++) {
		struct items items = { .arena = arena, .reader = reader };

		if (message_items(&items, messages, i, error_r) == -1)
			return NULL;
		value_list_add_all(&list, value_list_end(&items.list));
	}
	return value_list_end(&list);
}

const struct value *
responses_items_written(struct arena *arena, const struct responses_reader *reader,
    const char *system_prompt, const struct value *messages, struct written *written,
    const char **error_r)
{
	struct value_list list = { .arena = arena };
	size_t count = value_size(messages);

	written_in(written,
	    arena_printf(arena, "responses %s%s%s%s%s", reader->provider,
		reader->thinks ? " thinks" : "", reader->thinks_not ? " thinks-not" : "",
		reader->keeps ? " keeps" : "",
		call_names_fit(reader->ask) ? "" : " named"));
	while (written->count < count) {
		struct items items = { .arena = arena, .reader = reader };

		if (message_items(&items, messages, written->count, error_r) == -1)
			return NULL;
		written_add(written, items.list.items, items.list.count);
	}
	add_system(&list, reader, system_prompt);
	written_put(written, &list, count);
	return value_list_end(&list);
}
