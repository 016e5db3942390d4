/* The pages of docs/ say what the code does. Run from the project's folder. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "options.h"

/* Interface under test */
#include "registry.h"

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

static const char *
read_text(const char *path)
{
	char *text = arena_alloc(arena, 1 << 18);
	FILE *file = fopen(path, "r");
	size_t size;

	ck_assert_msg(file != NULL, "%s is not there", path);
	size = fread(text, 1, (1 << 18) - 1, file);
	fclose(file);
	ck_assert_uint_lt(size, (1 << 18) - 1);
	return text;
}

/* --- the tables of settings --------------------------------------------------------- */

static const char *
limits_text(const struct option *option)
{
	if (option->min == 0 && option->max == 0)
		return "";
	if (isinf(option->max))
		return arena_printf(arena, " from %.15g on", option->min);
	return arena_printf(arena, ", %.15g to %.15g", option->min, option->max);
}

static const char *
choices_text(const struct option *option)
{
	const char *text = "";
	size_t i;

	for (i = 0; option->choices != NULL && option->choices[i] != NULL; i++)
		text = arena_printf(
		    arena, "%s%s`%s`", text, i == 0 ? ": " : ", ", option->choices[i]);
	return text;
}

/* "an integer, 0 to 9, or null" as the tables have it, without the article. */
static const char *
type_text(const struct option *option)
{
	const char *type = option_type_text(option->type);

	if (strncmp(type, "an ", 3) == 0)
		type += 3;
	else if (strncmp(type, "a ", 2) == 0)
		type += 2;
	return arena_printf(arena, "%s%s%s%s", type, limits_text(option),
	    choices_text(option), option->nullable ? ", or null" : "");
}

static const char *
default_text(const struct option *option)
{
	if (option->required)
		return "**required**";
	return option->otherwise == NULL ? "none"
					 : arena_printf(arena, "`%s`", option->otherwise);
}

static const char *
table_of(const struct middleware *middleware)
{
	const struct option *option = middleware->options;
	const char *text = "| setting | type | default | means |\n"
			   "| --- | --- | --- | --- |\n";

	for (; option != NULL && option->name != NULL; option++)
		text = arena_printf(arena, "%s| `%s` | %s | %s | %s |\n", text,
		    option->name, type_text(option), default_text(option), option->text);
	return text;
}

/* The rows of the page's table behind "## Settings". */
static size_t
count_rows(const char *page)
{
	const char *at = strstr(page, "## Settings");
	size_t rows = 0;

	ck_assert_ptr_nonnull(at);
	for (at = strstr(at, "\n|"); at != NULL && at[1] == '|'; rows++)
		at = strchr(at + 1, '\n');
	return rows;
}

START_TEST(every_middlewares_page_has_its_table_of_settings)
{
	const char *const *names = registry_names();
	size_t i, lines;

	for (i = 0; names[i] != NULL; i++) {
		const struct middleware *one = registry_find(names[i]);
		const char *page =
		    read_text(arena_printf(arena, "docs/middleware/%s.md", names[i]));
		const char *table = table_of(one), *at;

		if (one->options == NULL)
			continue;
		ck_assert_msg(strstr(page, table) != NULL,
		    "docs/middleware/%s.md has not this table:\n%s", names[i], table);
		for (lines = 0, at = table; *at != '\0'; at++)
			lines += *at == '\n';
		ck_assert_uint_eq(count_rows(page), lines);
	}
}
END_TEST

/* --- the example -------------------------------------------------------------------- */

START_TEST(the_code_in_the_guide_is_the_examples)
{
	const char *code = read_text("examples/plugin/token_budget.c");
	const char *at = read_text("docs/middleware.md"), *end;
	size_t blocks = 0;

	while ((at = strstr(at, "```c\n")) != NULL) {
		at += strlen("```c\n");
		end = strstr(at, "```");
		ck_assert_ptr_nonnull(end);
		ck_assert_msg(
		    strstr(code, arena_copy(arena, at, (size_t)(end - at))) != NULL,
		    "not in the example:\n%.*s", (int)(end - at), at);
		at = end + 3;
		blocks++;
	}
	ck_assert_uint_ge(blocks, 6);
}
END_TEST

START_TEST(the_guide_names_every_hook)
{
	const char *page = read_text("docs/middleware.md");
	int hook;

	for (hook = 0; hook < HOOK_COUNT; hook++)
		ck_assert_ptr_nonnull(strstr(
		    page, arena_printf(arena, "| `%s` |", hook_name((enum hook)hook))));
}
END_TEST

TCase *tcase_middleware_docs(void);
TCase *
tcase_middleware_docs(void)
{
	TCase *tcase = tcase_create("middleware_docs");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, every_middlewares_page_has_its_table_of_settings);
	tcase_add_test(tcase, the_code_in_the_guide_is_the_examples);
	tcase_add_test(tcase, the_guide_names_every_hook);
	return tcase;
}
