/* Threads that wait for a human, as `flotilla top` counts them; against a real Redis. */
#include <check.h>
#include <string.h>

#include "literal.h"
#include "store_trial.h"

/* Interface under test */
#include "store.h"
#include "store_fleet.h"

TCase *tcase_store_asks(void);

#define NOT_LONG 0u
#define LONG 60000u

static int64_t
count(const char *name)
{
	const struct value *counts = NULL;

	ck_assert_int_eq(store_counts(trial.a, trial.arena, &counts), STORE_OK);
	ck_assert(value_has(counts, "asks_oldest_ms") ==
		  (value_get_int(counts, "asks", 0) > 0));
	return value_get_int(counts, name, -1);
}

/* Since when "t" waits, or NULL. */
static const char *
waits_since(void)
{
	const struct value *score = trial_ask("ZSCORE",
	    arena_printf(
		trial.arena, "%sasks", store_prefix(trial.arena, store_shard("t"))),
	    "t");

	return redis_reply_text(score);
}

static void
begin_run(const char *run, struct store_claim *claim_r)
{
	trial_submit("t", run);
	trial_claim(trial.a, "t", LONG, claim_r);
	ck_assert_ptr_null(waits_since());
}

/* Its end leaves a head of that status. */
static void
end_claimed(const struct store_claim *of, const char *status, const char *head_status)
{
	struct arena *arena = trial.arena;
	struct store_committed committed;
	const struct store_claim claim = *of;
	const char *run = claim.run;
	const struct value *head =
	    head_status == NULL
		? NULL
		: value_map(arena, "status", value_str(arena, head_status), NULL);

	ck_assert_int_eq(store_commit(trial.a, arena,
			     &(struct store_commit){ .thread = "t",
				 .run = run,
				 .epoch = claim.epoch,
				 .version = claim.version,
				 .id = run,
				 .status = status,
				 .head = head,
				 .order = value_empty_array(),
				 .checkpoint = head != NULL ? head : value_empty_map(),
				 .messages = value_empty_array(),
				 .fields = value_empty_map(),
				 .events = value_empty_array() },
			     &committed),
	    STORE_OK);
}

static void
end_run(const char *run, const char *status, const char *head_status)
{
	struct store_claim claim;

	begin_run(run, &claim);
	end_claimed(&claim, status, head_status);
}

/* One that asks although it was wanted rolled back by then asks nobody; one that had the answer leaves the question. */
static void
play_put_back(void)
{
	const char *answer, *status;
	struct store_claim claim;
	struct store_pruned pruned;

	begin_run("r1", &claim);
	ck_assert_int_eq(
	    store_cancel_back(trial.a, trial.arena, "t", "r1", &answer, &status),
	    STORE_OK);
	end_claimed(&claim, "interrupted", "interrupted");
	ck_assert_int_eq(count("asks"), 0);
	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", false, &pruned), STORE_OK);
	end_run("r2", "interrupted", "interrupted");
	ck_assert_int_eq(count("asks"), 1);
	trial_hset("t:t", "asked", "1000");
	begin_run("r3", &claim);
	ck_assert_int_eq(
	    store_cancel_back(trial.a, trial.arena, "t", "r3", &answer, &status),
	    STORE_OK);
	end_claimed(&claim, "cancelled", "cancelled");
	ck_assert_str_eq(waits_since(), "1000");
	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", false, &pruned), STORE_WAITS);
	end_run("r4", "success", "success");
	ck_assert_int_eq(count("asks"), 0);
}

START_TEST(a_thread_that_is_put_back_waits_if_it_did_there)
{
	trial_play(play_put_back);
}
END_TEST

/* It is the head that a run leaves, not how it ended: a resume that is refused leaves the question. */
static void
play_life(void)
{
	const char *since;

	ck_assert_int_eq(count("asks"), 0);
	end_run("r1", "interrupted", "interrupted");
	ck_assert_int_eq(count("asks"), 1);
	since = waits_since();
	trial_hset("t:t", "asked", "1000"); /* as if it were longer ago */
	end_run("r2", "error", "interrupted");
	ck_assert_str_eq(waits_since(), "1000");
	ck_assert_int_gt(count("asks_oldest_ms"), 1000000);
	end_run("r3", "interrupted", "interrupted");
	ck_assert_int_ge(strcmp(waits_since(), since), 0);
	end_run("r4", "success", "success");
	ck_assert_int_eq(count("asks"), 0);
	end_run("r5", "error", NULL);
	ck_assert_int_eq(count("asks"), 0);
	/* A copy of a thread that waits. */
	end_run("r6", "success", "interrupted");
	ck_assert_int_eq(count("asks"), 1);
}

