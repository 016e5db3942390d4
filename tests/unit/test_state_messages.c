#include <check.h>

#include "chat.h"
#include "literal.h"
#include "sample_state.h"

/* Interface under test */
#include "state.h"

static struct arena *arena;
static struct state *state;

static void
setup(void)
{
	arena = arena_new();
	state = sample_state(arena, "");
}

static void
teardown(void)
{
	state_destroy(&state);
	arena_destroy(&arena);
}

static const char *
ids(void)
{
	const struct value *messages = state_messages(state);
	const char *text = "";
	size_t i;

	for (i = 0; i < value_size(messages); i++)
		text = arena_printf(arena, "%s%s%s", text, i == 0 ? "" : " ",
		    value_get_text(messages->items[i], "id"));
	return text;
}

#define MESSAGE(id) "{'type': 'human', 'content': '" id "', 'id': '" id "'}"
#define REMOVE(id) "{'type': 'remove', 'id': '" id "'}"

/* --- ids ---------------------------------------------------------------------------- */

START_TEST(messages_without_id_are_numbered_within_their_step)
{
	sample_begin(state, arena, "{'messages': ['one', 'two']}");
	ck_assert_str_eq(ids(), "r1-0-1 r1-0-2");
	state_step(state, "r1-1");
	ck_assert_step("{'messages': 'three'}", "{'messages': 'four'}", NULL);
	state_step(state, "r1-2");
	ck_assert_step("{'messages': ['five', " MESSAGE("x") ", 'six']}", NULL, NULL);
	ck_assert_str_eq(ids(), "r1-0-1 r1-0-2 r1-1-1 r1-1-2 r1-2-1 x r1-2-2");
}
END_TEST

START_TEST(a_step_done_again_gives_the_same_ids)
{
	state_step(state, "s");
	ck_assert_ptr_nonnull(sample_step(
	    state, arena, "{'messages': ['lost', " REMOVE("zzz") "]}", NULL, NULL));
	ck_assert_step("{'messages': 'kept'}", NULL, NULL);
	ck_assert_str_eq(ids(), "s-1");
}
END_TEST

START_TEST(an_id_that_is_taken_is_not_given_again)
{
	state_step(state, "s");
	ck_assert_step(
	    "{'messages': [" MESSAGE("s-1") "," MESSAGE("s-3") ", 'mine', 'next']}", NULL,
	    NULL);
	ck_assert_str_eq(ids(), "s-1 s-3 s-2 s-4");
	state_step(state, "s");
	ck_assert_step("{'messages': [" REMOVE("s-4") ", 'more']}", NULL, NULL);
	ck_assert_str_eq(ids(), "s-1 s-3 s-2 s-5");
}
END_TEST

START_TEST(an_id_is_not_given_again_though_its_message_is_gone)
{
	state_step(state, "s");
	ck_assert_step("{'messages': ['one', 'two']}", NULL, NULL);
	ck_assert_step("{'messages': [" REMOVE("s-2") "]}", NULL, NULL);
	ck_assert_step("{'messages': 'three'}", NULL, NULL);
	ck_assert_str_eq(ids(), "s-1 s-3");
}
END_TEST

/* --- add_messages ------------------------------------------------------------------- */

static const struct {
	const char *first, *second, *ids; /* ids NULL: refused */
} updates[] = {
	{ MESSAGE("x") "," MESSAGE("y"), NULL, "a b c x y" },
	{ REMOVE("b"), NULL, "a c" },
	{ REMOVE("b") "," MESSAGE("b"), NULL, "a b c" },
	{ REMOVE("b"), MESSAGE("b"), "a c b" },
	{ REMOVE("b") "," REMOVE("b"), NULL, "a c" },
	{ REMOVE("b"), REMOVE("b"), NULL },
	{ REMOVE("x"), NULL, NULL },
	{ MESSAGE("x") "," REMOVE("x"), NULL, "a b c" },
	{ MESSAGE("x") "," REMOVE("x") "," MESSAGE("x"), NULL, "a b c x" },
	{ MESSAGE("x"), REMOVE("x"), "a b c" },
	{ MESSAGE("x") "," MESSAGE("x"), NULL, "a b c x" },
	{ REMOVE("__remove_all__"), NULL, "" },
	{ REMOVE("__remove_all__") "," MESSAGE("c") "," MESSAGE("a"), NULL, "c a" },
	{ MESSAGE("x") "," REMOVE("__remove_all__") "," MESSAGE("y"), MESSAGE("z"),
	    "y z" },
	{ MESSAGE("x"), REMOVE("__remove_all__"), "" },
	{ REMOVE("__remove_all__") "," REMOVE("a"), NULL, NULL },
	{ REMOVE("__remove_all__"), REMOVE("a"), NULL },
	{ REMOVE("__remove_all__") "," MESSAGE("a"), REMOVE("a") "," MESSAGE("b"), "b" },
	{ REMOVE("c") "," REMOVE("a"), MESSAGE("x"), "b x" },
	{ "{'remove': 'all'}," MESSAGE("x"), NULL, "x" },
	{ "{'remove': 'a'}", NULL, "b c" },
};

