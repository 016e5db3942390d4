/* Calls of ours over several brokers, one test a rule. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger.h"

TCase *tcase_ledger(void);

#define LINKS 3u
#define ALL_LINKS (LINK_BIT(LINKS) - 1)
#define RUN "r1"

struct cargo {
	char mark;
};

struct waiter {
	char mark;
};

static struct ledger *ledger;
static struct ledger_actions actions;
static uint64_t identities[LINKS];
static struct waiter somebody;
static uint64_t now_ms;
static long cargos;                   /* given and not freed */
static uint32_t first, second, third; /* RUN's links, in order */

static void
drop(struct cargo *cargo)
{
	cargos--;
	free(cargo);
}

static void
step(struct ledger_event event)
{
	size_t i;

	actions = ledger_step(ledger, &event, now_ms);
	for (i = 0; i < actions.count; i++)
		if (actions.items[i].type == LEDGER_FREE)
			drop(actions.items[i].cargo);
}

static void
up(uint32_t link)
{
	step((struct ledger_event){ .type = LEDGER_UP, .link = link });
}

static void
down(uint32_t link)
{
	step((struct ledger_event){ .type = LEDGER_DOWN, .link = link });
}

static void
leaving(uint32_t link)
{
	step((struct ledger_event){ .type = LEDGER_LEAVING, .link = link });
}

static void
setup(void)
{
	char endpoint[32];
	uint32_t i;

	now_ms = 5000;
	cargos = 0;
	for (i = 0; i < LINKS; i++) {
		snprintf(endpoint, sizeof endpoint, "tcp://10.0.0.%u:7700", i);
		identities[i] = rendezvous_identity(endpoint);
	}
	first = rendezvous_choose(identities, ALL_LINKS, RUN);
	second = rendezvous_choose(identities, ALL_LINKS & ~LINK_BIT(first), RUN);
	third = LINKS - first - second;
	ledger = ledger_new(identities, LINKS, 0);
	for (i = 0; i < LINKS; i++)
		up(i);
}

static void
teardown(void)
{
	ledger_destroy(&ledger, drop);
	ck_assert_int_eq(cargos, 0);
}

static void
call_flagged(const char *id, unsigned flags)
{
	const struct header header = { .type = MSG_CALL,
		.flags = flags,
		.call_id = id,
		.run = RUN,
		.step = 3,
		.epoch = 7,
		.service = "tool:add",
		.deadline_ms = 60000 };
	struct cargo *cargo = malloc(sizeof *cargo);

	cargo->mark = 'c';
	cargos++;
	step((struct ledger_event){ .type = LEDGER_CALL,
	    .header = &header,
	    .waiter = &somebody,
	    .cargo = cargo });
}

static void
call(const char *id)
{
	call_flagged(id, 0);
}

static void
about(enum ledger_event_type type, const char *id)
{
	step((struct ledger_event){ .type = type, .id = id });
}

static void
message(uint32_t link, struct header header)
{
	step((struct ledger_event){
	    .type = LEDGER_MESSAGE, .link = link, .header = &header });
}

static void
say(uint32_t link, enum message_type type, const char *id)
{
	message(link, (struct header){ .type = type, .call_id = id });
}

static void
result(uint32_t link, const char *id, enum wire_code code)
{
	message(link, (struct header){ .type = MSG_RESULT, .call_id = id, .code = code });
}

static void
tick(uint64_t ms)
{
	now_ms += ms;
	step((struct ledger_event){ .type = LEDGER_TICK });
}

static const struct ledger_action *
find(enum ledger_action_type type)
{
	size_t i;

	for (i = 0; i < actions.count; i++)
		if (actions.items[i].type == type)
			return &actions.items[i];
	return NULL;
}

/* The links that got a message of type about id in the last step. */
static link_set
told(enum message_type type, const char *id)
{
	const struct ledger_action *action;
	link_set links = 0;
	size_t i;

	for (i = 0; i < actions.count; i++) {
		action = &actions.items[i];
		if (action->type == LEDGER_SEND && action->header.type == type &&
		    strcmp(action->header.call_id, id) == 0) {
			ck_assert_uint_eq(links & LINK_BIT(action->link), 0);
			links |= LINK_BIT(action->link);
		}
	}
	return links;
}

