/* What a worker says to which of several brokers, one test a rule. */
#include <check.h>
#include <string.h>

#include "outbox_bench.h"

TCase *tcase_outbox_links(void);

#define CAPACITY 3u
#define A 0u /* links */
#define B 1u
#define D 2u

static void
down(uint32_t link)
{
	ob_step((struct outbox_event){ .type = OUTBOX_DOWN, .link = link });
}

static void
setup(void)
{
	ob_open(CAPACITY);
	ob_up(B);
}

static void
message(uint32_t link, struct header header)
{
	ob_step((struct outbox_event){
	    .type = OUTBOX_MESSAGE, .link = link, .header = &header });
}

static void
call(uint32_t link, const char *id)
{
	message(link, (struct header){ .type = MSG_CALL,
			  .call_id = id,
			  .run = "r1",
			  .attempt = 1,
			  .deadline_ms = 600000 });
}

static void
about(uint32_t link, enum message_type type, const char *id)
{
	message(link, (struct header){ .type = type, .call_id = id });
}

static void
unwanted(uint32_t link, const char *id)
{
	message(link, (struct header){
			  .type = MSG_CANCEL, .call_id = id, .code = CODE_WORKER_LOST });
}

static void
seek_flagged(uint32_t link, const char *id, unsigned flags)
{
	const struct wire_call calls[] = { { .call_id = id, .state = CALL_RUNNING },
		{ .call_id = "unheard-of", .state = CALL_RUNNING } };

	message(link,
	    (struct header){
		.type = MSG_SEEK, .flags = flags, .calls = calls, .call_count = 2 });
}

static void
seek(uint32_t link, const char *id)
{
	seek_flagged(link, id, 0);
}

/* The links that got a message of type (about id) in the last step, once each. */
static link_set
told(enum message_type type, const char *id)
{
	const struct outbox_action *action;
	link_set links = 0;
	size_t i;

	for (i = 0; i < ob.actions.count; i++) {
		action = &ob.actions.items[i];
		if (action->type == OUTBOX_SEND && action->header.type == type &&
		    (id == NULL || strcmp(action->header.call_id, id) == 0)) {
			ck_assert_uint_eq(links & LINK_BIT(action->link), 0);
			links |= LINK_BIT(action->link);
		}
	}
	return links;
}

/* The links to which id was announced as state in the last step. */
static link_set
announced(const char *id, enum wire_call_state state)
{
	const struct outbox_action *action;
	link_set links = 0;
	size_t i, j;

	for (i = 0; i < ob.actions.count; i++) {
		action = &ob.actions.items[i];
		if (action->type != OUTBOX_SEND || action->header.type != MSG_ANNOUNCE)
			continue;
		for (j = 0; j < action->header.call_count; j++)
			if (strcmp(action->header.calls[j].call_id, id) == 0) {
				ck_assert_int_eq(action->header.calls[j].state, state);
				links |= LINK_BIT(action->link);
			}
	}
	return links;
}

static bool
did(enum outbox_action_type type)
{
	size_t i;

	for (i = 0; i < ob.actions.count; i++)
		if (ob.actions.items[i].type == type)
			return true;
	return false;
}

/* --- results -------------------------------------------------------------------------- */

START_TEST(a_result_goes_to_the_broker_that_gave_the_call)
{
	call(B, "c1");
	ck_assert_uint_eq(told(MSG_CALL_ACK, "c1"), LINK_BIT(B));
	ob_end("c1", false);
	ck_assert_uint_eq(told(MSG_RESULT, "c1"), LINK_BIT(B));
	about(B, MSG_RESULT_ACK, "c1");
	ck_assert_uint_eq(told(MSG_RESULT_ACK, "c1"), 0);
	ck_assert_uint_eq(outbox_finished(ob.outbox), 0);
}
END_TEST

START_TEST(a_call_that_comes_by_two_brokers_runs_once_and_is_answered_to_both)
{
	call(A, "c1");
	call(B, "c1");
	ck_assert(!did(OUTBOX_START));
	ck_assert_uint_eq(told(MSG_CALL_ACK, "c1"), LINK_BIT(B));
	ob_end("c1", false);
	ck_assert_uint_eq(told(MSG_RESULT, "c1"), LINK_BIT(A) | LINK_BIT(B));
}
END_TEST

