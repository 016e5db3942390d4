#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Interface under test */
#include "process.h"

#include "fiber.h"

#define NOBODY 65534

static struct loop *loop;
static struct arena *arena;
static struct fiber *fiber;
static struct process_options options;
static struct process_result result;
static const char *argv[4];
static char marker[] = "/tmp/flotilla-process-XXXXXX"; /* a folder for the scripts */

static const char *const environment[] = { "PATH=/usr/bin:/bin", "COLOUR=blue", NULL };

static void
setup(void)
{
	loop = loop_new();
	arena = arena_new();
	options = (struct process_options){ .argv = argv, .env = environment };
	ck_assert_ptr_nonnull(mkdtemp(marker));
	ck_assert_int_eq(chdir(marker), 0);
}

static void
teardown(void)
{
	static const char *const files[] = { "ready", "child", "ended" };

	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
		unlink(files[i]);
	ck_assert_int_eq(rmdir(marker), 0);
	arena_destroy(&arena);
	loop_destroy(&loop);
	process_close();
}

static bool
all_ended(void *arg)
{
	(void)arg;
	return fiber_count(loop) == 0;
}

static void
run_process(void *arg)
{
	struct process_result *result_r = arg;

	process_run(loop, arena, &options, result_r);
}

static void
run_shell(const char *script)
{
	argv[0] = "sh";
	argv[1] = "-c";
	argv[2] = script;
	fiber = fiber_start(loop, "process", run_process, &result);
	loop_run_until(loop, all_ended, NULL);
}

/* Until the script has made that file, and the loop has been there to see it. */
static bool
is_there(void *arg)
{
	return access(arg, F_OK) == 0;
}

static void
nothing(void *arg)
{
	(void)arg;
}

static void
run_shell_until(const char *script, const char *file)
{
	struct timer *tick = timer_start(loop, 1, 1, nothing, NULL);
	char name[32];

	snprintf(name, sizeof name, "%s", file);
	argv[0] = "sh";
	argv[1] = "-c";
	argv[2] = script;
	fiber = fiber_start(loop, "process", run_process, &result);
	loop_run_until(loop, is_there, name);
	timer_stop(&tick);
}

static void
finish(void)
{
	loop_run_until(loop, all_ended, NULL);
}

/* The process whose id the script wrote into that file has ended. */
static void
check_is_gone(const char *file)
{
	FILE *from = fopen(file, "r");
	char path[64], state = 'Z';
	int pid;

	ck_assert_ptr_nonnull(from);
	ck_assert_int_eq(fscanf(from, "%d", &pid), 1);
	fclose(from);
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	from = fopen(path, "r");
	if (from == NULL)
		return;
	ck_assert_int_eq(fscanf(from, "%*d %*s %c", &state), 1);
	fclose(from);
	ck_assert_msg(state == 'Z' || state == 'X', "%d is alive: %c", pid, state);
}

START_TEST(a_child_runs_and_its_output_error_and_status_come_back)
{
	run_shell("echo out; echo err >&2; exit 3");
	ck_assert_int_eq(result.end, PROCESS_EXITED);
	ck_assert_int_eq(result.status, 3);
	ck_assert_str_eq(result.output, "out\n");
	ck_assert_uint_eq(result.output_size, 4);
	ck_assert_str_eq(result.error, "err\n");
	ck_assert_uint_eq(result.error_size, 4);
	ck_assert_str_eq(result.reason, "");
}
END_TEST

START_TEST(a_child_without_output_gives_empty_texts)
{
	run_shell(":");
	ck_assert_int_eq(result.end, PROCESS_EXITED);
	ck_assert_int_eq(result.status, 0);
	ck_assert_str_eq(result.output, "");
	ck_assert_str_eq(result.error, "");
}
END_TEST

