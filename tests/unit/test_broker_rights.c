/* What a key allows, one test a rule. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "broker_bench.h"

#define C 1 /* coordinators */
#define C2 2
#define L 3  /* a client */
#define W 11 /* workers */
#define W2 12
#define X 13 /* whoever breaks the rule */

#define KEY_C "cccccccccccccccccccccccccccccccccccccccc"
#define KEY_ACME "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define KEY_L "llllllllllllllllllllllllllllllllllllllll"
#define KEY_W "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww"
#define KEY_W2 "vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv"
#define KEY_OTHER "oooooooooooooooooooooooooooooooooooooooo"

#define ENTRY_C "- {key: " KEY_C ", name: c, roles: [coordinator]}\n"
#define ENTRY_ACME                                                                       \
	"- {key: " KEY_ACME ", name: acme, roles: [coordinator], tenant: acme}\n"
#define ENTRY_L "- {key: " KEY_L ", name: l, roles: [client]}\n"
#define ENTRY_W                                                                          \
	"- {key: " KEY_W ", name: w, roles: [worker], services: [\"tool:*\"], "          \
	"sessions_max: 2}\n"
#define ENTRY_W2                                                                         \
	"- {key: " KEY_W2 ", name: w2, roles: [worker], services: [\"tool:*\"]}\n"
#define ENTRY_OTHER                                                                      \
	"- {key: " KEY_OTHER ", name: other, roles: [worker], services: "                \
	"[\"model:*\"], calls: [\"tool:b\"]}\n"
#define ALL "keys:\n" ENTRY_C ENTRY_ACME ENTRY_L ENTRY_W ENTRY_W2 ENTRY_OTHER

TCase *tcase_broker_rights(void);

static struct bench bench;
static struct arena *arena;
static struct rights_book *book;

/* The list of text is in force; the one before is forgotten. */
static void
allow(const char *text)
{
	const char *error;
	const struct allow_list *list =
	    allow_list_parse(arena, "allow.yaml", text, strlen(text), &error);
	struct rights_book *before = book;

	ck_assert_msg(list != NULL, "%s", error);
	book = rights_book_new(list, 7);
	bench_rights(&bench, book);
	rights_book_destroy(&before);
}

static void
take_keys(void)
{
	bench.keys[C] = KEY_C;
	bench.keys[C2] = KEY_ACME;
	bench.keys[L] = KEY_L;
	bench.keys[W] = KEY_W;
	bench.keys[W2] = KEY_W2;
	bench.keys[X] = KEY_OTHER;
}

static void
setup(void)
{
	arena = arena_new();
	book = NULL;
	bench_start(&bench);
	take_keys();
	allow(ALL);
	bench_coordinator(&bench, C);
}

static void
teardown(void)
{
	bench_end(&bench);
	rights_book_destroy(&book);
	arena_destroy(&arena);
}

/* A broker that was started just now: its recovery window is open. */
static void
restart(void)
{
	struct core_options options = core_defaults;

	bench_end(&bench);
	options.session = "ffffffffffffffffffffffffffffffff";
	options.name = "broker-2";
	bench_start_with(&bench, &options);
	take_keys();
	allow(ALL);
	bench_coordinator(&bench, C);
}

static void
expect_denied(uint64_t peer, const char *words)
{
	const struct header *error = &bench_expect(&bench, peer, MSG_ERROR, NULL)->header;

	ck_assert_str_eq(wire_code_name((unsigned)error->code), "DENIED");
	ck_assert_msg(strstr(error->reason, words) != NULL, "%s", error->reason);
}

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
	expect_denied(W, "the role coordinator");
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_WELCOME, NULL));
}
END_TEST

START_TEST(a_service_that_the_key_may_not_serve_is_named)
{
	bench_worker(&bench, W, "tool:a model:openai", 1);
	expect_denied(W, "to serve model:openai");
}
END_TEST

START_TEST(a_later_hello_cannot_serve_more)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_worker(&bench, W, "tool:a tools", 1);
	expect_denied(W, "to serve tools");
	bench_call(&bench, C, "c1", "tool:a");
	bench_expect(&bench, W, MSG_CALL, "c1"); /* what it had stays */
}
END_TEST

START_TEST(an_unknown_key_is_told_so)
{
	bench.keys[X] = "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz";
	bench_worker(&bench, X, "tool:a", 1);
	expect_denied(X, "not on the broker's allow list");
	bench.keys[X] = NULL;
	bench_worker(&bench, X, "tool:a", 1);
	expect_denied(X, "not on the broker's allow list");
}
END_TEST

