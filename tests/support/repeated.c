#include "repeated.h"

#include <string.h>

const char *
repeated(struct arena *arena, const char *text, size_t count)
{
	size_t size = strlen(text), i;
	char *all = arena_alloc(arena, count * size + 1);

	for (i = 0; i < count; i++)
		memcpy(all + i * size, text, size);
	return all;
}
