/* ledger_send: what goes out about a call that is wanted, and by which link. */
#include "planted.h"
#include "ledger_table.h"
#include "resend.h"

link_set
ledger_usable(const struct ledger *ledger)
{
	return ledger->up & ~ledger->leaving;
}

/* The first of links in the order of entry's run. */
static uint32_t
choose(const struct ledger *ledger, const struct entry *entry, link_set links)
{
	const char *run = entry->run;

	return rendezvous_choose(
	    ledger->identities, links, run != NULL ? run : entry->id);
}

void
ledger_arm(struct ledger *ledger, struct entry *entry)
{
	uint64_t due = entry->deadline_ms;

	if (entry->state == ENTRY_CALLING)
		due += SILENCE_MS;
	if (entry->at != LINK_NONE && !entry->acked && entry->next_ms < due)
		due = entry->next_ms;
	heap_put(&ledger->timers, &entry->timer, due);
}

void
ledger_send_call(struct ledger *ledger, struct entry *entry)
{
	struct ledger_action *action = ledger_act(ledger, LEDGER_SEND);
	uint64_t left_ms =
	    entry->deadline_ms > ledger->now_ms ? entry->deadline_ms - ledger->now_ms : 1;

	action->link = entry->at;
	action->cargo = entry->cargo;
	action->header = ledger_entry_header(entry);
	if ((entry->unsure || entry->copies > 0) && !PLANTED(RESEND_UNFLAGGED))
		action->header.flags |= WIRE_RESEND;
	action->header.deadline_ms =
	    left_ms < CALL_DEADLINE_MS_MAX ? left_ms : CALL_DEADLINE_MS_MAX;
	entry->copies++;
	entry->holders |= LINK_BIT(entry->at);
	entry->next_ms = ledger->now_ms + resend_first_ms(RESEND_MS, entry->body_bytes);
	ledger_arm(ledger, entry);
}

void
ledger_send_cancel(struct ledger *ledger, struct entry *entry)
{
	link_set links = entry->holders & ledger->up;

	if (entry->at != LINK_NONE)
		links |= LINK_BIT(entry->at);
	ledger_tell_of(ledger, links, MSG_CANCEL, entry);
	entry->next_ms = ledger->now_ms + RESEND_MS;
	ledger_arm(ledger, entry);
}

void
ledger_route(struct ledger *ledger, struct entry *entry)
{
	bool calling = entry->state == ENTRY_CALLING;

	entry->copies = 0;
	entry->acked = false;
	entry->at = choose(ledger, entry, calling ? ledger_usable(ledger) : ledger->up);
	if (entry->at == LINK_NONE)
		ledger_arm(ledger, entry);
	else if (calling)
		ledger_send_call(ledger, entry);
	else
		ledger_send_cancel(ledger, entry);
}
