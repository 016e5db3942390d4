#include "ledger.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ledger_table.h"
#include "memory.h"
#include "planted.h"

/* --- life ----------------------------------------------------------------------------- */

struct ledger *
ledger_new(const uint64_t *identities, uint32_t link_count, uint64_t seed)
{
	struct ledger *ledger = xcalloc(1, sizeof *ledger);
	size_t i;

	assert(link_count > 0 && link_count <= BROKERS_MAX);
	ledger->link_count = link_count;
	memcpy(ledger->identities, identities, link_count * sizeof *identities);
	ledger->ids = id_table_new(seed);
	ledger->runs = id_table_new(seed);
	ledger->forgotten = settled_new(seed, LEDGER_FORGOTTEN_MAX, SETTLED_KEEP_MS);
	for (i = 0; i < ENTRY_STATES; i++)
		TAILQ_INIT(&ledger->lists[i]);
	TAILQ_INIT(&ledger->dead);
	return ledger;
}

void
ledger_destroy(struct ledger **ledger_p, void (*drop)(struct cargo *cargo))
{
	struct ledger *ledger = *ledger_p;
	size_t i;

	if (ledger == NULL)
		return;
	ledger->action_count = 0;
	for (i = 0; i < ENTRY_STATES; i++)
		while (!TAILQ_EMPTY(&ledger->lists[i]))
			ledger_entry_forget(ledger, TAILQ_FIRST(&ledger->lists[i]));
	for (i = 0; i < ledger->action_count && drop != NULL; i++)
		if (ledger->actions[i].type == LEDGER_FREE)
			drop(ledger->actions[i].cargo);
	ledger_free_dead(ledger);
	id_table_destroy(&ledger->ids);
	id_table_destroy(&ledger->runs);
	settled_destroy(&ledger->forgotten);
	heap_release(&ledger->timers);
	free(ledger->actions);
	free(ledger);
	*ledger_p = NULL;
}

/* --- where a call is ------------------------------------------------------------------- */

static bool
is_at(const struct entry *entry, uint32_t link)
{
	return entry->at != LINK_NONE && entry->at == link;
}

/* --- ends ----------------------------------------------------------------------------- */

static void
deliver(
    struct ledger *ledger, struct entry *entry, enum wire_code code, const char *reason)
{
	struct ledger_action *action = ledger_act(ledger, LEDGER_DELIVER);

	action->waiter = entry->waiter;
	action->header = (struct header){ .type = MSG_RESULT,
		.call_id = entry->id,
		.run = entry->run,
		.code = code,
		.reason = reason };
	entry->waiter = NULL;
	ledger_free_cargo(ledger, entry);
	ledger_entry_move(ledger, entry, ENTRY_ANSWERED);
}

/* --- the brokers' messages ------------------------------------------------------------ */

/* One copy was not taken. Flagged: because another owner asks for the call, which may run. */
static void
on_busy(struct ledger *ledger, struct entry *entry, const struct header *busy)
{
	uint64_t pause_ms = busy->retry_after_ms > 0 ? busy->retry_after_ms : RESEND_MS;

	if (entry->copies > 0)
		entry->copies--;
	if (entry->copies == 0)
		entry->holders &= ~LINK_BIT(entry->at);
	entry->acked = false;
	if ((busy->flags & WIRE_RESEND) != 0)
		entry->unsure = true;
	if (entry->copies == 0 && (ledger->leaving & LINK_BIT(entry->at)) != 0) {
		ledger_route(ledger, entry);
		return;
	}
	entry->next_ms = ledger->now_ms + pause_ms;
	ledger_arm(ledger, entry);
}

/* The broker had it, and it will take no copy of it any more. No worker has it, unless it
 * says so by the flag. */
static void
on_release(struct ledger *ledger, struct entry *entry, const struct ledger_event *event)
{
	uint32_t link = event->link;

	if ((event->header->flags & WIRE_RESEND) != 0)
		entry->unsure = true;
	entry->holders &= ~LINK_BIT(link);
	if (entry->state == ENTRY_CALLING && is_at(entry, link))
		ledger_route(ledger, entry);
	else if (entry->state >= ENTRY_CANCELLING && entry->holders == 0)
		ledger_entry_forget(ledger, entry);
}

/* The broker of link does not know what we want cancelled. A call that may be at others,
 * which are down, can still be announced to it. */
