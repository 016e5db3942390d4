#include "memory.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"

void *
xcalloc(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (memory == NULL)
		fatal("calloc %zu * %zu", count, size);
	return memory;
}

void *
xreallocarray(void *memory, size_t count, size_t size)
{
	void *moved = reallocarray(memory, count, size);

	if (moved == NULL)
		fatal("reallocarray %zu * %zu", count, size);
	return moved;
}

char *
xstrdup(const char *text)
{
	char *copy;

	if (text == NULL)
		return NULL;
	copy = strdup(text);
	if (copy == NULL)
		fatal("strdup");
	return copy;
}
