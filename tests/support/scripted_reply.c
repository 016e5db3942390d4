#include "scripted_reply.h"

#include <stdio.h>
#include <string.h>

#include "json.h"
#include "scripted_anthropic.h"
#include "scripted_bedrock.h"
#include "scripted_responses.h"
#include "utf8.h"

#define ARGUMENT_PIECE_BYTES 7u /* so that no piece of arguments is JSON by itself */

/* --- what both forms say ----------------------------------------------------------- */

static const char *
arguments_text(struct arena *arena, const struct value *args)
{
	if (value_is(args, VALUE_STR))
		return value_text(args);
	return json_text(arena, args == NULL ? value_empty_map() : args);
}

static int64_t
either(const struct value *map, const char *one, const char *other)
{
	return value_get_int(map, one, value_get_int(map, other, 0));
}

static const struct value *
usage_of(struct arena *arena, const struct value *entry)
{
	const struct value *usage = value_get(entry, "usage");
	int64_t input = either(usage, "input_tokens", "prompt_tokens");
	int64_t output = either(usage, "output_tokens", "completion_tokens");

	if (usage == NULL)
		return NULL;
	return value_map(arena, "prompt_tokens", value_int(arena, input),
	    "completion_tokens", value_int(arena, output), "total_tokens",
	    value_int(arena, value_get_int(usage, "total_tokens", input + output)), NULL);
}

static const struct value *
finish_of(struct arena *arena, const struct value *entry)
{
	const char *finish = value_get_text(entry, "finish_reason");

	if (finish == NULL)
		finish = value_size(value_get(entry, "tool_calls")) > 0 ? "tool_calls"
									: "stop";
	return value_str(arena, finish);
}

/* The name a request for structured output wants called. */
static const struct value *
wanted_tool(const struct value *request)
{
	const struct value *choice = value_get(request, "tool_choice");
	const struct value *tool = value_at(value_get(request, "tools"), 0);

	if (value_is(choice, VALUE_MAP))
		tool = choice;
	return value_get(value_get(tool, "function"), "name");
}

/* Turns {structured} into content or a call, as the request asks for it. */
static const struct value *
plain_entry(struct arena *arena, const struct value *entry, const struct value *request)
{
	const struct value *structured = value_get(entry, "structured");
	const struct value *call;

	if (structured == NULL)
		return entry;
	if (!value_is_nil(value_get(request, "response_format")))
		return value_map_with(arena, entry, "content",
		    value_str(arena, json_text(arena, structured)));
	call = value_map(arena, "id", value_str(arena, "structured"), "name",
	    wanted_tool(request), "args", structured, NULL);
	return value_map_with(arena, entry, "tool_calls", value_array(arena, &call, 1));
}

static const struct value *
envelope(struct arena *arena, const char *object, const struct value *request,
    const struct value *choices, const struct value *usage)
{
	return value_map(arena, "id", value_str(arena, "chatcmpl-scripted"), "object",
	    value_str(arena, object), "created", value_int(arena, 1), "model",
	    value_get(request, "model"), "choices", choices, "usage", usage, NULL);
}

/* --- the plain form ---------------------------------------------------------------- */

static const struct value *
tool_calls_of(struct arena *arena, const struct value *entry)
{
	const struct value *calls = value_get(entry, "tool_calls");
	struct value_list list = { .arena = arena };

	for (size_t i = 0; i < value_size(calls); i++) {
		const struct value *call = value_at(calls, i);
		const char *text = arguments_text(arena, value_get(call, "args"));
		const struct value *function = value_map(arena, "name",
		    value_get(call, "name"), "arguments", value_str(arena, text), NULL);

		value_list_add(
		    &list, value_map(arena, "id", value_get(call, "id"), "type",
			       value_str(arena, "function"), "function", function, NULL));
	}
	return list.count > 0 ? value_list_end(&list) : NULL;
}

static const char *
plain_body(struct arena *arena, const struct value *entry, const struct value *request)
{
	const struct value *content = value_get(entry, "content");
	const struct value *message, *choice;

	message = value_map(arena, "role", value_str(arena, "assistant"), "content",
	    content == NULL ? value_nil() : content, "tool_calls",
	    tool_calls_of(arena, entry), NULL);
	choice = value_map(arena, "index", value_int(arena, 0), "message", message,
	    "finish_reason", finish_of(arena, entry), NULL);
	return json_text(
	    arena, envelope(arena, "chat.completion", request,
		       value_array(arena, &choice, 1), usage_of(arena, entry)));
}

/* --- the streamed form ------------------------------------------------------------- */

struct stream {
	struct arena *arena;
	const struct value *request;
	struct packet packet;
};

