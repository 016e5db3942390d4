/* everything: an agent's use of every built-in middleware at once, none of which has anything against
 * the other: for tests of how they go together. test_everything.c (unit) holds it to the registry. */
#ifndef EVERYTHING_H
#define EVERYTHING_H

#include "arena.h"

/* The `middleware` of the agent, YAML at the top level. folder: one that is there. What of it acts:
 * calls of `calculate` with "6 * 7" wait for a human, those of `weather` are played. Nothing
 * is moderated: nobody could. The tools of all calls are selected from `all` of them. */
const char *everything_middleware(struct arena *arena, const char *folder);

/* Entries of the agent's `script`, YAML indented by two, for the models that the middleware ask:
 * scripted:picker, helper, player. Without one of scripted:spare, which stands in for the agent's. */
extern const char everything_script[];

#endif
