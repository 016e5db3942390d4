/* Which runs take their owners down (store/blame.lua, coordinator/suspects.h); against a real Redis. */
#include <check.h>
#include <string.h>

#include "store_trial.h"

/* Interface under test */
#include "store.h"
#include "store_runs.h"

TCase *tcase_store_blame(void);

#define NOT_LONG 0u /* a lease that is over at once */
#define LONG 60000u
#define OWNERS 5u /* that a run may take down */

static void
check_alive(void)
{
	const struct value *runs = NULL;

	ck_assert_int_eq(store_dead(trial.b, trial.arena, 0, &runs), STORE_OK);
	ck_assert_uint_eq(value_size(runs), 0);
}

/* --- suspects ---------------------------------------------------------------------------- */

static struct store_hold
hold_of(const struct store_claim *claim)
{
	return (struct store_hold){ "t", claim->run, claim->epoch, claim->version };
}

static void
play_suspect(void)
{
	struct store_claim claim = { 0 }, found = { 0 };

	trial_submit("t", "r");
	ck_assert_int_eq(
	    store_claim_within(trial.a, trial.arena, "t", NOT_LONG, 2, &claim), STORE_OK);
	ck_assert_uint_eq(claim.attempts, 1);
	ck_assert_int_eq(
	    store_claim_within(trial.a, trial.arena, "t", NOT_LONG, 2, &claim), STORE_OK);
	ck_assert_uint_eq(claim.attempts, 2);
	ck_assert_int_eq(
	    store_claim_within(trial.b, trial.arena, "t", NOT_LONG, 2, &found),
	    STORE_SUSPECT);
	ck_assert_str_eq(found.run, "r");
	ck_assert_uint_eq(found.attempts, 3);
	/* It is left as it was: its owner owns it, and nothing was counted. */
	ck_assert_int_eq(trial_results(trial.a, &claim), STORE_OK);
	trial_claim(trial.b, "t", LONG, &claim);
	ck_assert_uint_eq(claim.attempts, 2);
}

START_TEST(a_suspect_is_left_where_it_is)
{
	trial_play(play_suspect);
}
END_TEST

static void
play_rest(void)
{
	struct store_claim before = { 0 }, claim = { 0 };
	struct store_hold hold;
	unsigned i;

	trial_submit("t", "r");
	for (i = 0; i < 3 * OWNERS; i++) {
		before = claim;
		trial_claim(trial.a, "t", NOT_LONG, &claim);
		ck_assert_uint_eq(claim.attempts, i < 3 ? i + 1 : 3);
		hold = hold_of(&claim);
		if (claim.attempts > 2)
			ck_assert_int_eq(
			    store_attempts(trial.a, trial.arena, &hold, 2, 0), STORE_OK);
	}
	check_alive();
	hold = hold_of(&before);
	ck_assert_int_eq(store_attempts(trial.a, trial.arena, &hold, 1, 0), STORE_FENCED);
	hold = hold_of(&claim);
	ck_assert_int_eq(store_attempts(trial.b, trial.arena, &hold, 1, 0), STORE_FENCED);
	/* It moves again, and takes its owner down. */
	ck_assert_int_eq(
	    store_attempts(trial.a, trial.arena, &hold, OWNERS, 0), STORE_OK);
	ck_assert_int_eq(
	    store_claim(trial.b, trial.arena, "t", LONG, &claim), STORE_QUARANTINED);
}

START_TEST(who_rests_is_not_to_blame)
{
	trial_play(play_rest);
}
END_TEST

static void
play_given_back(void)
{
	struct store_claim claim = { 0 };
	struct store_hold hold;
	unsigned i;

	trial_submit("t", "r");
	for (i = 0; i < 3; i++)
		trial_claim(trial.a, "t", NOT_LONG, &claim);
	hold = hold_of(&claim);
	ck_assert_int_eq(store_attempts(trial.a, trial.arena, &hold, 2, 0), STORE_OK);
	ck_assert_int_eq(store_release(trial.a, trial.arena, &hold, NULL), STORE_OK);
	trial_claim(trial.a, "t", NOT_LONG, &claim);
	ck_assert_uint_eq(claim.attempts, 3);
	/* And one that moves again. */
	hold = hold_of(&claim);
	ck_assert_int_eq(store_attempts(trial.a, trial.arena, &hold, 2, 0), STORE_OK);
	ck_assert_int_eq(store_attempts(trial.a, trial.arena, &hold, 3, 1), STORE_OK);
	ck_assert_int_eq(store_release(trial.a, trial.arena, &hold, NULL), STORE_OK);
	trial_claim(trial.a, "t", NOT_LONG, &claim);
	ck_assert_uint_eq(claim.attempts, 3);
}

START_TEST(who_rests_and_is_given_back_gets_nothing_for_it)
{
	trial_play(play_given_back);
}
END_TEST

