/* What `flotilla top` makes of the brokers' tables: merged, and as a screen. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "literal.h"

/* Interfaces under test */
#include "../../cli/monitor/stats.h"
#include "../../cli/monitor/top_screen.h"

TCase *tcase_top(void);

static struct arena *arena;
static char *screen;

static void
setup(void)
{
	arena = arena_new();
	screen = NULL;
}

static void
teardown(void)
{
	free(screen);
	arena_destroy(&arena);
}

/* --- merging -------------------------------------------------------------------------- */

START_TEST(a_process_at_two_brokers_is_one_row)
{
	const struct value *one = literal(arena,
	    "{'broker': {'name': 'b1'}, 'sessions': [{'session': 's1', 'name': 'w', "
	    "'load': 2, 'room': 5, 'silent_ms': 3, 'oldest_ms': 40, 'probe': 'ok'}], "
	    "'services': [{'name': 'tool:a', 'workers': 1, 'queued': 3, 'running': 2}], "
	    "'calls': {'queued': 3}, 'bodies': {}, 'counters': {'accepted': 7}}");
	const struct value *other = literal(arena,
	    "{'broker': {'name': 'b2'}, 'sessions': [{'session': 's2', 'name': 'c'}, "
	    "{'session': 's1', 'name': 'w', 'load': 1, 'room': 4, 'silent_ms': 9, "
	    "'oldest_ms': 10, 'probe': 'stuck', 'trouble': 'why'}], "
	    "'services': [{'name': 'tool:a', 'workers': 2, 'queued': 1, 'running': 0, "
	    "'oldest_ms': 80}, {'name': 'tool:b', 'workers': 1}], "
	    "'calls': {'queued': 1}, 'bodies': {}, 'counters': {'accepted': 4}}");

	ck_assert_value(arena, stats_merge(arena, one, other),
	    "{'broker': {'name': 'b1'}, 'sessions': [{'session': 's1', 'name': 'w', "
	    "'load': 3, 'room': 4, 'silent_ms': 9, 'oldest_ms': 40, 'probe': 'stuck', "
	    "'trouble': 'why'}, {'session': 's2', 'name': 'c'}], "
	    "'services': [{'name': 'tool:a', 'workers': 2, 'queued': 4, 'running': 2, "
	    "'oldest_ms': 80}, {'name': 'tool:b', 'workers': 1}], "
	    "'calls': {'queued': 4}, 'bodies': {}, 'counters': {'accepted': 11}}");
}
END_TEST

START_TEST(what_took_long_at_two_brokers_adds_up)
{
	const struct value *one = literal(arena,
	    "{'broker': {'name': 'b1'}, 'times': {'bounds_ms': [5], 'waited': {'tool': "
	    "{'counts': [1, 2], 'sum_ms': 30}}, 'ran': {}}}");
	const struct value *merged = stats_merge(arena, one,
	    literal(arena,
		"{'times': {'bounds_ms': [5], 'waited': {'tool': {'counts': [3, 4], "
		"'sum_ms': 50}}, 'ran': {'model': {'counts': [0, 1], 'sum_ms': 9}}}}"));

	ck_assert_value(arena, value_get(merged, "times"),
	    "{'bounds_ms': [5], 'waited': {'tool': {'counts': [4, 6], 'sum_ms': 80}}, "
	    "'ran': {'model': {'counts': [0, 1], 'sum_ms': 9}}}");
	/* By other bounds nothing can be added. */
	merged = stats_merge(arena, one,
	    literal(arena,
		"{'times': {'bounds_ms': [6], 'waited': {'tool': {'counts': [3, 4], "
		"'sum_ms': 50}}, 'ran': {}}}"));
	ck_assert_value(arena, value_get(merged, "times"),
	    "{'bounds_ms': [5], 'waited': {'tool': {'counts': [1, 2], 'sum_ms': 30}}, "
	    "'ran': {}}");
}
END_TEST

/* --- what a broker says ----------------------------------------------------------------- */

