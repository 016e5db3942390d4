/* How calls of ours end, and who is told, one test a rule. */
#include <check.h>
#include <stdio.h>

#include "ledger_bench.h"

TCase *tcase_ledger_outcomes(void);

/* --- outcomes ------------------------------------------------------------------------- */

START_TEST(the_outcome_is_delivered_once_and_acknowledged_when_it_is_stored)
{
	lb_call("c1");
	lb_result(lb.first, "c1", CODE_OK);
	ck_assert_ptr_eq(lb_find(LEDGER_DELIVER)->waiter, &lb.somebody);
	ck_assert_uint_eq(lb_find(LEDGER_DELIVER)->header.code, CODE_OK);
	ck_assert_uint_eq(lb_told(MSG_RESULT_ACK, "c1"), 0);
	ck_assert_int_eq(lb.cargos, 0);
	ck_assert_uint_eq(ledger_pending(lb.ledger), 0);
	lb_result(lb.first, "c1", CODE_OK);
	ck_assert_uint_eq(lb.actions.count, 0);
	lb_about(LEDGER_STORED, "c1");
	ck_assert_uint_eq(lb_told(MSG_RESULT_ACK, "c1"), LINK_BIT(lb.first));
	lb_result(lb.first, "c1", CODE_OK);
	ck_assert_uint_eq(lb_told(MSG_RESULT_ACK, "c1"), LINK_BIT(lb.first));
}
END_TEST

START_TEST(a_failure_is_an_outcome_with_its_reason)
{
	lb_call("c1");
	lb_message(lb.first, (struct header){ .type = MSG_RESULT,
				 .call_id = "c1",
				 .code = CODE_POISON,
				 .reason = "it kills" });
	ck_assert_uint_eq(lb_find(LEDGER_DELIVER)->header.code, CODE_POISON);
	ck_assert_str_eq(lb_find(LEDGER_DELIVER)->header.reason, "it kills");
}
END_TEST

START_TEST(every_broker_that_may_have_it_is_told_when_an_outcome_is_stored)
{
	lb_call("c1");
	lb_down(lb.first);
	lb_up(lb.first);
	lb_result(lb.second, "c1", CODE_OK);
	lb_about(LEDGER_STORED, "c1");
	ck_assert_uint_eq(
	    lb_told(MSG_RESULT_ACK, "c1"), LINK_BIT(lb.first) | LINK_BIT(lb.second));
	ck_assert_uint_eq(ledger_owed(lb.ledger), 0);
}
END_TEST

START_TEST(a_broker_that_is_away_then_is_told_when_it_is_back)
{
	lb_call("c1");
	lb_down(lb.first);
	lb_result(lb.second, "c1", CODE_OK);
	lb_about(LEDGER_STORED, "c1");
	ck_assert_uint_eq(lb_told(MSG_RESULT_ACK, "c1"), LINK_BIT(lb.second));
	ck_assert_uint_eq(ledger_owed(lb.ledger), 1);
	lb_up(lb.first);
	ck_assert_uint_eq(lb_told(MSG_RESULT_ACK, "c1"), LINK_BIT(lb.first));
	ck_assert_uint_eq(ledger_owed(lb.ledger), 0);
}
END_TEST

START_TEST(a_broker_that_is_lost_when_it_was_told_just_now_may_not_have_heard_it)
{
	lb_call("c1");
	lb_result(lb.first, "c1", CODE_OK);
	lb_about(LEDGER_STORED, "c1");
	lb_down(lb.first);
	ck_assert_uint_eq(
	    lb_told(MSG_RESULT_ACK, "c1"), LINK_BIT(lb.second) | LINK_BIT(lb.third));
	ck_assert_uint_eq(ledger_owed(lb.ledger), 1);
	lb_up(lb.first);
	ck_assert_uint_eq(lb_told(MSG_RESULT_ACK, "c1"), LINK_BIT(lb.first));
	ck_assert_uint_eq(ledger_owed(lb.ledger), 0);
}
END_TEST

START_TEST(with_no_other_broker_up_the_first_that_comes_is_told)
{
	lb_call("c1");
	lb_result(lb.first, "c1", CODE_OK);
	lb_about(LEDGER_STORED, "c1");
	lb_down(lb.third);
	lb_down(lb.second);
	lb_down(lb.first);
	lb_up(lb.third);
	ck_assert_uint_eq(lb_told(MSG_RESULT_ACK, "c1"), LINK_BIT(lb.third));
}
END_TEST

