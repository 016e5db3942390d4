#include <check.h>
#include <string.h>

/* Interface under test */
#include "shell_output.h"

TCase *tcase_shell_output(void);

static struct arena *arena;
static struct shell_output output;

static void
set_up(void)
{
	arena = arena_new();
	output =
	    (struct shell_output){ .marker = "MARK", .lines_max = 3, .bytes_max = 100 };
}

static void
tear_down(void)
{
	shell_output_release(&output);
	arena_destroy(&arena);
}

static void
add(unsigned stream, const char *text)
{
	shell_output_add(&output, stream, text, strlen(text));
}

static const char *
text(void)
{
	return shell_output_text(arena, &output);
}

static const struct {
	const char *wrote, *text;
	uint64_t lines, bytes;
	int status;
} ends[] = {
	{ "\nMARK:0\n", "<no output>", 0, 0, 0 },
	{ "a\n\nMARK:0\n", "a", 1, 2, 0 },
	{ "a\nMARK:7\n", "a", 1, 2, 7 }, /* without a newline of its own */
	{ "a\n\n\nMARK:0\n", "a\n", 2, 3, 0 },
	{ "\n\na\n\nMARK:0\n", "\n\na", 3, 4, 0 },
	{ "\n\nMARK:0\n", "<no output>", 1, 1, 0 },
	{ "x\n\nMARK:255\nlate\n", "x", 1, 2, 255 },
	/* Somebody in the background wrote in between. */
	{ "a\n\n..MARK:1\n", "a\n..", 2, 5, 1 },
	{ "a..\n..MARK:1\n", "a..\n..", 2, 7, 1 },
	/* The shell shows what it runs: set -v, and set -x of bash and of dash. */
	{ "a\nprintf '\\n%s:%s\\n' 'MARK' \"$?\"\n\nMARK:2\n", "a", 1, 2, 2 },
	{ "a\n+ printf '\\n%s:%s\\n' MARK 0\n\nMARK:2\n", "a", 1, 2, 2 },
	{ "a\n+ printf \\n%s:\\n MARK\n\nMARK:2\n", "a", 1, 2, 2 },
};

/* Whatever pieces it comes in. */
START_TEST(the_marker_ends_the_output)
{
	size_t i;

	add(0, ends[_i].wrote);
	ck_assert(output.streams[0].has_ended);
	ck_assert_str_eq(text(), ends[_i].text);
	ck_assert_uint_eq(output.lines, ends[_i].lines);
	ck_assert_uint_eq(output.bytes, ends[_i].bytes);
	ck_assert_int_eq(output.status, ends[_i].status);
	tear_down();
	set_up();
	for (i = 0; ends[_i].wrote[i] != '\0'; i++)
		shell_output_add(&output, 0, ends[_i].wrote + i, 1);
	ck_assert_str_eq(text(), ends[_i].text);
	ck_assert_int_eq(output.status, ends[_i].status);
}
END_TEST

START_TEST(lines_of_standard_error_are_marked_where_they_came)
{
	add(0, "one\ntw");
	add(1, "oops\n\nMARK:\n");
	add(0, "o\n\nMARK:0\n");
	ck_assert_str_eq(text(), "one\n[stderr] oops\ntwo");
	ck_assert(output.streams[1].has_ended);
}
END_TEST

/* That of standard error may come when nobody waits for it any more. */
START_TEST(what_the_command_before_left_is_no_output)
{
	output.stale = "OLD";
	add(1, "\nOLD:\na\n\nMARK:\n");
	ck_assert_str_eq(text(), "[stderr] a");
	ck_assert(output.streams[1].has_ended);
}
END_TEST

START_TEST(what_is_more_than_the_lines_allowed_is_counted)
{
	add(0, "1\n2\n3\n4\n5\n\nMARK:0\n");
	ck_assert_str_eq(
	    text(), "1\n2\n3\n[Output truncated: it has 5 lines, the limit is 3]");
	ck_assert(output.cut_by_lines && !output.cut_by_bytes);
	ck_assert_uint_eq(output.bytes, 10);
}
END_TEST

START_TEST(what_is_more_than_the_bytes_allowed_is_cut_between_characters)
{
	output.bytes_max = 6;
	add(0, "ab\n\xc3\xa4\xc3\xb6x\nrest\n\nMARK:0\n");
	ck_assert_str_eq(text(),
	    "ab\n\xc3\xa4\n[Output truncated: it has 14 bytes, more than the limit]");
	ck_assert_uint_eq(output.lines, 3);
}
END_TEST

START_TEST(a_line_without_end_is_bounded)
{
	size_t i;

	output.bytes_max = UINT64_MAX;
	for (i = 0; i < 3 * SHELL_LINE_BYTES / 8; i++)
		add(0, "01234567");
	ck_assert_uint_le(
	    output.streams[0].line.size, SHELL_LINE_BYTES + SHELL_TAIL_BYTES);
	add(0, _i == 0 ? "\nnext\n\nMARK:0\n" : "MARK:0\n");
	ck_assert(output.cut_by_bytes && output.streams[0].has_ended);
	ck_assert_uint_eq(output.lines, _i == 0 ? 2 : 1);
	if (_i == 0)
		ck_assert_uint_eq(output.bytes, 3 * SHELL_LINE_BYTES + 6);
	/* Its begin is there, and what comes behind it. */
	ck_assert_uint_gt(strlen(text()), SHELL_LINE_BYTES);
	ck_assert_int_eq(strstr(text(), "7\nnext\n[Output truncated") != NULL, _i == 0);
}
END_TEST

START_TEST(what_was_cut_off_counts_when_nothing_more_comes)
{
	add(0, "par");
	add(1, "t");
	shell_output_end(&output);
	ck_assert_str_eq(text(), "par\n[stderr] t");
}
END_TEST

START_TEST(what_is_no_text_is_made_text)
{
	shell_output_add(&output, 0, "a\0b\xff\n", 5);
	ck_assert_str_eq(text(), "a b\xef\xbf\xbd");
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *
tcase_shell_output(void)
{
	TCase *tcase = tcase_create("shell_output");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, the_marker_ends_the_output, 0, COUNT(ends));
	tcase_add_test(tcase, lines_of_standard_error_are_marked_where_they_came);
	tcase_add_test(tcase, what_the_command_before_left_is_no_output);
	tcase_add_test(tcase, what_is_more_than_the_lines_allowed_is_counted);
	tcase_add_test(
	    tcase, what_is_more_than_the_bytes_allowed_is_cut_between_characters);
	tcase_add_loop_test(tcase, a_line_without_end_is_bounded, 0, 2);
	tcase_add_test(tcase, what_was_cut_off_counts_when_nothing_more_comes);
	tcase_add_test(tcase, what_is_no_text_is_made_text);
	return tcase;
}
