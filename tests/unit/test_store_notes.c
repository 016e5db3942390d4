/* Threads as they are found by HTTP: opened before their first run, with what is kept with them, and listed; against a
 * real Redis. */
#include <check.h>

#include "fiber.h"
#include "literal.h"
#include "store_thread.h"
#include "store_trial.h"

/* Interface under test */
#include "store.h"
#include "store_past.h"
#include "store_fleet.h"
#include "store_runs.h"

TCase *tcase_store_notes(void);

static enum store_status
open_thread(const char *thread, const char *metadata, const char *ttl)
{
	return store_open_thread(trial.a, trial.arena, thread,
	    metadata != NULL ? literal(trial.arena, metadata) : NULL, ttl);
}

static enum store_status
note(const char *metadata, const char *ttl)
{
	return store_note_thread(trial.a, trial.arena, "t",
	    metadata != NULL ? literal(trial.arena, metadata) : NULL, ttl);
}

static void
check_metadata(const char *expected)
{
	ck_assert_value(trial.arena, value_get(thread_state(), "metadata"), expected);
}

static const char *
ttl_of(const char *thread)
{
	const char *key = arena_printf(trial.arena, "%st:%s",
	    store_prefix(trial.arena, store_shard(thread)), thread);

	return redis_reply_text(trial_ask("HGET", key, "ttl"));
}

/* Whether a time is set at which the thread ends. */
static bool
has_end(const char *thread)
{
	return redis_reply_text(trial_ask("ZSCORE",
		   arena_printf(trial.arena, "%sttl",
		       store_prefix(trial.arena, store_shard(thread))),
		   thread)) != NULL;
}

/* The names of those that are listed, newest first, each with a blank behind it. */
static const char *
listed(size_t limit, uint64_t *total_r)
{
	const struct value *threads = NULL;
	const char *names = "";
	size_t i;

	ck_assert_int_eq(
	    store_threads(trial.a, trial.arena, NULL, limit, &threads, total_r),
	    STORE_OK);
	for (i = 0; i < value_size(threads); i++)
		names = arena_printf(trial.arena, "%s%s ", names,
		    value_get_text(value_at(threads, i), "thread"));
	return names;
}

static void
check_listed(const char *expected, unsigned count)
{
	uint64_t total = 99;

	ck_assert_str_eq(listed(100, &total), expected);
	ck_assert_uint_eq(total, count);
}

/* --- opened ------------------------------------------------------------------------------- */

static void
play_opened(void)
{
	const struct value *last = NULL, *runs = NULL, *pasts = NULL;

	ck_assert_int_eq(
	    open_thread("t", "{'who': 'me', 'n': {'a': [1]}}", NULL), STORE_OK);
	check_metadata("{'who': 'me', 'n': {'a': [1]}}");
	ck_assert_int_gt(value_get_int(thread_state(), "created", 0), 0);
	ck_assert_uint_eq(value_size(value_get(thread_state(), "messages")), 0);
	ck_assert_int_eq(store_has_thread(trial.a, trial.arena, "t"), STORE_OK);
	ck_assert_int_eq(
	    store_last_checkpoint(trial.a, trial.arena, "t", &last), STORE_NONE);
	ck_assert_int_eq(
	    store_thread_runs(trial.a, trial.arena, "t", 0, 10, &runs), STORE_OK);
	ck_assert_uint_eq(value_size(runs), 0);
	ck_assert_int_eq(store_pasts(trial.a, trial.arena, "t", 0, 10, &pasts), STORE_OK);
	ck_assert_uint_eq(value_size(pasts), 0);
	ck_assert_ptr_null(ttl_of("t"));
	check_listed("t ", 1);
}

START_TEST(a_thread_is_there_before_its_first_run)
{
	trial_play(play_opened);
}
END_TEST

static void
play_known(void)
{
	int64_t created;

	ck_assert_int_eq(open_thread("t", "{'who': 'me'}", NULL), STORE_OK);
	created = value_get_int(thread_state(), "created", 0);
	ck_assert_int_eq(open_thread("t", "{'who': 'you'}", "1000 delete"), STORE_KNOWN);
	check_metadata("{'who': 'me'}");
	ck_assert_int_eq(value_get_int(thread_state(), "created", 0), created);
	ck_assert_ptr_null(ttl_of("t"));
	trial_submit("u", "r");
	ck_assert_int_eq(open_thread("u", NULL, NULL), STORE_KNOWN);
	check_listed("u t ", 2);
}

