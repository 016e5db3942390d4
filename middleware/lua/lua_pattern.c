/* find, match, gmatch and gsub of Lua's string library. */
#include "lua_pattern.h"

#include <ctype.h>
#include <lauxlib.h>
#include <stdbool.h>
#include <string.h>

#include "lua_match.h"
#include "lua_vm.h"

/* --- what is pushed ----------------------------------------------------------------- */

static void
push_capture(struct matcher *m, int index, const char *from, const char *end)
{
	const struct capture *capture = &m->captures[index];

	if (index >= m->count) {
		if (index != 0)
			luaL_error(m->L, "invalid capture index %%%d", index + 1);
		lua_pushlstring(m->L, from, (size_t)(end - from));
	} else if (capture->size == CAPTURE_OPEN) {
		luaL_error(m->L, "unfinished capture");
	} else if (capture->size == CAPTURE_POSITION) {
		lua_pushinteger(m->L, capture->start - m->text + 1);
	} else {
		lua_pushlstring(m->L, capture->start, (size_t)capture->size);
	}
}

/* The captures, or the whole match when there are none; from NULL: none then. */
static int
push_captures(struct matcher *m, const char *from, const char *end)
{
	int count = m->count == 0 && from != NULL ? 1 : m->count, i;

	luaL_checkstack(m->L, count, "too many captures");
	for (i = 0; i < count; i++)
		push_capture(m, i, from, end);
	return count;
}

/* --- find and match ----------------------------------------------------------------- */

/* The place, from 0, that the argument means; more than size when it is behind the end. */
static size_t
start_of(lua_State *L, int argument, size_t size)
{
	lua_Integer start = luaL_optinteger(L, argument, 1);

	if (start > 0)
		return (size_t)start - 1;
	if (start == 0 || start < -(lua_Integer)size)
		return 0;
	return size - (size_t)-start;
}

static int
find_plain(lua_State *L, const char *text, size_t from, const char *pattern)
{
	size_t size, length;
	const char *found;

	lua_tolstring(L, 1, &size);
	lua_tolstring(L, 2, &length);
	vm_spend(L, (size - from) / 64);
	found = memmem(text + from, size - from, pattern, length);
	if (found == NULL)
		return 0;
	lua_pushinteger(L, found - text + 1);
	lua_pushinteger(L, found - text + (lua_Integer)length);
	return 2;
}

static int
find_pattern(lua_State *L, const char *text, size_t from, bool is_find)
{
	size_t size, length;
	const char *pattern, *end, *at = text + from;
	struct matcher m;
	bool anchored;

	lua_tolstring(L, 1, &size);
	pattern = lua_tolstring(L, 2, &length);
	m = matcher_new(L, text, size, pattern + length);
	anchored = length > 0 && pattern[0] == '^';
	do {
		end = matcher_match(&m, at, pattern + (anchored ? 1 : 0));
		if (end == NULL)
			continue;
		if (!is_find)
			return push_captures(&m, at, end);
		lua_pushinteger(L, at - text + 1);
		lua_pushinteger(L, end - text);
		return push_captures(&m, NULL, NULL) + 2;
	} while (at++ < m.text_end && !anchored);
	return 0;
}

static int
find(lua_State *L, bool is_find)
{
	size_t size, length, from;
	const char *text = luaL_checklstring(L, 1, &size);
	const char *pattern = luaL_checklstring(L, 2, &length);
	int count = 0;

	from = start_of(L, 3, size);
	if (from <= size) {
		if (is_find &&
		    (lua_toboolean(L, 4) || strcspn(pattern, "^$*+?.([%-") == length))
			count = find_plain(L, text, from, pattern);
		else
			count = find_pattern(L, text, from, is_find);
	}
	if (count > 0)
		return count;
	lua_pushnil(L);
	return 1;
}

static int
string_find(lua_State *L)
{
	return find(L, true);
}

static int
string_match(lua_State *L)
{
	return find(L, false);
}

/* --- gmatch ------------------------------------------------------------------------- */

