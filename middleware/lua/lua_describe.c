#include "lua_describe.h"

#include <lauxlib.h>
#include <string.h>

#include "lua_call.h"
#include "lua_pool.h"
#include "lua_values.h"
#include "lua_vm.h"
#include "nearest.h"

#define NAME_COUNT (HOOK_COUNT + 1)
#define PROMPT HOOK_COUNT /* dynamic_prompt, a form of wrap_model_call */

struct description {
	struct middleware_use *use;
	const struct value *reads;
};

static const char *
name_of(int index)
{
	return index == PROMPT ? "dynamic_prompt" : hook_name((enum hook)index);
}

static bool
is_node(int index)
{
	return index <= HOOK_AFTER_AGENT;
}

/* Raises an error that begins with the place of the function on top. */
static _Noreturn void
refuse(lua_State *L, const char *format, const char *a, const char *b)
{
	lua_Debug at;

	if (lua_isfunction(L, -1)) {
		lua_pushvalue(L, -1);
		lua_getinfo(L, ">S", &at);
		lua_pushfstring(L, "%s:%d: ", at.short_src, at.linedefined);
	} else {
		lua_pushliteral(L, "");
	}
	lua_pushfstring(L, format, a, b);
	lua_concat(L, 2);
	lua_error(L);
	__builtin_unreachable();
}

/* can_jump_to of the hook at 2; its function is on top. */
static unsigned
take_jumps(lua_State *L, const char *name, const struct value *list)
{
	unsigned jumps = 0;
	size_t i;

	if (!value_is(list, VALUE_ARRAY))
		refuse(L, "%s: can_jump_to is a list, as in {\"end\"}%s", name, "");
	for (i = 0; i < list->size; i++) {
		const char *text = value_text(list->items[i]);
		enum jump jump = jump_from_name(text);

		if (jump == JUMP_NONE)
			refuse(L,
			    "%s: there is no jump to \"%s\"; there are model, tools and "
			    "end",
			    name, text == NULL ? "" : text);
		jumps |= (unsigned)jump;
	}
	return jumps;
}

/* A hook as a table: {can_jump_to = {...}, run = function ... end}, at 2. */
static void
take_table(lua_State *L, struct description *of, int index)
{
	const char *name = name_of(index);
	const struct value *list;

	lua_getfield(L, 2, "can_jump_to");
	list = values_take(L, -1, "can_jump_to");
	lua_pop(L, 1);
	if (lua_getfield(L, 2, "run") != LUA_TFUNCTION)
		refuse(L, "%s is a table without a function `run`%s", name, "");
	if (list != NULL && !is_node(index))
		refuse(L, "%s cannot jump: can_jump_to is for before_* and after_*%s",
		    name, "");
	if (list != NULL)
		of->use->jumps[index] = take_jumps(L, name, list);
}

static void
take_hook(lua_State *L, struct description *of, int index)
{
	lua_settop(L, 1);
	switch (lua_getfield(L, 1, name_of(index))) {
	case LUA_TNIL:
		return;
	case LUA_TFUNCTION:
		break;
	case LUA_TTABLE:
		take_table(L, of, index);
		break;
	default:
		luaL_error(L, "%s is a %s; a hook is a function", name_of(index),
		    luaL_typename(L, -1));
	}
	of->use->hooks[index == PROMPT ? HOOK_WRAP_MODEL_CALL : index] = true;
}

/* Global functions are the chunk's business, unless one's name is a slip of a hook's. */
static void
check_slips(lua_State *L)
{
	const char *names[NAME_COUNT], *name, *near;
	int i;

	for (i = 0; i < NAME_COUNT; i++)
		names[i] = name_of(i);
	lua_settop(L, 1);
	for (lua_pushnil(L); lua_next(L, 1) != 0; lua_pop(L, 1)) {
		if (lua_type(L, -2) != LUA_TSTRING ||
		    !(lua_isfunction(L, -1) || lua_istable(L, -1)))
			continue;
		name = lua_tostring(L, -2);
		near = nearest_name(name, names, NAME_COUNT);
		if (near != NULL && strcmp(near, name) != 0)
			refuse(L, "there is no hook \"%s\"; did you mean \"%s\"?", name,
			    near);
	}
}

static void
take_reads(lua_State *L, struct description *of)
{
	size_t i;

	lua_settop(L, 1);
	lua_getfield(L, 1, "reads");
	of->reads = values_take_list(L, -1, "reads");
	if (of->reads != NULL && !value_is(of->reads, VALUE_ARRAY))
		luaL_error(L, "reads is a list of names of state fields");
	for (i = 0; i < value_size(of->reads); i++) {
		if (!value_is(value_at(of->reads, i), VALUE_STR))
			luaL_error(L, "reads is a list of names of state fields");
	}
}

static int
describe(lua_State *L)
{
	struct description *of = vm_data(L);
	bool any = false;
	int i;

	memset(of->use->hooks, 0, sizeof of->use->hooks);
	memset(of->use->jumps, 0, sizeof of->use->jumps);
	check_slips(L);
	for (i = 0; i < NAME_COUNT; i++)
		take_hook(L, of, i);
	take_reads(L, of);
	for (i = 0; i < HOOK_COUNT; i++)
		any |= of->use->hooks[i];
	if (!any)
		luaL_error(L,
		    "the code defines no hook: give it a function with the name of one, "
		    "as in before_model = function(state, runtime) ... end");
	return 0;
}

int
lua_describe(struct arena *arena, struct middleware_use *use,
    const struct value **reads_r, const char **error_r)
{
	struct lua_chunk chunk = lua_chunk_of(use->settings);
	struct description of = { .use = use };
	enum vm_status status;
	struct pooled *from;
	struct vm *vm;

	vm = pool_take(&chunk, arena, &from, error_r);
	if (vm == NULL)
		return -1;
	status = vm_start(vm, arena, describe, &of);
	if (status == VM_FAILED)
		*error_r = vm_fault(vm)->message;
	if (status == VM_WAITS)
		*error_r = "the code waits while it is loaded";
	pool_give(from, &vm, status == VM_DONE);
	*reads_r = of.reads;
	return status == VM_DONE ? 0 : -1;
}
