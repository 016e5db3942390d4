/* The broker's rules on calls that were or are at other brokers, and on its own leaving, one
 * test a rule. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "broker_bench.h"

#define C 1 /* coordinators */
#define C2 2
#define W 11 /* workers */
#define W2 12
#define DRAIN_MS 10000u

TCase *tcase_broker_elsewhere(void);

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
ack_with_epoch(uint64_t peer, const char *id, uint64_t epoch)
{
	bench_send(&bench, peer,
	    (struct header){ .type = MSG_RESULT_ACK, .call_id = id, .epoch = epoch });
}

/* --- looking for what was elsewhere --------------------------------------------------- */

START_TEST(a_flagged_call_that_is_unknown_is_sought_at_all_workers)
{
	const struct action *seek;

	bench_worker(&bench, W, "tool:a", 1);
	bench_worker(&bench, W2, "tool:b", 1);
	bench_flagged(&bench, C, "c1", WIRE_RESEND);
	bench_expect(&bench, C, MSG_CALL_ACK, "c1");
	bench_pass(&bench, 100);
	seek = bench_expect(&bench, W, MSG_SEEK, NULL);
	ck_assert_uint_eq(seek->header.call_count, 1);
	ck_assert_str_eq(seek->header.calls[0].call_id, "c1");
	bench_expect(&bench, W2, MSG_SEEK, NULL);
	bench_pass(&bench, 100);
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_SEEK, NULL));
}
END_TEST

START_TEST(a_call_that_is_found_stays_where_it_runs)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_worker(&bench, W2, "tool:a", 1);
	bench_flagged(&bench, C, "c1", WIRE_RESEND);
	bench_pass(&bench, 100);
	bench_announce(&bench, W2, "c1", CALL_RUNNING);
	bench_pass(&bench, 1000);
	ck_assert_ptr_null(bench_sent(&bench, 0, MSG_CALL, "c1"));
	bench_about(&bench, W2, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
}
END_TEST

START_TEST(a_call_that_nobody_has_runs_soon)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_flagged(&bench, C, "c1", WIRE_RESEND);
	bench_pass(&bench, SEEK_MS - 100);
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_CALL, "c1"));
	bench_pass(&bench, 100);
	bench_expect(&bench, W, MSG_CALL, "c1");
}
END_TEST

START_TEST(a_once_call_that_is_found_late_is_not_lost)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_flagged(&bench, C, "c1", WIRE_RESEND | WIRE_ONCE);
	bench_pass(&bench, RECOVERY_MS + LIVENESS_MS - 200);
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_RESULT, "c1"));
	bench_worker(&bench, W2, "tool:a", 1);
	bench_expect(&bench, W2, MSG_SEEK, NULL); /* who comes meanwhile is asked too */
	bench_announce(&bench, W2, "c1", CALL_RUNNING);
	bench_pass(&bench, 5000);
	bench_about(&bench, W2, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
}
END_TEST

START_TEST(many_calls_are_sought_in_few_messages)
{
	char id[16];
	size_t i;

	bench_worker(&bench, W, "tool:a", 1);
	for (i = 0; i < 2 * ANNOUNCED_CALLS_MAX + 1; i++) {
		snprintf(id, sizeof id, "c%zu", i);
		bench_flagged(&bench, C, id, WIRE_RESEND);
	}
	bench_pass(&bench, 100);
	ck_assert_uint_eq(bench_sent_count(&bench, W, MSG_SEEK, NULL), 3);
}
END_TEST

START_TEST(a_result_of_a_call_it_never_saw_waits_for_who_asks)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_announce(&bench, W, "c1", CALL_FINISHED);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_calls(&bench, CALL_KEPT, 1);
	bench_flagged(&bench, C, "c1", WIRE_RESEND | WIRE_ONCE);
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
	bench_about(&bench, C, MSG_RESULT_ACK, "c1");
	bench_expect(&bench, W, MSG_RESULT_ACK, "c1");
	bench_expect_calls(&bench, CALL_KEPT, 0);
}
END_TEST

/* --- settled elsewhere ---------------------------------------------------------------- */

START_TEST(a_running_call_whose_outcome_came_by_another_broker_is_stopped_and_forgotten)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_about(&bench, C, MSG_RESULT_ACK, "c1");
	ck_assert_uint_eq(
	    bench_expect(&bench, W, MSG_CANCEL, "c1")->header.code, CODE_WORKER_LOST);
	bench_expect_calls(&bench, CALL_ASSIGNED, 0);
	bench_about(&bench, W, MSG_RESULT, "c1"); /* too late to stop */
	bench_expect(&bench, W, MSG_RESULT_ACK, "c1");
	bench_expect_calls(&bench, CALL_KEPT, 0);
}
END_TEST

