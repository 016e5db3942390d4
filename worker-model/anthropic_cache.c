#include "anthropic_cache.h"

#define MARK "cache_control"

/* --- marking ------------------------------------------------------------------------- */

static bool
may_be_cached(const struct value *block)
{
	const struct value *type = value_get(block, "type");

	return value_is(block, VALUE_MAP) && !value_text_is(type, "thinking") &&
	       !value_text_is(type, "redacted_thinking");
}

static const struct value *
with_item(
    struct arena *arena, const struct value *list, size_t index, const struct value *item)
{
	struct value_list copy = { .arena = arena };
	size_t i;

	for (i = 0; i < list->size; i++)
		value_list_add(&copy, i == index ? item : list->items[i]);
	return value_list_end(&copy);
}

const struct value *
anthropic_cached_blocks(
    struct arena *arena, const struct value *blocks, const struct value *cache_control)
{
	size_t i = value_size(blocks);

	while (i > 0) {
		const struct value *block = value_at(blocks, --i);

		if (may_be_cached(block))
			return with_item(arena, blocks, i,
			    value_map_with(arena, block, MARK, cache_control));
	}
	return blocks;
}

const struct value *
anthropic_cached_messages(
    struct arena *arena, const struct value *messages, const struct value *cache_control)
{
	size_t i = value_size(messages);

	while (i > 0) {
		const struct value *message = value_at(messages, --i);
		const struct value *blocks = value_get(message, "content");
		const struct value *cached =
		    anthropic_cached_blocks(arena, blocks, cache_control);

		if (cached != blocks)
			return with_item(arena, messages, i,
			    value_map_with(arena, message, "content", cached));
	}
	return messages;
}

/* --- too many ------------------------------------------------------------------------ */

/* What a tool gave may have blocks of its own. */
static size_t
marks_of(const struct value *block)
{
	const struct value *inner = value_get(block, "content");
	size_t count = value_is_nil(value_get(block, MARK)) ? 0 : 1, i;

	for (i = 0; value_is(inner, VALUE_ARRAY) && i < inner->size; i++)
		if (!value_is_nil(value_get(inner->items[i], MARK)))
			count++;
	return count;
}

static size_t
marks_in(const struct value *blocks)
{
	size_t count = 0, i;

	for (i = 0; i < value_size(blocks); i++)
		count += marks_of(value_at(blocks, i));
	return count;
}

static size_t
marks_in_messages(const struct value *messages)
{
	size_t count = 0, i;

	for (i = 0; i < value_size(messages); i++)
		count += marks_in(value_get(value_at(messages, i), "content"));
	return count;
}

/* *excess: how many are to go. */
static const struct value *
without_marks(struct arena *arena, const struct value *blocks, size_t *excess)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(blocks); i++) {
		const struct value *block = value_at(blocks, i);
		const struct value *inner = value_get(block, "content");

		if (*excess > 0 && value_is(inner, VALUE_ARRAY) && marks_in(inner) > 0)
			block = value_map_with(
			    arena, block, "content", without_marks(arena, inner, excess));
		if (*excess > 0 && !value_is_nil(value_get(block, MARK))) {
			block = value_map_with(arena, block, MARK, NULL);
			(*excess)--;
		}
		value_list_add(&list, block);
	}
	return value_list_end(&list);
}

static const struct value *
messages_without_marks(struct arena *arena, const struct value *messages, size_t *excess)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(messages); i++) {
		const struct value *message = value_at(messages, i);
		const struct value *blocks = value_get(message, "content");

		if (*excess > 0 && marks_in(blocks) > 0)
			message = value_map_with(arena, message, "content",
			    without_marks(arena, blocks, excess));
		value_list_add(&list, message);
	}
	return value_list_end(&list);
}

const struct value *
anthropic_few_marks(struct arena *arena, const struct value *request)
{
	static const char *const others[] = { "system", "tools" };
	const struct value *messages = value_get(request, "messages");
	size_t excess = marks_in_messages(messages), i;

	for (i = 0; i < sizeof others / sizeof *others; i++)
		excess += marks_in(value_get(request, others[i]));
	if (excess <= CACHE_MARKS_MAX)
		return request;
	excess -= CACHE_MARKS_MAX;
	request = value_map_with(
	    arena, request, "messages", messages_without_marks(arena, messages, &excess));
	for (i = 0; i < sizeof others / sizeof *others && excess > 0; i++) {
		const struct value *blocks = value_get(request, others[i]);

		if (marks_in(blocks) > 0)
			request = value_map_with(arena, request, others[i],
			    without_marks(arena, blocks, &excess));
	}
	return request;
}
