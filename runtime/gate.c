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

/* Its wait has ended, cancelled (-1) or too long (1). A place that was handed over meanwhile is good for the latter. */
static int
give_up(struct gate *gate, struct gate_waiter *waiter, int result)
{
	if (!waiter->is_in)
		TAILQ_REMOVE(&gate->waiting, waiter, link);
	else if (result == -1)
		gate_leave(gate);
	else
		result = 0;
	return result;
}

static int
wait_for_place(struct gate *gate)
{
	struct gate_waiter waiter = { .fiber = fiber_current() };

	TAILQ_INSERT_TAIL(&gate->waiting, &waiter, link);
	while (!waiter.is_in)
		if (fiber_wait() == -1)
			return give_up(gate, &waiter, -1);
	return 0;
}

static int
wait_for_place_ms(struct gate *gate, uint64_t ms)
{
	struct gate_waiter waiter = { .fiber = fiber_current() };
	uint64_t now = loop_now_ms(fiber_loop()), end = now + ms;

	TAILQ_INSERT_TAIL(&gate->waiting, &waiter, link);
	for (; !waiter.is_in; now = loop_now_ms(fiber_loop()))
		if (now >= end)
			return give_up(gate, &waiter, 1);
		else if (fiber_wait_ms(end - now) == -1)
			return give_up(gate, &waiter, -1);
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

int
gate_enter_ms(struct gate *gate, uint64_t ms)
{
	if (is_full(gate))
		return wait_for_place_ms(gate, ms);
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

int
gate_enter_both_ms(struct gate *own, struct gate *all, uint64_t ms)
{
	int entered = own == NULL ? 0 : gate_enter_ms(own, ms);

	if (entered != 0)
		return entered;
	entered = gate_enter_ms(all, ms);
	if (entered != 0 && own != NULL)
		gate_leave(own);
	return entered;
}

void
gate_leave_both(struct gate *own, struct gate *all)
{
	gate_leave(all);
	if (own != NULL)
		gate_leave(own);
}