static void
on_unknown(struct ledger *ledger, struct entry *entry, uint32_t link)
{
	if (entry->state != ENTRY_CANCELLING)
		return;
	entry->holders &= ~LINK_BIT(link);
	if (entry->holders == 0)
		ledger_entry_forget(ledger, entry);
}

static void
on_result(struct ledger *ledger, struct entry *entry, const struct ledger_event *event)
{
	const struct header *result = event->header;

	if (result->code == CODE_UNKNOWN_CALL) {
		on_unknown(ledger, entry, event->link);
		return;
	}
	entry->holders |= LINK_BIT(event->link);
	switch (entry->state) {
	case ENTRY_CALLING:
		/* That broker stood still and has lost the worker; the one which has the call now
		 * may have been told of it by that very worker. */
		if (result->code == CODE_WORKER_LOST && !is_at(entry, event->link))
			break;
		deliver(ledger, entry, (enum wire_code)result->code, result->reason);
		break;
	case ENTRY_CANCELLING:
	case ENTRY_OWED:
	case ENTRY_DOUBTED:
		ledger_settle(ledger, entry);
		break;
	case ENTRY_ANSWERED: /* it comes again because it is not stored yet */
	case ENTRY_STATES:
		break;
	}
}

/* Of a call that nobody here waits for: stored or cancelled long ago, its RESULT_ACK was
 * lost; or it was given up to another owner, who shall get it. */
static void
on_stray_result(struct ledger *ledger, const struct ledger_event *event)
{
	settled_expire(ledger->forgotten, ledger->now_ms);
	if (!settled_has(ledger->forgotten, event->header->call_id) ||
	    PLANTED(FORGOTTEN_SETTLED))
		ledger_tell(ledger, LINK_BIT(event->link), MSG_RESULT_ACK, event->header);
}

static void
on_message(struct ledger *ledger, const struct ledger_event *event)
{
	const struct header *header = event->header;
	struct entry *entry =
	    header->call_id == NULL ? NULL : id_table_get(ledger->ids, header->call_id);
	bool here =
	    entry != NULL && entry->state == ENTRY_CALLING && is_at(entry, event->link);

	if (header->type == MSG_RESULT && entry == NULL) {
		on_stray_result(ledger, event);
	} else if (header->type == MSG_RESULT) {
		on_result(ledger, entry, event);
	} else if (header->type == MSG_RELEASE && entry != NULL) {
		on_release(ledger, entry, event);
	} else if (header->type == MSG_BUSY && here) {
		on_busy(ledger, entry, header);
	} else if (header->type == MSG_CALL_ACK && here) {
		entry->acked = true;
		ledger_arm(ledger, entry);
	}
}

/* --- the links' events ---------------------------------------------------------------- */

static void
on_up(struct ledger *ledger, uint32_t link)
{
	struct entry *entry, *next;

	ledger->up |= LINK_BIT(link);
	ledger->leaving &= ~LINK_BIT(link);
	for (entry = TAILQ_FIRST(&ledger->lists[ENTRY_OWED]); entry != NULL;
	     entry = next) {
		next = TAILQ_NEXT(entry, link);
		if ((entry->holders & LINK_BIT(link)) != 0)
			ledger_tell_settled(ledger, entry, LINK_BIT(link));
	}
	TAILQ_FOREACH(entry, &ledger->lists[ENTRY_CALLING], link)
		if (entry->at == LINK_NONE)
			ledger_route(ledger, entry);
	TAILQ_FOREACH(entry, &ledger->lists[ENTRY_CANCELLING], link)
		if (entry->at == LINK_NONE)
			ledger_route(ledger, entry);
		else if ((entry->holders & LINK_BIT(link)) != 0)
			ledger_send_cancel(ledger, entry);
}

/* What was sent may have arrived or not. */
static void
on_down(struct ledger *ledger, uint32_t link)
{
	struct entry *entry, *next;

	ledger->up &= ~LINK_BIT(link);
	ledger->leaving &= ~LINK_BIT(link);
	TAILQ_FOREACH(entry, &ledger->lists[ENTRY_CALLING], link) {
		if (!is_at(entry, link))
			continue;
		entry->unsure = entry->unsure || entry->copies > 0;
		ledger_route(ledger, entry);
	}
	TAILQ_FOREACH(entry, &ledger->lists[ENTRY_CANCELLING], link)
		if (is_at(entry, link))
			ledger_route(ledger, entry);
	TAILQ_FOREACH(entry, &ledger->lists[ENTRY_OWED], link)
		ledger_settle_again(ledger, entry, link);
	for (entry = TAILQ_FIRST(&ledger->lists[ENTRY_DOUBTED]); entry != NULL;
	     entry = next) {
		next = TAILQ_NEXT(entry, link);
		ledger_settle_again(ledger, entry, link);
	}
}

