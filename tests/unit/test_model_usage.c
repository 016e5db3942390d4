#include <check.h>

#include "bounds.h"
#include "literal.h"

/* Interface under test */
#include "model_usage.h"

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

static const struct value *
entry(const char *answer)
{
	const struct model_usage call = { .model = "openai:x",
		.system_prompt = "abcd",
		.messages = literal(arena, "[{'type': 'human', 'content': 'abcd'}]"),
		.answer = literal(arena, answer) };

	return model_usage_entry(arena, &call, true);
}

/* Of an answer with as many models and counts as fit into it. */
START_TEST(sums_do_not_grow_with_what_is_reported)
{
	const struct value *totals = NULL, *one, *counts;
	size_t i;

	for (i = 0; i < (size_t)4 * USAGE_NAMES_MAX; i++) {
		counts = value_map(arena, arena_printf(arena, "count%zu", i),
		    value_int(arena, 1), "input_tokens", value_int(arena, 1), NULL);
		one = value_map(arena, "model",
		    value_printf(arena, "m%zu", i % ((size_t)2 * USAGE_NAMES_MAX)),
		    "usage", counts, NULL);
		totals = model_usage_add(arena, totals, &one, 1);
		one = value_map(
		    arena, "model", value_str(arena, "m0"), "usage", counts, NULL);
		totals = model_usage_add(arena, totals, &one, 1);
	}
	ck_assert_uint_eq(value_size(totals), USAGE_NAMES_MAX);
	totals = value_get(totals, "m0");
	ck_assert_uint_eq(value_size(totals), USAGE_NAMES_MAX);
	ck_assert_int_eq(value_get_int(totals, "calls", 0), 4 * USAGE_NAMES_MAX + 2);
	ck_assert_int_eq(
	    value_get_int(totals, "input_tokens", 0), 4 * USAGE_NAMES_MAX + 2);
}
END_TEST

START_TEST(an_entry_is_what_was_reported)
{
	ck_assert_value(arena,
	    entry("[{'type': 'ai', 'content': 'x', 'usage_metadata': {'input_tokens': 3, "
		  "'total_tokens': 5}}, {'type': 'tool'}]"),
	    "{'model': 'openai:x', 'usage': {'input_tokens': 3, 'total_tokens': 5}}");
}
END_TEST

START_TEST(what_was_not_reported_is_estimated)
{
	const char *estimated =
	    "{'model': 'openai:x', 'estimated': true, 'usage': {'input_tokens': 11, "
	    "'output_tokens': 6, 'total_tokens': 17}}";

	/* The prompt 6, the message 5; the answer 6. */
	ck_assert_value(arena, entry("[{'type': 'ai', 'content': 'abc'}]"), estimated);
	ck_assert_value(arena,
	    entry("[{'type': 'ai', 'content': 'abc', 'usage_metadata': {}}]"), estimated);
	ck_assert_value(arena, value_get(entry("[]"), "usage"),
	    "{'input_tokens': 11, 'output_tokens': 0, 'total_tokens': 11}");
}
END_TEST

START_TEST(a_wish_that_failed_has_none)
{
	ck_assert_ptr_null(model_usage_of_wish(arena, "openai:x", literal(arena, "{}"),
	    literal(arena, "{'fault': {}}"), true));
	ck_assert_ptr_null(model_usage_of_wish(
	    arena, NULL, literal(arena, "{}"), literal(arena, "{'messages': []}"), true));
	ck_assert_value(arena,
	    value_get(model_usage_of_wish(arena, "openai:x",
			  literal(arena, "{'messages': [{'type': 'human', 'content': "
					 "'abcd'}], 'system_prompt': 'abcd'}"),
			  literal(arena, "{'messages': []}"), true),
		"usage"),
	    "{'input_tokens': 11, 'output_tokens': 0, 'total_tokens': 11}");
	ck_assert_value(arena,
	    model_usage_of_wish(arena, "openai:x", literal(arena, "{}"),
		literal(arena, "{'messages': []}"), false),
	    "{'model': 'openai:x', 'estimated': true}");
}
END_TEST

START_TEST(totals_add_up_by_model)
{
	const struct value *entries = literal(arena,
	    "[{'model': 'a:x', 'usage': {'input_tokens': 10, 'output_tokens': 2, "
	    "'total_tokens': 12, 'input_token_details': {'cache_read': 4}}}, {'model': "
	    "'b:y', 'estimated': true, 'usage': {'total_tokens': 1}}, {'model': 'a:x', "
	    "'usage': {'input_tokens': 1, 'output_tokens': 1, 'total_tokens': 2, "
	    "'input_token_details': {'cache_read': 1, 'cache_creation': 3}, "
	    "'output_token_details': {'reasoning': 1}}}]");
	const char *sums =
	    "{'a:x': {'calls': 2, 'input_tokens': 11, 'output_tokens': 3, "
	    "'total_tokens': 14, 'input_token_details': {'cache_read': 5, "
	    "'cache_creation': 3}, 'output_token_details': {'reasoning': 1}}, 'b:y': "
	    "{'calls': 1, 'estimated': 1, 'total_tokens': 1}}";
	const struct value *totals;

	ck_assert_value(
	    arena, model_usage_add(arena, NULL, entries->items, entries->size), sums);
	/* One by one, as over several steps. */
	totals = model_usage_add(arena, NULL, entries->items, 1);
	totals = model_usage_add(arena, totals, entries->items + 1, 2);
	ck_assert_value(arena, totals, sums);
}
END_TEST

START_TEST(what_is_no_count_is_not_added)
{
	const struct value *entries = literal(arena,
	    "[7, {}, {'model': 7}, {'model': 'a:x', 'usage': 7}, {'model': 'a:x', "
	    "'usage': "
	    "{'total_tokens': -5, 'input_tokens': 1.5, 'output_tokens': 'many', "
	    "'input_token_details': [1]}}, {'model': 'a:x', 'usage': {'total_tokens': "
	    "9223372036854775807}}, {'model': 'a:x', 'usage': {'total_tokens': 9}}]");

	ck_assert_value(arena,
	    model_usage_add(arena, NULL, entries->items, entries->size),
	    "{'a:x': {'calls': 4, 'total_tokens': 9223372036854775807}}");
}
END_TEST

START_TEST(totals_of_another_form_begin_anew)
{
	const struct value *entries =
	    literal(arena, "[{'model': 'a:x', 'usage': {'total_tokens': 2}}]");
	const char *once = "{'a:x': {'calls': 1, 'total_tokens': 2}}";

	ck_assert_value(
	    arena, model_usage_add(arena, literal(arena, "7"), entries->items, 1), once);
	ck_assert_value(arena,
	    model_usage_add(arena, literal(arena, "{'a:x': [1]}"), entries->items, 1),
	    once);
}
END_TEST

TCase *tcase_model_usage(void);
TCase *
tcase_model_usage(void)
{
	TCase *tcase = tcase_create("model_usage");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, sums_do_not_grow_with_what_is_reported);
	tcase_add_test(tcase, an_entry_is_what_was_reported);
	tcase_add_test(tcase, what_was_not_reported_is_estimated);
	tcase_add_test(tcase, a_wish_that_failed_has_none);
	tcase_add_test(tcase, totals_add_up_by_model);
	tcase_add_test(tcase, what_is_no_count_is_not_added);
	tcase_add_test(tcase, totals_of_another_form_begin_anew);
	return tcase;
}