static const struct {
	const char *tables, *tidy; /* NULL: it is no broker's */
} said[] = {
	{ "{'broker': {'name': 'b', 'lag_ms': 3, 'leaving': false}, 'sessions': "
	  "[{'session': "
	  "'s', 'name': 'w', 'role': 'worker', 'services': ['tools'], 'load': 1}], "
	  "'services': [{'name': 'tools', 'priority': null}], 'calls': {'held': 1}, "
	  "'bodies': {}, 'counters': {'accepted': 7}}",
	    "{'broker': {'name': 'b', 'lag_ms': 3, 'leaving': false}, 'sessions': "
	    "[{'session': "
	    "'s', 'name': 'w', 'role': 'worker', 'services': ['tools'], 'load': 1}], "
	    "'services': [{'name': 'tools'}], 'calls': {'held': 1}, 'bodies': {}, "
	    "'counters': {'accepted': 7}}" },
	{ "{'broker': {'name': 'b', 'lag_ms': -1}, 'sessions': [{'session': 's', 'name': "
	  "7, "
	  "'role': 'worker'}, {'session': 's', 'name': 'w'}, 'x', {'session': 's', "
	  "'name': "
	  "'w', 'role': 'worker', 'services': 'tools'}], 'services': {'name': 'x'}, "
	  "'calls': "
	  "[], 'counters': {'accepted': 1.5, 'ended': 9223372036854775807}}",
	    "{'broker': {'name': 'b'}, 'sessions': [], 'services': [], 'calls': {}, "
	    "'bodies': "
	    "{}, 'counters': {'ended': 9007199254740992}}" },
	{ "{'broker': {'name': 'b'}, 'sessions': [{'session': 's', 'name': 'w', 'role': "
	  "'worker', 'services': [1], 'load': {}}]}",
	    "{'broker': {'name': 'b'}, 'sessions': [{'session': 's', 'name': 'w', "
	    "'role': "
	    "'worker'}], 'services': [], 'calls': {}, 'bodies': {}, 'counters': {}}" },
	/* Spreads that fit their bounds. */
	{ "{'broker': {'name': 'b'}, 'times': {'bounds_ms': [5, 9], 'waited': {'a': "
	  "{'counts': [1, 0, 2], 'sum_ms': 7}, 'b': {'counts': [1, 2], 'sum_ms': 7}, "
	  "'c': {'counts': [1, -1, 2], 'sum_ms': 7}, 'd': {'counts': [1, 0, 2]}}, "
	  "'ran': 3}}",
	    "{'broker': {'name': 'b'}, 'sessions': [], 'services': [], 'calls': {}, "
	    "'bodies': {}, 'counters': {}, 'times': {'bounds_ms': [5, 9], 'waited': "
	    "{'a': {'counts': [1, 0, 2], 'sum_ms': 7}}, 'ran': {}}}" },
	{ "{'broker': {'name': 'b'}, 'times': {'bounds_ms': [9, 5], 'waited': {}}}",
	    "{'broker': {'name': 'b'}, 'sessions': [], 'services': [], 'calls': {}, "
	    "'bodies': {}, 'counters': {}}" },
	{ "{'broker': {'name': 3}}", NULL },
	{ "{}", NULL },
	{ "['x']", NULL },
};

START_TEST(what_is_not_as_agreed_is_left_out)
{
	const struct value *tidy = stats_tidy(arena, literal(arena, said[_i].tables));

	if (said[_i].tidy == NULL)
		ck_assert_ptr_null(tidy);
	else
		ck_assert_value(arena, tidy, said[_i].tidy);
}
END_TEST

/* --- the screen ----------------------------------------------------------------------- */

static const char tables_text[] =
    "{'broker': {'name': 'broker', 'uptime_ms': 61000, 'lag_ms': 1, 'restarts': 0}, "
    "'sessions': ["
    "{'role': 'coordinator', 'name': 'c-1', 'asked': 4, 'lag_ms': 2, 'uptime_ms': 9000, "
    "'restarts': 0, 'silent_ms': 12, 'trouble': 'Redis is away'}, "
    "{'role': 'worker', 'name': 'w-2', 'load': 1, 'room': 0, 'capacity': 8, 'lag_ms': "
    "1500, "
    "'uptime_ms': 9000, 'restarts': 2, 'silent_ms': 30, 'oldest_ms': 65000, 'probe': "
    "'stuck', "
    "'probed_ms': 12000, 'services': ['tool:a', 'tool:b', 'tools']}, "
    "{'role': 'worker', 'name': 'w-1', 'load': 8, 'room': 0, 'capacity': 8, 'lag_ms': 3, "
    "'uptime_ms': 9000, 'restarts': 0, 'silent_ms': 30, 'oldest_ms': 250, 'probe': 'ok', "
    "'services': ['tool:a']}, "
    "{'role': 'client', 'name': 'flotilla', 'silent_ms': 0}], "
    "'services': [{'name': 'tool:a', 'workers': 2, 'queued': 0, 'running': 0}, "
    "{'name': 'tool:gone', 'workers': 0, 'queued': 3, 'running': 0, 'oldest_ms': 5200}, "
    "{'name': 'tool:b', 'workers': 1, 'queued': 0, 'running': 0}], "
    "'calls': {'queued': 3, 'held': 0, 'assigned': 9, 'kept': 1}, "
    "'counters': {'accepted': 30}}";