static void
play_late(void)
{
	struct store_claim claim = { 0 };
	struct store_hold hold;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", NOT_LONG, &claim);
	ck_assert_uint_eq(claim.late, 0);
	trial_claim(trial.a, "t", NOT_LONG, &claim);
	hold = hold_of(&claim);
	ck_assert_int_eq(store_attempts(trial.a, trial.arena, &hold, 3, 1), STORE_OK);
	trial_claim(trial.a, "t", NOT_LONG, &claim);
	ck_assert_uint_eq(claim.attempts, 4);
	ck_assert_uint_eq(claim.late, 1);
	ck_assert_int_eq(trial_results(trial.a, &claim), STORE_OK);
	trial_claim(trial.b, "t", LONG, &claim);
	ck_assert_uint_eq(claim.attempts, 2);
	ck_assert_uint_eq(claim.late, 0);
}

START_TEST(who_ended_late_is_known_until_there_is_progress)
{
	trial_play(play_late);
}
END_TEST

static void
play_late_count(void)
{
	struct store_claim claim = { 0 };
	struct store_hold hold;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", NOT_LONG, &claim);
	trial_claim(trial.a, "t", NOT_LONG, &claim);
	hold = hold_of(&claim);
	ck_assert_int_eq(trial_results(trial.a, &claim), STORE_OK);
	ck_assert_int_eq(
	    store_attempts(trial.a, trial.arena, &hold, OWNERS, 0), STORE_OK);
	trial_claim(trial.b, "t", LONG, &claim);
	ck_assert_uint_eq(claim.attempts, 2);
}

START_TEST(what_is_counted_behind_progress_is_not)
{
	trial_play(play_late_count);
}
END_TEST

/* Nobody wants the next run of that id cancelled. */
static void
play_wanted(void)
{
	const char *answer, *status;
	struct store_claim claim;
	unsigned i;

	trial_submit("t", "r");
	for (i = 0; i < OWNERS; i++)
		trial_claim(trial.a, "t", NOT_LONG, &claim);
	ck_assert_int_eq(
	    store_cancel(trial.a, trial.arena, "t", "r", &answer, &status), STORE_OK);
	ck_assert_int_eq(
	    store_claim(trial.b, trial.arena, "t", LONG, &claim), STORE_QUARANTINED);
	ck_assert_int_eq(
	    store_forget_run(trial.a, trial.arena, "t", "r", &answer), STORE_OK);
	ck_assert_str_eq(answer, "FORGOTTEN");
	trial_submit("t", "r");
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c", "running"), STORE_OK);
	ck_assert(!trial.committed.cancel_wanted);
}

START_TEST(what_took_its_owners_down_is_wanted_cancelled_no_more)
{
	trial_play(play_wanted);
}
END_TEST

/* --- who lives --------------------------------------------------------------------------- */

/* The run goes round between two that live: each finds that the other has it. */
static void
play_round(void)
{
	struct store_claim claim, lost;
	unsigned i;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", NOT_LONG, &claim);
	for (i = 0; i < 3 * OWNERS; i++) {
		lost = claim;
		trial_claim(i % 2 == 0 ? trial.b : trial.a, "t", NOT_LONG, &claim);
		ck_assert_uint_eq(claim.attempts, 2);
		ck_assert_int_eq(
		    trial_results(i % 2 == 0 ? trial.a : trial.b, &lost), STORE_FENCED);
	}
	check_alive();
	/* From here on they die. */
	for (i = 2; i <= OWNERS; i++) {
		trial_claim(trial.b, "t", NOT_LONG, &claim);
		ck_assert_uint_eq(claim.attempts, i);
	}
	ck_assert_int_eq(
	    store_claim(trial.b, trial.arena, "t", LONG, &claim), STORE_QUARANTINED);
}

START_TEST(who_comes_back_was_not_taken_down)
{
	trial_play(play_round);
}
END_TEST

/* A piece of a copy of another thread, as store_fill sends it. */
static enum store_status
fill(const char *owner, const struct store_claim *claim)
{
	const struct value *reply =
	    trial_ask("FCALL", "fl_fill", "1", store_thread_key(trial.arena, "t"),
		store_prefix(trial.arena, store_shard("t")), owner,
		arena_printf(trial.arena, "%llu", (unsigned long long)claim->epoch),
		claim->run, "m", "0", "", "message");

	return strcmp(redis_reply_text(value_at(reply, 0)), "FENCED") == 0 ? STORE_FENCED
									   : STORE_FAILED;
}

/* Whatever who has lost it asks, he lives: by commit, outcome, copy, what he says of his claims, giving back. */
static enum store_status
ask_by(struct store *store, const struct store_claim *claim, int what)
{
	const struct store_hold hold = hold_of(claim);

	switch (what) {
	case 0:
		return trial_commit(store, claim, "c", "running");
	case 1:
		return trial_results(store, claim);
	case 2:
		return fill(store == trial.a ? TRIAL_A : TRIAL_B, claim);
	case 3:
		return store_attempts(store, trial.arena, &hold, 1, 0);
	default:
		return store_release(store, trial.arena, &hold, NULL);
	}
}
#define WAYS 5

