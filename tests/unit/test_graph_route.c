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

/* Returns the name of the node behind from, or the error. */
static const char *
next(const char *from, const struct step_outcome *outcome)
{
	const struct graph *graph = compile();
	long node = graph_find(graph, from);
	const char *error = NULL;

	ck_assert_msg(node != -1, "%s", from);
	node = graph_next(arena, graph, &agent->spec, (size_t)node, outcome, &error);
	ck_assert_int_eq(node == -1, error != NULL);
	return node == -1 ? error : graph->nodes[node].name;
}

#define HUMAN "{'type': 'human', 'content': 'hi', 'id': 'h'}"
#define ANSWER "{'type': 'ai', 'content': 'yes', 'id': 'a'}"
#define CALL(id, name) "{'name': '" name "', 'args': {}, 'id': '" id "'}"
#define CALLING(calls) "{'type': 'ai', 'content': '', 'tool_calls': [" calls "]}"
#define MALFORMED(more, id)                                                              \
	"{'type': 'ai', 'content': ''" more ", 'invalid_tool_calls':"                    \
	" [{'name': 'add', 'args': '{', 'id': '" id "'}]}"
#define TOOL(id, name)                                                                   \
	"{'type': 'tool', 'content': 'x', 'tool_call_id': '" id "', 'name': '" name "'," \
	" 'status': 'success'}"
#define FAILED(id, name)                                                                 \
	"{'type': 'tool', 'content': 'x', 'tool_call_id': '" id "', 'name': '" name "'," \
	" 'status': 'error'}"
#define PENDING HUMAN "," CALLING(CALL("c1", "add"))

static const struct value *
messages(const char *text)
{
	return literal(arena, arena_printf(arena, "[%s]", text));
}

/* --- the loop's exit and the tools node ---------------------------------------------- */

enum agent_kind {
	PLAIN,       /* a model alone */
	TOOLS,       /* with a tool */
	SCHEMA_ONLY, /* with a tool nobody runs */
	OUTPUT,      /* with the output tool R */
	OUTPUT_TOOLS,
	PROVIDER, /* structured output by the provider, and a tool */
};

static void
equip(enum agent_kind kind)
{
	sample_use(agent, "A", ON_ALL_NODES);
	sample_use(agent, "B", ON_ALL_NODES);
	if (kind == TOOLS || kind == OUTPUT_TOOLS || kind == PROVIDER)
		agent->spec.tools = literal(arena, "['add']");
	if (kind == SCHEMA_ONLY)
		agent->spec.tools = literal(arena, "[{'name': 'add'}]");
	if (kind == OUTPUT || kind == OUTPUT_TOOLS)
		agent->spec.response_format = sample_format(arena, "tool", "R");
	if (kind == PROVIDER)
		agent->spec.response_format = sample_format(arena, "provider", "R");
}

#define TO_MODEL "A.before_model"
#define TO_EXIT "B.after_agent"

