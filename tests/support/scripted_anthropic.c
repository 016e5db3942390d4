#include "scripted_anthropic.h"

#include <string.h>

#include "json.h"
#include "utf8.h"

#define PIECE_BYTES 7u /* so that no piece of an input is JSON by itself */

static const struct value *
text(struct arena *arena, const char *literal)
{
	return value_str(arena, literal);
}

/* --- what both forms say ----------------------------------------------------------- */

static void
add_calls(struct value_list *blocks, const struct value *entry)
{
	const struct value *calls = value_get(entry, "tool_calls");

	for (size_t i = 0; i < value_size(calls); i++) {
		const struct value *call = value_at(calls, i);
		const struct value *args = value_get(call, "args");

		value_list_add(blocks,
		    value_map(blocks->arena, "type", text(blocks->arena, "tool_use"),
			"id", value_get(call, "id"), "name", value_get(call, "name"),
			"input", args == NULL ? value_empty_map() : args, NULL));
	}
}

/* The name a request for structured output wants called. */
static const struct value *
wanted_tool(const struct value *request)
{
	const struct value *name = value_get(value_get(request, "tool_choice"), "name");

	return name != NULL ? name
			    : value_get(value_at(value_get(request, "tools"), 0), "name");
}

static void
add_structured(struct value_list *blocks, const struct value *structured,
    const struct value *request)
{
	struct arena *arena = blocks->arena;

	if (value_has(value_get(request, "output_config"), "format"))
		value_list_add(
		    blocks, value_map(arena, "type", text(arena, "text"), "text",
				text(arena, json_text(arena, structured)), NULL));
	else
		value_list_add(
		    blocks, value_map(arena, "type", text(arena, "tool_use"), "id",
				text(arena, "structured"), "name", wanted_tool(request),
				"input", structured, NULL));
}

static const struct value *
blocks_of(struct arena *arena, const struct value *entry, const struct value *request)
{
	const struct value *thinking = value_get(entry, "thinking"),
			   *content = value_get(entry, "content");
	struct value_list blocks = { .arena = arena };

	if (value_has(entry, "blocks"))
		return value_get(entry, "blocks");
	if (thinking != NULL)
		value_list_add(&blocks,
		    value_map_with(arena, thinking, "type", text(arena, "thinking")));
	if (value_size(content) > 0)
		value_list_add(&blocks,
		    value_map(arena, "type", text(arena, "text"), "text", content, NULL));
	add_calls(&blocks, entry);
	if (value_has(entry, "structured"))
		add_structured(&blocks, value_get(entry, "structured"), request);
	return value_list_end(&blocks);
}

static const struct value *
reason_of(struct arena *arena, const struct value *entry, const struct value *blocks)
{
	const struct value *last = value_at(blocks, value_size(blocks) - 1);

	if (value_has(entry, "finish_reason"))
		return value_get(entry, "finish_reason");
	return text(arena,
	    value_text_is(value_get(last, "type"), "tool_use") ? "tool_use" : "end_turn");
}

static const struct value *
usage_of(struct arena *arena, const struct value *entry)
{
	return value_map_merge(arena,
	    value_map(arena, "input_tokens", value_int(arena, 1), "output_tokens",
		value_int(arena, 1), NULL),
	    value_get(entry, "usage"));
}

static const struct value *
envelope(struct arena *arena, const struct value *request, const struct value *content,
    const struct value *reason, const struct value *usage)
{
	return value_map(arena, "id", text(arena, "msg_scripted"), "type",
	    text(arena, "message"), "role", text(arena, "assistant"), "model",
	    value_get(request, "model"), "content", content, "stop_reason",
	    reason == NULL ? value_nil() : reason, "stop_sequence", value_nil(), "usage",
	    usage, NULL);
}

const char *
scripted_anthropic_plain(
    struct arena *arena, const struct value *entry, const struct value *request)
{
	const struct value *blocks = blocks_of(arena, entry, request);

	return json_text(
	    arena, envelope(arena, request, blocks, reason_of(arena, entry, blocks),
		       usage_of(arena, entry)));
}

/* --- errors ------------------------------------------------------------------------ */

static const struct {
	int status;
	const char *type;
} errors[] = {
	{ 400, "invalid_request_error" },
	{ 401, "authentication_error" },
	{ 403, "permission_error" },
	{ 404, "not_found_error" },
	{ 413, "request_too_large" },
	{ 429, "rate_limit_error" },
	{ 529, "overloaded_error" },
};

