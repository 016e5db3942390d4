#include <check.h>

#include "json.h"
#include "literal.h"
#include "sample_state.h"

/* Interface under test */
#include "state.h"

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

/* --- fields ------------------------------------------------------------------------- */

START_TEST(changes_are_what_a_commit_has_not_stored)
{

	state = sample_state(arena, "a: {}, b: {default: 1}, temp: {untracked: true},"
				    " flash: {ephemeral: true}, log: {reducer: append}");
	sample_begin(state, arena, "{'a': 1, 'temp': 1, 'flash': 1}");
	state_changes(state, arena, &changes);
	ck_assert_value(arena, changes.fields, "{'a': 1, 'b': 1}");
	/* Asked again before the commit. */
	state_changes(state, arena, &changes);
	ck_assert_value(arena, changes.fields, "{'a': 1, 'b': 1}");
	state_committed(state);
	state_changes(state, arena, &changes);
	ck_assert_value(arena, changes.fields, "{}");
	/* What is set to what it was is no change. */
	ck_assert_step("{'a': 1, 'log': [1]}", NULL, NULL);
	state_changes(state, arena, &changes);
	ck_assert_value(arena, changes.fields, "{'log': [1]}");
	/* Written while the commit is on its way: the next one has it. */
	ck_assert_step("{'a': null, 'log': [2]}", NULL, NULL);
	state_committed(state);
	state_changes(state, arena, &changes);
	ck_assert_value(arena, changes.fields, "{'a': null, 'log': [1, 2]}");
}
END_TEST

START_TEST(a_restored_state_is_the_one_that_was_stored)
{
	const struct value *fields;

	state = sample_state(
	    arena, "a: {}, log: {reducer: append}, temp: {untracked: true, default: 9}");
	fields = literal(arena, "{'a': 1, 'log': [1], 'dropped': 2}");
	state_restore(state, &(struct state_stored){ .fields = fields });
	ck_assert_value(
	    arena, state_fields(state, arena), "{'a': 1, 'log': [1], 'temp': 9}");
	state_changes(state, arena, &changes);
	ck_assert_value(arena, changes.fields, "{}");
	ck_assert(!changes.order_changed);
}
END_TEST

START_TEST(a_stored_value_of_another_type_gives_way_to_a_fold)
{
	state = sample_state(arena, "list: {reducer: append}, sum: {type: integer,"
				    " reducer: add}, map: {reducer: merge}");
	state_restore(state,
	    &(struct state_stored){
		.fields = literal(arena, "{'list': {'a': 1}, 'sum': 0.5, 'map': [1]}") });
	ck_assert_step("{'list': [2], 'sum': 1, 'map': {'k': 1}}", NULL, NULL);
	ck_assert_value(arena, state_fields(state, arena),
	    "{'list': [2], 'sum': 1, 'map': {'k': 1}}");
}
END_TEST

/* --- messages ----------------------------------------------------------------------- */

#define MESSAGE(id) "{'type': 'human', 'content': '" id "', 'id': '" id "'}"
#define OTHER(id) "{'type': 'human', 'content': 'other', 'id': '" id "'}"
#define REMOVE(id) "{'type': 'remove', 'id': '" id "'}"

/* "first: id id ... / [[first, last], ...]", with a "=" in front when the order is the
 * old one. */
static const char *
told(void)
{
	const char *text;
	size_t i;

	state_changes(state, arena, &changes);
	text = arena_printf(arena, "%s%u:", changes.order_changed ? "" : "=",
	    (unsigned)changes.first_number);
	for (i = 0; i < value_size(changes.messages); i++)
		text = arena_printf(arena, "%s %s", text,
		    value_get_text(changes.messages->items[i], "id"));
	return arena_printf(arena, "%s / %s", text, json_text(arena, changes.order));
}

/* Three stored messages a, b and c: 0, 1 and 2. */
static void
store_three(void)
{
	state = sample_state(arena, "");
	sample_begin(state, arena,
	    "{'messages': [" MESSAGE("a") "," MESSAGE("b") "," MESSAGE("c") "]}");
	ck_assert_str_eq(told(), "0: a b c / [[0,2]]");
	state_committed(state);
	ck_assert_str_eq(told(), "=3: / [[0,2]]");
}

