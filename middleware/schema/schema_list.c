/* Keywords for arrays. */
#include <stdlib.h>
#include <string.h>

#include "schema_check.h"

/* Checks items from `from` on against schema; all of them when reasons are wanted. */
static bool
check_rest(struct check *check, const struct value *schema, const struct value *instance,
    size_t from, const struct place *place)
{
	struct place at = { .parent = place };
	bool fits = true;

	for (at.index = from; at.index < instance->size; at.index++) {
		if (check_value(check, schema, instance->items[at.index], &at))
			continue;
		fits = false;
		if (check->reasons == NULL || check->stopped != NULL)
			return false;
	}
	return fits;
}

/* Checks each item against the schema at its position. */
static bool
check_tuple(struct check *check, const struct value *schemas,
    const struct value *instance, const struct place *place)
{
	struct place at = { .parent = place };
	bool fits = true;

	for (; at.index < instance->size && at.index < schemas->size; at.index++) {
		if (!check_value(
			check, schemas->items[at.index], instance->items[at.index], &at))
			fits = false;
	}
	return fits;
}

bool
check_prefix_items(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place)
{
	(void)schema;
	if (!value_is(instance, VALUE_ARRAY) || !value_is(keyword, VALUE_ARRAY))
		return true;
	return check_tuple(check, keyword, instance, place);
}

bool
check_items(struct check *check, const struct value *schema, const struct value *keyword,
    const struct value *instance, const struct place *place)
{
	if (!value_is(instance, VALUE_ARRAY))
		return true;
	/* The tuple of draft 7 is the prefixItems of 2020-12. */
	if (value_is(keyword, VALUE_ARRAY))
		return check_tuple(check, keyword, instance, place);
	return check_rest(check, keyword, instance,
	    value_size(value_get(schema, "prefixItems")), place);
}

bool
check_additional_items(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place)
{
	const struct value *items = value_get(schema, "items");

	if (!value_is(instance, VALUE_ARRAY) || !value_is(items, VALUE_ARRAY))
		return true;
	return check_rest(check, keyword, instance, items->size, place);
}

bool
check_contains(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place)
{
	int64_t least = number_count(value_get(schema, "minContains"));
	int64_t most = number_count(value_get(schema, "maxContains")), found = 0;
	struct place at = { .parent = place };

	if (!value_is(instance, VALUE_ARRAY))
		return true;
	for (; at.index < instance->size; at.index++)
		found += check_quietly(check, keyword, instance->items[at.index], &at);
	if (found < (least == -1 ? 1 : least))
		return check_fail(check, place,
		    "must have at least %lld items of a certain form, not %lld",
		    (long long)(least == -1 ? 1 : least), (long long)found);
	if (most != -1 && found > most)
		return check_fail(check, place,
		    "must have at most %lld items of a certain form, not %lld",
		    (long long)most, (long long)found);
	return true;
}

bool
check_min_items(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place)
{
	int64_t least = number_count(keyword);

	(void)schema;
	if (!value_is(instance, VALUE_ARRAY) || (int64_t)instance->size >= least)
		return true;
	return check_fail(check, place, "must have at least %lld items, not %u",
	    (long long)least, (unsigned)instance->size);
}

bool
check_max_items(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place)
{
	int64_t most = number_count(keyword);

	(void)schema;
	if (most == -1 || !value_is(instance, VALUE_ARRAY) ||
	    (int64_t)instance->size <= most)
		return true;
	return check_fail(check, place, "must have at most %lld items, not %u",
	    (long long)most, (unsigned)instance->size);
}

/* --- uniqueItems -------------------------------------------------------------------- */

/* Equal values have equal digests; so that a long list is not compared pair by pair. */
struct digested {
	uint64_t digest;
	size_t index;
};

static uint64_t
mix(uint64_t digest, uint64_t more)
{
	digest ^= more;
	digest *= 0x9e3779b97f4a7c15u;
	return digest ^ (digest >> 29);
}

static uint64_t
digest_bytes(uint64_t seed, const char *bytes, size_t size)
{
	uint64_t digest = mix(seed, size);
	size_t i;

	for (i = 0; i < size; i++)
		digest = mix(digest, (unsigned char)bytes[i]);
	return digest;
}

/* 1 and 1.0 are equal, so are 0.0 and -0.0. */
static uint64_t
digest_real(double real)
{
	uint64_t bits;

	if (real >= -0x1p63 && real < 0x1p63 && real == (double)(int64_t)real)
		return mix(VALUE_INT, (uint64_t)(int64_t)real);
	memcpy(&bits, &real, sizeof bits);
	return mix(VALUE_FLOAT, bits);
}

static uint64_t
digest_of(const struct value *value)
{
	uint64_t digest = value->type;
	size_t i;

	switch (value->type) {
	case VALUE_NIL:
		return mix(digest, 0);
	case VALUE_BOOL:
		return mix(digest, value->boolean);
	case VALUE_INT:
		return mix(digest, (uint64_t)value->integer);
	case VALUE_FLOAT:
		return digest_real(value->real);
	case VALUE_STR:
	case VALUE_BIN:
		return digest_bytes(digest, value->text, value->size);
	case VALUE_ARRAY:
		for (i = 0; i < value->size; i++)
			digest = mix(digest, digest_of(value->items[i]));
		return digest;
	case VALUE_MAP:
		/* A sum: the order of keys does not matter. */
		for (i = 0; i < value->size; i++)
			digest += mix(digest_of(value->pairs[i].key),
			    digest_of(value->pairs[i].value));
		return digest;
	}
	return digest;
}

static int
compare_digest(const void *a, const void *b)
{
	const struct digested *left = a, *right = b;

	if (left->digest != right->digest)
		return left->digest < right->digest ? -1 : 1;
	return (left->index > right->index) - (left->index < right->index);
}

/* Looks for an item equal to items[at] among those behind it with the same digest. */
static bool
is_repeated(struct check *check, const struct value *instance,
    const struct digested *sorted, size_t at, size_t *other_r)
{
	size_t i;

	for (i = at + 1; i < instance->size && sorted[i].digest == sorted[at].digest;
	     i++) {
		if (!check_spend_on(check, instance->items[sorted[at].index]))
			return true;
		*other_r = sorted[i].index;
		if (value_equal(instance->items[sorted[at].index],
			instance->items[sorted[i].index]))
			return true;
	}
	return false;
}

bool
check_unique_items(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place)
{
	struct digested *sorted;
	size_t i, other = 0;
	bool fits = true;

	(void)schema;
	if (!value_is(keyword, VALUE_BOOL) || !keyword->boolean ||
	    !value_is(instance, VALUE_ARRAY) || instance->size < 2)
		return true;
	if (!check_spend(check, instance->size) || !check_spend_on(check, instance))
		return false;
	sorted = calloc(instance->size, sizeof *sorted);
	if (sorted == NULL)
		arena_exhausted();
	for (i = 0; i < instance->size; i++) {
		sorted[i].digest = digest_of(instance->items[i]);
		sorted[i].index = i;
	}
	qsort(sorted, instance->size, sizeof *sorted, compare_digest);
	for (i = 0; fits && i + 1 < instance->size; i++) {
		if (is_repeated(check, instance, sorted, i, &other))
			fits = check_fail(check, place,
			    "items %zu and %zu are equal, none may be there twice",
			    sorted[i].index, other);
	}
	free(sorted);
	return fits;
}