/* Of all shards, each thread in its own. */
static void
play_list(void)
{
	static const char *const since[] = { "3000", "1000", "2000" };
	static const char *const threads[] = { "late", "first", "second" };
	const struct value *list;
	size_t i;

	for (i = 0; i < 3; i++)
		trial_ask("ZADD",
		    arena_printf(trial.arena, "%sasks",
			store_prefix(trial.arena, store_shard(threads[i]))),
		    since[i], threads[i]);
	ck_assert_int_eq(store_asks(trial.a, trial.arena, &list), STORE_OK);
	ck_assert_value(trial.arena, list,
	    "[{'thread': 'first', 'since': 1000}, {'thread': 'second', 'since': 2000}, "
	    "{'thread': 'late', 'since': 3000}]");
}

START_TEST(those_who_wait_longest_are_listed_first)
{
	trial_play(play_list);
}
END_TEST

START_TEST(a_thread_waits_while_its_head_does)
{
	trial_play(play_life);
}
END_TEST

static void
play_quarantine(void)
{
	struct store_claim claim;
	int i;

	end_run("r1", "interrupted", "interrupted");
	trial_hset("t:t", "asked", "1000");
	trial_submit("t", "r2");
	for (i = 0; i < 5; i++)
		trial_claim(trial.a, "t", NOT_LONG, &claim);
	ck_assert_int_eq(count("asks"), 0);
	ck_assert_int_eq(
	    store_claim(trial.b, trial.arena, "t", LONG, &claim), STORE_QUARANTINED);
	ck_assert_str_eq(waits_since(), "1000");
}

START_TEST(who_resumes_and_dies_leaves_the_question)
{
	trial_play(play_quarantine);
}
END_TEST

/* So does one that had gone on behind its answer, when somebody wanted it rolled back. */
static void
play_put_back_and_die(void)
{
	const char *answer, *status;
	struct store_claim claim;
	int i;

	end_run("r1", "interrupted", "interrupted");
	trial_hset("t:t", "asked", "1000");
	begin_run("r2", &claim);
	end_claimed(&claim, "running", "running");
	ck_assert_int_eq(
	    store_cancel_back(trial.a, trial.arena, "t", "r2", &answer, &status),
	    STORE_OK);
	for (i = 0; i < 4; i++)
		trial_claim(trial.a, "t", NOT_LONG, &claim);
	ck_assert_int_eq(
	    store_claim(trial.b, trial.arena, "t", LONG, &claim), STORE_QUARANTINED);
	ck_assert_str_eq(waits_since(), "1000");
	end_run("r3", "success", "success");
	ck_assert_int_eq(count("asks"), 0);
}

START_TEST(who_is_rolled_back_and_dies_leaves_the_question)
{
	trial_play(play_put_back_and_die);
}
END_TEST

static void
play_erase(void)
{
	struct store_pruned pruned;

	end_run("r1", "interrupted", "interrupted");
	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", false, &pruned), STORE_WAITS);
	ck_assert_int_eq(count("asks"), 1);
	ck_assert_int_eq(store_erase(trial.a, trial.arena, "t", true, &pruned), STORE_OK);
	ck_assert_int_eq(count("asks"), 0);
}

START_TEST(who_is_erased_waits_no_more)
{
	trial_play(play_erase);
}
END_TEST

static void
play_webhooks(void)
{
	trial_zadd("hooks", "1", "r");
	ck_assert_int_eq(count("webhooks"), 1);
	ck_assert_int_eq(count("runs"), 0);
}

START_TEST(webhooks_that_are_to_be_told_are_counted)
{
	trial_play(play_webhooks);
}
END_TEST

TCase *
tcase_store_asks(void)
{
	TCase *tc = tcase_create("store_asks");

	tcase_set_timeout(tc, 30);
	tcase_add_checked_fixture(tc, trial_open, trial_close);
	tcase_add_test(tc, those_who_wait_longest_are_listed_first);
	tcase_add_test(tc, a_thread_waits_while_its_head_does);
	tcase_add_test(tc, a_thread_that_is_put_back_waits_if_it_did_there);
	tcase_add_test(tc, who_resumes_and_dies_leaves_the_question);
	tcase_add_test(tc, who_is_rolled_back_and_dies_leaves_the_question);
	tcase_add_test(tc, who_is_erased_waits_no_more);
	tcase_add_test(tc, webhooks_that_are_to_be_told_are_counted);
	return tc;
}
