#include "outbox.h"

#include <assert.h>
#include <stdlib.h>

#include "memory.h"
#include "outbox_table.h"

/* --- life ------------------------------------------------------------------------- */

struct outbox *
outbox_new(uint32_t capacity, uint64_t seed)
{
	struct outbox *outbox = xcalloc(1, sizeof *outbox);

	outbox->capacity = capacity;
	outbox->entries = id_table_new(seed);
	outbox->once = settled_new(seed, OUTBOX_SETTLED_MAX, RESULT_KEEP_MS);
	TAILQ_INIT(&outbox->running);
	TAILQ_INIT(&outbox->finished);
	TAILQ_INIT(&outbox->dead);
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
		drop(outbox->actions[i].parcel);
	outbox_free_dead(outbox);
	id_table_destroy(&outbox->entries);
	settled_destroy(&outbox->once);
	heap_release(&outbox->timers);
	free(outbox->actions);
	free(outbox->announced);
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

static void
start(struct outbox *outbox, const struct header *call)
{
	struct entry *entry = outbox_entry_new(outbox, call);

	take_over(entry, call);
	if (call->deadline_ms > 0)
		heap_put(
		    &outbox->timers, &entry->timer, outbox->now_ms + call->deadline_ms);
	outbox_send(outbox, MSG_CALL_ACK, entry->id);
	outbox_act(outbox, OUTBOX_START)->header.call_id = entry->id;
}

static void
on_call(struct outbox *outbox, const struct header *call)
{
	struct entry *entry = id_table_get(outbox->entries, call->call_id);

	if (entry != NULL) {
		take_over(entry, call);
		outbox_send(outbox, MSG_CALL_ACK, entry->id);
		if (entry->finished)
			outbox_send_result(outbox, entry);
	} else if ((call->flags & WIRE_ONCE) != 0 &&
		   settled_has(outbox->once, call->call_id)) {
		outbox_send_code(outbox, call->call_id, CODE_WORKER_LOST);
	} else if (outbox->draining || outbox->running_count >= outbox->capacity) {
		outbox_send_busy(outbox, call->call_id);
	} else {
		start(outbox, call);
	}
}

static void
stop(struct outbox *outbox, struct entry *entry, enum stop_cause cause)
{
	if (entry->cause != STOP_NONE)
		return;
	entry->cause = cause;
	heap_remove(&outbox->timers, &entry->timer);
	outbox_act(outbox, OUTBOX_STOP)->header.call_id = entry->id;
}

static enum stop_cause
cause_of(const struct header *cancel)
{
	if (cancel->code == CODE_EXPIRED)
		return STOP_EXPIRED;
	return cancel->code == CODE_WORKER_LOST ? STOP_RELEASED : STOP_CANCELLED;
}

static void
on_cancel(struct outbox *outbox, const struct header *cancel)
{
	struct entry *entry = id_table_get(outbox->entries, cancel->call_id);

	if (entry != NULL && entry->finished)
		outbox_send_result(outbox, entry);
	else if (entry != NULL)
		stop(outbox, entry, cause_of(cancel));
	else if (cause_of(cancel) != STOP_RELEASED)
		outbox_send_code(outbox, cancel->call_id, CODE_CANCELLED);
}

static void
on_result_ack(struct outbox *outbox, const struct header *ack)
{
	struct entry *entry = id_table_get(outbox->entries, ack->call_id);

	if (entry != NULL && entry->finished)
		outbox_entry_forget(outbox, entry);
}

static void
on_message(struct outbox *outbox, const struct header *header)
{
	if (header->type == MSG_CALL)
		on_call(outbox, header);
	else if (header->type == MSG_CANCEL)
		on_cancel(outbox, header);
	else if (header->type == MSG_RESULT_ACK)
		on_result_ack(outbox, header);
}

/* --- ends ----------------------------------------------------------------------------- */

static void
finish(struct outbox *outbox, struct entry *entry, enum wire_code code,
    struct parcel *parcel)
{
	outbox_entry_finish(outbox, entry, code, parcel);
	outbox_send_result(outbox, entry);
	if (outbox->finished_count > OUTBOX_RESULTS_MAX) {
		outbox->lost++;
		outbox_entry_forget(outbox, TAILQ_FIRST(&outbox->finished));
	}
}

static enum wire_code
code_of(const struct entry *entry, bool interrupted)
{
	if (!interrupted)
		return CODE_OK;
	if (entry->cause == STOP_RELEASED)
		return CODE_WORKER_LOST; /* begun, stopped, and not to be begun again */
	return entry->cause == STOP_EXPIRED ? CODE_EXPIRED : CODE_CANCELLED;
}

static void
on_ended(struct outbox *outbox, const struct outbox_event *event)
{
	struct entry *entry = id_table_get(outbox->entries, event->call_id);

	assert(entry != NULL && !entry->finished);
	if (event->interrupted && entry->cause == STOP_RELEASED &&
	    (entry->flags & WIRE_ONCE) == 0) {
		outbox_send(outbox, MSG_RELEASE, entry->id);
		outbox_free_parcel(outbox, event->parcel);
		outbox_entry_forget(outbox, entry);
	} else {
		finish(outbox, entry, code_of(entry, event->interrupted), event->parcel);
	}
}

static void
on_not_started(struct outbox *outbox, const char *id)
{
	struct entry *entry = id_table_get(outbox->entries, id);

	assert(entry != NULL && !entry->finished);
	outbox_send_busy(outbox, entry->id);
	outbox_entry_forget(outbox, entry);
}

/* --- sessions ------------------------------------------------------------------------- */

/* Running and finished calls, in one array that the ANNOUNCEs share. */
static size_t
list_calls(struct outbox *outbox)
{
	struct wire_call *list;
	struct entry *entry;
	size_t count = 0;

	free(outbox->announced);
	outbox->announced = list =
	    xcalloc(outbox->running_count + outbox->finished_count + 1, sizeof *list);
	TAILQ_FOREACH(entry, &outbox->running, link)
		list[count++] = (struct wire_call){ entry->id, CALL_RUNNING };
	TAILQ_FOREACH(entry, &outbox->finished, link)
		list[count++] = (struct wire_call){ entry->id, CALL_FINISHED };
	return count;
}

static void
announce(struct outbox *outbox)
{
	size_t count = list_calls(outbox), at, some;

	for (at = 0; at < count; at += some) {
		some =
		    count - at < ANNOUNCED_CALLS_MAX ? count - at : ANNOUNCED_CALLS_MAX;
		outbox_act(outbox, OUTBOX_SEND)->header =
		    (struct header){ .type = MSG_ANNOUNCE,
			    .calls = outbox->announced + at,
			    .call_count = some };
	}
}

static void
on_up(struct outbox *outbox)
{
	struct entry *entry;

	announce(outbox);
	TAILQ_FOREACH(entry, &outbox->finished, link) {
		entry->resend_ms = RESEND_MS;
		outbox_send_result(outbox, entry);
	}
	if (outbox->draining)
		outbox_act(outbox, OUTBOX_SEND)->header.type = MSG_DRAIN;
}

/* --- time ----------------------------------------------------------------------------- */

static void
ring(struct outbox *outbox, struct entry *entry)
{
	if (entry->finished)
		outbox_send_result(outbox, entry);
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
	uint64_t reserve_ms =
	    drain_ms / 2 < OUTBOX_FLUSH_MS ? drain_ms / 2 : OUTBOX_FLUSH_MS;

	if (outbox->draining)
		return;
	outbox->draining = true;
	outbox->drain_end_ms = outbox->now_ms + drain_ms - reserve_ms;
	outbox->flush_end_ms = outbox->now_ms + drain_ms - reserve_ms / 4;
	outbox_act(outbox, OUTBOX_SEND)->header.type = MSG_DRAIN;
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
		on_message(outbox, event->header);
		break;
	case OUTBOX_ENDED:
		on_ended(outbox, event);
		break;
	case OUTBOX_NOT_STARTED:
		on_not_started(outbox, event->call_id);
		break;
	case OUTBOX_UP:
		on_up(outbox);
		break;
	case OUTBOX_TICK:
		on_tick(outbox);
		break;
	case OUTBOX_DRAIN:
		on_drain(outbox, event->drain_ms);
		break;
	}
	check_drained(outbox);
	return (struct outbox_actions){ outbox->actions, outbox->action_count };
}

/* --- questions ------------------------------------------------------------------------ */

void
outbox_report(const struct outbox *outbox, struct header *header)
{
	bool full = outbox->draining || outbox->running_count >= outbox->capacity;

	header->load = outbox->running_count;
	header->capacity = outbox->capacity;
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
