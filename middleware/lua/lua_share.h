/* lua_share: how much of the loop's time Lua may take, all calls together: sessions and leases
 * live on what is done between. For this folder. */
#ifndef LUA_SHARE_H
#define LUA_SHARE_H

#include <stdint.h>

/* Of one turn of the loop; a slice of LUA_SLICE_MS_MAX may come on top. */
#define LUA_TURN_MS_MAX 100u
/* Of the time that Lua had comes without it: enough for some round trips to Redis, so that what
 * is renewed by several has not waited for a turn of Lua's at each. */
#define LUA_REST_PART 4u

/* Before a slice of Lua begins. Waits, when Lua has had its share of a turn, until it has rested
 * and the loop has made a whole turn without it; off fibers, where nobody else waits, never.
 * Returns 0, -1 when the call was cancelled meanwhile. */
int share_wait(void);

/* A slice of Lua took ms. */
void share_took(uint64_t ms);

#endif
