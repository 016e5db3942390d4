#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Interface under test */
#include "spec.h"

static struct arena *arena;
static char folder[] = "/tmp/spec-XXXXXX";
static char file[64];

static void
setup(void)
{
	arena = arena_new();
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(file, sizeof file, "%s/support.agent.yaml", folder);
}

static void
teardown(void)
{
	unlink(file);
	rmdir(folder);
	arena_destroy(&arena);
}

static long
load_file(const char *text, const struct spec *const **specs_r, const char **error_r)
{
	FILE *stream = fopen(file, "w");

	ck_assert_ptr_nonnull(stream);
	fputs(text, stream);
	fclose(stream);
	return spec_load_file(arena, file, specs_r, error_r);
}

START_TEST(a_file_may_hold_several_agents)
{
	const struct spec *const *specs = NULL;
	const char *error = NULL;

	ck_assert_int_eq(
	    load_file("model: m:x\n---\nname: two\nmodel: m:y\n---\n", &specs, &error),
	    2);
	ck_assert_str_eq(specs[0]->name, "support.agent");
	ck_assert_str_eq(specs[1]->name, "two");
	ck_assert_str_eq(specs[1]->model, "m:y");
	ck_assert_int_eq(
	    load_file("{\"name\": \"j\", \"model\": \"m:x\"}", &specs, &error), 1);
	ck_assert_str_eq(specs[0]->name, "j");
}
END_TEST

/* A file of code beside the agent's is read with it, and the agent keeps its text. */
START_TEST(code_beside_the_file_becomes_part_of_the_agent)
{
	static const char agent[] = "model: m:x\nmiddleware:\n- model_retry\n"
				    "- lua: {file: limit.lua}\n";
	const struct spec *const *specs = NULL;
	const char *error = NULL, *code = arena_printf(arena, "%s/limit.lua", folder);
	const struct value *settings;
	FILE *stream = fopen(code, "w");

	ck_assert_ptr_nonnull(stream);
	fputs("\nfunction before_model() end\n", stream);
	fclose(stream);
	ck_assert_msg(load_file(agent, &specs, &error) == 1, "%s", error);
	ck_assert_str_eq(specs[0]->uses[1]->name, "limit");
	settings =
	    value_get(value_at(value_get(specs[0]->source, "middleware"), 1), "lua");
	ck_assert_str_eq(value_get_text(settings, "file"), "limit.lua");
	ck_assert_str_eq(
	    value_get_text(settings, "code"), "\nfunction before_model() end\n");
	unlink(code);
	ck_assert_int_eq(load_file(agent, &specs, &error), -1);
	ck_assert_ptr_nonnull(strstr(error, "support.agent.yaml:4:9: "));
	ck_assert_ptr_nonnull(strstr(error, "limit.lua: No such file or directory"));
}
END_TEST

static const struct {
	const char *text, *at, *word;
} bad_files[] = {
	{ "model: m:x\ntools:\n- add\n- {nmae: a}\n", ":4:", "\"nmae\"" },
	{ "model: m:x\n---\nmodel: m:y\nmidleware: []\n", ":4:1: ", "middleware" },
	{ "model: m:x\n---\nmodel: m:y\n", ":3:", "two agents \"support.agent\"" },
	{ "model: m:x\nstate:\n  a:\n    type: sting\n", ":4:5: ", "\"string\"" },
	{ "name: a\n", ":1:", "needs a model" },
	{ "model: [m\n", ":", "" },
	{ "", ":1:1: ", "no agent" },
	{ "# nothing\n---\n---\n", ":1:1: ", "no agent" },
};

static void
check_child_has_code(const char *text)
{
	const struct spec *const *specs = NULL;
	const struct value *child, *middleware;
	const char *error = NULL;

	ck_assert_msg(load_file(text, &specs, &error) == 1, "%s", error);
	child = value_get(value_get(specs[0]->children, "subagent"), "x");
	middleware = value_get(value_get(child, "source"), "middleware");
	middleware = value_at(middleware, value_size(middleware) - 1);
	ck_assert_ptr_nonnull(
	    strstr(value_get_text(value_get(middleware, "lua"), "code"), "before_agent"));
}

/* So is that of the agents which are part of it. */
START_TEST(code_of_subagents_becomes_part_of_the_agent)
{
#define SUBAGENTS "subagents: [{name: x, description: d, middleware: [lua: {file: %s}]}]"
	const struct spec *const *specs = NULL;
	const char *error = NULL, *code = arena_printf(arena, "%s/own.lua", folder);
	FILE *stream = fopen(code, "w");

	ck_assert_ptr_nonnull(stream);
	fputs("function before_agent() end\n", stream);
	fclose(stream);
	check_child_has_code(arena_printf(
	    arena, "model: m:x\nmiddleware: [subagent: {" SUBAGENTS "}]\n", "own.lua"));
	check_child_has_code(
	    arena_printf(arena, "model: m:x\ndeep_agent: {" SUBAGENTS "}\n", "own.lua"));
	unlink(code);
	ck_assert_int_eq(
	    load_file(arena_printf(arena, "model: m:x\ndeep_agent:\n  " SUBAGENTS "\n",
			  "none.lua"),
		&specs, &error),
	    -1);
	ck_assert_ptr_nonnull(strstr(error, "none.lua: No such file or directory"));
	ck_assert_ptr_nonnull(strstr(error, "support.agent.yaml:3:"));
}
END_TEST

