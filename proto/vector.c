#include "vector.h"

#include <endian.h>
#include <math.h>
#include <string.h>

#include "bounds.h"

#define NUMBER_BYTES 4u

static void
put(char *to, float number)
{
	uint32_t bits;

	memcpy(&bits, &number, sizeof bits);
	bits = htole32(bits);
	memcpy(to, &bits, sizeof bits);
}

static float
number_at(const struct value *vector, size_t index)
{
	uint32_t bits;
	float number;

	memcpy(&bits, vector->text + index * NUMBER_BYTES, sizeof bits);
	bits = le32toh(bits);
	memcpy(&number, &bits, sizeof number);
	return number;
}

const struct value *
vector_new(struct arena *arena, const struct value *numbers)
{
	size_t size = value_size(numbers), i;
	char *bytes;

	if (!value_is(numbers, VALUE_ARRAY) || size == 0 || size > VECTOR_NUMBERS_MAX)
		return NULL;
	bytes = arena_alloc(arena, size * NUMBER_BYTES);
	for (i = 0; i < size; i++) {
		double number = value_number(value_at(numbers, i), NAN);

		if (!isfinite((float)number))
			return NULL;
		put(bytes + i * NUMBER_BYTES, (float)number);
	}
	return value_bin(arena, bytes, size * NUMBER_BYTES);
}

const struct value *
vector_checked(struct arena *arena, const void *bytes, size_t size)
{
	const struct value *vector = value_bin(arena, bytes, size);
	size_t i;

	if (!vector_is(vector))
		return NULL;
	for (i = 0; i < vector_numbers(vector); i++)
		if (!isfinite(number_at(vector, i)))
			return NULL;
	return vector;
}

bool
vector_is(const struct value *value)
{
	size_t size;

	if (!value_is(value, VALUE_BIN))
		return false;
	size = value->size / NUMBER_BYTES;
	return value->size % NUMBER_BYTES == 0 && size > 0 && size <= VECTOR_NUMBERS_MAX;
}

size_t
vector_numbers(const struct value *vector)
{
	return vector->size / NUMBER_BYTES;
}

double
vector_likeness(const struct value *a, const struct value *b)
{
	double product = 0, a_square = 0, b_square = 0, likeness;
	size_t i;

	if (a->size != b->size)
		return 0;
	for (i = 0; i < a->size / NUMBER_BYTES; i++) {
		double x = number_at(a, i), y = number_at(b, i);

		product += x * y;
		a_square += x * x;
		b_square += y * y;
	}
	likeness = product / sqrt(a_square * b_square);
	return isfinite(likeness) ? likeness : 0;
}
