/* Who owns a thread: claims, commits, results, releases, leases; against a real Redis. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_trial.h"

/* Interface under test */
#include "store.h"

TCase *tcase_store(void);

#define NOT_LONG 0u /* a lease that is over at once */
#define LONG 60000u

/* --- epochs ------------------------------------------------------------------------------ */

static void
play_epochs(void)
{
	struct store_claim claim;
	uint64_t first;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", NOT_LONG, &claim);
	ck_assert(!claim.recovered);
	first = claim.epoch;
	trial_claim(trial.b, "t", NOT_LONG, &claim);
	ck_assert(claim.recovered);
	ck_assert_uint_gt(claim.epoch, first);
	ck_assert_str_eq(claim.run, "r");
}

START_TEST(each_claim_raises_the_epoch)
{
	trial_play(play_epochs);
}
END_TEST

/* What a replica does that takes over without the last claims: all of it is as it was. */
static void
play_forgotten_claim(void)
{
	struct store_claim claim;
	uint64_t forgotten;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", LONG, &claim);
	forgotten = claim.epoch;
	trial_hset("t:t", "epoch", "7");
	trial_hset("t:t", "owner", "");
	trial_claim(trial.b, "t", LONG, &claim);
	ck_assert_uint_gt(claim.epoch, forgotten);
}

START_TEST(an_epoch_is_not_given_again_when_its_claim_is_forgotten)
{
	trial_play(play_forgotten_claim);
}
END_TEST

/* The clock that gave the epoch was far ahead, and its last claim is forgotten: the owner itself
 * knows better. */
static void
play_clock_set_back(void)
{
	static const char ahead[] = "8000000000000000";
	struct store_claim claim;
	uint64_t forgotten;

	trial_submit("t", "r");
	trial_hset("t:t", "epoch", ahead);
	trial_claim(trial.a, "t", LONG, &claim);
	forgotten = claim.epoch;
	ck_assert_uint_eq(forgotten, 8000000000000001u);
	trial_hset("t:t", "epoch", ahead);
	trial_hset("t:t", "owner", "");
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_uint_gt(claim.epoch, forgotten);
}

START_TEST(no_owner_gets_an_epoch_twice_whatever_the_clock_does)
{
	trial_play(play_clock_set_back);
}
END_TEST

/* --- commits ----------------------------------------------------------------------------- */

static void
play_same_epoch_other_owner(void)
{
	struct store_claim claim;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", LONG, &claim);
	/* Two servers gave the same number to two owners. */
	trial_hset("t:t", "owner", TRIAL_B);
	trial_hset("t:t", "look", "");
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c1", "running"), STORE_FENCED);
	ck_assert_int_eq(trial_results(trial.a, &claim), STORE_FENCED);
	ck_assert_int_eq(
	    store_release(trial.a, trial.arena,
		&(struct store_hold){ "t", claim.run, claim.epoch, 0 }, NULL),
	    STORE_FENCED);
	ck_assert_int_eq(trial_commit(trial.b, &claim, "c1", "running"), STORE_OK);
}

START_TEST(an_epoch_alone_is_no_right)
{
	trial_play(play_same_epoch_other_owner);
}
END_TEST

static void
play_fenced(void)
{
	struct store_claim lost, claim;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", NOT_LONG, &lost);
	trial_claim(trial.b, "t", LONG, &claim);
	ck_assert_int_eq(trial_commit(trial.a, &lost, "c1", "success"), STORE_FENCED);
	ck_assert_int_eq(trial_results(trial.a, &lost), STORE_FENCED);
	ck_assert_int_eq(store_release(trial.a, trial.arena,
			     &(struct store_hold){ "t", lost.run, lost.epoch, 0 }, NULL),
	    STORE_FENCED);
	ck_assert_int_eq(trial_results(trial.b, &claim), STORE_OK);
	ck_assert_int_eq(trial_commit(trial.b, &claim, "c1", "success"), STORE_OK);
}

START_TEST(who_was_taken_over_is_fenced)
{
	trial_play(play_fenced);
}
END_TEST

