/* What who gives a run back says of the calls that were sent. */
#include <check.h>

/* Interface under test */
#include "../../coordinator/run.h"

TCase *tcase_run_sent(void);

static struct arena *arena;
static struct run run;

/* That has sent one call itself. */
static void
setup(void)
{
	arena = arena_new();
	run = (struct run){ .arena = arena, .batch = arena };
	run.sent.arena = arena;
	value_list_add(&run.sent, value_str(arena, "r.1.2"));
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static const struct value *
said_before(void)
{
	struct value_list list = { .arena = arena };

	value_list_add(&list, value_str(arena, "r.1.0"));
	return value_list_end(&list);
}

START_TEST(whose_superstep_it_is_says_what_he_has_sent)
{
	/* What somebody said of one before it. */
	run.sent_before = said_before();
	ck_assert_uint_eq(value_size(run_sent(&run)), 1);
}
END_TEST

/* Or a call that neither of the two has sent would be told as uncertain by a third. */
START_TEST(who_took_it_over_says_what_the_one_before_him_has_sent_too)
{
	const struct value *sent;

	run.recovered = true;
	run.sent_before = said_before();
	sent = run_sent(&run);
	ck_assert_uint_eq(value_size(sent), 2);
	ck_assert(value_contains(sent, "r.1.0"));
	ck_assert(value_contains(sent, "r.1.2"));
}
END_TEST

START_TEST(who_took_it_over_from_one_that_said_nothing_says_nothing)
{
	run.recovered = true;
	ck_assert_ptr_null(run_sent(&run));
}
END_TEST

TCase *
tcase_run_sent(void)
{
	TCase *tcase = tcase_create("run_sent");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, whose_superstep_it_is_says_what_he_has_sent);
	tcase_add_test(tcase, who_took_it_over_says_what_the_one_before_him_has_sent_too);
	tcase_add_test(tcase, who_took_it_over_from_one_that_said_nothing_says_nothing);
	return tcase;
}
