/* What a worker knows of its calls, one test a rule. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "outbox.h"

TCase *tcase_outbox(void);

#define CAPACITY 2u

struct parcel {
	char mark;
};

static struct outbox *outbox;
static struct outbox_actions actions;
static uint64_t now_ms;
static long parcels; /* given and not freed */

static void
drop(struct parcel *parcel)
{
	parcels--;
	free(parcel);
}

static void
step(struct outbox_event event)
{
	size_t i;

	actions = outbox_step(outbox, &event, now_ms);
	for (i = 0; i < actions.count; i++)
		if (actions.items[i].type == OUTBOX_FREE)
			drop(actions.items[i].parcel);
}

static void
up(uint32_t link)
{
	step((struct outbox_event){ .type = OUTBOX_UP, .link = link });
}

static void
setup(void)
{
	now_ms = 5000;
	parcels = 0;
	outbox = outbox_new(CAPACITY, 0);
	up(0);
}

static void
teardown(void)
{
	outbox_destroy(&outbox, drop);
	ck_assert_int_eq(parcels, 0);
}

static void
message(struct header header)
{
	step((struct outbox_event){ .type = OUTBOX_MESSAGE, .header = &header });
}

static void
call(const char *id, unsigned flags)
{
	message((struct header){ .type = MSG_CALL,
	    .flags = flags,
	    .call_id = id,
	    .run = "r1",
	    .step = 3,
	    .epoch = 7,
	    .attempt = 1,
	    .deadline_ms = 60000 });
}

static void
about(enum message_type type, const char *id)
{
	message((struct header){ .type = type, .call_id = id });
}

static void
end(const char *id, bool interrupted)
{
	struct parcel *parcel = malloc(sizeof *parcel);

	parcel->mark = 'p';
	parcels++;
	step((struct outbox_event){ .type = OUTBOX_ENDED,
	    .call_id = id,
	    .interrupted = interrupted,
	    .parcel = parcel });
}

static void
tick(uint64_t ms)
{
	now_ms += ms;
	step((struct outbox_event){ .type = OUTBOX_TICK });
}

static const struct outbox_action *
find(enum outbox_action_type type, enum message_type message_type, const char *id)
{
	const struct outbox_action *action;
	size_t i;

	for (i = 0; i < actions.count; i++) {
		action = &actions.items[i];
		if (action->type == type &&
		    (type != OUTBOX_SEND || action->header.type == message_type) &&
		    (id == NULL || strcmp(action->header.call_id, id) == 0))
			return action;
	}
	return NULL;
}

static const struct outbox_action *
sent(enum message_type type, const char *id)
{
	return find(OUTBOX_SEND, type, id);
}

static bool
started(const char *id)
{
	return find(OUTBOX_START, MSG_CALL, id) != NULL;
}

static bool
stopped(const char *id)
{
	return find(OUTBOX_STOP, MSG_CALL, id) != NULL;
}

START_TEST(a_call_is_acknowledged_and_started_and_its_result_sent)
{
	const struct outbox_action *result;

	call("c1", 0);
	ck_assert_ptr_nonnull(sent(MSG_CALL_ACK, "c1"));
	ck_assert(started("c1"));
	end("c1", false);
	result = sent(MSG_RESULT, "c1");
	ck_assert_ptr_nonnull(result);
	ck_assert_uint_eq(result->header.code, CODE_OK);
	ck_assert_str_eq(result->header.run, "r1");
	ck_assert_uint_eq(result->header.step, 3);
	ck_assert_uint_eq(result->header.epoch, 7);
	ck_assert_int_eq(result->parcel->mark, 'p');
	about(MSG_RESULT_ACK, "c1");
	ck_assert_int_eq(parcels, 0);
	ck_assert_uint_eq(outbox_finished(outbox), 0);
}
END_TEST

START_TEST(a_running_call_is_not_started_again)
{
	call("c1", 0);
	call("c1", WIRE_RESEND);
	ck_assert_ptr_nonnull(sent(MSG_CALL_ACK, "c1"));
	ck_assert(!started("c1"));
	ck_assert_uint_eq(outbox_running(outbox), 1);
}
END_TEST

