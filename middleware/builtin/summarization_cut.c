/* summarization_cut: where a history is cut (semantics.md 6.10). */
#include "summarization.h"

#include "key_index.h"
#include "token_count.h"

/* --- how much is kept ----------------------------------------------------------------- */

static size_t
cut_by_messages(const struct value *messages, int64_t keep)
{
	size_t count = value_size(messages);

	return (uint64_t)keep >= count ? 0 : count - (size_t)keep;
}

/* The first message from which on all fit; the last one is kept if it fits or not. */
static size_t
cut_by_tokens(const struct value *messages, int64_t keep, double chars)
{
	size_t at = value_size(messages);
	int64_t tokens = 0;

	while (at > 0) {
		tokens += token_count_message(value_at(messages, at - 1), chars);
		if (tokens > keep)
			break;
		at--;
	}
	return at > 0 && at == value_size(messages) ? at - 1 : at;
}

/* --- calls and their answers ------------------------------------------------------------ */

#define NOBODY SIZE_MAX

/* Ids of calls, and where the last AI message seen stands that made each. */
struct callers {
	struct key_index *index;
	struct value_pair *ids; /* what the index points into */
	size_t *positions, count;
};

static struct callers
callers_new(struct arena *arena, const struct value *messages)
{
	struct callers callers = { 0 };
	size_t room = 1, i;

	for (i = 0; i < value_size(messages); i++) {
		const struct value *message = value_at(messages, i);

		room += 1 + value_size(value_get(message, "tool_calls")) +
			value_size(value_get(message, "invalid_tool_calls"));
	}
	callers.index = key_index_new(arena, room);
	callers.ids = arena_alloc(arena, room * sizeof *callers.ids);
	callers.positions = arena_alloc(arena, room * sizeof *callers.positions);
	return callers;
}

/* Returns id's place in positions. */
static size_t *
caller_of(struct callers *callers, const struct value *id)
{
	long known;

	callers->ids[callers->count].key = id;
	known = key_index_put(callers->index, callers->ids, id, callers->count);
	if (known == -1) {
		known = (long)callers->count++;
		callers->positions[known] = NOBODY;
	}
	return &callers->positions[known];
}

static void
note_calls(struct callers *callers, const struct value *calls, size_t position)
{
	size_t i;

	for (i = 0; i < value_size(calls); i++) {
		const struct value *id = value_get(value_at(calls, i), "id");

		if (value_is(id, VALUE_STR))
			*caller_of(callers, id) = position;
	}
}

/* For each message the position of the one it must not be parted from: of a tool message that of the
 * call it answers (NOBODY: there is none), of others their own. */
static size_t *
find_owners(struct arena *arena, const struct value *messages)
{
	struct callers callers = callers_new(arena, messages);
	size_t *owners = arena_alloc(arena, (value_size(messages) + 1) * sizeof *owners);
	size_t i;

	for (i = 0; i < value_size(messages); i++) {
		const struct value *message = value_at(messages, i), *id;

		owners[i] = i;
		if (chat_is(message, "ai")) {
			note_calls(&callers, value_get(message, "tool_calls"), i);
			note_calls(&callers, value_get(message, "invalid_tool_calls"), i);
		} else if (chat_is(message, "tool")) {
			id = value_get(message, "tool_call_id");
			owners[i] =
			    value_is(id, VALUE_STR) ? *caller_of(&callers, id) : NOBODY;
		}
	}
	return owners;
}

/* Moves the cut to where it parts nothing: back to the call that an answer behind it belongs to, as
 * often as that brings more answers; then on behind answers to nothing. */
static size_t
whole(struct arena *arena, const struct value *messages, size_t cut)
{
	const size_t *owners = find_owners(arena, messages);
	size_t i;

	for (i = value_size(messages); i > cut; i--)
		if (owners[i - 1] < cut)
			cut = owners[i - 1];
	while (cut < value_size(messages) && owners[cut] == NOBODY)
		cut++;
	return cut;
}

size_t
summarization_cut(struct arena *arena, const struct value *messages,
    const struct value *keep, double chars)
{
	size_t cut =
	    value_has(keep, "messages")
		? cut_by_messages(messages, value_get_int(keep, "messages", 0))
		: cut_by_tokens(messages, value_get_int(keep, "tokens", 0), chars);

	return cut == 0 ? 0 : whole(arena, messages, cut);
}
