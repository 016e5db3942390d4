/* The official JSON Schema test suite (Debian's json-schema-test-suite), required part.
 */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "value.h"

/* Interface under test */
#include "schema.h"

#define SUITE "/usr/share/json-schema-test-suite/tests/"

/* What we do not do, and why. Anything else that differs from the suite fails, and so
 * does a row that the suite has not got or that passes after all. group NULL: the whole
 * file. */
static const struct {
	const char *draft, *file, *group, *reason;
} unsupported[] = {
	{ "draft7", "refRemote.json", NULL, "nothing is fetched" },
	{ "draft7", "ref.json", "remote ref, containing refs itself",
	    "nothing is fetched, metaschemas neither" },
	{ "draft7", "definitions.json", "valid definition",
	    "nothing is fetched, metaschemas neither" },
	{ "draft6", "refRemote.json", NULL, "nothing is fetched" },
	{ "draft6", "ref.json", "remote ref, containing refs itself",
	    "nothing is fetched, metaschemas neither" },
	{ "draft6", "definitions.json", "valid definition",
	    "nothing is fetched, metaschemas neither" },
	{ "draft4", "refRemote.json", NULL, "nothing is fetched" },
	{ "draft4", "ref.json", "remote ref, containing refs itself",
	    "nothing is fetched, metaschemas neither" },
	{ "draft4", "definitions.json", "valid definition",
	    "nothing is fetched, metaschemas neither" },
	{ "draft4", "minimum.json", "exclusiveMinimum validation",
	    "a boolean exclusiveMinimum: it is a number since draft 6" },
	{ "draft4", "maximum.json", "exclusiveMaximum validation",
	    "a boolean exclusiveMaximum: it is a number since draft 6" },
	{ "draft4", "ref.json", "Recursive references between schemas",
	    "id without the dollar: it is $id since draft 6" },
};

/* The drafts we understand. draft3 is none of them: required, divisibleBy, extends and
 * disallow have changed their names and meaning since. */
static const struct {
	const char *name, *dialect;
} drafts[] = {
	{ "draft7", "http://json-schema.org/draft-07/schema#" },
	{ "draft6", "http://json-schema.org/draft-06/schema#" },
	{ "draft4", "http://json-schema.org/draft-04/schema#" },
};

static struct arena *arena;
static size_t tests, mismatches, excused;
static bool row_failed[sizeof unsupported / sizeof *unsupported];

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

static long
find_row(const char *draft, const char *file, const char *group)
{
	size_t i;

	for (i = 0; i < sizeof unsupported / sizeof *unsupported; i++) {
		if (strcmp(unsupported[i].draft, draft) == 0 &&
		    strcmp(unsupported[i].file, file) == 0 &&
		    (unsupported[i].group == NULL ||
			strcmp(unsupported[i].group, group) == 0))
			return (long)i;
	}
	return -1;
}

static const struct value *
read_json(const char *path)
{
	static char text[1 << 20];
	const struct value *value;
	const char *error = NULL;
	FILE *file = fopen(path, "r");
	size_t size;

	ck_assert_msg(file != NULL, "%s cannot be read", path);
	size = fread(text, 1, sizeof text, file);
	fclose(file);
	ck_assert_uint_lt(size, sizeof text);
	value = json_parse(arena, text, size, &error);
	ck_assert_msg(value != NULL, "%s: %s", path, error);
	return value;
}

/* The suite's schemas do not say which draft they are of. */
static const struct value *
in_dialect(const struct value *schema, const char *dialect)
{
	if (!value_is(schema, VALUE_MAP) || value_has(schema, "$schema"))
		return schema;
	return value_map_with(arena, schema, "$schema", value_str(arena, dialect));
}

static void
run_test(size_t draft, const char *file, const struct value *group,
    const struct value *schema, const struct value *test)
{
	const char *about = value_get_text(group, "description"), *reason = "";
	bool fits = schema_check(arena, schema, value_get(test, "data"), &reason) == 0;
	long row = find_row(drafts[draft].name, file, about);

	if (row != -1) {
		excused++;
		row_failed[row] |= fits != value_get_bool(test, "valid", false);
		return;
	}
	tests++;
	if (fits == value_get_bool(test, "valid", false))
		return;
	mismatches++;
	fprintf(stderr, "schema suite: %s/%s: %s: %s: we say %s %s\n", drafts[draft].name,
	    file, about, value_get_text(test, "description"),
	    fits ? "fits" : "does not fit:", fits ? "" : reason);
}

static void
run_file(size_t draft, const char *file)
{
	char path[512];
	const struct value *groups;
	size_t i, j;

	snprintf(path, sizeof path, "%s%s/%s", SUITE, drafts[draft].name, file);
	groups = read_json(path);
	for (i = 0; i < value_size(groups); i++) {
		const struct value *group = value_at(groups, i);
		const struct value *schema =
		    in_dialect(value_get(group, "schema"), drafts[draft].dialect);
		const struct value *list = value_get(group, "tests");

		for (j = 0; j < value_size(list); j++)
			run_test(draft, file, group, schema, value_at(list, j));
	}
}

static void
run_draft(size_t draft)
{
	char path[512];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof path, "%s%s", SUITE, drafts[draft].name);
	folder = opendir(path);
	ck_assert_msg(
	    folder != NULL, "%s is not there: install json-schema-test-suite", path);
	while ((entry = readdir(folder)) != NULL) {
		if (strstr(entry->d_name, ".json") != NULL)
			run_file(draft, entry->d_name);
	}
	closedir(folder);
}

START_TEST(the_official_suite_agrees_but_for_the_listed_cases)
{
	size_t draft, row;

	for (draft = 0; draft < sizeof drafts / sizeof *drafts; draft++)
		run_draft(draft);
	printf("schema suite: %zu tests agree, %zu listed as unsupported\n",
	    tests - mismatches, excused);
	ck_assert_uint_eq(mismatches, 0);
	/* A suite that is not there agrees with everybody. */
	ck_assert_uint_gt(tests, 500);
	for (row = 0; row < sizeof unsupported / sizeof *unsupported; row++)
		ck_assert_msg(row_failed[row],
		    "%s/%s \"%s\" passes or is gone: strike it", unsupported[row].draft,
		    unsupported[row].file,
		    unsupported[row].group == NULL ? "*" : unsupported[row].group);
}
END_TEST

TCase *tcase_schema_suite(void);
TCase *
tcase_schema_suite(void)
{
	TCase *tcase = tcase_create("schema_suite");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, the_official_suite_agrees_but_for_the_listed_cases);
	return tcase;
}
