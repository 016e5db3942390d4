/* graph: nodes and routes of an agent, compiled from its spec (semantics.md, section 1
 * with the decisions of section 13). One node per (middleware, node hook), `model`,
 * `tools`, END.
 *
 * Pure: no state of a run is kept here, routing is a function of what the step left. */
#ifndef GRAPH_H
#define GRAPH_H

#include "spec.h"

/* Where an input comes in, in front of the first node; no node itself. */
#define GRAPH_START "__start__"
/* The last node, at which nothing runs. */
#define GRAPH_END "__end__"

enum node_kind { NODE_HOOK, NODE_MODEL, NODE_TOOLS, NODE_END };

struct node {
	const char *name; /* "todo_list.after_model", "model", "tools", "__end__" */
	enum node_kind kind;
	enum hook hook;                   /* of NODE_HOOK */
	const struct middleware_use *use; /* of NODE_HOOK */
	unsigned jumps;                   /* declared, enum jump bits */
	size_t next; /* the static edge; of model, tools and the loop's
			exit it is decided by graph_next */
};

struct graph {
	const struct node *nodes;
	size_t count;
	size_t entry, loop_entry, loop_exit, exit; /* anchors of semantics.md 1.3 */
	size_t model, tools, end; /* tools == end when there is no tools node */
	bool has_tools;
	/* For the picture: what the model is offered, and whether a tool known to the
	 * spec ends the run by itself (tools of workers say so only when they are there).
	 */
	bool offers_tools, has_output_tools, has_direct_tools;
	const struct value *children; /* as the spec's */
};

/* Returns the graph in arena, or NULL with path and reason (a jump to tools without a
 * tools node, an interrupt at a node that does not exist, with the nearest name). */
struct graph *graph_compile(struct arena *arena, const struct spec *spec,
    const char **path_r, const char **error_r);

/* What a finished step left, for its outgoing edge. */
struct step_outcome {
	const struct value *messages; /* after the step */
	bool has_structured_response;
	bool all_direct;  /* tools: every executed call was return_direct and
			     succeeded (semantics.md 13.9) */
	const char *jump; /* jump_to of the update, or NULL */
};

/* Whether the node at index may jump to the target `name` (NULL: it does not jump): 0, or -1 with a reason in arena
 * that names hook and target. To be asked before the step is applied, which cannot be taken
 * back. */
int graph_check_jump(struct arena *arena, const struct graph *graph, size_t index,
    const char *name, const char **error_r);

/* Returns the index of the node to run after `node`. -1 with a reason in arena when
 * graph_check_jump refuses the jump. */
long graph_next(struct arena *arena, const struct graph *graph, const struct spec *spec,
    size_t node, const struct step_outcome *outcome, const char **error_r);

/* Where a run goes on in graph that stood at the node `name` of old, which graph has not: at the hook of that kind behind the last one
 * that had run, or what such hooks lead to, by outcome. An agent is mended so: by leaving out the middleware that has failed, or by another
 * in its place. old NULL: nobody knows what had run, so at the first of them. Returns the node's index, or -1: it is no hook's. */
long graph_instead(struct arena *arena, const struct graph *graph,
    const struct spec *spec, const struct graph *old, const char *name,
    const struct step_outcome *outcome);

/* The calls a tools node must run: pending calls of the last AI message but those of
 * structured-output tools. */
const struct value *graph_tool_calls(
    struct arena *arena, const struct spec *spec, const struct value *messages);

/* Returns the node's index by name, or -1. */
long graph_find(const struct graph *graph, const char *name);

/* Where a thread stands that has that head (docs/redis.md; NULL: none): whether a node is next; and whether the run that has
 * left it there had failed, or was cancelled. */
bool graph_stands(const struct value *head);
bool graph_has_failed(const struct value *head);

/* The graph as Mermaid text (solid: always, dotted: conditional, dotted without an arrow: an agent that the tools
 * may have work), and as a value {nodes: [...], edges: [{from, to, conditional}], agents?: [{middleware, name}]}. */
const char *graph_mermaid(struct arena *arena, const struct graph *graph);
const struct value *graph_value(struct arena *arena, const struct graph *graph);

#endif
