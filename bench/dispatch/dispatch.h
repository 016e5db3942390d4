/* dispatch: what it costs to hand a job to a worker and have its answer, through a queue and nothing
 * else: 300 bytes there, 300 back, so many in flight. One queue, one worker, one client, each a
 * process. A job is its number and a filling, an answer is the job: each is checked. */
#ifndef DISPATCH_H
#define DISPATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "children.h"

#define DISPATCH_BYTES 300u

/* Fills with the job of that number. */
void dispatch_job(char job[DISPATCH_BYTES], size_t number);

/* Jobs under way, and their times. */
struct dispatch {
	size_t jobs, in_flight, sent, answered;
	double *began_ms;
	double *latencies_ms; /* in the order of the answers; NULL: nobody asks */
};

/* The number of the next job, which begins now; false: there is none to be sent now. */
bool dispatch_next(struct dispatch *dispatch, size_t *number_r);

/* Takes an answer; what is wrong with it ends the program. */
void dispatch_answer(struct dispatch *dispatch, const char *answer, size_t size);

/* One of the queues that are measured. */
struct dispatch_system {
	const char *name;
	/* Starts queue and worker; prepares the client. self: our own program, which is the worker when it is told
	 * "worker", the name and an endpoint. build: where those of the project are. */
	void (*start)(const char *self, const char *build, const char *folder,
	    struct child **queue_r, struct child **worker_r);
	/* Until all jobs of dispatch are answered. */
	void (*run)(struct dispatch *dispatch);
	void (*stop)(void);
	void (*worker)(const char *endpoint); /* ends by a signal */
};

extern const struct dispatch_system dispatch_fleet, dispatch_gearman, dispatch_beanstalk;

#endif