START_TEST(messages_are_added_replaced_and_removed)
{
	const char *first = arena_printf(arena, "{'messages': [%s]}", updates[_i].first);
	const char *second = updates[_i].second, *error;

	if (second != NULL)
		second = arena_printf(arena, "{'messages': [%s]}", second);
	sample_begin(state, arena,
	    "{'messages': [" MESSAGE("a") "," MESSAGE("b") "," MESSAGE("c") "]}");
	error = sample_step(state, arena, first, second, NULL);
	ck_assert_int_eq(error == NULL, updates[_i].ids != NULL);
	if (error != NULL)
		ck_assert_says(error, "no message with id");
	ck_assert_str_eq(ids(), error == NULL ? updates[_i].ids : "a b c");
}
END_TEST

START_TEST(a_replaced_message_keeps_its_place)
{
	sample_begin(state, arena,
	    "{'messages': [" MESSAGE("a") "," MESSAGE("b") "," MESSAGE("c") "]}");
	ck_assert_step(
	    "{'messages': [{'type': 'ai', 'content': 'new', 'id': 'b'}]}", NULL, NULL);
	ck_assert_value(arena, state_messages(state),
	    "[" MESSAGE("a") ", {'type': 'ai', 'content': 'new', 'id': 'b'}," MESSAGE(
		"c") "]");
	ck_assert_step("{'messages': [" REMOVE("a") "]}", NULL, NULL);
	ck_assert_step(
	    "{'messages': [{'type': 'ai', 'content': 'newer', 'id': 'b'}]}", NULL, NULL);
	ck_assert_str_eq(ids(), "b c");
	ck_assert_str_eq(
	    value_get_text(value_at(state_messages(state), 0), "content"), "newer");
}
END_TEST

/* --- the same as the plain reducer --------------------------------------------------- */

static uint32_t seed;

static uint32_t
any(uint32_t limit)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % limit;
}

static const struct value *
any_message(void)
{
	const char *id = arena_printf(arena, "m%u", any(12));
	uint32_t kind = any(20);

	if (kind == 0)
		id = REMOVE_ALL;
	if (kind < 5)
		return value_map(arena, "type", value_str(arena, "remove"), "id",
		    value_str(arena, id), NULL);
	return value_map(arena, "type", value_str(arena, "human"), "content",
	    value_printf(arena, "%u", any(3)), "id",
	    kind < 9 ? NULL : value_str(arena, id), NULL);
}

struct fresh {
	const char *prefix;
	unsigned count;
};

static const struct value *
fresh_id(void *arg, struct arena *in)
{
	struct fresh *fresh = arg;

	return value_printf(in, "%s-%u", fresh->prefix, ++fresh->count);
}

/* Steps of one to three random updates, against chat_add_messages one by one. */
START_TEST(a_thread_is_what_add_messages_makes_of_it)
{
	const struct value *model = value_empty_array(), *result;
	const char *error;
	int round, refused = 0;

	seed = (uint32_t)_i;
	for (round = 0; round < 60; round++) {
		struct state_write writes[3];
		struct fresh fresh = { arena_printf(arena, "s%d", round), 0 };
		size_t count = 1 + any(3), i;

		result = model;
		for (i = 0; i < count; i++) {
			struct value_list list = { .arena = arena };
			const struct value *update;

			for (uint32_t j = any(6); j > 0; j--)
				value_list_add(&list, any_message());
			update = value_list_end(&list);
			writes[i] = (struct state_write){ "w",
				value_map(arena, "messages", update, NULL) };
			if (result != NULL)
				result = chat_add_messages(
				    arena, result, update, fresh_id, &fresh, &error);
		}
		state_step(state, fresh.prefix);
		ck_assert_int_eq(state_apply(state, arena, writes, count, &error),
		    result == NULL ? -1 : 0);
		refused += result == NULL;
		model = result == NULL ? model : result;
		ck_assert(value_equal(model, state_messages(state)));
		if (any(10) == 0)
			state_compact(state);
	}
	ck_assert_int_lt(refused, 60);
}
END_TEST

/* --- cost --------------------------------------------------------------------------- */

static void
append(const char *prefix, int count)
{
	int i;

	for (i = 0; i < count; i++) {
		state_step(state, arena_printf(arena, "%s-%d", prefix, i));
		ck_assert_step("{'messages': 'one more'}", NULL, NULL);
	}
}

/* Bytes the state and the job's arena grow by during so many appends. */
static size_t
growth(const char *prefix, int count)
{
	size_t before = state_bytes(state) + arena_bytes(arena);

	append(prefix, count);
	return state_bytes(state) + arena_bytes(arena) - before;
}

