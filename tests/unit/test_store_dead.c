/* Dead letters: how a run becomes one, and how it stops being one. */
#include <check.h>
#include <string.h>

#include "store_trial.h"

/* Interface under test */
#include "store.h"

TCase *tcase_store_dead(void);

#define NOT_LONG 0u /* a lease that is over at once */
#define LONG 60000u
#define OWNERS 5u /* that a run may take down */

static const struct value *
dead(void)
{
	const struct value *runs = NULL;

	ck_assert_int_eq(store_dead(trial.b, trial.arena, 0, &runs), STORE_OK);
	return runs;
}

/* Owner after owner dies with the run. */
static void
quarantine(const char *run)
{
	struct store_claim claim;
	unsigned i;

	trial_submit("t", run);
	for (i = 0; i < OWNERS; i++)
		trial_claim(trial.a, "t", NOT_LONG, &claim);
	ck_assert_int_eq(
	    store_claim(trial.b, trial.arena, "t", NOT_LONG, &claim), STORE_QUARANTINED);
	ck_assert_str_eq(claim.run, run);
}

static void
play_quarantine(void)
{
	const struct value *run;

	ck_assert_uint_eq(value_size(dead()), 0);
	quarantine("r");
	ck_assert_uint_eq(value_size(dead()), 1);
	run = value_at(dead(), 0);
	ck_assert_str_eq(value_get_text(run, "run"), "r");
	ck_assert_str_eq(value_get_text(run, "thread"), "t");
	ck_assert_str_eq(value_get_text(run, "status"), "error");
	ck_assert_str_eq(value_get_text(run, "coordinator"), "coordinator-a");
	ck_assert_int_eq(value_get_int(run, "attempts", 0), OWNERS);
	ck_assert_ptr_nonnull(strstr(value_get_text(run, "dead"), "5 coordinators"));
}

START_TEST(a_run_that_takes_its_owners_down_is_kept_with_the_reason)
{
	trial_play(play_quarantine);
}
END_TEST

/* As store_claim sends it: session of store a. */
static const char *
claim_by_words(const char *attempts, const char *again)
{
	return redis_reply_text(value_at(
	    trial_ask("FCALL", "fl_claim", "1", store_thread_key(trial.arena, "t"),
		store_prefix(trial.arena, store_shard("t")), "t", TRIAL_A, "1000", "0",
		"coordinator-a", "", "", attempts, again),
	    0));
}

/* The connection goes each time that a claim was done and before its answer has come. */
static void
play_again(void)
{
	struct store_claim claim;
	unsigned i;

	trial_submit("t", "r");
	ck_assert_str_eq(claim_by_words("", ""), "OK");
	for (i = 0; i < 2 * OWNERS; i++)
		ck_assert_str_eq(claim_by_words("1", "1"), "OK");
	/* Of somebody else's it is another claim. */
	trial_hset("t:t", "owner", "");
	ck_assert_str_eq(claim_by_words("1", "1"), "SUSPECT");
	trial_claim(trial.a, "t", NOT_LONG, &claim);
	ck_assert_uint_eq(claim.attempts, 2);
	for (i = 2; i < OWNERS; i++)
		ck_assert_str_eq(claim_by_words("", ""), "OK");
	ck_assert_str_eq(claim_by_words("", "1"), "OK");
	ck_assert_str_eq(claim_by_words("", ""), "QUARANTINED");
}

START_TEST(a_claim_whose_answer_was_lost_counts_once)
{
	trial_play(play_again);
}
END_TEST

static void
play_progress(void)
{
	struct store_claim claim;
	unsigned i;

	trial_submit("t", "r");
	for (i = 0; i < 4 * OWNERS; i++) {
		trial_claim(trial.a, "t", NOT_LONG, &claim);
		if (i % 4 == 3)
			ck_assert_int_eq(trial_results(trial.a, &claim), STORE_OK);
	}
	ck_assert_uint_eq(value_size(dead()), 0);
}

START_TEST(a_stored_outcome_is_progress)
{
	trial_play(play_progress);
}
END_TEST

