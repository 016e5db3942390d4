#include "agents.h"

#include <assert.h>
#include <czmq.h>
#include <stdlib.h>

#include "memory.h"
#include "store_agents.h"

#define CACHED_MAX 256u

struct agents {
	struct store *store;
	zhashx_t *compiled; /* "<version> <name>" -> struct agent */
	zhashx_t *versions; /* name -> version, as last seen */
};

static void
agent_free(void **item)
{
	struct agent *agent = *item;

	agent_profiles_unref(&agent->profiles);
	arena_destroy(&agent->arena);
	free(agent);
	*item = NULL;
}

static void
free_text(void **item)
{
	free(*item);
	*item = NULL;
}

struct agents *
agents_new(struct store *store)
{
	struct agents *agents = xcalloc(1, sizeof *agents);

	agents->store = store;
	agents->compiled = zhashx_new();
	zhashx_set_destructor(agents->compiled, agent_free);
	agents->versions = zhashx_new();
	zhashx_set_destructor(agents->versions, free_text);
	return agents;
}

void
agents_destroy(struct agents **agents_p)
{
	if (*agents_p == NULL)
		return;
	zhashx_destroy(&(*agents_p)->compiled);
	zhashx_destroy(&(*agents_p)->versions);
	free(*agents_p);
	*agents_p = NULL;
}

enum store_status
agents_version(
    struct agents *agents, struct arena *arena, const char *name, const char **version_r)
{
	const char *known = zhashx_lookup(agents->versions, name);
	enum store_status status;

	if (known != NULL) {
		*version_r = arena_strdup(arena, known);
		return STORE_OK;
	}
	status = store_agent_version(agents->store, arena, name, version_r);
	if (status != STORE_OK)
		return status;
	if (zhashx_size(agents->versions) >= CACHED_MAX)
		zhashx_purge(agents->versions);
	zhashx_update(agents->versions, name, xstrdup(*version_r));
	return STORE_OK;
}

void
agents_forget(struct agents *agents, const char *name)
{
	zhashx_delete(agents->versions, name);
}

/* The name is part of what is compiled, and need not be in the source: two agents may share
 * a version. */
static const char *
key_of(struct arena *arena, const char *name, const char *version)
{
	return arena_printf(arena, "%s %s", version, name);
}

/* Makes room: agents that no run uses go. */
static void
evict(struct agents *agents)
{
	struct agent *agent;
	zlistx_t *keys;
	const char *key;

	if (zhashx_size(agents->compiled) < CACHED_MAX)
		return;
	keys = zhashx_keys(agents->compiled);
	for (key = zlistx_first(keys); key != NULL; key = zlistx_next(keys)) {
		agent = zhashx_lookup(agents->compiled, key);
		if (agent->refs == 0)
			zhashx_delete(agents->compiled, key);
	}
	zlistx_destroy(&keys);
}

static struct agent *
compile(struct arena *own, const struct value *source, const char *name,
    struct arena *arena, const char **error_r)
{
	const char *path = "", *error = NULL;
	struct agent *agent;
	const struct spec *spec =
	    spec_load(own, value_copy(own, source), name, &path, &error);
	const struct graph *graph = NULL;

	if (spec != NULL)
		graph = graph_compile(own, spec, &path, &error);
	if (graph == NULL) {
		*error_r = arena_printf(arena, "agent '%s': %s: %s", name, path, error);
		return NULL;
	}
	agent = xcalloc(1, sizeof *agent);
	agent->arena = own;
	agent->spec = spec;
	agent->graph = graph;
	return agent;
}

struct agent *
agents_get(struct agents *agents, struct arena *arena, const char *name,
    const char *version, const char **error_r)
{
	const char *key = key_of(arena, name, version);
	struct agent *agent = zhashx_lookup(agents->compiled, key);
	const struct value *source;
	enum store_status status;
	struct arena *own;

	if (agent == NULL) {
		*error_r = NULL;
		status = store_agent_source(agents->store, arena, version, &source);
		if (status == STORE_NONE)
			*error_r = arena_printf(arena,
			    "version %s of agent '%s' is not in Redis", version, name);
		if (status != STORE_OK)
			return NULL;
		agent = zhashx_lookup(agents->compiled, key); /* others ran meanwhile */
	}
	if (agent == NULL) {
		own = arena_new();
		agent = compile(own, source, name, arena, error_r);
		if (agent == NULL) {
			arena_destroy(&own);
			return NULL;
		}
		evict(agents);
		zhashx_update(agents->compiled, key, agent);
	}
	agent->refs++;
	return agent;
}

void
agents_unref(struct agents *agents, struct agent **agent_p)
{
	(void)agents;
	if (*agent_p == NULL)
		return;
	assert((*agent_p)->refs > 0);
	(*agent_p)->refs--;
	*agent_p = NULL;
}

/* The definitions of what the agent can execute, or only shows, by name. */
static const struct value *
executable(struct arena *arena, const struct spec *spec, const struct value *catalog)
{
	const struct value *offered = spec_offered_tools(arena, spec, catalog);
	struct value_fields fields = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(offered); i++) {
		const struct value *tool = value_at(offered, i);

		if (!spec_is_provider_tool(tool))
			value_fields_set(&fields, value_get_text(tool, "name"), tool);
	}
	return value_fields_end(&fields);
}

static struct agent_profiles *
profiles_new(const struct spec *spec, const struct catalog *catalog)
{
	struct agent_profiles *profiles = xcalloc(1, sizeof *profiles);
	const struct value *tools = catalog_tools(catalog);
	struct arena *arena = arena_new();

	profiles->arena = arena;
	profiles->refs = 1;
	profiles->generation = catalog_generation(catalog);
	profiles->model = value_copy(arena, spec_model_profile(arena, spec, tools));
	profiles->tool = value_copy(arena, spec_tool_profile(arena, spec, tools));
	profiles->tools = value_copy(arena, executable(arena, spec, tools));
	return profiles;
}

struct agent_profiles *
agent_profiles(struct agent *agent, const struct catalog *catalog)
{
	if (agent->profiles == NULL ||
	    agent->profiles->generation != catalog_generation(catalog)) {
		agent_profiles_unref(&agent->profiles);
		agent->profiles = profiles_new(agent->spec, catalog);
	}
	agent->profiles->refs++;
	return agent->profiles;
}

void
agent_profiles_unref(struct agent_profiles **profiles_p)
{
	struct agent_profiles *profiles = *profiles_p;

	if (profiles == NULL)
		return;
	*profiles_p = NULL;
	assert(profiles->refs > 0);
	if (--profiles->refs > 0)
		return;
	arena_destroy(&profiles->arena);
	free(profiles);
}
