#include <check.h>
#include <string.h>

#include "literal.h"
#include "sample_agent.h"

/* Interface under test */
#include "graph.h"

static struct arena *arena;
static struct sample_agent *agent;

static void
setup(void)
{
	arena = arena_new();
	agent = sample_agent(arena);
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static const struct graph *
compile(void)
{
	const char *path = "", *error = "";
	const struct graph *graph = graph_compile(arena, &agent->spec, &path, &error);

	ck_assert_msg(graph != NULL, "%s: %s", path, error);
	return graph;
}

/* "a->b; a-.->c" */
static const char *
edges_text(const struct graph *graph)
{
	const struct value *edges = value_get(graph_value(arena, graph), "edges");
	const char *text = "", *from = "";
	size_t i;

	for (i = 0; i < value_size(edges); i++) {
		const struct value *edge = edges->items[i];
		bool same = strcmp(from, value_get_text(edge, "from")) == 0;

		from = value_get_text(edge, "from");
		text = arena_printf(arena, "%s%s%s%s%s", text, i == 0 ? "" : "; ",
		    same ? "" : from,
		    value_get_bool(edge, "conditional", false) ? "-.->" : "->",
		    value_get_text(edge, "to"));
	}
	return text;
}

/* --- pictures ----------------------------------------------------------------------- */

START_TEST(a_model_alone_is_a_straight_line)
{
	ck_assert_str_eq(edges_text(compile()), "__start__->model; model->__end__");
}
END_TEST

START_TEST(a_model_with_tools_is_a_loop)
{
	const struct graph *graph;

	agent->spec.tools = literal(arena, "['add']");
	graph = compile();
	ck_assert_str_eq(edges_text(graph),
	    "__start__->model; model-.->tools; -.->__end__; -.->model; "
	    "tools-.->model");
	ck_assert(graph->has_tools);
	ck_assert_uint_eq(graph->entry, graph->model);
	ck_assert_uint_eq(graph->loop_entry, graph->model);
	ck_assert_uint_eq(graph->loop_exit, graph->model);
	ck_assert_uint_eq(graph->exit, graph->end);
}
END_TEST

/* The two snapshots of semantics.md 1.4. The model's edge to itself is that of
 * langchain#38355, later than the first of them. */
START_TEST(after_agent_hooks_stand_behind_the_exit)
{
	struct middleware_use *zero = sample_use(agent, "Zero", ON(BEFORE_AGENT));

	zero->jumps[HOOK_BEFORE_AGENT] = JUMP_END;
	sample_use(agent, "One", ON(AFTER_AGENT));
	sample_use(agent, "Two", ON(AFTER_AGENT));
	agent->spec.tools = literal(arena, "['add']");
	ck_assert_str_eq(edges_text(compile()),
	    "__start__->Zero.before_agent; "
	    "Zero.before_agent-.->model; -.->Two.after_agent; "
	    "model-.->tools; -.->Two.after_agent; -.->model; "
	    "tools-.->model; "
	    "Two.after_agent->One.after_agent; One.after_agent->__end__");
}
END_TEST

START_TEST(model_hooks_stand_around_the_model)
{
	struct middleware_use *eight;

	sample_use(agent, "Seven", ON(BEFORE_MODEL) | ON(AFTER_MODEL));
	eight = sample_use(agent, "Eight", ON(BEFORE_MODEL) | ON(AFTER_MODEL));
	eight->jumps[HOOK_BEFORE_MODEL] = JUMP_END;
	agent->spec.tools = literal(arena, "['add']");
	ck_assert_str_eq(edges_text(compile()),
	    "__start__->Seven.before_model; Seven.before_model->Eight.before_model; "
	    "Eight.before_model-.->model; -.->__end__; "
	    "model->Eight.after_model; "
	    "Eight.after_model->Seven.after_model; "
	    "Seven.after_model-.->tools; -.->__end__; -.->Seven.before_model; "
	    "tools-.->Seven.before_model");
}
END_TEST

START_TEST(tools_may_end_the_run_when_one_is_known_to)
{
	agent->spec.tools =
	    literal(arena, "['add', {'name': 'say', 'return_direct': true}]");
	ck_assert_ptr_nonnull(
	    strstr(edges_text(compile()), "tools-.->model; -.->__end__"));
	agent->spec.tools = literal(arena, "['add']");
	agent->spec.response_format = sample_format(arena, "tool", "Answer");
	ck_assert_ptr_nonnull(
	    strstr(edges_text(compile()), "tools-.->model; -.->__end__"));
	agent->spec.response_format = NULL;
	sample_use(agent, "A", 0)->tools =
	    literal(arena, "[{'name': 'say', 'return_direct': true}]");
	ck_assert_ptr_nonnull(
	    strstr(edges_text(compile()), "tools-.->model; -.->__end__"));
}
END_TEST

START_TEST(an_output_tool_alone_makes_a_loop_without_tools_node)
{
	agent->spec.response_format = sample_format(arena, "tool", "Answer");
	ck_assert_str_eq(
	    edges_text(compile()), "__start__->model; model-.->__end__; -.->model");
	agent->spec.response_format = sample_format(arena, "provider", "Answer");
	ck_assert_str_eq(edges_text(compile()), "__start__->model; model->__end__");
}
END_TEST

START_TEST(mermaid_is_drawn_as_langgraph_does)
{
	sample_use(agent, "limit[\"a\"]", ON(AFTER_MODEL));
	ck_assert_str_eq(graph_mermaid(arena, compile()),
	    "---\n"
	    "config:\n"
	    "  flowchart:\n"
	    "    curve: linear\n"
	    "---\n"
	    "graph TD;\n"
	    "\t__start__([\"__start__\"]):::first\n"
	    "\tmodel(\"model\")\n"
	    "\tlimit\\5b\\22a\\22\\5d\\2eafter_model"
	    "(\"limit[#quot;a#quot;].after_model\")\n"
	    "\t__end__([\"__end__\"]):::last\n"
	    "\t__start__ --> model;\n"
	    "\tmodel --> limit\\5b\\22a\\22\\5d\\2eafter_model;\n"
	    "\tlimit\\5b\\22a\\22\\5d\\2eafter_model --> __end__;\n"
	    "\tclassDef default fill:#eef2ff,line-height:1.2\n"
	    "\tclassDef first fill-opacity:0\n"
	    "\tclassDef last fill:#c7d2fe\n");
}
END_TEST

START_TEST(agents_that_its_tools_have_work_are_drawn)
{
	const char *text;

	agent->spec.tools = literal(arena, "['add']");
	agent->spec.children = literal(arena, "{'sub': {'a\\\"b': {}, 'c': {}}}");
	text = graph_mermaid(arena, compile());
	ck_assert_ptr_nonnull(strstr(text, "\tsub\\2ea\\22b[[\"a#quot;b\"]]\n"
					   "\ttools -.- sub\\2ea\\22b;\n"
					   "\tsub\\2ec[[\"c\"]]\n"
					   "\ttools -.- sub\\2ec;\n"));
	ck_assert_value(arena, value_get(graph_value(arena, compile()), "agents"),
	    "[{'middleware': 'sub', 'name': 'a\\\"b'}, {'middleware': 'sub', 'name': "
	    "'c'}]");
}
END_TEST

START_TEST(the_value_lists_nodes_and_edges)
{
	ck_assert_value(arena, graph_value(arena, compile()),
	    "{'nodes': ['__start__', 'model', '__end__'], 'edges': ["
	    "{'from': '__start__', 'to': 'model', 'conditional': false},"
	    "{'from': 'model', 'to': '__end__', 'conditional': false}]}");
}
END_TEST

/* --- nodes -------------------------------------------------------------------------- */

START_TEST(nodes_are_found_by_name)
{
	const struct graph *graph;
	long node;

	sample_use(agent, "A", ON(AFTER_MODEL) | ON(WRAP_MODEL_CALL));
	graph = compile();
	node = graph_find(graph, "A.after_model");
	ck_assert_int_ge(node, 0);
	ck_assert_int_eq(graph->nodes[node].kind, NODE_HOOK);
	ck_assert_int_eq(graph->nodes[node].hook, HOOK_AFTER_MODEL);
	ck_assert_str_eq(graph->nodes[node].use->name, "A");
	ck_assert_int_eq(graph_find(graph, "model"), (long)graph->model);
	ck_assert_int_eq(graph_find(graph, "__end__"), (long)graph->end);
	ck_assert_int_eq(graph_find(graph, "tools"), -1);
	ck_assert_int_eq(graph_find(graph, "A.wrap_model_call"), -1);
}
END_TEST

START_TEST(a_tools_node_is_there_when_something_can_run)
{
	struct middleware_use *use;

	agent->spec.tools = literal(arena, "[{'name': 'schema_only'}]");
	ck_assert(!compile()->has_tools);
	use = sample_use(agent, "A", ON(WRAP_TOOL_CALL));
	agent->spec.wraps_tools = true;
	ck_assert(compile()->has_tools);
	agent->spec.wraps_tools = false;
	ck_assert(!compile()->has_tools);
	use->tools = literal(arena, "[{'name': 'write_todos'}]");
	ck_assert(compile()->has_tools);
}
END_TEST

START_TEST(a_jump_to_tools_needs_a_tools_node)
{
	const char *path, *error;

	sample_use(agent, "A", ON(BEFORE_MODEL));
	sample_use(agent, "B", ON(AFTER_AGENT))->jumps[HOOK_AFTER_AGENT] =
	    JUMP_END | JUMP_TOOLS;
	ck_assert_ptr_null(graph_compile(arena, &agent->spec, &path, &error));
	ck_assert_str_eq(path, "/middleware/1");
	ck_assert_ptr_nonnull(strstr(error, "B.after_agent"));
	ck_assert_ptr_nonnull(strstr(error, "no tools"));
	agent->spec.tools = literal(arena, "['add']");
	compile();
}
END_TEST

START_TEST(interrupts_are_at_nodes)
{
	const char *path, *error;

	sample_use(agent, "A", ON(BEFORE_MODEL));
	agent->spec.interrupt_after = literal(arena, "['A.before_model', '*']");
	compile();
	agent->spec.interrupt_after = literal(arena, "['model', 'A.beforemodel']");
	ck_assert_ptr_null(graph_compile(arena, &agent->spec, &path, &error));
	ck_assert_str_eq(path, "/interrupt_after/1");
	ck_assert_ptr_nonnull(strstr(error, "did you mean \"A.before_model\"?"));
}
END_TEST

TCase *tcase_graph(void);
TCase *
tcase_graph(void)
{
	TCase *tcase = tcase_create("graph");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_model_alone_is_a_straight_line);
	tcase_add_test(tcase, a_model_with_tools_is_a_loop);
	tcase_add_test(tcase, after_agent_hooks_stand_behind_the_exit);
	tcase_add_test(tcase, model_hooks_stand_around_the_model);
	tcase_add_test(tcase, tools_may_end_the_run_when_one_is_known_to);
	tcase_add_test(tcase, an_output_tool_alone_makes_a_loop_without_tools_node);
	tcase_add_test(tcase, mermaid_is_drawn_as_langgraph_does);
	tcase_add_test(tcase, agents_that_its_tools_have_work_are_drawn);
	tcase_add_test(tcase, the_value_lists_nodes_and_edges);
	tcase_add_test(tcase, nodes_are_found_by_name);
	tcase_add_test(tcase, a_tools_node_is_there_when_something_can_run);
	tcase_add_test(tcase, a_jump_to_tools_needs_a_tools_node);
	tcase_add_test(tcase, interrupts_are_at_nodes);
	return tcase;
}