START_TEST(input_is_written_and_closed)
{
	size_t size = 300000; /* more than a pipe holds */
	char *input = malloc(size);

	memset(input, 'i', size);
	options.input = input;
	options.input_size = size;
	run_shell("cat");
	ck_assert_int_eq(result.end, PROCESS_EXITED);
	ck_assert_uint_eq(result.output_size, size);
	ck_assert_mem_eq(result.output, input, size);
	free(input);
}
END_TEST

START_TEST(input_that_nobody_reads_is_no_failure)
{
	size_t size = 300000;
	char *input = calloc(1, size);

	options.input = input;
	options.input_size = size;
	run_shell("exit 0");
	ck_assert_int_eq(result.end, PROCESS_EXITED);
	free(input);
}
END_TEST

START_TEST(without_input_stdin_is_at_its_end)
{
	run_shell("cat; readlink /proc/self/fd/0");
	ck_assert_str_eq(result.output, "/dev/null\n");
}
END_TEST

START_TEST(the_environment_is_exactly_what_was_given)
{
	setenv("SECRET", "of the worker", 1);
	argv[0] = "env";
	argv[1] = NULL;
	fiber_start(loop, "process", run_process, &result);
	finish();
	ck_assert_str_eq(result.output, "PATH=/usr/bin:/bin\nCOLOUR=blue\n");
	ck_assert_str_eq(getenv("SECRET"), "of the worker");
}
END_TEST

START_TEST(without_an_environment_there_is_none)
{
	options.env = NULL;
	argv[0] = "/usr/bin/env";
	argv[1] = NULL;
	fiber_start(loop, "process", run_process, &result);
	finish();
	ck_assert_int_eq(result.end, PROCESS_EXITED);
	ck_assert_str_eq(result.output, "");
}
END_TEST

START_TEST(the_child_begins_where_it_is_told)
{
	options.directory = "/usr";
	run_shell("pwd");
	ck_assert_str_eq(result.output, "/usr\n");
}
END_TEST

START_TEST(a_script_may_open_its_own_output)
{
	run_shell("echo out > /dev/stdout; echo err > /dev/stderr");
	ck_assert_str_eq(result.output, "out\n");
	ck_assert_str_eq(result.error, "err\n");
}
END_TEST

/* Even those that a library opened without O_CLOEXEC. */
START_TEST(the_child_has_none_of_our_descriptors)
{
	int leaky = open("/dev/null", O_RDONLY);
	int pair = socket(AF_UNIX, SOCK_STREAM, 0);

	ck_assert_int_ge(leaky, 3);
	run_shell("exec ls /proc/self/fd"); /* and ls's own, 3 */
	ck_assert_str_eq(result.output, "0\n1\n2\n3\n");
	close(leaky);
	close(pair);
}
END_TEST

#define ORDINARY_SIGNALS 0x7fffffffull /* 1 to 31, as in /proc/pid/status */

START_TEST(the_child_has_no_blocked_and_no_ignored_signals)
{
	unsigned long long is_blocked, is_ignored;
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGUSR1);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	signal(SIGHUP, SIG_IGN);
	run_shell("exec grep -E '^Sig(Blk|Ign)' /proc/self/status");
	/* 32 and 33 are glibc's own: nobody can change them, and whoever started us may
	 * have left them ignored. */
	ck_assert_int_eq(
	    sscanf(result.output, "SigBlk: %llx SigIgn: %llx", &is_blocked, &is_ignored),
	    2);
	ck_assert_uint_eq(is_blocked & ORDINARY_SIGNALS, 0);
	ck_assert_uint_eq(is_ignored & ORDINARY_SIGNALS, 0);
}
END_TEST

START_TEST(a_child_killed_by_a_signal_says_so)
{
	run_shell("echo before; kill -SEGV $$");
	ck_assert_int_eq(result.end, PROCESS_SIGNALLED);
	ck_assert_int_eq(result.status, SIGSEGV);
	ck_assert_str_eq(result.output, "before\n");
}
END_TEST

