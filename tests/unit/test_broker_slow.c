/* Slow connections: a message that takes long to cross them. */
#include <check.h>

#include "broker_bench.h"

TCase *tcase_broker_slow(void);

#define C 1        /* coordinator */
#define W 11       /* a worker, */
#define W_AGAIN 12 /* and on another connection */

static struct bench bench;
static struct silent list[SESSIONS_MAX];

static void
setup(void)
{
	bench_start(&bench);
	bench_coordinator(&bench, C);
}

static void
teardown(void)
{
	bench_end(&bench);
}

/* What else it says stands behind that message. */
START_TEST(bytes_of_a_message_under_way_count_as_life)
{
	int i;

	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_silence(&bench, W);
	for (i = 0; i < 5; i++) {
		bench_pass(&bench, LIVENESS_MS - 100);
		bench_arrives(&bench, W);
	}
	bench_expect_calls(&bench, CALL_ASSIGNED, 1);
	bench_pass(&bench, LIVENESS_MS - 100);
	ck_assert_uint_eq(core_count(bench.core, COUNTER_sessions_lost), 0);
	bench_pass(&bench, 200);
	ck_assert_uint_eq(core_count(bench.core, COUNTER_sessions_lost), 1);
	bench_expect_calls(&bench, CALL_QUEUED, 1);
	bench_arrives(&bench, W); /* too late: it hears that behind the message */
	ck_assert_uint_eq(bench.actions.count, 0);
}
END_TEST

START_TEST(who_is_silent_for_two_heartbeats_is_looked_at)
{
	uint64_t said_ms = bench.now_ms;

	bench_worker(&bench, W, "tool:a", 1);
	bench_silence(&bench, W);
	bench_pass(&bench, 2 * HEARTBEAT_MS - 100);
	ck_assert_uint_eq(core_silent(bench.core, bench.now_ms, list), 0);
	bench_pass(&bench, 100);
	ck_assert_uint_eq(core_silent(bench.core, bench.now_ms, list), 1);
	ck_assert_uint_eq(list[0].peer, W);
	ck_assert_uint_eq(list[0].heard_ms, said_ms);
	bench_arrives(&bench, W);
	ck_assert_uint_eq(core_silent(bench.core, bench.now_ms, list), 0);
}
END_TEST

static uint64_t
silent_cookie(void)
{
	bench_pass(&bench, UINT64_C(2) * HEARTBEAT_MS);
	ck_assert_uint_eq(core_silent(bench.core, bench.now_ms, list), 1);
	return list[0].inflow->cookie;
}

START_TEST(a_session_is_heard_by_its_last_connection)
{
	bench.inflow.cookie = 7;
	bench_worker(&bench, W, "tool:a", 1);
	bench_silence(&bench, W);
	ck_assert_uint_eq(silent_cookie(), 7);
	bench.inflow.cookie = 8;
	bench_worker_as(&bench, W_AGAIN, W, "tool:a", 1);
	bench_silence(&bench, W_AGAIN);
	ck_assert_uint_eq(silent_cookie(), 8);
}
END_TEST

#define LARGE_MS 10000u /* that a large body takes to cross */
#define LARGE_BYTES (UINT64_C(1) * LARGE_MS / 1000 * CROSSING_BYTES_S)

START_TEST(a_large_call_is_given_the_time_to_cross)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench.body_bytes = LARGE_BYTES;
	bench_call(&bench, C, "c1", "tool:a");
	bench_expect(&bench, W, MSG_CALL, "c1");
	bench_pass(&bench, LARGE_MS + RESEND_MS - 100);
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_CALL, "c1"));
	bench_pass(&bench, 200);
	bench_expect(&bench, W, MSG_CALL, "c1");
}
END_TEST

START_TEST(a_large_result_is_given_the_time_to_cross)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench.body_bytes = LARGE_BYTES;
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect(&bench, C, MSG_RESULT, "c1");
	bench_pass(&bench, LARGE_MS + RESEND_MS - 100);
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_RESULT, "c1"));
	bench_pass(&bench, 200);
	bench_expect(&bench, C, MSG_RESULT, "c1");
	bench_pass(&bench, 2 * (LARGE_MS + RESEND_MS) - 200);
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_RESULT, "c1"));
}
END_TEST

TCase *
tcase_broker_slow(void)
{
	TCase *tcase = tcase_create("broker_slow");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, bytes_of_a_message_under_way_count_as_life);
	tcase_add_test(tcase, who_is_silent_for_two_heartbeats_is_looked_at);
	tcase_add_test(tcase, a_session_is_heard_by_its_last_connection);
	tcase_add_test(tcase, a_large_call_is_given_the_time_to_cross);
	tcase_add_test(tcase, a_large_result_is_given_the_time_to_cross);
	return tcase;
}
