/* Whether a schema itself can be used, and the walk over the schemas inside one. */
#include <math.h>
#include <string.h>

#include "nearest.h"
#include "pointer.h"
#include "schema_check.h"

/* --- the schemas inside a schema ---------------------------------------------------- */

typedef int visit_fn(void *arg, const struct value *schema, const struct place *place);

static int
each_in_list(
    const struct value *list, const struct place *place, visit_fn *visit, void *arg)
{
	struct place inner = { .parent = place };

	for (; inner.index < value_size(list); inner.index++) {
		if (visit(arg, value_at(list, inner.index), &inner) == -1)
			return -1;
	}
	return 0;
}

static int
each_in_map(
    const struct value *map, const struct place *place, visit_fn *visit, void *arg)
{
	struct place inner = { .parent = place };
	size_t i;

	for (i = 0; value_is(map, VALUE_MAP) && i < map->size; i++) {
		inner.key = map->pairs[i].key;
		if (visit(arg, map->pairs[i].value, &inner) == -1)
			return -1;
	}
	return 0;
}

static bool
are_texts(const struct value *list)
{
	size_t i;

	for (i = 0; i < value_size(list); i++) {
		if (!value_is(value_at(list, i), VALUE_STR))
			return false;
	}
	return value_is(list, VALUE_ARRAY);
}

/* `dependencies` without the lists of names among its schemas. */
static const struct value *
without_lists(struct arena *arena, const struct value *map)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	for (i = 0; value_is(map, VALUE_MAP) && i < map->size; i++) {
		if (!are_texts(map->pairs[i].value))
			value_fields_set(
			    &fields, map->pairs[i].key->text, map->pairs[i].value);
	}
	return value_fields_end(&fields);
}

static int
each_in_keyword(struct arena *arena, enum shape shape, const struct value *value,
    const struct place *place, visit_fn *visit, void *arg)
{
	switch (shape) {
	case SHAPE_SCHEMA:
		return visit(arg, value, place);
	case SHAPE_SCHEMAS:
		return each_in_list(value, place, visit, arg);
	case SHAPE_ITEMS:
		return value_is(value, VALUE_ARRAY)
			   ? each_in_list(value, place, visit, arg)
			   : visit(arg, value, place);
	case SHAPE_SCHEMA_MAP:
	case SHAPE_PATTERN_MAP:
		return each_in_map(value, place, visit, arg);
	case SHAPE_DEPENDENCIES:
		return each_in_map(without_lists(arena, value), place, visit, arg);
	default:
		return 0;
	}
}

int
schema_each(struct arena *arena, const struct value *schema, const struct place *place,
    visit_fn *visit, void *arg)
{
	struct place inner = { .parent = place };
	size_t i;

	for (i = 0; value_is(schema, VALUE_MAP) && i < schema->size; i++) {
		const struct keyword *keyword;

		inner.key = schema->pairs[i].key;
		keyword = keyword_find(inner.key->text);
		if (keyword != NULL &&
		    each_in_keyword(arena, keyword->shape, schema->pairs[i].value, &inner,
			visit, arg) == -1)
			return -1;
	}
	return 0;
}

/* --- what is wrong with a keyword's value ------------------------------------------- */

/* One schema on its way through. */
struct proof {
	struct arena *arena;
	const struct value *root;
	bool ref_alone;
	struct ref_index *refs;
	const char *error;
};

static const char *
type_flaw(struct arena *arena, const struct value *type)
{
	static const char *const names[] = { "array", "boolean", "integer", "null",
		"number", "object", "string" };
	const size_t count = sizeof names / sizeof *names;
	const char *near;
	size_t i;

	if (!value_is(type, VALUE_STR))
		return "must be the name of a type or a list of them";
	for (i = 0; i < count; i++) {
		if (strcmp(type->text, names[i]) == 0)
			return NULL;
	}
	near = nearest_name(type->text, names, count);
	return arena_printf(arena, "there is no type \"%s\"%s%s%s", type->text,
	    near == NULL ? "" : "; did you mean \"", near == NULL ? "" : near,
	    near == NULL ? "" : "\"?");
}

static const char *
types_flaw(struct arena *arena, const struct value *types)
{
	const char *flaw = NULL;
	size_t i;

	if (!value_is(types, VALUE_ARRAY))
		return type_flaw(arena, types);
	for (i = 0; i < types->size && flaw == NULL; i++)
		flaw = type_flaw(arena, types->items[i]);
	return flaw;
}

static const char *
pattern_flaw(struct arena *arena, const struct value *text)
{
	const char *error;
	struct pattern *pattern;

	if (!value_is(text, VALUE_STR))
		return "must be a regular expression";
	pattern = pattern_new(arena, text->text, text->size, &error);
	if (pattern == NULL)
		return error;
	pattern_destroy(&pattern);
	return NULL;
}

