#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "children.h"

/* Interface under test */
#include "../../worker-model/models.h"

static struct arena *arena;
static struct models models;
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
	models_release(&models);
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
	models_release(&models);
	return models_init(&models, path, arena, &error) == 0 ? NULL : error;
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
	const char *error;

	ck_assert_int_eq(models_init(&models, NULL, arena, &error), 0);
	ck_assert_int_eq(
	    models_give_output(&models, known[_i].model, false), known[_i].plain);
	ck_assert_int_eq(
	    models_give_output(&models, known[_i].model, true), known[_i].with_tools);
}
END_TEST

START_TEST(a_file_comes_before_the_table)
{
	ck_assert_ptr_null(load("local:gpt-4o*: {structured_output: false}\n"
				"qwen*: {structured_output: true}\n"
				"'*': {structured_output: true, except_with_tools: "
				"true}\n"));
	ck_assert(!models_give_output(&models, "local:gpt-4o", false));
	ck_assert(models_give_output(&models, "local:qwen3", true));
	ck_assert(models_give_output(&models, "local:x", false));
	ck_assert(!models_give_output(&models, "local:x", true));
	/* What its rows leave open is the table's. */
	ck_assert_ptr_null(load("qwen*: {structured_output: true}\n"));
	ck_assert(models_give_output(&models, "openai:gpt-4o", true));
	ck_assert_ptr_null(load("# nothing yet\n"));
	ck_assert(!models_give_output(&models, "local:qwen3", true));
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

	ck_assert_int_eq(models_init(&models, "/nowhere/m.yaml", arena, &error), -1);
	ck_assert_ptr_nonnull(strstr(error, "/nowhere/m.yaml"));
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
	return tcase;
}
