/* reader: a bounded cursor over msgpack bytes from outside.
 *
 * Reads one token at a time and allocates nothing. It keeps count of the values that open
 * arrays and maps still owe: each needs a byte at least, so a count that the rest cannot
 * hold is refused when it is read, before anybody reserves room for it. Errors are
 * latched: after the first one every token is nil, and the caller asks once. */
#ifndef READER_H
#define READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "value.h"

struct reader {
	const uint8_t *at, *end;
	size_t owed;       /* values announced and not yet read */
	const char *error; /* the first failure, lent for ever; NULL while all is well */
};

struct token {
	enum value_type type;
	uint32_t
	    size; /* bytes of a string or binary, items of an array, pairs of a map */
	union {
		bool boolean;
		int64_t integer;
		double real;
		const uint8_t *bytes; /* of a string or binary, not checked to be UTF-8 */
	};
};

/* Starts reading one value that should fill the size bytes at data, which the reader
 * keeps. */
void reader_start(struct reader *reader, const void *data, size_t size);

/* Latches error unless one is latched. */
void reader_fail(struct reader *reader, const char *error);

/* Returns the next token; its bytes are lent by data. */
struct token reader_next(struct reader *reader);

/* Skips one value nested at most depth deep. */
void reader_skip(struct reader *reader, unsigned depth);

/* Returns 0 when one whole value was read with nothing behind it, else -1 and latches
 * why.
 */
int reader_end(struct reader *reader);

#endif
