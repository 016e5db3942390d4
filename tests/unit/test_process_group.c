/* What a child has started ends with it, and what becomes of it without those who start and mind it. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Interface under test */
#include "process_bench.h"

TCase *tcase_process_group(void);

#define NOBODY 65534

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
	pb_run_shell_until(long_scripts[_i], "ready");
	fiber_cancel(pb.fiber);
	pb_finish();
	ck_assert_int_eq(pb.result.end, PROCESS_CANCELLED);
	pb_check_is_gone("child");
}
END_TEST

START_TEST(a_fiber_cancelled_before_starts_nothing)
{
	pb.argv[0] = "sh";
	pb.argv[1] = "-c";
	pb.argv[2] = "touch ready";
	fiber_cancel(fiber_start(pb.loop, "process", pb_run_process, &pb.result));
	pb_finish();
	ck_assert_int_eq(pb.result.end, PROCESS_CANCELLED);
	ck_assert_int_eq(access("ready", F_OK), -1);
}
END_TEST

START_TEST(grandchildren_that_hold_the_pipes_are_ended)
{
	pb_run_shell("sleep 600 & echo $! > child; echo done");
	ck_assert_int_eq(pb.result.end, PROCESS_EXITED);
	ck_assert_int_eq(pb.result.status, 0);
	ck_assert_str_eq(pb.result.output, "done\n");
	pb_check_is_gone("child");
}
END_TEST

START_TEST(grandchildren_that_do_not_are_ended_too)
{
	pb_run_shell("sleep 600 > /dev/null 2>&1 & echo $! > child; echo done");
	ck_assert_int_eq(pb.result.end, PROCESS_EXITED);
	ck_assert_str_eq(pb.result.output, "done\n");
	pb_check_is_gone("child");
}
END_TEST

START_TEST(a_grandchild_that_left_the_group_is_ended_too)
{
	pb_run_shell("setsid sh -c 'echo $$ > child; exec sleep 600' & "
		     "while ! [ -s child ]; do sleep 0.01; done; echo done");
	ck_assert_int_eq(pb.result.end, PROCESS_EXITED);
	ck_assert_str_eq(pb.result.output, "done\n");
	pb_check_is_gone("child");
}
END_TEST

/* More dead at once than one look at the list of children shows, and nobody left whose death would
 * have it looked at again: the minder stands still until then. */
START_TEST(of_very_many_dead_none_is_left_over)
{
	pb_run_shell("minder=$PPID; kill -STOP $minder; i=0; "
		     "while [ $i -lt 2500 ]; do (: &); i=$((i + 1)); done; "
		     "(while ! grep -q '^State:.Z' /proc/$$/status; do :; done; "
		     "kill -CONT $minder) >/dev/null 2>&1 & echo done");
	ck_assert_int_eq(pb.result.end, PROCESS_EXITED);
	ck_assert_str_eq(pb.result.output, "done\n");
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
	struct timer *tick = timer_start(pb.loop, 1, 1, pb_nothing, NULL);

	pb_run_shell_until(
	    "setsid sleep 600 & echo $! >ended; echo $$ >child; echo $PPID >new; "
	    "mv new ready; exec sleep 600",
	    "ready");
	ck_assert_int_eq(kill(id_in("ready"), SIGKILL), 0);
	pb_finish();
	ck_assert_int_eq(pb.result.end, PROCESS_SIGNALLED);
	ck_assert_int_eq(pb.result.status, SIGKILL);
	pb_check_is_gone("child");
	loop_run_until(pb.loop, ended_is_gone, NULL);
	timer_stop(&tick);
}
END_TEST

START_TEST(another_starter_takes_the_place_of_one_that_was_killed)
{
	/* The shell's parent is the minder, the minder's the starter. */
	pb_run_shell("cut -d ' ' -f 4 /proc/$PPID/stat >child");
	ck_assert_int_eq(kill(id_in("child"), SIGKILL), 0);
	pb_run_shell("echo again");
	ck_assert_int_eq(pb.result.end, PROCESS_EXITED);
	ck_assert_str_eq(pb.result.output, "again\n");
}
END_TEST

