#include <string.h>

#include "anthropic_request.h"
#include "bounds.h"

static const struct value *part(
    struct arena *arena, const struct value *schema, unsigned depth);

static const struct value *
all_of_list(struct arena *arena, const struct value *schemas, unsigned depth)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(schemas); i++)
		value_list_add(&list, part(arena, value_at(schemas, i), depth));
	return value_list_end(&list);
}

static const struct value *
all_of_map(struct arena *arena, const struct value *schemas, unsigned depth)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	for (i = 0; value_is(schemas, VALUE_MAP) && i < schemas->size; i++)
		value_fields_put(&fields, schemas->pairs[i].key,
		    part(arena, schemas->pairs[i].value, depth));
	return value_fields_end(&fields);
}

static const struct value *
as_it_is(struct arena *arena, const struct value *value, unsigned depth)
{
	(void)arena;
	(void)depth;
	return value;
}

/* The keywords that go out; all others are left out. */
static const struct {
	const char *name, *sent_as;
	const struct value *(*convert)(
	    struct arena *arena, const struct value *value, unsigned depth);
} keywords[] = {
	{ "type", "type", as_it_is },
	{ "title", "title", as_it_is },
	{ "description", "description", as_it_is },
	{ "enum", "enum", as_it_is },
	{ "const", "const", as_it_is },
	{ "default", "default", as_it_is },
	{ "format", "format", as_it_is },
	{ "required", "required", as_it_is },
	{ "$ref", "$ref", as_it_is },
	{ "properties", "properties", all_of_map },
	{ "$defs", "$defs", all_of_map },
	{ "definitions", "definitions", all_of_map },
	{ "items", "items", part },
	{ "anyOf", "anyOf", all_of_list },
	{ "oneOf", "anyOf", all_of_list },
	{ "allOf", "allOf", all_of_list },
};

static const struct value *
part(struct arena *arena, const struct value *schema, unsigned depth)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	if (!value_is(schema, VALUE_MAP) || depth >= PACKED_DEPTH_MAX)
		return schema;
	for (i = 0; i < sizeof keywords / sizeof *keywords; i++) {
		const struct value *value = value_get(schema, keywords[i].name);

		if (value != NULL)
			value_fields_set(&fields, keywords[i].sent_as,
			    keywords[i].convert(arena, value, depth + 1));
	}
	if (value_text_is(value_get(schema, "type"), "object") ||
	    value_has(schema, "properties"))
		value_fields_set(&fields, "additionalProperties", value_bool(false));
	return value_fields_end(&fields);
}

const struct value *
anthropic_schema(struct arena *arena, const struct value *schema)
{
	return part(arena, schema, 0);
}
