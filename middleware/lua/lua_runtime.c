/* The runtime as a chunk sees it: who runs, and what may be asked of the fleet. */
#include <lauxlib.h>
#include <string.h>
#include <time.h>

#include "bounds.h"
#include "log.h"
#include "lua_call.h"
#include "lua_values.h"
#include "lua_vm.h"

static const char runtime_key; /* in the registry: its metatable */

/* --- who runs ----------------------------------------------------------------------- */

static void
push_context(lua_State *L, struct lua_call *call)
{
	values_push(L, call->turn != NULL    ? turn_context(call->turn)
		       : call->model != NULL ? model_context(call->model)
					     : tool_context(call->tool));
}

static void
push_run(lua_State *L, struct lua_call *call)
{
	lua_pushstring(L, call->turn != NULL    ? turn_run(call->turn)
			  : call->model != NULL ? model_run(call->model)
						: tool_run(call->tool));
}

static void
push_thread(lua_State *L, struct lua_call *call)
{
	lua_pushstring(L, call->turn != NULL    ? turn_thread(call->turn)
			  : call->model != NULL ? model_thread(call->model)
						: tool_thread(call->tool));
}

static void
push_agent(lua_State *L, struct lua_call *call)
{
	lua_pushstring(L, call->turn != NULL    ? turn_agent(call->turn)
			  : call->model != NULL ? model_agent(call->model)
						: tool_agent(call->tool));
}

/* nil: there is none. */
static void
push_tenant(lua_State *L, struct lua_call *call)
{
	lua_pushstring(L, call->turn != NULL    ? turn_tenant(call->turn)
			  : call->model != NULL ? model_tenant(call->model)
						: tool_tenant(call->tool));
}

static void
push_name(lua_State *L, struct lua_call *call)
{
	lua_pushstring(L, call->use->name);
}

static void
push_settings(lua_State *L, struct lua_call *call)
{
	const struct value *settings = value_get(call->use->settings, "settings");

	values_push(L, settings != NULL ? settings : value_empty_map());
}

static const struct {
	const char *name;
	void (*push)(lua_State *L, struct lua_call *call);
} runtime_fields[] = {
	{ "context", push_context },
	{ "run_id", push_run },
	{ "thread_id", push_thread },
	{ "tenant", push_tenant },
	{ "agent", push_agent },
	{ "name", push_name },
	{ "settings", push_settings },
};

/* --- what waits --------------------------------------------------------------------- */

/* runtime.sleep(ms) and runtime:sleep(ms) are the same. */
static void
drop_self(lua_State *L)
{
	if (lua_type(L, 1) == LUA_TUSERDATA)
		lua_remove(L, 1);
}

static void
wait_sleep(struct lua_call *call)
{
	call->ended = hook_sleep(call->wish_ms) == -1;
}

static int
slept(lua_State *L, int status, lua_KContext context)
{
	(void)L;
	(void)status;
	(void)context;
	return 0;
}

static int
runtime_sleep(lua_State *L)
{
	struct lua_call *call = vm_data(L);
	lua_Number ms;

	drop_self(L);
	ms = luaL_checknumber(L, 1);
	luaL_argcheck(L, ms >= 0 && ms <= 86400e3, 1, "must be 0 to 86400000 ms");
	call->wish_ms = (uint64_t)ms;
	call->wait = wait_sleep;
	return vm_wait(L, slept);
}

/* Of a RESULT body. */
static void
take_body(struct lua_call *call, const struct value *body)
{
	const struct value *fault = value_get(body, "fault");

	call->ended = body == NULL;
	call->failure = fault == NULL ? NULL : fault_from_value(call->arena, fault);
	call->response = arena_alloc(call->arena, sizeof *call->response);
	call->response->messages = value_get(body, "messages");
	call->response->structured_response = value_get(body, "structured_response");
}

