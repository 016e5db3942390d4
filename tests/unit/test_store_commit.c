/* What a commit looks at that is rarely there, and how the events of a run are numbered. */
#include <check.h>
#include <string.h>

#include "store_thread.h"
#include "store_trial.h"

/* Interface under test */
#include "store.h"

TCase *tcase_store_commit(void);

#define NOT_LONG 0u /* a lease that is over at once */

/* Commits so many events behind the one numbered last. */
static enum store_status
commit_events(struct store *store, struct store_claim *claim, uint64_t last, size_t count)
{
	struct arena *arena = trial.arena;
	struct value_list events = { .arena = arena };
	enum store_status status;
	size_t i;

	for (i = 0; i < count; i++)
		value_list_add(
		    &events, value_map(arena, "kind", value_str(arena, "step"), NULL));
	status = store_commit(store, arena,
	    &(struct store_commit){ .thread = "t",
		.run = claim->run,
		.epoch = claim->epoch,
		.version = claim->version,
		.id = arena_printf(arena, "c%d", (int)claim->version),
		.last_id = arena_printf(arena, "c%d", (int)claim->version - 1),
		.status = "running",
		.head = value_empty_map(),
		.order = value_empty_array(),
		.checkpoint = value_empty_map(),
		.messages = value_empty_array(),
		.fields = value_empty_map(),
		.events = value_list_end(&events),
		.last_event = last,
		.run_fields = value_empty_map() },
	    &trial.committed);
	if (status == STORE_OK)
		claim->version = trial.committed.version;
	return status;
}

static void
play_cancelled_between(void)
{
	const char *answer, *status;
	struct store_claim claim;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	thread_commit(&claim, "running", "running");
	ck_assert(!trial.committed.cancel_wanted);
	ck_assert_int_eq(
	    store_cancel(trial.b, trial.arena, "t", "r", &answer, &status), STORE_OK);
	ck_assert_str_eq(answer, "CANCELLING");
	thread_commit(&claim, "running", "running");
	ck_assert(trial.committed.cancel_wanted);
	/* Whoever takes it over hears of it, too. */
	trial_hset("t:t", "owner", "");
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	thread_commit(&claim, "running", "running");
	ck_assert(trial.committed.cancel_wanted);
	trial_submit("t", "r2");
	thread_commit(&claim, "cancelled", "cancelled");
	ck_assert_uint_eq(trial.committed.waiting, 1);
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	thread_commit(&claim, "running", "running");
	ck_assert(!trial.committed.cancel_wanted);
	ck_assert_uint_eq(trial.committed.version, 5);
}

START_TEST(each_commit_of_a_run_says_that_it_is_to_be_cancelled)
{
	trial_play(play_cancelled_between);
}
END_TEST

/* Progress, which has been made with the first commit of a claim. */
static void
play_attempts(void)
{
	struct store_claim claim;
	unsigned i;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", NOT_LONG, &claim);
	for (i = 0; i < 2 * 5; i++) {
		trial_claim(i % 2 == 0 ? trial.b : trial.a, "t", NOT_LONG, &claim);
		ck_assert_int_eq(value_get_int(thread_record("r"), "attempts", 0), 2);
		ck_assert_int_eq(
		    commit_events(i % 2 == 0 ? trial.b : trial.a, &claim, 0, 0),
		    STORE_OK);
		ck_assert_int_eq(value_get_int(thread_record("r"), "attempts", 0), 1);
		ck_assert_int_eq(
		    commit_events(i % 2 == 0 ? trial.b : trial.a, &claim, 0, 0),
		    STORE_OK);
	}
}

START_TEST(attempts_count_from_one_again_behind_a_commit)
{
	trial_play(play_attempts);
}
END_TEST

static const char *
counted(const struct store_claim *claim)
{
	return redis_reply_text(value_get(claim->record, "events"));
}

