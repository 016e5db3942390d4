/* shards: a fiber for each shard: renews our lease where we hold runs, hears who wants a
 * run cancelled, and sweeps for threads that somebody should claim. */
#ifndef SHARDS_H
#define SHARDS_H

struct coordinator;
struct shards;

struct shards *shards_new(struct coordinator *coordinator);
/* Ends the fibers; the loop must run until they have ended. */
void shards_stop(struct shards *shards);
void shards_destroy(struct shards **shards_p);

#endif
