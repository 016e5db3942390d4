#include "anthropic_stream.h"

#include <stdlib.h>
#include <string.h>

#include "anthropic_answer.h"
#include "bounds.h"
#include "json.h"
#include "memory.h"

/* A block whose content comes in pieces. */
struct block {
	int64_t index;             /* the provider's */
	const struct value *start; /* as it began */
	struct packet text;        /* or thinking, a summary, or the JSON of an input */
	struct packet signature;   /* or what a summary has encrypted */
	struct value_list citations;
	bool has_input; /* in text; some servers begin the block without one */
};

struct stream {
	struct answer_stream base;
	struct block *blocks;
	size_t block_count, block_room;
	/* message_start's message, then with what message_delta says */
	const struct value *head;
	const struct value *usage; /* by all that was said so far */
	bool has_reason;           /* to stop */
};

static int
unreadable(struct stream *stream, const char *reason)
{
	return answer_stream_unreadable(&stream->base, reason);
}

static void
release(struct answer_stream *base)
{
	struct stream *stream = (struct stream *)base;

	for (size_t i = 0; i < stream->block_count; i++) {
		packet_release(&stream->blocks[i].text);
		packet_release(&stream->blocks[i].signature);
	}
	free(stream->blocks);
	stream->blocks = NULL;
	stream->block_count = 0;
}

/* --- blocks -------------------------------------------------------------------------- */

static struct block *
block_at(struct stream *stream, int64_t index)
{
	for (size_t i = stream->block_count; i > 0; i--)
		if (stream->blocks[i - 1].index == index)
			return &stream->blocks[i - 1];
	return NULL;
}

static void
make_room(struct stream *stream)
{
	if (stream->block_count < stream->block_room)
		return;
	stream->block_room = stream->block_room == 0 ? 8 : 2 * stream->block_room;
	stream->blocks =
	    xreallocarray(stream->blocks, stream->block_room, sizeof *stream->blocks);
}

static int
begin_block(struct stream *stream, const struct value *event)
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
	stream->base.gathered += stream->base.event_size;
	stream->blocks[stream->block_count++] = (struct block){ .index = index,
		.start = value_copy(stream->base.arena, start),
		.citations = { .arena = stream->base.arena } };
	if (!value_text_is(value_get(start, "type"), "text"))
		return 0;
	answer_stream_begin_text(&stream->base);
	answer_stream_show(&stream->base, value_get(start, "text"));
	return 0;
}

static void
append(struct stream *stream, struct packet *packet, const struct value *text)
{
	answer_stream_keep(&stream->base, packet, text);
}

static int
go_on_with_block(struct stream *stream, const struct value *event)
{
	struct block *block = block_at(stream, value_get_int(event, "index", -1));
	const struct value *delta = value_get(event, "delta"),
			   *type = value_get(delta, "type");

	if (block == NULL)
		return unreadable(stream, "a piece of a block that has not begun");
	if (value_text_is(type, "text_delta")) {
		append(stream, &block->text, value_get(delta, "text"));
		answer_stream_show(&stream->base, value_get(delta, "text"));
	} else if (value_text_is(type, "input_json_delta")) {
		append(stream, &block->text, value_get(delta, "partial_json"));
		block->has_input = true;
	} else if (value_text_is(type, "thinking_delta")) {
		append(stream, &block->text, value_get(delta, "thinking"));
	} else if (value_text_is(type, "signature_delta")) {
		append(stream, &block->signature, value_get(delta, "signature"));
	} else if (value_text_is(type, "compaction_delta")) {
		append(stream, &block->text, value_get(delta, "content"));
		append(stream, &block->signature, value_get(delta, "encrypted_content"));
	} else if (value_text_is(type, "citations_delta")) {
		if (block->citations.count == ANSWER_BLOCKS_MAX)
			return unreadable(stream, "too many citations in one block");
		stream->base.gathered += stream->base.event_size;
		value_list_add(&block->citations,
		    value_copy(stream->base.arena, value_get(delta, "citation")));
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
with_keys(struct stream *stream, const struct value *kept, const struct value *more,
    const char *const *keys)
{
	struct value_fields fields = { .arena = stream->base.arena };

	value_fields_put_all(&fields, kept);
	for (; *keys != NULL; keys++)
		if (!value_is_nil(value_get(more, *keys)))
			value_fields_set(&fields, *keys,
			    value_copy(stream->base.arena, value_get(more, *keys)));
	return value_fields_end(&fields);
}

/* Counts are those of the whole message so far; what an event leaves out stays. */
static void
take_usage(struct stream *stream, const struct value *usage)
{
	stream->base.gathered += stream->base.event_size;
	if (value_is(usage, VALUE_MAP))
		stream->usage = with_keys(stream, stream->usage, usage, usage_keys);
}

static int
begin_message(struct stream *stream, const struct value *event)
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
go_on_with_message(struct stream *stream, const struct value *event)
{
	const struct value *delta = value_get(event, "delta");

	if (value_is(delta, VALUE_MAP))
		stream->head = with_keys(stream, stream->head, delta, head_keys);
	if (value_is(value_get(delta, "stop_reason"), VALUE_STR) &&
	    value_size(value_get(delta, "stop_reason")) > 0)
		stream->has_reason = true;
	take_usage(stream, value_get(event, "usage"));
	return 0;
}

static int
end_message(struct stream *stream, const struct value *event)
{
	(void)event;
	stream->base.done = true;
	return 0;
}

/* --- events -------------------------------------------------------------------------- */

static const struct {
	const char *type;
	int (*take)(struct stream *stream, const struct value *event);
} handlers[] = {
	{ "message_start", begin_message },
	{ "content_block_start", begin_block },
	{ "content_block_delta", go_on_with_block },
	{ "message_delta", go_on_with_message },
	{ "message_stop", end_message },
};

static int
take(struct answer_stream *base, const char *name, const struct value *event)
{
	struct stream *stream = (struct stream *)base;
	const char *type = value_get_text(event, "type");

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
input_of(struct arena *arena, const struct block *block)
{
	const struct value *input;
	const char *error;

	if (block->text.size == 0)
		return value_get(block->start, "input");
	input = json_parse(arena, block->text.data, block->text.size, &error);
	return value_is(input, VALUE_MAP) ? input : packet_text(arena, &block->text);
}

/* Without pieces it stays as it is, which may be null. */
static const struct value *
with_pieces(struct arena *arena, const struct value *whole, const char *key,
    const struct packet *pieces)
{
	return pieces->size == 0 ? whole
				 : value_map_with(arena, whole, key,
				       joined(arena, value_get(whole, key), pieces));
}

static const struct value *
block_of(struct arena *arena, struct block *block)
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
	} else if (value_text_is(type, "compaction")) {
		whole = with_pieces(arena, whole, "content", &block->text);
		whole = with_pieces(arena, whole, "encrypted_content", &block->signature);
	} else if (block->has_input) {
		whole = value_map_with(arena, whole, "input", input_of(arena, block));
	}
	return whole;
}

static const struct value *
assemble(struct answer_stream *base)
{
	struct stream *stream = (struct stream *)base;
	struct arena *arena = base->arena;
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
is_complete(const struct answer_stream *base)
{
	const struct stream *stream = (const struct stream *)base;

	return stream->head != NULL && (base->done || stream->has_reason);
}

const struct stream_type anthropic_stream = {
	.size = sizeof(struct stream),
	.take = take,
	.is_complete = is_complete,
	.assemble = assemble,
	.answer = anthropic_answer,
	.release = release,
};
