#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fiber.h"
#include "json.h"
#include "tool_bench.h"

TCase *tcase_tool_worker(void);

static struct tool_bench bench;

static void
set_up(void)
{
	tool_bench_start(&bench);
}

static void
tear_down(void)
{
	tool_bench_stop(&bench);
}

static void
offer(const char *text)
{
	tool_bench_offer(&bench, text);
}

static void
start_worker(size_t index, const char *more)
{
	tool_bench_worker(&bench, index, more);
}

/* Calls t; calls a tool with middleware around it. Each waits for the end. */
static const struct tool_call *
called(const char *args)
{
	return tool_bench_call(&bench, args);
}

static const struct tool_call *
called_of(const char *service, const char *tool, const char *args, const char *middleware)
{
	struct tool_call *call =
	    tool_bench_begin_of(&bench, service, tool, args, middleware);

	tool_bench_await_all(&bench);
	return call;
}

static const char *
content_of(const struct tool_call *call, const char *status)
{
	return tool_bench_content(&bench, call, status);
}

static const struct fault *
fault_of(const struct tool_call *call)
{
	return tool_bench_fault(&bench, call);
}

/* --- what a worker does ---------------------------------------------------------------- */

START_TEST(a_tool_is_called_through_the_broker)
{
	offer("command: [cat]\n");
	start_worker(0, NULL);
	ck_assert_str_eq(content_of(called("{\"n\": 1}"), "success"), "{\"n\":1}");
}
END_TEST

START_TEST(calls_run_at_the_same_time)
{
	size_t i;

	/* None ends before all have begun. */
	offer("command: |\n"
	      "  : > \"$HERE/begun.$FLOTILLA_TOOL_CALL_ID\"\n"
	      "  while [ \"$(ls \"$HERE\" | grep -c ^begun)\" -lt 8 ]; do sleep 0.02; "
	      "done\n"
	      "  echo \"$FLOTILLA_TOOL_CALL_ID\"\n");
	start_worker(0, NULL);
	for (i = 0; i < 8; i++)
		tool_bench_begin(&bench, "{}");
	tool_bench_await_all(&bench);
	for (i = 0; i < 8; i++)
		ck_assert_str_eq(
		    content_of(&bench.calls[i], "success"), bench.calls[i].request.id);
}
END_TEST

START_TEST(max_parallel_holds_calls_back)
{
	size_t i;

	offer("max_parallel: 1\n"
	      "command: |\n"
	      "  mkdir \"$HERE/lock\" || exit 1\n"
	      "  sleep 0.05\n"
	      "  rmdir \"$HERE/lock\"; echo alone\n");
	start_worker(0, NULL);
	for (i = 0; i < 5; i++)
		tool_bench_begin(&bench, "{}");
	tool_bench_await_all(&bench);
	for (i = 0; i < 5; i++)
		ck_assert_str_eq(content_of(&bench.calls[i], "success"), "alone");
}
END_TEST

/* The tool's grandchild, which does not end when asked to. */
#define STUBBORN                                                                         \
	"command: |\n"                                                                   \
	"  sh -c 'trap \"\" TERM; echo $$ > \"$HERE/pid\"; : > \"$HERE/started\"; "      \
	"while :; do sleep 1; done' & wait\n"

static bool
has_started(struct tool_bench *at)
{
	return tool_bench_exists(at, "started");
}

START_TEST(a_late_tool_ends_with_its_grandchildren)
{
	unsigned timeout_ms;

	/* On a machine with much to do it may be late before it has begun. */
	for (timeout_ms = 300;; timeout_ms *= 2) {
		offer(arena_printf(bench.arena, "timeout_ms: %u\n" STUBBORN, timeout_ms));
		start_worker(0, NULL);
		ck_assert_str_eq(fault_of(called("{}"))->type, "TimeoutError");
		if (has_started(&bench))
			break;
		ck_assert_int_eq(kill(child_pid(bench.workers[0]), SIGTERM), 0);
		tool_bench_await_end(&bench, 0);
	}
	ck_assert(tool_bench_is_gone(&bench, "pid"));
}
END_TEST

static bool
grandchild_is_gone(struct tool_bench *at)
{
	return tool_bench_is_gone(at, "pid");
}

START_TEST(a_cancelled_tool_ends_with_its_grandchildren)
{
	const struct tool_call *call;

	offer(STUBBORN);
	start_worker(0, NULL);
	call = tool_bench_begin(&bench, "{}");
	tool_bench_await(&bench, has_started);
	fiber_cancel(call->fiber);
	tool_bench_await_all(&bench);
	ck_assert(call->was_cancelled);
	tool_bench_await(&bench, grandchild_is_gone);
}
END_TEST

