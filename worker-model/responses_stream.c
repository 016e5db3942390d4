#include "responses_stream.h"

#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "memory.h"
#include "provider_error.h"
#include "provider_fault.h"
#include "responses_answer.h"

/* An item whose content comes in pieces. */
struct item {
	int64_t index;             /* the provider's */
	const struct value *whole; /* as it began; once it is done, all of it */
	bool done;
	struct packet text; /* or arguments, or input, or the summary of a thought */
	struct packet refusal;
	int64_t part; /* of a summary: the one that is written */
};

struct stream {
	struct answer_stream base;
	struct item *items;
	size_t item_count, item_room;
	const struct value
	    *head; /* of the response: what responses_answer reads besides its output */
	const struct value *output; /* of the last event, where that is all there is */
	bool is_over;
	int64_t shown_index, shown_part; /* of the text shown last */
};

static int
unreadable(struct stream *stream, const char *reason)
{
	return answer_stream_unreadable(&stream->base, reason);
}

static void
release_pieces(struct item *item)
{
	packet_release(&item->text);
	packet_release(&item->refusal);
}

static void
release(struct answer_stream *base)
{
	struct stream *stream = (struct stream *)base;

	for (size_t i = 0; i < stream->item_count; i++)
		release_pieces(&stream->items[i]);
	free(stream->items);
	stream->items = NULL;
	stream->item_count = 0;
}

/* --- items --------------------------------------------------------------------------- */

/* Returns the item that an event is about, which is not done, or NULL. */
static struct item *
item_of(struct stream *stream, const struct value *event)
{
	int64_t index = value_get_int(event, "output_index", 0);

	for (size_t i = stream->item_count; i > 0; i--)
		if (stream->items[i - 1].index == index && !stream->items[i - 1].done)
			return &stream->items[i - 1];
	return NULL;
}

/* Returns a new one, or NULL with stream's fault. */
static struct item *
add_item(struct stream *stream, const struct value *event)
{
	struct item *item;

	if (stream->item_count == ANSWER_BLOCKS_MAX) {
		unreadable(stream, "too many blocks in one message");
		return NULL;
	}
	if (stream->item_count == stream->item_room) {
		stream->item_room = stream->item_room == 0 ? 8 : 2 * stream->item_room;
		stream->items = xreallocarray(
		    stream->items, stream->item_room, sizeof *stream->items);
	}
	item = &stream->items[stream->item_count++];
	*item = (struct item){ .index = value_get_int(event, "output_index", 0) };
	return item;
}

static int
keep_item(struct stream *stream, struct item *item, const struct value *event)
{
	const struct value *whole = value_get(event, "item");

	if (!value_is(value_get(whole, "type"), VALUE_STR))
		return unreadable(stream, "an item has no type");
	stream->base.gathered += stream->base.event_size;
	item->whole = value_copy(stream->base.arena, whole);
	return 0;
}

static int
begin_item(struct stream *stream, const struct value *event)
{
	struct item *item = add_item(stream, event);

	return item == NULL ? -1 : keep_item(stream, item, event);
}

/* Shows the text of a message that came without pieces. */
static void
show_whole(struct stream *stream, const struct value *item)
{
	const struct value *parts = value_get(item, "content");

	for (size_t i = 0; value_is(parts, VALUE_ARRAY) && i < parts->size; i++)
		if (value_text_is(value_get(parts->items[i], "type"), "output_text")) {
			answer_stream_begin_text(&stream->base);
			answer_stream_show(
			    &stream->base, value_get(parts->items[i], "text"));
		}
	stream->shown_index = -1; /* what follows is of another one */
}

static int
end_item(struct stream *stream, const struct value *event)
{
	struct item *item = item_of(stream, event);

	if (item == NULL)
		item = add_item(stream, event);
	if (item == NULL || keep_item(stream, item, event) == -1)
		return -1;
	item->done = true;
	if (item->text.size == 0 &&
	    value_text_is(value_get(item->whole, "type"), "message"))
		show_whole(stream, item->whole);
	release_pieces(item);
	return 0;
}

