/* The hooks of the middleware `lua`: each runs its function of the chunk. */
#include "lua_hooks.h"

#include <lauxlib.h>

#include "chain.h"
#include "lua_call.h"
#include "lua_pool.h"
#include "lua_share.h"
#include "lua_values.h"
#include "lua_vm.h"
#include "model_request.h"
#include "tool_request.h"

/* --- one run ------------------------------------------------------------------------ */

struct lua_chunk
lua_chunk_of(const struct value *settings)
{
	const struct value *code = value_get(settings, "code");
	const char *name = value_get_text(settings, "file");

	if (name == NULL)
		name = value_get_text(settings, "name");
	return (struct lua_chunk){
		.code = code->text,
		.size = code->size,
		.name = name != NULL ? name : "lua",
		.instructions =
		    (uint64_t)value_get_int(settings, "instruction_limit", 1000000),
		.memory_bytes =
		    (size_t)value_get_int(settings, "memory_limit_bytes", 16 << 20),
	};
}

static int
returned(lua_State *L, int status, lua_KContext context)
{
	struct lua_call *call = vm_data(L);

	(void)status;
	(void)context;
	call->take(L, call);
	return 0;
}

/* Pushes the function of that name of the globals at 1: a hook is a function, or a table
 * with one as `run`. */
static bool
push_function(lua_State *L, const char *name)
{
	if (lua_getfield(L, 1, name) == LUA_TTABLE) {
		lua_getfield(L, -1, "run");
		lua_replace(L, -2);
	}
	return !lua_isnil(L, -1);
}

static int
body(lua_State *L)
{
	struct lua_call *call = vm_data(L);

	push_function(L, call->function);
	lua_callk(L, call->give(L, call), 1, 0, returned);
	return returned(L, LUA_OK, 0);
}

/* Before Lua runs, first and behind each wait: one that was answered at once is no wait for
 * the others. */
static void
let_others_run(struct lua_call *call)
{
	if (share_wait() == 0)
		return;
	call->ended = true;
	call->failure = NULL;
	call->response = NULL;
	call->result = NULL;
}

const struct fault *
lua_call_run(struct lua_call *call)
{
	struct lua_chunk chunk = lua_chunk_of(call->use->settings);
	const struct fault *fault = NULL;
	enum vm_status status;
	struct pooled *from;
	const char *error;
	struct vm *vm;

	let_others_run(call);
	if (call->ended)
		return NULL;
	vm = pool_take(&chunk, call->arena, &from, &error);
	if (vm == NULL) {
		struct fault *made = fault_new(call->arena, "LuaError", "%s", error);

		made->fatal = true;
		return made;
	}
	status = vm_start(vm, call->arena, call->body != NULL ? call->body : body, call);
	while (status == VM_WAITS) {
		call->wait(call);
		if (!call->ended)
			let_others_run(call);
		if (call->ended)
			break;
		status = vm_go_on(vm);
	}
	if (status == VM_FAILED)
		fault = vm_fault(vm);
	pool_give(from, &vm, status == VM_DONE);
	return fault;
}

/* --- node hooks --------------------------------------------------------------------- */

static int
give_turn(lua_State *L, struct lua_call *call)
{
	values_push(L, turn_state(call->turn));
	lua_push_runtime(L);
	return 2;
}

const struct value *
lua_node_hook(struct turn *turn, enum hook hook)
{
	struct lua_call call = { .arena = turn_arena(turn),
		.function = hook_name(hook),
		.use = turn->use,
		.turn = turn,
		.give = give_turn,
		.take = lua_take_update };
	const struct fault *fault = lua_call_run(&call);

	if (fault != NULL) {
		turn_fail(turn, fault->type, "%s", fault->message);
		turn->fault->control = fault->control;
		return NULL;
	}
	return call.ended ? NULL : call.update;
}

/* --- worker-model ------------------------------------------------------------------- */

static int
give_model(lua_State *L, struct lua_call *call)
{
	lua_push_request(L, call->model);
	return 1;
}

static void
wait_model_next(struct lua_call *call)
{
	call->response = model_next(call->model_next, (struct model_request *)call->wish);
	call->failure = call->response->fault;
	call->ended = call->failure != NULL && call->failure->control;
}

static int
model_handled(lua_State *L, int status, lua_KContext context)
{
	const struct lua_call *call = vm_data(L);

	(void)status;
	(void)context;
	if (call->failure == NULL)
		return lua_push_response(L, call->response);
	values_push_fault(L, call->failure);
	return lua_error(L);
}

