/* What `flotilla metrics` makes of one look at the fleet: rows, and the text of them. */
#include <check.h>
#include <string.h>

#include "bounds.h"
#include "has.h"
#include "literal.h"

/* Interfaces under test */
#include "../../cli/monitor/metrics_rows.h"
#include "../../cli/monitor/metrics_text.h"

TCase *tcase_metrics(void);

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

/* --- the text -------------------------------------------------------------------------- */

static const char *
text_of(enum metrics_source source, const char *rows)
{
	struct metrics_rows all = { 0 };

	all.of[source] = literal(arena, rows);
	return metrics_text(arena, &all);
}

START_TEST(each_metric_has_help_and_type_once)
{
	ck_assert_str_eq(
	    text_of(METRICS_STATES,
		"[{'labels': {'kind': 'store', 'state': 'ok'}, 'numbers': {'processes': "
		"3}}, {'labels': {'kind': 'store', 'state': 'full'}, 'numbers': "
		"{'processes': 0}}]"),
	    "# HELP flotilla_processes processes that the brokers know, by their state\n"
	    "# TYPE flotilla_processes gauge\n"
	    "flotilla_processes{kind=\"store\",state=\"ok\"} 3\n"
	    "flotilla_processes{kind=\"store\",state=\"full\"} 0\n");
}
END_TEST

START_TEST(counters_are_called_so)
{
	const char *text = text_of(METRICS_ENDED,
	    "[{'labels': {'status': 'error'}, 'numbers': {'runs': 9007199254740993}}]");

	ck_assert_has(text, "# TYPE flotilla_runs_ended_total counter\n");
	ck_assert_has(
	    text, "\nflotilla_runs_ended_total{status=\"error\"} 9007199254740993\n");
}
END_TEST

START_TEST(what_would_end_a_label_is_escaped)
{
	const char *text = text_of(METRICS_PROCESSES,
	    "[{'labels': {'kind': 'worker', 'process': 'a\\\"b\\\\c\\nd{}é,'}, "
	    "'numbers': {'calls': 1}}]");

	ck_assert_has(text, "\nflotilla_process_calls{kind=\"worker\",process=\"a\\\"b"
			    "\\\\c\\nd{}é,\"} 1\n");
}
END_TEST

START_TEST(times_are_seconds)
{
	const char *text = text_of(METRICS_BROKERS,
	    "[{'labels': {'broker': 'b'}, 'numbers': {'up': true, 'leaving': false, "
	    "'uptime_ms': 61007, 'lag_ms': 0}}]");

	ck_assert_has(text, "\nflotilla_broker_up{broker=\"b\"} 1\n");
	ck_assert_has(text, "\nflotilla_broker_leaving{broker=\"b\"} 0\n");
	ck_assert_has(text, "\nflotilla_broker_uptime_seconds{broker=\"b\"} 61.007\n");
	ck_assert_has(text, "\nflotilla_broker_loop_lag_seconds{broker=\"b\"} 0.000\n");
}
END_TEST

START_TEST(without_labels_there_are_no_braces)
{
	const char *text =
	    text_of(METRICS_REDIS, "[{'labels': {}, 'numbers': {'share': 0.25}}]");

	ck_assert_has(text, "\nflotilla_redis_memory_used_ratio 0.2500\n");
}
END_TEST

/* A row without the number, with something else, no row, no rows at all. */
START_TEST(what_is_missing_is_left_out)
{
	const char *text = text_of(METRICS_BROKERS,
	    "[{'labels': {'broker': 'a'}, 'numbers': {'accepted': 'many'}}, {'labels': "
	    "{'broker': 'b'}, 'numbers': {'accepted': 2}}]");

	ck_assert_str_eq(text,
	    "# HELP flotilla_calls_accepted_total calls taken from a requester\n"
	    "# TYPE flotilla_calls_accepted_total counter\n"
	    "flotilla_calls_accepted_total{broker=\"b\"} 2\n");
	ck_assert_str_eq(text_of(METRICS_BROKERS, "[]"), "");
}
END_TEST

