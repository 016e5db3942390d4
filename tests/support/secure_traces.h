/* secure_traces: all that a secured fleet (secure_kit) leaves behind, for tests of what must not be in it. */
#ifndef SECURE_TRACES_H
#define SECURE_TRACES_H

#include "secure_kit.h"

/* Returns every key and value in Redis, as Redis gives them out: in its files they may be packed. */
const char *secure_all_of_redis(struct secure_kit *secure);

/* Has Redis write its files anew, and waits until it has. */
void secure_rewrite_files(struct secure_kit *secure);

/* Calls look with each file in the kit's folder: Redis' files and everybody's logs lie there, and what the
 * kit was given, keys and all. */
void secure_look_in_files(struct secure_kit *secure,
    void (*look)(void *arg, const char *path, const char *data, size_t size), void *arg);

#endif
