/* A schema and an instance, one JSON document a line: no pair of them may crash the
 * validator, read outside, or keep it busy for long. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *line = size == 0 ? NULL : memchr(data, '\n', size);
	const struct value *schema, *instance;
	struct arena *arena;
	const char *reason = NULL;
	size_t split;

	if (line == NULL)
		return 0;
	split = (size_t)(line - data);
	arena = arena_new();
	schema = json_parse(arena, (const char *)data, split, &reason);
	instance = json_parse(arena, (const char *)line + 1, size - split - 1, &reason);
	if (schema != NULL && instance != NULL) {
		reason = NULL;
		/* Who is refused says why. */
		if (schema_usable(arena, schema, &reason) == -1 && reason == NULL)
			abort();
		reason = NULL;
		if (schema_check(arena, schema, instance, &reason) == -1 &&
		    reason == NULL)
			abort();
	}
	arena_destroy(&arena);
	return 0;
}