START_TEST(a_waiting_call_whose_outcome_came_by_another_broker_is_forgotten)
{
	bench_call(&bench, C, "c1", "tool:a");
	bench_flagged(&bench, C, "c2", WIRE_RESEND);
	bench_about(&bench, C, MSG_RESULT_ACK, "c1");
	bench_about(&bench, C, MSG_RESULT_ACK, "c2");
	bench_worker(&bench, W, "tool:a", 2);
	bench_pass(&bench, 2000);
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_CALL, NULL));
}
END_TEST

START_TEST(another_s_call_is_not_forgotten_by_such_a_word)
{
	bench_coordinator(&bench, C2);
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	ack_with_epoch(C2, "c1", 99);
	bench_expect_calls(&bench, CALL_ASSIGNED, 1);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
}
END_TEST

START_TEST(a_result_that_its_worker_has_settled_elsewhere_is_kept_for_nobody)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_announce(&bench, W, "c1", CALL_RUNNING);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_calls(&bench, CALL_KEPT, 1);
	bench_about(&bench, W, MSG_RESULT_ACK, "c1");
	bench_expect_calls(&bench, CALL_KEPT, 0);
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_RESULT_ACK, "c1"));
}
END_TEST

START_TEST(who_waits_for_such_a_result_still_gets_it)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_about(&bench, W, MSG_RESULT_ACK, "c1");
	bench_expect_calls(&bench, CALL_KEPT, 1);
	bench_pass(&bench, RESEND_MS);
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
	bench_about(&bench, C, MSG_RESULT_ACK, "c1");
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_RESULT_ACK, "c1"));
}
END_TEST

START_TEST(a_later_owner_that_had_the_outcome_elsewhere_settles_the_call)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_send(&bench, C,
	    (struct header){
		.type = MSG_CALL, .call_id = "c1", .service = "tool:a", .epoch = 3 });
	bench_coordinator(&bench, C2);
	ack_with_epoch(C2, "c1", 2); /* a former one's word does not count */
	bench_expect_calls(&bench, CALL_ASSIGNED, 1);
	ack_with_epoch(C2, "c1", 4);
	bench_expect_calls(&bench, CALL_ASSIGNED, 0);
}
END_TEST

/* A failover may have made it the owner again, with an epoch that is lower (seed 766728). */
START_TEST(who_waits_for_a_call_that_a_later_owner_settles_asks_again)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_coordinator(&bench, C2);
	bench_send(&bench, C,
	    (struct header){
		.type = MSG_CALL, .call_id = "c1", .service = "tool:a", .epoch = 3 });
	ack_with_epoch(C2, "c1", 4);
	ck_assert_uint_eq(
	    bench_expect(&bench, C, MSG_BUSY, "c1")->header.flags, WIRE_RESEND);
	bench_send(&bench, C,
	    (struct header){ .type = MSG_CALL,
		.call_id = "c1",
		.flags = WIRE_RESEND,
		.service = "tool:a",
		.epoch = 3 });
	bench_expect(&bench, C, MSG_BUSY, "c1"); /* it may hear first that it is fenced */
	bench_pass(&bench, LEASE_MS + 1);
	bench_send(&bench, C,
	    (struct header){ .type = MSG_CALL,
		.call_id = "c1",
		.flags = WIRE_RESEND,
		.service = "tool:a",
		.epoch = 3 });
	bench_expect(&bench, C, MSG_CALL_ACK, "c1");
}
END_TEST

/* The RESULT may have been lost. */
START_TEST(who_waits_for_a_result_that_a_later_owner_settles_asks_again)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_coordinator(&bench, C2);
	bench_send(&bench, C,
	    (struct header){
		.type = MSG_CALL, .call_id = "c1", .service = "tool:a", .epoch = 3 });
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_calls(&bench, CALL_KEPT, 1);
	ack_with_epoch(C2, "c1", 4);
	bench_expect_calls(&bench, CALL_KEPT, 0);
	ck_assert_uint_eq(
	    bench_expect(&bench, C, MSG_BUSY, "c1")->header.flags, WIRE_RESEND);
	ck_assert_ptr_null(bench_sent(&bench, C2, MSG_BUSY, NULL));
}
END_TEST

