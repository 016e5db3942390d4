#include "scripted_bedrock.h"

#include <string.h>

#include "json.h"
#include "scripted_frames.h"
#include "utf8.h"

#define PIECE_BYTES 7u /* so that no piece of an input is JSON by itself */

static const struct value *
one(struct arena *arena, const char *key, const struct value *value)
{
	return value_map(arena, key, value, NULL);
}

static const struct value *
blocks_of(struct arena *arena, const struct value *entry)
{
	const struct value *content = value_get(entry, "content"),
			   *calls = value_get(entry, "tool_calls");
	struct value_list blocks = { .arena = arena };

	if (value_has(entry, "blocks"))
		return value_get(entry, "blocks");
	if (value_size(content) > 0)
		value_list_add(&blocks, one(arena, "text", content));
	for (size_t i = 0; i < value_size(calls); i++) {
		const struct value *call = value_at(calls, i);

		value_list_add(
		    &blocks, one(arena, "toolUse",
				 value_map(arena, "toolUseId", value_get(call, "id"),
				     "name", value_get(call, "name"), "input",
				     value_get(call, "args"), NULL)));
	}
	return value_list_end(&blocks);
}

static const struct value *
reason_of(struct arena *arena, const struct value *entry, const struct value *blocks)
{
	const struct value *last = value_at(blocks, value_size(blocks) - 1);

	if (value_has(entry, "finish_reason"))
		return value_get(entry, "finish_reason");
	return value_str(arena, value_has(last, "toolUse") ? "tool_use" : "end_turn");
}

static const struct value *
usage_of(struct arena *arena, const struct value *entry)
{
	return value_map_merge(arena,
	    value_map(arena, "inputTokens", value_int(arena, 1), "outputTokens",
		value_int(arena, 1), NULL),
	    value_get(entry, "usage"));
}

static const struct value *
metrics_of(struct arena *arena)
{
	return one(arena, "latencyMs", value_int(arena, 1));
}

const char *
scripted_bedrock_plain(struct arena *arena, const struct value *entry)
{
	const struct value *blocks = blocks_of(arena, entry);
	const struct value *message = value_map(
	    arena, "role", value_str(arena, "assistant"), "content", blocks, NULL);

	return json_text(
	    arena, value_map(arena, "output", one(arena, "message", message),
		       "stopReason", reason_of(arena, entry, blocks), "usage",
		       usage_of(arena, entry), "metrics", metrics_of(arena), NULL));
}

const char *
scripted_bedrock_error(struct arena *arena, const char *message)
{
	return json_text(arena, one(arena, "message", value_str(arena, message)));
}

/* --- the streamed form ------------------------------------------------------------- */

struct stream {
	struct arena *arena;
	struct packet packet;
	const struct value *index; /* of the block */
};

static void
event(struct stream *stream, const char *name, const struct value *body)
{
	scripted_frame(&stream->packet, "event", name, json_text(stream->arena, body));
}

static void
delta(struct stream *stream, const struct value *said)
{
	event(stream, "contentBlockDelta",
	    value_map(
		stream->arena, "delta", said, "contentBlockIndex", stream->index, NULL));
}

/* `wrap`: the key around it, or NULL. */
static void
pieces(struct stream *stream, const char *wrap, const char *key, const char *whole)
{
	struct arena *arena = stream->arena;
	size_t left = strlen(whole);

	while (left > 0) {
		size_t size = utf8_prefix(whole, left, PIECE_BYTES);
		const struct value *said =
		    one(arena, key, value_strn(arena, whole, size));

		delta(stream, wrap == NULL ? said : one(arena, wrap, said));
		whole += size;
		left -= size;
	}
}

static void
stream_use(struct stream *stream, const struct value *use)
{
	struct arena *arena = stream->arena;
	const struct value *input = value_get(use, "input");

	event(stream, "contentBlockStart",
	    value_map(arena, "start",
		one(arena, "toolUse", value_map_with(arena, use, "input", NULL)),
		"contentBlockIndex", stream->index, NULL));
	pieces(stream, "toolUse", "input",
	    value_is(input, VALUE_STR) ? input->text : json_text(arena, input));
}

static void
stream_thought(struct stream *stream, const struct value *thought)
{
	struct arena *arena = stream->arena;
	const struct value *text = value_get(thought, "reasoningText");

	if (value_has(thought, "redactedContent"))
		delta(stream, one(arena, "reasoningContent", thought));
	if (value_has(text, "text"))
		pieces(stream, "reasoningContent", "text", value_get_text(text, "text"));
	if (value_has(text, "signature"))
		delta(stream, one(arena, "reasoningContent",
				  one(arena, "signature", value_get(text, "signature"))));
}

static void
stream_block(struct stream *stream, const struct value *block)
{
	if (value_has(block, "toolUse"))
		stream_use(stream, value_get(block, "toolUse"));
	else if (value_has(block, "reasoningContent"))
		stream_thought(stream, value_get(block, "reasoningContent"));
	else
		pieces(stream, NULL, "text", value_get_text(block, "text"));
	event(stream, "contentBlockStop",
	    one(stream->arena, "contentBlockIndex", stream->index));
}

static void
stream_end(struct stream *stream, const struct value *entry, const struct value *blocks)
{
	struct arena *arena = stream->arena;
	const struct value *error = value_get(entry, "stream_error");

	if (error != NULL)
		scripted_frame(&stream->packet, "exception",
		    value_get_text(error, "type"),
		    json_text(arena, one(arena, "message", value_get(error, "message"))));
	if (error != NULL || value_get_bool(entry, "open_end", false))
		return;
	event(stream, "messageStop",
	    one(arena, "stopReason", reason_of(arena, entry, blocks)));
	event(stream, "metadata",
	    value_map(arena, "usage", usage_of(arena, entry), "metrics",
		metrics_of(arena), NULL));
}

const char *
scripted_bedrock_stream(struct arena *arena, const struct value *entry, size_t *size_r)
{
	const struct value *blocks = blocks_of(arena, entry);
	struct stream stream = { .arena = arena };
	const char *body;

	event(&stream, "messageStart", one(arena, "role", value_str(arena, "assistant")));
	for (size_t i = 0; i < value_size(blocks); i++) {
		stream.index = value_int(arena, (int64_t)i);
		stream_block(&stream, value_at(blocks, i));
	}
	stream_end(&stream, entry, blocks);
	body = arena_copy(arena, stream.packet.data, stream.packet.size);
	*size_r = stream.packet.size;
	packet_release(&stream.packet);
	return body;
}
