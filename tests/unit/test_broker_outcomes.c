/* The broker's rules on how calls end and who hears of it, one test a rule. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "broker_bench.h"

#define C 1 /* coordinators */
#define C2 2
#define W 11 /* workers */
#define W2 12

TCase *tcase_broker_outcomes(void);

static struct bench bench;

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

static void
send_owned(uint64_t peer, const char *id, uint64_t epoch)
{
	bench_send(&bench, peer,
	    (struct header){ .type = MSG_CALL,
		.flags = WIRE_RESEND,
		.call_id = id,
		.service = "tool:a",
		.epoch = epoch,
		.deadline_ms = 60000 });
}

/* --- sent again ----------------------------------------------------------------------- */

START_TEST(a_call_is_sent_to_its_worker_until_it_is_acknowledged)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_pass(&bench, 2 * RESEND_MS + 200);
	ck_assert_uint_eq(bench_sent_count(&bench, W, MSG_CALL, "c1"), 2);
	bench_about(&bench, W, MSG_CALL_ACK, "c1");
	bench_pass(&bench, 2 * RESEND_MS + 200);
	ck_assert_uint_eq(bench_sent_count(&bench, W, MSG_CALL, "c1"), 0);
}
END_TEST

/* To who waits for an outcome it says nothing: from us it answers a CANCEL. */
START_TEST(that_a_call_is_unknown_is_no_outcome_of_a_workers)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_send(&bench, W,
	    (struct header){
		.type = MSG_RESULT, .call_id = "c1", .code = CODE_UNKNOWN_CALL });
	bench_expect_outcome(&bench, C, "c1", CODE_MALFORMED);
	ck_assert_ptr_nonnull(strstr(
	    bench_expect(&bench, C, MSG_RESULT, "c1")->header.reason, "UNKNOWN_CALL"));
}
END_TEST

START_TEST(a_result_is_sent_until_it_is_acknowledged)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_pass(&bench, 3 * RESEND_MS + 200);
	ck_assert_uint_eq(bench_sent_count(&bench, C, MSG_RESULT, "c1"), 2);
	bench_about(&bench, C, MSG_RESULT_ACK, "c1");
	bench_pass(&bench, UINT64_C(5) * RESEND_MS);
	ck_assert_uint_eq(bench_sent_count(&bench, C, MSG_RESULT, "c1"), 0);
}
END_TEST

/* As long as Redis is away no outcome can be stored, and the broker may hold a gigabyte of them. */
START_TEST(what_is_not_acknowledged_is_sent_ever_less_often)
{
	size_t count = 0;
	unsigned i;

	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_pass(&bench, UINT64_C(30) * RESEND_MS);
	ck_assert_uint_eq(bench_sent_count(&bench, C, MSG_RESULT, "c1"), 4);
	for (i = 0; i < 10; i++) {
		bench_pass(&bench, RESULT_RESEND_MS_MAX);
		count += bench_sent_count(&bench, C, MSG_RESULT, "c1");
	}
	ck_assert(count == 9 || count == 10);
	/* Who asks is told at once, and soon again. */
	send_owned(C, "c1", 0);
	bench_expect(&bench, C, MSG_RESULT, "c1");
	bench_pass(&bench, RESEND_MS + 200);
	bench_expect(&bench, C, MSG_RESULT, "c1");
}
END_TEST

START_TEST(a_call_sent_again_is_not_run_again)
{
	bench_worker(&bench, W, "tool:a", 2);
	bench_call(&bench, C, "c1", "tool:a");
	bench_flagged(&bench, C, "c1", WIRE_RESEND);
	bench_expect(&bench, C, MSG_CALL_ACK, "c1");
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_CALL, NULL));
	ck_assert_uint_eq(core_count(bench.core, COUNTER_repeated), 1);
}
END_TEST

START_TEST(a_late_copy_of_a_settled_call_is_dropped)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_about(&bench, C, MSG_RESULT_ACK, "c1");
	bench_call(&bench, C, "c1", "tool:a");
	ck_assert_ptr_null(bench_sent(&bench, 0, MSG_CALL, NULL));
	ck_assert_ptr_null(bench_sent(&bench, 0, MSG_CALL_ACK, NULL));
}
END_TEST

