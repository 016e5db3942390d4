#include "nearest.h"

#include <string.h>

#define NAME_BYTES_MAX 128u /* of longer ones nobody mistypes just a letter */

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Edits are a letter more, less, other, or two neighbours swapped. Three rows of the
 * usual table are enough: the swap looks two back. */
static size_t
distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
	size_t rows[3][NAME_BYTES_MAX + 1];
	size_t *before = rows[0], *above = rows[1], *row = rows[2];

	for (size_t j = 0; j <= b_size; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_size; i++) {
		size_t *oldest = before;

		before = above;
		above = row;
		row = oldest;
		row[0] = i;
		for (size_t j = 1; j <= b_size; j++) {
			row[j] = above[j - 1] + (a[i - 1] != b[j - 1]);
			row[j] = least(row[j], least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				row[j] = least(row[j], before[j - 2] + 1);
		}
	}
	return row[b_size];
}

const char *
nearest_name(const char *text, const char *const *names, size_t count)
{
	size_t size = strlen(text);
	size_t best = (size / 3 > 2 ? size / 3 : 2) + 1;
	const char *nearest = NULL;

	if (size > NAME_BYTES_MAX)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t name_size = strlen(names[i]);
		size_t edits;

		if (name_size > NAME_BYTES_MAX)
			continue;
		edits = distance(text, size, names[i], name_size);
		/* Not what shares no letter: of "ab", "xy" is two edits away too. */
		if (edits < best && edits < (size > name_size ? size : name_size)) {
			best = edits;
			nearest = names[i];
		}
	}
	return nearest;
}