START_TEST(a_finished_call_is_answered_from_what_is_kept)
{
	call("c1", 0);
	end("c1", false);
	message((struct header){
	    .type = MSG_CALL, .call_id = "c1", .attempt = 2, .epoch = 9 });
	ck_assert(!started("c1"));
	ck_assert_ptr_nonnull(sent(MSG_RESULT, "c1"));
	ck_assert_uint_eq(sent(MSG_RESULT, "c1")->header.attempt, 2);
	ck_assert_uint_eq(sent(MSG_RESULT, "c1")->header.epoch, 9);
}
END_TEST

START_TEST(a_call_that_must_not_run_twice_does_not_even_when_its_result_was_settled)
{
	call("c1", WIRE_ONCE);
	end("c1", false);
	about(MSG_RESULT_ACK, "c1");
	call("c1", WIRE_ONCE | WIRE_RESEND);
	ck_assert(!started("c1"));
	ck_assert_uint_eq(sent(MSG_RESULT, "c1")->header.code, CODE_WORKER_LOST);
}
END_TEST

START_TEST(a_settled_call_that_may_run_twice_runs_when_it_is_wanted_again)
{
	call("c1", 0);
	end("c1", false);
	about(MSG_RESULT_ACK, "c1");
	call("c1", WIRE_RESEND);
	ck_assert(started("c1"));
}
END_TEST

START_TEST(over_capacity_the_answer_is_busy)
{
	struct header report = { .type = MSG_PING };

	call("c1", 0);
	call("c2", 0);
	call("c3", 0);
	ck_assert_ptr_nonnull(sent(MSG_BUSY, "c3"));
	ck_assert(!started("c3"));
	outbox_report(outbox, &report);
	ck_assert_uint_eq(report.load, 2);
	ck_assert_uint_eq(report.credit, 0);
	end("c1", false);
	outbox_report(outbox, &report);
	ck_assert_uint_eq(report.credit, 1); /* an unacknowledged result takes no slot */
}
END_TEST

START_TEST(a_call_that_could_not_be_started_is_given_back)
{
	call("c1", 0);
	step((struct outbox_event){ .type = OUTBOX_NOT_STARTED, .call_id = "c1" });
	ck_assert_ptr_nonnull(sent(MSG_BUSY, "c1"));
	call("c1", 0);
	ck_assert(started("c1"));
}
END_TEST

START_TEST(a_result_is_sent_again_ever_less_often)
{
	int sends = 0;
	uint64_t i;

	call("c1", 0);
	end("c1", false);
	for (i = 0; i < 120000; i += 100) {
		tick(100);
		sends += sent(MSG_RESULT, "c1") != NULL;
	}
	ck_assert_int_ge(sends, 5); /* 1, 2, 4, 8, 16, 30, 30 s ... */
	ck_assert_int_le(sends, 9);
	about(MSG_RESULT_ACK, "c1");
	tick(60000);
	ck_assert_ptr_null(sent(MSG_RESULT, NULL));
}
END_TEST

START_TEST(on_every_connection_all_is_announced_and_results_follow)
{
	const struct outbox_action *announce;

	call("c1", 0);
	call("c2", 0);
	end("c2", false);
	up(0);
	announce = sent(MSG_ANNOUNCE, NULL);
	ck_assert_uint_eq(announce->header.call_count, 2);
	ck_assert_str_eq(announce->header.calls[0].call_id, "c1");
	ck_assert_int_eq(announce->header.calls[0].state, CALL_RUNNING);
	ck_assert_str_eq(announce->header.calls[1].call_id, "c2");
	ck_assert_int_eq(announce->header.calls[1].state, CALL_FINISHED);
	ck_assert(sent(MSG_RESULT, "c2") > announce);
}
END_TEST

