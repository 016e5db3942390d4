/* memory_containers: lists, sets and sorted sets of the Redis in memory. */
#include <luajit-2.1/lauxlib.h>
#include <stdlib.h>

#include "memory_private.h"

/* --- lists ----------------------------------------------------------------------------- */

int
memory_do_rpush(struct redis_memory *memory, lua_State *lua)
{
	struct key *key = memory_key_for(memory, lua, KIND_LIST);
	size_t i;

	for (i = 2; i < memory->arg_count; i++)
		memory_item_add(memory, key, key->count)->value =
		    memory_keep(memory, &memory->args[i]);
	return memory_answer_integer(lua, key->count);
}

int
memory_do_lpush(struct redis_memory *memory, lua_State *lua)
{
	struct key *key = memory_key_for(memory, lua, KIND_LIST);
	size_t i;

	for (i = 2; i < memory->arg_count; i++)
		memory_item_add(memory, key, 0)->value =
		    memory_keep(memory, &memory->args[i]);
	return memory_answer_integer(lua, key->count);
}

int
memory_do_lpop(struct redis_memory *memory, lua_State *lua)
{
	struct key *key = memory_key_of(memory, lua, KIND_LIST);

	if (key->count == 0)
		return memory_answer_item(lua, NULL);
	memory_answer_item(lua, &key->items[0]);
	memory_item_remove(key, 0);
	return 1;
}

int
memory_do_llen(struct redis_memory *memory, lua_State *lua)
{
	return memory_answer_integer(lua, memory_key_of(memory, lua, KIND_LIST)->count);
}

static long
list_index(const struct key *key, const struct bytes *bytes)
{
	long index = (long)memory_number_of(bytes);

	return index < 0 ? index + (long)key->count : index;
}

int
memory_do_lrange(struct redis_memory *memory, lua_State *lua)
{
	struct key *key = memory_key_of(memory, lua, KIND_LIST);
	long first = list_index(key, &memory->args[2]);
	long last = list_index(key, &memory->args[3]), i;

	if (first < 0)
		first = 0;
	if (last >= (long)key->count)
		last = (long)key->count - 1;
	lua_newtable(lua);
	for (i = first; i <= last; i++) {
		memory_answer_item(lua, &key->items[i]);
		lua_rawseti(lua, -2, (int)(i - first) + 1);
	}
	return 1;
}

int
memory_do_lindex(struct redis_memory *memory, lua_State *lua)
{
	struct key *key = memory_key_of(memory, lua, KIND_LIST);
	long index = list_index(key, &memory->args[2]);

	return memory_answer_item(
	    lua, index >= 0 && index < (long)key->count ? &key->items[index] : NULL);
}

/* LREM key 0 value: all that are equal. */
int
memory_do_lset(struct redis_memory *memory, lua_State *lua)
{
	struct key *key = memory_key_of(memory, lua, KIND_LIST);
	long index = list_index(key, &memory->args[2]);

	if (index < 0 || index >= (long)key->count)
		return luaL_error(lua, "index out of range");
	key->items[index].value = memory_keep(memory, &memory->args[3]);
	return memory_answer_ok(lua);
}

int
memory_do_ltrim(struct redis_memory *memory, lua_State *lua)
{
	struct key *key = memory_key_of(memory, lua, KIND_LIST);
	long first = list_index(key, &memory->args[2]);
	long last = list_index(key, &memory->args[3]), i;

	for (i = (long)key->count - 1; i >= 0; i--)
		if (i < first || i > last)
			memory_item_remove(key, (size_t)i);
	return memory_answer_ok(lua);
}

int
memory_do_lrem(struct redis_memory *memory, lua_State *lua)
{
	struct key *key = memory_key_of(memory, lua, KIND_LIST);
	size_t i = 0, removed = 0;

	while (i < key->count) {
		if (!memory_same(&key->items[i].value, &memory->args[3])) {
			i++;
			continue;
		}
		memory_item_remove(key, i);
		removed++;
	}
	return memory_answer_integer(lua, removed);
}

/* --- sets ------------------------------------------------------------------------------ */

int
memory_do_sadd(struct redis_memory *memory, lua_State *lua)
{
	struct key *key = memory_key_for(memory, lua, KIND_SET);
	size_t i, added = 0;

	for (i = 2; i < memory->arg_count; i++) {
		if (memory_item_of(key, &memory->args[i]) != NULL)
			continue;
		memory_item_add(memory, key, key->count)->name =
		    memory_keep(memory, &memory->args[i]);
		added++;
	}
	return memory_answer_integer(lua, added);
}

