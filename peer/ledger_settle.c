/* ledger_settle: who is told that a call is settled, now or later. */
#include "ledger_table.h"

/* A broker that is lost so soon after it was told may not have heard it: what a frozen one
 * was sent before its silence was noticed. */
#define DOUBT_MS (UINT64_C(2) * LIVENESS_MS)

static void
drop_oldest(struct ledger *ledger, enum entry_state state, size_t max)
{
	if (ledger->counts[state] > max)
		ledger_entry_forget(ledger, TAILQ_FIRST(&ledger->lists[state]));
}

void
ledger_tell_settled(struct ledger *ledger, struct entry *entry, link_set links)
{
	ledger_tell_of(ledger, links, MSG_RESULT_ACK, entry);
	entry->holders &= ~links;
	entry->doubted |= links;
	entry->doubt_ms = ledger->now_ms + DOUBT_MS;
	if (entry->holders == 0 && entry->doubted == 0) {
		ledger_entry_forget(ledger, entry);
	} else if (entry->holders == 0) {
		ledger_entry_move(ledger, entry, ENTRY_DOUBTED);
		entry->deadline_ms = entry->doubt_ms;
		drop_oldest(ledger, ENTRY_DOUBTED, LEDGER_DOUBTED_MAX);
	} else if (entry->state != ENTRY_OWED) {
		ledger_entry_move(ledger, entry, ENTRY_OWED);
		entry->deadline_ms = ledger->now_ms + RESULT_KEEP_MS;
		drop_oldest(ledger, ENTRY_OWED, LEDGER_OWED_MAX);
	}
}

void
ledger_settle(struct ledger *ledger, struct entry *entry)
{
	ledger_tell_settled(ledger, entry, entry->holders & ledger->up);
}

void
ledger_settle_again(struct ledger *ledger, struct entry *entry, uint32_t link)
{
	bool doubt =
	    (entry->doubted & LINK_BIT(link)) != 0 && ledger->now_ms < entry->doubt_ms;

	entry->doubted &= ~LINK_BIT(link);
	if (!doubt)
		return;
	entry->holders |=
	    ledger->up != 0 ? LINK_BIT(link) : LINK_BIT(ledger->link_count) - 1;
	ledger_tell_settled(ledger, entry, ledger->up);
}

/* The list is in the order of the deadlines. */
static void
forget_old(struct ledger *ledger, enum entry_state state)
{
	struct entry *entry;

	while ((entry = TAILQ_FIRST(&ledger->lists[state])) != NULL &&
	       entry->deadline_ms <= ledger->now_ms)
		ledger_entry_forget(ledger, entry);
}

void
ledger_forget_settled(struct ledger *ledger)
{
	forget_old(ledger, ENTRY_OWED);
	forget_old(ledger, ENTRY_DOUBTED);
}