START_TEST(the_first_acknowledgement_settles_and_the_others_are_told)
{
	call(A, "c1");
	call(B, "c1");
	ob_end("c1", false);
	about(A, MSG_RESULT_ACK, "c1");
	ck_assert_uint_eq(told(MSG_RESULT_ACK, "c1"), LINK_BIT(B));
	ck_assert_uint_eq(outbox_finished(ob.outbox), 0);
	ob_tick(60000);
	ck_assert_uint_eq(told(MSG_RESULT, "c1"), 0);
}
END_TEST

START_TEST(a_result_goes_by_another_broker_when_its_own_is_down)
{
	call(A, "c1");
	down(A);
	ck_assert_uint_eq(announced("c1", CALL_RUNNING), LINK_BIT(B));
	ob_end("c1", false);
	ck_assert_uint_eq(told(MSG_RESULT, "c1"), LINK_BIT(B));
	ob_up(A);
	ck_assert_uint_eq(announced("c1", CALL_FINISHED), LINK_BIT(A));
	ck_assert_uint_eq(told(MSG_RESULT, "c1"), LINK_BIT(A));
	ob_tick(RESEND_MS);
	ck_assert_uint_eq(told(MSG_RESULT, "c1"), LINK_BIT(A) | LINK_BIT(B));
}
END_TEST

START_TEST(a_large_result_on_its_way_to_one_broker_is_shown_to_another)
{
	call(A, "c1");
	ob.body_bytes = UINT64_C(10) * CROSSING_BYTES_S;
	ob_end("c1", false);
	ck_assert_uint_eq(told(MSG_RESULT, "c1"), LINK_BIT(A));
	call(B, "c1");
	ck_assert_uint_eq(told(MSG_RESULT, "c1"), LINK_BIT(B));
	call(A, "c1");
	ck_assert_uint_eq(told(MSG_RESULT, "c1"), 0);
	down(A); /* with what was on its way */
	ob_up(A);
	ck_assert_uint_eq(told(MSG_RESULT, "c1"), LINK_BIT(A));
}
END_TEST

START_TEST(with_all_brokers_down_a_result_waits_for_the_first_that_is_up)
{
	call(A, "c1");
	down(A);
	down(B);
	ob_end("c1", false);
	ck_assert_uint_eq(told(MSG_RESULT, "c1"), 0);
	ob_up(D);
	ck_assert_uint_eq(announced("c1", CALL_FINISHED), LINK_BIT(D));
	ck_assert_uint_eq(told(MSG_RESULT, "c1"), LINK_BIT(D));
}
END_TEST

/* --- announcements -------------------------------------------------------------------- */

START_TEST(a_lost_broker_s_calls_are_announced_to_all_others)
{
	call(A, "c1");
	call(B, "c2");
	ob_up(D);
	call(A, "c3");
	ob_end("c3", false);
	down(A);
	ck_assert_uint_eq(announced("c1", CALL_RUNNING), LINK_BIT(B) | LINK_BIT(D));
	ck_assert_uint_eq(announced("c3", CALL_FINISHED), LINK_BIT(B) | LINK_BIT(D));
	ck_assert_uint_eq(told(MSG_RESULT, "c3"), LINK_BIT(B) | LINK_BIT(D));
	ck_assert_uint_eq(announced("c2", CALL_RUNNING), 0);
}
END_TEST

START_TEST(a_broker_that_comes_is_told_of_what_concerns_it)
{
	call(A, "c1");
	ob_up(D);
	ck_assert_uint_eq(announced("c1", CALL_RUNNING), 0); /* A knows it */
	down(A);
	ob_up(A);
	ck_assert_uint_eq(announced("c1", CALL_RUNNING), LINK_BIT(A));
}
END_TEST

