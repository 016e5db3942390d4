#include "lua_vm.h"

#include <assert.h>
#include <lauxlib.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bounds.h"
#include "log.h"
#include "lua_library.h"
#include "lua_share.h"
#include "lua_values.h"
#include "memory.h"
#include "stack.h"

/* Instructions between two looks at what is left: one may take as long as it takes to walk
 * through all that the vm holds, so fewer when it holds more than CALM_BYTES. */
#define COUNT 1000u
#define CALM_BYTES ((size_t)512 << 10)
#define USED_MS_MIN 50u  /* of the processor, before a slice is too long */
#define SPENT_MAX 50000u /* steps spent between two looks at the clock */

struct vm {
	lua_State *L, *thread;
	const char *name; /* the chunk's */
	uint64_t instructions;
	size_t memory_bytes, memory_used;
	size_t look_bytes; /* memory_used from which on it is looked at at once */
	unsigned count;    /* instructions until it is looked at */

	/* of the call that runs */
	struct arena *arena;
	size_t arena_began, arena_left; /* its bytes then, and as the last slice ended */
	void *data;
	int64_t left;
	uint64_t slice_began_ms, slice_used_ms, spent;
	int arguments;
	const char *exhausted; /* why it must not go on, in arena, or NULL */
	enum vm_status status;
};

static void on_count(lua_State *L, lua_Debug *at);

/* --- memory ------------------------------------------------------------------------- */

static void
look_in(struct vm *vm, unsigned count)
{
	vm->count = count;
	lua_sethook(vm->thread, on_count, LUA_MASKCOUNT, (int)count);
}

static void *
allocate(void *arg, void *old, size_t old_size, size_t size)
{
	struct vm *vm = arg;
	void *new;

	/* Without an old block old_size is a kind of object. */
	if (old == NULL)
		old_size = 0;
	if (size == 0) {
		free(old);
		vm->memory_used -= old_size;
		return NULL;
	}
	if (size > old_size && vm->memory_used + (size - old_size) > vm->memory_bytes)
		return NULL;
	new = realloc(old, size);
	if (new == NULL)
		return NULL;
	vm->memory_used += size - old_size;
	if (vm->memory_used > vm->look_bytes && vm->thread != NULL) {
		vm->look_bytes = SIZE_MAX;
		look_in(vm, 1);
	}
	return new;
}

static struct vm *
vm_of(lua_State *L)
{
	struct vm *vm;

	memcpy(&vm, lua_getextraspace(L), sizeof vm);
	return vm;
}

/* From now on each instruction raises an error, so that no pcall gets around this one. Before
 * anything is made of Lua's: that fails as well when its memory is full. */
static void
exhaust(struct vm *vm, const char *reason)
{
	vm->exhausted = reason;
	look_in(vm, 1);
}

void
vm_refuse_memory(lua_State *L)
{
	struct vm *vm = vm_of(L);

	exhaust(vm, arena_printf(vm->arena,
			"%s: what it made takes more than memory_limit_bytes, %zu",
			vm->name, vm->memory_bytes));
	luaL_error(L, "%s", vm->exhausted);
}

void
vm_check_memory(lua_State *L)
{
	const struct vm *vm = vm_of(L);

	if (arena_bytes(vm->arena) - vm->arena_began > vm->memory_bytes)
		vm_refuse_memory(L);
}

bool
vm_is_exhausted(lua_State *L)
{
	return vm_of(L)->exhausted != NULL;
}

/* --- instructions ------------------------------------------------------------------- */

static uint64_t
clock_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* "limit.lua:3: ", or the chunk's name alone: of the running function or of who called it. */
static const char *
place(lua_State *L, struct vm *vm)
{
	lua_Debug at;
	int level;

	for (level = 0; level <= 1 && lua_getstack(L, level, &at); level++) {
		lua_getinfo(L, "Sl", &at);
		if (at.currentline > 0)
			return arena_printf(
			    vm->arena, "%s:%d: ", at.short_src, at.currentline);
	}
	return arena_printf(vm->arena, "%s: ", vm->name);
}

static void
run_out(lua_State *L, struct vm *vm)
{
	const char *where;

	if (vm->exhausted != NULL) {
		look_in(vm, 1);
		return;
	}
	where = place(L, vm);
	exhaust(
	    vm, vm->left <= 0
		    ? arena_printf(vm->arena,
			  "%sran longer than instruction_limit, %llu, allows", where,
			  (unsigned long long)vm->instructions)
		    : arena_printf(vm->arena, "%sheld the process up for more than %u ms",
			  where, LUA_SLICE_MS_MAX));
}

/* A process that was stopped meanwhile has not used the processor: that is no loop. */
static bool
is_late(struct vm *vm)
{
	vm->spent = 0;
	return clock_ms(CLOCK_MONOTONIC) - vm->slice_began_ms > LUA_SLICE_MS_MAX &&
	       clock_ms(CLOCK_THREAD_CPUTIME_ID) - vm->slice_used_ms > USED_MS_MIN;
}

