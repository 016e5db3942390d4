/* vector: a text's embedding, as it travels and is kept: the bytes of 32-bit floats (IEEE 754),
 * the lowest byte first. */
#ifndef VECTOR_H
#define VECTOR_H

#include "value.h"

/* Returns numbers, an array of finite ones, as a vector in arena; NULL for anything else, also for none
 * and for more than VECTOR_NUMBERS_MAX. */
const struct value *vector_new(struct arena *arena, const struct value *numbers);

/* Returns size bytes, which stay the caller's and are to last as long as arena, as a vector; NULL unless they are a vector's. */
const struct value *vector_checked(struct arena *arena, const void *bytes, size_t size);

/* Whether value is such bytes. */
bool vector_is(const struct value *value);

/* Returns how many numbers vector has. */
size_t vector_numbers(const struct value *vector);

/* Returns how alike two vectors are: the cosine of the angle between them, -1 to 1. 0 when their sizes
 * differ, or one of them is all zeros. */
double vector_likeness(const struct value *a, const struct value *b);

#endif
