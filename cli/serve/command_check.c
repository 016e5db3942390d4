#include "command_check.h"

#include <string.h>

#include "blueprint.h"
#include "nearest.h"
#include "utf8.h"

#define SHOWN_BYTES 64u

static const char *
hint(struct call *call, const char *name, const char **names, size_t count)
{
	const char *near = nearest_name(name, names, count);

	return near == NULL ? ""
			    : arena_printf(call->arena, "; did you mean '%s'?", near);
}

static bool
has_node(struct call *call, const struct blueprint *read, const char *node)
{
	const struct graph *graph = read->graph;
	const char **names = arena_alloc(call->arena, graph->count * sizeof *names);
	long at = graph_find(graph, node);
	size_t i, count = 0;

	if (at != -1 && (size_t)at != graph->end)
		return true;
	for (i = 0; i < graph->count; i++)
		if (i != graph->end)
			names[count++] = graph->nodes[i].name;
	reply_error(call, 422, "command.goto: agent '%s' has no node '%s'%s", read->name,
	    utf8_shown(call->arena, node, SHOWN_BYTES), hint(call, node, names, count));
	return false;
}

/* What an agent keeps for itself is not a tenant's to write (thread_update.c). */
static bool
may_write(struct call *call, const struct blueprint *read, const char *field)
{
	const struct spec *spec = read->spec;
	const char **names =
	    arena_alloc(call->arena, (spec->field_count + 1) * sizeof *names);
	size_t i;

	if (strcmp(field, "messages") == 0 || strcmp(field, "structured_response") == 0)
		return true;
	for (i = 0; i < spec->field_count; i++) {
		names[i] = spec->fields[i].name;
		if (strcmp(names[i], field) != 0)
			continue;
		if (call->tenant != NULL && spec->fields[i].omit_from_input)
			reply_error(
			    call, 403, "command.update: '%s' is the agent's own", field);
		return !exchange_is_answered(call->exchange);
	}
	names[i] = "messages";
	reply_error(call, 422, "command.update: agent '%s' has no state field '%s'%s",
	    read->name, utf8_shown(call->arena, field, SHOWN_BYTES),
	    hint(call, field, names, i + 1));
	return false;
}

bool
command_check(struct call *call, const char *agent, const struct value *command)
{
	const struct value *update = value_get(command, "update");
	const char *node = value_get_text(command, "goto");
	struct blueprint read;
	size_t i;

	if (command == NULL)
		return true;
	if (!blueprint_open(call, agent, &read))
		return false;
	if (read.spec == NULL || read.graph == NULL)
		return true;
	if (node != NULL && !has_node(call, &read, node))
		return false;
	for (i = 0; i < value_size(update); i++)
		if (!may_write(call, &read, value_text(update->pairs[i].key)))
			return false;
	return true;
}
