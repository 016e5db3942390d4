/* subagent: what the middleware share whose tools have other agents do something. */
#ifndef SUBAGENT_H
#define SUBAGENT_H

#include "middleware.h"

/* The answer, of that status, to a call for an agent that is none of the use's children. */
struct tool_result *subagent_unknown(
    struct tool_request *request, const char *name, const char *status);

/* --- the agents of a use of `subagent` (subagent_agents.c); pure, in arena ---------------- */

/* Whether given, an entry of `subagents` or a child, goes on with the conversation that calls it. */
bool subagent_is_fork(const struct value *given);

/* Returns the agents by their names, as settings have them, the built-in one first; or NULL, and *error_r says
 * which is none, and why. */
const struct value *subagent_agents(
    struct arena *arena, const struct value *settings, const char **error_r);

/* What they are made of. */
struct subagent_making {
	struct arena *arena;
	const struct middleware_use *use;
	const struct value *told; /* what the model is told of `task`: a text */
};

/* Returns the children of a use (middleware.h): agents, which are subagent_agents', each with its whole source. */
const struct value *subagent_children(
    const struct subagent_making *making, const struct value *agents);

#endif