START_TEST(appended_messages_get_the_next_numbers)
{
	store_three();
	ck_assert_step(
	    "{'messages': [" MESSAGE("d") "]}", "{'messages': [" MESSAGE("e") "]}", NULL);
	ck_assert_str_eq(told(), "3: d e / [[0,4]]");
	/* Asked again, before the commit: the same. */
	ck_assert_str_eq(told(), "3: d e / [[0,4]]");
	state_committed(state);
	ck_assert_str_eq(told(), "=5: / [[0,4]]");
}
END_TEST

START_TEST(a_replaced_message_is_stored_anew_in_its_old_place)
{
	store_three();
	ck_assert_step("{'messages': [" OTHER("b") "," MESSAGE("d") "]}", NULL, NULL);
	ck_assert_str_eq(told(), "3: b d / [[0,0],[3,3],[2,2],[4,4]]");
	state_committed(state);
	ck_assert_step("{'messages': [" MESSAGE("e") "]}", NULL, NULL);
	ck_assert_str_eq(told(), "5: e / [[0,0],[3,3],[2,2],[4,5]]");
}
END_TEST

START_TEST(a_message_set_to_what_it_was_is_not_stored_again)
{
	store_three();
	ck_assert_step("{'messages': [" MESSAGE("b") "," MESSAGE("a") "," REMOVE(
			   "c") "," MESSAGE("c") "]}",
	    NULL, NULL);
	ck_assert_str_eq(told(), "=3: / [[0,2]]");
	ck_assert_step("{'messages': [" REMOVE("__remove_all__") "," MESSAGE(
			   "a") "," MESSAGE("b") "," MESSAGE("c") "]}",
	    NULL, NULL);
	ck_assert_str_eq(told(), "=3: / [[0,2]]");
}
END_TEST

START_TEST(a_removed_message_leaves_the_order)
{
	store_three();
	ck_assert_step("{'messages': [" REMOVE("b") "]}", NULL, NULL);
	ck_assert_str_eq(told(), "3: / [[0,0],[2,2]]");
	state_committed(state);
	ck_assert_step("{'messages': [" MESSAGE("b") "]}", NULL, NULL);
	ck_assert_str_eq(told(), "3: b / [[0,0],[2,3]]");
}
END_TEST

START_TEST(after_remove_all_what_comes_back_keeps_its_number)
{
	store_three();
	ck_assert_step(
	    "{'messages': [" MESSAGE("x") "," REMOVE("__remove_all__") "," MESSAGE(
		"new") "," MESSAGE("c") "," OTHER("a") "]}",
	    NULL, NULL);
	ck_assert_str_eq(told(), "3: new a / [[3,3],[2,2],[4,4]]");
	state_committed(state);
	ck_assert_step("{'messages': [" REMOVE("__remove_all__") "]}", NULL, NULL);
	ck_assert_str_eq(told(), "5: / []");
}
END_TEST

/* A number that was given may have been sent: it stays, and is stored, whatever becomes
 * of its message. */
START_TEST(given_numbers_are_never_given_twice)
{
	store_three();
	ck_assert_step("{'messages': [" MESSAGE("d") "," MESSAGE("e") "]}", NULL, NULL);
	ck_assert_str_eq(told(), "3: d e / [[0,4]]");
	ck_assert_step("{'messages': [" REMOVE("d") "," MESSAGE("f") "]}", NULL, NULL);
	ck_assert_str_eq(told(), "3: d e f / [[0,2],[4,5]]");
	state_committed(state);
	ck_assert_str_eq(told(), "=6: / [[0,2],[4,5]]");
}
END_TEST

START_TEST(what_is_written_during_a_commit_is_for_the_next_one)
{
	store_three();
	ck_assert_step("{'messages': [" MESSAGE("d") "]}", NULL, NULL);
	ck_assert_str_eq(told(), "3: d / [[0,3]]");
	ck_assert_step("{'messages': [" MESSAGE("e") "," OTHER("a") "]}", NULL, NULL);
	state_committed(state);
	ck_assert_str_eq(told(), "4: a e / [[4,4],[1,3],[5,5]]");
}
END_TEST

static void
reopen(const struct sample_stored *stored, const char *fields)
{
	state_destroy(&state);
	state = sample_state(arena, fields);
	state_restore(state, &(struct state_stored){ stored->messages, true,
				 stored->order, stored->fields, NULL });
}

