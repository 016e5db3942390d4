/* Values under construction, and new values that share what did not change. */
#include <assert.h>
#include <string.h>

#include "key_index.h"
#include "value.h"

#define ROOM_AT_FIRST 8u

/* --- lists -------------------------------------------------------------------------- */

static void
list_reserve(struct value_list *list, size_t more)
{
	const struct value **items;
	size_t room = list->room == 0 ? ROOM_AT_FIRST : list->room;

	if (list->count + more <= list->room)
		return;
	while (room < list->count + more)
		room *= 2;
	items = arena_take(list->arena, room * sizeof *items);
	if (list->count > 0)
		memcpy(items, list->items, list->count * sizeof *items);
	list->items = items;
	list->room = room;
}

void
value_list_add(struct value_list *list, const struct value *item)
{
	list_reserve(list, 1);
	list->items[list->count++] = item == NULL ? value_nil() : item;
}

void
value_list_add_all(struct value_list *list, const struct value *array)
{
	if (!value_is(array, VALUE_ARRAY) || array->size == 0)
		return;
	list_reserve(list, array->size);
	memcpy(
	    list->items + list->count, array->items, array->size * sizeof *array->items);
	list->count += array->size;
}

/* Returns an array that lends items. */
static const struct value *
array_of(struct arena *arena, const struct value *const *items, size_t count)
{
	struct value *array;

	if (count == 0)
		return value_empty_array();
	assert(count < UINT32_MAX);
	array = arena_take(arena, sizeof *array);
	*array = (struct value){
		.type = VALUE_ARRAY, .size = (uint32_t)count, .items = items
	};
	return array;
}

const struct value *
value_list_end(struct value_list *list)
{
	return array_of(list->arena, list->items, list->count);
}

/* --- maps --------------------------------------------------------------------------- */

static void
fields_reserve(struct value_fields *fields, size_t more)
{
	struct value_pair *pairs;
	size_t room = fields->room == 0 ? ROOM_AT_FIRST : fields->room, i;

	if (fields->count + more <= fields->room)
		return;
	while (room < fields->count + more)
		room *= 2;
	pairs = arena_take(fields->arena, room * sizeof *pairs);
	if (fields->count > 0)
		memcpy(pairs, fields->pairs, fields->count * sizeof *pairs);
	fields->pairs = pairs;
	fields->room = room;
	fields->index = NULL;
	if (room <= KEY_INDEX_FROM)
		return;
	fields->index = key_index_new(fields->arena, room);
	for (i = 0; i < fields->count; i++)
		key_index_put(fields->index, pairs, pairs[i].key, i);
}

/* Returns the position of key, or -1; then the next pair must be key's. */
static long
fields_find(const struct value_fields *fields, const struct value *key)
{
	const struct value *other;
	size_t i;

	if (fields->index != NULL)
		return key_index_put(fields->index, fields->pairs, key, fields->count);
	for (i = 0; i < fields->count; i++) {
		other = fields->pairs[i].key;
		if (other == key ||
		    (other->size == key->size && other->text[0] == key->text[0] &&
			memcmp(other->text, key->text, key->size) == 0))
			return (long)i;
	}
	return -1;
}

void
value_fields_put(
    struct value_fields *fields, const struct value *key, const struct value *value)
{
	long at;

	assert(key->type == VALUE_STR);
	if (value == NULL)
		return;
	fields_reserve(fields, 1);
	at = fields_find(fields, key);
	if (at >= 0)
		fields->pairs[at].value = value;
	else
		fields->pairs[fields->count++] = (struct value_pair){ key, value };
}

void
value_fields_put_all(struct value_fields *fields, const struct value *map)
{
	size_t i;

	if (!value_is(map, VALUE_MAP))
		return;
	fields_reserve(fields, map->size);
	if (fields->count == 0 && fields->index == NULL && map->size > 0) {
		memcpy(fields->pairs, map->pairs, map->size * sizeof *map->pairs);
		fields->count = map->size;
		return;
	}
	for (i = 0; i < map->size; i++)
		value_fields_put(fields, map->pairs[i].key, map->pairs[i].value);
}

void
value_fields_set(struct value_fields *fields, const char *key, const struct value *value)
{
	if (value != NULL)
		value_fields_put(fields, value_str(fields->arena, key), value);
}

/* Returns a map that lends pairs. */
static const struct value *
map_of(struct arena *arena, const struct value_pair *pairs, size_t count)
{
	struct value *map;

	if (count == 0)
		return value_empty_map();
	assert(count < UINT32_MAX);
	map = arena_take(arena, sizeof *map);
	*map =
	    (struct value){ .type = VALUE_MAP, .size = (uint32_t)count, .pairs = pairs };
	return map;
}

const struct value *
value_fields_end(struct value_fields *fields)
{
	return map_of(fields->arena, fields->pairs, fields->count);
}

const struct value *
value_map_of(struct arena *arena, const struct value_pair *pairs, size_t count)
{
	struct value_pair *own = arena_take(arena, count * sizeof *own);
	size_t kept = 0, i;

	for (i = 0; i < count; i++)
		if (pairs[i].value != NULL)
			own[kept++] = pairs[i];
	return map_of(arena, own, kept);
}

/* --- changing ----------------------------------------------------------------------- */

/* Returns the position of key in map, or its size. */
static size_t
position(const struct value *map, const char *key)
{
	size_t i = 0;

	while (i < value_size(map) && !value_text_is(map->pairs[i].key, key))
		i++;
	return i;
}

