/* Which node comes next (semantics.md 1.5, 1.6 and 13). Pure. */
#include <assert.h>
#include <string.h>

#include "chat.h"
#include "graph.h"

struct route {
	struct arena *arena;
	const struct graph *graph;
	const struct spec *spec;
	const struct step_outcome *outcome;
};

/* --- what the messages say ---------------------------------------------------------- */

const struct value *
graph_tool_calls(
    struct arena *arena, const struct spec *spec, const struct value *messages)
{
	const struct value *pending = chat_pending_calls(arena, messages);
	struct value_list calls = { .arena = arena };
	size_t i;

	for (i = 0; i < pending->size; i++) {
		const struct value *call = pending->items[i];

		if (!spec_is_output_tool(spec, value_get_text(call, "name")))
			value_list_add(&calls, call);
	}
	return calls.count == pending->size ? pending : value_list_end(&calls);
}

static bool
has_pending(const struct route *route)
{
	return value_size(graph_tool_calls(
		   route->arena, route->spec, route->outcome->messages)) > 0;
}

/* What became of the output tools' calls of the last AI message. */
enum output {
	OUTPUT_NOT_CALLED,
	OUTPUT_REFUSED, /* only error messages answer them */
	OUTPUT_TAKEN,
};

static bool
is_output_call(const struct spec *spec, const struct value *ai, const char *id)
{
	const struct value *calls = value_get(ai, "tool_calls");
	size_t i;

	for (i = 0; i < value_size(calls); i++) {
		const struct value *call = value_at(calls, i);

		if (value_text_is(value_get(call, "id"), id) &&
		    spec_is_output_tool(spec, value_get_text(call, "name")))
			return true;
	}
	return false;
}

static enum output
output_of(const struct route *route)
{
	const struct value *messages = route->outcome->messages;
	enum output output = OUTPUT_NOT_CALLED;
	long last = chat_last_ai(messages);
	size_t i;

	for (i = (size_t)(last + 1); last >= 0 && i < value_size(messages); i++) {
		const struct value *message = value_at(messages, i);
		const char *id = value_get_text(message, "tool_call_id");

		if (!chat_is(message, "tool") || id == NULL ||
		    !is_output_call(route->spec, value_at(messages, (size_t)last), id))
			continue;
		if (!value_text_is(value_get(message, "status"), "error"))
			return OUTPUT_TAKEN;
		output = OUTPUT_REFUSED;
	}
	return output;
}

/* --- jumps -------------------------------------------------------------------------- */

/* "model, tools" */
static const char *
jumps_text(struct arena *arena, unsigned jumps)
{
	static const enum jump all[] = { JUMP_MODEL, JUMP_TOOLS, JUMP_END };
	const char *text = "";
	size_t i;

	for (i = 0; i < sizeof all / sizeof *all; i++) {
		if ((jumps & all[i]) != 0)
			text = arena_printf(arena, "%s%s%s", text,
			    text[0] == '\0' ? "" : ", ", jump_name(all[i]));
	}
	return text[0] == '\0' ? "none" : text;
}

int
graph_check_jump(struct arena *arena, const struct graph *graph, size_t index,
    const char *name, const char **error_r)
{
	const struct node *node = &graph->nodes[index];
	enum jump jump = name == NULL ? JUMP_NONE : jump_from_name(name);

	if (name == NULL || (node->jumps & (unsigned)jump) != 0)
		return 0;
	if (jump == JUMP_NONE)
		*error_r = arena_printf(arena,
		    "%s jumped to \"%s\": a jump goes to model, tools or end", node->name,
		    name);
	else
		*error_r = arena_printf(arena,
		    "%s jumped to \"%s\", but the jumps it declares are: %s", node->name,
		    name, jumps_text(arena, node->jumps));
	return -1;
}

static size_t
follow_jump(const struct route *route, const struct node *node)
{
	enum jump jump = jump_from_name(route->outcome->jump);
	const struct graph *graph = route->graph;

	if (jump == JUMP_MODEL)
		return graph->loop_entry;
	/* A tools node that has nothing to run gives its turn to the model. */
	if (jump == JUMP_TOOLS)
		return has_pending(route) ? graph->tools : graph->loop_entry;
	/* Behind the loop "end" can only mean to go on. */
	return node->hook == HOOK_AFTER_AGENT ? node->next : graph->exit;
}

