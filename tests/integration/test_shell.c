/* Shells of runs on a fleet of real processes: where they are, and what is said when they are gone
 * (docs/middleware/shell_tool.md). */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena.h"
#include "fleet_kit.h"
#include "has.h"
#include "json.h"
#include "literal.h"

TCase *tcase_shell(void);

static struct fleet_kit *kit;
static struct arena *arena;

static void
set_up(void)
{
	arena = arena_new();
	kit = kit_new();
}

static void
tear_down(void)
{
	kit_destroy(&kit);
	arena_destroy(&arena);
}

/* An agent whose scripted model runs the commands one after the other, then says "Done.".
 * Each line of commands is a list of calls: 'sh(command)' as JSON objects. */
static void
apply(const char *name, const char *settings, const char *const *steps)
{
	const char *script = "", *text;
	size_t i;

	for (i = 0; steps[i] != NULL; i++)
		script = arena_printf(
		    arena, "%s  - {content: '', tool_calls: [%s]}\n", script, steps[i]);
	text = arena_printf(arena,
	    "name: %s\nmodel: scripted:s\nmiddleware:\n  - shell_tool: {%s}\n"
	    "script:\n  s:\n%s  - {content: Done.}\n",
	    name, settings, script);
	kit_flotilla(kit, "agents", "apply",
	    kit_write(kit, arena_printf(arena, "%s.yaml", name), text), NULL);
}

#define CALL(id, args) "{id: " id ", name: shell, args: " args "}"

/* The tool messages of the thread, one a line. */
static const char *
answers(const char *thread)
{
	const char *text = kit_flotilla(kit, "state", thread, "--json", NULL), *error;
	const struct value *state = json_parse(arena, text, strlen(text), &error);
	const struct value *messages = value_get(state, "messages");
	const char *all = "";
	size_t i;

	ck_assert_msg(state != NULL, "%s", text);
	for (i = 0; i < value_size(messages); i++)
		if (value_text_is(value_get(value_at(messages, i), "type"), "tool"))
			all = arena_printf(arena, "%s%s\n", all,
			    value_get_text(value_at(messages, i), "content"));
	return all;
}

static const char *
submit(const char *agent, const char *thread)
{
	return kit_flotilla(
	    kit, "submit", agent, "Go", "--thread", thread, "--wait", NULL);
}

/* Each call of the run has the same shell, of several workers; parallel ones, too; and at the end
 * nothing is left. */
START_TEST(all_commands_of_a_run_have_one_shell)
{
	const char *const steps[] = {
		CALL("a", "{command: 'X=1; mkdir sub; cd sub'}"),
		CALL("b", "{command: 'echo $X $(basename $PWD)'}"),
		CALL("c", "{command: 'X=$((X+1)); echo $X'}") ", " CALL(
		    "d", "{command: 'X=$((X+1)); echo $X'}") ", " CALL("e",
		    "{command: 'X=$((X+1)); echo $X'}"),
		CALL("f", "{command: 'echo $X; echo $HOME > ../home; cat ../home'}"),
		NULL,
	};
	const char *said;

	kit_start_all(kit, 4, 1, 1);
	apply("one", "startup_commands: ['echo started']", steps);
	ck_assert_str_eq(submit("one", "t1"), "Done.\n");
	said = answers("t1");
	ck_assert_has(said, "1 sub\n");
	ck_assert_has(said, "4\n");
	ck_assert_str_eq(submit("one", "t2"), "Done.\n");
	ck_assert_has(answers("t2"), "1 sub\n");
	ck_assert_int_eq(
	    system(arena_printf(
		arena, "ls -d %s/flotilla-shell-* 2>/dev/null", kit_path(kit, ""))) != 0,
	    1);
}
END_TEST

/* The starter of a worker that keeps a shell has a minder below it. */
static bool
has_shell(unsigned index)
{
	return system(arena_printf(arena,
		   "for s in $(cat /proc/%d/task/*/children); do "
		   "cat /proc/$s/task/$s/children; done | grep -q .",
		   (int)kit_pid(kit, KIT_TOOLS, index))) == 0;
}

static bool
is_dead(unsigned index)
{
	return system(arena_printf(arena, "grep -q 'State:.Z' /proc/%d/status",
		   (int)kit_pid(kit, KIT_TOOLS, index))) == 0;
}

