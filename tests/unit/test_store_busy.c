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

TCase *
tcase_store_busy(void)
{
	TCase *tcase = tcase_create("store_busy");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, who_does_not_wait_is_refused_while_the_thread_is_busy);
	tcase_add_test(tcase, who_interrupts_is_next);
	tcase_add_test(tcase, a_rollback_holds_until_the_next_run_has_begun);
	return tcase;
}
