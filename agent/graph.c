/* Nodes and static edges. In the array the nodes stand in the order in which they run,
 * so that each chain is a row of neighbours. */
#include "graph.h"

#include <string.h>

#include "loader.h"
#include "options.h"

/* The graph under construction. */
struct compiler {
	struct arena *arena;
	const struct spec *spec;
	struct node *nodes;
	size_t count;
	const char *path, *error;
};

static bool
fail(struct compiler *compiler, const char *path, const char *error)
{
	compiler->path = path;
	compiler->error = error;
	return false;
}

/* --- nodes -------------------------------------------------------------------------- */

static size_t
add_node(struct compiler *compiler, const char *name, enum node_kind kind)
{
	compiler->nodes[compiler->count] = (struct node){ .name = name, .kind = kind };
	return compiler->count++;
}

static void
add_hook(struct compiler *compiler, const struct middleware_use *use, enum hook hook)
{
	struct node *node;

	if (!use->hooks[hook])
		return;
	node = &compiler->nodes[add_node(compiler,
	    arena_printf(compiler->arena, "%s.%s", use->name, hook_name(hook)),
	    NODE_HOOK)];
	node->hook = hook;
	node->use = use;
	node->jumps = use->jumps[hook];
}

/* Adds hook of all uses: in list order, those that run behind something in reverse. */
static void
add_hooks(struct compiler *compiler, enum hook hook)
{
	bool reverse = hook == HOOK_AFTER_MODEL || hook == HOOK_AFTER_AGENT;
	size_t count = compiler->spec->use_count, i;

	for (i = 0; i < count; i++)
		add_hook(
		    compiler, compiler->spec->uses[reverse ? count - 1 - i : i], hook);
}

/* Middleware tools, tools that workers serve, or a wrap that may answer any call. */
static bool
needs_tools_node(const struct spec *spec)
{
	size_t i;
	bool needs = spec->wraps_tools;

	for (i = 0; i < spec->use_count; i++)
		needs = needs || value_size(spec->uses[i]->tools) > 0;
	for (i = 0; i < spec->tools->size; i++)
		needs = needs || value_is(spec->tools->items[i], VALUE_STR);
	return needs;
}

static bool
has_direct(const struct value *tools)
{
	size_t i;

	for (i = 0; i < value_size(tools); i++) {
		if (value_get_bool(value_at(tools, i), "return_direct", false))
			return true;
	}
	return false;
}

static void
describe_tools(struct graph *graph, const struct spec *spec)
{
	size_t i;

	graph->has_tools = needs_tools_node(spec);
	graph->offers_tools = graph->has_tools || spec->tools->size > 0;
	graph->children = spec->children;
	graph->has_output_tools = spec_has_output_tools(spec);
	graph->has_direct_tools = has_direct(spec->tools);
	for (i = 0; i < spec->use_count; i++)
		graph->has_direct_tools |= has_direct(spec->uses[i]->tools);
}

/* --- edges -------------------------------------------------------------------------- */

/* Each node from first to the one before last leads to its neighbour, the last one to
 * next. */
static void
link_chain(struct node *nodes, size_t first, size_t end, size_t next)
{
	size_t i;

	for (i = first; i < end; i++)
		nodes[i].next = i + 1 < end ? i + 1 : next;
}

static void
build(struct compiler *compiler, struct graph *graph)
{
	struct node *nodes = compiler->nodes;
	size_t before_model, after_model, after_agent;

	add_hooks(compiler, HOOK_BEFORE_AGENT);
	before_model = compiler->count;
	add_hooks(compiler, HOOK_BEFORE_MODEL);
	graph->model = add_node(compiler, "model", NODE_MODEL);
	after_model = compiler->count;
	add_hooks(compiler, HOOK_AFTER_MODEL);
	graph->loop_exit = compiler->count - 1;
	if (graph->has_tools)
		graph->tools = add_node(compiler, "tools", NODE_TOOLS);
	after_agent = compiler->count;
	add_hooks(compiler, HOOK_AFTER_AGENT);
	graph->end = add_node(compiler, GRAPH_END, NODE_END);
	if (!graph->has_tools)
		graph->tools = graph->end;
	graph->loop_entry = before_model;
	graph->exit = after_agent;
	graph->nodes = nodes;
	graph->count = compiler->count;
	link_chain(nodes, 0, before_model, graph->loop_entry);
	link_chain(nodes, before_model, after_model - 1, graph->model);
	link_chain(nodes, graph->model, graph->loop_exit + 1, graph->exit);
	if (graph->has_tools)
		nodes[graph->tools].next = graph->loop_entry;
	link_chain(nodes, after_agent, graph->end, graph->end);
	nodes[graph->end].next = graph->end;
}

