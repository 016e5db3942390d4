/* A response_format as users and middleware write it, brought to its one form. */
#include <string.h>

#include "bounds.h"
#include "nearest.h"
#include "pointer.h"
#include "output.h"
#include "schema.h"

#define TITLE "response_format_" /* and four digits */

static const char *const keys[] = { "strategy", "schema", "schemas", "handle_errors",
	"tool_message_content", "strict" };
static const char *const strategies[] = { "auto", "tool", "provider" };
/* A map with one of these and none of ours above is a JSON Schema. */
static const char *const schema_keys[] = { "type", "properties", "title", "oneOf",
	"anyOf", "allOf", "$ref", "$schema", "$defs" };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The format under construction. */
struct format {
	struct arena *arena;
	const struct value *given;
	const struct output_titles *titles;
	const char *strategy;
	struct value_list schemas;
	const char *path, *error;
};

static int __attribute__((format(printf, 3, 4)))
fail(struct format *format, const char *path, const char *reason, ...)
{
	va_list args;

	va_start(args, reason);
	format->path = path;
	format->error = arena_vprintf(format->arena, reason, args);
	va_end(args);
	return -1;
}

static const char *
at(const struct format *format, const char *key)
{
	return pointer_add(format->arena, "", key);
}

static const char *
item(const struct format *format, const char *path, size_t index)
{
	return arena_printf(format->arena, "%s/%zu", path, index);
}

/* The index of text among names, or -1. */
static long
place_of(const char *text, const char *const *names, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (strcmp(names[i], text) == 0)
			return (long)i;
	}
	return -1;
}

static const char *
hint(const struct format *format, const char *given, const char *const *names,
    size_t count)
{
	const char *near = nearest_name(given, names, count);

	return near == NULL ? ""
			    : arena_printf(format->arena, "; did you mean \"%s\"?", near);
}

/* --- keys but the schemas ----------------------------------------------------------- */

static int
check_keys(struct format *format)
{
	size_t i;

	for (i = 0; i < value_size(format->given); i++) {
		const char *key = format->given->pairs[i].key->text;

		if (place_of(key, keys, COUNT(keys)) == -1)
			return fail(format, at(format, key),
			    "response_format has no key \"%s\"%s", key,
			    hint(format, key, keys, COUNT(keys)));
	}
	return 0;
}

static int
load_strategy(struct format *format)
{
	const struct value *given = value_get(format->given, "strategy");

	format->strategy = value_is_nil(given) ? "auto" : value_text(given);
	if (format->strategy == NULL)
		return fail(format, at(format, "strategy"),
		    "must be auto, tool or provider, not %s", value_article_name(given));
	if (place_of(format->strategy, strategies, COUNT(strategies)) != -1)
		return 0;
	return fail(format, at(format, "strategy"),
	    "must be auto, tool or provider, not \"%s\"%s", format->strategy,
	    hint(format, format->strategy, strategies, COUNT(strategies)));
}

static int
check_handle_errors(struct format *format)
{
	const struct value *given = value_get(format->given, "handle_errors");
	const char *path = at(format, "handle_errors");
	size_t i;

	if (value_is_nil(given) || value_is(given, VALUE_BOOL) ||
	    value_is(given, VALUE_STR))
		return 0;
	if (!value_is(given, VALUE_ARRAY))
		return fail(format, path,
		    "must be true, false, a text for the model or a list of error types, "
		    "not %s",
		    value_article_name(given));
	for (i = 0; i < given->size; i++) {
		if (!value_is(given->items[i], VALUE_STR))
			return fail(format, item(format, path, i),
			    "must be the name of an error type, not %s",
			    value_article_name(given->items[i]));
	}
	return 0;
}

static int
check_others(struct format *format)
{
	const struct value *content = value_get(format->given, "tool_message_content");
	const struct value *strict = value_get(format->given, "strict");

	if (!value_is_nil(content) && !value_is(content, VALUE_STR))
		return fail(format, at(format, "tool_message_content"),
		    "must be a string, not %s", value_article_name(content));
	if (!value_is_nil(strict) && !value_is(strict, VALUE_BOOL))
		return fail(format, at(format, "strict"), "must be true or false, not %s",
		    value_article_name(strict));
	return 0;
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

	if (value_has(schema, "title"))
		return schema;
	frozen = value_freeze(arena, schema);
	for (i = 0; i < frozen->packed_size; i++)
		sum = (sum ^ frozen->packed[i]) * 0x01000193u;
	return value_map_with(arena, schema, "title",
	    value_printf(arena, TITLE "%04x", (sum ^ sum >> 16) & 0xffff));
}

static int
check_title(struct format *format, const char *path, const struct value *title)
{
	const char *flaw = NULL;
	size_t i;

	if (!value_is(title, VALUE_STR) || title->size == 0)
		return fail(format, path, "the schema's title must be a text, not %s",
		    value_is(title, VALUE_STR) ? "an empty one"
					       : value_article_name(title));
	for (i = 0; i < format->schemas.count; i++) {
		if (value_equal(value_get(format->schemas.items[i], "title"), title))
			return fail(format, path,
			    "two schemas have the title \"%s\": it is the name of the "
			    "output tool",
			    title->text);
	}
	if (format->titles != NULL)
		flaw = format->titles->flaw(format->titles->arg, format->strategy, title);
	return flaw == NULL ? 0 : fail(format, path, "%s", flaw);
}

