/* outbox: what a worker knows of its calls, as a pure state machine: event and time in,
 * actions out. No socket, fiber or clock inside: worker.c and the simulator feed it alike.
 *
 *	running ──ended──▶ finished ──RESULT_ACK──▶ forgotten
 *
 * What it promises, whatever comes in: a call id that is here is not started again; a
 * result is kept and sent again until it is acknowledged; a call that must not run twice
 * (WIRE_ONCE) does not, though its result is long acknowledged. */
#ifndef OUTBOX_H
#define OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire.h"

struct outbox;
struct parcel; /* the worker's: a RESULT's body; the outbox never looks inside */

enum outbox_event_type {
	OUTBOX_MESSAGE, /* header: CALL, CANCEL or RESULT_ACK */
	OUTBOX_ENDED, /* call_id ended: parcel, interrupted (it was stopped in the middle) */
	OUTBOX_NOT_STARTED, /* call_id: the START before this could not be done */
	OUTBOX_UP,          /* the session is open, for the first time or again */
	OUTBOX_TICK,
	OUTBOX_DRAIN, /* no more calls; DRAINED follows within drain_ms */
};

struct outbox_event {
	enum outbox_event_type type;
	const struct header *header; /* borrowed for the step and its actions */
	const char *call_id;
	bool interrupted;
	struct parcel *parcel; /* taken, or NULL */
	uint64_t drain_ms;
};

enum outbox_action_type {
	OUTBOX_SEND,    /* header, and parcel as its body */
	OUTBOX_START,   /* run the call of the event's message; ENDED follows some time */
	OUTBOX_STOP,    /* stop header.call_id; ENDED follows some time */
	OUTBOX_FREE,    /* parcel is nobody's any more */
	OUTBOX_DRAINED, /* nothing is left here */
};

struct outbox_action {
	enum outbox_action_type type;
	struct header header;
	struct parcel
	    *parcel; /* lent for this action but for FREE, which gives it back */
};

struct outbox_actions {
	const struct outbox_action *items;
	size_t count;
};

/* Returns a new outbox of a worker with capacity slots. */
struct outbox *outbox_new(uint32_t capacity, uint64_t seed);

/* Takes *outbox_p; gives every parcel to drop (which may be NULL). NULL is fine. */
void outbox_destroy(struct outbox **outbox_p, void (*drop)(struct parcel *parcel));

/* Moves on by one event. now_ms is monotonic. The actions are lent until the next step. */
struct outbox_actions outbox_step(
    struct outbox *outbox, const struct outbox_event *event, uint64_t now_ms);

/* Fills load, credit and capacity, for HELLO and PING. */
void outbox_report(const struct outbox *outbox, struct header *header);

size_t outbox_running(const struct outbox *outbox);
size_t outbox_finished(const struct outbox *outbox);
/* Results given up unacknowledged because there were OUTBOX_RESULTS_MAX newer ones. */
uint64_t outbox_lost(const struct outbox *outbox);

#endif
