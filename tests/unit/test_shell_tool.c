#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "literal.h"
#include "loop.h"
#include "shell_bench.h"

/* Interface under test */
#include "registry.h"
#include "shell_folder.h"
#include "shell_session.h"

TCase *tcase_shell_tool(void);

static struct arena *arena;

static void
set_up(void)
{
	shell_set_up();
	arena = shell.arena;
}

/* --- as Claude's own tool --------------------------------------------------------------- */

START_TEST(claude_has_it_as_bash)
{
	const struct value *definition;

	shell.use = literal_use(arena, "claude_bash_tool", "{'max_output_lines': 5}");
	definition = value_at(shell.use->tools, 0);
	ck_assert_str_eq(value_get_text(definition, "name"), "bash");
	shell_call(literal(arena, "{'name': 'start_shell'}"), "claude_bash_tool", "{}");
	ck_assert_str_eq(shell_run("cd /; pwd", "success"), "/");
	ck_assert_str_eq(value_get_text(shell_message(), "name"), "bash");
	shell_tool("{'restart': true}");
	ck_assert_str_eq(shell_run("[ \"$PWD\" != / ] && echo new", "success"), "new");
}
END_TEST

/* --- what stays --------------------------------------------------------------------- */

START_TEST(folder_variables_and_functions_stay)
{
	shell_begin("");
	ck_assert_str_eq(
	    shell_run("cd / && X=1; f() { echo \"f$1\"; }", "success"), "<no output>");
	ck_assert_str_eq(shell_run("pwd; echo $X; f 2", "success"), "/\n1\nf2");
	ck_assert_int_eq((int)shell_artifact("exit_code")->integer, 0);
	ck_assert_uint_eq(shell_session_count(), 1);
}
END_TEST

static const struct {
	const char *command, *status, *text;
	int exit_code;
} commands[] = {
	{ "printf 'no newline'", "success", "no newline", 0 },
	{ "echo \"it's\" 'q\"'", "success", "it's q\"", 0 },
	{ "cat; echo done", "success", "done", 0 }, /* its input is empty */
	{ "read x; echo $?", "success", "1", 0 },
	{ "echo a >&2; false", "error", "[stderr] a", 1 },
	{ "(exit 42)", "error", "<no output>", 42 },
	{ "cat <<E\na 'b'\n$((1+1))\nE", "success", "a 'b'\n2", 0 },
	{ "for i in 1 2; do\n echo $i\ndone", "success", "1\n2", 0 },
	{ "no_such_program_here; echo $?", "success", NULL, 0 },
	{ "if then (", "error", NULL, -1 },
	{ "set -e; true", "success", "<no output>", 0 },
	{ "sleep 100 & echo $((1))", "success", "1", 0 },
	{ "echo $FLOTILLA_SECRET$REDIS_URL-", "success", "-", 0 },
	{ "env | cut -d= -f1 | grep -vE '^(PWD|OLDPWD|SHLVL|_)$' | sort", "success",
	    "HOME\nLANG\nPATH\nTERM", 0 },
};

START_TEST(commands_say_what_they_wrote_and_how_they_ended)
{
	const char *said;

	setenv("FLOTILLA_SECRET", "s3cret", 1);
	shell_begin("");
	said = shell_run(commands[_i].command, commands[_i].status);
	if (commands[_i].text != NULL)
		ck_assert_str_eq(said, commands[_i].text);
	if (commands[_i].exit_code != -1)
		ck_assert_int_eq(
		    (int)shell_artifact("exit_code")->integer, commands[_i].exit_code);
	/* The same shell goes on. */
	ck_assert_str_eq(shell_run("echo on", "success"), "on");
}
END_TEST

START_TEST(the_folder_is_a_new_one_and_goes_with_the_shell)
{
	const char *path;

	shell_begin("");
	path = arena_printf(
	    arena, "%s", shell_run("pwd; mkdir -p a/b; echo x >a/b/c", "success"));
	ck_assert_has(path, "/flotilla-shell-");
	ck_assert_int_eq(access(path, F_OK), 0);
	shell_call(literal(arena, "{'name': 'stop_shell'}"), "shell_tool", "{}");
	ck_assert_int_eq(access(path, F_OK), -1);
	ck_assert_uint_eq(shell_session_count(), 0);
}
END_TEST

