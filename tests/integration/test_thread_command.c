/* Runs that begin by a command: what it writes, at which node it begins, whom it answers; on a fleet of real processes, also
 * across a restart of all of them. */
#include <check.h>
#include <string.h>

#include "has.h"
#include "thread_bench.h"

TCase *tcase_thread_command(void);

static void
command_of(struct scene *scene, const char *agent, const char *run, const char *command,
    const char *checkpoint)
{
	struct arena *arena = scene->arena;
	char *text = arena_strdup(arena, command), *at;

	for (at = text; *at != '\0'; at++)
		*at = *at == '\'' ? '"' : *at;
	bench_submit_more(scene, agent, run, NULL,
	    value_map(arena, "command", value_str(arena, text), "checkpoint",
		checkpoint != NULL ? value_str(arena, checkpoint) : NULL, NULL));
}

static const char *
command(struct scene *scene, const char *agent, const char *run, const char *text)
{
	command_of(scene, agent, run, text, NULL);
	return bench_wait(scene, run);
}

static const char *
talk(struct scene *scene)
{
	return bench_talk(scene, bench_thread(scene));
}

static void
check_error(struct scene *scene, const char *run, const char *text, const char *error)
{
	const char *before = talk(scene);
	int64_t count = bench_count(bench_thread(scene));

	ck_assert_str_eq(command(scene, "careful", run, text), "error");
	ck_assert_has(bench_error(scene, run), error);
	ck_assert_str_eq(talk(scene), before);
	ck_assert_int_eq(bench_count(bench_thread(scene)), count);
}

/* Where nothing is next. */
static void
play_idle(struct scene *scene)
{
	const struct value *fields;

	ck_assert_str_eq(
	    command(scene, "careful", "c1",
		"{'update': {'messages': [{'role': 'user', 'content': 'c1'}], "
		"'topic': 'boats', 'count': 2}}"),
	    "success");
	ck_assert_str_eq(talk(scene), "c1");
	bench_halfway(scene);
	ck_assert_str_eq(command(scene, "careful", "c2", "{'goto': 'model'}"), "success");
	ck_assert_str_eq(talk(scene), "c1 One.");
	fields = value_get(bench_thread(scene), "fields");
	ck_assert_str_eq(value_get_text(fields, "topic"), "boats");
	check_error(scene, "e1", "{'goto': 'nodel'}", "did you mean 'model'?");
	check_error(scene, "e2", "{'goto': '__end__'}", "no node '__end__'");
	check_error(scene, "e3", "{'update': {'topik': 1, 'count': 1}}", "'topic'");
	check_error(scene, "e4", "{'update': {'count': 'x'}, 'goto': 'model'}", "count");
	check_error(
	    scene, "e5", "{'update': {'count': 1}, 'resume': 1}", "waits for nothing");
	/* The tools run what the update calls; the model is asked behind them. */
	ck_assert_str_eq(
	    command(scene, "careful", "c3",
		"{'goto': 'tools', 'update': {'count': 1, 'messages': [{'type': 'ai', "
		"'content': '', 'tool_calls': [{'id': 'z', 'name': 'note', 'args': "
		"{'text': 'z', 'seconds': 0}}]}]}}"),
	    "interrupted");
	ck_assert_str_eq(talk(scene), "c1 One. - noted z -");
	ck_assert_int_eq(bench_count(bench_thread(scene)), 3);
	ck_assert_str_eq(
	    value_get_text(value_get(bench_thread(scene), "head"), "next"), "tools");
}

/* Where a node is next: that one runs. */
static void
play_paused(struct scene *scene)
{
	bench_submit_more(
	    scene, "careful", "r1", "{\"messages\": \"r1\", \"count\": 1}", NULL);
	ck_assert_str_eq(bench_wait(scene, "r1"), "success");
	bench_submit_more(scene, "careful", "r2", "{\"messages\": \"r2\"}", NULL);
	ck_assert_str_eq(bench_wait(scene, "r2"), "interrupted");
	bench_halfway(scene);
	check_error(scene, "e1", "{'goto': 'model'}", "in front of 'tools'");
	ck_assert_str_eq(value_get_text(value_get(bench_thread(scene), "head"), "status"),
	    "interrupted");
	ck_assert_str_eq(command(scene, "clerk", "e2", "{'goto': 'tools'}"), "error");
	ck_assert_has(bench_error(scene, "e2"), "in agent 'careful'");
	ck_assert_str_eq(command(scene, "careful", "c1",
			     "{'goto': 'tools', 'update': {'count': 4}, 'resume': null}"),
	    "interrupted");
	ck_assert_str_eq(talk(scene), "r1 One. r2 - noted a -");
	ck_assert_int_eq(bench_count(bench_thread(scene)), 5);
	/* Elsewhere nothing was next. */
	command_of(
	    scene, "careful", "c2", "{'goto': 'model', 'update': {'count': 1}}", "2");
	ck_assert_str_eq(bench_wait(scene, "c2"), "interrupted");
	ck_assert_str_eq(talk(scene), "r1 One. -");
	ck_assert_int_eq(bench_count(bench_thread(scene)), 2);
	/* In front of the model, while r1 went on. */
	command_of(scene, "careful", "c3", "{'goto': 'model'}", "1");
	ck_assert_str_eq(bench_wait(scene, "c3"), "success");
	ck_assert_str_eq(talk(scene), "r1 One.");
}

static void (*const plays[])(struct scene *scene) = { play_idle, play_paused };
#define PLAYS ((int)(sizeof plays / sizeof *plays))

START_TEST(a_run_begins_by_a_command)
{
	bench_act(plays[_i], false);
}
END_TEST

START_TEST(it_does_so_after_a_restart)
{
	bench_act(plays[_i], true);
}
END_TEST

TCase *
tcase_thread_command(void)
{
	TCase *tcase = tcase_create("thread_command");

	tcase_set_timeout(tcase, 90);
	tcase_add_loop_test(tcase, a_run_begins_by_a_command, 0, PLAYS);
	tcase_add_loop_test(tcase, it_does_so_after_a_restart, 0, PLAYS);
	return tcase;
}