static void
wait_model(struct lua_call *call)
{
	if (call->turn != NULL) {
		take_body(call, turn_call_model(call->turn, call->wish));
	} else if (call->tool != NULL) {
		take_body(call, tool_call_model(call->tool, call->wish));
	} else {
		call->response = model_call(call->model, call->wish);
		call->failure = call->response->fault;
		call->ended = call->failure != NULL && call->failure->control;
	}
}

static int
model_called(lua_State *L, int status, lua_KContext context)
{
	struct lua_call *call = vm_data(L);

	(void)status;
	(void)context;
	if (call->failure != NULL) {
		values_push_fault(L, call->failure);
		return lua_error(L);
	}
	return lua_push_response(L, call->response);
}

/* A list of messages for what a text or one message may stand for too. */
static const struct value *
full_wish(lua_State *L, const struct value *wish)
{
	const struct value *messages = value_get(wish, "messages");
	const char *error;

	messages = chat_normalise(
	    vm_arena(L), messages == NULL ? value_empty_array() : messages, &error);
	if (messages == NULL)
		luaL_error(L, "call_model: %s", error);
	return value_map_with(vm_arena(L), wish, "messages", messages);
}

static int
runtime_call_model(lua_State *L)
{
	struct lua_call *call = vm_data(L);
	const struct value *wish;

	drop_self(L);
	luaL_checktype(L, 1, LUA_TTABLE);
	wish = values_take(L, 1, "call_model:");
	if (!value_is(wish, VALUE_MAP))
		return luaL_error(L, "call_model takes {messages = ..., model = ...}");
	call->wish = full_wish(L, wish);
	call->wait = wait_model;
	return vm_wait(L, model_called);
}

static void
wait_store(struct lua_call *call)
{
	const struct value *fault;

	if (call->turn != NULL)
		call->answer = turn_store(call->turn, call->wish);
	else if (call->model != NULL)
		call->answer = model_store(call->model, call->wish);
	else
		call->answer = tool_store(call->tool, call->wish);
	fault = value_get(call->answer, "fault");
	call->ended = call->answer == NULL;
	call->failure = fault == NULL ? NULL : fault_from_value(call->arena, fault);
}

static int
stored(lua_State *L, int status, lua_KContext context)
{
	const struct lua_call *call = vm_data(L);

	(void)status;
	(void)context;
	if (call->failure != NULL) {
		values_push_fault(L, call->failure);
		return lua_error(L);
	}
	values_push(L, call->answer);
	return 1;
}

/* runtime.store{op = "put", namespace = {...}, ...} */
static int
runtime_store(lua_State *L)
{
	struct lua_call *call = vm_data(L);

	drop_self(L);
	luaL_checktype(L, 1, LUA_TTABLE);
	call->wish = values_take(L, 1, "store:");
	call->wait = wait_store;
	return vm_wait(L, stored);
}

/* Without an answer the call ends here: it begins anew when there is one. */
static void
wait_answer(struct lua_call *call)
{
	if (call->turn != NULL)
		call->answer = turn_interrupt(call->turn, call->wish);
	else if (call->model != NULL)
		call->answer = model_interrupt(call->model, call->wish);
	else
		call->answer = tool_interrupt(call->tool, call->wish);
	call->ended = call->answer == NULL;
}

static int
answered(lua_State *L, int status, lua_KContext context)
{
	const struct lua_call *call = vm_data(L);

	(void)status;
	(void)context;
	values_push(L, call->answer);
	return 1;
}

static int
runtime_interrupt(lua_State *L)
{
	struct lua_call *call = vm_data(L);
	const struct value *value;

	drop_self(L);
	value = values_take(L, 1, "interrupt:");
	call->wish = value != NULL ? value : value_nil();
	call->wait = wait_answer;
	return vm_wait(L, answered);
}

/* --- what is told ------------------------------------------------------------------- */

