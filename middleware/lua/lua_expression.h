/* lua_expression: one expression in Lua, over values, in the sandbox that the middleware `lua` has: a
 * setting that is a condition. */
#ifndef LUA_EXPRESSION_H
#define LUA_EXPRESSION_H

#include <stdbool.h>

#include "value.h"

/* Returns 0 when text is an expression, else -1 with the reason in arena, the line of the
 * mistake in front ("when:1: ..."). name: what to call it there. */
int lua_expression_check(
    struct arena *arena, const char *name, const char *text, const char **error_r);

/* Whether the expression is true, as Lua has it (all but false and nil), where the keys of
 * variables are its names. A fiber call: it may wait until Lua has room. Returns 1 or 0, or -1
 * with the reason in arena: it fails, takes too long or too much memory, or the call was
 * cancelled. */
int lua_expression_holds(struct arena *arena, const char *name, const char *text,
    const struct value *variables, const char **error_r);

/* The fields of the variable that an expression names, [NAME], each once: variable.NAME and
 * variable["NAME"]. *all_r: by its text it may use others, too. */
const struct value *lua_expression_fields(
    struct arena *arena, const char *text, const char *variable, bool *all_r);

#endif
