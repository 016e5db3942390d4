#include "repeated.h"

#include <string.h>

const char *
repeated(struct arena *arena, const char *text, size_t count)
{
	char *all = arena_alloc(arena, count * strlen(text) + 1), *end = all;

	while (count-- > 0)
		end = stpcpy(end, text);
	return all;
}
