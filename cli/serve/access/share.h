/* share: what a tenant may take of the server at a time, so that the others have theirs: requests, from their head until the
 * answer is taken, and their bodies; and places among those who hold what is large (room.h). Keys without a tenant have no such bound. */
#ifndef SERVE_SHARE_H
#define SERVE_SHARE_H

#include <sys/queue.h>

#include "gate.h"
#include "http_server.h"

/* A tenant's, as long as a request of it goes on. */
struct share {
	TAILQ_ENTRY(share) link;
	char *tenant;
	uint64_t going_on;   /* requests */
	size_t bodies_bytes; /* that are held for them */
	struct gate states, lists, searches;
};

struct shares {
	TAILQ_HEAD(, share) all;
	uint64_t requests_max; /* of each */
};

void shares_init(struct shares *shares, uint64_t requests_max);

/* Counts the exchange for tenant, until share_leave (http_server's on_end). Returns false where there are as many as may be. */
bool share_enter(struct shares *shares, const char *tenant, struct exchange *exchange);
/* What the exchange counts for, lent as long as it goes on; NULL: no tenant. */
struct share *share_of(const struct exchange *exchange);
void share_leave(struct shares *shares, struct share *share);

#endif