static const struct {
	enum agent_kind kind;
	bool structured;
	const char *messages, *next;
} exits[] = {
	/* nothing to run */
	{ PLAIN, false, HUMAN "," ANSWER, TO_EXIT },
	{ TOOLS, false, HUMAN "," ANSWER, TO_EXIT },
	{ TOOLS, false, HUMAN, TO_EXIT },
	{ PLAIN, false, "", TO_EXIT },
	{ SCHEMA_ONLY, false, HUMAN "," ANSWER, TO_EXIT },
	/* calls to run */
	{ TOOLS, false, PENDING, "tools" },
	{ TOOLS, false, PENDING "," HUMAN, "tools" },
	{ TOOLS, false, HUMAN "," CALLING(CALL("c1", "nobody")), "tools" },
	{ TOOLS, false,
	    HUMAN
	    "," CALLING(CALL("c1", "add") "," CALL("c2", "add")) "," TOOL("c1", "add"),
	    "tools" },
	{ TOOLS, true, PENDING, "tools" },
	/* an earlier call of the same id is no answer to this one */
	{ TOOLS, false, TOOL("c1", "add") "," CALLING(CALL("c1", "add")), "tools" },
	/* a call nobody runs stays open */
	{ SCHEMA_ONLY, false, PENDING, TO_EXIT },
	{ PLAIN, false, PENDING, TO_EXIT },
	/* every call answered */
	{ TOOLS, false, PENDING "," TOOL("c1", "add"), TO_MODEL },
	{ TOOLS, false, PENDING "," FAILED("c1", "add"), TO_MODEL },
	{ SCHEMA_ONLY, false, PENDING "," TOOL("c1", "add"), TO_MODEL },
	/* malformed calls */
	{ TOOLS, false, HUMAN "," MALFORMED("", "c1") "," FAILED("c1", "add"), TO_MODEL },
	{ TOOLS, false, HUMAN "," MALFORMED("", "c1"), TO_MODEL },
	{ PLAIN, false, HUMAN "," MALFORMED("", "c1") "," FAILED("c1", "add"), TO_MODEL },
	{ TOOLS, false,
	    HUMAN "," MALFORMED(
		", 'tool_calls': [" CALL("c2", "add") "]", "c1") "," FAILED("c1", "add"),
	    "tools" },
	/* output tools beside tools */
	{ OUTPUT_TOOLS, true, HUMAN "," CALLING(CALL("c1", "R")) "," TOOL("c1", "R"),
	    TO_EXIT },
	{ OUTPUT_TOOLS, false, HUMAN "," CALLING(CALL("c1", "R")) "," FAILED("c1", "R"),
	    TO_MODEL },
	{ OUTPUT_TOOLS, false, HUMAN "," CALLING(CALL("c1", "R")), TO_MODEL },
	{ OUTPUT_TOOLS, true,
	    HUMAN "," CALLING(CALL("c1", "R") "," CALL("c2", "add")) "," TOOL("c1", "R"),
	    "tools" },
	{ OUTPUT_TOOLS, true,
	    HUMAN "," CALLING(CALL("c1", "R") "," CALL("c2", "R")) "," FAILED(
		"c1", "R") "," FAILED("c2", "R"),
	    TO_MODEL },
	{ OUTPUT_TOOLS, false, HUMAN "," ANSWER, TO_EXIT },
	/* output tools alone: the model is asked until it calls one */
	{ OUTPUT, true, HUMAN "," CALLING(CALL("c1", "R")) "," TOOL("c1", "R"), TO_EXIT },
	{ OUTPUT, false, HUMAN "," CALLING(CALL("c1", "R")) "," FAILED("c1", "R"),
	    TO_MODEL },
	{ OUTPUT, false, HUMAN "," ANSWER, TO_MODEL },
	{ OUTPUT, true, HUMAN "," ANSWER, TO_EXIT },
	/* the provider's own structured output */
	{ PROVIDER, true, HUMAN "," ANSWER, TO_EXIT },
	{ PROVIDER, false, PENDING, "tools" },
	{ PROVIDER, false, HUMAN "," CALLING(CALL("c1", "R")), "tools" },
};

START_TEST(the_loop_is_left_or_goes_on)
{
	struct step_outcome outcome = {
		.messages = messages(exits[_i].messages),
		.has_structured_response = exits[_i].structured,
	};

	equip(exits[_i].kind);
	ck_assert_msg(strcmp(next("A.after_model", &outcome), exits[_i].next) == 0,
	    "%s: %s, not %s", exits[_i].messages, next("A.after_model", &outcome),
	    exits[_i].next);
	/* Where there is no after_model hook the model itself is the loop's exit. */
	((struct middleware_use *)agent->uses[0])->hooks[HOOK_AFTER_MODEL] = false;
	((struct middleware_use *)agent->uses[1])->hooks[HOOK_AFTER_MODEL] = false;
	ck_assert_str_eq(next("model", &outcome), exits[_i].next);
}
END_TEST

static const struct {
	enum agent_kind kind;
	bool structured, direct;
	const char *messages, *next;
} rounds[] = {
	{ TOOLS, false, false, PENDING "," TOOL("c1", "add"), TO_MODEL },
	{ TOOLS, false, true, PENDING "," TOOL("c1", "add"), TO_EXIT },
	{ TOOLS, false, false, HUMAN, TO_MODEL },
	{ OUTPUT_TOOLS, true, false,
	    CALLING(CALL("c1", "R") "," CALL("c2", "add")) "," TOOL("c1", "R") "," TOOL(
		"c2", "add"),
	    TO_EXIT },
	{ OUTPUT_TOOLS, true, false,
	    CALLING(CALL("c1", "R") "," CALL("c2", "add")) "," TOOL("c1", "R"),
	    TO_MODEL },
	/* The output tool's name alone does not end a run (langchain#40422). */
	{ OUTPUT_TOOLS, false, false,
	    CALLING(CALL("c1", "R") "," CALL("c2", "add")) "," FAILED("c1", "R") "," TOOL(
		"c2", "add"),
	    TO_MODEL },
	/* A response of an earlier round neither. */
	{ OUTPUT_TOOLS, true, false, PENDING "," TOOL("c1", "add"), TO_MODEL },
	{ OUTPUT_TOOLS, true, false,
	    CALLING(CALL("c1", "R") "," CALL("c2", "add")) "," FAILED("c1", "R") "," TOOL(
		"c2", "add"),
	    TO_MODEL },
};

