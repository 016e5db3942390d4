/* The broker's rules on who gets which call and when, one test a rule. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "broker_bench.h"

#define C 1 /* coordinators */
#define C2 2
#define W 11 /* workers */
#define W2 12

TCase *tcase_broker_core(void);

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

/* --- the usual way -------------------------------------------------------------------- */

START_TEST(a_call_goes_to_a_worker_and_its_result_comes_back)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_expect(&bench, C, MSG_CALL_ACK, "c1");
	ck_assert_uint_eq(bench_expect(&bench, W, MSG_CALL, "c1")->header.attempt, 1);
	ck_assert_ptr_nonnull(bench_sent(&bench, W, MSG_CALL, "c1")->body);
	bench_about(&bench, W, MSG_CALL_ACK, "c1");
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
	ck_assert_ptr_nonnull(bench_sent(&bench, C, MSG_RESULT, "c1")->body);
	bench_about(&bench, C, MSG_RESULT_ACK, "c1");
	bench_expect(&bench, W, MSG_RESULT_ACK, "c1");
	ck_assert_uint_eq(core_count(bench.core, COUNTER_settled), 1);
	ck_assert_int_eq(bench.bodies, 1); /* the catalog */
}
END_TEST

START_TEST(a_worker_never_gets_more_than_its_free_slots)
{
	char id[16];
	int i;

	bench_worker(&bench, W, "tool:a", 2);
	for (i = 0; i < 5; i++) {
		snprintf(id, sizeof id, "c%d", i);
		bench_call(&bench, C, id, "tool:a");
	}
	bench_expect_calls(&bench, CALL_ASSIGNED, 2);
	bench_expect_calls(&bench, CALL_QUEUED, 3);
	bench_about(&bench, W, MSG_CALL_ACK, "c0");
	bench_about(&bench, W, MSG_RESULT, "c0");
	ck_assert_uint_eq(bench_sent_count(&bench, W, MSG_CALL, NULL), 1);
	bench_expect(&bench, W, MSG_CALL, "c2");
	bench_expect_calls(&bench, CALL_ASSIGNED, 2);
}
END_TEST

START_TEST(credit_counts_what_is_under_way_to_the_worker)
{
	bench_worker(&bench, W, "tool:a", 2);
	bench_call(&bench, C, "c1", "tool:a");
	/* Written before c1 arrived there: it says 2, one of which is c1's. */
	bench_send(
	    &bench, W, (struct header){ .type = MSG_CREDIT, .credit = 2, .capacity = 2 });
	bench_call(&bench, C, "c2", "tool:a");
	bench_call(&bench, C, "c3", "tool:a");
	bench_expect_calls(&bench, CALL_ASSIGNED, 2);
	bench_expect_calls(&bench, CALL_QUEUED, 1);
}
END_TEST

START_TEST(a_report_of_more_room_lets_waiting_calls_out)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_call(&bench, C, "c2", "tool:a");
	bench_about(&bench, W, MSG_CALL_ACK, "c1");
	bench_send(
	    &bench, W, (struct header){ .type = MSG_PING, .credit = 1, .capacity = 2 });
	bench_expect(&bench, W, MSG_PONG, NULL);
	bench_expect(&bench, W, MSG_CALL, "c2");
}
END_TEST

START_TEST(the_worker_with_most_room_is_next_and_equals_take_turns)
{
	bench_worker(&bench, W, "tool:a", 3);
	bench_worker(&bench, W2, "tool:a", 2);
	bench_call(&bench, C, "c1", "tool:a");
	bench_expect(&bench, W, MSG_CALL, "c1"); /* 3 against 2 */
	bench_call(&bench, C, "c2", "tool:a");
	bench_expect(&bench, W2, MSG_CALL, "c2"); /* 2 against 2, W was used last */
	bench_call(&bench, C, "c3", "tool:a");
	bench_expect(&bench, W, MSG_CALL, "c3"); /* 2 against 1 */
	bench_call(&bench, C, "c4", "tool:a");
	bench_expect(&bench, W2, MSG_CALL, "c4"); /* 1 against 1 */
	bench_call(&bench, C, "c5", "tool:a");
	bench_expect(&bench, W, MSG_CALL, "c5");
}
END_TEST

