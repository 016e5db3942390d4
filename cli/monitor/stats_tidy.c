/* stats_tidy: what a broker says of itself, before anybody reads it: it may be of another version, or
 * no broker. */
#include "stats.h"

#include <string.h>

#define BOUNDS_MAX 64u
#define NUMBER_MAX (INT64_C(1) << 53) /* sums of them are numbers, too */

static bool
are_texts(const struct value *list)
{
	size_t i;

	for (i = 0; i < value_size(list); i++)
		if (!value_is(value_at(list, i), VALUE_STR))
			return false;
	return value_is(list, VALUE_ARRAY);
}

/* The pairs of map that may be read without a look: texts, truths, whole numbers, lists of texts. */
static const struct value *
tidy_map(struct arena *arena, const struct value *map)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	for (i = 0; value_is(map, VALUE_MAP) && i < map->size; i++) {
		const struct value *value = map->pairs[i].value;

		if (value_is(value, VALUE_INT) && value->integer > NUMBER_MAX)
			value = value_int(arena, NUMBER_MAX);
		if (value_is(value, VALUE_INT)
			? value->integer >= 0
			: value_is(value, VALUE_STR) || value_is(value, VALUE_BOOL) ||
			      are_texts(value))
			value_fields_put(&fields, map->pairs[i].key, value);
	}
	return value_fields_end(&fields);
}

/* It has these texts, and what it serves is a list. */
static bool
is_row(const struct value *row, const char *const *texts)
{
	const struct value *services = value_get(row, "services");

	for (; *texts != NULL; texts++)
		if (value_get_text(row, *texts) == NULL)
			return false;
	return services == NULL || value_is(services, VALUE_ARRAY);
}

static const struct value *
tidy_rows(struct arena *arena, const struct value *rows, const char *const *texts)
{
	struct value_list list = { .arena = arena };
	const struct value *row;
	size_t i;

	for (i = 0; i < value_size(rows); i++) {
		row = tidy_map(arena, value_at(rows, i));
		if (is_row(row, texts))
			value_list_add(&list, row);
	}
	return value_list_end(&list);
}

/* Whole numbers from 0 on, so many. */
static bool
are_counts(const struct value *list, size_t count)
{
	size_t i;

	for (i = 0; i < value_size(list); i++)
		if (!value_is(value_at(list, i), VALUE_INT) ||
		    value_at(list, i)->integer < 0 ||
		    value_at(list, i)->integer > NUMBER_MAX)
			return false;
	return value_is(list, VALUE_ARRAY) && list->size == count;
}

static bool
are_bounds(const struct value *list)
{
	size_t i;

	for (i = 1; i < value_size(list); i++)
		if (value_number(value_at(list, i), -1) <=
		    value_number(value_at(list, i - 1), 0))
			return false;
	return are_counts(list, value_size(list)) && list->size <= BOUNDS_MAX;
}

/* {kind: {counts, sum_ms}}, those that fit the bounds. */
static const struct value *
tidy_spreads(struct arena *arena, const struct value *spreads, size_t bounds)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	for (i = 0; value_is(spreads, VALUE_MAP) && i < spreads->size; i++) {
		const struct value *spread = spreads->pairs[i].value;
		const struct value *sum_ms = value_get(spread, "sum_ms");

		if (are_counts(value_get(spread, "counts"), bounds + 1) &&
		    value_is(sum_ms, VALUE_INT) && sum_ms->integer >= 0)
			value_fields_put(&fields, spreads->pairs[i].key, spread);
	}
	return value_fields_end(&fields);
}

/* NULL: a broker of before tells none. */
static const struct value *
tidy_times(struct arena *arena, const struct value *times)
{
	const struct value *bounds = value_get(times, "bounds_ms");

	if (!are_bounds(bounds))
		return NULL;
	return value_map(arena, "bounds_ms", bounds, "waited",
	    tidy_spreads(arena, value_get(times, "waited"), bounds->size), "ran",
	    tidy_spreads(arena, value_get(times, "ran"), bounds->size), NULL);
}

const struct value *
stats_tidy(struct arena *arena, const struct value *tables)
{
	static const char *const session[] = { "session", "name", "role", NULL };
	static const char *const named[] = { "name", NULL };
	const struct value *broker = tidy_map(arena, value_get(tables, "broker"));

	if (!is_row(broker, named))
		return NULL;
	return value_map(arena, "broker", broker, "sessions",
	    tidy_rows(arena, value_get(tables, "sessions"), session), "services",
	    tidy_rows(arena, value_get(tables, "services"), named), "calls",
	    tidy_map(arena, value_get(tables, "calls")), "bodies",
	    tidy_map(arena, value_get(tables, "bodies")), "counters",
	    tidy_map(arena, value_get(tables, "counters")), "times",
	    tidy_times(arena, value_get(tables, "times")), NULL);
}

bool
stats_serves(const struct value *row, const char *prefix)
{
	const struct value *services = value_get(row, "services");
	size_t i;

	for (i = 0; i < value_size(services); i++)
		if (strncmp(value_text(value_at(services, i)), prefix, strlen(prefix)) ==
		    0)
			return true;
	return false;
}
