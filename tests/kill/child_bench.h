/* child_bench: a fleet whose agents hand tasks to other agents. What works is the tool "work", which is not
 * idempotent: it notes that it has begun (ledger.h), and ends not before cb_let_go_on.
 *
 * "boss" gives one task to "worker", which works once and reports; "deep" gives one to an agent that gives one to
 * one that does; "wrapped" is boss, with wraps around the task that ask a model in front of it and behind it;
 * "forked" says "I have a plan." and gives a task to a fork, which works once and reports nothing;
 * "starts" sets "single" to work in the background; "pair" gives two at once; "failing" one, beside a call that fails when it may, and ends its
 * run then. */
#ifndef CHILD_BENCH_H
#define CHILD_BENCH_H

#include "storm.h"

#define CB_WAIT_MS 60000u

struct children {
	struct storm storm; /* arena, kit, client */
	const char *go_on, *fail;
	bool
	    unsent; /* who dies may have been about to send a work: it never begins, and its model is told */
	void (*play)(struct children *children);
};

/* Plays with so many coordinators, each with so many slots (NULL: as usual); each process must end with status 0. */
void cb_act(
    unsigned coordinators, const char *slots, void (*play)(struct children *children));

/* Lets the call that fails. */
void cb_let_fail(struct children *children);

/* Submits runs r1, r2, ... of agent on threads t1, t2, ... */
void cb_submit(struct children *children, const char *agent, unsigned count);
/* Waits until so many works have begun; with unsent, or until all has ended. */
void cb_wait_working(struct children *children, unsigned count);
void cb_let_go_on(struct children *children);
/* How many have begun; that one key has begun twice fails the test. */
unsigned cb_works(struct children *children);

const struct value *cb_record(
    struct children *children, const char *thread, const char *run);
/* Waits for the run's end on its thread, the one of its own name if it is a child. */
const struct value *cb_wait_end(struct children *children, const char *run);
void cb_check_status(struct children *children, const char *run, const char *status);
/* Asks for the run's end, and does not wait. */
void cb_cancel(struct children *children, const char *run);
/* What the run's thread says, as text. */
const char *cb_said(struct children *children, const char *run);

/* The runs of cb_submit have ended well: each of their tasks is answered once, by a report. */
void cb_check_reported(struct children *children, unsigned count, unsigned tasks);
/* Nothing is left in Redis that were for the time being. */
void cb_check_leftovers(struct children *children);

#endif