START_TEST(who_settles_its_own_call_is_not_told_to_ask_again)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_send(&bench, C,
	    (struct header){
		.type = MSG_CALL, .call_id = "c1", .service = "tool:a", .epoch = 3 });
	ack_with_epoch(C, "c1", 3);
	bench_expect_calls(&bench, CALL_ASSIGNED, 0);
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_BUSY, NULL));
}
END_TEST

START_TEST(an_announced_call_that_its_worker_has_settled_elsewhere_is_forgotten)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_announce(&bench, W, "c1", CALL_RUNNING);
	bench_about(&bench, W, MSG_RESULT_ACK, "c1");
	bench_expect_calls(&bench, CALL_ASSIGNED, 0);
	bench_call(&bench, C, "c2", "tool:a");
	bench_expect(&bench, W, MSG_CALL, "c2"); /* and took no slot along */
}
END_TEST

/* --- leaving -------------------------------------------------------------------------- */

START_TEST(a_broker_without_calls_leaves_at_once)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_leave(&bench, DRAIN_MS);
	ck_assert(bench_has_left(&bench));
	ck_assert_uint_eq(
	    bench_expect(&bench, C, MSG_GOAWAY, NULL)->header.deadline_ms, 0);
	bench_pass(&bench, 1000);
	ck_assert(!bench_has_left(&bench)); /* said once */
}
END_TEST

START_TEST(a_leaving_broker_waits_for_what_runs)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_leave(&bench, DRAIN_MS);
	ck_assert_uint_eq(
	    bench_expect(&bench, C, MSG_GOAWAY, NULL)->header.deadline_ms, DRAIN_MS);
	bench_pass(&bench, 3000);
	ck_assert(!bench_has_left(&bench));
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
	bench_about(&bench, C, MSG_RESULT_ACK, "c1");
	bench_expect(&bench, W, MSG_RESULT_ACK, "c1");
	bench_pass(&bench, 100);
	ck_assert(bench_has_left(&bench));
}
END_TEST

START_TEST(a_leaving_broker_does_not_wait_for_ever)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_leave(&bench, DRAIN_MS);
	bench_pass(&bench, DRAIN_MS);
	ck_assert(bench_has_left(&bench));
	ck_assert_uint_eq(
	    bench_expect(&bench, W, MSG_GOAWAY, NULL)->header.deadline_ms, 0);
}
END_TEST

START_TEST(what_waits_is_given_back_behind_the_warning)
{
	const struct action *release;

	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_call(&bench, C, "c2", "tool:a");
	bench_call(&bench, C, "c3", "tool:z");
	bench_flagged(&bench, C, "c4", WIRE_RESEND | WIRE_ONCE);
	bench_leave(&bench, DRAIN_MS);
	release = bench_expect(&bench, C, MSG_RELEASE, "c2");
	ck_assert(release > bench_expect(&bench, C, MSG_GOAWAY, NULL));
	bench_expect(&bench, C, MSG_RELEASE, "c3");
	bench_expect(&bench, C, MSG_RELEASE, "c4");
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_RELEASE, "c1"));
	ck_assert_uint_eq(core_count(bench.core, COUNTER_returned), 3);
	bench_expect_calls(&bench, CALL_QUEUED, 0);
	bench_expect_calls(&bench, CALL_HELD, 0);
}
END_TEST

START_TEST(what_may_still_run_at_a_silent_worker_is_given_back_flagged)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_flagged(&bench, C, "c1", WIRE_ONCE);
	bench_call(&bench, C, "c2", "tool:a");
	bench_silence(&bench, W);
	bench_pass(&bench, LIVENESS_MS + 200);
	bench_leave(&bench, DRAIN_MS);
	ck_assert_uint_eq(
	    bench_expect(&bench, C, MSG_RELEASE, "c1")->header.flags, WIRE_RESEND);
	ck_assert_uint_eq(bench_expect(&bench, C, MSG_RELEASE, "c2")->header.flags, 0);
}
END_TEST

