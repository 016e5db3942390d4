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

uint64_t
key_hash(const char *text, size_t size)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint64_t sum, word;
	size_t at, left;

	pthread_once(&once, make_secrets);
	sum = secrets[0] ^ size;
	for (at = 0; at < size; at += sizeof word) {
		left = size - at;
		word = 0;
		memcpy(&word, text + at, left < sizeof word ? left : sizeof word);
		sum = mix(sum ^ word, secrets[1] | 1);
	}
	return mix(sum, secrets[0] | 1);
}

struct key_index *
key_index_new(struct arena *arena, size_t room)
{
	struct key_index *index = arena_alloc(arena, sizeof *index);
	size_t slots = 64;

	while (slots < 2 * room)
		slots *= 2;
	index->mask = slots - 1;
	index->room = room;
	index->slots = arena_alloc(arena, slots * sizeof *index->slots);
	return index;
}

/* The slot of the pair with key, or the free one where it would be noted. */
static size_t
slot_of(const struct key_index *index, const struct value_pair *pairs,
    const struct value *key)
{
	size_t slot = key_hash(key->text, key->size) & index->mask;
	const struct value *other;

	for (; index->slots[slot] != 0; slot = (slot + 1) & index->mask) {
		other = pairs[index->slots[slot] - 1].key;
		if (other->size == key->size &&
		    memcmp(other->text, key->text, key->size) == 0)
			break;
	}
	return slot;
}

long
key_index_find(const struct key_index *index, const struct value_pair *pairs,
    const struct value *key)
{
	return (long)index->slots[slot_of(index, pairs, key)] - 1;
}

long
key_index_put(struct key_index *index, const struct value_pair *pairs,
    const struct value *key, size_t position)
{
	size_t slot = slot_of(index, pairs, key);

	if (index->slots[slot] != 0)
		return (long)index->slots[slot] - 1;
	assert(index->count < index->room && position < UINT32_MAX);
	index->count++;
	index->slots[slot] = (uint32_t)position + 1;
	return -1;
}
