/* The broker's rules on its own restart, one test a rule. */
#include <check.h>
#include <stdio.h>

#include "broker_bench.h"

#define C 1  /* coordinator */
#define W 11 /* workers */
#define W2 12

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

START_TEST(a_new_broker_holds_flagged_calls_for_announcements_and_sends_fresh_ones)
{
	restart();
	bench_worker(&bench, W, "tool:a", 2);
	bench_flagged(&bench, C, "old", WIRE_RESEND);
	bench_expect(&bench, C, MSG_CALL_ACK, "old");
	bench_flagged(&bench, C, "new", 0);
	bench_expect(&bench, W, MSG_CALL, "new");
	bench_expect_calls(&bench, CALL_HELD, 1);
	bench_worker(&bench, W2, "tool:a", 0);
	bench_announce(&bench, W2, "old", CALL_RUNNING);
	bench_expect_calls(&bench, CALL_HELD, 0);
	bench_pass(&bench, RECOVERY_MS + LIVENESS_MS);
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_CALL, "old"));
	bench_about(&bench, W2, MSG_RESULT, "old");
	bench_expect_outcome(&bench, C, "old", CODE_OK);
}
END_TEST

START_TEST(a_held_call_that_nobody_announces_runs_when_the_window_ends)
{
	restart();
	bench_worker(&bench, W, "tool:a", 1);
	bench_flagged(&bench, C, "c1", WIRE_RESEND);
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
	bench_flagged(&bench, C, "c1", WIRE_RESEND | WIRE_ONCE);
	bench_pass(&bench, RECOVERY_MS + 100);
	ck_assert_ptr_null(
	    bench_sent(&bench, C, MSG_RESULT, "c1")); /* longer than others */
	bench_pass(&bench, LIVENESS_MS);
	bench_expect_outcome(&bench, C, "c1", CODE_WORKER_LOST);
	ck_assert_ptr_null(bench_sent(&bench, W, MSG_CALL, NULL));
}
END_TEST

START_TEST(a_flagged_call_that_must_not_run_twice_is_lost_when_no_worker_has_it)
{
	bench_worker(&bench, W, "tool:a", 1);
	bench_flagged(&bench, C, "c1", WIRE_RESEND | WIRE_ONCE);
	bench_pass(&bench, RECOVERY_MS + LIVENESS_MS - 100);
	bench_expect_calls(&bench, CALL_HELD, 1);
	bench_pass(&bench, 100);
	bench_expect_outcome(&bench, C, "c1", CODE_WORKER_LOST);
	ck_assert_uint_eq(core_count(bench.core, COUNTER_dispatched), 0);
}
END_TEST

START_TEST(an_announced_call_is_met_by_its_call_later)
{
	restart();
	bench_worker(&bench, W, "tool:a", 0);
	bench_announce(&bench, W, "c1", CALL_RUNNING);
	bench_expect_calls(&bench, CALL_ASSIGNED, 1);
	bench_flagged(&bench, C, "c1", WIRE_RESEND);
	bench_expect(&bench, C, MSG_CALL_ACK, "c1");
	bench_expect_calls(&bench, CALL_HELD, 0);
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
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
	bench_flagged(&bench, C, "c1", WIRE_RESEND);
	bench_worker(&bench, W2, "tool:a", 2);
	bench_unreachable(&bench, W);
	bench_expect(&bench, W2, MSG_CALL, "c1");
	/* Nobody has asked for c2: when somebody does, it is new. */
	ck_assert_uint_eq(core_count(bench.core, COUNTER_dropped), 1);
	bench_flagged(&bench, C, "c2", 0);
	bench_expect(&bench, W2, MSG_CALL, "c2");
}
END_TEST

START_TEST(a_finished_call_is_not_sent_out_between_its_announcement_and_its_result)
{
	restart();
	bench_worker(&bench, W2, "tool:a", 1);
	bench_flagged(&bench, C, "c1", WIRE_RESEND);
	bench_worker(&bench, W, "tool:a", 0);
	bench_announce(&bench, W, "c1", CALL_FINISHED);
	bench_pass(&bench, RECOVERY_MS + 100);
	ck_assert_ptr_null(bench_sent(&bench, W2, MSG_CALL, NULL));
	bench_about(&bench, W, MSG_RESULT, "c1");
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
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
	bench_flagged(&bench, C, "c1", WIRE_RESEND);
	bench_expect_outcome(&bench, C, "c1", CODE_OK);
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
	bench_expect_outcome(&bench, C, "c1", CODE_CANCELLED);
}
END_TEST

/* --- very many ------------------------------------------------------------------------ */

#define MANY_WORKERS 1000u
#define MANY_CALLS 20000u
#define FIRST_WORKER 10u

