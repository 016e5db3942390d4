#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "children.h"
#include "literal.h"

/* Interface under test */
#include "middleware.h"
#include "model_profile.h"
#include "models.h"

#define PAGE "docs/models.md"
#define PAGE_BYTES_MAX (1u << 17)

static struct arena *arena;
static char *folder;

static void
setup(void)
{
	arena = arena_new();
	folder = folder_new();
}

static void
teardown(void)
{
	models_unload();
	folder_remove(&folder);
	arena_destroy(&arena);
}

/* Returns NULL, or what is wrong with a file of that text. */
static const char *
load(const char *text)
{
	const char *path = arena_printf(arena, "%s/models.yaml", folder), *error = NULL;
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
	return models_load(path, arena, &error) == 0 ? NULL : error;
}

static bool
gives_output(const char *model, bool with_tools)
{
	return model_profile_gives_output(models_profile(arena, model), with_tools);
}

static const struct {
	const char *model;
	bool plain, with_tools;
} known[] = {
	{ "openai:gpt-4o", true, true },
	{ "openai:gpt-4o-mini-2024-07-18", true, true },
	{ "openai:gpt-4o-2024-05-13", false, false },
	{ "openai:gpt-4", false, false },
	{ "openai:gpt-4-turbo", false, false },
	{ "openai:GPT-5-nano", true, true },
	{ "openai:ft:gpt-4o-2024-08-06:org::id", true, true },
	{ "router:openai/gpt-4.1", true, true },
	{ "router:anthropic/claude-sonnet-4.5", true, true },
	{ "any:claude-haiku-4-5-20251001", true, true },
	{ "any:claude-sonnet-4-20250514", false, false },
	{ "any:claude-3-5-sonnet-20241022", false, false },
	{ "any:gemini-2.5-pro", true, false },
	{ "any:gemini-3-pro", true, true },
	{ "any:grok-4-fast", true, true },
	{ "any:main", false, false },
	{ "gpt-4o:main", false, false },
};

START_TEST(models_are_known_by_their_names)
{
	ck_assert_int_eq(gives_output(known[_i].model, false), known[_i].plain);
	ck_assert_int_eq(gives_output(known[_i].model, true), known[_i].with_tools);
}
END_TEST

START_TEST(a_file_comes_before_the_table)
{
	ck_assert_ptr_null(load("local:gpt-4o*: {structured_output: false}\n"
				"qwen*: {structured_output: true}\n"
				"'*': {structured_output: true, except_with_tools: "
				"true}\n"));
	ck_assert(!gives_output("local:gpt-4o", false));
	ck_assert(gives_output("local:qwen3", true));
	ck_assert(gives_output("local:x", false));
	ck_assert(!gives_output("local:x", true));
	/* What its rows leave open is the table's. */
	ck_assert_ptr_null(load("qwen*: {structured_output: true}\n"));
	ck_assert(gives_output("openai:gpt-4o", true));
	ck_assert_ptr_null(load("# nothing yet\n"));
	ck_assert(!gives_output("local:qwen3", true));
}
END_TEST

static const struct {
	const char *text, *reason;
} refused[] = {
	{ "- gpt-4o\n", "models.yaml:1:1: must be a map of model names" },
	{ "gpt-4o: true\n",
	    "models.yaml:1:1: must be a map, as in {structured_output: true}" },
	{ "a: {structured_output: true}\nb: {structured: true}\n",
	    "models.yaml:2:5: a model's profile has no key \"structured\"" },
	{ "b: {structured_outputs: true}\n", "did you mean \"structured_output\"?" },
	{ "b: {structured_output: maybe}\n", "must be true or false, not a string" },
	{ "b: {except_with_tools: true}\n",
	    "models.yaml:1:1: needs structured_output: true or false" },
	{ "b: {max_input_tokens: 0}\n", "models.yaml:1:5: must be at least 1" },
	{ "b: {max_output_tokens: 1.5}\n", "must be a number of tokens, not a number" },
	{ "b: {tool_calling: 1}\n", "must be true or false, not an integer" },
	{ "b: {cost: 3}\n", "models.yaml:1:5: must be a map, as in {input: 2.5" },
	{ "b: {cost: {input: 3}}\n", "models.yaml:1:5: needs both input and output" },
	{ "b: {cost: {input: 3, output: x}}\n",
	    "output must be US dollars for a million tokens, not a string" },
	{ "b: {cost: {input: -1, output: 1}}\n", "input must be 0 or more" },
	{ "b: {cost: {input: .inf, output: 1}}\n", "input must be" },
	{ "b: {cost: {input: 1, output: 1, cached: 1}}\n",
	    "a model's cost has no key \"cached\"" },
	{ "b: {", "models.yaml:2:" },
};

