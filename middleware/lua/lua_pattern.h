/* lua_pattern: find, match, gmatch and gsub of Lua's string library, with a bound on their
 * work: each step of a match counts as an instruction (lua_vm.h). Those of liblua may run
 * for hours on a short text. For this folder. */
#ifndef LUA_PATTERN_H
#define LUA_PATTERN_H

#include <lauxlib.h>

/* The four, ended by a row without name. */
extern const struct luaL_Reg pattern_functions[];

#endif
