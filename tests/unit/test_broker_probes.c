/* The broker's rules on workers that are alive and do not move, one test a rule. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "broker_bench.h"

#define C 1 /* a coordinator */
#define L 3 /* a client */
#define W 11
#define W2 12

TCase *tcase_broker_probes(void);

static struct bench bench;
static struct arena *arena;

static void
setup(void)
{
	arena = arena_new();
	bench_start(&bench);
	bench_coordinator(&bench, C);
}

static void
teardown(void)
{
	bench_end(&bench);
	arena_destroy(&arena);
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

static void
answer_probe(uint64_t peer)
{
	const struct action *probe = bench_expect(&bench, peer, MSG_PROBE, NULL);

	bench_about(&bench, peer, MSG_PROBE, probe->header.call_id);
}

static const struct value *
row_of(const char *name)
{
	const struct value *rows = value_get(core_stats(bench.core, arena), "sessions");
	size_t i;

	for (i = 0; i < value_size(rows); i++)
		if (value_text_is(value_get(value_at(rows, i), "name"), name))
			return value_at(rows, i);
	return NULL;
}

/* A worker with room whose first probe is not answered in time. */
static void
let_it_get_stuck(void)
{
	bench_probed_worker(&bench, W, "tool:a", 2);
	bench_expect(&bench, W, MSG_PROBE, NULL);
	bench_pass(&bench, PROBE_WAIT_MS);
	ck_assert_str_eq(noticed("stuck")->header.name, "w11");
}

START_TEST(a_worker_is_probed_when_it_comes_and_again_and_again)
{
	char first[64];

	bench_probed_worker(&bench, W, "tool:a", 1);
	snprintf(first, sizeof first, "%s",
	    bench_expect(&bench, W, MSG_PROBE, NULL)->header.call_id);
	bench_about(&bench, W, MSG_PROBE, first);
	ck_assert_str_eq(value_get_text(row_of("w11"), "probe"), "ok");
	bench_pass(&bench, PROBE_MS - 200);
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_PROBE, NULL));
	bench_pass(&bench, 300);
	ck_assert_str_ne(bench_expect(&bench, W, MSG_PROBE, NULL)->header.call_id, first);
}
END_TEST

START_TEST(a_worker_that_does_not_say_so_is_not_probed)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_pass(&bench, PROBE_MS + PROBE_DROP_MS);
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_PROBE, NULL));
	ck_assert_ptr_null(noticed("stuck"));
	ck_assert_str_eq(value_get_text(row_of("w11"), "probe"), "none");
}
END_TEST

/* What its HELLO says counts for what is under way, too. */
START_TEST(nor_is_one_that_says_so_no_more_waited_for)
{
	let_it_get_stuck();
	bench_worker(&bench, W, "tool:a", 2);
	ck_assert_ptr_nonnull(noticed("moves"));
	bench_pass(&bench, PROBE_MS + PROBE_DROP_MS);
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_PROBE, NULL));
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_ERROR, NULL));
	bench_call(&bench, C, "c1", "tool:a");
	bench_expect(&bench, W, MSG_CALL, "c1");
}
END_TEST

START_TEST(a_probe_takes_no_slot)
{
	bench_probed_worker(&bench, W, "tool:a", 1);
	answer_probe(W);
	bench_call(&bench, C, "c1", "tool:a");
	bench_expect(&bench, W, MSG_CALL, "c1");
	bench_pass(&bench, PROBE_MS);
	answer_probe(W);
	bench_expect_calls(&bench, CALL_ASSIGNED, 1);
	ck_assert_int_eq(value_get_int(row_of("w11"), "load", -1), 1);
	ck_assert_str_eq(value_get_text(row_of("w11"), "probe"), "ok");
}
END_TEST

START_TEST(a_probe_that_may_be_lost_is_sent_again)
{
	bench_probed_worker(&bench, W, "tool:a", 1);
	bench_pass(&bench, RESEND_MS + 100);
	answer_probe(W);
	bench_pass(&bench, PROBE_WAIT_MS - RESEND_MS);
	ck_assert_ptr_null(noticed("stuck"));
}
END_TEST