/* --- the loop ----------------------------------------------------------------------- */

/* Without tools to run, an output tool is all the model can call: it is asked until it
 * does. */
static size_t
leave_output_loop(const struct route *route)
{
	bool done =
	    route->outcome->has_structured_response && output_of(route) != OUTPUT_REFUSED;

	return done ? route->graph->exit : route->graph->loop_entry;
}

/* From the loop's exit. Every call answered, by hooks or because it was malformed, is no
 * reason to end: the model must see the answers. */
static size_t
leave_loop(const struct route *route)
{
	const struct graph *graph = route->graph;
	const struct value *messages = route->outcome->messages, *ai;
	long last = chat_last_ai(messages);

	if (!graph->has_tools && graph->has_output_tools)
		return leave_output_loop(route);
	if (last == -1)
		return graph->exit;
	ai = value_at(messages, (size_t)last);
	if (value_size(value_get(ai, "tool_calls")) == 0 &&
	    value_size(value_get(ai, "invalid_tool_calls")) == 0)
		return graph->exit;
	if (has_pending(route))
		return graph->has_tools ? graph->tools : graph->exit;
	return leave_output_loop(route);
}

/* From the tools node. A structured response counts when this round's message gave it:
 * one of an earlier round does not end a loop that was entered again. */
static size_t
leave_tools(const struct route *route)
{
	const struct step_outcome *outcome = route->outcome;

	if (outcome->all_direct)
		return route->graph->exit;
	if (outcome->has_structured_response && output_of(route) == OUTPUT_TAKEN &&
	    !has_pending(route))
		return route->graph->exit;
	return route->graph->loop_entry;
}

long
graph_next(struct arena *arena, const struct graph *graph, const struct spec *spec,
    size_t node, const struct step_outcome *outcome, const char **error_r)
{
	struct route route = {
		.arena = arena,
		.graph = graph,
		.spec = spec,
		.outcome = outcome,
	};

	assert(node < graph->count && node != graph->end);
	if (graph_check_jump(arena, graph, node, outcome->jump, error_r) == -1)
		return -1;
	if (outcome->jump != NULL)
		return (long)follow_jump(&route, &graph->nodes[node]);
	if (node == graph->loop_exit)
		return (long)leave_loop(&route);
	if (graph->nodes[node].kind == NODE_TOOLS)
		return (long)leave_tools(&route);
	return (long)graph->nodes[node].next;
}

/* What the hooks of a kind lead to. */
static size_t
behind_hooks(const struct route *route, enum hook hook)
{
	switch (hook) {
	case HOOK_BEFORE_AGENT:
		return route->graph->loop_entry;
	case HOOK_BEFORE_MODEL:
		return route->graph->model;
	case HOOK_AFTER_MODEL:
		return leave_loop(route);
	default:
		return route->graph->end;
	}
}

/* The kind of hook whose node has that name, or -1. */
static int
hook_of(const char *name)
{
	const char *end = strrchr(name, '.');
	int hook;

	for (hook = 0; end != NULL && hook <= HOOK_AFTER_AGENT; hook++)
		if (strcmp(end + 1, hook_name((enum hook)hook)) == 0)
			return hook;
	return -1;
}

/* Whether the hook of that name had run before one stood at `at`, of its kind, in old. */
static bool
had_run(const struct graph *old, const char *name, long at)
{
	long found = old != NULL ? graph_find(old, name) : -1;

	return found != -1 && found < at;
}

long
graph_instead(struct arena *arena, const struct graph *graph, const struct spec *spec,
    const struct graph *old, const char *name, const struct step_outcome *outcome)
{
	struct route route = {
		.arena = arena,
		.graph = graph,
		.spec = spec,
		.outcome = outcome,
	};
	long at = old != NULL ? graph_find(old, name) : -1, next = -1;
	int hook = hook_of(name);
	size_t i;

	if (hook == -1)
		return -1;
	for (i = graph->count; i-- > 0;) {
		const struct node *node = &graph->nodes[i];

		if (node->kind != NODE_HOOK || (int)node->hook != hook)
			continue;
		if (had_run(old, node->name, at))
			break;
		next = (long)i;
	}
	return next != -1 ? next : (long)behind_hooks(&route, (enum hook)hook);
}