/* --- retries --------------------------------------------------------------------------- */

static void
play_commit(void)
{
	struct store_claim claim;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_int_eq(
	    trial_commit_dead(trial.a, &claim, "call r.1.0 took 5 workers down"),
	    STORE_OK);
	ck_assert_uint_eq(value_size(dead()), 1);
	ck_assert_str_eq(value_get_text(value_at(dead(), 0), "dead"),
	    "call r.1.0 took 5 workers down");
}

START_TEST(a_commit_says_that_its_run_is_dead)
{
	trial_play(play_commit);
}
END_TEST

static enum store_status
retry(const char *run, const char *new_run, const char *version, const char **instead_r)
{
	return store_retry(trial.b, trial.arena,
	    &(struct store_retry){
		.thread = "t", .run = run, .new_run = new_run, .version = version },
	    instead_r);
}

static void
play_retry(void)
{
	const struct value *old = NULL;
	struct store_claim claim;
	const char *instead;

	quarantine("r");
	trial_hset("r:r", "assistant", "polite");
	ck_assert_int_eq(retry("r", "r2", "2", &instead), STORE_OK);
	ck_assert_uint_eq(value_size(dead()), 0);
	store_run(trial.b, trial.arena, "t", "r", &old);
	ck_assert_str_eq(value_get_text(old, "retried"), "r2");
	/* The answer was lost, and it is asked for again. */
	ck_assert_int_eq(retry("r", "r2", "2", &instead), STORE_OK);
	ck_assert_int_eq(retry("r", "r3", "2", &instead), STORE_NONE);
	ck_assert_str_eq(instead, "r2");
	/* What came to nothing has left no name. */
	ck_assert_int_eq(
	    store_run_thread(trial.b, trial.arena, "r3", &instead), STORE_NONE);
	trial_claim(trial.b, "t", LONG, &claim);
	ck_assert_str_eq(claim.run, "r2");
	ck_assert_str_eq(redis_reply_text(value_get(claim.record, "agent")), "clerk");
	ck_assert_str_eq(redis_reply_text(value_get(claim.record, "version")), "2");
	ck_assert_ptr_nonnull(value_get(claim.record, "input"));
	ck_assert_str_eq(
	    redis_reply_text(value_get(claim.record, "assistant")), "polite");
	ck_assert_str_eq(redis_reply_text(value_get(claim.record, "retry_of")), "r");
}

START_TEST(a_dead_run_is_retried_once)
{
	trial_play(play_retry);
}
END_TEST

/* What cannot be lined up stays a dead letter, and its new name nobody's. */
static void
play_damaged_retry(void)
{
	const char *line =
	    arena_printf(trial.arena, "%s:q", store_thread_key(trial.arena, "t"));
	const struct value *old = NULL;
	const char *text;

	quarantine("r");
	trial_ask("SET", line, "no list");
	ck_assert_int_eq(retry("r", "r2", "2", &text), STORE_DAMAGED);
	ck_assert_uint_eq(value_size(dead()), 1);
	store_run(trial.b, trial.arena, "t", "r", &old);
	ck_assert_ptr_null(value_get(old, "retried"));
	ck_assert_int_eq(store_run_thread(trial.b, trial.arena, "r2", &text), STORE_NONE);
	trial_ask("DEL", line);
	ck_assert_int_eq(retry("r", "r2", "2", &text), STORE_OK);
}

START_TEST(a_dead_run_whose_thread_is_damaged_stays_dead)
{
	trial_play(play_damaged_retry);
}
END_TEST