/* Upvalues: text, pattern, where to go on, where the last match ended (-1: nowhere). */
static int
next_match(lua_State *L)
{
	size_t size, length;
	const char *text = lua_tolstring(L, lua_upvalueindex(1), &size);
	const char *pattern = lua_tolstring(L, lua_upvalueindex(2), &length), *end;
	const char *at = text + lua_tointeger(L, lua_upvalueindex(3));
	lua_Integer last = lua_tointeger(L, lua_upvalueindex(4));
	struct matcher m = matcher_new(L, text, size, pattern + length);

	for (; at <= m.text_end; at++) {
		end = matcher_match(&m, at, pattern);
		if (end == NULL || end - text == last)
			continue;
		lua_pushinteger(L, end - text);
		lua_copy(L, -1, lua_upvalueindex(3));
		lua_replace(L, lua_upvalueindex(4));
		return push_captures(&m, at, end);
	}
	return 0;
}

static int
string_gmatch(lua_State *L)
{
	size_t size, from;

	luaL_checklstring(L, 1, &size);
	luaL_checkstring(L, 2);
	from = start_of(L, 3, size);
	lua_settop(L, 2);
	lua_pushinteger(L, from > size ? (lua_Integer)size + 1 : (lua_Integer)from);
	lua_pushinteger(L, -1);
	lua_pushcclosure(L, next_match, 4);
	return 1;
}

/* --- gsub --------------------------------------------------------------------------- */

static void
add_text(struct matcher *m, luaL_Buffer *out, const char *from, const char *end)
{
	size_t size, i;
	const char *text = lua_tolstring(m->L, 3, &size);

	for (i = 0; i < size; i++) {
		if (text[i] != '%') {
			luaL_addchar(out, text[i]);
			continue;
		}
		i++;
		/* What stands for it may be nothing: then no memory bounds how many there are. */
		vm_spend(m->L, 1);
		if (i < size && text[i] == '%') {
			luaL_addchar(out, '%');
		} else if (i < size && text[i] == '0') {
			luaL_addlstring(out, from, (size_t)(end - from));
		} else if (i < size && isdigit((unsigned char)text[i])) {
			push_capture(m, text[i] - '1', from, end);
			luaL_tolstring(m->L, -1, NULL);
			lua_remove(m->L, -2);
			luaL_addvalue(out);
		} else {
			luaL_error(m->L, "invalid use of '%%' in replacement string");
		}
	}
}

/* Puts what stands for the match from..end behind out. */
static void
add_value(struct matcher *m, luaL_Buffer *out, const char *from, const char *end)
{
	lua_State *L = m->L;

	switch (lua_type(L, 3)) {
	case LUA_TFUNCTION:
		lua_pushvalue(L, 3);
		lua_call(L, push_captures(m, from, end), 1);
		break;
	case LUA_TTABLE:
		push_capture(m, 0, from, end);
		lua_gettable(L, 3);
		break;
	default:
		add_text(m, out, from, end);
		return;
	}
	if (!lua_toboolean(L, -1)) {
		lua_pop(L, 1);
		luaL_addlstring(out, from, (size_t)(end - from));
	} else if (!lua_isstring(L, -1)) {
		luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
	} else {
		luaL_addvalue(out);
	}
}

static int
string_gsub(lua_State *L)
{
	size_t size, length, at = 0;
	const char *text = luaL_checklstring(L, 1, &size), *last = NULL;
	const char *pattern = luaL_checklstring(L, 2, &length), *end;
	lua_Integer limit, count = 0;
	struct matcher m = matcher_new(L, text, size, pattern + length);
	bool anchored = length > 0 && pattern[0] == '^';
	int type = lua_type(L, 3);
	luaL_Buffer out;

	luaL_argexpected(L,
	    type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION ||
		type == LUA_TTABLE,
	    3, "string/function/table");
	limit = luaL_optinteger(L, 4, (lua_Integer)size + 1);
	luaL_buffinit(L, &out);
	while (count < limit) {
		end = matcher_match(&m, text + at, pattern + (anchored ? 1 : 0));
		if (end != NULL && end != last) {
			count++;
			add_value(&m, &out, text + at, end);
			at = (size_t)(end - text);
			last = end;
		} else if (at < size) {
			luaL_addchar(&out, text[at++]);
		} else {
			break;
		}
		if (anchored)
			break;
	}
	luaL_addlstring(&out, text + at, size - at);
	luaL_pushresult(&out);
	lua_pushinteger(L, count);
	return 2;
}

const struct luaL_Reg pattern_functions[] = {
	{ "find", string_find },
	{ "match", string_match },
	{ "gmatch", string_gmatch },
	{ "gsub", string_gsub },
	{ NULL, NULL },
};
