/* lua_describe: what a chunk defines, found out when a spec is loaded. For lua.c. */
#ifndef LUA_DESCRIBE_H
#define LUA_DESCRIBE_H

#include "middleware.h"

/* Compiles the chunk of use's settings, runs it once, and sets use's hooks and jumps to what
 * it defines; *reads_r to its `reads` (or NULL). Returns 0, or -1 with the reason in arena
 * ("limit.lua:3: ..."): it does not compile, fails, defines no hook, something that is
 * nearly a hook's name, a jump to nowhere. */
int lua_describe(struct arena *arena, struct middleware_use *use,
    const struct value **reads_r, const char **error_r);

#endif
