/* What has happened on a thread, as it is found by HTTP: its runs, its last checkpoint and those before; against a real
 * Redis. */
#include <check.h>
#include <inttypes.h>

#include "store_thread.h"
#include "store_trial.h"

/* Interface under test */
#include "store.h"
#include "store_past.h"
#include "store_runs.h"

TCase *tcase_store_past(void);

static const char *
runs_of(size_t offset, size_t limit)
{
	const struct value *runs = NULL;
	const char *names = "";
	size_t i;

	ck_assert_int_eq(
	    store_thread_runs(trial.a, trial.arena, "t", offset, limit, &runs), STORE_OK);
	for (i = 0; i < value_size(runs); i++)
		names = arena_printf(trial.arena, "%s%s ", names,
		    value_get_text(value_at(runs, i), "run"));
	return names;
}

static void
play_runs(void)
{
	const struct value *runs = NULL;

	ck_assert_int_eq(
	    store_thread_runs(trial.a, trial.arena, "nobody", 0, 10, &runs), STORE_OK);
	ck_assert_uint_eq(value_size(runs), 0);
	thread_play("a", 1, "success");
	thread_play("b", 1, "error");
	thread_play("c", 1, "success");
	trial_submit("t", "d");
	ck_assert_str_eq(runs_of(0, 10), "d c b a ");
	ck_assert_str_eq(runs_of(0, 2), "d c ");
	ck_assert_str_eq(runs_of(1, 2), "c b ");
	ck_assert_str_eq(runs_of(3, 2), "a ");
	ck_assert_str_eq(runs_of(4, 2), "");
	ck_assert_str_eq(runs_of(400, 2), "");
	ck_assert_str_eq(runs_of(0, 0), "");
	ck_assert_int_eq(
	    store_thread_runs(trial.a, trial.arena, "t", 2, 1, &runs), STORE_OK);
	ck_assert_str_eq(value_get_text(value_at(runs, 0), "status"), "error");
}

START_TEST(a_threads_runs_are_listed_newest_first)
{
	trial_play(play_runs);
}
END_TEST

static const char *
forget(const char *run)
{
	const char *answer = NULL;

	ck_assert_int_eq(
	    store_forget_run(trial.a, trial.arena, "t", run, &answer), STORE_OK);
	return answer;
}

/* All places of the list, also those of runs that have gone; behind + what pruning took. */
static const char *
places(void)
{
	struct store_run_ids ids = { 0 };
	const char *names = "";
	size_t i;

	ck_assert_int_eq(
	    store_run_ids(trial.a, trial.arena, "t", 0, 100, &ids), STORE_OK);
	ck_assert_uint_eq(ids.count, value_size(ids.runs));
	for (i = 0; i < ids.count; i++)
		names = arena_printf(
		    trial.arena, "%s%s,", names, value_text(value_at(ids.runs, i)));
	if (ids.cut > 0)
		names = arena_printf(trial.arena, "%" PRIu64 "+%s", ids.cut, names);
	return names;
}

static const char *
key(const char *name)
{
	return arena_printf(
	    trial.arena, "%s%s", store_prefix(trial.arena, store_shard("t")), name);
}

