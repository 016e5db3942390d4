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

const struct value *
spread_bounds(struct arena *arena)
{
	struct value_list list = { .arena = arena };
	unsigned i;

	for (i = 0; i < SPREAD_BOUND_COUNT; i++)
		value_list_add(&list, value_int(arena, bounds[i]));
	return value_list_end(&list);
}

const struct value *
spread_value(struct arena *arena, const struct spread *spread)
{
	struct value_list counts = { .arena = arena };
	unsigned i;

	for (i = 0; i <= SPREAD_BOUND_COUNT; i++)
		value_list_add(&counts, value_int(arena, (int64_t)spread->counts[i]));
	return value_map(arena, "counts", value_list_end(&counts), "sum_ms",
	    value_int(arena, (int64_t)spread->sum_ms), NULL);
}
