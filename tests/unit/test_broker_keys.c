/* Which sessions a key opens, and what ends them, one test a rule. */
#include <check.h>

#include "keyed_bench.h"

TCase *tcase_broker_keys(void);

/* --- sessions --------------------------------------------------------------------------- */

START_TEST(a_key_opens_a_session_of_its_role)
{
	bench_expect(&bench, C, MSG_WELCOME, NULL);
	bench_worker(&bench, W, "tool:a tool:b", 1);
	bench_expect(&bench, W, MSG_WELCOME, NULL);
}
END_TEST

START_TEST(a_role_that_the_key_has_not_is_named)
{
	bench_coordinator(&bench, W);
	keyed_expect_denied(W, "the role coordinator");
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_WELCOME, NULL));
}
END_TEST

START_TEST(a_service_that_the_key_may_not_serve_is_named)
{
	bench_worker(&bench, W, "tool:a model:openai", 1);
	keyed_expect_denied(W, "to serve model:openai");
}
END_TEST

START_TEST(a_later_hello_cannot_serve_more)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_worker(&bench, W, "tool:a tools", 1);
	keyed_expect_denied(W, "to serve tools");
	bench_call(&bench, C, "c1", "tool:a");
	bench_expect(&bench, W, MSG_CALL, "c1"); /* what it had stays */
}
END_TEST

START_TEST(an_unknown_key_is_told_so)
{
	bench.keys[X] = "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz";
	bench_worker(&bench, X, "tool:a", 1);
	keyed_expect_denied(X, "not on the broker's allow list");
	bench.keys[X] = NULL;
	bench_worker(&bench, X, "tool:a", 1);
	keyed_expect_denied(X, "not on the broker's allow list");
}
END_TEST

START_TEST(a_session_cannot_be_stolen_with_another_key)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_worker_as(&bench, W2, W, "tool:a", 1);
	keyed_expect_denied(W2, "belongs to another key");
	bench_send(&bench, C, (struct header){ .type = MSG_CANCEL, .call_id = "c1" });
	bench_expect(&bench, W, MSG_CANCEL, "c1"); /* not to the thief */
}
END_TEST

START_TEST(a_session_moves_to_a_new_connection_of_its_own_key)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench.keys[20] = KEY_W;
	bench_worker_as(&bench, 20, W, "tool:a", 1);
	bench_expect(&bench, 20, MSG_WELCOME, NULL);
}
END_TEST

START_TEST(a_key_has_no_more_sessions_than_it_may)
{
	bench.keys[14] = bench.keys[15] = KEY_W;
	bench_worker(&bench, W, "tool:a", 1);
	bench_worker(&bench, 14, "tool:a", 1);
	bench_worker(&bench, 15, "tool:a", 1);
	ck_assert_uint_eq(
	    bench_expect(&bench, 15, MSG_ERROR, NULL)->header.code, CODE_LIMIT);
	bench_about(&bench, 14, MSG_BYE, NULL);
	bench_worker(&bench, 15, "tool:a", 1);
	bench_expect(&bench, 15, MSG_WELCOME, NULL);
}
END_TEST

/* --- revocation -------------------------------------------------------------------------- */

START_TEST(a_revoked_keys_calls_go_to_others)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_about(&bench, W, MSG_CALL_ACK, "c1");
	bench_worker(&bench, W2, "tool:a", 1);
	keyed_allow("keys:\n" ENTRY_C ENTRY_W2);
	keyed_expect_denied(W, "not on the broker's allow list");
	ck_assert_uint_eq(bench_expect(&bench, W2, MSG_CALL, "c1")->header.attempt, 2);
	/* All that comes later by its connection is a stranger's. */
	bench_about(&bench, W, MSG_RESULT, "c1");
	ck_assert_uint_eq(
	    bench_expect(&bench, W, MSG_ERROR, "c1")->header.code, CODE_NO_SESSION);
	bench_worker(&bench, W, "tool:a", 1);
	keyed_expect_denied(W, "not on the broker's allow list");
	bench_about(&bench, W2, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
}
END_TEST

START_TEST(who_is_still_on_the_list_notices_nothing)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	keyed_allow(ALL);
	ck_assert_uint_eq(bench.actions.count, 0);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
}
END_TEST

START_TEST(a_key_that_may_serve_less_than_it_does_begins_anew)
{
	bench_worker(&bench, W, "tool:a tool:b", 1);
	keyed_allow("keys:\n" ENTRY_C "- {key: " KEY_W
		    ", name: w, roles: [worker], services: [\"tool:a\"]}\n");
	keyed_expect_denied(W, "to serve tool:b");
	bench_worker(&bench, W, "tool:a", 1);
	bench_expect(&bench, W, MSG_WELCOME, NULL);
}
END_TEST

START_TEST(each_that_is_turned_away_hears_its_own_reason)
{
	bench_worker(&bench, W, "tool:a tool:b", 1);
	bench_worker(&bench, X, "model:x", 1);
	keyed_allow("keys:\n" ENTRY_C "- {key: " KEY_W
		    ", name: w, roles: [worker], services: [\"tool:a\"]}\n"
		    "- {key: " KEY_OTHER
		    ", name: x, roles: [worker], services: [\"model:y\"]}\n");
	keyed_expect_denied(W, "to serve tool:b");
	keyed_expect_denied(X, "to serve model:x");
}
END_TEST

TCase *
tcase_broker_keys(void)
{
	TCase *tcase = tcase_create("broker_keys");

	tcase_add_checked_fixture(tcase, keyed_setup, keyed_teardown);
	tcase_add_test(tcase, a_key_opens_a_session_of_its_role);
	tcase_add_test(tcase, a_role_that_the_key_has_not_is_named);
	tcase_add_test(tcase, a_service_that_the_key_may_not_serve_is_named);
	tcase_add_test(tcase, a_later_hello_cannot_serve_more);
	tcase_add_test(tcase, an_unknown_key_is_told_so);
	tcase_add_test(tcase, a_session_cannot_be_stolen_with_another_key);
	tcase_add_test(tcase, a_session_moves_to_a_new_connection_of_its_own_key);
	tcase_add_test(tcase, a_key_has_no_more_sessions_than_it_may);
	tcase_add_test(tcase, a_revoked_keys_calls_go_to_others);
	tcase_add_test(tcase, who_is_still_on_the_list_notices_nothing);
	tcase_add_test(tcase, a_key_that_may_serve_less_than_it_does_begins_anew);
	tcase_add_test(tcase, each_that_is_turned_away_hears_its_own_reason);
	return tcase;
}
