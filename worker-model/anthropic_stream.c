#include "anthropic_stream.h"

#include <stdlib.h>
#include <string.h>

#include "anthropic_answer.h"
#include "bounds.h"
#include "json.h"
#include "memory.h"
#include "provider_error.h"
#include "provider_fault.h"

/* A block whose content comes in pieces. */
struct anthropic_stream_block {
	int64_t index;             /* the provider's */
	const struct value *start; /* as it began */
	struct packet text;        /* or thinking, or the JSON of an input */
	struct packet signature;
	struct value_list citations;
};

static int on_event(void *arg, const char *event, const char *data, size_t size);

void
anthropic_stream_init(
    struct anthropic_stream *stream, struct arena *arena, const char *endpoint)
{
	*stream = (struct anthropic_stream){ .arena = arena, .endpoint = endpoint };
	sse_init(&stream->sse, on_event, stream);
}

void
anthropic_stream_release(struct anthropic_stream *stream)
{
	for (size_t i = 0; i < stream->block_count; i++) {
		packet_release(&stream->blocks[i].text);
		packet_release(&stream->blocks[i].signature);
	}
	free(stream->blocks);
	stream->blocks = NULL;
	stream->block_count = 0;
	sse_release(&stream->sse);
}

static int
unreadable(struct anthropic_stream *stream, const char *reason)
{
	stream->fault =
	    provider_fault_unreadable(stream->arena, stream->endpoint, reason);
	return -1;
}

/* --- blocks -------------------------------------------------------------------------- */

static struct anthropic_stream_block *
block_at(struct anthropic_stream *stream, int64_t index)
{
	for (size_t i = stream->block_count; i > 0; i--)
		if (stream->blocks[i - 1].index == index)
			return &stream->blocks[i - 1];
	return NULL;
}

static void
make_room(struct anthropic_stream *stream)
{
	if (stream->block_count < stream->block_room)
		return;
	stream->block_room = stream->block_room == 0 ? 8 : 2 * stream->block_room;
	stream->blocks =
	    xreallocarray(stream->blocks, stream->block_room, sizeof *stream->blocks);
}

static void
show(struct anthropic_stream *stream, const struct value *text)
{
	if (stream->on_text != NULL && value_is(text, VALUE_STR) && text->size > 0)
		stream->on_text(stream->arg, text->text, text->size);
}

static int
begin_block(struct anthropic_stream *stream, const struct value *event)
{
	const struct value *start = value_get(event, "content_block");
	int64_t index = value_get_int(event, "index", (int64_t)stream->block_count);

	if (!value_is(value_get(start, "type"), VALUE_STR))
		return unreadable(stream, "a block has no type");
	if (stream->block_count == ANSWER_BLOCKS_MAX)
		return unreadable(stream, "too many blocks in one message");
	if (block_at(stream, index) != NULL)
		return unreadable(stream, "two blocks have one index");
	make_room(stream);
	stream->gathered += stream->event_size;
	stream->blocks[stream->block_count++] =
	    (struct anthropic_stream_block){ .index = index,
		    .start = value_copy(stream->arena, start),
		    .citations = { .arena = stream->arena } };
	if (value_text_is(value_get(start, "type"), "text"))
		show(stream, value_get(start, "text"));
	return 0;
}

static void
append(struct anthropic_stream *stream, struct packet *packet, const struct value *text)
{
	if (!value_is(text, VALUE_STR))
		return;
	packet_append(packet, text->text, text->size);
	stream->gathered += text->size;
}

static int
go_on_with_block(struct anthropic_stream *stream, const struct value *event)
{
	struct anthropic_stream_block *block =
	    block_at(stream, value_get_int(event, "index", -1));
	const struct value *delta = value_get(event, "delta"),
			   *type = value_get(delta, "type");

	if (block == NULL)
		return unreadable(stream, "a piece of a block that has not begun");
	if (value_text_is(type, "text_delta")) {
		append(stream, &block->text, value_get(delta, "text"));
		show(stream, value_get(delta, "text"));
	} else if (value_text_is(type, "input_json_delta")) {
		append(stream, &block->text, value_get(delta, "partial_json"));
	} else if (value_text_is(type, "thinking_delta")) {
		append(stream, &block->text, value_get(delta, "thinking"));
	} else if (value_text_is(type, "signature_delta")) {
		append(stream, &block->signature, value_get(delta, "signature"));
	} else if (value_text_is(type, "citations_delta")) {
		if (block->citations.count == ANSWER_BLOCKS_MAX)
			return unreadable(stream, "too many citations in one block");
		stream->gathered += stream->event_size;
		value_list_add(&block->citations,
		    value_copy(stream->arena, value_get(delta, "citation")));
	}
	return 0;
}