START_TEST(a_broker_that_lived_on_has_heard_it)
{
	lb_call("c1");
	lb_result(lb.first, "c1", CODE_OK);
	lb_about(LEDGER_STORED, "c1");
	lb_tick(UINT64_C(2) * LIVENESS_MS);
	lb_down(lb.first);
	ck_assert_uint_eq(lb.actions.count, 0);
}
END_TEST

START_TEST(what_is_owed_is_bounded_in_number_and_time)
{
	char id[16];
	size_t i;

	for (i = 0; i < LEDGER_OWED_MAX + 5; i++) {
		snprintf(id, sizeof id, "c%zu", i);
		lb_call(id);
		lb_result(lb.first, id, CODE_OK);
	}
	lb_down(lb.first);
	for (i = 0; i < LEDGER_OWED_MAX + 5; i++) {
		snprintf(id, sizeof id, "c%zu", i);
		lb_about(LEDGER_STORED, id);
	}
	ck_assert_uint_eq(ledger_owed(lb.ledger), LEDGER_OWED_MAX);
	lb_tick(RESULT_KEEP_MS);
	ck_assert_uint_eq(ledger_owed(lb.ledger), 0);
}
END_TEST

START_TEST(an_answer_by_another_link_counts_and_the_late_one_is_acknowledged)
{
	lb_call("c1");
	lb_down(lb.first);
	lb_up(lb.first);
	lb_result(lb.first, "c1", CODE_OK);
	ck_assert_ptr_nonnull(lb_find(LEDGER_DELIVER));
	lb_about(LEDGER_STORED, "c1");
	ck_assert_uint_eq(
	    lb_told(MSG_RESULT_ACK, "c1"), LINK_BIT(lb.first) | LINK_BIT(lb.second));
	lb_result(lb.second, "c1", CODE_OK);
	ck_assert_uint_eq(lb_told(MSG_RESULT_ACK, "c1"), LINK_BIT(lb.second));
}
END_TEST

START_TEST(a_taken_over_call_may_be_anywhere)
{
	lb_call_flagged("c1", WIRE_RESEND);
	lb_result(lb.first, "c1", CODE_OK);
	lb_about(LEDGER_STORED, "c1");
	ck_assert_uint_eq(lb_told(MSG_RESULT_ACK, "c1"), ALL_LINKS);
}
END_TEST

START_TEST(that_a_broker_does_not_know_the_call_is_no_outcome)
{
	lb_call("c1");
	lb_result(lb.first, "c1", CODE_UNKNOWN_CALL);
	ck_assert_uint_eq(lb.actions.count, 0);
	ck_assert_uint_eq(ledger_pending(lb.ledger), 1);
}
END_TEST

START_TEST(silence_past_the_deadline_is_an_outcome)
{
	lb_call("c1");
	lb_say(lb.first, MSG_CALL_ACK, "c1");
	lb_tick(60000 + EXPIRE_GRACE_MS + 2 * RESEND_MS - 1);
	ck_assert_ptr_null(lb_find(LEDGER_DELIVER));
	lb_tick(1);
	ck_assert_uint_eq(lb_find(LEDGER_DELIVER)->header.code, CODE_EXPIRED);
	lb_about(LEDGER_STORED, "c1");
	ck_assert_uint_eq(lb_told(MSG_RESULT_ACK, "c1"), LINK_BIT(lb.first));
}
END_TEST

/* What may have begun, and must not run twice, is lost rather than late. */
START_TEST(silence_on_a_call_that_must_not_run_twice_is_a_loss)
{
	lb_call_flagged("c1", WIRE_ONCE);
	lb_say(lb.first, MSG_CALL_ACK, "c1");
	lb_tick(60000 + EXPIRE_GRACE_MS + 2 * RESEND_MS);
	ck_assert_uint_eq(lb_find(LEDGER_DELIVER)->header.code, CODE_WORKER_LOST);
}
END_TEST

