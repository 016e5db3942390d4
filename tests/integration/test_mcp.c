/* Tools of MCP servers (docs/mcp-tools.md), against one that shows what a client does (tests/mcp/server.py): a
 * tool worker as a real program, the server as its child or behind HTTP. */
#include <check.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fiber.h"
#include "fleet_kit.h"
#include "json.h"
#include "tool_bench.h"

TCase *tcase_mcp(void);

#define SERVER "tests/mcp/server.py"

static struct tool_bench bench;
static struct child *http_server;

static void
set_up(void)
{
	tool_bench_start(&bench);
}

static void
tear_down(void)
{
	tool_bench_stop(&bench);
	child_kill(&http_server);
}

/* --- the server -------------------------------------------------------------------------- */

static const char *
server_path(void)
{
	char path[PATH_MAX];

	ck_assert_ptr_nonnull(realpath(SERVER, path));
	return arena_strdup(bench.arena, path);
}

/* Writes the file that makes it the server "test", with more lines. */
static void
offer_program(const char *more)
{
	tool_bench_write(&bench, "tools/mcp.yaml",
	    arena_printf(bench.arena, "mcp: test\ncommand: [python3, %s, %s]\n%s",
		server_path(), bench.folder, more));
}

static bool
has_port(struct tool_bench *at)
{
	return tool_bench_exists(at, "port");
}

/* The same behind HTTP, which wants the key. */
static void
offer_http(const char *key)
{
	const char *argv[] = { "python3", server_path(), bench.folder, "http", "secret",
		NULL };

	http_server = child_spawn(argv, NULL);
	tool_bench_await(&bench, has_port);
	tool_bench_write(&bench, "tools/mcp.yaml",
	    arena_printf(bench.arena,
		"mcp: test\nurl: http://127.0.0.1:%s/mcp\n"
		"headers: {Authorization: \"Bearer %s\"}\n",
		tool_bench_text(&bench, "port"), key));
}

static size_t
lines_of(const char *name)
{
	const char *text =
	    tool_bench_exists(&bench, name) ? tool_bench_text(&bench, name) : "";
	size_t count = 0;

	while ((text = strchr(text, '\n')) != NULL) {
		text++;
		count++;
	}
	return count;
}

/* --- calls ------------------------------------------------------------------------------- */

static struct tool_call *
begin(const char *tool, const char *args)
{
	return tool_bench_begin_of(
	    &bench, arena_printf(bench.arena, "tool:%s", tool), tool, args, "[]");
}

static struct tool_call *
called(const char *tool, const char *args)
{
	struct tool_call *call = begin(tool, args);

	tool_bench_await_all(&bench);
	return call;
}

static const struct value *
message_of(const struct tool_call *call)
{
	const struct value *command =
	    value_at(value_get(call->outcome.body, "commands"), 0);

	return value_at(value_get(value_get(command, "update"), "messages"), 0);
}

static void
expect_text(const struct tool_call *call, const char *text)
{
	ck_assert_str_eq(tool_bench_content(&bench, call, "success"), text);
}

static void
expect_json(const struct value *value, const char *json)
{
	ck_assert_str_eq(json_text(bench.arena, value), json);
}

static void
expect_fault(const struct tool_call *call, const char *type, const char *words)
{
	const struct fault *fault = tool_bench_fault(&bench, call);

	ck_assert_str_eq(fault->type, type);
	ck_assert_msg(strstr(fault->message, words) != NULL, "%s", fault->message);
}

/* --- what its tools give ------------------------------------------------------------------ */

static void
start(int over_http)
{
	if (over_http)
		offer_http("${OPENAI_API_KEY}");
	else
		offer_program("");
	tool_bench_worker(&bench, 0, NULL);
}

START_TEST(its_tools_are_called)
{
	start(_i);
	expect_text(called("echo", "{\"text\": \"hej\\nd\xc3\xa5\"}"), "hej\nd\xc3\xa5");
	expect_text(called("ask", "{}"), "[{}, -32601]");
	expect_fault(called("fail", "{}"), "ToolException", "no such order");
	expect_fault(called("wrong", "{}"), "McpError", "unknown: wrong");
	ck_assert_uint_eq(lines_of("starts"), 1);
}
END_TEST

START_TEST(what_is_no_text_comes_as_blocks)
{
	const struct value *message;

	start(_i);
	message = message_of(called("many_blocks", "{}"));
	expect_json(value_get(message, "content"),
	    "[{\"type\":\"text\",\"text\":\"look\"},"
	    "{\"type\":\"image\",\"base64\":\"aGk=\",\"mime_type\":\"image/png\"},"
	    "{\"type\":\"text\",\"text\":\"inside\"},"
	    "{\"type\":\"file\",\"base64\":\"Yg==\",\"mime_type\":\"application/pdf\"},"
	    "{\"type\":\"file\",\"url\":\"https://x/c\"}]");
	message = message_of(called("facts", "{}"));
	expect_json(value_get(message, "content"), "\"{\\\"height\\\":3}\"");
	expect_json(
	    value_get(message, "artifact"), "{\"structured_content\":{\"height\":3}}");
}
END_TEST