/* What the broker has refused need not wait for its end; what it has stays. */
static void
on_leaving(struct ledger *ledger, uint32_t link)
{
	struct entry *entry;

	ledger->leaving |= LINK_BIT(link) & ledger->up;
	TAILQ_FOREACH(entry, &ledger->lists[ENTRY_CALLING], link)
		if (is_at(entry, link) && entry->copies == 0)
			ledger_route(ledger, entry);
}

/* --- the program's events ------------------------------------------------------------- */

static void
on_call(struct ledger *ledger, const struct ledger_event *event)
{
	const struct header *call = event->header;
	struct entry *previous = id_table_get(ledger->ids, call->call_id), *entry;
	bool known = previous != NULL && previous->state < ENTRY_OWED;
	link_set holders = known ? previous->holders : 0;

	if (previous != NULL)
		ledger_entry_forget(ledger, previous);
	settled_remove(ledger->forgotten, call->call_id);
	entry = ledger_entry_new(ledger, call);
	entry->waiter = event->waiter;
	entry->cargo = event->cargo;
	entry->body_bytes = event->body_bytes;
	entry->deadline_ms = ledger->now_ms + (call->deadline_ms > 0 ? call->deadline_ms
								     : CALL_DEADLINE_MS);
	entry->unsure = known || (call->flags & WIRE_RESEND) != 0;
	/* Of another owner: it may be anywhere. */
	entry->holders =
	    (call->flags & WIRE_RESEND) != 0 ? LINK_BIT(ledger->link_count) - 1 : holders;
	ledger_route(ledger, entry);
}

/* Nobody waits any more. What no broker ever saw is simply forgotten. */
static void
on_cancel(struct ledger *ledger, struct entry *entry)
{
	if (entry->state == ENTRY_ANSWERED) {
		ledger_settle(ledger, entry);
		return;
	}
	if (entry->state != ENTRY_CALLING)
		return;
	entry->waiter = NULL;
	if (entry->copies == 0 && !entry->unsure) {
		ledger_entry_forget(ledger, entry);
		return;
	}
	ledger_free_cargo(ledger, entry);
	ledger_entry_move(ledger, entry, ENTRY_CANCELLING);
	entry->deadline_ms = ledger->now_ms + CANCEL_WAIT_MS;
	entry->acked = false;
	if (entry->at == LINK_NONE)
		ledger_route(ledger, entry);
	else
		ledger_send_cancel(ledger, entry);
}

static void
on_unsent(struct ledger *ledger, struct entry *entry)
{
	if (entry->state != ENTRY_CALLING || entry->copies == 0)
		return;
	entry->copies--;
	if (entry->copies == 0 && !entry->unsure && entry->at != LINK_NONE)
		entry->holders &= ~LINK_BIT(entry->at);
	entry->next_ms = ledger->now_ms + RESEND_MS; /* nothing is under way */
	ledger_arm(ledger, entry);
}

static void
on_stored(struct ledger *ledger, struct entry *entry, const char *id)
{
	settled_remove(ledger->forgotten, id);
	if (entry == NULL) /* disowned while it was being stored: stored all the same */
		ledger_tell(ledger, ledger->up, MSG_RESULT_ACK,
		    &(struct header){ .call_id = id });
	else if (entry->state == ENTRY_ANSWERED)
		ledger_settle(ledger, entry);
}

/* Its next owner may be long in coming, if Redis is away: until then its outcome is not ours to settle, which the broker
 * sends us while we live, and keeps for so long when we do not. */
static void
on_forget(struct ledger *ledger, struct entry *entry, const char *id)
{
	uint64_t ended_ms = ledger->now_ms;

	if (entry != NULL && entry->state == ENTRY_CALLING &&
	    entry->deadline_ms + SILENCE_MS > ended_ms)
		ended_ms = entry->deadline_ms + SILENCE_MS;
	settled_expire(ledger->forgotten, ledger->now_ms);
	settled_add_until(ledger->forgotten, id, ended_ms + RESULT_KEEP_MS);
	if (entry != NULL)
		ledger_entry_forget(ledger, entry);
}

