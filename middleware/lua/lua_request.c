/* Requests as a chunk sees them: read-only, with override. */
#include <lauxlib.h>
#include <string.h>

#include "lua_call.h"
#include "lua_values.h"
#include "lua_vm.h"
#include "model_request.h"
#include "nearest.h"
#include "tool_request.h"

static const char request_key; /* in the registry: their metatable */

struct box {
	const void *request;
};

static const struct model_request *
model_of(lua_State *L)
{
	return ((struct box *)lua_touserdata(L, 1))->request;
}

static const struct tool_request *
tool_of(lua_State *L)
{
	return ((struct box *)lua_touserdata(L, 1))->request;
}

/* --- fields ------------------------------------------------------------------------- */

static void
push_model_messages(lua_State *L)
{
	values_push(L, model_messages(model_of(L)));
}

static void
push_model_name(lua_State *L)
{
	lua_pushstring(L, model_name(model_of(L)));
}

static void
push_system_prompt(lua_State *L)
{
	lua_pushstring(L, model_system_prompt(model_of(L)));
}

static void
push_model_tools(lua_State *L)
{
	values_push(L, model_tools(model_of(L)));
}

static void
push_tool_choice(lua_State *L)
{
	values_push(L, model_tool_choice(model_of(L)));
}

static void
push_response_format(lua_State *L)
{
	values_push(L, model_response_format(model_of(L)));
}

static void
push_model_settings(lua_State *L)
{
	values_push(L, model_model_settings(model_of(L)));
}

static void
push_model_state(lua_State *L)
{
	const struct model_run *run = model_of(L)->run;

	values_push(L, value_map_with(run->arena, value_get(run->request, "state"),
			   "messages", value_get(run->request, "messages")));
}

static void
push_tool_call(lua_State *L)
{
	const struct tool_request *request = tool_of(L);
	struct arena *arena = request->run->arena;

	values_push(L, value_map(arena, "name", value_str(arena, request->name), "args",
			   request->args, "id", value_str(arena, request->id), "type",
			   value_str(arena, "tool_call"), NULL));
}

static void
push_tool_definition(lua_State *L)
{
	values_push(L, tool_definition(tool_of(L)));
}

static void
push_tool_state(lua_State *L)
{
	values_push(L, tool_whole_state(tool_of(L)));
}

static void
push_idempotency_key(lua_State *L)
{
	lua_pushstring(L, tool_idempotency_key(tool_of(L)));
}

static const struct request_field {
	const char *name;
	void (*push)(lua_State *L);
} model_fields[] = {
	{ "messages", push_model_messages },
	{ "model", push_model_name },
	{ "system_prompt", push_system_prompt },
	{ "tools", push_model_tools },
	{ "tool_choice", push_tool_choice },
	{ "response_format", push_response_format },
	{ "model_settings", push_model_settings },
	{ "state", push_model_state },
	{ "runtime", lua_push_runtime },
	{ NULL, NULL },
}, tool_fields[] = {
	{ "tool_call", push_tool_call },
	{ "tool", push_tool_definition },
	{ "state", push_tool_state },
	{ "idempotency_key", push_idempotency_key },
	{ "runtime", lua_push_runtime },
	{ NULL, NULL },
};

/* --- override ----------------------------------------------------------------------- */

static const char *const model_names[] = { "model", "system_prompt", "messages", "tools",
	"tool_choice", "response_format", "model_settings", NULL };
static const char *const tool_names[] = { "tool_call", "args", "name", "tool", "state",
	NULL };

static void
check_name(lua_State *L, const char *name, const char *const *names)
{
	const char *near, *all = "";
	size_t count;

	for (count = 0; names[count] != NULL; count++) {
		if (strcmp(names[count], name) == 0)
			return;
		all = lua_pushfstring(
		    L, "%s%s%s", all, count == 0 ? "" : ", ", names[count]);
	}
	near = nearest_name(name, names, count);
	luaL_error(L, "a request has no \"%s\" to override%s%s%s; it has %s", name,
	    near == NULL ? "" : "; did you mean \"", near == NULL ? "" : near,
	    near == NULL ? "" : "\"?", all);
}

static void
raise_broken(lua_State *L, const struct fault **broken)
{
	const struct fault *fault = *broken;

	*broken = NULL;
	if (fault != NULL)
		luaL_error(L, "%s", fault->message);
}

/* Messages that a chunk made, in their full form. */
static const struct value *
full_messages(lua_State *L, const struct value *given)
{
	const struct value *messages;
	const char *error;

	messages = chat_normalise(vm_arena(L), given, &error);
	if (messages == NULL)
		luaL_error(L, "override: %s", error);
	return messages;
}

