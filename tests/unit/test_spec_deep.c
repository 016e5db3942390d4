/* `deep_agent`: deepagents' stack under one key. */
#include <check.h>
#include <string.h>

#include "has.h"
#include "literal.h"
#include "repeated.h"
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
deep(const char *more)
{
	return sample_spec(arena,
	    arena_printf(arena, "model: openai:gpt-4o\ntools: [search]\n%s\n", more));
}

/* The names of what spec uses, in their order. */
static const char *
uses_of(const struct spec *spec)
{
	const char *text = "";
	size_t i;

	for (i = 0; i < spec->use_count; i++)
		text = arena_printf(
		    arena, "%s%s%s", text, i > 0 ? " " : "", spec->uses[i]->type->name);
	return text;
}

static const struct middleware_use *
use_of(const struct spec *spec, const char *name)
{
	size_t i;

	for (i = 0; i < spec->use_count; i++)
		if (strcmp(spec->uses[i]->type->name, name) == 0)
			return spec->uses[i];
	ck_abort_msg("there is no %s", name);
}

/* The same of an agent that is part of it. */
static const struct value *
middleware_of(const struct spec *spec, const char *child)
{
	return value_get(
	    value_get(value_get(value_get(spec->children, "subagent"), child), "source"),
	    "middleware");
}

#define TAIL "anthropic_prompt_caching bedrock_prompt_caching"
#define CORE "filesystem subagent deepagents_summarization patch_tool_calls"
#define CACHING                                                                          \
	"{'anthropic_prompt_caching': {'unsupported_model_behavior': 'ignore'}}, "       \
	"{'bedrock_prompt_caching': {'unsupported_model_behavior': 'ignore'}}"

START_TEST(the_stack_is_deepagents)
{
	ck_assert_str_eq(uses_of(deep("deep_agent: true")), CORE " " TAIL);
	ck_assert_str_eq(uses_of(deep("deep_agent: {}")), CORE " " TAIL);
	ck_assert_str_eq(uses_of(deep("deep_agent: false")), "");
	ck_assert_str_eq(uses_of(deep("deep_agent: null")), "");
	ck_assert_str_eq(
	    uses_of(deep("deep_agent: {skills: [/s], memory: [/m.md], todo_list: true, "
			 "interrupt_on: {search: true}, subagents: [{name: far, "
			 "description: d, graph_id: g}]}")),
	    "todo_list skills " CORE " async_subagent " TAIL " memory human_in_the_loop");
	ck_assert_str_eq(
	    uses_of(
		deep("deep_agent: {general_purpose_agent: false, summarization: false}")),
	    "filesystem patch_tool_calls " TAIL);
}
END_TEST

START_TEST(the_agents_own_stands_behind_the_core_or_in_the_place_of_its_name)
{
	const struct spec *spec = deep("deep_agent: {memory: [/m.md]}\n"
				       "middleware:\n"
				       "  - tool_retry\n"
				       "  - memory: {sources: [/own.md]}\n"
				       "  - filesystem: {tools: [read_file]}\n");

	ck_assert_str_eq(uses_of(spec), CORE " tool_retry " TAIL " memory");
	ck_assert_value(
	    arena, value_get(use_of(spec, "memory")->settings, "sources"), "['/own.md']");
	ck_assert_value(arena, value_get(use_of(spec, "filesystem")->settings, "tools"),
	    "['read_file']");
}
END_TEST

START_TEST(what_stands_in_a_place_does_so_for_the_general_purpose_agent_too)
{
	const struct spec *spec = deep("deep_agent: true\nmiddleware:\n  - todo_list\n"
				       "  - filesystem: {grep_max_count: 7}\n");

	ck_assert_value(arena, middleware_of(spec, "general-purpose"),
	    "[{'filesystem': {'grep_max_count': 7}}, 'deepagents_summarization', "
	    "'patch_tool_calls', " CACHING "]");
}
END_TEST

