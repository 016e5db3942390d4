#include "openai_stream.h"

#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "json.h"
#include "bounds.h"
#include "memory.h"
#include "openai_answer.h"
#include "provider_error.h"
#include "provider_fault.h"

/* A tool call whose arguments come in pieces. */
struct openai_stream_call {
	int64_t index; /* the provider's */
	struct packet id, name, args;
};

static int on_event(void *arg, const char *event, const char *data, size_t size);

void
openai_stream_init(
    struct openai_stream *stream, struct arena *arena, const char *endpoint)
{
	*stream = (struct openai_stream){ .arena = arena, .endpoint = endpoint };
	sse_init(&stream->sse, on_event, stream);
}

void
openai_stream_release(struct openai_stream *stream)
{
	for (size_t i = 0; i < stream->call_count; i++) {
		packet_release(&stream->calls[i].id);
		packet_release(&stream->calls[i].name);
		packet_release(&stream->calls[i].args);
	}
	free(stream->calls);
	stream->calls = NULL;
	stream->call_count = 0;
	packet_release(&stream->content);
	packet_release(&stream->refusal);
	packet_release(&stream->whole);
	sse_release(&stream->sse);
}

static int
unreadable(struct openai_stream *stream, const char *reason)
{
	stream->fault =
	    provider_fault_unreadable(stream->arena, stream->endpoint, reason);
	return -1;
}

/* --- deltas ------------------------------------------------------------------------ */

/* Appends text (a string; others count as nothing). */
static void
append(struct packet *packet, const struct value *text)
{
	if (value_is(text, VALUE_STR))
		packet_append(packet, text->text, text->size);
}

static bool
is_same(const struct packet *packet, const struct value *text)
{
	return packet->size == text->size &&
	       memcmp(packet->data, text->text, text->size) == 0;
}

/* True when delta goes on with call. Some servers give every call the same index, some
 * none: an id that is another one begins another call. */
static bool
goes_on(const struct openai_stream_call *call, const struct value *delta)
{
	const struct value *id = value_get(delta, "id");

	if (call->index != value_get_int(delta, "index", call->index))
		return false;
	return !value_is(id, VALUE_STR) || id->size == 0 || call->id.size == 0 ||
	       is_same(&call->id, id);
}

/* Returns the call that delta belongs to, the latest that fits or a new one; NULL when
 * there are too many. */
static struct openai_stream_call *
call_for(struct openai_stream *stream, const struct value *delta)
{
	struct openai_stream_call *call;
	size_t i = stream->call_count;

	while (i > 0)
		if (goes_on(&stream->calls[--i], delta))
			return &stream->calls[i];
	if (stream->call_count == TOOL_CALLS_MAX)
		return NULL;
	if (stream->calls == NULL)
		stream->calls = xcalloc(TOOL_CALLS_MAX, sizeof *stream->calls);
	call = &stream->calls[stream->call_count];
	call->index = value_get_int(delta, "index", (int64_t)stream->call_count);
	stream->call_count++;
	return call;
}

/* Ids and names come once; servers that repeat them mean the same one. */
static void
append_once(struct packet *packet, const struct value *text)
{
	if (packet->size == 0)
		append(packet, text);
}

static int
take_call(struct openai_stream *stream, const struct value *delta)
{
	const struct value *function = value_get(delta, "function");
	const struct value *args = value_get(function, "arguments");
	struct openai_stream_call *call = call_for(stream, delta);

	if (call == NULL)
		return unreadable(stream, "too many tool calls in one message");
	append_once(&call->id, value_get(delta, "id"));
	append_once(&call->name, value_get(function, "name"));
	if (value_is(args, VALUE_MAP))
		json_write(&call->args, args);
	else
		append(&call->args, args);
	return 0;
}

static void
take_text(struct openai_stream *stream, const struct value *text)
{
	append(&stream->content, text);
	if (stream->on_text != NULL && value_is(text, VALUE_STR) && text->size > 0)
		stream->on_text(stream->arg, text->text, text->size);
}

static int
take_delta(struct openai_stream *stream, const struct value *delta)
{
	const struct value *calls = value_get(delta, "tool_calls");

	take_text(stream, value_get(delta, "content"));
	append(&stream->refusal, value_get(delta, "refusal"));
	for (size_t i = 0; i < value_size(calls); i++)
		if (take_call(stream, value_at(calls, i)) == -1)
			return -1;
	return 0;
}

/* Only the first choice is ours: we never ask for more. */
static const struct value *
first_choice(const struct value *chunk)
{
	const struct value *choice = value_at(value_get(chunk, "choices"), 0);

	return value_get_int(choice, "index", 0) == 0 ? choice : NULL;
}

static int
take_chunk(struct openai_stream *stream, const struct value *chunk)
{
	struct arena *arena = stream->arena;
	const struct value *choice = first_choice(chunk);
	const struct value *finish = value_get(choice, "finish_reason");

	stream->fault = provider_hidden_error(arena, stream->endpoint, chunk);
	if (stream->fault != NULL)
		return -1;
	if (stream->head == NULL)
		stream->head = value_copy(arena, openai_metadata(arena, chunk, NULL));
	if (value_is(value_get(chunk, "usage"), VALUE_MAP))
		stream->usage = openai_usage(arena, value_get(chunk, "usage"));
	if (take_delta(stream, value_get(choice, "delta")) == -1)
		return -1;
	if (value_is(finish, VALUE_STR))
		stream->finish_reason = value_copy(arena, finish);
	return 0;
}

