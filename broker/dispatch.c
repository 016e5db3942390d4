/* dispatch: which worker gets which call. Work and room meet once at the end of each
 * step, so that the order of events within a step does not decide. */
#include <assert.h>

#include "permits.h"
#include "resend.h"
#include "tables.h"

uint32_t
session_room(const struct session *session)
{
	if (session->draining || session->probe.stuck || session->taken >= session->slots)
		return 0;
	return session->slots - session->taken;
}

static uint32_t
offer_room(const struct offer *offer)
{
	uint32_t room = session_room(offer->session), own;

	if (offer->limit == 0)
		return room;
	own = offer->limit > offer->running ? offer->limit - offer->running : 0;
	return room < own ? room : own;
}

/* Most room first, among equals the least recently used: one number, since CREDIT_MAX
 * needs 17 bits, and 2^47 calls are years. */
static uint64_t
offer_rank(uint32_t room, uint64_t used)
{
	uint64_t lack = room < CREDIT_MAX ? CREDIT_MAX - room : 0;

	return lack << 47 | (used & ((UINT64_C(1) << 47) - 1));
}

void
session_rank(struct core *core, struct session *session)
{
	struct offer *offer;
	uint32_t room;
	size_t i;

	for (i = 0; i < session->offer_count; i++) {
		offer = &session->offers[i];
		room = offer_room(offer);
		if (room == 0)
			heap_remove(&offer->capability->ready, &offer->ready);
		else
			heap_put(&offer->capability->ready, &offer->ready,
			    offer_rank(room, session->used));
	}
	if (session_room(session) > 0 && core->states[CALL_QUEUED] > 0)
		session_touch(core, session);
}

uint32_t
slots_max(const struct session *session)
{
	return session->capacity > 0 ? session->capacity : CREDIT_MAX;
}

/* FIFO on the wire: what the worker has acknowledged so far is what it had when it wrote
 * this report, and what is still under way to it is in our count only. */
void
session_report(struct core *core, struct session *session, uint64_t credit)
{
	/* A call that has ended there while its RESULT is still to be sent, as behind a lost
	 * connection, is in both. */
	session->slots = (uint32_t)credit + session->reported;
	if (session->slots > slots_max(session))
		session->slots = slots_max(session);
	session_rank(core, session);
}

void
session_more(struct session *session)
{
	if (session->slots < slots_max(session))
		session->slots++;
}

void
session_full(struct core *core, struct session *session)
{
	uint32_t most = slots_max(session);

	session->slots = session->taken < most ? session->taken : most;
	session_rank(core, session);
}

/* Puts call in worker's list; with a slot it counts there and in the offer. */
static void
place_at(struct core *core, struct call *call, struct session *worker, bool has_slot)
{
	call->worker = worker;
	call->has_slot = has_slot;
	call->late = call->doubted = false;
	call->copies = 0;
	call->untold = !call->asked;
	worker->untold += call->untold;
	TAILQ_INSERT_TAIL(&worker->work, call, work_link);
	suspect_arrives(call);
	call_place(core, call, CALL_ASSIGNED);
	if (call->capability != NULL)
		call->capability->running++;
	if (!has_slot)
		return;
	worker->taken++;
	if (call->offer != NULL)
		call->offer->running++;
}

void
call_assign(struct core *core, struct call *call, struct offer *offer)
{
	struct session *worker = offer->session;

	assert(offer_room(offer) > 0 && call->capability == offer->capability);
	call->offer = offer;
	call->known_there = false;
	if (call->holder_count == 0)
		spread_add(
		    &core->waited[call->capability->kind], core->now_ms - call->asked_ms);
	call->given_ms = core->now_ms;
	holder_note(call, worker);
	place_at(core, call, worker, true);
	worker->used = call->capability->turn = ++core->turns;
	COUNT(core, dispatched);
	session_rank(core, worker);
	call_send(core, call);
}

void
call_attach(struct core *core, struct call *call, struct session *worker, bool has_slot)
{
	call->offer = offer_find(worker, call->capability);
	call->known_there = true;
	call->given_ms = 0;
	place_at(core, call, worker, has_slot);
	if (has_slot) {
		/* It was not in the credit the worker reported, unless it has ended there meanwhile. */
		worker->reported++;
		session_more(worker);
	}
	session_rank(core, worker);
	if (call->cancelling)
		call_stop(core, call);
	else
		call_arm(core, call);
}

void
call_identify(struct core *core, struct call *call)
{
	call_bind(core, call);
	if (call->state != CALL_ASSIGNED)
		return;
	call->worker->untold -= call->untold;
	call->untold = false;
	call->capability->running++;
	call->offer = offer_find(call->worker, call->capability);
	if (call->offer != NULL && call->has_slot)
		call->offer->running++;
	session_rank(core, call->worker);
}

