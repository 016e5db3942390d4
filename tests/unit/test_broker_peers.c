/* The broker's rules on peers: sessions, liveness, loss, recovery; one test a rule. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "broker_bench.h"

TCase *tcase_broker_peers(void);

#define C 1 /* coordinators */
#define C2 2
#define L 5  /* a client */
#define W 11 /* workers */
#define W2 12
#define W3 13

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

/* A broker that was started just now: its recovery window is open. */
static void
restart(void)
{
	struct core_options options = core_defaults;

	bench_end(&bench);
	options.session = "ffffffffffffffffffffffffffffffff";
	options.name = "broker-2";
	bench_start_with(&bench, &options);
	bench_coordinator(&bench, C);
}

static void
send_flagged(const char *id, unsigned flags)
{
	bench_send(&bench, C,
	    (struct header){ .type = MSG_CALL,
		.flags = flags,
		.call_id = id,
		.service = "tool:a",
		.deadline_ms = 60000 });
}

static void
expect_outcome(uint64_t peer, const char *id, enum wire_code code)
{
	const struct action *result = bench_expect(&bench, peer, MSG_RESULT, id);

	ck_assert_str_eq(
	    wire_code_name((unsigned)result->header.code), wire_code_name(code));
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

/* --- sessions ------------------------------------------------------------------------- */

START_TEST(hello_is_welcomed_with_the_terms)
{
	const struct header *welcome;

	bench_coordinator(&bench, C2);
	welcome = &bench_expect(&bench, C2, MSG_WELCOME, NULL)->header;
	ck_assert_uint_eq(welcome->protocol_max, WIRE_VERSION);
	ck_assert_uint_eq(welcome->heartbeat_ms, HEARTBEAT_MS);
	ck_assert_uint_eq(welcome->liveness_ms, LIVENESS_MS);
	ck_assert_str_eq(welcome->session, "0123456789abcdef0123456789abcdef");
}
END_TEST

START_TEST(who_speaks_no_common_version_is_turned_away)
{
	bench_send(&bench, C2,
	    (struct header){ .type = MSG_HELLO,
		.session = "00000000000000000000000000000abc",
		.name = "future",
		.role = ROLE_COORDINATOR,
		.protocol_min = WIRE_VERSION + 1,
		.protocol_max = WIRE_VERSION + 3 });
	ck_assert_uint_eq(
	    bench_expect(&bench, C2, MSG_ERROR, NULL)->header.code, CODE_VERSION);
	ck_assert_uint_eq(
	    bench_sent(&bench, C2, MSG_ERROR, NULL)->header.protocol_max, WIRE_VERSION);
	bench_about(&bench, C2, MSG_PING, NULL);
	ck_assert_uint_eq(
	    bench_expect(&bench, C2, MSG_ERROR, NULL)->header.code, CODE_NO_SESSION);
}
END_TEST

START_TEST(who_has_not_said_hello_is_asked_to)
{
	bench_call(&bench, 7, "c1", "tool:a");
	ck_assert_uint_eq(
	    bench_expect(&bench, 7, MSG_ERROR, "c1")->header.code, CODE_NO_SESSION);
	ck_assert_uint_eq(core_count(bench.core, COUNTER_accepted), 0);
}
END_TEST

START_TEST(a_worker_on_a_new_connection_keeps_its_calls)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_about(&bench, W, MSG_CALL_ACK, "c1");
	bench_silence(&bench, W);
	bench_worker_as(&bench, W2, W, "tool:a", 0);
	bench_expect(&bench, W2, MSG_WELCOME, NULL);
	ck_assert_ptr_null(noticed("up"));
	bench_announce(&bench, W2, "c1", CALL_RUNNING);
	bench_expect_calls(&bench, CALL_ASSIGNED, 1);
	bench_about(&bench, W2, MSG_RESULT, "c1");
	expect_outcome(C, "c1", CODE_OK);
	bench_call(&bench, C, "c2", "tool:a");
	bench_expect(&bench, W2, MSG_CALL, "c2"); /* the slot is free */
	bench_about(&bench, W, MSG_PONG, NULL);
	ck_assert_uint_eq(
	    bench_expect(&bench, W, MSG_ERROR, NULL)->header.code, CODE_NO_SESSION);
}
END_TEST