START_TEST(a_service_may_have_fewer_slots_than_its_worker)
{
	struct wire_service services[] = { { "tool:browser", 1 }, { "tool:b", 0 } };
	struct header hello = { .type = MSG_HELLO,
		.session = "00000000000000000000000000000abc",
		.name = "w",
		.role = ROLE_WORKER,
		.protocol_min = 1,
		.protocol_max = 1,
		.credit = 3,
		.services = services,
		.service_count = 2 };

	bench_send(&bench, W, hello);
	bench_call(&bench, C, "c1", "tool:browser");
	bench_call(&bench, C, "c2", "tool:browser");
	bench_call(&bench, C, "c3", "tool:b");
	bench_expect(&bench, W, MSG_CALL, "c3");
	bench_expect_calls(&bench, CALL_QUEUED, 1);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect(&bench, W, MSG_CALL, "c2");
}
END_TEST

START_TEST(a_worker_with_room_serves_its_services_in_turn)
{
	bench_call(&bench, C, "a1", "tool:a");
	bench_call(&bench, C, "a2", "tool:a");
	bench_call(&bench, C, "b1", "tool:b");
	bench_call(&bench, C, "b2", "tool:b");
	bench_worker(&bench, W, "tool:a tool:b", 2);
	bench_expect(&bench, W, MSG_CALL, "a1");
	bench_expect(&bench, W, MSG_CALL, "b1");
}
END_TEST

/* A broker that may hold so many bytes of bodies. */
static void
start_with_bodies(size_t bytes_max)
{
	struct core_options options = core_defaults;

	bench_end(&bench);
	options.session = "f";
	options.name = "b";
	options.bodies_bytes_max = bytes_max;
	bench_start_with(&bench, &options);
	bench_coordinator(&bench, C);
}

/* --- queues --------------------------------------------------------------------------- */

static void
send_for(const char *id, const char *tenant, uint64_t priority)
{
	bench_send(&bench, C,
	    (struct header){ .type = MSG_CALL,
		.call_id = id,
		.service = "tool:a",
		.tenant = tenant,
		.priority = priority,
		.deadline_ms = 60000 });
}

/* W takes one call after the other; fails unless they are those of order. */
static void
expect_order(const char *order)
{
	char ids[512], *id, *rest = ids;

	snprintf(ids, sizeof ids, "%s", order);
	bench_worker(&bench, W, "tool:a", 1);
	while ((id = strtok_r(rest, " ", &rest)) != NULL) {
		bench_expect(&bench, W, MSG_CALL, id);
		bench_about(&bench, W, MSG_RESULT, id);
	}
	bench_expect_calls(&bench, CALL_QUEUED, 0);
}

START_TEST(the_first_priority_goes_first)
{
	send_for("late", NULL, 4);
	send_for("usual", NULL, 2);
	send_for("first", NULL, 0);
	expect_order("first usual late");
}
END_TEST

START_TEST(tenants_take_turns_whatever_their_backlog)
{
	send_for("a1", "a", 2);
	send_for("a2", "a", 2);
	send_for("a3", "a", 2);
	send_for("b1", "b", 2);
	send_for("c1", "c", 2);
	send_for("c2", "c", 2);
	expect_order("a1 b1 c1 a2 c2 a3");
}
END_TEST

START_TEST(the_last_priority_is_served_every_sixteenth_time)
{
	char id[16];
	int i;

	for (i = 0; i < 20; i++) {
		snprintf(id, sizeof id, "f%d", i);
		send_for(id, NULL, 0);
	}
	send_for("last", NULL, 4);
	expect_order("f0 f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 f11 f12 f13 f14 last f15 f16 f17 "
		     "f18 f19");
}
END_TEST