static const struct ledger_action *
sent_call(void)
{
	const struct ledger_action *action = find(LEDGER_SEND);

	ck_assert_ptr_nonnull(action);
	ck_assert_int_eq(action->header.type, MSG_CALL);
	return action;
}

static bool
flagged(void)
{
	return (sent_call()->header.flags & WIRE_RESEND) != 0;
}

/* --- links ---------------------------------------------------------------------------- */

START_TEST(runs_spread_over_the_links_and_only_those_of_a_lost_one_move)
{
	size_t counts[LINKS] = { 0 }, i;
	uint32_t before, after;
	char run[16];

	for (i = 0; i < 3000; i++) {
		snprintf(run, sizeof run, "run-%zu", i);
		before = rendezvous_choose(identities, ALL_LINKS, run);
		after = rendezvous_choose(identities, ALL_LINKS & ~LINK_BIT(1), run);
		counts[before]++;
		if (before != 1)
			ck_assert_uint_eq(before, after);
	}
	for (i = 0; i < LINKS; i++) {
		ck_assert_uint_gt(counts[i], 850);
		ck_assert_uint_lt(counts[i], 1150);
	}
	ck_assert_uint_eq(rendezvous_choose(identities, 0, "run"), LINK_NONE);
}
END_TEST

START_TEST(the_order_does_not_depend_on_how_the_brokers_are_listed)
{
	const uint64_t turned[LINKS] = { identities[2], identities[0], identities[1] };
	uint32_t a = rendezvous_choose(identities, ALL_LINKS, RUN);
	uint32_t b = rendezvous_choose(turned, ALL_LINKS, RUN);

	ck_assert_uint_eq(identities[a], turned[b]);
}
END_TEST

START_TEST(a_call_goes_to_the_first_link_of_its_run_unflagged_with_all_it_has)
{
	call("c1");
	ck_assert_uint_eq(sent_call()->link, first);
	ck_assert_uint_eq(ledger_link(ledger, RUN), first);
	ck_assert(!flagged());
	ck_assert_int_eq(sent_call()->cargo->mark, 'c');
	ck_assert_str_eq(sent_call()->header.run, RUN);
	ck_assert_str_eq(sent_call()->header.service, "tool:add");
	ck_assert_uint_eq(sent_call()->header.step, 3);
	ck_assert_uint_eq(sent_call()->header.epoch, 7);
	ck_assert_uint_eq(sent_call()->header.deadline_ms, 60000);
	ck_assert_uint_eq(ledger_pending(ledger), 1);
}
END_TEST

START_TEST(a_call_is_sent_again_flagged_until_it_is_acknowledged)
{
	call("c1");
	tick(RESEND_MS - 1);
	ck_assert_uint_eq(actions.count, 0);
	tick(1);
	ck_assert_uint_eq(sent_call()->link, first);
	ck_assert(flagged());
	ck_assert_uint_eq(sent_call()->header.deadline_ms, 60000 - RESEND_MS);
	say(first, MSG_CALL_ACK, "c1");
	tick(UINT64_C(10) * RESEND_MS);
	ck_assert_uint_eq(actions.count, 0);
}
END_TEST

START_TEST(when_its_link_goes_down_a_call_goes_to_the_next_flagged)
{
	call("c1");
	say(first, MSG_CALL_ACK, "c1");
	down(first);
	ck_assert_uint_eq(sent_call()->link, second);
	ck_assert(flagged());
	down(second);
	ck_assert_uint_eq(sent_call()->link, third);
	down(third);
	ck_assert_uint_eq(actions.count, 0);
	up(second);
	ck_assert_uint_eq(sent_call()->link, second);
	ck_assert(flagged());
}
END_TEST

START_TEST(a_call_that_no_link_could_take_goes_out_unflagged)
{
	uint32_t i;

	for (i = 0; i < LINKS; i++)
		down(i);
	call("c1");
	ck_assert_uint_eq(actions.count, 0);
	up(third);
	ck_assert_uint_eq(sent_call()->link, third);
	ck_assert(!flagged());
}
END_TEST

START_TEST(a_link_that_comes_back_gets_new_calls_only)
{
	call("c1");
	down(first);
	up(first);
	ck_assert_uint_eq(actions.count, 0);
	tick(RESEND_MS);
	ck_assert_uint_eq(sent_call()->link, second);
	call("c2");
	ck_assert_uint_eq(sent_call()->link, first);
}
END_TEST

