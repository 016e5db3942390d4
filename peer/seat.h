/* seat: a tool's call that may have other agents do something (middleware.h, tool_child), with wraps around it.
 *
 * Such a call ends with what is wanted, and another one goes on with what came of it, minutes later maybe. The
 * wraps are to see one call: so they run on a fiber of their own, which keeps its place while no call is there,
 * and goes on where it was when the other one comes. It is a convenience, nothing hangs on it: a place can be
 * lost at any moment, with this worker or for room, and then the wraps run once more from their first line, with
 * what came of the children so far. */
#ifndef SEAT_H
#define SEAT_H

#include "worker.h"

struct seat;
struct seats;

/* Returns new. worker: the session that calls which go on are to be sent to; copied. */
struct seats *seats_new(struct loop *loop, const char *worker);
/* No place is kept from now on, and those that are kept are lost. */
void seats_close(struct seats *seats);
/* Calls ended(arg) once the fibers of all seats have ended: at once if they have. Behind seats_close, when the
 * worker has no call any more. */
void seats_end(struct seats *seats, void (*ended)(void *arg), void *arg);
/* Takes *seats_p, closed; their fibers have ended. NULL is fine. */
void seats_destroy(struct seats **seats_p);

/* What runs a chain, for a worker. All of it is called on the chain's fiber, or a call's. */
struct seat_work {
	void *job; /* the worker's; done frees it */
	/* Runs the chain for profile and request, in arena, all the seat's. Its backend's await_child is to be
	 * seat_await. */
	const struct value *(*run)(void *job, struct seat *seat, struct arena *arena,
	    const struct value *profile, const struct value *request);
	/* From now on call is there; NULL: none is, and nothing may be asked of anybody. What is in a call's arena
	 * goes with it: run's keeps what the chain is given. */
	void (*attach)(void *job, struct worker_call *call);
	void (*done)(void *job);
};

/* For calls that may need a place (chain_may_wait), others may have one. Runs work's chain until it has ended or wants a child. Returns the RESULT's body, in call's arena. */
const struct value *seat_begin(
    struct seats *seats, struct worker_call *call, const struct seat_work *work);

/* The same of the chain whose place is kept for call, or NULL: none is. seats NULL: none ever. A call of the id
 * that is waited for, but another one, runs as any, and the place is lost. */
const struct value *seat_go_on(struct seats *seats, struct worker_call *call);

/* Waits for the call that goes on; returns what came of the child of that index, or NULL: it will not come
 * here. */
const struct value *seat_await(struct seat *seat, const struct value *ask, size_t index);

#endif
