/* lua_values: our values in Lua and back. For this folder.
 *
 * null is the global `null`; integers stay integers, floats floats. Arrays are tables that
 * know it (an empty one is not an empty map); array{...} makes one, and a table with items
 * 1..n alone is taken for one. Arrays and maps are filled at the first look at them: what
 * nobody looks at costs nothing, and goes back as the very value it came from. Lua's
 * tables are copies: changing one changes nothing else. */
#ifndef LUA_VALUES_H
#define LUA_VALUES_H

#include <lua.h>
#include <stdbool.h>

#include "fault.h"
#include "value.h"

/* Prepares a state; once. */
void values_open(lua_State *L);

/* Pushes value; NULL is pushed as nil. It must live as long as the call. */
void values_push(lua_State *L, const struct value *value);

/* Returns the value at index, in the call's arena; NULL for nil. What cannot be one raises
 * an error that begins with what ("the update"). */
const struct value *values_take(lua_State *L, int index, const char *what);
/* The same; an empty table is an empty array. */
const struct value *values_take_list(lua_State *L, int index, const char *what);

/* Fills the table at index if it waits for that. */
void values_fill(lua_State *L, int index);

/* The C function `next` of a sandbox: fills first. */
int values_next(lua_State *L);
/* null, array: sets them as fields of the table on top. */
void values_globals(lua_State *L);

/* --- lua_faults.c ------------------------------------------------------------------- */

/* Pushes fault as an error: {type, message, retryable, retry_after_ms}. */
void values_push_fault(lua_State *L, const struct fault *fault);
/* Returns the fault that the error at index is: the very one that was pushed, or one made
 * of a table with type (of FAULT_TYPE_BYTES_MAX) and message; NULL when it is none. Raises
 * nothing. */
const struct fault *values_fault(lua_State *L, int index, struct arena *arena);

#endif