START_TEST(arguments_are_checked_before_it_is_asked)
{
	start(_i);
	ck_assert_ptr_nonnull(
	    strstr(tool_bench_content(&bench, called("echo", "{}"), "error"),
		"needs the property text"));
}
END_TEST

/* --- what becomes of a call ---------------------------------------------------------------- */

static bool
slow_has_begun(struct tool_bench *at)
{
	return tool_bench_exists(at, "slow");
}

static bool
was_told_to_cancel(struct tool_bench *at)
{
	return tool_bench_exists(at, "said") &&
	       strstr(tool_bench_text(at, "said"), "cancelled") != NULL;
}

START_TEST(a_cancel_reaches_it)
{
	struct tool_call *call;

	start(_i);
	call = begin("slow", "{}");
	tool_bench_await(&bench, slow_has_begun);
	fiber_cancel(call->fiber);
	tool_bench_await(&bench, was_told_to_cancel);
	tool_bench_await_all(&bench);
	ck_assert(call->was_cancelled);
	expect_text(called("echo", "{\"text\": \"on\"}"), "on");
}
END_TEST

START_TEST(a_call_that_takes_too_long_ends)
{
	offer_program("timeout_ms: 300\n");
	tool_bench_worker(&bench, 0, NULL);
	expect_fault(called("slow", "{}"), "TimeoutError", "did not answer in time");
	tool_bench_await(&bench, was_told_to_cancel);
}
END_TEST

START_TEST(a_server_that_dies_is_started_again)
{
	struct tool_call *slow;

	start(0);
	slow = begin("slow", "{}");
	tool_bench_await(&bench, slow_has_begun);
	expect_fault(called("die", "{}"), "ConnectionError",
	    "ended with status 3: a word on standard error");
	expect_fault(slow, "ConnectionError", "ended with status 3");
	expect_text(called("echo", "{\"text\": \"again\"}"), "again");
	ck_assert_uint_eq(lines_of("starts"), 2);
}
END_TEST

START_TEST(a_message_that_is_too_large_breaks_it_off)
{
	start(0);
	expect_fault(called("huge", "{}"), "ConnectionError", "too large");
	expect_text(called("echo", "{\"text\": \"again\"}"), "again");
}
END_TEST

/* Its call was not looked at: it is made once, in a new session. */
START_TEST(a_session_that_is_forgotten_is_opened_again)
{
	start(1);
	expect_text(called("forget", "{}"), "forgotten");
	expect_text(called("count", "{}"), "1");
	ck_assert_uint_eq(lines_of("starts"), 2);
}
END_TEST

START_TEST(a_wrong_key_is_said)
{
	const char *argv[] = { "worker-tools", "--tools", NULL, "--list", NULL };
	struct child *list;
	int status;

	offer_http("wrong");
	argv[2] = tool_bench_path(&bench, "tools");
	list = child_spawn(argv, NULL);
	status = child_wait(&list);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 1);
	ck_assert_uint_eq(lines_of("starts"), 0);
}
END_TEST

/* --- which tools there are ------------------------------------------------------------------ */

START_TEST(tools_that_come_later_are_offered)
{
	start(0);
	expect_text(called("grow", "{}"), "grown");
	expect_text(called("more", "{}"), "more of it");
}
END_TEST

START_TEST(a_server_that_cannot_begin_is_tried_again)
{
	struct tool_call *call;

	tool_bench_write(&bench, "broken", "");
	offer_program("");
	tool_bench_offer(&bench, "command: [echo, here]\n");
	tool_bench_worker(&bench, 0, NULL);
	expect_text(tool_bench_call(&bench, "{}"), "here"); /* the others are there */
	call = begin("echo", "{\"text\": \"at last\"}");
	ck_assert_int_eq(unlink(tool_bench_path(&bench, "broken")), 0);
	tool_bench_await_all(&bench);
	expect_text(call, "at last");
}
END_TEST

/* Runs worker-tools with those arguments; returns what it printed. */
static const char *
printed(const char *arguments)
{
	FILE *pipe = popen(arena_printf(bench.arena, "exec worker-tools --tools %s %s",
			       tool_bench_path(&bench, "tools"), arguments),
	    "r");
	char *text = arena_alloc(bench.arena, 8192);

	ck_assert_ptr_nonnull(pipe);
	text[fread(text, 1, 8191, pipe)] = '\0';
	ck_assert_int_eq(pclose(pipe), 0);
	return text;
}

