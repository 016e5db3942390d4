#include "yaml_breaks.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BREAKS 3u
#define CODES 0x10000u

/* Where stand-ins are taken from: characters of as many bytes, behind those that \xFF names. */
static const struct {
	const char *text;
	uint32_t first, last;
} breaks_known[BREAKS] = {
	{ "\xc2\x85", 0x100, 0x7ff },       /* NEL */
	{ "\xe2\x80\xa8", 0xe000, 0xf8ff }, /* LS; stand-ins are for private use */
	{ "\xe2\x80\xa9", 0xe000, 0xf8ff }, /* PS */
};

/* Returns the number of digits hexadecimal digits at text, or 0. */
static uint32_t
number(const char *text, size_t size, size_t digits)
{
	char copy[9] = { 0 };

	if (size < digits)
		return 0;
	memcpy(copy, text, digits);
	return strspn(copy, "0123456789abcdefABCDEF") == digits
		   ? (uint32_t)strtoul(copy, NULL, 16)
		   : 0;
}

/* Returns the character of two or three bytes that begins at text, or that an escape there names;
 * else 0. */
static uint32_t
code_at(const char *text, size_t size)
{
	const unsigned char *bytes = (const unsigned char *)text;

	if (bytes[0] == '\\' && size > 2 && (bytes[1] == 'u' || bytes[1] == 'U'))
		return number(text + 2, size - 2, bytes[1] == 'u' ? 4 : 8);
	if ((bytes[0] & 0xe0) == 0xc0 && size > 1)
		return (bytes[0] & 0x1fu) << 6 | (bytes[1] & 0x3fu);
	if ((bytes[0] & 0xf0) == 0xe0 && size > 2)
		return (bytes[0] & 0x0fu) << 12 | (bytes[1] & 0x3fu) << 6 |
		       (bytes[2] & 0x3fu);
	return 0;
}

static void
encode(uint32_t code, char to[4])
{
	size_t at = 0;

	if (code < 0x800) {
		to[at++] = (char)(0xc0 | code >> 6);
	} else {
		to[at++] = (char)(0xe0 | code >> 12);
		to[at++] = (char)(0x80 | (code >> 6 & 0x3f));
	}
	to[at++] = (char)(0x80 | (code & 0x3f));
	to[at] = '\0';
}

static void
replace(char *text, size_t size, const char *from, const char *to)
{
	const size_t bytes = strlen(from);
	char *at = text, *end = text + size;

	while ((at = memmem(at, (size_t)(end - at), from, bytes)) != NULL) {
		memcpy(at, to, bytes);
		at += bytes;
	}
}

/* Takes a character of the break's range that is not used, if there is one. */
static void
choose(bool *used, size_t i, char stand_in[4])
{
	uint32_t code = breaks_known[i].first;

	while (code <= breaks_known[i].last && used[code])
		code++;
	if (code > breaks_known[i].last)
		return;
	used[code] = true;
	encode(code, stand_in);
}

/* Returns of each character below U+10000 whether text has it. */
static bool *
used_in(struct arena *arena, const char *text, size_t size)
{
	bool *used = arena_alloc(arena, CODES * sizeof *used);
	uint32_t code;
	size_t i;

	memset(used, 0, CODES * sizeof *used);
	for (i = 0; i < size; i++) {
		code = code_at(text + i, size - i);
		if (code < CODES)
			used[code] = true;
	}
	return used;
}

struct yaml_breaks
yaml_breaks_out(struct arena *arena, const char *text, size_t size)
{
	struct yaml_breaks breaks = { .text = text };
	bool *used = NULL;
	char *copy = NULL;
	size_t i;

	for (i = 0; i < BREAKS; i++) {
		const char *known = breaks_known[i].text;

		if (memmem(text, size, known, strlen(known)) == NULL)
			continue;
		if (used == NULL) {
			used = used_in(arena, text, size);
			breaks.text = copy = arena_copy(arena, text, size);
		}
		choose(used, i, breaks.stand_ins[i]);
		if (breaks.stand_ins[i][0] != '\0')
			replace(copy, size, known, breaks.stand_ins[i]);
	}
	return breaks;
}

void
yaml_breaks_back(const struct yaml_breaks *breaks, char *text, size_t size)
{
	size_t i;

	for (i = 0; i < BREAKS; i++)
		if (breaks->stand_ins[i][0] != '\0')
			replace(text, size, breaks->stand_ins[i], breaks_known[i].text);
}
