/* A thread's past: history, a state of it, updates, forks, replays, copies; on a fleet of real
 * processes, also across a restart of all of them. */
#include <check.h>
#include <pty.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "thread_bench.h"

TCase *tcase_thread_past(void);

static const struct value *
last_of(const struct value *array)
{
	return value_at(array, value_size(array) - 1);
}

/* The first checkpoint of run. */
static const struct value *
first_of(const struct value *all, const char *run)
{
	size_t i = 0;

	while (i < value_size(all) &&
	       !value_text_is(value_get(value_at(all, i), "run"), run))
		i++;
	return value_at(all, i);
}

/* --- history, and a state of the past -------------------------------------------------- */

/* In a terminal of 40 columns a line ends with a mark. */
static void
check_width(struct scene *scene)
{
	const char *program = kit_program(scene->kit, "flotilla");
	const struct winsize size = { .ws_row = 24, .ws_col = 40 };
	char line[256];
	int terminal, cut = 0;
	pid_t child = forkpty(&terminal, NULL, NULL, &size);
	FILE *said;

	if (child == 0)
		execl(program, program, "history", "t", "--redis", kit_redis(scene->kit),
		    (char *)NULL);
	for (said = fdopen(terminal, "r"); fgets(line, sizeof line, said) != NULL;)
		cut += strstr(line, "…\r\n") != NULL;
	fclose(said);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	ck_assert_int_gt(cut, 0);
}

static void
play_history(struct scene *scene)
{
	const struct value *all, *state;

	bench_submit(scene, "r1", NULL);
	ck_assert_str_eq(bench_wait(scene, "r1"), "success");
	bench_halfway(scene);
	bench_submit_more(scene, "clerk", "r2",
	    "{\"messages\": \"r2\", \"count\": 2, \"topic\": \"boats\"}", NULL);
	bench_wait_noted(scene, 2);
	bench_submit(scene, "r3", "interrupt");
	ck_assert_str_eq(bench_wait(scene, "r3"), "success");
	all = bench_history(scene);
	ck_assert_str_eq(value_get_text(value_at(all, 0), "source"), "input");
	ck_assert_str_eq(value_get_text(value_at(all, 0), "run"), "r1");
	ck_assert_str_eq(value_get_text(value_at(all, 0), "next"), "model");
	ck_assert_str_eq(value_get_text(value_at(all, 1), "source"), "loop");
	ck_assert_str_eq(value_get_text(value_at(all, 1), "node"), "model");
	ck_assert_int_eq(value_get_int(value_at(all, 1), "parent", -1), 1);
	/* The second is the end of r1. */
	state = bench_json(scene, FLOTILLA(scene, "state", "t", "--at", "2", "--json"));
	ck_assert_str_eq(bench_talk(scene, state), "r1 One.");
	ck_assert_int_eq(bench_count(state), 1);
	ck_assert(!value_has(value_get(state, "fields"), "topic"));
	state = bench_json(scene, FLOTILLA(scene, "state", "t", "--at", "4", "--json"));
	ck_assert_str_eq(bench_talk(scene, state), "r1 One. r2 -");
	ck_assert_int_eq(bench_count(state), 3);
	check_width(scene);
	bench_says(FLOTILLA(scene, "state", "t", "--at", "2"), 0, "as it was");
	bench_says(FLOTILLA(scene, "state", "t", "--at", "99"), 3, "no checkpoint 99");
	ck_assert_uint_eq(
	    value_size(bench_json(scene, FLOTILLA(scene, "history", "t", "--json",
					     "--limit", "2", "--before", "4"))),
	    2);
	bench_says(FLOTILLA(scene, "history", "t"), 0, "model -> end");
}

/* --- forks and replays ------------------------------------------------------------------ */

