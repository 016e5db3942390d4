/* The broker's rules on lost workers, one test a rule. */
#include <check.h>
#include <string.h>

#include "broker_bench.h"

#define C 1  /* coordinator */
#define W 11 /* workers */
#define W2 12

TCase *tcase_broker_loss(void);

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

static const struct action *
noticed(const char *kind)
{
	size_t i;

	for (i = 0; i < bench.actions.count; i++)
		if (bench.actions.items[i].type == ACTION_NOTICE &&
		    strcmp(bench.actions.items[i].header.topic, kind) == 0)
			return &bench.actions.items[i];
	return NULL;
}

/* Its time is over, but what it did meanwhile nobody knows. */
START_TEST(a_call_that_must_not_run_twice_is_lost_when_its_worker_stays_silent_on_it)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_flagged(&bench, C, "c1", WIRE_ONCE);
	bench_about(&bench, W, MSG_CALL_ACK, "c1");
	bench_pass(&bench, 60000);
	bench_pass(&bench, EXPIRE_GRACE_MS + 100);
	bench_expect_outcome(&bench, C, "c1", CODE_WORKER_LOST);
}
END_TEST

START_TEST(a_silent_worker_is_dead_and_its_calls_run_elsewhere_first)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_call(&bench, C, "c2", "tool:a");
	bench_silence(&bench, W);
	bench_pass(&bench, LIVENESS_MS - 100);
	ck_assert_ptr_null(noticed("down"));
	bench_pass(&bench, 200);
	ck_assert_str_eq(noticed("down")->header.name, "w11");
	bench_expect(&bench, C, MSG_WITHDRAW, NULL);
	bench_worker(&bench, W2, "tool:a", 1);
	ck_assert_uint_eq(bench_expect(&bench, W2, MSG_CALL, "c1")->header.attempt, 2);
	bench_about(&bench, W2, MSG_RESULT, "c1");
	ck_assert_uint_eq(bench_expect(&bench, W2, MSG_CALL, "c2")->header.attempt, 1);
}
END_TEST

START_TEST(any_frame_counts_as_life)
{
	int i;

	bench_worker(&bench, W, "tool:a", 1);
	bench_silence(&bench, W);
	for (i = 0; i < 5; i++) {
		bench_pass(&bench, LIVENESS_MS - 100);
		bench_about(&bench, W, MSG_CALL_ACK, "whatever");
		ck_assert_ptr_null(noticed("down"));
	}
}
END_TEST

START_TEST(after_a_gap_of_our_own_everybody_gets_grace)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_leap(&bench, 60000);
	ck_assert_ptr_null(noticed("down"));
	bench_silence(&bench, W);
	bench_pass(&bench, LIVENESS_MS + 100);
	ck_assert_ptr_nonnull(noticed("down"));
}
END_TEST

START_TEST(the_broker_speaks_when_it_was_silent)
{
	bench_pass(&bench, HEARTBEAT_MS + 100);
	bench_expect(&bench, C, MSG_PING, NULL);
	bench_about(&bench, C, MSG_PING, NULL);
	bench_pass(&bench, HEARTBEAT_MS - 100);
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_PING, NULL));
}
END_TEST

START_TEST(an_unreachable_worker_is_lost_at_once)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_worker(&bench, W2, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_unreachable(&bench, W);
	ck_assert_uint_eq(bench_expect(&bench, W2, MSG_CALL, "c1")->header.attempt, 2);
	ck_assert_uint_eq(core_count(bench.core, COUNTER_requeued), 1);
}
END_TEST

/* W runs c1, which must not run twice; W2 could run it as well. */
static void
give_once(void)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_worker(&bench, W2, "tool:a", 1);
	bench_flagged(&bench, C, "c1", WIRE_ONCE);
}

/* W comes back with it, and its result counts. */
static void
expect_it_back(void)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_announce(&bench, W, "c1", CALL_RUNNING);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
	ck_assert_ptr_null(bench_sent(&bench, W2, MSG_CALL, NULL));
}