START_TEST(slots_are_counted_right_when_an_acknowledgement_got_lost)
{
	bench_worker(&bench, W, "tool:a", 2);
	bench_call(&bench, C, "c1", "tool:a");
	/* It runs there, but its CALL_ACK went down with the connection. */
	bench_silence(&bench, W);
	bench_worker_as(&bench, W2, W, "tool:a", 1);
	bench_announce(&bench, W2, "c1", CALL_RUNNING);
	bench_call(&bench, C, "c2", "tool:a");
	bench_expect(&bench, W2, MSG_CALL, "c2");
	bench_call(&bench, C, "c3", "tool:a");
	bench_expect_calls(&bench, CALL_QUEUED, 1);
}
END_TEST

START_TEST(a_session_cannot_change_its_role)
{
	bench_worker_as(&bench, 9, C, "tool:a", 1);
	ck_assert_uint_eq(
	    bench_expect(&bench, 9, MSG_ERROR, NULL)->header.code, CODE_DENIED);
}
END_TEST

START_TEST(a_message_of_another_role_is_refused)
{
	bench_about(&bench, C, MSG_RESULT, "c1");
	ck_assert_uint_eq(
	    bench_expect(&bench, C, MSG_ERROR, "c1")->header.code, CODE_DENIED);
	bench_worker(&bench, W, "tool:a", 1);
	bench_about(&bench, W, MSG_WELCOME, NULL); /* only brokers say that */
	bench_expect(&bench, W, MSG_ERROR, NULL);
	ck_assert_uint_eq(core_count(bench.core, COUNTER_protocol_errors), 2);
}
END_TEST

START_TEST(a_peer_that_breaks_the_protocol_too_often_is_dropped)
{
	unsigned i;

	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	for (i = 0; i < PROTOCOL_ERRORS_MAX; i++) {
		ck_assert_ptr_null(bench_sent(&bench, C, MSG_WITHDRAW, NULL));
		bench_refused(&bench, W);
		bench_expect(&bench, W, MSG_ERROR, NULL);
	}
	bench_expect(&bench, C, MSG_WITHDRAW, NULL);
	bench_expect_calls(&bench, CALL_QUEUED, 1);
	bench_silence(&bench, W);
}
END_TEST

START_TEST(garbage_of_a_stranger_changes_nothing)
{
	unsigned i;

	for (i = 0; i < 100; i++)
		bench_refused(&bench, 1000 + i);
	bench_expect(&bench, 1099, MSG_ERROR, NULL);
	bench_coordinator(&bench, C2);
	bench_expect(&bench, C2, MSG_WELCOME, NULL);
}
END_TEST

/* --- liveness ------------------------------------------------------------------------- */

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

START_TEST(a_call_that_must_not_run_twice_ends_with_its_worker)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_worker(&bench, W2, "tool:a", 1);
	send_flagged("c1", WIRE_ONCE);
	bench_unreachable(&bench, W);
	expect_outcome(C, "c1", CODE_WORKER_LOST);
	ck_assert_ptr_nonnull(
	    strstr(bench_sent(&bench, C, MSG_RESULT, "c1")->header.reason, "w11"));
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
	expect_outcome(C, "c1", CODE_POISON);
}
END_TEST

START_TEST(a_worker_taken_for_dead_that_comes_back_is_told_to_stop)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_unreachable(&bench, W);
	bench_worker(&bench, W2, "tool:a", 1);
	bench_expect(&bench, W2, MSG_CALL, "c1");
	bench_worker(&bench, W, "tool:a", 0);
	bench_announce(&bench, W, "c1", CALL_RUNNING);
	bench_expect(&bench, W, MSG_CANCEL, "c1");
	/* Its failure is its own; the call goes on where it is. */
	bench_send(&bench, W,
	    (struct header){
		.type = MSG_RESULT, .call_id = "c1", .code = CODE_CANCELLED });
	bench_expect(&bench, W, MSG_RESULT_ACK, "c1");
	bench_expect_calls(&bench, CALL_ASSIGNED, 1);
	bench_about(&bench, W2, MSG_RESULT, "c1");
	expect_outcome(C, "c1", CODE_OK);
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
	expect_outcome(C, "c1", CODE_OK);
}
END_TEST

START_TEST(a_good_answer_is_good_from_whom_it_may_come)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_unreachable(&bench, W);
	bench_worker(&bench, W2, "tool:a", 1);
	bench_expect(&bench, W2, MSG_CALL, "c1");
	bench_worker(&bench, W, "tool:a", 1);
	bench_about(&bench, W, MSG_RESULT, "c1");
	expect_outcome(C, "c1", CODE_OK);
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

