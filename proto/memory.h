/* memory: malloc that does not fail: out of memory ends the process, a supervisor starts
 * it again. For what outlives a job; what belongs to one job lives in an arena. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stddef.h>

/* Each returns new memory (free it), zeroed but for xreallocarray's growth. */
void *xcalloc(size_t count, size_t size);
void *xreallocarray(void *memory, size_t count, size_t size);
char *xstrdup(const char *text); /* NULL for NULL */

#endif
