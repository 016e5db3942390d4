/* However many calls wait for a slow tool, with wraps around it: other tools of the worker have room. */
#include <check.h>
#include <string.h>

#include "language_bench.h"
#include "room_bench.h"

TCase *tcase_tool_room(void);

#define RUNS 12

/* It sleeps in a worker that runs no middleware. */
static const struct language python = {
	.program = "/usr/bin/python3",
	.more = "tests/languages/more.py",
	.middleware = "",
};

static struct language_bench bench;
static struct cli_job *jobs[RUNS];

static void
setup(void)
{
	language_setup(&bench);
}

static void
teardown(void)
{
	language_teardown(&bench);
}

static const char *
agent(const char *name, const char *keys, const char *tool, const char *args)
{
	return arena_printf(bench.arena,
	    "name: %s\nmodel: scripted:s\n%sscript:\n  s:\n"
	    "    - tool_calls: [{id: c, name: %s, args: %s}]\n    - content: Done.\n",
	    name, keys, tool, args);
}

/* `slow`, which calls tool beneath a wrap; `sum`, with a tool of the worker's own; `plan`, with one that
 * middleware brings. */
static void
apply_agents(const char *tool, const char *args)
{
	const char *keys = arena_printf(bench.arena,
	    "tools: [%s]\nmiddleware: [{tool_retry: {initial_delay: 0.01}}]\n", tool);
	const char *text =
	    arena_printf(bench.arena, "%s---\n%s---\n%s", agent("slow", keys, tool, args),
		agent("sum", "tools: [calculate]\n", "calculate", "{expression: 6 * 7}"),
		agent("plan", "middleware: [todo_list]\n", "write_todos", "{todos: []}"));

	kit_flotilla(bench.kit, "agents", "apply",
	    kit_write(bench.kit, "agents.yaml", text), NULL);
}

static void
submit_slow_runs(void)
{
	unsigned i;

	for (i = 0; i < RUNS; i++)
		jobs[i] =
		    language_submit(&bench, "slow", arena_printf(bench.arena, "r%u", i));
}

/* Of service's calls, at so many brokers. */
static int64_t
told(unsigned brokers, const char *service, const char *what)
{
	int64_t sum = 0;
	unsigned i;

	for (i = 0; i < brokers; i++)
		sum += value_get_int(
		    room_told_by(bench.kit, bench.arena, i, service), what, 0);
	return sum;
}

/* Returns how many of service's calls run once all runs' are there. */
static int64_t
running_of(unsigned brokers, const char *service)
{
	int64_t running;

	do
		running = told(brokers, service, "running");
	while (running + told(brokers, service, "queued") < RUNS);
	return running;
}

static void
expect_room_for_others(void)
{
	language_expect_success(language_submit(&bench, "sum", "sum"));
	language_expect_success(language_submit(&bench, "plan", "plan"));
}

static void
expect_ends(void)
{
	unsigned i;

	kit_write(bench.kit, "go", "");
	for (i = 0; i < RUNS; i++)
		language_expect_success(jobs[i]);
}

/* The worker's own: the broker knows the tool's bound, wraps or not. */
START_TEST(a_tools_bound_takes_no_other_slots)
{
	const struct cli sort = { .program = "sort", .arena = bench.arena };
	const char *ledger = kit_path(bench.kit, "ledger");
	struct said lines;

	kit_flag(bench.kit, KIT_TOOLS, "--tools",
	    kit_write(bench.kit, "nap.yaml",
		arena_printf(bench.arena,
		    "name: nap\ndescription: d\nmax_parallel: 1\ncommand: |\n"
		    "  echo $FLOTILLA_RUN >> %s\n  await-file there %s\n",
		    ledger, kit_path(bench.kit, "go"))));
	kit_flag(bench.kit, KIT_TOOLS, "--slots", "4");
	kit_start_all(bench.kit, 1, 1, 1);
	apply_agents("nap", "{}");
	submit_slow_runs();
	ck_assert_int_eq(running_of(1, "tool:nap"), 1);
	expect_room_for_others();
	expect_ends();
	lines = CLI(&sort, ledger);
	ck_assert_str_eq(lines.out, "r0\nr1\nr10\nr11\nr2\nr3\nr4\nr5\nr6\nr7\nr8\nr9\n");
}
END_TEST

/* A worker of another language has it, and the wraps wait for that one. */
START_TEST(a_tool_elsewhere_leaves_others_their_room)
{
	unsigned brokers = (unsigned)_i;
	struct child *worker;
	int64_t running;

	kit_set_brokers(bench.kit, brokers);
	if (brokers > 1)
		bench.brokers = arena_printf(bench.arena, "%s,%s", kit_broker(bench.kit),
		    kit_broker_at(bench.kit, 1));
	kit_flag(bench.kit, KIT_TOOLS, "--slots", "8");
	kit_start_all(bench.kit, 1, 1, 1);
	language_start_more(&bench, &worker, &python, "w");
	apply_agents(
	    "gate", arena_printf(bench.arena, "{path: %s}", kit_path(bench.kit, "go")));
	submit_slow_runs();
	do
		running = running_of(brokers, "wraps");
	while (told(brokers, "tool:gate", "running") != running);
	if (brokers == 1)
		ck_assert_int_eq(running, 6);
	ck_assert_int_le(running, 6);
	expect_room_for_others();
	expect_ends();
	child_stop(&worker);
}
END_TEST

TCase *
tcase_tool_room(void)
{
	TCase *tcase = tcase_create("tool_room");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_tools_bound_takes_no_other_slots);
	tcase_add_loop_test(tcase, a_tool_elsewhere_leaves_others_their_room, 1, 3);
	return tcase;
}
