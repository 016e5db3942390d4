/* Workers that are alive while their calls do not move, on the wire. */
#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "watchdog.h"
#include "wire_bench.h"

TCase *tcase_probes(void);

static struct wire_bench bench;
static struct socket *watcher;
static char heard[4096]; /* topics of the status channel, one a line */

static void
on_status(void *arg, struct parts *parts, bool truncated)
{
	size_t used = strlen(heard), size = parts_size(parts, 0);

	(void)arg;
	(void)truncated;
	if (used + size + 2 > sizeof heard)
		return;
	memcpy(heard + used, parts_data(parts, 0), size);
	memcpy(heard + used + size, "\n", 2);
}

static void
setup(void)
{
	const char *error;

	setenv("FLOTILLA_PROBE_MS", "100", 1);
	setenv("FLOTILLA_PROBE_WAIT_MS", "2000", 1);
	setenv("FLOTILLA_PROBE_DROP_MS", "10000", 1);
	bench.broker_flag = NULL;
	wire_start(&bench);
	heard[0] = '\0';
	watcher = socket_sub(bench.loop, bench.status, on_status, NULL, &error);
	ck_assert_ptr_nonnull(watcher);
	ck_assert_int_eq(socket_subscribe(watcher, "worker."), 0);
}

static void
teardown(void)
{
	socket_close(&watcher, 0);
	wire_stop(&bench);
}

static bool
was_heard(void *topic)
{
	return strstr(heard, topic) != NULL;
}

static void
wait_heard(char *topic)
{
	wire_until(&bench, was_heard, topic, topic);
}

static const struct value *
row_of(const char *name)
{
	const struct value *rows = value_get(wire_stats(&bench), "sessions");
	size_t i;

	for (i = 0; i < value_size(rows); i++)
		if (value_text_is(value_get(value_at(rows, i), "name"), name))
			return value_at(rows, i);
	return NULL;
}

START_TEST(a_worker_whose_calls_cannot_start_gets_none_and_is_started_again)
{
	static char stuck[] = "worker.w1.stuck", down[] = "worker.w1.down";
	struct child *hog = wire_worker(&bench, "w1", "tool:a", 4, 10000), *other;
	struct ask *first, *second;
	int status;

	wire_served(&bench, "tool:a", 1);
	first = wire_ask(&bench, "tool:a", "hog");
	wire_wait_logged(&bench, "hogs ");
	wait_heard(stuck);
	ck_assert_str_eq(value_get_text(row_of("w1"), "probe"), "stuck");
	/* It has three slots free, and still it is not asked. */
	second = wire_ask(&bench, "tool:a", "answer");
	other = wire_worker(&bench, "w2", "tool:a", 1, 10000);
	wire_wait(&bench, second);
	ck_assert_str_eq(value_get_text(wire_answer(second), "worker"), "w2");
	ck_assert_int_eq(value_get_int(wire_answer(second), "attempt", 0), 1);
	/* In the end it is told, and its call goes to the other. */
	wait_heard(down);
	wire_wait(&bench, first);
	ck_assert_str_eq(value_get_text(wire_answer(first), "worker"), "w2");
	status = child_wait(&hog);
	ck_assert_int_eq(WIFEXITED(status) ? WEXITSTATUS(status) : -1, WATCHDOG_STATUS);
	child_stop(&other);
}
END_TEST

/* Four times as long as a probe may go unanswered. */
#define BUSY_MS 8000

START_TEST(a_worker_that_is_full_is_not_stuck)
{
	struct child *worker = wire_worker(&bench, "w1", "tool:a", 1, 10000);
	struct ask *ask;
	char gate[160];

	snprintf(gate, sizeof gate, "%s/gate", bench.folder);
	wire_served(&bench, "tool:a", 1);
	ask = wire_ask(&bench, "tool:a", "wait");
	wire_set(ask, "path", gate);
	wire_wait_logged(&bench, "began ");
	while (value_get_int(row_of("w1"), "oldest_ms", 0) < BUSY_MS)
		poll(NULL, 0, 20);
	ck_assert_int_eq(value_get_int(row_of("w1"), "room", -1), 0);
	ck_assert_str_eq(value_get_text(row_of("w1"), "probe"), "ok");
	ck_assert_int_eq(wire_counter(&bench, "stuck"), 0);
	close(open(gate, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	wire_wait(&bench, ask);
	child_stop(&worker);
}
END_TEST

TCase *
tcase_probes(void)
{
	TCase *tcase = tcase_create("probes");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(
	    tcase, a_worker_whose_calls_cannot_start_gets_none_and_is_started_again);
	tcase_add_test(tcase, a_worker_that_is_full_is_not_stuck);
	return tcase;
}
