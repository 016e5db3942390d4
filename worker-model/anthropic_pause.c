#include "anthropic_pause.h"

#include "bounds.h"
#include "model_usage.h"

bool
anthropic_is_paused(const struct value *message)
{
	const struct value *metadata = value_get(message, "response_metadata");

	return value_text_is(value_get(metadata, "stop_reason"), "pause_turn") &&
	       value_size(value_get(message, "tool_calls")) == 0 &&
	       value_size(value_get(message, "invalid_tool_calls")) == 0 &&
	       value_size(value_get(message, "content")) > 0;
}

static const struct value *
blocks_of(struct arena *arena, const struct value *content)
{
	const struct value *block;

	if (!value_is(content, VALUE_STR))
		return content;
	if (content->size == 0)
		return value_empty_array();
	block = value_map(arena, "type", value_str(arena, "text"), "text", content, NULL);
	return value_array(arena, &block, 1);
}

static const struct value *
content_of(struct arena *arena, const struct value *first, const struct value *second)
{
	struct packet text = { 0 };

	if (!value_is(first, VALUE_STR) || !value_is(second, VALUE_STR))
		return value_array_concat(
		    arena, blocks_of(arena, first), blocks_of(arena, second));
	packet_append(&text, first->text, first->size);
	packet_append(&text, second->text, second->size);
	first = value_strn(arena, text.data, text.size);
	packet_release(&text);
	return first;
}

/* Returns why content is more than one answer may have, or NULL. */
static const char *
excess_of(const struct value *content)
{
	struct packet packed = { 0 };
	size_t size;

	if (value_is(content, VALUE_ARRAY) && content->size > ANSWER_BLOCKS_MAX)
		return "too many blocks in one message";
	value_pack(&packed, content);
	size = packed.size;
	packet_release(&packed);
	return size > ANSWER_BYTES_MAX ? "it is too large" : NULL;
}

const struct value *
anthropic_joined(struct arena *arena, const struct value *first,
    const struct value *second, const char **error_r)
{
	const struct value *usage = model_usage_sum(arena,
	    value_get(first, "usage_metadata"), value_get(second, "usage_metadata"));
	const struct value *content =
	    content_of(arena, value_get(first, "content"), value_get(second, "content"));

	*error_r = excess_of(content);
	if (*error_r != NULL)
		return NULL;
	return value_map_merge(arena, second,
	    value_map(arena, "content", content, "usage_metadata",
		value_size(usage) > 0 ? usage : NULL, NULL));
}
