/* Agents that work in the background, on a fleet of real processes. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "ask_bench.h"
#include "chat.h"
#include "has.h"
#include "json.h"
#include "literal.h"

TCase *tcase_async_tasks(void);

#define TASK "r1-2-0-1" /* the first one of run r1 */

#define ASYNC                                                                            \
	"middleware: [{async_subagent: {async_subagents: [{name: far, description: "     \
	"Works., graph_id: %s}]}}]\n"
#define ROUND(calls, says)                                                               \
	"    - tool_calls: [" calls "]\n"                                                \
	"    - content: " says "\n"
#define START(id)                                                                        \
	"{id: " id ", name: start_async_task, args: {description: do it, "               \
	"subagent_type: far}}"

/* Its runs, one after the other, start, check, list, update, check and cancel; %s: the agent that works. */
static const char chief[] =
    "name: %s\n"
    "model: scripted:m\n" ASYNC "script:\n"
    "  m:\n" ROUND(START("a"), "Begun.") ROUND(
	"{id: b, name: check_async_task, args: {task_id: " TASK "}}", "Checked.")
	ROUND("{id: c, name: list_async_tasks, args: {}}", "Listed.") ROUND(
	    "{id: d, name: update_async_task, args: {task_id: " TASK ", message: hurry}}",
	    "Told.") ROUND("{id: e, name: list_async_tasks, args: {}}", "Listed.")
	    ROUND("{id: f, name: cancel_async_task, args: {task_id: " TASK "}}", "Over.")
		ROUND("{id: g, name: check_async_task, args: {task_id: " TASK "}}",
		    "Checked.") "---\n";

/* `quick` notes and reports; `slow` pays, which waits for the file hold and then for a human. */
static const char workers[] =
    "name: quick\n"
    "model: scripted:m\n"
    "tools: [note]\n"
    "script:\n"
    "  m:\n"
    "    - tool_calls: [{id: n, name: note, args: {text: kept}}]\n"
    "    - content: ' Found it. '\n"
    "---\n"
    "name: slow\n"
    "model: scripted:m\n"
    "tools: [pay]\n"
    "script:\n"
    "  m:\n"
    "    - tool_calls: [{id: p, name: pay, args: {amount: 3}}]\n"
    "    - tool_calls: [{id: q, name: pay, args: {amount: 4}}]\n"
    "    - content: It is paid.\n"
    "---\n"
    "name: terse\n"
    "model: scripted:m\n"
    "script: {m: [{content: Found it.}, {content: ''}]}\n"
    "---\n";

/* What a hostile worker may say of a task that it has nothing to do with, and what it is told. */
static const struct {
	const char *ask, *says;
} wants[] = {
	{ "{op: check, runs: [{run: " TASK ", thread: " TASK
	  "}, {run: r1, thread: chief}]}",
	    "{'runs': [{'status': 'gone'}, {'status': 'gone'}]}" },
	{ "{op: check, runs: [{}, {run: '*', thread: '{x}'}]}",
	    "{'runs': [{'status': 'gone'}, {'status': 'gone'}]}" },
	{ "{op: check}", "{'runs': []}" },
	{ "{op: check, runs: none}", "no list of maps" },
	{ "{op: cancel, run: " TASK ", thread: " TASK "}", "no such task" },
	{ "{op: cancel, run: r1, thread: chief}", "no such task" },
	{ "{op: cancel}", "no such task" },
	{ "{op: update, name: helper, run: " TASK ", thread: " TASK
	  ", messages: [{type: human, content: x}]}",
	    "no such task" },
	{ "{op: start, name: far, messages: [{type: human, content: x}]}",
	    "'far' is not known" },
	{ "{op: start, name: slow, messages: [{type: human, content: x}]}",
	    "'slow' is not known" },
	{ "{op: start, name: helper}", "its input" },
	{ "{op: start}", "its input" },
	{ "{op: steal}", "nobody does" },
	{ "{op: [1]}", "is no text" },
};
#define WANTS (sizeof wants / sizeof *wants)

static const char wanting[] = "name: want%zu\n"
			      "model: scripted:m\n"
			      "middleware: [asks_children: {agent: quick}]\n"
			      "script:\n"
			      "  m:\n"
			      "    - tool_calls: [{id: a, name: want, args: {ask: %s}}]\n"
			      "    - content: All is done.\n"
			      "---\n";