/* The command takes its own worker down: the next one is told, and asks for a new shell. */
START_TEST(a_lost_worker_is_told_and_not_replaced)
{
	const char *const steps[] = {
		CALL("a", "{command: 'X=1; echo $X'}"),
		/* shell, minder, starter, worker */
		CALL("b", "{command: 'p=$PPID; s=$(cut -d\" \" -f4 /proc/$p/stat); "
			  "kill -9 $(cut -d\" \" -f4 /proc/$s/stat); sleep 100'}"),
		CALL("c", "{command: 'echo \"x$X\"'}"),
		CALL("d", "{restart: true}"),
		CALL("e", "{command: 'echo \"y$X\"'}"),
		NULL,
	};
	const char *said;

	kit_start_all(kit, 2, 1, 1);
	apply("killer", "command_timeout: 60", steps);
	ck_assert_str_eq(submit("killer", "t1"), "Done.\n");
	said = answers("t1");
	ck_assert_has(said, "nobody knows whether this call of shell took effect");
	ck_assert_has(said, "The shell is gone");
	ck_assert_ptr_null(strstr(said, "x1"));
	ck_assert_ptr_null(strstr(said, "x\n"));
	ck_assert_has(said, "Shell session restarted.\ny\n");
	kit_wait(kit, KIT_TOOLS, is_dead(0) ? 0 : 1);
}
END_TEST

static bool
is_empty(const char *command)
{
	return system(command) != 0;
}

/* What all processes of such a shell have in their environment. */
#define MARK "of-a-shell-under-test"
static const char look_for_processes[] =
    "grep -qsaz '^MARK=" MARK "' /proc/[0-9]*/environ";

static const char *
look_for_folders(void)
{
	return arena_printf(
	    arena, "ls -d %s/flotilla-shell-* >/dev/null 2>&1", kit_path(kit, ""));
}

static void
wait_for(const char *file)
{
	while (access(file, F_OK) == -1)
		usleep(20000);
}

/* The broker has lost sight of a worker that lives: its shell is gone for the model, and ends with
 * the run. */
START_TEST(a_shell_that_only_could_not_be_seen_ends_with_its_run)
{
	const char *there = kit_path(kit, "there"), *again = kit_path(kit, "again"),
		   *said;
	const char *const steps[] = {
		arena_printf(
		    arena, CALL("a", "{command: 'X=1; echo >%s; sleep 60'}"), there),
		CALL("b", "{command: 'echo \"x$X\"'}"),
		CALL("c", "{restart: true}"),
		arena_printf(
		    arena, CALL("d", "{command: 'echo \"y$X\"; touch %s'}"), again),
		NULL,
	};

	kit_start_all(kit, 2, 1, 1);
	apply("blind", "command_timeout: 100", steps);
	kit_flotilla(kit, "submit", "blind", "Go", "--thread", "t1", "--run", "r1", NULL);
	wait_for(there);
	/* It is one of the two; the other one must be seen. */
	kit_signal(kit, KIT_TOOLS, has_shell(0) ? 0 : 1, SIGSTOP);
	wait_for(again);
	kit_signal(kit, KIT_TOOLS, 0, SIGCONT);
	kit_signal(kit, KIT_TOOLS, 1, SIGCONT);
	kit_flotilla(kit, "watch", "r1", NULL);
	said = answers("t1");
	ck_assert_has(said, "nobody knows whether this call of shell took effect");
	ck_assert_has(said, "Shell session restarted.\ny\n");
	ck_assert_ptr_null(strstr(said, "x1"));
	while (!is_empty(look_for_folders()))
		usleep(20000);
}
END_TEST

/* What runs may end; what comes then is told, and nothing is left of the old shell. */
START_TEST(a_worker_that_drains_takes_its_shells_with_it)
{
	const char *there = kit_path(kit, "there"), *go = kit_path(kit, "go"), *said;
	const char *const steps[] = {
		arena_printf(arena,
		    CALL("a",
			"{command: 'X=1; setsid sleep 1000 & touch %s; until test -e "
			"%s; do sleep 0.05; done; echo \"a$X\"'}"),
		    there, go),
		CALL("b", "{command: 'echo \"x$X\"'}"),
		CALL("c", "{restart: true}"),
		CALL("d", "{command: 'echo \"y$X\"'}"),
		NULL,
	};
	unsigned index;

	kit_start_all(kit, 2, 1, 1);
	apply("leaves", "command_timeout: 50, env: {MARK: " MARK "}", steps);
	kit_flotilla(
	    kit, "submit", "leaves", "Go", "--thread", "t1", "--run", "r1", NULL);
	wait_for(there);
	index = has_shell(0) ? 0 : 1;
	kit_signal(kit, KIT_TOOLS, index, SIGTERM);
	usleep(200000); /* it hears of it, or not yet: both are right */
	kit_write(kit, "go", "");
	kit_await_end(kit, KIT_TOOLS, index);
	kit_flotilla(kit, "watch", "r1", NULL);
	said = answers("t1");
	ck_assert_has(said, "a1\n");
	ck_assert_has(said, "The shell is gone");
	ck_assert_has(said, "Shell session restarted.\ny\n");
	ck_assert_ptr_null(strstr(said, "x1"));
	ck_assert(is_empty(look_for_folders()));
	ck_assert(is_empty(look_for_processes));
}
END_TEST

