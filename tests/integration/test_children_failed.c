/* Agents that work for another agent and fail: the other's model is told, and its run goes on. */
#include <check.h>
#include <string.h>

#include "ask_bench.h"
#include "bounds.h"
#include "json.h"
#include "store_fleet.h"

TCase *tcase_children_failed(void);

/* A task for `helper`, which is made of more; parent: what its parent has beside it. */
static const struct {
	const char *name, *parent, *more, *script, *says;
} failures[] = {
	{ "refused", "", "", "[{http_error: 500, message: broken}]", "broken" },
	{ "raises", "",
	    "middleware: [{lua: {name: l, code: 'before_model = function() error(\"no "
	    "way\") "
	    "end'}}]",
	    "[{content: ok}]", "no way" },
	{ "limited", "", "tools: [note], recursion_limit: 2",
	    "[{tool_calls: [{id: n, name: note, args: {text: limited}}]}, {content: ok}]",
	    "GraphRecursionError" },
	{ "unserved", "", "tools: [nowhere]", "[{content: ok}]", "nowhere" },
	{ "untyped", "",
	    "state: {n: {type: integer}}, middleware: [{lua: {name: l, code: "
	    "'before_model = function() return {n = \"x\"} end'}}]",
	    "[{content: ok}]", "integer" },
	{ "retried",
	    "{tool_retry: {tools: [task], max_retries: 2, initial_delay: 0, retry_on: "
	    "[Exception]}}, ",
	    "", "[{http_error: 400, message: broken}]", "broken" },
};
#define FAILURES (sizeof failures / sizeof *failures)

static const char agent[] =
    "name: %s\n"
    "model: scripted:m\n"
    "middleware: [%s{subagent: {general_purpose_agent: false, subagents: [{name: helper, "
    "description: helps, model: 'scripted:helper'%s%s}]}}]\n"
    "script:\n"
    "  helper: %s\n"
    "  m:\n"
    "    - tool_calls: [{id: a, name: task, args: {description: do it, subagent_type: "
    "helper}}]\n"
    "    - content: All is done.\n"
    "---\n";

/* One and a half million bytes each, so that no hook takes long: together more than a call holds. */
#define HEAVY_FIELDS                                                                     \
	"{a: {type: string}, b: {type: string}, c: {type: string}, d: {type: string}, "  \
	"e: {type: string}}"
#define HEAVY(field)                                                                     \
	"{lua: {name: " field ", memory_limit_bytes: 100000000, code: 'before_model = "  \
	"function() return {" field " = string.rep(\"x\", 1500000)} end'}}"

static const char others[] =
    "name: fleets\n"
    "model: scripted:m\n"
    "middleware:\n"
    "  - subagent: {general_purpose_agent: false, subagents: [{name: helper, "
    "description: helps, agent: lent}]}\n"
    "script:\n"
    "  m:\n"
    "    - tool_calls: [{id: a, name: task, args: {description: do it, subagent_type: "
    "helper}}]\n"
    "    - content: All is done.\n"
    "---\n"
    "name: lent\n"
    "model: scripted:m\n"
    "script: {m: [{content: '  I am lent. '}]}\n"
    "---\n"
    "name: heavy\n"
    "model: scripted:m\n"
    "state: " HEAVY_FIELDS "\n"
    "middleware:\n"
    "  - subagent:\n"
    "      general_purpose_agent: false\n"
    "      subagents:\n"
    "        - name: helper\n"
    "          description: helps\n"
    "          model: scripted:helper\n"
    "          state: " HEAVY_FIELDS "\n"
    "          middleware: [" HEAVY("a") ", " HEAVY("b") ", " HEAVY("c") ", " HEAVY(
	"d") ", " HEAVY("e") "]\n"
			     "script:\n"
			     "  helper: [{content: I am heavy.}]\n"
			     "  m:\n"
			     "    - tool_calls: [{id: a, name: task, args: {description: "
			     "do it, subagent_type: "
			     "helper}}]\n"
			     "    - content: All is done.\n"
			     "---\n"
			     "name: counted\n"
			     "model: scripted:m\n"
			     "middleware:\n"
			     "  - tool_call_limit: {tool_name: task, run_limit: 1}\n"
			     "  - subagent: {general_purpose_agent: false, subagents: "
			     "[{name: helper, "
			     "description: helps, agent: lent}]}\n"
			     "script:\n"
			     "  m:\n"
			     "    - tool_calls:\n"
			     "        - {id: a, name: task, args: {description: do it, "
			     "subagent_type: helper}}\n"
			     "        - {id: b, name: task, args: {description: do it, "
			     "subagent_type: helper}}\n"
			     "    - content: All is done.\n"
			     "---\n"
			     "name: echo\n"
			     "model: scripted:m\n"
			     "middleware:\n"
			     "  - subagent: {general_purpose_agent: false, subagents: "
			     "[{name: helper, "
			     "description: helps, agent: echo}]}\n"
			     "script:\n"
			     "  m:\n"
			     "    - tool_calls: [{id: a, name: task, args: {description: "
			     "do it, subagent_type: "
			     "helper}}]\n"
			     "    - content: All is done.\n";

