#include "utf8.h"

#include <stdint.h>
#include <string.h>

#define HIGH_BITS 0x8080808080808080u

static const unsigned char replacement[] = { 0xef, 0xbf, 0xbd }; /* U+FFFD */

/* Returns the bytes of the character at at, which is not ASCII, 0 when there is none. */
static size_t
character_bytes(const uint8_t *at, size_t left)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t size, i;
	uint32_t code;

	size = at[0] < 0xc0   ? 0
	       : at[0] < 0xe0 ? 2
	       : at[0] < 0xf0 ? 3
	       : at[0] < 0xf8 ? 4
			      : 0;
	if (size == 0 || size > left)
		return 0;
	code = at[0] & (0x7fu >> size);
	for (i = 1; i < size; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3fu);
	}
	if (code < least[size] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	return size;
}

size_t
utf8_span(const char *data, size_t size)
{
	const uint8_t *text = (const uint8_t *)data;
	uint64_t word;
	size_t at = 0, step;

	while (at < size) {
		/* Most text is ASCII: eight at a time. */
		if (size - at >= sizeof word) {
			memcpy(&word, text + at, sizeof word);
			if ((word & HIGH_BITS) == 0) {
				at += sizeof word;
				continue;
			}
		}
		if (text[at] < 0x80) {
			at++;
			continue;
		}
		step = character_bytes(text + at, size - at);
		if (step == 0)
			break;
		at += step;
	}
	return at;
}

/* The last bytes are looked at twice rather than one by one: most text is short. */
static bool
is_ascii(const char *text, size_t size)
{
	uint64_t word, all = 0;
	uint32_t half;
	size_t at;

	if (size >= sizeof word) {
		for (at = 0; size - at > sizeof word; at += sizeof word) {
			memcpy(&word, text + at, sizeof word);
			all |= word;
		}
		memcpy(&word, text + size - sizeof word, sizeof word);
		all |= word;
	} else if (size >= sizeof half) {
		memcpy(&half, text, sizeof half);
		all = half;
		memcpy(&half, text + size - sizeof half, sizeof half);
		all |= half;
	} else {
		for (at = 0; at < size; at++)
			all |= (uint8_t)text[at];
	}
	return (all & HIGH_BITS) == 0;
}

bool
utf8_valid(const char *text, size_t size)
{
	return is_ascii(text, size) || utf8_span(text, size) == size;
}

size_t
utf8_prefix(const char *text, size_t size, size_t max)
{
	if (size <= max)
		return size;
	while (max > 0 && ((uint8_t)text[max] & 0xc0) == 0x80)
		max--;
	return max;
}

size_t
utf8_first(const char *text, size_t size, size_t most)
{
	size_t i;

	for (i = 0; i < size; i++)
		if (((uint8_t)text[i] & 0xc0) != 0x80 && most-- == 0)
			break;
	return i;
}

char *
utf8_repair(struct arena *arena, const char *text, size_t size, size_t *size_r)
{
	char *repaired = arena_alloc(arena, size * sizeof replacement + 1);
	size_t at = 0, out = 0, good;

	while (at < size) {
		good = utf8_span(text + at, size - at);
		memcpy(repaired + out, text + at, good);
		at += good;
		out += good;
		if (at == size)
			break;
		memcpy(repaired + out, replacement, sizeof replacement);
		at++;
		out += sizeof replacement;
	}
	*size_r = out;
	return repaired;
}

char *
utf8_clean(struct arena *arena, const char *bytes, size_t size)
{
	char *text = utf8_repair(arena, bytes, size, &size), *at;

	for (at = text; (at = memchr(at, '\0', (size_t)(text + size - at))) != NULL; at++)
		*at = ' ';
	return text;
}

const char *
utf8_shown(struct arena *arena, const char *text, size_t max)
{
	size_t size;

	/* One byte more tells whether a character is cut. */
	return utf8_repair(
	    arena, text, utf8_prefix(text, strnlen(text, max + 1), max), &size);
}