START_TEST(many_calls_are_announced_in_several_messages)
{
	char id[16];
	size_t i, told = 0;

	outbox_destroy(&outbox, drop);
	outbox = outbox_new(1000, 0);
	up(0);
	for (i = 0; i < 200; i++) {
		snprintf(id, sizeof id, "c%zu", i);
		call(id, 0);
	}
	up(0);
	for (i = 0; i < actions.count; i++) {
		ck_assert_uint_le(
		    actions.items[i].header.call_count, ANNOUNCED_CALLS_MAX);
		told += actions.items[i].header.call_count;
	}
	ck_assert_uint_eq(told, 200);
}
END_TEST

START_TEST(nothing_is_announced_when_there_is_nothing)
{
	up(0);
	ck_assert_uint_eq(actions.count, 0);
}
END_TEST

START_TEST(a_cancelled_call_is_stopped_once_and_ends_with_a_result)
{
	call("c1", 0);
	about(MSG_CANCEL, "c1");
	ck_assert(stopped("c1"));
	about(MSG_CANCEL, "c1");
	ck_assert(!stopped("c1"));
	end("c1", true);
	ck_assert_uint_eq(sent(MSG_RESULT, "c1")->header.code, CODE_CANCELLED);
}
END_TEST

START_TEST(a_call_that_ended_well_before_it_noticed_the_cancel_is_a_good_one)
{
	call("c1", 0);
	about(MSG_CANCEL, "c1");
	end("c1", false);
	ck_assert_uint_eq(sent(MSG_RESULT, "c1")->header.code, CODE_OK);
}
END_TEST

START_TEST(the_cancel_of_what_is_not_here_is_answered)
{
	about(MSG_CANCEL, "c1");
	ck_assert_uint_eq(sent(MSG_RESULT, "c1")->header.code, CODE_CANCELLED);
	ck_assert_uint_eq(outbox_finished(outbox), 0);
}
END_TEST

START_TEST(a_late_call_that_never_came_is_answered_as_expired)
{
	const struct header late = {
		.type = MSG_CANCEL, .call_id = "c1", .code = CODE_EXPIRED
	};

	message(late);
	ck_assert_uint_eq(sent(MSG_RESULT, "c1")->header.code, CODE_EXPIRED);
}
END_TEST

START_TEST(a_call_that_was_taken_away_is_given_back_not_cancelled)
{
	const struct header taken = {
		.type = MSG_CANCEL, .call_id = "c1", .code = CODE_WORKER_LOST
	};

	call("c1", 0);
	message(taken);
	ck_assert(stopped("c1"));
	end("c1", true);
	ck_assert_ptr_nonnull(sent(MSG_RELEASE, "c1"));
	ck_assert_ptr_null(sent(MSG_RESULT, NULL));
	message(taken);
	ck_assert_uint_eq(actions.count, 0);
	call("c1", WIRE_ONCE);
	message(taken);
	end("c1", true);
	ck_assert_uint_eq(sent(MSG_RESULT, "c1")->header.code, CODE_WORKER_LOST);
}
END_TEST

START_TEST(a_call_is_stopped_at_its_deadline)
{
	call("c1", 0);
	tick(59000);
	ck_assert(!stopped("c1"));
	tick(1000);
	ck_assert(stopped("c1"));
	tick(1000);
	ck_assert(!stopped("c1"));
	end("c1", true);
	ck_assert_uint_eq(sent(MSG_RESULT, "c1")->header.code, CODE_EXPIRED);
}
END_TEST

/* Begun, and cut short: who is told that it was late might ask for it once more. */
START_TEST(a_late_call_that_must_not_run_twice_is_uncertain)
{
	call("c1", WIRE_ONCE);
	tick(60000);
	ck_assert(stopped("c1"));
	end("c1", true);
	ck_assert_uint_eq(sent(MSG_RESULT, "c1")->header.code, CODE_WORKER_LOST);
	call("c2", WIRE_ONCE);
	message(
	    (struct header){ .type = MSG_CANCEL, .call_id = "c2", .code = CODE_EXPIRED });
	end("c2", true);
	ck_assert_uint_eq(sent(MSG_RESULT, "c2")->header.code, CODE_WORKER_LOST);
}
END_TEST

