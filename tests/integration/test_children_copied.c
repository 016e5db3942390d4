/* Agents that ask while they work for another one, whose thread is put back: their threads are copied, and the copies asked. */
#include <check.h>
#include <unistd.h>

#include "ask_bench.h"

TCase *tcase_children_copied(void);

#define TASK "{id: a, name: task, args: {description: do it, subagent_type: buyer}}"
/* clang-format off */
static const char buys[] =
    "name: manager\n"
    "model: scripted:m\n"
    "middleware:\n"
    "  - subagent:\n"
    "      general_purpose_agent: false\n"
    "      subagents: [{name: buyer, description: buys, model: 'scripted:buyer', tools: [pay]}]\n"
    "script:\n"
    "  buyer:\n"
    "    - tool_calls: [{id: p, name: pay, args: {amount: 3}}]\n"
    "    - content: It is bought.\n"
    "  m:\n"
    "    - tool_calls: [" TASK "]\n"
    "    - content: All is done.\n";
/* clang-format on */

static void
check_asked(struct scene *scene, const struct value *record)
{
	ask_check_status(scene, record, "interrupted");
	ck_assert_uint_eq(value_size(value_get(record, "interrupts")), 1);
}

/* The thread is put back by a run that comes to nothing, or by two; the subagent has had its answer. */
static void
play_put_back(struct scene *scene)
{
	check_asked(scene, ask_run(scene, "manager", "r1", "t", "input", "\"hi\""));
	ask_put(scene->hold);
	ask_submit(scene, "manager", "r2", "t", "resume", "\"yes\"");
	ask_wait_lines(scene, "pay", 2);
	ask_put_back(scene, "r2");
	unlink(scene->hold);
	ask_check_refused(scene, "manager", "r3", "t", "null", "null is none");
	ask_check_refused(scene, "manager", "r4", "t", "null", "null is none");
	ask_check_status(
	    scene, ask_run(scene, "manager", "r5", "t", "resume", "\"yes\""), "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "a=It is bought.;");
}

START_TEST(what_is_put_back_by_a_run_that_fails_can_still_be_answered)
{
	ask_act_with(play_put_back, buys);
}
END_TEST

TCase *
tcase_children_copied(void)
{
	TCase *tcase = tcase_create("children_copied");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, what_is_put_back_by_a_run_that_fails_can_still_be_answered);
	return tcase;
}
