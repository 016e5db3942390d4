/* place: where in a text something is, for people. */
#ifndef PLACE_H
#define PLACE_H

#include <stddef.h>
#include <stdint.h>

struct place {
	uint32_t line, column; /* from 1; a column is a character */
};

/* Returns the place of text's byte at offset. */
struct place place_of(const char *text, size_t offset);

#endif
