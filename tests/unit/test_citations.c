/* What comments and scenarios cite is in docs/internals/semantics.md: each section has its row. Run
 * from the project's folder. */
#include <check.h>
#include <ctype.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "page.h"

#define PAGE "docs/internals/semantics.md"
#define CITED                                                                            \
	"semantics"                                                                      \
	".md" /* in two, or this would be a citation */

TCase *tcase_citations(void);

static struct arena *arena;
static const char *page;
static size_t cited;

static void
setup(void)
{
	arena = arena_new();
	page = page_read(arena, PAGE);
	cited = 0;
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static void
expect_row(const char *path, const char *number, size_t size)
{
	const char *row = arena_printf(arena, "\n| %.*s |", (int)size, number);

	ck_assert_msg(strstr(page, row) != NULL, "%s: " PAGE " has no section %.*s", path,
	    (int)size, number);
	cited++;
}

/* The length of a section's number at text; the stop of a sentence is none of it. */
static size_t
number_size(const char *text)
{
	size_t size = 0;

	while (isdigit((unsigned char)text[size]) ||
	       (size > 0 && text[size] == '.' && isdigit((unsigned char)text[size + 1])))
		size++;
	return size;
}

/* "6.5, 6.6,\n * 13.12", "section 13", "1.5, 1.6 and 13". */
static void
expect_rows(const char *path, const char *text)
{
	static const char *const between[] = { "sections", "section", "and" };
	size_t found = 0, size, i;

	for (;;) {
		text += strspn(text, " \t\n*,");
		for (i = 0; i < sizeof between / sizeof *between; i++) {
			size = strlen(between[i]);
			if (strncmp(text, between[i], size) == 0)
				break;
		}
		if (i < sizeof between / sizeof *between) {
			text += size;
			continue;
		}
		size = number_size(text);
		if (size == 0)
			break;
		expect_row(path, text, size);
		text += size;
		found++;
	}
	ck_assert_msg(found > 0, "%s cites " CITED " without a section", path);
}

static bool
ends_with(const char *path, const char *ending)
{
	size_t size = strlen(path), of_it = strlen(ending);

	return size >= of_it && strcmp(path + size - of_it, ending) == 0;
}

static int
look_into(const char *path, const struct stat *status, int type, struct FTW *where)
{
	const char *at;

	(void)status;
	(void)where;
	if (type != FTW_F || (!ends_with(path, ".c") && !ends_with(path, ".h") &&
				 !ends_with(path, ".def") && !ends_with(path, ".lua")))
		return 0;
	for (at = page_read(arena, path); (at = strstr(at, CITED)) != NULL;) {
		at += strlen(CITED);
		if (at[-(long)strlen(CITED) - 1] != '/') /* the page itself */
			expect_rows(path, at);
	}
	return 0;
}

START_TEST(each_section_that_a_comment_cites_is_on_the_page)
{
	static const char *const folders[] = { "proto", "runtime", "middleware", "agent",
		"store", "peer", "broker", "coordinator", "worker-model", "worker-tools",
		"cli", "bench", "tests" };
	size_t i;

	for (i = 0; i < sizeof folders / sizeof *folders; i++)
		ck_assert_int_eq(nftw(folders[i], look_into, 8, FTW_PHYS), 0);
	ck_assert_uint_gt(cited, 40);
}
END_TEST

static int
look_at_decisions(
    const char *path, const struct stat *status, int type, struct FTW *where)
{
	const char *at, *number;

	(void)status;
	(void)where;
	if (type != FTW_F || !ends_with(path, ".json"))
		return 0;
	for (at = page_read(arena, path); (at = strstr(at, "\"decision ")) != NULL;) {
		at += strlen("\"decision ");
		number = arena_printf(arena, "13.%.*s", (int)number_size(at), at);
		expect_row(path, number, strlen(number));
	}
	return 0;
}

START_TEST(each_decision_that_a_scenario_names_is_on_the_page)
{
	ck_assert_int_eq(
	    nftw("tests/conformance/scenarios", look_at_decisions, 8, FTW_PHYS), 0);
	ck_assert_uint_gt(cited, 4);
}
END_TEST

TCase *
tcase_citations(void)
{
	TCase *tcase = tcase_create("citations");

	tcase_set_timeout(tcase, 60); /* it reads all there is */
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, each_section_that_a_comment_cites_is_on_the_page);
	tcase_add_test(tcase, each_decision_that_a_scenario_names_is_on_the_page);
	return tcase;
}
