#include "value.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "key_index.h"
#include "utf8.h"

/* Powers of two: exact as a double, which INT64_MAX is not. */
#define INT64_BELOW 0x1p63
#define WHOLE_MAX 0x1p53

static const struct value nil = { .type = VALUE_NIL };
static const struct value truth = { .type = VALUE_BOOL, .boolean = true };
static const struct value falsehood = { .type = VALUE_BOOL };
static const struct value empty_map = { .type = VALUE_MAP };
static const struct value empty_array = { .type = VALUE_ARRAY };

/* --- making ------------------------------------------------------------------------- */

const struct value *
value_nil(void)
{
	return &nil;
}

const struct value *
value_bool(bool boolean)
{
	return boolean ? &truth : &falsehood;
}

const struct value *
value_empty_map(void)
{
	return &empty_map;
}

const struct value *
value_empty_array(void)
{
	return &empty_array;
}

static struct value *
make(struct arena *arena, enum value_type type, size_t size)
{
	struct value *value = arena_take(arena, sizeof *value);

	assert(size < UINT32_MAX); /* whoever lets more in has no bound */
	*value = (struct value){ .type = type, .size = (uint32_t)size };
	return value;
}

const struct value *
value_int(struct arena *arena, int64_t integer)
{
	struct value *value = make(arena, VALUE_INT, 0);

	value->integer = integer;
	return value;
}

const struct value *
value_float(struct arena *arena, double real)
{
	struct value *value = make(arena, VALUE_FLOAT, 0);

	value->real = real;
	return value;
}

const struct value *
value_str(struct arena *arena, const char *text)
{
	if (text == NULL)
		return &nil;
	return value_strn(arena, text, strlen(text));
}

/* In one piece with its text. */
static const struct value *
make_text(struct arena *arena, enum value_type type, const void *data, size_t size)
{
	struct value *value = arena_take(arena, sizeof *value + size + 1);
	char *text = (char *)(value + 1);

	assert(size < UINT32_MAX);
	*value = (struct value){ .type = type, .size = (uint32_t)size, .text = text };
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	return value;
}

const struct value *
value_strn(struct arena *arena, const char *text, size_t size)
{
	struct value *value;

	if (utf8_valid(text, size))
		return make_text(arena, VALUE_STR, text, size);
	text = utf8_repair(arena, text, size, &size);
	value = make(arena, VALUE_STR, size);
	value->text = text;
	return value;
}

const struct value *
value_bin(struct arena *arena, const void *data, size_t size)
{
	return make_text(arena, VALUE_BIN, data, size);
}

const struct value *
value_printf(struct arena *arena, const char *format, ...)
{
	struct value *value;
	va_list args;
	size_t size;
	char *text;

	va_start(args, format);
	text = arena_vprintf(arena, format, args);
	va_end(args);
	size = strlen(text);
	if (!utf8_valid(text, size))
		text = utf8_repair(arena, text, size, &size);
	value = make(arena, VALUE_STR, size);
	value->text = text;
	return value;
}

const struct value *
value_map(struct arena *arena, ...)
{
	struct value_fields fields = { .arena = arena };
	const char *key;
	va_list args;

	va_start(args, arena);
	while ((key = va_arg(args, const char *)) != NULL)
		value_fields_set(&fields, key, va_arg(args, const struct value *));
	va_end(args);
	return value_fields_end(&fields);
}

const struct value *
value_array(struct arena *arena, const struct value *const *items, size_t count)
{
	struct value *value = make(arena, VALUE_ARRAY, count);
	const struct value **copy = arena_take(arena, count * sizeof *copy);
	size_t i;

	for (i = 0; i < count; i++)
		copy[i] = items[i] == NULL ? &nil : items[i];
	value->items = copy;
	return value;
}

/* --- looking ------------------------------------------------------------------------ */

bool
value_is(const struct value *value, enum value_type type)
{
	return value != NULL && value->type == type;
}

