/* What a worker knows of its calls, one test a rule. */
#include <check.h>
#include <stdio.h>

#include "outbox_bench.h"

TCase *tcase_outbox(void);

static void
setup(void)
{
	ob_open(2);
}

START_TEST(a_call_is_acknowledged_and_started_and_its_result_sent)
{
	const struct outbox_action *result;

	ob_call("c1", 0);
	ck_assert_ptr_nonnull(ob_sent(MSG_CALL_ACK, "c1"));
	ck_assert(ob_started("c1"));
	ob_end("c1", false);
	result = ob_sent(MSG_RESULT, "c1");
	ck_assert_ptr_nonnull(result);
	ck_assert_uint_eq(result->header.code, CODE_OK);
	ck_assert_str_eq(result->header.run, "r1");
	ck_assert_uint_eq(result->header.step, 3);
	ck_assert_uint_eq(result->header.epoch, 7);
	ck_assert_int_eq(result->parcel->mark, 'p');
	ob_about(MSG_RESULT_ACK, "c1");
	ck_assert_int_eq(ob.parcels, 0);
	ck_assert_uint_eq(outbox_finished(ob.outbox), 0);
}
END_TEST

START_TEST(a_running_call_is_not_started_again)
{
	ob_call("c1", 0);
	ob_call("c1", WIRE_RESEND);
	ck_assert_ptr_nonnull(ob_sent(MSG_CALL_ACK, "c1"));
	ck_assert(!ob_started("c1"));
	ck_assert_uint_eq(outbox_running(ob.outbox), 1);
}
END_TEST

START_TEST(a_finished_call_is_answered_from_what_is_kept)
{
	ob_call("c1", 0);
	ob_end("c1", false);
	ob_message((struct header){
	    .type = MSG_CALL, .call_id = "c1", .attempt = 2, .epoch = 9 });
	ck_assert(!ob_started("c1"));
	ck_assert_ptr_nonnull(ob_sent(MSG_RESULT, "c1"));
	ck_assert_uint_eq(ob_sent(MSG_RESULT, "c1")->header.attempt, 2);
	ck_assert_uint_eq(ob_sent(MSG_RESULT, "c1")->header.epoch, 9);
}
END_TEST

START_TEST(a_call_that_must_not_run_twice_does_not_even_when_its_result_was_settled)
{
	ob_call("c1", WIRE_ONCE);
	ob_end("c1", false);
	ob_about(MSG_RESULT_ACK, "c1");
	ob_call("c1", WIRE_ONCE | WIRE_RESEND);
	ck_assert(!ob_started("c1"));
	ck_assert_uint_eq(ob_sent(MSG_RESULT, "c1")->header.code, CODE_WORKER_LOST);
}
END_TEST

START_TEST(a_settled_call_that_may_run_twice_runs_when_it_is_wanted_again)
{
	ob_call("c1", 0);
	ob_end("c1", false);
	ob_about(MSG_RESULT_ACK, "c1");
	ob_call("c1", WIRE_RESEND);
	ck_assert(ob_started("c1"));
}
END_TEST

START_TEST(over_capacity_the_answer_is_busy)
{
	struct header report = { .type = MSG_PING };

	ob_call("c1", 0);
	ob_call("c2", 0);
	ob_call("c3", 0);
	ck_assert_ptr_nonnull(ob_sent(MSG_BUSY, "c3"));
	ck_assert(!ob_started("c3"));
	outbox_report(ob.outbox, &report);
	ck_assert_uint_eq(report.load, 2);
	ck_assert_uint_eq(report.credit, 0);
	ob_end("c1", false);
	outbox_report(ob.outbox, &report);
	ck_assert_uint_eq(report.credit, 1); /* an unacknowledged result takes no slot */
}
END_TEST

START_TEST(a_call_that_could_not_be_started_is_given_back)
{
	ob_call("c1", 0);
	ob_step((struct outbox_event){ .type = OUTBOX_NOT_STARTED, .call_id = "c1" });
	ck_assert_ptr_nonnull(ob_sent(MSG_BUSY, "c1"));
	ob_call("c1", 0);
	ck_assert(ob_started("c1"));
}
END_TEST

