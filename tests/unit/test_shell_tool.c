#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "children.h"
#include "fiber.h"
#include "hook_stub.h"
#include "json.h"
#include "literal.h"
#include "process.h"
#include "tool_trial.h"

/* Interface under test */
#include "registry.h"
#include "shell_folder.h"
#include "shell_session.h"

TCase *tcase_shell_tool(void);

#define FIELD "shell_session_resources"

static struct tool_trial trial;
static struct arena *arena;
static char *folder;
static const struct middleware_use *use;

static void
set_up(void)
{
	tool_trial_open(&trial);
	arena = trial.arena;
	folder = folder_new();
}

static void
tear_down(void)
{
	shell_sessions_close(trial.loop);
	process_close();
	folder_remove(&folder);
	tool_trial_close(&trial);
}

static const struct value *
update(void)
{
	return value_get(value_at(value_get(trial.body, "commands"), 0), "update");
}

static const struct value *
message(void)
{
	return value_at(value_get(update(), "messages"), 0);
}

/* Every answer that says something of the session is the state from then on. */
static void
call(const struct value *definition, const char *internal, const char *args)
{
	trial.internal = internal;
	trial.chain = stub_chain(arena, use, NULL);
	tool_trial_call(&trial, definition, args);
	if (value_has(update(), FIELD))
		trial.state = value_map(arena, FIELD, value_get(update(), FIELD), NULL);
}

/* The inside of a literal of settings; the shell begins. */
static void
begin(const char *settings)
{
	const char *path = "", *error = "";

	use = registry_use(arena, "shell_tool",
	    literal(arena, arena_printf(arena, "{%s}", settings)), &path, &error);
	ck_assert_msg(use != NULL, "%s: %s", path, error);
	call(literal(arena, "{'name': 'start_shell'}"), "shell_tool", "{}");
}

static void
shell(const char *args)
{
	call(value_at(use->tools, 0), NULL, json_text(arena, literal(arena, args)));
}

static const char *
run(const char *command, const char *status)
{
	call(value_at(use->tools, 0), NULL,
	    json_text(
		arena, value_map(arena, "command", value_str(arena, command), NULL)));
	return tool_trial_answer(&trial, status);
}

static const struct value *
artifact(const char *key)
{
	return value_get(value_get(message(), "artifact"), key);
}

#define ck_assert_has(text, piece)                                                       \
	ck_assert_msg(strstr(text, piece) != NULL, "\"%s\" has no \"%s\"", text, piece)

/* --- what stays --------------------------------------------------------------------- */

START_TEST(folder_variables_and_functions_stay)
{
	begin("");
	ck_assert_str_eq(
	    run("cd / && X=1; f() { echo \"f$1\"; }", "success"), "<no output>");
	ck_assert_str_eq(run("pwd; echo $X; f 2", "success"), "/\n1\nf2");
	ck_assert_int_eq((int)artifact("exit_code")->integer, 0);
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
	begin("");
	said = run(commands[_i].command, commands[_i].status);
	if (commands[_i].text != NULL)
		ck_assert_str_eq(said, commands[_i].text);
	if (commands[_i].exit_code != -1)
		ck_assert_int_eq(
		    (int)artifact("exit_code")->integer, commands[_i].exit_code);
	/* The same shell goes on. */
	ck_assert_str_eq(run("echo on", "success"), "on");
}
END_TEST

START_TEST(the_folder_is_a_new_one_and_goes_with_the_shell)
{
	const char *path;

	begin("");
	path =
	    arena_printf(arena, "%s", run("pwd; mkdir -p a/b; echo x >a/b/c", "success"));
	ck_assert_has(path, "/flotilla-shell-");
	ck_assert_int_eq(access(path, F_OK), 0);
	call(literal(arena, "{'name': 'stop_shell'}"), "shell_tool", "{}");
	ck_assert_int_eq(access(path, F_OK), -1);
	ck_assert_uint_eq(shell_session_count(), 0);
}
END_TEST

