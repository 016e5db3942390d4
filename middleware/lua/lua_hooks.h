/* lua_hooks: the hooks of the middleware `lua`, as the chain calls them. For lua.c. */
#ifndef LUA_HOOKS_H
#define LUA_HOOKS_H

#include "middleware.h"

const struct value *lua_node_hook(struct turn *turn, enum hook hook);

/* dynamic_prompt, then wrap_model_call, whichever the chunk has. */
struct model_response *lua_wrap_model(
    struct model_request *request, struct model_next *next);
struct model_request *lua_modify(struct model_request *request);

struct tool_result *lua_wrap_tool(struct tool_request *request, struct tool_next *next);

#endif
