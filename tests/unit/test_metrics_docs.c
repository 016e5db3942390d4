/* The table of metrics: its names keep Prometheus' conventions, it has all that brokers count, and
 * docs/metrics.md has it. Run from the project's folder. */
#include <check.h>
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "page.h"

/* Interface under test */
#include "../../cli/monitor/metrics_text.h"

TCase *tcase_metrics_docs(void);

#define PAGE "docs/metrics.md"
#define DASHBOARD "examples/grafana/flotilla.json"

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

static bool
ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), end_size = strlen(end);

	return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

static void
check_name(const struct metric *metric)
{
	const char *name = metric->name, *at;

	for (at = name; *at != '\0'; at++)
		ck_assert_msg(islower((unsigned char)*at) || *at == '_', "%s", name);
	ck_assert_msg(strncmp(name, "flotilla_", 9) == 0, "%s", name);
	ck_assert_msg(ends_with(name, "_total") == (metric->type == METRIC_COUNTER),
	    "%s is a %s", name, metrics_type_name(metric->type));
	ck_assert_msg(
	    ends_with(name, "_seconds") == (metric->unit == METRIC_MS), "%s", name);
	/* It stands in a table, and in one line. */
	ck_assert_msg(strpbrk(metric->help, "|\n\\") == NULL, "%s", name);
}

START_TEST(names_keep_the_conventions)
{
	const struct metric *metric, *other;

	for (metric = metrics_table; metric->name != NULL; metric++) {
		check_name(metric);
		for (other = metrics_table; other < metric; other++)
			ck_assert_str_ne(metric->name, other->name);
	}
}
END_TEST

START_TEST(all_that_brokers_count_is_a_counter)
{
	static const char *const keys[] = {
#define COUNTER(name, text) #name,
#include "../../broker/counters.def"
#undef COUNTER
	};
	const struct metric *metric;
	size_t i;

	for (i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		for (metric = metrics_table; metric->name != NULL; metric++)
			if (metric->source == METRICS_BROKERS &&
			    strcmp(metric->key, keys[i]) == 0)
				break;
		ck_assert_msg(metric->name != NULL,
		    "%s is not in cli/monitor/metrics.def", keys[i]);
		ck_assert_int_eq(metric->type, METRIC_COUNTER);
	}
}
END_TEST

static const char *
labels_text(const struct metric *metric)
{
	const char *labels = metrics_labels(metric->source);

	return *labels == '\0' ? "" : arena_printf(arena, "`%s`", labels);
}

START_TEST(the_page_has_the_table)
{
	const char *table = "| metric | type | labels | |\n| --- | --- | --- | --- |\n";
	const struct metric *metric;

	for (metric = metrics_table; metric->name != NULL; metric++)
		table = arena_printf(arena, "%s| `%s` | %s | %s | %s |\n", table,
		    metric->name, metrics_type_name(metric->type), labels_text(metric),
		    metric->help);
	page_check_table(arena, PAGE, "## All of them", table);
}
END_TEST

/* Whether name is one of a metric's series. */
static bool
is_series_of(const struct metric *metric, const char *name)
{
	static const char *const ends[] = { "_bucket", "_sum", "_count" };
	size_t i;

	if (metric->type != METRIC_HISTOGRAM)
		return strcmp(metric->name, name) == 0;
	for (i = 0; i < sizeof ends / sizeof ends[0]; i++)
		if (strcmp(name, arena_printf(arena, "%s%s", metric->name, ends[i])) == 0)
			return true;
	return false;
}

static bool
is_known(const char *name)
{
	const struct metric *metric;

	for (metric = metrics_table; metric->name != NULL; metric++)
		if (is_series_of(metric, name))
			return true;
	return false;
}

/* How many names of metrics there are in text, all of which there must be. */
static unsigned
check_names(const char *text)
{
	unsigned count = 0;
	const char *name;

	while ((text = strstr(text, "flotilla_")) != NULL) {
		name =
		    arena_copy(arena, text, strspn(text, "abcdefghijklmnopqrstuvwxyz_"));
		ck_assert_msg(is_known(name), "there is no %s", name);
		text += strlen(name);
		count++;
	}
	return count;
}

START_TEST(the_rules_of_the_page_name_metrics_that_are_there)
{
	const char *at = page_read(arena, PAGE), *rules;

	rules = page_block(arena, &at, "yaml"); /* the first is how to scrape */
	ck_assert_ptr_nonnull(rules);
	rules = page_block(arena, &at, "yaml");
	ck_assert_ptr_nonnull(rules);
	ck_assert_uint_ge(check_names(rules), 8);
	rules = page_block(arena, &at, "promql");
	ck_assert_ptr_nonnull(rules);
	ck_assert_uint_ge(check_names(rules), 5);
}
END_TEST

START_TEST(the_dashboard_names_metrics_that_are_there)
{
	ck_assert_uint_ge(check_names(page_read(arena, DASHBOARD)), 25);
}
END_TEST

TCase *
tcase_metrics_docs(void)
{
	TCase *tc = tcase_create("metrics_docs");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, names_keep_the_conventions);
	tcase_add_test(tc, all_that_brokers_count_is_a_counter);
	tcase_add_test(tc, the_page_has_the_table);
	tcase_add_test(tc, the_rules_of_the_page_name_metrics_that_are_there);
	tcase_add_test(tc, the_dashboard_names_metrics_that_are_there);
	return tc;
}
