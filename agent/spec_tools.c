/* `tools`: names of what workers serve, definitions without an implementation, and tools of the
 * provider's own. Which tools an agent has, all kinds together. */
#include <string.h>

#include "bounds.h"
#include "loader.h"
#include "pointer.h"
#include "schema.h"

static const char *const keys[] = { "name", "description", "parameters", "return_direct",
	NULL };

/* --- loading ------------------------------------------------------------------------ */

static int
check_parameters(struct loader *loader, const char *path, const struct value *parameters)
{
	const struct value *type = value_get(parameters, "type");
	const char *reason;

	if (!value_is(parameters, VALUE_MAP))
		return loader_fail(loader, path, "must be a JSON Schema, not %s",
		    value_article_name(parameters));
	if (type != NULL && !value_text_is(type, "object"))
		return loader_fail(loader, pointer_add(loader->arena, path, "type"),
		    "must be \"object\": a tool takes named arguments");
	if (schema_usable(loader->arena, parameters, &reason) == -1)
		return loader_fail(loader, path, "is no usable JSON Schema: %s", reason);
	return 0;
}

static int
check_definition(struct loader *loader, const char *path, const struct value *map)
{
	const struct value *given;
	struct arena *arena = loader->arena;

	if (loader_known_keys(loader, path, map, keys, "a tool") == -1)
		return -1;
	if (!value_has(map, "name"))
		return loader_fail(loader, path, "the tool needs a name");
	if (loader_check_name(loader, pointer_add(arena, path, "name"), "the tool's name",
		value_get(map, "name"), TOOL_NAME_BYTES_MAX) == -1)
		return -1;
	given = value_get(map, "description");
	if (!value_is_nil(given) && !value_is(given, VALUE_STR))
		return loader_fail(loader, pointer_add(arena, path, "description"),
		    "must be a string, not %s", value_article_name(given));
	given = value_get(map, "return_direct");
	if (!value_is_nil(given) && !value_is(given, VALUE_BOOL))
		return loader_fail(loader, pointer_add(arena, path, "return_direct"),
		    "must be true or false, not %s", value_article_name(given));
	given = value_get(map, "parameters");
	return value_is_nil(given) ? 0
				   : check_parameters(loader,
					 pointer_add(arena, path, "parameters"), given);
}

/* Models are told of tools without arguments as well. What has no implementation says so:
 * middleware may treat it otherwise. */
static const struct value *
complete(struct arena *arena, const struct value *map)
{
	const struct value *description = value_get(map, "description");
	const struct value *parameters = value_get(map, "parameters");

	if (value_is_nil(description))
		description = value_str(arena, "");
	if (value_is_nil(parameters))
		parameters = value_map(arena, "type", value_str(arena, "object"),
		    "properties", value_empty_map(), NULL);
	map = value_map_with(arena, map, "description", description);
	map = value_map_with(arena, map, "parameters", parameters);
	return value_map_with(arena, map, "schema_only", value_bool(true));
}

bool
spec_is_provider_tool(const struct value *tool)
{
	const char *type = value_get_text(tool, "type");

	if (!value_is(tool, VALUE_MAP))
		return false;
	/* Bedrock's have no type. */
	return type != NULL ? strcmp(type, "function") != 0
			    : value_has(tool, "systemTool");
}

/* Two may be alike but for what they say: one is known by its name, or else by its place. */
static int
load_provider_tool(struct loader *loader, const char *path, const struct value *given,
    struct value_fields *tools)
{
	const struct value *name = value_get(given, "name");

	if (!value_is_nil(name) &&
	    loader_check_name(loader, pointer_add(loader->arena, path, "name"),
		"the tool's name", name, TOOL_NAME_BYTES_MAX) == -1)
		return -1;
	value_fields_set(tools, value_is_nil(name) ? path : name->text, given);
	return 0;
}

/* OpenAI's form is understood: {type: function, function: {name, ...}}, or without the inner map. */
static const struct value *
definition_in(struct loader *loader, const char **path, const struct value *given)
{
	const struct value *inner = value_get(given, "function");

	if (!value_text_is(value_get(given, "type"), "function"))
		return given;
	if (!value_is(inner, VALUE_MAP))
		return value_map_with(loader->arena, given, "type", NULL);
	*path = pointer_add(loader->arena, *path, "function");
	return inner;
}

static int
load_tool(struct loader *loader, const char *path, const struct value *given,
    struct value_fields *tools)
{
	if (value_is(given, VALUE_STR)) {
		if (loader_check_name(loader, path, "the tool's name", given,
			TOOL_NAME_BYTES_MAX) == -1)
			return -1;
		value_fields_set(tools, given->text, given);
		return 0;
	}
	if (!value_is(given, VALUE_MAP))
		return loader_fail(loader, path,
		    "must be a tool's name or its definition {name, description, "
		    "parameters}, not %s",
		    value_article_name(given));
	if (spec_is_provider_tool(given))
		return load_provider_tool(loader, path, given, tools);
	given = definition_in(loader, &path, given);
	if (check_definition(loader, path, given) == -1)
		return -1;
	value_fields_set(
	    tools, value_get_text(given, "name"), complete(loader->arena, given));
	return 0;
}