static void
play_events(void)
{
	const struct value *events;
	struct store_claim claim;
	struct store_hold hold;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", NOT_LONG, &claim);
	ck_assert_str_eq(counted(&claim), "1");
	ck_assert_int_eq(commit_events(trial.a, &claim, 1, 2), STORE_OK);
	/* The record does not know, and who claims it does. */
	ck_assert_int_eq(value_get_int(thread_record("r"), "events", 0), 1);
	trial_claim(trial.b, "t", STORE_THREAD_LEASE_MS, &claim);
	ck_assert_str_eq(counted(&claim), "3");
	/* Numbers that are taken: nothing of such a commit is done. */
	ck_assert_int_eq(commit_events(trial.b, &claim, 1, 2), STORE_FAILED);
	ck_assert_int_eq(commit_events(trial.b, &claim, 3, 1), STORE_OK);
	ck_assert_uint_eq(claim.version, 2);
	/* A library before this one left `seq` behind, and would believe it. */
	trial_hset("t:t", "seq", "2");
	hold = (struct store_hold){ "t", "r", claim.epoch, claim.version };
	ck_assert_int_eq(store_release(trial.b, trial.arena, &hold, NULL), STORE_OK);
	ck_assert_int_eq(value_get_int(thread_record("r"), "events", 0), 4);
	ck_assert_int_eq(
	    trial_ask("HEXISTS", store_thread_key(trial.arena, "t"), "seq")->integer, 0);
	ck_assert_int_eq(
	    store_events(trial.a, trial.arena, "t", "r", 0, 0, &events), STORE_OK);
	ck_assert_uint_eq(value_size(events), 4);
	ck_assert_int_eq(value_get_int(value_at(events, 3), "seq", 0), 4);
	ck_assert_int_eq(
	    store_some_events(trial.a, trial.arena, "t", "r", 1, 2, &events), STORE_OK);
	ck_assert_uint_eq(value_size(events), 2);
	ck_assert_int_eq(value_get_int(value_at(events, 1), "seq", 0), 3);
}

START_TEST(events_are_numbered_without_a_gap_by_one_owner_after_the_other)
{
	trial_play(play_events);
}
END_TEST

static bool
has_compared_fields(void)
{
	const char *said = redis_reply_text(trial_ask("INFO", "commandstats"));

	return strstr(said, "cmdstat_hmget:") != NULL;
}

static void
play_gate(void)
{
	struct store_claim claim;

	trial_submit("t", "r");
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	trial_ask("CONFIG", "RESETSTAT");
	/* The first of a claim names none before it. */
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c0", "running"), STORE_OK);
	claim.version = 1;
	ck_assert_int_eq(commit_events(trial.a, &claim, 1, 1), STORE_OK);
	ck_assert(!has_compared_fields());
	/* Nor does this one. */
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c2", "running"), STORE_OK);
	ck_assert(has_compared_fields());
	trial_ask("CONFIG", "RESETSTAT");
	claim.version = 3;
	ck_assert_int_eq(commit_events(trial.a, &claim, 2, 1), STORE_OK);
	ck_assert(!has_compared_fields());
	/* A library before this one has left other words there. */
	trial_hset("t:t", "look", "0");
	ck_assert_int_eq(commit_events(trial.a, &claim, 3, 1), STORE_OK);
	ck_assert(has_compared_fields());
	claim.version--;
	trial_hset("t:t", "look", "1");
	ck_assert_int_eq(commit_events(trial.a, &claim, 4, 1), STORE_STALE);
}

START_TEST(a_commit_that_finds_what_its_owner_expects_checks_nothing_else)
{
	trial_play(play_gate);
}
END_TEST

TCase *
tcase_store_commit(void)
{
	TCase *tcase = tcase_create("store_commit");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, each_commit_of_a_run_says_that_it_is_to_be_cancelled);
	tcase_add_test(tcase, attempts_count_from_one_again_behind_a_commit);
	tcase_add_test(
	    tcase, a_commit_that_finds_what_its_owner_expects_checks_nothing_else);
	tcase_add_test(
	    tcase, events_are_numbered_without_a_gap_by_one_owner_after_the_other);
	return tcase;
}