/* All that is in it, also what has left its session, and in the end the folder. */
START_TEST(a_sandbox_dies_with_its_worker)
{
	const char *there = arena_printf(arena,
	    "ls %s/flotilla-shell-*/there 2>/dev/null >/dev/null", kit_path(kit, ""));
	const char *const steps[] = {
		CALL("a", "{command: 'setsid sleep 1000 & sleep 1000 & touch there; "
			  "sleep 1000'}"),
		CALL("b", "{restart: true}"),
		CALL("c", "{command: 'ls; echo new'}"),
		NULL,
	};

	if (system("bwrap --unshare-all --ro-bind / / true 2>/dev/null") != 0)
		return; /* no namespaces here: docs/security.md */
	kit_start_all(kit, 1, 1, 1);
	apply("boxed", "policy: bubblewrap, command_timeout: 100, env: {MARK: " MARK "}",
	    steps);
	kit_flotilla(kit, "submit", "boxed", "Go", "--thread", "t1", "--run", "r1", NULL);
	while (is_empty(there))
		usleep(20000);
	ck_assert(!is_empty(look_for_processes));
	kit_kill(kit, KIT_TOOLS, 0);
	while (!is_empty(look_for_processes))
		usleep(20000);
	kit_start(kit, KIT_TOOLS, 0);
	kit_flotilla(kit, "watch", "r1", NULL);
	ck_assert_has(answers("t1"), "Shell session restarted.\nnew\n");
	while (!is_empty(look_for_folders()))
		usleep(20000);
}
END_TEST

/* As long as its own settings say, whatever the fleet gives to others. */
START_TEST(a_command_may_take_longer_than_calls_do)
{
	const char *const steps[] = { CALL("a", "{command: 'sleep 4; echo done'}"),
		NULL };

	kit_flag(kit, KIT_COORDINATOR, "--call-deadline-ms", "1500");
	kit_start_all(kit, 1, 1, 1);
	apply("slow", "command_timeout: 60", steps);
	ck_assert_str_eq(submit("slow", "t1"), "Done.\n");
	ck_assert_str_eq(answers("t1"), "done\n");
}
END_TEST

START_TEST(startup_that_fails_ends_the_run)
{
	const char *const steps[] = { NULL };
	const char *record;

	kit_start_all(kit, 1, 1, 1);
	apply("bad", "startup_commands: ['echo broken >&2; false']", steps);
	kit_flotilla(kit, "submit", "bad", "Go", "--thread", "t1", "--run", "r1", NULL);
	do
		record = kit_flotilla(kit, "runs", "--json", NULL);
	while (strstr(record, "\"running\"") != NULL ||
	       strstr(record, "\"queued\"") != NULL);
	ck_assert_has(record, "startup command 1 failed");
}
END_TEST

/* A coordinator dies while a command runs: the next one finds the same shell. */
START_TEST(who_takes_the_run_over_finds_the_shell)
{
	const char *go = kit_path(kit, "go"), *said;
	const char *const steps[] = {
		CALL("a", "{command: 'X=kept'}"),
		arena_printf(arena,
		    CALL("b",
			"{command: 'echo >%s.here; until test -e %s; do sleep 0.05; "
			"done'}"),
		    go, go),
		CALL("c", "{command: 'echo $X'}"),
		NULL,
	};

	kit_start_all(kit, 2, 1, 2);
	apply("long", "", steps);
	kit_flotilla(kit, "submit", "long", "Go", "--thread", "t1", "--run", "r1", NULL);
	wait_for(arena_printf(arena, "%s.here", go));
	kit_kill(kit, KIT_COORDINATOR, 0);
	kit_start(kit, KIT_COORDINATOR, 0);
	kit_write(kit, "go", "");
	kit_flotilla(kit, "watch", "r1", NULL);
	said = answers("t1");
	ck_assert_has(said, "kept\n");
}
END_TEST

