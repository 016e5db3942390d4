#include "sample_state.h"

#include "literal.h"
#include "sample_spec.h"

struct state *
sample_state(struct arena *arena, const char *fields)
{
	return state_new(
	    sample_spec(arena, arena_printf(arena, "model: m:x\nstate: {%s}\n", fields)));
}

void
sample_begin(struct state *state, struct arena *arena, const char *input)
{
	const char *error = "";

	ck_assert_msg(state_begin(state, arena, "r1-0",
			  input == NULL ? NULL : literal(arena, input), &error) == 0,
	    "%s", error);
}

const char *
sample_step(
    struct state *state, struct arena *arena, const char *a, const char *b, const char *c)
{
	struct state_write writes[] = {
		{ "A", a == NULL ? NULL : literal(arena, a) },
		{ "B", b == NULL ? NULL : literal(arena, b) },
		{ "C", c == NULL ? NULL : literal(arena, c) },
	};
	size_t count = c != NULL ? 3 : b != NULL ? 2 : a != NULL ? 1 : 0;
	const char *error = NULL;
	int failed = state_apply(state, arena, writes, count, &error);

	ck_assert_int_eq(failed, error == NULL ? 0 : -1);
	return error;
}

void
sample_commit(struct state *state, struct arena *arena, struct sample_stored *stored)
{
	struct state_changes changes;

	state_changes(state, arena, &changes);
	ck_assert_uint_eq(changes.first_number, value_size(stored->messages));
	stored->messages = value_array_concat(
	    arena, stored->messages, value_copy(arena, changes.messages));
	if (changes.order_changed)
		stored->order = changes.order;
	ck_assert(value_equal(stored->order, changes.order));
	stored->fields =
	    value_map_merge(arena, stored->fields, value_copy(arena, changes.fields));
	state_committed(state);
}
