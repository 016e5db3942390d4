#include "ledger_table.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* --- actions -------------------------------------------------------------------------- */

struct ledger_action *
ledger_act(struct ledger *ledger, enum ledger_action_type type)
{
	struct ledger_action *action;

	if (ledger->action_count == ledger->action_room) {
		ledger->action_room =
		    ledger->action_room == 0 ? 16 : 2 * ledger->action_room;
		ledger->actions = xreallocarray(
		    ledger->actions, ledger->action_room, sizeof *ledger->actions);
	}
	action = &ledger->actions[ledger->action_count++];
	*action = (struct ledger_action){ .type = type, .link = LINK_NONE };
	return action;
}

void
ledger_tell(struct ledger *ledger, link_set links, enum message_type type,
    const struct header *header)
{
	struct ledger_action *action;
	uint32_t link;

	for (link = 0; link < ledger->link_count; link++) {
		if ((links & LINK_BIT(link)) == 0)
			continue;
		action = ledger_act(ledger, LEDGER_SEND);
		action->link = link;
		action->header = (struct header){
			.type = type,
			.call_id = header->call_id,
			.run = header->run,
			.epoch = header->epoch,
		};
	}
}

void
ledger_tell_of(struct ledger *ledger, link_set links, enum message_type type,
    const struct entry *entry)
{
	ledger_tell(ledger, links, type,
	    &(struct header){
		.call_id = entry->id, .run = entry->run, .epoch = entry->epoch });
}

void
ledger_free_cargo(struct ledger *ledger, struct entry *entry)
{
	if (entry->cargo != NULL)
		ledger_act(ledger, LEDGER_FREE)->cargo = entry->cargo;
	entry->cargo = NULL;
}

/* --- entries -------------------------------------------------------------------------- */

static size_t
text_size(const char *text)
{
	return text == NULL ? 0 : strlen(text) + 1;
}

/* Returns a copy of text at *at, which is moved behind it; NULL of NULL. */
static const char *
copy_text(char **at, const char *text)
{
	size_t size = text_size(text);
	char *copy = *at;

	if (size == 0)
		return NULL;
	memcpy(copy, text, size);
	*at += size;
	return copy;
}

struct run_calls *
ledger_run(const struct ledger *ledger, const char *run)
{
	return id_table_get(ledger->runs, run);
}

static void
join_run(struct ledger *ledger, struct entry *entry)
{
	struct run_calls *calls;
	size_t size;

	if (entry->run == NULL)
		return;
	calls = ledger_run(ledger, entry->run);
	if (calls == NULL) {
		size = text_size(entry->run);
		calls = xcalloc(1, sizeof *calls + size);
		memcpy(calls->run, entry->run, size);
		TAILQ_INIT(&calls->entries);
		id_table_put(ledger->runs, &calls->key, calls->run, calls);
	}
	entry->calls = calls;
	TAILQ_INSERT_TAIL(&calls->entries, entry, call_link);
}

static void
leave_run(struct ledger *ledger, struct entry *entry)
{
	struct run_calls *calls = entry->calls;

	if (calls == NULL)
		return;
	entry->calls = NULL;
	TAILQ_REMOVE(&calls->entries, entry, call_link);
	if (!TAILQ_EMPTY(&calls->entries))
		return;
	id_table_remove(ledger->runs, &calls->key);
	free(calls);
}

struct entry *
ledger_entry_new(struct ledger *ledger, const struct header *call)
{
	struct entry *entry = xcalloc(
	    1, sizeof *entry + text_size(call->call_id) + text_size(call->run) +
		   text_size(call->service) + text_size(call->tenant) +
		   text_size(call->traceparent) + text_size(call->idempotency_key));
	char *at = entry->id;

	copy_text(&at, call->call_id);
	entry->run = copy_text(&at, call->run);
	entry->service = copy_text(&at, call->service);
	entry->tenant = copy_text(&at, call->tenant);
	entry->traceparent = copy_text(&at, call->traceparent);
	entry->idempotency_key = copy_text(&at, call->idempotency_key);
	entry->step = call->step;
	entry->epoch = call->epoch;
	entry->priority = call->priority;
	entry->flags = call->flags & ~(unsigned)WIRE_RESEND;
	entry->state = ENTRY_CALLING;
	entry->at = LINK_NONE;
	id_table_put(ledger->ids, &entry->key, entry->id, entry);
	TAILQ_INSERT_TAIL(&ledger->lists[ENTRY_CALLING], entry, link);
	ledger->counts[ENTRY_CALLING]++;
	join_run(ledger, entry);
	return entry;
}

struct header
ledger_entry_header(const struct entry *entry)
{
	return (struct header){
		.type = MSG_CALL,
		.flags = entry->flags,
		.call_id = entry->id,
		.run = entry->run,
		.step = entry->step,
		.epoch = entry->epoch,
		.service = entry->service,
		.priority = entry->priority,
		.tenant = entry->tenant,
		.traceparent = entry->traceparent,
		.idempotency_key = entry->idempotency_key,
	};
}

static void
leave_list(struct ledger *ledger, struct entry *entry)
{
	TAILQ_REMOVE(&ledger->lists[entry->state], entry, link);
	ledger->counts[entry->state]--;
	heap_remove(&ledger->timers, &entry->timer);
	if (entry->state != ENTRY_CANCELLING)
		return;
	if (entry->calls != NULL)
		entry->calls->cancelling--;
	ledger_act(ledger, LEDGER_ENDED)->header = (struct header){
		.run = entry->run,
		.call_id = entry->id,
		.code = ledger->now_ms < entry->deadline_ms ? CODE_OK : CODE_EXPIRED,
	};
}

void
ledger_entry_move(struct ledger *ledger, struct entry *entry, enum entry_state state)
{
	leave_list(ledger, entry);
	entry->state = state;
	TAILQ_INSERT_TAIL(&ledger->lists[state], entry, link);
	ledger->counts[state]++;
	if (state >= ENTRY_OWED)
		leave_run(ledger, entry);
	else if (state == ENTRY_CANCELLING && entry->calls != NULL)
		entry->calls->cancelling++;
}

void
ledger_entry_forget(struct ledger *ledger, struct entry *entry)
{
	leave_list(ledger, entry);
	leave_run(ledger, entry);
	if (entry->waiter != NULL)
		ledger_act(ledger, LEDGER_REVOKE)->waiter = entry->waiter;
	ledger_free_cargo(ledger, entry);
	id_table_remove(ledger->ids, &entry->key);
	TAILQ_INSERT_TAIL(&ledger->dead, entry, link);
}

void
ledger_free_dead(struct ledger *ledger)
{
	struct entry *entry;

	while ((entry = TAILQ_FIRST(&ledger->dead)) != NULL) {
		TAILQ_REMOVE(&ledger->dead, entry, link);
		free(entry);
	}
}
