/* docs/structured-output.md: its examples load. Run from the project's folder. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "children.h"
#include "model_profile.h"
#include "models.h"
#include "spec.h"
#include "yaml_file.h"

#define PAGE "docs/structured-output.md"
#define PAGE_BYTES_MAX (1u << 17)

static struct arena *arena;
static const char *page;

static void
setup(void)
{
	FILE *file = fopen(PAGE, "re");
	char *text;

	arena = arena_new();
	text = arena_alloc(arena, PAGE_BYTES_MAX);
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_lt(fread(text, 1, PAGE_BYTES_MAX - 1, file), PAGE_BYTES_MAX - 1);
	fclose(file);
	page = text;
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static void
check_agent(const char *text)
{
	const char *error = "", *path = "";
	struct yaml *yaml = yaml_parse(arena, PAGE, text, strlen(text), &error);
	const struct spec *spec;

	ck_assert_msg(yaml != NULL, "%s", error);
	spec = spec_load(arena, yaml_root(yaml, 0), NULL, &path, &error);
	ck_assert_msg(spec != NULL, "%s: %s in:\n%s", path, error, text);
	ck_assert_ptr_nonnull(spec->response_format);
	yaml_destroy(&yaml);
}

static void
check_models(const char *text)
{
	char *folder = folder_new();
	const char *path = arena_printf(arena, "%s/models.yaml", folder), *error = "";
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_msg(models_load(path, arena, &error) == 0, "%s", error);
	ck_assert(model_profile_gives_output(models_profile(arena, "my:qwen3-8b"), true));
	ck_assert(
	    !model_profile_gives_output(models_profile(arena, "local:llama3"), true));
	models_unload();
	folder_remove(&folder);
}

START_TEST(every_example_loads)
{
	size_t agents = 0, tables = 0;
	const char *at = page, *end;

	while ((at = strstr(at, "```yaml\n")) != NULL) {
		const char *text;

		at += strlen("```yaml\n");
		end = strstr(at, "```");
		ck_assert_ptr_nonnull(end);
		text = arena_copy(arena, at, (size_t)(end - at));
		if (strncmp(text, "# models.yaml", 13) == 0) {
			check_models(text);
			tables++;
		} else {
			check_agent(text);
			agents++;
		}
		at = end + 3;
	}
	ck_assert_uint_eq(agents, 4);
	ck_assert_uint_eq(tables, 1);
}
END_TEST

TCase *tcase_output_docs(void);
TCase *
tcase_output_docs(void)
{
	TCase *tcase = tcase_create("output_docs");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, every_example_loads);
	return tcase;
}