/* --- the message --------------------------------------------------------------------- */

/* What anthropic_answer reads of a message and of its usage. Each event copies what is kept: so no
 * more is, however much a server says. */
static const char *const head_keys[] = { "id", "model", "stop_reason", "stop_sequence",
	"stop_details", "container", NULL };
static const char *const usage_keys[] = { "input_tokens", "output_tokens",
	"cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation",
	NULL };

/* Returns kept (NULL: nothing yet) with what more says under the keys. */
static const struct value *
with_keys(struct anthropic_stream *stream, const struct value *kept,
    const struct value *more, const char *const *keys)
{
	struct value_fields fields = { .arena = stream->arena };

	value_fields_put_all(&fields, kept);
	for (; *keys != NULL; keys++)
		if (!value_is_nil(value_get(more, *keys)))
			value_fields_set(&fields, *keys,
			    value_copy(stream->arena, value_get(more, *keys)));
	return value_fields_end(&fields);
}

/* Counts are those of the whole message so far; what an event leaves out stays. */
static void
take_usage(struct anthropic_stream *stream, const struct value *usage)
{
	stream->gathered += stream->event_size;
	if (value_is(usage, VALUE_MAP))
		stream->usage = with_keys(stream, stream->usage, usage, usage_keys);
}

static int
begin_message(struct anthropic_stream *stream, const struct value *event)
{
	const struct value *message = value_get(event, "message");

	if (!value_is(message, VALUE_MAP))
		return unreadable(stream, "the stream begins without a message");
	if (stream->head != NULL)
		return unreadable(stream, "a second message begins");
	stream->head = with_keys(stream, NULL, message, head_keys);
	take_usage(stream, value_get(message, "usage"));
	return 0;
}

static int
go_on_with_message(struct anthropic_stream *stream, const struct value *event)
{
	const struct value *delta = value_get(event, "delta");

	if (value_is(delta, VALUE_MAP))
		stream->head = with_keys(stream, stream->head, delta, head_keys);
	if (value_is(value_get(delta, "stop_reason"), VALUE_STR))
		stream->has_reason = true;
	take_usage(stream, value_get(event, "usage"));
	return 0;
}

static int
end_message(struct anthropic_stream *stream, const struct value *event)
{
	(void)event;
	stream->done = true;
	return 0;
}

/* --- events -------------------------------------------------------------------------- */

static const struct {
	const char *type;
	int (*take)(struct anthropic_stream *stream, const struct value *event);
} handlers[] = {
	{ "message_start", begin_message },
	{ "content_block_start", begin_block },
	{ "content_block_delta", go_on_with_block },
	{ "message_delta", go_on_with_message },
	{ "message_stop", end_message },
};

static int
take_event(struct anthropic_stream *stream, const char *name, const struct value *event)
{
	const char *type = value_get_text(event, "type");

	/* Behind the last blank line may be the beginning of what was cut off. */
	if (!value_is(event, VALUE_MAP))
		return stream->ended ? 0
				     : unreadable(stream,
					   "an event of the stream is no JSON object");
	stream->fault = provider_hidden_error(stream->arena, stream->endpoint, event);
	if (stream->fault != NULL)
		return -1;
	if (type == NULL)
		type = name;
	for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++) {
		if (strcmp(handlers[i].type, type) != 0)
			continue;
		if (stream->head == NULL && i > 0)
			return unreadable(
			    stream, "the stream does not begin with its message");
		return handlers[i].take(stream, event);
	}
	return 0;
}

