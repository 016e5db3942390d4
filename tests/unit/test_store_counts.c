/* What `flotilla top` and `flotilla metrics` count over all shards; against a real Redis. */
#include <check.h>

#include "literal.h"
#include "store_trial.h"

/* Interface under test */
#include "store.h"
#include "store_fleet.h"

TCase *tcase_store_counts(void);

#define NOT_LONG 0u
#define LONG 60000u

static const struct value *
counts(void)
{
	const struct value *counts = NULL;

	ck_assert_int_eq(store_counts(trial.a, trial.arena, &counts), STORE_OK);
	return counts;
}

static int64_t
count(const char *name)
{
	return value_get_int(counts(), name, -1);
}

static void
assert_ended(const char *expected)
{
	ck_assert_value(trial.arena, value_get(counts(), "ended"), expected);
}

static void
end_run(const char *run, const char *status)
{
	struct store_claim claim;

	trial_submit("t", run);
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_int_eq(trial_commit(trial.a, &claim, run, "running"), STORE_OK);
	claim.version++;
	ck_assert_int_eq(trial_commit(trial.a, &claim,
			     arena_printf(trial.arena, "%s-end", run), status),
	    STORE_OK);
	/* Its answer was lost, say. */
	ck_assert_int_eq(trial_commit(trial.a, &claim,
			     arena_printf(trial.arena, "%s-end", run), status),
	    STORE_OK);
}

static void
play_ends(void)
{
	const char *answer, *status;
	struct store_claim claim;
	int i;

	assert_ended("{'success': 0, 'error': 0, 'interrupted': 0, 'cancelled': 0, "
		     "'refused': 0}");
	end_run("r1", "success");
	end_run("r2", "success");
	end_run("r3", "error");
	end_run("r4", "interrupted");
	trial_submit("t", "r5");
	ck_assert_int_eq(
	    store_cancel(trial.a, trial.arena, "t", "r5", &answer, &status), STORE_OK);
	ck_assert_int_eq(store_refuse(trial.a, trial.arena, "u", "r6", "ValueError",
			     "no such agent", value_empty_map()),
	    STORE_OK);
	trial_submit("t", "r7");
	for (i = 0; i < 5; i++)
		trial_claim(trial.a, "t", NOT_LONG, &claim);
	ck_assert_int_eq(
	    store_claim(trial.b, trial.arena, "t", LONG, &claim), STORE_QUARANTINED);
	assert_ended("{'success': 2, 'error': 2, 'interrupted': 1, 'cancelled': 1, "
		     "'refused': 1}");
}

START_TEST(each_end_of_a_run_is_counted_once)
{
	trial_play(play_ends);
}
END_TEST

static void
play_forgotten(void)
{
	struct store_pruned pruned;

	end_run("r1", "success");
	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", false, &pruned), STORE_OK);
	ck_assert_int_eq(count("runs"), 0);
	assert_ended("{'success': 1, 'error': 0, 'interrupted': 0, 'cancelled': 0, "
		     "'refused': 0}");
}

START_TEST(what_was_forgotten_stays_counted)
{
	trial_play(play_forgotten);
}
END_TEST

static const char *
ended_key(void)
{
	return arena_printf(
	    trial.arena, "%sended", store_prefix(trial.arena, store_shard("t")));
}

/* A field that is no number, then one of a status that nobody knows. */
static void
play_damaged(void)
{
	trial_ask("HSET", ended_key(), "success", "many");
	trial_ask("HSET", ended_key(), "whatever", "7");
	end_run("r1", "success");
	end_run("r2", "error");
	assert_ended("{'success': 0, 'error': 1, 'interrupted': 0, 'cancelled': 0, "
		     "'refused': 0}");
}

START_TEST(a_damaged_count_hinders_no_end)
{
	trial_play(play_damaged);
}
END_TEST

static void
play_threads(void)
{
	struct store_claim claim;

	trial_submit("t", "r1");
	ck_assert_int_eq(count("live_threads"), 1);
	ck_assert_int_eq(count("waiting_threads"), 1);
	ck_assert_int_eq(count("leases"), 0);
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_int_eq(count("live_threads"), 1);
	ck_assert_int_eq(count("waiting_threads"), 0);
	ck_assert_int_eq(count("leases"), 1);
	trial_zadd("later", "1", "r2");
	ck_assert_int_eq(count("delayed"), 1);
}

START_TEST(threads_that_wait_are_told_from_those_that_run)
{
	trial_play(play_threads);
}
END_TEST

static void
play_crons(void)
{
	ck_assert_int_eq(count("crons"), 0);
	trial_zadd("crons", "inf", "paused");
	trial_zadd("crons", "9000000000000", "later");
	ck_assert_int_eq(count("crons"), 1);
	ck_assert(!value_has(counts(), "crons_late_ms"));
	trial_zadd("crons", "1000", "late");
	ck_assert_int_eq(count("crons"), 2);
	ck_assert_int_gt(count("crons_late_ms"), 1000000);
}

START_TEST(crons_that_are_paused_are_not_counted)
{
	trial_play(play_crons);
}
END_TEST

static void
play_inbox(void)
{
	ck_assert_int_eq(count("inbox"), 0);
	ck_assert(!value_has(counts(), "inbox_oldest_ms"));
	trial_ask("XADD", STORE_INBOX, "1000-0", "agent", "a");
	trial_ask("XADD", STORE_INBOX, "*", "agent", "a");
	ck_assert_int_eq(count("inbox"), 2);
	ck_assert_int_gt(count("inbox_oldest_ms"), INT64_C(1000000000000));
}

START_TEST(the_oldest_entry_of_the_inbox_has_an_age)
{
	trial_play(play_inbox);
}
END_TEST

static void
count_tokens(const char *model, const char *kind, int64_t count)
{
	ck_assert_int_eq(
	    store_count_tokens(trial.a, trial.arena, model, kind, count), STORE_OK);
}

static void
play_tokens(void)
{
	ck_assert_value(trial.arena, value_get(counts(), "tokens"), "[]");
	count_tokens("openai:a model", "input", 5);
	count_tokens("openai:a model", "input", 7);
	ck_assert_value(trial.arena, value_get(counts(), "tokens"),
	    "[{'model': 'openai:a model', 'kind': 'input', 'count': 12}]");
}

START_TEST(tokens_are_summed_by_model_and_kind)
{
	trial_play(play_tokens);
}
END_TEST

TCase *
tcase_store_counts(void)
{
	TCase *tc = tcase_create("store_counts");

	tcase_set_timeout(tc, 30);
	tcase_add_checked_fixture(tc, trial_open, trial_close);
	tcase_add_test(tc, each_end_of_a_run_is_counted_once);
	tcase_add_test(tc, tokens_are_summed_by_model_and_kind);
	tcase_add_test(tc, what_was_forgotten_stays_counted);
	tcase_add_test(tc, a_damaged_count_hinders_no_end);
	tcase_add_test(tc, threads_that_wait_are_told_from_those_that_run);
	tcase_add_test(tc, crons_that_are_paused_are_not_counted);
	tcase_add_test(tc, the_oldest_entry_of_the_inbox_has_an_age);
	return tc;
}
