/* `response_format`: structured output. Brought to one form, {strategy, schemas,
 * handle_errors, tool_message_content?}, in which each schema has the title that is its
 * output tool's name. */
#include <stdio.h>
#include <string.h>

#include "bounds.h"
#include "loader.h"
#include "options.h"
#include "schema.h"

static const char *const keys[] = { "strategy", "schema", "schemas", "handle_errors",
	"tool_message_content", NULL };
static const char *const strategies[] = { "auto", "tool", "provider", NULL };

/* The format under construction. */
struct format {
	struct loader *loader;
	const char *path;
	const struct value *given;
	const char *strategy;
	struct value_list schemas;
};

static const char *
at(const struct format *format, const char *key)
{
	return pointer_add(format->loader->arena, format->path, key);
}

/* --- strategy and errors ------------------------------------------------------------ */

static int
load_strategy(struct format *format)
{
	const struct value *given = value_get(format->given, "strategy");
	struct loader *loader = format->loader;
	size_t i;

	format->strategy = value_is_nil(given) ? "auto" : value_text(given);
	if (format->strategy == NULL)
		return loader_fail(loader, at(format, "strategy"),
		    "must be auto, tool or provider, not %s", value_article_name(given));
	for (i = 0; strategies[i] != NULL; i++) {
		if (strcmp(strategies[i], format->strategy) == 0)
			return 0;
	}
	return loader_fail(loader, at(format, "strategy"),
	    "must be auto, tool or provider, not \"%s\"%s", format->strategy,
	    loader_hint(loader->arena, format->strategy, strategies));
}

static int
check_handle_errors(struct format *format)
{
	const struct value *given = value_get(format->given, "handle_errors");
	struct loader *loader = format->loader;
	size_t i;

	if (value_is_nil(given) || value_is(given, VALUE_BOOL) ||
	    value_is(given, VALUE_STR))
		return 0;
	if (!value_is(given, VALUE_ARRAY))
		return loader_fail(loader, at(format, "handle_errors"),
		    "must be true, false, a text for the model or a list of error types, "
		    "not %s",
		    value_article_name(given));
	for (i = 0; i < given->size; i++) {
		if (!value_is(given->items[i], VALUE_STR))
			return loader_fail(loader,
			    loader_item(loader->arena, at(format, "handle_errors"), i),
			    "must be the name of an error type, not %s",
			    value_article_name(given->items[i]));
	}
	return 0;
}

static int
check_tool_message_content(struct format *format)
{
	const struct value *given = value_get(format->given, "tool_message_content");

	if (value_is_nil(given) || value_is(given, VALUE_STR))
		return 0;
	return loader_fail(format->loader, at(format, "tool_message_content"),
	    "must be a string, not %s", value_article_name(given));
}

/* --- schemas ------------------------------------------------------------------------ */

/* A schema without title gets one from its bytes: everybody must come to the same name.
 */
static const struct value *
with_title(struct arena *arena, const struct value *schema)
{
	const struct value *frozen;
	unsigned sum = 0x811c9dc5u;
	uint32_t i;

	if (value_is(value_get(schema, "title"), VALUE_STR))
		return schema;
	frozen = value_freeze(arena, schema);
	for (i = 0; i < frozen->packed_size; i++)
		sum = (sum ^ frozen->packed[i]) * 0x01000193u;
	return value_map_with(arena, schema, "title",
	    value_printf(arena, "response_format_%04x", (sum ^ sum >> 16) & 0xffff));
}

static int
check_title(struct format *format, const char *path, const struct value *title)
{
	struct loader *loader = format->loader;
	size_t i;

	if (loader_check_name(
		loader, path, "the schema's title", title, TOOL_NAME_BYTES_MAX) == -1)
		return -1;
	for (i = 0; i < format->schemas.count; i++) {
		if (value_equal(value_get(format->schemas.items[i], "title"), title))
			return loader_fail(loader, path,
			    "two schemas have the title \"%s\": it is the name of the "
			    "output tool",
			    title->text);
	}
	if (strcmp(format->strategy, "provider") != 0 &&
	    spec_has_tool(loader->spec, title->text))
		return loader_fail(loader, path,
		    "there is a tool \"%s\": the schema needs another title",
		    title->text);
	return 0;
}