/* Buckets add up, as Prometheus has them. */
START_TEST(a_histogram_has_buckets_sum_and_count)
{
	ck_assert_str_eq(
	    text_of(METRICS_TIMES,
		"[{'labels': {'broker': 'b', 'kind': 'tool'}, 'numbers': {'ran': "
		"{'bounds_ms': [5, 250, 60000], 'counts': [3, 0, 2, 1], 'sum_ms': "
		"123456}}}]"),
	    "# HELP flotilla_call_run_seconds how long it took from there until the "
	    "worker's answer came; a call that was given to another worker then counts "
	    "from there\n"
	    "# TYPE flotilla_call_run_seconds histogram\n"
	    "flotilla_call_run_seconds_bucket{broker=\"b\",kind=\"tool\",le=\"0.005\"} "
	    "3\n"
	    "flotilla_call_run_seconds_bucket{broker=\"b\",kind=\"tool\",le=\"0.25\"} "
	    "3\n"
	    "flotilla_call_run_seconds_bucket{broker=\"b\",kind=\"tool\",le=\"60\"} "
	    "5\n"
	    "flotilla_call_run_seconds_bucket{broker=\"b\",kind=\"tool\",le=\"+Inf\"} "
	    "6\n"
	    "flotilla_call_run_seconds_sum{broker=\"b\",kind=\"tool\"} 123.456\n"
	    "flotilla_call_run_seconds_count{broker=\"b\",kind=\"tool\"} 6\n");
}
END_TEST

/* --- a look ------------------------------------------------------------------------------ */

static const char *
text_of_look(const struct value *tables, const struct value *counts,
    const struct top_broker *brokers, size_t broker_count)
{
	const struct top_look seen = { .arena = arena,
		.tables = tables,
		.brokers = brokers,
		.broker_count = broker_count,
		.counts = counts,
		.redis_trouble = "away" };
	struct metrics_rows rows;

	metrics_rows_of(&seen, 12, &rows);
	return metrics_text(arena, &rows);
}

START_TEST(a_fleet_that_is_away_says_just_that)
{
	const struct top_broker brokers[] = { { "tcp://a:1", NULL },
		{ "tcp://b:1", NULL } };
	const char *text = text_of_look(NULL, NULL, brokers, 2);
	const char *at = text;
	unsigned samples = 0;

	ck_assert_has(text, "\nflotilla_up 0\n");
	ck_assert_has(text, "\nflotilla_look_duration_seconds 0.012\n");
	ck_assert_has(text, "\nflotilla_redis_up 0\n");
	ck_assert_has(text, "\nflotilla_broker_up{broker=\"tcp://a:1\"} 0\n");
	ck_assert_has(text, "\nflotilla_broker_up{broker=\"tcp://b:1\"} 0\n");
	while ((at = strstr(at, "\nflotilla_")) != NULL) {
		at++;
		samples++;
	}
	ck_assert_uint_eq(samples, 6); /* and build_info */
}
END_TEST

static const char tables_text[] =
    "{'broker': {'name': 'b', 'uptime_ms': 5000, 'restarts': 2, 'recovering': false}, "
    "'sessions': ["
    "{'role': 'coordinator', 'name': 'c', 'asked': 4, 'trouble': 'Redis is away'}, "
    "{'role': 'worker', 'name': 'm', 'load': 3, 'room': 5, 'capacity': 8, 'restarts': 1, "
    "'lag_ms': 20, 'oldest_ms': 65000, 'services': ['model:openai']}, "
    "{'role': 'worker', 'name': 't', 'load': 1, 'room': 0, 'capacity': 1, 'lag_ms': 7, "
    "'services': ['tool:a', 'tools']}, "
    "{'role': 'worker', 'name': 't', 'load': 2, 'room': 3, 'capacity': 5, 'lag_ms': 9, "
    "'probe': 'stuck', 'services': ['tool:a']}, "
    "{'role': 'worker', 'name': 'c-store', 'capacity': 256, 'room': 256, 'services': "
    "['store']}, "
    "{'role': 'worker', 'name': 'odd', 'services': ['webhooker:x', 'else']}, "
    "{'role': 'client', 'name': 'flotilla'}], "
    "'services': ["
    "{'name': 'tool:b', 'workers': 0, 'queued': 2, 'running': 0, 'oldest_ms': 900}, "
    "{'name': 'tool:a', 'workers': 2, 'queued': 1, 'running': 3, 'oldest_ms': 1500}, "
    "{'name': 'model:openai', 'workers': 1, 'queued': 0, 'running': 3}, "
    "{'name': 'worker:0011', 'workers': 1, 'queued': 1, 'running': 0, 'oldest_ms': 5}, "
    "{'name': 'worker:2233', 'workers': 1, 'queued': 2, 'running': 1}, "
    "{'name': 'else', 'workers': 1, 'queued': 0, 'running': 0}], "
    "'calls': {'held': 0, 'queued': 6, 'assigned': 7, 'kept': 1}, "
    "'bodies': {'bytes': 10, 'bytes_max': 100}, "
    "'counters': {'accepted': 70, 'requeued': 2, 'stuck': 1}, "
    "'times': {'bounds_ms': [5, 100], 'waited': {'model': {'counts': [1, 2, 3], "
    "'sum_ms': 900}}, 'ran': {'model': {'counts': [0, 1, 5], 'sum_ms': 7000}}}}";