START_TEST(a_cancel_that_nobody_confirms_says_so)
{
	lb_call("c1");
	lb_about(LEDGER_CANCEL, "c1");
	lb_tick(CANCEL_WAIT_MS);
	ck_assert_uint_eq(lb_find(LEDGER_ENDED)->header.code, CODE_EXPIRED);
	ck_assert_str_eq(lb_find(LEDGER_ENDED)->header.call_id, "c1");
}
END_TEST

START_TEST(a_cancel_that_is_confirmed_does_not)
{
	lb_call("c1");
	lb_about(LEDGER_CANCEL, "c1");
	lb_result(lb.first, "c1", CODE_CANCELLED);
	ck_assert_uint_eq(lb_find(LEDGER_ENDED)->header.code, CODE_OK);
}
END_TEST

START_TEST(a_call_made_anew_takes_over_from_the_one_before)
{
	static struct waiter before;

	lb.somebody = before;
	lb_call("c1");
	lb_call("c1");
	ck_assert_ptr_eq(lb_find(LEDGER_REVOKE)->waiter, &lb.somebody);
	ck_assert_uint_eq(ledger_pending(lb.ledger), 1);
	ck_assert(
	    (lb.actions.items[lb.actions.count - 1].header.flags & WIRE_RESEND) != 0);
	ck_assert_int_eq(lb.cargos, 1);
}
END_TEST

/* --- cancelled calls ------------------------------------------------------------------ */

START_TEST(a_cancelled_call_is_cancelled_again_until_it_ends)
{
	lb_call("c1");
	lb_about(LEDGER_CANCEL, "c1");
	ck_assert_uint_eq(lb_told(MSG_CANCEL, "c1"), LINK_BIT(lb.first));
	ck_assert(ledger_is_cancelling(lb.ledger, RUN));
	ck_assert_int_eq(lb.cargos, 0);
	lb_tick(RESEND_MS);
	ck_assert_uint_eq(lb_told(MSG_CANCEL, "c1"), LINK_BIT(lb.first));
	lb_result(lb.first, "c1", CODE_CANCELLED);
	ck_assert_uint_eq(lb_told(MSG_RESULT_ACK, "c1"), LINK_BIT(lb.first));
	ck_assert_ptr_null(lb_find(LEDGER_DELIVER));
	ck_assert_str_eq(lb_find(LEDGER_ENDED)->header.run, RUN);
	ck_assert(!ledger_is_cancelling(lb.ledger, RUN));
}
END_TEST

START_TEST(a_cancel_is_given_up_in_time)
{
	lb_call("c1");
	lb_about(LEDGER_CANCEL, "c1");
	lb_tick(CANCEL_WAIT_MS);
	ck_assert_ptr_nonnull(lb_find(LEDGER_ENDED));
	ck_assert_uint_eq(ledger_pending(lb.ledger), 0);
}
END_TEST

START_TEST(the_cancel_of_what_nobody_saw_is_silent)
{
	lb_call("c1");
	lb_about(LEDGER_UNSENT, "c1");
	lb_about(LEDGER_CANCEL, "c1");
	ck_assert_uint_eq(lb_told(MSG_CANCEL, "c1"), 0);
	ck_assert_uint_eq(ledger_pending(lb.ledger), 0);
}
END_TEST

START_TEST(a_cancel_goes_to_every_broker_that_may_have_the_call)
{
	lb_call("c1");
	lb_down(lb.first);
	lb_about(LEDGER_CANCEL, "c1");
	ck_assert_uint_eq(lb_told(MSG_CANCEL, "c1"), LINK_BIT(lb.second));
	lb_up(lb.first);
	ck_assert_uint_eq(
	    lb_told(MSG_CANCEL, "c1"), LINK_BIT(lb.first) | LINK_BIT(lb.second));
	lb_result(lb.first, "c1", CODE_UNKNOWN_CALL);
	ck_assert(ledger_is_cancelling(lb.ledger, RUN));
	lb_result(lb.second, "c1", CODE_UNKNOWN_CALL);
	ck_assert(!ledger_is_cancelling(lb.ledger, RUN));
}
END_TEST

