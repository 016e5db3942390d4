/* The graph as Mermaid text, drawn as LangGraph draws its own, and as a value. */
#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "graph.h"

/* --- edges -------------------------------------------------------------------------- */

struct edge {
	const char *from, *to;
	bool conditional;
};

/* All edges, each once. */
struct edges {
	const struct graph *graph;
	struct edge *items;
	size_t count, room;
};

static void
add(struct edges *edges, const char *from, size_t to, bool conditional)
{
	const char *name = edges->graph->nodes[to].name;
	size_t i;

	for (i = 0; i < edges->count; i++) {
		if (strcmp(edges->items[i].from, from) == 0 &&
		    strcmp(edges->items[i].to, name) == 0)
			return;
	}
	assert(edges->count < edges->room);
	edges->items[edges->count++] = (struct edge){ from, name, conditional };
}

/* What graph_next may answer at the loop's exit. A model that calls a tool although it
 * was offered none is sent back too; that is left out of the picture. */
static void
add_loop_exit(struct edges *edges, const char *from)
{
	const struct graph *graph = edges->graph;

	if (graph->has_tools)
		add(edges, from, graph->tools, true);
	if (!graph->offers_tools && !graph->has_output_tools) {
		add(edges, from, graph->exit, graph->nodes[graph->loop_exit].jumps != 0);
		return;
	}
	add(edges, from, graph->exit, true);
	add(edges, from, graph->loop_entry, true);
}

static void
add_tools(struct edges *edges, const char *from)
{
	const struct graph *graph = edges->graph;

	add(edges, from, graph->loop_entry, true);
	if (graph->has_direct_tools || graph->has_output_tools)
		add(edges, from, graph->exit, true);
}

static void
add_jumps(struct edges *edges, const struct node *node)
{
	const struct graph *graph = edges->graph;

	if ((node->jumps & (JUMP_MODEL | JUMP_TOOLS)) != 0)
		add(edges, node->name, graph->loop_entry, true);
	if ((node->jumps & JUMP_TOOLS) != 0)
		add(edges, node->name, graph->tools, true);
	if ((node->jumps & JUMP_END) != 0 && node->hook != HOOK_AFTER_AGENT)
		add(edges, node->name, graph->exit, true);
}

static void
add_edges_of(struct edges *edges, size_t index)
{
	const struct graph *graph = edges->graph;
	const struct node *node = &graph->nodes[index];

	if (index == graph->loop_exit)
		add_loop_exit(edges, node->name);
	else if (node->kind == NODE_TOOLS)
		add_tools(edges, node->name);
	else
		add(edges, node->name, node->next, node->jumps != 0);
	add_jumps(edges, node);
}

static struct edges
edges_of(struct arena *arena, const struct graph *graph)
{
	/* At most four a node: its own and a jump to each target. */
	struct edges edges = { .graph = graph, .room = 4 * graph->count + 1 };
	size_t i;

	edges.items = arena_alloc(arena, edges.room * sizeof *edges.items);
	add(&edges, GRAPH_START, graph->entry, false);
	for (i = 0; i < graph->count; i++) {
		if (graph->nodes[i].kind != NODE_END)
			add_edges_of(&edges, i);
	}
	return edges;
}

/* --- Mermaid ------------------------------------------------------------------------ */

static void
put(struct packet *text, const char *piece)
{
	packet_append(text, piece, strlen(piece));
}

/* An identifier Mermaid takes: other bytes than letters, digits and _ as "\2e". */
static const char *
identifier(struct arena *arena, const char *name)
{
	static const char digits[] = "0123456789abcdef";
	char *text = arena_alloc(arena, 3 * strlen(name) + 1), *at = text;

	for (; *name != '\0'; name++) {
		unsigned char byte = (unsigned char)*name;

		if (isascii(byte) && (isalnum(byte) || byte == '_')) {
			*at++ = *name;
			continue;
		}
		*at++ = '\\';
		*at++ = digits[byte >> 4];
		*at++ = digits[byte & 15];
	}
	return text;
}