static void
act(void (*play)(struct scene *scene))
{
	struct arena *arena = arena_new();
	const char *text = arena_printf(arena, "%s%s%s%s", workers,
	    arena_printf(arena, chief, "chief", "quick"),
	    arena_printf(arena, chief, "patient", "slow"),
	    arena_printf(arena, chief, "hopeful", "terse"));
	size_t i;

	for (i = 0; i < WANTS; i++)
		text = arena_printf(
		    arena, "%s%s", text, arena_printf(arena, wanting, i, wants[i].ask));
	ask_act_with(play, text);
	arena_destroy(&arena);
}

/* The next run of agent, on the thread of its name; returns what the last tool said. */
static const char *
said_in(struct scene *scene, const char *agent, const char *run)
{
	const struct value *messages;
	size_t i;

	ask_check_status(
	    scene, ask_run(scene, agent, run, agent, "input", "\"hi\""), "success");
	messages = value_get(ask_state_of(scene, agent), "messages");
	for (i = value_size(messages); i > 0; i--)
		if (chat_is(value_at(messages, i - 1), "tool"))
			return chat_text(scene->arena, value_at(messages, i - 1));
	ck_abort_msg("%s has called no tool", run);
}

static const struct value *
record_of(struct scene *scene, const char *thread, const char *run)
{
	const struct value *record = NULL;

	store_run(scene->client->store, scene->arena, thread, run, &record);
	return record;
}

static const struct value *
task_of(struct scene *scene, const char *thread)
{
	const struct value *fields = value_get(ask_state_of(scene, thread), "fields");

	return value_get(value_get(fields, "async_tasks"), TASK);
}

static void
check_task(struct scene *scene, const char *thread, const char *status)
{
	ck_assert_msg(value_text_is(value_get(task_of(scene, thread), "status"), status),
	    "%s", json_text(scene->arena, task_of(scene, thread)));
}

/* --- a task ---------------------------------------------------------------------------- */

static void
play_quick(struct scene *scene)
{
	const struct value *record;

	client_submit(scene->client, scene->arena,
	    literal(scene->arena,
		"{'agent': 'chief', 'run': 'r1', 'thread': 'chief', 'input': "
		"'\\\"hi\\\"', 'tenant': 'acme', 'priority': '2'}"));
	ask_check_status(scene, ask_wait_end(scene, "r1", "chief"), "success");
	check_task(scene, "chief", "running");
	record = ask_wait_end(scene, TASK, TASK);
	ask_check_status(scene, record, "success");
	ck_assert_value(scene->arena, value_get(record, "tenant"), "'acme'");
	ck_assert_value(scene->arena, value_get(record, "started_by"), "'chief'");
	ck_assert_has(json_text(scene->arena, value_get(record, "priority")), "2");
	ck_assert_str_eq(said_in(scene, "chief", "r2"),
	    "{\"status\":\"success\",\"thread_id\":\"" TASK
	    "\",\"result\":\"Found it.\"}");
	check_task(scene, "chief", "success");
	ck_assert_has(said_in(scene, "chief", "r3"), "status: success");
	ck_assert_uint_eq(ask_lines_of(scene, "kept").count, 1);
}

START_TEST(a_task_is_done_in_the_background)
{
	act(play_quick);
}
END_TEST

static void
play_slow(struct scene *scene)
{
	const char *second;

	kit_write(scene->kit, "hold", "");
	ck_assert_has(said_in(scene, "patient", "r1"), TASK);
	ask_wait_lines(scene, "pay", 1);
	ck_assert_has(said_in(scene, "patient", "r2"), "\"status\":\"running\"");
	ck_assert_has(said_in(scene, "patient", "r3"), "status: running");
	/* What goes on there stops. */
	ck_assert_has(said_in(scene, "patient", "r4"), TASK);
	ask_check_status(scene, ask_wait_end(scene, TASK, TASK), "cancelled");
	second = value_get_text(task_of(scene, "patient"), "run_id");
	ck_assert_str_ne(second, TASK);
	ask_wait_lines(scene, "pay", 2);
	remove(scene->hold);
	ask_check_status(scene, ask_wait_end(scene, second, TASK), "interrupted");
	ck_assert_has(said_in(scene, "patient", "r5"), "status: interrupted");
	check_task(scene, "patient", "interrupted");
	/* A pause is an end: there is nothing to cancel. */
	ck_assert_has(said_in(scene, "patient", "r6"), "interrupted");
	ck_assert_has(said_in(scene, "patient", "r7"), "\"status\":\"interrupted\"");
}

