/* What becomes of a run for a thread that is not free. */
#include <check.h>
#include <string.h>

#include "store_thread.h"
#include "store_trial.h"

/* Interface under test */
#include "store.h"

TCase *tcase_store_busy(void);

static void
play_reject(void)
{
	struct store_claim claim;

	ck_assert_int_eq(thread_submit("r1", "multitask", "reject"), STORE_OK);
	ck_assert_int_eq(thread_submit("r2", "multitask", "reject"), STORE_REJECTED);
	ck_assert_ptr_nonnull(strstr(store_error(trial.a), "busy with run 'r1'"));
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	/* Told again, it is no other answer; and a run that is known is left alone. */
	ck_assert_int_eq(thread_submit("r2", "multitask", "reject"), STORE_REJECTED);
	ck_assert_str_eq(thread_status("r2"), "refused");
	ck_assert_int_eq(thread_submit("r1", "multitask", "reject"), STORE_KNOWN);
	thread_commit(&claim, "success", "success");
	ck_assert_int_eq(thread_submit("r3", "multitask", "reject"), STORE_OK);
}

START_TEST(who_does_not_wait_is_refused_while_the_thread_is_busy)
{
	trial_play(play_reject);
}
END_TEST

static void
play_interrupt(void)
{
	struct store_claim claim;

	trial_submit("t", "r1");
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	trial_submit("t", "r2");
	trial_submit("t", "r3");
	ck_assert_int_eq(thread_submit("r4", "multitask", "interrupt"), STORE_OK);
	ck_assert_str_eq(thread_status("r2"), "cancelled");
	ck_assert_str_eq(thread_status("r3"), "cancelled");
	ck_assert_str_eq(value_get_text(thread_record("r1"), "replaced_by"), "r4");
	ck_assert(!value_has(thread_record("r1"), "rolled_back"));
	ck_assert(store_cancel_wanted(trial.a, trial.arena, "t", "r1"));
	ck_assert_int_eq(thread_submit("r4", "multitask", "interrupt"), STORE_KNOWN);
	thread_commit(&claim, "cancelled", "cancelled");
	ck_assert_uint_eq(trial.committed.waiting, 1);
	trial_claim(trial.b, "t", STORE_THREAD_LEASE_MS, &claim);
	ck_assert_str_eq(claim.run, "r4");
	ck_assert_int_eq(claim.rollback, -1);
}

START_TEST(who_interrupts_is_next)
{
	trial_play(play_interrupt);
}
END_TEST

static void
play_rollback(void)
{
	struct store_claim claim;

	thread_play("r1", 2, "success");
	trial_submit("t", "r2");
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	thread_commit(&claim, "running", "running");
	ck_assert_int_eq(thread_submit("r3", "multitask", "rollback"), STORE_OK);
	/* It goes on as itself to its end, also when it is taken over. */
	trial_hset("t:t", "owner", "");
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	ck_assert_str_eq(claim.run, "r2");
	ck_assert_int_eq(claim.rollback, -1);
	/* One rollback in place of the other goes as far back. */
	ck_assert_int_eq(thread_submit("r4", "multitask", "rollback"), STORE_OK);
	thread_commit(&claim, "success", "success");
	ck_assert_uint_eq(value_size(value_get(thread_state(), "messages")), 1);
	ck_assert(!value_has(value_get(thread_state(), "fields"), "f2"));
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	ck_assert_str_eq(claim.run, "r4");
	ck_assert_int_eq(claim.rollback, 2);
	ck_assert_int_eq(value_get_int(thread_record("r4"), "base", -1), 2);
	thread_commit(&claim, "success", "success");
	trial_submit("t", "r5");
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	ck_assert_int_eq(claim.rollback, -1);
}

START_TEST(a_rollback_holds_until_the_next_run_has_begun)
{
	trial_play(play_rollback);
}
END_TEST

/* Without a successor; also when the run has ended well before it heard of it. */
static void
play_cancel_back(void)
{
	struct store_claim claim;
	const char *answer, *status;

	thread_play("r1", 2, "success");
	trial_submit("t", "r2");
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	thread_commit(&claim, "running", "running");
	ck_assert_int_eq(
	    store_cancel_back(trial.a, trial.arena, "t", "r2", &answer, &status),
	    STORE_OK);
	ck_assert_str_eq(answer, "CANCELLING");
	thread_commit(&claim, "success", "success");
	ck_assert_uint_eq(value_size(value_get(thread_state(), "messages")), 1);
	ck_assert_int_eq(
	    store_cancel_back(trial.a, trial.arena, "t", "r2", &answer, &status),
	    STORE_OK);
	ck_assert_str_eq(answer, "ENDED");
	trial_submit("t", "r3");
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	ck_assert_int_eq(claim.rollback, 2);
	/* It is rolled back as well: as far. */
	ck_assert_int_eq(
	    store_cancel_back(trial.a, trial.arena, "t", "r3", &answer, &status),
	    STORE_OK);
	thread_commit(&claim, "cancelled", "cancelled");
	ck_assert_uint_eq(value_size(value_get(thread_state(), "messages")), 1);
	trial_submit("t", "r4");
	ck_assert_int_eq(
	    store_cancel_back(trial.a, trial.arena, "t", "r4", &answer, &status),
	    STORE_OK);
	ck_assert_str_eq(answer, "CANCELLED");
	ck_assert_uint_eq(value_size(value_get(thread_state(), "messages")), 1);
}