/* A label in quotes; Mermaid writes a quote in it as an entity. */
static const char *
label(struct arena *arena, const char *name)
{
	struct packet text = { 0 };
	const char *copy;

	for (; *name != '\0'; name++) {
		if (*name == '"')
			put(&text, "#quot;");
		else
			packet_append(&text, name, 1);
	}
	copy = arena_copy(arena, text.data, text.size);
	packet_release(&text);
	return copy;
}

static void
put_nodes(struct packet *text, struct arena *arena, const struct graph *graph)
{
	size_t i;

	put(text, "\t" GRAPH_START "([\"" GRAPH_START "\"]):::first\n");
	for (i = 0; i < graph->count; i++) {
		const char *name = graph->nodes[i].name;
		bool last = graph->nodes[i].kind == NODE_END;

		put(text, arena_printf(arena,
			      last ? "\t%s([\"%s\"]):::last\n" : "\t%s(\"%s\")\n",
			      identifier(arena, name), label(arena, name)));
	}
}

/* The agents that others of its tools have work: no part of the run's way, but of the picture. */
static void
put_children(struct packet *text, struct arena *arena, const struct graph *graph)
{
	size_t i, k;

	for (i = 0; i < value_size(graph->children); i++) {
		const struct value_pair *use = &graph->children->pairs[i];

		for (k = 0; k < value_size(use->value); k++) {
			const char *name = value_text(use->value->pairs[k].key);
			const char *id = identifier(arena,
			    arena_printf(arena, "%s.%s", value_text(use->key), name));

			put(text, arena_printf(arena, "\t%s[[\"%s\"]]\n\ttools -.- %s;\n",
				      id, label(arena, name), id));
		}
	}
}

const char *
graph_mermaid(struct arena *arena, const struct graph *graph)
{
	struct edges edges = edges_of(arena, graph);
	struct packet text = { 0 };
	const char *copy;
	size_t i;

	put(&text, "---\nconfig:\n  flowchart:\n    curve: linear\n---\ngraph TD;\n");
	put_nodes(&text, arena, graph);
	for (i = 0; i < edges.count; i++) {
		const struct edge *edge = &edges.items[i];

		put(&text,
		    arena_printf(arena, "\t%s %s %s;\n", identifier(arena, edge->from),
			edge->conditional ? "-.->" : "-->", identifier(arena, edge->to)));
	}
	put_children(&text, arena, graph);
	put(&text, "\tclassDef default fill:#eef2ff,line-height:1.2\n"
		   "\tclassDef first fill-opacity:0\n"
		   "\tclassDef last fill:#c7d2fe\n");
	copy = arena_copy(arena, text.data, text.size);
	packet_release(&text);
	return copy;
}

/* --- value -------------------------------------------------------------------------- */

/* NULL: there are none. */
static const struct value *
children_value(struct arena *arena, const struct graph *graph)
{
	struct value_list list = { .arena = arena };
	size_t i, k;

	for (i = 0; i < value_size(graph->children); i++) {
		const struct value_pair *use = &graph->children->pairs[i];

		for (k = 0; k < value_size(use->value); k++)
			value_list_add(
			    &list, value_map(arena, "middleware", use->key, "name",
				       use->value->pairs[k].key, NULL));
	}
	return list.count > 0 ? value_list_end(&list) : NULL;
}

const struct value *
graph_value(struct arena *arena, const struct graph *graph)
{
	struct edges edges = edges_of(arena, graph);
	struct value_list nodes = { .arena = arena }, list = { .arena = arena };
	size_t i;

	value_list_add(&nodes, value_str(arena, GRAPH_START));
	for (i = 0; i < graph->count; i++)
		value_list_add(&nodes, value_str(arena, graph->nodes[i].name));
	for (i = 0; i < edges.count; i++) {
		const struct edge *edge = &edges.items[i];

		value_list_add(
		    &list, value_map(arena, "from", value_str(arena, edge->from), "to",
			       value_str(arena, edge->to), "conditional",
			       value_bool(edge->conditional), NULL));
	}
	return value_map(arena, "nodes", value_list_end(&nodes), "edges",
	    value_list_end(&list), "agents", children_value(arena, graph), NULL);
}
