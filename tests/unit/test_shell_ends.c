/* How shells of shell_tool begin and end, and what is said of them when they are gone. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "literal.h"
#include "loop.h"
#include "shell_bench.h"

/* Interface under test */
#include "registry.h"
#include "shell_session.h"

TCase *tcase_shell_ends(void);

static struct arena *arena;

static void
set_up(void)
{
	shell_set_up();
	arena = shell.arena;
}

/* How long a command may take that is to take too long: those before it, and what it says first, must not. */
#define SOON "'command_timeout': 1.5"

/* --- limits ------------------------------------------------------------------------- */

START_TEST(long_output_is_cut)
{
	shell_begin("'max_output_lines': 2");
	ck_assert_str_eq(shell_run("seq 1 1000", "success"),
	    "1\n2\n[Output truncated: it has 1000 lines, the limit is 2]");
	ck_assert(shell_artifact("truncated_by_lines")->boolean);
	ck_assert_int_eq((int)shell_artifact("total_lines")->integer, 1000);
	ck_assert_int_eq((int)shell_artifact("total_bytes")->integer, 3893);
}
END_TEST

START_TEST(what_takes_too_long_is_killed_with_its_shell)
{
	const char *said, *pid;

	shell_begin(SOON);
	pid = arena_printf(
	    arena, "%s", shell_run("X=1; setsid sleep 1000 & echo $!", "success"));
	said = shell_run("echo before; sleep 1000", "error");
	ck_assert_has(said, "Error: Command timed out after 1.5 seconds.");
	ck_assert_has(said, "before");
	ck_assert_has(said, "There is a new shell");
	ck_assert(shell_artifact("timed_out")->boolean);
	ck_assert_str_eq(shell_run("echo \"-$X\"", "success"), "-");
	ck_assert_int_eq(kill((pid_t)strtol(pid, NULL, 10), 0), -1);
}
END_TEST

START_TEST(a_command_that_ends_its_shell_is_told_so)
{
	const char *said;

	shell_begin("");
	said = shell_run("X=1; echo bye; exit 3", "error");
	ck_assert_has(
	    said, "bye\n[The command ended its shell, which ended with status 3.");
	ck_assert_str_eq(shell_run("echo \"-$X\"", "success"), "-");
}
END_TEST

/* The fleet would say that the shell is lost. */
START_TEST(a_command_ends_before_its_call)
{
	shell_begin("");
	shell_run("X=1", "success");
	shell.trial.left_ms = 1600;
	ck_assert_has(shell_run("echo before; sleep 1000", "error"),
	    "Error: Command timed out after 1.4 seconds, when its call had no more "
	    "time.");
	ck_assert_has(tool_trial_answer(&shell.trial, "error"), "\nbefore");
	shell.trial.left_ms = 60;
	ck_assert_has(shell_run("echo never", "error"), "was not begun");
	shell.trial.left_ms = 0;
	ck_assert_str_eq(shell_run("echo on", "success"), "on");
}
END_TEST

START_TEST(what_was_taken_for_lost_is_not_used_again)
{
	shell_begin("");
	shell_run("X=1", "success");
	shell.trial.state = value_map(arena, FIELD,
	    value_map_with(arena,
		value_map_with(
		    arena, value_get(shell.trial.state, FIELD), "lost", value_bool(true)),
		"worker", value_nil()),
	    NULL);
	ck_assert_has(shell_run("echo $X", "error"), "The shell is gone");
}
END_TEST

