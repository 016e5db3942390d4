/* lua_call: one run of one function of a chunk: a hook, with what it sees of the run and
 * what it asks of it. For this folder.
 *
 * What waits (handler, sleep, call_model, interrupt, store) notes its wish here and leaves Lua;
 * lua_call_run does it on the fiber's own stack and goes on. A wait that was cancelled or
 * interrupted ends the call: Lua is not entered again, so no pcall sees it. */
#ifndef LUA_CALL_H
#define LUA_CALL_H

#include <lua.h>

#include "middleware.h"

struct lua_call {
	struct arena *arena;
	const char *function; /* the global's name: "before_model" */
	const struct middleware_use *use;

	/* One of the three. */
	struct turn *turn;
	struct model_request *model;
	struct tool_request *tool;
	struct model_next *model_next;
	struct tool_next *tool_next;

	/* What runs on the coroutine, with the globals at 1; NULL: calls the function with
	 * what `give` pushes. */
	lua_CFunction body;
	/* Pushes the function's arguments and returns their count. */
	int (*give)(lua_State *L, struct lua_call *call);
	/* Takes what it returned, on top. */
	void (*take)(lua_State *L, struct lua_call *call);

	/* A wait: done by wait(call), which sets what came of it. */
	void (*wait)(struct lua_call *call);
	const void *wish;
	uint64_t wish_ms;
	const struct value *answer;
	struct model_response *response;
	struct tool_result *result;
	const struct fault *failure; /* raised as an error when Lua goes on */
	bool ended;

	unsigned lines; /* that it has logged */

	/* What take made of it. */
	const struct value *update;
	const void *request;
};

/* Runs it. Returns NULL, or the fault that it failed with; also NULL when the call ended
 * (see `ended`): the hook then returns what it has got from the wait. */
const struct fault *lua_call_run(struct lua_call *call);

/* The chunk that use's settings describe. */
struct lua_chunk lua_chunk_of(const struct value *settings);

/* --- lua_request.c ------------------------------------------------------------------ */

/* Makes the metatables of requests and of the runtime; once a call. */
void lua_push_request(lua_State *L, const void *request);
/* The request at index, or an error. */
void *lua_check_request(lua_State *L, int index);

/* --- lua_runtime.c ------------------------------------------------------------------ */

void lua_push_runtime(lua_State *L);

/* --- lua_result.c ------------------------------------------------------------------- */

/* Pushes what a handler returns, or raises its fault. */
int lua_push_response(lua_State *L, const struct model_response *response);
int lua_push_result(lua_State *L, const struct tool_result *result);

/* Take what a hook returned, on top. */
void lua_take_response(lua_State *L, struct lua_call *call);
void lua_take_result(lua_State *L, struct lua_call *call);
void lua_take_update(lua_State *L, struct lua_call *call);

#endif
