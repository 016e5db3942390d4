/* What a session may do by its key, one test a rule. */
#include <check.h>

#include "keyed_bench.h"

TCase *tcase_broker_rights(void);

/* --- calls ---------------------------------------------------------------------------------- */

START_TEST(a_worker_calls_what_its_key_allows_and_inside_of_its_call_only)
{
	bench_worker(&bench, X, "model:x", 1);
	bench_call(&bench, C, "r.1.0", "model:x");
	bench_call(&bench, X, "r.1.0/m1", "tool:b");
	bench_expect(&bench, X, MSG_CALL_ACK, "r.1.0/m1");
	bench_call(&bench, X, "r.1.0/m2", "tool:a");
	bench_expect_outcome(&bench, X, "r.1.0/m2", CODE_DENIED);
	bench_call(&bench, X, "free", "tool:b");
	bench_expect_outcome(&bench, X, "free", CODE_DENIED);
	/* Of a call that is another's it makes none either. */
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "r.1.1", "tool:a");
	bench_call(&bench, X, "r.1.1/m1", "tool:b");
	bench_expect_outcome(&bench, X, "r.1.1/m1", CODE_DENIED);
}
END_TEST

START_TEST(a_worker_cannot_draw_a_coordinators_outcome_away)
{
	bench_worker(&bench, W, "tool:b", 1);
	bench_worker(&bench, X, "model:x", 1);
	bench_call(&bench, C, "r.1.0", "tool:b");
	bench_send(&bench, X,
	    (struct header){ .type = MSG_CALL,
		.call_id = "r.1.0",
		.service = "tool:b",
		.epoch = 1000 });
	bench_expect_outcome(&bench, X, "r.1.0", CODE_DENIED);
	bench_about(&bench, X, MSG_CANCEL, "r.1.0");
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_CANCEL, "r.1.0"));
	bench_about(&bench, W, MSG_RESULT, "r.1.0");
	bench_expect_outcome(&bench, C, "r.1.0", CODE_OK);
	bench_about(&bench, X, MSG_RESULT_ACK, "r.1.0");
	bench_expect_calls(&bench, CALL_KEPT, 1);
	bench_about(&bench, C, MSG_RESULT_ACK, "r.1.0");
	bench_expect_calls(&bench, CALL_KEPT, 0);
}
END_TEST

/* Of a run's own id no call is known: that must not make its calls a worker's. */
START_TEST(a_runs_slash_makes_no_call_a_workers)
{
	bench_worker(&bench, W, "tool:b", 1);
	bench_worker(&bench, X, "model:x", 1);
	bench_call(&bench, C, "team/r.1.0", "tool:b");
	bench_about(&bench, X, MSG_CANCEL, "team/r.1.0");
	bench_expect_outcome(&bench, X, "team/r.1.0", CODE_DENIED);
	bench_call(&bench, X, "team/r.1.0", "tool:b");
	bench_expect_outcome(&bench, X, "team/r.1.0", CODE_DENIED);
	bench_about(&bench, X, MSG_RESULT_ACK, "team/r.1.0");
	bench_expect_calls(&bench, CALL_ASSIGNED, 1);
	/* Nor one that its coordinator has not called yet. */
	bench_call(&bench, X, "team/r.1.1", "tool:b");
	bench_expect_outcome(&bench, X, "team/r.1.1", CODE_DENIED);
}
END_TEST

START_TEST(a_worker_cannot_settle_what_is_not_called_yet)
{
	bench_worker(&bench, W, "tool:b", 1);
	bench_about(&bench, W, MSG_RESULT_ACK, "r.1.0");
	bench_call(&bench, C, "r.1.0", "tool:b");
	bench_expect(&bench, W, MSG_CALL, "r.1.0");
}
END_TEST

START_TEST(a_worker_may_say_that_its_result_was_stored_by_another_broker)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_announce(&bench, W, "c1", CALL_RUNNING);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_calls(&bench, CALL_KEPT, 1);
	bench_about(&bench, W, MSG_RESULT_ACK, "c1");
	bench_expect_calls(&bench, CALL_KEPT, 0);
}
END_TEST

START_TEST(calls_count_to_the_keys_tenant)
{
	bench_worker(&bench, W, "tool:a", 2);
	bench_coordinator(&bench, C2);
	bench_call(&bench, C2, "c1", "tool:a");
	ck_assert_str_eq(bench_expect(&bench, W, MSG_CALL, "c1")->header.tenant, "acme");
	bench_send(&bench, C2,
	    (struct header){ .type = MSG_CALL,
		.call_id = "c2",
		.service = "tool:a",
		.tenant = "other" });
	bench_expect_outcome(&bench, C2, "c2", CODE_DENIED);
	/* Nor does it touch what is another tenant's. */
	bench_call(&bench, C, "c3", "tool:a");
	bench_about(&bench, C2, MSG_CANCEL, "c3");
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_CANCEL, "c3"));
	bench_call(&bench, C2, "c3", "tool:a");
	bench_expect_outcome(&bench, C2, "c3", CODE_DENIED);
}
END_TEST

