/* The broker's rules on its peers, one test a rule. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "broker_bench.h"
#include "json.h"

#define C 1 /* coordinators */
#define C2 2
#define W 11 /* workers */
#define W2 12

TCase *tcase_broker_peers(void);

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
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
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

START_TEST(a_finished_call_whose_result_is_still_to_come_is_no_slot_more)
{
	bench_worker(&bench, W, "tool:a", 2);
	bench_call(&bench, C, "c1", "tool:a");
	bench_about(&bench, W, MSG_CALL_ACK, "c1");
	bench_call(&bench, C, "c2", "tool:a");
	bench_about(&bench, W, MSG_CALL_ACK, "c2");
	bench_call(&bench, C, "c3", "tool:a");
	bench_call(&bench, C, "c4", "tool:a");
	/* c1 has ended there, and its RESULT went down with a connection: it comes again. */
	bench_send(
	    &bench, W, (struct header){ .type = MSG_PING, .credit = 1, .capacity = 2 });
	bench_expect_calls(&bench, CALL_ASSIGNED, 2);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_calls(&bench, CALL_ASSIGNED, 2);
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

/* That one may have begun it, and calls of its own may be anywhere. */
START_TEST(a_call_given_back_goes_out_flagged)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	ck_assert_uint_eq(bench_expect(&bench, W, MSG_CALL, "c1")->header.flags, 0);
	bench_worker(&bench, W2, "tool:a", 1);
	bench_about(&bench, W, MSG_DRAIN, NULL);
	bench_about(&bench, W, MSG_RELEASE, "c1");
	ck_assert_uint_eq(
	    bench_expect(&bench, W2, MSG_CALL, "c1")->header.flags, WIRE_RESEND);
}
END_TEST

START_TEST(one_that_was_not_taken_does_not)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_worker(&bench, W2, "tool:a", 1);
	bench_about(&bench, W, MSG_BUSY, "c1");
	ck_assert_uint_eq(bench_expect(&bench, W2, MSG_CALL, "c1")->header.flags, 0);
}
END_TEST

/* Its worker had not begun it, else it would not give it back. Were it flagged, a call of its own
 * that must not run twice either would be looked for in vain, and end as lost. */
START_TEST(nor_does_one_that_must_not_run_twice)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_flagged(&bench, C, "c1", WIRE_ONCE);
	bench_worker(&bench, W2, "tool:a", 1);
	bench_about(&bench, W, MSG_RELEASE, "c1");
	ck_assert_uint_eq(
	    bench_expect(&bench, W2, MSG_CALL, "c1")->header.flags, WIRE_ONCE);
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
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
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

/* What it had has ended meanwhile: it announces that, and each result frees a slot. */
START_TEST(a_draining_worker_that_connects_again_still_drains)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_call(&bench, C, "c1", "tool:a");
	bench_about(&bench, W, MSG_CALL_ACK, "c1");
	bench_about(&bench, W, MSG_DRAIN, NULL);
	bench_call(&bench, C, "c2", "tool:a");
	bench_worker(&bench, W, "tool:a", 0);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_CALL, NULL));
	bench_expect_calls(&bench, CALL_QUEUED, 1);
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
	bench_send(&bench, C,
	    (struct header){
		.type = MSG_CALL, .call_id = "c1", .run = "r1", .service = "tool:a" });
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
	bench_expect_outcome(&bench, W, "c1/m1", CODE_OK);
	bench_unreachable(&bench, W);
	bench_expect_calls(&bench, CALL_KEPT, 1); /* for who runs c1 next */
}
END_TEST

START_TEST(a_leaving_broker_says_so_and_takes_no_new_calls)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_leave(&bench, 1000);
	bench_expect(&bench, W, MSG_GOAWAY, NULL);
	bench_expect(&bench, C, MSG_GOAWAY, NULL);
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

