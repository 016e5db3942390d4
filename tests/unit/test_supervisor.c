/* The children of `flotilla up`: how long each is waited for, and what is said meanwhile. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Interface under test */
#include "../../cli/fleet/supervisor.h"

#include "arena.h"
#include "children.h"
#include "fiber.h"

#define KILL_MS 60000u /* of one that does not end on SIGTERM: none here */

/* Waits for a line of the gate, then is a Redis, which says that it is ready. */
#define SLOW                                                                             \
	"read go <\"$0\"; exec redis-server --port 0 --unixsocket \"$1/redis\" --save "  \
	"'' "                                                                            \
	"--daemonize no --supervised systemd --logfile /dev/null --dir \"$1\""

static struct loop *loop;
static struct arena *arena;
static struct supervisor *supervisor;
static char *folder;
static const char *gate_path, *said_path;
static int gate, kept_stdout, kept_stderr;

/* What is said on stdout and stderr goes into a file. */
static void
setup(void)
{
	int said;

	loop = loop_new();
	arena = arena_new();
	folder = folder_new();
	gate_path = arena_printf(arena, "%s/gate", folder);
	said_path = arena_printf(arena, "%s/said", folder);
	ck_assert_int_eq(mkfifo(gate_path, 0600), 0);
	gate = open(gate_path, O_RDWR | O_CLOEXEC);
	said = open(said_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	ck_assert_int_ne(gate, -1);
	ck_assert_int_ne(said, -1);
	fflush(stdout);
	kept_stdout = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	kept_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	dup2(said, STDOUT_FILENO);
	dup2(said, STDERR_FILENO);
	close(said);
	supervisor = supervisor_new(loop, folder);
	ck_assert_ptr_nonnull(supervisor);
}

static bool
is_true(void *arg)
{
	return *(bool *)arg;
}

static void
run_stop(void *arg)
{
	supervisor_stop(supervisor, KILL_MS);
	*(bool *)arg = true;
}

static void
teardown(void)
{
	bool has_stopped = false;

	fiber_start(loop, "stop", run_stop, &has_stopped);
	loop_run_until(loop, is_true, &has_stopped);
	supervisor_destroy(&supervisor);
	loop_destroy(&loop);
	fflush(stdout);
	dup2(kept_stdout, STDOUT_FILENO);
	dup2(kept_stderr, STDERR_FILENO);
	close(kept_stdout);
	close(kept_stderr);
	close(gate);
	folder_remove(&folder);
	arena_destroy(&arena);
}

/* A supervisor_start under way. */
struct start {
	struct supervisor_program program;
	const char *argv[6];
	struct fiber *fiber;
	int result;
	bool has_ended;
};

static void
run_start(void *arg)
{
	struct start *start = arg;

	start->result = supervisor_start(supervisor, &start->program);
	start->has_ended = true;
}

/* script gets the gate as its $0, the folder as its $1. */
static void
begin(struct start *start, const char *script)
{
	start->program.name = "slow";
	start->program.keep = -1;
	memcpy(start->argv,
	    (const char *[]){ "/bin/sh", "-c", script, gate_path, folder, NULL },
	    sizeof start->argv);
	start->program.argv = start->argv;
	start->fiber = fiber_start(loop, "start", run_start, start);
}

static const char *
said(void)
{
	char text[4096];
	FILE *file = fopen(said_path, "re");
	size_t size;

	ck_assert_ptr_nonnull(file);
	size = fread(text, 1, sizeof text - 1, file);
	fclose(file);
	return arena_copy(arena, text, size);
}

static const char busy[] = " s; it may be reading its data, see /somewhere/slow.log\n";

/* Or it has ended, too soon. */
static bool
is_said_twice(void *start)
{
	const char *first = strstr(said(), busy);

	return ((struct start *)start)->has_ended ||
	       (first != NULL && strstr(first + 1, busy) != NULL);
}

static const struct supervisor_program without_limit = {
	.log = "/somewhere/slow.log", .busy = "reading its data", .busy_ms = 1
};

START_TEST(one_without_a_limit_is_waited_for_and_said_to_be_busy)
{
	struct start start = { .program = without_limit };

	begin(&start, SLOW);
	loop_run_until(loop, is_said_twice, &start);
	ck_assert(!start.has_ended);
	ck_assert_int_eq(write(gate, "\n", 1), 1);
	loop_run_until(loop, is_true, &start.has_ended);
	ck_assert_int_eq(start.result, 0);
	ck_assert_ptr_nonnull(strstr(said(), "waiting for slow: not ready after "));
	ck_assert_ptr_null(strstr(said(), "did not become ready"));
}
END_TEST

/* By Ctrl-C. */
START_TEST(one_without_a_limit_can_be_given_up)
{
	struct start start = { .program = without_limit };

	begin(&start, SLOW);
	loop_run_until(loop, is_said_twice, &start);
	ck_assert(!start.has_ended);
	fiber_cancel(start.fiber);
	loop_run_until(loop, is_true, &start.has_ended);
	ck_assert_int_eq(start.result, -1);
	ck_assert_uint_eq(supervisor_alive(supervisor), 1); /* it is ended in its turn */
	ck_assert_ptr_null(strstr(said(), "did not become ready"));
}
END_TEST

static const struct {
	const char *script, *log, *said;
	uint64_t ready_ms;
} unready[] = {
	{ SLOW, "/a/log", "slow did not become ready; see /a/log\n", 1 },
	{ SLOW, NULL, "slow did not become ready\n", 1 },
	{ "exit 3", "/a/log", "slow did not become ready; see /a/log\n", 0 },
	{ "exit 3", NULL, "slow did not become ready; see what it said above\n", 600000 },
};

START_TEST(one_that_does_not_become_ready_is_told_with_its_log)
{
	struct start start = { .program = { .log = unready[_i].log,
				   .ready_ms = unready[_i].ready_ms } };

	begin(&start, unready[_i].script);
	loop_run_until(loop, is_true, &start.has_ended);
	ck_assert_int_eq(start.result, -1);
	ck_assert_msg(strstr(said(), unready[_i].said) != NULL, "%s", said());
}
END_TEST

TCase *tcase_supervisor(void);

TCase *
tcase_supervisor(void)
{
	TCase *tcase = tcase_create("supervisor");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, one_without_a_limit_is_waited_for_and_said_to_be_busy);
	tcase_add_test(tcase, one_without_a_limit_can_be_given_up);
	tcase_add_loop_test(tcase, one_that_does_not_become_ready_is_told_with_its_log, 0,
	    sizeof unready / sizeof unready[0]);
	return tcase;
}
