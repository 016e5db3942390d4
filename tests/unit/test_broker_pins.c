/* Calls to one worker alone, one test a rule (broker/pins.c). */
#include <check.h>
#include <string.h>

#include "keyed_bench.h"

TCase *tcase_broker_pins(void);

/* Of the sessions that the bench gives C (1), W (11) and W2 (12). */
#define PIN_C "worker:00000000000000000000000000000001"
#define PIN_W "worker:0000000000000000000000000000000b"
#define PIN_W2 "worker:0000000000000000000000000000000c"

#define ENTRY_TOOLS                                                                      \
	"- {key: " KEY_W ", name: w, roles: [worker], services: [tools, \"tool:*\"]}\n"

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
flagged(const char *id, const char *service, unsigned flags)
{
	bench_send(&bench, C,
	    (struct header){
		.type = MSG_CALL, .call_id = id, .service = service, .flags = flags });
}

START_TEST(a_call_for_one_worker_goes_to_no_other)
{
	bench_worker(&bench, W, "tools " PIN_W, 1);
	bench_worker(&bench, W2, "tools " PIN_W2, 9);
	bench_call(&bench, C, "c1", PIN_W);
	bench_expect(&bench, W, MSG_CALL, "c1");
	/* Nor when that one has no room. */
	bench_call(&bench, C, "c2", PIN_W);
	ck_assert_ptr_null(bench_sent(&bench, 0, MSG_CALL, "c2"));
	bench_pass(&bench, UINT64_C(3) * SUSPECT_MS);
	ck_assert_ptr_null(bench_sent(&bench, 0, MSG_CALL, "c2"));
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_RESULT, "c2"));
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect(&bench, W, MSG_CALL, "c2");
}
END_TEST

START_TEST(a_worker_that_is_not_there_is_waited_for_and_then_lost)
{
	bench_worker(&bench, W2, "tools " PIN_W2, 9);
	bench_call(&bench, C, "c1", PIN_W);
	bench_expect(&bench, C, MSG_CALL_ACK, "c1");
	bench_pass(&bench, SUSPECT_MS - 200);
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_RESULT, "c1"));
	bench_pass(&bench, 300);
	bench_expect_outcome(&bench, C, "c1", CODE_WORKER_LOST);
	ck_assert_str_eq(bench_expect(&bench, C, MSG_RESULT, "c1")->header.reason,
	    "the worker that it was for is gone");
	ck_assert_uint_eq(core_count(bench.core, COUNTER_lost), 1);
}
END_TEST

/* Who is there but keeps nothing will not serve it either, nor who is no worker at all. */
START_TEST(who_does_not_serve_it_is_not_there)
{
	bench_worker(&bench, W, "tools", 1);
	bench_call(&bench, C, "c1", PIN_W);
	bench_call(&bench, C, "c2", PIN_C);
	bench_pass(&bench, SUSPECT_MS - 200);
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_RESULT, "c1"));
	bench_pass(&bench, 300);
	bench_expect_outcome(&bench, C, "c1", CODE_WORKER_LOST);
	bench_expect_outcome(&bench, C, "c2", CODE_WORKER_LOST);
}
END_TEST

START_TEST(a_worker_that_comes_in_time_gets_it)
{
	bench_call(&bench, C, "c1", PIN_W);
	bench_pass(&bench, SUSPECT_MS - 200);
	bench_worker(&bench, W, "tools " PIN_W, 1);
	bench_expect(&bench, W, MSG_CALL, "c1");
	/* The process that begins anew is another one. */
	bench_call(&bench, C, "c2", PIN_W);
	bench_worker_as(&bench, W, W2, "tools " PIN_W2, 9);
	ck_assert_ptr_null(bench_sent(&bench, 0, MSG_CALL, "c2"));
	bench_pass(&bench, UINT64_C(2) * SUSPECT_MS + 100);
	ck_assert_ptr_null(bench_sent(&bench, 0, MSG_CALL, "c2"));
	bench_expect_outcome(&bench, C, "c2", CODE_WORKER_LOST);
}
END_TEST

