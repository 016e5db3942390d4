#include <check.h>
#include <signal.h>
#include <string.h>

#include "json.h"

/* Interface under test */
#include "../../worker-tools/verdict.h"

TCase *tcase_verdict(void);

static struct arena *arena;
static struct command_tool tool;

static void
set_up(void)
{
	arena = arena_new();
	tool = (struct command_tool){
		.name = "t", .timeout_ms = 250, .output_bytes_max = 10
	};
}

static void
tear_down(void)
{
	arena_destroy(&arena);
}

static struct verdict
verdict_for(enum process_end end, int status, const char *output, const char *error)
{
	struct process_result result = {
		.end = end,
		.status = status,
		.reason = "no such thing",
		.output = output,
		.output_size = strlen(output),
		.error = error,
		.error_size = strlen(error),
	};

	return verdict_of(arena, &tool, &result);
}

static const struct {
	const char *error, *type, *message;
} exits[] = {
	{ "OSError: [Errno 28] No space left on device\n", "OSError",
	    "[Errno 28] No space left on device" },
	{ "Traceback (most recent call last):\n  File \"x.py\", line 1\n"
	  "requests.exceptions.ConnectionError: refused\n\n",
	    "ConnectionError", "refused" },
	{ "MyOwnError: mine", "MyOwnError", "mine" },
	{ "java.lang.IllegalStateException: bad\r\n", "IllegalStateException", "bad" },
	{ "AssertionError\n", "AssertionError", "AssertionError" },
	{ "ValueError: a: b: c", "ValueError", "a: b: c" },
	{ "", "ToolException", "exited with status 3 and wrote nothing to stderr" },
	{ " \n\n", "ToolException", "exited with status 3 and wrote nothing to stderr" },
	{ "sh: 1: foo: not found\n", "ToolException",
	    "exited with status 3: sh: 1: foo: not found" },
	{ "first\nsecond\n", "ToolException", "exited with status 3: first\nsecond" },
	{ "OSError: earlier\nmore words\n", "ToolException",
	    "exited with status 3: OSError: earlier\nmore words" },
	{ "Error:no space\n", "ToolException", "exited with status 3: Error:no space" },
	{ "warning: x\n", "ToolException", "exited with status 3: warning: x" },
	{ "1Error: x\n", "ToolException", "exited with status 3: 1Error: x" },
	{ ".: x\n", "ToolException", "exited with status 3: .: x" },
	{ "bad \xff byte", "ToolException",
	    "exited with status 3: bad \xef\xbf\xbd byte" },
};

START_TEST(makes_a_fault_of_a_failed_exit)
{
	struct verdict verdict = verdict_for(PROCESS_EXITED, 3, "", exits[_i].error);

	ck_assert_ptr_null(verdict.content);
	ck_assert_str_eq(verdict.fault->type, exits[_i].type);
	ck_assert_str_eq(verdict.fault->message, exits[_i].message);
	ck_assert(verdict.fault->retryable);
	ck_assert(!verdict.fault->control);
}
END_TEST

START_TEST(shows_the_end_of_a_long_stderr_by_whole_lines)
{
	char *line = arena_alloc(arena, 4001);
	struct verdict verdict;

	memset(line, 'x', 4000);
	verdict = verdict_for(PROCESS_EXITED, 1, "",
	    arena_printf(arena, "%s\nthe last line\nand one more", line));
	ck_assert_str_eq(
	    verdict.fault->message, "exited with status 1: the last line\nand one more");
	verdict = verdict_for(PROCESS_EXITED, 1, "", line);
	ck_assert_uint_lt(strlen(verdict.fault->message), 700);
}
END_TEST

static const struct {
	const char *output, *content;
} texts[] = {
	{ "", "" },
	{ "hello\n", "hello" },
	{ "hello\n\n", "hello\n" },
	{ "  two\nlines", "  two\nlines" },
	{ "\n", "" },
	{ "bad \xff", "bad \xef\xbf\xbd" },
};

START_TEST(takes_stdout_as_the_result)
{
	struct verdict verdict =
	    verdict_for(PROCESS_EXITED, 0, texts[_i].output, "OSError: only a warning");

	ck_assert_ptr_null(verdict.fault);
	ck_assert_str_eq(verdict.content, texts[_i].content);
}
END_TEST