START_TEST(those_that_are_wanted_are_offered_by_their_prefix)
{
	const char *text;

	offer_program("prefix: my_\ntools: [echo, count, unusable]\n");
	text = printed("--builtin none --list");
	ck_assert_msg(strstr(text, "my_echo ") != NULL &&
			  strstr(text, "my_fail") == NULL &&
			  strstr(text, "unusable") == NULL,
	    "%s", text);
	ck_assert_ptr_nonnull(strstr(strstr(text, "my_count"), "never run twice"));
	ck_assert_ptr_null(strstr(strstr(text, "my_echo"), "never run twice"));
	ck_assert_str_eq(printed("--call my_echo '{\"text\": \"x\"}'"), "x\n");
}
END_TEST

START_TEST(what_may_run_twice_the_file_may_say)
{
	offer_program("idempotent: true\n");
	ck_assert_ptr_null(strstr(printed("--list"), "never run twice"));
	offer_program("idempotent: false\n");
	ck_assert_ptr_nonnull(
	    strstr(strstr(printed("--list"), "echo"), "never run twice"));
}
END_TEST

static bool
second_is_there(struct tool_bench *at)
{
	return tool_bench_exists(at, "second");
}

/* One that is as it was goes on; one that is no more ends. */
START_TEST(files_are_read_again)
{
	start(0);
	expect_text(called("count", "{}"), "1");
	tool_bench_offer(&bench, "command: [touch, second]\ndirectory: ..\n");
	kill(child_pid(bench.workers[0]), SIGHUP);
	tool_bench_call(&bench, "{}");
	tool_bench_await(&bench, second_is_there);
	expect_text(called("count", "{}"), "1"); /* another call's */
	ck_assert_uint_eq(lines_of("starts"), 1);
	offer_program("prefix: new_\n");
	kill(child_pid(bench.workers[0]), SIGHUP);
	expect_text(called("new_echo", "{\"text\": \"x\"}"), "x");
	ck_assert_uint_eq(lines_of("starts"), 2);
}
END_TEST

/* --- a fleet --------------------------------------------------------------------------------- */

#define AGENT                                                                            \
	"name: a\nmodel: scripted:m\ntools: [echo, fail]\nscript:\n  m:\n"               \
	"  - {content: '', tool_calls: [{id: '1', name: echo, args: {text: hello}},\n"   \
	"                               {id: '2', name: fail, args: {}}]}\n"             \
	"  - {content: Done.}\n"

START_TEST(an_agent_uses_them)
{
	struct fleet_kit *kit = kit_new();
	const char *state;

	offer_program("");
	kit_flag(kit, KIT_TOOLS, "--tools", tool_bench_path(&bench, "tools"));
	kit_start_all(kit, 1, 1, 1);
	kit_flotilla(kit, "agents", "apply", kit_write(kit, "a.yaml", AGENT), NULL);
	kit_flotilla(kit, "submit", "a", "Go", "--thread", "t", "--wait", NULL);
	state = kit_flotilla(kit, "state", "t", "--json", NULL);
	ck_assert_ptr_nonnull(strstr(state, "\"hello\""));
	ck_assert_ptr_nonnull(strstr(state, "no such order"));
	kit_destroy(&kit);
}
END_TEST

TCase *
tcase_mcp(void)
{
	TCase *tcase = tcase_create("mcp");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, its_tools_are_called, 0, 1);
	tcase_add_loop_test(tcase, what_is_no_text_comes_as_blocks, 0, 2);
	tcase_add_loop_test(tcase, arguments_are_checked_before_it_is_asked, 0, 2);
	tcase_add_loop_test(tcase, a_cancel_reaches_it, 0, 2);
	tcase_add_test(tcase, a_call_that_takes_too_long_ends);
	tcase_add_test(tcase, a_server_that_dies_is_started_again);
	tcase_add_test(tcase, a_message_that_is_too_large_breaks_it_off);
	tcase_add_test(tcase, a_session_that_is_forgotten_is_opened_again);
	tcase_add_test(tcase, a_wrong_key_is_said);
	tcase_add_test(tcase, tools_that_come_later_are_offered);
	tcase_add_test(tcase, a_server_that_cannot_begin_is_tried_again);
	tcase_add_test(tcase, those_that_are_wanted_are_offered_by_their_prefix);
	tcase_add_test(tcase, what_may_run_twice_the_file_may_say);
	tcase_add_test(tcase, files_are_read_again);
	tcase_add_test(tcase, an_agent_uses_them);
	return tcase;
}
