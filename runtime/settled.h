/* settled: ids of calls that ended lately, so that a late copy of one of their messages
 * is known for what it is. Bounded in number and time; the oldest are forgotten first. */
#ifndef SETTLED_H
#define SETTLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct settled;

/* Returns new, empty, for at most max ids, each kept for keep_ms. */
struct settled *settled_new(uint64_t seed, size_t max, uint64_t keep_ms);
void settled_destroy(struct settled **settled_p); /* NULL is fine */

/* Notes id; again: its time begins anew. */
void settled_add(struct settled *settled, const char *id, uint64_t now_ms);

/* The same, with the epoch of who settled it. */
void settled_add_by(
    struct settled *settled, const char *id, uint64_t epoch, uint64_t now_ms);

/* Notes id until then, or longer: those that were noted before it are forgotten first. */
void settled_add_until(struct settled *settled, const char *id, uint64_t until_ms);

/* True when id was noted by a later epoch than this, and somebody has not asked this for patience_ms
 * already: the first who does begins that time. */
bool settled_refuses(struct settled *settled, const char *id, uint64_t epoch,
    uint64_t now_ms, uint64_t patience_ms);

/* True when id was noted and not forgotten. */
bool settled_has(const struct settled *settled, const char *id);

/* Forgets id: it lives again. */
void settled_remove(struct settled *settled, const char *id);

/* Forgets what is too old. */
void settled_expire(struct settled *settled, uint64_t now_ms);

#endif
