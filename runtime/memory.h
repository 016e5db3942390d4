/* memory: malloc for what outlives a job (an arena's does not). Out of memory ends the
 * process: the supervisor starts us again, and nothing that matters is only in memory. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stddef.h>

/* Returns new, zeroed; free() it. */
void *xcalloc(size_t count, size_t size);

/* As reallocarray; what is new is not zeroed. */
void *xreallocarray(void *memory, size_t count, size_t size);

/* Returns new; free() it. NULL makes NULL. */
char *xstrdup(const char *text);

#endif
