#include "azure.h"

#include <ctype.h>
#include <string.h>

#define COUNTS_SINCE "2024-09-01" /* versions begin with their day */

/* Returns how many bytes of text are left without the slashes at its end. */
static size_t
trimmed(const char *text, size_t size)
{
	while (size > 0 && text[size - 1] == '/')
		size--;
	return size;
}

/* Returns how many bytes of text are left without end, and the slashes before it; size: it does not end so. */
static size_t
without_end(const char *text, size_t size, const char *end)
{
	size_t end_size = strlen(end);

	if (size < end_size || memcmp(text + size - end_size, end, end_size) != 0)
		return size;
	return trimmed(text, size - end_size);
}

bool
azure_is_v1(const char *given)
{
	size_t size = trimmed(given, strlen(given));

	return without_end(given, size, "/openai/v1") < size;
}

const char *
azure_resource(struct arena *arena, const char *given)
{
	size_t size = trimmed(given, strlen(given));

	size = without_end(given, size, "/openai/v1");
	size = without_end(given, size, "/openai");
	if (strpbrk(given, "?#") != NULL || strstr(given, "/deployments") != NULL)
		return NULL;
	return arena_copy(arena, given, size);
}

/* As a piece of a path, or of a query. */
static const char *
escaped(struct arena *arena, const char *text)
{
	static const char digits[] = "0123456789ABCDEF";
	char *out = arena_alloc(arena, 3 * strlen(text) + 1), *at = out;

	for (; *text != '\0'; text++) {
		unsigned char byte = (unsigned char)*text;

		if (isalnum(byte) || strchr("-._~", byte) != NULL) {
			*at++ = (char)byte;
			continue;
		}
		*at++ = '%';
		*at++ = digits[byte >> 4];
		*at++ = digits[byte & 15];
	}
	*at = '\0';
	return out;
}

const char *
azure_url(struct arena *arena, const struct endpoint *endpoint, const char *model,
    const char *path)
{
	const char *version = endpoint->api_version;

	if (version == NULL)
		return arena_printf(arena, "%s/openai/v1%s", endpoint->url, path);
	version = escaped(arena, version);
	if (strcmp(path, "/responses") == 0) /* the model is in the body */
		return arena_printf(
		    arena, "%s/openai%s?api-version=%s", endpoint->url, path, version);
	return arena_printf(arena, "%s/openai/deployments/%s%s?api-version=%s",
	    endpoint->url, escaped(arena, model), path, version);
}

const struct value *
azure_settings(
    struct arena *arena, const struct endpoint *endpoint, const struct value *settings)
{
	const char *version = endpoint->api_version;

	if (version == NULL || strcmp(version, COUNTS_SINCE) >= 0 ||
	    !value_is_nil(value_get(settings, "stream_usage")))
		return settings;
	return value_map_with(arena, settings, "stream_usage", value_bool(false));
}