/* How many took at most bound_ms, more than the bound before, and how long all took together. */
static void
expect_spread(
    const char *what, const char *kind, int64_t bound_ms, int64_t count, int64_t sum_ms)
{
	struct arena *arena = arena_new();
	const struct value *times = value_get(core_stats(bench.core, arena), "times");
	const struct value *spread = value_get(value_get(times, what), kind);
	const struct value *bounds = value_get(times, "bounds_ms");
	const struct value *counts = value_get(spread, "counts");
	int64_t all = 0, there = 0;
	size_t i;

	ck_assert_uint_eq(value_size(counts), value_size(bounds) + 1);
	for (i = 0; i < value_size(counts); i++) {
		all += value_at(counts, i)->integer;
		if (i < value_size(bounds) && value_at(bounds, i)->integer == bound_ms)
			there = value_at(counts, i)->integer;
	}
	ck_assert_msg(all == count && there == count &&
			  value_get_int(spread, "sum_ms", -1) == sum_ms,
	    "%s %s", what, json_text(arena, spread));
	arena_destroy(&arena);
}

START_TEST(stats_tell_how_long_calls_waited_and_ran)
{
	bench_call(&bench, C, "c1", "tool:a");
	expect_spread("waited", "tool", 500, 0, 0);
	bench_pass(&bench, 300);
	bench_worker(&bench, W, "tool:a", 1);
	bench_expect(&bench, W, MSG_CALL, "c1");
	expect_spread("waited", "tool", 500, 1, 300);
	bench_about(&bench, W, MSG_CALL_ACK, "c1");
	bench_pass(&bench, 2000);
	expect_spread("ran", "tool", 2500, 0, 0);
	bench_about(&bench, W, MSG_RESULT, "c1");
	expect_spread("ran", "tool", 2500, 1, 2000);
	expect_spread("waited", "tool", 500, 1, 300);
	expect_spread("ran", "model", 2500, 0, 0);
}
END_TEST

/* It has waited once, and ran at the worker that has answered. */
START_TEST(a_call_that_moves_has_waited_once)
{
	bench_call_moves(&bench, C, W, W2);
	bench_about(&bench, W2, MSG_CALL_ACK, "c1");
	bench_pass(&bench, 100);
	bench_about(&bench, W2, MSG_RESULT, "c1");
	expect_spread("waited", "tool", 5, 1, 0);
	expect_spread("ran", "tool", 100, 1, 100);
}
END_TEST

/* Nobody knows since when a worker has a call of before our time. */
START_TEST(what_a_worker_had_already_is_not_measured)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_announce(&bench, W, "c1", CALL_RUNNING);
	bench_flagged(&bench, C, "c1", WIRE_RESEND);
	bench_pass(&bench, 100);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
	expect_spread("waited", "tool", 5, 0, 0);
	expect_spread("ran", "tool", 100, 0, 0);
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
	tcase_add_test(
	    tcase, a_finished_call_whose_result_is_still_to_come_is_no_slot_more);
	tcase_add_test(tcase, a_session_cannot_change_its_role);
	tcase_add_test(tcase, a_message_of_another_role_is_refused);
	tcase_add_test(tcase, a_peer_that_breaks_the_protocol_too_often_is_dropped);
	tcase_add_test(tcase, garbage_of_a_stranger_changes_nothing);
	tcase_add_test(tcase, a_call_given_back_costs_no_attempt);
	tcase_add_test(tcase, a_call_given_back_goes_out_flagged);
	tcase_add_test(tcase, one_that_was_not_taken_does_not);
	tcase_add_test(tcase, nor_does_one_that_must_not_run_twice);
	tcase_add_test(tcase, a_busy_worker_gets_nothing_until_it_reports_room);
	tcase_add_test(tcase, a_draining_worker_gets_no_calls_and_finishes_those_it_has);
	tcase_add_test(tcase, a_worker_that_says_hello_again_drains_no_more);
	tcase_add_test(tcase, a_draining_worker_that_connects_again_still_drains);
	tcase_add_test(tcase, coordinators_are_told_who_serves_what);
	tcase_add_test(tcase, events_and_progress_are_published_with_their_bodies);
	tcase_add_test(tcase, a_worker_may_call_too);
	tcase_add_test(tcase, a_leaving_broker_says_so_and_takes_no_new_calls);
	tcase_add_test(tcase, stats_tell_the_tables);
	tcase_add_test(tcase, stats_tell_how_long_calls_waited_and_ran);
	tcase_add_test(tcase, a_call_that_moves_has_waited_once);
	tcase_add_test(tcase, what_a_worker_had_already_is_not_measured);
	return tcase;
}
