/* retention: threads whose time is over. */
#ifndef RETENTION_H
#define RETENTION_H

#include "coordinator.h"

/* What Redis is told of threads whose submissions, or whoever opened them, say nothing of it, by --thread-ttl-ms and
 * --thread-ttl-action; NULL: they are kept for ever. */
const struct value *retention_usual(
    const struct coordinator *coordinator, struct arena *arena);

/* Deletes or prunes what is due in shard, and finishes deletions that somebody began, by store: some of it, or more at once, where it
 * is known to be much. */
void retention_sweep(const struct coordinator *coordinator, struct store *store,
    unsigned shard, bool is_much);

#endif
