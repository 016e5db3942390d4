/* Calls of ours over several brokers, one test a rule: where they are sent. */
#include <check.h>
#include <stdio.h>

#include "ledger_bench.h"

TCase *tcase_ledger(void);

/* --- links ---------------------------------------------------------------------------- */

START_TEST(runs_spread_over_the_links_and_only_those_of_a_lost_one_move)
{
	size_t counts[LINKS] = { 0 }, i;
	uint32_t before, after;
	char run[16];

	for (i = 0; i < 3000; i++) {
		snprintf(run, sizeof run, "run-%zu", i);
		before = rendezvous_choose(lb.identities, ALL_LINKS, run);
		after = rendezvous_choose(lb.identities, ALL_LINKS & ~LINK_BIT(1), run);
		counts[before]++;
		if (before != 1)
			ck_assert_uint_eq(before, after);
	}
	for (i = 0; i < LINKS; i++) {
		ck_assert_uint_gt(counts[i], 850);
		ck_assert_uint_lt(counts[i], 1150);
	}
	ck_assert_uint_eq(rendezvous_choose(lb.identities, 0, "run"), LINK_NONE);
}
END_TEST

START_TEST(the_order_does_not_depend_on_how_the_brokers_are_listed)
{
	const uint64_t turned[LINKS] = { lb.identities[2], lb.identities[0],
		lb.identities[1] };
	uint32_t a = rendezvous_choose(lb.identities, ALL_LINKS, RUN);
	uint32_t b = rendezvous_choose(turned, ALL_LINKS, RUN);

	ck_assert_uint_eq(lb.identities[a], turned[b]);
}
END_TEST

START_TEST(a_call_goes_to_the_first_link_of_its_run_unflagged_with_all_it_has)
{
	lb_call("c1");
	ck_assert_uint_eq(lb_sent_call()->link, lb.first);
	ck_assert_uint_eq(ledger_link(lb.ledger, RUN), lb.first);
	ck_assert(!lb_flagged());
	ck_assert_int_eq(lb_sent_call()->cargo->mark, 'c');
	ck_assert_str_eq(lb_sent_call()->header.run, RUN);
	ck_assert_str_eq(lb_sent_call()->header.service, "tool:add");
	ck_assert_uint_eq(lb_sent_call()->header.step, 3);
	ck_assert_uint_eq(lb_sent_call()->header.epoch, 7);
	ck_assert_uint_eq(lb_sent_call()->header.deadline_ms, 60000);
	ck_assert_uint_eq(ledger_pending(lb.ledger), 1);
}
END_TEST

START_TEST(a_call_is_sent_again_flagged_until_it_is_acknowledged)
{
	lb_call("c1");
	lb_tick(RESEND_MS - 1);
	ck_assert_uint_eq(lb.actions.count, 0);
	lb_tick(1);
	ck_assert_uint_eq(lb_sent_call()->link, lb.first);
	ck_assert(lb_flagged());
	ck_assert_uint_eq(lb_sent_call()->header.deadline_ms, 60000 - RESEND_MS);
	lb_say(lb.first, MSG_CALL_ACK, "c1");
	lb_tick(UINT64_C(10) * RESEND_MS);
	ck_assert_uint_eq(lb.actions.count, 0);
}
END_TEST

START_TEST(a_large_call_is_given_the_time_to_cross)
{
	lb.body_bytes = UINT64_C(10) * CROSSING_BYTES_S;
	lb_call("c1");
	lb_tick(10000 + RESEND_MS - 1);
	ck_assert_uint_eq(lb.actions.count, 0);
	lb_tick(1);
	ck_assert(lb_flagged());
	lb_about(LEDGER_UNSENT, "c1");
	lb_tick(RESEND_MS); /* that one has not gone out */
	ck_assert(lb_flagged());
}
END_TEST

