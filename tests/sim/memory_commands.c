/* memory_commands: the commands of Redis that the Lua of store/ uses, on arrays. */
#include <ctype.h>
#include <luajit-2.1/lauxlib.h>
#include <stdlib.h>

#include "memory_private.h"

/* --- answers --------------------------------------------------------------------------- */

int
memory_answer_integer(lua_State *lua, uint64_t number)
{
	lua_pushnumber(lua, (lua_Number)number);
	return 1;
}

int
memory_answer_ok(lua_State *lua)
{
	lua_newtable(lua);
	lua_pushliteral(lua, "OK");
	lua_setfield(lua, -2, "ok");
	return 1;
}

void
memory_push_bytes(lua_State *lua, const struct bytes *bytes)
{
	lua_pushlstring(lua, bytes->data, bytes->size);
}

/* nil is false to a script. */
int
memory_answer_item(lua_State *lua, const struct item *item)
{
	if (item == NULL)
		lua_pushboolean(lua, 0);
	else
		memory_push_bytes(lua, &item->value);
	return 1;
}

/* Nearly all are counts and times, below 10^15: the C library takes a tenth of all time for them. */
#define DIGITS_MAX 15

double
memory_number_of(const struct bytes *bytes)
{
	int64_t number = 0;
	size_t i;

	for (i = 0;
	     i < bytes->size && i < DIGITS_MAX && isdigit((unsigned char)bytes->data[i]);
	     i++)
		number = number * 10 + (bytes->data[i] - '0');
	return i > 0 && i == bytes->size ? (double)number : strtod(bytes->data, NULL);
}

size_t
memory_print(char text[static NUMBER_BYTES], double number)
{
	char digits[DIGITS_MAX];
	size_t count = 0, i;
	int64_t rest;

	if (!(number >= 1 && number < 1e15) || number != (double)(int64_t)number)
		return (size_t)snprintf(text, NUMBER_BYTES, "%.17g", number);
	for (rest = (int64_t)number; rest > 0; rest /= 10)
		digits[count++] = (char)('0' + rest % 10);
	for (i = 0; i < count; i++)
		text[i] = digits[count - 1 - i];
	text[count] = '\0';
	return count;
}

/* --- hashes ---------------------------------------------------------------------------- */

static int
do_hset(struct redis_memory *memory, lua_State *lua)
{
	struct key *key = memory_key_for(memory, lua, KIND_HASH);
	size_t i, added = 0;

	if (memory->arg_count < 4 || memory->arg_count % 2 != 0)
		return luaL_error(lua, "wrong number of arguments for 'hset'");
	for (i = 2; i < memory->arg_count; i += 2) {
		struct item *item = memory_item_of(key, &memory->args[i]);

		if (item == NULL) {
			item = memory_item_add(memory, key, key->count);
			item->name = memory_keep(memory, &memory->args[i]);
			added++;
		}
		item->value = memory_keep(memory, &memory->args[i + 1]);
	}
	return memory_answer_integer(lua, added);
}

static int
do_hget(struct redis_memory *memory, lua_State *lua)
{
	return memory_answer_item(
	    lua, memory_item_of(memory_key_of(memory, lua, KIND_HASH), &memory->args[2]));
}

static int
do_hexists(struct redis_memory *memory, lua_State *lua)
{
	return memory_answer_integer(lua,
	    memory_item_of(memory_key_of(memory, lua, KIND_HASH), &memory->args[2]) !=
		NULL);
}

static int
do_hmget(struct redis_memory *memory, lua_State *lua)
{
	struct key *key = memory_key_of(memory, lua, KIND_HASH);
	size_t i;

	lua_createtable(lua, (int)memory->arg_count, 0);
	for (i = 2; i < memory->arg_count; i++) {
		memory_answer_item(lua, memory_item_of(key, &memory->args[i]));
		lua_rawseti(lua, -2, (int)i - 1);
	}
	return 1;
}

