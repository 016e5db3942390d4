/* A worker that leaves, one test a rule. */
#include <check.h>
#include <stdio.h>

#include "outbox_bench.h"

TCase *tcase_outbox_drain(void);

static void
setup(void)
{
	ob_open(2);
}

static void
drain(uint64_t ms)
{
	ob_step((struct outbox_event){ .type = OUTBOX_DRAIN, .drain_ms = ms });
}

static bool
drained(void)
{
	return ob_find(OUTBOX_DRAINED, MSG_DRAIN, NULL) != NULL;
}

START_TEST(an_idle_worker_is_drained_at_once)
{
	drain(1000);
	ck_assert_ptr_nonnull(ob_sent(MSG_DRAIN, NULL));
	ck_assert(drained());
	ob_tick(100);
	ck_assert(!drained()); /* said once */
}
END_TEST

START_TEST(a_draining_worker_takes_no_calls_and_is_done_when_results_are_settled)
{
	struct header report = { .type = MSG_PING };

	ob_call("c1", 0);
	drain(10000);
	ck_assert(!drained());
	outbox_report(ob.outbox, &report);
	ck_assert_uint_eq(report.credit, 0);
	ob_call("c2", 0);
	ck_assert_ptr_nonnull(ob_sent(MSG_BUSY, "c2"));
	ob_end("c1", false);
	ck_assert(!drained());
	ob_about(MSG_RESULT_ACK, "c1");
	ck_assert(drained());
}
END_TEST

START_TEST(what_still_runs_when_the_drain_ends_is_stopped_and_given_back)
{
	ob_call("c1", 0);
	drain(60000);
	ob_tick(60000 - OUTBOX_FLUSH_MS - 100);
	ck_assert(!ob_stopped("c1"));
	ob_tick(100);
	ck_assert(ob_find(OUTBOX_STOP, MSG_CALL, "c1")->goes_on);
	ob_end("c1", true);
	ck_assert_ptr_nonnull(ob_sent(MSG_RELEASE, "c1"));
	ck_assert_ptr_null(ob_sent(MSG_RESULT, NULL));
	ck_assert(drained());
}
END_TEST

START_TEST(a_begun_call_that_must_not_run_twice_is_not_given_back)
{
	ob_call("c1", WIRE_ONCE);
	drain(1000);
	ob_tick(500);
	ck_assert(!ob_find(OUTBOX_STOP, MSG_CALL, "c1")->goes_on);
	ob_end("c1", true);
	ck_assert_ptr_null(ob_sent(MSG_RELEASE, NULL));
	ck_assert_uint_eq(ob_sent(MSG_RESULT, "c1")->header.code, CODE_WORKER_LOST);
	ob_about(MSG_RESULT_ACK, "c1");
	ck_assert(drained());
}
END_TEST

START_TEST(results_that_nobody_acknowledges_do_not_hold_the_drain_for_ever)
{
	ob_call("c1", 0);
	drain(60000);
	ob_end("c1", false);
	ob_tick(OUTBOX_FLUSH_MS - 100);
	ck_assert(!drained());
	ob_tick(200);
	ck_assert(drained());
}
END_TEST

START_TEST(a_drain_ends_in_its_time)
{
	ob_call("c1", 0);
	ob_call("c2", 0);
	drain(1000);
	ob_tick(500);
	ck_assert(ob_stopped("c1"));
	ob_end("c1", true);
	ob_end("c2", false);
	ck_assert(!drained());
	ob_tick(499);
	ck_assert(drained());
}
END_TEST

/* In front of the results: each frees a slot there. */
START_TEST(a_new_connection_hears_of_the_drain_too)
{
	const struct outbox_action *announce, *told, *result;

	ob_call("c1", 0);
	ob_call("c2", 0);
	drain(60000);
	ob_end("c1", false);
	ob_up(0);
	announce = ob_sent(MSG_ANNOUNCE, NULL);
	told = ob_sent(MSG_DRAIN, NULL);
	result = ob_sent(MSG_RESULT, "c1");
	ck_assert_ptr_nonnull(announce);
	ck_assert(told != NULL && told > announce);
	ck_assert(result != NULL && result > told);
}
END_TEST

TCase *
tcase_outbox_drain(void)
{
	TCase *tcase = tcase_create("outbox_drain");

	tcase_add_checked_fixture(tcase, setup, ob_close);
	tcase_add_test(tcase, an_idle_worker_is_drained_at_once);
	tcase_add_test(
	    tcase, a_draining_worker_takes_no_calls_and_is_done_when_results_are_settled);
	tcase_add_test(
	    tcase, what_still_runs_when_the_drain_ends_is_stopped_and_given_back);
	tcase_add_test(tcase, a_begun_call_that_must_not_run_twice_is_not_given_back);
	tcase_add_test(
	    tcase, results_that_nobody_acknowledges_do_not_hold_the_drain_for_ever);
	tcase_add_test(tcase, a_drain_ends_in_its_time);
	tcase_add_test(tcase, a_new_connection_hears_of_the_drain_too);
	return tcase;
}
