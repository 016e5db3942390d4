#include <check.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "bounds.h"

/* Interface under test */
#include "../../worker-tools/template.h"

TCase *tcase_template(void);

static struct arena *arena;

static void
set_up(void)
{
	arena = arena_new();
}

static void
tear_down(void)
{
	arena_destroy(&arena);
}

static const struct value *
from_json(const char *text)
{
	const char *error;
	const struct value *value = json_parse(arena, text, strlen(text), &error);

	ck_assert_msg(value != NULL, "%s: %s", text, error);
	return value;
}

static struct template parsed(const char *text)
{
	struct template template;
	const char *error;

	ck_assert_msg(template_parse(arena, text,
			  from_json("{\"path\": {}, \"count\": {}, \"x-y\": true}"),
			  &template, &error) == 0,
	    "%s: %s", text, error);
	return template;
}

/* Returns text filled in; "(left out)" or the reason why not. */
static const char *
filled(const char *text, const char *args, bool options_end)
{
	struct template template = parsed(text);
	const char *result, *error;

	if (template_fill(
		arena, &template, from_json(args), options_end, &result, &error) == -1)
		return error;
	return result == NULL ? "(left out)" : result;
}

static const struct {
	const char *text, *args, *result;
} fills[] = {
	{ "plain", "{}", "plain" },
	{ "", "{}", "" },
	{ "{path}", "{\"path\": \"a b; rm *\"}", "a b; rm *" },
	{ "{path}", "{\"path\": \"{count} $HOME `x`\"}", "{count} $HOME `x`" },
	{ "--file={path}!", "{\"path\": \"-x\"}", "--file=-x!" },
	{ "{path}:{count}", "{\"path\": \"a\", \"count\": 3}", "a:3" },
	{ "{count}", "{\"count\": -5}", "-5" },
	{ "{count}", "{\"count\": 1.5}", "1.5" },
	{ "{count}", "{\"count\": true}", "true" },
	{ "{path}", "{\"path\": [1, \"two\"]}", "[1,\"two\"]" },
	{ "{x-y}", "{\"x-y\": \"dash\"}", "dash" },
	{ "{path}", "{}", "(left out)" },
	{ "{path}", "{\"path\": null}", "(left out)" },
	{ "--file={path}", "{}", "(left out)" },
	{ "{path}", "{\"path\": \"\"}", "" },
	{ "{{path}}", "{\"path\": \"a\"}", "{path}" },
	{ "{{print}}", "{}", "{print}" },
	{ "a{{print}}b{path}", "{\"path\": \"c\"}", "a{print}bc" },
	{ "{print $1}", "{}", "{print $1}" },
	{ "{ } {} {1} {", "{}", "{ } {} {1} {" },
	{ "{\"path\"}", "{}", "{\"path\"}" },
	{ "{{path}", "{\"path\": \"a\"}", "{a" },
};

START_TEST(fills_in_arguments)
{
	ck_assert_str_eq(filled(fills[_i].text, fills[_i].args, false), fills[_i].result);
}
END_TEST

START_TEST(refuses_text_that_a_program_would_take_for_an_option)
{
	ck_assert_ptr_nonnull(strstr(
	    filled("{path}", "{\"path\": \"-delete\"}", false), "taken for an option"));
	ck_assert_ptr_nonnull(
	    strstr(filled("{path}{count}", "{\"path\": \"\", \"count\": -1}", false),
		"taken for an option"));
}
END_TEST

START_TEST(takes_such_text_behind_a_double_dash)
{
	ck_assert_str_eq(filled("{path}", "{\"path\": \"-delete\"}", true), "-delete");
}
END_TEST

START_TEST(refuses_a_nul_and_names_the_argument)
{
	ck_assert_ptr_nonnull(
	    strstr(filled("{path}", "{\"path\": \"a\\u0000b\"}", false), "'path'"));
}
END_TEST

START_TEST(refuses_more_than_the_kernel_passes_on)
{
	size_t size = TOOL_ARGUMENT_BYTES_MAX;
	char *text = arena_alloc(arena, size + 2);
	struct template template = parsed("{path}");
	const struct value *args;
	const char *result, *error;

	memset(text, 'x', size);
	args = value_map(arena, "path", value_str(arena, text), NULL);
	ck_assert_int_eq(
	    template_fill(arena, &template, args, false, &result, &error), 0);
	ck_assert_uint_eq(strlen(result), size);
	text[size] = 'x';
	args = value_map(arena, "path", value_str(arena, text), NULL);
	ck_assert_int_eq(
	    template_fill(arena, &template, args, false, &result, &error), -1);
	ck_assert_ptr_nonnull(strstr(error, "standard input"));
}
END_TEST

START_TEST(refuses_an_argument_that_does_not_exist)
{
	struct template template;
	const char *error;

	ck_assert_int_eq(template_parse(arena, "a {pahts}", from_json("{\"paths\": {}}"),
			     &template, &error),
	    -1);
	ck_assert_ptr_nonnull(strstr(error, "{pahts}"));
	ck_assert_ptr_nonnull(strstr(error, "did you mean {paths}?"));
	ck_assert_ptr_nonnull(strstr(error, "{{pahts}}"));
	ck_assert_int_eq(template_parse(arena, "{path}", NULL, &template, &error), -1);
}
END_TEST

START_TEST(finds_arguments_where_they_have_no_place)
{
	const struct value *properties = from_json("{\"path\": {}}");

	ck_assert_str_eq(template_finds("cat ${path}", properties), "path");
	ck_assert_str_eq(template_finds("{ x; } {path}", properties), "path");
	ck_assert_ptr_null(template_finds("awk '{print} {path $1}'", properties));
	ck_assert_ptr_null(template_finds("{path}", NULL));
}
END_TEST

START_TEST(knows_an_argument_alone)
{
	struct template alone = parsed("{path}"), text = parsed("{path}x"),
			plain = parsed("path");

	ck_assert(template_is_argument(&alone));
	ck_assert(!template_is_argument(&text));
	ck_assert(!template_is_argument(&plain));
}
END_TEST

TCase *
tcase_template(void)
{
	TCase *tcase = tcase_create("template");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, fills_in_arguments, 0, sizeof fills / sizeof fills[0]);
	tcase_add_test(tcase, refuses_text_that_a_program_would_take_for_an_option);
	tcase_add_test(tcase, takes_such_text_behind_a_double_dash);
	tcase_add_test(tcase, refuses_a_nul_and_names_the_argument);
	tcase_add_test(tcase, refuses_more_than_the_kernel_passes_on);
	tcase_add_test(tcase, refuses_an_argument_that_does_not_exist);
	tcase_add_test(tcase, finds_arguments_where_they_have_no_place);
	tcase_add_test(tcase, knows_an_argument_alone);
	return tcase;
}
