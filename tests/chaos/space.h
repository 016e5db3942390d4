/* space: a network namespace that can be cut off, and a disk that can be full. Both need
 * rights that not every machine gives; then they say so, and are not there. What they make
 * goes with this process: it lives in a mount namespace of its own. */
#ifndef SPACE_H
#define SPACE_H

#include <stdbool.h>

#include "arena.h"
#include "schedule.h"

/* To be called first, before any thread. Returns NULL, or why there is neither of the two. */
const char *space_begin(void);

struct space {
	const char *name;
	const char *address; /* of this side, seen from there */
};

/* Returns NULL, or why there is none; in arena. */
const char *space_open(struct space *space, struct arena *arena);
/* kind: one of the partitions. */
void space_cut(const struct space *space, enum fault_kind kind);
void space_heal(const struct space *space);

/* Mounts an empty disk at path. Returns NULL, or why not. */
const char *disk_open(const char *path);
/* No byte more goes on it; all of it is there again. */
void disk_fill(const char *path);
void disk_free(const char *path);

#endif