START_TEST(a_stuck_worker_keeps_its_calls_and_gets_no_others)
{
	bench_probed_worker(&bench, W, "tool:a", 2);
	bench_call(&bench, C, "c1", "tool:a");
	bench_expect(&bench, W, MSG_CALL, "c1");
	bench_pass(&bench, PROBE_WAIT_MS + 100);
	ck_assert_ptr_nonnull(noticed("stuck"));
	ck_assert_uint_eq(core_count(bench.core, COUNTER_stuck), 1);
	bench_call(&bench, C, "c2", "tool:a");
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_CALL, "c2"));
	bench_expect_calls(&bench, CALL_ASSIGNED, 1);
	bench_expect_calls(&bench, CALL_QUEUED, 1);
	bench_worker(&bench, W2, "tool:a", 1);
	bench_expect(&bench, W2, MSG_CALL, "c2");
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect(&bench, C, MSG_RESULT, "c1");
}
END_TEST

START_TEST(a_stuck_worker_that_answers_gets_calls_again)
{
	let_it_get_stuck();
	bench_call(&bench, C, "c1", "tool:a");
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_CALL, NULL));
	bench_pass(&bench, RESEND_MS + 100);
	answer_probe(W);
	ck_assert_str_eq(noticed("moves")->header.name, "w11");
	bench_expect(&bench, W, MSG_CALL, "c1");
}
END_TEST

START_TEST(an_old_answer_does_not_count)
{
	let_it_get_stuck();
	bench_about(&bench, W, MSG_PROBE, "probe-0");
	ck_assert_ptr_null(noticed("moves"));
	ck_assert_str_eq(value_get_text(row_of("w11"), "probe"), "stuck");
}
END_TEST

START_TEST(a_worker_that_stays_stuck_is_told_and_its_calls_go_elsewhere)
{
	bench_probed_worker(&bench, W, "tool:a", 2);
	bench_call(&bench, C, "c1", "tool:a");
	bench_flagged(&bench, C, "once", WIRE_ONCE);
	bench_worker(&bench, W2, "tool:a", 2);
	bench_pass(&bench, PROBE_DROP_MS + 100);
	ck_assert_uint_eq(
	    bench_expect(&bench, W, MSG_ERROR, NULL)->header.code, CODE_STUCK);
	bench_expect(&bench, C, MSG_WITHDRAW, NULL);
	ck_assert_str_eq(noticed("down")->header.name, "w11");
	ck_assert_uint_eq(bench_expect(&bench, W2, MSG_CALL, "c1")->header.attempt, 2);
	/* As for a worker that fell silent: it may yet come back and say how it ended. */
	bench_silence(&bench, W);
	bench_pass(&bench, SUSPECT_MS + 100);
	bench_expect_outcome(&bench, C, "once", CODE_WORKER_LOST);
}
END_TEST

START_TEST(a_gap_of_our_own_is_nobody_s_fault)
{
	bench_probed_worker(&bench, W, "tool:a", 1);
	bench_leap(&bench, UINT64_C(10) * PROBE_DROP_MS);
	ck_assert_ptr_null(noticed("stuck"));
	ck_assert_ptr_null(noticed("down"));
	bench_pass(&bench, PROBE_WAIT_MS - 100);
	ck_assert_ptr_null(noticed("stuck"));
	bench_pass(&bench, 200);
	ck_assert_ptr_nonnull(noticed("stuck"));
}
END_TEST

START_TEST(a_client_may_ask_for_a_probe)
{
	bench_send(&bench, L,
	    (struct header){ .type = MSG_HELLO,
		.session = "33333333333333333333333333333333",
		.name = "flotilla",
		.role = ROLE_CLIENT,
		.protocol_min = WIRE_VERSION,
		.protocol_max = WIRE_VERSION });
	bench_probed_worker(&bench, W, "tool:a", 1);
	answer_probe(W);
	bench_probed_worker(&bench, W2, "tool:a", 1);
	answer_probe(W2);
	bench_send(&bench, L,
	    (struct header){ .type = MSG_PROBE, .call_id = "probe", .name = "w12" });
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_PROBE, NULL));
	bench_expect(&bench, W2, MSG_PROBE, NULL);
	bench_about(&bench, L, MSG_PROBE, "probe");
	bench_expect(&bench, W, MSG_PROBE, NULL);
}
END_TEST