START_TEST(a_large_result_is_given_the_time_to_cross)
{
	ob_call("c1", 0);
	ob.body_bytes = UINT64_C(10) * CROSSING_BYTES_S;
	ob_end("c1", false);
	ck_assert_ptr_nonnull(ob_sent(MSG_RESULT, "c1"));
	ob_tick(10000 + RESEND_MS - 1);
	ck_assert_ptr_null(ob_sent(MSG_RESULT, "c1"));
	ob_tick(1);
	ck_assert_ptr_nonnull(ob_sent(MSG_RESULT, "c1"));
}
END_TEST

/* Each CALL or CANCEL that comes meanwhile would have a copy stand in line behind it. */
START_TEST(who_asks_for_a_large_result_that_is_on_its_way_gets_no_copy)
{
	ob_call("c1", 0);
	ob.body_bytes = UINT64_C(10) * CROSSING_BYTES_S;
	ob_end("c1", false);
	ob_tick(9999);
	ob_call("c1", WIRE_RESEND);
	ck_assert_ptr_nonnull(ob_sent(MSG_CALL_ACK, "c1"));
	ck_assert_ptr_null(ob_sent(MSG_RESULT, "c1"));
	ob_about(MSG_CANCEL, "c1");
	ck_assert_ptr_null(ob_sent(MSG_RESULT, "c1"));
	ob_tick(1);
	ob_about(MSG_CANCEL, "c1");
	ck_assert_ptr_nonnull(ob_sent(MSG_RESULT, "c1"));
	ob_call("c1", WIRE_RESEND);
	ck_assert_ptr_nonnull(ob_sent(MSG_RESULT, "c1"));
}
END_TEST

START_TEST(a_result_is_sent_again_ever_less_often)
{
	int sends = 0;
	uint64_t i;

	ob_call("c1", 0);
	ob_end("c1", false);
	for (i = 0; i < 120000; i += 100) {
		ob_tick(100);
		sends += ob_sent(MSG_RESULT, "c1") != NULL;
	}
	ck_assert_int_ge(sends, 5); /* 1, 2, 4, 8, 16, 30, 30 s ... */
	ck_assert_int_le(sends, 9);
	ob_about(MSG_RESULT_ACK, "c1");
	ob_tick(60000);
	ck_assert_ptr_null(ob_sent(MSG_RESULT, NULL));
}
END_TEST

START_TEST(on_every_connection_all_is_announced_and_results_follow)
{
	const struct outbox_action *announce;

	ob_call("c1", 0);
	ob_call("c2", 0);
	ob_end("c2", false);
	ob_up(0);
	announce = ob_sent(MSG_ANNOUNCE, NULL);
	ck_assert_uint_eq(announce->header.call_count, 2);
	ck_assert_str_eq(announce->header.calls[0].call_id, "c1");
	ck_assert_int_eq(announce->header.calls[0].state, CALL_RUNNING);
	ck_assert_str_eq(announce->header.calls[1].call_id, "c2");
	ck_assert_int_eq(announce->header.calls[1].state, CALL_FINISHED);
	ck_assert(ob_sent(MSG_RESULT, "c2") > announce);
}
END_TEST

START_TEST(many_calls_are_announced_in_several_messages)
{
	char id[16];
	size_t i, told = 0;

	ob_close();
	ob_open(1000);
	for (i = 0; i < 200; i++) {
		snprintf(id, sizeof id, "c%zu", i);
		ob_call(id, 0);
	}
	ob_up(0);
	for (i = 0; i < ob.actions.count; i++) {
		ck_assert_uint_le(
		    ob.actions.items[i].header.call_count, ANNOUNCED_CALLS_MAX);
		told += ob.actions.items[i].header.call_count;
	}
	ck_assert_uint_eq(told, 200);
}
END_TEST

START_TEST(nothing_is_announced_when_there_is_nothing)
{
	ob_up(0);
	ck_assert_uint_eq(ob.actions.count, 0);
}
END_TEST

START_TEST(a_cancelled_call_is_stopped_once_and_ends_with_a_result)
{
	ob_call("c1", 0);
	ob_about(MSG_CANCEL, "c1");
	ck_assert(ob_stopped("c1"));
	ob_about(MSG_CANCEL, "c1");
	ck_assert(!ob_stopped("c1"));
	ob_end("c1", true);
	ck_assert_uint_eq(ob_sent(MSG_RESULT, "c1")->header.code, CODE_CANCELLED);
}
END_TEST