static void
play_repeated(void)
{
	struct store_claim claim;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c1", "running"), STORE_OK);
	ck_assert_uint_eq(trial.committed.version, 1);
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c1", "running"), STORE_OK);
	ck_assert_uint_eq(trial.committed.version, 1);
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c2", "running"), STORE_STALE);
	ck_assert_int_eq(trial_results(trial.a, &claim), STORE_STALE);
	claim.version = 1;
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c2", "success"), STORE_OK);
	/* Its answer was lost, and the thread goes on without us. */
	trial_submit("t", "r2");
	trial_claim(trial.b, "t", LONG, &(struct store_claim){ 0 });
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c2", "success"), STORE_OK);
	ck_assert_uint_eq(trial.committed.version, 2);
}

START_TEST(a_repeated_commit_is_answered_as_the_first)
{
	trial_play(play_repeated);
}
END_TEST

static void
play_repeated_too_late(void)
{
	struct store_claim claim;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", NOT_LONG, &claim);
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c1", "running"), STORE_OK);
	trial_claim(trial.b, "t", LONG, &(struct store_claim){ 0 });
	/* It is done, but nothing may follow it: the run has another owner. */
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c1", "running"), STORE_FENCED);
}

START_TEST(who_repeats_a_commit_after_it_lost_the_run_is_fenced)
{
	trial_play(play_repeated_too_late);
}
END_TEST

/* What was sent is of the superstep behind the last commit: the next owner of a thread whose commit is
 * forgotten is in the one before, and cannot be sure. */
static void
play_released(void)
{
	struct store_claim claim;
	const char *const id = "r.1.0";
	const struct value *sent = value_str(trial.arena, id);
	struct store_hold hold;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c1", "running"), STORE_OK);
	hold = (struct store_hold){ "t", claim.run, claim.epoch, 1 };
	sent = value_array(trial.arena, &sent, 1);
	ck_assert_int_eq(store_release(trial.a, trial.arena, &hold, sent), STORE_OK);
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert(value_has(claim.record, "sent"));
	trial_hset("t:t", "version", "0");
	hold.epoch = claim.epoch;
	ck_assert_int_eq(store_release(trial.a, trial.arena, &hold, sent), STORE_OK);
	trial_claim(trial.b, "t", LONG, &claim);
	ck_assert(!value_has(claim.record, "sent"));
}

START_TEST(what_was_sent_is_of_one_version)
{
	trial_play(play_released);
}
END_TEST

/* A replica took over that has the claim, and not the commit behind it. */
static void
play_forgotten_commit(void)
{
	const struct value *reply;
	struct store_claim claim, next;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c1", "running"), STORE_OK);
	trial_hset("t:t", "version", "0");
	claim.version = 1;
	ck_assert_int_eq(trial_results(trial.a, &claim), STORE_STALE);
	ck_assert_int_eq(store_results(trial.a, trial.arena,
			     &(struct store_hold){ "t", claim.run, claim.epoch, 1 },
			     value_empty_map()),
	    STORE_STALE);
	ck_assert_int_eq(
	    store_results(trial.a, trial.arena,
		&(struct store_hold){ "t", claim.run, claim.epoch, STORE_ANY_VERSION },
		value_empty_map()),
	    STORE_OK);
	reply = trial_ask("EXISTS", arena_printf(trial.arena, "%s:w",
					store_run_key(trial.arena, "t", claim.run)));
	ck_assert_int_eq(reply->integer, 0);
	/* Who claims it again goes on from what Redis has. */
	trial_claim(trial.a, "t", LONG, &next);
	ck_assert_uint_eq(value_size(next.results), 0);
	ck_assert_int_eq(trial_results(trial.a, &next), STORE_OK);
}

START_TEST(no_outcome_is_stored_behind_a_commit_that_redis_has_forgotten)
{
	trial_play(play_forgotten_commit);
}
END_TEST

/* --- sweeping ---------------------------------------------------------------------------- */