static void
show(const struct value *counts, const char *redis_trouble, size_t width, size_t rows)
{
	const struct value *tables = literal(arena, tables_text);
	const struct top_broker brokers[] = { { "tcp://one", tables },
		{ "tcp://two", NULL } };
	const struct top_look now = { .arena = arena,
		.tables = tables,
		.brokers = brokers,
		.broker_count = 2,
		.counts = counts,
		.redis_trouble = redis_trouble,
		.at_ms = 3000 };
	/* The one that is away now has counted a lot. */
	const struct top_broker brokers_before[] = {
		{ "tcp://one", literal(arena, "{'counters': {'accepted': 10}}") },
		{ "tcp://two", literal(arena, "{'counters': {'accepted': 9000}}") }
	};
	const struct top_look before = { .arena = arena,
		.tables = literal(arena, "{'counters': {'accepted': 9010}}"),
		.brokers = brokers_before,
		.broker_count = 2,
		.at_ms = 1000 };
	size_t size;
	FILE *out = open_memstream(&screen, &size);

	top_screen_print(out, &now, &before, width, rows);
	fclose(out);
}

static void
expect(const char *line)
{
	ck_assert_msg(strstr(screen, line) != NULL, "no '%s' in:\n%s", line, screen);
}

START_TEST(it_says_what_is_wrong_first)
{
	show(literal(arena, "{'runs': 12, 'live_threads': 3, 'inbox': 0, 'dead': 1,"
			    " 'asks': 2, 'asks_oldest_ms': 7200000, 'webhooks': 4, "
			    "'crons': 2, 'crons_late_ms': 300000}"),
	    NULL, 120, 50);
	expect("1 of 2 brokers up   redis up\n");
	expect("runs      12 in all, 3 threads live, 0 in the inbox, 1 dead\n");
	expect("waiting   2 threads for a human (oldest 2 h), 4 webhooks to be told, 2 "
	       "crons (one is due since 5 m)\n");
	expect("calls     3 queued (oldest 5.2 s), 9 running, 1 kept until stored\n");
	expect("a second  10.0 calls, ");
	expect("! no broker answers at tcp://two\n");
	expect("! c-1: Redis is away\n");
	expect(
	    "! w-2 is stuck: its calls have not moved for 12.0 s, it gets no new ones\n");
	expect("! nobody serves tool:gone: 3 calls wait, the oldest for 5.2 s\n");
	ck_assert_ptr_null(strstr(screen, "flotilla      ")); /* who looks is no row */
}
END_TEST

START_TEST(rows_are_in_an_order_that_stays)
{
	show(value_empty_map(), NULL, 120, 50);
	expect("PROCESS              STATE    CALLS  FREE  SLOTS  OLDEST    LAG     UP "
	       "AGAIN "
	       " HEARD SERVES\n"
	       "broker               ok           -     -      -       -   1 ms    1 m   "
	       "  0 "
	       "     -");
	expect("w-1                  full         8     0      8  250 ms   3 ms  9.0 s   "
	       "  0 "
	       " 30 ms tool:a\n"
	       "w-2                  stuck        1     0      8     1 m  1.5 s  9.0 s   "
	       "  2 "
	       " 30 ms tool:a b tools\n"
	       "c-1                  trouble      4     -      -       -   2 ms  9.0 s   "
	       "  0 "
	       " 12 ms");
	/* Services with work come first. */
	ck_assert(
	    strstr(screen, "tool:gone         ") < strstr(screen, "tool:b        "));
}
END_TEST

START_TEST(redis_s_trouble_leaves_the_rest)
{
	show(NULL, "no answer any more", 120, 50);
	expect("redis away\n");
	expect("! Redis: no answer any more\n");
	expect("w-1 ");
	ck_assert_ptr_null(strstr(screen, "runs "));
}
END_TEST

static size_t
columns_of(const char *line, size_t size)
{
	size_t count = 0, i;

	for (i = 0; i < size; i++)
		count += ((unsigned char)line[i] & 0xc0) != 0x80;
	return count;
}

START_TEST(no_line_is_wider_and_no_screen_higher_than_the_terminal)
{
	static const size_t widths[] = { 40, 50, 66, 80, 95, 130 };
	size_t rows = 6 + (size_t)_i * 2, lines = 0;
	const char *line, *end;

	show(value_empty_map(), NULL, widths[_i], rows);
	for (line = screen; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		ck_assert(end == line || end[-1] != ' ');
		ck_assert_uint_le(columns_of(line, (size_t)(end - line)), widths[_i]);
		lines++;
	}
	ck_assert_uint_lt(lines, rows); /* the cursor's line is the last */
}
END_TEST

TCase *
tcase_top(void)
{
	TCase *tcase = tcase_create("top");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, what_is_not_as_agreed_is_left_out, 0, sizeof said / sizeof said[0]);
	tcase_add_test(tcase, a_process_at_two_brokers_is_one_row);
	tcase_add_test(tcase, what_took_long_at_two_brokers_adds_up);
	tcase_add_test(tcase, it_says_what_is_wrong_first);
	tcase_add_test(tcase, rows_are_in_an_order_that_stays);
	tcase_add_test(tcase, redis_s_trouble_leaves_the_rest);
	tcase_add_loop_test(
	    tcase, no_line_is_wider_and_no_screen_higher_than_the_terminal, 0, 6);
	return tcase;
}