/* Not as root, for whom the limit is none. */
static void
run_without_forks(void)
{
	const struct rlimit none = { 0, 0 };

	if (geteuid() == 0)
		ck_assert_int_eq(setresuid(NOBODY, NOBODY, NOBODY), 0);
	pb.loop = loop_new();
	pb_run_shell("cut -d ' ' -f 4 /proc/$PPID/stat >child");
	ck_assert_int_eq(prlimit(id_in("child"), RLIMIT_NPROC, &none, NULL), 0);
	pb_run_shell("echo never");
	ck_assert_int_eq(pb.result.end, PROCESS_NOT_STARTED);
	ck_assert_str_eq(
	    pb.result.reason, "cannot run sh: resource temporarily unavailable");
	_exit(EXIT_SUCCESS);
}

static void
run_as_another(void (*run)(void))
{
	pid_t pid;
	int status;

	ck_assert_int_eq(chmod(".", 0777), 0);
	pid = fork();
	ck_assert_int_ne(pid, -1);
	if (pid == 0)
		run();
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

/* What never began must not look as if it had ended: it may be started again. */
START_TEST(a_starter_that_cannot_fork_says_so)
{
	run_as_another(run_without_forks);
}
END_TEST

/* Not as root, who sees all. The starter is forked before we have said what may be seen of us. */
static void
look_around(void)
{
	if (geteuid() == 0)
		ck_assert_int_eq(setresuid(NOBODY, NOBODY, NOBODY), 0);
	ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
	pb.loop = loop_new();
	pb_run_shell("cat /proc/$$/environ >/dev/null && echo itself; "
		     "cat /proc/$PPID/environ && echo minder; "
		     "cat /proc/$(cut -d ' ' -f 4 /proc/$PPID/stat)/environ && "
		     "echo starter; exit 0");
	ck_assert_str_eq(pb.result.output, "itself\n");
	_exit(EXIT_SUCCESS);
}

START_TEST(a_child_sees_nothing_of_those_who_mind_it)
{
	run_as_another(look_around);
}
END_TEST

/* As a supervisor may start us. The starter's socket is none of these: what is logged would go there. */
static void
run_without_standard_descriptors(void)
{
	pid_t starter;
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		close(fd);
	process_open();
	pb.loop = loop_new();
	pb_run_shell("cut -d ' ' -f 4 /proc/$PPID/stat >child");
	starter = id_in("child");
	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (write(fd, "a line\n", 7) != 7)
			_exit(10 + fd);
	pb_run_shell("cut -d ' ' -f 4 /proc/$PPID/stat >child");
	_exit(id_in("child") == starter ? EXIT_SUCCESS : 20);
}

START_TEST(the_starter_takes_no_descriptor_that_others_write_to)
{
	run_as_another(run_without_standard_descriptors);
}
END_TEST

TCase *
tcase_process_group(void)
{
	TCase *tcase = tcase_create("process_group");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, pb_setup, pb_teardown);
	tcase_add_loop_test(tcase, a_cancel_ends_the_whole_group_before_it_returns, 0,
	    sizeof long_scripts / sizeof long_scripts[0]);
	tcase_add_test(tcase, a_fiber_cancelled_before_starts_nothing);
	tcase_add_test(tcase, grandchildren_that_hold_the_pipes_are_ended);
	tcase_add_test(tcase, grandchildren_that_do_not_are_ended_too);
	tcase_add_test(tcase, a_grandchild_that_left_the_group_is_ended_too);
	tcase_add_test(tcase, of_very_many_dead_none_is_left_over);
	tcase_add_test(
	    tcase, a_child_without_its_minder_is_ended_and_so_is_what_it_started);
	tcase_add_test(tcase, another_starter_takes_the_place_of_one_that_was_killed);
	tcase_add_test(tcase, a_starter_that_cannot_fork_says_so);
	tcase_add_test(tcase, a_child_sees_nothing_of_those_who_mind_it);
	tcase_add_test(tcase, the_starter_takes_no_descriptor_that_others_write_to);
	return tcase;
}
