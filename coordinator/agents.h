/* agents: compiled agents by version, and their profiles for the workers. */
#ifndef AGENTS_H
#define AGENTS_H

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

	struct agent_profiles *profiles; /* made anew when the catalog has changed */
};

/* What the workers are told of an agent. Outlives its replacement as long as somebody holds
 * a reference: a round of tool calls begins in several turns of the loop. */
struct agent_profiles {
	struct arena *arena;
	size_t refs;
	uint64_t generation; /* of the catalog */
	const struct value *model;
	const struct value *tool;
	const struct value *tools; /* {name: definition} the agent can execute */
};

struct agents *agents_new(struct store *store);
void agents_destroy(struct agents **agents_p);

/* *version_r: that of the agent of that name, in arena; as it was when it was last asked for, from Redis where that was
 * never. Whoever uses it asks Redis to look (store_arrive); and when it is another by now, has it forgotten
 * and asks again. STORE_NONE: there is no such agent. */
enum store_status agents_version(
    struct agents *agents, struct arena *arena, const char *name, const char **version_r);
void agents_forget(struct agents *agents, const char *name);

/* Returns the compiled agent of version, with a reference for the caller. NULL with a reason
 * in arena: an unknown version, or a spec this process cannot load; with *error_r NULL:
 * nothing can be said now (Redis gone, or cancelled). Waits for Redis when it is not cached. */
struct agent *agents_get(struct agents *agents, struct arena *arena, const char *name,
    const char *version, const char **error_r);
void agents_unref(struct agents *agents, struct agent **agent_p);

/* Returns the agent's profiles, up to date with catalog, with a reference for the caller. */
struct agent_profiles *agent_profiles(struct agent *agent, const struct catalog *catalog);
void agent_profiles_unref(struct agent_profiles **profiles_p);

#endif