START_TEST(a_call_that_must_not_run_twice_ends_with_its_worker)
{
	give_once();
	bench_pass(&bench, LIVENESS_MS + 1);
	bench_unreachable(&bench, W);
	bench_expect_outcome(&bench, C, "c1", CODE_WORKER_LOST);
	ck_assert_ptr_nonnull(
	    strstr(bench_sent(&bench, C, MSG_RESULT, "c1")->header.reason, "w11"));
	ck_assert_ptr_null(bench_sent(&bench, W2, MSG_CALL, NULL));
}
END_TEST

/* The broker stood still: its workers heard nothing, closed their sockets, and came again. */
START_TEST(a_call_that_must_not_run_twice_waits_for_a_worker_that_found_us_silent)
{
	give_once();
	bench_pass(&bench, LIVENESS_MS + 1);
	bench_leap(&bench, UINT64_C(3) * LIVENESS_MS);
	bench_unreachable(&bench, W);
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_RESULT, "c1"));
	expect_it_back();
}
END_TEST

START_TEST(a_call_that_must_not_run_twice_waits_for_a_worker_that_fell_silent)
{
	give_once();
	bench_silence(&bench, W);
	bench_pass(&bench, LIVENESS_MS + 200);
	ck_assert_ptr_nonnull(noticed("down"));
	bench_pass(&bench, SUSPECT_MS - 1000);
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_RESULT, "c1"));
	expect_it_back();
}
END_TEST

START_TEST(a_call_that_must_not_run_twice_ends_when_its_silent_worker_stays_away)
{
	give_once();
	bench_silence(&bench, W);
	bench_pass(&bench, LIVENESS_MS + SUSPECT_MS + 500);
	bench_expect_outcome(&bench, C, "c1", CODE_WORKER_LOST);
	ck_assert_ptr_null(bench_sent(&bench, W2, MSG_CALL, NULL));
}
END_TEST

START_TEST(a_call_that_takes_five_workers_down_is_poison)
{
	uint64_t peer;

	bench_call(&bench, C, "c1", "tool:a");
	for (peer = 11; peer < 11 + CALL_ATTEMPTS_MAX; peer++) {
		ck_assert_ptr_null(bench_sent(&bench, C, MSG_RESULT, "c1"));
		bench_worker(&bench, peer, "tool:a", 1);
		ck_assert_uint_eq(
		    bench_expect(&bench, peer, MSG_CALL, "c1")->header.attempt,
		    peer - 10);
		bench_unreachable(&bench, peer);
	}
	bench_expect_outcome(&bench, C, "c1", CODE_POISON);
}
END_TEST

/* c1 takes its workers down, c2 and c3 are beside it. From the third worker on suspects run one
 * at a time, and who is no suspect loses nothing by it. */
START_TEST(what_runs_beside_poison_is_told_from_it)
{
	uint64_t peer;

	bench_call(&bench, C, "c1", "tool:a");
	bench_call(&bench, C, "c2", "tool:a");
	for (peer = 11; peer < 11 + CALL_SUSPECT_LOSSES; peer++) {
		bench_worker(&bench, peer, "tool:a", 3);
		bench_expect(&bench, peer, MSG_CALL, "c1");
		bench_expect(&bench, peer, MSG_CALL, "c2");
		bench_unreachable(&bench, peer);
	}
	bench_call(&bench, C, "c3", "tool:a");
	bench_worker(&bench, 13, "tool:a", 3);
	bench_expect(&bench, 13, MSG_CALL, "c1");
	bench_expect(&bench, 13, MSG_CALL, "c3");
	ck_assert_ptr_null(bench_sent(&bench, 13, MSG_CALL, "c2"));
	bench_expect_calls(&bench, CALL_QUEUED, 1);
	bench_unreachable(&bench, 13);

	bench_worker(&bench, 14, "tool:a", 3);
	bench_expect(&bench, 14, MSG_CALL, "c2");
	ck_assert_ptr_null(bench_sent(&bench, 14, MSG_CALL, "c1"));
	bench_about(&bench, 14, MSG_RESULT, "c2");
	bench_expect_outcome(&bench, C, "c2", CODE_OK);
	bench_expect(&bench, 14, MSG_CALL, "c1");
	bench_unreachable(&bench, 14);
	bench_worker(&bench, 15, "tool:a", 3);
	bench_expect(&bench, 15, MSG_CALL, "c1");
	bench_unreachable(&bench, 15);
	bench_expect_outcome(&bench, C, "c1", CODE_POISON);
	bench_worker(&bench, 16, "tool:a", 3);
	bench_expect(&bench, 16, MSG_CALL, "c3");
	bench_about(&bench, 16, MSG_RESULT, "c3");
	bench_expect_outcome(&bench, C, "c3", CODE_OK);
}
END_TEST