/* --- giving back ---------------------------------------------------------------------- */

START_TEST(a_call_given_back_costs_no_attempt)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_worker(&bench, W2, "tool:a", 1);
	bench_about(&bench, W, MSG_DRAIN, NULL);
	bench_about(&bench, W, MSG_RELEASE, "c1");
	ck_assert_uint_eq(bench_expect(&bench, W2, MSG_CALL, "c1")->header.attempt, 1);
}
END_TEST

START_TEST(a_busy_worker_gets_nothing_until_it_reports_room)
{
	bench_worker(&bench, W, "tool:a", 2);
	bench_call(&bench, C, "c1", "tool:a");
	bench_about(&bench, W, MSG_BUSY, "c1");
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_CALL, NULL));
	bench_expect_calls(&bench, CALL_QUEUED, 1);
	bench_send(&bench, W, (struct header){ .type = MSG_CREDIT, .credit = 1 });
	ck_assert_uint_eq(bench_expect(&bench, W, MSG_CALL, "c1")->header.attempt, 1);
}
END_TEST

START_TEST(a_draining_worker_gets_no_calls_and_finishes_those_it_has)
{
	bench_worker(&bench, W, "tool:a", 2);
	bench_call(&bench, C, "c1", "tool:a");
	bench_about(&bench, W, MSG_DRAIN, NULL);
	bench_call(&bench, C, "c2", "tool:a");
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_CALL, NULL));
	bench_about(&bench, W, MSG_RESULT, "c1");
	expect_outcome(C, "c1", CODE_OK);
	bench_about(&bench, W, MSG_BYE, NULL);
	bench_expect(&bench, C, MSG_WITHDRAW, NULL);
	bench_silence(&bench, W);
	ck_assert_uint_eq(core_count(bench.core, COUNTER_sessions_lost), 0);
}
END_TEST

START_TEST(a_worker_that_says_hello_again_drains_no_more)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_about(&bench, W, MSG_DRAIN, NULL);
	bench_call(&bench, C, "c1", "tool:a");
	bench_expect_calls(&bench, CALL_QUEUED, 1);
	bench_worker(&bench, W, "tool:a", 1);
	bench_expect(&bench, W, MSG_CALL, "c1");
}
END_TEST

/* --- recovery ------------------------------------------------------------------------- */

START_TEST(a_new_broker_holds_flagged_calls_for_announcements_and_sends_fresh_ones)
{
	restart();
	bench_worker(&bench, W, "tool:a", 2);
	send_flagged("old", WIRE_RESEND);
	bench_expect(&bench, C, MSG_CALL_ACK, "old");
	send_flagged("new", 0);
	bench_expect(&bench, W, MSG_CALL, "new");
	bench_expect_calls(&bench, CALL_HELD, 1);
	bench_worker(&bench, W2, "tool:a", 0);
	bench_announce(&bench, W2, "old", CALL_RUNNING);
	bench_expect_calls(&bench, CALL_HELD, 0);
	bench_pass(&bench, RECOVERY_MS + LIVENESS_MS);
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_CALL, "old"));
	bench_about(&bench, W2, MSG_RESULT, "old");
	expect_outcome(C, "old", CODE_OK);
}
END_TEST

START_TEST(a_held_call_that_nobody_announces_runs_when_the_window_ends)
{
	restart();
	bench_worker(&bench, W, "tool:a", 1);
	send_flagged("c1", WIRE_RESEND);
	bench_pass(&bench, RECOVERY_MS - 100);
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_CALL, NULL));
	bench_pass(&bench, 200);
	bench_expect(&bench, W, MSG_CALL, "c1");
}
END_TEST

START_TEST(a_held_call_that_must_not_run_twice_and_is_known_nowhere_is_lost)
{
	restart();
	bench_worker(&bench, W, "tool:a", 1);
	send_flagged("c1", WIRE_RESEND | WIRE_ONCE);
	bench_pass(&bench, RECOVERY_MS + 100);
	ck_assert_ptr_null(
	    bench_sent(&bench, C, MSG_RESULT, "c1")); /* longer than others */
	bench_pass(&bench, LIVENESS_MS);
	expect_outcome(C, "c1", CODE_WORKER_LOST);
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_CALL, NULL));
}
END_TEST

