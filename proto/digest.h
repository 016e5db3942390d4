/* digest: the name of a list of messages, by what is in it: BLAKE2b over the msgpack bytes of all
 * of them, one behind the other. Who has equal digests has equal messages (docs/protocol.md, "A
 * thread that is known").
 *
 * A stream: what a list begins with is hashed once, however often the list grows. */
#ifndef DIGEST_H
#define DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "value.h"

#define DIGEST_BYTES 16u

struct digest;

/* Returns new, of no message. */
struct digest *digest_new(void);
struct digest *digest_copy(const struct digest *digest);

/* What one takes. */
size_t digest_bytes(void);

/* NULL is fine. */
void digest_destroy(struct digest **digest_p);

/* Adds the messages of an array from (inclusive) to (exclusive). */
void digest_add(
    struct digest *digest, const struct value *messages, size_t from, size_t to);

/* Of all that were added so far; more may follow. */
void digest_get(const struct digest *digest, uint8_t bytes_r[DIGEST_BYTES]);

/* The same as a value, in arena. */
const struct value *digest_value(struct arena *arena, const uint8_t bytes[DIGEST_BYTES]);

/* Whether value is this digest. */
bool digest_is(const uint8_t bytes[DIGEST_BYTES], const struct value *value);

#endif