static const struct value *
message_at(size_t i)
{
	return value_at(state_messages(state), i);
}

START_TEST(stored_messages_are_kept_where_they_are)
{
	struct sample_stored stored = { value_empty_array(), value_empty_array(), NULL };
	char *text = arena_alloc(arena, 200u << 10);
	int i;

	memset(text, 'x', (200u << 10) - 1);
	state = sample_state(arena, "big: {}");
	sample_begin(state, arena, "{'messages': ['hi', 'there']}");
	sample_commit(state, arena, &stored);
	reopen(&stored, "big: {}");
	ck_assert_step("{'messages': ['new']}", NULL, NULL);
	/* Also when the state is copied. */
	for (i = 0; i < 4; i++) {
		text[0] = (char)('a' + i);
		ck_assert_step(arena_printf(arena, "{'big': '%s'}", text), NULL, NULL);
		state_compact(state);
	}
	ck_assert_ptr_eq(message_at(0), value_at(stored.messages, 0));
	ck_assert_ptr_eq(message_at(1), value_at(stored.messages, 1));
	ck_assert_str_eq(value_get_text(message_at(2), "content"), "new");
}
END_TEST

START_TEST(what_is_stored_makes_the_same_thread_again)
{
	struct sample_stored stored = { value_empty_array(), value_empty_array(), NULL };
	const char *fields = "log: {reducer: append}, temp: {untracked: true}";
	const struct value *messages;
	int round;

	state = sample_state(arena, fields);
	sample_begin(state, arena, "{'messages': ['hi', 'there']}");
	for (round = 0; round < 12; round++) {
		const char *id = arena_printf(arena, "r1-0-%d", 1 + round % 2);

		state_step(state, arena_printf(arena, "r1-%d", round + 1));
		ck_assert_step(arena_printf(arena,
				   "{'log': [%d], 'temp': 1, 'messages': ['m%d',"
				   " {'type': 'ai', 'content': '%d', 'id': '%s'}]}",
				   round, round, round, id),
		    round % 5 != 4
			? NULL
			: arena_printf(arena,
			      "{'messages': [{'type': 'remove', 'id': 'r1-%d-1'}]}",
			      round - 1),
		    NULL);
		sample_commit(state, arena, &stored);
		messages = value_copy(arena, state_messages(state));
		if (round % 3 == 0)
			state_compact(state);
		reopen(&stored, fields);
		ck_assert(value_equal(messages, state_messages(state)));
		ck_assert_int_eq((int)value_size(state_field(state, "log")), round + 1);
		ck_assert_ptr_null(state_field(state, "temp"));
		state_changes(state, arena, &changes);
		ck_assert(value_equal(changes.order, stored.order));
		ck_assert(!changes.order_changed);
		ck_assert_uint_eq(value_size(changes.messages), 0);
	}
	ck_assert_uint_eq(value_size(state_messages(state)), 12);
}
END_TEST

/* --- memory ------------------------------------------------------------------------- */

START_TEST(replaced_values_are_freed)
{
	const char *big =
	    arena_printf(arena, "{'files': {'/a': '%0*d'}, 'last': '%0*d', 'kept': null}",
		20000, 1, 20000, 2);
	const struct value *again;
	size_t most = 0, i;

	state = sample_state(
	    arena, "files: {reducer: merge}, last: {}, kept: {default: [1]}, n: {}");
	sample_begin(state, arena, "{'files': {'/b': 'stays'}, 'messages': 'hi'}");
	for (i = 0; i < 300; i++) {
		ck_assert_step(big, NULL, NULL);
		ck_assert_step(arena_printf(arena, "{'n': %zu}", i), NULL, NULL);
		ck_assert_step("{'last': null}", NULL, NULL);
		state_compact(state);
		most = most > state_bytes(state) ? most : state_bytes(state);
	}
	/* 12 MB were written, 20 KB live. */
	ck_assert_uint_lt(most, 600000);
	again = state_field(state, "files");
	ck_assert_str_eq(value_get_text(again, "/b"), "stays");
	ck_assert_uint_eq(value_size(value_get(again, "/a")), 20000);
	ck_assert_value(arena, state_field(state, "n"), "299");
	ck_assert_str_eq(
	    value_get_text(value_at(state_messages(state), 0), "content"), "hi");
	state_changes(state, arena, &changes);
	ck_assert_uint_eq(value_size(changes.messages), 1);
}
END_TEST