/* It waits apart from the queue; cancel and deadline find it there. */
START_TEST(a_suspect_that_waits_can_be_cancelled)
{
	uint64_t peer;

	bench_call(&bench, C, "c1", "tool:a");
	for (peer = 11; peer < 11 + CALL_SUSPECT_LOSSES; peer++) {
		bench_worker(&bench, peer, "tool:a", 1);
		bench_unreachable(&bench, peer);
	}
	bench_expect_calls(&bench, CALL_QUEUED, 1);
	bench_about(&bench, C, MSG_CANCEL, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_CANCELLED);
	bench_expect_calls(&bench, CALL_QUEUED, 0);
}
END_TEST

START_TEST(a_worker_taken_for_dead_that_comes_back_is_told_to_stop)
{
	bench_call_moves(&bench, C, W, W2);
	bench_worker(&bench, W, "tool:a", 0);
	bench_announce(&bench, W, "c1", CALL_RUNNING);
	ck_assert_uint_eq(
	    bench_expect(&bench, W, MSG_CANCEL, "c1")->header.code, CODE_WORKER_LOST);
	/* Its failure is its own; the call goes on where it is. */
	bench_send(&bench, W,
	    (struct header){
		.type = MSG_RESULT, .call_id = "c1", .code = CODE_CANCELLED });
	bench_expect(&bench, W, MSG_RESULT_ACK, "c1");
	bench_expect_calls(&bench, CALL_ASSIGNED, 1);
	bench_about(&bench, W2, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
}
END_TEST

START_TEST(a_worker_that_comes_back_takes_its_call_out_of_the_queue)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_unreachable(&bench, W);
	bench_expect_calls(&bench, CALL_QUEUED, 1);
	bench_worker(&bench, W, "tool:a", 0);
	bench_announce(&bench, W, "c1", CALL_RUNNING);
	bench_expect_calls(&bench, CALL_QUEUED, 0);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
}
END_TEST

/* Its connection breaks again and again: the call took nobody down. */
START_TEST(a_worker_that_comes_back_with_its_call_was_not_taken_down)
{
	unsigned i;

	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	for (i = 0; i < 2 * CALL_ATTEMPTS_MAX; i++) {
		bench_about(&bench, W, MSG_CALL_ACK, "c1");
		bench_unreachable(&bench, W);
		bench_expect_calls(&bench, CALL_QUEUED, 1);
		bench_worker(&bench, W, "tool:a", 0);
		bench_announce(&bench, W, "c1", CALL_RUNNING);
		bench_expect_calls(&bench, CALL_ASSIGNED, 1);
	}
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
}
END_TEST

