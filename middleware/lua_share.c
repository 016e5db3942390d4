#include "lua_share.h"

#include "fiber.h"

static struct {
	uint64_t turn; /* the last one with Lua in it */
	uint64_t ms;   /* that Lua took in it */
} share;

int
share_wait(void)
{
	uint64_t turn;

	while (fiber_current() != NULL && share.ms >= LUA_TURN_MS_MAX) {
		turn = fiber_turn();
		/* What is begun by timers and sockets in the turn behind a long one gets the
		 * whole of that turn. */
		if (turn != share.turn && turn != share.turn + 1)
			break;
		if (fiber_yield() == -1)
			return -1;
	}
	return 0;
}

void
share_took(uint64_t ms)
{
	uint64_t turn = fiber_turn();

	if (turn != share.turn)
		share.ms = 0;
	share.turn = turn;
	share.ms += ms;
}
