/* Tools of MCP servers (docs/mcp-tools.md), against one that shows what a client does (tests/mcp/server.py): a
 * tool worker as a real program, the server as its child or behind HTTP. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fiber.h"
#include "fleet_kit.h"
#include "json.h"
#include "mcp_bench.h"

TCase *tcase_mcp(void);

static const struct value *
message_of(const struct tool_call *call)
{
	const struct value *command =
	    value_at(value_get(call->outcome.body, "commands"), 0);

	return value_at(value_get(value_get(command, "update"), "messages"), 0);
}

static void
expect_json(const struct value *value, const char *json)
{
	ck_assert_str_eq(json_text(mcp_bench.arena, value), json);
}

/* --- what its tools give ------------------------------------------------------------------ */

static void
start(int over_http)
{
	if (over_http)
		mcp_offer_http("${OPENAI_API_KEY}");
	else
		mcp_offer_program("");
	tool_bench_worker(&mcp_bench, 0, NULL);
}

START_TEST(its_tools_are_called)
{
	start(_i);
	mcp_expect_text(
	    mcp_called("echo", "{\"text\": \"hej\\nd\xc3\xa5\"}"), "hej\nd\xc3\xa5");
	mcp_expect_text(mcp_called("ask", "{}"), "[{}, -32601]");
	mcp_expect_fault(mcp_called("fail", "{}"), "ToolException", "no such order");
	mcp_expect_fault(mcp_called("wrong", "{}"), "McpError", "unknown: wrong");
	ck_assert_uint_eq(mcp_lines_of("starts"), 1);
}
END_TEST

START_TEST(what_is_no_text_comes_as_blocks)
{
	const struct value *message;

	start(_i);
	message = message_of(mcp_called("many_blocks", "{}"));
	expect_json(value_get(message, "content"),
	    "[{\"type\":\"text\",\"text\":\"look\"},"
	    "{\"type\":\"image\",\"base64\":\"aGk=\",\"mime_type\":\"image/png\"},"
	    "{\"type\":\"text\",\"text\":\"inside\"},"
	    "{\"type\":\"file\",\"base64\":\"Yg==\",\"mime_type\":\"application/pdf\"},"
	    "{\"type\":\"file\",\"url\":\"https://x/c\"}]");
	message = message_of(mcp_called("facts", "{}"));
	expect_json(value_get(message, "content"), "\"{\\\"height\\\":3}\"");
	expect_json(
	    value_get(message, "artifact"), "{\"structured_content\":{\"height\":3}}");
}
END_TEST