const struct value *
value_map_with(struct arena *arena, const struct value *map, const char *key,
    const struct value *value)
{
	size_t count, at;
	struct value_pair *pairs;

	if (!value_is(map, VALUE_MAP))
		map = value_empty_map();
	count = map->size;
	at = position(map, key);
	if (value == NULL && at == count)
		return map;
	pairs = arena_take(arena, (count + 1) * sizeof *pairs);
	if (count > 0)
		memcpy(pairs, map->pairs, count * sizeof *pairs);
	if (value == NULL) {
		memmove(pairs + at, pairs + at + 1, (count - at - 1) * sizeof *pairs);
		return map_of(arena, pairs, count - 1);
	}
	if (at == count) {
		pairs[at].key = value_str(arena, key);
		count++;
	}
	pairs[at].value = value;
	return map_of(arena, pairs, count);
}

const struct value *
value_map_merge(struct arena *arena, const struct value *a, const struct value *b)
{
	struct value_fields fields = { .arena = arena };

	if (value_size(b) == 0)
		return value_is(a, VALUE_MAP) ? a : value_empty_map();
	if (value_size(a) == 0)
		return value_is(b, VALUE_MAP) ? b : value_empty_map();
	fields_reserve(&fields, (size_t)a->size + b->size);
	value_fields_put_all(&fields, a);
	value_fields_put_all(&fields, b);
	return value_fields_end(&fields);
}

const struct value *
value_array_concat(struct arena *arena, const struct value *a, const struct value *b)
{
	struct value_list list = { .arena = arena };

	if (value_size(b) == 0)
		return value_is(a, VALUE_ARRAY) ? a : value_empty_array();
	if (value_size(a) == 0)
		return value_is(b, VALUE_ARRAY) ? b : value_empty_array();
	list_reserve(&list, value_size(a) + value_size(b));
	value_list_add_all(&list, a);
	value_list_add_all(&list, b);
	return value_list_end(&list);
}

const struct value *
value_array_slice(struct arena *arena, const struct value *array, size_t from, size_t to)
{
	if (!value_is(array, VALUE_ARRAY))
		return value_empty_array();
	if (to > array->size)
		to = array->size;
	if (from >= to)
		return value_empty_array();
	if (from == 0 && to == array->size)
		return array;
	return array_of(arena, array->items + from, to - from);
}

const struct value *
value_array_add(struct arena *arena, const struct value *array, const struct value *item)
{
	struct value_list list = { .arena = arena };

	list_reserve(&list, value_size(array) + 1);
	value_list_add_all(&list, array);
	value_list_add(&list, item);
	return value_list_end(&list);
}

/* --- copying ------------------------------------------------------------------------ */

/* The packed bytes last copied: those of the items inside are part of them. */
struct copied {
	const uint8_t *from, *to;
	size_t size;
};

static const uint8_t *
copy_packed(struct arena *arena, const struct value *value, struct copied *around)
{
	uintptr_t offset = (uintptr_t)value->packed - (uintptr_t)around->from;

	if (value->packed == NULL)
		return NULL;
	if (around->from != NULL && offset < around->size)
		return around->to + offset;
	around->from = value->packed;
	around->size = value->packed_size;
	around->to =
	    (const uint8_t *)arena_copy(arena, value->packed, value->packed_size);
	return around->to;
}

static void copy_into(struct arena *arena, struct value *copy, const struct value *value,
    struct copied around);

static void
copy_items(struct arena *arena, struct value *copy, const struct value *array,
    struct copied around)
{
	struct value *items = arena_take(arena, array->size * sizeof *items);
	const struct value **list = arena_take(arena, array->size * sizeof *list);
	size_t i;

	for (i = 0; i < array->size; i++) {
		copy_into(arena, &items[i], array->items[i], around);
		list[i] = &items[i];
	}
	copy->items = list;
}

static void
copy_pairs(struct arena *arena, struct value *copy, const struct value *map,
    struct copied around)
{
	struct value *values = arena_take(arena, (size_t)map->size * 2 * sizeof *values);
	struct value_pair *pairs = arena_take(arena, map->size * sizeof *pairs);
	size_t i;

	for (i = 0; i < map->size; i++) {
		pairs[i].key = &values[2 * i];
		pairs[i].value = &values[2 * i + 1];
		copy_into(arena, &values[2 * i], map->pairs[i].key, around);
		copy_into(arena, &values[2 * i + 1], map->pairs[i].value, around);
	}
	copy->pairs = pairs;
}

static void
copy_into(struct arena *arena, struct value *copy, const struct value *value,
    struct copied around)
{
	*copy = *value;
	copy->packed = copy_packed(arena, value, &around);
	switch (value->type) {
	case VALUE_STR:
	case VALUE_BIN:
		copy->text = arena_copy(arena, value->text, value->size);
		break;
	case VALUE_ARRAY:
		copy_items(arena, copy, value, around);
		break;
	case VALUE_MAP:
		copy_pairs(arena, copy, value, around);
		break;
	default:
		break;
	}
}

const struct value *
value_copy(struct arena *arena, const struct value *value)
{
	struct copied around = { 0 };
	struct value *copy;

	if (value == NULL)
		return NULL;
	copy = arena_take(arena, sizeof *copy);
	copy_into(arena, copy, value, around);
	return copy;
}
