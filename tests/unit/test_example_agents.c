#include <check.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "spec.h"

/* Under test: examples/agents, found from the repository's root, with the tools of
 * examples/tools and those of the worker itself */
#include "yaml_paths.h"
#include "../../worker-tools/tool_table.h"

TCase *tcase_example_agents(void);

static struct arena *arena;
static struct tool_source *source;
static struct tool_table *table;
static glob_t files;

static void
set_up(void)
{
	static const char *const all[] = { NULL };
	static const char *const folders[] = { "examples/tools", NULL };
	const char *const *paths;
	const char *error = NULL;

	arena = arena_new();
	setenv("WORKSPACE", "/tmp", 1);
	paths = yaml_paths_expand(arena, folders, yaml_endings, &error);
	ck_assert_msg(paths != NULL, "%s", error);
	source = tool_source_load(paths, arena, &error);
	ck_assert_msg(source != NULL, "%s", error);
	table = tool_table_new(all, source, NULL, arena, &error);
	ck_assert_msg(table != NULL, "%s", error);
	ck_assert_int_eq(glob("examples/agents/*", 0, NULL, &files), 0);
}

static void
tear_down(void)
{
	globfree(&files);
	tool_table_release(&table);
	tool_source_release(&source);
	arena_destroy(&arena);
}

static void
check_agent(const char *file, const struct spec *spec)
{
	const struct value *names = spec_served_tools(arena, spec);
	const char *path = "", *error = NULL;
	size_t i;

	ck_assert_msg(graph_compile(arena, spec, &path, &error) != NULL, "%s: %s: %s",
	    file, path, error);
	for (i = 0; i < value_size(names); i++) {
		const char *name = value_text(value_at(names, i));

		ck_assert_msg(tool_table_find(table, name) != NULL,
		    "%s: no example and no worker brings the tool %s", file, name);
	}
}

START_TEST(each_loads_and_its_tools_are_there)
{
	size_t i;

	for (i = 0; i < files.gl_pathc; i++) {
		const struct spec *const *specs;
		const char *error = NULL;
		long count = spec_load_file(arena, files.gl_pathv[i], &specs, &error), n;

		ck_assert_msg(count > 0, "%s", count == 0 ? "no agent in it" : error);
		for (n = 0; n < count; n++)
			check_agent(files.gl_pathv[i], specs[n]);
	}
}
END_TEST

START_TEST(each_is_named_in_the_readme)
{
	char text[16384];
	FILE *readme = fopen("examples/README.md", "r");
	size_t i;

	ck_assert_ptr_nonnull(readme);
	text[fread(text, 1, sizeof text - 1, readme)] = '\0';
	fclose(readme);
	for (i = 0; i < files.gl_pathc; i++) {
		const char *name = files.gl_pathv[i] + strlen("examples/");

		ck_assert_msg(strstr(text, name) != NULL,
		    "examples/README.md does not tell of %s", name);
	}
}
END_TEST

TCase *
tcase_example_agents(void)
{
	TCase *tcase = tcase_create("example_agents");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, each_loads_and_its_tools_are_there);
	tcase_add_test(tcase, each_is_named_in_the_readme);
	return tcase;
}