/* --- pieces -------------------------------------------------------------------------- */

/* What comes behind an item's end is in it: item_of has none then. */
static int
go_on_with_text(struct stream *stream, const struct value *event)
{
	struct item *item = item_of(stream, event);
	int64_t part = value_get_int(event, "content_index", 0);

	if (item == NULL)
		return 0;
	answer_stream_keep(&stream->base, &item->text, value_get(event, "delta"));
	if (item->index != stream->shown_index || part != stream->shown_part)
		answer_stream_begin_text(&stream->base);
	stream->shown_index = item->index;
	stream->shown_part = part;
	answer_stream_show(&stream->base, value_get(event, "delta"));
	return 0;
}

static int
go_on(struct stream *stream, const struct value *event)
{
	struct item *item = item_of(stream, event);

	if (item != NULL)
		answer_stream_keep(&stream->base, &item->text, value_get(event, "delta"));
	return 0;
}

static int
go_on_with_refusal(struct stream *stream, const struct value *event)
{
	struct item *item = item_of(stream, event);

	if (item != NULL)
		answer_stream_keep(
		    &stream->base, &item->refusal, value_get(event, "delta"));
	return 0;
}

/* The parts of a summary are paragraphs. */
static int
go_on_with_summary(struct stream *stream, const struct value *event)
{
	struct item *item = item_of(stream, event);
	int64_t part = value_get_int(event, "summary_index", 0);

	if (item == NULL)
		return 0;
	if (part != item->part && item->text.size > 0)
		answer_stream_keep(&stream->base, &item->text, VALUE_TEXT("\n\n"));
	item->part = part;
	return go_on(stream, event);
}

/* --- the response -------------------------------------------------------------------- */

static const char *const begin_keys[] = { "id", "model", "service_tier", NULL };
static const char *const end_keys[] = { "id", "model", "service_tier", "status",
	"incomplete_details", "usage", NULL };

static int
take_head(struct stream *stream, const struct value *response, const char *const *keys)
{
	struct value_fields fields = { .arena = stream->base.arena };

	if (!value_is(response, VALUE_MAP))
		return unreadable(stream, "an event has no response");
	value_fields_put_all(&fields, stream->head);
	for (; *keys != NULL; keys++)
		if (!value_is_nil(value_get(response, *keys)))
			value_fields_set(&fields, *keys,
			    value_copy(stream->base.arena, value_get(response, *keys)));
	stream->head = value_fields_end(&fields);
	return 0;
}

static int
begin_response(struct stream *stream, const struct value *event)
{
	stream->base.gathered += stream->base.event_size;
	return take_head(stream, value_get(event, "response"), begin_keys);
}

static bool
are_done(const struct stream *stream)
{
	for (size_t i = 0; i < stream->item_count; i++)
		if (!stream->items[i].done)
			return false;
	return stream->item_count > 0;
}

static int
fail(struct stream *stream, const struct value *body)
{
	struct answer_stream *base = &stream->base;

	base->fault = provider_hidden_error(base->arena, base->endpoint, body);
	if (base->fault == NULL)
		base->fault = provider_fault_error(
		    base->arena, base->endpoint, "the answer failed, no reason given");
	return -1;
}

static int
end_response(struct stream *stream, const struct value *event)
{
	const struct value *response = value_get(event, "response");
	const struct value *output = value_get(response, "output");

	if (value_truthy(value_get(response, "error")))
		return fail(stream, response);
	if (take_head(stream, response, end_keys) == -1)
		return -1;
	if (value_size(output) > 0 && !are_done(stream)) {
		stream->base.gathered += stream->base.event_size;
		stream->output = value_copy(stream->base.arena, output);
	}
	stream->is_over = stream->base.done = true;
	return 0;
}

static int
fail_response(struct stream *stream, const struct value *event)
{
	return fail(stream, value_get(event, "response"));
}

/* Of a server that does not name its events: the others are known for errors before. */
static int
fail_all(struct stream *stream, const struct value *event)
{
	return fail(stream, value_map(stream->base.arena, "error", event, NULL));
}