START_TEST(the_loss_of_another_link_moves_nothing)
{
	call("c1");
	down(second);
	ck_assert_uint_eq(actions.count, 0);
}
END_TEST

START_TEST(a_takeover_is_flagged_from_the_first_time)
{
	call_flagged("c1", WIRE_RESEND | WIRE_ONCE);
	ck_assert(flagged());
	ck_assert((sent_call()->header.flags & WIRE_ONCE) != 0);
}
END_TEST

START_TEST(a_copy_that_could_not_go_out_does_not_count)
{
	call("c1");
	about(LEDGER_UNSENT, "c1");
	tick(RESEND_MS);
	ck_assert(!flagged());
	about(LEDGER_UNSENT, "c1");
	down(first);
	ck_assert_uint_eq(sent_call()->link, second);
	ck_assert(!flagged());
	result(second, "c1", CODE_OK);
	about(LEDGER_STORED, "c1");
	ck_assert_uint_eq(told(MSG_RESULT_ACK, "c1"), LINK_BIT(second));
	ck_assert_uint_eq(ledger_owed(ledger), 0);
}
END_TEST

/* --- BUSY and RELEASE ----------------------------------------------------------------- */

START_TEST(a_busy_broker_is_asked_again_later_unflagged)
{
	call("c1");
	message(first,
	    (struct header){ .type = MSG_BUSY, .call_id = "c1", .retry_after_ms = 3000 });
	tick(2999);
	ck_assert_uint_eq(actions.count, 0);
	tick(1);
	ck_assert_uint_eq(sent_call()->link, first);
	ck_assert(!flagged());
}
END_TEST

/* Another owner has asked for it there: a worker may have it. */
START_TEST(what_another_owner_asks_for_is_sent_elsewhere_flagged)
{
	call("c1");
	say(first, MSG_CALL_ACK, "c1");
	message(first,
	    (struct header){ .type = MSG_BUSY, .flags = WIRE_RESEND, .call_id = "c1" });
	down(first);
	ck_assert_uint_eq(sent_call()->link, second);
	ck_assert(flagged());
}
END_TEST

START_TEST(while_another_copy_is_under_way_a_refused_call_may_be_known)
{
	call("c1");
	tick(RESEND_MS); /* a second copy */
	say(first, MSG_BUSY, "c1");
	down(first);
	ck_assert_uint_eq(sent_call()->link, second);
	ck_assert(flagged());
}
END_TEST

START_TEST(busy_of_a_link_where_the_call_is_no_more_is_nothing)
{
	call("c1");
	down(first);
	up(first);
	say(first, MSG_BUSY, "c1");
	ck_assert_uint_eq(actions.count, 0);
	tick(RESEND_MS);
	ck_assert_uint_eq(sent_call()->link, second);
	ck_assert(flagged());
}
END_TEST

/* A broker that stood still may have lost a worker which has announced the call elsewhere. */
START_TEST(that_a_worker_is_lost_counts_from_where_the_call_is)
{
	call("c1");
	down(first);
	ck_assert_uint_eq(sent_call()->link, second);
	up(first);
	result(first, "c1", CODE_WORKER_LOST);
	ck_assert_ptr_null(find(LEDGER_DELIVER));
	result(second, "c1", CODE_WORKER_LOST);
	ck_assert_uint_eq(find(LEDGER_DELIVER)->header.code, CODE_WORKER_LOST);
}
END_TEST

START_TEST(a_leaving_broker_gets_no_new_calls_and_keeps_what_it_has)
{
	call("c1");
	say(first, MSG_CALL_ACK, "c1");
	leaving(first);
	ck_assert_uint_eq(actions.count, 0);
	call("c2");
	ck_assert_uint_eq(sent_call()->link, second);
	result(first, "c1", CODE_OK);
	ck_assert_ptr_nonnull(find(LEDGER_DELIVER));
	about(LEDGER_STORED, "c1");
	ck_assert_uint_eq(told(MSG_RESULT_ACK, "c1"), LINK_BIT(first));
}
END_TEST

START_TEST(what_a_leaving_broker_refuses_moves_at_once_unflagged)
{
	call("c1");
	leaving(first);
	say(first, MSG_BUSY, "c1");
	ck_assert_uint_eq(sent_call()->link, second);
	ck_assert(!flagged());
}
END_TEST

