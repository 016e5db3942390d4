/* random: the dice of a chaos run: xoshiro256**, seeded by SplitMix64. The same seed gives the
 * same numbers on every machine. */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct random {
	uint64_t state[4];
};

void random_seed(struct random *random, uint64_t seed);
uint64_t random_next(struct random *random);
/* From low to high, both included. */
uint64_t random_between(struct random *random, uint64_t low, uint64_t high);
/* True in so many of a thousand. */
bool random_chance(struct random *random, unsigned per_mille);

#endif