START_TEST(the_tools_lead_back_or_out)
{
	struct step_outcome outcome = {
		.messages = messages(rounds[_i].messages),
		.has_structured_response = rounds[_i].structured,
		.all_direct = rounds[_i].direct,
	};

	equip(rounds[_i].kind);
	ck_assert_str_eq(next("tools", &outcome), rounds[_i].next);
}
END_TEST

START_TEST(tool_calls_are_the_pending_ones_but_output_tools)
{
	const struct value *calls;

	equip(OUTPUT_TOOLS);
	calls = graph_tool_calls(arena, &agent->spec,
	    messages(HUMAN "," CALLING(CALL("c1", "add") "," CALL("c2", "R") "," CALL(
		"c3", "add") "," CALL("c4", "nobody")) "," TOOL("c1", "add")));
	ck_assert_uint_eq(calls->size, 2);
	ck_assert_str_eq(value_get_text(calls->items[0], "id"), "c3");
	ck_assert_str_eq(value_get_text(calls->items[1], "id"), "c4");
	ck_assert_uint_eq(
	    value_size(graph_tool_calls(arena, &agent->spec, messages(HUMAN))), 0);
}
END_TEST

/* --- jumps -------------------------------------------------------------------------- */

static const struct {
	const char *from, *jump, *messages, *next;
} jumps[] = {
	{ "B.before_agent", "model", HUMAN, "A.before_model" },
	{ "B.before_agent", "end", HUMAN, "C.after_agent" },
	{ "B.before_agent", "tools", PENDING, "tools" },
	{ "A.before_agent", "tools", HUMAN, "A.before_model" },
	{ "B.before_model", "model", HUMAN, "A.before_model" },
	{ "A.before_model", "model", HUMAN, "A.before_model" },
	{ "B.before_model", "end", HUMAN, "C.after_agent" },
	{ "B.before_model", "__end__", HUMAN, "C.after_agent" },
	{ "B.before_model", "tools", PENDING, "tools" },
	{ "B.before_model", "tools", PENDING "," TOOL("c1", "add"), "A.before_model" },
	{ "C.after_model", "model", PENDING, "A.before_model" },
	{ "C.after_model", "end", PENDING, "C.after_agent" },
	{ "B.after_model", "tools", PENDING, "tools" },
	{ "A.after_model", "model", HUMAN "," ANSWER, "A.before_model" },
	{ "A.after_model", "end", PENDING, "C.after_agent" },
	{ "A.after_model", "tools", PENDING, "tools" },
	{ "A.after_model", "tools", HUMAN "," ANSWER, "A.before_model" },
	{ "C.after_agent", "model", HUMAN "," ANSWER, "A.before_model" },
	{ "C.after_agent", "end", HUMAN "," ANSWER, "B.after_agent" },
	{ "A.after_agent", "end", HUMAN "," ANSWER, "__end__" },
	{ "B.after_agent", "tools", PENDING, "tools" },
	/* no jump: on to the neighbour */
	{ "A.before_agent", NULL, HUMAN, "B.before_agent" },
	{ "C.before_agent", NULL, HUMAN, "A.before_model" },
	{ "C.before_model", NULL, HUMAN, "model" },
	{ "model", NULL, PENDING, "C.after_model" },
	{ "C.after_model", NULL, PENDING, "B.after_model" },
	{ "C.after_agent", NULL, HUMAN, "B.after_agent" },
	{ "A.after_agent", NULL, HUMAN, "__end__" },
};

static void
equip_jumpers(unsigned declared)
{
	static const char *const names[] = { "A", "B", "C" };
	size_t i;
	int hook;

	agent->spec.tools = literal(arena, "['add']");
	for (i = 0; i < 3; i++) {
		struct middleware_use *use = sample_use(agent, names[i], ON_ALL_NODES);

		for (hook = 0; hook < HOOK_COUNT; hook++)
			use->jumps[hook] = declared;
	}
}

START_TEST(a_declared_jump_is_taken)
{
	struct step_outcome outcome = {
		.messages = messages(jumps[_i].messages),
		.jump = jumps[_i].jump,
	};

	equip_jumpers(JUMP_MODEL | JUMP_TOOLS | JUMP_END);
	ck_assert_str_eq(next(jumps[_i].from, &outcome), jumps[_i].next);
}
END_TEST