/* The arguments as texts with blanks between them. */
static const char *
joined(lua_State *L)
{
	int count, i;

	drop_self(L);
	count = lua_gettop(L);
	luaL_checkstack(L, 2 * count + 2, NULL);
	lua_pushliteral(L, "");
	for (i = 1; i <= count; i++) {
		if (i > 1)
			lua_pushliteral(L, " ");
		luaL_tolstring(L, i, NULL);
	}
	lua_concat(L, lua_gettop(L) - count);
	return lua_tostring(L, -1);
}

static int
runtime_log(lua_State *L)
{
	struct lua_call *call = vm_data(L);
	const char *text, *run;

	if (call->lines > HOOK_LINES_MAX)
		return 0;
	text = call->lines++ < HOOK_LINES_MAX ? joined(L)
					      : "what else this call logs is left out";
	push_run(L, call);
	run = lua_isnil(L, -1) ? "" : lua_tostring(L, -1);
	log_info("lua %s.%s run=%s: %s", call->use->name, call->function, run, text);
	return 0;
}

static int
runtime_note(lua_State *L)
{
	struct lua_call *call = vm_data(L);
	const char *text = joined(L);

	if (call->turn != NULL)
		turn_note(call->turn, "%s", text);
	else if (call->model != NULL)
		model_note(call->model, "%s", text);
	else
		tool_note(call->tool, "%s", text);
	vm_check_memory(L);
	return 0;
}

static bool
is_heard(struct lua_call *call)
{
	return call->turn != NULL    ? turn_streams(call->turn)
	       : call->model != NULL ? model_streams(call->model)
				     : tool_streams(call->tool);
}

static int
runtime_stream(lua_State *L)
{
	struct lua_call *call = vm_data(L);
	const struct value *value;

	drop_self(L);
	luaL_checkany(L, 1);
	if (!is_heard(call))
		return 0;
	value = values_take(L, 1, "what is streamed");
	if (call->turn != NULL)
		turn_stream(call->turn, value);
	else if (call->model != NULL)
		model_stream(call->model, value);
	else
		tool_stream(call->tool, value);
	vm_check_memory(L);
	return 0;
}

static int
runtime_now_ms(lua_State *L)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	lua_pushinteger(
	    L, (lua_Integer)now.tv_sec * 1000 + (lua_Integer)now.tv_nsec / 1000000);
	return 1;
}

static const struct luaL_Reg runtime_functions[] = {
	{ "sleep", runtime_sleep },
	{ "call_model", runtime_call_model },
	{ "interrupt", runtime_interrupt },
	{ "store", runtime_store },
	{ "log", runtime_log },
	{ "note", runtime_note },
	{ "stream", runtime_stream },
	{ "now_ms", runtime_now_ms },
	{ NULL, NULL },
};

/* --- the object --------------------------------------------------------------------- */

static int
on_index(lua_State *L)
{
	const char *name = luaL_checkstring(L, 2);
	const struct luaL_Reg *function;
	size_t i;

	for (function = runtime_functions; function->name != NULL; function++) {
		if (strcmp(function->name, name) == 0) {
			lua_pushcfunction(L, function->func);
			return 1;
		}
	}
	for (i = 0; i < sizeof runtime_fields / sizeof *runtime_fields; i++) {
		if (strcmp(runtime_fields[i].name, name) == 0) {
			runtime_fields[i].push(L, vm_data(L));
			return 1;
		}
	}
	return 0;
}

void
lua_push_runtime(lua_State *L)
{
	lua_newuserdatauv(L, 1, 0);
	if (lua_rawgetp(L, LUA_REGISTRYINDEX, &runtime_key) != LUA_TTABLE) {
		lua_pop(L, 1);
		lua_newtable(L);
		lua_pushcfunction(L, on_index);
		lua_setfield(L, -2, "__index");
		lua_pushliteral(L, "runtime");
		lua_setfield(L, -2, "__name");
		lua_pushliteral(L, "runtime");
		lua_setfield(L, -2, "__metatable");
		lua_pushvalue(L, -1);
		lua_rawsetp(L, LUA_REGISTRYINDEX, &runtime_key);
	}
	lua_setmetatable(L, -2);
}