START_TEST(what_a_broker_had_refused_moves_when_it_leaves)
{
	call("c1");
	say(first, MSG_BUSY, "c1");
	leaving(first);
	ck_assert_uint_eq(sent_call()->link, second);
	ck_assert(!flagged());
}
END_TEST

START_TEST(what_a_leaving_broker_gives_back_moves_at_once_unflagged)
{
	call_flagged("c1", WIRE_ONCE);
	tick(RESEND_MS); /* two copies, none of which it will take any more */
	say(first, MSG_CALL_ACK, "c1");
	leaving(first);
	say(first, MSG_RELEASE, "c1");
	ck_assert_uint_eq(sent_call()->link, second);
	ck_assert(!flagged());
	result(second, "c1", CODE_OK);
	about(LEDGER_STORED, "c1");
	ck_assert_uint_eq(told(MSG_RESULT_ACK, "c1"), LINK_BIT(second));
}
END_TEST

START_TEST(what_may_still_run_as_the_leaving_broker_says_moves_flagged)
{
	const struct header release = {
		.type = MSG_RELEASE, .flags = WIRE_RESEND, .call_id = "c1"
	};

	call_flagged("c1", WIRE_ONCE);
	leaving(first);
	step((struct ledger_event){
	    .type = LEDGER_MESSAGE, .link = first, .header = &release });
	ck_assert_uint_eq(sent_call()->link, second);
	ck_assert(flagged());
}
END_TEST

START_TEST(with_all_brokers_leaving_calls_wait_for_the_next)
{
	uint32_t i;

	for (i = 0; i < LINKS; i++)
		leaving(i);
	call("c1");
	ck_assert_uint_eq(actions.count, 0);
	ck_assert_uint_eq(ledger_link(ledger, RUN), LINK_NONE);
	down(first);
	up(first);
	ck_assert_uint_eq(sent_call()->link, first);
	ck_assert(!flagged());
}
END_TEST

/* --- outcomes ------------------------------------------------------------------------- */

START_TEST(the_outcome_is_delivered_once_and_acknowledged_when_it_is_stored)
{
	call("c1");
	result(first, "c1", CODE_OK);
	ck_assert_ptr_eq(find(LEDGER_DELIVER)->waiter, &somebody);
	ck_assert_uint_eq(find(LEDGER_DELIVER)->header.code, CODE_OK);
	ck_assert_uint_eq(told(MSG_RESULT_ACK, "c1"), 0);
	ck_assert_int_eq(cargos, 0);
	ck_assert_uint_eq(ledger_pending(ledger), 0);
	result(first, "c1", CODE_OK);
	ck_assert_uint_eq(actions.count, 0);
	about(LEDGER_STORED, "c1");
	ck_assert_uint_eq(told(MSG_RESULT_ACK, "c1"), LINK_BIT(first));
	result(first, "c1", CODE_OK);
	ck_assert_uint_eq(told(MSG_RESULT_ACK, "c1"), LINK_BIT(first));
}
END_TEST

START_TEST(a_failure_is_an_outcome_with_its_reason)
{
	call("c1");
	message(first, (struct header){ .type = MSG_RESULT,
			   .call_id = "c1",
			   .code = CODE_POISON,
			   .reason = "it kills" });
	ck_assert_uint_eq(find(LEDGER_DELIVER)->header.code, CODE_POISON);
	ck_assert_str_eq(find(LEDGER_DELIVER)->header.reason, "it kills");
}
END_TEST

START_TEST(every_broker_that_may_have_it_is_told_when_an_outcome_is_stored)
{
	call("c1");
	down(first);
	up(first);
	result(second, "c1", CODE_OK);
	about(LEDGER_STORED, "c1");
	ck_assert_uint_eq(told(MSG_RESULT_ACK, "c1"), LINK_BIT(first) | LINK_BIT(second));
	ck_assert_uint_eq(ledger_owed(ledger), 0);
}
END_TEST

START_TEST(a_broker_that_is_away_then_is_told_when_it_is_back)
{
	call("c1");
	down(first);
	result(second, "c1", CODE_OK);
	about(LEDGER_STORED, "c1");
	ck_assert_uint_eq(told(MSG_RESULT_ACK, "c1"), LINK_BIT(second));
	ck_assert_uint_eq(ledger_owed(ledger), 1);
	up(first);
	ck_assert_uint_eq(told(MSG_RESULT_ACK, "c1"), LINK_BIT(first));
	ck_assert_uint_eq(ledger_owed(ledger), 0);
}
END_TEST

