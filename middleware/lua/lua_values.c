#include "lua_values.h"

#include <lauxlib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "lua_vm.h"

/* Keys in the registry and, value_key, in tables that are not filled yet. */
static const char array_key, lazy_array_key, lazy_map_key, value_key;

static void
set_metatable(lua_State *L, const char *key)
{
	lua_rawgetp(L, LUA_REGISTRYINDEX, key);
	lua_setmetatable(L, -2);
}

static bool
has_metatable(lua_State *L, int index, const char *key)
{
	bool is;

	if (!lua_getmetatable(L, index))
		return false;
	lua_rawgetp(L, LUA_REGISTRYINDEX, key);
	is = lua_rawequal(L, -1, -2);
	lua_pop(L, 2);
	return is;
}

/* --- to Lua ------------------------------------------------------------------------- */

static void
push_table(lua_State *L, const struct value *value)
{
	lua_createtable(L, 0, 1);
	if (value->size == 0) {
		if (value->type == VALUE_ARRAY)
			set_metatable(L, &array_key);
		return;
	}
	lua_pushlightuserdata(L, (void *)value);
	lua_rawsetp(L, -2, &value_key);
	set_metatable(L, value->type == VALUE_ARRAY ? &lazy_array_key : &lazy_map_key);
}

void
values_push(lua_State *L, const struct value *value)
{
	luaL_checkstack(L, 4, NULL);
	if (value == NULL) {
		lua_pushnil(L);
		return;
	}
	switch (value->type) {
	case VALUE_NIL:
		lua_pushlightuserdata(L, NULL);
		break;
	case VALUE_BOOL:
		lua_pushboolean(L, value->boolean);
		break;
	case VALUE_INT:
		lua_pushinteger(L, value->integer);
		break;
	case VALUE_FLOAT:
		lua_pushnumber(L, value->real);
		break;
	case VALUE_STR:
	case VALUE_BIN:
		lua_pushlstring(L, value->text, value->size);
		break;
	case VALUE_ARRAY:
	case VALUE_MAP:
		push_table(L, value);
		break;
	}
}

/* The value that the table at index waits to be filled with, or NULL. The key alone says
 * nothing: nobody but us gives a table such a metatable. */
static const struct value *
waiting(lua_State *L, int index)
{
	const struct value *value;

	lua_rawgetp(L, index, &value_key);
	value = lua_touserdata(L, -1);
	lua_pop(L, 1);
	if (value == NULL || has_metatable(L, index, &lazy_array_key) ||
	    has_metatable(L, index, &lazy_map_key))
		return value;
	return NULL;
}

