#include "lua_library.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdint.h>
#include <string.h>

#include "json.h"
#include "lua_pattern.h"
#include "lua_values.h"
#include "lua_vm.h"

#define SORT_STEPS 20u /* of each item: comparisons and swaps */
#define TEXT_STEP 64u  /* bytes of a text that are looked at in a step */
#define JSON_STEP 32u  /* bytes of JSON that are written in a step */

/* --- functions whose work grows with their arguments -------------------------------- */

/* Upvalue 1: liblua's function. */
static int
call_original(lua_State *L)
{
	return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

/* A __len of the chunk's own could promise items without end. */
static void
spend_items(lua_State *L, uint64_t steps)
{
	luaL_checktype(L, 1, LUA_TTABLE);
	values_fill(L, 1);
	if (luaL_getmetafield(L, 1, "__len") != LUA_TNIL)
		luaL_error(L, "a table with __len cannot be used here");
	vm_spend(L, lua_rawlen(L, 1) * steps);
}

static int
table_insert(lua_State *L)
{
	spend_items(L, lua_gettop(L) > 2 ? 1 : 0);
	return call_original(L);
}

static int
table_remove(lua_State *L)
{
	spend_items(L, lua_gettop(L) > 1 ? 1 : 0);
	return call_original(L);
}

/* The steps from argument `first` to argument `last`, 1 to the length when they are not given:
 * what __index promises has no end either. */
static uint64_t
count_range(lua_State *L, int first, int last)
{
	lua_Integer from, end;

	spend_items(L, 0);
	from = luaL_optinteger(L, first, 1);
	end = luaL_optinteger(L, last, (lua_Integer)lua_rawlen(L, 1));
	return end < from ? 0 : (uint64_t)end - (uint64_t)from;
}

static int
table_concat(lua_State *L)
{
	vm_spend(L, count_range(L, 3, 4));
	return call_original(L);
}

/* liblua refuses at once what does not fit on its stack. */
static int
table_unpack(lua_State *L)
{
	uint64_t count = count_range(L, 2, 3);

	vm_spend(L, count < LUAI_MAXSTACK ? count : 0);
	return call_original(L);
}

static void
spend_text(lua_State *L, int index)
{
	if (lua_type(L, index) == LUA_TSTRING)
		vm_spend(L, lua_rawlen(L, index) / TEXT_STEP);
}

/* Upvalue 1: the chunk's own comparison, or nil. Many items may be one long text. */
static int
compare(lua_State *L)
{
	lua_settop(L, 2);
	spend_text(L, 1);
	spend_text(L, 2);
	if (lua_isnil(L, lua_upvalueindex(1))) {
		lua_pushboolean(L, lua_compare(L, 1, 2, LUA_OPLT));
		return 1;
	}
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, 2, 1);
	return 1;
}

static int
table_sort(lua_State *L)
{
	spend_items(L, SORT_STEPS);
	lua_settop(L, 2);
	if (!lua_isnil(L, 2))
		luaL_checktype(L, 2, LUA_TFUNCTION);
	lua_pushcclosure(L, compare, 1);
	return call_original(L);
}

static int
table_move(lua_State *L)
{
	lua_Integer from = luaL_checkinteger(L, 2), end = luaL_checkinteger(L, 3);

	if (end >= from)
		vm_spend(L, (uint64_t)end - (uint64_t)from + 1);
	return call_original(L);
}

static int
string_rep(lua_State *L)
{
	size_t size, between = 0;
	lua_Integer count = luaL_checkinteger(L, 2);

	luaL_checklstring(L, 1, &size);
	luaL_optlstring(L, 3, "", &between);
	if (count <= 0 || size + between == 0) {
		lua_pushliteral(L, "");
		return 1;
	}
	if (count > INT32_MAX)
		return luaL_error(L, "resulting string too large");
	vm_spend(
	    L, (uint64_t)count / 4 + (uint64_t)count * ((size + between) / TEXT_STEP));
	return call_original(L);
}

/* --- functions of the base library -------------------------------------------------- */

static int
base_rawget(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TTABLE);
	luaL_checkany(L, 2);
	values_fill(L, 1);
	lua_settop(L, 2);
	lua_rawget(L, 1);
	return 1;
}

static int
base_rawlen(lua_State *L)
{
	values_fill(L, 1);
	lua_pushinteger(L, (lua_Integer)lua_rawlen(L, 1));
	return 1;
}

static int
end_pairs(lua_State *L, int status, lua_KContext context)
{
	(void)L;
	(void)status;
	(void)context;
	return 3;
}

/* liblua's gives out its own next, which sees what a table is still to be filled with. */
static int
base_pairs(lua_State *L)
{
	luaL_checkany(L, 1);
	if (luaL_getmetafield(L, 1, "__pairs") == LUA_TNIL) {
		lua_pushcfunction(L, values_next);
		lua_pushvalue(L, 1);
		lua_pushnil(L);
		return 3;
	}
	lua_pushvalue(L, 1);
	lua_callk(L, 1, 3, 0, end_pairs);
	return 3;
}

/* A finalizer runs where no limit reaches it. */
static int
base_setmetatable(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TTABLE);
	values_fill(L, 1);
	luaL_argexpected(L, lua_isnil(L, 2) || lua_istable(L, 2), 2, "nil or table");
	if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
		return luaL_error(L, "cannot change a protected metatable");
	lua_settop(L, 2);
	if (lua_istable(L, 2)) {
		lua_pushliteral(L, "__gc");
		if (lua_rawget(L, 2) != LUA_TNIL)
			return luaL_error(L, "a metatable with __gc is not allowed");
		lua_settop(L, 2);
	}
	lua_setmetatable(L, 1);
	return 1;
}

