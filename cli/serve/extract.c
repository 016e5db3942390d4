#include "extract.h"

#include <stdlib.h>
#include <string.h>

#define PATHS_MAX 10u
#define PATH_BYTES_MAX 256u

/* What of value the path names, or NULL. A path is names with dots between; behind one numbers in brackets, from the end
 * where they are negative. */
static const struct value *
follow(struct arena *arena, const struct value *value, const char *path)
{
	while (*path != '\0' && value != NULL) {
		size_t size = strcspn(path, ".[");

		if (*path == '[') {
			char *end;
			long long at = strtoll(path + 1, &end, 10);
			long long count = (long long)value_size(value);

			at = at < 0 ? at + count : at;
			if (end == path + 1 || *end != ']' ||
			    !value_is(value, VALUE_ARRAY) || at < 0 || at >= count)
				return NULL;
			value = value_at(value, (size_t)at);
			path = end + 1;
		} else {
			value = value_get(value, arena_copy(arena, path, size));
			path += size;
		}
		path += *path == '.';
	}
	return value;
}

bool
extract_read(struct call *call, const struct value **paths_r)
{
	const struct value *paths = value_get(call->body, "extract");
	bool is_good = value_is_nil(paths) ||
		       (value_is(paths, VALUE_MAP) && value_size(paths) <= PATHS_MAX);
	size_t i;

	for (i = 0; is_good && i < value_size(paths); i++) {
		const struct value *path = paths->pairs[i].value;

		is_good = value_is(path, VALUE_STR) && value_size(path) <= PATH_BYTES_MAX;
	}
	if (!is_good)
		reply_error(call, 422,
		    "extract: must be a map of at most %u names to paths, such as "
		    "values.messages[-1].content",
		    PATHS_MAX);
	*paths_r = paths;
	return is_good;
}

const struct value *
extract(struct arena *arena, const struct value *item, const struct value *paths)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(paths); i++) {
		const struct value *found =
		    follow(arena, item, value_text(paths->pairs[i].value));

		value_fields_put(
		    &fields, paths->pairs[i].key, found != NULL ? found : value_nil());
	}
	return value_fields_end(&fields);
}