/* --- events ------------------------------------------------------------------------ */

/* An error event may hold its reason with or without an `error` around it. */
static int
take_error(struct openai_stream *stream, const struct value *chunk)
{
	struct arena *arena = stream->arena;
	const struct value *body = value_map(arena, "error", chunk, NULL);

	stream->fault = provider_hidden_error(arena, stream->endpoint, body);
	return stream->fault == NULL ? 0 : -1;
}

static int
take_json(struct openai_stream *stream, const char *event, const struct value *chunk)
{
	/* Behind the last blank line may be the beginning of what was cut off. */
	if (!value_is(chunk, VALUE_MAP))
		return stream->ended ? 0
				     : unreadable(stream,
					   "an event of the stream is no JSON object");
	if (strcmp(event, "error") == 0 && !value_has(chunk, "error"))
		return take_error(stream, chunk);
	return take_chunk(stream, chunk);
}

static int
on_event(void *arg, const char *event, const char *data, size_t size)
{
	struct openai_stream *stream = arg;
	struct arena *arena;
	const char *error;
	int result;

	if (size == strlen("[DONE]") && memcmp(data, "[DONE]", size) == 0)
		stream->done = true;
	if (stream->done)
		return 0;
	arena = arena_new(); /* goes with the event: what stays is copied */
	result = take_json(stream, event, json_parse(arena, data, size, &error));
	arena_destroy(&arena);
	return result;
}

/* --- the body ---------------------------------------------------------------------- */

static size_t
blank_span(const char *data, size_t size)
{
	size_t span = 0;

	while (span < size && strchr(" \t\r\n", data[span]) != NULL && data[span] != '\0')
		span++;
	return span;
}

static int
feed_whole(struct openai_stream *stream, const char *data, size_t size)
{
	if (stream->whole.size + size > ANSWER_BYTES_MAX)
		return unreadable(stream, "it is too large");
	packet_append(&stream->whole, data, size);
	return 0;
}

static size_t
gathered(const struct openai_stream *stream)
{
	size_t size = stream->content.size + stream->refusal.size;

	for (size_t i = 0; i < stream->call_count; i++)
		size += stream->calls[i].args.size;
	return size;
}

static int
feed_events(struct openai_stream *stream, const char *data, size_t size)
{
	if (sse_feed(&stream->sse, data, size) == -1)
		return stream->fault != NULL
			   ? -1
			   : unreadable(stream, "an event of the stream is too large");
	if (gathered(stream) > ANSWER_BYTES_MAX)
		return unreadable(stream, "it is too large");
	return 0;
}

int
openai_stream_feed(struct openai_stream *stream, const char *data, size_t size)
{
	if (!stream->begun) { /* blanks in front mean nothing in either form */
		size_t blank = blank_span(data, size);

		data += blank;
		size -= blank;
		stream->begun = size > 0;
		stream->is_whole = size > 0 && *data == '{'; /* no line of events does */
	}
	return stream->is_whole ? feed_whole(stream, data, size)
				: feed_events(stream, data, size);
}

static const struct value *
end_whole(struct openai_stream *stream)
{
	const char *error;
	const struct value *body =
	    json_parse(stream->arena, stream->whole.data, stream->whole.size, &error);
	const struct value *message = NULL;

	if (body != NULL)
		stream->fault =
		    provider_hidden_error(stream->arena, stream->endpoint, body);
	if (body != NULL && stream->fault == NULL)
		message = openai_answer(stream->arena, body, &error);
	if (message == NULL && stream->fault == NULL)
		unreadable(stream, error);
	if (message != NULL && stream->on_text != NULL)
		take_text(stream, value_get(message, "content"));
	return message;
}

static const struct value *
packet_text(struct arena *arena, const struct packet *packet)
{
	return value_strn(arena, packet->data, packet->size);
}

static const struct value *
assembled(struct openai_stream *stream)
{
	struct arena *arena = stream->arena;
	struct answer answer = { .arena = arena,
		.content = packet_text(arena, &stream->content),
		.usage = stream->usage,
		.extra = openai_extra(arena, packet_text(arena, &stream->refusal)) };

	answer.metadata =
	    value_map_with(arena, stream->head, "finish_reason", stream->finish_reason);
	for (size_t i = 0; i < stream->call_count; i++) {
		const struct openai_stream_call *call = &stream->calls[i];

		if (call->name.size == 0) {
			unreadable(stream, "a tool call names no function");
			return NULL;
		}
		answer_call(&answer, value_text(packet_text(arena, &call->id)),
		    value_text(packet_text(arena, &call->name)),
		    packet_text(arena, &call->args));
	}
	return answer_message(&answer);
}

/* The end was announced, or a finish_reason came: some servers leave out either. */
static bool
is_complete(const struct openai_stream *stream)
{
	return stream->head != NULL && (stream->done || stream->finish_reason != NULL);
}

const struct value *
openai_stream_end(struct openai_stream *stream, struct fault **fault_r)
{
	const struct value *message = NULL;

	stream->ended = true;
	if (stream->is_whole)
		message = end_whole(stream);
	else if (sse_end(&stream->sse) == 0 && is_complete(stream))
		message = assembled(stream);
	if (message != NULL)
		return message;
	if (stream->fault == NULL)
		stream->fault = provider_fault_http(stream->arena, stream->endpoint,
		    HTTP_CONNECTION, "the stream broke off before its end");
	*fault_r = stream->fault;
	return NULL;
}