START_TEST(when_its_link_goes_down_a_call_goes_to_the_next_flagged)
{
	lb_call("c1");
	lb_say(lb.first, MSG_CALL_ACK, "c1");
	lb_down(lb.first);
	ck_assert_uint_eq(lb_sent_call()->link, lb.second);
	ck_assert(lb_flagged());
	lb_down(lb.second);
	ck_assert_uint_eq(lb_sent_call()->link, lb.third);
	lb_down(lb.third);
	ck_assert_uint_eq(lb.actions.count, 0);
	lb_up(lb.second);
	ck_assert_uint_eq(lb_sent_call()->link, lb.second);
	ck_assert(lb_flagged());
}
END_TEST

START_TEST(a_call_that_no_link_could_take_goes_out_unflagged)
{
	uint32_t i;

	for (i = 0; i < LINKS; i++)
		lb_down(i);
	lb_call("c1");
	ck_assert_uint_eq(lb.actions.count, 0);
	lb_up(lb.third);
	ck_assert_uint_eq(lb_sent_call()->link, lb.third);
	ck_assert(!lb_flagged());
}
END_TEST

START_TEST(a_link_that_comes_back_gets_new_calls_only)
{
	lb_call("c1");
	lb_down(lb.first);
	lb_up(lb.first);
	ck_assert_uint_eq(lb.actions.count, 0);
	lb_tick(RESEND_MS);
	ck_assert_uint_eq(lb_sent_call()->link, lb.second);
	lb_call("c2");
	ck_assert_uint_eq(lb_sent_call()->link, lb.first);
}
END_TEST

START_TEST(the_loss_of_another_link_moves_nothing)
{
	lb_call("c1");
	lb_down(lb.second);
	ck_assert_uint_eq(lb.actions.count, 0);
}
END_TEST

START_TEST(a_takeover_is_flagged_from_the_first_time)
{
	lb_call_flagged("c1", WIRE_RESEND | WIRE_ONCE);
	ck_assert(lb_flagged());
	ck_assert((lb_sent_call()->header.flags & WIRE_ONCE) != 0);
}
END_TEST

START_TEST(a_copy_that_could_not_go_out_does_not_count)
{
	lb_call("c1");
	lb_about(LEDGER_UNSENT, "c1");
	lb_tick(RESEND_MS);
	ck_assert(!lb_flagged());
	lb_about(LEDGER_UNSENT, "c1");
	lb_down(lb.first);
	ck_assert_uint_eq(lb_sent_call()->link, lb.second);
	ck_assert(!lb_flagged());
	lb_result(lb.second, "c1", CODE_OK);
	lb_about(LEDGER_STORED, "c1");
	ck_assert_uint_eq(lb_told(MSG_RESULT_ACK, "c1"), LINK_BIT(lb.second));
	ck_assert_uint_eq(ledger_owed(lb.ledger), 0);
}
END_TEST

/* --- BUSY and RELEASE ----------------------------------------------------------------- */

START_TEST(a_busy_broker_is_asked_again_later_unflagged)
{
	lb_call("c1");
	lb_message(lb.first,
	    (struct header){ .type = MSG_BUSY, .call_id = "c1", .retry_after_ms = 3000 });
	lb_tick(2999);
	ck_assert_uint_eq(lb.actions.count, 0);
	lb_tick(1);
	ck_assert_uint_eq(lb_sent_call()->link, lb.first);
	ck_assert(!lb_flagged());
}
END_TEST

/* Another owner has asked for it there: a worker may have it. */
START_TEST(what_another_owner_asks_for_is_sent_elsewhere_flagged)
{
	lb_call("c1");
	lb_say(lb.first, MSG_CALL_ACK, "c1");
	lb_message(lb.first,
	    (struct header){ .type = MSG_BUSY, .flags = WIRE_RESEND, .call_id = "c1" });
	lb_down(lb.first);
	ck_assert_uint_eq(lb_sent_call()->link, lb.second);
	ck_assert(lb_flagged());
}
END_TEST

START_TEST(while_another_copy_is_under_way_a_refused_call_may_be_known)
{
	lb_call("c1");
	lb_tick(RESEND_MS); /* a second copy */
	lb_say(lb.first, MSG_BUSY, "c1");
	lb_down(lb.first);
	ck_assert_uint_eq(lb_sent_call()->link, lb.second);
	ck_assert(lb_flagged());
}
END_TEST

