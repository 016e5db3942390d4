/* Ends of runs that are to be told: noted by the step that ends the run, given to one coordinator at
 * a time, until they are told or given up; against a real Redis. */
#include <check.h>
#include <string.h>

#include "store_trial.h"

/* Interface under test */
#include "store.h"
#include "store_webhooks.h"

TCase *tcase_store_webhooks(void);

#define LONG 60000u

static void
submit(const char *name, const char *value)
{
	struct arena *arena = trial.arena;
	const char *other;
	int64_t before;

	ck_assert_int_eq(store_bind_run(trial.a, arena, "r", "t", &other), STORE_OK);
	ck_assert_int_eq(store_submit(trial.a, arena, "t", "r",
			     value_map(arena, "agent", value_str(arena, "clerk"), name,
				 value_str(arena, value), NULL),
			     &before),
	    STORE_OK);
}

static void
submit_and_end(void)
{
	struct store_claim claim;

	submit("webhook", "http://example.com/");
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c", "success"), STORE_OK);
}

/* The number of the attempt that store is given, 0 when none. */
static int64_t
take(struct store *store, uint64_t lease_ms)
{
	const struct value *taken = NULL;

	ck_assert_int_eq(store_take_webhooks(
			     store, trial.arena, store_shard("t"), lease_ms, 10, &taken),
	    STORE_OK);
	ck_assert_uint_le(value_size(taken), 3);
	if (value_size(taken) < 3)
		return 0;
	ck_assert_str_eq(redis_reply_text(value_at(taken, 1)), "r");
	return value_at(taken, 2)->integer;
}

/* waited_ms: above 0 for what was no attempt. */
static enum store_status
told_waited(uint64_t attempt, const char *outcome, uint64_t wait_ms, uint64_t waited_ms,
    uint64_t *seq_r)
{
	const struct store_told told = { .shard = store_shard("t"),
		.run = "r",
		.attempt = attempt,
		.outcome = outcome,
		.wait_ms = wait_ms,
		.waited_ms = waited_ms,
		.text = "said" };

	return store_end_webhook(trial.a, trial.arena, &told, seq_r);
}

static enum store_status
told(uint64_t attempt, const char *outcome, uint64_t wait_ms, uint64_t *seq_r)
{
	return told_waited(attempt, outcome, wait_ms, 0, seq_r);
}

static const struct value *
record(void)
{
	const struct value *record = NULL;

	ck_assert_int_eq(store_run(trial.a, trial.arena, "t", "r", &record), STORE_OK);
	return record;
}

static const char *
field(const char *name)
{
	return value_get_text(record(), name);
}

/* --- noted --------------------------------------------------------------------------- */

static void
play_noted(void)
{
	struct store_claim claim;

	submit("webhook", "http://example.com/");
	ck_assert_int_eq(take(trial.a, LONG), 0);
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c1", "running"), STORE_OK);
	ck_assert_int_eq(take(trial.a, LONG), 0);
	claim.version++;
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c2", "interrupted"), STORE_OK);
	ck_assert_str_eq(field("webhook_state"), "waiting");
	ck_assert_int_eq(take(trial.a, LONG), 1);
}

START_TEST(the_commit_of_the_end_notes_it)
{
	trial_play(play_noted);
}
END_TEST

static void
play_cancelled(void)
{
	const char *answer, *status;

	submit("webhook", "http://example.com/");
	ck_assert_int_eq(
	    store_cancel(trial.a, trial.arena, "t", "r", &answer, &status), STORE_OK);
	ck_assert_int_eq(take(trial.a, LONG), 1);
}

START_TEST(an_end_without_owner_is_noted_too)
{
	trial_play(play_cancelled);
}
END_TEST

static void
play_without(void)
{
	struct store_claim claim;

	submit("tenant", "acme");
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c", "success"), STORE_OK);
	ck_assert_int_eq(take(trial.a, LONG), 0);
	ck_assert_ptr_null(field("webhook_state"));
}

START_TEST(who_did_not_ask_is_not_told)
{
	trial_play(play_without);
}
END_TEST

/* --- told ---------------------------------------------------------------------------- */