static int
model_handler(lua_State *L)
{
	struct lua_call *call = vm_data(L);

	call->wish = lua_check_request(L, 1);
	call->wait = wait_model_next;
	return vm_wait(L, model_handled);
}

static int
passed(lua_State *L, int status, lua_KContext context)
{
	const struct lua_call *call = vm_data(L);

	(void)status;
	(void)context;
	if (call->failure == NULL)
		return 0;
	values_push_fault(L, call->failure);
	return lua_error(L);
}

/* Behind dynamic_prompt, whose text is on top; nil: the prompt stays. */
static int
prompted(lua_State *L, int status, lua_KContext context)
{
	struct lua_call *call = vm_data(L);

	(void)status;
	(void)context;
	if (!lua_isnil(L, -1) && lua_type(L, -1) != LUA_TSTRING)
		return luaL_error(
		    L, "dynamic_prompt returns a text, not a %s", luaL_typename(L, -1));
	if (!lua_isnil(L, -1))
		call->model = model_override(
		    call->model, "system_prompt", values_take(L, -1, "the prompt"));
	call->function = "wrap_model_call";
	if (!push_function(L, call->function)) {
		call->wish = call->model;
		call->wait = wait_model_next;
		return vm_wait(L, passed);
	}
	lua_push_request(L, call->model);
	lua_pushcfunction(L, model_handler);
	lua_callk(L, 2, 1, 0, returned);
	return returned(L, LUA_OK, 0);
}

/* dynamic_prompt is outside of wrap_model_call. */
static int
model_body(lua_State *L)
{
	struct lua_call *call = vm_data(L);

	call->function = "dynamic_prompt";
	if (push_function(L, call->function)) {
		lua_push_request(L, call->model);
		lua_callk(L, 1, 1, 0, prompted);
	}
	return prompted(L, LUA_OK, 0);
}

static struct lua_call
model_call_of(struct model_request *request)
{
	return (struct lua_call){
		.arena = model_arena(request), .use = request->use, .model = request
	};
}

struct model_response *
lua_wrap_model(struct model_request *request, struct model_next *next)
{
	struct lua_call call = model_call_of(request);
	const struct fault *fault;

	call.model_next = next;
	call.body = model_body;
	call.take = lua_take_response;
	fault = lua_call_run(&call);
	if (fault != NULL)
		return model_fail(request, fault);
	if (call.ended && call.response == NULL)
		return model_fail(request, fault_cancelled(call.arena));
	return call.response;
}

static void
take_request(lua_State *L, struct lua_call *call)
{
	call->request = lua_isnil(L, -1) ? NULL : lua_check_request(L, -1);
}

struct model_request *
lua_modify(struct model_request *request)
{
	struct lua_call call = model_call_of(request);
	const struct fault *fault;

	call.function = "modify_model_request";
	call.give = give_model;
	call.take = take_request;
	fault = lua_call_run(&call);
	if (fault == NULL && call.ended)
		fault = call.failure != NULL ? call.failure : fault_cancelled(call.arena);
	if (fault != NULL)
		return model_refuse(request, fault);
	return (struct model_request *)call.request;
}

/* --- worker-tools ------------------------------------------------------------------- */

static void
wait_tool_next(struct lua_call *call)
{
	call->result = tool_next(call->tool_next, (struct tool_request *)call->wish);
	call->failure = call->result->fault;
	call->ended = call->failure != NULL && call->failure->control;
}

static int
tool_handled(lua_State *L, int status, lua_KContext context)
{
	const struct lua_call *call = vm_data(L);

	(void)status;
	(void)context;
	if (call->failure == NULL)
		return lua_push_result(L, call->result);
	values_push_fault(L, call->failure);
	return lua_error(L);
}

static int
tool_handler(lua_State *L)
{
	struct lua_call *call = vm_data(L);

	call->wish = lua_check_request(L, 1);
	call->wait = wait_tool_next;
	return vm_wait(L, tool_handled);
}

static int
give_tool(lua_State *L, struct lua_call *call)
{
	lua_push_request(L, call->tool);
	lua_pushcfunction(L, tool_handler);
	return 2;
}

struct tool_result *
lua_wrap_tool(struct tool_request *request, struct tool_next *next)
{
	struct lua_call call = { .arena = tool_arena(request),
		.function = "wrap_tool_call",
		.use = request->use,
		.tool = request,
		.tool_next = next,
		.give = give_tool,
		.take = lua_take_result };
	const struct fault *fault = lua_call_run(&call);

	if (fault != NULL)
		return tool_fail(request, fault);
	if (call.ended && call.result == NULL)
		return tool_fail(request, fault_cancelled(call.arena));
	return call.result;
}
