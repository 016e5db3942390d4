/* `middleware`: the list of uses, in order. */
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "loader.h"
#include "pointer.h"
#include "registry.h"

static int
refuse_entry(struct loader *loader, const char *path, const struct value *entry)
{
	if (value_is(entry, VALUE_MAP) && entry->size > 1)
		return loader_fail(loader, path,
		    "must be one middleware, not %u: give each an entry of its own and "
		    "indent its settings below its name",
		    entry->size);
	return loader_fail(loader, path,
	    "must be a middleware's name or a map of its name to its settings, not %s",
	    value_is(entry, VALUE_MAP) ? "an empty map" : value_article_name(entry));
}

/* Two of one type are fine when their settings give them names of their own, as those of
 * pii and tool_call_limit do. */
static int
refuse_twice(struct loader *loader, const char *path, const char *name, const char *first)
{
	/* Where first is in an agent that is part of another one, whose list may be made of several, nobody wrote. */
	return loader_fail(loader, path,
	    "the middleware \"%s\" is there already%s%s: remove one of the two", name,
	    loader->depth == 0 ? ", as " : "", loader->depth == 0 ? first : "");
}

/* The field that says in which worker a tool of use keeps something, or NULL. */
static const char *
pin_of(const struct middleware_use *use)
{
	const char *pin = NULL;
	size_t i;

	for (i = 0; i < value_size(use->tools) && pin == NULL; i++)
		pin = value_get_text(value_at(use->tools, i), "pin");
	return pin;
}

/* Two that keep something in one worker each would write over what the other has noted of it. */
static int
check_pins(struct loader *loader, const char *path, const struct middleware_use *use,
    const struct middleware_use *before)
{
	const char *pin = pin_of(use), *other = pin_of(before);

	if (pin == NULL || other == NULL || strcmp(pin, other) != 0)
		return 0;
	return loader_fail(loader, path,
	    "the middleware \"%s\" keeps the same in a worker as \"%s\": remove one of "
	    "the two",
	    use->name, before->name);
}

static const struct middleware_use *
load_use(struct loader *loader, const char *path, const char *name,
    const struct value *settings)
{
	const struct use_agent agent = { .model = loader->spec->model,
		.model_profile = loader->spec->model_profile,
		.source = loader->source };
	struct middleware_use *use;
	const char *within = "", *error = "";

	use =
	    registry_use_of(loader->arena, &agent, NULL, name, settings, &within, &error);
	if (use == NULL)
		loader_fail(loader, arena_printf(loader->arena, "%s%s", path, within),
		    "%s", error);
	return use;
}

/* Where the settings of entry are, which is at path. */
static const char *
settings_path(struct arena *arena, const char *path, const struct value *entry)
{
	/* What deep_agent stands for has its settings there. */
	return value_is(entry, VALUE_MAP) && strncmp(path, "/middleware/", 12) == 0
		   ? pointer_add(arena, path, entry->pairs[0].key->text)
		   : path;
}

static const struct middleware_use *
load_entry(struct loader *loader, const char *path, const struct value *entry)
{
	if (value_is(entry, VALUE_STR))
		return load_use(loader, path, entry->text, NULL);
	if (value_is(entry, VALUE_MAP) && entry->size == 1)
		return load_use(loader, settings_path(loader->arena, path, entry),
		    entry->pairs[0].key->text, entry->pairs[0].value);
	refuse_entry(loader, path, entry);
	return NULL;
}

static void
see(struct value_fields *seen, const struct value *names)
{
	size_t i;

	for (i = 0; i < value_size(names); i++)
		value_fields_set(seen, value_text(value_at(names, i)), value_nil());
}

/* What the worker slices of all uses read, each once; in_tools: those in tool workers. */
static const struct value *
all_reads(struct arena *arena, const struct spec *spec, bool in_tools)
{
	struct value_list list = { .arena = arena };
	struct value_fields seen = { .arena = arena };
	const struct value *names;
	size_t i;

	for (i = 0; i < spec->use_count; i++) {
		see(&seen, spec->uses[i]->reads);
		if (in_tools)
			see(&seen, spec->uses[i]->tool_reads);
	}
	names = value_fields_end(&seen);
	for (i = 0; i < names->size; i++)
		value_list_add(&list, names->pairs[i].key);
	return value_list_end(&list);
}

/* --- agents that are part of this one -------------------------------------------------- */

/* Where within of source, an agent of loader's, stands: what it has from loader's agent is there. */
static const char *
place_within(const struct loader *loader, const struct value *source, const char *within)
{
	const char *key = *within == '\0' ? ""
					  : arena_copy(loader->arena, within + 1,
						strcspn(within + 1, "/"));
	const struct value *given = value_get(source, key);

	return given != NULL && given == value_get(loader->source, key) ? within : NULL;
}

#define DEEP "/deep_agent" /* spec_deep_place.c knows where what stands below was given */
#define INTERRUPT_ON "interrupt_on"
#define ASKING "/human_in_the_loop/interrupt_on" /* what stands for it */

