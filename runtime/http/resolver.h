/* resolver: host names to addresses, on libuv's thread pool.
 *
 * libcurl's own resolver starts a thread for each lookup, and cancelling one waits for the
 * thread. Here a name is looked up once for all who ask meanwhile, its addresses are used
 * for as long as they are fresh, and longer while lookups fail or take more than
 * RESOLVER_PATIENCE_MS: two names that nobody answers for keep all other lookups waiting. */
#ifndef RESOLVER_H
#define RESOLVER_H

#include <stdint.h>

#include "arena.h"
#include "loop.h"

#define RESOLVER_FRESH_MS 30000u
#define RESOLVER_PATIENCE_MS 1000u

struct resolver;

/* fresh_ms: as a rule RESOLVER_FRESH_MS. */
struct resolver *resolver_new(struct loop *loop, uint64_t fresh_ms);
/* Takes *resolver_p; nobody waits any more. */
void resolver_destroy(struct resolver **resolver_p);

enum resolver_result {
	RESOLVER_FOUND,
	RESOLVER_FAILED,    /* *text_r is the reason */
	RESOLVER_TIMEOUT,   /* not within wait_ms */
	RESOLVER_CANCELLED, /* the fiber was */
};

/* Finds host's addresses, on a fiber: "192.0.2.1,[2001:db8::1]" in the system's order of
 * preference, in arena. */
enum resolver_result resolver_find(struct resolver *resolver, struct arena *arena,
    const char *host, uint64_t wait_ms, const char **text_r);

#endif