START_TEST(a_program_that_is_not_there_is_a_reason)
{
	argv[0] = "no-such-program";
	argv[1] = NULL;
	fiber_start(loop, "process", run_process, &result);
	finish();
	ck_assert_int_eq(result.end, PROCESS_NOT_STARTED);
	ck_assert_str_eq(
	    result.reason, "cannot run no-such-program: no such file or directory");
	ck_assert_str_eq(result.output, "");
	ck_assert_str_eq(result.error, "");
}
END_TEST

START_TEST(a_directory_that_is_not_there_is_a_reason)
{
	options.directory = "/no/such/folder";
	run_shell("pwd");
	ck_assert_int_eq(result.end, PROCESS_NOT_STARTED);
	ck_assert_str_eq(
	    result.reason, "cannot run sh in /no/such/folder: no such file or directory");
}
END_TEST

START_TEST(a_late_child_is_ended_and_what_it_said_is_kept)
{
	options.timeout_ms = 300;
	run_shell("echo early; echo $$ > child; exec sleep 600");
	ck_assert_int_eq(result.end, PROCESS_TIMEOUT);
	ck_assert_str_eq(result.output, "early\n");
	check_is_gone("child");
}
END_TEST

START_TEST(a_late_child_may_clean_up_within_its_grace)
{
	options.timeout_ms = 300;
	run_shell("trap 'echo bye > ended; exit 0' TERM; while :; do sleep 0.01; done");
	ck_assert_int_eq(result.end, PROCESS_TIMEOUT);
	ck_assert_int_eq(access("ended", F_OK), 0);
}
END_TEST

START_TEST(a_late_child_that_ignores_the_request_is_killed)
{
	options.timeout_ms = 300;
	run_shell("trap '' TERM; echo $$ > child; while :; do sleep 0.01; done");
	ck_assert_int_eq(result.end, PROCESS_TIMEOUT);
	check_is_gone("child");
}
END_TEST

START_TEST(a_child_that_is_too_loud_is_ended)
{
	options.output_bytes_max = 1000;
	run_shell("echo $$ > child; exec yes");
	ck_assert_int_eq(result.end, PROCESS_OUTPUT_LIMIT);
	ck_assert_uint_eq(result.output_size, 1000);
	ck_assert_uint_eq(strlen(result.output), 1000);
	check_is_gone("child");
}
END_TEST

/* It has exited before we read what it left in the pipe. */
START_TEST(too_much_output_left_by_an_exited_child_is_too_much)
{
	options.output_bytes_max = 100;
	run_shell("head -c 101 /dev/zero");
	ck_assert_int_eq(result.end, PROCESS_OUTPUT_LIMIT);
	ck_assert_uint_eq(result.output_size, 100);
}
END_TEST

START_TEST(output_of_just_the_limit_is_fine)
{
	options.output_bytes_max = 100000;
	run_shell("head -c 100000 /dev/zero");
	ck_assert_int_eq(result.end, PROCESS_EXITED);
	ck_assert_uint_eq(result.output_size, 100000);
}
END_TEST

START_TEST(of_errors_the_last_bytes_are_kept)
{
	options.error_bytes_max = 10;
	run_shell("head -c 1000000 /dev/zero >&2; printf %s the-very-last >&2");
	ck_assert_int_eq(result.end, PROCESS_EXITED);
	ck_assert_uint_eq(result.error_size, 10);
	ck_assert_str_eq(result.error, "-very-last");
}
END_TEST

static const char *const long_scripts[] = {
	"echo $$ > child; touch ready; exec sleep 600",
	"trap '' TERM; echo $$ > child; touch ready; while :; do sleep 0.01; done",
	/* a grandchild */
	"sleep 600 & echo $! > child; touch ready; wait",
	/* that neither holds the pipes nor minds SIGTERM */
	"(trap '' TERM; exec sleep 600) >/dev/null 2>&1 & echo $! >child; >ready; wait",
	/* a daemon, which has a session of its own and lost its parent */
	"setsid sh -c 'sh -c \"echo \\$\\$ >child; >ready; exec sleep 600\" &'; sleep 9",
};

