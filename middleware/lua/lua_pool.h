/* lua_pool: vms that wait for the next call of their chunk: making one costs far more than
 * a call. One pool a process. For this folder. */
#ifndef LUA_POOL_H
#define LUA_POOL_H

#include "lua_vm.h"

struct pooled; /* a chunk with its idle vms */

/* Returns a vm of chunk for one call, to be given back with *from_r; NULL with the reason
 * (it does not compile) in arena. chunk is copied. */
struct vm *pool_take(const struct lua_chunk *chunk, struct arena *arena,
    struct pooled **from_r, const char **error_r);

/* Takes *vm_p. is_sound: its call ended in order, another may use it. */
void pool_give(struct pooled *from, struct vm **vm_p, bool is_sound);

#endif
