/* agents: compiled agents by version, and their profiles for the workers. */
#ifndef AGENTS_H
#define AGENTS_H

#include <czmq.h>

#include "catalog.h"
#include "graph.h"
#include "spec.h"
#include "store.h"

struct agents;

/* One version, shared by the runs that use it. */
struct agent {
	struct arena *arena;
	const struct spec *spec;
	const struct graph *graph;
	size_t refs;

	struct arena *profile_arena; /* made again when the catalog has changed */
	uint64_t generation;
	const struct value *model_profile;
	const struct value *tool_profile;
	const struct value *tools; /* {name: definition} the agent can execute */
};

struct agents *agents_new(struct store *store);
void agents_destroy(struct agents **agents_p);

/* Returns the compiled agent of version, with a reference for the caller, or NULL with a
 * reason in arena (unknown version, a spec this process cannot load, Redis gone, or
 * cancelled). Waits for Redis when it is not cached. */
struct agent *agents_get(struct agents *agents, struct arena *arena, const char *name,
    const char *version, const char **error_r);
void agents_unref(struct agents *agents, struct agent **agent_p);

/* Brings the profiles up to date with catalog. */
void agent_refresh(struct agent *agent, const struct catalog *catalog);

#endif
