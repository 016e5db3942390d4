/* ledger: calls of ours, as a pure state machine: event and time in, actions out. No
 * socket, fiber or clock inside: caller.c and the simulator feed it alike.
 *
 *	calling ──RESULT──▶ answered ──STORED──▶ settled, and remembered for a while:
 *	   └────CANCEL───▶ cancelling ──RESULT──▶ settled   brokers that are away, or are
 *	                            lost before they can have heard of it, are told later
 *
 * What it promises, whatever comes in:
 *  - a call is sent again until CALL_ACK or RESULT, under the same id, and from the second
 *    time on flagged WIRE_RESEND, but for copies that a broker has refused;
 *  - it stays at its link until that goes down, then goes to the next in its run's order
 *    (rendezvous.h); a link that comes back, or that a broker is leaving, gets nothing
 *    that is elsewhere or new, respectively;
 *  - exactly one outcome reaches who waits; RESULT_ACK is said only for what is stored,
 *    or wanted by nobody, and to every broker that may have the call;
 *  - what was forgotten or disowned is never acknowledged: it is another owner's. */
#ifndef LEDGER_H
#define LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rendezvous.h"
#include "wire.h"

struct ledger;
struct cargo;  /* the program's: a CALL's bodies; the ledger never looks inside */
struct waiter; /* the program's: who waits for an outcome */

enum ledger_event_type {
	LEDGER_CALL, /* header (as of a CALL; deadline_ms from now), waiter, cargo. An id
			that is here already is called anew: its waiter is revoked */
	LEDGER_CANCEL,  /* id: its waiter has left, or is about to */
	LEDGER_MESSAGE, /* link, header: CALL_ACK, BUSY, RELEASE or RESULT */
	LEDGER_UNSENT,  /* id: the CALL of the step before this could not go out */
	LEDGER_UP,      /* link: the session is open, for the first time or again */
	LEDGER_LEAVING, /* link: its broker goes soon; what it has still comes */
	LEDGER_DOWN,    /* link */
	LEDGER_STORED,  /* id: its outcome is stored, or nobody wants it */
	LEDGER_FORGET,  /* id: another owner has it */
	LEDGER_DISOWN,  /* id: a run's; the same for all its calls */
	LEDGER_TICK,    /* at least every LEDGER_TICK_MS while ledger_pending */
};
#define LEDGER_TICK_MS 50u

struct ledger_event {
	enum ledger_event_type type;
	uint32_t link;
	const struct header *header; /* borrowed for the step and its actions */
	const char *id;
	struct waiter *waiter; /* kept until DELIVER, REVOKE or CANCEL; may be NULL */
	struct cargo *cargo;   /* taken, or NULL */
	size_t body_bytes;     /* in it */
};

enum ledger_action_type {
	LEDGER_SEND,    /* header, with cargo as its bodies, on link */
	LEDGER_DELIVER, /* to waiter: header's code and reason. Of a RESULT, then the
			   bodies are the event's; or of the ledger's own, without any */
	LEDGER_REVOKE,  /* waiter: there is no outcome for it any more */
	LEDGER_ENDED,   /* header.run, call_id: a cancelled call is under way no more; or,
			   with code EXPIRED, nobody has said so in time */
	LEDGER_FREE,    /* cargo is nobody's any more */
};

struct ledger_action {
	enum ledger_action_type type;
	uint32_t link;
	struct header header;
	struct waiter *waiter;
	struct cargo *cargo; /* lent for this action but for FREE, which gives it back */
};

struct ledger_actions {
	const struct ledger_action *items;
	size_t count;
};

/* Returns a new ledger over link_count links (1 to BROKERS_MAX), all of them down.
 * identities: rendezvous_identity of each; copied. */
struct ledger *ledger_new(const uint64_t *identities, uint32_t link_count, uint64_t seed);

/* Takes *ledger_p; gives every cargo to drop (which may be NULL). NULL is fine. */
void ledger_destroy(struct ledger **ledger_p, void (*drop)(struct cargo *cargo));

/* Moves on by one event. now_ms is monotonic. The actions are lent until the next step. */
struct ledger_actions ledger_step(
    struct ledger *ledger, const struct ledger_event *event, uint64_t now_ms);

/* Calls without outcome, cancelled ones among them. */
size_t ledger_pending(const struct ledger *ledger);

/* True when call id waits to be sent as one that nobody has seen: it has not gone out yet, or has come back. */
bool ledger_is_unsent(const struct ledger *ledger, const char *id);

/* True while one of run's cancelled calls is under way. */
bool ledger_is_cancelling(const struct ledger *ledger, const char *run);

/* The link a new call of run would take, or LINK_NONE. */
uint32_t ledger_link(const struct ledger *ledger, const char *run);

/* Settled calls that links which are down have yet to be told of. */
size_t ledger_owed(const struct ledger *ledger);

#endif
