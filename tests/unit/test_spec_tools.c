#include <check.h>
#include <string.h>

#include "literal.h"
#include "sample_spec.h"

/* Interface under test */
#include "spec.h"

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
load(const char *text)
{
	return sample_spec(arena, text);
}

static const struct value *
catalog(void)
{
	return literal(arena, "{'add': {'name': 'add', 'description': 'Adds.'},"
			      " 'other': {'name': 'other', 'description': 'Not ours.'},"
			      " 'write_todos': {'name': 'write_todos',"
			      "  'description': 'A worker has one too.'}}");
}

static const char *
described(const struct spec *spec, const char *name)
{
	return value_get_text(spec_tool(spec, catalog(), name), "description");
}

START_TEST(a_later_tool_of_one_name_wins_in_the_firsts_place)
{
	const struct spec *spec =
	    load("model: m:x\ntools: [a, b, {name: a, description: later}, b]\n");

	ck_assert_uint_eq(spec->tools->size, 2);
	ck_assert_str_eq(value_get_text(spec->tools->items[0], "description"), "later");
	ck_assert(value_text_is(spec->tools->items[1], "b"));
}
END_TEST

START_TEST(a_definition_is_completed)
{
	ck_assert_value(arena, load("model: m:x\ntools: [{name: a}]")->tools,
	    "[{'name': 'a', 'description': '',"
	    "  'parameters': {'type': 'object', 'properties': {}}, 'schema_only': "
	    "true}]");
}
END_TEST

/* What the provider runs by itself, or knows by its type (semantics.md 1.1). */
START_TEST(a_tool_of_the_providers_own_goes_out_as_it_is)
{
	const struct spec *spec =
	    load("model: m:x\ntools:\n"
		 "  - add\n"
		 "  - {type: web_search, filters: {allowed: [a.org]}}\n"
		 "  - {type: web_search}\n"
		 "  - {type: bash_20250124, name: bash}\n"
		 "  - {systemTool: {name: nova_grounding}}\n");
	const struct value *tool = spec_tool_profile(arena, spec, catalog());

	ck_assert_value(arena, spec_offered_tools(arena, spec, catalog()),
	    "[{'name': 'add', 'description': 'Adds.'},"
	    " {'type': 'web_search', 'filters': {'allowed': ['a.org']}},"
	    " {'type': 'web_search'}, {'type': 'bash_20250124', 'name': 'bash'},"
	    " {'systemTool': {'name': 'nova_grounding'}}]");
	ck_assert_value(arena, value_get(tool, "tools"), "['add']");
	ck_assert_value(arena, spec_served_tools(arena, spec), "['add']");
	ck_assert(spec_is_provider_tool(spec->tools->items[3]));
	ck_assert(!spec_is_provider_tool(spec->tools->items[0]));
}
END_TEST

START_TEST(a_definition_in_the_form_of_openai_is_one)
{
	static const char *const forms[] = {
		"{type: function, function: {name: a, description: D.}}",
		"{type: function, name: a, description: D.}",
		"{name: a, description: D.}",
	};
	size_t i;

	for (i = 0; i < sizeof forms / sizeof *forms; i++) {
		const struct spec *spec =
		    load(arena_printf(arena, "model: m:x\ntools: [%s]\n", forms[i]));

		ck_assert_value(arena, spec->tools,
		    "[{'name': 'a', 'description': 'D.', 'parameters': {'type': 'object',"
		    " 'properties': {}}, 'schema_only': true}]");
	}
}
END_TEST

START_TEST(definitions_come_from_catalog_spec_and_middleware)
{
	const struct spec *spec = load("model: m:x\nmiddleware: [todo_list]\n"
				       "tools: [add, gone, {name: mine, description: "
				       "Own.}]\n");

	ck_assert_str_eq(described(spec, "add"), "Adds.");
	ck_assert_str_eq(described(spec, "mine"), "Own.");
	ck_assert_ptr_nonnull(described(spec, "write_todos"));
	ck_assert_str_ne(described(spec, "write_todos"), "A worker has one too.");
	ck_assert_ptr_null(spec_tool(spec, catalog(), "gone"));
	ck_assert_ptr_null(spec_tool(spec, catalog(), "other"));
	ck_assert_value(arena, spec_served_tools(arena, spec), "['add', 'gone']");
	ck_assert_value(
	    arena, spec_valid_tools(arena, spec, NULL), "['write_todos', 'add', 'gone']");
	ck_assert_value(
	    arena, spec_valid_tools(arena, spec, catalog()), "['write_todos', 'add']");
}
END_TEST

START_TEST(a_users_tool_wins_over_that_of_a_middleware)
{
	const struct spec *spec =
	    load("model: m:x\nmiddleware: [todo_list]\ntools: [write_todos]\n");

	ck_assert_str_eq(described(spec, "write_todos"), "A worker has one too.");
	ck_assert_value(arena, spec_served_tools(arena, spec), "[]");
	ck_assert_uint_eq(value_size(spec_offered_tools(arena, spec, catalog())), 1);
	spec = load("model: m:x\nmiddleware: [todo_list]\n"
		    "tools: [{name: write_todos, description: Mine.}]\n");
	ck_assert_str_eq(described(spec, "write_todos"), "Mine.");
}
END_TEST

