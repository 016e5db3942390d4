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

/* Copies *field to *at, points it there and moves *at behind. */
static void
copy_text(char **at, const char **field)
{
	size_t size = text_size(*field);

	if (size == 0)
		return;
	memcpy(*at, *field, size);
	*field = *at;
	*at += size;
}

static void
copy_header(struct entry *entry, const struct header *call)
{
	struct header *own = &entry->header;
	const char **const fields[] = { &own->run, &own->service, &own->tenant,
		&own->traceparent, &own->idempotency_key };
	const size_t count = sizeof fields / sizeof fields[0];
	size_t i, size = 1;
	char *at;

	*own = (struct header){
		.type = MSG_CALL,
		.flags = call->flags & ~(unsigned)WIRE_RESEND,
		.call_id = entry->id,
		.run = call->run,
		.step = call->step,
		.epoch = call->epoch,
		.service = call->service,
		.priority = call->priority,
		.tenant = call->tenant,
		.traceparent = call->traceparent,
		.idempotency_key = call->idempotency_key,
	};
	for (i = 0; i < count; i++)
		size += text_size(*fields[i]);
	entry->text = at = xcalloc(1, size);
	for (i = 0; i < count; i++)
		copy_text(&at, fields[i]);
}

struct entry *
ledger_entry_new(struct ledger *ledger, const struct header *call)
{
	size_t size = strlen(call->call_id) + 1;
	struct entry *entry = xcalloc(1, sizeof *entry + size);

	memcpy(entry->id, call->call_id, size);
	copy_header(entry, call);
	entry->state = ENTRY_CALLING;
	entry->at = LINK_NONE;
	id_table_put(ledger->ids, &entry->key, entry->id, entry);
	TAILQ_INSERT_TAIL(&ledger->lists[ENTRY_CALLING], entry, link);
	ledger->counts[ENTRY_CALLING]++;
	return entry;
}

static void
leave_list(struct ledger *ledger, struct entry *entry)
{
	TAILQ_REMOVE(&ledger->lists[entry->state], entry, link);
	ledger->counts[entry->state]--;
	heap_remove(&ledger->timers, &entry->timer);
	if (entry->state == ENTRY_CANCELLING)
		ledger_act(ledger, LEDGER_ENDED)->header = (struct header){
			.run = entry->header.run,
			.call_id = entry->id,
			.code =
			    ledger->now_ms < entry->deadline_ms ? CODE_OK : CODE_EXPIRED,
		};
}

void
ledger_entry_move(struct ledger *ledger, struct entry *entry, enum entry_state state)
{
	leave_list(ledger, entry);
	entry->state = state;
	TAILQ_INSERT_TAIL(&ledger->lists[state], entry, link);
	ledger->counts[state]++;
}

void
ledger_entry_forget(struct ledger *ledger, struct entry *entry)
{
	leave_list(ledger, entry);
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
		free(entry->text);
		free(entry);
	}
}
