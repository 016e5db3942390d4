#include "share.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "memory.h"

/* Half of what there is: who asks for more waits, and others do not. */
#define STATES_MAX (SERVE_STATES_MAX / 2)
#define LISTS_MAX (SERVE_LISTS_MAX / 2)
#define SEARCHES_MAX (SERVE_SEARCHES_MAX / 2)

void
shares_init(struct shares *shares, uint64_t requests_max)
{
	TAILQ_INIT(&shares->all);
	shares->requests_max = requests_max;
}

static struct share *
find(const struct shares *shares, const char *tenant)
{
	struct share *share;

	TAILQ_FOREACH(share, &shares->all, link)
		if (strcmp(share->tenant, tenant) == 0)
			break;
	return share;
}

static struct share *
make(struct shares *shares, const char *tenant)
{
	struct share *share = xcalloc(1, sizeof *share);

	share->tenant = xstrdup(tenant);
	gate_init(&share->states, STATES_MAX);
	gate_init(&share->lists, LISTS_MAX);
	gate_init(&share->searches, SEARCHES_MAX);
	TAILQ_INSERT_HEAD(&shares->all, share, link);
	return share;
}

bool
share_enter(struct shares *shares, const char *tenant, struct exchange *exchange)
{
	struct share *share = find(shares, tenant);

	if (share == NULL)
		share = make(shares, tenant);
	if (share->going_on >= shares->requests_max)
		return false;
	share->going_on++;
	exchange_counts_for(exchange, share, &share->bodies_bytes);
	return true;
}

struct share *
share_of(const struct exchange *exchange)
{
	return exchange_whose(exchange);
}

void
share_leave(struct shares *shares, struct share *share)
{
	assert(share->going_on > 0);
	if (--share->going_on > 0)
		return;
	TAILQ_REMOVE(&shares->all, share, link);
	free(share->tenant);
	free(share);
}
