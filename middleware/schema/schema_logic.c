/* Keywords that combine schemas. */
#include "schema_check.h"

#define ALTERNATIVES_SHOWN 4u

bool
check_all_of(struct check *check, const struct value *schema, const struct value *keyword,
    const struct value *instance, const struct place *place)
{
	bool fits = true;
	size_t i;

	(void)schema;
	for (i = 0; i < value_size(keyword) && (fits || check->reasons != NULL); i++) {
		if (!check_value(check, value_at(keyword, i), instance, place))
			fits = false;
	}
	return fits;
}

/* Says why none of alternatives fits: the first reason of each. */
static bool
refuse_alternatives(struct check *check, const struct value *alternatives,
    const struct value *instance, const struct place *place)
{
	struct reasons *reasons = check->reasons;
	const char *text = "";
	size_t i;

	if (reasons == NULL || reasons->count == reasons->room)
		return false;
	for (i = 0; i < value_size(alternatives) && i < ALTERNATIVES_SHOWN; i++) {
		struct reasons own = { .room = 1 };

		check->reasons = &own;
		check_value(check, value_at(alternatives, i), instance, place);
		text = arena_printf(check->arena, "%s%s%s", text, i == 0 ? "" : "; or ",
		    own.count == 0 ? "does not fit" : own.texts[0]);
	}
	check->reasons = reasons;
	return check_fail(check, place, "fits none of %zu alternatives (%s%s)",
	    value_size(alternatives), text,
	    value_size(alternatives) > ALTERNATIVES_SHOWN ? "; ..." : "");
}

bool
check_any_of(struct check *check, const struct value *schema, const struct value *keyword,
    const struct value *instance, const struct place *place)
{
	size_t i;

	(void)schema;
	if (!value_is(keyword, VALUE_ARRAY) || keyword->size == 0)
		return true;
	for (i = 0; i < keyword->size; i++) {
		if (check_quietly(check, keyword->items[i], instance, place))
			return true;
	}
	return refuse_alternatives(check, keyword, instance, place);
}

bool
check_one_of(struct check *check, const struct value *schema, const struct value *keyword,
    const struct value *instance, const struct place *place)
{
	size_t i, fitting = 0, first = 0;

	(void)schema;
	if (!value_is(keyword, VALUE_ARRAY) || keyword->size == 0)
		return true;
	for (i = 0; i < keyword->size && fitting < 2; i++) {
		if (!check_quietly(check, keyword->items[i], instance, place))
			continue;
		if (fitting++ == 0)
			first = i;
	}
	if (fitting == 0)
		return refuse_alternatives(check, keyword, instance, place);
	if (fitting == 1)
		return true;
	return check_fail(check, place,
	    "fits more than one of %u alternatives, number %zu and %zu, but must fit one",
	    (unsigned)keyword->size, first + 1, i);
}

bool
check_not(struct check *check, const struct value *schema, const struct value *keyword,
    const struct value *instance, const struct place *place)
{
	(void)schema;
	if (!check_quietly(check, keyword, instance, place))
		return true;
	return check_fail(check, place, "has a form that it must not have");
}

bool
check_if(struct check *check, const struct value *schema, const struct value *keyword,
    const struct value *instance, const struct place *place)
{
	const struct value *branch = value_get(
	    schema, check_quietly(check, keyword, instance, place) ? "then" : "else");

	return branch == NULL || check_value(check, branch, instance, place);
}

bool
check_ref(struct check *check, const struct value *schema, const struct value *keyword,
    const struct value *instance, const struct place *place)
{
	const struct value *target;
	const char *error;

	if (!value_is(keyword, VALUE_STR))
		return true;
	target = ref_find(
	    check->arena, &check->refs, check->root, check->ref_alone, schema, &error);
	if (target == NULL)
		return check_stop(check, error);
	return check_value(check, target, instance, place);
}
