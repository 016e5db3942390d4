/* lua_kit: uses of the middleware `lua` for tests. */
#ifndef LUA_KIT_H
#define LUA_KIT_H

#include "chain_play.h"

/* Returns a use of code, with the settings of the literal besides (NULL: none); what is
 * wrong with either fails the test. */
const struct middleware_use *lua_use(
    struct arena *arena, const char *code, const char *settings);

/* Returns why there can be no such use ("/code: lua:1: ..."). */
const char *lua_refusal(struct arena *arena, const char *code, const char *settings);

/* Runs a node hook of use with the state of the literal, whose messages are split off; its
 * update, or a map {fault: "type: message"}. */
const struct value *lua_turn(struct arena *arena, const struct middleware_use *use,
    enum hook hook, const char *state);

#endif