START_TEST(a_call_that_is_sought_is_announced_to_who_seeks_it)
{
	call(A, "c1");
	seek(B, "c1");
	ck_assert_uint_eq(announced("c1", CALL_RUNNING), LINK_BIT(B));
	ck_assert_uint_eq(announced("unheard-of", CALL_RUNNING), 0);
	ob_end("c1", false);
	ck_assert_uint_eq(told(MSG_RESULT, "c1"), LINK_BIT(A) | LINK_BIT(B));
	seek(B, "c1");
	ck_assert_uint_eq(announced("c1", CALL_FINISHED), LINK_BIT(B));
	ck_assert_uint_eq(told(MSG_RESULT, "c1"), LINK_BIT(B));
}
END_TEST

START_TEST(who_has_nothing_of_what_is_sought_is_silent)
{
	seek(B, "c1");
	ck_assert_uint_eq(ob.actions.count, 0);
}
END_TEST

START_TEST(a_call_under_way_while_it_was_sought_is_announced_when_it_comes)
{
	seek(B, "c1");
	call(A, "c1");
	ck_assert(did(OUTBOX_START));
	ck_assert_uint_eq(announced("c1", CALL_RUNNING), LINK_BIT(B));
	call(A, "c2");
	ck_assert_uint_eq(told(MSG_ANNOUNCE, NULL), 0);
}
END_TEST

/* A former call of the broker that seeks it. */
START_TEST(who_seeks_what_it_had_given_is_told_what_is_here_no_more)
{
	call(A, "c1");
	seek_flagged(A, "c1", WIRE_RESEND);
	ck_assert_uint_eq(announced("c1", CALL_RUNNING), LINK_BIT(A));
	ck_assert_uint_eq(announced("unheard-of", CALL_ABSENT), LINK_BIT(A));
	ob_end("c1", false);
	about(A, MSG_RESULT_ACK, "c1");
	seek_flagged(A, "c1", WIRE_RESEND);
	ck_assert_uint_eq(announced("c1", CALL_ABSENT), LINK_BIT(A));
	ck_assert_uint_eq(told(MSG_RESULT, "c1"), 0);
	call(B, "c1"); /* it was not under way to us */
	ck_assert_uint_eq(told(MSG_ANNOUNCE, NULL), 0);
}
END_TEST

/* --- stopping ------------------------------------------------------------------------- */

START_TEST(a_call_that_one_broker_has_elsewhere_goes_on_for_the_other)
{
	call(A, "c1");
	call(B, "c1");
	unwanted(A, "c1");
	ck_assert(!did(OUTBOX_STOP));
	unwanted(B, "c1");
	ck_assert(did(OUTBOX_STOP));
	ob_end("c1", true);
	ck_assert_uint_eq(told(MSG_RELEASE, "c1"), LINK_BIT(A) | LINK_BIT(B));
}
END_TEST

START_TEST(it_does_not_go_on_for_a_broker_that_is_down)
{
	call(A, "c1");
	call(B, "c1");
	down(B);
	unwanted(A, "c1");
	ck_assert(did(OUTBOX_STOP));
}
END_TEST

START_TEST(who_gives_a_call_again_wants_it_again)
{
	call(A, "c1");
	call(B, "c1");
	unwanted(A, "c1");
	call(A, "c1");
	unwanted(B, "c1");
	ck_assert(!did(OUTBOX_STOP));
}
END_TEST

START_TEST(a_cancel_of_any_broker_stops_the_call)
{
	call(A, "c1");
	about(B, MSG_CANCEL, "c1");
	ck_assert(did(OUTBOX_STOP));
	ob_end("c1", true);
	ck_assert_uint_eq(told(MSG_RESULT, "c1"), LINK_BIT(A) | LINK_BIT(B));
}
END_TEST

/* --- slots ---------------------------------------------------------------------------- */

START_TEST(the_brokers_share_the_slots)
{
	call(A, "c1");
	call(B, "c2");
	call(B, "c3");
	call(A, "c4");
	ck_assert_uint_eq(told(MSG_BUSY, "c4"), LINK_BIT(A));
	call(B, "c5");
	ck_assert_uint_eq(told(MSG_BUSY, "c5"), LINK_BIT(B));
}
END_TEST

