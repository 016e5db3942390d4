/* outbox: what a worker knows of its calls, as a pure state machine: event and time in,
 * actions out. No socket, fiber or clock inside: worker.c and the simulator feed it alike.
 *
 *	running ──ended──▶ finished ──RESULT_ACK──▶ forgotten
 *
 * What it promises, whatever comes in and by whichever of its links:
 *  - a call id that is here is not started again; a call that must not run twice
 *    (WIRE_ONCE) is not, though its result is long acknowledged;
 *  - a result is kept and sent again until it is acknowledged, to every broker that knows
 *    the call: by whom it came, or whom it was announced to. The first RESULT_ACK settles
 *    it; the others are told;
 *  - while any link is up, a broker knows of each call: when a link goes down its calls
 *    are announced at the others;
 *  - all links share one pool of slots; what comes when it is used up is answered BUSY. */
#ifndef OUTBOX_H
#define OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rendezvous.h"
#include "wire.h"

struct outbox;
struct parcel; /* the worker's: a RESULT's body; the outbox never looks inside */

enum outbox_event_type {
	OUTBOX_MESSAGE, /* link, header: CALL, CANCEL, RESULT_ACK, SEEK or PROBE */
	OUTBOX_ENDED, /* call_id ended: parcel, interrupted (it was stopped in the middle), lost
			 (a call of its own was: nobody knows what that did) */
	OUTBOX_PROBED,      /* link, call_id: the START_PROBE went the way of calls */
	OUTBOX_NOT_STARTED, /* call_id: the START before this could not be done */
	OUTBOX_UP,          /* link: the session is open, for the first time or again */
	OUTBOX_DOWN,        /* link */
	OUTBOX_TICK,
	OUTBOX_DRAIN, /* no more calls; DRAINED follows within drain_ms */
};

struct outbox_event {
	enum outbox_event_type type;
	uint32_t link;
	const struct header *header; /* borrowed for the step and its actions */
	const char *call_id;
	bool interrupted, lost;
	struct parcel *parcel; /* taken, or NULL */
	size_t body_bytes;     /* in it */
	uint64_t drain_ms;
};

enum outbox_action_type {
	OUTBOX_SEND,  /* header, and parcel as its body, on link */
	OUTBOX_START, /* run the call of the event's message; ENDED follows some time */
	OUTBOX_START_PROBE, /* do as for a call, then feed PROBED; or drop it */
	OUTBOX_STOP,        /* stop header.call_id; ENDED follows some time */
	OUTBOX_FREE,        /* parcel is nobody's any more */
	OUTBOX_DRAINED,     /* nothing is left here */
};

struct outbox_action {
	enum outbox_action_type type;
	uint32_t link;
	struct header header;
	struct parcel
	    *parcel;  /* lent for this action but for FREE, which gives it back */
	bool goes_on; /* of STOP: elsewhere; the calls that it has made are that one's */
};

struct outbox_actions {
	const struct outbox_action *items;
	size_t count;
};

/* Returns a new outbox of a worker with capacity slots; links are below BROKERS_MAX, all
 * of them down. */
struct outbox *outbox_new(uint32_t capacity, uint64_t seed);

/* Takes *outbox_p; gives every parcel to drop (which may be NULL). NULL is fine. */
void outbox_destroy(struct outbox **outbox_p, void (*drop)(struct parcel *parcel));

/* Moves on by one event. now_ms is monotonic. The actions are lent until the next step. */
struct outbox_actions outbox_step(
    struct outbox *outbox, const struct outbox_event *event, uint64_t now_ms);

/* Fills load, credit, capacity and oldest_ms, for HELLO and PING. */
void outbox_report(const struct outbox *outbox, struct header *header);

size_t outbox_running(const struct outbox *outbox);
size_t outbox_finished(const struct outbox *outbox);
/* Results given up unacknowledged because there were OUTBOX_RESULTS_MAX newer ones. */
uint64_t outbox_lost(const struct outbox *outbox);

#endif