START_TEST(a_cancelled_run_may_be_rolled_back)
{
	trial_play(play_cancel_back);
}
END_TEST

/* --- very many that wait ------------------------------------------------------------- */

static const char *
key(const char *name)
{
	return arena_printf(
	    trial.arena, "%s%s", store_prefix(trial.arena, store_shard("t")), name);
}

static void
line_up_many(void)
{
	struct store_claim claim;

	thread_play("r0", 1, "success");
	trial_ask("EVAL",
	    "for i = 1, 2500 do redis.call('RPUSH', KEYS[1], 'x' .. i) "
	    "redis.call('HSET', KEYS[2] .. 'x' .. i, 'status', 'queued', 'thread', 't') "
	    "end",
	    "2", key("t:t:q"), key("r:"));
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	ck_assert_str_eq(claim.run, "x1");
	ck_assert_int_eq(thread_submit("next", "multitask", "interrupt"), STORE_OK);
	/* In one step so many end that nobody waits long for Redis. */
	ck_assert_str_eq(thread_status("x1001"), "cancelled");
	ck_assert_str_eq(thread_status("x1002"), "queued");
	thread_commit(&claim, "cancelled", "cancelled");
}

static unsigned
claims_to(const char *run)
{
	struct store_claim claim;
	enum store_status status;
	unsigned count = 0;

	do {
		status =
		    store_claim(trial.a, trial.arena, "t", STORE_THREAD_LEASE_MS, &claim);
		count++;
	} while (status == STORE_BUSY);
	ck_assert_int_eq(status, STORE_OK);
	ck_assert_str_eq(claim.run, run);
	return count;
}

static void
play_many_ousted(void)
{
	line_up_many();
	trial_submit("t", "behind");
	ck_assert_uint_eq(claims_to("next"), 2);
	ck_assert_str_eq(thread_status("x2500"), "cancelled");
	ck_assert_str_eq(value_get_text(thread_record("x2500"), "replaced_by"), "next");
	ck_assert_str_eq(thread_status("behind"), "queued");
	ck_assert_int_eq(trial_ask("HEXISTS", key("t:t"), "way")->integer, 0);
}

START_TEST(very_many_make_way_in_steps)
{
	trial_play(play_many_ousted);
}
END_TEST

/* Who took their place may be cancelled, or make way himself. */
static void
play_many_for_nobody(void)
{
	const char *answer, *ended;

	line_up_many();
	trial_submit("t", "behind");
	ck_assert_int_eq(
	    store_cancel(trial.a, trial.arena, "t", "next", &answer, &ended), STORE_OK);
	ck_assert_str_eq(answer, "CANCELLED");
	ck_assert_uint_eq(claims_to("behind"), 2);
	ck_assert_str_eq(thread_status("x2500"), "cancelled");
}

START_TEST(they_make_way_though_nobody_comes)
{
	trial_play(play_many_for_nobody);
}
END_TEST

static void
play_many_twice(void)
{
	line_up_many();
	ck_assert_int_eq(thread_submit("last", "multitask", "interrupt"), STORE_OK);
	ck_assert_str_eq(thread_status("x2001"), "cancelled");
	ck_assert_str_eq(thread_status("x2002"), "queued");
	ck_assert_uint_eq(claims_to("last"), 1);
	ck_assert_str_eq(thread_status("x2500"), "cancelled");
	ck_assert_str_eq(thread_status("next"), "cancelled");
}

START_TEST(who_makes_way_later_does_so_too)
{
	trial_play(play_many_twice);
}
END_TEST

static void
play_many_and_few(void)
{
	line_up_many();
	ck_assert_int_eq(thread_submit("next", "multitask", "interrupt"), STORE_KNOWN);
	ck_assert_int_eq(thread_submit("last", "multitask", "interrupt"), STORE_OK);
	ck_assert_int_eq(thread_submit("final", "multitask", "interrupt"), STORE_OK);
	ck_assert_str_eq(thread_status("x2500"), "cancelled");
	ck_assert_str_eq(thread_status("last"), "cancelled");
	ck_assert_uint_eq(claims_to("final"), 1);
}

START_TEST(for_the_last_of_them_all_have_made_way)
{
	trial_play(play_many_and_few);
}
END_TEST

TCase *
tcase_store_busy(void)
{
	TCase *tcase = tcase_create("store_busy");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, who_does_not_wait_is_refused_while_the_thread_is_busy);
	tcase_add_test(tcase, who_interrupts_is_next);
	tcase_add_test(tcase, a_rollback_holds_until_the_next_run_has_begun);
	tcase_add_test(tcase, a_cancelled_run_may_be_rolled_back);
	tcase_add_test(tcase, very_many_make_way_in_steps);
	tcase_add_test(tcase, they_make_way_though_nobody_comes);
	tcase_add_test(tcase, who_makes_way_later_does_so_too);
	tcase_add_test(tcase, for_the_last_of_them_all_have_made_way);
	return tcase;
}