static bool
ends_with(const char *text, const char *ending)
{
	size_t size = strlen(text), length = strlen(ending);

	return size >= length && strcmp(text + size - length, ending) == 0;
}

/* Where within of a child's source was given, behind the path of its middleware's settings. */
static const char *
place_given(struct arena *arena, const struct value *child, const char *within)
{
	const char *rest = within, *place;
	const struct value *places;

	rest += *rest == '/' ? 1 + strcspn(rest + 1, "/") : 0;
	places = *within == '\0'
		     ? NULL
		     : value_get(value_get(child, "places"),
			   arena_copy(arena, within + 1, (size_t)(rest - within) - 1));
	if (value_is(places, VALUE_ARRAY) && *rest == '/') {
		places = value_at(places, (size_t)strtoul(rest + 1, NULL, 10));
		rest += 1 + strcspn(rest + 1, "/");
	}
	place = value_text(places);
	if (place == NULL)
		return arena_printf(
		    arena, "%s%s", value_get_text(child, "place"), within);
	if (ends_with(place, INTERRUPT_ON) && strncmp(rest, ASKING, strlen(ASKING)) == 0)
		rest += strlen(ASKING);
	return arena_printf(arena, "%s%s", place, rest);
}

/* child is as configure left it; path is that of its middleware's settings. */
static const struct value *
load_child(
    struct loader *loader, const char *path, const char *name, const struct value *child)
{
	struct arena *arena = loader->arena;
	const struct value *source = value_get(child, "source");
	const char *within = "", *error = "", *place;
	const struct spec *spec;

	if (source == NULL)
		return value_map(arena, "agent", value_get(child, "agent"), "mode",
		    value_get(child, "mode"), NULL);
	spec = loader_part(loader, source, name, &within, &error);
	if (spec != NULL)
		return value_map(arena, "name", value_str(arena, spec->name), "version",
		    value_str(arena, spec->version), "source", spec->source, "mode",
		    value_get(child, "mode"), NULL);
	place = place_within(loader, source, within);
	if (place == NULL)
		place = arena_printf(arena, "%s%s", path,
		    strncmp(path, DEEP, strlen(DEEP)) != 0
			? place_given(arena, child, within)
			: arena_printf(
			      arena, "%s%s", value_get_text(child, "place"), within));
	loader_fail(loader, place, "%s", error);
	return NULL;
}

static int
load_children(struct loader *loader, const char *path, const struct middleware_use *use,
    struct value_fields *children)
{
	struct value_fields loaded = { .arena = loader->arena };
	const struct value *child;
	size_t i;

	for (i = 0; i < value_size(use->children); i++) {
		const char *name = value_text(use->children->pairs[i].key);

		child = load_child(loader, path, name, use->children->pairs[i].value);
		if (child == NULL)
			return -1;
		value_fields_set(&loaded, name, child);
	}
	if (value_size(use->children) > 0)
		value_fields_set(children, use->name, value_fields_end(&loaded));
	return 0;
}

/* --- the list -------------------------------------------------------------------------- */

static const char *
place_of(const struct loader *loader, const char *path, size_t index)
{
	return loader->places != NULL ? value_text(value_at(loader->places, index))
				      : loader_item(loader->arena, path, index);
}

int
load_middleware(struct loader *loader, const char *path, const struct value *given)
{
	const struct middleware_use **uses;
	struct spec *spec = loader->spec;
	struct value_fields children = { .arena = loader->arena };
	size_t i, j;

	if (given != NULL && !value_is(given, VALUE_ARRAY))
		return loader_fail(
		    loader, path, "must be a list, not %s", value_article_name(given));
	if (value_size(given) > MIDDLEWARE_MAX)
		return loader_fail(
		    loader, path, "more than %u middleware", MIDDLEWARE_MAX);
	uses = arena_alloc(loader->arena, value_size(given) * sizeof *uses);
	for (i = 0; i < value_size(given); i++) {
		const char *at = place_of(loader, path, i);

		uses[i] = load_entry(loader, at, value_at(given, i));
		if (uses[i] == NULL)
			return -1;
		for (j = 0; j < i; j++) {
			if (strcmp(uses[j]->name, uses[i]->name) == 0)
				return refuse_twice(
				    loader, at, uses[i]->name, place_of(loader, path, j));
			if (check_pins(loader, at, uses[i], uses[j]) == -1)
				return -1;
		}
		spec->wraps_tools |= uses[i]->hooks[HOOK_WRAP_TOOL_CALL];
		if (load_children(loader,
			settings_path(loader->arena, at, value_at(given, i)), uses[i],
			&children) == -1)
			return -1;
	}
	spec->children = value_fields_end(&children);
	spec->uses = uses;
	spec->use_count = i;
	spec->reads = all_reads(loader->arena, spec, false);
	spec->tool_reads = all_reads(loader->arena, spec, true);
	return 0;
}
