#include <check.h>
#include <string.h>

#include "literal.h"

/* Interface under test */
#include "context_size.h"

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

static const struct {
	const char *given, *trigger;
} forms[] = {
	{ "null", "[]" },
	{ "[]", "[]" },
	{ "['messages', 6]", "[{'messages': 6}]" },
	{ "['tokens', 4000]", "[{'tokens': 4000}]" },
	{ "['fraction', 0.5]", "[{'tokens': 500}]" },
	{ "['fraction', 1]", "[{'tokens': 1000}]" },
	{ "['fraction', 0.00001]", "[{'tokens': 1}]" },
	{ "{'messages': 6, 'tokens': 10}", "[{'messages': 6, 'tokens': 10}]" },
	/* Both must be reached: that is the larger. */
	{ "{'tokens': 10, 'fraction': 0.5}", "[{'tokens': 500}]" },
	{ "{'fraction': 0.5, 'tokens': 900}", "[{'tokens': 900}]" },
	{ "[['messages', 6], {'tokens': 10}]", "[{'messages': 6}, {'tokens': 10}]" },
	{ "[['messages', 6]]", "[{'messages': 6}]" },
};

START_TEST(a_trigger_has_many_forms)
{
	const char *place = NULL, *error = NULL;
	const struct value *trigger =
	    context_trigger(arena, literal(arena, forms[_i].given), 1000, &place, &error);

	ck_assert_msg(trigger != NULL, "%s: %s", place, error);
	ck_assert_value(arena, trigger, forms[_i].trigger);
	/* As the settings of a use are read again. */
	ck_assert_value(
	    arena, context_trigger(arena, trigger, 0, &place, &error), forms[_i].trigger);
}
END_TEST

static const struct {
	const char *given, *place, *error;
} wrong[] = {
	{ "'messages'", "", "must be a size" },
	{ "7", "", "must be a size" },
	{ "{}", "", "an empty map" },
	{ "['messages']", "", "[kind, value]" },
	{ "['messages', 6, 7]", "", "[kind, value]" },
	{ "['messages', 0]", "", "whole number from 1" },
	{ "['messages', -1]", "", "whole number from 1" },
	{ "['messages', 6.0]", "", "whole number" },
	{ "['messages', true]", "", "whole number" },
	{ "['messages', '6']", "", "whole number" },
	{ "['tokens', 0.5]", "", "whole number" },
	{ "['mesages', 6]", "", "did you mean \"messages\"" },
	{ "{'messages': 6, 'bytes': 1}", "/bytes", "\"bytes\"" },
	{ "[['messages', 6], {'tokens': 0}]", "/1/tokens", "whole number" },
	{ "[['messages', 6], 7]", "/1", "must be a size" },
	{ "['fraction', 0]", "", "greater than 0" },
	{ "['fraction', 1.1]", "", "at most 1" },
	{ "['fraction', true]", "", "greater than 0" },
};

START_TEST(what_is_no_trigger_is_refused)
{
	const char *place = NULL, *error = NULL;

	ck_assert_ptr_null(context_trigger(
	    arena, literal(arena, wrong[_i].given), 1000, &place, &error));
	ck_assert_str_eq(place, wrong[_i].place);
	ck_assert_msg(
	    strstr(error, wrong[_i].error) != NULL, "%s: %s", wrong[_i].given, error);
}
END_TEST

START_TEST(a_fraction_needs_a_window)
{
	const char *place, *error;

	ck_assert_ptr_null(context_trigger(
	    arena, literal(arena, "['fraction', 0.5]"), 0, &place, &error));
	ck_assert_ptr_nonnull(strstr(error, "max_input_tokens"));
}
END_TEST

START_TEST(a_size_is_one)
{
	const char *place, *error;

	ck_assert_value(arena,
	    context_size(
		arena, literal(arena, "['fraction', 0.1]"), 1000, &place, &error),
	    "{'tokens': 100}");
	ck_assert_value(arena,
	    context_size(arena, literal(arena, "{'messages': 3}"), 0, &place, &error),
	    "{'messages': 3}");
	ck_assert_ptr_null(context_size(
	    arena, literal(arena, "{'messages': 3, 'tokens': 4}"), 0, &place, &error));
	ck_assert_ptr_null(
	    context_size(arena, literal(arena, "[['messages', 3]]"), 0, &place, &error));
	ck_assert_ptr_null(context_size(arena, NULL, 0, &place, &error));
}
END_TEST

START_TEST(a_clause_is_met_whole_and_one_is_enough)
{
	const struct value *trigger =
	    literal(arena, "[{'messages': 6, 'tokens': 10}, {'messages': 20}]");

	ck_assert(context_trigger_counts_tokens(trigger));
	ck_assert(!context_trigger_counts_tokens(literal(arena, "[{'messages': 20}]")));
	ck_assert(!context_trigger_met(literal(arena, "[]"), 100, 100));
	ck_assert(!context_trigger_met(trigger, 6, 9));
	ck_assert(!context_trigger_met(trigger, 5, 10));
	ck_assert(context_trigger_met(trigger, 6, 10));
	ck_assert(context_trigger_met(trigger, 20, 0));
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *tcase_context_size(void);
TCase *
tcase_context_size(void)
{
	TCase *tcase = tcase_create("context_size");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, a_trigger_has_many_forms, 0, COUNT(forms));
	tcase_add_loop_test(tcase, what_is_no_trigger_is_refused, 0, COUNT(wrong));
	tcase_add_test(tcase, a_fraction_needs_a_window);
	tcase_add_test(tcase, a_size_is_one);
	tcase_add_test(tcase, a_clause_is_met_whole_and_one_is_enough);
	return tcase;
}