START_TEST(busy_of_a_link_where_the_call_is_no_more_is_nothing)
{
	lb_call("c1");
	lb_down(lb.first);
	lb_up(lb.first);
	lb_say(lb.first, MSG_BUSY, "c1");
	ck_assert_uint_eq(lb.actions.count, 0);
	lb_tick(RESEND_MS);
	ck_assert_uint_eq(lb_sent_call()->link, lb.second);
	ck_assert(lb_flagged());
}
END_TEST

/* A broker that stood still may have lost a worker which has announced the call elsewhere. */
START_TEST(that_a_worker_is_lost_counts_from_where_the_call_is)
{
	lb_call("c1");
	lb_down(lb.first);
	ck_assert_uint_eq(lb_sent_call()->link, lb.second);
	lb_up(lb.first);
	lb_result(lb.first, "c1", CODE_WORKER_LOST);
	ck_assert_ptr_null(lb_find(LEDGER_DELIVER));
	lb_result(lb.second, "c1", CODE_WORKER_LOST);
	ck_assert_uint_eq(lb_find(LEDGER_DELIVER)->header.code, CODE_WORKER_LOST);
}
END_TEST

START_TEST(a_leaving_broker_gets_no_new_calls_and_keeps_what_it_has)
{
	lb_call("c1");
	lb_say(lb.first, MSG_CALL_ACK, "c1");
	lb_leaving(lb.first);
	ck_assert_uint_eq(lb.actions.count, 0);
	lb_call("c2");
	ck_assert_uint_eq(lb_sent_call()->link, lb.second);
	lb_result(lb.first, "c1", CODE_OK);
	ck_assert_ptr_nonnull(lb_find(LEDGER_DELIVER));
	lb_about(LEDGER_STORED, "c1");
	ck_assert_uint_eq(lb_told(MSG_RESULT_ACK, "c1"), LINK_BIT(lb.first));
}
END_TEST

START_TEST(what_a_leaving_broker_refuses_moves_at_once_unflagged)
{
	lb_call("c1");
	lb_leaving(lb.first);
	lb_say(lb.first, MSG_BUSY, "c1");
	ck_assert_uint_eq(lb_sent_call()->link, lb.second);
	ck_assert(!lb_flagged());
}
END_TEST

START_TEST(what_a_broker_had_refused_moves_when_it_leaves)
{
	lb_call("c1");
	lb_say(lb.first, MSG_BUSY, "c1");
	lb_leaving(lb.first);
	ck_assert_uint_eq(lb_sent_call()->link, lb.second);
	ck_assert(!lb_flagged());
}
END_TEST

START_TEST(what_a_leaving_broker_gives_back_moves_at_once_unflagged)
{
	lb_call_flagged("c1", WIRE_ONCE);
	lb_tick(RESEND_MS); /* two copies, none of which it will take any more */
	lb_say(lb.first, MSG_CALL_ACK, "c1");
	lb_leaving(lb.first);
	lb_say(lb.first, MSG_RELEASE, "c1");
	ck_assert_uint_eq(lb_sent_call()->link, lb.second);
	ck_assert(!lb_flagged());
	lb_result(lb.second, "c1", CODE_OK);
	lb_about(LEDGER_STORED, "c1");
	ck_assert_uint_eq(lb_told(MSG_RESULT_ACK, "c1"), LINK_BIT(lb.second));
}
END_TEST

START_TEST(what_may_still_run_as_the_leaving_broker_says_moves_flagged)
{
	const struct header release = {
		.type = MSG_RELEASE, .flags = WIRE_RESEND, .call_id = "c1"
	};

	lb_call_flagged("c1", WIRE_ONCE);
	lb_leaving(lb.first);
	lb_step((struct ledger_event){
	    .type = LEDGER_MESSAGE, .link = lb.first, .header = &release });
	ck_assert_uint_eq(lb_sent_call()->link, lb.second);
	ck_assert(lb_flagged());
}
END_TEST