/* The list names `tools` alone. */
START_TEST(who_may_serve_or_call_tools_may_wraps_as_well)
{
	keyed_allow("keys:\n" ENTRY_C ENTRY_W2 "- {key: " KEY_W
		    ", name: w, roles: [worker], services: [tools]}\n"
		    "- {key: " KEY_OTHER ", name: o, roles: [worker], services: "
		    "[\"model:*\"], calls: [tools]}\n");
	bench_worker(&bench, W, "tools wraps", 2);
	bench_expect(&bench, W, MSG_WELCOME, NULL);
	bench_worker(&bench, W2, "tool:a wraps", 1);
	keyed_expect_denied(W2, "to serve wraps");
	bench_worker(&bench, W2, "tool:a", 1);
	bench_call(&bench, C, "r.1.0", "tool:a");
	bench_call(&bench, W2, "r.1.0/t1", "wraps");
	bench_expect_outcome(&bench, W2, "r.1.0/t1", CODE_DENIED);
	bench_worker(&bench, X, "model:x", 1);
	bench_call(&bench, C, "r.1.1", "model:x");
	bench_call(&bench, X, "r.1.1/t1", "wraps");
	bench_expect(&bench, W, MSG_CALL, "r.1.1/t1");
}
END_TEST

/* --- answers ---------------------------------------------------------------------------------- */

START_TEST(a_worker_cannot_answer_anothers_call)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_worker(&bench, W2, "tool:a", 1);
	bench_about(&bench, W2, MSG_RESULT, "c1");
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_RESULT, "c1"));
	bench_announce(&bench, W2, "c1", CALL_RUNNING);
	bench_expect(&bench, W2, MSG_CANCEL, "c1");
	bench_announce(&bench, W2, "c1", CALL_FINISHED);
	bench_expect(&bench, W2, MSG_RESULT_ACK, "c1");
	bench_expect_calls(&bench, CALL_ASSIGNED, 1);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
}
END_TEST

START_TEST(a_worker_cannot_take_a_waiting_call_by_announcing_it)
{
	bench_call(&bench, C, "c1", "tool:a");
	bench_worker(&bench, W2, "tool:b", 1);
	bench_announce(&bench, W2, "c1", CALL_RUNNING);
	bench_expect(&bench, W2, MSG_CANCEL, "c1");
	bench_expect_calls(&bench, CALL_QUEUED, 1);
}
END_TEST

START_TEST(who_had_the_call_before_may_still_answer)
{
	bench_call_moves(&bench, C, W, W2);
	bench_worker(&bench, W, "tool:a", 1);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
}
END_TEST

/* It may have come to the worker by another broker: its services decide. */
START_TEST(a_call_that_was_sent_before_is_answered_by_who_may_serve_it)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_worker(&bench, W2, "tool:b", 1);
	bench_worker(&bench, X, "model:x", 1);
	bench_flagged(&bench, C, "c1", WIRE_RESEND);
	bench_about(&bench, X, MSG_RESULT, "c1");
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_RESULT, "c1"));
	bench_about(&bench, W2, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
}
END_TEST

START_TEST(after_a_restart_only_who_may_serve_a_call_is_believed)
{
	keyed_restart();
	bench_worker(&bench, X, "model:x", 1);
	bench_worker(&bench, W, "tool:a", 1);
	bench_announce(&bench, X, "c1", CALL_RUNNING);
	bench_about(&bench, X, MSG_RESULT, "c2");
	bench_announce(&bench, W, "c3", CALL_RUNNING);
	bench_flagged(&bench, C, "c1", WIRE_RESEND);
	bench_expect(&bench, X, MSG_CANCEL, "c1"); /* forget it */
	bench_flagged(&bench, C, "c2", WIRE_RESEND);
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_RESULT, "c2"));
	bench_flagged(&bench, C, "c3", WIRE_RESEND);
	bench_expect(&bench, C, MSG_CALL_ACK, "c3");
	bench_about(&bench, W, MSG_RESULT, "c3");
	bench_expect_outcome(&bench, C, "c3", CODE_OK);
	bench_pass(&bench, RECOVERY_MS + 100);
	bench_expect(&bench, W, MSG_CALL, "c1");
}
END_TEST

/* Nor is the call over for what a liar said of it before it came: it goes out as if it were new, which
 * matters for one that must not run twice. */
START_TEST(who_lies_of_a_call_that_is_to_come_does_not_hold_it_up)
{
	bench_worker(&bench, X, "model:x", 2);
	bench_worker(&bench, W, "tool:a", 2);
	bench_announce(&bench, X, "c1", CALL_RUNNING);
	bench_about(&bench, X, MSG_RESULT, "c2");
	bench_flagged(&bench, C, "c1", WIRE_ONCE);
	bench_expect(&bench, W, MSG_CALL, "c1");
	ck_assert_uint_eq(
	    bench_expect(&bench, X, MSG_CANCEL, "c1")->header.code, CODE_WORKER_LOST);
	bench_flagged(&bench, C, "c2", WIRE_ONCE);
	bench_expect(&bench, W, MSG_CALL, "c2");
	bench_expect(&bench, X, MSG_RESULT_ACK, "c2");
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
}
END_TEST