/* d was removed and e replaced after both had got their numbers: no commit had stored the old
 * e, and none does. */
START_TEST(compaction_keeps_messages_that_wait_for_their_commit)
{
	const char *big = arena_printf(arena,
	    "{'messages': [{'type': 'ai', 'content': '%0*d', 'id': 'a'}]}", 400000, 7);

	store_three();
	ck_assert_step(
	    "{'messages': [" MESSAGE("d") "," MESSAGE("e") "," MESSAGE("f") "]}", NULL,
	    NULL);
	ck_assert_str_eq(told(), "3: d e f / [[0,5]]");
	ck_assert_step("{'messages': [" REMOVE("d") "," OTHER("e") "]}", NULL, NULL);
	ck_assert_step(big, NULL, NULL);
	ck_assert_step("{'messages': [" OTHER("a") "]}", NULL, NULL);
	ck_assert_uint_gt(state_bytes(state), 800000);
	state_compact(state);
	ck_assert_uint_lt(state_bytes(state), 50000);
	ck_assert_str_eq(told(), "3: d e f a / [[6,6],[1,2],[4,5]]");
	ck_assert_value(arena, changes.messages,
	    "[" MESSAGE("d") "," OTHER("e") "," MESSAGE("f") "," OTHER("a") "]");
	ck_assert_ptr_eq(changes.messages->items[2], value_at(state_messages(state), 4));
}
END_TEST

START_TEST(what_is_written_outlives_the_arena_it_came_in)
{
	struct arena *other = arena_new();
	const char *error = "";
	struct state_write write = { "A", NULL };

	state = sample_state(arena, "last: {}, log: {reducer: append}, in: {},"
				    " map: {reducer: merge}, sum: {reducer: add}");
	ck_assert_int_eq(
	    state_begin(state, other, "r",
		literal(other, "{'messages': 'hi', 'in': [1], 'sum': 1}"), &error),
	    0);
	write.update = literal(other, "{'last': ['x'], 'log': ['y'], 'map': {'k': ['v']},"
				      " 'messages': 'there'}");
	ck_assert_int_eq(state_apply(state, other, &write, 1, &error), 0);
	arena_destroy(&other);
	ck_assert_value(arena, state_fields(state, arena),
	    "{'last': ['x'], 'log': ['y'], 'in': [1], 'map': {'k': ['v']}, 'sum': 1}");
	ck_assert_value(arena, state_messages(state),
	    "[{'type': 'human', 'content': 'hi', 'id': 'r-1'},"
	    " {'type': 'human', 'content': 'there', 'id': 'r-2'}]");
}
END_TEST

TCase *tcase_state_commit(void);
TCase *
tcase_state_commit(void)
{
	TCase *tcase = tcase_create("state_commit");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 30);
	tcase_add_test(tcase, changes_are_what_a_commit_has_not_stored);
	tcase_add_test(tcase, a_restored_state_is_the_one_that_was_stored);
	tcase_add_test(tcase, a_stored_value_of_another_type_gives_way_to_a_fold);
	tcase_add_test(tcase, appended_messages_get_the_next_numbers);
	tcase_add_test(tcase, a_replaced_message_is_stored_anew_in_its_old_place);
	tcase_add_test(tcase, a_message_set_to_what_it_was_is_not_stored_again);
	tcase_add_test(tcase, a_removed_message_leaves_the_order);
	tcase_add_test(tcase, after_remove_all_what_comes_back_keeps_its_number);
	tcase_add_test(tcase, given_numbers_are_never_given_twice);
	tcase_add_test(tcase, what_is_written_during_a_commit_is_for_the_next_one);
	tcase_add_test(tcase, stored_messages_are_kept_where_they_are);
	tcase_add_test(tcase, what_is_stored_makes_the_same_thread_again);
	tcase_add_test(tcase, replaced_values_are_freed);
	tcase_add_test(tcase, what_is_written_outlives_the_arena_it_came_in);
	tcase_add_test(tcase, compaction_keeps_messages_that_wait_for_their_commit);
	return tcase;
}