int
memory_do_srem(struct redis_memory *memory, lua_State *lua)
{
	return memory_remove_named(memory, lua, KIND_SET);
}

int
memory_do_smembers(struct redis_memory *memory, lua_State *lua)
{
	return memory_answer_names(lua, memory_key_of(memory, lua, KIND_SET));
}

int
memory_do_scard(struct redis_memory *memory, lua_State *lua)
{
	return memory_answer_integer(lua, memory_key_of(memory, lua, KIND_SET)->count);
}

/* --- sorted sets: kept in order -------------------------------------------------------- */

static void
zset_put(struct redis_memory *memory, struct key *key, const struct bytes *member,
    double score)
{
	struct item *old = memory_item_of(key, member), *item;
	struct bytes name;
	size_t at;

	name = old != NULL ? old->name : memory_keep(memory, member);
	if (old != NULL) {
		key->count--;
		at = (size_t)(old - key->items);
		memmove(&key->items[at], &key->items[at + 1],
		    (key->count - at) * sizeof *key->items);
	}
	for (at = 0; at < key->count && key->items[at].score <= score; at++)
		;
	item = memory_item_add(memory, key, at);
	item->name = name;
	item->score = score;
}

/* ZADD key [NX | LT] score member ... */
int
memory_do_zadd(struct redis_memory *memory, lua_State *lua)
{
	struct key *key = memory_key_for(memory, lua, KIND_ZSET);
	bool only_new = memory_says(&memory->args[2], "NX");
	bool only_less = memory_says(&memory->args[2], "LT");
	size_t i = only_new || only_less ? 3 : 2, added = 0;

	if ((memory->arg_count - i) % 2 != 0)
		return luaL_error(lua, "ZADD: an option that the simulator has not");
	for (; i < memory->arg_count; i += 2) {
		struct item *old = memory_item_of(key, &memory->args[i + 1]);
		double score = memory_number_of(&memory->args[i]);

		added += old == NULL;
		if (old == NULL || (!only_new && (!only_less || score < old->score)))
			zset_put(memory, key, &memory->args[i + 1], score);
	}
	return memory_answer_integer(lua, added);
}

int
memory_do_zrem(struct redis_memory *memory, lua_State *lua)
{
	return memory_remove_named(memory, lua, KIND_ZSET);
}

int
memory_do_zcard(struct redis_memory *memory, lua_State *lua)
{
	return memory_answer_integer(lua, memory_key_of(memory, lua, KIND_ZSET)->count);
}

int
memory_do_zscore(struct redis_memory *memory, lua_State *lua)
{
	const struct item *item =
	    memory_item_of(memory_key_of(memory, lua, KIND_ZSET), &memory->args[2]);
	char text[NUMBER_BYTES];

	if (item == NULL)
		return memory_answer_item(lua, NULL);
	memory_print(text, item->score);
	lua_pushstring(lua, text);
	return 1;
}

/* "12", "(12", "-inf", "+inf". */
static bool
above(const struct bytes *bound, double score)
{
	if (bound->data[0] == '(')
		return score > strtod(bound->data + 1, NULL);
	return score >= strtod(bound->data, NULL);
}

static bool
below(const struct bytes *bound, double score)
{
	if (bound->data[0] == '(')
		return score < strtod(bound->data + 1, NULL);
	return score <= strtod(bound->data, NULL);
}

/* ZRANGEBYSCORE key min max [LIMIT offset count] */
int
memory_do_zrangebyscore(struct redis_memory *memory, lua_State *lua)
{
	const struct key *key = memory_key_of(memory, lua, KIND_ZSET);
	double limit = 1e9, skip = 0;
	size_t i;
	int found = 0;

	if (memory->arg_count == 7 && memory_says(&memory->args[4], "LIMIT")) {
		skip = memory_number_of(&memory->args[5]);
		limit = memory_number_of(&memory->args[6]);
	} else if (memory->arg_count != 4) {
		return luaL_error(
		    lua, "ZRANGEBYSCORE: an option that the simulator has not");
	}
	lua_newtable(lua);
	for (i = 0; i < key->count && found < limit; i++) {
		const struct item *item = &key->items[i];

		if (!above(&memory->args[2], item->score) ||
		    !below(&memory->args[3], item->score) || skip-- > 0)
			continue;
		memory_push_bytes(lua, &item->name);
		lua_rawseti(lua, -2, ++found);
	}
	return 1;
}