static int
add_schema(struct format *format, const char *path, const struct value *schema)
{
	const struct value *type = value_get(schema, "type");
	const char *reason;

	if (!value_is(schema, VALUE_MAP))
		return fail(format, path, "must be a JSON Schema, not %s",
		    value_article_name(schema));
	if (type != NULL && !value_text_is(type, "object"))
		return fail(format, pointer_add(format->arena, path, "type"),
		    "must be \"object\": the structured response is a map");
	if (schema_usable(format->arena, schema, &reason) == -1)
		return fail(format, path, "is no usable JSON Schema: %s", reason);
	schema = with_title(format->arena, schema);
	if (check_title(format, pointer_add(format->arena, path, "title"),
		value_get(schema, "title")) == -1)
		return -1;
	value_list_add(&format->schemas, schema);
	return 0;
}

static int
add_schemas(struct format *format, const char *path, const struct value *schemas)
{
	size_t i;

	if (!value_is(schemas, VALUE_ARRAY))
		return fail(format, path, "must be a list of JSON Schemas, not %s",
		    value_article_name(schemas));
	if (schemas->size == 0)
		return fail(format, path, "must have at least one schema");
	if (schemas->size > OUTPUT_SCHEMAS_MAX)
		return fail(format, path, "more than %u schemas", OUTPUT_SCHEMAS_MAX);
	for (i = 0; i < schemas->size; i++) {
		if (add_schema(format, item(format, path, i), schemas->items[i]) == -1)
			return -1;
	}
	return 0;
}

/* A variant taken out of its union takes along the definitions that it may refer to. */
static const struct value *
variant_of(struct arena *arena, const struct value *schema, const struct value *variant)
{
	static const char *const shared[] = { "$defs", "definitions" };
	size_t i;

	for (i = 0; i < COUNT(shared); i++) {
		if (value_is(variant, VALUE_MAP) && value_has(schema, shared[i]) &&
		    !value_has(variant, shared[i]))
			variant = value_map_with(
			    arena, variant, shared[i], value_get(schema, shared[i]));
	}
	return variant;
}

/* path is that of schema. oneOf at its top is a union: an output tool for each. */
static int
add_union_or_schema(struct format *format, const char *path, const struct value *schema)
{
	const struct value *variants = value_get(schema, "oneOf");
	struct value_list list = { .arena = format->arena };
	size_t i;

	if (strcmp(format->strategy, "provider") == 0 || !value_is(variants, VALUE_ARRAY))
		return add_schema(format, path, schema);
	for (i = 0; i < variants->size; i++)
		value_list_add(
		    &list, variant_of(format->arena, schema, variants->items[i]));
	return add_schemas(
	    format, pointer_add(format->arena, path, "oneOf"), value_list_end(&list));
}

static int
load_schemas(struct format *format)
{
	const struct value *schema = value_get(format->given, "schema");
	const struct value *schemas = value_get(format->given, "schemas");

	if (value_is_nil(schema) == value_is_nil(schemas))
		return fail(format, "", "needs %s",
		    value_is_nil(schema) ? "a schema, or schemas for a union"
					 : "either schema or schemas, not both");
	if (value_is_nil(schemas))
		return add_union_or_schema(format, at(format, "schema"), schema);
	if (strcmp(format->strategy, "provider") == 0 && value_size(schemas) > 1)
		return fail(format, at(format, "schemas"),
		    "the provider strategy takes one schema: use the tool strategy for a "
		    "union");
	return add_schemas(format, at(format, "schemas"), schemas);
}

/* --- the whole ---------------------------------------------------------------------- */

static bool
is_bare_schema(const struct value *given)
{
	bool is_schema = false;
	size_t i;

	for (i = 0; i < value_size(given); i++) {
		const char *key = given->pairs[i].key->text;

		if (place_of(key, keys, COUNT(keys)) != -1)
			return false;
		is_schema =
		    is_schema || place_of(key, schema_keys, COUNT(schema_keys)) != -1;
	}
	return is_schema;
}

static int
load(struct format *format)
{
	if (!value_is(format->given, VALUE_MAP))
		return fail(format, "",
		    "must be a map, as in {strategy: tool, schema: ...}, not %s",
		    value_article_name(format->given));
	if (is_bare_schema(format->given)) {
		format->strategy = "auto";
		return add_union_or_schema(format, "", format->given);
	}
	if (check_keys(format) == -1 || load_strategy(format) == -1 ||
	    check_handle_errors(format) == -1 || check_others(format) == -1)
		return -1;
	return load_schemas(format);
}

const struct value *
output_format(struct arena *arena, const struct value *given,
    const struct output_titles *titles, const char **path_r, const char **error_r)
{
	struct format format = {
		.arena = arena,
		.given = given,
		.titles = titles,
		.schemas = { .arena = arena },
	};
	const struct value *map = given, *errors, *content, *strict;

	if (load(&format) == -1) {
		*path_r = format.path;
		*error_r = format.error;
		return NULL;
	}
	/* A bare schema has keys of its own. */
	if (is_bare_schema(given))
		map = NULL;
	errors = value_get(map, "handle_errors");
	content = value_get(map, "tool_message_content");
	strict = value_get(map, "strict");
	return value_map(arena, "strategy", value_str(arena, format.strategy), "schemas",
	    value_list_end(&format.schemas), "handle_errors",
	    value_is_nil(errors) ? value_bool(true) : errors, "tool_message_content",
	    value_is_nil(content) ? NULL : content, "strict",
	    value_is_nil(strict) ? NULL : strict, NULL);
}

bool
output_is_own(const struct value *format)
{
	const char *type = value_get_text(format, "type");

	return type != NULL && strcmp(type, "object") != 0;
}

const struct value *
output_schema(const struct value *format, const char *title)
{
	const struct value *schemas = value_get(format, "schemas");
	size_t i;

	for (i = 0; title != NULL && i < value_size(schemas); i++) {
		if (value_text_is(value_get(value_at(schemas, i), "title"), title))
			return value_at(schemas, i);
	}
	return NULL;
}