START_TEST(a_thread_that_is_there_stays_as_it_is)
{
	trial_play(play_known);
}
END_TEST

/* What is kept with it outlives its runs, and its time is theirs. */
static void
play_run_on_opened(void)
{
	ck_assert_int_eq(open_thread("t", "{'who': 'me'}", "60000 delete"), STORE_OK);
	ck_assert_str_eq(ttl_of("t"), "60000 delete");
	ck_assert(has_end("t"));
	thread_play("r", 2, "success");
	check_metadata("{'who': 'me'}");
	ck_assert_str_eq(ttl_of("t"), "60000 delete");
	ck_assert(has_end("t"));
	check_listed("t ", 1);
}

START_TEST(runs_leave_what_is_kept_with_a_thread)
{
	trial_play(play_run_on_opened);
}
END_TEST

/* --- noted -------------------------------------------------------------------------------- */

static void
play_noted(void)
{
	ck_assert_int_eq(note("{'a': 1}", NULL), STORE_NONE);
	ck_assert_int_eq(open_thread("t", "{'a': 1, 'b': 2}", NULL), STORE_OK);
	ck_assert_int_eq(note("{'b': 3, 'c': {'d': null}}", NULL), STORE_OK);
	check_metadata("{'a': 1, 'b': 3, 'c': {'d': null}}");
	ck_assert_int_eq(note("{'a': null, 'z': null}", NULL), STORE_OK);
	check_metadata("{'b': 3, 'c': {'d': null}}");
	ck_assert_int_eq(note(NULL, NULL), STORE_OK);
	check_metadata("{'b': 3, 'c': {'d': null}}");
	ck_assert_ptr_null(ttl_of("t"));
	ck_assert_int_eq(note(NULL, "60000 keep_latest"), STORE_OK);
	ck_assert_str_eq(ttl_of("t"), "60000 keep_latest");
	ck_assert(has_end("t"));
	ck_assert_int_eq(note("{}", NULL), STORE_OK);
	ck_assert_str_eq(ttl_of("t"), "60000 keep_latest");
	ck_assert_int_eq(note(NULL, "0 delete"), STORE_OK); /* for ever */
	ck_assert(!has_end("t"));
}

START_TEST(what_is_noted_is_merged)
{
	trial_play(play_noted);
}
END_TEST

/* One that was made by a run has none yet. */
static void
play_noted_later(void)
{
	thread_play("r", 1, "success");
	ck_assert_ptr_null(value_get(thread_state(), "metadata"));
	ck_assert_int_eq(note("{'a': 1}", NULL), STORE_OK);
	check_metadata("{'a': 1}");
}

START_TEST(any_thread_can_be_noted)
{
	trial_play(play_noted_later);
}
END_TEST

static unsigned noted;

static void
note_one(void *arg)
{
	const char *key = arg;

	ck_assert_int_eq(
	    note(arena_printf(trial.arena, "{'%s': 1}", key), NULL), STORE_OK);
	noted++;
}

/* Each reads before any of the others writes, and writes over nothing. */
static void
play_noted_at_once(void)
{
	static const char *const keys[] = { "a", "b", "c", "d" };
	size_t i;

	ck_assert_int_eq(open_thread("t", NULL, NULL), STORE_OK);
	for (i = 0; i < 4; i++)
		ck_assert_ptr_nonnull(fiber_start(
		    redis_trial.loop, "note", note_one, (void *)(uintptr_t)keys[i]));
	while (noted < 4)
		fiber_sleep(1);
	check_metadata("{'a': 1, 'b': 1, 'c': 1, 'd': 1}");
}

START_TEST(who_notes_at_the_same_time_loses_nothing)
{
	noted = 0;
	trial_play(play_noted_at_once);
}
END_TEST

/* --- listed ------------------------------------------------------------------------------- */

