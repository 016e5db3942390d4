#include "openai_details.h"

#include <stdlib.h>

#include "bounds.h"
#include "memory.h"

/* One that is no text comes whole. */
struct openai_detail {
	const struct value *head; /* as it began, and what was said of it later */
	const char *key;          /* of its text, or NULL: it has none */
	struct packet text;
};

static const char *
text_key(const struct value *detail)
{
	const struct value *type = value_get(detail, "type");

	if (value_text_is(type, "reasoning.text"))
		return "text";
	return value_text_is(type, "reasoning.summary") ? "summary" : NULL;
}

static bool
is_same(const struct value *a, const struct value *b)
{
	return value_is_nil(a) || value_is_nil(b) || value_equal(a, b);
}

/* True when more is a piece of detail's text. */
static bool
goes_on(const struct openai_detail *detail, const struct value *more)
{
	return detail->key != NULL &&
	       value_equal(value_get(detail->head, "type"), value_get(more, "type")) &&
	       is_same(value_get(detail->head, "index"), value_get(more, "index"));
}

/* A signature comes behind the text, its format once. */
static void
take_rest(struct openai_detail *detail, struct arena *arena, const struct value *more)
{
	static const char *const keys[] = { "id", "index", "format", "signature" };

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (value_is_nil(value_get(detail->head, keys[i])) &&
		    !value_is_nil(value_get(more, keys[i])))
			detail->head = value_map_with(arena, detail->head, keys[i],
			    value_copy(arena, value_get(more, keys[i])));
}

static struct openai_detail *
begin(struct openai_details *details, struct arena *arena, const struct value *detail)
{
	const char *key = text_key(detail);
	struct openai_detail *begun;

	if (details->count == details->room) {
		details->room = details->room == 0 ? 8 : 2 * details->room;
		details->items =
		    xreallocarray(details->items, details->room, sizeof *details->items);
	}
	begun = &details->items[details->count++];
	*begun = (struct openai_detail){ .key = key,
		.head = value_copy(arena,
		    key == NULL ? detail : value_map_with(arena, detail, key, NULL)) };
	return begun;
}

static int
add(struct openai_details *details, struct answer_stream *stream,
    const struct value *detail)
{
	struct openai_detail *last =
	    details->count == 0 ? NULL : &details->items[details->count - 1];

	if (!value_is(detail, VALUE_MAP))
		return 0;
	if (last != NULL && goes_on(last, detail)) {
		take_rest(last, stream->arena, detail);
	} else if (details->count == ANSWER_BLOCKS_MAX) {
		return answer_stream_unreadable(stream, "too many blocks in one message");
	} else {
		last = begin(details, stream->arena, detail);
		stream->gathered += stream->event_size;
	}
	if (last->key != NULL)
		answer_stream_keep(stream, &last->text, value_get(detail, last->key));
	return 0;
}

int
openai_details_add(struct openai_details *details, struct answer_stream *stream,
    const struct value *list)
{
	for (size_t i = 0; value_is(list, VALUE_ARRAY) && i < list->size; i++)
		if (add(details, stream, list->items[i]) == -1)
			return -1;
	return 0;
}

const struct value *
openai_details_list(const struct openai_details *details, struct arena *arena)
{
	struct value_list list = { .arena = arena };

	for (size_t i = 0; i < details->count; i++) {
		const struct openai_detail *detail = &details->items[i];

		value_list_add(&list,
		    detail->key == NULL
			? detail->head
			: value_map_with(arena, detail->head, detail->key,
			      value_strn(arena, detail->text.data, detail->text.size)));
	}
	return list.count > 0 ? value_list_end(&list) : NULL;
}

void
openai_details_release(struct openai_details *details)
{
	for (size_t i = 0; i < details->count; i++)
		packet_release(&details->items[i].text);
	free(details->items);
	*details = (struct openai_details){ 0 };
}