/* Upvalue 1: the chunk's own message handler. The error of a call that must not go on is
 * raised by a hook, while there are no hooks: nothing would end a handler then. */
static int
handle_message(lua_State *L)
{
	if (vm_is_exhausted(L))
		return 1;
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
	return lua_gettop(L);
}

/* Upvalue 1: liblua's function. */
static int
base_xpcall(lua_State *L)
{
	luaL_checktype(L, 2, LUA_TFUNCTION);
	lua_pushvalue(L, 2);
	lua_pushcclosure(L, handle_message, 1);
	lua_replace(L, 2);
	return call_original(L);
}

static const char *const base_names[] = { "assert", "error", "getmetatable", "ipairs",
	"pcall", "rawequal", "select", "tonumber", "tostring", "type", "xpcall" };

static const struct luaL_Reg base_functions[] = {
	{ "next", values_next },
	{ "pairs", base_pairs },
	{ "rawget", base_rawget },
	{ "rawlen", base_rawlen },
	{ "setmetatable", base_setmetatable },
	{ NULL, NULL },
};

/* --- json --------------------------------------------------------------------------- */

static int
json_encode(lua_State *L)
{
	const struct value *value = values_take(L, 1, "json.encode:");
	const char *text = json_text(vm_arena(L), value == NULL ? value_nil() : value);

	vm_check_memory(L);
	vm_spend(L, strlen(text) / JSON_STEP);
	lua_pushstring(L, text);
	return 1;
}

static int
json_decode(lua_State *L)
{
	const struct value *value;
	const char *text, *error;
	size_t size;

	text = luaL_checklstring(L, 1, &size);
	vm_spend(L, size / 8);
	value = json_parse(vm_arena(L), text, size, &error);
	vm_check_memory(L);
	if (value == NULL)
		return luaL_error(L, "json.decode: %s", error);
	values_push(L, value);
	return 1;
}

static const struct luaL_Reg json_functions[] = {
	{ "encode", json_encode },
	{ "decode", json_decode },
	{ NULL, NULL },
};

/* --- libraries nobody can change ---------------------------------------------------- */

static int
refuse_write(lua_State *L)
{
	return luaL_error(L, "Lua's own libraries cannot be changed");
}

/* Replaces the library on top by a face that is read through and never written. */
static void
make_read_only(lua_State *L)
{
	lua_newtable(L);
	lua_newtable(L);
	lua_rotate(L, -3, -1);
	lua_setfield(L, -2, "__index");
	lua_pushcfunction(L, refuse_write);
	lua_setfield(L, -2, "__newindex");
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	lua_setmetatable(L, -2);
}

static void
remove_names(lua_State *L, const char *const *names)
{
	for (; *names != NULL; names++) {
		lua_pushnil(L);
		lua_setfield(L, -2, *names);
	}
}

static const struct {
	const char *library, *name;
	lua_CFunction guard;
} guards[] = {
	{ "table", "insert", table_insert },
	{ "table", "remove", table_remove },
	{ "table", "concat", table_concat },
	{ "table", "unpack", table_unpack },
	{ "table", "sort", table_sort },
	{ "table", "move", table_move },
	{ "string", "rep", string_rep },
	{ "base", "xpcall", base_xpcall },
};

static void
put_guards(lua_State *L, const char *library)
{
	size_t i;

	for (i = 0; i < sizeof guards / sizeof *guards; i++) {
		if (guards[i].library[0] != library[0])
			continue;
		lua_getfield(L, -1, guards[i].name);
		lua_pushcclosure(L, guards[i].guard, 1);
		lua_setfield(L, -2, guards[i].name);
	}
}

/* Pushes string. Its functions are also the methods of every text. */
static void
open_string(lua_State *L)
{
	static const char *const unwanted[] = { "dump", "pack", "packsize", "unpack",
		NULL };

	luaL_requiref(L, "string", luaopen_string, 0);
	remove_names(L, unwanted);
	luaL_setfuncs(L, pattern_functions, 0);
	put_guards(L, "string");
	lua_pushliteral(L, "");
	lua_getmetatable(L, -1);
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	lua_pop(L, 2);
}

static void
open_base(lua_State *L)
{
	size_t i;

	luaL_requiref(L, "_G", luaopen_base, 0);
	for (i = 0; i < sizeof base_names / sizeof *base_names; i++) {
		lua_getfield(L, -1, base_names[i]);
		lua_setfield(L, -3, base_names[i]);
	}
	lua_pop(L, 1);
	luaL_setfuncs(L, base_functions, 0);
	put_guards(L, "base");
	values_globals(L);
}

void
library_open(lua_State *L)
{
	/* The next call would draw from what this one has seeded. */
	static const char *const no_math[] = { "randomseed", NULL };

	lua_newtable(L);
	lua_newtable(L);
	open_base(L);
	open_string(L);
	make_read_only(L);
	lua_setfield(L, -2, "string");
	luaL_requiref(L, "table", luaopen_table, 0);
	put_guards(L, "table");
	make_read_only(L);
	lua_setfield(L, -2, "table");
	luaL_requiref(L, "math", luaopen_math, 0);
	remove_names(L, no_math);
	make_read_only(L);
	lua_setfield(L, -2, "math");
	luaL_requiref(L, "utf8", luaopen_utf8, 0);
	make_read_only(L);
	lua_setfield(L, -2, "utf8");
	luaL_newlib(L, json_functions);
	make_read_only(L);
	lua_setfield(L, -2, "json");
	lua_setfield(L, -2, "__index");
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
}
