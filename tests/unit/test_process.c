/* One child: what it gets, what it says, how it ends. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Interface under test */
#include "process_bench.h"

TCase *tcase_process(void);

START_TEST(a_child_runs_and_its_output_error_and_status_come_back)
{
	pb_run_shell("echo out; echo err >&2; exit 3");
	ck_assert_int_eq(pb.result.end, PROCESS_EXITED);
	ck_assert_int_eq(pb.result.status, 3);
	ck_assert_str_eq(pb.result.output, "out\n");
	ck_assert_uint_eq(pb.result.output_size, 4);
	ck_assert_str_eq(pb.result.error, "err\n");
	ck_assert_uint_eq(pb.result.error_size, 4);
	ck_assert_str_eq(pb.result.reason, "");
}
END_TEST

START_TEST(a_child_without_output_gives_empty_texts)
{
	pb_run_shell(":");
	ck_assert_int_eq(pb.result.end, PROCESS_EXITED);
	ck_assert_int_eq(pb.result.status, 0);
	ck_assert_str_eq(pb.result.output, "");
	ck_assert_str_eq(pb.result.error, "");
}
END_TEST

START_TEST(input_is_written_and_closed)
{
	size_t size = 300000; /* more than a pipe holds */
	char *input = malloc(size);

	memset(input, 'i', size);
	pb.options.input = input;
	pb.options.input_size = size;
	pb_run_shell("cat");
	ck_assert_int_eq(pb.result.end, PROCESS_EXITED);
	ck_assert_uint_eq(pb.result.output_size, size);
	ck_assert_mem_eq(pb.result.output, input, size);
	free(input);
}
END_TEST

START_TEST(input_that_nobody_reads_is_no_failure)
{
	size_t size = 300000;
	char *input = calloc(1, size);

	pb.options.input = input;
	pb.options.input_size = size;
	pb_run_shell("exit 0");
	ck_assert_int_eq(pb.result.end, PROCESS_EXITED);
	free(input);
}
END_TEST

START_TEST(without_input_stdin_is_at_its_end)
{
	pb_run_shell("cat; readlink /proc/self/fd/0");
	ck_assert_str_eq(pb.result.output, "/dev/null\n");
}
END_TEST

START_TEST(the_environment_is_exactly_what_was_given)
{
	setenv("SECRET", "of the worker", 1);
	pb.argv[0] = "env";
	pb.argv[1] = NULL;
	fiber_start(pb.loop, "process", pb_run_process, &pb.result);
	pb_finish();
	ck_assert_str_eq(pb.result.output, "PATH=/usr/bin:/bin\nCOLOUR=blue\n");
	ck_assert_str_eq(getenv("SECRET"), "of the worker");
}
END_TEST

START_TEST(without_an_environment_there_is_none)
{
	pb.options.env = NULL;
	pb.argv[0] = "/usr/bin/env";
	pb.argv[1] = NULL;
	fiber_start(pb.loop, "process", pb_run_process, &pb.result);
	pb_finish();
	ck_assert_int_eq(pb.result.end, PROCESS_EXITED);
	ck_assert_str_eq(pb.result.output, "");
}
END_TEST

START_TEST(the_child_begins_where_it_is_told)
{
	pb.options.directory = "/usr";
	pb_run_shell("pwd");
	ck_assert_str_eq(pb.result.output, "/usr\n");
}
END_TEST

START_TEST(a_script_may_open_its_own_output)
{
	pb_run_shell("echo out > /dev/stdout; echo err > /dev/stderr");
	ck_assert_str_eq(pb.result.output, "out\n");
	ck_assert_str_eq(pb.result.error, "err\n");
}
END_TEST

/* Even those that a library opened without O_CLOEXEC. */
START_TEST(the_child_has_none_of_our_descriptors)
{
	int leaky = open("/dev/null", O_RDONLY);
	int pair = socket(AF_UNIX, SOCK_STREAM, 0);

	ck_assert_int_ge(leaky, 3);
	pb_run_shell("exec ls /proc/self/fd"); /* and ls's own, 3 */
	ck_assert_str_eq(pb.result.output, "0\n1\n2\n3\n");
	close(leaky);
	close(pair);
}
END_TEST

static void
on_line(void *arg, const char *line, size_t size)
{
	const char **told = arg;

	*told = arena_printf(pb.arena, "%s[%.*s]", *told, (int)size, line);
}

/* In pieces, without a newline at its end, from a grandchild; and what is none, or too long. */
START_TEST(what_a_child_streams_comes_line_by_line)
{
	const char *told = "";

	pb.options.on_line = on_line;
	pb.options.line_arg = &told;
	pb.options.line_bytes_max = 8;
	pb_run_shell(
	    "printf 'a\\nb' >&3; (echo c >&3); printf '\\n\\n12345678\\n123456789\\n'"
	    " >&3; echo out; printf end >&3; exec ls /proc/self/fd");
	ck_assert_str_eq(told, "[a][bc][12345678][end]");
	ck_assert_str_eq(pb.result.output, "out\n0\n1\n2\n3\n4\n");
}
END_TEST