/* The n-th thread, from 1, of shard 0. */
static const char *
thread_of_shard(unsigned n)
{
	const char *thread = "";
	unsigned i;

	for (i = 0; n > 0; i++) {
		thread = arena_printf(trial.arena, "thread%u", i);
		n -= store_shard(thread) == 0 ? 1 : 0;
	}
	return thread;
}

static const struct value *
sweep(struct store *store, unsigned limit)
{
	const struct value *threads = NULL;

	ck_assert_int_eq(store_sweep(store, trial.arena, 0, limit, &threads), STORE_OK);
	return threads;
}

static void
play_backlog(void)
{
	const struct value *threads;
	const char *lost = thread_of_shard(250);
	unsigned i;

	for (i = 1; i < 250; i++)
		trial_submit(thread_of_shard(i),
		    arena_printf(trial.arena, "%s-run", thread_of_shard(i)));
	trial_submit(lost, "lost");
	trial_claim(trial.a, lost, NOT_LONG, &(struct store_claim){ 0 });
	threads = sweep(trial.b, 200);
	ck_assert_uint_eq(value_size(threads), 200);
	ck_assert_str_eq(value_text(value_at(threads, 0)), lost);
	/* Then those that wait, in order. */
	ck_assert_str_eq(value_text(value_at(threads, 1)), thread_of_shard(1));
	ck_assert_uint_eq(value_size(sweep(trial.b, 1)), 1);
	ck_assert_uint_eq(value_size(sweep(trial.b, 1000)), 250);
}

START_TEST(recovered_threads_come_first_whatever_waits)
{
	trial_play(play_backlog);
}
END_TEST

static void
play_good_hands(void)
{
	const char *thread = thread_of_shard(1), *other = thread_of_shard(2);
	struct store_renewed renewed;

	trial_submit(thread, "r");
	trial_submit(other, "r2");
	trial_claim(trial.a, thread, NOT_LONG, &(struct store_claim){ 0 });
	trial_claim(trial.b, other, NOT_LONG, &(struct store_claim){ 0 });
	ck_assert_int_eq(store_renew(trial.a, trial.arena, 0, LONG, &renewed), STORE_OK);
	ck_assert(renewed.lapsed);
	/* B's lease is gone; what A owns is found by A alone, who may have lost sight of it. */
	ck_assert_uint_eq(value_size(sweep(trial.b, 10)), 1);
	ck_assert_str_eq(value_text(value_at(sweep(trial.b, 10), 0)), other);
	trial_zadd("due", "0", thread);
	ck_assert_uint_eq(value_size(sweep(trial.a, 10)), 2);
	ck_assert_int_eq(
	    store_claim(trial.b, trial.arena, thread, LONG, &(struct store_claim){ 0 }),
	    STORE_BUSY);
	ck_assert_int_eq(
	    store_renew(trial.a, trial.arena, 0, NOT_LONG, &renewed), STORE_OK);
	ck_assert(!renewed.lapsed);
	trial_zadd("due", "0", thread);
	ck_assert_uint_eq(value_size(sweep(trial.b, 10)), 2);
}

START_TEST(a_thread_in_good_hands_is_left_there)
{
	trial_play(play_good_hands);
}
END_TEST

/* More threads than a sweep may answer are in good hands, and before the one that is not. */
static void
play_many_in_good_hands(void)
{
	struct store_renewed renewed;
	unsigned i;

	for (i = 1; i <= 25; i++) {
		trial_submit(thread_of_shard(i), arena_printf(trial.arena, "run%u", i));
		trial_claim(i == 25 ? trial.b : trial.a, thread_of_shard(i), NOT_LONG,
		    &(struct store_claim){ 0 });
	}
	store_renew(trial.a, trial.arena, 0, LONG, &renewed);
	ck_assert_uint_eq(value_size(sweep(trial.b, 10)), 1);
	/* Nor those of who looks, which has room for one: it looks at all that is its own, and finds the other. */
	for (i = 1; i <= 25; i++)
		trial_zadd("due", i < 25 ? "1" : "2", thread_of_shard(i));
	ck_assert_uint_eq(value_size(sweep(trial.a, 1)), 25);
}

