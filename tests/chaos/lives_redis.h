/* lives_redis: what Redis has of a thread and its run, by their names. */
#ifndef LIVES_REDIS_H
#define LIVES_REDIS_H

#include "arena.h"
#include "redis.h"

/* Whether a submission of run is in the inbox, or that is not known. */
bool lives_redis_waits(struct redis *redis, const char *run);

/* What there is of a deleted thread whose only run was run: a key, or a key with it as a member; NULL: nothing. But that a run of
 * that id was deleted lately may be known. */
const char *lives_redis_find(
    struct redis *redis, struct arena *arena, const char *thread, const char *run);

#endif