static void
play_way(int what)
{
	struct store_claim claim, lost;
	unsigned i;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", NOT_LONG, &claim);
	for (i = 0; i < 2 * OWNERS; i++) {
		lost = claim;
		trial_claim(i % 2 == 0 ? trial.b : trial.a, "t", NOT_LONG, &claim);
		ck_assert_uint_eq(claim.attempts, 2);
		ck_assert_int_eq(
		    ask_by(i % 2 == 0 ? trial.a : trial.b, &lost, what), STORE_FENCED);
	}
	check_alive();
}

static int way;

static void
play_ways(void)
{
	play_way(way);
}

START_TEST(who_asks_for_what_he_has_lost_lives)
{
	way = _i;
	trial_play(play_ways);
}
END_TEST

/* By a commit, by an outcome, by what it has to say of its claims; whichever is the first. */
static void
play_once(void)
{
	struct store_claim first, claim;
	struct store_hold hold;
	unsigned i;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", NOT_LONG, &first);
	for (i = 2; i < OWNERS; i++)
		trial_claim(trial.b, "t", NOT_LONG, &claim);
	hold = hold_of(&first);
	for (i = 0; i < 2; i++) {
		ck_assert_int_eq(
		    store_attempts(trial.a, trial.arena, &hold, 1, 0), STORE_FENCED);
		ck_assert_int_eq(
		    trial_commit(trial.a, &first, "c", "running"), STORE_FENCED);
		ck_assert_int_eq(trial_results(trial.a, &first), STORE_FENCED);
	}
	trial_claim(trial.b, "t", NOT_LONG, &claim);
	ck_assert_uint_eq(claim.attempts, OWNERS - 1);
	/* One that had said already that it counts for none. */
	hold = hold_of(&claim);
	ck_assert_int_eq(
	    store_attempts(trial.b, trial.arena, &hold, OWNERS - 2, 0), STORE_OK);
	trial_claim(trial.a, "t", NOT_LONG, &first);
	ck_assert_int_eq(trial_results(trial.b, &claim), STORE_FENCED);
	trial_claim(trial.a, "t", NOT_LONG, &first);
	ck_assert_uint_eq(first.attempts, OWNERS);
}

START_TEST(who_comes_back_is_heard_once)
{
	trial_play(play_once);
}
END_TEST

/* Whose claim was before the run's last progress. */
static void
play_long_ago(void)
{
	struct store_claim first, claim;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", NOT_LONG, &first);
	trial_claim(trial.b, "t", NOT_LONG, &claim);
	ck_assert_int_eq(trial_results(trial.b, &claim), STORE_OK);
	trial_claim(trial.b, "t", NOT_LONG, &claim);
	ck_assert_uint_eq(claim.attempts, 2);
	ck_assert_int_eq(trial_results(trial.a, &first), STORE_FENCED);
	trial_claim(trial.b, "t", NOT_LONG, &claim);
	ck_assert_uint_eq(claim.attempts, 3);
}

START_TEST(who_comes_back_late_changes_nothing)
{
	trial_play(play_long_ago);
}
END_TEST

/* Somebody has written into its record by hand. */
static void
play_damaged(void)
{
	static const char *const names[] = { "lost", "slow", "taken" };
	struct store_claim claim, lost;
	unsigned i;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", NOT_LONG, &claim);
	for (i = 0; i < sizeof names / sizeof *names; i++) {
		lost = claim;
		trial_claim(trial.b, "t", NOT_LONG, &claim);
		trial_hset("r:r", names[i], "x");
		ck_assert_int_eq(trial_results(trial.a, &lost), STORE_FENCED);
		trial_claim(trial.a, "t", NOT_LONG, &claim);
	}
	trial_hset("t:t", "hold", "x");
	trial_hset("t:t", "attempts", "x");
	lost = claim;
	ck_assert_int_eq(ask_by(trial.a, &lost, 3), STORE_OK);
	trial_claim(trial.b, "t", NOT_LONG, &claim);
}

START_TEST(what_is_damaged_blames_nobody)
{
	trial_play(play_damaged);
}
END_TEST

TCase *
tcase_store_blame(void)
{
	TCase *tcase = tcase_create("store_blame");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, a_suspect_is_left_where_it_is);
	tcase_add_test(tcase, who_rests_is_not_to_blame);
	tcase_add_test(tcase, who_rests_and_is_given_back_gets_nothing_for_it);
	tcase_add_test(tcase, what_is_counted_behind_progress_is_not);
	tcase_add_test(tcase, who_ended_late_is_known_until_there_is_progress);
	tcase_add_test(tcase, what_took_its_owners_down_is_wanted_cancelled_no_more);
	tcase_add_test(tcase, who_comes_back_was_not_taken_down);
	tcase_add_loop_test(tcase, who_asks_for_what_he_has_lost_lives, 0, WAYS);
	tcase_add_test(tcase, who_comes_back_is_heard_once);
	tcase_add_test(tcase, who_comes_back_late_changes_nothing);
	tcase_add_test(tcase, what_is_damaged_blames_nobody);
	return tcase;
}