/* Who is no child of the shell holds its output open, and goes on writing to it. */
START_TEST(a_stranger_on_its_pipes_keeps_no_shell_from_ending)
{
	const char *pid;
	int theirs;

	shell_begin(SOON);
	pid = arena_printf(arena, "%s", shell_run("echo $$", "success"));
	theirs = open(
	    arena_printf(arena, "/proc/%s/fd/1", pid), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	ck_assert_int_ne(theirs, -1);
	ck_assert_has(shell_run("echo mine; sleep 1000", "error"), "\nmine");
	ck_assert_str_eq(shell_run("echo on", "success"), "on");
	pid = arena_printf(arena, "%s", shell_run("echo $$", "success"));
	close(theirs);
	theirs = open(
	    arena_printf(arena, "/proc/%s/fd/1", pid), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	shell_call(literal(arena, "{'name': 'stop_shell'}"), "shell_tool", "{}");
	ck_assert_uint_eq(shell_session_count(), 0);
	close(theirs);
}
END_TEST

START_TEST(limits_hold_for_what_it_starts)
{
	shell_begin("'memory_bytes': 67108864, 'cpu_time_seconds': 5");
	ck_assert_str_eq(shell_run("ulimit -d; ulimit -t", "success"), "65536\n5");
}
END_TEST

/* --- beginning and ending ------------------------------------------------------------ */

START_TEST(startup_commands_run_first_and_again_at_a_restart)
{
	shell_begin("'startup_commands': ['cd /', 'X=7']");
	ck_assert_str_eq(shell_run("pwd; echo $X; X=8; cd /tmp", "success"), "/\n7");
	shell_tool("{'restart': true}");
	ck_assert_str_eq(
	    tool_trial_answer(&shell.trial, "success"), "Shell session restarted.");
	ck_assert_str_eq(shell_run("pwd; echo $X", "success"), "/\n7");
}
END_TEST

/* What a model hears of one is no less redacted than what its own commands write. */
START_TEST(a_startup_command_that_fails_at_a_restart_is_told)
{
	shell_begin(arena_printf(arena,
	    "'workspace_root': '%s', 'redaction_rules': [{'pii_type': 'email'}],"
	    "'startup_commands': ['echo a@example.com; mkdir once']",
	    shell.folder));
	shell_tool("{'restart': true}");
	ck_assert_has(tool_trial_answer(&shell.trial, "error"), "[REDACTED_EMAIL]");
	ck_assert_ptr_null(strstr(tool_trial_answer(&shell.trial, "error"), "a@example"));
}
END_TEST

START_TEST(a_startup_command_that_fails_is_a_fault_and_leaves_nothing)
{
	shell_begin("'redaction_rules': [{'pii_type': 'email'}],"
		    "'startup_commands': ['echo a@example.com; false']");
	ck_assert_has(tool_trial_fault(&shell.trial)->message, "[REDACTED_EMAIL]");
	shell_begin("'startup_commands': ['true', 'echo no way >&2; exit 9']");
	ck_assert_str_eq(tool_trial_fault(&shell.trial)->type, "RuntimeError");
	ck_assert_has(
	    tool_trial_fault(&shell.trial)->message, "startup command 2 failed");
	ck_assert_uint_eq(shell_session_count(), 0);
	shell_begin("'startup_commands': ['echo no way >&2; false']");
	ck_assert_has(
	    tool_trial_fault(&shell.trial)->message, "status 1: [stderr] no way");
	shell_begin("'shell_command': ['/no/such/shell']");
	ck_assert_has(
	    tool_trial_fault(&shell.trial)->message, "/no/such/shell could not be run");
	ck_assert_uint_eq(shell_session_count(), 0);
}
END_TEST

START_TEST(shutdown_commands_run_at_the_end_and_their_failure_is_told)
{
	shell_begin(arena_printf(
	    arena, "'shutdown_commands': ['echo $X >%s/end', 'false']", shell.folder));
	shell_run("X=5", "success");
	shell_call(literal(arena, "{'name': 'stop_shell'}"), "shell_tool", "{}");
	ck_assert_str_eq(tool_trial_answer(&shell.trial, "success"),
	    "shutdown command 2 failed with status 1");
	ck_assert_int_eq(access(arena_printf(arena, "%s/end", shell.folder), F_OK), 0);
	/* Again, as who takes the run over does. */
	shell_call(literal(arena, "{'name': 'stop_shell'}"), "shell_tool", "{}");
	ck_assert_str_eq(tool_trial_answer(&shell.trial, "success"), "");
}
END_TEST

START_TEST(of_a_run_that_ended_otherwise_nothing_runs)
{
	shell_begin(
	    arena_printf(arena, "'shutdown_commands': ['echo x >%s/end']", shell.folder));
	shell_call(
	    literal(arena, "{'name': 'stop_shell'}"), "shell_tool", "{\"ended\": true}");
	ck_assert_int_eq(access(arena_printf(arena, "%s/end", shell.folder), F_OK), -1);
	ck_assert_uint_eq(shell_session_count(), 0);
}
END_TEST

/* --- what is lost --------------------------------------------------------------------- */

START_TEST(a_shell_that_is_gone_comes_back_only_when_it_is_asked_for)
{
	shell_begin("");
	shell_sessions_close(shell.trial.loop);
	ck_assert_has(shell_run("echo a", "error"), "The shell is gone");
	ck_assert(value_get_bool(value_get(shell.trial.state, FIELD), "lost", false));
	ck_assert_ptr_null(value_get_text(value_get(shell.trial.state, FIELD), "worker"));
	ck_assert_has(shell_run("echo a", "error"), "restart: true");
	ck_assert_uint_eq(shell_session_count(), 0);
	shell_tool("{'restart': true}");
	ck_assert_str_eq(
	    value_get_text(value_get(shell.trial.state, FIELD), "worker"), "this");
	ck_assert_str_eq(shell_run("echo a", "success"), "a");
}
END_TEST

START_TEST(it_may_be_asked_for_by_the_settings)
{
	shell_begin("'restart_lost': true");
	shell_sessions_close(shell.trial.loop);
	ck_assert_str_eq(shell_run("echo a", "success"),
	    "[The shell was gone, with its folder, variables and programs: this is "
	    "a new "
	    "one.]\na");
	ck_assert_str_eq(shell_run("echo b", "success"), "b");
}
END_TEST

START_TEST(nobody_uses_the_shell_of_another_thread)
{
	shell_begin("");
	ck_assert_ptr_null(shell_session_hold("run_1/3/call_7", "thread_2"));
	ck_assert_ptr_null(shell_session_hold("run_1/3/call_8", "thread_1"));
}
END_TEST

static bool
when_it_writes(void *arg)
{
	return access(arg, F_OK) == 0;
}

START_TEST(a_command_that_is_cancelled_ends_its_session)
{
	const char *there = arena_printf(arena, "%s/there", shell.folder);

	shell_begin("");
	shell.trial.cancels = when_it_writes;
	shell.trial.arg = (void *)there;
	shell_call(value_at(shell.use->tools, 0), NULL,
	    arena_printf(arena, "{\"command\": \"echo >%s; sleep 1000\"}", there));
	ck_assert(tool_trial_fault(&shell.trial)->control);
	ck_assert_uint_eq(shell_session_count(), 0);
}
END_TEST

static bool
are_none(void *arg)
{
	(void)arg;
	return shell_session_count() == 0;
}

START_TEST(a_shell_that_nobody_uses_ends)
{
	shell_begin("'idle_timeout': 1");
	ck_assert_uint_eq(shell_session_count(), 1);
	loop_run_until(shell.trial.loop, are_none, NULL);
	ck_assert_has(shell_run("echo a", "error"), "The shell is gone");
}
END_TEST

TCase *
tcase_shell_ends(void)
{
	TCase *tcase = tcase_create("shell_ends");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, set_up, shell_tear_down);
	tcase_add_test(tcase, long_output_is_cut);
	tcase_add_test(tcase, what_takes_too_long_is_killed_with_its_shell);
	tcase_add_test(tcase, a_command_that_ends_its_shell_is_told_so);
	tcase_add_test(tcase, a_command_ends_before_its_call);
	tcase_add_test(tcase, what_was_taken_for_lost_is_not_used_again);
	tcase_add_test(tcase, a_stranger_on_its_pipes_keeps_no_shell_from_ending);
	tcase_add_test(tcase, limits_hold_for_what_it_starts);
	tcase_add_test(tcase, startup_commands_run_first_and_again_at_a_restart);
	tcase_add_test(tcase, a_startup_command_that_fails_at_a_restart_is_told);
	tcase_add_test(tcase, a_startup_command_that_fails_is_a_fault_and_leaves_nothing);
	tcase_add_test(tcase, shutdown_commands_run_at_the_end_and_their_failure_is_told);
	tcase_add_test(tcase, of_a_run_that_ended_otherwise_nothing_runs);
	tcase_add_test(tcase, a_shell_that_is_gone_comes_back_only_when_it_is_asked_for);
	tcase_add_test(tcase, it_may_be_asked_for_by_the_settings);
	tcase_add_test(tcase, nobody_uses_the_shell_of_another_thread);
	tcase_add_test(tcase, a_command_that_is_cancelled_ends_its_session);
	tcase_add_test(tcase, a_shell_that_nobody_uses_ends);
	return tcase;
}