/* --- the status channel ------------------------------------------------------------------------ */

static void
event(uint64_t peer, const char *topic)
{
	bench_send(&bench, peer, (struct header){ .type = MSG_EVENT, .topic = topic });
}

static const char *
published(void)
{
	for (size_t i = 0; i < bench.actions.count; i++)
		if (bench.actions.items[i].type == ACTION_PUBLISH)
			return bench.actions.items[i].header.topic;
	return "";
}

START_TEST(topics_are_bound_to_role_name_and_call)
{
	bench_worker(&bench, W, "tool:a", 1);
	event(W, "worker.w11.stuck");
	ck_assert_str_eq(published(), "worker.w11.stuck");
	event(W, "worker.w12.stuck");
	ck_assert_str_eq(published(), "");
	keyed_expect_denied(W, "worker.w12.stuck");
	event(W, "worker.w11.");
	ck_assert_str_eq(published(), "");
	event(W, "run.r1.finished");
	ck_assert_str_eq(published(), "");
	event(C, "run.r1.finished");
	ck_assert_str_eq(published(), "run.r1.finished");
	event(W, "ended.r1");
	ck_assert_str_eq(published(), "");
	event(C, "ended.r1");
	ck_assert_str_eq(published(), "ended.r1");
	event(C, "coordinator.w1.drains");
	ck_assert_str_eq(published(), "coordinator.w1.drains");
	event(C, "broker.broker-1.ends");
	ck_assert_str_eq(published(), "");
}
END_TEST

static void
progress(uint64_t peer, const char *id, const char *topic)
{
	bench_send(&bench, peer,
	    (struct header){ .type = MSG_PROGRESS, .call_id = id, .topic = topic });
}

START_TEST(progress_is_of_a_call_at_hand_and_of_its_run)
{
	bench_worker(&bench, W, "tool:a", 2);
	bench_send(&bench, C,
	    (struct header){
		.type = MSG_CALL, .call_id = "c1", .run = "r1", .service = "tool:a" });
	progress(W, "c1", "run.r1.token");
	ck_assert_str_eq(published(), "run.r1.token");
	progress(W, "c1", "run.r2.token");
	ck_assert_str_eq(published(), "");
	progress(W, "c2", "run.r1.token");
	ck_assert_str_eq(published(), "");
	progress(W, "c1", "run.r1.finished");
	progress(W, "c1", "run.r1.more.finished");
	ck_assert_str_eq(published(), "");
	progress(W, "c1", "run.r1.finishing");
	ck_assert_str_eq(published(), "run.r1.finishing");
	bench_worker(&bench, W2, "tool:a", 2);
	progress(W2, "c1", "run.r1.token");
	ck_assert_str_eq(published(), "");
	/* Too late is no mistake: nobody is told off. */
	ck_assert_ptr_null(bench_sent(&bench, W2, MSG_ERROR, NULL));
}
END_TEST

START_TEST(the_tables_are_for_clients_and_coordinators)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_about(&bench, W, MSG_STATS, NULL);
	keyed_expect_denied(W, "not a message for this role");
}
END_TEST

TCase *
tcase_broker_rights(void)
{
	TCase *tcase = tcase_create("broker_rights");

	tcase_add_checked_fixture(tcase, keyed_setup, keyed_teardown);
	tcase_add_test(
	    tcase, a_worker_calls_what_its_key_allows_and_inside_of_its_call_only);
	tcase_add_test(tcase, a_worker_cannot_draw_a_coordinators_outcome_away);
	tcase_add_test(tcase, a_runs_slash_makes_no_call_a_workers);
	tcase_add_test(tcase, a_worker_cannot_settle_what_is_not_called_yet);
	tcase_add_test(
	    tcase, a_worker_may_say_that_its_result_was_stored_by_another_broker);
	tcase_add_test(tcase, calls_count_to_the_keys_tenant);
	tcase_add_test(tcase, who_may_serve_or_call_tools_may_wraps_as_well);
	tcase_add_test(tcase, a_worker_cannot_answer_anothers_call);
	tcase_add_test(tcase, a_worker_cannot_take_a_waiting_call_by_announcing_it);
	tcase_add_test(tcase, who_had_the_call_before_may_still_answer);
	tcase_add_test(
	    tcase, a_call_that_was_sent_before_is_answered_by_who_may_serve_it);
	tcase_add_test(tcase, after_a_restart_only_who_may_serve_a_call_is_believed);
	tcase_add_test(tcase, who_lies_of_a_call_that_is_to_come_does_not_hold_it_up);
	tcase_add_test(tcase, topics_are_bound_to_role_name_and_call);
	tcase_add_test(tcase, progress_is_of_a_call_at_hand_and_of_its_run);
	tcase_add_test(tcase, the_tables_are_for_clients_and_coordinators);
	return tcase;
}