START_TEST(one_backend_is_everybodys)
{
	const struct spec *spec =
	    deep("deep_agent: {backend: store, skills: [/s], memory: [/m.md]}");
	static const char *const names[] = { "filesystem", "skills", "memory",
		"deepagents_summarization" };
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		ck_assert_value(arena,
		    value_get(use_of(spec, names[i])->settings, "backend"), "'store'");
	ck_assert_value(arena, middleware_of(spec, "general-purpose"),
	    "[{'filesystem': {'backend': 'store'}}, {'deepagents_summarization': "
	    "{'backend': 'store'}}, 'patch_tool_calls', {'skills': {'backend': 'store', "
	    "'sources': ['/s']}}, " CACHING "]");
}
END_TEST

START_TEST(subagents_have_a_stack_of_their_own)
{
	const struct spec *spec = deep(
	    "deep_agent:\n"
	    "  interrupt_on: {search: true}\n"
	    "  subagents:\n"
	    "    - {name: a, description: d, skills: [/a], middleware: [todo_list]}\n"
	    "    - {name: b, description: d, interrupt_on: {},\n"
	    "       middleware: [{filesystem: {tools: [read_file]}}]}\n"
	    "    - {name: c, description: d, agent: other}\n");

	ck_assert_value(arena, middleware_of(spec, "a"),
	    "['filesystem', 'deepagents_summarization', 'patch_tool_calls', {'skills': "
	    "{'sources': ['/a']}}, " CACHING
	    ", 'todo_list', {'human_in_the_loop': {'interrupt_on': {'search': true}}}]");
	ck_assert_value(arena, middleware_of(spec, "b"),
	    "[{'filesystem': {'tools': ['read_file']}}, 'deepagents_summarization', "
	    "'patch_tool_calls', " CACHING "]");
	ck_assert_value(arena, value_get(value_get(spec->children, "subagent"), "c"),
	    "{'agent': 'other'}");
}
END_TEST

START_TEST(a_fork_reads_what_its_parent_reads)
{
	const struct spec *spec =
	    deep("deep_agent:\n"
		 "  skills: [/s]\n"
		 "  memory: [/m.md]\n"
		 "  interrupt_on: {search: true}\n"
		 "  subagents:\n"
		 "    - {name: a, description: d, mode: fork, interrupt_on: {},\n"
		 "       middleware: [{tool_retry: {max_retries: 7}}, model_retry]}\n"
		 "middleware:\n"
		 "  - tool_retry\n"
		 "  - async_subagent: {async_subagents: [{name: far, description: d, "
		 "graph_id: g}]}\n"
		 "  - todo_list\n");
	const struct value *list = middleware_of(spec, "a");
	static const char *const names[] = { "'skills'", "'filesystem'", "'subagent'",
		"'deepagents_summarization'", "'patch_tool_calls'",
		"'anthropic_prompt_caching'", "'bedrock_prompt_caching'", "'memory'",
		"'tool_retry'", "'todo_list'", "'model_retry'" };
	size_t i;

	ck_assert_uint_eq(value_size(list), sizeof names / sizeof *names);
	for (i = 0; i < value_size(list); i++)
		ck_assert_value(arena,
		    value_is(value_at(list, i), VALUE_MAP)
			? value_at(list, i)->pairs[0].key
			: value_at(list, i),
		    names[i]);
	ck_assert_value(arena, value_at(list, 0), "{'skills': {'sources': ['/s']}}");
	ck_assert_value(arena, value_at(list, 8), "{'tool_retry': {'max_retries': 7}}");
}
END_TEST

START_TEST(the_source_stays_as_it_was_written)
{
	const struct spec *spec = deep("deep_agent: true");

	ck_assert(value_has(spec->source, "deep_agent"));
	ck_assert(!value_has(spec->source, "middleware"));
}
END_TEST

static void
check_refused(const char *text, const char *path, const char *says)
{
	const char *at = NULL, *error = NULL;
	const struct value *source =
	    sample_source(arena, arena_printf(arena, "model: openai:gpt-4o\n%s\n", text));

	ck_assert_msg(
	    spec_load(arena, source, "test", &at, &error) == NULL, "%s is taken", text);
	ck_assert_str_eq(at, path);
	ck_assert_has(error, says);
}

