/* shards: a fiber for each shard: renews our lease where we hold runs, hears who wants a
 * run cancelled, and sweeps for threads that somebody should claim. Nothing else: a lease must not
 * wait (chores.h has the rest). */
#ifndef SHARDS_H
#define SHARDS_H

#include <stdbool.h>
#include <stddef.h>

struct coordinator;
struct shards;

struct shards *shards_new(struct coordinator *coordinator);
/* Ends the fibers; the loop must run until they have ended. */
void shards_stop(struct shards *shards);
/* True when Redis has done nothing in some shard for 10 s, that is, when this process is alive
 * and no use; fills text with which, for how long, and what Redis says. */
bool shards_trouble(const struct shards *shards, char *text, size_t size);
void shards_destroy(struct shards **shards_p);

#endif
