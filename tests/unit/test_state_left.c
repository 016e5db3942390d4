/* What a state leaves for the thread's next one, and what it remembers of messages it has looked at. */
#include <check.h>

#include "literal.h"
#include "sample_state.h"

/* Interface under test */
#include "state.h"

TCase *tcase_state_left(void);

static struct arena *arena;
static struct state *state;
static struct state_changes changes;

static void
setup(void)
{
	arena = arena_new();
	state = NULL;
}

static void
teardown(void)
{
	state_destroy(&state);
	arena_destroy(&arena);
}

/* Opens the state anew with what the one before left; false: it is made anew. */
static bool
hand_over(const struct sample_stored *stored, const struct value *order)
{
	struct thread *left = state_leave(state, stored->messages);
	bool taken;

	ck_assert_ptr_nonnull(left);
	state_destroy(&state);
	state = sample_state(arena, "big: {}");
	state_restore(state, &(struct state_stored){
				 stored->messages, true, order, stored->fields, &left });
	taken = left == NULL;
	state_left_destroy(&left);
	return taken;
}

/* As a state that knows nothing yet has it. */
static void
must_be_as_stored(const struct sample_stored *stored)
{
	const struct value *messages = state_messages(state);
	uint8_t digest[DIGEST_BYTES], other[DIGEST_BYTES];
	size_t bytes = state_packed_bytes(state);
	struct state *whole = state;

	state_digest(state, digest);
	ck_assert_int_eq(state_find_damaged(state), -1);
	state = sample_state(arena, "big: {}");
	state_restore(state, &(struct state_stored){ stored->messages, true,
				 stored->order, stored->fields, NULL });
	state_digest(state, other);
	ck_assert(value_equal(messages, state_messages(state)));
	ck_assert_mem_eq(digest, other, sizeof digest);
	ck_assert_uint_eq(bytes, state_packed_bytes(state));
	state_changes(state, arena, &changes);
	ck_assert(value_equal(changes.order, stored->order));
	state_destroy(&state);
	state = whole;
}

START_TEST(what_a_state_leaves_goes_on_as_what_is_stored)
{
	static const char *const steps[] = {
		"{'messages': [{'type': 'human', 'content': 'a', 'id': 'a'}]}",
		"{'messages': [{'type': 'human', 'content': 'b', 'id': 'b'}, 'c']}",
		"{'messages': [{'type': 'human', 'content': 'other', 'id': 'a'}]}",
		"{'messages': [{'type': 'remove', 'id': 'b'}, 'd']}",
		("{'messages': [{'type': 'remove', 'id': '__remove_all__'}, 'sum',"
		 " {'type': 'human', 'content': 'other', 'id': 'a'}]}"),
		"{'messages': ['e']}",
	};
	struct sample_stored stored = { value_empty_array(), value_empty_array(), NULL };
	size_t i;

	state = sample_state(arena, "big: {}");
	sample_begin(state, arena, "{'messages': ['hi', 'there']}");
	sample_commit(state, arena, &stored);
	for (i = 0; i < sizeof steps / sizeof *steps; i++) {
		ck_assert(hand_over(&stored, stored.order));
		must_be_as_stored(&stored);
		state_step(state, arena_printf(arena, "r%zu-1", i));
		ck_assert_step(steps[i], NULL, NULL);
		/* Not while something is not stored. */
		ck_assert_ptr_null(state_leave(state, stored.messages));
		sample_commit(state, arena, &stored);
		must_be_as_stored(&stored);
	}
}
END_TEST

START_TEST(what_a_state_leaves_is_not_for_another_order)
{
	struct sample_stored stored = { value_empty_array(), value_empty_array(), NULL };

	state = sample_state(arena, "big: {}");
	sample_begin(state, arena, "{'messages': ['hi', 'there', 'you']}");
	sample_commit(state, arena, &stored);
	ck_assert(!hand_over(&stored, literal(arena, "[[0, 1]]")));
	ck_assert_uint_eq(value_size(state_messages(state)), 2);
	ck_assert_ptr_null(state_leave(state, value_empty_array()));
}
END_TEST

START_TEST(calls_that_are_found_answered_are_not_looked_at_again)
{
	const struct value *messages;

	state = sample_state(arena, "big: {}");
	sample_begin(state, arena,
	    "{'messages': ['hi', {'type': 'ai', 'content': '', 'id': 'm', 'tool_calls':"
	    " [{'name': 't', 'args': {}, 'id': 'c1'}]},"
	    " {'type': 'tool', 'content': '1', 'id': 'r', 'tool_call_id': 'c1'}]}");
	messages = state_messages(state);
	ck_assert_ptr_eq(state_answer_dangling(state, arena), messages);
	ck_assert_step("{'messages': [{'type': 'ai', 'content': '', 'tool_calls':"
		       " [{'name': 't', 'args': {}, 'id': 'c1'}]}]}",
	    NULL, NULL);
	ck_assert_uint_eq(value_size(state_answer_dangling(state, arena)), 5);
	ck_assert_step(
	    "{'messages': [{'type': 'tool', 'content': '2', 'tool_call_id': 'c1'}]}",
	    NULL, NULL);
	messages = state_messages(state);
	ck_assert_ptr_eq(state_answer_dangling(state, arena), messages);
	/* What was there is edited. */
	ck_assert_step("{'messages': [{'type': 'remove', 'id': 'r'}]}", NULL, NULL);
	ck_assert_uint_eq(value_size(state_answer_dangling(state, arena)), 5);
}
END_TEST

/* Enough of them, and enough searches, for an index. */
START_TEST(a_long_thread_is_found_by_its_ids)
{
	struct sample_stored stored = { value_empty_array(), value_empty_array(), NULL };
	int i;

	state = sample_state(arena, "big: {}");
	sample_begin(state, arena, NULL);
	sample_commit(state, arena, &stored);
	for (i = 0; i < 300; i++) {
		ck_assert_step(arena_printf(arena,
				   "{'messages': [%s{'type': 'human', 'content':"
				   " '%d', 'id': 'm%d'}]}",
				   i % 50 == 49 ? "{'type': 'remove', 'id': 'm3'}, " : "",
				   i, i % 7 == 0 ? i / 2 : i),
		    NULL, NULL);
		if (i % 50 == 49) {
			sample_commit(state, arena, &stored);
			ck_assert(hand_over(&stored, stored.order));
			ck_assert_step("{'messages': [{'type': 'human', 'content': 'x',"
				       " 'id': 'm3'}]}",
			    NULL, NULL);
			sample_commit(state, arena, &stored);
			must_be_as_stored(&stored);
		}
	}
	ck_assert_ptr_nonnull(sample_step(state, arena,
	    "{'messages': [{'type': 'remove', 'id': 'm300'}]}", NULL, NULL));
	ck_assert_ptr_null(sample_step(state, arena,
	    "{'messages': [{'type': 'remove', 'id': 'm299'}]}", NULL, NULL));
}
END_TEST

TCase *
tcase_state_left(void)
{
	TCase *tcase = tcase_create("state_left");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, what_a_state_leaves_goes_on_as_what_is_stored);
	tcase_add_test(tcase, what_a_state_leaves_is_not_for_another_order);
	tcase_add_test(tcase, calls_that_are_found_answered_are_not_looked_at_again);
	tcase_add_test(tcase, a_long_thread_is_found_by_its_ids);
	return tcase;
}