START_TEST(a_broker_that_is_lost_when_it_was_told_just_now_may_not_have_heard_it)
{
	call("c1");
	result(first, "c1", CODE_OK);
	about(LEDGER_STORED, "c1");
	down(first);
	ck_assert_uint_eq(told(MSG_RESULT_ACK, "c1"), LINK_BIT(second) | LINK_BIT(third));
	ck_assert_uint_eq(ledger_owed(ledger), 1);
	up(first);
	ck_assert_uint_eq(told(MSG_RESULT_ACK, "c1"), LINK_BIT(first));
	ck_assert_uint_eq(ledger_owed(ledger), 0);
}
END_TEST

START_TEST(with_no_other_broker_up_the_first_that_comes_is_told)
{
	call("c1");
	result(first, "c1", CODE_OK);
	about(LEDGER_STORED, "c1");
	down(third);
	down(second);
	down(first);
	up(third);
	ck_assert_uint_eq(told(MSG_RESULT_ACK, "c1"), LINK_BIT(third));
}
END_TEST

START_TEST(a_broker_that_lived_on_has_heard_it)
{
	call("c1");
	result(first, "c1", CODE_OK);
	about(LEDGER_STORED, "c1");
	tick(UINT64_C(2) * LIVENESS_MS);
	down(first);
	ck_assert_uint_eq(actions.count, 0);
}
END_TEST

START_TEST(what_is_owed_is_bounded_in_number_and_time)
{
	char id[16];
	size_t i;

	for (i = 0; i < LEDGER_OWED_MAX + 5; i++) {
		snprintf(id, sizeof id, "c%zu", i);
		call(id);
		result(first, id, CODE_OK);
	}
	down(first);
	for (i = 0; i < LEDGER_OWED_MAX + 5; i++) {
		snprintf(id, sizeof id, "c%zu", i);
		about(LEDGER_STORED, id);
	}
	ck_assert_uint_eq(ledger_owed(ledger), LEDGER_OWED_MAX);
	tick(RESULT_KEEP_MS);
	ck_assert_uint_eq(ledger_owed(ledger), 0);
}
END_TEST

START_TEST(an_answer_by_another_link_counts_and_the_late_one_is_acknowledged)
{
	call("c1");
	down(first);
	up(first);
	result(first, "c1", CODE_OK);
	ck_assert_ptr_nonnull(find(LEDGER_DELIVER));
	about(LEDGER_STORED, "c1");
	ck_assert_uint_eq(told(MSG_RESULT_ACK, "c1"), LINK_BIT(first) | LINK_BIT(second));
	result(second, "c1", CODE_OK);
	ck_assert_uint_eq(told(MSG_RESULT_ACK, "c1"), LINK_BIT(second));
}
END_TEST

START_TEST(a_taken_over_call_may_be_anywhere)
{
	call_flagged("c1", WIRE_RESEND);
	result(first, "c1", CODE_OK);
	about(LEDGER_STORED, "c1");
	ck_assert_uint_eq(told(MSG_RESULT_ACK, "c1"), ALL_LINKS);
}
END_TEST

START_TEST(that_a_broker_does_not_know_the_call_is_no_outcome)
{
	call("c1");
	result(first, "c1", CODE_UNKNOWN_CALL);
	ck_assert_uint_eq(actions.count, 0);
	ck_assert_uint_eq(ledger_pending(ledger), 1);
}
END_TEST

START_TEST(silence_past_the_deadline_is_an_outcome)
{
	call("c1");
	say(first, MSG_CALL_ACK, "c1");
	tick(60000 + EXPIRE_GRACE_MS + 2 * RESEND_MS - 1);
	ck_assert_ptr_null(find(LEDGER_DELIVER));
	tick(1);
	ck_assert_uint_eq(find(LEDGER_DELIVER)->header.code, CODE_EXPIRED);
	about(LEDGER_STORED, "c1");
	ck_assert_uint_eq(told(MSG_RESULT_ACK, "c1"), LINK_BIT(first));
}
END_TEST