START_TEST(a_settled_call_that_is_meant_again_runs_again)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_about(&bench, C, MSG_RESULT_ACK, "c1");
	bench_flagged(&bench, C, "c1", WIRE_RESEND);
	bench_pass(&bench, SEEK_MS);
	bench_expect(&bench, W, MSG_CALL, "c1");
}
END_TEST

START_TEST(a_result_that_was_settled_is_acknowledged_again)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_about(&bench, C, MSG_RESULT_ACK, "c1");
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect(&bench, W, MSG_RESULT_ACK, "c1");
	ck_assert_uint_eq(core_count(bench.core, COUNTER_adopted), 0);
}
END_TEST

/* --- who asks ------------------------------------------------------------------------- */

START_TEST(the_next_owner_of_a_running_call_gets_its_result)
{
	bench_worker(&bench, W, "tool:a", 1);
	send_owned(C, "c1", 1);
	bench_coordinator(&bench, C2);
	send_owned(C2, "c1", 2);
	bench_expect(&bench, C2, MSG_CALL_ACK, "c1");
	/* Takes the former owner's CALL_ACK back, and says that the call may run. */
	ck_assert_uint_eq(
	    bench_expect(&bench, C, MSG_BUSY, "c1")->header.flags, WIRE_RESEND);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C2, "c1", CODE_OK);
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_RESULT, NULL));
	ck_assert_uint_eq(bench_sent(&bench, C2, MSG_RESULT, "c1")->header.epoch, 2);
	ck_assert_uint_eq(core_count(bench.core, COUNTER_joined), 1);
}
END_TEST

START_TEST(the_result_of_a_vanished_requester_is_kept_for_the_next)
{
	bench_worker(&bench, W, "tool:a", 1);
	send_owned(C, "c1", 1);
	bench_unreachable(&bench, C);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_calls(&bench, CALL_KEPT, 1);
	bench_pass(&bench, 30000);
	bench_coordinator(&bench, C2);
	send_owned(C2, "c1", 2);
	bench_expect_outcome(&bench, C2, "c1", CODE_OK);
	bench_about(&bench, C2, MSG_RESULT_ACK, "c1");
	bench_expect(&bench, W, MSG_RESULT_ACK, "c1");
}
END_TEST

START_TEST(a_result_whose_requester_vanishes_before_it_acknowledges_is_kept_too)
{
	bench_worker(&bench, W, "tool:a", 1);
	send_owned(C, "c1", 1);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_unreachable(&bench, C);
	bench_pass(&bench, 30000);
	bench_coordinator(&bench, C2);
	send_owned(C2, "c1", 2);
	bench_expect_outcome(&bench, C2, "c1", CODE_OK);
}
END_TEST

START_TEST(an_owner_of_the_past_cannot_draw_the_result_away)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_coordinator(&bench, C2);
	send_owned(C2, "c1", 7);
	send_owned(C, "c1", 6);
	/* No CALL_ACK: that is a promise of the outcome, and it is the owner's. */
	ck_assert_uint_eq(
	    bench_expect(&bench, C, MSG_BUSY, "c1")->header.flags, WIRE_RESEND);
	bench_send(&bench, C,
	    (struct header){ .type = MSG_CANCEL, .call_id = "c1", .epoch = 6 });
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_CANCEL, NULL));
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C2, "c1", CODE_OK);
	bench_send(&bench, C,
	    (struct header){ .type = MSG_RESULT_ACK, .call_id = "c1", .epoch = 6 });
	bench_expect_calls(&bench, CALL_KEPT, 1);
}
END_TEST

/* After a failover, with a clock that was set back, the owner may have the lower epoch. */
START_TEST(an_owner_of_the_past_is_shown_the_result_once_there_is_one)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_coordinator(&bench, C2);
	send_owned(C2, "c1", 7);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C2, "c1", CODE_OK);
	send_owned(C, "c1", 6);
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_BUSY, NULL));
	/* It stays whose it was: the broker sends it there again until it is acknowledged. */
	bench_send(&bench, C,
	    (struct header){ .type = MSG_RESULT_ACK, .call_id = "c1", .epoch = 6 });
	bench_expect_calls(&bench, CALL_KEPT, 1);
	bench_send(&bench, C2,
	    (struct header){ .type = MSG_RESULT_ACK, .call_id = "c1", .epoch = 7 });
	bench_expect_calls(&bench, CALL_KEPT, 0);
	bench_expect(&bench, W, MSG_RESULT_ACK, "c1");
}
END_TEST

