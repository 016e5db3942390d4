#include "anthropic_messages.h"

#include "anthropic_blocks.h"
#include "anthropic_ids.h"
#include "chat.h"

/* --- turns --------------------------------------------------------------------------- */

static const char user[] = "user", assistant[] = "assistant";

/* The list under construction, and the turn at its end. */
struct turns {
	struct value_list list;
	struct value_list blocks;
	const char *role; /* of the turn, one of these two; NULL: none yet */
};

static void
end_turn(struct turns *turns)
{
	struct arena *arena = turns->list.arena;

	if (turns->blocks.count > 0)
		value_list_add(
		    &turns->list, value_map(arena, "role", value_str(arena, turns->role),
				      "content", value_list_end(&turns->blocks), NULL));
	turns->blocks = (struct value_list){ .arena = arena };
}

/* Messages of one role in a row are one turn. One that has nothing in it adds nothing: what stands
 * on both sides of it may be of one turn. */
static void
add_message(struct turns *turns, const struct value *message)
{
	struct value_list blocks = { .arena = turns->list.arena };
	bool ai = chat_is(message, "ai");
	const char *role = ai ? assistant : user;

	if (ai)
		anthropic_add_answer(&blocks, message);
	else if (chat_is(message, "tool"))
		anthropic_add_result(&blocks, message);
	else
		anthropic_add_content(&blocks, value_get(message, "content"));
	if (blocks.count == 0)
		return;
	if (turns->role != role)
		end_turn(turns);
	turns->role = role;
	value_list_add_all(&turns->blocks, value_list_end(&blocks));
}

const struct value *
anthropic_messages(struct arena *arena, const struct value *messages,
    struct value_list *system, const char **error_r)
{
	struct turns turns = { .list = { .arena = arena }, .blocks = { .arena = arena } };
	size_t i;

	for (i = 0; i < value_size(messages); i++) {
		const struct value *message = value_at(messages, i);
		const char *type = value_get_text(message, "type");

		if (chat_is(message, "system") && turns.role == NULL) {
			anthropic_add_content(system, value_get(message, "content"));
			continue;
		}
		if (!chat_is(message, "human") && !chat_is(message, "ai") &&
		    !chat_is(message, "tool")) {
			*error_r = arena_printf(arena,
			    chat_is(message, "system")
				? "messages[%zu]: this provider takes a system message "
				  "only in front of all others"
				: "messages[%zu].type: a model cannot be sent '%s'",
			    i, type == NULL ? "" : type);
			return NULL;
		}
		add_message(&turns, message);
	}
	end_turn(&turns);
	return anthropic_unique_ids(arena, value_list_end(&turns.list));
}

/* --- caching ------------------------------------------------------------------------- */

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
			    value_map_with(arena, block, "cache_control", cache_control));
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