/* With the last one in its place those between would wait as long as there are both. */
START_TEST(no_priority_waits_for_ever_between_two_others)
{
	char id[16];
	int i;

	for (i = 0; i < 40; i++) {
		snprintf(id, sizeof id, "f%d", i);
		send_for(id, NULL, 0);
	}
	send_for("bulk1", NULL, 4);
	bench_pass(&bench, 100);
	send_for("usual", NULL, 2);
	bench_pass(&bench, 100);
	send_for("bulk2", NULL, 4);
	send_for("bulk3", NULL, 4);
	expect_order(
	    "f0 f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 f11 f12 f13 f14 bulk1 f15 f16 f17 "
	    "f18 f19 f20 f21 f22 f23 f24 f25 f26 f27 f28 f29 usual f30 f31 f32 "
	    "f33 f34 f35 f36 f37 f38 f39 bulk2 bulk3");
}
END_TEST

/* No more than the share of the memory that is for them; a worker's own is in the place of its last one. */
START_TEST(what_workers_say_of_their_tools_does_not_fill_the_memory)
{
	start_with_bodies(800); /* a body is 100 here */
	bench_worker(&bench, W, "tool:a", 1);
	bench_worker(&bench, W + 1, "tool:a", 1);
	bench_worker(&bench, W + 2, "tool:b", 1);
	ck_assert_uint_eq(
	    bench_expect(&bench, W + 2, MSG_ERROR, NULL)->header.code, CODE_LIMIT);
	bench_worker(&bench, W, "tool:a", 1);
	bench_expect(&bench, W, MSG_WELCOME, NULL);
	bench_unreachable(&bench, W + 1);
	bench_worker(&bench, W + 2, "tool:b", 1);
	bench_expect(&bench, W + 2, MSG_WELCOME, NULL);
}
END_TEST

/* The worker is never idle, and its one service always has calls of the first priority. */
START_TEST(a_service_of_lower_priority_is_served_beside_a_busy_one)
{
	char id[16], next[16];
	int i, served = -1;

	bench_worker(&bench, W, "tool:a tool:b", 1);
	send_for("f0", NULL, 0);
	send_for("f1", NULL, 0);
	bench_send(&bench, C,
	    (struct header){ .type = MSG_CALL,
		.call_id = "other",
		.service = "tool:b",
		.priority = 4 });
	for (i = 0; i < 100 && served == -1; i++) {
		snprintf(id, sizeof id, "f%d", i);
		snprintf(next, sizeof next, "f%d", i + 2);
		send_for(next, NULL, 0);
		bench_about(&bench, W, MSG_RESULT, id);
		if (bench_sent(&bench, W, MSG_CALL, "other") != NULL)
			served = i;
		else
			bench_expect(&bench, W, MSG_CALL, NULL);
	}
	ck_assert_int_ge(served, 10);
	ck_assert_int_le(served, 16);
}
END_TEST

START_TEST(a_full_queue_answers_busy_and_takes_the_call_later)
{
	struct core_options options = core_defaults;

	bench_end(&bench);
	options.session = "f";
	options.name = "b";
	options.queue_calls_max = 2;
	bench_start_with(&bench, &options);
	bench_coordinator(&bench, C);
	bench_call(&bench, C, "c1", "tool:a");
	bench_call(&bench, C, "c2", "tool:a");
	bench_call(&bench, C, "c3", "tool:a");
	ck_assert_uint_eq(
	    bench_expect(&bench, C, MSG_BUSY, "c3")->header.code, CODE_BUSY);
	ck_assert_uint_gt(
	    bench_sent(&bench, C, MSG_BUSY, "c3")->header.retry_after_ms, 0);
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_CALL_ACK, "c3"));
	ck_assert_uint_eq(core_count(bench.core, COUNTER_busy), 1);
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c3", "tool:a");
	bench_expect(&bench, C, MSG_CALL_ACK, "c3");
}
END_TEST