static void
on_disown(struct ledger *ledger, const char *run)
{
	struct run_calls *calls;
	struct entry *entry;

	/* They go with the last one. */
	while ((calls = ledger_run(ledger, run)) != NULL) {
		entry = TAILQ_FIRST(&calls->entries);
		on_forget(ledger, entry, entry->id);
	}
}

/* --- time ----------------------------------------------------------------------------- */

/* What may have begun and must not run twice is not over because its time is. */
static enum wire_code
expiry_of(const struct entry *entry)
{
	return (entry->flags & WIRE_ONCE) != 0 && (entry->copies > 0 || entry->unsure)
		   ? CODE_WORKER_LOST
		   : CODE_EXPIRED;
}

static void
ring(struct ledger *ledger, struct entry *entry)
{
	if (entry->state == ENTRY_CANCELLING) {
		if (ledger->now_ms >= entry->deadline_ms)
			ledger_entry_forget(ledger, entry);
		else
			ledger_send_cancel(ledger, entry);
	} else if (ledger->now_ms >= entry->deadline_ms + SILENCE_MS) {
		deliver(
		    ledger, entry, expiry_of(entry), "the broker did not answer in time");
	} else {
		ledger_send_call(ledger, entry);
	}
}

static void
on_tick(struct ledger *ledger)
{
	struct heap_node *node;

	while (
	    (node = heap_first(&ledger->timers)) != NULL && node->rank <= ledger->now_ms)
		ring(ledger, HEAP_ITEM(node, struct entry, timer));
	ledger_forget_settled(ledger);
	settled_expire(ledger->forgotten, ledger->now_ms);
}

static void
step_id(struct ledger *ledger, const struct ledger_event *event)
{
	struct entry *entry = id_table_get(ledger->ids, event->id);

	if (event->type == LEDGER_STORED)
		on_stored(ledger, entry, event->id);
	else if (event->type == LEDGER_FORGET)
		on_forget(ledger, entry, event->id);
	else if (event->type == LEDGER_CANCEL && entry != NULL)
		on_cancel(ledger, entry);
	else if (event->type == LEDGER_UNSENT && entry != NULL)
		on_unsent(ledger, entry);
}

struct ledger_actions
ledger_step(struct ledger *ledger, const struct ledger_event *event, uint64_t now_ms)
{
	ledger_free_dead(ledger);
	ledger->action_count = 0;
	if (now_ms > ledger->now_ms)
		ledger->now_ms = now_ms;
	switch (event->type) {
	case LEDGER_CALL:
		on_call(ledger, event);
		break;
	case LEDGER_MESSAGE:
		on_message(ledger, event);
		break;
	case LEDGER_UP:
		on_up(ledger, event->link);
		break;
	case LEDGER_LEAVING:
		on_leaving(ledger, event->link);
		break;
	case LEDGER_DOWN:
		on_down(ledger, event->link);
		break;
	case LEDGER_DISOWN:
		on_disown(ledger, event->id);
		break;
	case LEDGER_TICK:
		on_tick(ledger);
		break;
	case LEDGER_CANCEL:
	case LEDGER_UNSENT:
	case LEDGER_STORED:
	case LEDGER_FORGET:
		step_id(ledger, event);
		break;
	}
	return (struct ledger_actions){ ledger->actions, ledger->action_count };
}

/* --- questions ------------------------------------------------------------------------ */

size_t
ledger_pending(const struct ledger *ledger)
{
	return ledger->counts[ENTRY_CALLING] + ledger->counts[ENTRY_CANCELLING];
}

bool
ledger_is_unsent(const struct ledger *ledger, const char *id)
{
	const struct entry *entry = id_table_get(ledger->ids, id);

	return entry != NULL && entry->state == ENTRY_CALLING && entry->copies == 0 &&
	       !entry->unsure;
}

size_t
ledger_owed(const struct ledger *ledger)
{
	return ledger->counts[ENTRY_OWED];
}

bool
ledger_is_cancelling(const struct ledger *ledger, const char *run)
{
	const struct run_calls *calls = ledger_run(ledger, run);

	return calls != NULL && calls->cancelling > 0;
}

uint32_t
ledger_link(const struct ledger *ledger, const char *run)
{
	return rendezvous_choose(ledger->identities, ledger_usable(ledger), run);
}