START_TEST(threads_in_good_hands_hide_no_other)
{
	trial_play(play_many_in_good_hands);
}
END_TEST

/* The owner is dead, and the server's clock an hour behind what it was when it still lived. */
static void
play_lease_of_the_future(void)
{
	const struct value *time = trial_ask("TIME");
	uint64_t now_ms =
	    strtoull(redis_reply_text(value_at(time, 0)), NULL, 10) * 1000 + 3600000;
	const char *thread = thread_of_shard(1);
	struct store_claim claim;

	trial_submit(thread, "r");
	trial_claim(trial.a, thread, NOT_LONG, &claim);
	trial_hset(
	    "leases", TRIAL_A, arena_printf(trial.arena, "%" PRIu64 " 1500", now_ms));
	trial_zadd("due", arena_printf(trial.arena, "%" PRIu64, now_ms), thread);
	ck_assert_uint_eq(value_size(sweep(trial.b, 10)), 1);
	trial_claim(trial.b, thread, LONG, &claim);
	ck_assert(claim.recovered);
}

START_TEST(a_clock_that_is_set_back_prolongs_no_lease)
{
	trial_play(play_lease_of_the_future);
}
END_TEST

static void
play_deleted_by_hand(void)
{
	struct store_claim claim;

	trial_submit("t", "gone");
	trial_submit("t", "r");
	trial_delete("r:gone");
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_str_eq(claim.run, "r");
}

START_TEST(a_run_that_was_deleted_by_hand_is_passed_over)
{
	trial_play(play_deleted_by_hand);
}
END_TEST

/* --- what is left ------------------------------------------------------------------------ */

static void
play_whole_life(void)
{
	static const char *const history[] = { "fl:run:r", "runs", "r:r", "r:r:e", "t:t",
		"t:t:c", "t:t:r", "threads" };
	struct store_claim claim;
	const char *answer, *ended;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_int_eq(trial_results(trial.a, &claim), STORE_OK);
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c1", "running"), STORE_OK);
	store_cancel(trial.b, trial.arena, "t", "r", &answer, &ended);
	ck_assert_str_eq(answer, "CANCELLING");
	claim.version = 1;
	ck_assert_int_eq(trial_results(trial.a, &claim), STORE_OK);
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c2", "cancelled"), STORE_OK);
	store_renew(
	    trial.a, trial.arena, store_shard("t"), 0, &(struct store_renewed){ 0 });
	trial_check_keys(history, sizeof history / sizeof *history);
}

START_TEST(only_history_is_left_of_a_run)
{
	trial_play(play_whole_life);
}
END_TEST

TCase *
tcase_store(void)
{
	TCase *tcase = tcase_create("store");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, each_claim_raises_the_epoch);
	tcase_add_test(tcase, an_epoch_is_not_given_again_when_its_claim_is_forgotten);
	tcase_add_test(tcase, no_owner_gets_an_epoch_twice_whatever_the_clock_does);
	tcase_add_test(tcase, an_epoch_alone_is_no_right);
	tcase_add_test(tcase, who_was_taken_over_is_fenced);
	tcase_add_test(tcase, a_repeated_commit_is_answered_as_the_first);
	tcase_add_test(tcase, what_was_sent_is_of_one_version);
	tcase_add_test(tcase, who_repeats_a_commit_after_it_lost_the_run_is_fenced);
	tcase_add_test(
	    tcase, no_outcome_is_stored_behind_a_commit_that_redis_has_forgotten);
	tcase_add_test(tcase, recovered_threads_come_first_whatever_waits);
	tcase_add_test(tcase, a_thread_in_good_hands_is_left_there);
	tcase_add_test(tcase, threads_in_good_hands_hide_no_other);
	tcase_add_test(tcase, a_clock_that_is_set_back_prolongs_no_lease);
	tcase_add_test(tcase, a_run_that_was_deleted_by_hand_is_passed_over);
	tcase_add_test(tcase, only_history_is_left_of_a_run);
	return tcase;
}
