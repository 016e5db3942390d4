#include "command_check.h"

#include <string.h>

#include "nearest.h"
#include "update_check.h"
#include "utf8.h"

#define SHOWN_BYTES 64u

static bool
has_node(struct call *call, const struct blueprint *read, const char *node)
{
	const struct graph *graph = read->graph;
	const char **names = arena_alloc(call->arena, graph->count * sizeof *names);
	const char *near;
	long at = graph_find(graph, node);
	size_t i, count = 0;

	if (at != -1 && (size_t)at != graph->end)
		return true;
	for (i = 0; i < graph->count; i++)
		if (i != graph->end)
			names[count++] = graph->nodes[i].name;
	near = nearest_name(node, names, count);
	reply_error(call, 422, "command.goto: agent '%s' has no node '%s'%s", read->name,
	    utf8_shown(call->arena, node, SHOWN_BYTES),
	    near == NULL ? "" : arena_printf(call->arena, "; did you mean '%s'?", near));
	return false;
}

bool
command_check(struct call *call, const char *agent, const struct value *command)
{
	const struct value *update = value_get(command, "update");
	const char *node = value_get_text(command, "goto");
	struct blueprint read;

	if (command == NULL)
		return true;
	if (!blueprint_open(call, agent, &read))
		return false;
	if (!update_may_write(call, &read, update, "command.update"))
		return false;
	if (read.spec == NULL)
		return true;
	return (node == NULL || has_node(call, &read, node)) &&
	       update_fits(call, &read, update, "command.update");
}
