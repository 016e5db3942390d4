/* memory_redis: the Lua of store/ as it ships, on a Redis made of arrays.
 *
 * The functions run in an embedded Lua of the version Redis has; redis.call reaches the few
 * commands they use, with Redis's own rules for what they answer (nil bulks are false, numbers are
 * cut to integers in replies, empty containers are gone). A command or an option that is not known
 * here ends the simulator with its name: write it, do not guess. */
#ifndef MEMORY_REDIS_H
#define MEMORY_REDIS_H

#include <stdint.h>

#include "region.h"

struct redis_memory;

enum reply_type { REPLY_NIL, REPLY_INTEGER, REPLY_TEXT, REPLY_ARRAY, REPLY_ERROR };

/* An answer, in the region. */
struct reply {
	enum reply_type type;
	int64_t integer;
	const char *text; /* of a TEXT; an ERROR's message */
	const struct reply *items;
	size_t count;
};

#define REDIS_ARGS_MAX 64u

/* Returns new; library is its text, changed or not. Ends the process when it does not
 * load. One for all schedules: redis_memory_begin empties it. */
struct redis_memory *redis_memory_new(const char *library);
void redis_memory_destroy(struct redis_memory **memory_p);

/* Forgets everything; keeps region for what comes. */
void redis_memory_begin(struct redis_memory *memory, struct region *region);

/* FCALL function with one key. clock_ms: what TIME says. */
struct reply redis_memory_call(struct redis_memory *memory, const char *function,
    const char *const *args, size_t count, uint64_t clock_ms);

/* What a replica has that was last written to now. A later failover goes back to it. */
void redis_memory_copy(struct redis_memory *memory);
/* Goes back to the copy; false when there is none. */
bool redis_memory_restore(struct redis_memory *memory);

/* --- for the checker ------------------------------------------------------------------- */

/* Lends a field of a hash, or NULL. */
const char *redis_memory_field(
    const struct redis_memory *memory, const char *key, const char *field);
/* Items of a list, set, hash or sorted set; 0 when there is none. */
size_t redis_memory_size(const struct redis_memory *memory, const char *key);
/* Lends an item of a list. */
const char *redis_memory_item(
    const struct redis_memory *memory, const char *key, size_t index);

#endif
