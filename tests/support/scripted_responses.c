#include "scripted_responses.h"

#include <string.h>

#include "json.h"
#include "utf8.h"

#define PIECE_BYTES 7u /* so that no piece of arguments is JSON by itself */

static const struct value *
text(struct arena *arena, const char *literal)
{
	return value_str(arena, literal);
}

/* --- what both forms say ----------------------------------------------------------- */

static const struct value *
thought_item(struct arena *arena, const struct value *thought)
{
	const struct value *part = value_map(arena, "type", text(arena, "summary_text"),
	    "text", value_get(thought, "summary"), NULL);

	return value_map(arena, "id", text(arena, "rs_scripted"), "type",
	    text(arena, "reasoning"), "summary", value_array(arena, &part, 1),
	    "encrypted_content", value_get(thought, "encrypted_content"), NULL);
}

static const struct value *
message_item(struct arena *arena, const struct value *content)
{
	const struct value *part = value_map(arena, "type", text(arena, "output_text"),
	    "text", content, "annotations", value_empty_array(), NULL);

	return value_map(arena, "id", text(arena, "msg_scripted"), "type",
	    text(arena, "message"), "role", text(arena, "assistant"), "status",
	    text(arena, "completed"), "content", value_array(arena, &part, 1), NULL);
}

static const struct value *
call_item(struct arena *arena, const struct value *id, const struct value *name,
    const struct value *args)
{
	if (args == NULL)
		args = value_empty_map();
	return value_map(arena, "id",
	    value_printf(arena, "fc_%s", id == NULL ? "" : value_text(id)), "type",
	    text(arena, "function_call"), "status", text(arena, "completed"), "call_id",
	    id, "name", name, "arguments",
	    value_is(args, VALUE_STR) ? args : text(arena, json_text(arena, args)), NULL);
}

/* The name a request for structured output wants called. */
static const struct value *
wanted_tool(const struct value *request)
{
	const struct value *name = value_get(value_get(request, "tool_choice"), "name");

	return name != NULL ? name
			    : value_get(value_at(value_get(request, "tools"), 0), "name");
}

static const struct value *
structured_item(
    struct arena *arena, const struct value *structured, const struct value *request)
{
	if (value_has(value_get(request, "text"), "format"))
		return message_item(arena, text(arena, json_text(arena, structured)));
	return call_item(
	    arena, text(arena, "structured"), wanted_tool(request), structured);
}

static const struct value *
items_of(struct arena *arena, const struct value *entry, const struct value *request)
{
	const struct value *calls = value_get(entry, "tool_calls");
	struct value_list items = { .arena = arena };

	if (value_has(entry, "items"))
		return value_get(entry, "items");
	if (value_has(entry, "thought"))
		value_list_add(&items, thought_item(arena, value_get(entry, "thought")));
	if (value_size(value_get(entry, "content")) > 0)
		value_list_add(&items, message_item(arena, value_get(entry, "content")));
	for (size_t i = 0; i < value_size(calls); i++) {
		const struct value *call = value_at(calls, i);

		value_list_add(
		    &items, call_item(arena, value_get(call, "id"),
				value_get(call, "name"), value_get(call, "args")));
	}
	if (value_has(entry, "structured"))
		value_list_add(&items,
		    structured_item(arena, value_get(entry, "structured"), request));
	return value_list_end(&items);
}

static bool
is_cut(const struct value *entry)
{
	return value_text_is(value_get(entry, "finish_reason"), "length");
}

static const struct value *
envelope(struct arena *arena, const struct value *entry, const struct value *request,
    const char *status, const struct value *output)
{
	const struct value *reason =
	    value_map(arena, "reason", text(arena, "max_output_tokens"), NULL);

	return value_map(arena, "id", text(arena, "resp_scripted"), "object",
	    text(arena, "response"), "created_at", value_int(arena, 1), "status",
	    text(arena, status), "error", value_nil(), "incomplete_details",
	    is_cut(entry) ? reason : value_nil(), "model", value_get(request, "model"),
	    "output", output, "usage",
	    value_has(entry, "usage") ? value_get(entry, "usage") : value_nil(), NULL);
}

