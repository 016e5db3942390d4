#include "anthropic_answer.h"

#include "answer.h"
#include "bounds.h"

/* --- usage --------------------------------------------------------------------------- */

static const struct value *
detail(struct arena *arena, const struct value *usage, const char *key)
{
	return value_is(value_get(usage, key), VALUE_INT)
		   ? value_int(arena, answer_tokens(usage, key, 0))
		   : NULL;
}

/* Where the times to live are told apart, the sum of them says the same once more: then it is 0, so
 * that what is added up is added once. */
static const struct value *
details_of(struct arena *arena, const struct value *usage)
{
	const struct value *by_ttl = value_get(usage, "cache_creation");
	const struct value *read = detail(arena, usage, "cache_read_input_tokens");
	const struct value *written = detail(arena, usage, "cache_creation_input_tokens");
	const struct value *details;
	int64_t told = answer_tokens(by_ttl, "ephemeral_5m_input_tokens", 0) +
		       answer_tokens(by_ttl, "ephemeral_1h_input_tokens", 0);

	if (told > 0)
		written = value_int(arena, 0);
	details = value_map(arena, "cache_read", read, "cache_creation", written,
	    "ephemeral_5m_input_tokens",
	    detail(arena, by_ttl, "ephemeral_5m_input_tokens"),
	    "ephemeral_1h_input_tokens",
	    detail(arena, by_ttl, "ephemeral_1h_input_tokens"), NULL);
	return value_size(details) > 0 ? details : NULL;
}

const struct value *
anthropic_usage(struct arena *arena, const struct value *usage)
{
	int64_t in, out = answer_tokens(usage, "output_tokens", 0);

	if (!value_is(usage, VALUE_MAP))
		return NULL;
	in = answer_tokens(usage, "input_tokens", 0) +
	     answer_tokens(usage, "cache_read_input_tokens", 0) +
	     answer_tokens(usage, "cache_creation_input_tokens", 0);
	return value_map(arena, "input_tokens", value_int(arena, in), "output_tokens",
	    value_int(arena, out), "total_tokens", value_int(arena, in + out),
	    "input_token_details", details_of(arena, usage), NULL);
}

/* --- content ------------------------------------------------------------------------- */

static bool
is_type(const struct value *block, const char *type)
{
	return value_text_is(value_get(block, "type"), type);
}

/* One text, or none, and then calls: nothing is lost when it becomes a string. */
static bool
is_plain(const struct value *blocks)
{
	size_t i = 0;

	if (is_type(value_at(blocks, 0), "text") &&
	    !value_truthy(value_get(value_at(blocks, 0), "citations")))
		i++;
	while (is_type(value_at(blocks, i), "tool_use") &&
	       !value_has(value_at(blocks, i), "caller"))
		i++;
	return i == value_size(blocks);
}

static const struct value *
content_of(const struct value *blocks)
{
	const struct value *text = value_get(value_at(blocks, 0), "text");

	if (!is_plain(blocks))
		return blocks;
	return value_is(text, VALUE_STR) ? text : NULL;
}

static int
read_calls(struct answer *answer, const struct value *blocks, const char **error_r)
{
	for (size_t i = 0; i < value_size(blocks); i++) {
		const struct value *block = value_at(blocks, i);
		const char *name = value_get_text(block, "name");

		if (!is_type(block, "tool_use"))
			continue;
		if (name == NULL || *name == '\0') {
			*error_r = "a tool call has no name";
			return -1;
		}
		if (answer_call(answer, value_get_text(block, "id"), name,
			value_get(block, "input")) == -1) {
			*error_r = ANSWER_CALLS_FAULT;
			return -1;
		}
	}
	return 0;
}

static bool
are_blocks(const struct value *blocks)
{
	for (size_t i = 0; i < value_size(blocks); i++)
		if (!value_is(value_get(value_at(blocks, i), "type"), VALUE_STR))
			return false;
	return value_is(blocks, VALUE_ARRAY);
}

/* --- the whole ----------------------------------------------------------------------- */

static const struct value *
text_or_nothing(const struct value *map, const char *key)
{
	const struct value *text = value_get(map, key);

	return value_is(text, VALUE_STR) ? text : NULL;
}

static const struct value *
metadata_of(struct arena *arena, const struct value *body)
{
	const struct value *container = value_get(body, "container");

	return value_map(arena, "stop_reason", text_or_nothing(body, "stop_reason"),
	    "stop_sequence", text_or_nothing(body, "stop_sequence"), "stop_details",
	    value_is(value_get(body, "stop_details"), VALUE_MAP)
		? value_get(body, "stop_details")
		: NULL,
	    "model_name", text_or_nothing(body, "model"), "id",
	    text_or_nothing(body, "id"), "container",
	    value_is(container, VALUE_MAP) ? container : NULL, NULL);
}

const struct value *
anthropic_answer(struct arena *arena, const struct value *body, const char **error_r)
{
	const struct value *blocks = value_get(body, "content");
	struct answer answer = { .arena = arena };

	*error_r = "it has no content";
	if (!value_is(blocks, VALUE_ARRAY))
		return NULL;
	*error_r = "too many blocks in one message";
	if (blocks->size > ANSWER_BLOCKS_MAX)
		return NULL;
	*error_r = "its content is not a list of blocks";
	if (!are_blocks(blocks))
		return NULL;
	if (read_calls(&answer, blocks, error_r) == -1)
		return NULL;
	answer.content = content_of(blocks);
	answer.usage = anthropic_usage(arena, value_get(body, "usage"));
	answer.metadata = metadata_of(arena, body);
	return answer_message(&answer);
}
