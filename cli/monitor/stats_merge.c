/* stats_merge: the tables of several brokers as one: a process that has a session with each is
 * one process. */
#include <string.h>

#include "stats.h"

enum merge { MERGE_SUM, MERGE_MAX, MERGE_MIN, MERGE_WORST, MERGE_FIRST };

struct rule {
	const char *key;
	enum merge how;
};

/* What is not here is the same at all brokers, or that of the first is as good. room: a
 * worker's slots are one pool, each broker knows how much of it is free. */
static const struct rule session_rules[] = {
	{ "load", MERGE_SUM },
	{ "asked", MERGE_SUM },
	{ "errors", MERGE_SUM },
	{ "room", MERGE_MIN },
	{ "silent_ms", MERGE_MAX },
	{ "opened_ms", MERGE_MAX },
	{ "probed_ms", MERGE_MAX },
	{ "lag_ms", MERGE_MAX },
	{ "oldest_ms", MERGE_MAX },
	{ "probe", MERGE_WORST },
};
static const struct rule service_rules[] = {
	{ "workers", MERGE_MAX },
	{ "queued", MERGE_SUM },
	{ "running", MERGE_SUM },
	{ "oldest_ms", MERGE_MAX },
	{ "priority", MERGE_MIN },
};

static const struct value *
worse(const struct value *one, const struct value *other)
{
	return value_text_is(other, "stuck") ? other : one;
}

static const struct value *
merge_values(struct arena *arena, enum merge how, const struct value *one,
    const struct value *other)
{
	int64_t a, b;

	if (value_is_nil(one) || value_is_nil(other))
		return value_is_nil(one) ? other : one;
	if (how == MERGE_WORST)
		return worse(one, other);
	a = value_whole(one, 0);
	b = value_whole(other, 0);
	if (how == MERGE_SUM)
		return value_int(arena, a + b);
	if (how == MERGE_MIN)
		return value_int(arena, a < b ? a : b);
	return how == MERGE_MAX ? value_int(arena, a > b ? a : b) : one;
}

static enum merge
rule_of(const struct rule *rules, size_t count, const char *key)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (strcmp(rules[i].key, key) == 0)
			return rules[i].how;
	return MERGE_FIRST;
}

/* Two maps as one: pairs of both, those of the same key merged by the rules. */
static const struct value *
merge_maps(struct arena *arena, const struct rule *rules, size_t count,
    const struct value *one, const struct value *other)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	value_fields_put_all(&fields, one);
	for (i = 0; i < value_size(other); i++) {
		const struct value_pair *pair = &other->pairs[i];
		const char *key = value_text(pair->key);

		value_fields_set(&fields, key,
		    merge_values(arena, rule_of(rules, count, key), value_get(one, key),
			pair->value));
	}
	return value_fields_end(&fields);
}

/* Counts of things: everything adds up. */
static const struct value *
merge_sums(struct arena *arena, const struct value *one, const struct value *other)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	value_fields_put_all(&fields, one);
	for (i = 0; i < value_size(other); i++) {
		const char *key = value_text(other->pairs[i].key);

		value_fields_set(&fields, key,
		    merge_values(
			arena, MERGE_SUM, value_get(one, key), other->pairs[i].value));
	}
	return value_fields_end(&fields);
}

struct rows {
	const char *key; /* what makes two rows the same thing */
	const struct rule *rules;
	size_t rule_count;
};

static size_t
find_row(const struct value_list *rows, const char *key, const char *wanted)
{
	size_t i;

	for (i = 0; i < rows->count; i++)
		if (value_text_is(value_get(rows->items[i], key), wanted))
			break;
	return i;
}

static const struct value *
merge_rows(struct arena *arena, const struct rows *how, const struct value *one,
    const struct value *other)
{
	struct value_list rows = { .arena = arena };
	size_t i, at;

	value_list_add_all(&rows, one);
	for (i = 0; i < value_size(other); i++) {
		const struct value *row = value_at(other, i);

		at = find_row(&rows, how->key, value_get_text(row, how->key));
		if (at == rows.count)
			value_list_add(&rows, row);
		else
			rows.items[at] = merge_maps(
			    arena, how->rules, how->rule_count, rows.items[at], row);
	}
	return value_list_end(&rows);
}

/* Two spreads that were counted by the same bounds. */
static const struct value *
merge_spreads(struct arena *arena, const struct value *one, const struct value *other)
{
	const struct value *mine = value_get(one, "counts");
	const struct value *theirs = value_get(other, "counts");
	struct value_list counts = { .arena = arena };
	size_t i;

	if (one == NULL || value_size(mine) != value_size(theirs))
		return one == NULL ? other : one;
	for (i = 0; i < value_size(mine); i++)
		value_list_add(&counts, merge_values(arena, MERGE_SUM, value_at(mine, i),
					    value_at(theirs, i)));
	return value_map(arena, "counts", value_list_end(&counts), "sum_ms",
	    merge_values(
		arena, MERGE_SUM, value_get(one, "sum_ms"), value_get(other, "sum_ms")),
	    NULL);
}

static const struct value *
merge_kinds(struct arena *arena, const struct value *one, const struct value *other)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	value_fields_put_all(&fields, one);
	for (i = 0; i < value_size(other); i++) {
		const char *kind = value_text(other->pairs[i].key);

		value_fields_set(&fields, kind,
		    merge_spreads(arena, value_get(one, kind), other->pairs[i].value));
	}
	return value_fields_end(&fields);
}

/* One that counts by other bounds, or not at all, is left out. */
const struct value *
stats_merge_times(struct arena *arena, const struct value *one, const struct value *other)
{
	const struct value *bounds = value_get(one, "bounds_ms");

	if (value_is_nil(one) || value_is_nil(other))
		return value_is_nil(one) ? other : one;
	if (!value_equal(bounds, value_get(other, "bounds_ms")))
		return one;
	return value_map(arena, "bounds_ms", bounds, "waited",
	    merge_kinds(arena, value_get(one, "waited"), value_get(other, "waited")),
	    "ran", merge_kinds(arena, value_get(one, "ran"), value_get(other, "ran")),
	    NULL);
}

const struct value *
stats_merge(struct arena *arena, const struct value *one, const struct value *other)
{
	static const struct rows sessions = { "session", session_rules,
		sizeof session_rules / sizeof session_rules[0] };
	static const struct rows services = { "name", service_rules,
		sizeof service_rules / sizeof service_rules[0] };
	static const char *const sums[] = { "calls", "bodies", "counters" };
	struct value_fields fields = { .arena = arena };
	size_t i;

	value_fields_put_all(&fields, one);
	value_fields_set(&fields, "sessions",
	    merge_rows(arena, &sessions, value_get(one, "sessions"),
		value_get(other, "sessions")));
	value_fields_set(&fields, "services",
	    merge_rows(arena, &services, value_get(one, "services"),
		value_get(other, "services")));
	for (i = 0; i < sizeof sums / sizeof sums[0]; i++)
		value_fields_set(&fields, sums[i],
		    merge_sums(
			arena, value_get(one, sums[i]), value_get(other, sums[i])));
	value_fields_set(&fields, "times",
	    stats_merge_times(arena, value_get(one, "times"), value_get(other, "times")));
	return value_fields_end(&fields);
}