/* --- checks ------------------------------------------------------------------------- */

static const char *
path_of_use(struct compiler *compiler, const struct middleware_use *use)
{
	size_t i = 0;

	while (compiler->spec->uses[i] != use)
		i++;
	return loader_item(compiler->arena, "/middleware", i);
}

static bool
jumps_lead_somewhere(struct compiler *compiler, const struct graph *graph)
{
	size_t i;

	for (i = 0; i < graph->count; i++) {
		const struct node *node = &graph->nodes[i];

		if ((node->jumps & JUMP_TOOLS) != 0 && !graph->has_tools)
			return fail(compiler, path_of_use(compiler, node->use),
			    arena_printf(compiler->arena,
				"%s may jump to \"tools\", but this agent has no tools",
				node->name));
	}
	return true;
}

static const char *
node_hint(struct compiler *compiler, const struct graph *graph, const char *given)
{
	const char **names = arena_alloc(compiler->arena, graph->count * sizeof *names);
	size_t i;

	/* END is the last and no place to pause at. */
	for (i = 0; i + 1 < graph->count; i++)
		names[i] = graph->nodes[i].name;
	return loader_hint(compiler->arena, given, names);
}

static bool
interrupts_are_at_nodes(struct compiler *compiler, const struct graph *graph,
    const char *path, const struct value *names)
{
	size_t i;

	for (i = 0; i < names->size; i++) {
		const char *name = names->items[i]->text;
		long node = graph_find(graph, name);

		if (strcmp(name, "*") == 0 || (node != -1 && (size_t)node != graph->end))
			continue;
		return fail(compiler, loader_item(compiler->arena, path, i),
		    arena_printf(compiler->arena,
			"this agent has no node \"%s\" to pause at%s", name,
			node_hint(compiler, graph, name)));
	}
	return true;
}

struct graph *
graph_compile(struct arena *arena, const struct spec *spec, const char **path_r,
    const char **error_r)
{
	struct compiler compiler = { .arena = arena, .spec = spec };
	struct graph *graph = arena_alloc(arena, sizeof *graph);
	size_t node_hooks = HOOK_AFTER_AGENT + 1;

	compiler.nodes =
	    arena_alloc(arena, (spec->use_count * node_hooks + 3) * sizeof(struct node));
	describe_tools(graph, spec);
	build(&compiler, graph);
	if (jumps_lead_somewhere(&compiler, graph) &&
	    interrupts_are_at_nodes(
		&compiler, graph, "/interrupt_before", spec->interrupt_before) &&
	    interrupts_are_at_nodes(
		&compiler, graph, "/interrupt_after", spec->interrupt_after))
		return graph;
	*path_r = compiler.path;
	*error_r = compiler.error;
	return NULL;
}

long
graph_find(const struct graph *graph, const char *name)
{
	size_t i;

	for (i = 0; i < graph->count; i++) {
		if (strcmp(graph->nodes[i].name, name) == 0)
			return (long)i;
	}
	return -1;
}

/* --- where a thread stands ---------------------------------------------------------------- */

bool
graph_stands(const struct value *head)
{
	const char *next = value_get_text(head, "next");

	return next != NULL && strcmp(next, GRAPH_END) != 0;
}

bool
graph_has_failed(const struct value *head)
{
	const struct value *status = value_get(head, "status");

	return graph_stands(head) &&
	       (value_text_is(status, "error") || value_text_is(status, "cancelled"));
}
