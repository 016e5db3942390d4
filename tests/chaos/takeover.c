#include "takeover.h"

#include <stdlib.h>

#include "fiber.h"
#include "random.h"

#define UP_MS 60000u
#define WORK_MS_MIN 600u  /* the new one takes its part of the load */
#define WORK_MS_MAX 1400u /* and is hit at no special moment */

static void
wait_up(const struct fleet *fleet)
{
	uint64_t deadline = loop_now_ms(fleet->loop) + UP_MS;

	while (!fleet_is_up(fleet) && loop_now_ms(fleet->loop) < deadline)
		fiber_sleep(20);
}

static void
kill_one(struct nemesis *nemesis, struct random *random, const char *kind, unsigned count)
{
	struct fleet *fleet = nemesis->fleet;
	const char *name = arena_printf(
	    fleet->arena, "%s-%u", kind, (unsigned)random_between(random, 0, count - 1));

	wait_up(fleet);
	fiber_sleep(random_between(random, WORK_MS_MIN, WORK_MS_MAX));
	if (nemesis_kill(nemesis, fleet_party(fleet, name), 0))
		nemesis->done[FAULT_KILL]++;
}

void
takeover_attack(struct nemesis *nemesis, unsigned kills)
{
	const unsigned *counts = nemesis->fleet->plan->counts;
	struct random random;
	unsigned i;

	random_seed(&random, 1);
	for (i = 0; i < kills; i++) {
		kill_one(nemesis, &random, "coordinator", counts[PARTY_COORDINATOR]);
		kill_one(nemesis, &random, "tools", counts[PARTY_TOOLS]);
		if ((i + 1) % 20 == 0)
			fleet_say(nemesis->fleet, "%u kills of each", i + 1);
	}
}
