#include "pointer.h"

#include <string.h>

const char *
pointer_add(struct arena *arena, const char *path, const char *name)
{
	char *escaped = arena_alloc(arena, 2 * strlen(name) + 1), *at = escaped;

	for (; *name != '\0'; name++) {
		if (*name == '~' || *name == '/') {
			*at++ = '~';
			*at++ = *name == '~' ? '0' : '1';
		} else {
			*at++ = *name;
		}
	}
	return arena_printf(arena, "%s/%s", path, escaped);
}

const char *
value_article_name(const struct value *value)
{
	static const char *const names[] = {
		[VALUE_NIL] = "null",
		[VALUE_BOOL] = "a boolean",
		[VALUE_INT] = "an integer",
		[VALUE_FLOAT] = "a number",
		[VALUE_STR] = "a string",
		[VALUE_BIN] = "binary data",
		[VALUE_ARRAY] = "a list",
		[VALUE_MAP] = "a map",
	};

	return names[value == NULL ? VALUE_NIL : value->type];
}
