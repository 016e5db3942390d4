/* lua_vm: a sandboxed Lua 5.4 with one chunk in it, bounded in instructions and memory. For
 * this folder.
 *
 * A vm runs one call at a time, as a coroutine: what the call waits for is done outside of
 * Lua, between vm_start or vm_go_on and the next vm_go_on, so that nothing of Lua is on a
 * stack meanwhile, and a call that must not go on (cancelled, interrupted) is simply left.
 * Lua itself runs on a stack of its own, LUA_STACK_BYTES: its C functions may nest 200
 * deep, which a fiber's stack need not bear.
 *
 * Nothing survives from one call to the next: the chunk's main function runs anew in an
 * environment of its own, and what all calls share cannot be changed from within. A vm
 * whose call failed or was left is not used again. */
#ifndef LUA_VM_H
#define LUA_VM_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "fault.h"

#define LUA_STACK_BYTES (1u << 20)
/* Without a wait: well below LIVENESS_MS and LEASE_MS, so that nobody takes
 * the process for dead. A backstop behind the instructions. */
#define LUA_SLICE_MS_MAX 500u

/* What a vm is made of. */
struct lua_chunk {
	const char *code;
	size_t size;
	const char *name;      /* "limit.lua": stands before lines in messages */
	uint64_t instructions; /* of one call, all its slices */
	size_t memory_bytes;   /* of the vm, and of what a call makes outside of it */
};

struct vm;

/* Compiles chunk. Returns new, or NULL with the reason ("limit.lua:3: ...") in arena. */
struct vm *vm_new(
    const struct lua_chunk *chunk, struct arena *arena, const char **error_r);
void vm_destroy(struct vm **vm_p);

/* The bytes it has now. */
size_t vm_memory(const struct vm *vm);

enum vm_status { VM_DONE, VM_WAITS, VM_FAILED };

/* Runs body(L), with the chunk's globals (a table) as its one argument. data: for
 * vm_data. Values that the call makes are in arena. */
enum vm_status vm_start(
    struct vm *vm, struct arena *arena, lua_CFunction body, void *data);
/* Goes on behind the wait. */
enum vm_status vm_go_on(struct vm *vm);

/* What a call failed with, in its arena: the fault that a handler raised as it was, else a
 * LuaError. */
const struct fault *vm_fault(const struct vm *vm);

/* --- from within -------------------------------------------------------------------- */

void *vm_data(lua_State *L);
struct arena *vm_arena(lua_State *L);

/* Ends this slice: vm_start or vm_go_on returns VM_WAITS. resume goes on behind it. */
int vm_wait(lua_State *L, lua_KFunction resume);

/* Takes steps, at least one, from the call's instructions; raises an error when there are
 * none left. For C functions whose work grows with their arguments. */
void vm_spend(lua_State *L, uint64_t steps);

/* True when the call must not go on: what is raised is no business of the chunk's. */
bool vm_is_exhausted(lua_State *L);

/* Raises an error when what the call has made in its arena is more than its memory. */
void vm_check_memory(lua_State *L);
/* Raises that error. */
void vm_refuse_memory(lua_State *L);

#endif