static void
play_forgetting(void)
{
	const struct value *before;
	struct store_pruned pruned;
	struct store_claim claim;

	thread_play("a", 2, "success");
	thread_play("b", 1, "error");
	thread_play("c", 1, "success");
	trial_submit("t", "d");
	before = thread_state();
	ck_assert_str_eq(forget("d"), "BUSY");
	ck_assert_str_eq(forget("nobody"), "UNKNOWN");
	ck_assert_str_eq(forget("b"), "FORGOTTEN");
	ck_assert_str_eq(forget("b"), "UNKNOWN");
	ck_assert(value_equal(thread_state(), before));
	ck_assert_str_eq(places(), "a,,c,d,");
	ck_assert_str_eq(runs_of(0, 10), "d c a ");
	ck_assert_str_eq(runs_of(1, 1), "c ");
	ck_assert_str_eq(runs_of(2, 1), "a ");
	ck_assert_str_eq(runs_of(3, 1), "");
	trial_ask("ZADD", key("hooks"), "5", "c");
	ck_assert_str_eq(forget("c"), "TELLS");
	trial_ask("ZREM", key("hooks"), "c");
	trial_ask("SADD", key("bereft"), "c");
	ck_assert_str_eq(forget("c"), "TELLS");
	trial_ask("SREM", key("bereft"), "c");
	trial_ask("HSET", key("r:c"), "task", "call-1");
	ck_assert_str_eq(forget("c"), "CHILD");
	trial_ask("HDEL", key("r:c"), "task");
	trial_ask("HSET", key("t:t"), "run", "c");
	ck_assert_str_eq(forget("c"), "BUSY");
	trial_ask("HSET", key("t:t"), "run", "");
	ck_assert_str_eq(forget("a"), "FORGOTTEN");
	ck_assert_str_eq(forget("c"), "FORGOTTEN");
	ck_assert_str_eq(runs_of(0, 10), "d ");
	/* What pruning takes takes their places, too. */
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	thread_commit(&claim, "success", "success");
	ck_assert_int_eq(
	    store_prune(trial.a, trial.arena, "t", 1, false, &pruned), STORE_OK);
	ck_assert_str_eq(places(), "3+d,");
	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", false, &pruned), STORE_OK);
	ck_assert_str_eq(places(), "");
}

START_TEST(a_run_is_deleted_alone)
{
	trial_play(play_forgetting);
}
END_TEST

static void
play_forgetting_refused(void)
{
	ck_assert_int_eq(thread_submit("a", "multitask", "enqueue"), STORE_OK);
	trial_ask("HSET", key("r:a"), "status", "refused");
	trial_ask("HDEL", key("t:t"), "created");
	trial_ask("DEL", key("t:t:q"));
	ck_assert_str_eq(forget("a"), "FORGOTTEN");
	ck_assert_str_eq(places(), "");
	ck_assert(redis_reply_text(trial_ask("HGET", key("t:t"), "holes")) == NULL);
}

START_TEST(where_there_is_no_thread_no_place_is_kept)
{
	trial_play(play_forgetting_refused);
}
END_TEST

/* What is to be put back is so, also when the next run has the id of the one that was deleted. */
static void
play_forgetting_rolled(void)
{
	struct store_claim claim;
	struct store_pruned pruned;
	const char *answer, *status;

	thread_play("a", 2, "success");
	trial_submit("t", "b");
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	thread_commit(&claim, "running", "running");
	ck_assert_int_eq(
	    store_cancel_back(trial.a, trial.arena, "t", "b", &answer, &status),
	    STORE_OK);
	thread_commit(&claim, "cancelled", "cancelled");
	ck_assert_str_eq(forget("b"), "FORGOTTEN");
	/* No run is in the way that anybody could wait for. */
	ck_assert_int_eq(
	    store_prune(trial.a, trial.arena, "t", 1, false, &pruned), STORE_BUSY);
	ck_assert_ptr_null(pruned.busy);
	trial_submit("t", "b");
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	ck_assert_str_eq(claim.run, "b");
	ck_assert_int_eq(claim.rollback, 2);
	thread_commit(&claim, "success", "success");
	trial_submit("t", "c");
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	ck_assert_int_eq(claim.rollback, -1);
}

START_TEST(who_has_the_id_of_one_that_was_rolled_back_begins_behind_it)
{
	trial_play(play_forgetting_rolled);
}
END_TEST

static void
play_checkpoints(void)
{
	const struct value *last = NULL;

	ck_assert_int_eq(
	    store_last_checkpoint(trial.a, trial.arena, "nobody", &last), STORE_NONE);
	thread_play("a", 2, "success");
	ck_assert_int_eq(
	    store_last_checkpoint(trial.a, trial.arena, "t", &last), STORE_OK);
	ck_assert_int_eq(value_get_int(last, "version", 0), 2);
	ck_assert_str_eq(value_get_text(last, "status"), "success");
	thread_play("b", 1, "error");
	ck_assert_int_eq(
	    store_last_checkpoint(trial.a, trial.arena, "t", &last), STORE_OK);
	ck_assert_int_eq(value_get_int(last, "version", 0), 3);
	ck_assert_str_eq(value_get_text(last, "run"), "b");
}