/* --- events -------------------------------------------------------------------------- */

static const struct {
	const char *type;
	int (*take)(struct stream *stream, const struct value *event);
} handlers[] = {
	{ "response.output_text.delta", go_on_with_text },
	{ "response.function_call_arguments.delta", go_on },
	{ "response.custom_tool_call_input.delta", go_on },
	{ "response.reasoning_summary_text.delta", go_on_with_summary },
	{ "response.refusal.delta", go_on_with_refusal },
	{ "response.output_item.added", begin_item },
	{ "response.output_item.done", end_item },
	{ "response.created", begin_response },
	{ "response.completed", end_response },
	{ "response.incomplete", end_response },
	{ "response.failed", fail_response },
	{ "error", fail_all },
};

static int
take(struct answer_stream *base, const char *name, const struct value *event)
{
	const char *type = value_get_text(event, "type");

	if (type == NULL)
		type = name;
	for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++)
		if (strcmp(handlers[i].type, type) == 0)
			return handlers[i].take((struct stream *)base, event);
	return 0;
}

/* --- the whole ----------------------------------------------------------------------- */

static const struct value *
packet_text(struct arena *arena, const struct packet *packet)
{
	return value_strn(arena, packet->data, packet->size);
}

static const struct value *
part_of(
    struct arena *arena, const char *type, const char *key, const struct packet *packet)
{
	return value_map(
	    arena, "type", value_str(arena, type), key, packet_text(arena, packet), NULL);
}

static const struct value *
message_of(struct arena *arena, const struct item *item)
{
	struct value_list parts = { .arena = arena };

	if (item->text.size > 0)
		value_list_add(
		    &parts, part_of(arena, "output_text", "text", &item->text));
	if (item->refusal.size > 0)
		value_list_add(
		    &parts, part_of(arena, "refusal", "refusal", &item->refusal));
	return value_map_with(arena, item->whole, "content", value_list_end(&parts));
}

static const struct value *
thought_of(struct arena *arena, const struct item *item)
{
	const struct value *part = part_of(arena, "summary_text", "text", &item->text);

	return value_map_with(
	    arena, item->whole, "summary", value_array(arena, &part, 1));
}

/* An item that was not said as a whole, of its pieces. */
static const struct value *
item_value(struct arena *arena, const struct item *item)
{
	const struct value *type = value_get(item->whole, "type");

	if (item->done || item->text.size + item->refusal.size == 0)
		return item->whole;
	if (value_text_is(type, "message"))
		return message_of(arena, item);
	if (value_text_is(type, "reasoning"))
		return thought_of(arena, item);
	if (value_text_is(type, "function_call"))
		return value_map_with(
		    arena, item->whole, "arguments", packet_text(arena, &item->text));
	if (value_text_is(type, "custom_tool_call"))
		return value_map_with(
		    arena, item->whole, "input", packet_text(arena, &item->text));
	return item->whole;
}

static const struct value *
assemble(struct answer_stream *base)
{
	struct stream *stream = (struct stream *)base;
	struct arena *arena = base->arena;
	struct value_list items = { .arena = arena };
	const struct value *output = stream->output, *message;
	const char *error = NULL;

	for (size_t i = 0; output == NULL && i < stream->item_count; i++)
		value_list_add(&items, item_value(arena, &stream->items[i]));
	if (output == NULL)
		output = value_list_end(&items);
	message = responses_answer(
	    arena, value_map_with(arena, stream->head, "output", output), &error);
	if (message == NULL)
		unreadable(stream, error);
	return message;
}

/* What has come may look like all there is: only the last event says so, and how it ended. */
static bool
is_complete(const struct answer_stream *base)
{
	return ((const struct stream *)base)->is_over;
}

const struct stream_type responses_stream = {
	.size = sizeof(struct stream),
	.take = take,
	.is_complete = is_complete,
	.assemble = assemble,
	.answer = responses_answer,
	.release = release,
};
