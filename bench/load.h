/* load: submits runs to a fleet, keeps so many in flight or so many a second, and takes the
 * time of each from the XADD to the event that says it has finished.
 *
 * Events come by the status channel, one subscription for all. It may drop: what is
 * silent for long is looked up in Redis. */
#ifndef LOAD_H
#define LOAD_H

#include <stddef.h>

#include "loop.h"

struct load;

/* What every run is, and what it must have become. */
struct load_kind {
	bool is_watched;      /* all its events are listened to, not its end alone */
	bool stream;          /* its tokens go to the status channel; is_watched, too */
	size_t input_bytes;   /* 0: a question */
	size_t rounds;        /* of tool calls */
	size_t parallel;      /* tool calls in each */
	size_t content_bytes; /* of each of the model's messages; 0: any */
	const char *answer;   /* of the tool; NULL: content_bytes of any */
	double pace_ms;       /* how long the model alone takes for a run */
};

/* That of bench/agent.yaml with the model server's own answers. */
extern const struct load_kind load_usual;

/* Returns new: a client of the fleet behind Redis and the status endpoints (NULL-ended),
 * connected. kind is copied. */
struct load *load_new(struct loop *loop, const char *redis_url,
    const char *const status[], const struct load_kind *kind);

/* Takes *load_p; the rig may be gone. */
void load_destroy(struct load **load_p);

struct load_result {
	double seconds;       /* from the first submission to the last end */
	double *latencies_ms; /* of each run, in ascending order; free() it */
	size_t runs;
	size_t unheard; /* ends that the status channel dropped */
	size_t tokens;  /* that it brought */
};

/* Submits runs, of which in_flight are under way at any time, and returns when all have
 * ended. */
void load_run(
    struct load *load, size_t runs, size_t in_flight, struct load_result *result_r);

/* As load_run, with so many runs a second, however many that are in flight. Each is read
 * back when it has ended: load_wrong says how many have not ended as they must. */
void load_pace(
    struct load *load, size_t runs, double runs_per_s, struct load_result *result_r);
size_t load_wrong(const struct load *load);

/* Reads every run of the last load_run from Redis. Returns how many have not succeeded
 * with exactly the messages they must have, and says of some what they have. */
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
