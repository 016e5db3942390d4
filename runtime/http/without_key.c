#include "without_key.h"

#include <ctype.h>
#include <string.h>

#include "value.h"

#define KEY_PREFIX_BYTES 6u /* what tells a key from a word */

/* What all keys of a kind begin with, and what is said of them, too. */
static const char *const words[] = { "bedrock-api-key-" };

/* Returns how many bytes of key tell that a word is it. */
static size_t
prefix_of(const char *key)
{
	size_t size = key == NULL ? 0 : strlen(key), prefix = KEY_PREFIX_BYTES;

	for (size_t i = 0; size > 0 && i < sizeof words / sizeof *words; i++)
		if (strncmp(key, words[i], strlen(words[i])) == 0)
			prefix += strlen(words[i]);
	return prefix < size ? prefix : size;
}

/* A key may have more characters in it than words do. */
static size_t
key_span(const char *text, const char *key)
{
	size_t span = 0;

	while (isalnum((unsigned char)text[span]) ||
	       (text[span] != '\0' && (strchr("-_*.", text[span]) != NULL ||
					  strchr(key, text[span]) != NULL)))
		span++;
	return span;
}

const char *
without_key(struct arena *arena, const char *text, const char *key)
{
	size_t prefix = prefix_of(key);
	struct packet clean = { 0 };
	const char *found, *begin;

	if (prefix == 0)
		return text;
	begin = arena_copy(arena, key, prefix);
	while ((found = strstr(text, begin)) != NULL) {
		size_t span = key_span(found, key);

		packet_append(&clean, text, (size_t)(found - text));
		packet_append(&clean, "[key]", 5);
		text = found + (span > prefix ? span : prefix);
	}
	packet_append(&clean, text, strlen(text) + 1);
	text = arena_copy(arena, clean.data, clean.size);
	packet_release(&clean);
	return text;
}
