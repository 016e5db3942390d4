#include <check.h>
#include <math.h>
#include <string.h>

#include "literal.h"

/* Interface under test */
#include "options.h"

static const char *const colours[] = { "red", "green", "blue", NULL };

static const struct option options[] = {
	{ .name = "name", .type = OPTION_TEXT, .required = true },
	{ .name = "on", .type = OPTION_BOOL, .otherwise = "true" },
	{ .name = "count", .type = OPTION_INTEGER, .otherwise = "3", .min = 1, .max = 9 },
	{ .name = "share", .type = OPTION_NUMBER, .nullable = true },
	{ .name = "colour", .type = OPTION_TEXT, .choices = colours },
	{ .name = "colours", .type = OPTION_TEXTS, .choices = colours },
	{ .name = "list", .type = OPTION_LIST },
	{ .name = "map", .type = OPTION_MAP },
	{ .name = "any", .type = OPTION_ANY },
	{ 0 },
};

static struct arena *arena;

static void
setup(void)
{
	arena = arena_new();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

/* Fits: what was given, what comes of it. */
static const struct {
	const char *given, *settled;
} fine[] = {
	{ "{'name': 'x'}", "{'name': 'x', 'on': true, 'count': 3}" },
	{ "{'count': 9, 'name': 'x', 'on': false}",
	    "{'name': 'x', 'on': false, 'count': 9}" },
	{ "{'name': 'x', 'count': 2.0}", "{'name': 'x', 'on': true, 'count': 2}" },
	{ "{'name': 'x', 'share': 1e300}",
	    "{'name': 'x', 'on': true, 'count': 3, 'share': 1e300}" },
	{ "{'name': 'x', 'share': null}",
	    "{'name': 'x', 'on': true, 'count': 3, 'share': null}" },
	{ "{'name': 'x', 'colours': 'red'}",
	    "{'name': 'x', 'on': true, 'count': 3, 'colours': ['red']}" },
	{ "{'name': 'x', 'colours': ['red', 'blue']}",
	    "{'name': 'x', 'on': true, 'count': 3, 'colours': ['red', 'blue']}" },
	{ "{'name': 'x', 'list': [1], 'map': {'a': 1}, 'any': null}",
	    "{'name': 'x', 'on': true, 'count': 3, 'list': [1], 'map': {'a': 1}, 'any': "
	    "null}" },
};

START_TEST(settings_that_fit_get_their_defaults)
{
	const char *path = "", *error = "";
	const struct value *settled = options_check(
	    arena, "it", options, literal(arena, fine[_i].given), &path, &error);

	ck_assert_msg(settled != NULL, "%s: %s", path, error);
	ck_assert_value(arena, settled, fine[_i].settled);
	/* What was filled in passes again. */
	ck_assert(value_equal(
	    settled, options_check(arena, "it", options, settled, &path, &error)));
}
END_TEST

static const struct {
	const char *given, *path, *error;
} wrong[] = {
	{ "{}", "/name", "it needs the setting \"name\" (a string)" },
	{ "[]", "", "the settings of it must be a map, not a list" },
	{ "{'name': 'x', 'cuont': 1}", "/cuont",
	    "it has no setting \"cuont\"; did you mean \"count\"?" },
	{ "{'name': 'x', 'not/in~here': 1}", "/not~1in~0here",
	    "it has no setting \"not/in~here\"" },
	{ "{'name': 5}", "/name", "must be a string, not an integer" },
	{ "{'name': null}", "/name", "must be a string, not null" },
	{ "{'name': 'x', 'on': 'yes'}", "/on", "must be true or false, not a string" },
	{ "{'name': 'x', 'count': 0}", "/count", "must be at least 1, not 0" },
	{ "{'name': 'x', 'count': 10}", "/count", "must be at most 9, not 10" },
	{ "{'name': 'x', 'count': 1.5}", "/count", "must be an integer, not 1.5" },
	{ "{'name': 'x', 'count': 1e30}", "/count", "must be an integer, not 1e+30" },
	{ "{'name': 'x', 'count': true}", "/count", "must be an integer, not a boolean" },
	{ "{'name': 'x', 'share': '1'}", "/share", "must be a number, not a string" },
	{ "{'name': 'x', 'colour': 'gren'}", "/colour",
	    "must be red, green or blue, not \"gren\"; did you mean \"green\"?" },
	{ "{'name': 'x', 'colours': ['red', 'mauve']}", "/colours/1",
	    "must be red, green or blue, not \"mauve\"" },
	{ "{'name': 'x', 'colours': ['red', 1]}", "/colours/1",
	    "must be a string, not an integer" },
	{ "{'name': 'x', 'colours': {}}", "/colours",
	    "must be a list of strings, not a map" },
	{ "{'name': 'x', 'list': 'a'}", "/list", "must be a list, not a string" },
	{ "{'name': 'x', 'map': []}", "/map", "must be a map, not a list" },
};

START_TEST(a_setting_that_does_not_fit_is_refused_with_its_place)
{
	const char *path = NULL, *error = NULL;

	ck_assert_ptr_null(options_check(
	    arena, "it", options, literal(arena, wrong[_i].given), &path, &error));
	ck_assert_str_eq(path, wrong[_i].path);
	ck_assert_str_eq(error, wrong[_i].error);
}
END_TEST

START_TEST(a_number_must_be_one)
{
	const double odd[] = { NAN, INFINITY, -INFINITY };
	const char *path, *error;
	size_t i;

	for (i = 0; i < 3; i++) {
		ck_assert_ptr_null(options_check(arena, "it", options,
		    value_map(arena, "name", value_str(arena, "x"), "share",
			value_float(arena, odd[i]), NULL),
		    &path, &error));
		ck_assert_str_eq(error, "must be a finite number");
	}
}
END_TEST

START_TEST(who_has_no_options_takes_none)
{
	const char *path, *error;

	ck_assert_value(
	    arena, options_check(arena, "it", NULL, NULL, &path, &error), "{}");
	ck_assert_value(
	    arena, options_check(arena, "it", NULL, value_nil(), &path, &error), "{}");
	ck_assert_ptr_null(
	    options_check(arena, "it", NULL, literal(arena, "{'a': 1}"), &path, &error));
	ck_assert_str_eq(error, "it has no setting \"a\"");
}
END_TEST

static const struct {
	struct option option;
	const char *flaw;
} flawed[] = {
	{ { .name = "x", .otherwise = "{" }, "option x: the default is not JSON: " },
	{ { .name = "x", .type = OPTION_BOOL, .otherwise = "1" },
	    "option x: its own default must be true or false" },
	{ { .name = "x", .type = OPTION_TEXT, .otherwise = "null" },
	    "option x: its own default must be a string, not null" },
	{ { .name = "x", .required = true, .otherwise = "1" },
	    "option x is required and has a default" },
	{ { .name = "x", .min = 2, .max = 1 },
	    "option x: the least is more than the most" },
};

START_TEST(a_table_that_contradicts_itself_is_found)
{
	const struct option table[] = { flawed[_i].option, { 0 } };
	const char *flaw = options_flaw(arena, table);

	ck_assert_ptr_nonnull(flaw);
	ck_assert_int_eq(strncmp(flaw, flawed[_i].flaw, strlen(flawed[_i].flaw)), 0);
}
END_TEST

START_TEST(a_name_may_be_there_once)
{
	const struct option table[] = { { .name = "a" }, { .name = "a" }, { 0 } };

	ck_assert_str_eq(options_flaw(arena, table), "option a is there twice");
	ck_assert_ptr_null(options_flaw(arena, options));
	ck_assert_ptr_null(options_flaw(arena, NULL));
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *tcase_options(void);
TCase *
tcase_options(void)
{
	TCase *tcase = tcase_create("options");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, settings_that_fit_get_their_defaults, 0, COUNT(fine));
	tcase_add_loop_test(tcase, a_setting_that_does_not_fit_is_refused_with_its_place,
	    0, COUNT(wrong));
	tcase_add_test(tcase, a_number_must_be_one);
	tcase_add_test(tcase, who_has_no_options_takes_none);
	tcase_add_loop_test(
	    tcase, a_table_that_contradicts_itself_is_found, 0, COUNT(flawed));
	tcase_add_test(tcase, a_name_may_be_there_once);
	return tcase;
}