/* A run that is cancelled has no after_agent: its shell ends all the same. */
START_TEST(a_cancelled_run_leaves_no_shell)
{
	const char *there = kit_path(kit, "there"), *look;
	const char *const steps[] = { arena_printf(arena,
					  CALL("a", "{command: 'echo >%s; sleep 1000'}"),
					  there),
		NULL };

	kit_start_all(kit, 2, 1, 1);
	apply("slow", "command_timeout: 500", steps);
	kit_flotilla(kit, "submit", "slow", "Go", "--thread", "t1", "--run", "r1", NULL);
	wait_for(there);
	kit_flotilla(kit, "cancel", "r1", NULL);
	look = look_for_folders();
	while (!is_empty(look))
		usleep(20000);
}
END_TEST

/* The thread waits for an answer again, after so many. */
static void
wait_paused(const char *thread, unsigned answered)
{
	const char *text, *error;
	const struct value *state, *calls;

	do {
		usleep(50000);
		text = kit_flotilla(kit, "state", thread, "--json", NULL);
		state = json_parse(arena, text, strlen(text), &error);
		calls = value_get(state, "messages");
	} while (!value_text_is(
		     value_get(value_get(state, "head"), "status"), "interrupted") ||
		 value_size(calls) != 2 + 2 * (size_t)answered);
}

/* A human's answer comes to nothing, since no model is served for a while: the thread waits as before, and so does its shell. */
START_TEST(a_resume_that_comes_to_nothing_leaves_the_shell)
{
	const char *const steps[] = {
		CALL("a", "{command: 'X=kept'}"),
		CALL("b", "{command: 'echo $X'}"),
		NULL,
	};

	kit_flag(kit, KIT_COORDINATOR, "--served-wait-ms", "3000");
	kit_start_all(kit, 1, 1, 1);
	apply("asks", "}\n  - human_in_the_loop: {interrupt_on: {shell: true}", steps);
	kit_flotilla(kit, "submit", "asks", "Go", "--thread", "t1", NULL);
	wait_paused("t1", 0);
	kit_flotilla(kit, "approve", "t1", NULL);
	wait_paused("t1", 1);
	kit_stop(kit, KIT_MODEL, 0);
	ck_assert_int_eq(
	    WEXITSTATUS(system(arena_printf(arena,
		"%s approve t1 --redis %s --broker %s --status %s 2>/dev/null",
		kit_program(kit, "flotilla"), kit_redis(kit), kit_broker(kit),
		kit_status(kit)))),
	    7);
	kit_start(kit, KIT_MODEL, 0);
	wait_paused("t1", 1);
	kit_flotilla(kit, "approve", "t1", "--wait", NULL);
	ck_assert_has(answers("t1"), "kept\n");
}
END_TEST

/* Nor one that is cancelled while a model thinks: nobody is in its shell. */
START_TEST(a_run_that_ends_between_commands_leaves_no_shell)
{
	const char *look = look_for_folders();
	const char *const steps[] = { CALL("a", "{command: 'echo A'}"),
		/* This one comes after a minute. */
		CALL("b", "{command: 'echo B'}") "], delay_ms: 60000} #", NULL };

	kit_start_all(kit, 2, 1, 1);
	apply("thinker", "", steps);
	kit_flotilla(
	    kit, "submit", "thinker", "Go", "--thread", "t1", "--run", "r1", NULL);
	while (strcmp(answers("t1"), "A\n") != 0)
		usleep(100000);
	ck_assert(!is_empty(look));
	kit_flotilla(kit, "cancel", "r1", NULL);
	while (!is_empty(look))
		usleep(20000);
}
END_TEST

TCase *
tcase_shell(void)
{
	TCase *tcase = tcase_create("shell");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, all_commands_of_a_run_have_one_shell);
	tcase_add_test(tcase, a_lost_worker_is_told_and_not_replaced);
	tcase_add_test(tcase, a_shell_that_only_could_not_be_seen_ends_with_its_run);
	tcase_add_test(tcase, a_worker_that_drains_takes_its_shells_with_it);
	tcase_add_test(tcase, a_sandbox_dies_with_its_worker);
	tcase_add_test(tcase, a_command_may_take_longer_than_calls_do);
	tcase_add_test(tcase, startup_that_fails_ends_the_run);
	tcase_add_test(tcase, who_takes_the_run_over_finds_the_shell);
	tcase_add_test(tcase, a_cancelled_run_leaves_no_shell);
	tcase_add_test(tcase, a_resume_that_comes_to_nothing_leaves_the_shell);
	tcase_add_test(tcase, a_run_that_ends_between_commands_leaves_no_shell);
	return tcase;
}
