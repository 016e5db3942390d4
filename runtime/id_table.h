/* id_table: items found by their id: a zhashx whose keys lie inside the items.
 *
 * The hash is keyed (SipHash-1-3), so that nobody outside can choose ids that collide: a
 * zhashx grows whenever a chain gets long, chosen collisions would make it grow without
 * end. The seed comes from the caller: same seed, same order; simulations repeat. */
#ifndef ID_TABLE_H
#define ID_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct id_table;

/* Embedded in each item; the bytes it points to live as long as the item is in a table.
 */
struct id_key {
	const void *bytes;
	size_t size;
	uint64_t hash;
};

/* Returns a new, empty table. */
struct id_table *id_table_new(uint64_t seed);

/* Takes *table_p; items are the caller's. NULL is fine. */
void id_table_destroy(struct id_table **table_p);

size_t id_table_size(const struct id_table *table);

/* Fills key for text, or for any bytes, and puts item under it. Keeps key and its bytes
 * until id_table_remove. Nothing may be there under the same id. */
void id_table_put(
    struct id_table *table, struct id_key *key, const char *text, void *item);
void id_table_put_bytes(struct id_table *table, struct id_key *key, const void *bytes,
    size_t size, void *item);

/* Returns the item of that id, or NULL. */
void *id_table_get(const struct id_table *table, const char *text);
void *id_table_get_bytes(const struct id_table *table, const void *bytes, size_t size);

/* Takes key's item out of the table; key must be in it. */
void id_table_remove(struct id_table *table, const struct id_key *key);

#endif