START_TEST(to_append_costs_the_same_at_any_length)
{
	const struct value *first, *last;
	size_t few, many;

	few = growth("few000", 100);
	append("more", 1900);
	first = value_at(state_messages(state), 0);
	last = value_at(state_messages(state), 1999);
	many = growth("many00", 100);
	ck_assert_uint_eq(value_size(state_messages(state)), 2100);
	ck_assert_ptr_eq(value_at(state_messages(state), 0), first);
	ck_assert_ptr_eq(value_at(state_messages(state), 1999), last);
	/* A copy of the pointers alone would be 16 KB a step. Arrays and index may double once. */
	ck_assert_uint_lt(many, few + sizeof(void *) * 4 * 2100);
}
END_TEST

START_TEST(messages_are_packed_once)
{
	size_t i;

	sample_begin(state, arena, "{'messages': ['one', 'two']}");
	append("s", 3);
	for (i = 0; i < 5; i++)
		ck_assert_ptr_nonnull(value_at(state_messages(state), i)->packed);
}
END_TEST

/* --- names -------------------------------------------------------------------------- */

/* What the first count messages are called, from the first byte on. */
static void
name_of(size_t count, uint8_t name_r[DIGEST_BYTES])
{
	struct digest *digest = digest_new();

	digest_add(digest, state_messages(state), 0, count);
	digest_get(digest, name_r);
	digest_destroy(&digest);
}

static void
expect_name(void)
{
	uint8_t ours[DIGEST_BYTES], name[DIGEST_BYTES];
	size_t count = value_size(state_messages(state)), bytes = 0, i;

	state_digest(state, ours);
	name_of(count, name);
	ck_assert_mem_eq(ours, name, DIGEST_BYTES);
	ck_assert(state_begins_with(state, count, name) == (count > 0));
	for (i = 0; i < count; i++)
		bytes += value_at(state_messages(state), i)->packed_size;
	ck_assert_uint_eq(state_packed_bytes(state), bytes);
}

START_TEST(messages_have_a_name_that_goes_along)
{
	expect_name();
	sample_begin(state, arena,
	    "{'messages': [" MESSAGE("a") "," MESSAGE("b") "," MESSAGE("c") "]}");
	expect_name();
	append("s", 3);
	expect_name();
	state_compact(state);
	append("t", 1);
	expect_name();
	ck_assert_step(
	    "{'messages': {'type':'human','id':'b','content':'new'}}", NULL, NULL);
	expect_name();
	ck_assert_step("{'messages': " REMOVE("a") "}", NULL, NULL);
	expect_name();
}
END_TEST

START_TEST(a_thread_begins_with_what_has_its_name)
{
	uint8_t two[DIGEST_BYTES], three[DIGEST_BYTES], all[DIGEST_BYTES];

	sample_begin(state, arena, "{'messages': ['one', 'two', 'three', 'four']}");
	name_of(2, two);
	name_of(3, three);
	ck_assert(!state_begins_with(state, 0, two));
	ck_assert(!state_begins_with(state, 5, two));
	ck_assert(state_begins_with(state, 2, two));
	ck_assert(!state_begins_with(state, 3, two));
	ck_assert(state_begins_with(state, 3, three));
	/* The stream does not go back. */
	ck_assert(!state_begins_with(state, 2, two));
	state_digest(state, all);
	ck_assert(state_begins_with(state, 4, all));
	append("s", 1);
	ck_assert(state_begins_with(state, 4, all));
	/* An edit makes it begin anew. */
	ck_assert_step("{'messages': " REMOVE("r1-0-4") "}", NULL, NULL);
	ck_assert(state_begins_with(state, 2, two));
	ck_assert(!state_begins_with(state, 4, all));
}
END_TEST

TCase *tcase_state_messages(void);
TCase *
tcase_state_messages(void)
{
	TCase *tcase = tcase_create("state_messages");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 30);
	tcase_add_test(tcase, messages_without_id_are_numbered_within_their_step);
	tcase_add_test(tcase, a_step_done_again_gives_the_same_ids);
	tcase_add_test(tcase, an_id_that_is_taken_is_not_given_again);
	tcase_add_test(tcase, an_id_is_not_given_again_though_its_message_is_gone);
	tcase_add_loop_test(tcase, messages_are_added_replaced_and_removed, 0,
	    sizeof updates / sizeof updates[0]);
	tcase_add_test(tcase, a_replaced_message_keeps_its_place);
	tcase_add_loop_test(tcase, a_thread_is_what_add_messages_makes_of_it, 0, 50);
	tcase_add_test(tcase, to_append_costs_the_same_at_any_length);
	tcase_add_test(tcase, messages_are_packed_once);
	tcase_add_test(tcase, messages_have_a_name_that_goes_along);
	tcase_add_test(tcase, a_thread_begins_with_what_has_its_name);
	return tcase;
}
