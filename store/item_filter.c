#include "item_filter.h"

#include <string.h>

#include "bounds.h"

enum relation { EQUAL, UNEQUAL, GREATER, GREATER_OR_EQUAL, LESS, LESS_OR_EQUAL };

static const char *const operators[] = {
	[EQUAL] = "$eq",
	[UNEQUAL] = "$ne",
	[GREATER] = "$gt",
	[GREATER_OR_EQUAL] = "$gte",
	[LESS] = "$lt",
	[LESS_OR_EQUAL] = "$lte",
};
#define OPERATORS (sizeof operators / sizeof operators[0])

/* Returns an enum relation, or -1. */
static int
relation_of(const char *name)
{
	size_t i;

	for (i = 0; i < OPERATORS; i++)
		if (strcmp(operators[i], name) == 0)
			return (int)i;
	return -1;
}

/* A map whose keys are operators, not a value to be equal to. */
static bool
is_condition(const struct value *wanted)
{
	return value_is(wanted, VALUE_MAP) && value_size(wanted) > 0 &&
	       value_text(wanted->pairs[0].key)[0] == '$';
}

int
item_filter_check(struct arena *arena, const struct value *filter, const char **error_r)
{
	size_t count = 0, i, j;

	if (value_is_nil(filter))
		return 0;
	if (!value_is(filter, VALUE_MAP)) {
		*error_r = "filter: must be a map of field to value";
		return -1;
	}
	for (i = 0; i < value_size(filter); i++) {
		const struct value *wanted = filter->pairs[i].value;

		count += is_condition(wanted) ? value_size(wanted) : 1;
		if (count > ITEM_FILTER_MAX) {
			*error_r = arena_printf(arena,
			    "filter: has more than %u conditions", ITEM_FILTER_MAX);
			return -1;
		}
		for (j = 0; is_condition(wanted) && j < value_size(wanted); j++) {
			if (relation_of(value_text(wanted->pairs[j].key)) != -1)
				continue;
			*error_r = arena_printf(arena,
			    "filter.%s: '%s' is no operator; there are $eq, $ne, $gt, "
			    "$gte, $lt, $lte",
			    value_text(filter->pairs[i].key),
			    value_text(wanted->pairs[j].key));
			return -1;
		}
	}
	return 0;
}

/* Compares what can be compared: *order_r is below, equal to or above 0. */
static bool
compare(const struct value *a, const struct value *b, int *order_r)
{
	double x, y;

	if (value_is(a, VALUE_STR) && value_is(b, VALUE_STR)) {
		*order_r = strcmp(value_text(a), value_text(b));
		return true;
	}
	if (!value_is_number(a) || !value_is_number(b))
		return false;
	x = value_number(a, 0);
	y = value_number(b, 0);
	*order_r = x < y ? -1 : x > y;
	return true;
}

static bool
holds(int relation, const struct value *value, const struct value *wanted)
{
	int order;

	if (value == NULL)
		value = value_nil();
	if (relation == EQUAL || relation == UNEQUAL)
		return value_equal(value, wanted) == (relation == EQUAL);
	if (!compare(value, wanted, &order))
		return false;
	switch (relation) {
	case GREATER:
		return order > 0;
	case GREATER_OR_EQUAL:
		return order >= 0;
	case LESS:
		return order < 0;
	case LESS_OR_EQUAL:
	default:
		return order <= 0;
	}
}

bool
item_filter_matches(const struct value *filter, const struct value *value)
{
	size_t i, j;

	for (i = 0; i < value_size(filter); i++) {
		const struct value *wanted = filter->pairs[i].value;
		const struct value *field =
		    value_get(value, value_text(filter->pairs[i].key));

		if (!is_condition(wanted) && !holds(EQUAL, field, wanted))
			return false;
		for (j = 0; is_condition(wanted) && j < value_size(wanted); j++)
			if (!holds(relation_of(value_text(wanted->pairs[j].key)), field,
				wanted->pairs[j].value))
				return false;
	}
	return true;
}
