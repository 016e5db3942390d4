/* Keywords for objects. */
#include <string.h>

#include "nearest.h"
#include "schema_check.h"

#define NAMES_MAX 64u
#define NAMES_STEP 256u /* names that one is compared with in a step */

static struct place
inside(const struct place *place, const struct value *key)
{
	return (struct place){ .parent = place, .key = key };
}

/* Keys as values: what the schema says and what the instance has. */
static bool
is_key(const struct value *map, const struct value *key)
{
	return value_has(map, key->text);
}

/* Charges for looking a key up in map, which is done name by name. */
static bool
spend_look(struct check *check, const struct value *map)
{
	return check_spend(check, value_size(map) / NAMES_STEP);
}

bool
check_properties(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place)
{
	bool fits = true;
	size_t i;

	(void)schema;
	if (!value_is(instance, VALUE_MAP) || !value_is(keyword, VALUE_MAP))
		return true;
	for (i = 0; i < keyword->size && spend_look(check, instance); i++) {
		const struct value *key = keyword->pairs[i].key;
		const struct value *property = value_get(instance, key->text);
		const struct place at = inside(place, key);

		if (property == NULL ||
		    check_value(check, keyword->pairs[i].value, property, &at))
			continue;
		fits = false;
		if (check->reasons == NULL || check->stopped != NULL)
			return false;
	}
	return fits;
}

bool
check_pattern_properties(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place)
{
	bool fits = true;
	size_t i, j;

	(void)schema;
	if (!value_is(instance, VALUE_MAP) || !value_is(keyword, VALUE_MAP))
		return true;
	for (i = 0; i < keyword->size; i++) {
		for (j = 0; j < instance->size; j++) {
			const struct value *key = instance->pairs[j].key;
			const struct place at = inside(place, key);

			if (check_matches(check, keyword->pairs[i].key, key) &&
			    !check_value(check, keyword->pairs[i].value,
				instance->pairs[j].value, &at))
				fits = false;
			if (check->stopped != NULL)
				return false;
		}
	}
	return fits;
}

static bool
matches_any(struct check *check, const struct value *patterns, const struct value *key)
{
	size_t i;

	for (i = 0; value_is(patterns, VALUE_MAP) && i < patterns->size; i++) {
		if (check_matches(check, patterns->pairs[i].key, key))
			return true;
	}
	return false;
}

static bool
refuse_property(struct check *check, const struct value *schema, const struct value *key,
    const struct place *place)
{
	const struct value *properties = value_get(schema, "properties");
	const char *names[NAMES_MAX], *near;
	size_t count;

	/* To guess what was meant is more work than all else. */
	if (!check_wants_reason(check))
		return false;
	for (count = 0; count < value_size(properties) && count < NAMES_MAX; count++)
		names[count] = properties->pairs[count].key->text;
	near = nearest_name(key->text, names, count);
	if (near == NULL)
		return check_fail(check, place, "is not a property there may be");
	return check_fail(
	    check, place, "is not a property there may be; did you mean %s?", near);
}

bool
check_additional_properties(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place)
{
	const struct value *known = value_get(schema, "properties");
	const struct value *patterns = value_get(schema, "patternProperties");
	bool fits = true;
	size_t i;

	if (!value_is(instance, VALUE_MAP))
		return true;
	for (i = 0; i < instance->size && spend_look(check, known); i++) {
		const struct value *key = instance->pairs[i].key;
		const struct place at = inside(place, key);

		if (is_key(known, key) || matches_any(check, patterns, key))
			continue;
		if (value_is(keyword, VALUE_BOOL) && !keyword->boolean)
			fits = refuse_property(check, schema, key, &at);
		else if (!check_value(check, keyword, instance->pairs[i].value, &at))
			fits = false;
		if (!fits && check->reasons == NULL)
			return false;
	}
	return fits && check->stopped == NULL;
}

bool
check_property_names(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place)
{
	bool fits = true;
	size_t i;

	(void)schema;
	if (!value_is(instance, VALUE_MAP))
		return true;
	for (i = 0; i < instance->size && check->stopped == NULL; i++) {
		const struct value *key = instance->pairs[i].key;
		const struct place at = inside(place, key);

		if (check_quietly(check, keyword, key, &at))
			continue;
		fits = check_fail(check, &at, "is not a name a property may have");
	}
	return fits && check->stopped == NULL;
}

/* True when instance has every name of names. because: NULL, or the property that makes
 * them necessary. */
static bool
has_all(struct check *check, const struct value *names, const struct value *instance,
    const struct value *because, const struct place *place)
{
	bool fits = true;
	size_t i;

	for (i = 0; i < value_size(names); i++) {
		const struct value *name = value_at(names, i);

		if (!check_spend(check, 1) || !spend_look(check, instance))
			return false;
		if (!value_is(name, VALUE_STR) || is_key(instance, name))
			continue;
		fits = check_fail(check, place, "needs the property %s%s%s", name->text,
		    because == NULL ? "" : " beside ",
		    because == NULL ? "" : because->text);
	}
	return fits;
}

bool
check_required(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place)
{
	(void)schema;
	if (!value_is(instance, VALUE_MAP) || !value_is(keyword, VALUE_ARRAY))
		return true;
	return has_all(check, keyword, instance, NULL, place);
}

bool
check_min_properties(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place)
{
	int64_t least = number_count(keyword);

	(void)schema;
	if (!value_is(instance, VALUE_MAP) || (int64_t)instance->size >= least)
		return true;
	return check_fail(check, place, "must have at least %lld properties, not %u",
	    (long long)least, (unsigned)instance->size);
}

bool
check_max_properties(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place)
{
	int64_t most = number_count(keyword);

	(void)schema;
	if (most == -1 || !value_is(instance, VALUE_MAP) ||
	    (int64_t)instance->size <= most)
		return true;
	return check_fail(check, place, "must have at most %lld properties, not %u",
	    (long long)most, (unsigned)instance->size);
}

/* --- what one property asks of the others ------------------------------------------- */

bool
check_dependencies(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place)
{
	bool fits = true;
	size_t i;

	(void)schema;
	if (!value_is(instance, VALUE_MAP) || !value_is(keyword, VALUE_MAP))
		return true;
	for (i = 0; i < keyword->size; i++) {
		const struct value *key = keyword->pairs[i].key;
		const struct value *asked = keyword->pairs[i].value;

		if (!spend_look(check, instance))
			return false;
		if (!is_key(instance, key))
			continue;
		if (value_is(asked, VALUE_ARRAY))
			fits = has_all(check, asked, instance, key, place) && fits;
		else
			fits = check_value(check, asked, instance, place) && fits;
	}
	return fits;
}

/* Draft 2020-12 has split it in two. */

bool
check_dependent_required(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place)
{
	return check_dependencies(check, schema, keyword, instance, place);
}

bool
check_dependent_schemas(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place)
{
	return check_dependencies(check, schema, keyword, instance, place);
}
