/* store_agents: the agents that there are, each in its versions, and the tools that workers serve. As store.h, on a fiber. */
#ifndef STORE_AGENTS_H
#define STORE_AGENTS_H

#include "store.h"

/* --- agents ------------------------------------------------------------------------- */

struct store_apply {
	const char *name;
	const char *version; /* becomes the current one; "": the agent is deleted */
	const struct value *source; /* stored under version; NULL: it is there */
	const char *by, *comment;   /* for people; comment may be NULL */
	uint64_t back_to;           /* the number it goes back to, or 0 */
	int64_t expected;           /* how many numbers there must be; -1: any */
};
/* Makes a version the name's current one, in one step with its line in the agent's log, and
 * numbers it (1, 2, ...). STORE_KNOWN: it is the current one already, with its number;
 * STORE_NONE: there is no agent to delete; STORE_STALE: there are not `expected` numbers. */
enum store_status store_apply_agent(struct store *store, struct arena *arena,
    const struct store_apply *apply, uint64_t *number_r);
/* log_r: [{version, at (0: not known), by?, comment?, back_to?}], number n at n - 1; version ""
 * where it was deleted. Empty for an agent of a time without logs, and for none. */
enum store_status store_agent_log(struct store *store, struct arena *arena,
    const char *name, const struct value **log_r);
/* version_r: of the name's current spec. STORE_NONE: no such agent. */
enum store_status store_agent_version(
    struct store *store, struct arena *arena, const char *name, const char **version_r);
enum store_status store_agent_source(struct store *store, struct arena *arena,
    const char *version, const struct value **source_r);
/* Has source there under version, which no name need have. */
enum store_status store_keep_source(struct store *store, struct arena *arena,
    const char *version, const struct value *source);
/* {name: version} */
enum store_status store_agents(
    struct store *store, struct arena *arena, const struct value **agents_r);

/* --- tools -------------------------------------------------------------------------- */

/* {name: definition}; put writes those given. */
enum store_status store_tools(
    struct store *store, struct arena *arena, const struct value **tools_r);
enum store_status store_put_tools(
    struct store *store, struct arena *arena, const struct value *tools);
/* STORE_NONE: there are none at all. */
enum store_status store_has_tools(struct store *store, struct arena *arena);
/* Those names are served now; what was not for keep_ms is forgotten. missing_r: [name] of names that are not there. */
enum store_status store_tools_seen(struct store *store, struct arena *arena,
    const struct value *names, uint64_t keep_ms, const struct value **missing_r);

#endif
