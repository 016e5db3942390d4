#include <check.h>
#include <string.h>

#include "graph.h"
#include "registry.h"
#include "spec.h"
#include "yaml_file.h"

/* Interface under test: all built-in middleware together */
#include "everything.h"

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

static const struct spec *
load(void)
{
	const char *path = "", *error = "";
	const char *text = arena_printf(arena,
	    "name: all\nmodel: scripted:main\nscript:\n%s  main: [{content: x}]\n"
	    "  spare: [{content: y}]\n%s",
	    everything_script, everything_middleware(arena, "/tmp"));
	struct yaml *yaml = yaml_parse(arena, "all", text, strlen(text), &error);
	const struct spec *spec;

	ck_assert_msg(yaml != NULL, "%s", error);
	spec = spec_load(arena, yaml_root(yaml, 0), "all", &path, &error);
	yaml_destroy(&yaml);
	ck_assert_msg(spec != NULL, "%s: %s", path, error);
	return spec;
}

START_TEST(every_middleware_is_among_them)
{
	const struct spec *spec = load();
	const char *const *names = registry_names();
	size_t i, j;

	for (i = 0; names[i] != NULL; i++) {
		/* The shell of shell_tool under another name: there is one. */
		if (strcmp(names[i], "claude_bash_tool") == 0)
			continue;
		for (j = 0; j < spec->use_count; j++)
			if (strcmp(spec->uses[j]->type->name, names[i]) == 0)
				break;
		ck_assert_msg(j < spec->use_count,
		    "%s is not in tests/support/everything.c", names[i]);
	}
}
END_TEST

START_TEST(there_is_one_shell)
{
	static const char text[] = "name: two\nmodel: scripted:m\nscript: {m: [{content: "
				   "x}]}\nmiddleware: [shell_tool, claude_bash_tool]\n";
	const char *path = "", *error = "";
	struct yaml *yaml = yaml_parse(arena, "two", text, strlen(text), &error);

	ck_assert_ptr_null(spec_load(arena, yaml_root(yaml, 0), "two", &path, &error));
	ck_assert_str_eq(path, "/middleware/1");
	ck_assert_str_eq(error,
	    "the middleware \"claude_bash_tool\" keeps the same in a worker as "
	    "\"shell_tool\": remove one of the two");
	yaml_destroy(&yaml);
}
END_TEST

START_TEST(they_make_a_graph)
{
	const char *path = "", *error = "";

	ck_assert_msg(
	    graph_compile(arena, load(), &path, &error) != NULL, "%s: %s", path, error);
}
END_TEST

TCase *tcase_everything(void);
TCase *
tcase_everything(void)
{
	TCase *tcase = tcase_create("everything");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, every_middleware_is_among_them);
	tcase_add_test(tcase, there_is_one_shell);
	tcase_add_test(tcase, they_make_a_graph);
	return tcase;
}
