/* Calls of one message of which the agent lets so many be under way at once: the others begin, in their order, when one has
 * ended; not at all where one has failed the run, or it was cancelled. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ask_bench.h"

TCase *tcase_max_concurrency(void);

#define AGENT(name, more, calls)                                                         \
	"---\nname: " name                                                               \
	"\nmodel: scripted:m\ntools: [note, linger, break, pay]\n" more                  \
	"script:\n  m:\n    - tool_calls: [" calls "]\n    - content: All is done.\n"
#define NOTE(id, text) "{id: " id ", name: note, args: {text: " text "}}"
#define LINGER(id) "{id: " id ", name: linger, args: {}}"

static const char agents[] = AGENT("two", "max_concurrency: 2\n",
    LINGER("a") ", " LINGER("b") ", " NOTE("c", "third") ", " NOTE("d", "fourth"))
    AGENT("one", "max_concurrency: 1\n", LINGER("a") ", " NOTE("b", "second"))
	AGENT("free", "", LINGER("a") ", " NOTE("b", "behind"))
	    AGENT("fails", "max_concurrency: 1\ntool_errors: raise\n",
		NOTE("a", "first") ", {id: b, name: break, args: {}}, " NOTE("c", "last"))
		AGENT("pays", "max_concurrency: 1\n",
		    NOTE("a", "first") ", {id: b, name: pay, args: {amount: 3}}")
		    AGENT("other", "", NOTE("a", "other"));

/* By then what is to begin of other runs has begun. */
static void
let_others_run(struct scene *scene)
{
	ask_check_status(scene,
	    ask_run(scene, "other", "other", "elsewhere", "input", "\"hi\""), "success");
	ask_check_lines(scene, "other", 1);
}

/* --- in turns ------------------------------------------------------------------------- */

static void
play_turns(struct scene *scene)
{
	ask_put(scene->hold);
	ask_submit(scene, "two", "r1", "t", "input", "\"hi\"");
	ask_wait_lines(scene, "linger", 2);
	let_others_run(scene);
	ask_check_lines(scene, "third", 0);
	ask_check_lines(scene, "fourth", 0);
	unlink(scene->hold);
	ask_check_status(scene, ask_wait_end(scene, "r1", "t"), "success");
	ck_assert_str_eq(
	    ask_tool_answers_of(scene, "t"), "a=lingered;b=lingered;c=noted;d=noted;");
	ask_check_lines(scene, "third", 1);
	ask_check_lines(scene, "fourth", 1);
}

START_TEST(the_next_begins_when_one_has_ended)
{
	ask_act_with(play_turns, agents);
}
END_TEST

/* What a submission says counts in the place of what its agent does. */
static void
play_told(struct scene *scene)
{
	ask_put(scene->hold);
	kit_flotilla(scene->kit, "submit", "free", "hi", "--run-id", "r1", "--thread",
	    "t", "--max-concurrency", "1", NULL);
	ask_wait_lines(scene, "linger", 1);
	let_others_run(scene);
	ask_check_lines(scene, "behind", 0);
	unlink(scene->hold);
	ask_check_status(scene, ask_wait_end(scene, "r1", "t"), "success");
	ask_check_lines(scene, "behind", 1);
}

START_TEST(a_run_may_have_a_number_of_its_own)
{
	ask_act_with(play_told, agents);
}
END_TEST

/* Who takes the run over begins what nobody has begun. */
static void
play_taken_over(struct scene *scene)
{
	ask_put(scene->hold);
	ask_submit(scene, "one", "r1", "t", "input", "\"hi\"");
	ask_wait_lines(scene, "linger", 1);
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	kit_start(scene->kit, KIT_COORDINATOR, 0);
	unlink(scene->hold);
	ask_check_status(scene, ask_wait_end(scene, "r1", "t"), "success");
	/* note must not run twice. */
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "a=lingered;b=noted;");
	ask_check_lines(scene, "linger", 1);
	ask_check_lines(scene, "second", 1);
}

START_TEST(a_takeover_goes_on_with_the_next)
{
	ask_act_with(play_taken_over, agents);
}
END_TEST

/* What has begun behind others is uncertain like any, when all that knew of it are gone. */
static void
play_begun(struct scene *scene)
{
	ask_put(scene->hold);
	ask_submit(scene, "pays", "r1", "t", "input", "\"hi\"");
	ask_wait_lines(scene, "pay", 1);
	unlink(scene->hold);
	ask_restart_everything(scene);
	ask_check_status(scene, ask_wait_end(scene, "r1", "t"), "success");
	ck_assert_ptr_nonnull(strstr(ask_tool_answers_of(scene, "t"),
	    "a=noted;b=Error: nobody knows whether this call of pay took effect"));
	ask_check_lines(scene, "first", 1);
	ask_check_lines(scene, "pay", 1);
}

START_TEST(what_has_begun_is_not_begun_again)
{
	ask_act_with(play_begun, agents);
}
END_TEST

/* --- never begun ------------------------------------------------------------------------ */

/* Nor is it uncertain: who goes on begins it. */
static void
play_failing(struct scene *scene)
{
	ask_put(scene->broken);
	ask_check_status(
	    scene, ask_run(scene, "fails", "r1", "t", "input", "\"hi\""), "error");
	ask_check_lines(scene, "last", 0);
	unlink(scene->broken);
	ask_check_status(
	    scene, ask_run(scene, "fails", "r2", "t", "resume", "null"), "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "a=noted;b=mended;c=noted;");
	ask_check_lines(scene, "first", 1);
	ask_check_lines(scene, "break", 2);
	ask_check_lines(scene, "last", 1);
}

START_TEST(none_begins_behind_one_that_fails_the_run)
{
	ask_act_with(play_failing, agents);
}
END_TEST

static void
play_cancelled(struct scene *scene)
{
	ask_put(scene->hold);
	ask_submit(scene, "one", "r1", "t", "input", "\"hi\"");
	ask_wait_lines(scene, "linger", 1);
	kit_flotilla(scene->kit, "cancel", "r1", NULL);
	ask_check_status(scene, ask_wait_end(scene, "r1", "t"), "cancelled");
	unlink(scene->hold);
	let_others_run(scene);
	ask_check_lines(scene, "second", 0);
}

START_TEST(none_begins_behind_a_cancel)
{
	ask_act_with(play_cancelled, agents);
}
END_TEST

TCase *
tcase_max_concurrency(void)
{
	TCase *tcase = tcase_create("max_concurrency");

	tcase_set_timeout(tcase, 240);
	tcase_add_test(tcase, the_next_begins_when_one_has_ended);
	tcase_add_test(tcase, a_run_may_have_a_number_of_its_own);
	tcase_add_test(tcase, a_takeover_goes_on_with_the_next);
	tcase_add_test(tcase, what_has_begun_is_not_begun_again);
	tcase_add_test(tcase, none_begins_behind_one_that_fails_the_run);
	tcase_add_test(tcase, none_begins_behind_a_cancel);
	return tcase;
}