/* What may have begun, and must not run twice, is lost rather than late. */
START_TEST(silence_on_a_call_that_must_not_run_twice_is_a_loss)
{
	call_flagged("c1", WIRE_ONCE);
	say(first, MSG_CALL_ACK, "c1");
	tick(60000 + EXPIRE_GRACE_MS + 2 * RESEND_MS);
	ck_assert_uint_eq(find(LEDGER_DELIVER)->header.code, CODE_WORKER_LOST);
}
END_TEST

START_TEST(a_cancel_that_nobody_confirms_says_so)
{
	call("c1");
	about(LEDGER_CANCEL, "c1");
	tick(CANCEL_WAIT_MS);
	ck_assert_uint_eq(find(LEDGER_ENDED)->header.code, CODE_EXPIRED);
	ck_assert_str_eq(find(LEDGER_ENDED)->header.call_id, "c1");
}
END_TEST

START_TEST(a_cancel_that_is_confirmed_does_not)
{
	call("c1");
	about(LEDGER_CANCEL, "c1");
	result(first, "c1", CODE_CANCELLED);
	ck_assert_uint_eq(find(LEDGER_ENDED)->header.code, CODE_OK);
}
END_TEST

START_TEST(a_call_made_anew_takes_over_from_the_one_before)
{
	static struct waiter before;

	somebody = before;
	call("c1");
	call("c1");
	ck_assert_ptr_eq(find(LEDGER_REVOKE)->waiter, &somebody);
	ck_assert_uint_eq(ledger_pending(ledger), 1);
	ck_assert((actions.items[actions.count - 1].header.flags & WIRE_RESEND) != 0);
	ck_assert_int_eq(cargos, 1);
}
END_TEST

/* --- cancelled calls ------------------------------------------------------------------ */

START_TEST(a_cancelled_call_is_cancelled_again_until_it_ends)
{
	call("c1");
	about(LEDGER_CANCEL, "c1");
	ck_assert_uint_eq(told(MSG_CANCEL, "c1"), LINK_BIT(first));
	ck_assert(ledger_is_cancelling(ledger, RUN));
	ck_assert_int_eq(cargos, 0);
	tick(RESEND_MS);
	ck_assert_uint_eq(told(MSG_CANCEL, "c1"), LINK_BIT(first));
	result(first, "c1", CODE_CANCELLED);
	ck_assert_uint_eq(told(MSG_RESULT_ACK, "c1"), LINK_BIT(first));
	ck_assert_ptr_null(find(LEDGER_DELIVER));
	ck_assert_str_eq(find(LEDGER_ENDED)->header.run, RUN);
	ck_assert(!ledger_is_cancelling(ledger, RUN));
}
END_TEST

START_TEST(a_cancel_is_given_up_in_time)
{
	call("c1");
	about(LEDGER_CANCEL, "c1");
	tick(CANCEL_WAIT_MS);
	ck_assert_ptr_nonnull(find(LEDGER_ENDED));
	ck_assert_uint_eq(ledger_pending(ledger), 0);
}
END_TEST

START_TEST(the_cancel_of_what_nobody_saw_is_silent)
{
	call("c1");
	about(LEDGER_UNSENT, "c1");
	about(LEDGER_CANCEL, "c1");
	ck_assert_uint_eq(told(MSG_CANCEL, "c1"), 0);
	ck_assert_uint_eq(ledger_pending(ledger), 0);
}
END_TEST

START_TEST(a_cancel_goes_to_every_broker_that_may_have_the_call)
{
	call("c1");
	down(first);
	about(LEDGER_CANCEL, "c1");
	ck_assert_uint_eq(told(MSG_CANCEL, "c1"), LINK_BIT(second));
	up(first);
	ck_assert_uint_eq(told(MSG_CANCEL, "c1"), LINK_BIT(first) | LINK_BIT(second));
	result(first, "c1", CODE_UNKNOWN_CALL);
	ck_assert(ledger_is_cancelling(ledger, RUN));
	result(second, "c1", CODE_UNKNOWN_CALL);
	ck_assert(!ledger_is_cancelling(ledger, RUN));
}
END_TEST

