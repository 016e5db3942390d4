#include "awaited.h"

#include <czmq.h>

#include "fiber.h"
#include "run.h"

void
awaited_begin(struct run *run)
{
	if (run->awaits++ == 0)
		run->coordinator->waiting++;
}

void
awaited_end(struct run *run)
{
	if (--run->awaits == 0)
		run->coordinator->waiting--;
}

int
awaited_wait(struct coordinator *coordinator, const char *run, uint64_t ms)
{
	struct fiber *before = zhashx_lookup(coordinator->awaited, run);
	int waited;

	/* Nobody else waits for a child of this run; who did has lost the run to us. */
	if (before != NULL)
		zhashx_delete(coordinator->awaited, run);
	zhashx_insert(coordinator->awaited, run, fiber_current());
	waited = fiber_wait_ms(ms);
	if (zhashx_lookup(coordinator->awaited, run) == fiber_current())
		zhashx_delete(coordinator->awaited, run);
	return waited;
}

void
awaited_ended(struct coordinator *coordinator, const char *run)
{
	struct fiber *fiber = zhashx_lookup(coordinator->awaited, run);

	if (fiber != NULL)
		fiber_wake(fiber);
}
