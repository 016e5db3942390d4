/* repeated: long texts for tests. */
#ifndef REPEATED_H
#define REPEATED_H

#include <stddef.h>

#include "arena.h"

/* Returns text, count times, lent until the arena goes. */
const char *repeated(struct arena *arena, const char *text, size_t count);

#endif
