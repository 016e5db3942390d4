#include "memory_redis.h"

#include <luajit-2.1/lauxlib.h>
#include <luajit-2.1/lua.h>
#include <luajit-2.1/lualib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory_private.h"

/* --- what the Lua of store/ sees of Redis ------------------------------------------------------ */

#define MEMORY_OF(lua) ((struct redis_memory *)lua_touserdata(lua, lua_upvalueindex(1)))

static int
redis_call(lua_State *lua)
{
	struct redis_memory *memory = MEMORY_OF(lua);
	int count = lua_gettop(lua), i;

	if (count < 1 || count > MEMORY_ARGS_MAX)
		return luaL_error(lua, "redis.call with %d arguments", count);
	for (i = 0; i < count; i++) {
		struct bytes *arg = &memory->args[i];

		if (lua_type(lua, i + 1) == LUA_TNUMBER) {
			arg->data = memory->numbers[i];
			arg->size =
			    memory_print(memory->numbers[i], lua_tonumber(lua, i + 1));
		} else if (lua_type(lua, i + 1) == LUA_TSTRING) {
			arg->data = lua_tolstring(lua, i + 1, &arg->size);
		} else {
			return luaL_error(lua,
			    "argument %d of redis.call is no string or number", i + 1);
		}
	}
	memory->arg_count = (size_t)count;
	return memory_command(memory, lua);
}

/* Only what the event log needs of it: nobody here reads the bytes. */
static int
pack(lua_State *lua)
{
	lua_pushliteral(lua, "packed");
	return 1;
}

/* register_function{ function_name =, callback =, flags = } */
static int
register_function(lua_State *lua)
{
	luaL_checktype(lua, 1, LUA_TTABLE);
	lua_getfield(lua, LUA_REGISTRYINDEX, "functions");
	lua_getfield(lua, 1, "function_name");
	lua_getfield(lua, 1, "callback");
	luaL_checktype(lua, -1, LUA_TFUNCTION);
	lua_settable(lua, -3);
	return 0;
}

static void
open_redis(struct redis_memory *memory, lua_State *lua)
{
	luaL_openlibs(lua);
	lua_newtable(lua);
	lua_setfield(lua, LUA_REGISTRYINDEX, "functions");
	lua_newtable(lua);
	lua_pushlightuserdata(lua, memory);
	lua_pushcclosure(lua, redis_call, 1);
	lua_setfield(lua, -2, "call");
	lua_pushcfunction(lua, register_function);
	lua_setfield(lua, -2, "register_function");
	lua_setglobal(lua, "redis");
	lua_newtable(lua);
	lua_pushcfunction(lua, pack);
	lua_setfield(lua, -2, "pack");
	lua_setglobal(lua, "cmsgpack");
	if (luaL_dostring(lua, "function redis.pcall(...)\n"
			       "  local done, answer = pcall(redis.call, ...)\n"
			       "  if done then return answer end\n"
			       "  return { err = answer }\n"
			       "end") != 0)
		abort();
}

struct redis_memory *
redis_memory_new(const char *library)
{
	struct redis_memory *memory = calloc(1, sizeof *memory);
	const char *code = library;

	if (memory == NULL || (memory->lua = luaL_newstate()) == NULL)
		abort();
	open_redis(memory, memory->lua);
	if (code[0] == '#') /* Redis's line: which engine, which name */
		code += strcspn(code, "\n");
	if (luaL_loadbuffer(memory->lua, code, strlen(code), "=library") != 0 ||
	    lua_pcall(memory->lua, 0, 0, 0) != 0) {
		fprintf(stderr, "sim: %s\n", lua_tostring(memory->lua, -1));
		exit(2);
	}
	lua_getfield(memory->lua, LUA_REGISTRYINDEX, "functions"); /* stays at index 1 */
	return memory;
}

void
redis_memory_destroy(struct redis_memory **memory_p)
{
	if (*memory_p == NULL)
		return;
	lua_close((*memory_p)->lua);
	free(*memory_p);
	*memory_p = NULL;
}

void
redis_memory_begin(struct redis_memory *memory, struct region *region)
{
	memory->region = region;
	memory->copied = false;
	memory_forget(&memory->now);
}

/* --- calls ----------------------------------------------------------------------------- */

/* What stands on top of Lua's stack, as Redis would send it. */
static struct reply
read_reply(struct redis_memory *memory, lua_State *lua)
{
	struct reply reply = { .type = REPLY_NIL };
	struct reply *items;
	size_t count, size, i;

	switch (lua_type(lua, -1)) {
	case LUA_TNUMBER:
		reply.type = REPLY_INTEGER;
		reply.integer = (int64_t)lua_tonumber(lua, -1);
		break;
	case LUA_TSTRING:
		reply.type = REPLY_TEXT;
		reply.text = lua_tolstring(lua, -1, &size);
		reply.text = region_copy(memory->region, reply.text, size);
		break;
	case LUA_TTABLE:
		reply.type = REPLY_ARRAY;
		count = lua_objlen(lua, -1);
		items = region_alloc(memory->region, (count + 1) * sizeof *items);
		for (i = 0; i < count; i++) {
			lua_rawgeti(lua, -1, (int)i + 1);
			items[i] = read_reply(memory, lua);
			lua_pop(lua, 1);
		}
		reply.items = items;
		reply.count = count;
		break;
	default:
		break;
	}
	return reply;
}

struct reply
redis_memory_call(struct redis_memory *memory, const char *function,
    const char *const *args, size_t count, uint64_t clock_ms)
{
	lua_State *lua = memory->lua;
	struct reply reply;
	size_t i;

	memory->clock_ms = clock_ms;
	if (strcmp(function, "HEXISTS cancelling") == 0) /* the one plain command */
		return (struct reply){ .type = REPLY_INTEGER,
			.integer =
			    redis_memory_field(memory, args[0], "cancelling") != NULL };
	lua_getfield(lua, 1, function);
	lua_createtable(lua, 1, 0);
	lua_pushstring(lua, args[0]);
	lua_rawseti(lua, -2, 1);
	lua_createtable(lua, (int)count, 0);
	for (i = 1; i < count; i++) {
		lua_pushstring(lua, args[i]);
		lua_rawseti(lua, -2, (int)i);
	}
	if (lua_pcall(lua, 2, 1, 0) != 0) {
		reply = (struct reply){ .type = REPLY_ERROR,
			.text = region_copy(memory->region, lua_tostring(lua, -1),
			    strlen(lua_tostring(lua, -1))) };
	} else {
		reply = read_reply(memory, lua);
	}
	lua_settop(lua, 1);
	return reply;
}