/* A call of its own ended so. */
START_TEST(a_call_beneath_which_one_was_lost_is_uncertain)
{
	call("c1", WIRE_ONCE);
	step(
	    (struct outbox_event){ .type = OUTBOX_ENDED, .call_id = "c1", .lost = true });
	ck_assert_uint_eq(sent(MSG_RESULT, "c1")->header.code, CODE_WORKER_LOST);
	call("c1", WIRE_ONCE);
	ck_assert(!started("c1"));
}
END_TEST

/* --- draining ------------------------------------------------------------------------- */

static void
drain(uint64_t ms)
{
	step((struct outbox_event){ .type = OUTBOX_DRAIN, .drain_ms = ms });
}

static bool
drained(void)
{
	return find(OUTBOX_DRAINED, MSG_DRAIN, NULL) != NULL;
}

START_TEST(an_idle_worker_is_drained_at_once)
{
	drain(1000);
	ck_assert_ptr_nonnull(sent(MSG_DRAIN, NULL));
	ck_assert(drained());
	tick(100);
	ck_assert(!drained()); /* said once */
}
END_TEST

START_TEST(a_draining_worker_takes_no_calls_and_is_done_when_results_are_settled)
{
	struct header report = { .type = MSG_PING };

	call("c1", 0);
	drain(10000);
	ck_assert(!drained());
	outbox_report(outbox, &report);
	ck_assert_uint_eq(report.credit, 0);
	call("c2", 0);
	ck_assert_ptr_nonnull(sent(MSG_BUSY, "c2"));
	end("c1", false);
	ck_assert(!drained());
	about(MSG_RESULT_ACK, "c1");
	ck_assert(drained());
}
END_TEST

START_TEST(what_still_runs_when_the_drain_ends_is_stopped_and_given_back)
{
	call("c1", 0);
	drain(60000);
	tick(60000 - OUTBOX_FLUSH_MS - 100);
	ck_assert(!stopped("c1"));
	tick(100);
	ck_assert(stopped("c1"));
	end("c1", true);
	ck_assert_ptr_nonnull(sent(MSG_RELEASE, "c1"));
	ck_assert_ptr_null(sent(MSG_RESULT, NULL));
	ck_assert(drained());
}
END_TEST

START_TEST(a_begun_call_that_must_not_run_twice_is_not_given_back)
{
	call("c1", WIRE_ONCE);
	drain(1000);
	tick(500);
	ck_assert(stopped("c1"));
	end("c1", true);
	ck_assert_ptr_null(sent(MSG_RELEASE, NULL));
	ck_assert_uint_eq(sent(MSG_RESULT, "c1")->header.code, CODE_WORKER_LOST);
	about(MSG_RESULT_ACK, "c1");
	ck_assert(drained());
}
END_TEST

START_TEST(results_that_nobody_acknowledges_do_not_hold_the_drain_for_ever)
{
	call("c1", 0);
	drain(60000);
	end("c1", false);
	tick(OUTBOX_FLUSH_MS - 100);
	ck_assert(!drained());
	tick(200);
	ck_assert(drained());
}
END_TEST

START_TEST(a_drain_ends_in_its_time)
{
	call("c1", 0);
	call("c2", 0);
	drain(1000);
	tick(500);
	ck_assert(stopped("c1"));
	end("c1", true);
	end("c2", false);
	ck_assert(!drained());
	tick(499);
	ck_assert(drained());
}
END_TEST

START_TEST(a_new_connection_hears_of_the_drain_too)
{
	call("c1", 0);
	drain(60000);
	up(0);
	ck_assert_ptr_nonnull(sent(MSG_DRAIN, NULL));
}
END_TEST

START_TEST(unacknowledged_results_are_bounded_the_oldest_goes)
{
	char id[16];
	unsigned i;

	for (i = 0; i <= OUTBOX_RESULTS_MAX; i++) {
		snprintf(id, sizeof id, "c%u", i);
		call(id, 0);
		end(id, false);
	}
	ck_assert_uint_eq(outbox_finished(outbox), OUTBOX_RESULTS_MAX);
	ck_assert_uint_eq(outbox_lost(outbox), 1);
	call("c0", 0);
	ck_assert(started("c0"));
}
END_TEST