START_TEST(a_cancel_ends_the_whole_group_before_it_returns)
{
	run_shell_until(long_scripts[_i], "ready");
	fiber_cancel(fiber);
	finish();
	ck_assert_int_eq(result.end, PROCESS_CANCELLED);
	check_is_gone("child");
}
END_TEST

START_TEST(a_fiber_cancelled_before_starts_nothing)
{
	argv[0] = "sh";
	argv[1] = "-c";
	argv[2] = "touch ready";
	fiber_cancel(fiber_start(loop, "process", run_process, &result));
	finish();
	ck_assert_int_eq(result.end, PROCESS_CANCELLED);
	ck_assert_int_eq(access("ready", F_OK), -1);
}
END_TEST

START_TEST(grandchildren_that_hold_the_pipes_are_ended)
{
	run_shell("sleep 600 & echo $! > child; echo done");
	ck_assert_int_eq(result.end, PROCESS_EXITED);
	ck_assert_int_eq(result.status, 0);
	ck_assert_str_eq(result.output, "done\n");
	check_is_gone("child");
}
END_TEST

START_TEST(grandchildren_that_do_not_are_ended_too)
{
	run_shell("sleep 600 > /dev/null 2>&1 & echo $! > child; echo done");
	ck_assert_int_eq(result.end, PROCESS_EXITED);
	ck_assert_str_eq(result.output, "done\n");
	check_is_gone("child");
}
END_TEST

START_TEST(a_grandchild_that_left_the_group_is_ended_too)
{
	run_shell("setsid sh -c 'echo $$ > child; exec sleep 600' & "
		  "while ! [ -s child ]; do sleep 0.01; done; echo done");
	ck_assert_int_eq(result.end, PROCESS_EXITED);
	ck_assert_str_eq(result.output, "done\n");
	check_is_gone("child");
}
END_TEST

static int
id_in(const char *file)
{
	FILE *from = fopen(file, "r");
	int pid;

	ck_assert_ptr_nonnull(from);
	ck_assert_int_eq(fscanf(from, "%d", &pid), 1);
	fclose(from);
	return pid;
}

static bool
ended_is_gone(void *arg)
{
	(void)arg;
	return kill(id_in("ended"), 0) == -1;
}

/* The kernel ends the child, the starter what that had started. */
START_TEST(a_child_without_its_minder_is_ended_and_so_is_what_it_started)
{
	struct timer *tick = timer_start(loop, 1, 1, nothing, NULL);

	run_shell_until(
	    "setsid sleep 600 & echo $! >ended; echo $$ >child; echo $PPID >new; "
	    "mv new ready; exec sleep 600",
	    "ready");
	ck_assert_int_eq(kill(id_in("ready"), SIGKILL), 0);
	finish();
	ck_assert_int_eq(result.end, PROCESS_SIGNALLED);
	ck_assert_int_eq(result.status, SIGKILL);
	check_is_gone("child");
	loop_run_until(loop, ended_is_gone, NULL);
	timer_stop(&tick);
}
END_TEST

START_TEST(another_starter_takes_the_place_of_one_that_was_killed)
{
	/* The shell's parent is the minder, the minder's the starter. */
	run_shell("cut -d ' ' -f 4 /proc/$PPID/stat >child");
	ck_assert_int_eq(kill(id_in("child"), SIGKILL), 0);
	run_shell("echo again");
	ck_assert_int_eq(result.end, PROCESS_EXITED);
	ck_assert_str_eq(result.output, "again\n");
}
END_TEST

/* Not as root, for whom the limit is none. */
static _Noreturn void
run_without_forks(void)
{
	const struct rlimit none = { 0, 0 };

	if (geteuid() == 0)
		ck_assert_int_eq(setresuid(NOBODY, NOBODY, NOBODY), 0);
	loop = loop_new();
	run_shell("cut -d ' ' -f 4 /proc/$PPID/stat >child");
	ck_assert_int_eq(prlimit(id_in("child"), RLIMIT_NPROC, &none, NULL), 0);
	run_shell("echo never");
	ck_assert_int_eq(result.end, PROCESS_NOT_STARTED);
	ck_assert_str_eq(
	    result.reason, "cannot run sh: resource temporarily unavailable");
	_exit(EXIT_SUCCESS);
}