START_TEST(a_flagged_call_that_must_not_run_twice_is_lost_at_once_later_on)
{
	bench_worker(&bench, W, "tool:a", 1);
	send_flagged("c1", WIRE_RESEND | WIRE_ONCE);
	expect_outcome(C, "c1", CODE_WORKER_LOST);
}
END_TEST

START_TEST(an_announced_call_is_met_by_its_call_later)
{
	restart();
	bench_worker(&bench, W, "tool:a", 0);
	bench_announce(&bench, W, "c1", CALL_RUNNING);
	bench_expect_calls(&bench, CALL_ASSIGNED, 1);
	send_flagged("c1", WIRE_RESEND);
	bench_expect(&bench, C, MSG_CALL_ACK, "c1");
	bench_expect_calls(&bench, CALL_HELD, 0);
	bench_about(&bench, W, MSG_RESULT, "c1");
	expect_outcome(C, "c1", CODE_OK);
	ck_assert_uint_eq(core_count(bench.core, COUNTER_dispatched), 0);
	bench_call(&bench, C, "c2", "tool:a");
	bench_expect(&bench, W, MSG_CALL, "c2"); /* its slot is ours now */
}
END_TEST

START_TEST(an_announced_call_that_was_asked_for_runs_elsewhere_when_its_worker_dies)
{
	restart();
	bench_worker(&bench, W, "tool:a", 0);
	bench_announce(&bench, W, "c1", CALL_RUNNING);
	bench_announce(&bench, W, "c2", CALL_RUNNING);
	send_flagged("c1", WIRE_RESEND);
	bench_worker(&bench, W2, "tool:a", 2);
	bench_unreachable(&bench, W);
	bench_expect(&bench, W2, MSG_CALL, "c1");
	/* Nobody has asked for c2: when somebody does, it is new. */
	ck_assert_uint_eq(core_count(bench.core, COUNTER_dropped), 1);
	send_flagged("c2", 0);
	bench_expect(&bench, W2, MSG_CALL, "c2");
}
END_TEST

START_TEST(a_finished_call_is_not_sent_out_between_its_announcement_and_its_result)
{
	restart();
	bench_worker(&bench, W2, "tool:a", 1);
	send_flagged("c1", WIRE_RESEND);
	bench_worker(&bench, W, "tool:a", 0);
	bench_announce(&bench, W, "c1", CALL_FINISHED);
	bench_pass(&bench, RECOVERY_MS + 100);
	ck_assert_ptr_null(bench_sent(&bench, W2, MSG_CALL, NULL));
	bench_about(&bench, W, MSG_RESULT, "c1");
	expect_outcome(C, "c1", CODE_OK);
	bench_call(&bench, C, "c2", "tool:a");
	bench_call(&bench, C, "c3", "tool:a");
	bench_expect_calls(
	    &bench, CALL_QUEUED, 1); /* it held no slot: none became free */
}
END_TEST

START_TEST(a_result_that_comes_before_its_call_is_kept_for_it)
{
	restart();
	bench_worker(&bench, W, "tool:a", 1);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_calls(&bench, CALL_KEPT, 1);
	send_flagged("c1", WIRE_RESEND);
	expect_outcome(C, "c1", CODE_OK);
	ck_assert_ptr_nonnull(bench_sent(&bench, C, MSG_RESULT, "c1")->body);
	bench_about(&bench, C, MSG_RESULT_ACK, "c1");
	bench_expect(&bench, W, MSG_RESULT_ACK, "c1");
}
END_TEST

START_TEST(an_outcome_stored_before_the_restart_is_forgotten_by_its_worker)
{
	restart();
	bench_about(&bench, C, MSG_RESULT_ACK, "c1");
	bench_worker(&bench, W, "tool:a", 1);
	bench_announce(&bench, W, "c1", CALL_FINISHED);
	bench_expect(&bench, W, MSG_RESULT_ACK, "c1");
	bench_expect_calls(&bench, CALL_KEPT, 0);
}
END_TEST

START_TEST(a_cancel_in_the_recovery_window_waits_for_the_announcement)
{
	restart();
	bench_about(&bench, C, MSG_CANCEL, "c1");
	ck_assert_ptr_null(bench_sent(&bench, C, MSG_RESULT, NULL));
	bench_worker(&bench, W, "tool:a", 0);
	bench_announce(&bench, W, "c1", CALL_RUNNING);
	bench_about(&bench, C, MSG_CANCEL, "c1");
	bench_expect(&bench, W, MSG_CANCEL, "c1");
	bench_send(&bench, W,
	    (struct header){
		.type = MSG_RESULT, .call_id = "c1", .code = CODE_CANCELLED });
	expect_outcome(C, "c1", CODE_CANCELLED);
}
END_TEST

