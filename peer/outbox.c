#include "outbox.h"

#include <assert.h>
#include <stdlib.h>

#include "memory.h"
#include "planted.h"
#include "outbox_table.h"

/* --- life ------------------------------------------------------------------------- */

struct outbox *
outbox_new(uint32_t capacity, uint64_t seed)
{
	struct outbox *outbox = xcalloc(1, sizeof *outbox);

	outbox->capacity = capacity;
	outbox->entries = id_table_new(seed);
	outbox->once = settled_new(seed, OUTBOX_SETTLED_MAX, RESULT_KEEP_MS);
	outbox->sought = settled_new(seed, OUTBOX_SETTLED_MAX, SETTLED_KEEP_MS);
	TAILQ_INIT(&outbox->running);
	TAILQ_INIT(&outbox->finished);
	TAILQ_INIT(&outbox->dead);
	SLIST_INIT(&outbox->announced);
	return outbox;
}

void
outbox_destroy(struct outbox **outbox_p, void (*drop)(struct parcel *parcel))
{
	struct outbox *outbox = *outbox_p;
	size_t i;

	if (outbox == NULL)
		return;
	outbox->action_count = 0;
	while (!TAILQ_EMPTY(&outbox->running))
		outbox_entry_forget(outbox, TAILQ_FIRST(&outbox->running));
	while (!TAILQ_EMPTY(&outbox->finished))
		outbox_entry_forget(outbox, TAILQ_FIRST(&outbox->finished));
	for (i = 0; i < outbox->action_count && drop != NULL; i++)
		if (outbox->actions[i].type == OUTBOX_FREE)
			drop(outbox->actions[i].parcel);
	outbox_free_dead(outbox);
	id_table_destroy(&outbox->entries);
	settled_destroy(&outbox->once);
	settled_destroy(&outbox->sought);
	heap_release(&outbox->timers);
	free(outbox->actions);
	free(outbox);
	*outbox_p = NULL;
}

/* --- calls ---------------------------------------------------------------------------- */

/* The broker's number counts: it may have given the call to another and back. */
static void
take_over(struct entry *entry, const struct header *call)
{
	entry->attempt = call->attempt;
	entry->epoch = call->epoch;
}

/* A broker that has looked for it just now did so in vain: the CALL was under way. */
static void
start(struct outbox *outbox, uint32_t link, const struct header *call)
{
	struct entry *entry = outbox_entry_new(outbox, call);

	entry->known = LINK_BIT(link);
	take_over(entry, call);
	if (call->deadline_ms > 0)
		heap_put(
		    &outbox->timers, &entry->timer, outbox->now_ms + call->deadline_ms);
	outbox_send_about(outbox, LINK_BIT(link), MSG_CALL_ACK, entry->id);
	outbox_act(outbox, OUTBOX_START)->header.call_id = entry->id;
	if (settled_has(outbox->sought, entry->id))
		outbox_announce_call(outbox, entry);
}

static void
on_call(struct outbox *outbox, uint32_t link, const struct header *call)
{
	struct entry *entry = id_table_get(outbox->entries, call->call_id);
	link_set from = LINK_BIT(link);

	if (PLANTED(WORKER_RUNS_AGAIN) && entry != NULL && entry->finished) {
		outbox_entry_forget(outbox, entry);
		entry = NULL;
	}
	if (entry != NULL) {
		take_over(entry, call);
		entry->known |= from;
		entry->unwanted &= ~from;
		outbox_send_about(outbox, from, MSG_CALL_ACK, entry->id);
		if (entry->finished)
			outbox_show_result(outbox, link, entry);
	} else if ((call->flags & WIRE_ONCE) != 0 &&
		   settled_has(outbox->once, call->call_id)) {
		outbox_send_code(outbox, from, call->call_id, CODE_WORKER_LOST);
	} else if (outbox->draining || outbox->running_count >= outbox->capacity) {
		outbox_send_busy(outbox, from, call->call_id);
	} else {
		start(outbox, link, call);
	}
}

/* Stopped here, to be run elsewhere. */
static bool
is_released(const struct entry *entry)
{
	return entry->cause == STOP_RELEASED && (entry->flags & WIRE_ONCE) == 0;
}

static void
stop(struct outbox *outbox, struct entry *entry, enum stop_cause cause)
{
	struct outbox_action *action;

	if (entry->cause != STOP_NONE)
		return;
	entry->cause = cause;
	heap_remove(&outbox->timers, &entry->timer);
	action = outbox_act(outbox, OUTBOX_STOP);
	action->header.call_id = entry->id;
	action->goes_on = is_released(entry);
}

static enum stop_cause
cause_of(const struct header *cancel)
{
	if (cancel->code == CODE_EXPIRED)
		return STOP_EXPIRED;
	return cancel->code == CODE_WORKER_LOST ? STOP_RELEASED : STOP_CANCELLED;
}

/* A broker that has the call elsewhere speaks for itself alone: while another one counts on
 * it here, it goes on. */
