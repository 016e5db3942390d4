#include "lua_share.h"

#include "fiber.h"

static struct {
	uint64_t turn;          /* the last one with Lua in it */
	uint64_t ms;            /* that Lua took in it */
	uint64_t rest_until_ms; /* when it took its share */
} share;

static uint64_t
now_ms(void)
{
	return loop_now_us() / 1000;
}

int
share_wait(void)
{
	uint64_t now, turn;
	int status = 0;

	while (status == 0 && fiber_current() != NULL && share.ms >= LUA_TURN_MS_MAX) {
		now = now_ms();
		turn = fiber_turn();
		if (now < share.rest_until_ms)
			status = fiber_sleep(share.rest_until_ms - now);
		else if (turn == share.turn || turn == share.turn + 1)
			status = fiber_yield();
		else
			break;
	}
	return status;
}

void
share_took(uint64_t ms)
{
	uint64_t turn = fiber_turn();

	if (turn != share.turn)
		share.ms = 0;
	share.turn = turn;
	share.ms += ms;
	if (share.ms >= LUA_TURN_MS_MAX)
		share.rest_until_ms = now_ms() + share.ms / LUA_REST_PART;
}
