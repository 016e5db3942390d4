/* Who holds a run without a lease (store/blame.lua), against a real Redis. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "store_trial.h"

/* Interface under test */
#include "store.h"

TCase *tcase_store_hold(void);

#define NOT_LONG 0u /* a lease that is over at once */
#define LONG 60000u
#define OWNERS 5u /* that a run may take down */

static struct store_hold
hold_of(const struct store_claim *claim)
{
	return (struct store_hold){ "t", claim->run, claim->epoch, claim->version };
}

/* When the thread is looked at. */
static bool
may_claim(struct store *store)
{
	const struct value *threads = NULL;
	struct store_claim claim;

	trial_ask("ZADD",
	    arena_printf(
		trial.arena, "%sdue", store_prefix(trial.arena, store_shard("t"))),
	    "1", "t");
	ck_assert_int_eq(
	    store_sweep(store, trial.arena, store_shard("t"), 10, &threads), STORE_OK);
	if (value_size(threads) != 0)
		return true;
	ck_assert_int_eq(store_claim(store, trial.arena, "t", LONG, &claim), STORE_BUSY);
	return false;
}

/* a has lost the run by time, and claims it again; then its lease is gone. */
static struct store_claim
take_back(void)
{
	struct store_claim first, claim;
	struct store_renewed renewed;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", NOT_LONG, &first);
	trial_claim(trial.b, "t", NOT_LONG, &claim);
	ck_assert_int_eq(trial_results(trial.a, &first), STORE_FENCED);
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_int_eq(
	    store_renew(trial.a, trial.arena, store_shard("t"), 0, &renewed), STORE_OK);
	return claim;
}

/* Who holds it has lost sight of it: the sweep tells him. */
static void
play_out_of_sight(void)
{
	struct store_claim claim = take_back();

	ck_assert_int_eq(trial_results(trial.b, &claim), STORE_FENCED); /* another's */
	ck_assert(!may_claim(trial.b));
	ck_assert(may_claim(trial.a));
}

START_TEST(who_holds_it_finds_it_again)
{
	trial_play(play_out_of_sight);
}
END_TEST

/* Before it is said that a run has taken all of them down, the last one has the time to say that it lives. */
static void
play_last(void)
{
	struct store_renewed renewed;
	struct store_claim claim;
	unsigned i;

	trial_submit("t", "r");
	for (i = 1; i < OWNERS; i++)
		trial_claim(trial.a, "t", NOT_LONG, &claim);
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_int_eq(
	    store_renew(trial.a, trial.arena, store_shard("t"), 0, &renewed), STORE_OK);
	ck_assert(!may_claim(trial.b));
	ck_assert_int_eq(trial_results(trial.a, &claim), STORE_OK);
}

START_TEST(the_last_one_has_time_to_come_back)
{
	trial_play(play_last);
}
END_TEST

/* As store_claim sends it: a's session, once more. */
static void
claim_again(void)
{
	trial_ask("FCALL", "fl_claim", "1", store_thread_key(trial.arena, "t"),
	    store_prefix(trial.arena, store_shard("t")), "t", TRIAL_B, "60000", "0",
	    "coordinator-b", "", "", "9", "1");
}

/* The answer to b's claim is lost, a is heard, and b claims again: progress forgives all the same. */
static void
play_claimed_again(void)
{
	struct store_claim first, claim;
	const char *key = store_thread_key(trial.arena, "t");

	trial_submit("t", "r");
	trial_claim(trial.a, "t", NOT_LONG, &first);
	trial_claim(trial.b, "t", NOT_LONG, &claim);
	ck_assert_int_eq(trial_results(trial.a, &first), STORE_FENCED);
	claim_again();
	claim.epoch =
	    strtoull(redis_reply_text(trial_ask("HGET", key, "epoch")), NULL, 10);
	ck_assert_int_eq(trial_results(trial.b, &claim), STORE_OK);
	ck_assert(value_is_nil(trial_ask("HGET", key, "hold")));
}

START_TEST(progress_forgives_what_was_claimed_again)
{
	trial_play(play_claimed_again);
}
END_TEST

static void
play_hold(void)
{
	struct store_claim claim = take_back();
	struct store_hold hold = hold_of(&claim);

	ck_assert(!may_claim(trial.b));
	/* It rests: what it could come to an end with it has. */
	ck_assert_int_eq(store_attempts(trial.a, trial.arena, &hold, 1, 0), STORE_OK);
	ck_assert(may_claim(trial.b));
	ck_assert_int_eq(
	    store_attempts(trial.a, trial.arena, &hold, claim.attempts, 1), STORE_OK);
	ck_assert(!may_claim(trial.b));
	ck_assert_int_eq(trial_results(trial.a, &claim), STORE_OK);
	ck_assert(may_claim(trial.b));
}

START_TEST(who_takes_over_what_was_lost_by_time_holds_it_without_a_lease)
{
	trial_play(play_hold);
}
END_TEST

static void
play_hold_given_back(void)
{
	struct store_claim claim = take_back();
	struct store_hold hold = hold_of(&claim);

	ck_assert_int_eq(store_release(trial.a, trial.arena, &hold, NULL), STORE_OK);
	trial_claim(trial.b, "t", NOT_LONG, &claim);
	/* Another run of the thread is held by nobody. */
	ck_assert_int_eq(trial_commit(trial.b, &claim, "c", "success"), STORE_OK);
	trial_submit("t", "r2");
	trial_claim(trial.b, "t", NOT_LONG, &claim);
	ck_assert_str_eq(claim.run, "r2");
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_uint_eq(claim.attempts, 2);
}

START_TEST(what_is_given_back_is_held_by_nobody)
{
	trial_play(play_hold_given_back);
}
END_TEST

TCase *
tcase_store_hold(void)
{
	TCase *tcase = tcase_create("store_hold");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(
	    tcase, who_takes_over_what_was_lost_by_time_holds_it_without_a_lease);
	tcase_add_test(tcase, what_is_given_back_is_held_by_nobody);
	tcase_add_test(tcase, who_holds_it_finds_it_again);
	tcase_add_test(tcase, the_last_one_has_time_to_come_back);
	tcase_add_test(tcase, progress_forgives_what_was_claimed_again);
	return tcase;
}
