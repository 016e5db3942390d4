/* audit: everything the tables say twice, counted again. For tests and simulations. */
#include <string.h>

#include "tables.h"

/* What a walk over all calls, by the lists they are in, adds up to. */
struct sums {
	size_t calls, asked, kept, assigned, orphans, bytes;
	const char *wrong;
};

static void
expect(struct sums *sums, bool holds, const char *wrong)
{
	if (!holds && sums->wrong == NULL)
		sums->wrong = wrong;
}

static uint32_t
runs_for(const struct offer *offer)
{
	const struct call *call;
	uint32_t count = 0;

	TAILQ_FOREACH(call, &offer->session->work, work_link)
		count += call->has_slot && call->capability == offer->capability;
	return count;
}

static void
audit_worker(struct sums *sums, const struct session *worker)
{
	const struct call *call;
	const struct offer *offer;
	uint32_t taken = 0, reported = 0, suspects = 0, untold = 0;
	size_t i;

	TAILQ_FOREACH(call, &worker->work, work_link) {
		expect(
		    sums, call->worker == worker, "a call is in another worker's list");
		if (call->state == CALL_KEPT)
			continue;
		expect(sums, call->state == CALL_ASSIGNED, "a worker has a waiting call");
		sums->assigned++;
		suspects += call->watched;
		untold += call->untold;
		expect(sums, call->untold == !call->asked, "who has asked for a call");
		taken += call->has_slot;
		reported += call->has_slot && call->known_there;
		expect(sums, call->asked || call->known_there,
		    "a call that nobody sent is not known to its worker");
	}
	expect(sums, suspects == worker->suspects, "a worker's suspects");
	expect(sums, untold == worker->untold, "a worker's calls that nobody asked for");
	expect(sums, taken == worker->taken, "a worker's taken slots");
	expect(sums, reported == worker->reported, "a worker's reported slots");
	expect(sums, worker->capacity == 0 || worker->slots <= worker->capacity,
	    "a worker's slots");
	for (i = 0; i < worker->offer_count; i++) {
		offer = &worker->offers[i];
		expect(
		    sums, offer->running == runs_for(offer), "an offer's running calls");
		expect(sums, offer->session == worker, "an offer of another worker");
		expect(sums, offer->ready.place == 0 || session_room(worker) > 0,
		    "a worker without room is ready");
		expect(sums,
		    offer->ready.place > 0 || session_room(worker) == 0 ||
			(offer->limit > 0 && offer->running >= offer->limit),
		    "a worker with room is not ready");
	}
	sums->bytes += worker->catalog.bytes;
}

static void
audit_session(struct sums *sums, const struct session *session)
{
	const struct call *call;
	size_t asked = 0;

	TAILQ_FOREACH(call, &session->asked, asked_link) {
		expect(sums, call->requester == session, "a call asked for by another");
		asked++;
	}
	expect(sums, asked == session->asked_count, "a session's asked calls");
	audit_worker(sums, session);
}

static void
audit_held(const struct core *core, struct sums *sums)
{
	const struct call *call;
	size_t held = 0, unsought = 0;

	TAILQ_FOREACH(call, &core->held, waiting_link) {
		expect(sums, call->state == CALL_HELD, "a held call is not");
		held++;
		unsought += !call->sought;
	}
	expect(sums, held == core->states[CALL_HELD], "held calls");
	expect(sums, unsought == core->unsought, "calls not looked for yet");
}

/* Every call but those only a worker knows of has a timer. */
static void
audit_timed_call(const struct core *core, struct sums *sums, const struct call *call)
{
	expect(sums, call_find(core, call->id) == call, "a call is not in the table");
	expect(sums,
	    (call->capability != NULL) ==
		(call->asked && call->state != CALL_KEPT && call->state != CALL_HELD),
	    "a call's service");
	expect(sums,
	    (call->worker != NULL) == (call->state == CALL_ASSIGNED) ||
		call->state == CALL_KEPT,
	    "a call's worker");
	expect(sums, call->state == CALL_ASSIGNED || !call->has_slot,
	    "a slot without a worker");
	sums->calls++;
	sums->bytes += call->request.bytes + call->result.bytes;
	sums->orphans += call->state == CALL_KEPT && call->requester == NULL;
}

static size_t
audit_services(struct sums *sums, const struct capability_list *list, bool served)
{
	const struct capability *capability;
	size_t queued = 0;

	TAILQ_FOREACH(capability, list, link) {
		queued += capability->queue.count + capability->suspect_count;
		expect(sums, suspects_are_served(capability),
		    "a suspect waits although a worker without one has room");
		expect(sums, served == (capability->workers > 0), "a service's workers");
		expect(sums, capability->queue.count == 0 || capability->ready.count == 0,
		    "calls wait although a worker has room");
		expect(sums,
		    capability->calls == capability->queue.count +
					     capability->suspect_count +
					     capability->running,
		    "a service's calls");
		expect(sums, !capability->touched, "a service was left untended");
	}
	return queued;
}

static void
audit_sums(const struct core *core, struct sums *sums)
{
	const uint64_t *counters = core->counters;
	size_t i, known = 0;

	for (i = 0; i < CALL_STATES; i++)
		known += core->states[i];
	expect(sums, known == id_table_size(core->calls), "calls by state");
	expect(sums, sums->assigned == core->states[CALL_ASSIGNED], "assigned calls");
	expect(sums, sums->orphans == core->orphan_count, "orphans");
	expect(sums, sums->bytes == core->bodies_bytes, "bytes of bodies");
	expect(sums,
	    counters[COUNTER_accepted] + counters[COUNTER_adopted] ==
		known + counters[COUNTER_settled] + counters[COUNTER_dropped] +
		    counters[COUNTER_returned],
	    "conservation: accepted + adopted = known + settled + dropped + returned");
	expect(sums,
	    counters[COUNTER_finished] ==
		counters[COUNTER_answered] + counters[COUNTER_expired] +
		    counters[COUNTER_cancelled] + counters[COUNTER_lost] +
		    counters[COUNTER_poisoned],
	    "conservation: finished = answered + expired + cancelled + lost + poisoned");
}

int
core_audit(const struct core *core, const char **error_r)
{
	struct sums sums = { 0 };
	const struct session *session;
	size_t i, queued;

	TAILQ_FOREACH(session, &core->heard, heard_link)
		audit_session(&sums, session);
	for (i = 0; i < core->timers.count; i++)
		audit_timed_call(
		    core, &sums, HEAP_ITEM(core->timers.nodes[i], struct call, timer));
	queued = audit_services(&sums, &core->served, true) +
		 audit_services(&sums, &core->unserved, false);
	expect(&sums, queued == core->states[CALL_QUEUED], "queued calls");
	audit_held(core, &sums);
	audit_sums(core, &sums);
	if (sums.wrong == NULL)
		return 0;
	*error_r = sums.wrong;
	return -1;
}