START_TEST(a_wrong_file_is_refused_with_its_place)
{
	const char *error = load(refused[_i].text);

	ck_assert_ptr_nonnull(error);
	ck_assert_msg(strstr(error, refused[_i].reason) != NULL, "'%s' is not in: %s",
	    refused[_i].reason, error);
}
END_TEST

START_TEST(a_file_that_is_not_there_is_named)
{
	const char *error;

	ck_assert_int_eq(models_load("/nowhere/m.yaml", arena, &error), -1);
	ck_assert_ptr_nonnull(strstr(error, "/nowhere/m.yaml"));
}
END_TEST

START_TEST(a_wrong_file_leaves_the_one_before)
{
	ck_assert_ptr_null(load("mine: {max_input_tokens: 7}\n"));
	ck_assert_ptr_nonnull(load("mine: 7\n"));
	ck_assert_value(
	    arena, models_profile(arena, "any:mine"), "{'max_input_tokens': 7}");
}
END_TEST

START_TEST(figures_are_known_where_we_are_sure)
{
	ck_assert_value(arena, models_profile(arena, "openai:gpt-4o-mini-2024-07-18"),
	    "{'structured_output': true, 'tool_calling': true, 'max_input_tokens': "
	    "128000, 'max_output_tokens': 16384, 'cost': {'input': 0.15, 'output': 0.6, "
	    "'cache_read': 0.075}}");
	ck_assert_value(arena, models_profile(arena, "anthropic:claude-haiku-4-5"),
	    "{'structured_output': true, 'tool_calling': true, 'max_input_tokens': "
	    "200000, 'max_output_tokens': 64000, 'cost': {'input': 1.0, 'output': 5.0, "
	    "'cache_read': 0.1, 'cache_write': 1.25, 'cache_write_1h': 2.0}}");
	ck_assert_value(arena, models_profile(arena, "any:gemini-2.5-pro"),
	    "{'structured_output': true, 'except_with_tools': true, 'tool_calling': "
	    "true}");
	ck_assert_value(arena, models_profile(arena, "local:llama3"), "{}");
}
END_TEST

START_TEST(as_many_models_are_asked_for_as_there_are)
{
	unsigned turn, i;

	ck_assert_ptr_null(load("many-7*: {max_input_tokens: 7}\n"));
	for (turn = 0; turn < 3; turn++) {
		for (i = 0; i < 100; i++) {
			const char *name = arena_printf(arena, "any:many-%u", i);

			ck_assert_value(arena, models_profile(arena, name),
			    i == 7 || i / 10 == 7 ? "{'max_input_tokens': 7}" : "{}");
		}
	}
	/* What was found by another file does not count any more. */
	ck_assert_ptr_null(load("many-99: {max_input_tokens: 9}\n"));
	ck_assert_value(
	    arena, models_profile(arena, "any:many-99"), "{'max_input_tokens': 9}");
	ck_assert_value(arena, models_profile(arena, "any:many-7"), "{}");
}
END_TEST

START_TEST(each_key_is_of_the_first_row_that_has_it)
{
	ck_assert_ptr_null(
	    load("gpt-4o-mini: {max_input_tokens: 1000}\n"
		 "'*': {max_output_tokens: 5, cost: {input: 0, output: 0}}\n"
		 "gpt-*: {max_output_tokens: 6, structured_output: false}\n"));
	/* A cost is one thing: no price of ours beside theirs. */
	ck_assert_value(arena, models_profile(arena, "openai:gpt-4o-mini"),
	    "{'structured_output': false, 'tool_calling': true, 'max_input_tokens': "
	    "1000, 'max_output_tokens': 5, 'cost': {'input': 0, 'output': 0}}");
	/* So is structured output. */
	ck_assert_ptr_null(load("gemini-*: {structured_output: true}\n"));
	ck_assert(gives_output("any:gemini-2.5-pro", true));
}
END_TEST

