#include "schema.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "bounds.h"
#include "pointer.h"
#include "schema_check.h"
#include "utf8.h"

#define SHOWN_BYTES 80u
#define PATTERNS_A_STEP 64u /* passed on the way to the one that is meant */

/* Sorted by name: looked up by halving. */
static const struct keyword keywords[] = {
	{ "$anchor", SHAPE_TEXT, NULL },
	{ "$defs", SHAPE_SCHEMA_MAP, NULL },
	{ "$id", SHAPE_TEXT, NULL },
	{ "$ref", SHAPE_REF, check_ref },
	{ "additionalItems", SHAPE_SCHEMA, check_additional_items },
	{ "additionalProperties", SHAPE_SCHEMA, check_additional_properties },
	{ "allOf", SHAPE_SCHEMAS, check_all_of },
	{ "anyOf", SHAPE_SCHEMAS, check_any_of },
	{ "const", SHAPE_ANY, check_const },
	{ "contains", SHAPE_SCHEMA, check_contains },
	{ "definitions", SHAPE_SCHEMA_MAP, NULL },
	{ "dependencies", SHAPE_DEPENDENCIES, check_dependencies },
	{ "dependentRequired", SHAPE_TEXTS_MAP, check_dependent_required },
	{ "dependentSchemas", SHAPE_SCHEMA_MAP, check_dependent_schemas },
	{ "else", SHAPE_SCHEMA, NULL }, /* by if */
	{ "enum", SHAPE_ARRAY, check_enum },
	{ "exclusiveMaximum", SHAPE_NUMBER, check_exclusive_maximum },
	{ "exclusiveMinimum", SHAPE_NUMBER, check_exclusive_minimum },
	{ "if", SHAPE_SCHEMA, check_if },
	{ "items", SHAPE_ITEMS, check_items },
	{ "maxContains", SHAPE_COUNT, NULL }, /* by contains */
	{ "maxItems", SHAPE_COUNT, check_max_items },
	{ "maxLength", SHAPE_COUNT, check_max_length },
	{ "maxProperties", SHAPE_COUNT, check_max_properties },
	{ "maximum", SHAPE_NUMBER, check_maximum },
	{ "minContains", SHAPE_COUNT, NULL }, /* by contains */
	{ "minItems", SHAPE_COUNT, check_min_items },
	{ "minLength", SHAPE_COUNT, check_min_length },
	{ "minProperties", SHAPE_COUNT, check_min_properties },
	{ "minimum", SHAPE_NUMBER, check_minimum },
	{ "multipleOf", SHAPE_FACTOR, check_multiple_of },
	{ "not", SHAPE_SCHEMA, check_not },
	{ "oneOf", SHAPE_SCHEMAS, check_one_of },
	{ "pattern", SHAPE_PATTERN, check_pattern },
	{ "patternProperties", SHAPE_PATTERN_MAP, check_pattern_properties },
	{ "prefixItems", SHAPE_SCHEMAS, check_prefix_items },
	{ "properties", SHAPE_SCHEMA_MAP, check_properties },
	{ "propertyNames", SHAPE_SCHEMA, check_property_names },
	{ "required", SHAPE_TEXTS, check_required },
	{ "then", SHAPE_SCHEMA, NULL }, /* by if */
	{ "type", SHAPE_TYPE, check_type },
	{ "uniqueItems", SHAPE_BOOL, check_unique_items },
};

#define KEYWORD_COUNT (sizeof keywords / sizeof *keywords)

static int
compare_name(const void *name, const void *keyword)
{
	return strcmp(name, ((const struct keyword *)keyword)->name);
}

const struct keyword *
keyword_find(const char *name)
{
	return bsearch(name, keywords, KEYWORD_COUNT, sizeof *keywords, compare_name);
}

const char *const *
schema_keywords(void)
{
	static const char *names[KEYWORD_COUNT + 1];
	size_t i;

	for (i = 0; i < KEYWORD_COUNT; i++)
		names[i] = keywords[i].name;
	return names;
}

