#include "loader.h"

#include <stdarg.h>
#include <string.h>

#include "nearest.h"
#include "pointer.h"

int
loader_fail(struct loader *loader, const char *path, const char *format, ...)
{
	va_list args;

	if (loader->error != NULL)
		return -1;
	va_start(args, format);
	loader->error = arena_vprintf(loader->arena, format, args);
	va_end(args);
	loader->path = arena_strdup(loader->arena, path);
	return -1;
}

const char *
loader_hint(struct arena *arena, const char *given, const char *const *names)
{
	const char *near;
	size_t count = 0;

	while (names[count] != NULL)
		count++;
	near = nearest_name(given, names, count);
	return near == NULL ? "" : arena_printf(arena, "; did you mean \"%s\"?", near);
}

int
loader_known_keys(struct loader *loader, const char *path, const struct value *map,
    const char *const *names, const char *what)
{
	size_t i, j;

	for (i = 0; i < value_size(map); i++) {
		const char *key = map->pairs[i].key->text;

		for (j = 0; names[j] != NULL && strcmp(names[j], key) != 0; j++)
			;
		if (names[j] == NULL)
			return loader_fail(loader, pointer_add(loader->arena, path, key),
			    "%s has no key \"%s\"%s", what, key,
			    loader_hint(loader->arena, key, names));
	}
	return 0;
}

int
loader_check_name(struct loader *loader, const char *path, const char *what,
    const struct value *text, size_t max)
{
	uint32_t i;

	if (!value_is(text, VALUE_STR))
		return loader_fail(loader, path, "%s must be a string, not %s", what,
		    value_article_name(text));
	if (text->size == 0)
		return loader_fail(loader, path, "%s is empty", what);
	if (text->size > max)
		return loader_fail(
		    loader, path, "%s is longer than %zu bytes", what, max);
	for (i = 0; i < text->size; i++) {
		if ((unsigned char)text->text[i] < ' ' || text->text[i] == 0x7f)
			return loader_fail(
			    loader, path, "%s has a control character in it", what);
	}
	return 0;
}

const char *
loader_item(struct arena *arena, const char *path, size_t index)
{
	return arena_printf(arena, "%s/%zu", path, index);
}