START_TEST(a_tool_that_writes_too_much_is_stopped)
{
	offer("output_bytes_max: 1000\ncommand: [yes]\n");
	start_worker(0, NULL);
	ck_assert_ptr_nonnull(
	    strstr(fault_of(called("{}"))->message, "output_bytes_max of 1000"));
}
END_TEST

START_TEST(a_tool_sees_the_variables_of_its_file_alone)
{
	const char *text;

	offer("command: [env]\n");
	start_worker(0, NULL);
	text = content_of(called("{}"), "success");
	ck_assert_ptr_nonnull(strstr(text, "HERE="));
	ck_assert_ptr_nonnull(strstr(text, "FLOTILLA_RUN=run_1\n"));
	ck_assert_ptr_nonnull(strstr(text, "FLOTILLA_TENANT=acme\n"));
	ck_assert_ptr_nonnull(strstr(text, "FLOTILLA_IDEMPOTENCY_KEY=run_1/2/1"));
	ck_assert_ptr_null(strstr(text, "OPENAI_API_KEY"));
	ck_assert_ptr_null(strstr(text, "HOME="));
}
END_TEST

START_TEST(bad_arguments_are_told_to_the_model)
{
	const char *text;

	offer("command: [cat]\n");
	start_worker(0, NULL);
	text = content_of(called("{\"n\": \"one\"}"), "error");
	ck_assert_ptr_nonnull(strstr(text, "/n"));
	ck_assert_ptr_nonnull(strstr(text, "integer"));
}
END_TEST

/* The agent's definition of it is another than the worker's, as between two versions of a fleet, or
 * in an agent's file. */
START_TEST(so_are_those_that_do_not_fit_what_the_worker_has)
{
	const struct tool_call *call;

	offer("command: [cat]\n");
	start_worker(0, NULL);
	call = called_of("tool:http_get", "http_get", "{\"n\": 1}", "[]");
	ck_assert_ptr_nonnull(strstr(content_of(call, "error"), "url"));
	call = called_of("tools", "write_todos", "{\"n\": 1}",
	    "[{\"name\": \"todo_list\", \"settings\": {}}]");
	ck_assert_ptr_nonnull(strstr(content_of(call, "error"), "todos"));
}
END_TEST

START_TEST(an_unknown_tool_is_told_to_the_model)
{
	const struct tool_call *call;
	const char *text;

	offer("command: [cat]\n");
	start_worker(0, NULL);
	call = called_of("tools", "nix", "{}", "[]");
	text = content_of(call, "error");
	ck_assert_ptr_nonnull(strstr(text, "nix is not a valid tool"));
	ck_assert_ptr_nonnull(strstr(text, "[t, u]"));
}
END_TEST

START_TEST(the_tool_of_a_middleware_runs_for_service_tools)
{
	const struct tool_call *call;

	offer("command: [cat]\n");
	start_worker(0, NULL);
	call = called_of("tools", "write_todos", "{\"todos\": []}",
	    "[{\"name\": \"todo_list\", \"settings\": {}}]");
	ck_assert_ptr_nonnull(
	    strstr(json_text(bench.arena, call->outcome.body), "\"todos\":[]"));
}
END_TEST

START_TEST(the_service_says_whose_tool_of_a_name_is_meant)
{
	static const char todo_list[] = "[{\"name\": \"todo_list\", \"settings\": {}}]";
	const struct tool_call *theirs, *ours;

	offer("command: [cat]\n");
	tool_bench_write(&bench, "tools/write_todos.yaml",
	    "name: write_todos\ndescription: d\ncommand: echo ours\n");
	start_worker(0, NULL);
	ours = called_of("tool:write_todos", "write_todos", "{\"todos\": []}", todo_list);
	ck_assert_str_eq(content_of(ours, "success"), "ours");
	theirs = called_of("tools", "write_todos", "{\"todos\": []}", todo_list);
	ck_assert_ptr_nonnull(
	    strstr(json_text(bench.arena, theirs->outcome.body), "\"todos\":[]"));
}
END_TEST

START_TEST(a_retry_around_a_tool_runs_it_again)
{
	const struct tool_call *call;

	offer("command: |\n"
	      "  mkdir \"$HERE/tried\" 2>/dev/null && {\n"
	      "    echo 'OSError: [Errno 28] No space left on device' >&2; exit 1; }\n"
	      "  echo written\n");
	start_worker(0, NULL);
	call = called_of("tool:t", "t", "{}",
	    "[{\"name\": \"tool_retry\", \"settings\": {\"max_retries\": 2, "
	    "\"initial_delay\": 0.01, \"retry_on\": [\"OSError\"]}}]");
	ck_assert_str_eq(content_of(call, "success"), "written");
}
END_TEST