static const char *
last_status(const struct value *entry)
{
	return is_cut(entry) ? "incomplete" : "completed";
}

const char *
scripted_responses_plain(
    struct arena *arena, const struct value *entry, const struct value *request)
{
	return json_text(arena, envelope(arena, entry, request, last_status(entry),
				    items_of(arena, entry, request)));
}

/* --- the streamed form ------------------------------------------------------------- */

struct stream {
	struct arena *arena;
	struct packet packet;
	int64_t number;
};

static void
event(struct stream *stream, const char *type, const struct value *data)
{
	struct arena *arena = stream->arena;
	const char *line = arena_printf(arena, "event: %s\ndata: ", type);

	packet_append(&stream->packet, line, strlen(line));
	json_write(&stream->packet,
	    value_map_merge(arena,
		value_map(arena, "type", text(arena, type), "sequence_number",
		    value_int(arena, stream->number++), NULL),
		data));
	packet_append(&stream->packet, "\n\n", 2);
}

static void
pieces(struct stream *stream, const char *type, size_t index, const char *whole)
{
	struct arena *arena = stream->arena;
	size_t left = strlen(whole);

	while (left > 0) {
		size_t size = utf8_prefix(whole, left, PIECE_BYTES);

		event(stream, type,
		    value_map(arena, "output_index", value_int(arena, (int64_t)index),
			"content_index", value_int(arena, 0), "summary_index",
			value_int(arena, 0), "delta", value_strn(arena, whole, size),
			NULL));
		whole += size;
		left -= size;
	}
}

static const struct value *
emptied(struct arena *arena, const struct value *item)
{
	static const char *const lists[] = { "content", "summary" };

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		if (value_has(item, lists[i]))
			item = value_map_with(arena, item, lists[i], value_empty_array());
	if (value_has(item, "arguments"))
		item = value_map_with(arena, item, "arguments", text(arena, ""));
	return value_map_with(arena, item, "encrypted_content", NULL);
}

static void
stream_item(struct stream *stream, size_t index, const struct value *item)
{
	struct arena *arena = stream->arena;
	const struct value *number = value_int(arena, (int64_t)index);
	const char *said =
	    value_get_text(value_at(value_get(item, "content"), 0), "text");
	const char *thought =
	    value_get_text(value_at(value_get(item, "summary"), 0), "text");
	const char *args = value_get_text(item, "arguments");

	event(stream, "response.output_item.added",
	    value_map(arena, "output_index", number, "item", emptied(arena, item), NULL));
	if (said != NULL)
		pieces(stream, "response.output_text.delta", index, said);
	if (thought != NULL)
		pieces(stream, "response.reasoning_summary_text.delta", index, thought);
	if (args != NULL)
		pieces(stream, "response.function_call_arguments.delta", index, args);
	event(stream, "response.output_item.done",
	    value_map(arena, "output_index", number, "item", item, NULL));
}

static void
stream_end(struct stream *stream, const struct value *entry, const struct value *request,
    const struct value *items)
{
	struct arena *arena = stream->arena;
	const struct value *error = value_get(entry, "stream_error");
	const char *status = last_status(entry);

	if (error != NULL)
		event(stream, "response.failed",
		    value_map(arena, "response",
			value_map_with(arena,
			    envelope(arena, entry, request, "failed", items), "error",
			    error),
			NULL));
	if (error != NULL || value_get_bool(entry, "open_end", false))
		return;
	event(stream, arena_printf(arena, "response.%s", status),
	    value_map(
		arena, "response", envelope(arena, entry, request, status, items), NULL));
}

const char *
scripted_responses_stream(
    struct arena *arena, const struct value *entry, const struct value *request)
{
	const struct value *items = items_of(arena, entry, request);
	struct stream stream = { .arena = arena };
	const char *body;

	event(&stream, "response.created",
	    value_map(arena, "response",
		envelope(arena, entry, request, "in_progress", value_empty_array()),
		NULL));
	for (size_t i = 0; i < value_size(items); i++)
		stream_item(&stream, i, value_at(items, i));
	stream_end(&stream, entry, request, items);
	body = arena_copy(arena, stream.packet.data, stream.packet.size);
	packet_release(&stream.packet);
	return body;
}
