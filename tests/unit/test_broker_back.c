/* What the broker makes of a worker that comes back in the session it had, one test a rule. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "broker_bench.h"

#define C 1 /* coordinators */
#define C2 2
#define W 11 /* a worker, and its further connections */
#define W_BACK 12
#define W_BACK_AGAIN 13
#define OTHER 14

TCase *tcase_broker_back(void);

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

/* The worker has acknowledged the call "c1" of C. */
static void
gives_a_call(unsigned flags)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_flagged(&bench, C, "c1", flags);
	bench_expect(&bench, W, MSG_CALL, "c1");
	bench_about(&bench, W, MSG_CALL_ACK, "c1");
}

static void
comes_back(void)
{
	bench_worker_as(&bench, W_BACK, W, "tool:a", 1);
}

/* Returns what the worker was asked for in the last step, or NULL. */
static const struct header *
asked_again(uint64_t peer)
{
	const struct action *seek = bench_sent(&bench, peer, MSG_SEEK, NULL);

	return seek != NULL && seek->header.flags == WIRE_RESEND ? &seek->header : NULL;
}

START_TEST(it_is_asked_for_the_calls_it_had)
{
	gives_a_call(0);
	bench_announce(&bench, W, "c2", CALL_RUNNING);
	comes_back();
	ck_assert_uint_eq(asked_again(W_BACK)->call_count, 2);
	ck_assert_str_eq(asked_again(W_BACK)->calls[0].call_id, "c1");
	ck_assert_str_eq(asked_again(W_BACK)->calls[1].call_id, "c2");
}
END_TEST

START_TEST(it_is_not_asked_for_what_it_never_acknowledged)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	comes_back();
	ck_assert_ptr_null(asked_again(W_BACK));
	bench_pass(&bench, RESEND_MS);
	bench_expect(&bench, W_BACK, MSG_CALL, "c1");
}
END_TEST

START_TEST(many_calls_are_asked_for_in_few_messages)
{
	char id[16];
	size_t i;

	bench_worker(&bench, W, "tool:a", 2 * ANNOUNCED_CALLS_MAX + 1);
	for (i = 0; i < 2 * ANNOUNCED_CALLS_MAX + 1; i++) {
		snprintf(id, sizeof id, "c%zu", i);
		bench_announce(&bench, W, id, CALL_RUNNING);
	}
	comes_back();
	ck_assert_uint_eq(bench_sent_count(&bench, W_BACK, MSG_SEEK, NULL), 3);
}
END_TEST

START_TEST(a_new_worker_is_asked_for_nothing)
{
	gives_a_call(0);
	bench_worker(&bench, OTHER, "tool:a", 1);
	ck_assert_ptr_null(bench_sent(&bench, OTHER, MSG_SEEK, NULL));
	ck_assert_ptr_null(asked_again(W));
}
END_TEST

START_TEST(a_call_that_it_still_has_stays)
{
	gives_a_call(0);
	comes_back();
	bench_announce(&bench, W_BACK, "c1", CALL_RUNNING);
	bench_expect_calls(&bench, CALL_ASSIGNED, 1);
	bench_about(&bench, W_BACK, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
}
END_TEST

/* Seed 2238905: else it is kept until its deadline, and ten minutes more. */
START_TEST(what_it_has_no_more_and_nobody_waits_for_is_forgotten)
{
	gives_a_call(0);
	bench_unreachable(&bench, C);
	comes_back();
	bench_announce(&bench, W_BACK, "c1", CALL_ABSENT);
	bench_expect_calls(&bench, CALL_ASSIGNED, 0);
	bench_expect_calls(&bench, CALL_KEPT, 0);
	bench_pass(&bench, HEARTBEAT_MS);
	bench_send(&bench, W_BACK, (struct header){ .type = MSG_PING, .credit = 1 });
	bench_coordinator(&bench, C2);
	bench_call(&bench, C2, "c2", "tool:a");
	bench_expect(&bench, W_BACK, MSG_CALL, "c2"); /* and took no slot along */
}
END_TEST

START_TEST(so_is_what_only_the_worker_had_told_of)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_announce(&bench, W, "c1", CALL_RUNNING);
	comes_back();
	bench_expect_calls(&bench, CALL_ASSIGNED, 1);
	bench_announce(&bench, W_BACK, "c1", CALL_ABSENT);
	bench_expect_calls(&bench, CALL_ASSIGNED, 0);
}
END_TEST

START_TEST(who_waits_may_have_the_outcome_from_elsewhere)
{
	gives_a_call(0);
	comes_back();
	bench_announce(&bench, W_BACK, "c1", CALL_ABSENT);
	bench_expect_calls(&bench, CALL_HELD, 1);
	bench_about(&bench, C, MSG_RESULT_ACK, "c1");
	bench_expect_calls(&bench, CALL_HELD, 0);
	bench_pass(&bench, UINT64_C(2) * RESEND_MS);
	ck_assert_ptr_null(bench_sent(&bench, 0, MSG_CALL, "c1"));
}
END_TEST

START_TEST(who_has_it_not_gets_it_from_another_worker)
{
	gives_a_call(0);
	comes_back();
	bench_announce(&bench, W_BACK, "c1", CALL_ABSENT);
	bench_worker(&bench, OTHER, "tool:a", 1);
	bench_pass(&bench, SEEK_MS + 100);
	bench_expect(&bench, OTHER, MSG_CALL, "c1");
}
END_TEST

