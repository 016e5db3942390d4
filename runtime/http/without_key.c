#include "without_key.h"

#include <ctype.h>
#include <string.h>

#include "value.h"

#define KEY_PREFIX_BYTES 6u /* what tells a key from a word */
#define KEY_LONG_BYTES 8u   /* a shorter one may stand in any word */

/* What all keys of a kind begin with, and what is said of them, too. */
static const char *const words[] = { "bedrock-api-key-" };

/* Returns how many bytes of key tell that a word is it. */
static size_t
prefix_of(const char *key)
{
	size_t size = key == NULL ? 0 : strlen(key), prefix = KEY_PREFIX_BYTES;

	if (size < KEY_LONG_BYTES)
		return size;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
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

/* Returns how many bytes at found, in text, are key; 0: it is a part of a word. */
static size_t
hidden_span(const char *text, const char *found, const char *key)
{
	size_t size = strlen(key), span, prefix = prefix_of(key);

	if (size >= KEY_LONG_BYTES) {
		span = key_span(found, key);
		return span > prefix ? span : prefix;
	}
	if ((found > text && isalnum((unsigned char)found[-1])) ||
	    isalnum((unsigned char)found[size]))
		return 0;
	return size;
}

const char *
without_key(struct arena *arena, const char *text, const char *key)
{
	size_t prefix = prefix_of(key);
	struct packet clean = { 0 };
	const char *found, *begin, *rest = text;

	if (prefix == 0)
		return text;
	begin = arena_copy(arena, key, prefix);
	while ((found = strstr(rest, begin)) != NULL) {
		size_t span = hidden_span(text, found, key);

		packet_append(&clean, rest, (size_t)(found - rest));
		packet_append(&clean, span > 0 ? "[key]" : found, span > 0 ? 5 : 1);
		rest = found + (span > 0 ? span : 1);
	}
	packet_append(&clean, rest, strlen(rest) + 1);
	text = arena_copy(arena, clean.data, clean.size);
	packet_release(&clean);
	return text;
}
