/* A thread that a run makes has the run's metadata, by which it is found; against a real Redis. */
#include <check.h>

#include "literal.h"
#include "store_thread.h"
#include "store_trial.h"

/* Interface under test */
#include "store.h"

TCase *tcase_store_made(void);

/* A run's, with its metadata as the record has them; at: when it is to begin (ms), or NULL. */
static const struct value *
fields_of(const char *metadata, const char *at)
{
	struct arena *arena = trial.arena;

	return value_map(arena, "agent", value_str(arena, "clerk"), "version",
	    value_str(arena, "v1"), "metadata",
	    metadata != NULL ? value_freeze(arena, literal(arena, metadata)) : NULL, "at",
	    at != NULL ? value_str(arena, at) : NULL, NULL);
}

static void
submit(const char *thread, const char *run, const struct value *fields)
{
	const char *other;
	int64_t before;

	ck_assert_int_eq(
	    store_bind_run(trial.a, trial.arena, run, thread, &other), STORE_OK);
	ck_assert_int_eq(
	    store_submit(trial.a, trial.arena, thread, run, fields, &before), STORE_OK);
}

/* The same, begun in that step. */
static void
arrive(const char *thread, const char *run, const struct value *fields)
{
	struct store_claim claim;
	bool claimed = false;

	trial_ask("HSET", STORE_AGENTS, "clerk", "v1");
	ck_assert_int_eq(store_arrive(trial.a, trial.arena,
			     &(struct store_newcomer){ thread, run, fields },
			     STORE_THREAD_LEASE_MS, &claimed, &claim),
	    STORE_OK);
	ck_assert(claimed);
}

static enum store_status
open_thread(const char *thread)
{
	return store_open_thread(
	    trial.a, trial.arena, thread, literal(trial.arena, "{'by': 'hand'}"), NULL);
}

/* expected NULL: it has none. */
static void
check(const char *name, const char *expected)
{
	const struct value *thread = NULL, *metadata;

	ck_assert_int_eq(
	    store_thread_outline(trial.a, trial.arena, name, &thread), STORE_OK);
	metadata = value_get(thread, "metadata");
	if (expected == NULL)
		ck_assert_ptr_null(metadata);
	else
		ck_assert_value(trial.arena, metadata, expected);
}

/* --- made ----------------------------------------------------------------------------- */

static void
play_queued(void)
{
	submit("t", "r", fields_of("{'who': 'me', 'n': 1}", NULL));
	check("t", "{'who': 'me', 'n': 1}");
	submit("t", "s", fields_of("{'who': 'you'}", NULL));
	check("t", "{'who': 'me', 'n': 1}");
	ck_assert_int_eq(store_note_thread(trial.a, trial.arena, "t",
			     literal(trial.arena, "{'n': null, 'more': true}"), NULL),
	    STORE_OK);
	check("t", "{'who': 'me', 'more': true}");
	ck_assert_int_eq(open_thread("t"), STORE_KNOWN);
}

START_TEST(by_a_run_that_is_queued)
{
	trial_play(play_queued);
}
END_TEST

static void
play_begun(void)
{
	arrive("t", "r", fields_of("{'who': 'me'}", NULL));
	check("t", "{'who': 'me'}");
	arrive("u", "s", fields_of(NULL, NULL));
	check("u", NULL);
}

START_TEST(by_a_run_that_begins_at_once)
{
	trial_play(play_begun);
}
END_TEST

static void
play_delayed(void)
{
	submit("t", "r", fields_of("{'who': 'me'}", "9000000000000"));
	ck_assert_str_eq(thread_status("r"), "delayed");
	check("t", "{'who': 'me'}");
	submit("t", "s", fields_of("{'who': 'you'}", NULL));
	check("t", "{'who': 'me'}");
}

START_TEST(by_a_run_that_waits_for_its_time)
{
	trial_play(play_delayed);
}
END_TEST

/* --- not made ------------------------------------------------------------------------- */

static void
play_there(void)
{
	ck_assert_int_eq(open_thread("t"), STORE_OK);
	arrive("t", "r", fields_of("{'who': 'me'}", NULL));
	check("t", "{'by': 'hand'}");
	ck_assert_int_eq(
	    store_open_thread(trial.a, trial.arena, "u", NULL, NULL), STORE_OK);
	submit("u", "s", fields_of("{'who': 'me'}", NULL));
	check("u", "{}");
}

START_TEST(a_thread_that_is_there_keeps_its_own)
{
	trial_play(play_there);
}
END_TEST

/* What comes by that name next has nothing of it. */
static void
play_anew(void)
{
	struct store_pruned pruned;
	const char *answer, *status;

	submit("t", "r", fields_of("{'who': 'me'}", NULL));
	ck_assert_int_eq(
	    store_cancel(trial.a, trial.arena, "t", "r", &answer, &status), STORE_OK);
	check("t", "{'who': 'me'}");
	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", false, &pruned), STORE_OK);
	submit("t", "s", fields_of(NULL, NULL));
	check("t", NULL);
}

START_TEST(a_thread_that_was_deleted_begins_anew)
{
	trial_play(play_anew);
}
END_TEST

TCase *
tcase_store_made(void)
{
	TCase *tcase = tcase_create("store_made");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, by_a_run_that_is_queued);
	tcase_add_test(tcase, by_a_run_that_begins_at_once);
	tcase_add_test(tcase, by_a_run_that_waits_for_its_time);
	tcase_add_test(tcase, a_thread_that_is_there_keeps_its_own);
	tcase_add_test(tcase, a_thread_that_was_deleted_begins_anew);
	return tcase;
}