START_TEST(a_task_is_told_more_and_asks)
{
	act(play_slow);
}
END_TEST

/* What it said before it was told more is no answer to that. */
static void
play_terse(struct scene *scene)
{
	const char *second;

	said_in(scene, "hopeful", "r1");
	ask_check_status(scene, ask_wait_end(scene, TASK, TASK), "success");
	ck_assert_has(said_in(scene, "hopeful", "r2"), "\"result\":\"Found it.\"");
	said_in(scene, "hopeful", "r3");
	said_in(scene, "hopeful", "r4");
	second = value_get_text(task_of(scene, "hopeful"), "run_id");
	ask_check_status(scene, ask_wait_end(scene, second, TASK), "success");
	said_in(scene, "hopeful", "r5");
	said_in(scene, "hopeful", "r6");
	ck_assert_has(said_in(scene, "hopeful", "r7"), "\"result\":\"\"");
}

START_TEST(a_task_that_says_nothing_more_has_no_result)
{
	act(play_terse);
}
END_TEST

static void
play_cancelled(struct scene *scene)
{
	kit_write(scene->kit, "hold", "");
	said_in(scene, "patient", "r1");
	ask_wait_lines(scene, "pay", 1);
	said_in(scene, "patient", "r2");
	said_in(scene, "patient", "r3");
	said_in(scene, "patient", "r4");
	said_in(scene, "patient", "r5");
	ck_assert_has(said_in(scene, "patient", "r6"), "is cancelled");
	ask_check_status(scene,
	    ask_wait_end(
		scene, value_get_text(task_of(scene, "patient"), "run_id"), TASK),
	    "cancelled");
	ck_assert_has(said_in(scene, "patient", "r7"), "\"status\":\"cancelled\"");
	check_task(scene, "patient", "cancelled");
	remove(scene->hold);
}

START_TEST(a_task_is_cancelled)
{
	act(play_cancelled);
}
END_TEST

/* --- whose it is ----------------------------------------------------------------------- */

static void
play_hostile(struct scene *scene)
{
	struct arena *arena = scene->arena;
	size_t i;

	kit_write(scene->kit, "hold", "");
	said_in(scene, "patient", "r1");
	ask_wait_lines(scene, "pay", 1);
	for (i = 0; i < WANTS; i++) {
		const char *said = said_in(scene, arena_printf(arena, "want%zu", i),
		    arena_printf(arena, "w%zu", i));

		if (*wants[i].says == '{')
			ck_assert_str_eq(
			    said, json_text(arena, literal(arena, wants[i].says)));
		else
			ck_assert_has(said, wants[i].says);
		ck_assert_ptr_null(record_of(scene, arena_printf(arena, "w%zu-2-0-1", i),
		    arena_printf(arena, "w%zu-2-0-1", i)));
	}
	ck_assert_has(said_in(scene, "patient", "r2"), "\"status\":\"running\"");
	remove(scene->hold);
	ask_check_status(scene, ask_wait_end(scene, TASK, TASK), "interrupted");
	ck_assert_uint_eq(ask_lines_of(scene, "pay").count, 1);
}

START_TEST(a_task_is_its_threads_alone)
{
	act(play_hostile);
}
END_TEST

/* Who gives a run of his the id that a task would get neither loses it nor answers for the task. */
static void
play_taken(struct scene *scene)
{
	ask_check_status(
	    scene, ask_run(scene, "quick", TASK, TASK, "input", "\"mine\""), "success");
	ck_assert_has(said_in(scene, "chief", "r1"), "is another's");
	ck_assert_ptr_null(task_of(scene, "chief"));
	ask_run(scene, "quick", "r2-2-0-1", "elsewhere", "input", "\"mine\"");
	client_submit(scene->client, scene->arena,
	    literal(scene->arena, "{'agent': 'chief', 'run': 'r2', 'thread': 't2', "
				  "'input': '\\\"hi\\\"'}"));
	ask_wait_end(scene, "r2", "t2");
	ck_assert_has(ask_tool_answers_of(scene, "t2"), "is another's");
}