/* Deeper than a path may be, and what nobody may read or change. */
START_TEST(whatever_is_in_the_folder_goes)
{
	const char *path;

	begin("");
	path = arena_printf(arena, "%s", run("pwd", "success"));
	run("mkdir -p a/b .1/2; touch a/b/c .1/2/x; ln -s / a/root; chmod 0 a/b a\n"
	    "n=$(printf %0200d 0); for i in $(seq 50); do mkdir $n; cd $n; done\n"
	    "touch f; chmod 0 .",
	    "success");
	call(literal(arena, "{'name': 'stop_shell'}"), "shell_tool", "{}");
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

	setenv("TMPDIR", folder, 1);
	left = arena_printf(arena, "%s/flotilla-shell-Gone00", folder);
	other = arena_printf(arena, "%s/flotilla-other", folder);
	ck_assert_int_eq(mkdir(other, 0700), 0);
	ck_assert_int_eq(
	    system(arena_printf(
		arena, "mkdir -p %s/a && touch %s/a/b && chmod 0 %s", left, left, left)),
	    0);
	ck_assert_int_eq(
	    symlink(other, arena_printf(arena, "%s/flotilla-shell-Link00", folder)), 0);
	begin("");
	live = arena_printf(arena, "%s", run("pwd", "success"));
	shell_sessions_open(trial.loop);
	loop_run_until(trial.loop, is_gone, (void *)left);
	shell_sessions_close(trial.loop);
	ck_assert_int_eq(access(live, F_OK), -1);
	ck_assert_int_eq(access(other, F_OK), 0);
}
END_TEST

START_TEST(what_lives_is_not_left_behind)
{
	const char *live;
	pid_t other;
	int status;

	setenv("TMPDIR", folder, 1);
	begin("");
	live = arena_printf(arena, "%s", run("pwd; touch a", "success"));
	other = fork();
	if (other == 0) {
		shell_folders_sweep(NULL, &(const atomic_bool){ false });
		_exit(0);
	}
	ck_assert_int_eq(waitpid(other, &status, 0), other);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(access(arena_printf(arena, "%s/a", live), F_OK), 0);
}
END_TEST