static const struct {
	const char *profile, *usage;
	double dollars; /* below 0: not known */
} prices[] = {
	{ "{}", "{'input_tokens': 1}", -1 },
	{ "{'cost': {'input': 2, 'output': 8}}",
	    "{'input_tokens': 1000000, 'output_tokens': 500000}", 6 },
	{ "{'cost': {'input': 2, 'output': 8, 'cache_read': 0.5}}",
	    "{'input_tokens': 1000000, 'input_token_details': {'cache_read': 400000}}",
	    1.4 },
	/* No price for cached ones: that of others. */
	{ "{'cost': {'input': 2, 'output': 8}}",
	    "{'input_tokens': 1000000, 'input_token_details': {'cache_read': 400000}}",
	    2 },
	{ "{'cost': {'input': 4, 'output': 8, 'cache_read': 1, 'cache_write': 5, "
	  "'cache_write_1h': 8}}",
	    "{'input_tokens': 1000000, 'input_token_details': {'cache_read': 500000, "
	    "'cache_creation': 0, 'ephemeral_5m_input_tokens': 100000, "
	    "'ephemeral_1h_input_tokens': 200000}}",
	    0.5 + 0.5 + 1.6 + 0.8 },
	{ "{'cost': {'input': 4, 'output': 8, 'cache_write': 5}}",
	    "{'input_tokens': 1000000, 'input_token_details': {'cache_creation': "
	    "200000}}",
	    3.2 + 1 },
	/* Parts that are more than the whole, and no usage at all. */
	{ "{'cost': {'input': 4, 'output': 8, 'cache_read': 1}}",
	    "{'input_tokens': 1000000, 'input_token_details': {'cache_read': 9000000, "
	    "'cache_creation': -5}}",
	    1 },
	{ "{'cost': {'input': 4, 'output': 8}}", "{}", 0 },
};

START_TEST(a_call_has_a_price)
{
	double dollars = -1;
	bool priced = model_profile_cost(literal(arena, prices[_i].profile),
	    literal(arena, prices[_i].usage), &dollars);

	ck_assert_int_eq(priced, prices[_i].dollars >= 0);
	ck_assert_double_eq_tol(dollars, prices[_i].dollars, 1e-9);
}
END_TEST

/* --- the page ------------------------------------------------------------------------ */

enum known { UNKNOWN, NO, YES, ALONE };
static const struct row {
	const char *pattern;
	enum known output, tools;
	long max_input, max_output;
	double input, cost_output, cache_read, cache_write, cache_write_1h;
} table[] = {
#define MODEL(...) { __VA_ARGS__ },
#include "models.def"
#undef MODEL
};
static const char *const words[] = { "?", "no", "yes", "alone" };

static const char *
tokens(long count)
{
	return count == 0 ? "?" : arena_printf(arena, "%ld", count);
}

static const char *
dollars_text(double dollars)
{
	return dollars == 0 ? "?" : arena_printf(arena, "%g", dollars);
}

START_TEST(the_page_has_the_table)
{
	char *page = arena_alloc(arena, PAGE_BYTES_MAX);
	FILE *file = fopen(PAGE, "re");
	size_t i;

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_lt(fread(page, 1, PAGE_BYTES_MAX - 1, file), PAGE_BYTES_MAX - 1);
	fclose(file);
	for (i = 0; i < sizeof table / sizeof *table; i++) {
		const struct row *row = &table[i];
		const char *line = arena_printf(arena,
		    "\n| `%s` | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n",
		    row->pattern, words[row->output], words[row->tools],
		    tokens(row->max_input), tokens(row->max_output),
		    dollars_text(row->input), dollars_text(row->cost_output),
		    dollars_text(row->cache_read), dollars_text(row->cache_write),
		    dollars_text(row->cache_write_1h));

		ck_assert_msg(strstr(page, line) != NULL, PAGE " has not: %s", line);
	}
}
END_TEST

TCase *tcase_models(void);
TCase *
tcase_models(void)
{
	TCase *tcase = tcase_create("models");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, models_are_known_by_their_names, 0, sizeof known / sizeof known[0]);
	tcase_add_test(tcase, a_file_comes_before_the_table);
	tcase_add_loop_test(tcase, a_wrong_file_is_refused_with_its_place, 0,
	    sizeof refused / sizeof refused[0]);
	tcase_add_test(tcase, a_file_that_is_not_there_is_named);
	tcase_add_test(tcase, a_wrong_file_leaves_the_one_before);
	tcase_add_test(tcase, figures_are_known_where_we_are_sure);
	tcase_add_test(tcase, as_many_models_are_asked_for_as_there_are);
	tcase_add_test(tcase, each_key_is_of_the_first_row_that_has_it);
	tcase_add_loop_test(
	    tcase, a_call_has_a_price, 0, sizeof prices / sizeof prices[0]);
	tcase_add_test(tcase, the_page_has_the_table);
	return tcase;
}
