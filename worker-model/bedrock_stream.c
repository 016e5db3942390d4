#include "bedrock_stream.h"

#include <stdlib.h>
#include <string.h>

#include "bedrock_answer.h"
#include "bedrock_error.h"
#include "bedrock_frames.h"
#include "bounds.h"
#include "json.h"
#include "memory.h"

/* A block of content, which comes in pieces. */
struct block {
	int64_t index;           /* Bedrock's */
	const struct value *use; /* the toolUse as it began, or NULL */
	struct packet text;      /* or what was thought, or the JSON of an input */
	struct packet signature, redacted;
	struct value_list citations, results;
	const struct value *result; /* the toolResult as it began, or NULL */
	bool thinks;
};

struct stream {
	struct answer_stream base;
	struct bedrock_frames frames;
	struct block *blocks;
	size_t block_count, block_room;
	const struct value
	    *ends;       /* of messageStop and of metadata: what else a body has */
	bool has_reason; /* to stop */
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
		packet_release(&stream->blocks[i].redacted);
	}
	free(stream->blocks);
	stream->blocks = NULL;
	stream->block_count = 0;
	bedrock_frames_release(&stream->frames);
}

/* --- blocks -------------------------------------------------------------------------- */

static void
make_room(struct stream *stream)
{
	if (stream->block_count < stream->block_room)
		return;
	stream->block_room = stream->block_room == 0 ? 8 : 2 * stream->block_room;
	stream->blocks =
	    xreallocarray(stream->blocks, stream->block_room, sizeof *stream->blocks);
}

/* Of text only pieces come: the first of them begins it. Returns NULL with a fault where there is no room. */
static struct block *
block_of(struct stream *stream, const struct value *event)
{
	int64_t index = value_get_int(event, "contentBlockIndex", 0);
	struct arena *arena = stream->base.arena;

	for (size_t i = stream->block_count; i > 0; i--)
		if (stream->blocks[i - 1].index == index)
			return &stream->blocks[i - 1];
	if (stream->block_count == ANSWER_BLOCKS_MAX) {
		unreadable(stream, "too many blocks in one message");
		return NULL;
	}
	make_room(stream);
	stream->base.gathered += stream->base.event_size;
	stream->blocks[stream->block_count] = (struct block){ .index = index,
		.citations = { .arena = arena },
		.results = { .arena = arena } };
	return &stream->blocks[stream->block_count++];
}

static int
begin_block(struct stream *stream, const struct value *event)
{
	const struct value *start = value_get(event, "start");
	struct block *block = block_of(stream, event);

	if (block == NULL)
		return -1;
	stream->base.gathered += stream->base.event_size;
	if (value_has(start, "toolUse"))
		block->use = value_copy(stream->base.arena, value_get(start, "toolUse"));
	else if (value_has(start, "toolResult"))
		block->result =
		    value_copy(stream->base.arena, value_get(start, "toolResult"));
	return 0;
}

static void
keep(struct stream *stream, struct packet *packet, const struct value *text)
{
	answer_stream_keep(&stream->base, packet, text);
}

/* What is no text is kept as it is. */
static int
keep_item(struct stream *stream, struct value_list *list, const struct value *item)
{
	if (list->count == ANSWER_BLOCKS_MAX)
		return unreadable(stream, "too many pieces in one block");
	stream->base.gathered += stream->base.event_size;
	value_list_add(list, value_copy(stream->base.arena, item));
	return 0;
}

static int
go_on_with_result(struct stream *stream, struct block *block, const struct value *results)
{
	for (size_t i = 0; i < value_size(results); i++)
		if (keep_item(stream, &block->results, value_at(results, i)) == -1)
			return -1;
	return 0;
}

static void
show(struct stream *stream, const struct block *block, const struct value *text)
{
	if (block->text.size == 0 && value_size(text) > 0)
		answer_stream_begin_text(&stream->base);
	answer_stream_show(&stream->base, text);
}

static int
go_on_with_block(struct stream *stream, const struct value *event)
{
	const struct value *delta = value_get(event, "delta"),
			   *thought = value_get(delta, "reasoningContent");
	struct block *block = block_of(stream, event);

	if (block == NULL)
		return -1;
	if (thought != NULL) {
		block->thinks = true;
		keep(stream, &block->text, value_get(thought, "text"));
		keep(stream, &block->signature, value_get(thought, "signature"));
		keep(stream, &block->redacted, value_get(thought, "redactedContent"));
	} else if (value_has(delta, "text")) {
		show(stream, block, value_get(delta, "text"));
		keep(stream, &block->text, value_get(delta, "text"));
	} else if (value_has(delta, "toolUse")) {
		keep(stream, &block->text,
		    value_get(value_get(delta, "toolUse"), "input"));
	} else if (value_has(delta, "citation")) {
		return keep_item(stream, &block->citations, value_get(delta, "citation"));
	} else if (value_has(delta, "toolResult")) {
		return go_on_with_result(stream, block, value_get(delta, "toolResult"));
	}
	return 0;
}

/* --- the message --------------------------------------------------------------------- */