START_TEST(a_folder_that_is_given_is_made_and_stays)
{
	const char *path = arena_printf(arena, "%s/work/space", folder);

	begin(arena_printf(arena, "'workspace_root': '%s', 'env': {'A': 'b c'}", path));
	ck_assert_str_eq(run("pwd; echo $A; echo $HOME", "success"),
	    arena_printf(arena, "%s\nb c\n%s", path, path));
	call(literal(arena, "{'name': 'stop_shell'}"), "shell_tool", "{}");
	ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

/* --- limits ------------------------------------------------------------------------- */

START_TEST(long_output_is_cut)
{
	begin("'max_output_lines': 2");
	ck_assert_str_eq(run("seq 1 1000", "success"),
	    "1\n2\n[Output truncated: it has 1000 lines, the limit is 2]");
	ck_assert(artifact("truncated_by_lines")->boolean);
	ck_assert_int_eq((int)artifact("total_lines")->integer, 1000);
	ck_assert_int_eq((int)artifact("total_bytes")->integer, 3893);
}
END_TEST

START_TEST(what_takes_too_long_is_killed_with_its_shell)
{
	const char *said, *pid;

	begin("'command_timeout': 0.3");
	pid =
	    arena_printf(arena, "%s", run("X=1; setsid sleep 1000 & echo $!", "success"));
	said = run("echo before; sleep 1000", "error");
	ck_assert_has(said, "Error: Command timed out after 0.3 seconds.");
	ck_assert_has(said, "before");
	ck_assert_has(said, "There is a new shell");
	ck_assert(artifact("timed_out")->boolean);
	ck_assert_str_eq(run("echo \"-$X\"", "success"), "-");
	ck_assert_int_eq(kill((pid_t)strtol(pid, NULL, 10), 0), -1);
}
END_TEST

START_TEST(a_command_that_ends_its_shell_is_told_so)
{
	const char *said;

	begin("");
	said = run("X=1; echo bye; exit 3", "error");
	ck_assert_has(
	    said, "bye\n[The command ended its shell, which ended with status 3.");
	ck_assert_str_eq(run("echo \"-$X\"", "success"), "-");
}
END_TEST

/* Who is no child of the shell holds its output open, and goes on writing to it. */
START_TEST(a_stranger_on_its_pipes_keeps_no_shell_from_ending)
{
	const char *pid;
	int theirs;

	begin("'command_timeout': 0.3");
	pid = arena_printf(arena, "%s", run("echo $$", "success"));
	theirs = open(
	    arena_printf(arena, "/proc/%s/fd/1", pid), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	ck_assert_int_ne(theirs, -1);
	ck_assert_has(run("echo mine; sleep 1000", "error"), "\nmine");
	ck_assert_str_eq(run("echo on", "success"), "on");
	pid = arena_printf(arena, "%s", run("echo $$", "success"));
	close(theirs);
	theirs = open(
	    arena_printf(arena, "/proc/%s/fd/1", pid), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	call(literal(arena, "{'name': 'stop_shell'}"), "shell_tool", "{}");
	ck_assert_uint_eq(shell_session_count(), 0);
	close(theirs);
}
END_TEST

START_TEST(limits_hold_for_what_it_starts)
{
	begin("'memory_bytes': 67108864, 'cpu_time_seconds': 5");
	ck_assert_str_eq(run("ulimit -d; ulimit -t", "success"), "65536\n5");
}
END_TEST

/* --- beginning and ending ------------------------------------------------------------ */

START_TEST(startup_commands_run_first_and_again_at_a_restart)
{
	begin("'startup_commands': ['cd /', 'X=7']");
	ck_assert_str_eq(run("pwd; echo $X; X=8; cd /tmp", "success"), "/\n7");
	shell("{'restart': true}");
	ck_assert_str_eq(
	    tool_trial_answer(&trial, "success"), "Shell session restarted.");
	ck_assert_str_eq(run("pwd; echo $X", "success"), "/\n7");
}
END_TEST

/* What a model hears of one is no less redacted than what its own commands write. */
START_TEST(a_startup_command_that_fails_at_a_restart_is_told)
{
	begin(arena_printf(arena,
	    "'workspace_root': '%s', 'redaction_rules': [{'pii_type': 'email'}],"
	    "'startup_commands': ['echo a@example.com; mkdir once']",
	    folder));
	shell("{'restart': true}");
	ck_assert_has(tool_trial_answer(&trial, "error"), "[REDACTED_EMAIL]");
	ck_assert_ptr_null(strstr(tool_trial_answer(&trial, "error"), "a@example"));
}
END_TEST

START_TEST(a_startup_command_that_fails_is_a_fault_and_leaves_nothing)
{
	begin("'startup_commands': ['true', 'echo no way >&2; exit 9']");
	ck_assert_str_eq(tool_trial_fault(&trial)->type, "RuntimeError");
	ck_assert_has(tool_trial_fault(&trial)->message, "startup command 2 failed");
	ck_assert_uint_eq(shell_session_count(), 0);
	begin("'startup_commands': ['echo no way >&2; false']");
	ck_assert_has(tool_trial_fault(&trial)->message, "status 1: [stderr] no way");
	begin("'shell_command': ['/no/such/shell']");
	ck_assert_has(
	    tool_trial_fault(&trial)->message, "/no/such/shell could not be run");
	ck_assert_uint_eq(shell_session_count(), 0);
}
END_TEST

START_TEST(shutdown_commands_run_at_the_end_and_their_failure_is_told)
{
	begin(arena_printf(
	    arena, "'shutdown_commands': ['echo $X >%s/end', 'false']", folder));
	run("X=5", "success");
	call(literal(arena, "{'name': 'stop_shell'}"), "shell_tool", "{}");
	ck_assert_str_eq(tool_trial_answer(&trial, "success"),
	    "shutdown command 2 failed with status 1");
	ck_assert_int_eq(access(arena_printf(arena, "%s/end", folder), F_OK), 0);
	/* Again, as who takes the run over does. */
	call(literal(arena, "{'name': 'stop_shell'}"), "shell_tool", "{}");
	ck_assert_str_eq(tool_trial_answer(&trial, "success"), "");
}
END_TEST

START_TEST(of_a_run_that_ended_otherwise_nothing_runs)
{
	begin(arena_printf(arena, "'shutdown_commands': ['echo x >%s/end']", folder));
	call(literal(arena, "{'name': 'stop_shell'}"), "shell_tool", "{\"ended\": true}");
	ck_assert_int_eq(access(arena_printf(arena, "%s/end", folder), F_OK), -1);
	ck_assert_uint_eq(shell_session_count(), 0);
}
END_TEST

/* --- what is lost --------------------------------------------------------------------- */

START_TEST(a_shell_that_is_gone_comes_back_only_when_it_is_asked_for)
{
	begin("");
	shell_sessions_close(trial.loop);
	ck_assert_has(run("echo a", "error"), "The shell is gone");
	ck_assert(value_get_bool(value_get(trial.state, FIELD), "lost", false));
	ck_assert_ptr_null(value_get_text(value_get(trial.state, FIELD), "worker"));
	ck_assert_has(run("echo a", "error"), "restart: true");
	ck_assert_uint_eq(shell_session_count(), 0);
	shell("{'restart': true}");
	ck_assert_str_eq(value_get_text(value_get(trial.state, FIELD), "worker"), "this");
	ck_assert_str_eq(run("echo a", "success"), "a");
}
END_TEST

START_TEST(it_may_be_asked_for_by_the_settings)
{
	begin("'restart_lost': true");
	shell_sessions_close(trial.loop);
	ck_assert_str_eq(run("echo a", "success"),
	    "[The shell was gone, with its folder, variables and programs: this is a new "
	    "one.]\na");
	ck_assert_str_eq(run("echo b", "success"), "b");
}
END_TEST

START_TEST(nobody_uses_the_shell_of_another_thread)
{
	begin("");
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
	const char *there = arena_printf(arena, "%s/there", folder);

	begin("");
	trial.cancels = when_it_writes;
	trial.arg = (void *)there;
	call(value_at(use->tools, 0), NULL,
	    arena_printf(arena, "{\"command\": \"echo >%s; sleep 1000\"}", there));
	ck_assert(tool_trial_fault(&trial)->control);
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
	begin("'idle_timeout': 1");
	ck_assert_uint_eq(shell_session_count(), 1);
	loop_run_until(trial.loop, are_none, NULL);
	ck_assert_has(run("echo a", "error"), "The shell is gone");
}
END_TEST

/* --- the sandbox ---------------------------------------------------------------------- */

START_TEST(in_bubblewrap_there_is_its_folder_and_nothing_else)
{
	const char *outside = arena_printf(arena, "%s/outside", folder);

	if (system("bwrap --unshare-all --ro-bind / / true 2>/dev/null") != 0)
		return; /* no namespaces here: docs/security.md */
	ck_assert_int_eq(symlink("/", outside), 0);
	begin("'policy': 'bubblewrap'");
	ck_assert_str_eq(
	    run("pwd; echo x >a; cat a; id -un >/dev/null 2>&1; echo $HOME", "success"),
	    "/workspace\nx\n/workspace");
	ck_assert_str_eq(
	    run("ls /sys/class/net 2>/dev/null; cat /proc/net/dev | grep -c :",
		"success"),
	    "1");
	ck_assert_has(run("cat /etc/shadow", "error"), "No such file");
	ck_assert_has(run(arena_printf(arena, "ls %s", folder), "error"), "No such file");
	ck_assert_str_eq(run("for i in / /etc /usr /proc/sys/kernel/core_pattern; do\n"
			     "test -w $i && echo $i; done; true",
			     "success"),
	    "<no output>");
	ck_assert_str_eq(
	    run("test $(ls /proc | grep -cE '^[0-9]+$') -lt 9 && echo alone", "success"),
	    "alone");
}
END_TEST

START_TEST(a_sandbox_that_cannot_be_is_told)
{
	begin("'policy': 'bubblewrap', 'shell_command': ['/no/such/shell']");
	ck_assert_has(tool_trial_fault(&trial)->message, "bubblewrap (bwrap) ended");
	ck_assert_has(tool_trial_fault(&trial)->message, "/no/such/shell");
}
END_TEST

/* --- arguments, redaction, names ------------------------------------------------------- */

START_TEST(it_takes_a_command_or_restart)
{
	begin("");
	shell("{}");
	ck_assert_has(tool_trial_answer(&trial, "error"), "either a command");
	shell("{'command': 'true', 'restart': true}");
	ck_assert_has(tool_trial_answer(&trial, "error"), "either a command");
	shell("{'command': 'echo a', 'restart': null}");
	ck_assert_str_eq(tool_trial_answer(&trial, "success"), "a");
}
END_TEST

START_TEST(what_is_private_does_not_come_out)
{
	begin(
	    "'redaction_rules': [{'pii_type': 'email'}, {'pii_type': 'key', 'detector': "
	    "'sk-[a-z]+', 'strategy': 'block'}]");
	ck_assert_str_eq(run("echo to a@example.com", "success"), "to [REDACTED_EMAIL]");
	ck_assert_value(
	    arena, artifact("redaction_matches"), "[{'pii_type': 'email', 'count': 1}]");
	ck_assert_str_eq(run("echo sk-abc", "error"), "Output blocked: detected key.");
}
END_TEST

START_TEST(the_tool_may_have_another_name)
{
	begin("'tool_name': 'bash', 'tool_description': 'Runs.'");
	ck_assert_str_eq(value_get_text(value_at(use->tools, 0), "name"), "bash");
	ck_assert_str_eq(value_get_text(value_at(use->tools, 0), "description"), "Runs.");
	ck_assert_uint_eq(value_size(use->tools), 1);
	ck_assert_str_eq(run("echo a", "success"), "a");
	ck_assert_str_eq(value_get_text(message(), "name"), "bash");
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *
tcase_shell_tool(void)
{
	TCase *tcase = tcase_create("shell_tool");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, folder_variables_and_functions_stay);
	tcase_add_loop_test(
	    tcase, commands_say_what_they_wrote_and_how_they_ended, 0, COUNT(commands));
	tcase_add_test(tcase, the_folder_is_a_new_one_and_goes_with_the_shell);
	tcase_add_test(tcase, whatever_is_in_the_folder_goes);
	tcase_add_test(tcase, what_the_dead_left_behind_goes);
	tcase_add_test(tcase, what_lives_is_not_left_behind);
	tcase_add_test(tcase, a_folder_that_is_given_is_made_and_stays);
	tcase_add_test(tcase, long_output_is_cut);
	tcase_add_test(tcase, what_takes_too_long_is_killed_with_its_shell);
	tcase_add_test(tcase, a_command_that_ends_its_shell_is_told_so);
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
	tcase_add_test(tcase, in_bubblewrap_there_is_its_folder_and_nothing_else);
	tcase_add_test(tcase, a_sandbox_that_cannot_be_is_told);
	tcase_add_test(tcase, it_takes_a_command_or_restart);
	tcase_add_test(tcase, what_is_private_does_not_come_out);
	tcase_add_test(tcase, the_tool_may_have_another_name);
	return tcase;
}