/* Deeper than a path may be, and what nobody may read or change. */
START_TEST(whatever_is_in_the_folder_goes)
{
	const char *path;

	shell_begin("");
	path = arena_printf(arena, "%s", shell_run("pwd", "success"));
	shell_run("mkdir -p a/b .1/2; touch a/b/c .1/2/x; ln -s / a/root; chmod 0 a/b a\n"
		  "n=$(printf %0200d 0); for i in $(seq 50); do mkdir $n; cd $n; done\n"
		  "touch f; chmod 0 .",
	    "success");
	shell_call(literal(arena, "{'name': 'stop_shell'}"), "shell_tool", "{}");
	ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

static bool
is_gone(void *arg)
{
	return access(arg, F_OK) == -1;
}

/* Of a process that died its folder stays, until the next one looks; of those that live, none goes. */
START_TEST(what_the_dead_left_behind_goes)
{
	const char *left, *other, *live;

	setenv("TMPDIR", shell.folder, 1);
	left = arena_printf(arena, "%s/flotilla-shell-Gone00", shell.folder);
	other = arena_printf(arena, "%s/flotilla-other", shell.folder);
	ck_assert_int_eq(mkdir(other, 0700), 0);
	ck_assert_int_eq(
	    system(arena_printf(
		arena, "mkdir -p %s/a && touch %s/a/b && chmod 0 %s", left, left, left)),
	    0);
	ck_assert_int_eq(
	    symlink(other, arena_printf(arena, "%s/flotilla-shell-Link00", shell.folder)),
	    0);
	shell_begin("");
	live = arena_printf(arena, "%s", shell_run("pwd", "success"));
	shell_sessions_open(shell.trial.loop);
	loop_run_until(shell.trial.loop, is_gone, (void *)left);
	shell_sessions_close(shell.trial.loop);
	ck_assert_int_eq(access(live, F_OK), -1);
	ck_assert_int_eq(access(other, F_OK), 0);
}
END_TEST

START_TEST(what_lives_is_not_left_behind)
{
	static const atomic_bool stop = false;
	const char *live;
	pid_t other;
	int status;

	setenv("TMPDIR", shell.folder, 1);
	shell_begin("");
	live = arena_printf(arena, "%s", shell_run("pwd; touch a", "success"));
	other = fork();
	if (other == 0) {
		shell_folders_sweep(NULL, &stop);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(other, &status, 0), other);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(access(arena_printf(arena, "%s/a", live), F_OK), 0);
}
END_TEST

START_TEST(a_folder_that_is_given_is_made_and_stays)
{
	const char *path = arena_printf(arena, "%s/work/space", shell.folder);

	shell_begin(
	    arena_printf(arena, "'workspace_root': '%s', 'env': {'A': 'b c'}", path));
	ck_assert_str_eq(shell_run("pwd; echo $A; echo $HOME", "success"),
	    arena_printf(arena, "%s\nb c\n%s", path, path));
	shell_call(literal(arena, "{'name': 'stop_shell'}"), "shell_tool", "{}");
	ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

/* --- the sandbox ---------------------------------------------------------------------- */

START_TEST(in_bubblewrap_there_is_its_folder_and_nothing_else)
{
	const char *outside = arena_printf(arena, "%s/outside", shell.folder);

	if (system("bwrap --unshare-all --ro-bind / / true 2>/dev/null") != 0)
		return; /* no namespaces here: docs/security.md */
	ck_assert_int_eq(symlink("/", outside), 0);
	shell_begin("'policy': 'bubblewrap'");
	ck_assert_str_eq(
	    shell_run(
		"pwd; echo x >a; cat a; id -un >/dev/null 2>&1; echo $HOME", "success"),
	    "/workspace\nx\n/workspace");
	ck_assert_str_eq(
	    shell_run("ls /sys/class/net 2>/dev/null; cat /proc/net/dev | grep -c :",
		"success"),
	    "1");
	ck_assert_has(shell_run("cat /etc/shadow", "error"), "No such file");
	ck_assert_has(shell_run(arena_printf(arena, "ls %s", shell.folder), "error"),
	    "No such file");
	ck_assert_str_eq(
	    shell_run("for i in / /etc /usr /proc/sys/kernel/core_pattern; do\n"
		      "test -w $i && echo $i; done; true",
		"success"),
	    "<no output>");
	ck_assert_str_eq(
	    shell_run(
		"test $(ls /proc | grep -cE '^[0-9]+$') -lt 9 && echo alone", "success"),
	    "alone");
}
END_TEST

START_TEST(a_sandbox_that_cannot_be_is_told)
{
	shell_begin("'policy': 'bubblewrap', 'shell_command': ['/no/such/shell']");
	ck_assert_has(
	    tool_trial_fault(&shell.trial)->message, "bubblewrap (bwrap) ended");
	ck_assert_has(tool_trial_fault(&shell.trial)->message, "/no/such/shell");
}
END_TEST

/* --- arguments, redaction, names ------------------------------------------------------- */

START_TEST(it_takes_a_command_or_restart)
{
	shell_begin("");
	shell_tool("{}");
	ck_assert_has(tool_trial_answer(&shell.trial, "error"), "either a command");
	shell_tool("{'command': 'true', 'restart': true}");
	ck_assert_has(tool_trial_answer(&shell.trial, "error"), "either a command");
	shell_tool("{'command': 'echo a', 'restart': null}");
	ck_assert_str_eq(tool_trial_answer(&shell.trial, "success"), "a");
}
END_TEST

START_TEST(what_is_private_does_not_come_out)
{
	shell_begin(
	    "'redaction_rules': [{'pii_type': 'email'}, {'pii_type': 'key', 'detector': "
	    "'sk-[a-z]+', 'strategy': 'block'}]");
	ck_assert_str_eq(
	    shell_run("echo to a@example.com", "success"), "to [REDACTED_EMAIL]");
	ck_assert_value(arena, shell_artifact("redaction_matches"),
	    "[{'pii_type': 'email', 'count': 1}]");
	ck_assert_str_eq(
	    shell_run("echo sk-abc", "error"), "Output blocked: detected key.");
}
END_TEST

START_TEST(the_tool_may_have_another_name)
{
	shell_begin("'tool_name': 'bash', 'tool_description': 'Runs.'");
	ck_assert_str_eq(value_get_text(value_at(shell.use->tools, 0), "name"), "bash");
	ck_assert_str_eq(
	    value_get_text(value_at(shell.use->tools, 0), "description"), "Runs.");
	ck_assert_uint_eq(value_size(shell.use->tools), 1);
	ck_assert_str_eq(shell_run("echo a", "success"), "a");
	ck_assert_str_eq(value_get_text(shell_message(), "name"), "bash");
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *
tcase_shell_tool(void)
{
	TCase *tcase = tcase_create("shell_tool");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, set_up, shell_tear_down);
	tcase_add_test(tcase, claude_has_it_as_bash);
	tcase_add_test(tcase, folder_variables_and_functions_stay);
	tcase_add_loop_test(
	    tcase, commands_say_what_they_wrote_and_how_they_ended, 0, COUNT(commands));
	tcase_add_test(tcase, the_folder_is_a_new_one_and_goes_with_the_shell);
	tcase_add_test(tcase, whatever_is_in_the_folder_goes);
	tcase_add_test(tcase, what_the_dead_left_behind_goes);
	tcase_add_test(tcase, what_lives_is_not_left_behind);
	tcase_add_test(tcase, a_folder_that_is_given_is_made_and_stays);
	tcase_add_test(tcase, in_bubblewrap_there_is_its_folder_and_nothing_else);
	tcase_add_test(tcase, a_sandbox_that_cannot_be_is_told);
	tcase_add_test(tcase, it_takes_a_command_or_restart);
	tcase_add_test(tcase, what_is_private_does_not_come_out);
	tcase_add_test(tcase, the_tool_may_have_another_name);
	return tcase;
}