static int
do_hgetall(struct redis_memory *memory, lua_State *lua)
{
	struct key *key = memory_key_of(memory, lua, KIND_HASH);
	size_t i;

	lua_createtable(lua, (int)(2 * key->count), 0);
	for (i = 0; i < key->count; i++) {
		memory_push_bytes(lua, &key->items[i].name);
		lua_rawseti(lua, -2, (int)(2 * i) + 1);
		memory_push_bytes(lua, &key->items[i].value);
		lua_rawseti(lua, -2, (int)(2 * i) + 2);
	}
	return 1;
}

int
memory_answer_names(lua_State *lua, const struct key *key)
{
	size_t i;

	lua_createtable(lua, (int)key->count, 0);
	for (i = 0; i < key->count; i++) {
		memory_push_bytes(lua, &key->items[i].name);
		lua_rawseti(lua, -2, (int)i + 1);
	}
	return 1;
}

static int
do_hkeys(struct redis_memory *memory, lua_State *lua)
{
	return memory_answer_names(lua, memory_key_of(memory, lua, KIND_HASH));
}

static int
do_hlen(struct redis_memory *memory, lua_State *lua)
{
	return memory_answer_integer(lua, memory_key_of(memory, lua, KIND_HASH)->count);
}

/* HDEL, SREM, ZREM. */
int
memory_remove_named(struct redis_memory *memory, lua_State *lua, enum kind kind)
{
	struct key *key = memory_key_of(memory, lua, kind);
	size_t i, removed = 0;

	for (i = 2; i < memory->arg_count; i++) {
		struct item *item = memory_item_of(key, &memory->args[i]);

		if (item == NULL)
			continue;
		memory_item_remove(key, (size_t)(item - key->items));
		removed++;
	}
	return memory_answer_integer(lua, removed);
}

static int
do_hdel(struct redis_memory *memory, lua_State *lua)
{
	return memory_remove_named(memory, lua, KIND_HASH);
}

static int
do_hincrby(struct redis_memory *memory, lua_State *lua)
{
	struct key *key = memory_key_for(memory, lua, KIND_HASH);
	struct item *item = memory_item_of(key, &memory->args[2]);
	char text[32];
	double number = memory_number_of(&memory->args[3]);
	int size;

	if (item == NULL) {
		item = memory_item_add(memory, key, key->count);
		item->name = memory_keep(memory, &memory->args[2]);
	} else {
		number += memory_number_of(&item->value);
	}
	size = snprintf(text, sizeof text, "%.0f", number);
	item->value = memory_keep(memory, &(struct bytes){ text, (size_t)size });
	lua_pushnumber(lua, number);
	return 1;
}

/* --- the rest -------------------------------------------------------------------------- */

static int
do_time(struct redis_memory *memory, lua_State *lua)
{
	char text[32];

	lua_createtable(lua, 2, 0);
	snprintf(text, sizeof text, "%llu", (unsigned long long)memory->clock_ms / 1000);
	lua_pushstring(lua, text);
	lua_rawseti(lua, -2, 1);
	snprintf(text, sizeof text, "%llu",
	    (unsigned long long)memory->clock_ms % 1000 * 1000);
	lua_pushstring(lua, text);
	lua_rawseti(lua, -2, 2);
	return 1;
}

static int
do_del(struct redis_memory *memory, lua_State *lua)
{
	size_t i, removed = 0;

	for (i = 1; i < memory->arg_count; i++) {
		struct key *key = memory_place_of(&memory->now, &memory->args[i]);

		removed += key->kind != KIND_NONE;
		key->kind = KIND_NONE;
		key->count = 0;
		key->last = 0;
	}
	return memory_answer_integer(lua, removed);
}

static int
do_exists(struct redis_memory *memory, lua_State *lua)
{
	size_t i, there = 0;

	for (i = 1; i < memory->arg_count; i++)
		there +=
		    memory_place_of(&memory->now, &memory->args[i])->kind != KIND_NONE;
	return memory_answer_integer(lua, there);
}