START_TEST(the_model_is_offered_middleware_tools_first)
{
	const struct spec *spec = load("model: m:x\ntools: [{name: mine}, add, gone]\n"
				       "middleware: [todo_list]\n");
	const struct value *offered = spec_offered_tools(arena, spec, catalog());

	ck_assert_uint_eq(offered->size, 3);
	ck_assert_str_eq(value_get_text(offered->items[0], "name"), "write_todos");
	ck_assert_str_eq(value_get_text(offered->items[1], "name"), "mine");
	ck_assert_str_eq(value_get_text(offered->items[2], "name"), "add");
}
END_TEST

START_TEST(profiles_hold_what_all_calls_share)
{
	const struct spec *spec =
	    load("model: m:x\nsystem_prompt: Hi.\ntools: [add]\n"
		 "middleware: [todo_list, tool_retry, {model_retry: {max_retries: 1}}]\n"
		 "response_format: {strategy: tool, schema: {title: A}}\n");
	const struct value *model = spec_model_profile(arena, spec, catalog());
	const struct value *tool = spec_tool_profile(arena, spec, catalog());
	const struct value *chain = value_get(model, "middleware");

	ck_assert_ptr_nonnull(model->packed);
	ck_assert_str_eq(value_get_text(model, "agent"), "test");
	ck_assert_str_eq(value_get_text(model, "version"), spec->version);
	ck_assert_str_eq(value_get_text(model, "model"), "m:x");
	ck_assert_str_eq(value_get_text(model, "system_prompt"), "Hi.");
	ck_assert(!value_has(model, "model_settings"));
	ck_assert(!value_has(model, "name"));
	ck_assert(!value_has(model, "script"));
	ck_assert(value_get_bool(model, "wraps_tools", false));
	ck_assert(
	    value_equal(value_get(model, "response_format"), spec->response_format));
	ck_assert_uint_eq(value_size(value_get(model, "tools")), 2);
	ck_assert_uint_eq(value_size(chain), 2);
	ck_assert_str_eq(value_get_text(chain->items[0], "name"), "todo_list");
	ck_assert_str_eq(value_get_text(chain->items[1], "name"), "model_retry");
	ck_assert_int_eq(
	    value_get_int(value_get(chain->items[1], "settings"), "max_retries", 0), 1);

	ck_assert_ptr_nonnull(tool->packed);
	ck_assert_value(arena, value_get(tool, "tools"), "['write_todos', 'add']");
	/* With a wrap, or with a tool that runs there; model_retry has neither. */
	chain = value_get(tool, "middleware");
	ck_assert_uint_eq(value_size(chain), 2);
	ck_assert_str_eq(value_get_text(chain->items[0], "name"), "todo_list");
	ck_assert_str_eq(value_get_text(chain->items[1], "name"), "tool_retry");
}
END_TEST

START_TEST(who_brings_internal_tools_alone_is_in_tool_workers_too)
{
	const struct spec *spec =
	    load("model: m:x\nmiddleware: [{memory: {sources: [/a]}}, model_retry]\n");
	const struct value *tool = spec_tool_profile(arena, spec, catalog());
	const struct value *chain = value_get(tool, "middleware");

	ck_assert_uint_eq(value_size(chain), 1);
	ck_assert_str_eq(value_get_text(value_at(chain, 0), "name"), "memory");
	ck_assert_uint_eq(value_size(value_get(tool, "tools")), 0);
}
END_TEST

START_TEST(a_named_agent_names_its_messages)
{
	const struct spec *spec =
	    load("name: ann\nmodel: m:x\nmodel_settings: {temperature: 0}\n"
		 "script: {x: []}\n");
	const struct value *profile = spec_model_profile(arena, spec, NULL);

	ck_assert_str_eq(value_get_text(profile, "name"), "ann");
	ck_assert(value_has(profile, "script"));
	ck_assert(value_has(profile, "model_settings"));
	ck_assert_value(arena, value_get(profile, "tools"), "[]");
}
END_TEST

START_TEST(what_worker_slices_read_is_there_once)
{
	ck_assert_value(arena,
	    load("model: m:x\nmiddleware:\n"
		 "- todo_list: {inject_current_todos: true}\n")
		->reads,
	    "['todos']");
}
END_TEST

START_TEST(what_only_tools_read_model_calls_do_not_bring)
{
	const struct spec *spec = load("model: m:x\nmiddleware:\n"
				       "- todo_list: {inject_current_todos: true}\n"
				       "- filesystem\n");

	ck_assert_value(arena, spec->reads, "['todos']");
	ck_assert_value(arena, spec->tool_reads, "['todos', 'files']");
}
END_TEST

TCase *tcase_spec_tools(void);
TCase *
tcase_spec_tools(void)
{
	TCase *tcase = tcase_create("spec_tools");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_later_tool_of_one_name_wins_in_the_firsts_place);
	tcase_add_test(tcase, a_definition_is_completed);
	tcase_add_test(tcase, a_tool_of_the_providers_own_goes_out_as_it_is);
	tcase_add_test(tcase, a_definition_in_the_form_of_openai_is_one);
	tcase_add_test(tcase, definitions_come_from_catalog_spec_and_middleware);
	tcase_add_test(tcase, a_users_tool_wins_over_that_of_a_middleware);
	tcase_add_test(tcase, the_model_is_offered_middleware_tools_first);
	tcase_add_test(tcase, profiles_hold_what_all_calls_share);
	tcase_add_test(tcase, who_brings_internal_tools_alone_is_in_tool_workers_too);
	tcase_add_test(tcase, a_named_agent_names_its_messages);
	tcase_add_test(tcase, what_worker_slices_read_is_there_once);
	tcase_add_test(tcase, what_only_tools_read_model_calls_do_not_bring);
	return tcase;
}