static int
add_schema(struct format *format, const char *path, const struct value *schema)
{
	struct loader *loader = format->loader;
	const struct value *type = value_get(schema, "type");
	const char *reason;

	if (!value_is(schema, VALUE_MAP))
		return loader_fail(loader, path, "must be a JSON Schema, not %s",
		    value_article_name(schema));
	if (type != NULL && !value_text_is(type, "object"))
		return loader_fail(loader, pointer_add(loader->arena, path, "type"),
		    "must be \"object\": the structured response is a map");
	if (schema_usable(loader->arena, schema, &reason) == -1)
		return loader_fail(loader, path, "is no usable JSON Schema: %s", reason);
	schema = with_title(loader->arena, schema);
	if (check_title(format, pointer_add(loader->arena, path, "title"),
		value_get(schema, "title")) == -1)
		return -1;
	value_list_add(&format->schemas, schema);
	return 0;
}

static int
add_schemas(struct format *format, const char *path, const struct value *schemas)
{
	struct loader *loader = format->loader;
	size_t i;

	if (!value_is(schemas, VALUE_ARRAY))
		return loader_fail(loader, path, "must be a list of JSON Schemas, not %s",
		    value_article_name(schemas));
	if (schemas->size == 0)
		return loader_fail(loader, path, "must have at least one schema");
	if (schemas->size > OUTPUT_SCHEMAS_MAX)
		return loader_fail(
		    loader, path, "more than %u schemas", OUTPUT_SCHEMAS_MAX);
	for (i = 0; i < schemas->size; i++) {
		if (add_schema(format, loader_item(loader->arena, path, i),
			schemas->items[i]) == -1)
			return -1;
	}
	return 0;
}

/* oneOf at the top is a union, as is a list of schemas: an output tool for each. */
static int
load_schemas(struct format *format)
{
	const struct value *schema = value_get(format->given, "schema");
	const struct value *schemas = value_get(format->given, "schemas");
	bool provider = strcmp(format->strategy, "provider") == 0;
	struct loader *loader = format->loader;
	const char *path;

	if (value_is_nil(schema) == value_is_nil(schemas))
		return loader_fail(loader, format->path, "needs %s",
		    value_is_nil(schema) ? "a schema, or schemas for a union"
					 : "either schema or schemas, not both");
	if (!value_is_nil(schemas)) {
		path = at(format, "schemas");
		if (provider && value_size(schemas) > 1)
			return loader_fail(loader, path,
			    "the provider strategy takes one schema: use the tool "
			    "strategy for a union");
		return add_schemas(format, path, schemas);
	}
	path = at(format, "schema");
	if (!provider && value_is(value_get(schema, "oneOf"), VALUE_ARRAY))
		return add_schemas(format, pointer_add(loader->arena, path, "oneOf"),
		    value_get(schema, "oneOf"));
	return add_schema(format, path, schema);
}

int
load_response_format(struct loader *loader, const char *path, const struct value *given)
{
	struct arena *arena = loader->arena;
	struct format format = { .loader = loader,
		.path = path,
		.given = given,
		.schemas = { .arena = arena } };
	const struct value *errors, *content;

	if (given == NULL)
		return 0;
	if (!value_is(given, VALUE_MAP))
		return loader_fail(loader, path,
		    "must be a map, as in {strategy: tool, schema: ...}, not %s",
		    value_article_name(given));
	if (loader_known_keys(loader, path, given, keys, "response_format") == -1 ||
	    load_strategy(&format) == -1 || check_handle_errors(&format) == -1 ||
	    check_tool_message_content(&format) == -1 || load_schemas(&format) == -1)
		return -1;
	errors = value_get(given, "handle_errors");
	content = value_get(given, "tool_message_content");
	loader->spec->response_format = value_map(arena, "strategy",
	    value_str(arena, format.strategy), "schemas", value_list_end(&format.schemas),
	    "handle_errors", value_is_nil(errors) ? value_bool(true) : errors,
	    "tool_message_content", value_is_nil(content) ? NULL : content, NULL);
	return 0;
}

bool
spec_has_output_tools(const struct spec *spec)
{
	return spec->response_format != NULL &&
	       !value_text_is(value_get(spec->response_format, "strategy"), "provider");
}

bool
spec_is_output_tool(const struct spec *spec, const char *name)
{
	const struct value *schemas;
	size_t i;

	if (name == NULL || !spec_has_output_tools(spec))
		return false;
	schemas = value_get(spec->response_format, "schemas");
	for (i = 0; i < value_size(schemas); i++) {
		if (value_text_is(value_get(schemas->items[i], "title"), name))
			return true;
	}
	return false;
}
