#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bodies.h"
#include "caller.h"
#include "chat.h"
#include "children.h"
#include "fault.h"
#include "fiber.h"
#include "json.h"

TCase *tcase_tool_worker(void);

#define WORKERS 2
#define CALL_ROOM 16
#define LOOK_MS 5

/* One call, on a fiber of its own. */
struct call {
	struct call_request request;
	struct call_outcome outcome;
	struct fiber *fiber; /* NULL: it has ended */
	bool was_cancelled;
};

static char *folder;
static struct arena *arena;
static struct loop *loop;
static struct peer *peer;
static struct caller *caller;
static struct child *broker, *workers[WORKERS];
static struct call calls[CALL_ROOM];
static size_t call_count;
static bool (*awaited)(void);

/* --- a broker, tool workers and a coordinator's side of the wire ------------------------ */

static const char *
path_of(const char *name)
{
	return arena_printf(arena, "%s/%s", folder, name);
}

static void
write_file(const char *name, const char *text)
{
	FILE *file = fopen(path_of(name), "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

static bool
exists(const char *name)
{
	return access(path_of(name), F_OK) == 0;
}

/* Returns the whole of a small file. */
static const char *
text_of(const char *name)
{
	char *text = arena_alloc(arena, 4096);
	FILE *file = fopen(path_of(name), "r");

	ck_assert_msg(file != NULL, "no file %s", name);
	text[fread(text, 1, 4095, file)] = '\0';
	fclose(file);
	return text;
}

static void
on_up(void *arg)
{
	(void)arg;
	caller_up(caller);
}

static void
on_down(void *arg, const char *reason)
{
	(void)arg, (void)reason;
	caller_down(caller);
}

static void
on_message(void *arg, const struct header *header, struct parts *bodies)
{
	(void)arg;
	caller_message(caller, header, bodies);
}

static const char *
endpoint(const char *name)
{
	return arena_printf(arena, "ipc://%s", path_of(name));
}

static void
start_worker(size_t index, const char *more)
{
	const char *argv[] = { "worker-tools", "--broker", endpoint("b"), "--tools",
		path_of("tools"), "--slots", "16", more, NULL };
	const char *env[] = { arena_printf(arena, "HERE=%s", folder),
		"OPENAI_API_KEY=secret", NULL };

	workers[index] = child_start(argv, env);
}

static void
set_up(void)
{
	arena = arena_new();
	folder = folder_new();
	ck_assert_int_eq(mkdir(path_of("tools"), 0755), 0);
	broker = child_start((const char *[]){ "broker", "--bind", endpoint("b"),
				 "--status-bind", endpoint("s"), NULL },
	    NULL);
	loop = loop_new();
	peer = peer_new(loop, &(struct peer_options){ .endpoint = endpoint("b"),
				  .role = ROLE_COORDINATOR,
				  .name = "test",
				  .on_up = on_up,
				  .on_down = on_down,
				  .on_message = on_message });
	ck_assert_ptr_nonnull(peer);
	caller = caller_new(loop, peer);
}

static void
tear_down(void)
{
	size_t i;

	for (i = 0; i < call_count; i++)
		caller_stored(caller, calls[i].request.id);
	caller_destroy(&caller);
	peer_destroy(&peer);
	loop_destroy(&loop);
	for (i = 0; i < WORKERS; i++)
		child_stop(&workers[i]);
	child_stop(&broker);
	folder_remove(&folder);
	arena_destroy(&arena);
}

/* Writes the tool t; without description, which it gets. */
static void
offer(const char *text)
{
	write_file("tools/t.yaml",
	    arena_printf(
		arena, "name: t\ndescription: d\nenvironment: [HERE]\n%s", text));
}

/* --- calls ----------------------------------------------------------------------------- */

static const struct value *
from_json(const char *text)
{
	const char *error;
	const struct value *value = json_parse(arena, text, strlen(text), &error);

	ck_assert_msg(value != NULL, "%s: %s", text, error);
	return value;
}

static void
call_main(void *arg)
{
	struct call *call = arg;

	call->was_cancelled =
	    caller_call(caller, arena, &call->request, &call->outcome) == -1;
	call->fiber = NULL;
}

/* Starts a call of tool by way of service, with middleware around it. */
static struct call *
start_call_of(
    const char *service, const char *tool, const char *args, const char *middleware)
{
	struct call *call = &calls[call_count++];
	const char *id = arena_printf(arena, "run_1.2.c%zu", call_count);
	const struct value *tool_call =
	    value_map(arena, "name", value_str(arena, tool), "args", from_json(args),
		"id", value_str(arena, id), "type", value_str(arena, "tool_call"), NULL);
	bool is_known = strcmp(tool, "nix") != 0;

	call->request = (struct call_request){
		.id = id,
		.run = "run_1",
		.service = service,
		.step = 2,
		.epoch = 1,
		.deadline_ms = 60000,
		.priority = 2,
		.idempotency_key = arena_printf(arena, "run_1/2/%zu", call_count),
		.profile = value_freeze(arena,
		    value_map(arena, "agent", value_str(arena, "a"), "version",
			value_str(arena, "1"), "tools", from_json("[\"t\", \"u\"]"),
			"middleware", from_json(middleware), NULL)),
		.request = value_map(arena, "run", value_str(arena, "run_1"), "thread",
		    value_str(arena, "thread_1"), "tool_call", tool_call, "tool",
		    is_known
			? from_json("{\"name\": \"t\", \"parameters\": {\"properties\":"
				    "{\"n\": {\"type\": \"integer\"}}}}")
			: NULL,
		    NULL),
	};
	call->fiber = fiber_start(loop, "call", call_main, call);
	return call;
}

static struct call *
start_call(const char *args)
{
	return start_call_of("tool:t", "t", args, "[]");
}

static bool
all_ended(void)
{
	size_t i;

	for (i = 0; i < call_count; i++)
		if (calls[i].fiber != NULL)
			return false;
	return true;
}

static void
look(void *arg)
{
	(void)arg;
}

static bool
has_come(void *arg)
{
	(void)arg;
	return awaited();
}

/* Runs the loop until happened() is true. */
static void
await(bool (*happened)(void))
{
	struct timer *timer = timer_start(loop, LOOK_MS, LOOK_MS, look, NULL);

	awaited = happened;
	loop_run_until(loop, has_come, NULL);
	timer_stop(&timer);
}

static const char *
content_of(const struct call *call, const char *status)
{
	const struct value *command =
	    value_at(value_get(call->outcome.body, "commands"), 0);
	const struct value *message =
	    value_at(value_get(value_get(command, "update"), "messages"), 0);

	ck_assert_int_eq(call->outcome.code, CODE_OK);
	ck_assert_msg(
	    message != NULL, "no answer: %s", json_text(arena, call->outcome.body));
	ck_assert_str_eq(value_get_text(message, "status"), status);
	return chat_text(arena, message);
}

static const struct fault *
fault_of(const struct call *call)
{
	const struct value *fault = value_get(call->outcome.body, "fault");

	ck_assert_msg(
	    fault != NULL, "no fault: %s", json_text(arena, call->outcome.body));
	return fault_from_value(arena, fault);
}

/* Calls t and waits for its end. */
static const struct call *
called(const char *args)
{
	struct call *call = start_call(args);

	await(all_ended);
	return call;
}

/* The process whose id that file of ours holds is gone or waits to be reaped. */
static bool
is_gone(const char *name)
{
	FILE *file =
	    fopen(arena_printf(arena, "/proc/%d/stat", atoi(text_of(name))), "r");
	char state = 'X';

	if (file == NULL)
		return true;
	if (fscanf(file, "%*d %*s %c", &state) != 1)
		state = 'X';
	fclose(file);
	return state == 'Z' || state == 'X';
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
		start_call("{}");
	await(all_ended);
	for (i = 0; i < 8; i++)
		ck_assert_str_eq(content_of(&calls[i], "success"), calls[i].request.id);
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
		start_call("{}");
	await(all_ended);
	for (i = 0; i < 5; i++)
		ck_assert_str_eq(content_of(&calls[i], "success"), "alone");
}
END_TEST

/* The tool's grandchild, which does not end when asked to. */
#define STUBBORN                                                                         \
	"command: |\n"                                                                   \
	"  sh -c 'trap \"\" TERM; echo $$ > \"$HERE/pid\"; : > \"$HERE/started\"; "      \
	"while :; do sleep 1; done' & wait\n"

static bool
has_started(void)
{
	return exists("started");
}

START_TEST(a_late_tool_ends_with_its_grandchildren)
{
	const struct call *call;

	offer("timeout_ms: 300\n" STUBBORN);
	start_worker(0, NULL);
	call = called("{}");
	ck_assert_str_eq(fault_of(call)->type, "TimeoutError");
	ck_assert(is_gone("pid"));
}
END_TEST

static bool
grandchild_is_gone(void)
{
	return is_gone("pid");
}

START_TEST(a_cancelled_tool_ends_with_its_grandchildren)
{
	struct call *call;

	offer(STUBBORN);
	start_worker(0, NULL);
	call = start_call("{}");
	await(has_started);
	fiber_cancel(call->fiber);
	await(all_ended);
	ck_assert(call->was_cancelled);
	await(grandchild_is_gone);
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

START_TEST(an_unknown_tool_is_told_to_the_model)
{
	struct call *call;
	const char *text;

	offer("command: [cat]\n");
	start_worker(0, NULL);
	call = start_call_of("tools", "nix", "{}", "[]");
	await(all_ended);
	text = content_of(call, "error");
	ck_assert_ptr_nonnull(strstr(text, "nix is not a valid tool"));
	ck_assert_ptr_nonnull(strstr(text, "[t, u]"));
}
END_TEST

START_TEST(the_tool_of_a_middleware_runs_for_service_tools)
{
	struct call *call;

	offer("command: [cat]\n");
	start_worker(0, NULL);
	call = start_call_of("tools", "write_todos", "{\"todos\": []}",
	    "[{\"name\": \"todo_list\", \"settings\": {}}]");
	await(all_ended);
	ck_assert_ptr_nonnull(
	    strstr(json_text(arena, call->outcome.body), "\"todos\":[]"));
}
END_TEST

START_TEST(a_retry_around_a_tool_runs_it_again)
{
	struct call *call;

	offer("command: |\n"
	      "  mkdir \"$HERE/tried\" 2>/dev/null && {\n"
	      "    echo 'OSError: [Errno 28] No space left on device' >&2; exit 1; }\n"
	      "  echo written\n");
	start_worker(0, NULL);
	call = start_call_of("tool:t", "t", "{}",
	    "[{\"name\": \"tool_retry\", \"settings\": {\"max_retries\": 2, "
	    "\"initial_delay\": 0.01, \"retry_on\": [\"OSError\"]}}]");
	await(all_ended);
	ck_assert_str_eq(content_of(call, "success"), "written");
}
END_TEST

START_TEST(a_middleware_it_has_not_got_ends_the_run_and_is_named)
{
	struct call *call;

	offer("command: [cat]\n");
	start_worker(0, NULL);
	call = start_call_of("tool:t", "t", "{}", "[{\"name\": \"mine\"}]");
	await(all_ended);
	ck_assert(fault_of(call)->fatal);
	ck_assert_ptr_nonnull(strstr(fault_of(call)->message, "mine"));
}
END_TEST

/* --- a worker comes and goes ------------------------------------------------------------ */

START_TEST(a_killed_workers_call_runs_again_elsewhere)
{
	struct call *call;
	size_t dead;
	int left;

	offer("command: |\n"
	      "  echo $FLOTILLA_IDEMPOTENCY_KEY >> \"$HERE/keys\"\n"
	      "  mkdir \"$HERE/first\" 2>/dev/null || { echo again; exit; }\n"
	      "  echo $$ > \"$HERE/pid\"; echo $PPID > \"$HERE/worker\"\n"
	      "  : > \"$HERE/started\"; exec sleep 600\n");
	start_worker(0, NULL);
	start_worker(1, NULL);
	call = start_call("{}");
	await(has_started);
	dead = atoi(text_of("worker")) == child_pid(workers[0]) ? 0 : 1;
	ck_assert_int_eq(atoi(text_of("worker")), child_pid(workers[dead]));
	child_kill(&workers[dead]);
	await(all_ended);
	ck_assert_str_eq(content_of(call, "success"), "again");
	ck_assert_str_eq(text_of("keys"), "run_1/2/1\nrun_1/2/1\n");
	left = atoi(text_of("pid")); /* nobody was there to end it */
	kill(left, SIGKILL);
}
END_TEST

/* Tells that all outcomes are stored; the worker that drains has nothing to keep then. */
static void
await_end_of(size_t index)
{
	size_t i;
	int status;

	for (i = 0; i < call_count; i++)
		caller_stored(caller, calls[i].request.id);
	status = child_wait(&workers[index]);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}

START_TEST(a_call_that_runs_at_sigterm_is_finished)
{
	struct call *call;

	offer("command: |\n"
	      "  : > \"$HERE/started\"\n"
	      "  while [ ! -e \"$HERE/go\" ]; do sleep 0.02; done; echo finished\n");
	start_worker(0, NULL);
	call = start_call("{}");
	await(has_started);
	ck_assert_int_eq(kill(child_pid(workers[0]), SIGTERM), 0);
	write_file("go", "");
	await(all_ended);
	ck_assert_str_eq(content_of(call, "success"), "finished");
	await_end_of(0);
}
END_TEST

START_TEST(a_call_that_outlasts_the_drain_is_given_to_another_worker)
{
	struct call *call;

	offer("command: |\n"
	      "  mkdir \"$HERE/first\" 2>/dev/null || { echo again; exit; }\n"
	      "  echo $$ > \"$HERE/pid\"; : > \"$HERE/started\"; exec sleep 600\n");
	start_worker(0, "--drain-ms=400");
	call = start_call("{}");
	await(has_started);
	ck_assert_int_eq(kill(child_pid(workers[0]), SIGTERM), 0);
	start_worker(1, NULL);
	await(all_ended);
	ck_assert_str_eq(content_of(call, "success"), "again");
	ck_assert(is_gone("pid"));
	await_end_of(0);
}
END_TEST

START_TEST(sighup_loads_the_tool_files_again)
{
	struct call *call;

	offer("command: echo old\n");
	start_worker(0, NULL);
	ck_assert_str_eq(content_of(called("{}"), "success"), "old");
	write_file("tools/u.yaml", "name: u\ndescription: d\ncommand: echo new\n");
	ck_assert_int_eq(kill(child_pid(workers[0]), SIGHUP), 0);
	/* Waits at the broker until somebody serves it. */
	call = start_call_of("tool:u", "u", "{}", "[]");
	await(all_ended);
	ck_assert_str_eq(content_of(call, "success"), "new");
}
END_TEST

START_TEST(a_bad_tool_file_does_not_replace_good_ones)
{
	offer("command: echo old\n");
	start_worker(0, NULL);
	ck_assert_str_eq(content_of(called("{}"), "success"), "old");
	offer("command: [no-such-program]\n");
	ck_assert_int_eq(kill(child_pid(workers[0]), SIGHUP), 0);
	/* One of these may still come before the signal. */
	ck_assert_str_eq(content_of(called("{}"), "success"), "old");
	ck_assert_str_eq(content_of(called("{}"), "success"), "old");
}
END_TEST

START_TEST(a_bad_tool_file_keeps_a_worker_from_starting)
{
	const char *argv[] = { "worker-tools", "--broker", endpoint("b"), "--tools",
		path_of("tools"), NULL };
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
	tcase_add_test(tcase, an_unknown_tool_is_told_to_the_model);
	tcase_add_test(tcase, the_tool_of_a_middleware_runs_for_service_tools);
	tcase_add_test(tcase, a_retry_around_a_tool_runs_it_again);
	tcase_add_test(tcase, a_middleware_it_has_not_got_ends_the_run_and_is_named);
	tcase_add_test(tcase, a_killed_workers_call_runs_again_elsewhere);
	tcase_add_test(tcase, a_call_that_runs_at_sigterm_is_finished);
	tcase_add_test(tcase, a_call_that_outlasts_the_drain_is_given_to_another_worker);
	tcase_add_test(tcase, sighup_loads_the_tool_files_again);
	tcase_add_test(tcase, a_bad_tool_file_does_not_replace_good_ones);
	tcase_add_test(tcase, a_bad_tool_file_keeps_a_worker_from_starting);
	return tcase;
}
