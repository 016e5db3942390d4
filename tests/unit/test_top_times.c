/* How long runs and calls took lately, as `flotilla top` tells it. */
#include <check.h>

#include "literal.h"

/* Interface under test */
#include "../../cli/monitor/stats.h"
#include "../../cli/monitor/top_times.h"

TCase *tcase_top_times(void);

static struct arena *arena;
static struct top_times *times;

static void
setup(void)
{
	arena = arena_new();
	times = top_times_new(60000);
}

static void
teardown(void)
{
	top_times_destroy(&times);
	arena_destroy(&arena);
}

static const struct value *
tables_of(const char *calls)
{
	return literal(arena,
	    arena_printf(arena,
		"{'times': {'bounds_ms': [5, 1000], 'waited': {'model': {'counts': [0, "
		"0, 0], 'sum_ms': 0}}, 'ran': {'model': {'counts': %s, 'sum_ms': 1}}}}",
		calls));
}

/* A look at that time: counts of runs, and of model calls that ran, up to 5 ms, up to a second, above, at two
 * brokers, of which the second may be away (NULL), as the first. */
static const char *
look_at_two(uint64_t at_ms, const char *runs, const char *calls, const char *other)
{
	const struct top_broker brokers[] = {
		{ "tcp://one", calls == NULL ? NULL : tables_of(calls) },
		{ "tcp://two", other == NULL ? NULL : tables_of(other) },
	};
	struct top_look look = {
		.arena = arena, .brokers = brokers, .broker_count = 2, .at_ms = at_ms
	};

	look.counts = literal(arena,
	    arena_printf(arena,
		"{'times': {'bounds_ms': [5, 1000], 'ended': {'success': {'counts': %s, "
		"'sum_ms': 1}, 'error': {'counts': [99, 99, 99], 'sum_ms': 1}}}}",
		runs));
	look.tables = brokers[0].tables == NULL ? brokers[1].tables
		      : brokers[1].tables == NULL
			  ? brokers[0].tables
			  : stats_merge(arena, brokers[0].tables, brokers[1].tables);
	top_times_note(times, &look);
	return top_times_text(arena, &look);
}

static const char *
look_at(uint64_t at_ms, const char *runs, const char *calls)
{
	return look_at_two(at_ms, runs, calls, NULL);
}

#define TEXT(runs, calls)                                                                \
	"runs end " runs "; model calls wait -, run " calls "; tool calls wait -, run -"

START_TEST(the_first_look_tells_of_all_that_was)
{
	ck_assert_str_eq(look_at(0, "[0, 0, 0]", "[95, 5, 0]"), TEXT("-", "≤ 5 ms"));
}
END_TEST

START_TEST(ninety_five_of_a_hundred_lie_within)
{
	ck_assert_str_eq(
	    look_at(0, "[94, 6, 0]", "[0, 94, 6]"), TEXT("within 1.0 s", "> 1.0 s"));
}
END_TEST

START_TEST(later_ones_tell_of_what_came_behind_the_first)
{
	look_at(0, "[0, 50, 0]", "[0, 50, 0]");
	ck_assert_str_eq(
	    look_at(1000, "[9, 50, 0]", "[0, 50, 0]"), TEXT("within 5 ms", "-"));
	ck_assert_str_eq(
	    look_at(2000, "[9, 50, 0]", "[0, 51, 0]"), TEXT("within 5 ms", "≤ 1.0 s"));
}
END_TEST

START_TEST(what_is_long_ago_is_forgotten)
{
	look_at(0, "[0, 50, 0]", "[0, 0, 0]");
	look_at(30000, "[7, 50, 0]", "[0, 0, 0]");
	ck_assert_str_eq(
	    look_at(60000, "[7, 50, 0]", "[0, 0, 0]"), TEXT("within 5 ms", "-"));
	ck_assert_str_eq(look_at(60001, "[7, 50, 0]", "[0, 0, 0]"), TEXT("-", "-"));
}
END_TEST

START_TEST(many_looks_in_a_short_time_do_no_harm)
{
	unsigned i;

	for (i = 0; i < 500; i++)
		look_at(i, "[7, 0, 0]", "[0, 0, 0]");
	ck_assert_str_eq(
	    look_at(501, "[8, 0, 0]", "[0, 0, 0]"), TEXT("within 5 ms", "-"));
}
END_TEST

/* A broker was started again. */
START_TEST(what_counts_anew_begins_anew)
{
	look_at(0, "[0, 0, 0]", "[0, 50, 0]");
	ck_assert_str_eq(look_at(1000, "[0, 0, 0]", "[3, 0, 0]"), TEXT("-", "≤ 5 ms"));
}
END_TEST

START_TEST(who_is_away_is_held_against_what_was_before)
{
	struct top_look away = { .arena = arena, .at_ms = 1000 };

	look_at(0, "[0, 50, 0]", "[0, 50, 0]");
	top_times_note(times, &away);
	ck_assert_ptr_null(top_times_text(arena, &away));
	ck_assert_str_eq(
	    look_at(2000, "[1, 50, 0]", "[0, 50, 0]"), TEXT("within 5 ms", "-"));
}
END_TEST

/* What it has counted in its life did not come lately, neither while it is away nor when it is back. */
START_TEST(a_broker_that_misses_a_look_is_held_against_itself)
{
	look_at_two(0, "[0, 0, 0]", "[0, 9, 0]", "[0, 0, 900]");
	ck_assert_str_eq(
	    look_at_two(1000, "[0, 0, 0]", "[1, 9, 0]", NULL), TEXT("-", "≤ 5 ms"));
	ck_assert_str_eq(look_at_two(2000, "[0, 0, 0]", "[2, 9, 0]", "[0, 0, 900]"),
	    TEXT("-", "≤ 5 ms"));
}
END_TEST

START_TEST(a_broker_that_comes_later_is_held_against_itself)
{
	look_at_two(0, "[0, 0, 0]", "[0, 9, 0]", NULL);
	ck_assert_str_eq(
	    look_at_two(1000, "[0, 0, 0]", "[0, 9, 0]", "[0, 0, 900]"), TEXT("-", "-"));
	ck_assert_str_eq(look_at_two(2000, "[0, 0, 0]", "[0, 9, 0]", "[0, 1, 900]"),
	    TEXT("-", "≤ 1.0 s"));
	ck_assert_str_eq(
	    look_at_two(3000, "[0, 0, 0]", NULL, "[0, 1, 900]"), TEXT("-", "≤ 1.0 s"));
}
END_TEST

TCase *
tcase_top_times(void)
{
	TCase *tcase = tcase_create("top_times");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, the_first_look_tells_of_all_that_was);
	tcase_add_test(tcase, ninety_five_of_a_hundred_lie_within);
	tcase_add_test(tcase, later_ones_tell_of_what_came_behind_the_first);
	tcase_add_test(tcase, what_is_long_ago_is_forgotten);
	tcase_add_test(tcase, a_broker_that_misses_a_look_is_held_against_itself);
	tcase_add_test(tcase, a_broker_that_comes_later_is_held_against_itself);
	tcase_add_test(tcase, many_looks_in_a_short_time_do_no_harm);
	tcase_add_test(tcase, what_counts_anew_begins_anew);
	tcase_add_test(tcase, who_is_away_is_held_against_what_was_before);
	return tcase;
}