START_TEST(a_call_that_may_run_twice_is_lost_with_its_worker_all_the_same)
{
	bench_worker(&bench, W, "tools " PIN_W, 1);
	bench_worker(&bench, W2, "tools " PIN_W2, 1);
	bench_call(&bench, C, "c1", PIN_W);
	bench_about(&bench, W, MSG_CALL_ACK, "c1");
	bench_unreachable(&bench, W);
	ck_assert_ptr_null(bench_sent(&bench, W2, MSG_CALL, "c1"));
	bench_pass(&bench, SUSPECT_MS + 100);
	bench_expect_outcome(&bench, C, "c1", CODE_WORKER_LOST);
}
END_TEST

START_TEST(a_call_that_must_not_run_twice_is_lost_at_once)
{
	bench_worker(&bench, W, "tools " PIN_W, 1);
	flagged("c1", PIN_W, WIRE_ONCE);
	bench_unreachable(&bench, W);
	bench_expect_outcome(&bench, C, "c1", CODE_WORKER_LOST);
}
END_TEST

START_TEST(a_worker_that_drains_comes_no_more)
{
	bench_worker(&bench, W, "tools " PIN_W, 1);
	bench_send(&bench, W, (struct header){ .type = MSG_DRAIN });
	bench_call(&bench, C, "c1", PIN_W);
	bench_pass(&bench, 100);
	bench_expect_outcome(&bench, C, "c1", CODE_WORKER_LOST);
	ck_assert_str_eq(bench_expect(&bench, C, MSG_RESULT, "c1")->header.reason,
	    "the worker that it was for is leaving");
}
END_TEST

/* Who went long ago is not waited for; of who went just now it is what is left of the time. */
START_TEST(the_wait_begins_when_the_worker_goes)
{
	bench_worker(&bench, W, "tools " PIN_W, 1);
	bench_unreachable(&bench, W);
	bench_pass(&bench, SUSPECT_MS - 1000);
	bench_call(&bench, C, "c1", PIN_W);
	bench_pass(&bench, 900);
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_RESULT, "c1"));
	bench_pass(&bench, 200);
	bench_expect_outcome(&bench, C, "c1", CODE_WORKER_LOST);
	bench_call(&bench, C, "c2", PIN_W);
	bench_pass(&bench, 100);
	bench_expect_outcome(&bench, C, "c2", CODE_WORKER_LOST);
	/* It is back, and goes again. */
	bench_worker(&bench, W, "tools " PIN_W, 1);
	bench_call(&bench, C, "c3", PIN_W);
	bench_expect(&bench, W, MSG_CALL, "c3");
	bench_about(&bench, W, MSG_RESULT, "c3");
	bench_unreachable(&bench, W);
	bench_call(&bench, C, "c4", PIN_W);
	bench_pass(&bench, SUSPECT_MS - 200);
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_RESULT, "c4"));
}
END_TEST

/* Also for what had waited for room until then. */
START_TEST(what_waited_for_room_waits_for_the_worker)
{
	bench_worker(&bench, W, "tools " PIN_W, 1);
	bench_call(&bench, C, "c1", PIN_W);
	bench_expect(&bench, W, MSG_CALL, "c1");
	bench_call(&bench, C, "c2", PIN_W);
	bench_pass(&bench, SUSPECT_MS - 200);
	bench_unreachable(&bench, W);
	bench_pass(&bench, 1000);
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_RESULT, "c2"));
	bench_pass(&bench, SUSPECT_MS - 1100);
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_RESULT, "c2"));
	bench_pass(&bench, 300);
	bench_expect_outcome(&bench, C, "c2", CODE_WORKER_LOST);
}
END_TEST