/* What never began must not look as if it had ended: it may be started again. */
START_TEST(a_starter_that_cannot_fork_says_so)
{
	pid_t pid;
	int status;

	ck_assert_int_eq(chmod(".", 0777), 0);
	pid = fork();
	ck_assert_int_ne(pid, -1);
	if (pid == 0)
		run_without_forks();
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

#define CROWD 20

START_TEST(many_children_run_side_by_side)
{
	struct process_result results[CROWD];

	argv[0] = "sh";
	argv[1] = "-c";
	argv[2] = "head -c 200000 /dev/zero; echo end >&2; exit 5";
	for (int i = 0; i < CROWD; i++)
		fiber_start(loop, "process", run_process, &results[i]);
	finish();
	for (int i = 0; i < CROWD; i++) {
		ck_assert_int_eq(results[i].end, PROCESS_EXITED);
		ck_assert_int_eq(results[i].status, 5);
		ck_assert_uint_eq(results[i].output_size, 200000);
		ck_assert_str_eq(results[i].error, "end\n");
	}
}
END_TEST

TCase *tcase_process(void);

TCase *
tcase_process(void)
{
	TCase *tcase = tcase_create("process");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_child_runs_and_its_output_error_and_status_come_back);
	tcase_add_test(tcase, a_child_without_output_gives_empty_texts);
	tcase_add_test(tcase, input_is_written_and_closed);
	tcase_add_test(tcase, input_that_nobody_reads_is_no_failure);
	tcase_add_test(tcase, without_input_stdin_is_at_its_end);
	tcase_add_test(tcase, the_environment_is_exactly_what_was_given);
	tcase_add_test(tcase, without_an_environment_there_is_none);
	tcase_add_test(tcase, the_child_begins_where_it_is_told);
	tcase_add_test(tcase, a_script_may_open_its_own_output);
	tcase_add_test(tcase, the_child_has_none_of_our_descriptors);
	tcase_add_test(tcase, the_child_has_no_blocked_and_no_ignored_signals);
	tcase_add_test(tcase, a_child_killed_by_a_signal_says_so);
	tcase_add_test(tcase, a_program_that_is_not_there_is_a_reason);
	tcase_add_test(tcase, a_directory_that_is_not_there_is_a_reason);
	tcase_add_test(tcase, a_late_child_is_ended_and_what_it_said_is_kept);
	tcase_add_test(tcase, a_late_child_may_clean_up_within_its_grace);
	tcase_add_test(tcase, a_late_child_that_ignores_the_request_is_killed);
	tcase_add_test(tcase, a_child_that_is_too_loud_is_ended);
	tcase_add_test(tcase, too_much_output_left_by_an_exited_child_is_too_much);
	tcase_add_test(tcase, output_of_just_the_limit_is_fine);
	tcase_add_test(tcase, of_errors_the_last_bytes_are_kept);
	tcase_add_loop_test(tcase, a_cancel_ends_the_whole_group_before_it_returns, 0,
	    sizeof long_scripts / sizeof long_scripts[0]);
	tcase_add_test(tcase, a_fiber_cancelled_before_starts_nothing);
	tcase_add_test(tcase, grandchildren_that_hold_the_pipes_are_ended);
	tcase_add_test(tcase, grandchildren_that_do_not_are_ended_too);
	tcase_add_test(tcase, a_grandchild_that_left_the_group_is_ended_too);
	tcase_add_test(
	    tcase, a_child_without_its_minder_is_ended_and_so_is_what_it_started);
	tcase_add_test(tcase, another_starter_takes_the_place_of_one_that_was_killed);
	tcase_add_test(tcase, a_starter_that_cannot_fork_says_so);
	tcase_add_test(tcase, many_children_run_side_by_side);
	return tcase;
}
