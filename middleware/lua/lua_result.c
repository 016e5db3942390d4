/* What handlers return to a chunk, and what a chunk's hooks return to us. */
#include <lauxlib.h>
#include <string.h>

#include "lua_call.h"
#include "lua_values.h"
#include "lua_vm.h"

static const char response_key, result_key; /* in the registry: metatables */

/* Gives the table on top the metatable of that key, made with on_index when it is not
 * there. */
static void
set_face(lua_State *L, const char *key, lua_CFunction on_index)
{
	if (lua_rawgetp(L, LUA_REGISTRYINDEX, key) != LUA_TTABLE) {
		lua_pop(L, 1);
		lua_newtable(L);
		lua_pushcfunction(L, on_index);
		lua_setfield(L, -2, "__index");
		lua_pushliteral(L, "response");
		lua_setfield(L, -2, "__metatable");
		lua_pushvalue(L, -1);
		lua_rawsetp(L, LUA_REGISTRYINDEX, key);
	}
	lua_setmetatable(L, -2);
}

/* Pushes the item of the list on top whose field `name` is text; false: there is none.
 * Takes the list. */
static bool
push_item(lua_State *L, const char *name, const char *text)
{
	lua_Integer i, count;

	if (!lua_istable(L, -1)) {
		lua_pop(L, 1);
		return false;
	}
	values_fill(L, -1);
	count = (lua_Integer)lua_rawlen(L, -1);
	for (i = 1; i <= count; i++) {
		bool is_it = false;

		if (lua_rawgeti(L, -1, i) == LUA_TTABLE) {
			lua_getfield(L, -1, name);
			is_it = lua_type(L, -1) == LUA_TSTRING &&
				strcmp(lua_tostring(L, -1), text) == 0;
			lua_pop(L, 1);
		}
		if (is_it) {
			lua_remove(L, -2);
			return true;
		}
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
	return false;
}

static int
push_text(lua_State *L)
{
	const struct value *message = values_take(L, -1, "the message");
	const struct value *said = chat_said(vm_arena(L), message);

	lua_pushlstring(L, said->text, said->size);
	return 1;
}

/* --- models ------------------------------------------------------------------------- */

/* message: the AI message among messages; text: its text. */
static int
on_response_index(lua_State *L)
{
	const char *name = luaL_checkstring(L, 2);
	bool is_text = strcmp(name, "text") == 0;

	if (!is_text && strcmp(name, "message") != 0)
		return 0;
	lua_getfield(L, 1, "messages");
	if (!push_item(L, "type", "ai"))
		return 0;
	return is_text ? push_text(L) : 1;
}

int
lua_push_response(lua_State *L, const struct model_response *response)
{
	lua_createtable(L, 0, 2);
	values_push(L, response->messages);
	lua_setfield(L, -2, "messages");
	values_push(L, response->structured_response);
	lua_setfield(L, -2, "structured_response");
	set_face(L, &response_key, on_response_index);
	return 1;
}

/* A message, or its text, which is the model's. */
static const struct value *
take_ai(lua_State *L, int index)
{
	const struct value *message = values_take(L, index, "the message");

	if (value_is(message, VALUE_MAP) && !value_has(message, "type") &&
	    !value_has(message, "role"))
		return value_map_with(
		    vm_arena(L), message, "type", value_str(vm_arena(L), "ai"));
	return message;
}

/* The field of the table on top, without metamethods. */
static int
raw_field(lua_State *L, const char *name)
{
	lua_pushstring(L, name);
	return lua_rawget(L, -2);
}

static const struct value *
take_field(lua_State *L, const char *name, bool is_list)
{
	const struct value *value;

	raw_field(L, name);
	value = is_list ? values_take_list(L, -1, name) : values_take(L, -1, name);
	lua_pop(L, 1);
	return value_is_nil(value) ? NULL : value;
}

static struct model_response *
take_response(lua_State *L, struct lua_call *call)
{
	struct model_response *response;

	if (lua_type(L, -1) == LUA_TSTRING)
		return model_answer(call->model, take_ai(L, -1));
	values_fill(L, -1);
	response = arena_alloc(call->arena, sizeof *response);
	response->messages = take_field(L, "messages", true);
	if (response->messages != NULL) {
		response->structured_response =
		    take_field(L, "structured_response", false);
		response->update = take_field(L, "update", false);
	} else if (raw_field(L, "message") != LUA_TNIL) {
		*response = *model_answer(call->model, take_ai(L, -1));
		lua_pop(L, 1);
		response->structured_response =
		    take_field(L, "structured_response", false);
		response->update = take_field(L, "update", false);
	} else {
		lua_pop(L, 1);
		response = model_answer(call->model, take_ai(L, -1));
	}
	return response;
}

static int
refuse(lua_State *L, const struct lua_call *call, const char *wanted)
{
	return luaL_error(
	    L, "%s returns %s, not a %s", call->function, wanted, luaL_typename(L, -1));
}

void
lua_take_response(lua_State *L, struct lua_call *call)
{
	if (lua_isnil(L, -1))
		call->response = NULL;
	else if (lua_istable(L, -1) || lua_type(L, -1) == LUA_TSTRING)
		call->response = take_response(L, call);
	else
		refuse(L, call, "a response, a message or a text");
}

/* --- tools -------------------------------------------------------------------------- */

/* message: the tool message that answers the call; content, text: its. */
static int
on_result_index(lua_State *L)
{
	const struct lua_call *call = vm_data(L);
	const char *name = luaL_checkstring(L, 2);
	lua_Integer count, i;
	bool found = false;

	if (strcmp(name, "message") != 0 && strcmp(name, "content") != 0 &&
	    strcmp(name, "text") != 0)
		return 0;
	lua_getfield(L, 1, "commands");
	values_fill(L, -1);
	count = lua_istable(L, -1) ? (lua_Integer)lua_rawlen(L, -1) : 0;
	for (i = 1; i <= count && !found; i++) {
		lua_geti(L, -1, i);
		lua_getfield(L, -1, "update");
		if (lua_istable(L, -1)) {
			lua_getfield(L, -1, "messages");
			found = push_item(L, "tool_call_id", tool_call_id(call->tool));
		}
		if (!found)
			lua_pop(L, 2);
	}
	if (!found)
		return 0;
	if (name[0] == 't')
		return push_text(L);
	if (name[0] == 'c')
		lua_getfield(L, -1, "content");
	return 1;
}

int
lua_push_result(lua_State *L, const struct tool_result *result)
{
	lua_createtable(L, 0, 1);
	values_push(L, result->commands);
	lua_setfield(L, -2, "commands");
	set_face(L, &result_key, on_result_index);
	return 1;
}

static const struct value *
answer_of(struct lua_call *call, const struct value *message)
{
	return value_map(call->arena, "update",
	    value_map(
		call->arena, "messages", value_array(call->arena, &message, 1), NULL),
	    NULL);
}

static struct tool_result *
take_result(lua_State *L, struct lua_call *call)
{
	struct tool_result *result = arena_alloc(call->arena, sizeof *result);
	const struct value *given;

	values_fill(L, -1);
	result->commands = take_field(L, "commands", true);
	if (result->commands != NULL)
		return result;
	given = values_take_list(L, -1, "the result");
	/* A message answers this call unless it says otherwise. */
	if (value_is(given, VALUE_MAP) && !value_has(given, "update")) {
		if (!value_has(given, "type") && !value_has(given, "role"))
			given = value_map_with(
			    call->arena, given, "type", value_str(call->arena, "tool"));
		if (!value_has(given, "tool_call_id"))
			given = value_map_with(call->arena, given, "tool_call_id",
			    value_str(call->arena, tool_call_id(call->tool)));
		given = answer_of(call, given);
	}
	result->commands =
	    value_is(given, VALUE_MAP) ? value_array(call->arena, &given, 1) : given;
	return result;
}

void
lua_take_result(lua_State *L, struct lua_call *call)
{
	if (lua_isnil(L, -1))
		call->result = NULL;
	else if (lua_type(L, -1) == LUA_TSTRING)
		call->result = tool_answer(
		    call->tool, value_text(values_take(L, -1, "the answer")), "success");
	else if (lua_istable(L, -1))
		call->result = take_result(L, call);
	else
		refuse(L, call, "a result, a message, a command or a text");
}

/* --- node hooks --------------------------------------------------------------------- */

/* {} is a list where the field is one. */
static const struct value *
with_lists(struct lua_call *call, const struct value *update)
{
	const struct middleware_use *use = call->use;
	const struct value *value = value_get(update, "messages");
	size_t i;

	if (value_is(value, VALUE_MAP) && value->size == 0)
		update =
		    value_map_with(call->arena, update, "messages", value_empty_array());
	for (i = 0; i < use->field_count; i++) {
		const struct field *field = &use->fields[i];

		value = value_get(update, field->name);
		if (value_is(value, VALUE_MAP) && value->size == 0 &&
		    field->type != NULL && strcmp(field->type, "array") == 0)
			update = value_map_with(
			    call->arena, update, field->name, value_empty_array());
	}
	return update;
}

void
lua_take_update(lua_State *L, struct lua_call *call)
{
	const struct value *update;

	if (!lua_isnil(L, -1) && !lua_istable(L, -1))
		refuse(L, call, "nil or a table of updates");
	update = values_take(L, -1, "the update");
	if (update != NULL && !value_is(update, VALUE_MAP))
		luaL_error(
		    L, "%s returns a list, not a table of updates", call->function);
	call->update = update == NULL ? NULL : with_lists(call, update);
}
