/* Children that go on with their parent's conversation (`mode: fork`), on a real fleet. */
#include <check.h>
#include <string.h>

#include "ask_bench.h"
#include "chat.h"
#include "has.h"
#include "literal.h"

TCase *tcase_children_fork(void);

#define TASK(id, agent)                                                                  \
	"{id: " id                                                                       \
	", name: task, args: {description: Where is it?, subagent_type: " agent "}}"
#define PLAN(id, what)                                                                   \
	"{id: " id ", name: write_todos, args: {todos: [{content: " what                 \
	", status: pending}]}}"

/* A scripted model's reply is the one behind as many as there are AI messages: a fork begins with one. */
/* clang-format off */
static const char agents[] =
    "name: scout\n"
    "model: scripted:scout\n"
    "middleware: [todo_list]\n"
    "script: {scout: [{content: none}, {content: I know as much as you.}]}\n"
    "---\n"
    "name: boss\n"
    "model: scripted:m\n"
    "system_prompt: You lead.\n"
    "middleware:\n"
    "  - todo_list\n"
    "  - subagent:\n"
    "      general_purpose_agent: false\n"
    "      subagents:\n"
    "        - {name: twin, description: knows all, mode: fork, model: 'scripted:twin', middleware: [todo_list]}\n"
    "        - {name: other, description: knows nothing, model: 'scripted:other', middleware: [todo_list]}\n"
    "        - {name: scout, description: of the fleet, mode: fork, agent: scout}\n"
    "script:\n"
    "  twin:\n"
    "    - content: none\n"
    "    - tool_calls: [" TASK("x", "other") ", " PLAN("y", "search") "]\n"
    "    - content: In Oslo.\n"
    "  other: [{content: What is where?}]\n"
    "  m:\n"
    "    - tool_calls: [" PLAN("p", "ask") "]\n"
    "    - tool_calls: [" TASK("a", "twin") ", " TASK("b", "other") ", " TASK("c", "scout") "]\n"
    "    - content: All is done.\n";
/* clang-format on */

/* The state of the thread of the run that the index-th task's answer names. */
static const struct value *
child_state(struct scene *scene, const struct value *messages, size_t index)
{
	const struct value *answer =
	    value_at(messages, (size_t)chat_last_ai(messages) - 3 + index);

	ck_assert(chat_is(answer, "tool"));
	return ask_state_of(scene, value_get_text(value_get(answer, "artifact"), "run"));
}

/* The types of a thread's messages. */
static const char *
types(struct arena *arena, const struct value *state)
{
	const struct value *messages = value_get(state, "messages");
	const char *text = "";
	size_t i;

	for (i = 0; i < value_size(messages); i++)
		text = arena_printf(
		    arena, "%s %s", text, value_get_text(value_at(messages, i), "type"));
	return text;
}

static const struct value *
todos_of(const struct value *state)
{
	return value_get(value_get(state, "fields"), "todos");
}

static void
play_fork(struct scene *scene)
{
	struct arena *arena = scene->arena;
	const struct value *record =
	    ask_run(scene, "boss", "r1", "t", "input", "\"Find it.\"");
	const struct value *state = ask_state_of(scene, "t"), *twin, *task;
	const struct value *messages = value_get(state, "messages");

	ask_check_status(scene, record, "success");
	ck_assert_has(ask_tool_answers_of(scene, "t"),
	    "a=In Oslo.;b=What is where?;c=I know as much as you.;");
	/* The plan of its parent was the twin's, and its own is not its parent's. */
	ck_assert_value(
	    arena, todos_of(state), "[{'content': 'ask', 'status': 'pending'}]");
	twin = child_state(scene, messages, 0);
	ck_assert_str_eq(types(arena, twin), " human ai tool human ai tool tool ai");
	ck_assert_value(
	    arena, todos_of(twin), "[{'content': 'search', 'status': 'pending'}]");
	task = value_at(value_get(twin, "messages"), 3);
	ck_assert_has(chat_text(arena, task), "handed a task");
	ck_assert_has(chat_text(arena, task), "Where is it?");
	ck_assert_has(chat_text(arena, value_at(value_get(twin, "messages"), 5)),
	    "cannot hand it on");
	ck_assert_str_eq(types(arena, child_state(scene, messages, 1)), " human ai");
	/* One of the fleet's is told what was said; what belongs to the conversation stays. */
	ck_assert_str_eq(
	    types(arena, child_state(scene, messages, 2)), " human ai tool human ai");
	ck_assert(value_size(todos_of(child_state(scene, messages, 2))) == 0);
}

