/* The tables of spans and attributes: their names keep OpenTelemetry's conventions, and docs/tracing.md has them. Run from
 * the project's folder. */
#include <check.h>
#include <ctype.h>
#include <string.h>

#include "page.h"

/* Interface under test */
#include "span.h"

TCase *tcase_trace_docs(void);

#define PAGE "docs/tracing.md"

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

START_TEST(names_keep_the_conventions)
{
	const char *at;
	size_t i, j;

	for (i = 0; i < SPAN_ATTRIBUTES; i++) {
		const struct span_attribute_row *row = &span_attributes[i];

		for (at = row->key; *at != '\0'; at++)
			ck_assert_msg(
			    islower((unsigned char)*at) || *at == '_' || *at == '.', "%s",
			    row->key);
		ck_assert_msg(strchr(row->key, '.') != NULL, "%s", row->key);
		/* It stands in a table, and in one line. */
		ck_assert_msg(strpbrk(row->text, "|\n\\") == NULL, "%s", row->key);
		for (j = 0; j < i; j++)
			ck_assert_str_ne(row->key, span_attributes[j].key);
	}
}
END_TEST

static const char *
kind_name(enum span_kind kind)
{
	static const char *const names[] = { [SPAN_KIND_INTERNAL] = "INTERNAL",
		[SPAN_KIND_SERVER] = "SERVER",
		[SPAN_KIND_CLIENT] = "CLIENT" };

	return names[kind];
}

START_TEST(the_page_has_the_spans)
{
	const char *table = "| span | kind | told by | beneath | |\n"
			    "| --- | --- | --- | --- | --- |\n";
	size_t i;

	for (i = 0; i < SPAN_TYPES; i++)
		table = arena_printf(arena, "%s| `%s` | %s | %s | %s | %s |\n", table,
		    span_types[i].word, kind_name(span_types[i].kind), span_types[i].who,
		    span_types[i].beneath, span_types[i].text);
	page_check_table(arena, PAGE,
	    "`make pages` makes these two tables from the code. Kinds: CLIENT waits for "
	    "somebody, SERVER is that somebody.",
	    table);
}
END_TEST

START_TEST(the_page_has_the_attributes)
{
	const char *table = "| attribute | of | |\n| --- | --- | --- |\n";
	size_t i;

	for (i = 0; i < SPAN_ATTRIBUTES; i++)
		table = arena_printf(arena, "%s| `%s` | %s | %s |\n", table,
		    span_attributes[i].key, span_attributes[i].spans,
		    span_attributes[i].text);
	page_check_table(arena, PAGE, "## Attributes", table);
}
END_TEST

TCase *
tcase_trace_docs(void)
{
	TCase *tc = tcase_create("trace_docs");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, names_keep_the_conventions);
	tcase_add_test(tc, the_page_has_the_spans);
	tcase_add_test(tc, the_page_has_the_attributes);
	return tc;
}
