/* run_update: a run that writes to its thread as if a node had, and does nothing else. */
#include "run_round.h"

#include <string.h>

#include "field.h"
#include "nearest.h"
#include "utf8.h"

#define SHOWN_BYTES 64u

enum go
run_unknown_node(struct run *run, const char *name)
{
	const struct graph *graph = run->agent->graph;
	const char **names = arena_alloc(run->arena, (graph->count + 1) * sizeof *names);
	const char *near;
	size_t i, count = 0;

	for (i = 0; i < graph->count; i++)
		if (graph->nodes[i].kind != NODE_END)
			names[count++] = graph->nodes[i].name;
	near = nearest_name(name, names, count);
	return run_fail(run, "ValueError",
	    "agent '%s' has no node '%s'%s%s%s; `flotilla graph` draws those it has",
	    run->agent->spec->name, utf8_shown(run->arena, name, SHOWN_BYTES),
	    near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
	    near != NULL ? "'?" : "");
}

static bool
is_field(const struct spec *spec, const char *name)
{
	return spec_field(spec, name) != NULL || strcmp(name, "messages") == 0 ||
	       strcmp(name, "structured_response") == 0;
}

/* A step drops what is no field of the state; somebody who types it meant another. */
enum go
run_check_fields(struct run *run, const struct value *update)
{
	const struct spec *spec = run->agent->spec;
	const char **names =
	    arena_alloc(run->arena, (spec->field_count + 1) * sizeof *names);
	size_t i;

	names[0] = "messages";
	for (i = 0; i < spec->field_count; i++)
		names[i + 1] = spec->fields[i].name;
	for (i = 0; i < value_size(update); i++) {
		const char *name = value_text(update->pairs[i].key), *near;

		if (is_field(spec, name))
			continue;
		near = nearest_name(name, names, spec->field_count + 1);
		return run_fail(run, "ValueError",
		    "update: agent '%s' has no state field '%s'%s%s%s", spec->name,
		    utf8_shown(run->arena, name, SHOWN_BYTES),
		    near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
		    near != NULL ? "'?" : "");
	}
	return GO_ON;
}

static const struct value *
open_calls(struct run *run)
{
	return graph_tool_calls(run->arena, run->agent->spec, state_messages(run->state));
}

/* Whether the thread still waits as head does: at the same node, and if that asks about calls, about
 * the same ones. */
static bool
still_waits(const struct run *run, const struct value *head, bool same_calls)
{
	return value_text_is(value_get(head, "status"), "interrupted") &&
	       value_text_is(value_get(head, "next"), run_node(run)->name) &&
	       (same_calls || value_is_nil(value_get(head, "round")));
}

static const struct value *
make_rest(struct run *run, const struct value *head, bool same_calls)
{
	struct arena *arena = run->arena;
	bool waits = still_waits(run, head, same_calls);
	bool is_same = value_text_is(value_get(head, "agent"), run->agent->spec->name);
	bool stands = run_node(run)->kind != NODE_END; /* somebody may go on there */

	return value_map(arena, "run", value_str(arena, run->id), "status",
	    value_str(arena, waits ? "interrupted" : "success"), "step",
	    value_int(arena, (int64_t)run->step), "first_step",
	    value_int(arena, (int64_t)run->first_step), "agent",
	    value_str(arena, run->agent->spec->name), "version",
	    value_str(arena, run->agent->spec->version), "next",
	    value_str(arena, run_node(run)->name), "paused",
	    waits ? value_get(head, "paused") : NULL, "round",
	    waits ? value_get(head, "round") : NULL, "written",
	    waits ? run_round_written(run, arena, value_get(head, "round"), STATE_STORED)
		  : NULL,
	    "assistant", is_same ? value_get(head, "assistant") : NULL, "context",
	    stands && is_same ? value_get(head, "context") : NULL, NULL);
}

/* The node that is meant: for GRAPH_START, which is none, the first one. */
static long
find_node(const struct graph *graph, const char *as)
{
	if (as == NULL)
		return -1;
	return strcmp(as, GRAPH_START) == 0 ? (long)graph->entry : graph_find(graph, as);
}

/* Where the edge of as, the node at run's, leads: from the start to the first one, and from the end nowhere. */
static enum go
follow_edge(struct run *run, const char *as)
{
	struct step_outcome outcome = {
		.messages = state_messages(run->state),
		.has_structured_response =
		    state_field(run->state, "structured_response") != NULL,
	};
	const char *error = NULL;
	long next = (long)run->at;

	if (strcmp(as, GRAPH_START) != 0 && run_node(run)->kind != NODE_END)
		next = graph_next(run->arena, run->agent->graph, run->agent->spec,
		    run->at, &outcome, &error);
	if (next == -1)
		return run_fail(run, "ValueError", "%s", error);
	run->at = (size_t)next;
	return GO_ON;
}

enum go
run_update(struct run *run, const struct value *head, const struct value *options)
{
	const char *as = value_get_text(options, "as"), *error;
	struct state_write write = { as, value_get(options, "update") };
	long at = find_node(run->agent->graph, as);
	const struct value *calls = open_calls(run);

	if (at == -1)
		return run_unknown_node(run, as != NULL ? as : "");
	if (run_check_fields(run, write.update) != GO_ON)
		return GO_FAIL;
	run->at = (size_t)at;
	run->step = (uint64_t)value_get_int(head, "step", 0);
	run->first_step = run->step++;
	state_step(run->state, arena_printf(run->arena, "%s-1", run->id));
	if (state_apply(run->state, run->arena, &write, 1, &error) == -1)
		return run_fail(run, "InvalidUpdateError", "%s", error);
	run->node = strcmp(as, GRAPH_START) == 0 ? GRAPH_START : run_node(run)->name;
	if (follow_edge(run, as) != GO_ON)
		return GO_FAIL;
	run->applied = true;
	run->source = "update";
	run->rest = make_rest(run, head, value_equal(calls, open_calls(run)));
	run_event(run, "step",
	    value_map_merge(run->batch,
		value_map(run->batch, "step", value_int(run->batch, (int64_t)run->step),
		    "node", value_str(run->batch, run->node), NULL),
		run_untold_messages(run)));
	return run_commit_end(run, "success", NULL);
}
