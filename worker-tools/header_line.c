#include "header_line.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Framing and routing are ours: a Host of somebody else's would reach another site than the
 * address says. */
static bool
is_own(const char *name)
{
	static const char *const own[] = { "Host", "Content-Length", "Transfer-Encoding",
		"Connection", "Upgrade", "Expect", "TE", "Trailer" };
	size_t i;

	for (i = 0; i < sizeof own / sizeof own[0]; i++)
		if (strcasecmp(own[i], name) == 0)
			return true;
	return strncasecmp(name, "Proxy-", 6) == 0;
}

static bool
is_name(const char *name)
{
	const char *at;

	for (at = name; *at != '\0'; at++)
		if (!isalnum((unsigned char)*at) &&
		    strchr("!#$%&'*+-.^_`|~", *at) == NULL)
			return false;
	return *name != '\0';
}

static bool
is_value(const struct value *value)
{
	size_t i;

	for (i = 0; i < value->size; i++)
		if (iscntrl((unsigned char)value->text[i]) && value->text[i] != '\t')
			return false;
	return true;
}

const char *
header_line(struct arena *arena, const char *name, const struct value *value,
    const char **error_r)
{
	if (!is_name(name) || !is_value(value)) {
		*error_r = arena_printf(arena,
		    "header '%.100s' has a name or value that HTTP does not allow", name);
		return NULL;
	}
	if (is_own(name)) {
		*error_r = arena_printf(
		    arena, "header '%s' cannot be set here; leave it out", name);
		return NULL;
	}
	return arena_printf(arena, "%s: %s", name, value->text);
}
