/* ledger_table: the calls a ledger holds and the actions of its step. Private to it. */
#ifndef LEDGER_TABLE_H
#define LEDGER_TABLE_H

#include <sys/queue.h>

#include "heap.h"
#include "id_table.h"
#include "ledger.h"
#include "settled.h"

enum entry_state {
	ENTRY_CALLING,    /* its outcome is waited for */
	ENTRY_ANSWERED,   /* who waited has the outcome, which is not stored yet */
	ENTRY_CANCELLING, /* nobody waits, CANCEL is sent until it ends */
	ENTRY_OWED,       /* settled, but not all its holders know it */
	ENTRY_DOUBTED,    /* settled lately, and all were told; were they all heard? */
	ENTRY_STATES,
};

struct run_calls;

struct entry {
	struct id_key key;
	enum entry_state state;
	TAILQ_ENTRY(entry) link; /* of its state's list; dead: of dead */
	struct run_calls *calls; /* of its run, until it is settled; or NULL */
	TAILQ_ENTRY(entry) call_link;
	struct heap_node timer; /* CALLING, CANCELLING: when it wants attention */
	/* Of its CALL; a header has four times as many fields. Texts are behind id. */
	const char *run, *service, *tenant, *traceparent, *idempotency_key;
	uint64_t step, epoch, priority;
	unsigned flags;
	struct waiter *waiter; /* CALLING */
	struct cargo *cargo;   /* CALLING */
	size_t body_bytes;     /* in it */
	uint64_t deadline_ms;  /* CALLING: the call's; else: then it is given up */
	uint64_t next_ms;      /* when to send (again) */
	uint32_t at;           /* CALLING, CANCELLING: the link it is at, or LINK_NONE */
	link_set holders;      /* whose brokers may have it; OWED: who are to be told */
	link_set doubted;      /* OWED, DOUBTED: who were told until doubt_ms */
	uint64_t doubt_ms;
	unsigned copies; /* CALLs sent by at since it is up, and not refused */
	bool acked;      /* the broker has it, as long as the session lasts */
	bool unsure;     /* some broker may know it: flag it when it is sent */
	char id[];
};
TAILQ_HEAD(entry_list, entry);

/* A run's calls that are not settled; lives while there are any. */
struct run_calls {
	struct id_key key;
	struct entry_list entries;
	size_t cancelling; /* of these */
	char run[];
};

struct ledger {
	uint64_t identities[BROKERS_MAX];
	uint32_t link_count;
	link_set up, leaving; /* leaving: of those up */
	struct id_table *ids, *runs;
	struct entry_list lists[ENTRY_STATES]; /* oldest first */
	size_t counts[ENTRY_STATES];
	struct settled *forgotten; /* their outcomes are for somebody else */
	struct heap timers;
	uint64_t now_ms;

	struct ledger_action *actions;
	size_t action_count, action_room;
	struct entry_list dead; /* the actions point to them */
};

/* Appends an empty action of type, lent until the next. */
struct ledger_action *ledger_act(struct ledger *ledger, enum ledger_action_type type);

/* Sends a message about a call on every link of links. header lends id, run, epoch. */
void ledger_tell(struct ledger *ledger, link_set links, enum message_type type,
    const struct header *header);
/* The same about entry's. */
void ledger_tell_of(struct ledger *ledger, link_set links, enum message_type type,
    const struct entry *entry);

/* Takes entry's cargo, if it has any, out of it. */
void ledger_free_cargo(struct ledger *ledger, struct entry *entry);

/* Returns the new, calling entry of call, in the tables. */
struct entry *ledger_entry_new(struct ledger *ledger, const struct header *call);
/* As it is sent, but for its deadline. Lent by entry. */
struct header ledger_entry_header(const struct entry *entry);
void ledger_entry_move(
    struct ledger *ledger, struct entry *entry, enum entry_state state);
/* Out of the tables, without a word to the brokers; freed in the next step. Its waiter is
 * revoked. */
void ledger_entry_forget(struct ledger *ledger, struct entry *entry);
void ledger_free_dead(struct ledger *ledger);
/* Lends what there is of run, or NULL; it goes with its last entry. */
struct run_calls *ledger_run(const struct ledger *ledger, const char *run);

/* --- ledger_send.c -------------------------------------------------------------------- */

/* After a call's deadline the broker says so; this is how long we wait for that. */
#define SILENCE_MS (EXPIRE_GRACE_MS + 2 * RESEND_MS)

/* Links that take new calls. */
link_set ledger_usable(const struct ledger *ledger);
/* Sets the timer by entry's state and times. */
void ledger_arm(struct ledger *ledger, struct entry *entry);
void ledger_send_call(struct ledger *ledger, struct entry *entry);
/* To all who may have the call, and to where it would be asked for: its worker may have
 * announced it there. */
void ledger_send_cancel(struct ledger *ledger, struct entry *entry);
/* Gives entry, which is at no link, to the first that can take it. */
void ledger_route(struct ledger *ledger, struct entry *entry);

/* --- ledger_settle.c ------------------------------------------------------------------ */

/* Nobody needs entry any more: says so to all that may have it, and remembers those that
 * cannot be told now. */
void ledger_settle(struct ledger *ledger, struct entry *entry);
/* Tells links, and waits for those of its holders that are left. */
void ledger_tell_settled(struct ledger *ledger, struct entry *entry, link_set links);
/* The broker of link is lost, and may not have heard that entry is settled. The worker then
 * announces the call where it can: to all that are up, or to the first that comes. */
void ledger_settle_again(struct ledger *ledger, struct entry *entry, uint32_t link);
/* Forgets what was settled long ago. */
void ledger_forget_settled(struct ledger *ledger);

#endif
