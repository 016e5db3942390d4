#include "openai_url.h"

#include <string.h>

#define CHAT "/chat/completions"

const char *
openai_url_beside(struct arena *arena, const char *chat_url, const char *path)
{
	size_t size = strlen(chat_url), end = strlen(CHAT);

	if (size >= end && strcmp(chat_url + size - end, CHAT) == 0)
		size -= end;
	return arena_printf(arena, "%.*s%s", (int)size, chat_url, path);
}
