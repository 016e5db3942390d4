/* wishes: what the status channel's readers are subscribed to, and what publishers are told of
 * it.
 *
 * An XPUB says each prefix once when its first reader comes and once when its last one goes.
 * What publishers are told grows at once, so that who begins to listen waits for nobody; it
 * shrinks at most once in WISHES_KEEP_MS, so that readers who come and go cannot make the
 * broker talk: it tells of no more than WANTED_PREFIXES_MAX + 2 changes in that time. Above
 * WANTED_PREFIXES_MAX prefixes everything is wanted. Memory is bounded: prefixes above
 * WISHES_MAX are only counted, and while there are any everything is wanted. */
#ifndef WISHES_H
#define WISHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "value.h"

#define WISHES_KEEP_MS 1000u
#define WISHES_MAX 256u

struct wishes;

/* Returns new: nothing is wanted, and publishers know it. */
struct wishes *wishes_new(void);

/* Takes *wishes_p. NULL is fine. */
void wishes_destroy(struct wishes **wishes_p);

/* Takes in a message of the XPUB: a byte 1 (from now on) or 0 (no longer), then the prefix.
 * What is none, or no beginning of a topic, is ignored. */
void wishes_hear(struct wishes *wishes, const void *data, size_t size, uint64_t now_ms);

/* The XPUB is gone, and who was subscribed with it. */
void wishes_clear(struct wishes *wishes, uint64_t now_ms);

/* Returns whether publishers are to be told anew; counts as done. */
bool wishes_changed(struct wishes *wishes, uint64_t now_ms);

/* Appends what they are to be told, an array of prefixes as docs/protocol.md has it for WANTED.
 * whether: only whether anything is wanted: [""] or []. */
void wishes_pack(const struct wishes *wishes, bool whether, struct packet *packet);

#endif