START_TEST(a_call_that_ended_well_before_it_noticed_the_cancel_is_a_good_one)
{
	ob_call("c1", 0);
	ob_about(MSG_CANCEL, "c1");
	ob_end("c1", false);
	ck_assert_uint_eq(ob_sent(MSG_RESULT, "c1")->header.code, CODE_OK);
}
END_TEST

START_TEST(the_cancel_of_what_is_not_here_is_answered)
{
	ob_about(MSG_CANCEL, "c1");
	ck_assert_uint_eq(ob_sent(MSG_RESULT, "c1")->header.code, CODE_CANCELLED);
	ck_assert_uint_eq(outbox_finished(ob.outbox), 0);
}
END_TEST

START_TEST(a_late_call_that_never_came_is_answered_as_expired)
{
	const struct header late = {
		.type = MSG_CANCEL, .call_id = "c1", .code = CODE_EXPIRED
	};

	ob_message(late);
	ck_assert_uint_eq(ob_sent(MSG_RESULT, "c1")->header.code, CODE_EXPIRED);
}
END_TEST

START_TEST(a_call_that_was_taken_away_is_given_back_not_cancelled)
{
	const struct header taken = {
		.type = MSG_CANCEL, .call_id = "c1", .code = CODE_WORKER_LOST
	};

	ob_call("c1", 0);
	ob_message(taken);
	ck_assert(ob_stopped("c1"));
	ob_end("c1", true);
	ck_assert_ptr_nonnull(ob_sent(MSG_RELEASE, "c1"));
	ck_assert_ptr_null(ob_sent(MSG_RESULT, NULL));
	ob_message(taken);
	ck_assert_uint_eq(ob.actions.count, 0);
	ob_call("c1", WIRE_ONCE);
	ob_message(taken);
	ob_end("c1", true);
	ck_assert_uint_eq(ob_sent(MSG_RESULT, "c1")->header.code, CODE_WORKER_LOST);
}
END_TEST

START_TEST(a_call_is_stopped_at_its_deadline)
{
	ob_call("c1", 0);
	ob_tick(59000);
	ck_assert(!ob_stopped("c1"));
	ob_tick(1000);
	ck_assert(ob_stopped("c1"));
	ob_tick(1000);
	ck_assert(!ob_stopped("c1"));
	ob_end("c1", true);
	ck_assert_uint_eq(ob_sent(MSG_RESULT, "c1")->header.code, CODE_EXPIRED);
}
END_TEST

/* Begun, and cut short: who is told that it was late might ask for it once more. */
START_TEST(a_late_call_that_must_not_run_twice_is_uncertain)
{
	ob_call("c1", WIRE_ONCE);
	ob_tick(60000);
	ck_assert(ob_stopped("c1"));
	ob_end("c1", true);
	ck_assert_uint_eq(ob_sent(MSG_RESULT, "c1")->header.code, CODE_WORKER_LOST);
	ob_call("c2", WIRE_ONCE);
	ob_message(
	    (struct header){ .type = MSG_CANCEL, .call_id = "c2", .code = CODE_EXPIRED });
	ob_end("c2", true);
	ck_assert_uint_eq(ob_sent(MSG_RESULT, "c2")->header.code, CODE_WORKER_LOST);
}
END_TEST

/* A call of its own ended so. */
START_TEST(a_call_beneath_which_one_was_lost_is_uncertain)
{
	ob_call("c1", WIRE_ONCE);
	ob_step(
	    (struct outbox_event){ .type = OUTBOX_ENDED, .call_id = "c1", .lost = true });
	ck_assert_uint_eq(ob_sent(MSG_RESULT, "c1")->header.code, CODE_WORKER_LOST);
	ob_call("c1", WIRE_ONCE);
	ck_assert(!ob_started("c1"));
}
END_TEST

START_TEST(unacknowledged_results_are_bounded_the_oldest_goes)
{
	char id[16];
	unsigned i;

	for (i = 0; i <= OUTBOX_RESULTS_MAX; i++) {
		snprintf(id, sizeof id, "c%u", i);
		ob_call(id, 0);
		ob_end(id, false);
	}
	ck_assert_uint_eq(outbox_finished(ob.outbox), OUTBOX_RESULTS_MAX);
	ck_assert_uint_eq(outbox_lost(ob.outbox), 1);
	ob_call("c0", 0);
	ck_assert(ob_started("c0"));
}
END_TEST

