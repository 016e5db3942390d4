/* Faults as the errors of a chunk, and back. */
#include <lauxlib.h>
#include <string.h>

#include "bounds.h"
#include "lua_values.h"

static const char fault_key; /* in the metatable of each that was pushed */

static int
on_text(lua_State *L)
{
	lua_settop(L, 1);
	lua_getfield(L, 1, "type");
	luaL_tolstring(L, 2, NULL);
	lua_pushliteral(L, ": ");
	lua_getfield(L, 1, "message");
	luaL_tolstring(L, -1, NULL);
	lua_remove(L, -2);
	lua_concat(L, 3);
	return 1;
}

/* The fault is kept where the chunk can neither read nor write: a pointer that it could put
 * elsewhere would be believed there. */
static void
set_fault(lua_State *L, const struct fault *fault)
{
	lua_createtable(L, 0, 4);
	lua_pushliteral(L, "fault");
	lua_pushvalue(L, -1);
	lua_setfield(L, -3, "__name");
	lua_setfield(L, -2, "__metatable");
	lua_pushcfunction(L, on_text);
	lua_setfield(L, -2, "__tostring");
	lua_pushlightuserdata(L, (void *)fault);
	lua_rawsetp(L, -2, &fault_key);
	lua_setmetatable(L, -2);
}

/* The fault that was pushed as the table at index, or NULL. */
static const struct fault *
fault_of(lua_State *L, int index)
{
	const struct fault *fault;

	if (!lua_getmetatable(L, index))
		return NULL;
	lua_rawgetp(L, -1, &fault_key);
	fault = lua_touserdata(L, -1);
	lua_pop(L, 2);
	return fault;
}

void
values_push_fault(lua_State *L, const struct fault *fault)
{
	luaL_checkstack(L, 5, NULL);
	lua_createtable(L, 0, 4);
	lua_pushstring(L, fault->type);
	lua_setfield(L, -2, "type");
	lua_pushstring(L, fault->message);
	lua_setfield(L, -2, "message");
	lua_pushboolean(L, fault->retryable);
	lua_setfield(L, -2, "retryable");
	lua_pushinteger(L, fault->retry_after_ms);
	lua_setfield(L, -2, "retry_after_ms");
	set_fault(L, fault);
}

/* Of the table at index, without metamethods; NULL: not a text. */
static const char *
raw_text(lua_State *L, int index, const char *name, struct arena *arena)
{
	const char *text = NULL;

	lua_pushnil(L);
	while (lua_next(L, index) != 0) {
		if (lua_type(L, -2) == LUA_TSTRING && lua_type(L, -1) == LUA_TSTRING &&
		    strcmp(lua_tostring(L, -2), name) == 0)
			text = arena_strdup(arena, lua_tostring(L, -1));
		lua_pop(L, 1);
	}
	return text;
}

const struct fault *
values_fault(lua_State *L, int index, struct arena *arena)
{
	const struct fault *fault;
	const char *type, *message;
	struct fault *made;

	if (lua_type(L, index) != LUA_TTABLE || !lua_checkstack(L, 8))
		return NULL;
	index = lua_absindex(L, index);
	type = raw_text(L, index, "type", arena);
	message = raw_text(L, index, "message", arena);
	if (type == NULL || message == NULL)
		return NULL;
	fault = fault_of(L, index);
	if (fault != NULL && strcmp(fault->type, type) == 0 &&
	    strcmp(fault->message, message) == 0)
		return fault;
	if (strlen(type) > FAULT_TYPE_BYTES_MAX)
		return NULL;
	/* Whatever it is called, a chunk cancels nothing by it. */
	made = fault_new(arena, type, "%s", message);
	made->control = false;
	return made;
}