const char *
scripted_anthropic_error(struct arena *arena, int status, const char *message)
{
	const char *type = "api_error";

	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].status == status)
			type = errors[i].type;
	return json_text(arena, value_map(arena, "type", text(arena, "error"), "error",
				    value_map(arena, "type", text(arena, type), "message",
					value_str(arena, message), NULL),
				    "request_id", text(arena, "req_scripted"), NULL));
}

/* --- the streamed form ------------------------------------------------------------- */

struct stream {
	struct arena *arena;
	struct packet packet;
};

static void
event(struct stream *stream, const char *type, const struct value *data)
{
	const char *line = arena_printf(stream->arena, "event: %s\ndata: ", type);

	packet_append(&stream->packet, line, strlen(line));
	json_write(&stream->packet,
	    value_map_merge(stream->arena,
		value_map(stream->arena, "type", text(stream->arena, type), NULL), data));
	packet_append(&stream->packet, "\n\n", 2);
}

static void
delta(struct stream *stream, size_t index, const char *type, const char *key,
    const struct value *piece)
{
	struct arena *arena = stream->arena;

	event(stream, "content_block_delta",
	    value_map(arena, "index", value_int(arena, (int64_t)index), "delta",
		value_map(arena, "type", text(arena, type), key, piece, NULL), NULL));
}

static void
pieces(struct stream *stream, size_t index, const char *type, const char *key,
    const char *whole)
{
	size_t left = strlen(whole);

	while (left > 0) {
		size_t size = utf8_prefix(whole, left, PIECE_BYTES);

		delta(stream, index, type, key, value_strn(stream->arena, whole, size));
		whole += size;
		left -= size;
	}
}

static const struct value *
emptied(struct arena *arena, const struct value *block)
{
	if (value_has(block, "text"))
		block = value_map_with(arena, block, "text", text(arena, ""));
	if (value_has(block, "thinking"))
		block = value_map_with(arena,
		    value_map_with(arena, block, "thinking", text(arena, "")),
		    "signature", text(arena, ""));
	if (value_has(block, "input"))
		block = value_map_with(arena, block, "input", value_empty_map());
	return block;
}

static void
stream_block(struct stream *stream, size_t index, const struct value *block)
{
	struct arena *arena = stream->arena;
	const struct value *number = value_int(arena, (int64_t)index),
			   *input = value_get(block, "input");

	event(stream, "content_block_start",
	    value_map(
		arena, "index", number, "content_block", emptied(arena, block), NULL));
	if (value_has(block, "text"))
		pieces(
		    stream, index, "text_delta", "text", value_get_text(block, "text"));
	if (value_has(block, "thinking"))
		pieces(stream, index, "thinking_delta", "thinking",
		    value_get_text(block, "thinking"));
	if (value_has(block, "signature"))
		delta(stream, index, "signature_delta", "signature",
		    value_get(block, "signature"));
	if (input != NULL)
		pieces(stream, index, "input_json_delta", "partial_json",
		    value_is(input, VALUE_STR) ? input->text : json_text(arena, input));
	event(stream, "content_block_stop", value_map(arena, "index", number, NULL));
}

static void
stream_end(struct stream *stream, const struct value *entry, const struct value *blocks)
{
	struct arena *arena = stream->arena;
	const struct value *error = value_get(entry, "stream_error");
	int64_t out = value_get_int(usage_of(arena, entry), "output_tokens", 1);

	if (error != NULL)
		event(stream, "error", value_map(arena, "error", error, NULL));
	if (error != NULL || value_get_bool(entry, "open_end", false))
		return;
	event(stream, "message_delta",
	    value_map(arena, "delta",
		value_map(arena, "stop_reason", reason_of(arena, entry, blocks),
		    "stop_sequence", value_nil(), NULL),
		"usage", value_map(arena, "output_tokens", value_int(arena, out), NULL),
		NULL));
	event(stream, "message_stop", NULL);
}

const char *
scripted_anthropic_stream(
    struct arena *arena, const struct value *entry, const struct value *request)
{
	const struct value *blocks = blocks_of(arena, entry, request);
	struct stream stream = { .arena = arena };
	const char *body;

	event(&stream, "message_start",
	    value_map(arena, "message",
		envelope(arena, request, value_empty_array(), NULL,
		    value_map_with(arena, usage_of(arena, entry), "output_tokens",
			value_int(arena, 1))),
		NULL));
	event(&stream, "ping", NULL);
	for (size_t i = 0; i < value_size(blocks); i++)
		stream_block(&stream, i, value_at(blocks, i));
	stream_end(&stream, entry, blocks);
	body = arena_copy(arena, stream.packet.data, stream.packet.size);
	packet_release(&stream.packet);
	return body;
}
