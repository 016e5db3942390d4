#include "turn_end.h"

#include "chat.h"

static const struct value *
answer_to(struct arena *arena, const struct value *call, const char *why)
{
	const char *name = value_get_text(call, "name");

	return chat_tool(arena,
	    arena_printf(arena, "Error: this call of '%s' was not executed: %s.",
		name != NULL ? name : "?", why),
	    value_get_text(call, "id"), name, "error");
}

const struct value *
turn_end(struct turn *turn, const char *why, const char *text)
{
	struct arena *arena = turn_arena(turn);
	const struct value *open = chat_pending_calls(arena, turn_messages(turn));
	struct value_list messages = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(open); i++)
		value_list_add(&messages, answer_to(arena, value_at(open, i), why));
	value_list_add(&messages, chat_ai(arena, text));
	return value_map(arena, "messages", value_list_end(&messages), "jump_to",
	    value_str(arena, "end"), NULL);
}