START_TEST(a_wrong_file_is_refused_with_line_and_reason)
{
	const struct spec *const *specs = NULL;
	const char *error = NULL;

	ck_assert_int_eq(load_file(bad_files[_i].text, &specs, &error), -1);
	ck_assert_ptr_null(specs);
	ck_assert_msg(strncmp(error, file, strlen(file)) == 0 &&
			  strncmp(error + strlen(file), bad_files[_i].at,
			      strlen(bad_files[_i].at)) == 0,
	    "%s", error);
	ck_assert_msg(strstr(error, bad_files[_i].word) != NULL, "%s", error);
}
END_TEST

START_TEST(a_reason_is_short_whatever_the_file_holds)
{
	static const char *const before[] = { "model: m:x\ntool_errors: ",
		"model: m:x\nmiddleware: [{model_retry: {on_failure: " };
	const struct spec *const *specs = NULL;
	const char *error = NULL;
	char *huge = arena_alloc(arena, 70000);

	memset(huge, 'x', 69999);
	huge[69999] = '\0';
	ck_assert_int_eq(load_file(arena_printf(arena, "%s%s%s", before[_i], huge,
				       _i == 0 ? "" : "}}]"),
			     &specs, &error),
	    -1);
	ck_assert_uint_lt(strlen(error), 1200);
	ck_assert_str_eq(error + strlen(error) - 5, "x ...");
}
END_TEST

static const struct {
	const char *more, *says; /* NULL: nothing is wrong */
} named_as_builtin[] = {
	{ "deep_agent: true\ntools: [search, task]\n",
	    "support.agent.yaml:3:17: a tool \"task\" would take the place of the one "
	    "that "
	    "deep_agent brings with subagent: give yours another name" },
	{ "deep_agent: {}\ntools: [read_file]\n", "brings with filesystem" },
	/* This backend has none, but another one will have. */
	{ "deep_agent: true\ntools: [{name: execute}]\n", "brings with filesystem" },
	{ "deep_agent: true\ntools: [list_async_tasks]\n", "with async_subagent" },
	{ "deep_agent: true\ntools: [Task, write_todos, {type: web_search}]\n", NULL },
	{ "deep_agent: false\ntools: [task]\n", NULL },
	{ "tools: [task, read_file]\nmiddleware: [filesystem]\n", NULL },
	{ "deep_agent: {subagents: [{name: x, description: d, tools: [ls]}]}\n", NULL },
};

/* As deepagents JS refuses them. It loads: a fleet may have such an agent. */
START_TEST(a_tool_named_as_one_of_deep_agents_is_objected_to)
{
	const struct spec *const *specs = NULL;
	const char *error = NULL, *text = arena_printf(
				      arena, "model: m:x\n%s", named_as_builtin[_i].more);

	ck_assert_msg(load_file(text, &specs, &error) == 1, "%s", error);
	if (named_as_builtin[_i].says == NULL)
		ck_assert_ptr_null(specs[0]->objection);
	else
		ck_assert_ptr_nonnull(
		    strstr(specs[0]->objection, named_as_builtin[_i].says));
}
END_TEST

START_TEST(a_file_that_is_not_there_is_an_error)
{
	const struct spec *const *specs;
	const char *error = NULL;

	ck_assert_int_eq(spec_load_file(arena, file, &specs, &error), -1);
	ck_assert_ptr_nonnull(strstr(error, file));
}
END_TEST

TCase *tcase_spec_file(void);
TCase *
tcase_spec_file(void)
{
	TCase *tcase = tcase_create("spec_file");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, a_tool_named_as_one_of_deep_agents_is_objected_to, 0,
	    sizeof named_as_builtin / sizeof *named_as_builtin);
	tcase_add_test(tcase, code_beside_the_file_becomes_part_of_the_agent);
	tcase_add_test(tcase, code_of_subagents_becomes_part_of_the_agent);
	tcase_add_test(tcase, a_file_may_hold_several_agents);
	tcase_add_loop_test(tcase, a_wrong_file_is_refused_with_line_and_reason, 0,
	    sizeof bad_files / sizeof bad_files[0]);
	tcase_add_loop_test(tcase, a_reason_is_short_whatever_the_file_holds, 0, 2);
	tcase_add_test(tcase, a_file_that_is_not_there_is_an_error);
	return tcase;
}
