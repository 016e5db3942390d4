/* spread: how long things took: how many took no longer than each of some bounds, and how long all did together. */
#ifndef SPREAD_H
#define SPREAD_H

#include <stdint.h>

#include "value.h"

#define SPREAD_BOUND_COUNT 15u

struct spread {
	uint64_t counts[SPREAD_BOUND_COUNT +
			1]; /* above the bound before; the last: above all */
	uint64_t sum_ms;
};

void spread_add(struct spread *spread, uint64_t ms);
/* The bound of that index, in ms. They are told with the counts (docs/protocol.md, "Tables of the broker"). */
uint32_t spread_bound(unsigned index);
const struct value *spread_bounds(struct arena *arena);
/* {counts, sum_ms}, in arena. */
const struct value *spread_value(struct arena *arena, const struct spread *spread);

#endif
