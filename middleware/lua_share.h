/* lua_share: how much of one turn of the loop Lua may take, all calls together: sessions and
 * leases live on what is done between turns. For middleware/lua*.c. */
#ifndef LUA_SHARE_H
#define LUA_SHARE_H

#include <stdint.h>

/* With LUA_SLICE_MS_MAX, which may come on top: well below LIVENESS_MS and LEASE_MS. */
#define LUA_TURN_MS_MAX 100u

/* Before a slice of Lua begins. Waits, when Lua has had its share, until the loop has made a
 * whole turn without it; off fibers, where nobody else waits, never. Returns 0, -1 when the
 * call was cancelled meanwhile. */
int share_wait(void);

/* A slice of Lua took ms. */
void share_took(uint64_t ms);

#endif