static const char *
pattern_map_flaw(struct arena *arena, const struct value *map)
{
	const char *flaw = NULL;
	size_t i;

	if (!value_is(map, VALUE_MAP))
		return "must be a map of regular expressions to schemas";
	for (i = 0; i < map->size && flaw == NULL; i++) {
		flaw = pattern_flaw(arena, map->pairs[i].key);
		if (flaw != NULL)
			flaw =
			    arena_printf(arena, "%s: %s", map->pairs[i].key->text, flaw);
	}
	return flaw;
}

static const char *
texts_map_flaw(const struct value *map)
{
	size_t i;

	for (i = 0; value_is(map, VALUE_MAP) && i < map->size; i++) {
		if (!are_texts(map->pairs[i].value))
			return "must be a map of names to lists of names";
	}
	return value_is(map, VALUE_MAP) ? NULL
					: "must be a map of names to lists of names";
}

/* A $ref that leads to nothing, or round in circles without ever asking anything. */
static const char *
ref_flaw(struct proof *proof, const struct value *schema)
{
	enum { HOPS_MAX = 64 };
	const char *error = NULL;
	int hops;

	for (hops = 0; hops < HOPS_MAX; hops++) {
		if (!value_is(value_get(schema, "$ref"), VALUE_STR))
			return NULL;
		/* With other keywords beside it only checking can tell. */
		if (hops > 0 && schema->size > 1 && !proof->ref_alone)
			return NULL;
		schema = ref_find(proof->arena, &proof->refs, proof->root,
		    proof->ref_alone, schema, &error);
		if (schema == NULL)
			return error;
	}
	return "the $ref leads round in circles";
}

static const char *
unless(bool fine, const char *flaw)
{
	return fine ? NULL : flaw;
}

static const char *
shape_flaw(struct proof *proof, enum shape shape, const struct value *schema,
    const struct value *value)
{
	switch (shape) {
	case SHAPE_ARRAY:
		return unless(value_is(value, VALUE_ARRAY), "must be a list");
	case SHAPE_BOOL:
		return unless(value_is(value, VALUE_BOOL), "must be true or false");
	case SHAPE_TYPE:
		return types_flaw(proof->arena, value);
	case SHAPE_NUMBER:
		return unless(isfinite(value_number(value, NAN)), "must be a number");
	case SHAPE_FACTOR:
		return unless(
		    value_number(value, 0) > 0 && isfinite(value_number(value, 0)),
		    "must be a number above 0");
	case SHAPE_COUNT:
		return unless(number_count(value) != -1, "must be an integer from 0 on");
	case SHAPE_TEXT:
		return unless(value_is(value, VALUE_STR), "must be a string");
	case SHAPE_TEXTS:
		return unless(are_texts(value), "must be a list of names");
	case SHAPE_TEXTS_MAP:
		return texts_map_flaw(value);
	case SHAPE_PATTERN:
		return pattern_flaw(proof->arena, value);
	case SHAPE_REF:
		return value_is(value, VALUE_STR) ? ref_flaw(proof, schema)
						  : "must be a string";
	case SHAPE_SCHEMAS:
		return unless(value_is(value, VALUE_ARRAY) && value->size > 0,
		    "must be a list of schemas, one at least");
	case SHAPE_PATTERN_MAP:
		return pattern_map_flaw(proof->arena, value);
	case SHAPE_SCHEMA_MAP:
	case SHAPE_DEPENDENCIES:
		return unless(
		    value_is(value, VALUE_MAP), "must be a map of names to schemas");
	case SHAPE_ANY:
	case SHAPE_SCHEMA:
	case SHAPE_ITEMS:
		break;
	}
	return NULL;
}

/* --- the whole document ------------------------------------------------------------- */

static int
prove(void *arg, const struct value *schema, const struct place *place)
{
	struct proof *proof = arg;
	const char *path;
	size_t i;

	if (value_is(schema, VALUE_BOOL))
		return 0;
	if (!value_is(schema, VALUE_MAP)) {
		path = place_text(proof->arena, place);
		proof->error = arena_printf(proof->arena,
		    "%s%smust be a schema (a map or a boolean), not %s", path,
		    path[0] == '\0' ? "" : ": ", value_article_name(schema));
		return -1;
	}
	for (i = 0; i < schema->size; i++) {
		const char *name = schema->pairs[i].key->text, *flaw;
		const struct keyword *keyword = keyword_find(name);

		if (keyword == NULL)
			continue;
		flaw = shape_flaw(proof, keyword->shape, schema, schema->pairs[i].value);
		if (flaw == NULL)
			continue;
		path = place_text(proof->arena, place);
		proof->error = arena_printf(
		    proof->arena, "%s: %s", pointer_add(proof->arena, path, name), flaw);
		return -1;
	}
	return schema_each(proof->arena, schema, place, prove, proof);
}

int
schema_usable(struct arena *arena, const struct value *schema, const char **reason_r)
{
	struct proof proof = {
		.arena = arena, .root = schema, .ref_alone = ref_stands_alone(schema)
	};
	const struct place root = { 0 };

	if (value_is_nil(schema) || prove(&proof, schema, &root) == 0)
		return 0;
	*reason_r = proof.error;
	return -1;
}
