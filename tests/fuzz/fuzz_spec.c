/* Agents as users write them: YAML to a checked spec, its graph and a fresh state. What is
 * taken must hold together: every route leads to a node. */
#include <stdlib.h>

#include "graph.h"
#include "state.h"
#include "yaml_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool fact)
{
	if (!fact)
		abort();
}

static void
check_graph(struct arena *arena, const struct spec *spec)
{
	const char *path, *error;
	const struct graph *graph = graph_compile(arena, spec, &path, &error);
	struct step_outcome outcome = { .messages = value_empty_array() };
	size_t i;
	long next;

	require(graph != NULL); /* spec_load has compiled it already */
	require(graph_find(graph, "model") == (long)graph->model);
	for (i = 0; i < graph->count; i++) {
		if (i == graph->end)
			continue;
		next = graph_next(arena, graph, spec, i, &outcome, &error);
		require(next >= 0 && (size_t)next < graph->count);
	}
	require(graph_mermaid(arena, graph) != NULL);
	/* Its nodes, its edges, and those it has work, if any. */
	require(value_size(graph_value(arena, graph)) >= 2);
}

static void
check_state(struct arena *arena, const struct spec *spec)
{
	struct state *state = state_new(spec);
	struct state_changes changes;
	const char *error;

	require(state_begin(state, arena, "f", NULL, &error) == 0);
	require(state_apply(state, arena, NULL, 0, &error) == 0);
	state_changes(state, arena, &changes);
	state_committed(state);
	state_destroy(&state);
}

static void
check_source(struct arena *arena, const struct value *source)
{
	const char *path = NULL, *error = NULL;
	const struct spec *spec = spec_load(arena, source, "fuzz", &path, &error);

	if (spec == NULL) {
		require(path != NULL && error != NULL && error[0] != '\0');
		return;
	}
	check_graph(arena, spec);
	check_state(arena, spec);
	require(spec_model_profile(arena, spec, NULL)->packed != NULL);
	require(spec_tool_profile(arena, spec, NULL)->packed != NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	const char *error;
	struct yaml *yaml = yaml_parse(arena, "fuzz", (const char *)data, size, &error);
	size_t i;

	for (i = 0; yaml != NULL && i < yaml_count(yaml); i++)
		check_source(arena, yaml_root(yaml, i));
	yaml_destroy(&yaml);
	arena_destroy(&arena);
	return 0;
}