static void
stop_for(struct outbox *outbox, link_set from, struct entry *entry, enum stop_cause cause)
{
	if (cause == STOP_RELEASED) {
		entry->unwanted |= from;
		if ((entry->known & outbox->up & ~entry->unwanted) != 0)
			return;
	}
	stop(outbox, entry, cause);
}

static void
on_cancel(struct outbox *outbox, uint32_t link, const struct header *cancel)
{
	struct entry *entry = id_table_get(outbox->entries, cancel->call_id);
	enum stop_cause cause = cause_of(cancel);

	if (entry != NULL)
		entry->known |= LINK_BIT(link);
	if (entry != NULL && entry->finished)
		outbox_show_result(outbox, link, entry);
	else if (entry != NULL)
		stop_for(outbox, LINK_BIT(link), entry, cause);
	else if (cause != STOP_RELEASED)
		outbox_send_code(outbox, LINK_BIT(link), cancel->call_id,
		    cause == STOP_EXPIRED ? CODE_EXPIRED : CODE_CANCELLED);
}

/* The other brokers that know the call have no other way to hear that it is settled. */
static void
on_result_ack(struct outbox *outbox, uint32_t link, const struct header *ack)
{
	struct entry *entry = id_table_get(outbox->entries, ack->call_id);

	if (entry == NULL || !entry->finished)
		return;
	outbox_send_about(
	    outbox, entry->known & ~LINK_BIT(link), MSG_RESULT_ACK, entry->id);
	outbox_entry_forget(outbox, entry);
}

static void
start_probe(struct outbox *outbox, uint32_t link, const struct header *probe)
{
	struct outbox_action *action = outbox_act(outbox, OUTBOX_START_PROBE);

	action->link = link;
	action->header = *probe;
}

static void
on_message(struct outbox *outbox, uint32_t link, const struct header *header)
{
	if (header->type == MSG_CALL)
		on_call(outbox, link, header);
	else if (header->type == MSG_CANCEL)
		on_cancel(outbox, link, header);
	else if (header->type == MSG_RESULT_ACK)
		on_result_ack(outbox, link, header);
	else if (header->type == MSG_SEEK)
		outbox_announce_sought(outbox, link, header);
	else if (header->type == MSG_PROBE)
		start_probe(outbox, link, header);
}

/* --- ends ----------------------------------------------------------------------------- */

static void
finish(struct outbox *outbox, struct entry *entry, enum wire_code code,
    const struct outbox_event *event)
{
	outbox_entry_finish(outbox, entry, code, event);
	outbox_resend_result(outbox, entry);
	if (outbox->finished_count > OUTBOX_RESULTS_MAX) {
		outbox->lost++;
		outbox_entry_forget(outbox, TAILQ_FIRST(&outbox->finished));
	}
}

/* Of a call that must not run twice nobody knows how far it came: not even that it was late may
 * be taken for leave to ask for it again. Who cancels does not ask again. */
static enum wire_code
code_of(const struct entry *entry, bool interrupted, bool lost)
{
	if (lost)
		return CODE_WORKER_LOST;
	if (!interrupted)
		return CODE_OK;
	if (entry->cause == STOP_RELEASED)
		return CODE_WORKER_LOST;
	if (entry->cause == STOP_EXPIRED)
		return (entry->flags & WIRE_ONCE) != 0 ? CODE_WORKER_LOST : CODE_EXPIRED;
	return CODE_CANCELLED;
}

static void
on_ended(struct outbox *outbox, const struct outbox_event *event)
{
	struct entry *entry = id_table_get(outbox->entries, event->call_id);

	assert(entry != NULL && !entry->finished);
	outbox->credit_due = true;
	if (event->interrupted && !event->lost && is_released(entry)) {
		outbox_send_about(outbox, entry->known, MSG_RELEASE, entry->id);
		outbox_free_parcel(outbox, event->parcel);
		outbox_entry_forget(outbox, entry);
	} else {
		finish(outbox, entry, code_of(entry, event->interrupted, event->lost),
		    event);
	}
}

static void
on_not_started(struct outbox *outbox, const char *id)
{
	struct entry *entry = id_table_get(outbox->entries, id);

	assert(entry != NULL && !entry->finished);
	outbox_send_busy(outbox, entry->known, entry->id);
	outbox_entry_forget(outbox, entry);
}

/* --- sessions ------------------------------------------------------------------------- */

static void
on_up(struct outbox *outbox, uint32_t link)
{
	outbox->up |= LINK_BIT(link);
	outbox_announce_up(outbox, link);
}

static void
on_down(struct outbox *outbox, uint32_t link)
{
	outbox->up &= ~LINK_BIT(link);
	outbox_announce_down(outbox, link);
}

/* A broker sees the slots that its own calls free; those that others' calls free it is told
 * of, for it may have calls that wait. */
