/* asking: 50 runs of one effect each that ask a human once, on a real fleet: in a hook before their
 * effect and in one behind it, in a wrap around the call that has it, in the tool itself, and by
 * human_in_the_loop in each of its forms. What goes wrong meanwhile is the test's; each run must end
 * with the answer it was given, and have had its effect once. */
#ifndef ASKING_H
#define ASKING_H

#include "storm.h"

struct asking {
	struct storm storm; /* kit, client, runs; two coordinators */
	bool once;          /* the tools are not idempotent */
	bool worker_dies;   /* a tool worker, while it runs a call that was answered */
	void (*play)(struct asking *asking);

	const char *hold; /* while this file is there, no effect ends */
	bool
	    lost[STORM_RUNS + 1]; /* the model was told that its call's fate is unknown */
};

/* Starts a fleet with so many tool workers, plays, stops it: each process must end with status 0. */
void asking_play(struct asking asking, unsigned tool_workers);

/* Submits the runs r1, ... on the threads t1, ...; waits until all of them wait for an answer. */
void asking_ask(struct asking *asking);
void asking_wait_asked(struct asking *asking);

/* Submits the answers, as the runs a1, ..., which are those looked at from now on. */
void asking_answer(struct asking *asking);

/* Effects that begin from now on do not end before asking_let_go_on. */
void asking_hold(struct asking *asking);
void asking_let_go_on(struct asking *asking);

/* Both, and waits until that tool worker has begun a call that was answered. */
void asking_answer_until_begun(struct asking *asking, unsigned worker);

/* Waits until so many runs that were begun have that status. */
void asking_wait_status(struct asking *asking, const char *status, unsigned wanted);

/* Waits for the ends. Fails the test unless each answer got where it was asked for, the effects
 * were had once, and threads, logs and Redis are as they are when nothing happens (verdict.h). A
 * call that must not run twice may be told as lost: when a worker dies, or when it never began. */
void asking_check(struct asking *asking);

#endif
