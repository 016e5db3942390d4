/* heard: how much of a thread some model worker was told already, by this process: so the next run on
 * the thread need not tell it again (run_brief.c). Only a guess, and so bounded: the threads that
 * were not asked for the longest time go first. */
#ifndef HEARD_H
#define HEARD_H

#include "digest.h"

/* The first count messages of a thread. */
struct heard_part {
	size_t count;
	uint8_t digest[DIGEST_BYTES];
};

struct heard;

/* Returns new, empty, for at most max threads. */
struct heard *heard_new(size_t max, uint64_t seed);
/* NULL is fine. */
void heard_destroy(struct heard **heard_p);

/* Returns false when nothing is known of thread. */
bool heard_get(struct heard *heard, const char *thread, struct heard_part *part_r);
void heard_put(struct heard *heard, const char *thread, const struct heard_part *part);
void heard_forget(struct heard *heard, const char *thread);

size_t heard_count(const struct heard *heard);

#endif