/* Two of them, each of which is lost in turn: the call goes to the other meanwhile. */
START_TEST(workers_that_come_back_have_not_been_taken_down)
{
	unsigned i;

	bench_worker(&bench, W, "tool:a", 1);
	bench_worker(&bench, W2, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_expect(&bench, W, MSG_CALL, "c1");
	for (i = 0; i < 2 * CALL_ATTEMPTS_MAX; i++) {
		uint64_t has = i % 2 == 0 ? W : W2, other = i % 2 == 0 ? W2 : W;

		bench_about(&bench, has, MSG_CALL_ACK, "c1");
		bench_unreachable(&bench, has);
		bench_expect(&bench, other, MSG_CALL, "c1");
		bench_worker(&bench, has, "tool:a", 1);
		bench_announce(&bench, has, "c1", CALL_RUNNING);
		bench_expect(&bench, has, MSG_CANCEL, "c1");
		bench_send(&bench, has,
		    (struct header){
			.type = MSG_RESULT, .call_id = "c1", .code = CODE_CANCELLED });
	}
	bench_expect_calls(&bench, CALL_ASSIGNED, 1);
}
END_TEST

/* c1 has been sent twice; one of them was refused. */
static void
refuse_one(unsigned flags)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_flagged(&bench, C, "c1", flags);
	bench_expect(&bench, W, MSG_CALL, "c1");
	bench_worker(&bench, W2, "tool:a", 1);
	bench_pass(&bench, RESEND_MS + 100);
	bench_expect(&bench, W, MSG_CALL, "c1");
	bench_about(&bench, W, MSG_BUSY, "c1");
	ck_assert_ptr_null(bench_sent(&bench, W2, MSG_CALL, "c1"));
	ck_assert_uint_eq(
	    bench_expect(&bench, W, MSG_SEEK, NULL)->header.flags, WIRE_RESEND);
	bench_expect_calls(&bench, CALL_ASSIGNED, 1);
}

/* The second one found room. */
START_TEST(what_one_refusal_means_is_asked_where_a_call_was_sent_twice)
{
	refuse_one(WIRE_ONCE);
	bench_about(&bench, W, MSG_CALL_ACK, "c1");
	bench_pass(&bench, 3 * RESEND_MS);
	ck_assert_ptr_null(bench_sent(&bench, 0, MSG_CALL, "c1"));
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_SEEK, NULL));
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
}
END_TEST

START_TEST(a_call_that_was_refused_as_often_as_it_was_sent_goes_elsewhere)
{
	refuse_one(WIRE_ONCE);
	bench_about(&bench, W, MSG_BUSY, "c1");
	bench_expect(&bench, W2, MSG_CALL, "c1");
	bench_announce(&bench, W, "c1", CALL_ABSENT); /* as it was asked */
	bench_about(&bench, W2, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
}
END_TEST

/* It had no fiber for it, though it had said that it runs. */
START_TEST(a_call_that_was_taken_and_then_refused_may_run_all_the_same)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_flagged(&bench, C, "c1", WIRE_ONCE);
	bench_worker(&bench, W2, "tool:a", 1);
	bench_pass(&bench, RESEND_MS + 100);
	bench_expect(&bench, W, MSG_CALL, "c1");
	bench_about(&bench, W, MSG_CALL_ACK, "c1");
	bench_about(&bench, W, MSG_BUSY, "c1");
	ck_assert_ptr_null(bench_sent(&bench, W2, MSG_CALL, "c1"));
	bench_about(&bench, W, MSG_CALL_ACK, "c1");
	bench_pass(&bench, 3 * RESEND_MS);
	ck_assert_ptr_null(bench_sent(&bench, 0, MSG_CALL, "c1"));
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
}
END_TEST