static void
stream_event(struct stream *stream, const struct value *event)
{
	packet_append(&stream->packet, "data: ", 6);
	json_write(&stream->packet, event);
	packet_append(&stream->packet, "\n\n", 2);
}

static void
stream_delta(struct stream *stream, const struct value *delta, const struct value *finish)
{
	struct arena *arena = stream->arena;
	const struct value *choice = value_map(arena, "index", value_int(arena, 0),
	    "delta", delta, "finish_reason", finish == NULL ? value_nil() : finish, NULL);

	stream_event(stream, envelope(arena, "chat.completion.chunk", stream->request,
				 value_array(arena, &choice, 1), NULL));
}

/* A word goes with the spaces behind it. */
static size_t
word_size(const char *text)
{
	size_t size = strcspn(text, " \n");

	return size + strspn(text + size, " \n");
}

static void
stream_content(struct stream *stream, const char *content, size_t delta_bytes)
{
	struct arena *arena = stream->arena;

	while (content != NULL && *content != '\0') {
		size_t size = word_size(content);

		if (delta_bytes > 0)
			size = utf8_prefix(content, strlen(content), delta_bytes);

		stream_delta(stream,
		    value_map(arena, "content", value_strn(arena, content, size), NULL),
		    NULL);
		content += size;
	}
}

static void
stream_call_delta(struct stream *stream, size_t index, const struct value *call,
    const struct value *function)
{
	struct arena *arena = stream->arena;
	const struct value *delta = value_map(arena, "index",
	    value_int(arena, (int64_t)index), "id", value_get(call, "id"), "type",
	    call == NULL ? NULL : value_str(arena, "function"), "function", function,
	    NULL);

	stream_delta(stream,
	    value_map(arena, "tool_calls", value_array(arena, &delta, 1), NULL), NULL);
}

/* The first piece brings id and name, the others only arguments, as providers do. */
static void
stream_call(struct stream *stream, size_t index, const struct value *call)
{
	struct arena *arena = stream->arena;
	const char *text = arguments_text(arena, value_get(call, "args"));
	size_t left = strlen(text);

	stream_call_delta(stream, index, call,
	    value_map(arena, "name", value_get(call, "name"), "arguments",
		value_str(arena, ""), NULL));
	while (left > 0) {
		size_t size = utf8_prefix(text, left, ARGUMENT_PIECE_BYTES);

		stream_call_delta(stream, index, NULL,
		    value_map(arena, "arguments", value_strn(arena, text, size), NULL));
		text += size;
		left -= size;
	}
}

static void
stream_end(struct stream *stream, const struct value *entry)
{
	struct arena *arena = stream->arena;
	const struct value *usage = usage_of(arena, entry);
	const struct value *options = value_get(stream->request, "stream_options");

	if (value_get_bool(entry, "open_end", false))
		return;
	stream_delta(stream, value_empty_map(), finish_of(arena, entry));
	if (usage != NULL && value_get_bool(options, "include_usage", false))
		stream_event(stream, envelope(arena, "chat.completion.chunk",
					 stream->request, value_empty_array(), usage));
	packet_append(&stream->packet, "data: [DONE]\n\n", 14);
}

static const char *
stream_body(struct arena *arena, const struct value *entry, const struct value *request)
{
	struct stream stream = { .arena = arena, .request = request };
	const struct value *calls = value_get(entry, "tool_calls");
	const struct value *error = value_get(entry, "stream_error");
	const char *body;

	stream_delta(&stream,
	    value_map(arena, "role", value_str(arena, "assistant"), "content",
		value_str(arena, ""), NULL),
	    NULL);
	stream_content(&stream, value_get_text(entry, "content"),
	    (size_t)value_get_int(entry, "delta_bytes", 0));
	for (size_t i = 0; i < value_size(calls); i++)
		stream_call(&stream, i, value_at(calls, i));
	if (error != NULL)
		stream_event(&stream, value_map(arena, "error", error, NULL));
	else
		stream_end(&stream, entry);
	body = arena_copy(arena, stream.packet.data, stream.packet.size);
	packet_release(&stream.packet);
	return body;
}

/* --- moderations -------------------------------------------------------------------- */

static const char *
moderation_body(
    struct arena *arena, const struct value *result, const struct value *request)
{
	return json_text(arena, value_map(arena, "id", value_str(arena, "modr-scripted"),
				    "model", value_get(request, "model"), "results",
				    value_array(arena, &result, 1), NULL));
}

/* --- the whole --------------------------------------------------------------------- */

static void
set_body(struct scripted_reply *reply, int status, const char *type, const char *body)
{
	reply->status = status;
	reply->content_type = type;
	reply->body = body;
	reply->body_size = strlen(body);
}

