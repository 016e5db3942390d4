/* MCP servers that do not do as they should (tests/mcp/bad.py): the worker and its other tools go on. */
#include <check.h>
#include <signal.h>
#include <sys/wait.h>

#include "mcp_bench.h"

TCase *tcase_mcp_bad(void);

/* Starts a worker that has the server, which does that wrong, and the tool t. */
static void
start(const char *what, const char *more)
{
	mcp_offer_bad(what, more);
	tool_bench_offer(&mcp_bench, "command: [echo, here]\n");
	tool_bench_worker(&mcp_bench, 0, NULL);
}

/* All of it would be no message that the broker takes: the worker would have lost its other tools, too. */
START_TEST(what_it_says_of_all_tools_is_bounded)
{
	start("talkative", "");
	mcp_expect_text(mcp_called("t0", "{}"), "fine");
	mcp_expect_text(tool_bench_call(&mcp_bench, "{}"), "here");
}
END_TEST

/* Good ones or not; but those that nobody wants are passed over. */
START_TEST(how_many_of_its_tools_are_looked_at_is_bounded)
{
	static const char quietly[] = "--builtin none --list 2>/dev/null";

	mcp_offer_bad("useless", "");
	ck_assert_ptr_null(strstr(mcp_printed(quietly), "last"));
	mcp_offer_bad("useless", "tools: [last]\n");
	ck_assert_ptr_nonnull(strstr(mcp_printed(quietly), "last"));
}
END_TEST

static bool
was_started(struct tool_bench *at)
{
	(void)at;
	return mcp_lines_of("starts") > 0;
}

/* Of a worker-tools that does this alone, and is interrupted when that has happened. */
static int
status_of(const char *mode, bool (*happened)(struct tool_bench *at))
{
	const char *argv[] = { "worker-tools", "--tools",
		tool_bench_path(&mcp_bench, "tools"), mode, NULL };
	struct child *child = child_spawn(argv, NULL);

	tool_bench_await(&mcp_bench, happened);
	kill(child_pid(child), SIGINT);
	return child_wait(&child);
}

/* Ctrl-C is no success, and the server goes, too. */
START_TEST(a_signal_stops_who_waits_for_it)
{
	static const char *const modes[] = { "--list", "--call=calculate" };
	int status;

	mcp_offer_bad("silent", "start_ms: 3600000\n");
	status = status_of(modes[_i], was_started);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 130, "status %#x",
	    (unsigned)status);
}
END_TEST

static bool
was_asked_to_end(struct tool_bench *at)
{
	return tool_bench_exists(at, "asked");
}

/* What was to be done has been done: it has that status. */
START_TEST(a_signal_harms_nobody_who_waits_for_its_end)
{
	int status;

	mcp_offer_bad("stays", "");
	status = status_of("--list", was_asked_to_end);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %#x",
	    (unsigned)status);
}
END_TEST

static bool
was_started_again(struct tool_bench *at)
{
	(void)at;
	return mcp_lines_of("starts") > 1;
}

/* It asks and asks, and does not read what is answered. */
START_TEST(what_it_does_not_read_is_bounded)
{
	start("deaf", "start_ms: 3600000\n");
	tool_bench_await(&mcp_bench, was_started_again);
	mcp_expect_text(tool_bench_call(&mcp_bench, "{}"), "here");
}
END_TEST

/* What is for people goes to standard output with many a server. */
START_TEST(what_is_no_message_is_passed_over)
{
	start("babbles", "");
	mcp_expect_text(mcp_called("fine", "{}"), "fine");
}
END_TEST

static const struct {
	const char *what, *words;
} damaged[] = { { "latin", "not UTF-8" }, { "deep", "" }, { "cut", "" } };

/* Its call ends, and not when its time is over, which is much later than this test's. */
START_TEST(an_answer_that_cannot_be_read_ends_its_call)
{
	const struct tool_call *call;

	start(damaged[_i].what, "timeout_ms: 3600000\n");
	call = mcp_called("fine", "{}");
	mcp_expect_fault(call, "McpError", "the server's answer cannot be read: ");
	mcp_expect_fault(call, "McpError", damaged[_i].words);
	ck_assert_uint_eq(mcp_lines_of("starts"), 1); /* it goes on */
}
END_TEST

START_TEST(one_that_closes_its_output_is_started_again)
{
	start("mute", "timeout_ms: 3600000\nidempotent: false\n");
	mcp_expect_fault(mcp_called("fine", "{}"), "ConnectionError",
	    "was killed, for it has closed its standard output");
	tool_bench_await(&mcp_bench, was_started_again);
	mcp_expect_text(mcp_called("fine", "{}"), "fine");
}
END_TEST

TCase *
tcase_mcp_bad(void)
{
	TCase *tcase = tcase_create("mcp_bad");

	tcase_add_checked_fixture(tcase, mcp_bench_set_up, mcp_bench_tear_down);
	tcase_set_timeout(tcase, 30);
	tcase_add_test(tcase, what_it_says_of_all_tools_is_bounded);
	tcase_add_test(tcase, how_many_of_its_tools_are_looked_at_is_bounded);
	tcase_add_test(tcase, what_it_does_not_read_is_bounded);
	tcase_add_test(tcase, what_is_no_message_is_passed_over);
	tcase_add_loop_test(tcase, an_answer_that_cannot_be_read_ends_its_call, 0,
	    (int)(sizeof damaged / sizeof *damaged));
	tcase_add_test(tcase, one_that_closes_its_output_is_started_again);
	tcase_add_loop_test(tcase, a_signal_stops_who_waits_for_it, 0, 2);
	tcase_add_test(tcase, a_signal_harms_nobody_who_waits_for_its_end);
	return tcase;
}