static void
look_again(struct vm *vm)
{
	size_t held = vm->memory_used;
	unsigned count = COUNT;

	if (held > CALM_BYTES)
		count = (unsigned)(COUNT * CALM_BYTES / held) + 1;
	vm->look_bytes = held > CALM_BYTES ? held * 2 : CALM_BYTES * 2;
	if (count != vm->count)
		look_in(vm, count);
}

/* A pcall may not catch this: a coroutine that yields here is never resumed, and where it
 * cannot yield the next instruction raises the error again. */
static void
on_count(lua_State *L, lua_Debug *at)
{
	struct vm *vm = vm_of(L);

	(void)at;
	vm->left -= vm->count;
	if (vm->exhausted == NULL && vm->left > 0 && !is_late(vm)) {
		look_again(vm);
		return;
	}
	run_out(L, vm);
	if (lua_isyieldable(L))
		lua_yield(L, 0);
	else
		luaL_error(L, "%s", vm->exhausted);
}

void
vm_spend(lua_State *L, uint64_t steps)
{
	struct vm *vm = vm_of(L);

	if (steps == 0)
		steps = 1;
	vm->left = steps > INT64_MAX / 2 ? 0 : vm->left - (int64_t)steps;
	vm->spent += steps;
	if (vm->left > 0 && vm->exhausted == NULL &&
	    (vm->spent < SPENT_MAX || !is_late(vm)))
		return;
	run_out(L, vm);
	luaL_error(L, "%s", vm->exhausted);
}

/* --- the stack of its own ----------------------------------------------------------- */

/* One for all: nothing waits while it is on it. */
static struct {
	struct stack stack, caller;
	bool is_there;
	void (*work)(struct vm *vm);
	struct vm *vm;
} ground;

static void
on_ground(void)
{
	stack_arrive(&ground.stack, &ground.caller);
	for (;;) {
		ground.work(ground.vm);
		stack_switch(&ground.stack, &ground.caller, false);
	}
}

static void
run_on_ground(void (*work)(struct vm *vm), struct vm *vm)
{
	if (!ground.is_there) {
		if (stack_map(&ground.stack, LUA_STACK_BYTES) == -1)
			fatal("no memory for Lua's stack");
		stack_begin(&ground.stack, on_ground);
		ground.is_there = true;
	}
	assert(ground.vm == NULL);
	ground.work = work;
	ground.vm = vm;
	/* Another one each time. */
	ground.caller.fiber = NULL;
	stack_switch(&ground.caller, &ground.stack, false);
	ground.vm = NULL;
}

/* --- making ------------------------------------------------------------------------- */

static const char main_key, thread_key, base_key;

struct pieces {
	const struct lua_chunk *chunk;
	int given;
};

/* The globals of a call are its main function's first local: one compiled chunk, an
 * environment each call. In one line with the code, whose lines keep their numbers. */
static const char *
read_piece(lua_State *L, void *arg, size_t *size_r)
{
	static const char prefix[] = "local _ENV = ...; ";
	struct pieces *pieces = arg;

	(void)L;
	switch (pieces->given++) {
	case 0:
		*size_r = sizeof prefix - 1;
		return prefix;
	case 1:
		*size_r = pieces->chunk->size;
		return pieces->chunk->code;
	default:
		*size_r = 0;
		return NULL;
	}
}

static int
set_up(lua_State *L)
{
	const struct lua_chunk *chunk = lua_touserdata(L, 1);
	struct pieces pieces = { .chunk = chunk };
	struct vm *vm = vm_of(L);

	lua_settop(L, 0);
	values_open(L);
	library_open(L);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &base_key);
	vm->thread = lua_newthread(L);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &thread_key);
	look_in(vm, COUNT);
	if (lua_load(L, read_piece, &pieces, lua_pushfstring(L, "=%s", chunk->name),
		"t") != LUA_OK)
		return lua_error(L);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &main_key);
	return 0;
}

static void
work_set_up(struct vm *vm)
{
	vm->status = lua_pcall(vm->L, 1, 0, 0) == LUA_OK ? VM_DONE : VM_FAILED;
}

static int
on_panic(lua_State *L)
{
	fatalx("lua: %s", lua_tostring(L, -1));
}