START_TEST(a_middleware_it_has_not_got_ends_the_run_and_is_named)
{
	const struct tool_call *call;

	offer("command: [cat]\n");
	start_worker(0, NULL);
	call = called_of("tool:t", "t", "{}", "[{\"name\": \"mine\"}]");
	ck_assert(fault_of(call)->fatal);
	ck_assert_ptr_nonnull(strstr(fault_of(call)->message, "mine"));
}
END_TEST

/* --- a worker comes and goes ------------------------------------------------------------ */

static bool
are_gone(struct tool_bench *the_bench)
{
	return tool_bench_is_gone(the_bench, "pid") &&
	       tool_bench_is_gone(the_bench, "daemon");
}

START_TEST(a_killed_workers_call_runs_again_elsewhere)
{
	const struct tool_call *call;
	size_t dead;

	offer("command: |\n"
	      "  echo $FLOTILLA_IDEMPOTENCY_KEY >> \"$HERE/keys\"\n"
	      "  mkdir \"$HERE/first\" 2>/dev/null || { echo again; exit; }\n"
	      "  echo $$ > \"$HERE/pid\"\n"
	      "  setsid sh -c 'echo $$ > \"$HERE/daemon\"; exec sleep 600' &\n"
	      "  starter=$(cut -d ' ' -f 4 /proc/$PPID/stat)\n"
	      "  cut -d ' ' -f 4 /proc/$starter/stat > \"$HERE/worker\"\n"
	      "  while ! [ -s \"$HERE/daemon\" ]; do sleep 0.01; done\n"
	      "  : > \"$HERE/started\"; exec sleep 600\n");
	start_worker(0, NULL);
	start_worker(1, NULL);
	call = tool_bench_begin(&bench, "{}");
	tool_bench_await(&bench, has_started);
	dead = atoi(tool_bench_text(&bench, "worker")) == child_pid(bench.workers[0]) ? 0
										      : 1;
	ck_assert_int_eq(
	    atoi(tool_bench_text(&bench, "worker")), child_pid(bench.workers[dead]));
	child_kill(&bench.workers[dead]);
	tool_bench_await_all(&bench);
	ck_assert_str_eq(content_of(call, "success"), "again");
	ck_assert_str_eq(tool_bench_text(&bench, "keys"), "run_1/2/1\nrun_1/2/1\n");
	/* Its minder was there to end them. */
	tool_bench_await(&bench, are_gone);
}
END_TEST

START_TEST(a_call_that_runs_at_sigterm_is_finished)
{
	const struct tool_call *call;

	offer("command: |\n"
	      "  : > \"$HERE/started\"\n"
	      "  await-file there \"$HERE/go\"; echo finished\n");
	start_worker(0, NULL);
	call = tool_bench_begin(&bench, "{}");
	tool_bench_await(&bench, has_started);
	ck_assert_int_eq(kill(child_pid(bench.workers[0]), SIGTERM), 0);
	tool_bench_write(&bench, "go", "");
	tool_bench_await_all(&bench);
	ck_assert_str_eq(content_of(call, "success"), "finished");
	tool_bench_await_end(&bench, 0);
}
END_TEST

START_TEST(a_call_that_outlasts_the_drain_is_given_to_another_worker)
{
	const struct tool_call *call;

	offer("command: |\n"
	      "  mkdir \"$HERE/first\" 2>/dev/null || { echo again; exit; }\n"
	      "  echo $$ > \"$HERE/pid\"; : > \"$HERE/started\"; exec sleep 600\n");
	start_worker(0, "--drain-ms=6000");
	call = tool_bench_begin(&bench, "{}");
	tool_bench_await(&bench, has_started);
	ck_assert_int_eq(kill(child_pid(bench.workers[0]), SIGTERM), 0);
	start_worker(1, NULL);
	tool_bench_await_all(&bench);
	ck_assert_str_eq(content_of(call, "success"), "again");
	ck_assert(tool_bench_is_gone(&bench, "pid"));
	tool_bench_await_end(&bench, 0);
}
END_TEST

static bool
has_loaded(struct tool_bench *at)
{
	return tool_bench_exists(at, "loaded");
}

START_TEST(sighup_loads_the_tool_files_again)
{
	const struct tool_call *call;

	offer("command: echo old\n");
	start_worker(0, NULL);
	ck_assert_str_eq(content_of(called("{}"), "success"), "old");
	tool_bench_write(
	    &bench, "tools/u.yaml", "name: u\ndescription: d\ncommand: echo new\n");
	ck_assert_int_eq(kill(child_pid(bench.workers[0]), SIGHUP), 0);
	/* Waits at the broker until somebody serves it. */
	call = called_of("tool:u", "u", "{}", "[]");
	ck_assert_str_eq(content_of(call, "success"), "new");
}
END_TEST

