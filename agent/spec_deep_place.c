/* Where what `deep_agent` stands for was given (spec_deep.c), for who made a mistake there. */
#include <stdlib.h>
#include <string.h>

#include "loader.h"
#include "registry.h"

#define KEY "deep_agent"

/* The key of parts that within, behind "/deep_agent", begins with; NULL: none. */
static const char *
part_at(const struct value *parts, const char *within)
{
	size_t i, size;

	for (i = 0; i < value_size(parts); i++) {
		const char *key = value_text(parts->pairs[i].key);

		size = strlen(key);
		if (size > 0 && strncmp(within, key, size) == 0 &&
		    (within[size] == '/' || within[size] == '\0'))
			return key;
	}
	return value_has(parts, "") && strncmp(within, "/middleware/", 12) == 0 ? ""
										: NULL;
}

/* Whether place is that of an entry of a list of middleware, of at or of the agent: its settings are below its name. */
static bool
is_entry(struct arena *arena, const char *place, const char *at)
{
	const char *own = arena_printf(arena, "%s/middleware/", at);

	return strncmp(place, own, strlen(own)) == 0 ||
	       strncmp(place, "/middleware/", 12) == 0;
}

/* The place of a subagent's middleware; within is behind its list: "3/skills/sources/0", or "3". */
static const char *
middleware_place(struct arena *arena, const struct value *part, const char *within)
{
	const struct value *places = value_get(part, "middleware");
	const char *at = value_get_text(part, "at");
	const char *place =
	    value_text(value_at(places, (size_t)strtoul(within, NULL, 10)));

	within += strspn(within, "0123456789");
	if (place == NULL) /* behind the stack: what `subagent` adds of interrupt_on */
		place = value_get_text(part, "asks");
	if (place == NULL)
		return at;
	if (!is_entry(arena, place, at) && *within == '/' &&
	    registry_find(arena_copy(arena, within + 1, strcspn(within + 1, "/"))) !=
		NULL)
		within += 1 + strcspn(within + 1, "/");
	return arena_printf(arena, "%s%s", place, within);
}

const char *
deep_agent_place(const struct loader *loader, const char *path)
{
	const struct value *part;
	const char *key;

	if (loader->parts == NULL || strncmp(path, "/" KEY "/", sizeof KEY + 1) != 0)
		return path;
	if (strcmp(path, "/" KEY "/async_subagents") == 0)
		return "/" KEY "/subagents";
	key = part_at(loader->parts, path + sizeof KEY);
	if (key == NULL)
		return path;
	path += sizeof KEY + strlen(key);
	part = value_get(loader->parts, key);
	if (strncmp(path, "/middleware/", 12) == 0)
		return middleware_place(loader->arena, part, path + 12);
	return arena_printf(loader->arena, "%s%s", value_get_text(part, "at"), path);
}