static const char *
text_of_fleet(void)
{
	const struct value *tables = literal(arena, tables_text);
	const struct top_broker brokers[] = { { "tcp://a:1", tables },
		{ "tcp://b:1", NULL }, { "tcp://a:1", tables } };

	return text_of_look(tables,
	    literal(arena,
		"{'inbox': 3, 'inbox_oldest_ms': 2500, 'live_threads': 9, "
		"'waiting_threads': 2, 'runs': 40, 'delayed': 1, 'dead': 2, 'asks': 5, "
		"'asks_oldest_ms': 7000, 'webhooks': 0, 'crons': 6, "
		"'leases': 8, 'ended': "
		"{'success': "
		"30, 'error': 1}, 'bytes': 50, 'bytes_max': 200, 'full': 25, 'logged': "
		"true, 'log_broken': false, 'times': {'bounds_ms': [5, 100], 'ended': "
		"{'success': {'counts': [2, 3, 4], 'sum_ms': 5000}}}}"),
	    brokers, 3);
}

static const char *const expected[] = {
	"flotilla_up 1",
	"flotilla_processes{kind=\"broker\",state=\"ok\"} 2",
	"flotilla_processes{kind=\"coordinator\",state=\"trouble\"} 1",
	"flotilla_processes{kind=\"coordinator\",state=\"ok\"} 0",
	"flotilla_processes{kind=\"worker-model\",state=\"ok\"} 1",
	"flotilla_processes{kind=\"worker-tools\",state=\"full\"} 1",
	"flotilla_processes{kind=\"worker-tools\",state=\"stuck\"} 1",
	"flotilla_processes{kind=\"store\",state=\"ok\"} 1",
	"flotilla_slots{kind=\"worker-tools\"} 6",
	"flotilla_slots_used{kind=\"worker-tools\"} 3",
	"flotilla_slots_free{kind=\"worker-model\"} 5",
	"flotilla_process_calls{kind=\"coordinator\",process=\"c\"} 4",
	"flotilla_process_in_trouble{kind=\"coordinator\",process=\"c\"} 1",
	("flotilla_process_oldest_call_seconds{kind=\"worker-model\",process=\"m\"} "
	 "65.000"),
	"flotilla_process_restarts_total{kind=\"worker-model\",process=\"m\"} 1",
	/* Two of one name are one row. */
	"flotilla_process_calls{kind=\"worker-tools\",process=\"t\"} 3",
	"flotilla_process_slots{kind=\"worker-tools\",process=\"t\"} 6",
	"flotilla_process_loop_lag_seconds{kind=\"worker-tools\",process=\"t\"} 0.009",
	"flotilla_process_stuck{kind=\"worker-tools\",process=\"t\"} 1",
	"flotilla_queued_calls{kind=\"tool\"} 3",
	"flotilla_running_calls{kind=\"tool\"} 3",
	"flotilla_queue_oldest_call_seconds{kind=\"tool\"} 1.500",
	"flotilla_queue_oldest_call_seconds{kind=\"model\"} 0.000",
	"flotilla_queued_calls{kind=\"worker\"} 3",
	"flotilla_queued_calls{kind=\"webhook\"} 0",
	"flotilla_service_queued_calls{kind=\"worker\",service=\"worker:*\"} 3",
	"flotilla_service_workers{kind=\"tool\",service=\"tool:b\"} 0",
	"flotilla_service_workers{kind=\"other\",service=\"else\"} 1",
	"flotilla_rows_left_out{table=\"service\"} 0",
	"flotilla_inbox_submissions 3",
	"flotilla_inbox_oldest_seconds 2.500",
	"flotilla_runs_ended_total{status=\"success\"} 30",
	"flotilla_run_seconds_bucket{status=\"success\",le=\"0.1\"} 5",
	"flotilla_run_seconds_sum{status=\"success\"} 5.000",
	"flotilla_threads{state=\"running\"} 7",
	"flotilla_threads{state=\"waiting\"} 2",
	"flotilla_threads{state=\"interrupted\"} 5",
	"flotilla_interrupted_oldest_seconds 7.000",
	"flotilla_dead_letters 2",
	"flotilla_crons 6",
	"flotilla_cron_late_seconds 0.000",
	"flotilla_leases 8",
	"flotilla_redis_memory_used_ratio 0.2500",
	"flotilla_redis_log_enabled 1",
	"flotilla_broker_up{broker=\"tcp://b:1\"} 0",
	"flotilla_broker_uptime_seconds{broker=\"tcp://a:1\"} 5.000",
	"flotilla_broker_restarts_total{broker=\"tcp://a:1\"} 2",
	"flotilla_broker_bodies_max_bytes{broker=\"tcp://a:1\"} 100",
	"flotilla_broker_calls{broker=\"tcp://a:1\",state=\"assigned\"} 7",
	"flotilla_calls_requeued_total{broker=\"tcp://a:1\"} 2",
	("flotilla_call_wait_seconds_bucket{broker=\"tcp://a:1\",kind=\"model\","
	 "le=\"0.1\"} 3"),
	"flotilla_call_wait_seconds_count{broker=\"tcp://a:1\",kind=\"model\"} 6",
	"flotilla_call_run_seconds_sum{broker=\"tcp://a:1\",kind=\"model\"} 7.000",
	"flotilla_workers_stuck_total{broker=\"tcp://a:1\"} 1",
};