START_TEST(arguments_are_checked_before_it_is_asked)
{
	start(_i);
	ck_assert_ptr_nonnull(
	    strstr(tool_bench_content(&mcp_bench, mcp_called("echo", "{}"), "error"),
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
	call = mcp_begin("slow", "{}");
	tool_bench_await(&mcp_bench, slow_has_begun);
	fiber_cancel(call->fiber);
	tool_bench_await(&mcp_bench, was_told_to_cancel);
	tool_bench_await_all(&mcp_bench);
	ck_assert(call->was_cancelled);
	mcp_expect_text(mcp_called("echo", "{\"text\": \"on\"}"), "on");
}
END_TEST

static bool
is_pestered(struct tool_bench *at)
{
	return tool_bench_exists(at, "pestered");
}

/* What the server asks is answered for as long as somebody waits for what it was asked. */
START_TEST(a_cancel_ends_what_it_asks)
{
	struct tool_call *call;

	start(1);
	call = mcp_begin("pester", "{}");
	tool_bench_await(&mcp_bench, is_pestered);
	fiber_cancel(call->fiber);
	tool_bench_await(&mcp_bench, was_told_to_cancel);
	tool_bench_await_all(&mcp_bench);
	mcp_expect_text(mcp_called("echo", "{\"text\": \"on\"}"), "on");
}
END_TEST

START_TEST(a_call_that_takes_too_long_ends)
{
	mcp_offer_program("timeout_ms: 300\n");
	tool_bench_worker(&mcp_bench, 0, NULL);
	mcp_expect_fault(
	    mcp_called("slow", "{}"), "TimeoutError", "did not answer in time");
	tool_bench_await(&mcp_bench, was_told_to_cancel);
}
END_TEST

START_TEST(a_server_that_dies_is_started_again)
{
	struct tool_call *slow;

	start(0);
	slow = mcp_begin("slow", "{}");
	tool_bench_await(&mcp_bench, slow_has_begun);
	mcp_expect_fault(mcp_called("die", "{}"), "ConnectionError",
	    "ended with status 3: a word on standard error");
	mcp_expect_fault(slow, "ConnectionError", "ended with status 3");
	mcp_expect_text(mcp_called("echo", "{\"text\": \"again\"}"), "again");
	ck_assert_uint_eq(mcp_lines_of("starts"), 2);
}
END_TEST

START_TEST(a_message_that_is_too_large_breaks_it_off)
{
	start(0);
	mcp_expect_fault(mcp_called("huge", "{}"), "ConnectionError", "too large");
	mcp_expect_text(mcp_called("echo", "{\"text\": \"again\"}"), "again");
}
END_TEST

/* Its call was not looked at: it is made once, in a new session. Servers that were made after the SDK's
 * samples say it in another way. */
START_TEST(a_session_that_is_forgotten_is_opened_again)
{
	start(1);
	if (_i == 1)
		tool_bench_write(&mcp_bench, "sample", "");
	mcp_expect_text(mcp_called("forget", "{}"), "forgotten");
	mcp_expect_text(mcp_called("count", "{}"), "1");
	ck_assert_uint_eq(mcp_lines_of("starts"), 2);
}
END_TEST

/* A call that goes on in the old session keeps no other waiting. */
START_TEST(a_slow_call_does_not_hold_up_a_new_session)
{
	struct tool_call *slow, *count;

	start(1);
	slow = mcp_begin("slow", "{}");
	tool_bench_await(&mcp_bench, slow_has_begun);
	mcp_await(mcp_begin("forget", "{}"));
	count = mcp_begin("count", "{}");
	mcp_await(count);
	mcp_expect_text(count, "1");
	ck_assert_ptr_nonnull(slow->fiber);
	fiber_cancel(slow->fiber);
	tool_bench_await_all(&mcp_bench);
	mcp_expect_text(mcp_called("echo", "{\"text\": \"on\"}"), "on");
}
END_TEST

START_TEST(a_wrong_key_is_said_and_not_shown)
{
	char text[4096];
	FILE *list;

	setenv("WRONG_KEY", "wrongkey-123", 1);
	mcp_offer_http("${WRONG_KEY}");
	list = popen(arena_printf(mcp_bench.arena,
			 "exec worker-tools --tools %s --log-level debug --list 2>&1",
			 tool_bench_path(&mcp_bench, "tools")),
	    "r");
	ck_assert_ptr_nonnull(list);
	text[fread(text, 1, sizeof text - 1, list)] = '\0';
	ck_assert_int_eq(WEXITSTATUS(pclose(list)), 1);
	ck_assert_msg(strstr(text, "who are you, Bearer [key]?") != NULL, "%s", text);
	ck_assert_ptr_null(strstr(text, "wrongkey"));
	ck_assert_uint_eq(mcp_lines_of("starts"), 0);
}
END_TEST

/* --- which tools there are ------------------------------------------------------------------ */

START_TEST(tools_that_come_later_are_offered)
{
	start(0);
	mcp_expect_text(mcp_called("grow", "{}"), "grown");
	mcp_expect_text(mcp_called("more", "{}"), "more of it");
}
END_TEST

START_TEST(a_server_that_cannot_begin_is_tried_again)
{
	struct tool_call *call;

	tool_bench_write(&mcp_bench, "broken", "");
	mcp_offer_program("");
	tool_bench_offer(&mcp_bench, "command: [echo, here]\n");
	tool_bench_worker(&mcp_bench, 0, NULL);
	mcp_expect_text(
	    tool_bench_call(&mcp_bench, "{}"), "here"); /* the others are there */
	call = mcp_begin("echo", "{\"text\": \"at last\"}");
	ck_assert_int_eq(unlink(tool_bench_path(&mcp_bench, "broken")), 0);
	tool_bench_await_all(&mcp_bench);
	mcp_expect_text(call, "at last");
}
END_TEST

START_TEST(those_that_are_wanted_are_offered_by_their_prefix)
{
	const char *text;

	mcp_offer_program("prefix: my_\ntools: [echo, count, unusable]\n");
	text = mcp_printed("--builtin none --list");
	ck_assert_msg(strstr(text, "my_echo ") != NULL &&
			  strstr(text, "my_fail") == NULL &&
			  strstr(text, "unusable") == NULL,
	    "%s", text);
	ck_assert_ptr_nonnull(strstr(strstr(text, "my_count"), "never run twice"));
	ck_assert_ptr_null(strstr(strstr(text, "my_echo"), "never run twice"));
	ck_assert_str_eq(mcp_printed("--call my_echo '{\"text\": \"x\"}'"), "x\n");
}
END_TEST

START_TEST(a_name_that_it_does_not_know_is_said)
{
	mcp_offer_program("tools: [echo, eco]\n");
	ck_assert_ptr_nonnull(strstr(
	    mcp_printed("--list 2>&1"), "tool=eco not offered: the server has none"));
}
END_TEST

START_TEST(what_may_run_twice_the_file_may_say)
{
	mcp_offer_program("idempotent: true\n");
	ck_assert_ptr_null(strstr(mcp_printed("--list"), "never run twice"));
	mcp_offer_program("idempotent: false\n");
	ck_assert_ptr_nonnull(
	    strstr(strstr(mcp_printed("--list"), "echo"), "never run twice"));
}
END_TEST

START_TEST(arguments_that_are_none_open_no_server)
{
	const char *argv[] = { "worker-tools", "--tools", NULL, "--call", "echo", "{",
		NULL };
	struct child *child;

	mcp_offer_program("");
	argv[2] = tool_bench_path(&mcp_bench, "tools");
	child = child_spawn(argv, NULL);
	ck_assert_int_eq(WEXITSTATUS(child_wait(&child)), 2);
	ck_assert_uint_eq(mcp_lines_of("starts"), 0);
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
	mcp_expect_text(mcp_called("count", "{}"), "1");
	tool_bench_offer(&mcp_bench, "command: [touch, second]\ndirectory: ..\n");
	kill(child_pid(mcp_bench.workers[0]), SIGHUP);
	tool_bench_call(&mcp_bench, "{}");
	tool_bench_await(&mcp_bench, second_is_there);
	mcp_expect_text(mcp_called("count", "{}"), "1"); /* another call's */
	ck_assert_uint_eq(mcp_lines_of("starts"), 1);
	mcp_offer_program("prefix: new_\n");
	kill(child_pid(mcp_bench.workers[0]), SIGHUP);
	mcp_expect_text(mcp_called("new_echo", "{\"text\": \"x\"}"), "x");
	ck_assert_uint_eq(mcp_lines_of("starts"), 2);
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

	mcp_offer_program("");
	kit_flag(kit, KIT_TOOLS, "--tools", tool_bench_path(&mcp_bench, "tools"));
	/* A server of Python's takes its time on a machine that has none. */
	kit_flag(kit, KIT_COORDINATOR, "--served-wait-ms", "60000");
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

	tcase_add_checked_fixture(tcase, mcp_bench_set_up, mcp_bench_tear_down);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, its_tools_are_called, 0, 1);
	tcase_add_loop_test(tcase, what_is_no_text_comes_as_blocks, 0, 2);
	tcase_add_loop_test(tcase, arguments_are_checked_before_it_is_asked, 0, 2);
	tcase_add_loop_test(tcase, a_cancel_reaches_it, 0, 2);
	tcase_add_test(tcase, a_cancel_ends_what_it_asks);
	tcase_add_test(tcase, a_call_that_takes_too_long_ends);
	tcase_add_test(tcase, a_server_that_dies_is_started_again);
	tcase_add_test(tcase, a_message_that_is_too_large_breaks_it_off);
	tcase_add_loop_test(tcase, a_session_that_is_forgotten_is_opened_again, 0, 2);
	tcase_add_test(tcase, a_slow_call_does_not_hold_up_a_new_session);
	tcase_add_test(tcase, a_wrong_key_is_said_and_not_shown);
	tcase_add_test(tcase, tools_that_come_later_are_offered);
	tcase_add_test(tcase, a_server_that_cannot_begin_is_tried_again);
	tcase_add_test(tcase, those_that_are_wanted_are_offered_by_their_prefix);
	tcase_add_test(tcase, a_name_that_it_does_not_know_is_said);
	tcase_add_test(tcase, what_may_run_twice_the_file_may_say);
	tcase_add_test(tcase, arguments_that_are_none_open_no_server);
	tcase_add_test(tcase, files_are_read_again);
	tcase_add_test(tcase, an_agent_uses_them);
	return tcase;
}