START_TEST(a_probe_is_answered_the_way_calls_go_and_takes_no_slot)
{
	struct header report = { .type = MSG_PING };

	ob_call("c1", 0);
	ob_call("c2", 0);
	ob_about(MSG_PROBE, "p1");
	ck_assert_ptr_nonnull(ob_find(OUTBOX_START_PROBE, MSG_PROBE, "p1"));
	ck_assert_ptr_null(ob_sent(MSG_BUSY, NULL));
	ck_assert_ptr_null(ob_sent(MSG_PROBE, NULL));
	outbox_report(ob.outbox, &report);
	ck_assert_uint_eq(report.load, 2);
	ob_step((struct outbox_event){ .type = OUTBOX_PROBED, .call_id = "p1" });
	ck_assert_ptr_nonnull(ob_sent(MSG_PROBE, "p1"));
}
END_TEST

START_TEST(the_age_of_the_oldest_running_call_is_reported)
{
	struct header report = { .type = MSG_PING };

	outbox_report(ob.outbox, &report);
	ck_assert_uint_eq(report.oldest_ms, 0);
	ob_call("c1", 0);
	ob_tick(300);
	ob_call("c2", 0);
	ob_tick(200);
	outbox_report(ob.outbox, &report);
	ck_assert_uint_eq(report.oldest_ms, 500);
	ob_end("c1", false);
	outbox_report(ob.outbox, &report);
	ck_assert_uint_eq(report.oldest_ms, 200);
}
END_TEST

TCase *
tcase_outbox(void)
{
	TCase *tcase = tcase_create("outbox");

	tcase_add_checked_fixture(tcase, setup, ob_close);
	tcase_add_test(tcase, a_call_is_acknowledged_and_started_and_its_result_sent);
	tcase_add_test(tcase, a_running_call_is_not_started_again);
	tcase_add_test(tcase, a_finished_call_is_answered_from_what_is_kept);
	tcase_add_test(tcase,
	    a_call_that_must_not_run_twice_does_not_even_when_its_result_was_settled);
	tcase_add_test(
	    tcase, a_settled_call_that_may_run_twice_runs_when_it_is_wanted_again);
	tcase_add_test(tcase, over_capacity_the_answer_is_busy);
	tcase_add_test(tcase, a_call_that_could_not_be_started_is_given_back);
	tcase_add_test(tcase, a_large_result_is_given_the_time_to_cross);
	tcase_add_test(
	    tcase, who_asks_for_a_large_result_that_is_on_its_way_gets_no_copy);
	tcase_add_test(tcase, a_result_is_sent_again_ever_less_often);
	tcase_add_test(tcase, on_every_connection_all_is_announced_and_results_follow);
	tcase_add_test(tcase, many_calls_are_announced_in_several_messages);
	tcase_add_test(tcase, nothing_is_announced_when_there_is_nothing);
	tcase_add_test(tcase, a_cancelled_call_is_stopped_once_and_ends_with_a_result);
	tcase_add_test(
	    tcase, a_call_that_ended_well_before_it_noticed_the_cancel_is_a_good_one);
	tcase_add_test(tcase, the_cancel_of_what_is_not_here_is_answered);
	tcase_add_test(tcase, a_late_call_that_never_came_is_answered_as_expired);
	tcase_add_test(tcase, a_call_that_was_taken_away_is_given_back_not_cancelled);
	tcase_add_test(tcase, a_call_is_stopped_at_its_deadline);
	tcase_add_test(tcase, a_late_call_that_must_not_run_twice_is_uncertain);
	tcase_add_test(tcase, a_call_beneath_which_one_was_lost_is_uncertain);
	tcase_add_test(tcase, unacknowledged_results_are_bounded_the_oldest_goes);
	tcase_add_test(tcase, a_probe_is_answered_the_way_calls_go_and_takes_no_slot);
	tcase_add_test(tcase, the_age_of_the_oldest_running_call_is_reported);
	return tcase;
}