struct vm *
vm_new(const struct lua_chunk *chunk, struct arena *arena, const char **error_r)
{
	struct vm *vm = xcalloc(1, sizeof *vm);

	vm->name = chunk->name;
	vm->memory_bytes = SIZE_MAX;
	vm->look_bytes = CALM_BYTES;
	vm->L = lua_newstate(allocate, vm);
	if (vm->L == NULL)
		arena_exhausted();
	lua_atpanic(vm->L, on_panic);
	memcpy(lua_getextraspace(vm->L), &vm, sizeof(struct vm *));
	vm->memory_bytes = chunk->memory_bytes;
	vm->instructions = chunk->instructions;
	lua_pushcfunction(vm->L, set_up);
	lua_pushlightuserdata(vm->L, (void *)chunk);
	run_on_ground(work_set_up, vm);
	if (vm->status == VM_DONE)
		return vm;
	*error_r = arena_strdup(arena, lua_tostring(vm->L, -1));
	if (strcmp(*error_r, "not enough memory") == 0)
		*error_r = "does not fit into memory_limit_bytes";
	vm_destroy(&vm);
	return NULL;
}

void
vm_destroy(struct vm **vm_p)
{
	struct vm *vm = *vm_p;

	*vm_p = NULL;
	if (vm == NULL)
		return;
	lua_close(vm->L);
	free(vm);
}

size_t
vm_memory(const struct vm *vm)
{
	return vm->memory_used;
}

/* --- running ------------------------------------------------------------------------ */

static void
work_resume(struct vm *vm)
{
	int results, status;

	vm->slice_began_ms = clock_ms(CLOCK_MONOTONIC);
	vm->slice_used_ms = clock_ms(CLOCK_THREAD_CPUTIME_ID);
	vm->spent = 0;
	status = lua_resume(vm->thread, NULL, vm->arguments, &results);
	if (vm->exhausted != NULL || (status != LUA_OK && status != LUA_YIELD))
		vm->status = VM_FAILED;
	else
		vm->status = status == LUA_OK ? VM_DONE : VM_WAITS;
	if (status == LUA_OK || status == LUA_YIELD)
		lua_pop(vm->thread, results);
	vm->arguments = 0;
	vm->arena_left = arena_bytes(vm->arena);
	share_took(clock_ms(CLOCK_MONOTONIC) - vm->slice_began_ms);
}

/* body(L) with the globals, which the chunk's main function has filled. */
static int
enter(lua_State *L)
{
	lua_CFunction body = lua_tocfunction(L, 1);

	lua_settop(L, 0);
	lua_newtable(L);
	lua_rawgetp(L, LUA_REGISTRYINDEX, &base_key);
	lua_setmetatable(L, 1);
	lua_rawgetp(L, LUA_REGISTRYINDEX, &main_key);
	lua_pushvalue(L, 1);
	lua_call(L, 1, 0);
	return body(L);
}

enum vm_status
vm_start(struct vm *vm, struct arena *arena, lua_CFunction body, void *data)
{
	vm->arena = arena;
	vm->arena_began = arena_bytes(arena);
	vm->data = data;
	vm->left = (int64_t)vm->instructions;
	vm->exhausted = NULL;
	lua_settop(vm->thread, 0);
	lua_pushcfunction(vm->thread, enter);
	lua_pushcfunction(vm->thread, body);
	vm->arguments = 1;
	run_on_ground(work_resume, vm);
	return vm->status;
}

enum vm_status
vm_go_on(struct vm *vm)
{
	assert(vm->status == VM_WAITS);
	/* What it waited for is not of its making. */
	vm->arena_began += arena_bytes(vm->arena) - vm->arena_left;
	run_on_ground(work_resume, vm);
	return vm->status;
}

static struct fault *
lua_fault(const struct vm *vm, const char *text)
{
	struct fault *fault = fault_new(vm->arena, "LuaError", "%s", text);

	fault->retryable = false;
	fault->fatal = true;
	return fault;
}

const struct fault *
vm_fault(const struct vm *vm)
{
	lua_State *L = vm->thread;
	const struct fault *fault;

	if (vm->exhausted != NULL)
		return lua_fault(vm, vm->exhausted);
	if (lua_status(L) == LUA_ERRMEM)
		return lua_fault(vm,
		    arena_printf(vm->arena, "%s: needs more than memory_limit_bytes, %zu",
			vm->name, vm->memory_bytes));
	fault = values_fault(L, -1, vm->arena);
	if (fault != NULL)
		return fault;
	if (lua_type(L, -1) == LUA_TSTRING)
		return lua_fault(vm, lua_tostring(L, -1));
	return lua_fault(vm, arena_printf(vm->arena,
				 "%s: raised a %s; errors are texts or {type = \"...\", "
				 "message = \"...\"}, the type of at most %u bytes",
				 vm->name, luaL_typename(L, -1), FAULT_TYPE_BYTES_MAX));
}

/* --- from within -------------------------------------------------------------------- */

void *
vm_data(lua_State *L)
{
	return vm_of(L)->data;
}

struct arena *
vm_arena(lua_State *L)
{
	return vm_of(L)->arena;
}

int
vm_wait(lua_State *L, lua_KFunction resume)
{
	if (!lua_isyieldable(L))
		return luaL_error(L,
		    "what waits cannot be called from here (a function given to gsub or "
		    "sort)");
	return lua_yieldk(L, 0, 0, resume);
}