void
scripted_reply_error(
    struct arena *arena, int status, const char *message, struct scripted_reply *reply_r)
{
	const struct value *error = value_map(arena, "message", value_str(arena, message),
	    "type", value_str(arena, "scripted_error"), "code", value_nil(), NULL);

	*reply_r = (struct scripted_reply){ .cut_after = -1 };
	set_body(reply_r, status, "application/json",
	    json_text(arena, value_map(arena, "error", error, NULL)));
}

static const char *
seconds_text(struct arena *arena, const struct value *retry_after)
{
	if (value_is_number(retry_after))
		return json_text(arena, retry_after);
	return value_text(retry_after);
}

static long
cut_position(const struct value *entry, size_t body_size)
{
	int64_t cut = value_get_int(entry, "cut_after", (int64_t)body_size);

	if (cut < 0)
		cut = cut + (int64_t)body_size < 0 ? 0 : cut + (int64_t)body_size;
	return cut < (int64_t)body_size ? (long)cut : -1;
}

static uint64_t
natural(const struct value *entry, const char *key)
{
	int64_t number = value_get_int(entry, key, 0);

	return number < 0 ? 0 : (uint64_t)number;
}

static const char *
chat_body(struct arena *arena, const struct value *entry, const struct value *request,
    bool stream)
{
	if (value_has(entry, "moderation"))
		return moderation_body(arena, value_get(entry, "moderation"), request);
	entry = plain_entry(arena, entry, request);
	return stream ? stream_body(arena, entry, request)
		      : plain_body(arena, entry, request);
}

static const char *
body_of(struct arena *arena, const struct value *entry, const struct value *request,
    enum scripted_words words, bool stream)
{
	if (words == WORDS_ANTHROPIC)
		return stream ? scripted_anthropic_stream(arena, entry, request)
			      : scripted_anthropic_plain(arena, entry, request);
	if (words == WORDS_RESPONSES)
		return stream ? scripted_responses_stream(arena, entry, request)
			      : scripted_responses_plain(arena, entry, request);
	return chat_body(arena, entry, request, stream);
}

static const char *
error_body(
    struct arena *arena, int status, const char *message, enum scripted_words words)
{
	return words == WORDS_ANTHROPIC ? scripted_anthropic_error(arena, status, message)
					: scripted_bedrock_error(arena, message);
}

/* An answer that is one. */
static void
set_answer(struct scripted_reply *reply, struct arena *arena, const struct value *entry,
    const struct value *request, enum scripted_words words)
{
	bool stream = value_get_bool(request, "stream", false);

	reply->status = 200;
	reply->content_type = stream ? "text/event-stream" : "application/json";
	if (words == WORDS_BEDROCK && stream) {
		reply->content_type = "application/vnd.amazon.eventstream";
		reply->body = scripted_bedrock_stream(arena, entry, &reply->body_size);
		return;
	}
	reply->body = words == WORDS_BEDROCK
			  ? scripted_bedrock_plain(arena, entry)
			  : body_of(arena, entry, request, words, stream);
	reply->body_size = strlen(reply->body);
}

void
scripted_reply_make(struct arena *arena, const struct value *entry,
    const struct value *request, enum scripted_words words,
    struct scripted_reply *reply_r)
{
	int64_t status = value_get_int(entry, "http_error", 0);
	const char *message = value_get_text(entry, "message");
	const char *raw = value_get_text(entry, "raw");
	const char *type = value_get_text(entry, "content_type");

	*reply_r = (struct scripted_reply){ .cut_after = -1 };
	if (message == NULL)
		message = "error";
	if (status != 0 && (words == WORDS_ANTHROPIC || words == WORDS_BEDROCK))
		set_body(reply_r, (int)status, "application/json",
		    error_body(arena, (int)status, message, words));
	else if (status != 0)
		scripted_reply_error(arena, (int)status, message, reply_r);
	else if (raw != NULL)
		set_body(reply_r, 200, type == NULL ? "application/json" : type, raw);
	else
		set_answer(reply_r, arena, entry, request, words);
	reply_r->error_type = value_get_text(entry, "error");
	reply_r->retry_after = seconds_text(arena, value_get(entry, "retry_after"));
	reply_r->drop = value_get_bool(entry, "drop", false);
	reply_r->hang = value_get_bool(entry, "hang", false);
	reply_r->delay_ms = natural(entry, "delay_ms");
	reply_r->piece_bytes = (size_t)natural(entry, "piece_bytes");
	reply_r->piece_delay_ms = natural(entry, "piece_delay_ms");
	reply_r->cut_after = cut_position(entry, reply_r->body_size);
}