START_TEST(a_probe_is_answered_the_way_calls_go_and_takes_no_slot)
{
	struct header report = { .type = MSG_PING };

	call("c1", 0);
	call("c2", 0);
	about(MSG_PROBE, "p1");
	ck_assert_ptr_nonnull(find(OUTBOX_START_PROBE, MSG_PROBE, "p1"));
	ck_assert_ptr_null(sent(MSG_BUSY, NULL));
	ck_assert_ptr_null(sent(MSG_PROBE, NULL));
	outbox_report(outbox, &report);
	ck_assert_uint_eq(report.load, 2);
	step((struct outbox_event){ .type = OUTBOX_PROBED, .call_id = "p1" });
	ck_assert_ptr_nonnull(sent(MSG_PROBE, "p1"));
}
END_TEST

START_TEST(the_age_of_the_oldest_running_call_is_reported)
{
	struct header report = { .type = MSG_PING };

	outbox_report(outbox, &report);
	ck_assert_uint_eq(report.oldest_ms, 0);
	call("c1", 0);
	tick(300);
	call("c2", 0);
	tick(200);
	outbox_report(outbox, &report);
	ck_assert_uint_eq(report.oldest_ms, 500);
	end("c1", false);
	outbox_report(outbox, &report);
	ck_assert_uint_eq(report.oldest_ms, 200);
}
END_TEST

TCase *
tcase_outbox(void)
{
	TCase *tcase = tcase_create("outbox");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_call_is_acknowledged_and_started_and_its_result_sent);
	tcase_add_test(tcase, a_running_call_is_not_started_again);
	tcase_add_test(tcase, a_finished_call_is_answered_from_what_is_kept);
	tcase_add_test(tcase,
	    a_call_that_must_not_run_twice_does_not_even_when_its_result_was_settled);
	tcase_add_test(
	    tcase, a_settled_call_that_may_run_twice_runs_when_it_is_wanted_again);
	tcase_add_test(tcase, over_capacity_the_answer_is_busy);
	tcase_add_test(tcase, a_call_that_could_not_be_started_is_given_back);
	tcase_add_test(tcase, a_result_is_sent_again_ever_less_often);
	tcase_add_test(tcase, on_every_connection_all_is_announced_and_results_follow);
	tcase_add_test(tcase, many_calls_are_announced_in_several_messages);
	tcase_add_test(tcase, nothing_is_announced_when_there_is_nothing);
	tcase_add_test(tcase, a_cancelled_call_is_stopped_once_and_ends_with_a_result);
	tcase_add_test(
	    tcase, a_call_that_ended_well_before_it_noticed_the_cancel_is_a_good_one);
	tcase_add_test(tcase, the_cancel_of_what_is_not_here_is_answered);
	tcase_add_test(tcase, a_late_call_that_never_came_is_answered_as_expired);
	tcase_add_test(tcase, a_call_that_was_taken_away_is_given_back_not_cancelled);
	tcase_add_test(tcase, a_call_is_stopped_at_its_deadline);
	tcase_add_test(tcase, a_late_call_that_must_not_run_twice_is_uncertain);
	tcase_add_test(tcase, a_call_beneath_which_one_was_lost_is_uncertain);
	tcase_add_test(tcase, an_idle_worker_is_drained_at_once);
	tcase_add_test(
	    tcase, a_draining_worker_takes_no_calls_and_is_done_when_results_are_settled);
	tcase_add_test(
	    tcase, what_still_runs_when_the_drain_ends_is_stopped_and_given_back);
	tcase_add_test(tcase, a_begun_call_that_must_not_run_twice_is_not_given_back);
	tcase_add_test(
	    tcase, results_that_nobody_acknowledges_do_not_hold_the_drain_for_ever);
	tcase_add_test(tcase, a_drain_ends_in_its_time);
	tcase_add_test(tcase, a_new_connection_hears_of_the_drain_too);
	tcase_add_test(tcase, unacknowledged_results_are_bounded_the_oldest_goes);
	tcase_add_test(tcase, a_probe_is_answered_the_way_calls_go_and_takes_no_slot);
	tcase_add_test(tcase, the_age_of_the_oldest_running_call_is_reported);
	return tcase;
}
