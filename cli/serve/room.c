#include "room.h"

#include "fiber.h"

#define LOOK_MS 50u
#define TAKEN_MS 5000u /* for others to take what was answered, or to be cut off */

/* What is held of answers is let go as it is taken, or its readers are cut off. */
static enum store_status
await_taken(struct call *call)
{
	uint64_t waited = 0;

	for (; !exchange_has_room(call->exchange); waited += LOOK_MS)
		if (waited >= TAKEN_MS)
			return STORE_REJECTED;
		else if (fiber_sleep(LOOK_MS) == -1)
			return STORE_CANCELLED;
	return STORE_OK;
}

/* A place among the tenant's comes before one among all. For no longer than for a Redis that has gone: it may be what those
 * inside wait for. */
static enum store_status
enter(struct call *call, struct gate *own, struct gate *all)
{
	int entered = gate_enter_both_ms(own, all, call->api->redis_wait_ms);
	enum store_status status;

	if (entered != 0)
		return entered == -1 ? STORE_CANCELLED : STORE_REJECTED;
	status = await_taken(call);
	if (status != STORE_OK)
		gate_leave_both(own, all);
	return status;
}

static struct gate *
own_states(struct call *call)
{
	return call->share == NULL ? NULL : &call->share->states;
}

static struct gate *
own_lists(struct call *call)
{
	return call->share == NULL ? NULL : &call->share->lists;
}

enum store_status
room_for_state(struct call *call)
{
	enum store_status status = STORE_OK;

	if (!call->has_place)
		status = enter(call, own_states(call), &call->api->states);
	call->has_place = status == STORE_OK;
	return status;
}

void
room_leave_state(struct call *call)
{
	if (!call->has_place || call->keeps_place)
		return;
	call->has_place = false;
	gate_leave_both(own_states(call), &call->api->states);
}

void
room_keep_state(struct call *call)
{
	call->keeps_place = true;
}

void
room_let_go_state(struct call *call)
{
	call->keeps_place = false;
	room_leave_state(call);
}

enum store_status
room_for_list(struct call *call)
{
	return enter(call, own_lists(call), &call->api->lists);
}

void
room_leave_list(struct call *call)
{
	gate_leave_both(own_lists(call), &call->api->lists);
}

static void
make_in(struct call *call, struct gate *own, struct gate *all, const char *what,
    void (*make)(struct call *call))
{
	enum store_status status = enter(call, own, all);

	if (status != STORE_OK) {
		reply_failed(call, status, what);
		return;
	}
	make(call);
	gate_leave_both(own, all);
}

void
room_in_list(struct call *call, const char *what, void (*make)(struct call *call))
{
	make_in(call, own_lists(call), &call->api->lists, what, make);
}

void
room_in_search(struct call *call, const char *what, void (*make)(struct call *call))
{
	make_in(call, call->share == NULL ? NULL : &call->share->searches,
	    &call->api->searches, what, make);
}
