#include "random.h"

static uint64_t
split_mix(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

void
random_seed(struct random *random, uint64_t seed)
{
	unsigned i;

	for (i = 0; i < 4; i++)
		random->state[i] = split_mix(&seed);
}

static uint64_t
rotate(uint64_t x, unsigned by)
{
	return (x << by) | (x >> (64 - by));
}

uint64_t
random_next(struct random *random)
{
	uint64_t *s = random->state;
	uint64_t result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate(s[3], 45);
	return result;
}

uint64_t
random_between(struct random *random, uint64_t low, uint64_t high)
{
	return low + random_next(random) % (high - low + 1);
}

bool
random_chance(struct random *random, unsigned per_mille)
{
	return random_next(random) % 1000 < per_mille;
}