static void
play_attempts(void)
{
	uint64_t seq = 0;

	submit_and_end();
	ck_assert_int_eq(take(trial.a, LONG), 1);
	ck_assert_int_eq(take(trial.b, LONG), 0);
	ck_assert_int_eq(told(1, "again", 0, &seq), STORE_OK);
	ck_assert_uint_eq(seq, 0);
	ck_assert_int_eq(take(trial.b, LONG), 2);
	/* Nobody was asked: the number stays. */
	ck_assert_int_eq(told(2, "later", 0, &seq), STORE_OK);
	ck_assert_int_eq(take(trial.b, LONG), 2);
	ck_assert_int_eq(told(2, "again", LONG, &seq), STORE_OK);
	ck_assert_int_eq(take(trial.a, LONG), 0);
	ck_assert_int_eq(told(3, "delivered", 0, &seq), STORE_OK);
	ck_assert_uint_gt(seq, 0);
	ck_assert_str_eq(field("webhook_state"), "delivered");
	ck_assert_str_eq(field("webhook_said"), "said");
	ck_assert_int_eq(told(3, "delivered", 0, &seq), STORE_NONE);
	ck_assert_int_eq(take(trial.a, LONG), 0);
}

START_TEST(an_attempt_is_somebodys_and_counts_when_it_was_made)
{
	trial_play(play_attempts);
}
END_TEST

static int64_t
number(const char *name)
{
	return value_get_int(record(), name, -1);
}

static void
play_unserved(void)
{
	const struct value *events = NULL, *last;
	uint64_t seq = 0;

	submit_and_end();
	ck_assert_int_eq(take(trial.a, LONG), 1);
	ck_assert_int_eq(told_waited(1, "later", 0, 700, &seq), STORE_OK);
	ck_assert_int_eq(number("webhook_waited"), 700);
	/* It counts what is on end. */
	ck_assert_int_eq(take(trial.a, LONG), 1);
	ck_assert_int_eq(told(1, "again", 0, &seq), STORE_OK);
	ck_assert_int_eq(number("webhook_waited"), -1);
	ck_assert_int_eq(take(trial.a, LONG), 2);
	ck_assert_int_eq(told_waited(2, "later", 0, 600, &seq), STORE_OK);
	ck_assert_int_eq(take(trial.a, LONG), 2);
	ck_assert_int_eq(told_waited(2, "failed", 0, 900, &seq), STORE_OK);
	ck_assert_str_eq(field("webhook_state"), "failed");
	ck_assert_int_eq(number("webhook_tries"), 1);
	ck_assert_int_eq(take(trial.a, LONG), 0);
	ck_assert_int_eq(
	    store_events(trial.a, trial.arena, "t", "r", seq - 1, 0, &events), STORE_OK);
	last = value_at(events, value_size(events) - 1);
	ck_assert_str_eq(value_get_text(last, "status"), "failed");
	ck_assert_int_eq(value_get_int(last, "attempts", -1), 1);
}

START_TEST(what_nobody_can_try_ends_without_an_attempt)
{
	trial_play(play_unserved);
}
END_TEST

/* Its coordinator died: another one makes the same attempt, and what the first still says does not
 * count twice. */
static void
play_lapsed(void)
{
	uint64_t seq = 0;

	submit_and_end();
	ck_assert_int_eq(take(trial.a, 0), 1);
	ck_assert_int_eq(take(trial.b, LONG), 1);
	ck_assert_int_eq(told(1, "again", 0, &seq), STORE_OK);
	ck_assert_int_eq(told(1, "again", 0, &seq), STORE_NONE);
	ck_assert_int_eq(take(trial.b, LONG), 2);
}

START_TEST(an_attempt_that_lapsed_is_made_again_under_its_number)
{
	trial_play(play_lapsed);
}
END_TEST

static void
play_deleted(void)
{
	submit_and_end();
	trial_delete("r:r");
	ck_assert_int_eq(take(trial.a, 0), 0);
	ck_assert_uint_eq(value_size(trial_ask("ZRANGE",
			      arena_printf(trial.arena, "%shooks",
				  store_prefix(trial.arena, store_shard("t"))),
			      "0", "-1")),
	    0);
}

START_TEST(a_run_whose_record_is_gone_is_told_to_nobody)
{
	trial_play(play_deleted);
}
END_TEST

TCase *
tcase_store_webhooks(void)
{
	TCase *tcase = tcase_create("store_webhooks");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, the_commit_of_the_end_notes_it);
	tcase_add_test(tcase, an_end_without_owner_is_noted_too);
	tcase_add_test(tcase, who_did_not_ask_is_not_told);
	tcase_add_test(tcase, an_attempt_is_somebodys_and_counts_when_it_was_made);
	tcase_add_test(tcase, what_nobody_can_try_ends_without_an_attempt);
	tcase_add_test(tcase, an_attempt_that_lapsed_is_made_again_under_its_number);
	tcase_add_test(tcase, a_run_whose_record_is_gone_is_told_to_nobody);
	return tcase;
}
