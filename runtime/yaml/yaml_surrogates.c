#include "yaml_surrogates.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PAIR_BYTES 12u /* \ud83d\ude00 */

/* U+FFFE is no character, and libyaml takes none that is not written as an escape. */
static const char stand_in[] = "\\ufffe\\ufffe";
static const char stand_in_read[] = "\xef\xbf\xbe\xef\xbf\xbe";

struct yaml_pair {
	const char *text; /* PAIR_BYTES as they are written */
	size_t index;     /* in the text: of characters, as libyaml counts */
};

/* Returns the half that \uXXXX at text is, or 0. */
static uint32_t
half(const char *text, uint32_t first, uint32_t last)
{
	char digits[5] = { 0 };
	uint32_t code;
	size_t i;

	if (text[0] != '\\' || text[1] != 'u')
		return 0;
	for (i = 0; i < 4; i++) {
		if (!isxdigit((unsigned char)text[2 + i]))
			return 0;
		digits[i] = text[2 + i];
	}
	code = (uint32_t)strtoul(digits, NULL, 16);
	return code >= first && code <= last ? code : 0;
}

/* Returns the character of the pair at text, which has PAIR_BYTES, or 0. */
static uint32_t
pair_code(const char *text)
{
	uint32_t high = half(text, 0xd800, 0xdbff);
	uint32_t low = high == 0 ? 0 : half(text + PAIR_BYTES / 2, 0xdc00, 0xdfff);

	return low == 0 ? 0 : 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

static bool
names_stand_in(const char *text, size_t size)
{
	static const char *const ways[] = { "\\ufffe", "\\U0000fffe" };
	size_t i, way;

	for (i = 0; i < size; i++)
		for (way = 0; text[i] == '\\' && way < 2; way++)
			if (strlen(ways[way]) <= size - i &&
			    text[i + 1] == ways[way][1] &&
			    strncasecmp(text + i, ways[way], strlen(ways[way])) == 0)
				return true;
	return false;
}

/* Returns how many pairs there are, and writes them unless pairs is NULL. A backslash that
 * another escapes begins none. */
static size_t
find_pairs(const char *text, size_t size, struct yaml_pair *pairs)
{
	bool has_mark = size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;
	size_t i = has_mark ? 3 : 0, index = 0, count = 0, step;

	for (; i < size; i += step) {
		step = 1;
		if (text[i] == '\\' && size - i >= PAIR_BYTES &&
		    pair_code(text + i) != 0) {
			if (pairs != NULL)
				pairs[count] = (struct yaml_pair){ text + i, index };
			count++;
			step = PAIR_BYTES;
			index += PAIR_BYTES;
		} else if (text[i] == '\\' && i + 1 < size && text[i + 1] == '\\') {
			step = 2;
			index += 2;
		} else if (((unsigned char)text[i] & 0xc0) != 0x80) {
			index++;
		}
	}
	return count;
}

/* In the middle of a text: no NUL. */
static void
put(char *to, const char pair[PAIR_BYTES])
{
	size_t i;

	for (i = 0; i < PAIR_BYTES; i++)
		to[i] = pair[i];
}

struct yaml_surrogates
yaml_surrogates_out(struct arena *arena, const char *text, size_t size)
{
	struct yaml_surrogates surrogates = { .text = text };
	struct yaml_pair *pairs;
	char *copy;
	size_t i;

	if (names_stand_in(text, size))
		return surrogates;
	surrogates.count = find_pairs(text, size, NULL);
	if (surrogates.count == 0)
		return surrogates;
	pairs = arena_alloc(arena, surrogates.count * sizeof *pairs);
	find_pairs(text, size, pairs);
	copy = arena_copy(arena, text, size);
	for (i = 0; i < surrogates.count; i++)
		put(copy + (pairs[i].text - text), stand_in);
	surrogates.text = copy;
	surrogates.pairs = pairs;
	return surrogates;
}

/* --- and back ----------------------------------------------------------------------- */

/* Returns how often part is in text. */
static size_t
occurrences(const char *text, size_t size, const char *part, size_t part_size)
{
	const char *at = text, *end = text + size;
	size_t count = 0;

	while ((at = memmem(at, (size_t)(end - at), part, part_size)) != NULL) {
		at += part_size;
		count++;
	}
	return count;
}

/* Writes pair and returns how many bytes that are. */
static size_t
put_back(const struct yaml_pair *pair, bool is_double_quoted, char *to)
{
	uint32_t code = pair_code(pair->text);

	if (!is_double_quoted) {
		put(to, pair->text);
		return PAIR_BYTES;
	}
	to[0] = (char)(0xf0 | code >> 18);
	to[1] = (char)(0x80 | (code >> 12 & 0x3f));
	to[2] = (char)(0x80 | (code >> 6 & 0x3f));
	to[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

const char *
yaml_surrogates_back(struct yaml_surrogates *surrogates, struct arena *arena,
    const char *text, size_t *size_r, bool is_double_quoted, size_t end)
{
	const char *part = is_double_quoted ? stand_in_read : stand_in;
	size_t part_size = strlen(part), count, from = 0, to = 0;
	const struct yaml_pair *pair;
	char *back;

	while (surrogates->next < surrogates->count &&
	       surrogates->pairs[surrogates->next].index < end)
		surrogates->next++;
	count = occurrences(text, *size_r, part, part_size);
	if (count == 0 || surrogates->next < count)
		return text;
	/* The last ones before the end: before may be those of comments, as of a block's
	 * first line. */
	pair = &surrogates->pairs[surrogates->next - count];
	back = arena_alloc(arena, *size_r + 1);
	while (from < *size_r) {
		if (*size_r - from >= part_size &&
		    memcmp(text + from, part, part_size) == 0) {
			to += put_back(pair++, is_double_quoted, back + to);
			from += part_size;
		} else {
			back[to++] = text[from++];
		}
	}
	back[to] = '\0';
	*size_r = to;
	return back;
}