START_TEST(a_fork_goes_on_with_what_was_said)
{
	ask_act_with(play_fork, agents);
}
END_TEST

/* The plan that a fork begins with is its parent's. */
static const char quiet[] =
    "name: boss\n"
    "model: scripted:m\n"
    "middleware:\n"
    "  - todo_list\n"
    "  - subagent:\n"
    "      general_purpose_agent: false\n"
    "      subagents:\n"
    "        - {name: twin, description: d, mode: fork, model: 'scripted:twin', "
    "middleware: [todo_list]}\n"
    "script:\n"
    "  twin: [{content: none}, {content: In Oslo.}]\n"
    "  m:\n"
    "    - tool_calls: [" PLAN("p", "ask") "]\n"
					   "    - tool_calls: [" TASK("a",
					       "twin") "]\n"
						       "    - content: All is done.\n";

static void
play_quiet(struct scene *scene)
{
	const struct value *record =
	    ask_run(scene, "boss", "r1", "t", "input", "\"Find it.\"");
	const struct value *messages = value_get(ask_state_of(scene, "t"), "messages");
	const struct value *answer =
	    value_at(messages, (size_t)chat_last_ai(messages) - 1);
	const char *run = value_get_text(value_get(answer, "artifact"), "run");

	ask_check_status(scene, record, "success");
	ck_assert_value(scene->arena, todos_of(ask_state_of(scene, run)),
	    "[{'content': 'ask', 'status': 'pending'}]");
}

START_TEST(a_fork_has_the_plan_of_the_conversation)
{
	ask_act_with(play_quiet, quiet);
}
END_TEST

/* What was said before the task is no report of it, however the fork ends: at once, or where its pause was. */
/* clang-format off */
static const char silent[] =
    "name: boss\n"
    "model: scripted:m\n"
    "middleware:\n"
    "  - todo_list\n"
    "  - subagent:\n"
    "      general_purpose_agent: false\n"
    "      subagents:\n"
    "        - {name: mute, description: d, mode: fork, model: 'scripted:mute', middleware: [todo_list]}\n"
    "        - {name: asks, description: d, mode: fork, model: 'scripted:asks', middleware: [todo_list], "
    "interrupt_on: {write_todos: true}}\n"
    "script:\n"
    "  mute: [{content: none}, {content: ''}]\n"
    "  asks:\n"
    "    - content: none\n"
    "    - tool_calls: [" PLAN("q", "search") "]\n"
    "    - content: ''\n"
    "  m:\n"
    "    - {content: I have a plan., tool_calls: [" PLAN("p", "ask") "]}\n"
    "    - tool_calls: [" TASK("a", "mute") ", " TASK("b", "asks") "]\n"
    "    - content: All is done.\n";
/* clang-format on */

static void
play_silent(struct scene *scene)
{
	const struct value *record =
	    ask_run(scene, "boss", "r1", "t", "input", "\"Find it.\"");

	ask_check_status(scene, record, "interrupted");
	record = ask_run(scene, "boss", "r2", "t", "resume",
	    "{\"decisions\": [{\"type\": \"approve\"}]}");
	ask_check_status(scene, record, "success");
	ck_assert_has(ask_tool_answers_of(scene, "t"), "a=;b=;");
}

START_TEST(a_fork_that_says_nothing_reports_nothing)
{
	ask_act_with(play_silent, silent);
}
END_TEST

TCase *
tcase_children_fork(void)
{
	TCase *tcase = tcase_create("children_fork");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_fork_goes_on_with_what_was_said);
	tcase_add_test(tcase, a_fork_has_the_plan_of_the_conversation);
	tcase_add_test(tcase, a_fork_that_says_nothing_reports_nothing);
	return tcase;
}