/* Of asks_children, whose tool a hostile worker could run as well. */
static const struct {
	const char *settings, *args, *says;
} wishes[] = {
	{ "agent: lent", "{}", "1: I am lent." },
	{ "agent: lent", "{times: 3}", "3: I am lent." },
	{ "agent: lent", "{messages: 10000}", "1: I am lent." },
	{ "agent: lent", "{depth: 50}", "" },
	{ "agent: lent", "{messages: 0}", "" },
	{ "agent: lent", "{name: other}", "'other' is not known" },
	{ "agent: gone", "{}", "'gone' is not known" },
	{ "", "{}", "'helper' is not known" },
	{ "", "{times: 1000000}", "100 children" },
};
#define WISHES (sizeof wishes / sizeof *wishes)

static const char wishing[] = "---\n"
			      "name: wish%zu\n"
			      "model: scripted:m\n"
			      "middleware: [asks_children: {%s}]\n"
			      "script:\n"
			      "  m:\n"
			      "    - tool_calls: [{id: a, name: wish, args: %s}]\n"
			      "    - content: All is done.\n";

static void
act(void (*play)(struct scene *scene))
{
	struct arena *arena = arena_new();
	const char *text = "";
	size_t i;

	for (i = 0; i < FAILURES; i++)
		text = arena_printf(arena, "%s%s", text,
		    arena_printf(arena, agent, failures[i].name, failures[i].parent,
			*failures[i].more != '\0' ? ", " : "", failures[i].more,
			failures[i].script));
	text = arena_printf(arena, "%s%s", text, others);
	for (i = 0; i < WISHES; i++)
		text = arena_printf(arena, "%s%s", text,
		    arena_printf(arena, wishing, i, wishes[i].settings, wishes[i].args));
	ask_act_with(play, text);
	arena_destroy(&arena);
}

static const struct value *
record_of(struct scene *scene, const char *run)
{
	const struct value *record = NULL;

	store_run(scene->client->store, scene->arena, run, run, &record);
	return record;
}

static void
play_failures(struct scene *scene)
{
	struct arena *arena = scene->arena;
	size_t i;

	for (i = 0; i < FAILURES; i++)
		ask_submit(scene, failures[i].name, arena_printf(arena, "r%zu", i),
		    failures[i].name, "input", "\"hi\"");
	for (i = 0; i < FAILURES; i++) {
		const char *run = arena_printf(arena, "r%zu", i), *said;

		ask_check_status(
		    scene, ask_wait_end(scene, run, failures[i].name), "success");
		said = ask_tool_answers_of(scene, failures[i].name);
		ck_assert_msg(
		    strncmp(said, "a=", 2) == 0 && strstr(said, failures[i].says) != NULL,
		    "%s: %s", failures[i].name, said);
		ask_check_status(scene,
		    record_of(scene, arena_printf(arena, "%s-2-0-1", run)), "error");
		/* A retry is another child. */
		ck_assert((record_of(scene, arena_printf(arena, "%s-2-0-2", run)) !=
			      NULL) == (strcmp(failures[i].name, "retried") == 0));
	}
}

START_TEST(a_childs_failure_is_told_to_its_parents_model)
{
	act(play_failures);
}
END_TEST

