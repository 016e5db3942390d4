#include <check.h>
#include <string.h>

/* Interface under test */
#include "nearest.h"

static const char *const names[] = { "model", "model_retry", "tool_retry", "tools",
	"system_prompt", "pii", "a" };

static const struct {
	const char *text;
	const char *nearest;
} guesses[] = {
	{ "model_rety", "model_retry" },
	{ "model_rerty", "model_retry" }, /* two letters swapped: one edit */
	{ "modle", "model" },
	{ "Model", "model" },
	{ "tool", "tools" },
	{ "toolsss", "tools" },
	{ "system-promt", "system_prompt" },
	{ "tool_retry", "tool_retry" }, /* exact */
	{ "model_reytr", "model_retry" },
	{ "pi", "pii" },
	{ "temperature", NULL },
	{ "xyz", NULL },
	{ "zz", NULL }, /* two edits from "a", but nothing in common */
	{ "", NULL },
};

START_TEST(the_nearest_name_is_found_or_none)
{
	const char *found =
	    nearest_name(guesses[_i].text, names, sizeof names / sizeof names[0]);

	ck_assert_pstr_eq(found, guesses[_i].nearest);
}
END_TEST

START_TEST(of_no_names_none_is_near)
{
	ck_assert_ptr_null(nearest_name("model", NULL, 0));
}
END_TEST

/* What a user typed may be of any length. */
START_TEST(long_texts_and_names_are_near_to_nothing_or_compared_in_bounds)
{
	char longest[129], other[129], longer[1001];
	const char *list[] = { longer, longest };

	memset(longest, 'x', 128);
	memset(other, 'x', 128);
	memset(longer, 'x', 1000);
	longest[128] = other[128] = longer[1000] = '\0';
	other[0] = 'y';
	ck_assert_ptr_eq(nearest_name(other, list, 2), longest);
	ck_assert_ptr_null(nearest_name(longer, list, 2));
}
END_TEST

TCase *tcase_nearest(void);

TCase *
tcase_nearest(void)
{
	TCase *tcase = tcase_create("nearest");

	tcase_add_loop_test(tcase, the_nearest_name_is_found_or_none, 0,
	    sizeof guesses / sizeof guesses[0]);
	tcase_add_test(tcase, of_no_names_none_is_near);
	tcase_add_test(
	    tcase, long_texts_and_names_are_near_to_nothing_or_compared_in_bounds);
	return tcase;
}