static void
expect_taken(const char *id, const char *tenant, bool is_taken)
{
	send_for(id, tenant, 2);
	bench_expect(&bench, C, is_taken ? MSG_CALL_ACK : MSG_BUSY, id);
}

START_TEST(a_tenant_that_fills_the_queue_keeps_no_other_out)
{
	struct core_options options = core_defaults;

	bench_end(&bench);
	options.session = "f";
	options.name = "b";
	options.queue_calls_max = 4;
	bench_start_with(&bench, &options);
	bench_coordinator(&bench, C);
	expect_taken("a1", "a", true);
	expect_taken("a2", "a", true);
	expect_taken("a3", "a", true);
	expect_taken("a4", "a", true);
	expect_taken("a5", "a", false);
	/* Its share: what it had, were all there is divided among those who wait. */
	expect_taken("b1", "b", true);
	expect_taken("b2", "b", true);
	expect_taken("b3", "b", false);
	expect_taken("n1", NULL, true);
	expect_taken("n2", NULL, false);
	expect_taken("c1", "c", true);
	/* Twice as many as may be are all there ever are. */
	expect_taken("d1", "d", false);
	expect_order("a1 b1 n1 c1 a2 b2 a3 a4");
}
END_TEST

START_TEST(too_many_bytes_in_bodies_answer_busy)
{
	start_with_bodies(250); /* a body is 100 here */
	bench_call(&bench, C, "c1", "tool:a");
	bench_call(&bench, C, "c2", "tool:a");
	bench_call(&bench, C, "c3", "tool:a");
	ck_assert_uint_eq(
	    bench_expect(&bench, C, MSG_BUSY, "c3")->header.code, CODE_LIMIT);
}
END_TEST

/* Nor are results that nobody asked for a way to fill the memory. Their worker keeps them. */
START_TEST(too_many_bytes_in_bodies_adopt_no_result)
{
	start_with_bodies(450); /* a body is 100 here, the worker's catalog, too */
	bench_worker(&bench, W, "tool:a", 1);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_about(&bench, W, MSG_RESULT, "c2");
	bench_about(&bench, W, MSG_RESULT, "c4");
	bench_about(&bench, W, MSG_RESULT, "c5");
	bench_about(&bench, W, MSG_RESULT, "c3");
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_RESULT_ACK, "c3"));
	ck_assert_uint_lt(core_calls(bench.core, CALL_KEPT), 5);
	bench_flagged(&bench, C, "c1", WIRE_RESEND);
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
	bench_about(&bench, C, MSG_RESULT_ACK, "c1");
	bench_about(&bench, W, MSG_RESULT, "c3"); /* again: there is room by now */
	bench_flagged(&bench, C, "c3", WIRE_RESEND);
	bench_expect_outcome(&bench, C, "c3", CODE_OK);
}
END_TEST

/* --- deadlines ------------------------------------------------------------------------ */

START_TEST(a_call_nobody_serves_waits_for_its_deadline_and_names_the_nearest)
{
	const struct action *result;

	bench_worker(&bench, W, "tool:search", 1);
	bench_call(&bench, C, "c1", "tool:serach");
	bench_pass(&bench, 59000);
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_RESULT, "c1"));
	bench_pass(&bench, 1100);
	bench_expect_outcome(&bench, C, "c1", CODE_NOT_SERVED);
	result = bench_sent(&bench, C, MSG_RESULT, "c1");
	ck_assert_ptr_nonnull(strstr(result->header.reason, "tool:serach"));
	ck_assert_ptr_nonnull(strstr(result->header.reason, "tool:search"));
}
END_TEST

START_TEST(a_call_whose_workers_had_no_room_in_time_expires)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_flagged(&bench, C, "c0", 0);
	bench_call(&bench, C, "c1", "tool:a");
	bench_unreachable(&bench, W); /* c0 goes back to the queue, before c1 */
	bench_pass(&bench, 60100);
	bench_expect_outcome(&bench, C, "c0", CODE_EXPIRED);
	bench_expect_outcome(&bench, C, "c1", CODE_EXPIRED);
}
END_TEST