/* --- the fleet ------------------------------------------------------------------------ */

START_TEST(coordinators_are_told_who_serves_what)
{
	const struct action *offer;

	bench_worker(&bench, W, "tool:a tool:b", 3);
	offer = bench_expect(&bench, C, MSG_OFFER, NULL);
	ck_assert_uint_eq(offer->header.service_count, 2);
	ck_assert_str_eq(offer->header.name, "w11");
	ck_assert_ptr_nonnull(offer->body);
	ck_assert_ptr_nonnull(noticed("up"));
	bench_coordinator(&bench, C2);
	bench_expect(&bench, C2, MSG_OFFER, NULL);
	/* It serves something else from now on. */
	bench_worker(&bench, W, "tool:c", 3);
	ck_assert_uint_eq(
	    bench_expect(&bench, C, MSG_OFFER, NULL)->header.service_count, 1);
	bench_expect(&bench, C2, MSG_OFFER, NULL);
	bench_call(&bench, C, "c1", "tool:a");
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_CALL, NULL));
	bench_unreachable(&bench, W);
	bench_expect(&bench, C, MSG_WITHDRAW, NULL);
	bench_expect(&bench, C2, MSG_WITHDRAW, NULL);
	bench_coordinator(&bench, 3);
	ck_assert_ptr_null(bench_sent(&bench, 3, MSG_OFFER, NULL));
}
END_TEST

START_TEST(events_and_progress_are_published_with_their_bodies)
{
	bench_send(
	    &bench, C, (struct header){ .type = MSG_EVENT, .topic = "run.r1.step" });
	ck_assert_int_eq(bench.actions.items[0].type, ACTION_PUBLISH);
	ck_assert_str_eq(bench.actions.items[0].header.topic, "run.r1.step");
	ck_assert_ptr_nonnull(bench.actions.items[0].body);
	ck_assert_int_eq(bench.actions.items[1].type, ACTION_DROP);
	bench_worker(&bench, W, "tool:a", 1);
	bench_send(&bench, W,
	    (struct header){
		.type = MSG_PROGRESS, .call_id = "c1", .topic = "run.r1.token" });
	ck_assert_str_eq(bench.actions.items[0].header.topic, "run.r1.token");
	ck_assert_uint_eq(core_count(bench.core, COUNTER_published), 2);
}
END_TEST

START_TEST(a_worker_may_call_too)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_worker(&bench, W2, "model:x", 1);
	bench_call(&bench, W, "c1/m1", "model:x");
	bench_expect(&bench, W2, MSG_CALL, "c1/m1");
	bench_about(&bench, W2, MSG_RESULT, "c1/m1");
	expect_outcome(W, "c1/m1", CODE_OK);
	bench_unreachable(&bench, W);
	bench_expect_calls(&bench, CALL_KEPT, 1); /* for who runs c1 next */
}
END_TEST

START_TEST(a_leaving_broker_says_so_and_takes_no_new_calls)
{
	struct actions actions;

	bench_worker(&bench, W, "tool:a", 1);
	actions =
	    core_step(bench.core, &(struct event){ .type = EVENT_LEAVE }, bench.now_ms);
	ck_assert_uint_eq(actions.count, 2);
	ck_assert_int_eq(actions.items[0].header.type, MSG_GOAWAY);
	bench_call(&bench, C, "c1", "tool:a");
	bench_expect(&bench, C, MSG_BUSY, "c1");
}
END_TEST

START_TEST(stats_tell_the_tables)
{
	struct arena *arena = arena_new();
	const struct value *stats, *row;

	bench_worker(&bench, W, "tool:a tool:b", 2);
	bench_call(&bench, C, "c1", "tool:a");
	bench_call(&bench, C, "c2", "tool:z");
	bench_about(&bench, C, MSG_STATS, NULL);
	ck_assert_int_eq(bench.actions.items[0].type, ACTION_STATS);
	stats = core_stats(bench.core, arena);
	ck_assert_str_eq(value_get_text(value_get(stats, "broker"), "name"), "broker-1");
	ck_assert_uint_eq(value_size(value_get(stats, "sessions")), 2);
	ck_assert_uint_eq(value_size(value_get(stats, "services")), 3);
	ck_assert_int_eq(value_get_int(value_get(stats, "calls"), "queued", -1), 1);
	ck_assert_int_eq(value_get_int(value_get(stats, "calls"), "assigned", -1), 1);
	ck_assert_int_eq(value_get_int(value_get(stats, "counters"), "accepted", -1), 2);
	row = value_at(value_get(stats, "sessions"), 0);
	if (!value_text_is(value_get(row, "role"), "worker"))
		row = value_at(value_get(stats, "sessions"), 1);
	ck_assert_int_eq(value_get_int(row, "load", -1), 1);
	ck_assert_int_eq(value_get_int(row, "room", -1), 1);
	arena_destroy(&arena);
}
END_TEST