/* What it has left its thread at, and goes on from; not when anything has come since, nor twice. */
static void
play_left(void)
{
	const struct value *options = value_map(trial.arena, "resume", value_nil(), NULL);
	struct store_retry again = { .thread = "t",
		.run = "r1",
		.new_run = "r2",
		.version = "2",
		.left = 4,
		.options = options };
	struct store_claim claim;
	const char *instead;

	trial_submit("t", "r1");
	trial_hset("r:r1", "status", "error");
	trial_hset("t:t", "version", "5");
	ck_assert_int_eq(store_retry(trial.b, trial.arena, &again, &instead), STORE_NONE);
	again.left = 5;
	trial_hset("r:r1", "status", "success");
	ck_assert_int_eq(store_retry(trial.b, trial.arena, &again, &instead), STORE_NONE);
	trial_hset("r:r1", "status", "cancelled");
	/* What waits, or goes on, is first: where the thread stands then, nobody knows. */
	ck_assert_int_eq(store_retry(trial.b, trial.arena, &again, &instead), STORE_NONE);
	trial_delete("t:t:q");
	trial_hset("t:t", "run", "other");
	ck_assert_int_eq(store_retry(trial.b, trial.arena, &again, &instead), STORE_NONE);
	trial_hset("t:t", "run", "");
	ck_assert_int_eq(store_retry(trial.b, trial.arena, &again, &instead), STORE_OK);
	ck_assert_int_eq(store_retry(trial.b, trial.arena, &again, &instead), STORE_OK);
	again.new_run = "r3";
	ck_assert_int_eq(store_retry(trial.b, trial.arena, &again, &instead), STORE_NONE);
	ck_assert_str_eq(instead, "r2");
	trial_claim(trial.b, "t", LONG, &claim);
	ck_assert_str_eq(claim.run, "r2");
	ck_assert_ptr_null(value_get(claim.record, "input"));
	ck_assert_str_eq(redis_reply_text(value_get(claim.record, "retry_of")), "r1");
	ck_assert_ptr_nonnull(value_get(claim.record, "options"));
}

START_TEST(a_failed_run_is_retried_where_it_left_its_thread)
{
	trial_play(play_left);
}
END_TEST

static void
play_no_retry(void)
{
	const char *instead;

	trial_submit("t", "r");
	ck_assert_int_eq(retry("r", "r2", "1", &instead), STORE_NONE);
	ck_assert_int_eq(retry("nothing", "r3", "1", &instead), STORE_NONE);
	/* Of one that never began there is nothing to go on from. */
	trial_hset("r:r", "status", "cancelled");
	trial_delete("t:t:q");
	ck_assert_int_eq(retry("r", "r2", "1", &instead), STORE_NONE);
	quarantine("r4");
	ck_assert_int_eq(retry("r4", "r", "1", &instead), STORE_KNOWN);
	ck_assert_uint_eq(value_size(dead()), 1);
}

START_TEST(only_a_dead_run_is_retried_and_only_under_a_new_id)
{
	trial_play(play_no_retry);
}
END_TEST

static void
play_discard(void)
{
	const struct value *old = NULL;

	quarantine("r");
	ck_assert_int_eq(store_discard(trial.b, trial.arena, "t", "r"), STORE_OK);
	ck_assert_uint_eq(value_size(dead()), 0);
	store_run(trial.b, trial.arena, "t", "r", &old);
	ck_assert_str_eq(value_get_text(old, "status"), "error");
	ck_assert_int_eq(store_discard(trial.b, trial.arena, "t", "r"), STORE_NONE);
}

START_TEST(a_discarded_run_is_no_dead_letter_any_more)
{
	trial_play(play_discard);
}
END_TEST

TCase *
tcase_store_dead(void)
{
	TCase *tcase = tcase_create("store_dead");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, a_run_that_takes_its_owners_down_is_kept_with_the_reason);
	tcase_add_test(tcase, a_claim_whose_answer_was_lost_counts_once);
	tcase_add_test(tcase, a_stored_outcome_is_progress);
	tcase_add_test(tcase, a_commit_says_that_its_run_is_dead);
	tcase_add_test(tcase, a_dead_run_is_retried_once);
	tcase_add_test(tcase, a_failed_run_is_retried_where_it_left_its_thread);
	tcase_add_test(tcase, a_dead_run_whose_thread_is_damaged_stays_dead);
	tcase_add_test(tcase, only_a_dead_run_is_retried_and_only_under_a_new_id);
	tcase_add_test(tcase, a_discarded_run_is_no_dead_letter_any_more);
	return tcase;
}
