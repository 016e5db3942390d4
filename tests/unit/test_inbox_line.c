/* Which entries of the inbox wait for which. */
#include <check.h>
#include <string.h>

#include "arena.h"
#include "../../coordinator/inbox_line.h"

TCase *tcase_inbox_line(void);

static struct arena *arena;

static void
setup(void)
{
	arena = arena_new();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

#define PLACE(i, t, names)                                                               \
	{                                                                                \
		.id = (i), .thread = (t), .run = (t), .names_thread = (names)            \
	}
#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct value *
ahead_of(const char *const *texts, size_t count)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < count; i++)
		value_list_add(&list, value_bin(arena, texts[i], strlen(texts[i])));
	return value_list_end(&list);
}

START_TEST(runs_of_their_own_threads_ask_nothing)
{
	struct inbox_place places[] = { PLACE("5-0", "a", false),
		PLACE("5-1", "b", false) };

	ck_assert(!inbox_line_asks(places, 2));
	inbox_line_up(places, 2, NULL);
	ck_assert(!places[0].is_held && !places[1].is_held);
	ck_assert(!places[0].is_behind && !places[1].is_behind);
}
END_TEST

START_TEST(those_of_one_thread_stand_in_a_line)
{
	struct inbox_place places[] = { PLACE("5-0", "a", false), PLACE("5-1", "b", true),
		PLACE("6-0", "a", true), PLACE("7-0", "b", true),
		PLACE("7-1", "a", true) };

	ck_assert(inbox_line_asks(places, COUNT(places)));
	inbox_line_up(places, COUNT(places), ahead_of(NULL, 0));
	ck_assert_uint_eq(places[0].next, 2);
	ck_assert_uint_eq(places[2].next, 4);
	ck_assert_uint_eq(places[4].next, 0);
	ck_assert_uint_eq(places[1].next, 3);
	ck_assert(!places[0].is_behind && !places[1].is_behind);
	ck_assert(places[2].is_behind && places[3].is_behind && places[4].is_behind);
}
END_TEST

START_TEST(anothers_entry_holds_those_behind_it)
{
	static const char *const ahead[] = { "", "9-5", "b", "r", "10-1", "c", "r" };
	struct inbox_place places[] = { PLACE("6-0", "b", true), PLACE("9-4", "c", true),
		PLACE("9-10", "b", true), PLACE("10-0", "b", false),
		PLACE("10-1", "c", true), PLACE("10-2", "c", true) };

	inbox_line_up(places, COUNT(places), ahead_of(ahead, COUNT(ahead)));
	ck_assert(!places[0].is_held); /* it is before that one */
	ck_assert(!places[1].is_held);
	ck_assert(places[2].is_held);
	ck_assert_str_eq(places[2].awaits, "9-5");
	ck_assert_ptr_null(places[0].awaits);
	ck_assert(!places[3].is_held); /* it begins a thread */
	ck_assert(!places[4].is_held);
	ck_assert(places[5].is_held);
	ck_assert_str_eq(places[5].awaits, "10-1");
	ck_assert_uint_eq(places[4].next, 5);
}
END_TEST

START_TEST(the_last_of_several_ahead_is_awaited)
{
	static const char *const ahead[] = { "", "1-0", "a", "r", "2-0", "b", "s", "3-0",
		"a", "t" };
	struct inbox_place places[] = { PLACE("5-0", "a", true) };

	inbox_line_up(places, COUNT(places), ahead_of(ahead, COUNT(ahead)));
	ck_assert_str_eq(places[0].awaits, "3-0");
	inbox_line_up(places, COUNT(places), ahead_of(ahead, 1));
	ck_assert(!places[0].is_held);
	ck_assert_ptr_null(places[0].awaits);
}
END_TEST

START_TEST(a_run_waits_for_its_parent)
{
	static const char *const ahead[] = { "", "1-0", "t", "p" };
	struct inbox_place places[] = { PLACE("5-0", "q", false),
		PLACE("5-1", "k", false), PLACE("5-2", "l", false),
		PLACE("5-3", "m", false) };

	places[1].parent = "q";
	places[2].parent = "p";
	places[3].parent = "long since";
	ck_assert(inbox_line_asks(places, COUNT(places)));
	inbox_line_up(places, COUNT(places), ahead_of(ahead, COUNT(ahead)));
	ck_assert(!places[0].is_held);
	ck_assert(places[1].is_held);
	ck_assert_ptr_null(places[1].awaits); /* that one is in this reading */
	ck_assert(places[2].is_held);
	ck_assert_str_eq(places[2].awaits, "1-0");
	ck_assert(!places[3].is_held);
	/* What comes later is not waited for: two that named each other would wait for ever. */
	places[0].parent = "k";
	inbox_line_up(places, COUNT(places), ahead_of(ahead, COUNT(ahead)));
	ck_assert(!places[0].is_held);
}
END_TEST

START_TEST(what_nobody_has_looked_at_holds_too)
{
	static const char *const ahead[] = { "1500-0", "1400-0", "other", "other" };
	struct inbox_place places[] = { PLACE("400-0", "a", true),
		PLACE("2000-0", "a", false), PLACE("2000-1", "b", true) };

	inbox_line_up(places, COUNT(places), ahead_of(ahead, COUNT(ahead)));
	ck_assert(!places[0].is_held);
	ck_assert(!places[1].is_held);
	ck_assert(places[2].is_held);
	ck_assert_str_eq(places[2].awaits, "1500-0");
	inbox_line_up(places, COUNT(places), NULL);
	ck_assert(!places[2].is_held);
	inbox_line_hold(places, COUNT(places));
	ck_assert(places[0].is_held && places[2].is_held);
	ck_assert(!places[1].is_held);
}
END_TEST

TCase *
tcase_inbox_line(void)
{
	TCase *tcase = tcase_create("inbox_line");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, runs_of_their_own_threads_ask_nothing);
	tcase_add_test(tcase, those_of_one_thread_stand_in_a_line);
	tcase_add_test(tcase, anothers_entry_holds_those_behind_it);
	tcase_add_test(tcase, the_last_of_several_ahead_is_awaited);
	tcase_add_test(tcase, a_run_waits_for_its_parent);
	tcase_add_test(tcase, what_nobody_has_looked_at_holds_too);
	return tcase;
}