/* Of all shards; those of one millisecond in any order. */
static void
play_list(void)
{
	static const char *const names[] = { "a", "b", "c", "d", "e" };
	const struct value *threads = NULL;
	uint64_t total = 99;
	size_t i;

	ck_assert_str_eq(listed(10, &total), "");
	ck_assert_uint_eq(total, 0);
	for (i = 0; i < 5; i++) {
		ck_assert_int_eq(open_thread(names[i], NULL, NULL), STORE_OK);
		trial_ask("ZADD",
		    arena_printf(trial.arena, "%sthreads",
			store_prefix(trial.arena, store_shard(names[i]))),
		    arena_printf(trial.arena, "%zu", 1000 + i), names[i]);
	}
	check_listed("e d c b a ", 5);
	ck_assert_str_eq(listed(2, &total), "e d ");
	ck_assert_uint_eq(total, 5);
	ck_assert_int_eq(
	    store_threads(trial.a, trial.arena, NULL, 1, &threads, &total), STORE_OK);
	ck_assert_value(trial.arena, threads, "[{'thread': 'e', 'created': 1004}]");
	ck_assert_int_eq(
	    store_threads(trial.a, trial.arena, NULL, 0, &threads, &total), STORE_OK);
	ck_assert_uint_eq(value_size(threads), 0);
	ck_assert_uint_eq(total, 5);
}

START_TEST(threads_are_listed_newest_first)
{
	trial_play(play_list);
}
END_TEST

static void
submit_with(const char *thread, const char *run, const char *name, const char *text)
{
	const char *other;
	int64_t before;

	store_bind_run(trial.a, trial.arena, run, thread, &other);
	ck_assert_int_eq(
	    store_submit(trial.a, trial.arena, thread, run,
		value_map(trial.arena, "agent", value_str(trial.arena, "clerk"), name,
		    value_str(trial.arena, text), NULL),
		&before),
	    STORE_OK);
}

/* One that is claimed as it comes. */
static void
arrive_with(const char *thread, const char *run, const char *name, const char *text)
{
	struct store_claim claim;
	bool claimed = false;

	trial_ask("HSET", STORE_AGENTS, "clerk", "v1");
	ck_assert_int_eq(
	    store_arrive(trial.a, trial.arena,
		&(struct store_newcomer){ thread, run,
		    value_map(trial.arena, "agent", value_str(trial.arena, "clerk"),
			"version", value_str(trial.arena, "v1"), name,
			value_str(trial.arena, text), NULL) },
		STORE_THREAD_LEASE_MS, &claimed, &claim),
	    STORE_OK);
	ck_assert(claimed);
}

static bool
is_listed(const char *thread)
{
	const struct value *threads = NULL;
	uint64_t total;
	size_t i;

	store_threads(trial.a, trial.arena, NULL, 100, &threads, &total);
	for (i = 0; i < value_size(threads); i++)
		if (value_text_is(value_get(value_at(threads, i), "thread"), thread))
			return true;
	return false;
}

/* Lined up, or begun at once. What a run has submitted that nobody waits for is a thread as others. */
static void
play_children(void)
{
	submit_with("u", "ru", "task", "call");
	submit_with("v", "rv", "parent", "r");
	arrive_with("w", "rw", "task", "call");
	arrive_with("x", "rx", "parent", "r");
	ck_assert_int_eq(store_has_thread(trial.a, trial.arena, "u"), STORE_OK);
	ck_assert_int_eq(store_has_thread(trial.a, trial.arena, "w"), STORE_OK);
	ck_assert(!is_listed("u"));
	ck_assert(is_listed("v"));
	ck_assert(!is_listed("w"));
	ck_assert(is_listed("x"));
}

START_TEST(a_childs_thread_is_not_listed)
{
	trial_play(play_children);
}
END_TEST

static void
play_listed_once(void)
{
	thread_play("r", 1, "success");
	trial_ask("ZADD",
	    arena_printf(
		trial.arena, "%sthreads", store_prefix(trial.arena, store_shard("t"))),
	    "1000", "t");
	thread_play("s", 1, "success");
	arrive_with("t", "u", "entry", "1-0");
	ck_assert_int_eq(open_thread("t", NULL, NULL), STORE_KNOWN);
	ck_assert_str_eq(redis_reply_text(trial_ask("ZSCORE",
			     arena_printf(trial.arena, "%sthreads",
				 store_prefix(trial.arena, store_shard("t"))),
			     "t")),
	    "1000");
}

START_TEST(a_thread_is_as_old_as_its_first_run)
{
	trial_play(play_listed_once);
}
END_TEST

/* --- forgotten ---------------------------------------------------------------------------- */