TCase *
tcase_broker_peers(void)
{
	TCase *tcase = tcase_create("broker_peers");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, hello_is_welcomed_with_the_terms);
	tcase_add_test(tcase, who_speaks_no_common_version_is_turned_away);
	tcase_add_test(tcase, who_has_not_said_hello_is_asked_to);
	tcase_add_test(tcase, a_worker_on_a_new_connection_keeps_its_calls);
	tcase_add_test(tcase, slots_are_counted_right_when_an_acknowledgement_got_lost);
	tcase_add_test(tcase, a_session_cannot_change_its_role);
	tcase_add_test(tcase, a_message_of_another_role_is_refused);
	tcase_add_test(tcase, a_peer_that_breaks_the_protocol_too_often_is_dropped);
	tcase_add_test(tcase, garbage_of_a_stranger_changes_nothing);
	tcase_add_test(tcase, a_silent_worker_is_dead_and_its_calls_run_elsewhere_first);
	tcase_add_test(tcase, any_frame_counts_as_life);
	tcase_add_test(tcase, after_a_gap_of_our_own_everybody_gets_grace);
	tcase_add_test(tcase, the_broker_speaks_when_it_was_silent);
	tcase_add_test(tcase, an_unreachable_worker_is_lost_at_once);
	tcase_add_test(tcase, a_call_that_must_not_run_twice_ends_with_its_worker);
	tcase_add_test(tcase, a_call_that_takes_five_workers_down_is_poison);
	tcase_add_test(tcase, a_worker_taken_for_dead_that_comes_back_is_told_to_stop);
	tcase_add_test(tcase, a_worker_that_comes_back_takes_its_call_out_of_the_queue);
	tcase_add_test(tcase, a_good_answer_is_good_from_whom_it_may_come);
	tcase_add_test(tcase, a_call_given_back_costs_no_attempt);
	tcase_add_test(tcase, a_busy_worker_gets_nothing_until_it_reports_room);
	tcase_add_test(tcase, a_draining_worker_gets_no_calls_and_finishes_those_it_has);
	tcase_add_test(tcase, a_worker_that_says_hello_again_drains_no_more);
	tcase_add_test(tcase,
	    a_new_broker_holds_flagged_calls_for_announcements_and_sends_fresh_ones);
	tcase_add_test(
	    tcase, a_held_call_that_nobody_announces_runs_when_the_window_ends);
	tcase_add_test(
	    tcase, a_held_call_that_must_not_run_twice_and_is_known_nowhere_is_lost);
	tcase_add_test(
	    tcase, a_flagged_call_that_must_not_run_twice_is_lost_at_once_later_on);
	tcase_add_test(tcase, an_announced_call_is_met_by_its_call_later);
	tcase_add_test(tcase,
	    an_announced_call_that_was_asked_for_runs_elsewhere_when_its_worker_dies);
	tcase_add_test(tcase,
	    a_finished_call_is_not_sent_out_between_its_announcement_and_its_result);
	tcase_add_test(tcase, a_result_that_comes_before_its_call_is_kept_for_it);
	tcase_add_test(
	    tcase, an_outcome_stored_before_the_restart_is_forgotten_by_its_worker);
	tcase_add_test(tcase, a_cancel_in_the_recovery_window_waits_for_the_announcement);
	tcase_add_test(tcase, coordinators_are_told_who_serves_what);
	tcase_add_test(tcase, events_and_progress_are_published_with_their_bodies);
	tcase_add_test(tcase, a_worker_may_call_too);
	tcase_add_test(tcase, a_leaving_broker_says_so_and_takes_no_new_calls);
	tcase_add_test(tcase, stats_tell_the_tables);
	return tcase;
}