START_TEST(with_all_brokers_leaving_calls_wait_for_the_next)
{
	uint32_t i;

	for (i = 0; i < LINKS; i++)
		lb_leaving(i);
	lb_call("c1");
	ck_assert_uint_eq(lb.actions.count, 0);
	ck_assert_uint_eq(ledger_link(lb.ledger, RUN), LINK_NONE);
	lb_down(lb.first);
	lb_up(lb.first);
	ck_assert_uint_eq(lb_sent_call()->link, lb.first);
	ck_assert(!lb_flagged());
}
END_TEST

START_TEST(a_call_is_unsent_until_it_is_sent_and_when_it_is_given_back)
{
	const struct header may_run = {
		.type = MSG_RELEASE, .flags = WIRE_RESEND, .call_id = "c1"
	};
	uint32_t i;

	for (i = 0; i < LINKS; i++)
		if (i != lb.first)
			lb_down(i);
	lb_call("c1");
	ck_assert(!ledger_is_unsent(lb.ledger, "c1"));
	ck_assert(!ledger_is_unsent(lb.ledger, "c2")); /* nobody waits for it */
	lb_leaving(lb.first);
	lb_call("c2");
	ck_assert(ledger_is_unsent(lb.ledger, "c2"));
	lb_say(lb.first, MSG_RELEASE, "c1");
	ck_assert(ledger_is_unsent(lb.ledger, "c1"));
	lb_step((struct ledger_event){
	    .type = LEDGER_MESSAGE, .link = lb.first, .header = &may_run });
	ck_assert(!ledger_is_unsent(lb.ledger, "c1"));
	lb_down(lb.first);
	lb_up(lb.first);
	ck_assert(!ledger_is_unsent(lb.ledger, "c2"));
	lb_down(lb.first);
	ck_assert(!ledger_is_unsent(lb.ledger, "c2")); /* the broker may know it */
}
END_TEST

TCase *
tcase_ledger(void)
{
	TCase *tcase = tcase_create("ledger");

	tcase_add_checked_fixture(tcase, lb_setup, lb_teardown);
	tcase_add_test(
	    tcase, runs_spread_over_the_links_and_only_those_of_a_lost_one_move);
	tcase_add_test(tcase, the_order_does_not_depend_on_how_the_brokers_are_listed);
	tcase_add_test(
	    tcase, a_call_goes_to_the_first_link_of_its_run_unflagged_with_all_it_has);
	tcase_add_test(tcase, a_call_is_sent_again_flagged_until_it_is_acknowledged);
	tcase_add_test(tcase, a_large_call_is_given_the_time_to_cross);
	tcase_add_test(tcase, when_its_link_goes_down_a_call_goes_to_the_next_flagged);
	tcase_add_test(tcase, a_call_that_no_link_could_take_goes_out_unflagged);
	tcase_add_test(tcase, a_link_that_comes_back_gets_new_calls_only);
	tcase_add_test(tcase, the_loss_of_another_link_moves_nothing);
	tcase_add_test(tcase, a_takeover_is_flagged_from_the_first_time);
	tcase_add_test(tcase, a_copy_that_could_not_go_out_does_not_count);
	tcase_add_test(tcase, a_busy_broker_is_asked_again_later_unflagged);
	tcase_add_test(tcase, what_another_owner_asks_for_is_sent_elsewhere_flagged);
	tcase_add_test(
	    tcase, while_another_copy_is_under_way_a_refused_call_may_be_known);
	tcase_add_test(tcase, busy_of_a_link_where_the_call_is_no_more_is_nothing);
	tcase_add_test(tcase, that_a_worker_is_lost_counts_from_where_the_call_is);
	tcase_add_test(tcase, a_leaving_broker_gets_no_new_calls_and_keeps_what_it_has);
	tcase_add_test(tcase, what_a_leaving_broker_refuses_moves_at_once_unflagged);
	tcase_add_test(tcase, what_a_broker_had_refused_moves_when_it_leaves);
	tcase_add_test(tcase, what_a_leaving_broker_gives_back_moves_at_once_unflagged);
	tcase_add_test(
	    tcase, what_may_still_run_as_the_leaving_broker_says_moves_flagged);
	tcase_add_test(tcase, with_all_brokers_leaving_calls_wait_for_the_next);
	tcase_add_test(
	    tcase, a_call_is_unsent_until_it_is_sent_and_when_it_is_given_back);
	return tcase;
}
