#include "responses_answer.h"

#include "answer.h"
#include "bounds.h"
#include "openai_answer.h"
#include "responses_kinds.h"

/* The content under construction. */
struct content {
	struct answer *answer;
	struct value_list blocks;
	const struct value *refusal; /* or NULL */
	bool is_plain; /* nothing is lost when it becomes the text of the first block */
};

static bool
is_type(const struct value *block, const char *type)
{
	return value_text_is(value_get(block, "type"), type);
}

/* What is null was not said, and would be refused on its way back. */
static const struct value *
without_nil(struct arena *arena, const struct value *item)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	for (i = 0; i < item->size && !value_is_nil(item->pairs[i].value); i++)
		;
	if (i == item->size)
		return item;
	for (i = 0; i < item->size; i++)
		if (!value_is_nil(item->pairs[i].value))
			value_fields_put(
			    &fields, item->pairs[i].key, item->pairs[i].value);
	return value_fields_end(&fields);
}

/* --- messages ------------------------------------------------------------------------ */

static const struct value *
unless_empty(const struct value *list)
{
	return value_is(list, VALUE_ARRAY) && list->size > 0 ? list : NULL;
}

static const struct value *
text_or_nothing(const struct value *map, const char *key)
{
	const struct value *text = value_get(map, key);

	return value_is(text, VALUE_STR) ? text : NULL;
}

static void
add_text(struct content *content, const struct value *item, const struct value *part)
{
	struct arena *arena = content->blocks.arena;
	const struct value *annotations =
	    responses_annotations_of(arena, value_get(part, "annotations"));
	const struct value *logprobs = unless_empty(value_get(part, "logprobs"));
	const struct value *text = text_or_nothing(part, "text");
	const struct value *phase = text_or_nothing(item, "phase");

	if (text == NULL || content->blocks.count > 0 || annotations->size > 0 ||
	    logprobs != NULL || phase != NULL)
		content->is_plain = false;
	value_list_add(
	    &content->blocks, value_map(arena, "type", VALUE_TEXT("text"), "text",
				  text == NULL ? VALUE_TEXT("") : text, "annotations",
				  annotations, "logprobs", logprobs, "id",
				  text_or_nothing(item, "id"), "phase", phase, NULL));
}

static void
add_refusal(struct content *content, const struct value *item, const struct value *part)
{
	const struct value *refusal = text_or_nothing(part, "refusal");

	if (refusal == NULL)
		return;
	content->is_plain = false;
	content->refusal = refusal;
	value_list_add(&content->blocks,
	    value_map(content->blocks.arena, "type", VALUE_TEXT("refusal"), "refusal",
		refusal, "id", text_or_nothing(item, "id"), NULL));
}

static void
add_message(struct content *content, const struct value *item)
{
	const struct value *parts = value_get(item, "content");

	for (size_t i = 0; value_is(parts, VALUE_ARRAY) && i < parts->size; i++) {
		if (is_type(parts->items[i], "output_text"))
			add_text(content, item, parts->items[i]);
		else
			add_refusal(content, item, parts->items[i]);
	}
}

/* --- calls and other items ----------------------------------------------------------- */

static int
add_call(struct content *content, const struct value *item, const char **error_r)
{
	struct arena *arena = content->blocks.arena;
	const char *name = responses_call_name(item);

	if (name == NULL || *name == '\0') {
		*error_r = "a tool call names no function";
		return -1;
	}
	if (answer_call(content->answer, value_get_text(item, "call_id"), name,
		responses_call_args(arena, item)) == -1) {
		*error_r = ANSWER_CALLS_FAULT;
		return -1;
	}
	/* Of the tools that the model has found for itself a call says where they are. */
	if (!is_type(item, "function_call") || value_has(item, "namespace") ||
	    value_has(item, "caller"))
		content->is_plain = false;
	value_list_add(&content->blocks, item);
	return 0;
}

static int
add_item(struct content *content, const struct value *item, const char **error_r)
{
	if (!value_is(item, VALUE_MAP) || !value_is(value_get(item, "type"), VALUE_STR)) {
		*error_r = "its output is not a list of items";
		return -1;
	}
	item = without_nil(content->blocks.arena, item);
	if (responses_call_of(item) != NULL)
		return add_call(content, item, error_r);
	if (is_type(item, "message")) {
		add_message(content, item);
		return 0;
	}
	content->is_plain = false;
	value_list_add(&content->blocks, item);
	return 0;
}

static int
add_items(struct content *content, const struct value *items, const char **error_r)
{
	*error_r = "it has no output";
	if (!value_is(items, VALUE_ARRAY))
		return -1;
	for (size_t i = 0; i < items->size; i++) {
		if (add_item(content, items->items[i], error_r) == -1)
			return -1;
		if (content->blocks.count > ANSWER_BLOCKS_MAX) {
			*error_r = "too many blocks in one message";
			return -1;
		}
	}
	return 0;
}

/* --- the whole ----------------------------------------------------------------------- */

static const struct openai_counts counts = {
	.input = "input_tokens",
	.output = "output_tokens",
	.of_input = "input_tokens_details",
	.of_output = "output_tokens_details",
};

static const struct value *
metadata_of(struct arena *arena, const struct value *body)
{
	const struct value *details = value_get(body, "incomplete_details");

	return value_map(arena, "status", text_or_nothing(body, "status"),
	    "incomplete_details", value_is(details, VALUE_MAP) ? details : NULL,
	    "model_name", text_or_nothing(body, "model"), "id",
	    text_or_nothing(body, "id"), "service_tier",
	    text_or_nothing(body, "service_tier"), NULL);
}

/* Some servers leave the status out. */
static bool
is_over(const struct value *status)
{
	return value_is_nil(status) || value_text_is(status, "completed") ||
	       value_text_is(status, "incomplete");
}

static const struct value *
content_of(const struct content *content, struct value_list *blocks)
{
	const struct value *first;

	if (!content->is_plain)
		return value_list_end(blocks);
	first = blocks->count == 0 ? NULL : blocks->items[0];
	return is_type(first, "text") ? value_get(first, "text") : NULL;
}

const struct value *
responses_answer(struct arena *arena, const struct value *body, const char **error_r)
{
	struct answer answer = { .arena = arena };
	struct content content = {
		.answer = &answer, .blocks = { .arena = arena }, .is_plain = true
	};

	if (!is_over(value_get(body, "status"))) {
		*error_r = arena_printf(arena, "its status is '%.40s'",
		    value_is(value_get(body, "status"), VALUE_STR)
			? value_get_text(body, "status")
			: "?");
		return NULL;
	}
	if (add_items(&content, value_get(body, "output"), error_r) == -1)
		return NULL;
	answer.content = content_of(&content, &content.blocks);
	answer.usage = openai_usage(arena, value_get(body, "usage"), &counts);
	answer.metadata = metadata_of(arena, body);
	answer.extra = openai_extra(arena, content.refusal, NULL, NULL);
	return answer_message(&answer);
}
