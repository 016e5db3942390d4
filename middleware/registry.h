/* registry: the middleware a process knows: the built-in table and loaded shared objects.
 */
#ifndef REGISTRY_H
#define REGISTRY_H

#include "middleware.h"

/* Loads the shared object at path. Returns 0, or -1 with a reason lent for ever (not
 * found, no flotilla_middleware symbol, another ABI, a name that is taken). Once a path;
 * at start-up. */
int registry_load(const char *path, const char **error_r);

/* Returns the middleware of that name, or NULL. */
const struct middleware *registry_find(const char *name);

/* Returns the names known, NULL-ended, lent until the next registry_load. */
const char *const *registry_names(void);

/* What is known of model (NULL: the agent's own) where use's hooks run; use may be NULL. */
const struct value *use_known_model(
    struct arena *arena, const struct middleware_use *use, const char *model);

/* Makes a use of middleware `name` with the given settings (map or NULL): checks each
 * against the options table (unknown name, type, limits, choices), fills in defaults,
 * calls configure. Returns it in arena, or NULL with *path_r the place within the
 * settings ("/max_retries" or
 * "") and *error_r the reason (with the nearest right name), both in arena. */
struct middleware_use *registry_use(struct arena *arena, const char *name,
    const struct value *settings, const char **path_r, const char **error_r);

/* The agent that a use is of, as far as a process is told. */
struct use_agent {
	const char *model;                 /* or NULL */
	const struct value *model_profile; /* or NULL */
	const struct value *source;        /* or NULL */
};

/* The same for an agent, or NULL. models: {model: profile} that the coordinator's configure was
 * told, or NULL where a spec is loaded. */
struct middleware_use *registry_use_of(struct arena *arena, const struct use_agent *agent,
    const struct value *models, const char *name, const struct value *settings,
    const char **path_r, const char **error_r);

/* A tool's definition as a value (proto/bodies.h). */
const struct value *tool_to_value(struct arena *arena, const struct tool *tool);

#endif
