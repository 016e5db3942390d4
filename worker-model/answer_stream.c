#include "answer_stream.h"

#include <string.h>

#include "bounds.h"
#include "chat.h"
#include "json.h"
#include "provider_error.h"
#include "provider_fault.h"

static int on_event(void *arg, const char *event, const char *data, size_t size);

struct answer_stream *
answer_stream_open(
    const struct stream_type *type, struct arena *arena, const char *endpoint)
{
	struct answer_stream *stream = arena_alloc(arena, type->size);

	stream->type = type;
	stream->arena = arena;
	stream->endpoint = endpoint;
	sse_init(&stream->sse, on_event, stream);
	return stream;
}

void
answer_stream_close(struct answer_stream *stream)
{
	stream->type->release(stream);
	packet_release(&stream->whole);
	sse_release(&stream->sse);
}

int
answer_stream_unreadable(struct answer_stream *stream, const char *reason)
{
	stream->fault =
	    provider_fault_unreadable(stream->arena, stream->endpoint, reason);
	return -1;
}

void
answer_stream_show(struct answer_stream *stream, const struct value *text)
{
	if (stream->on_text == NULL || !value_is(text, VALUE_STR) || text->size == 0)
		return;
	stream->on_text(stream->arg, text->text, text->size);
	stream->has_shown = true;
}

void
answer_stream_begin_text(struct answer_stream *stream)
{
	if (stream->has_shown && stream->on_break != NULL)
		stream->on_break(stream->arg);
	stream->has_shown = false;
}

void
answer_stream_keep(
    struct answer_stream *stream, struct packet *packet, const struct value *text)
{
	if (!value_is(text, VALUE_STR))
		return;
	packet_append(packet, text->text, text->size);
	stream->gathered += text->size;
}

/* --- events -------------------------------------------------------------------------- */

/* An error event may hold its reason with or without an `error` around it. */
static struct fault *
error_in(const struct answer_stream *stream, const char *event, const struct value *body)
{
	if (strcmp(event, "error") == 0 && !value_has(body, "error"))
		body = value_map(stream->arena, "error", body, NULL);
	return provider_hidden_error(stream->arena, stream->endpoint, body);
}

static int
take_event(struct answer_stream *stream, const char *event, const struct value *body)
{
	/* Behind the last blank line may be the beginning of what was cut off. */
	if (!value_is(body, VALUE_MAP))
		return stream->ended ? 0
				     : answer_stream_unreadable(stream,
					   "an event of the stream is no JSON object");
	stream->fault = error_in(stream, event, body);
	return stream->fault != NULL ? -1 : stream->type->take(stream, event, body);
}

static size_t
blank_span(const char *data, size_t size)
{
	size_t span = 0;

	while (span < size && strchr(" \t\r\n", data[span]) != NULL && data[span] != '\0')
		span++;
	return span;
}

/* One with nothing in it says that the server, or a relay before it, is alive. */
int
answer_stream_event(
    struct answer_stream *stream, const char *event, const char *data, size_t size)
{
	struct arena *arena;
	const char *error;
	int result;

	if (size == strlen("[DONE]") && memcmp(data, "[DONE]", size) == 0)
		stream->done = true;
	if (stream->done || blank_span(data, size) == size)
		return 0;
	stream->event_size = size;
	arena = arena_new(); /* goes with the event: what stays is copied */
	result = take_event(stream, event, json_parse(arena, data, size, &error));
	arena_destroy(&arena);
	if (result == 0 && stream->gathered > ANSWER_BYTES_MAX)
		return answer_stream_unreadable(stream, "it is too large");
	return result;
}

static int
on_event(void *arg, const char *event, const char *data, size_t size)
{
	return answer_stream_event(arg, event, data, size);
}

/* --- the body ------------------------------------------------------------------------ */

static int
feed_whole(struct answer_stream *stream, const char *data, size_t size)
{
	if (stream->whole.size + size > ANSWER_BYTES_MAX)
		return answer_stream_unreadable(stream, "it is too large");
	packet_append(&stream->whole, data, size);
	return 0;
}

static int
feed_events(struct answer_stream *stream, const char *data, size_t size)
{
	if (sse_feed(&stream->sse, data, size) == 0)
		return 0;
	return stream->fault != NULL ? -1
				     : answer_stream_unreadable(
					   stream, "an event of the stream is too large");
}

int
answer_stream_feed(struct answer_stream *stream, const char *data, size_t size)
{
	if (!stream->begun) { /* blanks in front mean nothing in either form */
		size_t blank = blank_span(data, size);

		data += blank;
		size -= blank;
		stream->begun = size > 0;
		stream->is_whole = size > 0 && *data == '{'; /* no line of events does */
	}
	if (stream->is_whole)
		return feed_whole(stream, data, size);
	return stream->type->feed != NULL ? stream->type->feed(stream, data, size)
					  : feed_events(stream, data, size);
}

/* --- the end ------------------------------------------------------------------------- */

static void
show_whole(struct answer_stream *stream, const struct value *message)
{
	const struct value *content = value_get(message, "content");
	struct arena *arena = stream->arena;
	size_t i;

	if (!value_is(content, VALUE_ARRAY))
		answer_stream_show(stream, content);
	for (i = 0; value_is(content, VALUE_ARRAY) && i < content->size; i++) {
		const struct value *one = value_map(
		    arena, "content", value_array(arena, &content->items[i], 1), NULL);

		answer_stream_begin_text(stream);
		answer_stream_show(stream, chat_said(arena, one));
	}
}

static const struct value *
end_whole(struct answer_stream *stream)
{
	struct arena *arena = stream->arena;
	const char *error;
	const struct value *body =
	    json_parse(arena, stream->whole.data, stream->whole.size, &error);
	const struct value *message = NULL;

	if (body != NULL)
		stream->fault = provider_hidden_error(arena, stream->endpoint, body);
	if (body != NULL && stream->fault == NULL)
		message = stream->type->answer(arena, body, &error);
	if (message == NULL && stream->fault == NULL)
		answer_stream_unreadable(stream, error);
	if (message != NULL)
		show_whole(stream, message);
	return message;
}

static const struct value *
end_events(struct answer_stream *stream)
{
	if (sse_end(&stream->sse) == -1 || !stream->type->is_complete(stream))
		return NULL;
	return stream->type->assemble(stream);
}

const struct value *
answer_stream_end(struct answer_stream *stream, struct fault **fault_r)
{
	const struct value *message = NULL;

	stream->ended = true;
	if (stream->fault == NULL)
		message = stream->is_whole ? end_whole(stream) : end_events(stream);
	if (message != NULL)
		return message;
	if (stream->fault == NULL)
		stream->fault = provider_fault_http(stream->arena, stream->endpoint,
		    HTTP_CONNECTION, "the stream broke off before its end");
	*fault_r = stream->fault;
	return NULL;
}
