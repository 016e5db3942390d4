/* retention: threads whose time is over. */
#ifndef RETENTION_H
#define RETENTION_H

#include "coordinator.h"

/* What Redis is told of threads whose submissions, or whoever opened them, say nothing of it, by --thread-ttl-ms and
 * --thread-ttl-action; NULL: they are kept for ever. */
const struct value *retention_usual(
    const struct coordinator *coordinator, struct arena *arena);

/* Deletes or prunes some of what is due in shard, and finishes deletions that somebody began, by store. */
void retention_sweep(
    const struct coordinator *coordinator, struct store *store, unsigned shard);

#endif