static struct actions
step(struct core *core, uint64_t peer, struct header header, uint64_t now_ms)
{
	return core_step(core,
	    &(struct event){ .type = EVENT_MESSAGE, .peer = peer, .header = &header },
	    now_ms);
}

static struct core *
core_with_many(uint64_t now_ms)
{
	static const struct wire_service services[] = { { .name = "tool:a" } };
	struct core_options options = core_defaults;
	struct core *core;
	char text[64];
	unsigned i;

	options.session = "0123456789abcdef0123456789abcdef";
	options.name = "broker-1";
	options.liveness_ms = 600000; /* they say no more */
	core = core_new(&options, now_ms);
	for (i = 0; i <= MANY_WORKERS; i++) {
		bool is_worker = i < MANY_WORKERS;

		snprintf(text, sizeof text, "%032x", i);
		step(core, FIRST_WORKER + i,
		    (struct header){ .type = MSG_HELLO,
			.session = text,
			.name = "many",
			.role = is_worker ? ROLE_WORKER : ROLE_COORDINATOR,
			.protocol_min = WIRE_VERSION,
			.protocol_max = WIRE_VERSION,
			.services = services,
			.service_count = is_worker },
		    now_ms);
	}
	for (i = 0; i < MANY_CALLS; i++) {
		snprintf(text, sizeof text, "run-%u.1.0", i);
		step(core, FIRST_WORKER + MANY_WORKERS,
		    (struct header){ .type = MSG_CALL,
			.flags = WIRE_RESEND,
			.call_id = text,
			.service = services[0].name },
		    now_ms);
	}
	return core;
}

/* Returns how many SEEKs there are, and adds to *asked the calls that one worker is asked for. */
static size_t
count_seeks(const struct actions *actions, size_t *asked)
{
	size_t i, count = 0;

	for (i = 0; i < actions->count; i++) {
		if (actions->items[i].type != ACTION_SEND ||
		    actions->items[i].header.type != MSG_SEEK)
			continue;
		count++;
		if (actions->items[i].peer == FIRST_WORKER)
			*asked += actions->items[i].header.call_count;
	}
	return count;
}

/* Else a broker that begins anew would ask for all that waited in one breath, while everybody waits
 * to hear that it lives. None is given out before its answers can have come. */
START_TEST(workers_are_asked_for_very_many_calls_little_by_little)
{
	uint64_t now_ms = 1000000;
	struct core *core = core_with_many(now_ms);
	size_t asked = 0, before, seeks = 0, all;
	struct actions actions;
	unsigned i;

	for (i = 0; i < 100 && core_calls(core, CALL_QUEUED) < MANY_CALLS; i++) {
		before = asked;
		now_ms += 100;
		actions = core_step(core, &(struct event){ .type = EVENT_TICK }, now_ms);
		all = count_seeks(&actions, &asked);
		ck_assert_uint_le(all, SEEKS_STEP_MAX);
		ck_assert_uint_ge(before, core_calls(core, CALL_QUEUED));
		seeks += all;
	}
	ck_assert_uint_eq(asked, MANY_CALLS);
	ck_assert_uint_eq(core_calls(core, CALL_QUEUED), MANY_CALLS);
	ck_assert_uint_le(seeks, MANY_WORKERS * (MANY_CALLS / ANNOUNCED_CALLS_MAX + i));
	core_destroy(&core, NULL);
}
END_TEST

TCase *tcase_broker_recovery(void);
TCase *
tcase_broker_recovery(void)
{
	TCase *tcase = tcase_create("broker_recovery");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase,
	    a_new_broker_holds_flagged_calls_for_announcements_and_sends_fresh_ones);
	tcase_add_test(
	    tcase, a_held_call_that_nobody_announces_runs_when_the_window_ends);
	tcase_add_test(
	    tcase, a_held_call_that_must_not_run_twice_and_is_known_nowhere_is_lost);
	tcase_add_test(
	    tcase, a_flagged_call_that_must_not_run_twice_is_lost_when_no_worker_has_it);
	tcase_add_test(tcase, an_announced_call_is_met_by_its_call_later);
	tcase_add_test(tcase,
	    an_announced_call_that_was_asked_for_runs_elsewhere_when_its_worker_dies);
	tcase_add_test(tcase,
	    a_finished_call_is_not_sent_out_between_its_announcement_and_its_result);
	tcase_add_test(tcase, a_result_that_comes_before_its_call_is_kept_for_it);
	tcase_add_test(
	    tcase, an_outcome_stored_before_the_restart_is_forgotten_by_its_worker);
	tcase_add_test(tcase, a_cancel_in_the_recovery_window_waits_for_the_announcement);
	tcase_add_test(tcase, workers_are_asked_for_very_many_calls_little_by_little);
	return tcase;
}