START_TEST(a_result_nobody_asks_for_is_given_up_in_the_end)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_unreachable(&bench, C);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_leap(&bench, 500);
	bench_expect_calls(&bench, CALL_KEPT, 1);
	bench_leap(&bench, RESULT_KEEP_MS);
	bench_expect_calls(&bench, CALL_KEPT, 0);
	bench_expect(&bench, W, MSG_RESULT_ACK, "c1");
	ck_assert_uint_eq(core_count(bench.core, COUNTER_dropped), 1);
}
END_TEST

START_TEST(results_nobody_asks_for_are_bounded)
{
	struct core_options options = core_defaults;

	bench_end(&bench);
	options.session = "f";
	options.name = "b";
	options.kept_max = 2;
	bench_start_with(&bench, &options);
	bench_worker(&bench, W, "tool:a", 1);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_about(&bench, W, MSG_RESULT, "c2");
	bench_about(&bench, W, MSG_RESULT, "c3");
	bench_expect(&bench, W, MSG_RESULT_ACK, "c1"); /* the oldest */
	bench_expect_calls(&bench, CALL_KEPT, 2);
}
END_TEST

/* --- cancelling ----------------------------------------------------------------------- */

START_TEST(a_waiting_call_is_cancelled_by_the_broker)
{
	bench_call(&bench, C, "c1", "tool:a");
	bench_about(&bench, C, MSG_CANCEL, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_CANCELLED);
	bench_worker(&bench, W, "tool:a", 1);
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_CALL, NULL));
}
END_TEST

START_TEST(the_cancel_of_a_running_call_is_sent_until_its_result_comes)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_about(&bench, W, MSG_CALL_ACK, "c1");
	bench_about(&bench, C, MSG_CANCEL, "c1");
	bench_expect(&bench, W, MSG_CANCEL, "c1");
	bench_pass(&bench, 2 * RESEND_MS + 200);
	ck_assert_uint_eq(bench_sent_count(&bench, W, MSG_CANCEL, "c1"), 2);
	bench_send(&bench, W,
	    (struct header){
		.type = MSG_RESULT, .call_id = "c1", .code = CODE_CANCELLED });
	bench_expect_outcome(&bench, C, "c1", CODE_CANCELLED);
	bench_pass(&bench, RESEND_MS - 200);
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_CANCEL, NULL));
}
END_TEST

START_TEST(a_cancelled_call_is_not_run_elsewhere_when_its_worker_is_lost)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_worker(&bench, W2, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_about(&bench, C, MSG_CANCEL, "c1");
	bench_unreachable(&bench, W);
	bench_expect_outcome(&bench, C, "c1", CODE_CANCELLED);
	ck_assert_ptr_null(bench_sent(&bench, W2, MSG_CALL, NULL));
}
END_TEST

START_TEST(the_cancel_of_an_unknown_call_is_answered)
{
	bench_about(&bench, C, MSG_CANCEL, "never");
	bench_expect_outcome(&bench, C, "never", CODE_UNKNOWN_CALL);
}
END_TEST

/* A coordinator that slept asks for what the next owner of its run has settled. */
START_TEST(what_a_later_owner_has_settled_does_not_run_again)
{
	bench_coordinator(&bench, C2);
	bench_worker(&bench, W, "tool:a", 2);
	send_owned(C2, "c1", 6);
	bench_pass(&bench, SEEK_MS + 1);
	bench_expect(&bench, W, MSG_CALL, "c1");
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_about(&bench, C2, MSG_RESULT_ACK, "c1");
	send_owned(C, "c1", 5);
	bench_expect(&bench, C, MSG_BUSY, "c1");
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_CALL, "c1"));
	bench_pass(&bench, SEEK_MS + 1);
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_CALL, "c1"));
	/* Its own, meant again, runs again. */
	send_owned(C2, "c1", 6);
	bench_pass(&bench, SEEK_MS + 1);
	bench_expect(&bench, W, MSG_CALL, "c1");
}
END_TEST

