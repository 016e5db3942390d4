/* Runs of runs, as who owns the parent finds them; against a real Redis. */
#include <check.h>

#include "fiber.h"
#include "store_thread.h"
#include "store_trial.h"

/* Interface under test */
#include "store.h"
#include "store_runs.h"

TCase *tcase_store_children(void);

static enum store_status looked;
static bool has_submitted;

static enum store_status
look(const char *run)
{
	const struct value *record = NULL;
	enum store_status status = store_first_run(trial.a, trial.arena, run, &record);

	ck_assert_msg(
	    status != STORE_OK || value_text_is(value_get(record, "parent"), "boss"),
	    "not its record");
	return status;
}

static void
submit(const char *thread, const char *run)
{
	struct arena *arena = trial.arena;
	int64_t before;

	ck_assert_int_eq(
	    store_submit(trial.a, arena, thread, run,
		value_map(arena, "agent", value_str(arena, "clerk"), "version",
		    value_str(arena, "1"), "parent", value_str(arena, "boss"), NULL),
		&before),
	    STORE_OK);
}

static void
play_looks(void)
{
	ck_assert_int_eq(look("child"), STORE_NONE);
	submit("other", "child");
	ck_assert_int_eq(look("child"), STORE_NONE);
	submit("child", "somebody");
	ck_assert_int_eq(look("child"), STORE_KNOWN);
	submit("child", "child");
	ck_assert_int_eq(look("child"), STORE_OK);
}

START_TEST(a_thread_of_its_name_is_anothers_unless_the_run_is_there)
{
	trial_play(play_looks);
}
END_TEST

static void
look_once(void *arg)
{
	looked = look(arg);
}

static void
submit_once(void *arg)
{
	submit(arg, arg);
	has_submitted = true;
}

/* One connection: what the other one submits comes between the first thing that is looked at and the next. */
static void
play_race(void)
{
	static char child[] = "child";

	ck_assert_ptr_nonnull(fiber_start(redis_trial.loop, "look", look_once, child));
	ck_assert_ptr_nonnull(
	    fiber_start(redis_trial.loop, "submit", submit_once, child));
	while (!has_submitted || looked == STORE_CANCELLED)
		fiber_sleep(1);
	ck_assert_int_ne(looked, STORE_KNOWN);
	ck_assert_int_eq(look(child), STORE_OK);
}

START_TEST(who_submits_it_meanwhile_is_no_other)
{
	looked = STORE_CANCELLED;
	has_submitted = false;
	trial_play(play_race);
}
END_TEST

/* The child of "boss" has its name, which may be another thread's, and is noted. */
static void
announce(const char *child, const char *thread)
{
	const char *other;
	bool is_late;

	ck_assert_int_eq(
	    store_bind_run(trial.a, trial.arena, child, thread, &other), STORE_OK);
	ck_assert_int_eq(
	    store_adopt(trial.a, trial.arena, "t", "boss", child, child, &is_late),
	    STORE_OK);
}

static void
forget_gone(void)
{
	unsigned i;

	for (i = 0; i < 3; i++) { /* the parent's, the child's, and what that leaves */
		store_forget_gone(trial.a, trial.arena, store_shard("t"), 10);
		store_forget_gone(trial.a, trial.arena, store_shard("child"), 10);
	}
}

/* Who was to submit it has died: with its parent the name goes. */
static void
play_never_begun(void)
{
	static const char *const rest[] = { "fl:run:other" };
	const char *answer, *ended;
	struct store_pruned pruned;

	trial_submit("t", "boss");
	announce("child", "child");
	announce("other", "elsewhere");
	store_cancel(trial.a, trial.arena, "t", "boss", &answer, &ended);
	trial_delete("bereft");
	ck_assert_int_eq(store_erase(trial.a, trial.arena, "t", true, &pruned), STORE_OK);
	ck_assert_int_eq(
	    store_forget_gone(trial.a, trial.arena, store_shard("t"), 10), STORE_OK);
	trial_check_keys(rest, 1);
}

static enum store_status
submit_child(const char *task)
{
	struct arena *arena = trial.arena;

	return store_submit_child(trial.a, arena, "t", "boss", "child", "child",
	    value_map(arena, "agent", value_str(arena, "clerk"), "parent",
		value_str(arena, "boss"), "task",
		task != NULL ? value_str(arena, task) : NULL, NULL));
}