static void
fill_array(lua_State *L, const struct value *value)
{
	size_t i;

	for (i = 0; i < value->size; i++) {
		values_push(L, value->items[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	set_metatable(L, &array_key);
}

static void
fill_map(lua_State *L, const struct value *value)
{
	size_t i;

	for (i = 0; i < value->size; i++) {
		values_push(L, value->pairs[i].key);
		values_push(L, value->pairs[i].value);
		lua_rawset(L, -3);
	}
	lua_pushnil(L);
	lua_setmetatable(L, -2);
}

void
values_fill(lua_State *L, int index)
{
	const struct value *value;

	if (lua_type(L, index) != LUA_TTABLE)
		return;
	index = lua_absindex(L, index);
	value = waiting(L, index);
	if (value == NULL)
		return;
	vm_spend(L, value->size);
	luaL_checkstack(L, 6, NULL);
	lua_pushvalue(L, index);
	/* Where memory ends in the midst of it the table still waits. */
	if (value->type == VALUE_ARRAY)
		fill_array(L, value);
	else
		fill_map(L, value);
	lua_pushnil(L);
	lua_rawsetp(L, -2, &value_key);
	lua_pop(L, 1);
}

/* --- the first look at a table ------------------------------------------------------ */

static int
on_index(lua_State *L)
{
	values_fill(L, 1);
	lua_settop(L, 2);
	lua_rawget(L, 1);
	return 1;
}

static int
on_newindex(lua_State *L)
{
	values_fill(L, 1);
	lua_settop(L, 3);
	lua_rawset(L, 1);
	return 0;
}

static int
on_len(lua_State *L)
{
	const struct value *value = waiting(L, 1);

	lua_pushinteger(L, value != NULL && value->type == VALUE_ARRAY
			       ? (lua_Integer)value->size
			       : (lua_Integer)lua_rawlen(L, 1));
	return 1;
}

int
values_next(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TTABLE);
	values_fill(L, 1);
	lua_settop(L, 2);
	return lua_next(L, 1) ? 2 : (lua_pushnil(L), 1);
}

static int
on_pairs(lua_State *L)
{
	values_fill(L, 1);
	lua_pushcfunction(L, values_next);
	lua_pushvalue(L, 1);
	lua_pushnil(L);
	return 3;
}

static const struct luaL_Reg lazy_functions[] = {
	{ "__index", on_index },
	{ "__newindex", on_newindex },
	{ "__len", on_len },
	{ "__pairs", on_pairs },
	{ NULL, NULL },
};

/* --- from Lua ----------------------------------------------------------------------- */

/* What is not copied may stand in many places, and is written out in each: as JSON, in a message.
 * More than this no call could send, nor a thread keep. */
#define LENT_BYTES_MAX ((size_t)64 << 20)

struct taker {
	lua_State *L;
	struct arena *arena;
	const char *what;
	unsigned depth;
	size_t lent; /* bytes of what is not copied, in each place */
};

static const struct value *take(struct taker *taker, int index);

static _Noreturn void
refuse(struct taker *taker, const char *reason)
{
	luaL_where(taker->L, 1);
	lua_pushfstring(taker->L, "%s %s", taker->what, reason);
	lua_concat(taker->L, 2);
	lua_error(taker->L);
	__builtin_unreachable();
}

/* The items 1..n; their count must be that of all pairs. */
static const struct value *
take_array(struct taker *taker, int index, size_t count)
{
	struct value_list list = { .arena = taker->arena };
	lua_State *L = taker->L;
	size_t pairs = 0, i;

	for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1))
		pairs++;
	if (pairs != count)
		refuse(taker, "has a table with both items and names, or an array with "
			      "holes in it");
	vm_spend(L, count);
	for (i = 1; i <= count; i++) {
		lua_rawgeti(L, index, (lua_Integer)i);
		value_list_add(&list, take(taker, lua_gettop(L)));
		lua_pop(L, 1);
	}
	return value_list_end(&list);
}

static int
by_key(const void *a, const void *b)
{
	const struct value_pair *left = a, *right = b;

	return strcmp(left->key->text, right->key->text);
}

/* Lua's order of names is another one in each process: ours is the alphabet's. */
static const struct value *
take_map(struct taker *taker, int index)
{
	struct value_fields fields = { .arena = taker->arena };
	struct value_pair *pairs;
	lua_State *L = taker->L;
	size_t size, count = 0, i;
	const char *key;

	for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1))
		count++;
	vm_spend(L, count);
	pairs = arena_alloc(taker->arena, count * sizeof *pairs);
	count = 0;
	for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
		if (lua_type(L, -2) != LUA_TSTRING)
			refuse(taker, "has a table whose names are not all texts");
		key = lua_tolstring(L, -2, &size);
		pairs[count].key = value_strn(taker->arena, key, size);
		pairs[count++].value = take(taker, lua_gettop(L));
	}
	qsort(pairs, count, sizeof *pairs, by_key);
	for (i = 0; i < count; i++)
		value_fields_put(&fields, pairs[i].key, pairs[i].value);
	return value_fields_end(&fields);
}

/* About the bytes that value has written out; where they are more than most, more than most. */
static size_t
weigh(const struct value *value, size_t most)
{
	size_t bytes = 1, i;

	if (value->packed != NULL)
		return value->packed_size;
	if (value->type == VALUE_STR || value->type == VALUE_BIN)
		return bytes + value->size;
	for (i = 0; value->type == VALUE_ARRAY && i < value->size && bytes <= most; i++)
		bytes += weigh(value->items[i], most - bytes);
	for (i = 0; value->type == VALUE_MAP && i < value->size && bytes <= most; i++)
		bytes += value->pairs[i].key->size +
			 weigh(value->pairs[i].value, most - bytes);
	return bytes;
}

static const struct value *
lend(struct taker *taker, const struct value *value)
{
	taker->lent += weigh(value, LENT_BYTES_MAX - taker->lent);
	if (taker->lent > LENT_BYTES_MAX)
		vm_refuse_memory(taker->L);
	return value;
}