/* --- reasons ------------------------------------------------------------------------ */

const char *
place_text(struct arena *arena, const struct place *place)
{
	char index[24];
	const char *path;

	if (place->parent == NULL)
		return "";
	path = place_text(arena, place->parent);
	if (place->key != NULL)
		return pointer_add(arena, path, place->key->text);
	snprintf(index, sizeof index, "%zu", place->index);
	return pointer_add(arena, path, index);
}

bool
check_wants_reason(const struct check *check)
{
	const struct reasons *reasons = check->reasons;

	return reasons != NULL && check->stopped == NULL &&
	       reasons->count < reasons->room;
}

bool
check_fail(struct check *check, const struct place *place, const char *format, ...)
{
	struct reasons *reasons = check->reasons;
	const char *path, *text;
	va_list args;

	if (!check_wants_reason(check))
		return false;
	va_start(args, format);
	text = arena_vprintf(check->arena, format, args);
	va_end(args);
	path = place_text(check->arena, place);
	if (path[0] != '\0')
		text = arena_printf(check->arena, "%s: %s", path, text);
	reasons->texts[reasons->count++] = text;
	return false;
}

bool
check_stop(struct check *check, const char *reason)
{
	if (check->stopped == NULL)
		check->stopped = reason;
	return false;
}

bool
check_spend(struct check *check, size_t steps)
{
	if (check->stopped != NULL)
		return false;
	if (steps > SCHEMA_STEPS_MAX - check->steps)
		return check_stop(check, "it is too large to be checked");
	check->steps += (unsigned)steps;
	return true;
}

static size_t
bytes_of(const struct value *value)
{
	size_t bytes = sizeof *value, i;

	if (value_is(value, VALUE_STR) || value_is(value, VALUE_BIN))
		return bytes + value->size;
	for (i = 0; value_is(value, VALUE_ARRAY) && i < value->size; i++)
		bytes += bytes_of(value->items[i]);
	for (i = 0; value_is(value, VALUE_MAP) && i < value->size; i++)
		bytes += bytes_of(value->pairs[i].key) + bytes_of(value->pairs[i].value);
	return bytes;
}

bool
check_spend_on(struct check *check, const struct value *value)
{
	enum { STEP = 256 };

	return check_spend(check, 1 + bytes_of(value) / STEP);
}

const char *
check_show(struct check *check, const struct value *value)
{
	const char *text;
	size_t size, shown;

	if (!check_wants_reason(check))
		return "";
	/* Long texts are not written out only to be cut. */
	if (value_size(value) > SHOWN_BYTES)
		return json_type_of(value);
	text = json_text(check->arena, value);
	size = strlen(text);
	shown = utf8_prefix(text, size, SHOWN_BYTES);
	return shown == size ? text
			     : arena_printf(check->arena, "%.*s...", (int)shown, text);
}

const char *
json_type_of(const struct value *instance)
{
	if (value_is(instance, VALUE_ARRAY))
		return "an array";
	if (value_is(instance, VALUE_MAP))
		return "an object";
	return value_article_name(instance);
}

/* Adds text, compiled, behind the one that was used last. */
static struct schema_pattern *
add_pattern(struct check *check, const struct value *text)
{
	struct schema_pattern *known = arena_alloc(check->arena, sizeof *known);
	const char *error;

	known->text = text;
	known->pattern = pattern_new(check->arena, text->text, text->size, &error);
	known->next = known;
	if (check->patterns != NULL) {
		known->next = check->patterns->next;
		check->patterns->next = known;
	}
	return known;
}

/* Returns text's, or NULL: there are too many. */
static struct schema_pattern *
find_pattern(struct check *check, const struct value *text)
{
	struct schema_pattern *last = check->patterns, *known = last;
	size_t passed = 0;

	while (known != NULL && known->text != text) {
		known = known->next != last ? known->next : NULL;
		passed++;
	}
	if (!check_spend(check, passed / PATTERNS_A_STEP))
		return NULL;
	if (known == NULL)
		known = add_pattern(check, text);
	check->patterns = known;
	return known;
}

