/* load: submits runs to a fleet, keeps so many in flight, and takes the time of each from
 * the XADD to the event that says it has finished.
 *
 * Events come by the status channel, one subscription for all. It may drop: what is
 * silent for long is looked up in Redis. */
#ifndef LOAD_H
#define LOAD_H

#include <stddef.h>

#include "loop.h"

struct load;

/* Returns new: a client of the fleet behind the two endpoints, connected. */
struct load *load_new(struct loop *loop, const char *redis_url, const char *status);

/* Takes *load_p; the rig may be gone. */
void load_destroy(struct load **load_p);

struct load_result {
	double seconds;       /* from the first submission to the last end */
	double *latencies_ms; /* of each run, in ascending order; free() it */
	size_t runs;
	size_t unheard; /* ends that the status channel dropped */
};

/* Submits runs, of which in_flight are under way at any time, and returns when all have
 * ended. */
void load_run(
    struct load *load, size_t runs, size_t in_flight, struct load_result *result_r);

/* Reads every run of the last load_run from Redis. Returns how many have not succeeded
 * with exactly the messages they must have. */
size_t load_check(struct load *load);

/* Submits one run of input (JSON) on thread (lent until load_messages) and waits for its end.
 * Returns how long it took, in milliseconds. */
double load_turn(struct load *load, const char *thread, const char *input);

/* After each load_turn: how many messages its thread has now; 0 when the run has not
 * succeeded. */
size_t load_messages(struct load *load);

/* Submits runs without waiting for their ends: returns when Redis has them. */
void load_submit(struct load *load, size_t runs);

#endif