/* What bedrock_answer reads besides the content. Each event copies what is kept: so no more is, however much a server says. */
static void
take_end(struct stream *stream, const struct value *event)
{
	static const char *const keys[] = { "stopReason", "usage", "metrics", "trace",
		"additionalModelResponseFields" };
	struct arena *arena = stream->base.arena;

	stream->base.gathered += stream->base.event_size;
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (!value_is_nil(value_get(event, keys[i])))
			stream->ends = value_map_with(arena, stream->ends, keys[i],
			    value_copy(arena, value_get(event, keys[i])));
}

static int
stop_message(struct stream *stream, const struct value *event)
{
	take_end(stream, event);
	if (value_is(value_get(event, "stopReason"), VALUE_STR) &&
	    value_size(value_get(event, "stopReason")) > 0)
		stream->has_reason = true;
	return 0;
}

static int
end_message(struct stream *stream, const struct value *event)
{
	take_end(stream, event);
	stream->base.done = stream->has_reason;
	return 0;
}

static const struct {
	const char *name;
	int (*take)(struct stream *stream, const struct value *event);
} handlers[] = {
	{ "contentBlockStart", begin_block },
	{ "contentBlockDelta", go_on_with_block },
	{ "messageStop", stop_message },
	{ "metadata", end_message },
};

static int
take(struct answer_stream *base, const char *name, const struct value *event)
{
	for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++)
		if (strcmp(handlers[i].name, name) == 0)
			return handlers[i].take((struct stream *)base, event);
	return 0;
}

/* --- frames -------------------------------------------------------------------------- */

static int
on_frame(void *arg, const struct bedrock_frame *frame)
{
	struct answer_stream *base = arg;
	const char *text;

	if (strcmp(frame->kind, "event") == 0)
		return answer_stream_event(
		    base, frame->name, frame->payload, frame->payload_size);
	if (base->done)
		return 0;
	text = frame->payload_size == 0
		   ? arena_strdup(base->arena, frame->reason)
		   : arena_copy(base->arena, frame->payload, frame->payload_size);
	base->fault = bedrock_exception(base->arena, base->endpoint, frame->name, text);
	return -1;
}

static int
feed(struct answer_stream *base, const char *data, size_t size)
{
	struct stream *stream = (struct stream *)base;

	if (bedrock_frames_feed(&stream->frames, data, size, on_frame, base) == 0)
		return 0;
	return base->fault != NULL ? -1 : unreadable(stream, stream->frames.error);
}

/* --- the whole ----------------------------------------------------------------------- */

static const struct value *
packet_text(struct arena *arena, const struct packet *packet)
{
	return value_strn(arena, packet->data == NULL ? "" : packet->data, packet->size);
}

/* The input as a map, where it is one; else its text, which makes an invalid call. */
static const struct value *
whole_use(struct arena *arena, const struct block *block)
{
	const struct value *input;
	const char *error;

	if (block->text.size == 0)
		return value_has(block->use, "input") ? block->use
						      : value_map_with(arena, block->use,
							    "input", value_empty_map());
	input = json_parse(arena, block->text.data, block->text.size, &error);
	return value_map_with(arena, block->use, "input",
	    value_is(input, VALUE_MAP) ? input : packet_text(arena, &block->text));
}

static const struct value *
whole_thought(struct arena *arena, const struct block *block)
{
	if (block->redacted.size > 0)
		return value_map(
		    arena, "redactedContent", packet_text(arena, &block->redacted), NULL);
	return value_map(arena, "reasoningText",
	    value_map(arena, "text", packet_text(arena, &block->text), "signature",
		block->signature.size == 0 ? NULL : packet_text(arena, &block->signature),
		NULL),
	    NULL);
}

/* As a plain answer has it. */
static const struct value *
whole_block(struct arena *arena, struct block *block)
{
	const struct value *text;

	if (block->use != NULL)
		return value_map(arena, "toolUse", whole_use(arena, block), NULL);
	if (block->thinks)
		return value_map(
		    arena, "reasoningContent", whole_thought(arena, block), NULL);
	if (block->result != NULL)
		return value_map(arena, "toolResult",
		    value_map_with(
			arena, block->result, "content", value_list_end(&block->results)),
		    NULL);
	text = value_map(arena, "text", packet_text(arena, &block->text), NULL);
	if (block->citations.count == 0)
		return text;
	return value_map(arena, "citationsContent",
	    value_map(arena, "content", value_array(arena, &text, 1), "citations",
		value_list_end(&block->citations), NULL),
	    NULL);
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
		value_list_add(&blocks, whole_block(arena, &stream->blocks[i]));
	body = value_map(arena, "message",
	    value_map(arena, "content", value_list_end(&blocks), NULL), NULL);
	message = bedrock_answer(
	    arena, value_map_with(arena, stream->ends, "output", body), &error);
	if (message == NULL)
		unreadable(stream, error);
	return message;
}

static bool
is_complete(const struct answer_stream *base)
{
	return ((const struct stream *)base)->has_reason;
}

const struct stream_type bedrock_stream = {
	.size = sizeof(struct stream),
	.feed = feed,
	.take = take,
	.is_complete = is_complete,
	.assemble = assemble,
	.answer = bedrock_answer,
	.release = release,
};
