#include "anthropic_ids.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* Calls are in an assistant's turn only; what somebody put into a user's goes as it is. */
static bool
is_assistant(const struct value *turn)
{
	return value_text_is(value_get(turn, "role"), "assistant");
}

static bool
is_call(const struct value *block)
{
	return value_text_is(value_get(block, "type"), "tool_use") &&
	       value_is(value_get(block, "id"), VALUE_STR);
}

/* --- whether there is anything to do --------------------------------------------------- */

static size_t
gather_ids(const struct value *turns, const char **ids)
{
	size_t count = 0;

	for (size_t i = 0; i < value_size(turns); i++) {
		const struct value *blocks = value_get(value_at(turns, i), "content");

		if (!is_assistant(value_at(turns, i)))
			continue;
		for (size_t j = 0; j < value_size(blocks); j++) {
			if (!is_call(value_at(blocks, j)))
				continue;
			if (ids != NULL)
				ids[count] = value_get_text(value_at(blocks, j), "id");
			count++;
		}
	}
	return count;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool
are_unique(struct arena *arena, const struct value *turns)
{
	size_t count = gather_ids(turns, NULL);
	const char **ids = arena_alloc(arena, count * sizeof *ids);

	gather_ids(turns, ids);
	if (count > 1)
		qsort(ids, count, sizeof *ids, by_text);
	for (size_t i = 1; i < count; i++)
		if (strcmp(ids[i - 1], ids[i]) == 0)
			return false;
	return true;
}

/* --- names ----------------------------------------------------------------------------- */

/* In a tree, which ids that somebody chose do not make slow. */
struct taken {
	const char *name;
	size_t next; /* what the next one of that name gets */
};

/* A call of the turn at hand, or of the one before it. */
struct named {
	const struct value *id, *name;
	bool answered;
};

struct naming {
	struct arena *arena;
	void *taken;
	struct named *calls;
	size_t count;
};

static int
by_name(const void *a, const void *b)
{
	const struct taken *one = a, *other = b;

	return strcmp(one->name, other->name);
}

static struct taken *
find(const struct naming *naming, const char *name)
{
	struct taken **node = tfind(&(struct taken){ name, 0 }, &naming->taken, by_name);

	return node == NULL ? NULL : *node;
}

static void
take(struct naming *naming, const char *name)
{
	struct taken *taken = arena_alloc(naming->arena, sizeof *taken);

	*taken = (struct taken){ name, 2 };
	if (tsearch(taken, &naming->taken, by_name) == NULL)
		arena_exhausted();
}

static const struct value *
name_of(struct naming *naming, const struct value *id)
{
	struct taken *taken = find(naming, id->text);
	const char *name;

	if (taken == NULL) {
		take(naming, id->text);
		return id;
	}
	do
		name = arena_printf(naming->arena, "%s_%zu", id->text, taken->next++);
	while (find(naming, name) != NULL);
	take(naming, name);
	return value_str(naming->arena, name);
}

static const struct value *
named_call(struct naming *naming, const struct value *block)
{
	struct named *call = &naming->calls[naming->count++];

	call->id = value_get(block, "id");
	call->name = name_of(naming, call->id);
	return call->name == call->id
		   ? block
		   : value_map_with(naming->arena, block, "id", call->name);
}

/* Of calls with one id the first that has no answer yet, else the last. */
static const struct value *
named_result(struct naming *naming, const struct value *block)
{
	const struct value *id = value_get(block, "tool_use_id");
	struct named *found = NULL;

	for (size_t i = 0; i < naming->count; i++) {
		if (!value_equal(naming->calls[i].id, id))
			continue;
		found = &naming->calls[i];
		if (!found->answered)
			break;
	}
	if (found == NULL)
		return block;
	found->answered = true;
	return found->name == found->id
		   ? block
		   : value_map_with(naming->arena, block, "tool_use_id", found->name);
}

static const struct value *
with_names(struct naming *naming, const struct value *blocks, bool calls)
{
	struct value_list list = { .arena = naming->arena };

	for (size_t i = 0; i < value_size(blocks); i++) {
		const struct value *block = value_at(blocks, i);

		if (calls && is_call(block))
			block = named_call(naming, block);
		else if (!calls && value_text_is(value_get(block, "type"), "tool_result"))
			block = named_result(naming, block);
		value_list_add(&list, block);
	}
	return value_list_end(&list);
}

/* Calls of an assistant's turn are answered in the user's turn behind it. */
static const struct value *
named_turn(struct naming *naming, const struct value *turn)
{
	const struct value *blocks = value_get(turn, "content");
	bool calls = is_assistant(turn);

	if (calls) {
		naming->calls = arena_alloc(
		    naming->arena, value_size(blocks) * sizeof *naming->calls);
		naming->count = 0;
	}
	return value_map_with(
	    naming->arena, turn, "content", with_names(naming, blocks, calls));
}

/* What is in the tree is the arena's. */
static void
keep(void *taken)
{
	(void)taken;
}

const struct value *
anthropic_unique_ids(struct arena *arena, const struct value *turns)
{
	struct naming naming = { .arena = arena };
	struct value_list list = { .arena = arena };

	if (are_unique(arena, turns))
		return turns;
	for (size_t i = 0; i < value_size(turns); i++)
		value_list_add(&list, named_turn(&naming, value_at(turns, i)));
	tdestroy(naming.taken, keep);
	return value_list_end(&list);
}