START_TEST(the_cancel_of_a_lost_broker_s_call_goes_where_it_may_be_announced)
{
	call("c1");
	about(LEDGER_CANCEL, "c1");
	down(first);
	ck_assert_uint_eq(told(MSG_CANCEL, "c1"), LINK_BIT(second));
	result(second, "c1", CODE_UNKNOWN_CALL); /* not yet */
	ck_assert(ledger_is_cancelling(ledger, RUN));
	tick(RESEND_MS);
	ck_assert_uint_eq(told(MSG_CANCEL, "c1"), LINK_BIT(second));
	result(second, "c1", CODE_CANCELLED);
	ck_assert(!ledger_is_cancelling(ledger, RUN));
	ck_assert_uint_eq(ledger_owed(ledger), 1);
}
END_TEST

START_TEST(the_outcome_that_a_cancelled_waiter_left_is_acknowledged)
{
	call("c1");
	result(first, "c1", CODE_OK);
	about(LEDGER_CANCEL, "c1");
	ck_assert_uint_eq(told(MSG_RESULT_ACK, "c1"), LINK_BIT(first));
	ck_assert(!ledger_is_cancelling(ledger, RUN));
}
END_TEST

START_TEST(a_cancelled_call_that_a_leaving_broker_gives_back_has_ended)
{
	call("c1");
	about(LEDGER_CANCEL, "c1");
	say(first, MSG_RELEASE, "c1");
	ck_assert_ptr_nonnull(find(LEDGER_ENDED));
}
END_TEST

/* --- what is another's ---------------------------------------------------------------- */

START_TEST(a_forgotten_call_is_never_acknowledged_and_its_waiter_revoked)
{
	call("c1");
	about(LEDGER_FORGET, "c1");
	ck_assert_ptr_eq(find(LEDGER_REVOKE)->waiter, &somebody);
	ck_assert_int_eq(cargos, 0);
	result(first, "c1", CODE_OK);
	ck_assert_uint_eq(actions.count, 0);
	now_ms += SETTLED_KEEP_MS + 1; /* without a tick: nothing is pending */
	result(first, "c1", CODE_OK);  /* long ago: who wanted it has it */
	ck_assert_uint_eq(told(MSG_RESULT_ACK, "c1"), LINK_BIT(first));
}
END_TEST

START_TEST(a_disowned_run_s_calls_are_forgotten_all)
{
	call("c1");
	call("c2");
	result(first, "c2", CODE_OK);
	call("c3");
	about(LEDGER_CANCEL, "c3");
	about(LEDGER_DISOWN, RUN);
	ck_assert_uint_eq(told(MSG_RESULT_ACK, "c2"), 0);
	ck_assert_ptr_nonnull(find(LEDGER_ENDED));
	ck_assert_uint_eq(ledger_pending(ledger), 0);
	result(first, "c2", CODE_OK);
	ck_assert_uint_eq(actions.count, 0);
	about(LEDGER_DISOWN, "r2");
	ck_assert_uint_eq(actions.count, 0);
}
END_TEST

START_TEST(what_was_disowned_while_it_was_stored_is_acknowledged_all_the_same)
{
	call("c1");
	result(first, "c1", CODE_OK);
	about(LEDGER_DISOWN, RUN);
	about(LEDGER_STORED, "c1");
	ck_assert_uint_eq(told(MSG_RESULT_ACK, "c1"), ALL_LINKS);
	result(second, "c1", CODE_OK);
	ck_assert_uint_eq(told(MSG_RESULT_ACK, "c1"), LINK_BIT(second));
}
END_TEST

START_TEST(a_forgotten_call_that_is_called_again_is_ours_again)
{
	call("c1");
	about(LEDGER_FORGET, "c1");
	call_flagged("c1", WIRE_RESEND);
	result(first, "c1", CODE_OK);
	ck_assert_ptr_nonnull(find(LEDGER_DELIVER));
}
END_TEST

TCase *
tcase_ledger(void)
{
	TCase *tcase = tcase_create("ledger");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(
	    tcase, runs_spread_over_the_links_and_only_those_of_a_lost_one_move);
	tcase_add_test(tcase, the_order_does_not_depend_on_how_the_brokers_are_listed);
	tcase_add_test(
	    tcase, a_call_goes_to_the_first_link_of_its_run_unflagged_with_all_it_has);
	tcase_add_test(tcase, a_call_is_sent_again_flagged_until_it_is_acknowledged);
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
	    tcase, what_was_disowned_while_it_was_stored_is_acknowledged_all_the_same);
	tcase_add_test(tcase, a_forgotten_call_that_is_called_again_is_ours_again);
	return tcase;
}