bool
value_is_nil(const struct value *value)
{
	return value == NULL || value->type == VALUE_NIL;
}

bool
value_is_number(const struct value *value)
{
	return value_is(value, VALUE_INT) || value_is(value, VALUE_FLOAT);
}

bool
value_truthy(const struct value *value)
{
	if (value == NULL)
		return false;
	switch (value->type) {
	case VALUE_NIL:
		return false;
	case VALUE_BOOL:
		return value->boolean;
	case VALUE_INT:
		return value->integer != 0;
	case VALUE_FLOAT:
		return value->real != 0;
	case VALUE_STR:
	case VALUE_BIN:
	case VALUE_ARRAY:
	case VALUE_MAP:
		break;
	}
	return value->size > 0;
}

size_t
value_size(const struct value *value)
{
	return value == NULL ? 0 : value->size;
}

unsigned
value_depth(const struct value *value, unsigned most)
{
	bool map = value_is(value, VALUE_MAP);
	unsigned deepest = 0, one;
	size_t i;

	if (most == 0 || (!map && !value_is(value, VALUE_ARRAY)))
		return 0;
	for (i = 0; i < value->size; i++) {
		one =
		    value_depth(map ? value->pairs[i].value : value->items[i], most - 1);
		deepest = one > deepest ? one : deepest;
	}
	return deepest + 1;
}

const struct value *
value_at(const struct value *array, size_t index)
{
	if (!value_is(array, VALUE_ARRAY) || index >= array->size)
		return NULL;
	return array->items[index];
}

static bool
is_text(const struct value *value, const char *text, size_t size)
{
	return value->size == size && value->type == VALUE_STR &&
	       (size == 0 ||
		   (value->text[0] == text[0] && memcmp(value->text, text, size) == 0));
}

const struct value *
value_get(const struct value *map, const char *key)
{
	size_t size, i;

	if (!value_is(map, VALUE_MAP))
		return NULL;
	size = strlen(key);
	for (i = 0; i < map->size; i++)
		if (is_text(map->pairs[i].key, key, size))
			return map->pairs[i].value;
	return NULL;
}

bool
value_has(const struct value *map, const char *key)
{
	return value_get(map, key) != NULL;
}

const char *
value_text(const struct value *value)
{
	return value_is(value, VALUE_STR) ? value->text : NULL;
}

bool
value_text_is(const struct value *value, const char *text)
{
	return value != NULL && is_text(value, text, strlen(text));
}

const char *
value_get_text(const struct value *map, const char *key)
{
	return value_text(value_get(map, key));
}

int64_t
value_get_int(const struct value *map, const char *key, int64_t otherwise)
{
	const struct value *value = value_get(map, key);

	if (value_is(value, VALUE_INT))
		return value->integer;
	if (value_is(value, VALUE_FLOAT) && value->real >= -INT64_BELOW &&
	    value->real < INT64_BELOW && value->real == (double)(int64_t)value->real)
		return (int64_t)value->real;
	return otherwise;
}

double
value_get_number(const struct value *map, const char *key, double otherwise)
{
	return value_number(value_get(map, key), otherwise);
}

double
value_number(const struct value *value, double otherwise)
{
	if (value_is(value, VALUE_INT))
		return (double)value->integer;
	return value_is(value, VALUE_FLOAT) ? value->real : otherwise;
}

int64_t
value_whole(const struct value *value, int64_t otherwise)
{
	double real = value_number(value, (double)otherwise);

	if (isnan(real))
		return otherwise;
	return (int64_t)(real > WHOLE_MAX    ? WHOLE_MAX
			 : real < -WHOLE_MAX ? -WHOLE_MAX
					     : real);
}

bool
value_get_bool(const struct value *map, const char *key, bool otherwise)
{
	const struct value *value = value_get(map, key);

	return value_is(value, VALUE_BOOL) ? value->boolean : otherwise;
}

bool
value_contains(const struct value *array, const char *text)
{
	size_t i;

	for (i = 0; value_is(array, VALUE_ARRAY) && i < array->size; i++)
		if (value_text_is(array->items[i], text))
			return true;
	return false;
}