/* A held call is wanted no more, and a worker that comes late has it: it is told to stop. */
START_TEST(a_held_call_is_not_cancelled_before_its_worker_could_come)
{
	send_owned(C, "c1", 5);
	bench_expect_calls(&bench, CALL_HELD, 1);
	bench_send(&bench, C,
	    (struct header){ .type = MSG_CANCEL, .call_id = "c1", .epoch = 5 });
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_RESULT, "c1"));
	bench_worker(&bench, W, "tool:a", 1);
	bench_announce(&bench, W, "c1", CALL_RUNNING);
	bench_expect(&bench, W, MSG_CANCEL, "c1");
	send_owned(C, "c2", 5);
	bench_send(&bench, C,
	    (struct header){ .type = MSG_CANCEL, .call_id = "c2", .epoch = 5 });
	bench_pass(&bench, SEEK_MS + 1);
	bench_expect_outcome(&bench, C, "c2", CODE_CANCELLED);
}
END_TEST

/* A worker that lives may not have come yet with the call. */
START_TEST(a_new_broker_does_not_say_that_a_call_is_unknown)
{
	struct core_options options = core_defaults;

	teardown();
	options.session = "0123456789abcdef0123456789abcdef";
	options.name = "broker-1";
	bench_start_with(&bench, &options);
	bench_coordinator(&bench, C);
	bench_pass(&bench, options.recovery_ms + options.liveness_ms - 1);
	bench_about(&bench, C, MSG_CANCEL, "c1");
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_RESULT, "c1"));
	bench_pass(&bench, 1);
	bench_about(&bench, C, MSG_CANCEL, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_UNKNOWN_CALL);
}
END_TEST

TCase *
tcase_broker_outcomes(void)
{
	TCase *tcase = tcase_create("broker_outcomes");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, what_a_later_owner_has_settled_does_not_run_again);
	tcase_add_test(tcase, a_held_call_is_not_cancelled_before_its_worker_could_come);
	tcase_add_test(tcase, a_new_broker_does_not_say_that_a_call_is_unknown);
	tcase_add_test(tcase, a_call_is_sent_to_its_worker_until_it_is_acknowledged);
	tcase_add_test(tcase, that_a_call_is_unknown_is_no_outcome_of_a_workers);
	tcase_add_test(tcase, a_result_is_sent_until_it_is_acknowledged);
	tcase_add_test(tcase, what_is_not_acknowledged_is_sent_ever_less_often);
	tcase_add_test(tcase, a_call_sent_again_is_not_run_again);
	tcase_add_test(tcase, a_late_copy_of_a_settled_call_is_dropped);
	tcase_add_test(tcase, a_settled_call_that_is_meant_again_runs_again);
	tcase_add_test(tcase, a_result_that_was_settled_is_acknowledged_again);
	tcase_add_test(tcase, the_next_owner_of_a_running_call_gets_its_result);
	tcase_add_test(tcase, the_result_of_a_vanished_requester_is_kept_for_the_next);
	tcase_add_test(
	    tcase, a_result_whose_requester_vanishes_before_it_acknowledges_is_kept_too);
	tcase_add_test(tcase, an_owner_of_the_past_cannot_draw_the_result_away);
	tcase_add_test(tcase, an_owner_of_the_past_is_shown_the_result_once_there_is_one);
	tcase_add_test(tcase, a_result_nobody_asks_for_is_given_up_in_the_end);
	tcase_add_test(tcase, results_nobody_asks_for_are_bounded);
	tcase_add_test(tcase, a_waiting_call_is_cancelled_by_the_broker);
	tcase_add_test(
	    tcase, the_cancel_of_a_running_call_is_sent_until_its_result_comes);
	tcase_add_test(
	    tcase, a_cancelled_call_is_not_run_elsewhere_when_its_worker_is_lost);
	tcase_add_test(tcase, the_cancel_of_an_unknown_call_is_answered);
	return tcase;
}