START_TEST(a_once_call_that_it_has_no_more_is_not_run_again)
{
	gives_a_call(WIRE_ONCE);
	comes_back();
	bench_announce(&bench, W_BACK, "c1", CALL_ABSENT);
	bench_worker(&bench, OTHER, "tool:a", 1);
	bench_pass(&bench, RECOVERY_MS + LIVENESS_MS + 100);
	ck_assert_ptr_null(bench_sent(&bench, 0, MSG_CALL, "c1"));
	bench_expect_outcome(&bench, C, "c1", CODE_WORKER_LOST);
}
END_TEST

START_TEST(one_that_was_to_stop_has_stopped)
{
	gives_a_call(0);
	bench_about(&bench, C, MSG_CANCEL, "c1");
	comes_back();
	bench_announce(&bench, W_BACK, "c1", CALL_ABSENT);
	bench_expect_outcome(&bench, C, "c1", CODE_CANCELLED);
}
END_TEST

/* It takes one slot of those that the report has counted, and no more. */
START_TEST(one_that_was_late_has_stopped)
{
	gives_a_call(0);
	bench_pass(&bench, 60000);
	bench_worker_as(&bench, W_BACK, W, "tool:a", 2);
	bench_announce(&bench, W_BACK, "c1", CALL_ABSENT);
	bench_expect_outcome(&bench, C, "c1", CODE_EXPIRED);
	bench_call(&bench, C, "c2", "tool:a");
	bench_expect(&bench, W_BACK, MSG_CALL, "c2");
	bench_call(&bench, C, "c3", "tool:a");
	bench_expect(&bench, W_BACK, MSG_CALL, "c3");
	bench_call(&bench, C, "c4", "tool:a");
	ck_assert_ptr_null(bench_sent(&bench, W_BACK, MSG_CALL, "c4"));
}
END_TEST

START_TEST(a_call_that_was_sent_since_is_on_its_way)
{
	gives_a_call(0);
	comes_back();
	bench_about(&bench, W_BACK, MSG_RELEASE, "c1"); /* said before it was asked */
	bench_expect(&bench, W_BACK, MSG_CALL, "c1");
	bench_announce(&bench, W_BACK, "c1", CALL_ABSENT);
	bench_expect_calls(&bench, CALL_ASSIGNED, 1);
	bench_about(&bench, W_BACK, MSG_CALL_ACK, "c1");
	bench_expect_calls(&bench, CALL_ASSIGNED, 1);
}
END_TEST

START_TEST(another_s_call_is_not_its_to_deny)
{
	gives_a_call(0);
	bench_worker(&bench, OTHER, "tool:a", 1);
	bench_announce(&bench, OTHER, "c1", CALL_ABSENT);
	bench_announce(&bench, OTHER, "unheard-of", CALL_ABSENT);
	bench_expect_calls(&bench, CALL_ASSIGNED, 1);
}
END_TEST

static int64_t
room_of(const char *name)
{
	struct arena *arena = arena_new();
	const struct value *rows = value_get(core_stats(bench.core, arena), "sessions");
	int64_t room = -1;
	size_t i;

	for (i = 0; i < value_size(rows); i++)
		if (value_text_is(value_get(value_at(rows, i), "name"), name))
			room = value_get_int(value_at(rows, i), "room", -1);
	arena_destroy(&arena);
	return room;
}

/* It says that it has room for all that it has slots for: the call has ended there, and its announcement is behind that. */
START_TEST(what_it_announces_gives_it_no_slots_that_it_has_not)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_announce(&bench, W, "c1", CALL_RUNNING);
	bench_about(&bench, W, MSG_RESULT, "c1");
	ck_assert_int_eq(room_of("w11"), 1);
}
END_TEST

/* Its answer was lost with the connection. */
START_TEST(it_is_asked_each_time_it_comes_back)
{
	gives_a_call(0);
	comes_back();
	bench_worker_as(&bench, W_BACK_AGAIN, W, "tool:a", 1);
	ck_assert_uint_eq(asked_again(W_BACK_AGAIN)->call_count, 1);
	bench_announce(
	    &bench, W_BACK, "c1", CALL_ABSENT); /* a former connection's word */
	bench_expect_calls(&bench, CALL_ASSIGNED, 1);
}
END_TEST

TCase *
tcase_broker_back(void)
{
	TCase *tcase = tcase_create("broker_back");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, it_is_asked_for_the_calls_it_had);
	tcase_add_test(tcase, it_is_not_asked_for_what_it_never_acknowledged);
	tcase_add_test(tcase, many_calls_are_asked_for_in_few_messages);
	tcase_add_test(tcase, a_new_worker_is_asked_for_nothing);
	tcase_add_test(tcase, a_call_that_it_still_has_stays);
	tcase_add_test(tcase, what_it_has_no_more_and_nobody_waits_for_is_forgotten);
	tcase_add_test(tcase, so_is_what_only_the_worker_had_told_of);
	tcase_add_test(tcase, who_waits_may_have_the_outcome_from_elsewhere);
	tcase_add_test(tcase, who_has_it_not_gets_it_from_another_worker);
	tcase_add_test(tcase, a_once_call_that_it_has_no_more_is_not_run_again);
	tcase_add_test(tcase, one_that_was_to_stop_has_stopped);
	tcase_add_test(tcase, one_that_was_late_has_stopped);
	tcase_add_test(tcase, a_call_that_was_sent_since_is_on_its_way);
	tcase_add_test(tcase, another_s_call_is_not_its_to_deny);
	tcase_add_test(tcase, what_it_announces_gives_it_no_slots_that_it_has_not);
	tcase_add_test(tcase, it_is_asked_each_time_it_comes_back);
	return tcase;
}