START_TEST(a_look_is_told)
{
	ck_assert_has(text_of_fleet(), arena_printf(arena, "\n%s\n", expected[_i]));
}
END_TEST

/* Two lines of the same metric and labels, and Prometheus takes none of them. */
START_TEST(no_series_is_told_twice)
{
	const char *text = text_of_fleet(), *line, *end, *series;

	for (line = text; *line != '\0'; line = end + 1) {
		end = strchr(line, '\n');
		if (*line == '#')
			continue;
		series = arena_printf(arena, "\n%.*s",
		    (int)(strcspn(line, *strpbrk(line, "{ ") == '{' ? "}" : " ") + 1),
		    line);
		ck_assert_msg(strstr(end, series) == NULL, "twice: %s", series + 1);
	}
}
END_TEST

START_TEST(who_only_looks_is_no_process)
{
	ck_assert_ptr_null(strstr(text_of_fleet(), "process=\"flotilla\""));
}
END_TEST

/* --- many ------------------------------------------------------------------------------------ */

static const struct value *
many(const char *prefix, size_t count)
{
	struct value_list rows = { .arena = arena };
	size_t i;

	for (i = 0; i < count; i++)
		value_list_add(
		    &rows, value_map(arena, "role", value_str(arena, "worker"), "name",
			       value_printf(arena, "%s%04zu", prefix, i), "capacity",
			       value_int(arena, 2), "queued", value_int(arena, 1),
			       "services", literal(arena, "['tool:a']"), NULL));
	return value_list_end(&rows);
}

static unsigned
lines_of(const char *text, const char *begin)
{
	unsigned count = 0;

	for (; (text = strstr(text, begin)) != NULL; text++)
		count++;
	return count;
}

START_TEST(of_many_the_first_are_told_and_all_are_counted)
{
	const size_t count = METRICS_ROWS_MAX + 20;
	const struct value *tables =
	    value_map(arena, "broker", literal(arena, "{'name': 'b'}"), "sessions",
		many("w-", count), "services", many("tool:", count), NULL);
	const char *text = text_of_look(tables, NULL, NULL, 0);

	ck_assert_uint_eq(lines_of(text, "\nflotilla_process_slots{"), METRICS_ROWS_MAX);
	ck_assert_uint_eq(
	    lines_of(text, "\nflotilla_service_queued_calls{"), METRICS_ROWS_MAX);
	ck_assert_has(text, "\nflotilla_rows_left_out{table=\"process\"} 20\n");
	ck_assert_has(text, "\nflotilla_rows_left_out{table=\"service\"} 20\n");
	ck_assert_has(text, "\nflotilla_slots{kind=\"worker-tools\"} 1040\n");
	ck_assert_has(text, "\nflotilla_queued_calls{kind=\"tool\"} 520\n");
	ck_assert_has(text, "process=\"w-0000\"");
	ck_assert_ptr_null(strstr(text, "process=\"w-0519\""));
}
END_TEST

TCase *
tcase_metrics(void)
{
	TCase *tc = tcase_create("metrics");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, each_metric_has_help_and_type_once);
	tcase_add_test(tc, counters_are_called_so);
	tcase_add_test(tc, what_would_end_a_label_is_escaped);
	tcase_add_test(tc, times_are_seconds);
	tcase_add_test(tc, without_labels_there_are_no_braces);
	tcase_add_test(tc, what_is_missing_is_left_out);
	tcase_add_test(tc, a_histogram_has_buckets_sum_and_count);
	tcase_add_test(tc, a_fleet_that_is_away_says_just_that);
	tcase_add_loop_test(
	    tc, a_look_is_told, 0, (int)(sizeof expected / sizeof expected[0]));
	tcase_add_test(tc, no_series_is_told_twice);
	tcase_add_test(tc, who_only_looks_is_no_process);
	tcase_add_test(tc, of_many_the_first_are_told_and_all_are_counted);
	return tc;
}
