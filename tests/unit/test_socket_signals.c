/* Sockets in a process that gets signals: a ping goes to and fro between two of them, or many come at once. */
#include <check.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* Interface under test */
#include "socket.h"

TCase *tcase_socket_signals(void);

#define MANY 2000u
#define BURST 9000u /* of which one turn reads a few; the sockets hold them all */

static struct loop *loop;
static struct socket *router, *dealer;
static unsigned come, failed;
static bool answers;

/* Sends it back, whole, if it is to be answered. */
static void
on_message(void *arg, struct parts *parts, bool truncated)
{
	struct socket **socket = arg;
	size_t size = parts_size(parts, parts->count - 1);

	come++;
	failed += truncated || size != 4 ||
		  memcmp(parts_data(parts, parts->count - 1), "ping", 4) != 0;
	failed += answers && socket_send(*socket, parts) == -1;
}

static bool
have_come(void *arg)
{
	(void)arg;
	return come >= MANY;
}

static bool
have_all_come(void *arg)
{
	(void)arg;
	return come >= BURST;
}

static void
setup(void)
{
	const char *error;

	loop = loop_new();
	router = socket_router(loop, "tcp://127.0.0.1:*", on_message, &router, &error);
	ck_assert_msg(router != NULL, "%s", error);
	dealer =
	    socket_dealer(loop, socket_endpoint(router), on_message, &dealer, &error);
	ck_assert_msg(dealer != NULL, "%s", error);
	come = failed = 0;
	answers = true;
}

static void
teardown(void)
{
	socket_close(&dealer, 0);
	socket_close(&router, 0);
	socket_shutdown();
	loop_destroy(&loop);
}

static void
on_alarm(int number)
{
	(void)number;
}

/* Has a signal come each us; 0: none any more. */
static void
alarm_each(int us)
{
	const struct sigaction action = { .sa_handler = on_alarm };
	const struct itimerval often = { { 0, us }, { 0, us } };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
}

static void
send_ping(void)
{
	struct parts ping = { .count = 0 };

	parts_add(&ping, "ping", 4);
	ck_assert_int_eq(socket_send(dealer, &ping), 0);
}

START_TEST(signals_lose_no_message)
{
	alarm_each(100);
	send_ping();
	loop_run_until(loop, have_come, NULL);
	alarm_each(0);
	ck_assert_uint_eq(failed, 0);
}
END_TEST

/* Nobody sends anything meanwhile that would have the rest looked at. */
START_TEST(signals_leave_nothing_of_a_burst_unread)
{
	answers = false;
	for (unsigned i = 0; i < BURST; i++)
		send_ping();
	alarm_each(20);
	loop_run_until(loop, have_all_come, NULL);
	alarm_each(0);
	ck_assert_uint_eq(failed, 0);
}
END_TEST

/* Returns the mask of a thread's blocked signals. */
static unsigned long long
blocked_signals(const char *task)
{
	char path[300], line[256];
	unsigned long long blocked = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/self/task/%s/status", task);
	file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof line, file) != NULL) {
		if (strncmp(line, "SigBlk:", 7) == 0)
			blocked = strtoull(line + 7, NULL, 16);
	}
	fclose(file);
	return blocked;
}

START_TEST(only_the_main_thread_takes_signals)
{
	unsigned long long term = 1ULL << (SIGTERM - 1);
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	unsigned others = 0;

	while ((task = readdir(tasks)) != NULL) {
		if (task->d_name[0] == '.')
			continue;
		if (atol(task->d_name) == (long)getpid()) {
			ck_assert_uint_eq(blocked_signals(task->d_name) & term, 0);
			continue;
		}
		ck_assert_uint_ne(blocked_signals(task->d_name) & term, 0);
		others++;
	}
	closedir(tasks);
	ck_assert_uint_ge(others, 2); /* ZeroMQ's reaper and I/O thread */
}
END_TEST

TCase *
tcase_socket_signals(void)
{
	TCase *tcase = tcase_create("socket_signals");

	/* Checked: a ZeroMQ context does not survive fork. */
	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, signals_lose_no_message);
	tcase_add_test(tcase, signals_leave_nothing_of_a_burst_unread);
	tcase_add_test(tcase, only_the_main_thread_takes_signals);
	return tcase;
}