static int
do_set(struct redis_memory *memory, lua_State *lua)
{
	struct key *key = memory_key_for(memory, lua, KIND_STRING);

	if (memory->arg_count != 3)
		return luaL_error(lua, "SET: an option that the simulator has not");
	key->count = 0;
	memory_item_add(memory, key, 0)->value = memory_keep(memory, &memory->args[2]);
	return memory_answer_ok(lua);
}

static int
do_get(struct redis_memory *memory, lua_State *lua)
{
	const struct key *key = memory_key_of(memory, lua, KIND_STRING);

	return memory_answer_item(lua, key->count > 0 ? &key->items[0] : NULL);
}

/* XADD key <n>-0 field value: ids must rise. Of the entries only their number is kept. */
static int
do_xadd(struct redis_memory *memory, lua_State *lua)
{
	struct key *key = memory_key_for(memory, lua, KIND_STREAM);
	uint64_t id;

	if (memory_says(&memory->args[2], "*"))
		id = key->last + 1;
	else
		id = (uint64_t)memory_number_of(&memory->args[2]);
	if (id <= key->last)
		return luaL_error(lua,
		    "The ID specified in XADD is equal or smaller than "
		    "the target stream top item");
	key->last = id;
	key->count++;
	memory_push_bytes(lua, &memory->args[2]);
	return 1;
}

/* XREVRANGE key + - COUNT 1: the last entry's id. */
static int
do_xrevrange(struct redis_memory *memory, lua_State *lua)
{
	struct key *key = memory_key_of(memory, lua, KIND_STREAM);
	char id[32];

	lua_createtable(lua, 1, 0);
	if (key == NULL || key->last == 0)
		return 1;
	snprintf(id, sizeof id, "%llu-0", (unsigned long long)key->last);
	lua_createtable(lua, 1, 0);
	lua_pushstring(lua, id);
	lua_rawseti(lua, -2, 1);
	lua_rawseti(lua, -2, 1);
	return 1;
}

static const struct {
	const char *name;
	command_fn *run;
} commands[] = {
	{ "TIME", do_time },
	{ "HGET", do_hget },
	{ "HMGET", do_hmget },
	{ "HSET", do_hset },
	{ "HGETALL", do_hgetall },
	{ "ZRANGEBYSCORE", memory_do_zrangebyscore },
	{ "HKEYS", do_hkeys },
	{ "SMEMBERS", memory_do_smembers },
	{ "ZADD", memory_do_zadd },
	{ "RPUSH", memory_do_rpush },
	{ "XADD", do_xadd },
	{ "XREVRANGE", do_xrevrange },
	{ "DEL", do_del },
	{ "HDEL", do_hdel },
	{ "HINCRBY", do_hincrby },
	{ "HEXISTS", do_hexists },
	{ "HLEN", do_hlen },
	{ "LLEN", memory_do_llen },
	{ "LPOP", memory_do_lpop },
	{ "LPUSH", memory_do_lpush },
	{ "LRANGE", memory_do_lrange },
	{ "LINDEX", memory_do_lindex },
	{ "LREM", memory_do_lrem },
	{ "LSET", memory_do_lset },
	{ "LTRIM", memory_do_ltrim },
	{ "SADD", memory_do_sadd },
	{ "SREM", memory_do_srem },
	{ "SCARD", memory_do_scard },
	{ "ZREM", memory_do_zrem },
	{ "ZCARD", memory_do_zcard },
	{ "ZSCORE", memory_do_zscore },
	{ "EXISTS", do_exists },
	{ "SET", do_set },
	{ "GET", do_get },
};

int
memory_command(struct redis_memory *memory, lua_State *lua)
{
	size_t i;

	for (i = 0; i < sizeof commands / sizeof commands[0]; i++)
		if (memory_says(&memory->args[0], commands[i].name))
			return commands[i].run(memory, lua);
	return luaL_error(lua,
	    "the simulator's Redis has no %s: write it in "
	    "tests/sim/memory_commands.c",
	    memory->args[0].data);
}
