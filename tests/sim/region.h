/* region: memory of one schedule, given back all at once when the next one begins; and the random
 * numbers that a schedule is made of. */
#ifndef REGION_H
#define REGION_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define REGION_BYTES (16u << 20)

struct region {
	char *bytes; /* REGION_BYTES of them */
	size_t used;
};

/* Returns new, zeroed; gone with the schedule. */
static inline void *
region_alloc(struct region *region, size_t size)
{
	char *at = region->bytes + region->used;

	size = (size + 15) & ~(size_t)15;
	assert(region->used + size <= REGION_BYTES);
	region->used += size;
	return memset(at, 0, size);
}

/* Returns a new copy, with a zero behind it. */
static inline char *
region_copy(struct region *region, const char *text, size_t size)
{
	char *at = region->bytes + region->used;

	assert(region->used + size + 16 <= REGION_BYTES);
	region->used += (size + 16) & ~(size_t)15;
	memcpy(at, text, size);
	at[size] = '\0';
	return at;
}

/* SplitMix64: each number of the state gives one of the sequence, so that two seeds side by side
 * have nothing in common. */
struct rng {
	uint64_t state;
};

static inline uint64_t
rng_next(struct rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* From 0 to below - 1. */
static inline uint64_t
rng_below(struct rng *rng, uint64_t below)
{
	return below == 0 ? 0 : rng_next(rng) % below;
}

static inline uint64_t
rng_between(struct rng *rng, uint64_t first, uint64_t last)
{
	return first + rng_below(rng, last - first + 1);
}

static inline bool
rng_chance(struct rng *rng, unsigned percent)
{
	return rng_below(rng, 100) < percent;
}

#endif