void
call_acknowledged(struct call *call)
{
	if (call->known_there)
		return;
	call->known_there = true;
	call->doubted = false;
	if (call->has_slot)
		call->worker->reported++;
}

void
call_unknown_there(struct call *call)
{
	if (call->known_there && call->has_slot)
		call->worker->reported--;
	call->known_there = false;
}

void
call_unassign(struct core *core, struct call *call)
{
	struct session *worker = call->worker;

	TAILQ_REMOVE(&worker->work, call, work_link);
	suspect_leaves(call);
	worker->untold -= call->untold;
	call->untold = false;
	call->worker = NULL;
	if (call->capability != NULL)
		call->capability->running--;
	if (call->has_slot) {
		assert(worker->taken > 0);
		worker->taken--;
		if (call->known_there)
			worker->reported--;
		if (call->offer != NULL)
			call->offer->running--;
	}
	call->offer = NULL;
	call->has_slot = call->known_there = false;
	session_rank(core, worker);
}

void
slot_forfeit(struct call *call)
{
	if (call->has_slot && call->worker->slots > 0)
		call->worker->slots--;
}

void
call_send(struct core *core, struct call *call)
{
	struct header header = call->header;

	header.attempt = call->attempt;
	if (call->given_back)
		header.flags |= WIRE_RESEND;
	header.deadline_ms =
	    call->deadline_ms > core->now_ms ? call->deadline_ms - core->now_ms : 1;
	send_to(core, call->worker, &header, call->request.body);
	call->copies++;
	call->resend_ms =
	    core->now_ms + resend_first_ms(core->options.resend_ms, call->request.bytes);
	call_arm(core, call);
}

void
call_stop(struct core *core, struct call *call)
{
	const struct header header = {
		.type = MSG_CANCEL,
		.call_id = call->id,
		.code = call->late ? CODE_EXPIRED : CODE_CANCELLED,
	};

	send_to(core, call->worker, &header, NULL);
	call->resend_ms = core->now_ms + core->options.resend_ms;
	call_arm(core, call);
}

static struct call *
take(struct core *core, struct capability *capability)
{
	struct call *call = queue_take(&capability->queue);

	core->states[CALL_QUEUED]--;
	call->state = CALL_STATES;
	return call;
}

static void
serve_capability(struct core *core, struct capability *capability)
{
	struct heap_node *best;

	suspects_serve(core, capability);
	while (capability->queue.count > 0 &&
	       (best = heap_first(&capability->ready)) != NULL)
		call_assign(
		    core, take(core, capability), HEAP_ITEM(best, struct offer, ready));
}

/* Of the services with waiting calls the one with the first priority, among equals the
 * one that was served longest ago. Every so many turns of a worker all are equals: else what is
 * late in one service would wait for ever while another always has something urgent. */
static struct offer *
neediest(struct session *worker)
{
	bool ageing = worker->turns % AGEING_TURNS == AGEING_TURNS - 1;
	struct offer *offer, *best = NULL;
	unsigned priority, best_priority = PRIORITIES;
	size_t i;

	for (i = 0; i < worker->offer_count; i++) {
		offer = &worker->offers[i];
		if (offer->capability->queue.count == 0 || offer_room(offer) == 0)
			continue;
		priority = ageing ? 0 : queue_priority(&offer->capability->queue);
		if (best == NULL || priority < best_priority ||
		    (priority == best_priority &&
			offer->capability->turn < best->capability->turn)) {
			best = offer;
			best_priority = priority;
		}
	}
	return best;
}

static void
serve_with(struct core *core, struct session *worker)
{
	struct offer *offer;

	suspects_serve_with(core, worker);
	while (core->states[CALL_QUEUED] > 0 && session_room(worker) > 0 &&
	       (offer = neediest(worker)) != NULL) {
		worker->turns++;
		call_assign(core, take(core, offer->capability), offer);
	}
}

void
hand_out(struct core *core)
{
	struct capability *capability;
	struct session *session;

	while ((capability = TAILQ_FIRST(&core->touched)) != NULL) {
		TAILQ_REMOVE(&core->touched, capability, touched_link);
		capability->touched = false;
		serve_capability(core, capability);
	}
	while ((session = TAILQ_FIRST(&core->touched_sessions)) != NULL) {
		TAILQ_REMOVE(&core->touched_sessions, session, touched_link);
		session->touched = false;
		serve_with(core, session);
	}
}