static void
play_fork(struct scene *scene)
{
	struct arena *arena = scene->arena;
	const struct value *all;

	bench_begin_long(scene);
	bench_submit(scene, "r3", "interrupt");
	ck_assert_str_eq(bench_wait(scene, "r3"), "success");
	bench_halfway(scene);
	/* With r1's end as the past the model is asked for its second reply. */
	bench_submit_more(scene, "clerk", "fork",
	    "{\"messages\": \"fork\", \"topic\": \"x\"}",
	    value_map(arena, "checkpoint", value_str(arena, "2"), NULL));
	bench_wait_talk(scene, "r1 One. fork - noted a -");
	ck_assert_int_eq(bench_count(bench_thread(scene)), 1);
	all = bench_history(scene);
	bench_cancel(scene, "fork");
	ck_assert_str_eq(bench_wait(scene, "fork"), "cancelled");
	ck_assert_int_eq(value_get_int(first_of(all, "fork"), "parent", -1), 2);
	/* A replay of r1's beginning: its model call once more, and nothing behind it. */
	bench_says(FLOTILLA(scene, "replay", "t", "--at", "1", "--wait"), 0, "One.");
	ck_assert_str_eq(bench_talk(scene, bench_thread(scene)), "r1 One.");
	ck_assert(!value_has(value_get(bench_thread(scene), "fields"), "topic"));
	all = bench_history(scene);
	ck_assert_str_eq(
	    value_get_text(value_at(all, value_size(all) - 2), "source"), "fork");
	ck_assert_int_eq(
	    value_get_int(value_at(all, value_size(all) - 2), "parent", -1), 1);
}

/* The empty thread is a past, too: what came goes, whatever it was; alone there is nothing in it to run once more. */
static void
play_from_nothing(struct scene *scene)
{
	struct arena *arena = scene->arena;
	const struct value *nothing =
	    value_map(arena, "checkpoint", value_str(arena, "0"), NULL);

	bench_submit(scene, "r1", NULL);
	ck_assert_str_eq(bench_wait(scene, "r1"), "success");
	bench_submit_more(scene, "clerk", "anew", "{\"messages\": \"anew\"}", nothing);
	ck_assert_str_eq(bench_wait(scene, "anew"), "success");
	ck_assert_str_eq(bench_talk(scene, bench_thread(scene)), "anew One.");
	ck_assert(!value_has(value_get(bench_thread(scene), "fields"), "topic"));
	ck_assert(!value_has(first_of(bench_history(scene), "anew"), "parent"));
	bench_submit_more(scene, "clerk", "again", NULL, nothing);
	ck_assert_str_eq(bench_wait(scene, "again"), "refused");
}

static void
play_bad_fork(struct scene *scene)
{
	struct arena *arena = scene->arena;
	const struct value *state;

	bench_submit(scene, "r1", NULL);
	ck_assert_str_eq(bench_wait(scene, "r1"), "success");
	bench_halfway(scene);
	bench_submit_more(scene, "clerk", "r2", "\"hi\"",
	    value_map(arena, "checkpoint", value_str(arena, "77"), NULL));
	ck_assert_str_eq(bench_wait(scene, "r2"), "error");
	ck_assert_ptr_nonnull(strstr(bench_error(scene, "r2"), "no checkpoint 77"));
	bench_submit_more(scene, "careful", "r3", NULL,
	    value_map(arena, "checkpoint", value_str(arena, "1"), NULL));
	ck_assert_str_eq(bench_wait(scene, "r3"), "error");
	ck_assert_ptr_nonnull(strstr(bench_error(scene, "r3"), "not in 'careful'"));
	bench_submit_more(scene, "clerk", "r4", "{\"count\": \"many\"}",
	    value_map(arena, "checkpoint", value_str(arena, "1"), NULL));
	ck_assert_str_eq(bench_wait(scene, "r4"), "error");
	bench_submit_more(scene, "clerk", "r5", NULL,
	    value_map(arena, "checkpoint", value_str(arena, "one"), NULL));
	ck_assert_str_eq(bench_wait(scene, "r5"), "refused");
	/* r1 has come through there, and nobody has given it up. */
	bench_submit_more(scene, "clerk", "r6", NULL,
	    value_map(arena, "checkpoint", value_str(arena, "1"), "resume",
		value_str(arena, "null"), NULL));
	ck_assert_str_eq(bench_wait(scene, "r6"), "error");
	ck_assert_ptr_nonnull(strstr(bench_error(scene, "r6"), "waits for nothing"));
	bench_says(FLOTILLA(scene, "replay", "t", "--at", "77"), 3, "no checkpoint 77");
	state = bench_thread(scene);
	ck_assert_str_eq(bench_talk(scene, state), "r1 One.");
	ck_assert_int_eq(bench_count(state), 1);
}

