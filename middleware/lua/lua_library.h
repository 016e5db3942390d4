/* lua_library: what a sandboxed chunk may call: the parts of Lua's library that reach
 * nothing outside and whose work is bounded. For this folder.
 *
 * assert error getmetatable ipairs next pairs pcall rawequal rawget rawlen select
 * setmetatable tonumber tostring type xpcall; math (without randomseed), string (without
 * dump, pack, unpack), table, utf8; json.encode and json.decode, null, array. Nobody can
 * change what all calls share: libraries are read-only, __gc is refused. */
#ifndef LUA_LIBRARY_H
#define LUA_LIBRARY_H

#include <lua.h>

/* Pushes the metatable of the globals of every call. After values_open. */
void library_open(lua_State *L);

#endif