START_TEST(a_call_whose_worker_has_none_of_it_goes_elsewhere)
{
	refuse_one(WIRE_ONCE);
	bench_pass(&bench, RESEND_MS + 100); /* the question may be lost */
	bench_expect(&bench, W, MSG_SEEK, NULL);
	ck_assert_ptr_null(bench_sent(&bench, 0, MSG_CALL, "c1"));
	bench_announce(&bench, W, "c1", CALL_ABSENT);
	bench_expect(&bench, W2, MSG_CALL, "c1");
	bench_about(&bench, W2, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
}
END_TEST

/* What it announces counts as much as an acknowledgement. */
START_TEST(a_call_that_was_refused_once_and_is_announced_stays)
{
	refuse_one(0);
	bench_announce(&bench, W, "c1", CALL_RUNNING);
	bench_pass(&bench, 3 * RESEND_MS);
	ck_assert_ptr_null(bench_sent(&bench, 0, MSG_CALL, "c1"));
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
}
END_TEST

START_TEST(a_good_answer_is_good_from_whom_it_may_come)
{
	bench_call_moves(&bench, C, W, W2);
	bench_worker(&bench, W, "tool:a", 1);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
	bench_expect(&bench, W2, MSG_CANCEL, "c1");
	/* W2's slot is not free before it says so. */
	bench_call(&bench, C, "c2", "tool:a");
	bench_expect(&bench, W, MSG_CALL, "c2");
	bench_call(&bench, C, "c3", "tool:a");
	bench_expect_calls(&bench, CALL_QUEUED, 1);
	bench_about(&bench, W2, MSG_RESULT, "c1");
	bench_expect(&bench, W2, MSG_RESULT_ACK, "c1");
	bench_about(&bench, C, MSG_RESULT_ACK, "c1");
	bench_expect(&bench, W, MSG_RESULT_ACK, "c1");
}
END_TEST

TCase *
tcase_broker_loss(void)
{
	TCase *tcase = tcase_create("broker_loss");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase,
	    a_call_that_must_not_run_twice_is_lost_when_its_worker_stays_silent_on_it);
	tcase_add_test(tcase, a_silent_worker_is_dead_and_its_calls_run_elsewhere_first);
	tcase_add_test(tcase, any_frame_counts_as_life);
	tcase_add_test(tcase, after_a_gap_of_our_own_everybody_gets_grace);
	tcase_add_test(tcase, the_broker_speaks_when_it_was_silent);
	tcase_add_test(tcase, an_unreachable_worker_is_lost_at_once);
	tcase_add_test(tcase, a_call_that_must_not_run_twice_ends_with_its_worker);
	tcase_add_test(tcase,
	    a_call_that_must_not_run_twice_waits_for_a_worker_that_found_us_silent);
	tcase_add_test(
	    tcase, a_call_that_must_not_run_twice_waits_for_a_worker_that_fell_silent);
	tcase_add_test(
	    tcase, a_call_that_must_not_run_twice_ends_when_its_silent_worker_stays_away);
	tcase_add_test(tcase, a_call_that_takes_five_workers_down_is_poison);
	tcase_add_test(tcase, what_runs_beside_poison_is_told_from_it);
	tcase_add_test(tcase, a_suspect_that_waits_can_be_cancelled);
	tcase_add_test(tcase, a_worker_taken_for_dead_that_comes_back_is_told_to_stop);
	tcase_add_test(tcase, a_worker_that_comes_back_with_its_call_was_not_taken_down);
	tcase_add_test(
	    tcase, what_one_refusal_means_is_asked_where_a_call_was_sent_twice);
	tcase_add_test(
	    tcase, a_call_that_was_refused_as_often_as_it_was_sent_goes_elsewhere);
	tcase_add_test(
	    tcase, a_call_that_was_taken_and_then_refused_may_run_all_the_same);
	tcase_add_test(tcase, a_call_whose_worker_has_none_of_it_goes_elsewhere);
	tcase_add_test(tcase, workers_that_come_back_have_not_been_taken_down);
	tcase_add_test(tcase, a_call_that_was_refused_once_and_is_announced_stays);
	tcase_add_test(tcase, a_worker_that_comes_back_takes_its_call_out_of_the_queue);
	tcase_add_test(tcase, a_good_answer_is_good_from_whom_it_may_come);
	return tcase;
}