START_TEST(keeps_a_nul_from_cutting_the_result)
{
	struct process_result result = {
		.end = PROCESS_EXITED, .output = "a\0b\n", .output_size = 4, .error = ""
	};

	ck_assert_str_eq(verdict_of(arena, &tool, &result).content, "a b");
}
END_TEST

START_TEST(checks_json)
{
	struct verdict verdict;

	tool.output = TOOL_OUTPUT_JSON;
	verdict = verdict_for(PROCESS_EXITED, 0, "{\"a\" : [1, 2.0]}\n", "");
	ck_assert_str_eq(verdict.content, "{\"a\":[1,2.0]}");
	verdict = verdict_for(PROCESS_EXITED, 0, "\"two\\nlines\"", "");
	ck_assert_str_eq(verdict.content, "two\nlines");
	verdict = verdict_for(PROCESS_EXITED, 0, "\"a\\u0000b\"", "");
	ck_assert_str_eq(verdict.content, "a b");
	verdict = verdict_for(PROCESS_EXITED, 0, "no JSON", "");
	ck_assert_str_eq(verdict.fault->type, "ToolException");
	ck_assert_ptr_nonnull(strstr(verdict.fault->message, "wrote no JSON"));
	verdict = verdict_for(PROCESS_EXITED, 0, "", "");
	ck_assert_ptr_nonnull(verdict.fault);
}
END_TEST

static const struct {
	const char *output, *command;
} commands[] = {
	{ "{\"content\": \"a\\u0000b\"}\n",
	    "{\"update\":{\"messages\":[{\"type\":\"tool\",\"content\":\"a b\"}]}}" },
	{ "{\"content\": {\"a\" : 1}, \"artifact\": [1], \"goto\": \"end\", "
	  "\"update\": {\"a\": null}}",
	    "{\"update\":{\"a\":null,\"messages\":[{\"type\":\"tool\",\"content\":"
	    "\"{\\\"a\\\":1}\",\"artifact\":[1]}]},\"goto\":\"end\"}" },
	/* Blocks are, a list of anything else is not; the answer is the first message. */
	{ "{\"content\": [{\"type\": \"text\", \"text\": \"x\"}], "
	  "\"update\": {\"messages\": \"hi\"}}",
	    "{\"update\":{\"messages\":[{\"type\":\"tool\",\"content\":["
	    "{\"type\":\"text\",\"text\":\"x\"}]},\"hi\"]}}" },
	{ "{\"content\": [{\"type\": \"invoice\"}], \"update\": {\"messages\": [1, 2]}}",
	    "{\"update\":{\"messages\":[{\"type\":\"tool\",\"content\":"
	    "\"[{\\\"type\\\":\\\"invoice\\\"}]\"},1,2]}}" },
	{ "{\"content\": [], \"artifact\": null, \"update\": null, \"goto\": null}",
	    "{\"update\":{\"messages\":[{\"type\":\"tool\",\"content\":\"[]\"}]}}" },
	/* It answers by itself, if it does. */
	{ "{\"update\": {\"messages\": [1]}, \"goto\": [\"a\", \"b\"]}",
	    "{\"update\":{\"messages\":[1]},\"goto\":[\"a\",\"b\"]}" },
};

START_TEST(takes_stdout_as_a_command)
{
	struct verdict verdict;

	tool.output = TOOL_OUTPUT_COMMAND;
	verdict = verdict_for(PROCESS_EXITED, 0, commands[_i].output, "");
	ck_assert_msg(verdict.fault == NULL, "%s", commands[_i].output);
	ck_assert_ptr_null(verdict.content);
	ck_assert_str_eq(json_text(arena, verdict.command), commands[_i].command);
}
END_TEST

static const struct {
	const char *output, *words;
} flawed[] = {
	{ "Done.", "wrote no JSON although its output is command: " },
	{ "", "wrote no JSON although its output is command: " },
	{ "{\"content\": \"\xff\"}", "wrote no JSON although its output is command: " },
	{ "[]", "wrote JSON that is no object, although its output is command: array" },
	{ "{\"content\": \"\", \"contents\": 1}", "wrote a command with 'contents'; " },
	{ "{\"content\": \"\", \"update\": [1]}", "whose update is no object" },
	{ "{\"content\": \"\", \"goto\": {\"node\": \"a\"}}", "whose goto is neither" },
	{ "{\"content\": \"\", \"goto\": [\"a\", 1]}", "whose goto is neither" },
	{ "{}", "does not answer the call" },
	{ "{\"content\": null, \"update\": {\"a\": 1}}", "does not answer the call" },
	{ "{\"artifact\": 1}", "an artifact and no content" },
};

