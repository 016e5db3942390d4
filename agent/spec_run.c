/* spec_run: what a spec says of how its runs go: cache, debug. */
#include <math.h>

#include "bounds.h"
#include "pointer.h"
#include "loader.h"

#define TTL_SECONDS_MAX 31536000.0 /* a year */

static int
load_ttl(struct loader *loader, const char *path, const struct value *given)
{
	double seconds = value_number(given, 0);

	if (value_is_nil(given))
		return 0;
	if (!value_is_number(given) || !(seconds >= 0.001 && seconds <= TTL_SECONDS_MAX))
		return loader_fail(loader, path,
		    "must be seconds, from 0.001 to %.0f (a year)", TTL_SECONDS_MAX);
	loader->spec->cache_ttl_ms = (int64_t)llround(seconds * 1000);
	return 0;
}

int
load_cache(struct loader *loader, const char *path, const struct value *given)
{
	static const char *const names[] = { "ttl", NULL };

	loader->spec->cache_ttl_ms = CACHE_TTL_MS_USUAL;
	if (given == NULL)
		return 0;
	if (value_is(given, VALUE_BOOL)) {
		loader->spec->caches = given->boolean;
		return 0;
	}
	if (!value_is(given, VALUE_MAP))
		return loader_fail(loader, path,
		    "must be true, or {ttl: seconds}, not %s", value_article_name(given));
	if (loader_known_keys(loader, path, given, names, "cache") == -1)
		return -1;
	loader->spec->caches = true;
	return load_ttl(
	    loader, arena_printf(loader->arena, "%s/ttl", path), value_get(given, "ttl"));
}

int
load_debug(struct loader *loader, const char *path, const struct value *given)
{
	if (given == NULL)
		return 0;
	if (!value_is(given, VALUE_BOOL))
		return loader_fail(loader, path, "must be true or false, not %s",
		    value_article_name(given));
	loader->spec->debugs = given->boolean;
	return 0;
}
