/* key_index: finds a key among many pairs: maps that others make large must not cost the
 * square of their size. The hash is keyed by the process, so nobody can choose keys that
 * collide. */
#ifndef KEY_INDEX_H
#define KEY_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "value.h"

/* Up to so many pairs looking at each is quicker. */
#define KEY_INDEX_FROM 32u

struct key_index;

/* Returns the hash of size bytes of text: other in each process, equal within one. */
uint64_t key_hash(const char *text, size_t size);

/* Returns an empty index with room for room pairs, lent until arena goes. */
struct key_index *key_index_new(struct arena *arena, size_t room);

/* Returns the position in pairs of the pair with key, or -1 after noting position for it.
 */
long key_index_put(struct key_index *index, const struct value_pair *pairs,
    const struct value *key, size_t position);
/* The same without noting anything. */
long key_index_find(const struct key_index *index, const struct value_pair *pairs,
    const struct value *key);

#endif