START_TEST(who_said_bye_is_not_waited_for)
{
	bench_worker(&bench, W, "tools " PIN_W, 1);
	bench_send(&bench, W, (struct header){ .type = MSG_BYE });
	bench_call(&bench, C, "c1", PIN_W);
	bench_pass(&bench, 100);
	bench_expect_outcome(&bench, C, "c1", CODE_WORKER_LOST);
}
END_TEST

START_TEST(a_deadline_and_a_cancel_end_the_wait)
{
	bench_call(&bench, C, "c1", PIN_W);
	bench_about(&bench, C, MSG_CANCEL, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_CANCELLED);
	bench_send(&bench, C,
	    (struct header){ .type = MSG_CALL,
		.call_id = "c2",
		.service = PIN_W,
		.deadline_ms = 1000 });
	bench_pass(&bench, 1100);
	bench_expect_outcome(&bench, C, "c2", CODE_NOT_SERVED);
}
END_TEST

START_TEST(nobody_offers_the_pin_of_another)
{
	const struct action *action;

	bench_worker(&bench, W2, "tools " PIN_W, 9);
	action = bench_expect(&bench, W2, MSG_ERROR, NULL);
	ck_assert_uint_eq(action->header.code, CODE_DENIED);
	bench_worker(&bench, W, "tools " PIN_W, 1);
	bench_call(&bench, C, "c1", PIN_W);
	bench_expect(&bench, W, MSG_CALL, "c1");
}
END_TEST

/* A key that may serve, or call, `tools` needs nothing more. */
START_TEST(of_a_key_a_pin_is_tools)
{
	teardown();
	keyed_setup();
	bench_worker(&bench, W, "tool:a " PIN_W, 1);
	keyed_expect_denied(W, "serve " PIN_W);
	keyed_allow("keys:\n" ENTRY_C ENTRY_TOOLS);
	bench_worker(&bench, W, "tool:a " PIN_W, 1);
	bench_call(&bench, C, "c1", PIN_W);
	bench_expect(&bench, W, MSG_CALL, "c1");
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
}
END_TEST

/* What came by another broker, maybe: only the one it was for can answer it. */
START_TEST(nobody_answers_for_another)
{
	teardown();
	keyed_setup();
	keyed_allow("keys:\n" ENTRY_C ENTRY_TOOLS "- {key: " KEY_W2
		    ", name: w2, roles: [worker], services: [tools]}\n");
	bench_worker(&bench, W, "tools " PIN_W, 1);
	bench_worker(&bench, W2, "tools " PIN_W2, 1);
	flagged("c1", PIN_W, WIRE_RESEND);
	bench_about(&bench, W2, MSG_RESULT, "c1");
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_RESULT, "c1"));
	bench_pass(&bench, SEEK_MS + 100);
	bench_expect(&bench, W, MSG_CALL, "c1");
}
END_TEST

TCase *
tcase_broker_pins(void)
{
	TCase *tcase = tcase_create("broker_pins");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_call_for_one_worker_goes_to_no_other);
	tcase_add_test(tcase, a_worker_that_is_not_there_is_waited_for_and_then_lost);
	tcase_add_test(tcase, who_does_not_serve_it_is_not_there);
	tcase_add_test(tcase, a_worker_that_comes_in_time_gets_it);
	tcase_add_test(
	    tcase, a_call_that_may_run_twice_is_lost_with_its_worker_all_the_same);
	tcase_add_test(tcase, a_call_that_must_not_run_twice_is_lost_at_once);
	tcase_add_test(tcase, a_worker_that_drains_comes_no_more);
	tcase_add_test(tcase, the_wait_begins_when_the_worker_goes);
	tcase_add_test(tcase, what_waited_for_room_waits_for_the_worker);
	tcase_add_test(tcase, who_said_bye_is_not_waited_for);
	tcase_add_test(tcase, a_deadline_and_a_cancel_end_the_wait);
	tcase_add_test(tcase, nobody_offers_the_pin_of_another);
	tcase_add_test(tcase, of_a_key_a_pin_is_tools);
	tcase_add_test(tcase, nobody_answers_for_another);
	return tcase;
}