static const struct value *
take_table(struct taker *taker, int index)
{
	const struct value *value = waiting(taker->L, index);
	size_t count;

	if (value != NULL)
		return lend(taker, value);
	if (++taker->depth > VALUE_DEPTH_MAX)
		refuse(taker, "is nested too deep, or contains itself");
	luaL_checkstack(taker->L, 8, NULL);
	count = lua_rawlen(taker->L, index);
	if (count > 0 || has_metatable(taker->L, index, &array_key))
		value = take_array(taker, index, count);
	else
		value = take_map(taker, index);
	vm_check_memory(taker->L);
	taker->depth--;
	return value;
}

static const struct value *
take_number(struct taker *taker, int index)
{
	if (lua_isinteger(taker->L, index))
		return value_int(taker->arena, lua_tointeger(taker->L, index));
	if (!isfinite(lua_tonumber(taker->L, index)))
		refuse(taker, "has a number that is not finite");
	return value_float(taker->arena, lua_tonumber(taker->L, index));
}

static const struct value *
take(struct taker *taker, int index)
{
	lua_State *L = taker->L;
	const struct value *value;
	const char *text;
	size_t size;

	switch (lua_type(L, index)) {
	case LUA_TBOOLEAN:
		return value_bool(lua_toboolean(L, index));
	case LUA_TNUMBER:
		return take_number(taker, index);
	case LUA_TSTRING:
		text = lua_tolstring(L, index, &size);
		vm_spend(L, size / 64);
		value = value_strn(taker->arena, text, size);
		/* In Lua it may be there once and stand in many places. */
		vm_check_memory(L);
		return value;
	case LUA_TTABLE:
		return take_table(taker, index);
	case LUA_TLIGHTUSERDATA:
		return value_nil();
	default:
		refuse(taker, lua_pushfstring(L, "has a %s in it, which is no value",
				  luaL_typename(L, index)));
	}
}

const struct value *
values_take(lua_State *L, int index, const char *what)
{
	struct taker taker = { .L = L, .arena = vm_arena(L), .what = what };

	if (lua_isnoneornil(L, index))
		return NULL;
	return take(&taker, lua_absindex(L, index));
}

const struct value *
values_take_list(lua_State *L, int index, const char *what)
{
	const struct value *value = values_take(L, index, what);

	return value_is(value, VALUE_MAP) && value->size == 0 ? value_empty_array()
							      : value;
}

/* --- what all states have ----------------------------------------------------------- */

static int
make_array(lua_State *L)
{
	lua_settop(L, lua_isnoneornil(L, 1) ? 0 : 1);
	if (lua_gettop(L) == 0)
		lua_newtable(L);
	luaL_checktype(L, 1, LUA_TTABLE);
	values_fill(L, 1);
	if (!has_metatable(L, 1, &array_key) &&
	    luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
		return luaL_error(L, "cannot change a protected metatable");
	set_metatable(L, &array_key);
	return 1;
}

static int
on_null_text(lua_State *L)
{
	lua_pushliteral(L, "null");
	return 1;
}

void
values_globals(lua_State *L)
{
	lua_pushlightuserdata(L, NULL);
	lua_setfield(L, -2, "null");
	lua_pushcfunction(L, make_array);
	lua_setfield(L, -2, "array");
}

static void
new_metatable(lua_State *L, const char *key, const char *name)
{
	lua_newtable(L);
	lua_pushstring(L, name);
	lua_pushvalue(L, -1);
	lua_setfield(L, -3, "__name");
	lua_setfield(L, -2, "__metatable");
	lua_pushvalue(L, -1);
	lua_rawsetp(L, LUA_REGISTRYINDEX, key);
}

void
values_open(lua_State *L)
{
	new_metatable(L, &array_key, "array");
	lua_pop(L, 1);
	new_metatable(L, &lazy_array_key, "array");
	luaL_setfuncs(L, lazy_functions, 0);
	lua_pop(L, 1);
	new_metatable(L, &lazy_map_key, "map");
	luaL_setfuncs(L, lazy_functions, 0);
	lua_pop(L, 1);
	/* The metatable of all light userdata, of which a chunk sees null alone. */
	lua_pushlightuserdata(L, NULL);
	lua_newtable(L);
	lua_pushcfunction(L, on_null_text);
	lua_setfield(L, -2, "__tostring");
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	lua_setmetatable(L, -2);
	lua_pop(L, 1);
}