static void
play_fleets(struct scene *scene)
{
	const char *said;

	ask_check_status(
	    scene, ask_run(scene, "fleets", "r1", "t", "input", "\"hi\""), "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "a=I am lent.;");
	kit_flotilla(scene->kit, "agents", "delete", "lent", NULL);
	ask_check_status(
	    scene, ask_run(scene, "fleets", "r2", "t2", "input", "\"hi\""), "success");
	said = ask_tool_answers_of(scene, "t2");
	ck_assert_msg(strstr(said, "'lent' is not known") != NULL, "%s", said);
}

START_TEST(an_agent_of_the_fleet_that_is_gone_is_told)
{
	act(play_fleets);
}
END_TEST

static void
play_counted(struct scene *scene)
{
	const char *said;

	ask_check_status(
	    scene, ask_run(scene, "counted", "r1", "t", "input", "\"hi\""), "success");
	said = ask_tool_answers_of(scene, "t");
	ck_assert_msg(strstr(said, "a=I am lent.;") != NULL, "%s", said);
	ck_assert_msg(strstr(said, "limit") != NULL, "%s", said);
	ck_assert_ptr_null(record_of(scene, "r1-2-1-1"));
}

START_TEST(tool_call_limit_counts_tasks)
{
	act(play_counted);
}
END_TEST

/* It works, and what it brings does not fit into a call. */
static void
play_heavy(struct scene *scene)
{
	const char *said;

	ask_check_status(
	    scene, ask_run(scene, "heavy", "r1", "t", "input", "\"hi\""), "success");
	ask_check_status(scene, record_of(scene, "r1-2-0-1"), "success");
	said = ask_tool_answers_of(scene, "t");
	ck_assert_msg(strstr(said, "is too large") != NULL, "%s", said);
}

START_TEST(a_child_that_brings_too_much_is_told)
{
	act(play_heavy);
}
END_TEST

/* Who gives a run of his the id that a child would get neither loses it nor answers for the child. */
static void
play_taken(struct scene *scene)
{
	const char *said;

	ask_check_status(scene,
	    ask_run(scene, "lent", "r1-2-0-1", "r1-2-0-1", "input", "\"mine\""),
	    "success");
	ask_run(scene, "lent", "r2-2-0-1", "elsewhere", "input", "\"mine\"");
	ask_check_status(
	    scene, ask_run(scene, "fleets", "r1", "t", "input", "\"hi\""), "success");
	said = ask_tool_answers_of(scene, "t");
	ck_assert_msg(strstr(said, "is another's") != NULL, "%s", said);
	ask_check_status(
	    scene, ask_run(scene, "fleets", "r2", "t2", "input", "\"hi\""), "success");
	said = ask_tool_answers_of(scene, "t2");
	ck_assert_msg(strstr(said, "is another's") != NULL, "%s", said);
	/* Nor is a thread that has its name. */
	ask_run(scene, "lent", "mine", "r3-2-0-1", "input", "\"mine\"");
	ask_check_status(
	    scene, ask_run(scene, "fleets", "r3", "t3", "input", "\"hi\""), "success");
	said = ask_tool_answers_of(scene, "t3");
	ck_assert_msg(strstr(said, "is another's") != NULL, "%s", said);
}

START_TEST(a_run_of_a_childs_id_is_not_taken_for_it)
{
	act(play_taken);
}
END_TEST

static void
play_wishes(struct scene *scene)
{
	struct arena *arena = scene->arena;
	size_t i;

	for (i = 0; i < WISHES; i++)
		ask_submit(scene, arena_printf(arena, "wish%zu", i),
		    arena_printf(arena, "r%zu", i), arena_printf(arena, "t%zu", i),
		    "input", "\"hi\"");
	for (i = 0; i < WISHES; i++) {
		const char *thread = arena_printf(arena, "t%zu", i), *said;

		ask_check_status(scene,
		    ask_wait_end(scene, arena_printf(arena, "r%zu", i), thread),
		    "success");
		said = ask_tool_answers_of(scene, thread);
		ck_assert_msg(
		    strncmp(said, "a=", 2) == 0 && strstr(said, wishes[i].says) != NULL,
		    "%zu: %s", i, said);
	}
}

START_TEST(what_a_worker_wishes_is_checked)
{
	act(play_wishes);
}
END_TEST

/* The agents' names are no tree: the deepest one is told that it is. */
static void
play_echo(struct scene *scene)
{
	const struct value *runs = NULL;
	size_t i, told = 0;

	ask_check_status(
	    scene, ask_run(scene, "echo", "e", "e", "input", "\"hi\""), "success");
	ck_assert_int_eq(
	    store_runs(scene->client->store, scene->arena, 100, NULL, &runs), STORE_OK);
	ck_assert_uint_eq(value_size(runs), CHILD_DEPTH_MAX + 1);
	for (i = 0; i < value_size(runs); i++)
		told += strstr(ask_tool_answers_of(
				   scene, value_get_text(value_at(runs, i), "thread")),
			    "it must do the task itself") != NULL;
	ck_assert_uint_eq(told, 1);
}

START_TEST(agents_that_name_each_other_have_an_end)
{
	act(play_echo);
}
END_TEST

TCase *
tcase_children_failed(void)
{
	TCase *tcase = tcase_create("children_failed");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_childs_failure_is_told_to_its_parents_model);
	tcase_add_test(tcase, an_agent_of_the_fleet_that_is_gone_is_told);
	tcase_add_test(tcase, a_child_that_brings_too_much_is_told);
	tcase_add_test(tcase, tool_call_limit_counts_tasks);
	tcase_add_test(tcase, a_run_of_a_childs_id_is_not_taken_for_it);
	tcase_add_test(tcase, what_a_worker_wishes_is_checked);
	tcase_add_test(tcase, agents_that_name_each_other_have_an_end);
	return tcase;
}
