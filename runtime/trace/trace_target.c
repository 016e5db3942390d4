#include "trace_target.h"

#include <ctype.h>
#include <sodium.h>
#include <string.h>
#include <strings.h>

#include "bounds.h"
#include "url.h"

#define PATH "/v1/traces"

int
trace_target_url(struct arena *arena, const char *endpoint, const char **url_r)
{
	size_t size = strlen(endpoint);
	const char *error;
	struct url url;

	if (size > TRACE_ENDPOINT_BYTES_MAX ||
	    endpoint[strcspn(endpoint, " \t?#")] != '\0' ||
	    url_parse(arena, endpoint, &url, &error) == -1)
		return -1;
	if ((strcmp(url.scheme, "http") != 0 && strcmp(url.scheme, "https") != 0) ||
	    *url.host == '\0' || url.user != NULL || url.password != NULL)
		return -1;
	while (size > 0 && endpoint[size - 1] == '/')
		size--;
	*url_r = arena_printf(arena, "%.*s" PATH, (int)size, endpoint);
	return 0;
}

/* --- headers -------------------------------------------------------------------------- */

static const char *
trimmed(struct arena *arena, const char *text, size_t size)
{
	while (size > 0 && isblank((unsigned char)*text)) {
		text++;
		size--;
	}
	while (size > 0 && isblank((unsigned char)text[size - 1]))
		size--;
	return arena_copy(arena, text, size);
}

/* Takes the percents out of text in place. Returns 0, or -1: a percent without its digits, or what no header may
 * hold. */
static int
decode(char *text)
{
	char *to = text;

	for (; *text != '\0'; text++, to++) {
		*to = *text;
		if (*text == '%') {
			if (sodium_hex2bin(
				(uint8_t *)to, 1, text + 1, 2, NULL, NULL, NULL) != 0)
				return -1;
			text += 2;
		}
		if ((unsigned char)*to < ' ' || *to == 0x7f)
			return -1;
	}
	*to = '\0';
	return 0;
}

static bool
is_header_name(const char *name)
{
	size_t i;

	for (i = 0; name[i] != '\0'; i++)
		if (!isalnum((unsigned char)name[i]) &&
		    strchr("!#$&'*+-.^_`|~", name[i]) == NULL)
			return false;
	return i > 0 && strcasecmp(name, "content-type") != 0 &&
	       strcasecmp(name, "content-length") != 0;
}

/* Returns the line of one entry, or NULL. */
static const char *
read_entry(struct arena *arena, const char *entry, size_t size)
{
	const char *equals = memchr(entry, '=', size), *name;
	char *value;

	if (equals == NULL)
		return NULL;
	name = trimmed(arena, entry, (size_t)(equals - entry));
	value = arena_strdup(
	    arena, trimmed(arena, equals + 1, size - (size_t)(equals + 1 - entry)));
	return is_header_name(name) && decode(value) == 0
		   ? arena_printf(arena, "%s: %s", name, value)
		   : NULL;
}

const char *
trace_target_headers(struct arena *arena, const char *text, const char *const **headers_r)
{
	const char **lines = arena_alloc(arena, (TRACE_HEADERS_MAX + 2) * sizeof *lines);
	size_t count = 0, number = 0, size;

	lines[count++] = "Content-Type: application/json";
	for (; text != NULL && *text != '\0'; text += size + (text[size] == ',')) {
		size = strcspn(text, ",");
		if (size == 0)
			continue;
		if (++number > TRACE_HEADERS_MAX)
			return arena_printf(
			    arena, "there are more than %u entries", TRACE_HEADERS_MAX);
		lines[count] = read_entry(arena, text, size);
		if (lines[count++] == NULL)
			return arena_printf(arena,
			    "entry %zu is not name=value, the value percent-encoded",
			    number);
	}
	lines[count] = NULL;
	*headers_r = lines;
	return NULL;
}