START_TEST(a_call_that_waits_is_given_to_the_worker_that_comes)
{
	bench_call(&bench, C, "c1", "tool:a");
	bench_pass(&bench, 30000);
	bench_worker(&bench, W, "tool:a", 1);
	/* The worker is told what is left. */
	ck_assert_uint_le(
	    bench_expect(&bench, W, MSG_CALL, "c1")->header.deadline_ms, 30000);
}
END_TEST

START_TEST(a_late_call_is_cancelled_and_expires_when_its_worker_stays_silent_on_it)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_about(&bench, W, MSG_CALL_ACK, "c1");
	bench_pass(&bench, 60000);
	ck_assert_uint_eq(
	    bench_expect(&bench, W, MSG_CANCEL, "c1")->header.code, CODE_EXPIRED);
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_RESULT, "c1"));
	bench_pass(&bench, EXPIRE_GRACE_MS + 100);
	bench_expect_outcome(&bench, C, "c1", CODE_EXPIRED);
	/* Its slot is not free until the worker says so. */
	bench_call(&bench, C, "c2", "tool:a");
	bench_expect_calls(&bench, CALL_QUEUED, 1);
	/* When it answers at last, it is told to forget as soon as the outcome is settled. */
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_about(&bench, C, MSG_RESULT_ACK, "c1");
	bench_expect(&bench, W, MSG_RESULT_ACK, "c1");
	bench_send(&bench, W, (struct header){ .type = MSG_CREDIT, .credit = 1 });
	bench_expect(&bench, W, MSG_CALL, "c2");
}
END_TEST

START_TEST(a_late_answer_within_the_grace_is_the_outcome)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_pass(&bench, 60100);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
}
END_TEST

TCase *
tcase_broker_core(void)
{
	TCase *tcase = tcase_create("broker_core");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_call_goes_to_a_worker_and_its_result_comes_back);
	tcase_add_test(tcase, a_worker_never_gets_more_than_its_free_slots);
	tcase_add_test(tcase, credit_counts_what_is_under_way_to_the_worker);
	tcase_add_test(tcase, a_report_of_more_room_lets_waiting_calls_out);
	tcase_add_test(tcase, the_worker_with_most_room_is_next_and_equals_take_turns);
	tcase_add_test(tcase, a_service_may_have_fewer_slots_than_its_worker);
	tcase_add_test(tcase, a_worker_with_room_serves_its_services_in_turn);
	tcase_add_test(tcase, the_first_priority_goes_first);
	tcase_add_test(tcase, tenants_take_turns_whatever_their_backlog);
	tcase_add_test(tcase, the_last_priority_is_served_every_sixteenth_time);
	tcase_add_test(tcase, no_priority_waits_for_ever_between_two_others);
	tcase_add_test(tcase, what_workers_say_of_their_tools_does_not_fill_the_memory);
	tcase_add_test(tcase, a_service_of_lower_priority_is_served_beside_a_busy_one);
	tcase_add_test(tcase, a_full_queue_answers_busy_and_takes_the_call_later);
	tcase_add_test(tcase, a_tenant_that_fills_the_queue_keeps_no_other_out);
	tcase_add_test(tcase, too_many_bytes_in_bodies_answer_busy);
	tcase_add_test(tcase, too_many_bytes_in_bodies_adopt_no_result);
	tcase_add_test(
	    tcase, a_call_nobody_serves_waits_for_its_deadline_and_names_the_nearest);
	tcase_add_test(tcase, a_call_whose_workers_had_no_room_in_time_expires);
	tcase_add_test(tcase, a_call_that_waits_is_given_to_the_worker_that_comes);
	tcase_add_test(tcase,
	    a_late_call_is_cancelled_and_expires_when_its_worker_stays_silent_on_it);
	tcase_add_test(tcase, a_late_answer_within_the_grace_is_the_outcome);
	return tcase;
}
