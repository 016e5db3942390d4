/* memory_private: what the two files of the Redis in memory share. */
#ifndef MEMORY_PRIVATE_H
#define MEMORY_PRIVATE_H

#include <luajit-2.1/lua.h>

#include "memory_redis.h"

#define MEMORY_KEYS_MAX 128u /* a power of two */
#define MEMORY_ARGS_MAX 128
#define NUMBER_BYTES 32 /* of a printed one */

struct bytes {
	const char *data;
	size_t size;
};

enum kind {
	KIND_NONE,
	KIND_STRING,
	KIND_HASH,
	KIND_LIST,
	KIND_SET,
	KIND_ZSET,
	KIND_STREAM
};

/* One of a container: name and value, member, list item, member and score. */
struct item {
	struct bytes name, value;
	double score;
};

struct key {
	struct bytes name;
	enum kind kind; /* NONE: gone, or never was */
	struct item *items;
	size_t count, room;
	uint64_t last; /* of a stream: the last id's first number */
};

/* Open addressing; a key that is gone keeps its place. */
struct dataset {
	struct key keys[MEMORY_KEYS_MAX];
	size_t count;
};

struct redis_memory {
	lua_State *lua;
	struct region *region;
	uint64_t clock_ms;
	struct dataset now, copy;
	bool copied;
	struct bytes args[MEMORY_ARGS_MAX];
	char numbers[MEMORY_ARGS_MAX][NUMBER_BYTES];
	size_t arg_count;
};

/* Runs the command in args; pushes its answer. Raises a Lua error when Redis would. */
int memory_command(struct redis_memory *memory, lua_State *lua);

void memory_forget(struct dataset *dataset);

/* --- between the files ---------------------------------------------------------------- */

typedef int command_fn(struct redis_memory *memory, lua_State *lua);

bool memory_same(const struct bytes *a, const struct bytes *b);
bool memory_says(const struct bytes *bytes, const char *text);
struct bytes memory_keep(struct redis_memory *memory, const struct bytes *bytes);
double memory_number_of(const struct bytes *bytes);
/* As Redis sends a script's number, with all its digits. Returns how many bytes. */
size_t memory_print(char text[static NUMBER_BYTES], double number);

/* memory_keys.c */

/* The place of name, taken or free. */
struct key *memory_place_of(const struct dataset *dataset, const struct bytes *name);
/* args[1] for writing, made when there is none; or for reading, an empty one then. Raise a Lua error
 * when it is of another kind. */
struct key *memory_key_for(struct redis_memory *memory, lua_State *lua, enum kind kind);
struct key *memory_key_of(struct redis_memory *memory, lua_State *lua, enum kind kind);
void memory_key_gone(struct key *key);
struct item *memory_item_of(const struct key *key, const struct bytes *name);
struct item *memory_item_add(struct redis_memory *memory, struct key *key, size_t at);
void memory_item_remove(struct key *key, size_t at);

int memory_answer_integer(lua_State *lua, uint64_t number);
int memory_answer_ok(lua_State *lua);
void memory_push_bytes(lua_State *lua, const struct bytes *bytes);
int memory_answer_item(lua_State *lua, const struct item *item);
int memory_answer_names(lua_State *lua, const struct key *key);
/* HDEL, SREM, ZREM. */
int memory_remove_named(struct redis_memory *memory, lua_State *lua, enum kind kind);

/* memory_containers.c */
command_fn memory_do_rpush, memory_do_lpush, memory_do_lpop, memory_do_llen,
    memory_do_lrange, memory_do_lindex, memory_do_lrem, memory_do_lset, memory_do_ltrim,
    memory_do_sadd, memory_do_srem, memory_do_smembers, memory_do_scard, memory_do_zadd,
    memory_do_zrem, memory_do_zcard, memory_do_zscore, memory_do_zrangebyscore;

#endif