START_TEST(a_session_cannot_be_stolen_with_another_key)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_worker_as(&bench, W2, W, "tool:a", 1);
	expect_denied(W2, "belongs to another key");
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
	allow("keys:\n" ENTRY_C ENTRY_W2);
	expect_denied(W, "not on the broker's allow list");
	ck_assert_uint_eq(bench_expect(&bench, W2, MSG_CALL, "c1")->header.attempt, 2);
	/* All that comes later by its connection is a stranger's. */
	bench_about(&bench, W, MSG_RESULT, "c1");
	ck_assert_uint_eq(
	    bench_expect(&bench, W, MSG_ERROR, "c1")->header.code, CODE_NO_SESSION);
	bench_worker(&bench, W, "tool:a", 1);
	expect_denied(W, "not on the broker's allow list");
	bench_about(&bench, W2, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
}
END_TEST

START_TEST(who_is_still_on_the_list_notices_nothing)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	allow(ALL);
	ck_assert_uint_eq(bench.actions.count, 0);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
}
END_TEST

START_TEST(a_key_that_may_serve_less_than_it_does_begins_anew)
{
	bench_worker(&bench, W, "tool:a tool:b", 1);
	allow("keys:\n" ENTRY_C "- {key: " KEY_W
	      ", name: w, roles: [worker], services: [\"tool:a\"]}\n");
	expect_denied(W, "to serve tool:b");
	bench_worker(&bench, W, "tool:a", 1);
	bench_expect(&bench, W, MSG_WELCOME, NULL);
}
END_TEST

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
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_unreachable(&bench, W);
	bench_worker(&bench, W2, "tool:a", 1);
	bench_expect(&bench, W2, MSG_CALL, "c1");
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
	restart();
	bench_worker(&bench, X, "model:x", 1);
	bench_worker(&bench, W, "tool:a", 1);
	bench_announce(&bench, X, "c1", CALL_RUNNING);
	bench_about(&bench, X, MSG_RESULT, "c2");
	bench_announce(&bench, W, "c3", CALL_RUNNING);
	bench_flagged(&bench, C, "c1", WIRE_RESEND);
	bench_expect(&bench, X, MSG_RESULT_ACK, "c1"); /* forget it */
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

/* --- the status channel ------------------------------------------------------------------------ */

START_TEST(topics_are_bound_to_role_name_and_call)
{
	bench_worker(&bench, W, "tool:a", 1);
	event(W, "worker.w11.stuck");
	ck_assert_str_eq(published(), "worker.w11.stuck");
	event(W, "worker.w12.stuck");
	ck_assert_str_eq(published(), "");
	expect_denied(W, "worker.w12.stuck");
	event(W, "worker.w11.");
	ck_assert_str_eq(published(), "");
	event(W, "run.r1.finished");
	ck_assert_str_eq(published(), "");
	event(C, "run.r1.finished");
	ck_assert_str_eq(published(), "run.r1.finished");
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
	expect_denied(W, "not a message for this role");
}
END_TEST

TCase *
tcase_broker_rights(void)
{
	TCase *tcase = tcase_create("broker_rights");

	tcase_add_checked_fixture(tcase, setup, teardown);
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
	tcase_add_test(
	    tcase, a_worker_calls_what_its_key_allows_and_inside_of_its_call_only);
	tcase_add_test(tcase, a_worker_cannot_draw_a_coordinators_outcome_away);
	tcase_add_test(tcase, a_runs_slash_makes_no_call_a_workers);
	tcase_add_test(tcase, a_worker_cannot_settle_what_is_not_called_yet);
	tcase_add_test(
	    tcase, a_worker_may_say_that_its_result_was_stored_by_another_broker);
	tcase_add_test(tcase, calls_count_to_the_keys_tenant);
	tcase_add_test(tcase, a_worker_cannot_answer_anothers_call);
	tcase_add_test(tcase, a_worker_cannot_take_a_waiting_call_by_announcing_it);
	tcase_add_test(tcase, who_had_the_call_before_may_still_answer);
	tcase_add_test(
	    tcase, a_call_that_was_sent_before_is_answered_by_who_may_serve_it);
	tcase_add_test(tcase, after_a_restart_only_who_may_serve_a_call_is_believed);
	tcase_add_test(tcase, topics_are_bound_to_role_name_and_call);
	tcase_add_test(tcase, progress_is_of_a_call_at_hand_and_of_its_run);
	tcase_add_test(tcase, the_tables_are_for_clients_and_coordinators);
	return tcase;
}