static void
play_erased(void)
{
	struct store_pruned pruned;

	ck_assert_int_eq(open_thread("t", "{'a': 1}", "60000 delete"), STORE_OK);
	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", false, &pruned), STORE_OK);
	check_listed("", 0);
	ck_assert_ptr_null(ttl_of("t"));
	ck_assert_int_eq(store_has_thread(trial.a, trial.arena, "t"), STORE_NONE);
	thread_play("r", 2, "success");
	check_listed("t ", 1);
	ck_assert_ptr_null(value_get(thread_state(), "metadata"));
	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", false, &pruned), STORE_OK);
	check_listed("", 0);
}

START_TEST(a_thread_that_is_erased_is_not_listed)
{
	trial_play(play_erased);
}
END_TEST

static void
make_due(void)
{
	const struct value *threads = NULL;

	trial_ask("ZADD",
	    arena_printf(
		trial.arena, "%sttl", store_prefix(trial.arena, store_shard("t"))),
	    "1", "t");
	ck_assert_int_eq(
	    store_expire(trial.a, trial.arena, store_shard("t"), 10, NULL, &threads),
	    STORE_OK);
	ck_assert_uint_eq(value_size(threads), 0);
}

/* One without runs has nothing to keep, whatever its action. */
static void
play_expired(void)
{
	ck_assert_int_eq(open_thread("t", NULL, "1000 delete"), STORE_OK);
	make_due();
	check_listed("", 0);
	ck_assert_int_eq(open_thread("t", NULL, "1000 keep_latest"), STORE_OK);
	make_due();
	check_listed("", 0);
	ck_assert_int_eq(open_thread("t", NULL, "1000 delete"), STORE_OK);
	thread_play("r", 1, "success");
	make_due();
	check_listed("", 0);
	ck_assert_int_eq(store_has_thread(trial.a, trial.arena, "t"), STORE_NONE);
}

static void
expire_as_usual(const char *usual)
{
	const struct value *threads = NULL;
	const struct value *ttl = usual != NULL ? value_str(trial.arena, usual) : NULL;

	ck_assert_int_eq(
	    store_expire(trial.a, trial.arena, store_shard("t"), 10, ttl, &threads),
	    STORE_OK);
	ck_assert_uint_eq(value_size(threads), 0);
}

static bool
has_chore(void)
{
	struct store_chores chores;

	ck_assert_int_eq(
	    store_chores(trial.a, trial.arena, store_shard("t"), &chores), STORE_OK);
	return chores.threads;
}

/* Nobody need submit anything for it to end. */
static void
play_usual(void)
{
	ck_assert_int_eq(open_thread("t", NULL, NULL), STORE_OK);
	ck_assert(has_chore());
	expire_as_usual("60000 delete");
	ck_assert(!has_chore());
	ck_assert_str_eq(ttl_of("t"), "60000 delete");
	make_due();
	check_listed("", 0);
	ck_assert_int_eq(open_thread("t", NULL, NULL), STORE_OK);
	expire_as_usual(NULL);
	ck_assert(!has_chore());
	check_listed("t ", 1);
	ck_assert_ptr_null(ttl_of("t"));
}

START_TEST(a_thread_that_was_opened_without_a_ttl_gets_the_usual_one)
{
	trial_play(play_usual);
}
END_TEST

START_TEST(a_thread_whose_time_is_over_is_not_listed)
{
	trial_play(play_expired);
}
END_TEST

TCase *
tcase_store_notes(void)
{
	TCase *tcase = tcase_create("store_notes");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, a_thread_is_there_before_its_first_run);
	tcase_add_test(tcase, a_thread_that_is_there_stays_as_it_is);
	tcase_add_test(tcase, runs_leave_what_is_kept_with_a_thread);
	tcase_add_test(tcase, what_is_noted_is_merged);
	tcase_add_test(tcase, any_thread_can_be_noted);
	tcase_add_test(tcase, who_notes_at_the_same_time_loses_nothing);
	tcase_add_test(tcase, threads_are_listed_newest_first);
	tcase_add_test(tcase, a_childs_thread_is_not_listed);
	tcase_add_test(tcase, a_thread_is_as_old_as_its_first_run);
	tcase_add_test(tcase, a_thread_that_is_erased_is_not_listed);
	tcase_add_test(tcase, a_thread_whose_time_is_over_is_not_listed);
	tcase_add_test(tcase, a_thread_that_was_opened_without_a_ttl_gets_the_usual_one);
	return tcase;
}