START_TEST(without_an_interval_only_who_asks_for_a_probe_gets_one)
{
	struct core_options options = core_defaults;

	bench_end(&bench);
	options.session = "ffffffffffffffffffffffffffffffff";
	options.name = "broker-2";
	options.probe_ms = 0;
	bench_start_with(&bench, &options);
	bench_probed_worker(&bench, W, "tool:a", 1);
	bench_pass(&bench, PROBE_MS + PROBE_DROP_MS);
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_PROBE, NULL));
}
END_TEST

/* --- what peers say of themselves ----------------------------------------------------- */

START_TEST(a_peer_that_says_it_cannot_work_is_told_of_once)
{
	const struct header trouble = { .type = MSG_PING,
		.lag_ms = 7,
		.uptime_ms = 90,
		.restarts = 2,
		.reason = "Redis is away" };

	bench_send(&bench, C, trouble);
	ck_assert_str_eq(noticed("stuck")->header.reason, "Redis is away");
	ck_assert_uint_eq(noticed("stuck")->header.role, ROLE_COORDINATOR);
	bench_send(&bench, C, trouble);
	ck_assert_ptr_null(noticed("stuck"));
	ck_assert_str_eq(value_get_text(row_of("w1"), "trouble"), "Redis is away");
	ck_assert_int_eq(value_get_int(row_of("w1"), "lag_ms", 0), 7);
	ck_assert_int_eq(value_get_int(row_of("w1"), "uptime_ms", 0), 90);
	ck_assert_int_eq(value_get_int(row_of("w1"), "restarts", 0), 2);
	bench_send(&bench, C, (struct header){ .type = MSG_PING });
	ck_assert_ptr_nonnull(noticed("moves"));
	ck_assert_ptr_null(value_get_text(row_of("w1"), "trouble"));
}
END_TEST

START_TEST(it_is_told_how_often_a_process_was_started_again)
{
	bench_send(&bench, W,
	    (struct header){ .type = MSG_HELLO,
		.session = "44444444444444444444444444444444",
		.name = "again",
		.role = ROLE_WORKER,
		.restarts = 3,
		.protocol_min = WIRE_VERSION,
		.protocol_max = WIRE_VERSION });
	ck_assert_uint_eq(noticed("up")->header.restarts, 3);
}
END_TEST

START_TEST(the_age_of_the_longest_waiting_call_is_told)
{
	const struct value *service;

	bench_call(&bench, C, "c1", "tool:a");
	bench_pass(&bench, 700);
	bench_send(&bench, C,
	    (struct header){ .type = MSG_CALL,
		.call_id = "c2",
		.service = "tool:a",
		.tenant = "other",
		.deadline_ms = 60000 });
	bench_pass(&bench, 300);
	service = value_at(value_get(core_stats(bench.core, arena), "services"), 0);
	ck_assert_int_eq(value_get_int(service, "queued", 0), 2);
	ck_assert_int_eq(value_get_int(service, "oldest_ms", 0), 1000);
}
END_TEST

TCase *
tcase_broker_probes(void)
{
	TCase *tcase = tcase_create("broker_probes");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_worker_is_probed_when_it_comes_and_again_and_again);
	tcase_add_test(tcase, a_worker_that_does_not_say_so_is_not_probed);
	tcase_add_test(tcase, nor_is_one_that_says_so_no_more_waited_for);
	tcase_add_test(tcase, a_probe_takes_no_slot);
	tcase_add_test(tcase, a_probe_that_may_be_lost_is_sent_again);
	tcase_add_test(tcase, a_stuck_worker_keeps_its_calls_and_gets_no_others);
	tcase_add_test(tcase, a_stuck_worker_that_answers_gets_calls_again);
	tcase_add_test(tcase, an_old_answer_does_not_count);
	tcase_add_test(
	    tcase, a_worker_that_stays_stuck_is_told_and_its_calls_go_elsewhere);
	tcase_add_test(tcase, a_gap_of_our_own_is_nobody_s_fault);
	tcase_add_test(tcase, a_client_may_ask_for_a_probe);
	tcase_add_test(tcase, without_an_interval_only_who_asks_for_a_probe_gets_one);
	tcase_add_test(tcase, a_peer_that_says_it_cannot_work_is_told_of_once);
	tcase_add_test(tcase, it_is_told_how_often_a_process_was_started_again);
	tcase_add_test(tcase, the_age_of_the_longest_waiting_call_is_told);
	return tcase;
}
