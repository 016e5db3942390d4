#include "key_index.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

__extension__ typedef unsigned __int128 wide;

struct key_index {
	size_t mask;
	size_t room, count;
	uint32_t *slots; /* position + 1; 0 is free */
};

static uint64_t secrets[2];

static void
make_secrets(void)
{
	if (getentropy(secrets, sizeof secrets) != 0)
		arena_exhausted();
}

/* Folds the product, so that each bit of both tells in each bit of the result. */
static uint64_t
mix(uint64_t a, uint64_t b)
{
	wide product = (wide)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t
hash(const struct value *key)
{
	uint64_t sum = secrets[0] ^ key->size, word;
	size_t at, left;

	for (at = 0; at < key->size; at += sizeof word) {
		left = key->size - at;
		word = 0;
		memcpy(&word, key->text + at, left < sizeof word ? left : sizeof word);
		sum = mix(sum ^ word, secrets[1] | 1);
	}
	return mix(sum, secrets[0] | 1);
}

struct key_index *
key_index_new(struct arena *arena, size_t room)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct key_index *index = arena_alloc(arena, sizeof *index);
	size_t slots = 64;

	pthread_once(&once, make_secrets);
	while (slots < 2 * room)
		slots *= 2;
	index->mask = slots - 1;
	index->room = room;
	index->slots = arena_alloc(arena, slots * sizeof *index->slots);
	return index;
}

long
key_index_put(struct key_index *index, const struct value_pair *pairs,
    const struct value *key, size_t position)
{
	size_t slot = hash(key) & index->mask;
	const struct value *other;

	for (; index->slots[slot] != 0; slot = (slot + 1) & index->mask) {
		other = pairs[index->slots[slot] - 1].key;
		if (other->size == key->size &&
		    memcmp(other->text, key->text, key->size) == 0)
			return (long)index->slots[slot] - 1;
	}
	assert(index->count < index->room && position < UINT32_MAX);
	index->count++;
	index->slots[slot] = (uint32_t)position + 1;
	return -1;
}