START_TEST(says_what_is_wrong_with_a_command)
{
	struct verdict verdict;

	tool.output = TOOL_OUTPUT_COMMAND;
	verdict = verdict_for(PROCESS_EXITED, 0, flawed[_i].output, "");
	ck_assert_ptr_null(verdict.command);
	ck_assert_str_eq(verdict.fault->type, "ToolException");
	ck_assert_msg(strstr(verdict.fault->message, flawed[_i].words) != NULL, "%s",
	    verdict.fault->message);
}
END_TEST

START_TEST(names_the_limit_that_was_hit)
{
	struct verdict verdict = verdict_for(PROCESS_TIMEOUT, 0, "", "");

	ck_assert_str_eq(verdict.fault->type, "TimeoutError");
	ck_assert_ptr_nonnull(strstr(verdict.fault->message, "timeout_ms of 250"));
	verdict = verdict_for(PROCESS_OUTPUT_LIMIT, 0, "0123456789", "");
	ck_assert_str_eq(verdict.fault->type, "ToolException");
	ck_assert_ptr_nonnull(strstr(verdict.fault->message, "output_bytes_max of 10"));
}
END_TEST

START_TEST(names_the_signal)
{
	struct verdict verdict =
	    verdict_for(PROCESS_SIGNALLED, SIGSEGV, "", "about to crash\n");

	ck_assert_str_eq(verdict.fault->type, "ToolException");
	ck_assert_str_eq(verdict.fault->message,
	    "was ended by signal 11 (Segmentation fault): about to crash");
}
END_TEST

START_TEST(lets_a_cancellation_through)
{
	ck_assert(verdict_for(PROCESS_CANCELLED, 0, "", "").fault->control);
}
END_TEST

START_TEST(says_why_nothing_started)
{
	ck_assert_str_eq(verdict_for(PROCESS_NOT_STARTED, 0, "", "").fault->message,
	    "could not be started: no such thing");
}
END_TEST

START_TEST(a_question_is_json)
{
	struct verdict verdict = verdict_for(PROCESS_EXITED, 75, "{\"a\": 1}\n", "why");

	ck_assert_str_eq(verdict.fault->message, "exited with status 75: why");
	tool.interrupts = true;
	verdict = verdict_for(PROCESS_EXITED, 75, "{\"a\": 1}\n", "why");
	ck_assert(verdict.fault == NULL && verdict.content == NULL);
	ck_assert_int_eq(value_get_int(verdict.asked, "a", 0), 1);
	verdict = verdict_for(PROCESS_EXITED, 75, "null", "");
	ck_assert(value_is(verdict.asked, VALUE_NIL));
	verdict = verdict_for(PROCESS_EXITED, 75, "pay?", "");
	ck_assert_str_eq(verdict.fault->type, "ToolException");
	ck_assert_ptr_nonnull(strstr(verdict.fault->message, "wrote no JSON"));
	verdict = verdict_for(PROCESS_EXITED, 74, "{}", "");
	ck_assert_ptr_null(verdict.asked);
}
END_TEST

TCase *
tcase_verdict(void)
{
	TCase *tcase = tcase_create("verdict");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(
	    tcase, makes_a_fault_of_a_failed_exit, 0, sizeof exits / sizeof exits[0]);
	tcase_add_test(tcase, shows_the_end_of_a_long_stderr_by_whole_lines);
	tcase_add_loop_test(
	    tcase, takes_stdout_as_the_result, 0, sizeof texts / sizeof texts[0]);
	tcase_add_test(tcase, keeps_a_nul_from_cutting_the_result);
	tcase_add_test(tcase, checks_json);
	tcase_add_loop_test(
	    tcase, takes_stdout_as_a_command, 0, sizeof commands / sizeof commands[0]);
	tcase_add_loop_test(tcase, says_what_is_wrong_with_a_command, 0,
	    sizeof flawed / sizeof flawed[0]);
	tcase_add_test(tcase, a_question_is_json);
	tcase_add_test(tcase, names_the_limit_that_was_hit);
	tcase_add_test(tcase, names_the_signal);
	tcase_add_test(tcase, lets_a_cancellation_through);
	tcase_add_test(tcase, says_why_nothing_started);
	return tcase;
}
