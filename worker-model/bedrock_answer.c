#include "bedrock_answer.h"

#include <string.h>

#include "answer.h"
#include "bounds.h"

/* --- usage --------------------------------------------------------------------------- */

/* What was read from the cache or written to it does not count among inputTokens. */
static const struct value *
usage_of(struct arena *arena, const struct value *usage)
{
	int64_t read = answer_tokens(usage, "cacheReadInputTokens", 0);
	int64_t written = answer_tokens(usage, "cacheWriteInputTokens", 0);
	int64_t in = answer_tokens(usage, "inputTokens", 0) + read + written;
	int64_t out = answer_tokens(usage, "outputTokens", 0);
	bool told = value_has(usage, "cacheReadInputTokens") ||
		    value_has(usage, "cacheWriteInputTokens");

	if (!value_is(usage, VALUE_MAP))
		return NULL;
	return value_map(arena, "input_tokens", value_int(arena, in), "output_tokens",
	    value_int(arena, out), "total_tokens", value_int(arena, in + out),
	    "input_token_details",
	    told ? value_map(arena, "cache_read", value_int(arena, read),
		       "cache_creation", value_int(arena, written), NULL)
		 : NULL,
	    NULL);
}

/* --- content ------------------------------------------------------------------------- */

static const struct value *
typed(struct arena *arena, const char *type, const char *key, const struct value *value)
{
	return value_map(arena, "type", value_str(arena, type), key, value, NULL);
}

static void
add_reasoning(struct value_list *blocks, const struct value *reasoning)
{
	struct arena *arena = blocks->arena;
	const struct value *text = value_get(reasoning, "reasoningText");
	const struct value *redacted = value_get(reasoning, "redactedContent");

	if (value_is(redacted, VALUE_STR))
		reasoning = value_map(arena, "redacted_content", redacted, NULL);
	else
		reasoning = value_map(arena, "text", value_get(text, "text"), "signature",
		    value_get(text, "signature"), NULL);
	value_list_add(
	    blocks, typed(arena, "reasoning_content", "reasoning_content", reasoning));
}

static void
add_cited(struct value_list *blocks, const struct value *cited)
{
	const struct value *texts = value_get(cited, "content");

	for (size_t i = 0; i < value_size(texts); i++) {
		const struct value *text = value_get(value_at(texts, i), "text");

		if (value_is(text, VALUE_STR))
			value_list_add(
			    blocks, value_map_with(blocks->arena,
					typed(blocks->arena, "text", "text", text),
					"citations", value_get(cited, "citations")));
	}
}

/* Returns 0, or -1 with a reason. */
static int
add_use(struct answer *answer, struct value_list *blocks, const struct value *use,
    const char **error_r)
{
	struct arena *arena = answer->arena;
	const char *name = value_get_text(use, "name");
	bool run = value_text_is(value_get(use, "type"), "server_tool_use");

	value_list_add(
	    blocks, value_map(arena, "type",
			value_str(arena, run ? "server_tool_use" : "tool_use"), "id",
			value_get(use, "toolUseId"), "name", value_get(use, "name"),
			"input", value_get(use, "input"), NULL));
	if (run) /* Bedrock's own tool, which it has run */
		return 0;
	*error_r = "a tool call has no name";
	if (name == NULL || *name == '\0')
		return -1;
	*error_r = ANSWER_CALLS_FAULT;
	return answer_call(
	    answer, value_get_text(use, "toolUseId"), name, value_get(use, "input"));
}

/* A block that is a map of one key, which says what it is: {json: ...}. */
static void
add_other(struct value_list *blocks, const struct value *block)
{
	const char *name;

	if (!value_is(block, VALUE_MAP) || block->size == 0)
		return;
	name = value_text(block->pairs[0].key);
	if (strcmp(name, "type") != 0)
		value_list_add(
		    blocks, typed(blocks->arena, name, name, block->pairs[0].value));
}

static void
add_result(struct value_list *blocks, const struct value *result)
{
	struct arena *arena = blocks->arena;
	const struct value *content = value_get(result, "content");
	struct value_list list = { .arena = arena };
	bool failed = value_text_is(value_get(result, "status"), "error");

	for (size_t i = 0; i < value_size(content); i++)
		add_other(&list, value_at(content, i));
	value_list_add(blocks,
	    value_map(arena, "type", value_str(arena, "server_tool_result"),
		"tool_use_id", value_get(result, "toolUseId"), "is_error",
		failed ? value_bool(true) : NULL, "content", value_list_end(&list),
		"result_type", value_get(result, "type"), NULL));
}

static int
add_block(struct answer *answer, struct value_list *blocks, const struct value *block,
    const char **error_r)
{
	const struct value *text = value_get(block, "text");

	*error_r = "its content is not a list of blocks";
	if (!value_is(block, VALUE_MAP))
		return -1;
	if (value_has(block, "toolUse"))
		return add_use(answer, blocks, value_get(block, "toolUse"), error_r);
	if (value_is(text, VALUE_STR))
		value_list_add(blocks, typed(answer->arena, "text", "text", text));
	else if (value_has(block, "reasoningContent"))
		add_reasoning(blocks, value_get(block, "reasoningContent"));
	else if (value_has(block, "citationsContent"))
		add_cited(blocks, value_get(block, "citationsContent"));
	else if (value_has(block, "toolResult"))
		add_result(blocks, value_get(block, "toolResult"));
	else
		add_other(blocks, block);
	return 0;
}

static bool
is_type(const struct value *block, const char *type)
{
	return value_text_is(value_get(block, "type"), type);
}

/* One text, or none, and then calls: nothing is lost when it becomes a string. */
static const struct value *
content_of(const struct value *blocks)
{
	const struct value *first = value_at(blocks, 0);
	bool has_text = is_type(first, "text");
	size_t i = has_text ? 1 : 0;

	while (is_type(value_at(blocks, i), "tool_use"))
		i++;
	if (i < value_size(blocks) || (has_text && value_has(first, "citations")))
		return blocks;
	return has_text ? value_get(first, "text") : NULL;
}

/* --- the whole ----------------------------------------------------------------------- */

static const struct value *
map_or_nothing(const struct value *map, const char *key)
{
	const struct value *value = value_get(map, key);

	return value_is(value, VALUE_MAP) ? value : NULL;
}

static const struct value *
metadata_of(struct arena *arena, const struct value *body)
{
	const struct value *reason = value_get(body, "stopReason");

	return value_map(arena, "stopReason", value_is(reason, VALUE_STR) ? reason : NULL,
	    "metrics", map_or_nothing(body, "metrics"), "trace",
	    map_or_nothing(body, "trace"), "additionalModelResponseFields",
	    map_or_nothing(body, "additionalModelResponseFields"), NULL);
}

const struct value *
bedrock_answer(struct arena *arena, const struct value *body, const char **error_r)
{
	const struct value *content =
	    value_get(value_get(value_get(body, "output"), "message"), "content");
	struct answer answer = { .arena = arena };
	struct value_list blocks = { .arena = arena };

	*error_r = "it has no output with a message";
	if (!value_is(content, VALUE_ARRAY))
		return NULL;
	*error_r = "too many blocks in one message";
	if (content->size > ANSWER_BLOCKS_MAX)
		return NULL;
	for (size_t i = 0; i < content->size; i++)
		if (add_block(&answer, &blocks, content->items[i], error_r) == -1)
			return NULL;
	answer.content = content_of(value_list_end(&blocks));
	answer.usage = usage_of(arena, value_get(body, "usage"));
	answer.metadata = metadata_of(arena, body);
	return answer_message(&answer);
}
