#include "id_table.h"

#include <assert.h>
#include <czmq.h>

#include "memory.h"

struct id_table {
	zhashx_t *items;
	uint64_t seed;
};

static inline uint64_t
rotate(uint64_t word, unsigned bits)
{
	return word << bits | word >> (64 - bits);
}

static inline void
sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[0] = rotate(v[0], 32);
	v[2] += v[3];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

/* SipHash-1-3 with seed as the lower half of its key. */
static uint64_t
sip_hash(uint64_t seed, const unsigned char *bytes, size_t size)
{
	uint64_t v[4] = { seed ^ 0x736f6d6570736575, 0x646f72616e646f6d,
		seed ^ 0x6c7967656e657261, 0x7465646279746573 };
	uint64_t word;
	size_t at, left;

	for (at = 0; at <= size; at += sizeof word) {
		left = size - at;
		word = left < sizeof word ? (uint64_t)size << 56 : 0;
		memcpy(&word, bytes + at, left < sizeof word ? left : sizeof word);
		v[3] ^= word;
		sip_round(v);
		v[0] ^= word;
	}
	v[2] ^= 0xff;
	sip_round(v);
	sip_round(v);
	sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static size_t
key_hash(const void *item)
{
	return ((const struct id_key *)item)->hash;
}

static int
key_compare(const void *first, const void *second)
{
	const struct id_key *a = first, *b = second;

	if (a->hash != b->hash || a->size != b->size)
		return 1;
	return memcmp(a->bytes, b->bytes, a->size);
}

struct id_table *
id_table_new(uint64_t seed)
{
	struct id_table *table = xcalloc(1, sizeof *table);

	table->seed = seed;
	table->items = zhashx_new();
	zhashx_set_key_duplicator(table->items, NULL);
	zhashx_set_key_destructor(table->items, NULL);
	zhashx_set_key_comparator(table->items, key_compare);
	zhashx_set_key_hasher(table->items, key_hash);
	return table;
}

void
id_table_destroy(struct id_table **table_p)
{
	if (*table_p == NULL)
		return;
	zhashx_destroy(&(*table_p)->items);
	free(*table_p);
	*table_p = NULL;
}

size_t
id_table_size(const struct id_table *table)
{
	return zhashx_size(table->items);
}

static struct id_key
make_key(const struct id_table *table, const void *bytes, size_t size)
{
	return (struct id_key){ bytes, size, sip_hash(table->seed, bytes, size) };
}

void
id_table_put_bytes(struct id_table *table, struct id_key *key, const void *bytes,
    size_t size, void *item)
{
	int status;

	*key = make_key(table, bytes, size);
	status = zhashx_insert(table->items, key, item);
	assert(status == 0);
	(void)status;
}

void
id_table_put(struct id_table *table, struct id_key *key, const char *text, void *item)
{
	id_table_put_bytes(table, key, text, strlen(text), item);
}

void *
id_table_get_bytes(const struct id_table *table, const void *bytes, size_t size)
{
	struct id_key key = make_key(table, bytes, size);

	return zhashx_lookup(table->items, &key);
}

void *
id_table_get(const struct id_table *table, const char *text)
{
	return id_table_get_bytes(table, text, strlen(text));
}

void
id_table_remove(struct id_table *table, const struct id_key *key)
{
	zhashx_delete(table->items, key);
}