START_TEST(the_cancel_of_a_lost_broker_s_call_goes_where_it_may_be_announced)
{
	lb_call("c1");
	lb_about(LEDGER_CANCEL, "c1");
	lb_down(lb.first);
	ck_assert_uint_eq(lb_told(MSG_CANCEL, "c1"), LINK_BIT(lb.second));
	lb_result(lb.second, "c1", CODE_UNKNOWN_CALL); /* not yet */
	ck_assert(ledger_is_cancelling(lb.ledger, RUN));
	lb_tick(RESEND_MS);
	ck_assert_uint_eq(lb_told(MSG_CANCEL, "c1"), LINK_BIT(lb.second));
	lb_result(lb.second, "c1", CODE_CANCELLED);
	ck_assert(!ledger_is_cancelling(lb.ledger, RUN));
	ck_assert_uint_eq(ledger_owed(lb.ledger), 1);
}
END_TEST

START_TEST(the_outcome_that_a_cancelled_waiter_left_is_acknowledged)
{
	lb_call("c1");
	lb_result(lb.first, "c1", CODE_OK);
	lb_about(LEDGER_CANCEL, "c1");
	ck_assert_uint_eq(lb_told(MSG_RESULT_ACK, "c1"), LINK_BIT(lb.first));
	ck_assert(!ledger_is_cancelling(lb.ledger, RUN));
}
END_TEST

START_TEST(a_cancelled_call_that_a_leaving_broker_gives_back_has_ended)
{
	lb_call("c1");
	lb_about(LEDGER_CANCEL, "c1");
	lb_say(lb.first, MSG_RELEASE, "c1");
	ck_assert_ptr_nonnull(lb_find(LEDGER_ENDED));
}
END_TEST

/* --- what is another's ---------------------------------------------------------------- */

START_TEST(a_forgotten_call_is_never_acknowledged_and_its_waiter_revoked)
{
	lb_call("c1");
	lb_about(LEDGER_FORGET, "c1");
	ck_assert_ptr_eq(lb_find(LEDGER_REVOKE)->waiter, &lb.somebody);
	ck_assert_int_eq(lb.cargos, 0);
	lb_result(lb.first, "c1", CODE_OK);
	ck_assert_uint_eq(lb.actions.count, 0);
	/* Without a tick: nothing is pending. It may come at its deadline, and its owner as late as he would find an
	 * outcome that waits for nobody. */
	lb.now_ms += LB_DEADLINE_MS + RESULT_KEEP_MS;
	lb_result(lb.first, "c1", CODE_OK);
	ck_assert_uint_eq(lb.actions.count, 0);
	lb.now_ms += EXPIRE_GRACE_MS + 2 * RESEND_MS + 1;
	lb_result(lb.first, "c1", CODE_OK); /* long ago: who wanted it has it */
	ck_assert_uint_eq(lb_told(MSG_RESULT_ACK, "c1"), LINK_BIT(lb.first));
}
END_TEST

START_TEST(a_disowned_run_s_calls_are_forgotten_all)
{
	lb_call("c1");
	lb_call("c2");
	lb_result(lb.first, "c2", CODE_OK);
	lb_call("c3");
	lb_about(LEDGER_CANCEL, "c3");
	lb_about(LEDGER_DISOWN, RUN);
	ck_assert_uint_eq(lb_told(MSG_RESULT_ACK, "c2"), 0);
	ck_assert_ptr_nonnull(lb_find(LEDGER_ENDED));
	ck_assert_uint_eq(ledger_pending(lb.ledger), 0);
	lb_result(lb.first, "c2", CODE_OK);
	ck_assert_uint_eq(lb.actions.count, 0);
	lb_about(LEDGER_DISOWN, "r2");
	ck_assert_uint_eq(lb.actions.count, 0);
}
END_TEST

/* As many as a coordinator may hold, which gives all of them back when it ends. */
START_TEST(a_run_costs_as_much_as_it_has_calls_however_many_others_there_are)
{
	const unsigned runs = 25000, calls = 3;
	char run[32], id[32];
	unsigned i;

	for (i = 0; i < runs * calls; i++) {
		snprintf(run, sizeof run, "run-%u", i / calls);
		snprintf(id, sizeof id, "run-%u.1.%u", i / calls, i % calls);
		lb_call_of(run, id);
		if (i % calls == 1)
			lb_about(LEDGER_CANCEL, id);
	}
	for (i = 0; i < runs; i++) {
		snprintf(run, sizeof run, "run-%u", runs - 1 - i);
		ck_assert(ledger_is_cancelling(lb.ledger, run));
		lb_about(LEDGER_DISOWN, run);
		ck_assert(!ledger_is_cancelling(lb.ledger, run));
	}
	ck_assert_uint_eq(ledger_pending(lb.ledger), 0);
}
END_TEST

