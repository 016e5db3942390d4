#include "without_key.h"

#include <ctype.h>
#include <string.h>

#include "value.h"

#define KEY_PREFIX_BYTES 6u /* what tells a key from a word */

static size_t
key_span(const char *text)
{
	size_t span = 0;

	while (isalnum((unsigned char)text[span]) ||
	       (text[span] != '\0' && strchr("-_*.", text[span]) != NULL))
		span++;
	return span;
}

const char *
without_key(struct arena *arena, const char *text, const char *key)
{
	size_t prefix = key == NULL ? 0 : strlen(key);
	struct packet clean = { 0 };
	const char *found;

	if (prefix == 0)
		return text;
	if (prefix > KEY_PREFIX_BYTES)
		prefix = KEY_PREFIX_BYTES;
	key = arena_copy(arena, key, prefix);
	while ((found = strstr(text, key)) != NULL) {
		size_t span = key_span(found);

		packet_append(&clean, text, (size_t)(found - text));
		packet_append(&clean, "[key]", 5);
		text = found + (span > prefix ? span : prefix);
	}
	packet_append(&clean, text, strlen(text) + 1);
	text = arena_copy(arena, clean.data, clean.size);
	packet_release(&clean);
	return text;
}
