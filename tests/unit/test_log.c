#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Interface under test */
#include "log.h"

static int fds[2]; /* our stderr, both ends */
static char said[10000];

static void
setup(void)
{
	unsetenv("JOURNAL_STREAM");
	ck_assert_int_eq(pipe(fds), 0);
	dup2(fds[1], STDERR_FILENO);
	close(fds[1]);
}

/* Reads the one line that was said; "" when none was. Ends with an empty stderr. */
static const char *
line(void)
{
	ssize_t got;

	fputs("|", stderr); /* so that there is something to read */
	got = read(fds[0], said, sizeof said - 1);
	ck_assert_int_ge(got, 1);
	ck_assert_int_eq(said[got - 1], '|');
	said[got - 1] = '\0';
	return said;
}

START_TEST(a_line_has_level_name_and_text)
{
	log_open("broker-1", LOG_LEVEL_DEBUG);
	log_info("call=%s step=%d taken", "c1", 3);
	ck_assert_str_eq(line(), "info broker-1: call=c1 step=3 taken\n");
	log_debug("a");
	ck_assert_str_eq(line(), "debug broker-1: a\n");
	log_warnx("b");
	ck_assert_str_eq(line(), "warn broker-1: b\n");
}
END_TEST

START_TEST(a_warning_adds_errno_and_all_of_them_keep_it)
{
	log_open("broker-1", LOG_LEVEL_INFO);
	errno = ENOENT;
	log_warn("open %s", "x");
	ck_assert_str_eq(line(), "warn broker-1: open x: No such file or directory\n");
	ck_assert_int_eq(errno, ENOENT);
}
END_TEST

START_TEST(what_is_over_the_level_is_not_said)
{
	log_open("broker-1", LOG_LEVEL_WARN);
	ck_assert(!log_is_debug());
	log_debug("a");
	log_info("b");
	ck_assert_str_eq(line(), "");
	log_warnx("c");
	ck_assert_str_eq(line(), "warn broker-1: c\n");
	log_open("broker-1", LOG_LEVEL_DEBUG);
	ck_assert(log_is_debug());
}
END_TEST

START_TEST(text_from_outside_begins_no_line_of_its_own)
{
	log_open("broker-1", LOG_LEVEL_INFO);
	log_info("reason=%s", "x\nerror broker-1: forged\r\x1b[2J");
	ck_assert_str_eq(line(), "info broker-1: reason=x error broker-1: forged  [2J\n");
}
END_TEST

START_TEST(an_overlong_text_is_cut)
{
	static char text[9000];

	log_open("broker-1", LOG_LEVEL_INFO);
	memset(text, 'x', sizeof text - 1);
	log_info("%s", text);
	ck_assert_uint_eq(strlen(line()), 4096);
	ck_assert_int_eq(said[4095], '\n');
}
END_TEST

START_TEST(a_journal_gets_its_prefixes_when_it_is_really_there)
{
	char stream[64];
	struct stat st;

	setenv("JOURNAL_STREAM", "1:2", 1);
	log_open("broker-1", LOG_LEVEL_INFO);
	log_info("a");
	ck_assert_str_eq(line(), "info broker-1: a\n");
	ck_assert_int_eq(fstat(STDERR_FILENO, &st), 0);
	snprintf(
	    stream, sizeof stream, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_open("broker-1", LOG_LEVEL_INFO);
	log_info("a");
	ck_assert_str_eq(line(), "<6>broker-1: a\n");
	log_warnx("b");
	ck_assert_str_eq(line(), "<4>broker-1: b\n");
}
END_TEST

START_TEST(fatal_says_it_and_exits_with_1)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		log_open("broker-1", LOG_LEVEL_ERROR);
		errno = EACCES;
		if (_i == 0)
			fatal("no shard");
		fatalx("no shard");
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	ck_assert_str_eq(line(), _i == 0 ? "error broker-1: no shard: Permission denied\n"
					 : "error broker-1: no shard\n");
}
END_TEST

TCase *tcase_log(void);

TCase *
tcase_log(void)
{
	TCase *tcase = tcase_create("log");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, a_line_has_level_name_and_text);
	tcase_add_test(tcase, a_warning_adds_errno_and_all_of_them_keep_it);
	tcase_add_test(tcase, what_is_over_the_level_is_not_said);
	tcase_add_test(tcase, text_from_outside_begins_no_line_of_its_own);
	tcase_add_test(tcase, an_overlong_text_is_cut);
	tcase_add_test(tcase, a_journal_gets_its_prefixes_when_it_is_really_there);
	tcase_add_loop_test(tcase, fatal_says_it_and_exits_with_1, 0, 2);
	return tcase;
}
