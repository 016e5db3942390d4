#include "gate.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "fiber.h"

/* Stands in the queue, on its fiber's stack. */
struct gate_waiter {
	struct fiber *fiber;
	bool is_in; /* a place was handed over */
	TAILQ_ENTRY(gate_waiter) link;
};

void
gate_init(struct gate *gate, uint64_t room)
{
	gate->room = room;
	gate->inside = 0;
	TAILQ_INIT(&gate->waiting);
}

static bool
is_full(const struct gate *gate)
{
	return gate->room > 0 && gate->inside >= gate->room;
}

/* A place that is free is handed to the first who waits: nobody can slip in before that one
 * runs. */
static void
let_in(struct gate *gate)
{
	struct gate_waiter *first;

	while (!is_full(gate) && (first = TAILQ_FIRST(&gate->waiting)) != NULL) {
		TAILQ_REMOVE(&gate->waiting, first, link);
		first->is_in = true;
		gate->inside++;
		fiber_wake(first->fiber);
	}
}

void
gate_resize(struct gate *gate, uint64_t room)
{
	gate->room = room;
	let_in(gate);
}

static int
wait_for_place(struct gate *gate)
{
	struct gate_waiter waiter = { .fiber = fiber_current() };

	TAILQ_INSERT_TAIL(&gate->waiting, &waiter, link);
	while (!waiter.is_in) {
		if (fiber_wait() == 0)
			continue;
		if (waiter.is_in)
			gate_leave(gate);
		else
			TAILQ_REMOVE(&gate->waiting, &waiter, link);
		return -1;
	}
	return 0;
}

int
gate_enter(struct gate *gate)
{
	if (is_full(gate))
		return wait_for_place(gate);
	gate->inside++;
	return 0;
}

void
gate_leave(struct gate *gate)
{
	assert(gate->inside > 0);
	gate->inside--;
	let_in(gate);
}