static const struct value *
values_of(struct arena *arena, struct value_fields *fields)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < fields->count; i++)
		value_list_add(&list, fields->pairs[i].value);
	return value_list_end(&list);
}

int
load_tools(struct loader *loader, const char *path, const struct value *given)
{
	struct value_fields tools = { .arena = loader->arena };
	size_t i;

	if (given != NULL && !value_is(given, VALUE_ARRAY))
		return loader_fail(
		    loader, path, "must be a list, not %s", value_article_name(given));
	if (value_size(given) > AGENT_TOOLS_MAX)
		return loader_fail(loader, path, "more than %u tools", AGENT_TOOLS_MAX);
	for (i = 0; i < value_size(given); i++) {
		if (load_tool(loader, loader_item(loader->arena, path, i),
			value_at(given, i), &tools) == -1)
			return -1;
	}
	loader->spec->tools = values_of(loader->arena, &tools);
	return 0;
}

/* --- asking ------------------------------------------------------------------------- */

/* The entry of `tools` of that name: a string or a map, or NULL. */
static const struct value *
listed(const struct spec *spec, const char *name)
{
	size_t i;

	for (i = 0; i < spec->tools->size; i++) {
		const struct value *tool = spec->tools->items[i];

		if (value_text_is(tool, name) ||
		    value_text_is(value_get(tool, "name"), name))
			return tool;
	}
	return NULL;
}

/* The definition of the last listed middleware that brings the tool, or NULL. */
static const struct value *
brought(const struct spec *spec, const char *name)
{
	const struct value *found = NULL;
	size_t i, j;

	for (i = 0; i < spec->use_count; i++) {
		const struct value *tools = spec->uses[i]->tools;

		for (j = 0; j < value_size(tools); j++) {
			if (value_text_is(value_get(value_at(tools, j), "name"), name))
				found = value_at(tools, j);
		}
	}
	return found;
}

const struct value *
spec_tool(const struct spec *spec, const struct value *catalog, const char *name)
{
	const struct value *tool = listed(spec, name);

	if (value_is(tool, VALUE_MAP))
		return tool;
	if (tool != NULL && value_has(catalog, name))
		return value_get(catalog, name);
	return brought(spec, name);
}

const struct value *
spec_served_tools(struct arena *arena, const struct spec *spec)
{
	struct value_list names = { .arena = arena };
	size_t i;

	for (i = 0; i < spec->tools->size; i++) {
		const struct value *tool = spec->tools->items[i];

		if (value_is(tool, VALUE_STR) && brought(spec, tool->text) == NULL)
			value_list_add(&names, tool);
	}
	return value_list_end(&names);
}

bool
spec_has_tool(const struct spec *spec, const char *name)
{
	return listed(spec, name) != NULL || brought(spec, name) != NULL;
}

const struct value *
spec_valid_tools(
    struct arena *arena, const struct spec *spec, const struct value *catalog)
{
	struct value_fields names = { .arena = arena };
	size_t i, j;

	for (i = 0; i < spec->use_count; i++) {
		const struct value *tools = spec->uses[i]->tools;

		for (j = 0; j < value_size(tools); j++) {
			const struct value *name = value_get(value_at(tools, j), "name");

			value_fields_set(&names, value_text(name), name);
		}
	}
	for (i = 0; i < spec->tools->size; i++) {
		const struct value *tool = spec->tools->items[i];

		if (value_is(tool, VALUE_STR) &&
		    (catalog == NULL || spec_tool(spec, catalog, tool->text) != NULL))
			value_fields_set(&names, tool->text, tool);
	}
	return values_of(arena, &names);
}

const struct value *
spec_offered_tools(
    struct arena *arena, const struct spec *spec, const struct value *catalog)
{
	struct value_fields tools = { .arena = arena };
	size_t i, j;

	for (i = 0; i < spec->use_count; i++) {
		const struct value *own = spec->uses[i]->tools;

		for (j = 0; j < value_size(own); j++)
			value_fields_set(&tools, value_get_text(value_at(own, j), "name"),
			    value_at(own, j));
	}
	for (i = 0; i < spec->tools->size; i++) {
		const struct value *tool = spec->tools->items[i];
		const char *name =
		    value_is(tool, VALUE_STR) ? tool->text : value_get_text(tool, "name");

		if (name == NULL) /* of the provider's own */
			name = loader_item(arena, "", i);
		/* NULL, for what nobody serves, leaves the tool out. */
		value_fields_set(&tools, name,
		    value_is(tool, VALUE_MAP) ? tool : spec_tool(spec, catalog, name));
	}
	return values_of(arena, &tools);
}
