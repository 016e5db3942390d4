#include "memory.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"

void *
xcalloc(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (memory == NULL && count > 0 && size > 0)
		arena_exhausted();
	return memory;
}

void *
xreallocarray(void *memory, size_t count, size_t size)
{
	memory = reallocarray(memory, count, size);
	if (memory == NULL && count > 0 && size > 0)
		arena_exhausted();
	return memory;
}

char *
xstrdup(const char *text)
{
	char *copy;

	if (text == NULL)
		return NULL;
	copy = strdup(text);
	if (copy == NULL)
		arena_exhausted();
	return copy;
}