static int
on_event(void *arg, const char *event, const char *data, size_t size)
{
	struct anthropic_stream *stream = arg;
	struct arena *arena;
	const char *error;
	int result;

	if (stream->done)
		return 0;
	stream->event_size = size;
	arena = arena_new(); /* goes with the event: what stays is copied */
	result = take_event(stream, event, json_parse(arena, data, size, &error));
	arena_destroy(&arena);
	if (result == 0 && stream->gathered > ANSWER_BYTES_MAX)
		return unreadable(stream, "it is too large");
	return result;
}

int
anthropic_stream_feed(struct anthropic_stream *stream, const char *data, size_t size)
{
	if (sse_feed(&stream->sse, data, size) == 0)
		return 0;
	return stream->fault != NULL
		   ? -1
		   : unreadable(stream, "an event of the stream is too large");
}

/* --- the whole ----------------------------------------------------------------------- */

static const struct value *
packet_text(struct arena *arena, const struct packet *packet)
{
	return value_strn(arena, packet->data, packet->size);
}

/* What was said from the beginning, and behind it the pieces. */
static const struct value *
joined(struct arena *arena, const struct value *begun, const struct packet *rest)
{
	struct packet whole = { 0 };
	const struct value *text;

	if (value_size(begun) == 0 || !value_is(begun, VALUE_STR))
		return packet_text(arena, rest);
	packet_append(&whole, begun->text, begun->size);
	packet_append(&whole, rest->data, rest->size);
	text = packet_text(arena, &whole);
	packet_release(&whole);
	return text;
}

/* The input as a map, where it is one; else its text, which makes an invalid call. */
static const struct value *
input_of(struct arena *arena, const struct anthropic_stream_block *block)
{
	const struct value *input;
	const char *error;

	if (block->text.size == 0)
		return value_get(block->start, "input");
	input = json_parse(arena, block->text.data, block->text.size, &error);
	return value_is(input, VALUE_MAP) ? input : packet_text(arena, &block->text);
}

static const struct value *
block_of(struct arena *arena, struct anthropic_stream_block *block)
{
	const struct value *whole = block->start, *type = value_get(whole, "type");

	if (value_text_is(type, "text")) {
		whole = value_map_with(arena, whole, "text",
		    joined(arena, value_get(whole, "text"), &block->text));
		if (block->citations.count > 0)
			whole = value_map_with(
			    arena, whole, "citations", value_list_end(&block->citations));
	} else if (value_text_is(type, "thinking")) {
		whole = value_map_with(arena, whole, "thinking",
		    joined(arena, value_get(whole, "thinking"), &block->text));
		whole = value_map_with(arena, whole, "signature",
		    joined(arena, value_get(whole, "signature"), &block->signature));
	} else if (value_has(whole, "input")) {
		whole = value_map_with(arena, whole, "input", input_of(arena, block));
	}
	return whole;
}

static const struct value *
assembled(struct anthropic_stream *stream)
{
	struct arena *arena = stream->arena;
	struct value_list blocks = { .arena = arena };
	const struct value *body, *message;
	const char *error = NULL;

	for (size_t i = 0; i < stream->block_count; i++)
		value_list_add(&blocks, block_of(arena, &stream->blocks[i]));
	body = value_map_with(arena, stream->head, "content", value_list_end(&blocks));
	message = anthropic_answer(
	    arena, value_map_with(arena, body, "usage", stream->usage), &error);
	if (message == NULL)
		unreadable(stream, error);
	return message;
}

/* The end was announced, or a reason to stop came: some servers may leave out either. */
static bool
is_complete(const struct anthropic_stream *stream)
{
	return stream->head != NULL && (stream->done || stream->has_reason);
}

const struct value *
anthropic_stream_end(struct anthropic_stream *stream, struct fault **fault_r)
{
	const struct value *message = NULL;

	stream->ended = true;
	if (stream->fault == NULL && sse_end(&stream->sse) == 0 && is_complete(stream))
		message = assembled(stream);
	if (message != NULL)
		return message;
	if (stream->fault == NULL)
		stream->fault = provider_fault_http(stream->arena, stream->endpoint,
		    HTTP_CONNECTION, "the stream broke off before its end");
	*fault_r = stream->fault;
	return NULL;
}