START_TEST(what_was_disowned_while_it_was_stored_is_acknowledged_all_the_same)
{
	lb_call("c1");
	lb_result(lb.first, "c1", CODE_OK);
	lb_about(LEDGER_DISOWN, RUN);
	lb_about(LEDGER_STORED, "c1");
	ck_assert_uint_eq(lb_told(MSG_RESULT_ACK, "c1"), ALL_LINKS);
	lb_result(lb.second, "c1", CODE_OK);
	ck_assert_uint_eq(lb_told(MSG_RESULT_ACK, "c1"), LINK_BIT(lb.second));
}
END_TEST

START_TEST(a_forgotten_call_that_is_called_again_is_ours_again)
{
	lb_call("c1");
	lb_about(LEDGER_FORGET, "c1");
	lb_call_flagged("c1", WIRE_RESEND);
	lb_result(lb.first, "c1", CODE_OK);
	ck_assert_ptr_nonnull(lb_find(LEDGER_DELIVER));
}
END_TEST

TCase *
tcase_ledger_outcomes(void)
{
	TCase *tcase = tcase_create("ledger_outcomes");

	tcase_add_checked_fixture(tcase, lb_setup, lb_teardown);
	tcase_add_test(
	    tcase, the_outcome_is_delivered_once_and_acknowledged_when_it_is_stored);
	tcase_add_test(tcase, a_failure_is_an_outcome_with_its_reason);
	tcase_add_test(
	    tcase, every_broker_that_may_have_it_is_told_when_an_outcome_is_stored);
	tcase_add_test(tcase, a_broker_that_is_away_then_is_told_when_it_is_back);
	tcase_add_test(
	    tcase, a_broker_that_is_lost_when_it_was_told_just_now_may_not_have_heard_it);
	tcase_add_test(tcase, with_no_other_broker_up_the_first_that_comes_is_told);
	tcase_add_test(tcase, a_broker_that_lived_on_has_heard_it);
	tcase_add_test(tcase, what_is_owed_is_bounded_in_number_and_time);
	tcase_add_test(
	    tcase, an_answer_by_another_link_counts_and_the_late_one_is_acknowledged);
	tcase_add_test(tcase, a_taken_over_call_may_be_anywhere);
	tcase_add_test(tcase, that_a_broker_does_not_know_the_call_is_no_outcome);
	tcase_add_test(tcase, silence_past_the_deadline_is_an_outcome);
	tcase_add_test(tcase, silence_on_a_call_that_must_not_run_twice_is_a_loss);
	tcase_add_test(tcase, a_cancel_that_nobody_confirms_says_so);
	tcase_add_test(tcase, a_cancel_that_is_confirmed_does_not);
	tcase_add_test(tcase, a_call_made_anew_takes_over_from_the_one_before);
	tcase_add_test(tcase, a_cancelled_call_is_cancelled_again_until_it_ends);
	tcase_add_test(tcase, a_cancel_is_given_up_in_time);
	tcase_add_test(tcase, the_cancel_of_what_nobody_saw_is_silent);
	tcase_add_test(tcase, a_cancel_goes_to_every_broker_that_may_have_the_call);
	tcase_add_test(
	    tcase, the_cancel_of_a_lost_broker_s_call_goes_where_it_may_be_announced);
	tcase_add_test(tcase, the_outcome_that_a_cancelled_waiter_left_is_acknowledged);
	tcase_add_test(
	    tcase, a_cancelled_call_that_a_leaving_broker_gives_back_has_ended);
	tcase_add_test(
	    tcase, a_forgotten_call_is_never_acknowledged_and_its_waiter_revoked);
	tcase_add_test(tcase, a_disowned_run_s_calls_are_forgotten_all);
	tcase_add_test(
	    tcase, a_run_costs_as_much_as_it_has_calls_however_many_others_there_are);
	tcase_add_test(
	    tcase, what_was_disowned_while_it_was_stored_is_acknowledged_all_the_same);
	tcase_add_test(tcase, a_forgotten_call_that_is_called_again_is_ours_again);
	return tcase;
}