START_TEST(the_last_checkpoint_is_the_newest)
{
	trial_play(play_checkpoints);
}
END_TEST

/* The versions of a run's checkpoints above after. */
static const char *
versions_of(const char *run, uint64_t after, uint64_t newest)
{
	const struct value *found = NULL;
	const char *all = "";
	uint64_t last = 99;
	size_t i;

	ck_assert_int_eq(
	    store_run_checkpoints(trial.a, trial.arena, "t", run, after, &found, &last),
	    STORE_OK);
	ck_assert_uint_eq(last, newest);
	for (i = 0; i < value_size(found); i++) {
		ck_assert(!value_has(value_at(found, i), "fields"));
		all = arena_printf(trial.arena, "%s%d ", all,
		    (int)value_get_int(value_at(found, i), "version", 0));
	}
	return all;
}

static void
play_own_checkpoints(void)
{
	ck_assert_str_eq(versions_of("a", 0, 0), "");
	thread_play("a", 12, "success");
	thread_play("b", 1, "error");
	thread_play("c", 20, "success");
	ck_assert_str_eq(versions_of("a", 0, 33), "1 2 3 4 5 6 7 8 9 10 11 12 ");
	ck_assert_str_eq(versions_of("a", 11, 33), "12 ");
	ck_assert_str_eq(versions_of("a", 12, 33), "");
	ck_assert_str_eq(versions_of("b", 0, 33), "13 ");
	ck_assert_str_eq(versions_of("c", 30, 33), "31 32 33 ");
	ck_assert_str_eq(versions_of("c", 33, 33), "");
	ck_assert_str_eq(versions_of("nobody", 0, 33), "");
}

START_TEST(a_runs_checkpoints_are_found)
{
	trial_play(play_own_checkpoints);
}
END_TEST

#define ALL UINT64_MAX

/* Of each its version, how many messages and fields it has. */
static const char *
pasts_of(uint64_t before, size_t limit)
{
	const struct value *pasts = NULL, *past;
	const char *all = "";
	size_t i;

	ck_assert_int_eq(
	    store_pasts(trial.a, trial.arena, "t", before, limit, &pasts), STORE_OK);
	for (i = 0; i < value_size(pasts); i++) {
		past = value_at(pasts, i);
		ck_assert_int_eq(value_get_int(past, "version", -1),
		    value_get_int(value_get(past, "checkpoint"), "version", 0));
		all = arena_printf(trial.arena, "%s%d:%zu:%zu ", all,
		    (int)value_get_int(past, "version", 0),
		    value_size(value_get(past, "messages")),
		    value_size(value_get(past, "fields")));
	}
	return all;
}

static void
play_pasts(void)
{
	const struct value *pasts = NULL, *at = NULL;

	ck_assert_int_eq(
	    store_pasts(trial.a, trial.arena, "nobody", ALL, 10, &pasts), STORE_NONE);
	/* What nothing has happened on has no past, not even an empty one. */
	ck_assert_int_eq(
	    store_open_thread(trial.a, trial.arena, "t", NULL, NULL), STORE_OK);
	ck_assert_str_eq(pasts_of(ALL, 10), "");
	thread_play("a", 2, "success");
	thread_play("b", 1, "success");
	ck_assert_str_eq(pasts_of(ALL, 10), "3:1:3 2:1:2 1:1:1 0:0:0 ");
	ck_assert_str_eq(pasts_of(ALL, 1), "3:1:3 ");
	ck_assert_str_eq(pasts_of(3, 10), "2:1:2 1:1:1 0:0:0 ");
	ck_assert_str_eq(pasts_of(2, 10), "1:1:1 0:0:0 ");
	ck_assert_str_eq(pasts_of(1, 10), "0:0:0 ");
	ck_assert_str_eq(pasts_of(0, 10), "");
	ck_assert_str_eq(pasts_of(99, 3), "3:1:3 2:1:2 1:1:1 ");
	ck_assert_str_eq(pasts_of(ALL, 0), "");
	/* Each is what one asked for it alone is shown. */
	store_pasts(trial.a, trial.arena, "t", 3, 1, &pasts);
	ck_assert_int_eq(store_thread_at(trial.a, trial.arena, "t", 2, &at), STORE_OK);
	ck_assert(value_equal(value_at(pasts, 0), at));
}

