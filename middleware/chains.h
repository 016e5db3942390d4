/* chains: the middleware chains of the agent versions seen last, made once a version and
 * not once a call. */
#ifndef CHAINS_H
#define CHAINS_H

#include <stdint.h>

#include "chain.h"

struct chains;

/* A chain that a call uses. */
struct kept_chain {
	const struct chain *chain;
};

/* Returns new. */
struct chains *chains_new(void);

/* Takes *chains_p; every kept chain must have been given back. */
void chains_destroy(struct chains **chains_p);

/* Returns the chain for profile, the caller's until chains_release; or NULL with a reason
 * in arena: the profile names a middleware that this process cannot run. number is that of
 * the profile's bytes, never another's (peer/profiles.h), 0 of one that has none. */
struct kept_chain *chains_hold(struct chains *chains, uint64_t number,
    const struct value *profile, struct arena *arena, const char **error_r);
void chains_release(struct chains *chains, struct kept_chain **kept_p);

#endif
