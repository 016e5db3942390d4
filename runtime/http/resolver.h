/* resolver: host names to addresses, on libuv's thread pool.
 *
 * libcurl's own resolver starts a thread for each lookup, and cancelling one waits for the
 * thread. Here a name is looked up once for all who ask meanwhile, its addresses are used
 * for RESOLVER_FRESH_MS, and longer while lookups fail. */
#ifndef RESOLVER_H
#define RESOLVER_H

#include <stdint.h>

#include "arena.h"
#include "loop.h"

#define RESOLVER_FRESH_MS 30000u

struct resolver;

struct resolver *resolver_new(struct loop *loop);
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
