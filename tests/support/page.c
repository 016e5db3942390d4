#include "page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES_MAX (1u << 18)

_Noreturn static void
fail(const char *path, const char *why)
{
	fprintf(stderr, "%s: %s\n", path, why);
	abort();
}

const char *
page_read(struct arena *arena, const char *path)
{
	char *text = arena_alloc(arena, PAGE_BYTES_MAX);
	FILE *file = fopen(path, "re");
	size_t size;

	if (file == NULL)
		fail(path, "cannot be opened");
	size = fread(text, 1, PAGE_BYTES_MAX, file);
	fclose(file);
	if (size == PAGE_BYTES_MAX)
		fail(path, "is longer than a page may be");
	text[size] = '\0';
	return text;
}

const char *
page_block(struct arena *arena, const char **at_p, const char *language)
{
	const char *fence = arena_printf(arena, "\n```%s\n", language);
	const char *begin = strstr(*at_p, fence), *end;

	if (begin == NULL)
		return NULL;
	begin += strlen(fence);
	end = strstr(begin - 1, "\n```");
	if (end == NULL)
		fail(language, "a block of it does not end");
	*at_p = end + 1;
	return arena_copy(arena, begin, (size_t)(end + 1 - begin));
}