START_TEST(mistakes_are_shown_where_they_stand)
{
	check_refused("deep_agent: 7", "/deep_agent", "must be true or a map");
	check_refused("deep_agent: {skillz: 1}", "/deep_agent/skillz", "\"skills\"");
	check_refused("deep_agnt: true", "/deep_agnt", "\"deep_agent\"");
	check_refused(
	    "deep_agent: {subagents: 7}", "/deep_agent/subagents", "must be a list");
	check_refused(
	    "deep_agent: {backend: {x: 1}}", "/deep_agent/backend", "must be state");
	check_refused(
	    "deep_agent: {interrupt_on: 7}", "/deep_agent/interrupt_on", "must be a map");
	check_refused("deep_agent: {permissions: [x]}", "/deep_agent/permissions/0",
	    "must be a map");
	check_refused("deep_agent: {subagents: [{name: x, description: d, mode: fork, "
		      "skills: [/s]}]}",
	    "/deep_agent/subagents/0/skills", "its parent's skills");
	check_refused("deep_agent: true\nmiddleware: [{memory: {sources: 7}}]",
	    "/middleware/0/memory/sources", "must be a list");
	check_refused("deep_agent: {subagents: [{name: x, description: d, mode: fork, "
		      "middleware: [model_retry, todo_lst]}]}",
	    "/deep_agent/subagents/0/middleware/1", "todo_list");
	check_refused("deep_agent: true\nmiddleware: 7", "/middleware", "must be a list");
	check_refused("deep_agent: true\nmiddleware: [model_retry, model_retry]",
	    "/middleware/1", "already, as /middleware/0:");
}
END_TEST

#define FORK "subagents: [{name: x, description: d, mode: fork}]"

/* A fork has its agent's, and is looked at first. */
START_TEST(what_a_fork_has_of_its_agent_is_wrong_there)
{
	check_refused("deep_agent: {" FORK "}\nmiddleware: [{deepagents_summarization: "
		      "{kep: 5}}]",
	    "/middleware/0/deepagents_summarization/kep", "\"keep\"");
	check_refused("deep_agent: {" FORK "}\nmiddleware: [todo_list, {memory: "
		      "{sources: 7}}]",
	    "/middleware/1/memory/sources", "must be a list");
	check_refused("deep_agent: {" FORK "}\nmiddleware: [todo_list, todo_list]",
	    "/middleware/1", "\"todo_list\" is there already: remove");
}
END_TEST

/* What the stack makes of a setting says it where it was given, not where the stack has it. */
static const struct {
	const char *deep, *path, *says;
} misplaced[] = {
	{ "{todo_list: 'no'}", "/todo_list", "must be true or false" },
	{ "{general_purpose_agent: 0}", "/general_purpose_agent",
	    "must be true or false" },
	{ "{summarization: never}", "/summarization", "true, false or a map" },
	{ "{summarization: {keep: 5}}", "/summarization/keep", "must be a size" },
	{ "{summarization: {kep: 5}}", "/summarization/kep", "no setting \"kep\"" },
	{ "{skills: 7}", "/skills/sources", "must be a list" },
	{ "{subagents: [{name: x, description: d}, {name: y, description: d, middleware: "
	  "[todo_lst]}]}",
	    "/subagents/1/middleware/0", "todo_list" },
	{ "{subagents: [{name: y, description: d, middleware: [todo_list, {tool_retry: "
	  "{max_retries: x}}]}]}",
	    "/subagents/0/middleware/1/tool_retry/max_retries", "an integer" },
	{ "{subagents: [{name: y, description: d, middleware: [{filesystem: {x: 1}}]}]}",
	    "/subagents/0/middleware/0/filesystem/x", "no setting" },
	{ "{subagents: [{name: y, description: d, permissions: [7]}]}",
	    "/subagents/0/permissions/0", "must be a map" },
	{ "{subagents: [{name: y, description: d, skills: 7}]}",
	    "/subagents/0/skills/sources", "must be a list" },
	{ "{subagents: [{name: y, description: d, debug: 7}]}", "/subagents/0/debug",
	    "true or false" },
	{ "{subagents: [{name: z, description: d, graph_id: g}, {name: y, description: "
	  "d, debug: 7}]}",
	    "/subagents/1/debug", "true or false" },
	{ "{subagents: [{name: y, description: d}, {name: z, description: d, graph_id: "
	  "7}]}",
	    "/subagents/1/graph_id", "needs a graph_id" },
	{ "{memory: 7, " FORK "}", "/memory/sources", "must be a list" },
	{ "{interrupt_on: {a: 7}, " FORK "}", "/interrupt_on/a", "allowed_decisions" },
	{ "{interrupt_on: {a: 7}}", "/interrupt_on/a", "allowed_decisions" },
	{ "{interrupt_on: {a: true}, subagents: [{name: x, description: d, interrupt_on: "
	  "{a: 7}}]}",
	    "/subagents/0/interrupt_on/a", "allowed_decisions" },
	{ "{subagents: [{name: y, description: d, deep_agent: {subagents: [{name: z, "
	  "description: d, skills: 7}]}}]}",
	    "/subagents/0/deep_agent/subagents/0/skills/sources", "must be a list" },
};

