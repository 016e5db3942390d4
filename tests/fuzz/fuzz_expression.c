/* An expression has a value that is an expression of that value, or a fault. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../worker-tools/expression.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	const struct fault *fault = NULL;
	const char *value, *again;

	value = expression_value(arena, arena_copy(arena, data, size), &fault);
	if ((value == NULL) == (fault == NULL))
		abort();
	if (value != NULL) {
		again = expression_value(arena, value, &fault);
		/* 9223372036854775808, without its sign, is no 64-bit number. */
		if (again == NULL || (strcmp(again, value) != 0 &&
					 strcmp(value, "-9223372036854775808") != 0))
			abort();
	}
	arena_destroy(&arena);
	return 0;
}