const char *
value_type_name(enum value_type type)
{
	static const char *const names[] = {
		[VALUE_NIL] = "null",
		[VALUE_BOOL] = "boolean",
		[VALUE_INT] = "integer",
		[VALUE_FLOAT] = "number",
		[VALUE_STR] = "string",
		[VALUE_BIN] = "binary",
		[VALUE_ARRAY] = "array",
		[VALUE_MAP] = "object",
	};

	return names[type];
}

/* --- equality ----------------------------------------------------------------------- */

static bool
equal_mixed(int64_t integer, double real)
{
	return real >= -INT64_BELOW && real < INT64_BELOW && (int64_t)real == integer &&
	       (double)(int64_t)real == real;
}

/* NaN equals NaN here: a value is always equal to its copy. */
static bool
equal_numbers(const struct value *a, const struct value *b)
{
	if (a->type == VALUE_INT && b->type == VALUE_INT)
		return a->integer == b->integer;
	if (a->type == VALUE_INT)
		return equal_mixed(a->integer, b->real);
	if (b->type == VALUE_INT)
		return equal_mixed(b->integer, a->real);
	return a->real == b->real || (a->real != a->real && b->real != b->real);
}

static bool
equal_arrays(const struct value *a, const struct value *b)
{
	size_t i;

	for (i = 0; i < a->size; i++)
		if (!value_equal(a->items[i], b->items[i]))
			return false;
	return true;
}

static void
index_keys(struct value_lookup *lookup)
{
	const struct value *map = lookup->map;
	size_t i;

	if (lookup->arena == NULL)
		lookup->arena = arena_new();
	lookup->index = key_index_new(lookup->arena, map->size);
	for (i = 0; i < map->size; i++)
		key_index_put(lookup->index, map->pairs, map->pairs[i].key, i);
}

const struct value *
value_look(struct value_lookup *lookup, const struct value *key)
{
	const struct value *map = lookup->map;
	long at;
	size_t i;

	if (!value_is(map, VALUE_MAP))
		return NULL;
	if (map->size > KEY_INDEX_FROM) {
		if (lookup->index == NULL)
			index_keys(lookup);
		at = key_index_find(lookup->index, map->pairs, key);
		return at < 0 ? NULL : map->pairs[at].value;
	}
	for (i = 0; i < map->size; i++)
		if (is_text(map->pairs[i].key, key->text, key->size))
			return map->pairs[i].value;
	return NULL;
}

/* Looks first where it is when the maps have one order. */
static const struct value *
counterpart(struct value_lookup *lookup, const struct value *key, size_t likely)
{
	const struct value_pair *pair = &lookup->map->pairs[likely];

	return is_text(pair->key, key->text, key->size) ? pair->value
							: value_look(lookup, key);
}

static bool
equal_maps(const struct value *a, const struct value *b)
{
	struct value_lookup lookup = { .map = b };
	const struct value *other;
	bool equal = true;
	size_t i;

	for (i = 0; equal && i < a->size; i++) {
		other = counterpart(&lookup, a->pairs[i].key, i);
		equal = other != NULL && value_equal(a->pairs[i].value, other);
	}
	arena_destroy(&lookup.arena);
	return equal;
}

bool
value_equal(const struct value *a, const struct value *b)
{
	if (a == b || value_is_nil(a) || value_is_nil(b))
		return value_is_nil(a) == value_is_nil(b);
	if (value_is_number(a) && value_is_number(b))
		return equal_numbers(a, b);
	if (a->type != b->type || a->size != b->size)
		return false;
	switch (a->type) {
	case VALUE_BOOL:
		return a->boolean == b->boolean;
	case VALUE_ARRAY:
		return equal_arrays(a, b);
	case VALUE_MAP:
		return equal_maps(a, b);
	default:
		return memcmp(a->text, b->text, a->size) == 0;
	}
}