START_TEST(a_jump_can_be_checked_before_the_step_is_applied)
{
	const struct graph *graph;
	const char *error = NULL;
	size_t node;

	equip_jumpers(JUMP_MODEL);
	graph = compile();
	node = (size_t)graph_find(graph, "B.before_agent");
	ck_assert_int_eq(graph_check_jump(arena, graph, node, NULL, &error), 0);
	ck_assert_int_eq(graph_check_jump(arena, graph, node, "model", &error), 0);
	ck_assert_ptr_null(error);
	ck_assert_int_eq(graph_check_jump(arena, graph, node, "end", &error), -1);
	ck_assert_ptr_nonnull(strstr(error, "B.before_agent"));
}
END_TEST

START_TEST(another_jump_is_an_error_that_names_hook_and_target)
{
	struct step_outcome outcome = { .messages = messages(HUMAN), .jump = "end" };
	const char *error;

	equip_jumpers(JUMP_MODEL | JUMP_TOOLS);
	error = next("B.before_agent", &outcome);
	ck_assert_ptr_nonnull(strstr(error, "B.before_agent"));
	ck_assert_ptr_nonnull(strstr(error, "\"end\""));
	ck_assert_ptr_nonnull(strstr(error, "model, tools"));
	/* The loop's exit is no exception, as it is in Python. */
	ck_assert_ptr_nonnull(strstr(next("A.after_model", &outcome), "A.after_model"));
	ck_assert_ptr_nonnull(strstr(next("model", &outcome), "none"));
	outcome.jump = "finish";
	error = next("B.before_agent", &outcome);
	ck_assert_ptr_nonnull(strstr(error, "B.before_agent"));
	ck_assert_ptr_nonnull(strstr(error, "\"finish\""));
	ck_assert_ptr_nonnull(strstr(error, "model, tools or end"));
}
END_TEST

/* --- whole runs --------------------------------------------------------------------- */

/* The nodes of a run in which the model calls a tool once: "A.before_agent model ...". */
static const char *
walk(const struct graph *graph)
{
	struct step_outcome outcome = { .messages = messages(HUMAN) };
	const char *trace = "", *error = NULL;
	long node = (long)graph->entry;
	int models = 0, steps = 0;

	while (node != (long)graph->end) {
		const struct node *at = &graph->nodes[node];

		ck_assert_int_lt(steps++, 100);
		trace = arena_printf(
		    arena, "%s%s%s", trace, trace[0] == '\0' ? "" : " ", at->name);
		if (at->kind == NODE_MODEL)
			outcome.messages =
			    messages(models++ == 0 ? PENDING : HUMAN "," ANSWER);
		if (at->kind == NODE_TOOLS)
			outcome.messages = messages(PENDING "," TOOL("c1", "add"));
		node = graph_next(
		    arena, graph, &agent->spec, (size_t)node, &outcome, &error);
		ck_assert_msg(node != -1, "%s", error);
	}
	return trace;
}

static const char *
hooks(const char *names, const char *hook)
{
	const char *text = "";

	for (; *names != '\0'; names++)
		text = arena_printf(arena, "%s%c.%s ", text, *names, hook);
	return text;
}

static void
use_all(const char *names)
{
	for (; *names != '\0'; names++)
		sample_use(agent, arena_copy(arena, names, 1), ON_ALL_NODES);
	agent->spec.tools = literal(arena, "['add']");
}

START_TEST(hooks_run_in_order_before_and_in_reverse_after)
{
	static const char *const forth[] = { "A", "AB", "ABC", "ABCD" };
	static const char *const back[] = { "A", "BA", "CBA", "DCBA" };
	const char *loop, *last, *expected;

	use_all(forth[_i]);
	loop = arena_printf(arena, "%smodel %s", hooks(forth[_i], "before_model"),
	    hooks(back[_i], "after_model"));
	last = hooks(back[_i], "after_agent");
	expected = arena_printf(
	    arena, "%s%stools %s%s", hooks(forth[_i], "before_agent"), loop, loop, last);
	ck_assert_str_eq(arena_printf(arena, "%s ", walk(compile())), expected);
}
END_TEST

