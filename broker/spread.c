#include "spread.h"

/* Those of Prometheus's clients, and further: a model takes minutes. */
static const uint32_t bounds[SPREAD_BOUND_COUNT] = { 5, 10, 25, 50, 100, 250, 500, 1000,
	2500, 5000, 10000, 30000, 60000, 120000, 300000 };

void
spread_add(struct spread *spread, uint64_t ms)
{
	unsigned i = 0;

	while (i < SPREAD_BOUND_COUNT && ms > bounds[i])
		i++;
	spread->counts[i]++;
	spread->sum_ms += ms;
}

uint32_t
spread_bound(unsigned index)
{
	return bounds[index];
}