/* --- updates ------------------------------------------------------------------------------ */

/* An AI message that calls note. */
static const char asks_note[] =
    "{\"count\": 5, \"messages\": [{\"type\": \"ai\", \"content\": \"\", \"tool_calls\":"
    " [{\"id\": \"x\", \"name\": \"note\", \"args\": {\"text\": \"x\", \"seconds\": "
    "0}}]}]}";

static void
play_update(struct scene *scene)
{
	const struct value *state;

	bench_submit(scene, "r1", NULL);
	ck_assert_str_eq(bench_wait(scene, "r1"), "success");
	bench_says(
	    FLOTILLA(scene, "update", "t", "--as", "model", asks_note), 0, "next tools");
	bench_halfway(scene);
	state = bench_thread(scene);
	ck_assert_int_eq(bench_count(state), 6);
	ck_assert_str_eq(
	    value_get_text(last_of(bench_history(scene)), "source"), "update");
	ck_assert_str_eq(value_get_text(last_of(bench_history(scene)), "node"), "model");
	/* It goes on at the tools; the model's third reply is the long round. */
	bench_says(FLOTILLA(scene, "replay", "t", "--run-id", "r2"), 0, "r2");
	bench_wait_talk(scene, "r1 One. - noted x -");
	bench_says(FLOTILLA(scene, "update", "t", "--as", "model", "{\"count\": 5}"), 7,
	    "busy with run 'r2'");
	bench_submit(scene, "r3", "rollback");
	bench_wait_talk(scene,
	    "r1 One. - Tool call note with id x was cancelled: the conversation "
	    "went on without its result. Whether it was done, in part or in "
	    "whole, is not known. r3 -");
}

static void
play_bad_update(struct scene *scene)
{
	const struct value *state;
	int64_t before;

	bench_submit_more(
	    scene, "careful", "r1", "{\"messages\": \"r1\", \"count\": 1}", NULL);
	ck_assert_str_eq(bench_wait(scene, "r1"), "success");
	bench_submit_more(scene, "careful", "r2", "{\"messages\": \"r2\"}", NULL);
	ck_assert_str_eq(bench_wait(scene, "r2"), "interrupted");
	bench_halfway(scene);
	before = bench_count(bench_thread(scene));
	bench_says(FLOTILLA(scene, "update", "t", "--as", "modle", "{\"count\": 5}"), 1,
	    "did you mean 'model'");
	bench_says(FLOTILLA(scene, "update", "t", "--as", "model", "{\"cuont\": 5}"), 1,
	    "did you mean 'count'");
	bench_says(FLOTILLA(scene, "update", "t", "--as", "model", "{\"count\": \"x\"}"),
	    1, "count");
	bench_says(FLOTILLA(scene, "update", "t", "--as", "model", "[5]"), 7, "object");
	bench_says(FLOTILLA(scene, "update", "t", "--as", "model", "{5"), 2, "JSON");
	bench_says(FLOTILLA(scene, "update", "t", "{}"), 2, "--as");
	bench_says(
	    FLOTILLA(scene, "update", "nobody", "--as", "model", "{}"), 3, "not known");
	state = bench_thread(scene);
	ck_assert_int_eq(bench_count(state), before);
	ck_assert_str_eq(
	    value_get_text(value_get(state, "head"), "status"), "interrupted");
	/* It still waits when the update leads where it waited. */
	bench_says(FLOTILLA(scene, "update", "t", "--as", "model", "{\"count\": 5}"), 0,
	    "next tools");
	state = bench_thread(scene);
	ck_assert_int_eq(bench_count(state), before + 5);
	ck_assert_str_eq(
	    value_get_text(value_get(state, "head"), "status"), "interrupted");
	bench_says(FLOTILLA(scene, "resume", "t", "--wait"), 5, "");
	ck_assert_str_eq(
	    bench_talk(scene, bench_thread(scene)), "r1 One. r2 - noted a -");
}

