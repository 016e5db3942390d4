#include "anthropic_messages.h"

#include <string.h>

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
	const struct ask *ask;
};

static bool
is_result(const struct value *block)
{
	return value_text_is(value_get(block, "type"), "tool_result");
}

static void
add_blocks(struct value_list *list, const struct value *blocks, bool results)
{
	size_t i;

	for (i = 0; i < value_size(blocks); i++)
		if (is_result(value_at(blocks, i)) == results)
			value_list_add(list, value_at(blocks, i));
}

/* What a user said while a tool was at work comes behind what answers the call. */
static const struct value *
results_first(struct arena *arena, const struct value *blocks)
{
	struct value_list list = { .arena = arena };
	size_t i = 0;

	while (i < value_size(blocks) && is_result(value_at(blocks, i)))
		i++;
	while (i < value_size(blocks) && !is_result(value_at(blocks, i)))
		i++;
	if (i == value_size(blocks))
		return blocks;
	add_blocks(&list, blocks, true);
	add_blocks(&list, blocks, false);
	return value_list_end(&list);
}

static void
end_turn(struct turns *turns)
{
	struct arena *arena = turns->list.arena;
	const struct value *blocks = value_list_end(&turns->blocks);

	if (value_size(blocks) > 0)
		value_list_add(&turns->list,
		    value_map(arena, "role", value_str(arena, turns->role), "content",
			turns->role == user ? results_first(arena, blocks) : blocks,
			NULL));
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
		anthropic_add_answer(&blocks, message, turns->ask);
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

/* Where the model is to go on with what it said, that must not end with blanks. */
static const struct value *
without_blank_end(struct arena *arena, const struct value *turns)
{
	size_t last = value_size(turns) - 1, size;
	const struct value *turn = value_at(turns, last);
	const struct value *blocks = value_get(turn, "content");
	size_t at = value_size(blocks) - 1;
	const struct value *block = value_at(blocks, at), *text;

	if (!value_text_is(value_get(turn, "role"), assistant) ||
	    !value_text_is(value_get(block, "type"), "text"))
		return turns;
	text = value_get(block, "text");
	size = text->size;
	while (size > 0 && strchr(" \t\r\n", text->text[size - 1]) != NULL)
		size--;
	if (size == text->size)
		return turns;
	block = value_map_with(arena, block, "text", value_strn(arena, text->text, size));
	blocks = value_array_add(arena, value_array_slice(arena, blocks, 0, at), block);
	return value_array_add(arena, value_array_slice(arena, turns, 0, last),
	    value_map_with(arena, turn, "content", blocks));
}

const struct value *
anthropic_messages(const struct ask *ask, const struct value *messages,
    struct value_list *system, const char **error_r)
{
	struct arena *arena = ask->arena;
	struct turns turns = {
		.list = { .arena = arena }, .blocks = { .arena = arena }, .ask = ask
	};
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
	return anthropic_unique_ids(
	    arena, without_blank_end(arena, value_list_end(&turns.list)));
}
