#include "chat_answers.h"

#include <stdlib.h>
#include <string.h>

#include "chat.h"

#define NEAR                                                                             \
	256u /* tool messages looked at before the rest is sorted: answers stand right behind their calls */

/* A message makes a call of that id, or answers one. */
struct mention {
	const char *id;
	size_t at;
	bool answers;
};

struct chat_answers {
	struct arena *arena;
	const struct value *messages;
	size_t from;
	struct mention *mentions; /* by id, then position; NULL: not needed yet */
	size_t count;
};

struct chat_answers *
chat_answers_new(struct arena *arena, const struct value *messages, size_t from)
{
	struct chat_answers *answers = arena_alloc(arena, sizeof *answers);

	*answers =
	    (struct chat_answers){ .arena = arena, .messages = messages, .from = from };
	return answers;
}

static int
compare(const void *a, const void *b)
{
	const struct mention *one = a, *other = b;
	int order = strcmp(one->id, other->id);

	return order != 0 ? order : (one->at > other->at) - (one->at < other->at);
}

/* Ids with a NUL in them are nobody's (value_text_is). */
static void
mention(struct chat_answers *answers, const struct value *id, size_t at, bool is_answer)
{
	if (!value_is(id, VALUE_STR) || strlen(id->text) != id->size)
		return;
	answers->mentions[answers->count++] = (struct mention){ id->text, at, is_answer };
}

static void
mention_calls(struct chat_answers *answers, const struct value *calls, size_t at)
{
	size_t i;

	for (i = 0; i < value_size(calls); i++)
		mention(answers, value_get(value_at(calls, i), "id"), at, false);
}

static void
sort_mentions(struct chat_answers *answers)
{
	const struct value *messages = answers->messages, *message;
	size_t i, room = 0;

	for (i = answers->from; i < value_size(messages); i++)
		room +=
		    1 + value_size(value_get(value_at(messages, i), "tool_calls")) +
		    value_size(value_get(value_at(messages, i), "invalid_tool_calls"));
	answers->mentions =
	    arena_alloc(answers->arena, (room + 1) * sizeof *answers->mentions);
	for (i = answers->from; i < value_size(messages); i++) {
		message = value_at(messages, i);
		if (chat_is(message, "tool"))
			mention(answers, value_get(message, "tool_call_id"), i, true);
		if (!chat_is(message, "ai"))
			continue;
		mention_calls(answers, value_get(message, "tool_calls"), i);
		mention_calls(answers, value_get(message, "invalid_tool_calls"), i);
	}
	qsort(answers->mentions, answers->count, sizeof *answers->mentions, compare);
}

/* The first mention of id behind position at, or NULL. */
static const struct mention *
next_mention(const struct chat_answers *answers, const char *id, size_t at)
{
	const struct mention wanted = { id, at + 1, false };
	size_t low = 0, high = answers->count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (compare(&answers->mentions[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < answers->count && strcmp(answers->mentions[low].id, id) == 0
		   ? &answers->mentions[low]
		   : NULL;
}

/* Tool messages make no calls; what is behind the last message is NULL, and none (value_at, chat_is). */
static bool
is_answered_near(const struct value *messages, size_t ai, const char *id)
{
	const struct value *next;
	size_t i;

	for (i = ai + 1; i <= ai + NEAR; i++) {
		next = value_at(messages, i);
		if (!chat_is(next, "tool"))
			return false;
		if (value_text_is(value_get(next, "tool_call_id"), id))
			return true;
	}
	return false;
}

bool
chat_answers_has(struct chat_answers *answers, size_t ai, const char *id)
{
	const struct mention *next;

	if (is_answered_near(answers->messages, ai, id))
		return true;
	if (answers->mentions == NULL)
		sort_mentions(answers);
	next = next_mention(answers, id, ai);
	return next != NULL && next->answers;
}