START_TEST(each_chain_has_those_that_have_the_hook)
{
	sample_use(agent, "A", ON(BEFORE_MODEL) | ON(AFTER_AGENT));
	sample_use(agent, "B", ON(BEFORE_AGENT) | ON(WRAP_TOOL_CALL));
	sample_use(agent, "C", ON(AFTER_MODEL) | ON(WRAP_MODEL_CALL));
	sample_use(agent, "D", ON(BEFORE_AGENT) | ON(AFTER_MODEL) | ON(AFTER_AGENT));
	agent->spec.tools = literal(arena, "['add']");
	ck_assert_str_eq(walk(compile()),
	    "B.before_agent D.before_agent A.before_model model D.after_model "
	    "C.after_model tools A.before_model model D.after_model C.after_model "
	    "D.after_agent A.after_agent");
}
END_TEST

/* --- an agent that has changed -------------------------------------------------------- */

/* What "ABCD" with all hooks has become, and where what stood at a node of it goes on. */
static const struct {
	const char *now, *at, *messages, *next;
} mended[] = {
	{ "ACD", "B.before_agent", HUMAN, "C.before_agent" },
	{ "AB", "C.before_agent", HUMAN, "A.before_model" },
	{ "", "A.before_agent", HUMAN, "model" },
	{ "AD", "B.before_model", HUMAN, "D.before_model" },
	{ "ABC", "D.before_model", HUMAN, "model" },
	{ "ABD", "C.after_model", PENDING, "B.after_model" },
	{ "BCD", "A.after_model", PENDING, "tools" },
	{ "BCD", "A.after_model", HUMAN "," ANSWER, "D.after_agent" },
	{ "", "C.after_model", HUMAN "," ANSWER, "__end__" },
	{ "ACD", "B.after_agent", HUMAN "," ANSWER, "A.after_agent" },
	{ "BCD", "A.after_agent", HUMAN "," ANSWER, "__end__" },
	/* another in its place */
	{ "AXCD", "B.before_model", HUMAN, "X.before_model" },
	{ "XBCD", "A.after_model", PENDING, "X.after_model" },
	{ "XBCD", "A.before_agent", HUMAN, "X.before_agent" },
	{ "AXY", "D.before_model", HUMAN, "X.before_model" },
	/* no hook */
	{ "ABCD", "tools", PENDING, NULL },
	{ "ABCD", "__end__", HUMAN, NULL },
	{ "ABCD", "E.wrap_tool_call", HUMAN, NULL },
};

static void
check_instead(const struct graph *old, unsigned i, const char *expected)
{
	const struct step_outcome outcome = { .messages = messages(mended[i].messages) };
	const struct graph *graph;
	long at;

	agent = sample_agent(arena);
	use_all(mended[i].now);
	graph = compile();
	at = graph_instead(arena, graph, &agent->spec, old, mended[i].at, &outcome);
	ck_assert_int_eq(at == -1, expected == NULL);
	if (expected != NULL)
		ck_assert_str_eq(graph->nodes[at].name, expected);
}

START_TEST(what_has_gone_is_passed_over)
{
	use_all("ABCD");
	check_instead(compile(), (unsigned)_i, mended[_i].next);
}
END_TEST

/* No hook is left out then. */
START_TEST(of_what_nobody_knows_all_hooks_run)
{
	check_instead(NULL, 0, "A.before_agent");
	check_instead(NULL, 4, "A.before_model");
	check_instead(NULL, 5, "D.after_model");
	check_instead(NULL, 2, "model");
}
END_TEST

TCase *tcase_graph_route(void);
TCase *
tcase_graph_route(void)
{
	TCase *tcase = tcase_create("graph_route");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, the_loop_is_left_or_goes_on, 0, sizeof exits / sizeof exits[0]);
	tcase_add_loop_test(
	    tcase, the_tools_lead_back_or_out, 0, sizeof rounds / sizeof rounds[0]);
	tcase_add_test(tcase, tool_calls_are_the_pending_ones_but_output_tools);
	tcase_add_loop_test(
	    tcase, a_declared_jump_is_taken, 0, sizeof jumps / sizeof jumps[0]);
	tcase_add_test(tcase, a_jump_can_be_checked_before_the_step_is_applied);
	tcase_add_test(tcase, another_jump_is_an_error_that_names_hook_and_target);
	tcase_add_loop_test(tcase, hooks_run_in_order_before_and_in_reverse_after, 0, 4);
	tcase_add_test(tcase, each_chain_has_those_that_have_the_hook);
	tcase_add_loop_test(
	    tcase, what_has_gone_is_passed_over, 0, sizeof mended / sizeof mended[0]);
	tcase_add_test(tcase, of_what_nobody_knows_all_hooks_run);
	return tcase;
}
