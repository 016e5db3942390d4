/* What a YAML file means is JSON that YAML reads back, and each value has a place. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "yaml_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Infinities and NaN become null in JSON. */
static bool
is_finite(const struct value *value)
{
	size_t i;

	if (value->type == VALUE_FLOAT)
		return isfinite(value->real);
	if (value->type == VALUE_ARRAY)
		for (i = 0; i < value->size; i++)
			if (!is_finite(value->items[i]))
				return false;
	if (value->type == VALUE_MAP)
		for (i = 0; i < value->size; i++)
			if (!is_finite(value->pairs[i].value))
				return false;
	return true;
}

static void
check_json(struct arena *arena, const struct value *root)
{
	const char *text = json_text(arena, root), *error;
	const struct value *again = json_parse(arena, text, strlen(text), &error);

	if (again == NULL || (is_finite(root) && !value_equal(again, root)))
		abort();
}

static void
check_places(const struct yaml *yaml, struct arena *arena, size_t index)
{
	if (strncmp(yaml_place(yaml, arena, index, "/a/0/b"), "fuzz:", 5) != 0 ||
	    strncmp(yaml_key_place(yaml, arena, index, "/a"), "fuzz:", 5) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	const char *error = NULL;
	struct yaml *yaml = yaml_parse(arena, "fuzz", (const char *)data, size, &error);
	size_t i;

	if (yaml == NULL && strncmp(error, "fuzz:", 5) != 0)
		abort();
	for (i = 0; yaml != NULL && i < yaml_count(yaml); i++) {
		check_json(arena, yaml_root(yaml, i));
		check_places(yaml, arena, i);
	}
	yaml_destroy(&yaml);
	arena_destroy(&arena);
	return 0;
}