START_TEST(the_past_is_each_checkpoints_state)
{
	trial_play(play_pasts);
}
END_TEST

/* The version that run has left the thread at. */
static int64_t
left_by(const char *run)
{
	const struct value *thread = NULL;

	ck_assert_int_eq(
	    store_thread_left(trial.a, trial.arena, "t", run, &thread), STORE_OK);
	return value_get_int(thread, "version", 0);
}

static void
play_left(void)
{
	const struct value *thread = NULL;

	ck_assert_int_eq(
	    store_thread_left(trial.a, trial.arena, "t", "a", &thread), STORE_NONE);
	thread_play("a", 2, "success");
	ck_assert_int_eq(left_by("a"), 2);
	thread_play("b", 1, "error");
	thread_play("c", 3, "success");
	ck_assert_int_eq(left_by("a"), 2);
	ck_assert_int_eq(left_by("b"), 3);
	trial_hset("r:b", "final", "7");
	ck_assert_int_eq(left_by("b"), 6);
	ck_assert_int_eq(left_by("c"), 6);
	ck_assert_int_eq(left_by("nobody"), 6);
}

START_TEST(what_a_run_has_left_is_its_last_checkpoint)
{
	trial_play(play_left);
}
END_TEST

/* What a list shows of a run is what its record has, without what may be large. */
static void
play_brief(void)
{
	const struct value *brief = NULL, *record = NULL, *runs = NULL;
	size_t i;

	thread_submit("r1", "webhook", "large");
	thread_submit("r2", "multitask", "enqueue");
	ck_assert_int_eq(
	    store_newest_runs(trial.a, trial.arena, "t", 0, 1, &runs), STORE_OK);
	ck_assert_uint_eq(value_size(runs), 1);
	ck_assert_str_eq(redis_reply_text(value_at(runs, 0)), "r2");
	ck_assert_int_eq(
	    store_run_brief(trial.a, trial.arena, "t", "r1", &brief), STORE_OK);
	ck_assert_int_eq(store_run(trial.a, trial.arena, "t", "r1", &record), STORE_OK);
	for (i = 0; i < value_size(brief); i++)
		ck_assert(value_equal(
		    brief->pairs[i].value, value_get(record, brief->pairs[i].key->text)));
	ck_assert_str_eq(value_get_text(brief, "status"), "queued");
	ck_assert(value_has(brief, "events") == value_has(record, "events"));
	ck_assert(value_has(record, "webhook") && !value_has(brief, "webhook"));
	ck_assert_int_eq(
	    store_run_brief(trial.a, trial.arena, "t", "r2", &brief), STORE_OK);
	ck_assert_str_eq(value_get_text(brief, "multitask"), "enqueue");
	ck_assert_int_eq(
	    store_run_brief(trial.a, trial.arena, "t", "none", &brief), STORE_NONE);
}

START_TEST(a_run_in_a_list_is_brief)
{
	trial_play(play_brief);
}
END_TEST

TCase *
tcase_store_past(void)
{
	TCase *tcase = tcase_create("store_past");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, a_run_in_a_list_is_brief);
	tcase_add_test(tcase, a_threads_runs_are_listed_newest_first);
	tcase_add_test(tcase, a_run_is_deleted_alone);
	tcase_add_test(tcase, where_there_is_no_thread_no_place_is_kept);
	tcase_add_test(
	    tcase, who_has_the_id_of_one_that_was_rolled_back_begins_behind_it);
	tcase_add_test(tcase, the_last_checkpoint_is_the_newest);
	tcase_add_test(tcase, a_runs_checkpoints_are_found);
	tcase_add_test(tcase, the_past_is_each_checkpoints_state);
	tcase_add_test(tcase, what_a_run_has_left_is_its_last_checkpoint);
	return tcase;
}