static void *
override_model(lua_State *L, const char *name, const void *old)
{
	struct model_request *request = (void *)old;
	bool is_list = strcmp(name, "messages") == 0 || strcmp(name, "tools") == 0;
	const struct value *value = is_list ? values_take_list(L, -1, "override:")
					    : values_take(L, -1, "override:");

	if (value_is_nil(value))
		value = NULL;
	if (strcmp(name, "messages") == 0 && value != NULL && value != request->messages)
		value = full_messages(L, value);
	request = model_override(request, name, value);
	raise_broken(L, &request->run->broken);
	return request;
}

/* A state that a chunk made. No table of Lua's says whether it is a list when it is empty. */
static const struct value *
full_state(lua_State *L, const struct value *given)
{
	const struct value *messages = value_get(given, "messages");

	if (value_is_nil(messages))
		return given;
	messages = value_is(messages, VALUE_MAP) && messages->size == 0
		       ? value_empty_array()
		       : full_messages(L, messages);
	return value_map_with(vm_arena(L), given, "messages", messages);
}

static void *
override_tool(lua_State *L, const char *name, const void *old)
{
	struct tool_request *request = (void *)old;
	const struct value *value = values_take(L, -1, "override:");

	if (strcmp(name, "tool_call") == 0) {
		if (!value_text_is(value_get(value, "name"), request->name))
			request =
			    tool_override(request, "name", value_get(value, "name"));
		value = value_get(value, "args");
		name = "args";
	}
	if (strcmp(name, "state") == 0 && value_is(value, VALUE_MAP))
		value = full_state(L, value);
	request = tool_override(request, name, value_is_nil(value) ? NULL : value);
	raise_broken(L, &request->run->broken);
	return request;
}

/* request:override{name = value, ...} */
static int
override(lua_State *L)
{
	struct lua_call *call = vm_data(L);
	const void *request = lua_check_request(L, 1);
	const char *name;

	luaL_checktype(L, 2, LUA_TTABLE);
	values_fill(L, 2);
	lua_settop(L, 2);
	for (lua_pushnil(L); lua_next(L, 2) != 0; lua_settop(L, 3)) {
		if (lua_type(L, 3) != LUA_TSTRING)
			return luaL_error(L, "override takes names and their values");
		name = lua_tostring(L, 3);
		check_name(L, name, call->tool != NULL ? tool_names : model_names);
		lua_settop(L, 4);
		request = call->tool != NULL ? override_tool(L, name, request)
					     : override_model(L, name, request);
	}
	vm_check_memory(L);
	lua_push_request(L, request);
	return 1;
}

/* --- the object --------------------------------------------------------------------- */

/* Fields are made once and kept in a table beside the request. */
static int
on_index(lua_State *L)
{
	const struct lua_call *call = vm_data(L);
	const struct request_field *field =
	    call->tool != NULL ? tool_fields : model_fields;
	const char *name = luaL_checkstring(L, 2);

	if (strcmp(name, "override") == 0) {
		lua_pushcfunction(L, override);
		return 1;
	}
	while (field->name != NULL && strcmp(field->name, name) != 0)
		field++;
	if (field->name == NULL)
		return 0;
	if (lua_getiuservalue(L, 1, 1) != LUA_TTABLE) {
		lua_newtable(L);
		lua_pushvalue(L, -1);
		lua_setiuservalue(L, 1, 1);
		lua_replace(L, -2);
	}
	lua_pushvalue(L, 2);
	if (lua_rawget(L, -2) != LUA_TNIL)
		return 1;
	lua_pop(L, 1);
	field->push(L);
	lua_pushvalue(L, 2);
	lua_pushvalue(L, -2);
	lua_rawset(L, -4);
	return 1;
}

static int
on_newindex(lua_State *L)
{
	return luaL_error(L,
	    "a request is never changed: request:override{%s = ...} gives "
	    "another one",
	    lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "...");
}

static void
push_metatable(lua_State *L)
{
	if (lua_rawgetp(L, LUA_REGISTRYINDEX, &request_key) == LUA_TTABLE)
		return;
	lua_pop(L, 1);
	lua_newtable(L);
	lua_pushcfunction(L, on_index);
	lua_setfield(L, -2, "__index");
	lua_pushcfunction(L, on_newindex);
	lua_setfield(L, -2, "__newindex");
	lua_pushliteral(L, "request");
	lua_setfield(L, -2, "__name");
	lua_pushliteral(L, "request");
	lua_setfield(L, -2, "__metatable");
	lua_pushvalue(L, -1);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &request_key);
}

void
lua_push_request(lua_State *L, const void *request)
{
	struct box *box = lua_newuserdatauv(L, sizeof *box, 1);

	box->request = request;
	push_metatable(L);
	lua_setmetatable(L, -2);
}

void *
lua_check_request(lua_State *L, int index)
{
	struct box *box = lua_touserdata(L, index);
	bool is_one;

	if (box != NULL && lua_getmetatable(L, index)) {
		push_metatable(L);
		is_one = lua_rawequal(L, -1, -2);
		lua_pop(L, 2);
		if (is_one)
			return (void *)box->request;
	}
	luaL_typeerror(L, index, "request");
	return NULL;
}