/* As output does, it keeps the call from its end, and is ended. */
START_TEST(a_grandchild_that_holds_the_stream_is_ended)
{
	const char *told = "";

	pb.options.on_line = on_line;
	pb.options.line_arg = &told;
	pb.options.line_bytes_max = 8;
	pb.options.grace_ms = 1;
	pb_run_shell("sleep 600 >/dev/null 2>&1 & echo a >&3");
	ck_assert_str_eq(told, "[a]");
	ck_assert_int_eq(pb.result.end, PROCESS_EXITED);
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
	pb_run_shell("exec grep -E '^Sig(Blk|Ign)' /proc/self/status");
	/* 32 and 33 are glibc's own: nobody can change them, and whoever started us may
	 * have left them ignored. */
	ck_assert_int_eq(sscanf(pb.result.output, "SigBlk: %llx SigIgn: %llx",
			     &is_blocked, &is_ignored),
	    2);
	ck_assert_uint_eq(is_blocked & ORDINARY_SIGNALS, 0);
	ck_assert_uint_eq(is_ignored & ORDINARY_SIGNALS, 0);
}
END_TEST

START_TEST(a_child_killed_by_a_signal_says_so)
{
	pb_run_shell("echo before; kill -SEGV $$");
	ck_assert_int_eq(pb.result.end, PROCESS_SIGNALLED);
	ck_assert_int_eq(pb.result.status, SIGSEGV);
	ck_assert_str_eq(pb.result.output, "before\n");
}
END_TEST

START_TEST(a_program_that_is_not_there_is_a_reason)
{
	pb.argv[0] = "no-such-program";
	pb.argv[1] = NULL;
	fiber_start(pb.loop, "process", pb_run_process, &pb.result);
	pb_finish();
	ck_assert_int_eq(pb.result.end, PROCESS_NOT_STARTED);
	ck_assert_str_eq(
	    pb.result.reason, "cannot run no-such-program: no such file or directory");
	ck_assert_str_eq(pb.result.output, "");
	ck_assert_str_eq(pb.result.error, "");
}
END_TEST

START_TEST(a_directory_that_is_not_there_is_a_reason)
{
	pb.options.directory = "/no/such/folder";
	pb_run_shell("pwd");
	ck_assert_int_eq(pb.result.end, PROCESS_NOT_STARTED);
	ck_assert_str_eq(pb.result.reason,
	    "cannot run sh in /no/such/folder: no such file or directory");
}
END_TEST

START_TEST(a_late_child_is_ended_and_what_it_said_is_kept)
{
	pb_run_shell_late("echo early; echo $$ > child; > ready; exec sleep 600");
	ck_assert_str_eq(pb.result.output, "early\n");
	pb_check_is_gone("child");
}
END_TEST

START_TEST(a_late_child_may_clean_up_within_its_grace)
{
	pb.options.grace_ms = 60000; /* it ends by itself */
	pb_run_shell_late("trap 'echo bye > ended; exit 0' TERM; > ready; "
			  "while :; do sleep 0.01; done");
	ck_assert_int_eq(access("ended", F_OK), 0);
}
END_TEST

START_TEST(a_late_child_that_ignores_the_request_is_killed)
{
	pb_run_shell_late(
	    "trap '' TERM; echo $$ > child; > ready; while :; do sleep 0.01; done");
	pb_check_is_gone("child");
}
END_TEST

START_TEST(a_child_that_is_too_loud_is_ended)
{
	pb.options.output_bytes_max = 1000;
	pb_run_shell("echo $$ > child; exec yes");
	ck_assert_int_eq(pb.result.end, PROCESS_OUTPUT_LIMIT);
	ck_assert_uint_eq(pb.result.output_size, 1000);
	ck_assert_uint_eq(strlen(pb.result.output), 1000);
	pb_check_is_gone("child");
}
END_TEST

/* It has exited before we read what it left in the pipe. */
START_TEST(too_much_output_left_by_an_exited_child_is_too_much)
{
	pb.options.output_bytes_max = 100;
	pb_run_shell("head -c 101 /dev/zero");
	ck_assert_int_eq(pb.result.end, PROCESS_OUTPUT_LIMIT);
	ck_assert_uint_eq(pb.result.output_size, 100);
}
END_TEST

START_TEST(output_of_just_the_limit_is_fine)
{
	pb.options.output_bytes_max = 100000;
	pb_run_shell("head -c 100000 /dev/zero");
	ck_assert_int_eq(pb.result.end, PROCESS_EXITED);
	ck_assert_uint_eq(pb.result.output_size, 100000);
}
END_TEST

START_TEST(of_errors_the_last_bytes_are_kept)
{
	pb.options.error_bytes_max = 10;
	pb_run_shell("head -c 1000000 /dev/zero >&2; printf %s the-very-last >&2");
	ck_assert_int_eq(pb.result.end, PROCESS_EXITED);
	ck_assert_uint_eq(pb.result.error_size, 10);
	ck_assert_str_eq(pb.result.error, "-very-last");
}
END_TEST

#define CROWD 20

START_TEST(many_children_run_side_by_side)
{
	struct process_result results[CROWD];

	pb.argv[0] = "sh";
	pb.argv[1] = "-c";
	pb.argv[2] = "head -c 200000 /dev/zero; echo end >&2; exit 5";
	for (int i = 0; i < CROWD; i++)
		fiber_start(pb.loop, "process", pb_run_process, &results[i]);
	pb_finish();
	for (int i = 0; i < CROWD; i++) {
		ck_assert_int_eq(results[i].end, PROCESS_EXITED);
		ck_assert_int_eq(results[i].status, 5);
		ck_assert_uint_eq(results[i].output_size, 200000);
		ck_assert_str_eq(results[i].error, "end\n");
	}
}
END_TEST

TCase *
tcase_process(void)
{
	TCase *tcase = tcase_create("process");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, pb_setup, pb_teardown);
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
	tcase_add_test(tcase, what_a_child_streams_comes_line_by_line);
	tcase_add_test(tcase, a_grandchild_that_holds_the_stream_is_ended);
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
	tcase_add_test(tcase, many_children_run_side_by_side);
	return tcase;
}