static void
tell_credit(struct outbox *outbox)
{
	struct header header = { .type = MSG_CREDIT };

	if (!outbox->credit_due || outbox->draining ||
	    outbox->now_ms < outbox->credit_ms + CREDIT_PAUSE_MS)
		return;
	outbox->credit_due = false;
	outbox->credit_ms = outbox->now_ms;
	if ((outbox->up & (outbox->up - 1)) == 0)
		return; /* there is but one */
	outbox_report(outbox, &header);
	outbox_send(outbox, outbox->up, &header, NULL);
}

/* --- time ----------------------------------------------------------------------------- */

static void
ring(struct outbox *outbox, struct entry *entry)
{
	if (entry->finished && PLANTED(RESULT_NOT_RESENT))
		heap_remove(&outbox->timers, &entry->timer);
	else if (entry->finished)
		outbox_resend_result(outbox, entry);
	else
		stop(outbox, entry, STOP_EXPIRED);
}

static void
on_tick(struct outbox *outbox)
{
	struct heap_node *node;
	struct entry *entry;

	while (
	    (node = heap_first(&outbox->timers)) != NULL && node->rank <= outbox->now_ms)
		ring(outbox, HEAP_ITEM(node, struct entry, timer));
	settled_expire(outbox->once, outbox->now_ms);
	settled_expire(outbox->sought, outbox->now_ms);
	if (!outbox->draining || outbox->now_ms < outbox->drain_end_ms)
		return;
	TAILQ_FOREACH(entry, &outbox->running, link)
		stop(outbox, entry, STOP_RELEASED);
}

/* Running calls get most of the time; what is kept back is for stopping them, giving them
 * back, and for the last acknowledgements. */
static void
on_drain(struct outbox *outbox, uint64_t drain_ms)
{
	const struct header header = { .type = MSG_DRAIN };
	uint64_t reserve_ms =
	    drain_ms / 2 < OUTBOX_FLUSH_MS ? drain_ms / 2 : OUTBOX_FLUSH_MS;

	if (outbox->draining)
		return;
	outbox->draining = true;
	outbox->drain_end_ms = outbox->now_ms + drain_ms - reserve_ms;
	outbox->flush_end_ms = outbox->now_ms + drain_ms - reserve_ms / 4;
	outbox_send(outbox, outbox->up, &header, NULL);
}

/* After every event: is a drain at its end? A result that nobody acknowledges is not waited
 * for longer than OUTBOX_FLUSH_MS: the broker has it by then, or there is none. */
static void
check_drained(struct outbox *outbox)
{
	if (!outbox->draining || outbox->drained || outbox->running_count > 0)
		return;
	if (outbox->idle_ms == 0)
		outbox->idle_ms = outbox->now_ms;
	if (outbox->finished_count > 0 && outbox->now_ms < outbox->flush_end_ms &&
	    outbox->now_ms < outbox->idle_ms + OUTBOX_FLUSH_MS)
		return;
	outbox->drained = true;
	outbox_act(outbox, OUTBOX_DRAINED);
}

struct outbox_actions
outbox_step(struct outbox *outbox, const struct outbox_event *event, uint64_t now_ms)
{
	outbox_free_dead(outbox);
	outbox->action_count = 0;
	if (now_ms > outbox->now_ms)
		outbox->now_ms = now_ms;
	switch (event->type) {
	case OUTBOX_MESSAGE:
		on_message(outbox, event->link, event->header);
		break;
	case OUTBOX_ENDED:
		on_ended(outbox, event);
		break;
	case OUTBOX_PROBED:
		outbox_send_about(
		    outbox, LINK_BIT(event->link), MSG_PROBE, event->call_id);
		break;
	case OUTBOX_NOT_STARTED:
		on_not_started(outbox, event->call_id);
		break;
	case OUTBOX_UP:
		on_up(outbox, event->link);
		break;
	case OUTBOX_DOWN:
		on_down(outbox, event->link);
		break;
	case OUTBOX_TICK:
		on_tick(outbox);
		break;
	case OUTBOX_DRAIN:
		on_drain(outbox, event->drain_ms);
		break;
	}
	tell_credit(outbox);
	check_drained(outbox);
	return (struct outbox_actions){ outbox->actions, outbox->action_count };
}

/* --- questions ------------------------------------------------------------------------ */

void
outbox_report(const struct outbox *outbox, struct header *header)
{
	bool full = outbox->draining || outbox->running_count >= outbox->capacity;
	const struct entry *oldest = TAILQ_FIRST(&outbox->running);
	uint64_t oldest_ms = oldest == NULL ? 0 : outbox->now_ms - oldest->started_ms;

	header->load = outbox->running_count;
	header->capacity = outbox->capacity;
	header->oldest_ms =
	    oldest_ms < CALL_DEADLINE_MS_MAX ? oldest_ms : CALL_DEADLINE_MS_MAX;
	header->credit = full ? 0 : outbox->capacity - outbox->running_count;
}

size_t
outbox_running(const struct outbox *outbox)
{
	return outbox->running_count;
}

size_t
outbox_finished(const struct outbox *outbox)
{
	return outbox->finished_count;
}

uint64_t
outbox_lost(const struct outbox *outbox)
{
	return outbox->lost;
}
