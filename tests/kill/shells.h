/* shells: 24 runs on a real fleet, of an agent with every built-in middleware, each with a shell of
 * its own and one call that a human approves. What goes wrong meanwhile is the test's.
 *
 *	model ── shell: X=kept, and a program in the background
 *	model ── calculate, which waits for a human; shell: says X ("held")
 *	model ── shell: says X again
 *	model ── shell: restart
 *	model ── shell: says X, which is gone
 *
 * A run whose shell's worker dies is told so, and goes on with the shell it asks for. */
#ifndef SHELLS_H
#define SHELLS_H

#include "storm.h"

#define SHELLS_RUNS 24u

struct shells {
	struct storm storm; /* kit, client, runs; two coordinators, two tool workers */
	void (*play)(struct shells *shells);

	const char *hold; /* while this file is there, no "held" command ends */
	const char
	    *mark;     /* what shells and all that they start have in their environment */
	unsigned lost; /* runs whose shell was on a tool worker that died */
};

/* Starts a fleet, plays, stops it: each process must end with status 0. */
void shells_play(struct shells shells);

/* Submits the runs and waits until all of them wait for a human. */
void shells_ask(struct shells *shells);

/* Approves all; the runs looked at from now on are those that go on. */
void shells_approve(struct shells *shells);

/* The same, and waits until "held" and what was approved have begun in all runs: none of the former
 * ends before shells_let_go_on. */
void shells_approve_until_held(struct shells *shells);
void shells_let_go_on(struct shells *shells);

/* SIGKILL to tool worker 0, which has shells, and another of its name. */
void shells_kill_worker(struct shells *shells);

/* Waits for the ends. Fails the test unless each run has all its messages, nothing was done twice,
 * who lost his shell was told so, and nobody else; and of shells, what they started and their folders
 * nothing is left. */
void shells_check(struct shells *shells);

#endif