START_TEST(slots_that_become_free_are_told_but_not_too_often)
{
	call(A, "c1");
	call(A, "c2");
	ob_end("c1", false);
	ck_assert_uint_eq(told(MSG_CREDIT, NULL), LINK_BIT(A) | LINK_BIT(B));
	ck_assert_uint_eq(
	    ob.actions.items[ob.actions.count - 1].header.credit, CAPACITY - 1);
	ob_end("c2", false);
	ck_assert_uint_eq(told(MSG_CREDIT, NULL), 0);
	ob_tick(CREDIT_PAUSE_MS);
	ck_assert_uint_eq(told(MSG_CREDIT, NULL), LINK_BIT(A) | LINK_BIT(B));
	ob_tick(CREDIT_PAUSE_MS);
	ck_assert_uint_eq(told(MSG_CREDIT, NULL), 0);
}
END_TEST

START_TEST(an_only_broker_sees_its_slots_by_itself)
{
	down(B);
	call(A, "c1");
	ob_end("c1", false);
	ck_assert_uint_eq(told(MSG_CREDIT, NULL), 0);
}
END_TEST

START_TEST(a_drain_is_said_to_all_and_to_who_comes_later)
{
	call(A, "c1");
	ob_step((struct outbox_event){ .type = OUTBOX_DRAIN, .drain_ms = 60000 });
	ck_assert_uint_eq(told(MSG_DRAIN, NULL), LINK_BIT(A) | LINK_BIT(B));
	ob_up(D);
	ck_assert_uint_eq(told(MSG_DRAIN, NULL), LINK_BIT(D));
	ob_end("c1", false);
	ck_assert(!did(OUTBOX_DRAINED));
	about(A, MSG_RESULT_ACK, "c1");
	ck_assert(did(OUTBOX_DRAINED));
}
END_TEST

START_TEST(a_probe_is_answered_to_who_asked)
{
	about(B, MSG_PROBE, "p1");
	ck_assert(did(OUTBOX_START_PROBE));
	ob_step(
	    (struct outbox_event){ .type = OUTBOX_PROBED, .link = B, .call_id = "p1" });
	ck_assert_uint_eq(told(MSG_PROBE, "p1"), LINK_BIT(B));
}
END_TEST

TCase *
tcase_outbox_links(void)
{
	TCase *tcase = tcase_create("outbox_links");

	tcase_add_checked_fixture(tcase, setup, ob_close);
	tcase_add_test(tcase, a_result_goes_to_the_broker_that_gave_the_call);
	tcase_add_test(
	    tcase, a_call_that_comes_by_two_brokers_runs_once_and_is_answered_to_both);
	tcase_add_test(tcase, the_first_acknowledgement_settles_and_the_others_are_told);
	tcase_add_test(tcase, a_result_goes_by_another_broker_when_its_own_is_down);
	tcase_add_test(
	    tcase, a_large_result_on_its_way_to_one_broker_is_shown_to_another);
	tcase_add_test(
	    tcase, with_all_brokers_down_a_result_waits_for_the_first_that_is_up);
	tcase_add_test(tcase, a_lost_broker_s_calls_are_announced_to_all_others);
	tcase_add_test(tcase, a_broker_that_comes_is_told_of_what_concerns_it);
	tcase_add_test(tcase, a_call_that_is_sought_is_announced_to_who_seeks_it);
	tcase_add_test(tcase, who_has_nothing_of_what_is_sought_is_silent);
	tcase_add_test(
	    tcase, a_call_under_way_while_it_was_sought_is_announced_when_it_comes);
	tcase_add_test(tcase, who_seeks_what_it_had_given_is_told_what_is_here_no_more);
	tcase_add_test(tcase, a_call_that_one_broker_has_elsewhere_goes_on_for_the_other);
	tcase_add_test(tcase, it_does_not_go_on_for_a_broker_that_is_down);
	tcase_add_test(tcase, who_gives_a_call_again_wants_it_again);
	tcase_add_test(tcase, a_cancel_of_any_broker_stops_the_call);
	tcase_add_test(tcase, the_brokers_share_the_slots);
	tcase_add_test(tcase, slots_that_become_free_are_told_but_not_too_often);
	tcase_add_test(tcase, an_only_broker_sees_its_slots_by_itself);
	tcase_add_test(tcase, a_drain_is_said_to_all_and_to_who_comes_later);
	tcase_add_test(tcase, a_probe_is_answered_to_who_asked);
	return tcase;
}
