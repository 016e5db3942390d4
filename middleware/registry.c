#include "registry.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "declaration.h"
#include "nearest.h"

#define PLUGIN_MIDDLEWARE_MAX 256u

#define BUILTIN(name) extern const struct middleware middleware_##name;
#include "builtins.def"
#undef BUILTIN

static const struct middleware *const builtins[] = {
#define BUILTIN(name) &middleware_##name,
#include "builtins.def"
#undef BUILTIN
};

#define BUILTIN_COUNT (sizeof builtins / sizeof *builtins)

/* What this process knows, for as long as it lives. Filled at first use and by
 * registry_load, at start-up, before there is a second one to read it. */
static struct {
	const struct middleware **known;
	const char **names; /* of known, NULL-ended */
	size_t count;
	struct arena *arena; /* reasons lent for ever */
} registry;

static void
reserve(size_t more)
{
	size_t count = registry.count + more;

	registry.known =
	    reallocarray(registry.known, count, sizeof(const struct middleware *));
	registry.names = reallocarray(registry.names, count + 1, sizeof(const char *));
	if (registry.known == NULL || registry.names == NULL)
		arena_exhausted();
}

static void
add(const struct middleware *const *middleware, size_t count)
{
	size_t i;

	reserve(count);
	for (i = 0; i < count; i++) {
		registry.known[registry.count] = middleware[i];
		registry.names[registry.count++] = middleware[i]->name;
	}
	registry.names[registry.count] = NULL;
}

static void
start(void)
{
	if (registry.arena != NULL)
		return;
	registry.arena = arena_new();
	add(builtins, BUILTIN_COUNT);
}

/* --- shared objects ----------------------------------------------------------------- */

/* The reason why the index-th of middleware cannot be taken in, or NULL. */
static const char *
flaw_of(const struct middleware *const *middleware, size_t index)
{
	const struct middleware *one = middleware[index];
	const char *flaw;
	size_t i;

	/* Before anything else: another ABI is another struct. */
	if (one->abi != MIDDLEWARE_ABI)
		return arena_printf(registry.arena,
		    "is made for middleware ABI %u, this is ABI %u", one->abi,
		    MIDDLEWARE_ABI);
	flaw = declaration_flaw(registry.arena, one);
	if (flaw != NULL)
		return one->name == NULL
			   ? flaw
			   : arena_printf(registry.arena, "%s: %s", one->name, flaw);
	if (registry_find(one->name) != NULL)
		return arena_printf(
		    registry.arena, "the name \"%s\" is taken", one->name);
	for (i = 0; i < index; i++) {
		if (strcmp(middleware[i]->name, one->name) == 0)
			return arena_printf(
			    registry.arena, "brings \"%s\" twice", one->name);
	}
	return NULL;
}

static bool
is_loaded(const struct middleware *const *middleware)
{
	return middleware[0] != NULL && middleware[0]->abi == MIDDLEWARE_ABI &&
	       registry_find(middleware[0]->name) == middleware[0];
}

/* Takes in all of middleware or none. Returns NULL, or the reason. */
static const char *
take_in(const struct middleware *const *middleware)
{
	size_t count;

	for (count = 0; middleware[count] != NULL; count++) {
		const char *flaw = flaw_of(middleware, count);

		if (flaw != NULL)
			return flaw;
		if (count >= PLUGIN_MIDDLEWARE_MAX)
			return "flotilla_middleware has no end";
	}
	if (count == 0)
		return "flotilla_middleware is empty";
	add(middleware, count);
	return NULL;
}

int
registry_load(const char *path, const char **error_r)
{
	const struct middleware *const *middleware;
	const char *reason;
	void *object;

	start();
	object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (object == NULL) {
		*error_r = arena_strdup(registry.arena, dlerror());
		return -1;
	}
	middleware = dlsym(object, "flotilla_middleware");
	if (middleware == NULL)
		reason = "has no symbol flotilla_middleware";
	else if (is_loaded(middleware))
		return 0; /* the same object by another path */
	else
		reason = take_in(middleware);
	if (reason == NULL)
		return 0;
	*error_r = arena_printf(registry.arena, "%s: %s", path, reason);
	dlclose(object);
	return -1;
}

/* --- look-ups ----------------------------------------------------------------------- */

const struct middleware *
registry_find(const char *name)
{
	size_t i;

	start();
	for (i = 0; name != NULL && i < registry.count; i++) {
		if (strcmp(registry.names[i], name) == 0)
			return registry.known[i];
	}
	return NULL;
}

const char *const *
registry_names(void)
{
	start();
	return registry.names;
}
