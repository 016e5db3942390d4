/* memory_keys: the keys of the simulator's Redis, a replica's copy of them, and what the checker
 * reads there. */
#include <luajit-2.1/lauxlib.h>
#include <stdlib.h>

#include "memory_private.h"

/* --- keys ------------------------------------------------------------------------------ */

bool
memory_same(const struct bytes *a, const struct bytes *b)
{
	return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

bool
memory_says(const struct bytes *bytes, const char *text)
{
	return bytes->size == strlen(text) && memcmp(bytes->data, text, bytes->size) == 0;
}

struct bytes
memory_keep(struct redis_memory *memory, const struct bytes *bytes)
{
	return (struct bytes){ region_copy(memory->region, bytes->data, bytes->size),
		bytes->size };
}

struct key *
memory_place_of(const struct dataset *dataset, const struct bytes *name)
{
	uint32_t hash = 2166136261u;
	size_t i;

	for (i = 0; i < name->size; i++)
		hash = (hash ^ (unsigned char)name->data[i]) * 16777619u;
	for (;; hash++) {
		const struct key *key = &dataset->keys[hash % MEMORY_KEYS_MAX];

		if (key->name.data == NULL || memory_same(&key->name, name))
			return (struct key *)(uintptr_t)key;
	}
}

void
memory_forget(struct dataset *dataset)
{
	memset(dataset, 0, sizeof *dataset);
}

/* Returns the key for writing, made when there is none. */
struct key *
memory_key_for(struct redis_memory *memory, lua_State *lua, enum kind kind)
{
	struct key *key = memory_place_of(&memory->now, &memory->args[1]);

	if (key->name.data == NULL) {
		if (++memory->now.count > MEMORY_KEYS_MAX * 3 / 4)
			abort();
		key->name = memory_keep(memory, &memory->args[1]);
	}
	if (key->kind == KIND_NONE)
		key->kind = kind;
	else if (key->kind != kind)
		luaL_error(lua, "WRONGTYPE %s", memory->args[1].data);
	return key;
}

static struct key none;

/* Returns the key for reading, an empty one when there is none. */
struct key *
memory_key_of(struct redis_memory *memory, lua_State *lua, enum kind kind)
{
	struct key *key = memory_place_of(&memory->now, &memory->args[1]);

	if (key->kind == KIND_NONE)
		return &none;
	if (key->kind != kind)
		luaL_error(lua, "WRONGTYPE %s", memory->args[1].data);
	return key;
}

void
memory_key_gone(struct key *key)
{
	if (key->count == 0)
		key->kind = KIND_NONE;
}

struct item *
memory_item_of(const struct key *key, const struct bytes *name)
{
	size_t i;

	for (i = 0; i < key->count; i++)
		if (memory_same(&key->items[i].name, name))
			return &key->items[i];
	return NULL;
}

struct item *
memory_item_add(struct redis_memory *memory, struct key *key, size_t at)
{
	if (key->count == key->room) {
		size_t room = key->room == 0 ? 8 : 2 * key->room;
		struct item *items = region_alloc(memory->region, room * sizeof *items);

		if (key->count > 0)
			memcpy(items, key->items, key->count * sizeof *items);
		key->items = items;
		key->room = room;
	}
	memmove(
	    &key->items[at + 1], &key->items[at], (key->count - at) * sizeof *key->items);
	key->count++;
	key->items[at] = (struct item){ 0 };
	return &key->items[at];
}

void
memory_item_remove(struct key *key, size_t at)
{
	key->count--;
	memmove(
	    &key->items[at], &key->items[at + 1], (key->count - at) * sizeof *key->items);
	memory_key_gone(key);
}

/* --- copies ---------------------------------------------------------------------------- */

static void
copy_dataset(struct redis_memory *memory, struct dataset *to, const struct dataset *from)
{
	size_t i;

	*to = *from;
	for (i = 0; i < MEMORY_KEYS_MAX; i++) {
		struct key *key = &to->keys[i];

		if (key->room == 0)
			continue;
		key->items = region_alloc(memory->region, key->room * sizeof *key->items);
		memcpy(key->items, from->keys[i].items, key->count * sizeof *key->items);
	}
}

void
redis_memory_copy(struct redis_memory *memory)
{
	copy_dataset(memory, &memory->copy, &memory->now);
	memory->copied = true;
}

bool
redis_memory_restore(struct redis_memory *memory)
{
	if (!memory->copied)
		return false;
	copy_dataset(memory, &memory->now, &memory->copy);
	return true;
}

/* --- for the checker ------------------------------------------------------------------- */

static const struct key *
find(const struct redis_memory *memory, const char *name)
{
	return memory_place_of(&memory->now, &(struct bytes){ name, strlen(name) });
}

const char *
redis_memory_field(const struct redis_memory *memory, const char *key, const char *field)
{
	const struct key *hash = find(memory, key);
	const struct item *item;

	if (hash->kind != KIND_HASH)
		return NULL;
	item = memory_item_of(hash, &(struct bytes){ field, strlen(field) });
	return item == NULL ? NULL : item->value.data;
}

size_t
redis_memory_size(const struct redis_memory *memory, const char *key)
{
	const struct key *found = find(memory, key);

	return found->kind == KIND_NONE ? 0 : found->count;
}

const char *
redis_memory_item(const struct redis_memory *memory, const char *key, size_t index)
{
	const struct key *list = find(memory, key);

	return list->kind == KIND_LIST && index < list->count
		   ? list->items[index].value.data
		   : NULL;
}
