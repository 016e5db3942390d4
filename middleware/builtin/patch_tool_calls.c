/* patch_tool_calls: answers the calls that a thread has left open before the agent begins (semantics.md
 * 6.22): those of earlier runs, and those that the input brings.
 *
 * No model ever sees an open call, with this or without it (13.5, run_repair). What is here says why
 * the call was not done, and is there before other hooks look. */
#include "middleware.h"

#include "chat_answers.h"

static const char cancelled[] =
    "was cancelled: another message came in before it was done.";
static const char malformed[] =
    "was not run: its arguments were malformed, or cut off in the middle.";

/* Adds an answer for each of calls, made by the message at ai, that has none. A call without an id
 * cannot be answered. Returns how many they were. */
static size_t
answer_open(struct value_list *patched, struct chat_answers *answers, size_t ai,
    const struct value *calls, const char *what)
{
	struct arena *arena = patched->arena;
	size_t i, count = 0;

	for (i = 0; i < value_size(calls); i++) {
		const struct value *call = value_at(calls, i);
		const char *id = value_get_text(call, "id");
		const char *name = value_get_text(call, "name");

		if (id == NULL || chat_answers_has(answers, ai, id))
			continue;
		count++;
		value_list_add(
		    patched, chat_tool(arena,
				 arena_printf(arena, "Tool call %s with id %s %s",
				     name != NULL ? name : "without a name", id, what),
				 id, name, "error"));
	}
	return count;
}

static const struct value *
before_agent(struct turn *turn)
{
	const struct value *messages = turn_messages(turn);
	struct value_list patched = { .arena = turn_arena(turn) };
	struct chat_answers *answers = chat_answers_new(patched.arena, messages, 0);
	size_t i, count = 0;

	value_list_add(&patched, value_map(patched.arena, "type", VALUE_TEXT("remove"),
				     "id", VALUE_TEXT(REMOVE_ALL), NULL));
	for (i = 0; i < value_size(messages); i++) {
		const struct value *message = value_at(messages, i);

		value_list_add(&patched, message);
		if (!chat_is(message, "ai"))
			continue;
		count += answer_open(
		    &patched, answers, i, value_get(message, "tool_calls"), cancelled);
		count += answer_open(&patched, answers, i,
		    value_get(message, "invalid_tool_calls"), malformed);
	}
	if (count == 0)
		return NULL;
	turn_note(turn, "answered %zu open call%s", count, count == 1 ? "" : "s");
	return value_map(patched.arena, "messages", value_list_end(&patched), NULL);
}

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	(void)arena;
	(void)error_r;
	use->answers_open_calls = true;
	return 0;
}

const struct middleware middleware_patch_tool_calls = {
	.abi = MIDDLEWARE_ABI,
	.name = "patch_tool_calls",
	.summary =
	    "answers the calls of tools that were left open, before the agent begins",
	.configure = configure,
	.before_agent = before_agent,
};