START_TEST(a_run_of_a_tasks_id_is_not_taken_for_it)
{
	act(play_taken);
}
END_TEST

/* A thread's state may be written, and so say that its task is on a thread where something else goes on. Runs are found by
 * their shard, which that one shares. */
static void
play_forged(struct scene *scene)
{
	struct arena *arena = scene->arena;
	const char *victim = "victim";
	const struct value *forged;
	unsigned i;

	for (i = 0; store_shard(victim) != store_shard(TASK); i++)
		victim = arena_printf(arena, "victim-%u", i);
	ask_check_status(
	    scene, ask_run(scene, "quick", "v", victim, "input", "\"mine\""), "success");
	said_in(scene, "chief", "r1");
	ask_check_status(scene, ask_wait_end(scene, TASK, TASK), "success");
	forged = value_map(arena, TASK,
	    value_map_with(
		arena, task_of(scene, "chief"), "thread_id", value_str(arena, victim)),
	    NULL);
	client_submit(scene->client, arena,
	    value_map(arena, "agent", value_str(arena, "chief"), "run",
		value_str(arena, "u"), "thread", value_str(arena, "chief"), "as",
		value_str(arena, "model"), "update",
		value_str(arena,
		    json_text(arena, value_map(arena, "async_tasks", forged, NULL))),
		NULL));
	ask_check_status(scene, ask_wait_end(scene, "u", "chief"), "success");
	ck_assert_has(said_in(scene, "chief", "r2"), "\"status\":\"error\"");
	said_in(scene, "chief", "r3");
	ck_assert_has(said_in(scene, "chief", "r4"), "no such task");
	ck_assert_uint_eq(
	    value_size(value_get(ask_state_of(scene, victim), "messages")), 4);
}

START_TEST(a_task_is_not_where_its_thread_says_alone)
{
	act(play_forged);
}
END_TEST

static void
play_deleted(struct scene *scene)
{
	said_in(scene, "chief", "r1");
	ask_check_status(scene, ask_wait_end(scene, TASK, TASK), "success");
	kit_flotilla(scene->kit, "prune", TASK, "--delete", NULL);
	ck_assert_str_eq(said_in(scene, "chief", "r2"),
	    "{\"status\":\"error\",\"thread_id\":\"" TASK "\"}");
	ck_assert_has(said_in(scene, "chief", "r3"), "status: error");
	ck_assert_has(said_in(scene, "chief", "r4"), "no such task");
	ck_assert_ptr_null(record_of(scene, TASK, TASK));
}

START_TEST(a_task_whose_thread_is_gone)
{
	act(play_deleted);
}
END_TEST

/* What cannot be read is gone for its conversation, which goes on. */
static void
play_damaged(struct scene *scene)
{
	said_in(scene, "chief", "r1");
	ask_check_status(scene, ask_wait_end(scene, TASK, TASK), "success");
	kit_redis_cli(scene->kit, 0, "SET", store_run_key(scene->arena, TASK, TASK),
	    "no hash", NULL);
	ck_assert_has(said_in(scene, "chief", "r2"), "\"status\":\"error\"");
	ck_assert_has(said_in(scene, "chief", "r3"), "status: error");
	ck_assert_has(said_in(scene, "chief", "r4"), "no such task");
}

START_TEST(a_task_whose_record_is_damaged)
{
	act(play_damaged);
}
END_TEST

TCase *
tcase_async_tasks(void)
{
	TCase *tcase = tcase_create("async_tasks");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_task_is_done_in_the_background);
	tcase_add_test(tcase, a_task_is_told_more_and_asks);
	tcase_add_test(tcase, a_task_that_says_nothing_more_has_no_result);
	tcase_add_test(tcase, a_task_is_cancelled);
	tcase_add_test(tcase, a_task_is_its_threads_alone);
	tcase_add_test(tcase, a_run_of_a_tasks_id_is_not_taken_for_it);
	tcase_add_test(tcase, a_task_is_not_where_its_thread_says_alone);
	tcase_add_test(tcase, a_task_whose_thread_is_gone);
	tcase_add_test(tcase, a_task_whose_record_is_damaged);
	return tcase;
}
