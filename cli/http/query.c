#include "query.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "arena.h"

static char
digit(char text)
{
	return (char)(isdigit((unsigned char)text)
			  ? text - '0'
			  : tolower((unsigned char)text) - 'a' + 10);
}

/* Decodes size bytes of text to at, which has room for as many. Returns where they end. What is no %XX stands for itself. */
static char *
decode(char *at, const char *text, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++) {
		bool is_coded = text[i] == '%' && i + 2 < size &&
				isxdigit((unsigned char)text[i + 1]) &&
				isxdigit((unsigned char)text[i + 2]);

		if (is_coded) {
			*at++ = (char)(digit(text[i + 1]) * 16 + digit(text[i + 2]));
			i += 2;
		} else {
			*at++ = (char)(text[i] == '+' ? ' ' : text[i]);
		}
	}
	return at;
}

/* One buffer holds all values, which are shorter than the query: it may name one very often. */
const char *
query_find(struct arena *arena, const char *query, const char *name)
{
	size_t size = query != NULL ? strlen(query) : 0, length = strlen(name);
	char *values = arena_alloc(arena, size + 1), *end = values;
	char *word = arena_alloc(arena, size + 1);
	bool is_found = false;

	for (; query != NULL && *query != '\0'; query += *query == '&') {
		size_t whole = strcspn(query, "&"), key = strcspn(query, "&=");

		if ((size_t)(decode(word, query, key) - word) == length &&
		    memcmp(word, name, length) == 0) {
			if (is_found)
				*end++ = ',';
			if (key < whole)
				end = decode(end, query + key + 1, whole - key - 1);
			is_found = true;
		}
		query += whole;
	}
	*end = '\0';
	return is_found ? values : NULL;
}
