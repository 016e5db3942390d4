/* share: what a tenant may take of the server at a time, so that the others have theirs: requests, from their head until the
 * answer is taken; and places among those who hold what is large (room.h). Keys without a tenant have no such bound. */
#ifndef SERVE_SHARE_H
#define SERVE_SHARE_H

#include "gate.h"
#include "http_server.h"

/* A tenant's. */
struct share {
	const char *tenant;
	uint64_t going_on; /* requests */
	struct gate states, lists;
};

/* Of all tenants that have keys. */
struct shares {
	struct share *items;
	size_t count;
	uint64_t requests_max; /* of each */
};

/* Makes those of the tenants of keys, [{key, tenant?}], or NULL, which arena holds as well. */
void shares_init(struct shares *shares, struct arena *arena, const struct value *keys,
    uint64_t requests_max);

/* Lends the tenant's; NULL: it has none, or is NULL. */
struct share *shares_find(const struct shares *shares, const char *tenant);

/* Counts the exchange among its tenant's, until share_leave (http_server's on_end). Returns false where there are as many as may
 * be. share NULL is fine. */
bool share_enter(
    const struct shares *shares, struct share *share, struct exchange *exchange);
void share_leave(void *share);

#endif