START_TEST(what_it_stands_for_is_wrong_where_it_was_given)
{
	check_refused(arena_printf(arena, "deep_agent: %s", misplaced[_i].deep),
	    arena_printf(arena, "/deep_agent%s", misplaced[_i].path), misplaced[_i].says);
}
END_TEST

static const char *
many(size_t count, const char *form)
{
	struct packet packet = { 0 };
	const char *text;
	size_t i;

	for (i = 0; i < count; i++) {
		text = arena_printf(arena, "{name: a%zu, description: d%s},", i, form);
		packet_append(&packet, text, strlen(text));
	}
	text = arena_copy(arena, packet.data, packet.size);
	packet_release(&packet);
	return text;
}

START_TEST(agents_within_one_are_bounded)
{
	const char *script =
	    arena_printf(arena, "script: {x: [{content: '%0500000d'}]}", 1);

	check_refused(arena_printf(arena, "middleware: [{subagent: {subagents: [%s]}}]",
			  many(257, ", agent: x")),
	    "/middleware/0/subagent/subagents", "at most 256");
	check_refused(arena_printf(arena, "deep_agent: {subagents: [%s]}",
			  many(257, ", graph_id: x")),
	    "/deep_agent/subagents", "at most 256");
	check_refused(arena_printf(arena, "deep_agent: {subagents: [%s]}\n%s",
			  many(200, ""), script),
	    "/deep_agent/subagents/66", "33554432 bytes together");
	deep(arena_printf(arena, "deep_agent: {subagents: [%s]}", many(256, "")));
}
END_TEST

static void
check_too_many(size_t agents_own, size_t forks_own, const char *path)
{
	check_refused(
	    arena_printf(arena,
		"deep_agent: {subagents: [{name: x, description: d, mode: fork, "
		"middleware: [%s]}]}\nmiddleware: [%s]",
		repeated(arena, "model_retry,", forks_own),
		repeated(arena, "todo_list,", agents_own)),
	    path, "more than 64 middleware");
}

/* A fork has those of its agent and its own: there is room for both until they are counted. */
START_TEST(middleware_is_counted_where_it_was_given)
{
	check_too_many(200, 0, "/middleware");
	check_too_many(0, 200, "/deep_agent/subagents/0/middleware");
	check_too_many(40, 40, "/deep_agent/subagents/0/middleware");
	check_too_many(2000, 2000, "/middleware");
}
END_TEST

static void
check_refused_within(
    size_t megabytes, const char *text, const char *path, const char *says)
{
	size_t before = arena_bytes(arena);

	check_refused(text, path, says);
	ck_assert_uint_lt(arena_bytes(arena) - before, megabytes << 20);
}