static void
forget_parent(const char *status)
{
	struct store_claim claim;
	const char *answer;

	trial_submit("t", "boss");
	trial_claim(trial.a, "t", 60000, &claim);
	announce("child", "child");
	ck_assert_int_eq(submit_child("r.1.0"), STORE_OK);
	thread_commit(&claim, status, status);
	ck_assert_int_eq(
	    store_forget_run(trial.a, trial.arena, "t", "boss", &answer), STORE_OK);
	ck_assert_str_eq(answer, "FORGOTTEN");
}

static void
cancel_child(void)
{
	const char *answer, *ended;

	ck_assert_int_eq(
	    store_cancel(trial.a, trial.arena, "child", "child", &answer, &ended),
	    STORE_OK);
}

/* Who goes on there asks for it: it goes when the thread does. */
static void
play_forgotten(void)
{
	static const char *const rest[] = { "leases", "fl:run:boss:g" };
	struct store_pruned pruned;

	forget_parent("interrupted");
	cancel_child();
	forget_gone();
	ck_assert_int_eq(look("child"), STORE_OK);
	ck_assert_int_eq(store_erase(trial.a, trial.arena, "t", true, &pruned), STORE_OK);
	forget_gone();
	trial_check_keys(rest, 2);
}

/* And when a run of the thread is forgotten behind it that needs none. */
static void
play_forgotten_later(void)
{
	const char *answer;

	forget_parent("interrupted");
	cancel_child();
	thread_play("next", 1, "success");
	ck_assert_int_eq(
	    store_forget_run(trial.a, trial.arena, "t", "next", &answer), STORE_OK);
	forget_gone();
	ck_assert_int_eq(look("child"), STORE_NONE);
}

START_TEST(of_a_parent_that_was_forgotten_while_it_asked_no_child_is_left)
{
	trial_play(play_forgotten);
}
END_TEST

START_TEST(a_thread_that_needs_no_child_any_more_lets_it_go)
{
	trial_play(play_forgotten_later);
}
END_TEST

START_TEST(of_one_that_never_began_no_name_is_left)
{
	trial_play(play_never_begun);
}
END_TEST

/* Whoever ended the parent has looked for its children before the child was there. */
static void
play_late(void)
{
	const char *answer, *ended;
	struct store_claim claim;

	ck_assert_int_eq(submit_child(NULL), STORE_FENCED);
	trial_submit("t", "boss");
	trial_claim(trial.a, "t", 60000, &claim);
	announce("child", "child");
	ck_assert_int_eq(
	    store_cancel(trial.a, trial.arena, "t", "boss", &answer, &ended), STORE_OK);
	ck_assert_int_eq(submit_child(NULL), STORE_FENCED);
	ck_assert_int_eq(trial_commit(trial.a, &claim, "c", "cancelled"), STORE_OK);
	ck_assert_int_eq(submit_child(NULL), STORE_FENCED);
	ck_assert_int_eq(look("child"), STORE_NONE);
}

static void
play_in_time(void)
{
	struct store_claim claim;

	trial_submit("t", "boss");
	trial_claim(trial.a, "t", 60000, &claim);
	ck_assert_int_eq(submit_child(NULL), STORE_OK);
	ck_assert_int_eq(submit_child(NULL), STORE_KNOWN);
	ck_assert_int_eq(look("child"), STORE_OK);
}

START_TEST(a_child_is_not_there_later_than_its_parent)
{
	trial_play(play_late);
}
END_TEST

START_TEST(a_child_is_there_while_its_parent_goes_on)
{
	trial_play(play_in_time);
}
END_TEST

TCase *
tcase_store_children(void)
{
	TCase *tcase = tcase_create("store_children");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, a_thread_of_its_name_is_anothers_unless_the_run_is_there);
	tcase_add_test(tcase, who_submits_it_meanwhile_is_no_other);
	tcase_add_test(tcase, a_child_is_there_while_its_parent_goes_on);
	tcase_add_test(tcase, a_child_is_not_there_later_than_its_parent);
	tcase_add_test(tcase, of_one_that_never_began_no_name_is_left);
	tcase_add_test(
	    tcase, of_a_parent_that_was_forgotten_while_it_asked_no_child_is_left);
	tcase_add_test(tcase, a_thread_that_needs_no_child_any_more_lets_it_go);
	return tcase;
}