/* --- copies ------------------------------------------------------------------------------- */

static const struct value *
thread_named(struct scene *scene, const char *name)
{
	return bench_json(scene, FLOTILLA(scene, "state", name, "--json"));
}

static void
play_copy(struct scene *scene)
{
	struct arena *arena = scene->arena;

	bench_submit(scene, "r1", NULL);
	ck_assert_str_eq(bench_wait(scene, "r1"), "success");
	bench_submit_more(
	    scene, "careful", "r2", "{\"messages\": \"r2\", \"topic\": \"x\"}", NULL);
	ck_assert_str_eq(bench_wait(scene, "r2"), "interrupted");
	bench_says(FLOTILLA(scene, "copy", "t", "whole"), 0, "whole");
	bench_says(FLOTILLA(scene, "copy", "t", "part", "--at", "2"), 0, "part");
	bench_halfway(scene);
	ck_assert_str_eq(bench_talk(scene, thread_named(scene, "whole")), "r1 One. r2 -");
	ck_assert_str_eq(
	    value_get_text(value_get(thread_named(scene, "whole"), "fields"), "topic"),
	    "x");
	ck_assert_str_eq(bench_talk(scene, thread_named(scene, "part")), "r1 One.");
	ck_assert_int_eq(bench_count(thread_named(scene, "part")), 1);
	ck_assert(!value_has(value_get(thread_named(scene, "part"), "fields"), "topic"));
	/* It waits where the other does, and has a past to go back to. */
	bench_says(FLOTILLA(scene, "resume", "whole", "--wait"), 5, "");
	ck_assert_str_eq(
	    bench_talk(scene, thread_named(scene, "whole")), "r1 One. r2 - noted a -");
	ck_assert_str_eq(bench_talk(scene, bench_thread(scene)), "r1 One. r2 -");
	bench_says(FLOTILLA(scene, "replay", "whole", "--at", "1", "--wait"), 0, "One.");
	bench_says(FLOTILLA(scene, "copy", "t", "whole"), 1, "in use");
	bench_says(
	    FLOTILLA(scene, "copy", "t", "other", "--at", "66"), 3, "no checkpoint 66");
	bench_says(FLOTILLA(scene, "copy", "t", "other", "--at", "2"), 0, "other");
	bench_says(FLOTILLA(scene, "copy", "nobody", "other"), 3, "not known");
	client_submit(scene->client, arena,
	    value_map(arena, "agent", value_str(arena, "clerk"), "run",
		value_str(arena, "rc"), "thread", value_str(arena, "t"), "copy_of",
		value_str(arena, "t"), NULL));
	ck_assert_str_eq(bench_wait(scene, "rc"), "refused");
}

BOTH(each_checkpoint_tells_where_it_comes_from, play_history)
BOTH(a_run_may_begin_in_the_past, play_fork)
BOTH(a_run_may_begin_on_the_empty_thread, play_from_nothing)
BOTH(a_fork_that_cannot_be_leaves_the_thread_as_it_was, play_bad_fork)
BOTH(a_thread_is_updated_as_a_node_would, play_update)
BOTH(an_update_that_cannot_be_changes_nothing, play_bad_update)
BOTH(a_copy_has_the_past_of_the_original, play_copy)

TCase *
tcase_thread_past(void)
{
	TCase *tcase = tcase_create("thread_past");

	tcase_set_timeout(tcase, 180);
	tcase_add_loop_test(tcase, each_checkpoint_tells_where_it_comes_from, 0, 2);
	tcase_add_loop_test(tcase, a_run_may_begin_in_the_past, 0, 2);
	tcase_add_loop_test(tcase, a_run_may_begin_on_the_empty_thread, 0, 2);
	tcase_add_loop_test(
	    tcase, a_fork_that_cannot_be_leaves_the_thread_as_it_was, 0, 2);
	tcase_add_loop_test(tcase, a_thread_is_updated_as_a_node_would, 0, 2);
	tcase_add_loop_test(tcase, an_update_that_cannot_be_changes_nothing, 0, 2);
	tcase_add_loop_test(tcase, a_copy_has_the_past_of_the_original, 0, 2);
	return tcase;
}