/* By way of "tools": of tool:t the broker would hold the second one back. */
START_TEST(max_parallel_holds_over_a_reload)
{
	struct tool_call *first, *second;

	offer("max_parallel: 1\n"
	      "command: |\n"
	      "  mkdir \"$HERE/lock\" || exit 1; : > \"$HERE/started\"\n"
	      "  await-file there \"$HERE/go\"\n"
	      "  rmdir \"$HERE/lock\"; echo alone\n");
	start_worker(0, NULL);
	first = tool_bench_begin_of(&bench, "tools", "t", "{}", "[]");
	tool_bench_await(&bench, has_started);
	tool_bench_write(&bench, "tools/u.yaml",
	    "name: u\ndescription: d\nenvironment: [HERE]\n"
	    "command: |\n  : > \"$HERE/loaded\"\n");
	ck_assert_int_eq(kill(child_pid(bench.workers[0]), SIGHUP), 0);
	tool_bench_begin_of(&bench, "tool:u", "u", "{}", "[]");
	tool_bench_await(&bench, has_loaded);
	second = tool_bench_begin_of(&bench, "tools", "t", "{}", "[]");
	unlink(tool_bench_path(&bench, "loaded"));
	tool_bench_begin_of(&bench, "tool:u", "u", "{}", "[]");
	tool_bench_await(&bench, has_loaded);
	tool_bench_write(&bench, "go", "");
	tool_bench_await_all(&bench);
	ck_assert_str_eq(content_of(first, "success"), "alone");
	ck_assert_str_eq(content_of(second, "success"), "alone");
}
END_TEST

START_TEST(a_bad_tool_file_does_not_replace_good_ones)
{
	offer("command: echo old\n");
	start_worker(0, NULL);
	ck_assert_str_eq(content_of(called("{}"), "success"), "old");
	offer("command: [no-such-program]\n");
	ck_assert_int_eq(kill(child_pid(bench.workers[0]), SIGHUP), 0);
	/* One of these may still come before the signal. */
	ck_assert_str_eq(content_of(called("{}"), "success"), "old");
	ck_assert_str_eq(content_of(called("{}"), "success"), "old");
}
END_TEST

START_TEST(a_bad_tool_file_keeps_a_worker_from_starting)
{
	const char *argv[] = { "worker-tools", "--broker", tool_bench_endpoint(&bench),
		"--tools", tool_bench_path(&bench, "tools"), NULL };
	struct child *child;
	int status;

	offer("command: [no-such-program]\n");
	child = child_spawn(argv, NULL);
	status = child_wait(&child);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 1);
}
END_TEST

TCase *
tcase_tool_worker(void)
{
	TCase *tcase = tcase_create("tool_worker");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, a_tool_is_called_through_the_broker);
	tcase_add_test(tcase, calls_run_at_the_same_time);
	tcase_add_test(tcase, max_parallel_holds_calls_back);
	tcase_add_test(tcase, a_late_tool_ends_with_its_grandchildren);
	tcase_add_test(tcase, a_cancelled_tool_ends_with_its_grandchildren);
	tcase_add_test(tcase, a_tool_that_writes_too_much_is_stopped);
	tcase_add_test(tcase, a_tool_sees_the_variables_of_its_file_alone);
	tcase_add_test(tcase, bad_arguments_are_told_to_the_model);
	tcase_add_test(tcase, so_are_those_that_do_not_fit_what_the_worker_has);
	tcase_add_test(tcase, an_unknown_tool_is_told_to_the_model);
	tcase_add_test(tcase, the_tool_of_a_middleware_runs_for_service_tools);
	tcase_add_test(tcase, the_service_says_whose_tool_of_a_name_is_meant);
	tcase_add_test(tcase, a_retry_around_a_tool_runs_it_again);
	tcase_add_test(tcase, a_middleware_it_has_not_got_ends_the_run_and_is_named);
	tcase_add_test(tcase, a_killed_workers_call_runs_again_elsewhere);
	tcase_add_test(tcase, a_call_that_runs_at_sigterm_is_finished);
	tcase_add_test(tcase, a_call_that_outlasts_the_drain_is_given_to_another_worker);
	tcase_add_test(tcase, sighup_loads_the_tool_files_again);
	tcase_add_test(tcase, max_parallel_holds_over_a_reload);
	tcase_add_test(tcase, a_bad_tool_file_does_not_replace_good_ones);
	tcase_add_test(tcase, a_bad_tool_file_keeps_a_worker_from_starting);
	return tcase;
}