static const char *
subagents_of(const char *key, const char *list, const char *subagents)
{
	return arena_printf(arena,
	    "middleware: [{subagent: {%s: [%s], subagents: [%s]}}]", key, list,
	    subagents);
}

/* A short text can give much to each of many agents: that is seen before each has it. */
START_TEST(what_many_agents_have_is_counted_first)
{
	const char *one = "{name: x, description: d, mode: fork},";

	check_refused_within(32,
	    subagents_of("default_middleware", repeated(arena, "todo_list,", 50000),
		many(256, "")),
	    "/middleware/0/subagent/default_middleware", "more than 64 middleware");
	check_refused_within(32,
	    subagents_of(
		"general_purpose_middleware", repeated(arena, "todo_list,", 65), ""),
	    "/middleware/0/subagent/general_purpose_middleware",
	    "more than 64 middleware");
	check_refused_within(32,
	    arena_printf(arena, "deep_agent: {subagents: [%s]}\nmiddleware: [%s]",
		repeated(arena, one, 2000), repeated(arena, "todo_list,", 2000)),
	    "/deep_agent/subagents", "at most 256");
	/* Each fork has the descriptions of all. */
	check_refused_within(96,
	    subagents_of("default_middleware", "",
		many(256, arena_printf(arena, "%03000d, mode: fork", 1))),
	    "/middleware/0/subagent/subagents/42", "33554432 bytes together");
}
END_TEST

/* The agent is kept in every process. */
START_TEST(long_descriptions_are_held_a_few_times_alone)
{
	const char *long_one = arena_printf(arena, "%03000d, agent: x", 1);
	const char *text = many(256, long_one);
	size_t before = arena_bytes(arena);

	deep(arena_printf(arena, "middleware: [{subagent: {subagents: [%s]}}]", text));
	ck_assert_uint_lt(arena_bytes(arena) - before, 24u << 20);
}
END_TEST

START_TEST(what_a_subagent_has_from_its_agent_is_wrong_there)
{
	check_refused(
	    "deep_agent: true\ntools: [search, 7]", "/tools/1", "a tool's name");
	check_refused("deep_agent: true\nscript: 7", "/script", "must be a map");
	check_refused("middleware: [{subagent: {subagents: [{name: x, description: d, "
		      "tools: [7]}]}}]\ntools: [8]",
	    "/tools/0", "a tool's name");
	check_refused("middleware: [{subagent: {general_purpose_agent: false, subagents: "
		      "[{name: x, description: d, tools: [7]}]}}]\ntools: [search]",
	    "/middleware/0/subagent/subagents/0/tools/0", "a tool's name");
}
END_TEST

TCase *tcase_spec_deep(void);
TCase *
tcase_spec_deep(void)
{
	TCase *tcase = tcase_create("spec_deep");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, the_stack_is_deepagents);
	tcase_add_test(
	    tcase, the_agents_own_stands_behind_the_core_or_in_the_place_of_its_name);
	tcase_add_test(
	    tcase, what_stands_in_a_place_does_so_for_the_general_purpose_agent_too);
	tcase_add_test(tcase, one_backend_is_everybodys);
	tcase_add_test(tcase, subagents_have_a_stack_of_their_own);
	tcase_add_test(tcase, a_fork_reads_what_its_parent_reads);
	tcase_add_test(tcase, the_source_stays_as_it_was_written);
	tcase_add_test(tcase, mistakes_are_shown_where_they_stand);
	tcase_add_test(tcase, what_a_fork_has_of_its_agent_is_wrong_there);
	tcase_add_loop_test(tcase, what_it_stands_for_is_wrong_where_it_was_given, 0,
	    (int)(sizeof misplaced / sizeof *misplaced));
	tcase_add_test(tcase, agents_within_one_are_bounded);
	tcase_add_test(tcase, middleware_is_counted_where_it_was_given);
	tcase_add_test(tcase, what_many_agents_have_is_counted_first);
	tcase_add_test(tcase, long_descriptions_are_held_a_few_times_alone);
	tcase_add_test(tcase, what_a_subagent_has_from_its_agent_is_wrong_there);
	return tcase;
}