START_TEST(what_a_worker_gives_back_to_a_leaving_broker_goes_back_further)
{
	bench_worker(&bench, W, "tool:a", 3);
	bench_call(&bench, C, "c1", "tool:a");
	bench_call(&bench, C, "c2", "tool:a");
	bench_call(&bench, C, "c3", "tool:a");
	bench_leave(&bench, DRAIN_MS);
	bench_about(&bench, W, MSG_BUSY, "c1");
	ck_assert_uint_eq(bench_expect(&bench, C, MSG_RELEASE, "c1")->header.flags, 0);
	/* What has begun may have made calls, which the next broker is to look for. */
	bench_about(&bench, W, MSG_RELEASE, "c2");
	ck_assert_uint_eq(
	    bench_expect(&bench, C, MSG_RELEASE, "c2")->header.flags, WIRE_RESEND);
	bench_unreachable(&bench, W);
	ck_assert_uint_eq(
	    bench_expect(&bench, C, MSG_RELEASE, "c3")->header.flags, WIRE_RESEND);
	bench_pass(&bench, 100);
	ck_assert(bench_has_left(&bench));
}
END_TEST

START_TEST(a_leaving_broker_starts_nothing)
{
	bench_coordinator(&bench, C2);
	bench_call(&bench, C, "c1", "tool:a");
	bench_unreachable(&bench, C); /* it waits for nobody's good */
	bench_leave(&bench, DRAIN_MS);
	bench_worker(&bench, W, "tool:a", 1);
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_CALL, NULL));
	bench_expect_calls(&bench, CALL_QUEUED, 0);
}
END_TEST

START_TEST(who_comes_to_a_leaving_broker_is_warned_too)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_leave(&bench, DRAIN_MS);
	bench_pass(&bench, 1000);
	bench_coordinator(&bench, C2);
	ck_assert_uint_eq(bench_expect(&bench, C2, MSG_GOAWAY, NULL)->header.deadline_ms,
	    DRAIN_MS - 1000);
}
END_TEST

START_TEST(who_comes_to_a_broker_that_has_left_is_not_let_in)
{
	bench_leave(&bench, DRAIN_MS);
	bench_coordinator(&bench, C2);
	ck_assert_ptr_null(bench_sent(&bench, C2, MSG_WELCOME, NULL));
}
END_TEST

TCase *
tcase_broker_elsewhere(void)
{
	TCase *tcase = tcase_create("broker_elsewhere");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_flagged_call_that_is_unknown_is_sought_at_all_workers);
	tcase_add_test(tcase, a_call_that_is_found_stays_where_it_runs);
	tcase_add_test(tcase, a_call_that_nobody_has_runs_soon);
	tcase_add_test(tcase, a_once_call_that_is_found_late_is_not_lost);
	tcase_add_test(tcase, many_calls_are_sought_in_few_messages);
	tcase_add_test(tcase, a_result_of_a_call_it_never_saw_waits_for_who_asks);
	tcase_add_test(tcase,
	    a_running_call_whose_outcome_came_by_another_broker_is_stopped_and_forgotten);
	tcase_add_test(
	    tcase, a_waiting_call_whose_outcome_came_by_another_broker_is_forgotten);
	tcase_add_test(tcase, another_s_call_is_not_forgotten_by_such_a_word);
	tcase_add_test(
	    tcase, a_result_that_its_worker_has_settled_elsewhere_is_kept_for_nobody);
	tcase_add_test(tcase, who_waits_for_such_a_result_still_gets_it);
	tcase_add_test(
	    tcase, a_later_owner_that_had_the_outcome_elsewhere_settles_the_call);
	tcase_add_test(tcase, who_waits_for_a_call_that_a_later_owner_settles_asks_again);
	tcase_add_test(
	    tcase, who_waits_for_a_result_that_a_later_owner_settles_asks_again);
	tcase_add_test(tcase, who_settles_its_own_call_is_not_told_to_ask_again);
	tcase_add_test(
	    tcase, an_announced_call_that_its_worker_has_settled_elsewhere_is_forgotten);
	tcase_add_test(tcase, a_broker_without_calls_leaves_at_once);
	tcase_add_test(tcase, a_leaving_broker_waits_for_what_runs);
	tcase_add_test(tcase, a_leaving_broker_does_not_wait_for_ever);
	tcase_add_test(tcase, what_waits_is_given_back_behind_the_warning);
	tcase_add_test(
	    tcase, what_may_still_run_at_a_silent_worker_is_given_back_flagged);
	tcase_add_test(
	    tcase, what_a_worker_gives_back_to_a_leaving_broker_goes_back_further);
	tcase_add_test(tcase, a_leaving_broker_starts_nothing);
	tcase_add_test(tcase, who_comes_to_a_leaving_broker_is_warned_too);
	tcase_add_test(tcase, who_comes_to_a_broker_that_has_left_is_not_let_in);
	return tcase;
}