bool
check_matches(struct check *check, const struct value *pattern, const struct value *text)
{
	struct schema_pattern *known = find_pattern(check, pattern);
	int found;

	if (known == NULL)
		return false;
	if (known->pattern == NULL)
		return check_stop(
		    check, arena_printf(check->arena,
			       "the schema's pattern %s is not one", pattern->text));
	if (!check_spend(check, 1 + text->size / 64))
		return false;
	found = pattern_find_next(known->pattern, text->text, text->size);
	if (found == -1)
		return check_stop(
		    check, arena_printf(check->arena,
			       "matching the pattern %s takes too long", pattern->text));
	return found == 1;
}

static void
destroy_patterns(struct check *check)
{
	struct schema_pattern *known = check->patterns;

	if (known == NULL)
		return;
	do {
		pattern_destroy(&known->pattern);
		known = known->next;
	} while (known != check->patterns);
}

/* --- checking ----------------------------------------------------------------------- */

static bool
check_keywords(struct check *check, const struct value *schema,
    const struct value *instance, const struct place *place)
{
	bool fits = true;
	size_t i;

	for (i = 0; i < schema->size; i++) {
		const struct keyword *keyword = keyword_find(schema->pairs[i].key->text);

		if (keyword == NULL || keyword->check == NULL)
			continue;
		if (!keyword->check(
			check, schema, schema->pairs[i].value, instance, place))
			fits = false;
		/* Who wants no reasons knows enough. */
		if (!fits && (check->reasons == NULL || check->stopped != NULL))
			break;
	}
	return fits;
}

bool
check_value(struct check *check, const struct value *schema, const struct value *instance,
    const struct place *place)
{
	const struct value *ref;
	bool fits;

	if (!check_spend(check, 1))
		return false;
	if (value_is(schema, VALUE_BOOL))
		return schema->boolean || check_fail(check, place, "is not allowed");
	if (!value_is(schema, VALUE_MAP))
		return true;
	if (check->depth == SCHEMA_DEPTH_MAX)
		return check_stop(check, "it is nested too deep to be checked");
	check->depth++;
	ref = check->ref_alone ? value_get(schema, "$ref") : NULL;
	if (value_is(ref, VALUE_STR))
		fits = check_ref(check, schema, ref, instance, place);
	else
		fits = check_keywords(check, schema, instance, place);
	check->depth--;
	return fits && check->stopped == NULL;
}

bool
check_quietly(struct check *check, const struct value *schema,
    const struct value *instance, const struct place *place)
{
	struct reasons *reasons = check->reasons;
	bool fits;

	check->reasons = NULL;
	fits = check_value(check, schema, instance, place);
	check->reasons = reasons;
	return fits;
}

static const char *
join_reasons(struct arena *arena, const struct reasons *reasons)
{
	const char *text = reasons->count == 0 ? "does not fit" : reasons->texts[0];
	size_t i;

	for (i = 1; i < reasons->count; i++)
		text = arena_printf(arena, "%s; %s", text, reasons->texts[i]);
	return text;
}

int
schema_check(struct arena *arena, const struct value *schema,
    const struct value *instance, const char **reason_r)
{
	struct reasons reasons = { .room = REASONS_MAX };
	struct check check = { .arena = arena, .root = schema };
	const struct place root = { 0 };
	bool fits;

	if (value_is_nil(schema))
		return 0;
	if (instance == NULL)
		instance = value_nil();
	check.ref_alone = ref_stands_alone(schema);
	/* What fits is checked once and nothing written; the rest again, for the reasons.
	 */
	fits = check_value(&check, schema, instance, &root);
	if (!fits && check.stopped == NULL) {
		check.steps = 0;
		check.reasons = &reasons;
		check_value(&check, schema, instance, &root);
	}
	destroy_patterns(&check);
	if (check.stopped != NULL)
		*reason_r = check.stopped;
	else if (!fits)
		*reason_r = join_reasons(arena, &reasons);
	return fits && check.stopped == NULL ? 0 : -1;
}
