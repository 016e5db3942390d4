/* suspects: runs that are taken over for the third time, without a step or an outcome in between. One of them may be what
 * takes its coordinators down; most only wait for a long call, and are there each time because another one is.
 *
 * A run ends as quarantined after five claims without progress (fl_claim), those of owners who come back not counted
 * (store/blame.lua). So that only who is to blame comes that far:
 *
 *	- A suspect is claimed when its turn has come: of those that are here for the third time some at once, of others one
 *	  alone, and none of these in a process's first second: so that what is not to blame goes on between two deaths.
 *	  The claim counts.
 *	- It *moves* while a fiber of it executes something of ours, and is *still* while all of them wait for what others
 *	  do: a call, a child, a service that nobody serves yet; or sleep. When it has been still for a while it *rests*: whatever
 *	  it asks of this process it has asked, and the process is alive. Redis is told (fl_attempts) that this claim is
 *	  none, and when its calls are sent, that those before it were none but the first two and the *late* ones, behind which it had
 *	  moved again: what comes before its calls takes nobody down. Its turn goes to the next one.
 *	- When what it waits for has come it takes its turn again, and its claims count again, all of them, before any of
 *	  it is read; this one is late, if it had sent its calls. So of many that take their coordinators down by an answer, each rests
 *	  while another one does, and is none the less found.
 *	- Progress ends it: a commit, or an outcome that is stored. So does its early end, which waits for no turn: its claims
 *	  count, and its turn is the next one's.
 *
 * So a coordinator's death counts for the suspects that moved, and not for those that rested or waited for their turn. A run that is no
 * suspect pays a comparison for this. All of it belongs to the loop's thread. */
#ifndef SUSPECTS_H
#define SUSPECTS_H

#include <stdint.h>

struct coordinator;
struct run;
struct store_claim;
struct suspects;

/* Claims of a run, without progress between them, that make nobody suspect it. */
#define SUSPECT_AFTER 2u

/* Returns new; keeps coordinator. */
struct suspects *suspects_new(struct coordinator *coordinator);
/* Ends its fiber: nobody is told to rest any more. */
void suspects_stop(struct suspects *suspects);
/* Takes *suspects_p; no run may be left. NULL is fine. */
void suspects_destroy(struct suspects **suspects_p);

/* For the fiber of a run whose next claim is the attempts-th: waits for its turn. From here on it moves. Returns 0, -1 when the
 * fiber was cancelled: it is no suspect then. */
int suspects_enter(struct run *run, uint64_t attempts);
/* It was claimed. */
void suspects_claimed(struct run *run, const struct store_claim *claim);
/* It has made progress, or leaves this process. Nothing for a run that is no suspect, as is all that follows. */
void suspects_leave(struct run *run);

/* It is to end before it is done, which may be what takes coordinators down: its claims count, all of them, whether its turn
 * has come or not. Others need not wait while it does. On a fiber in a shield. */
void suspects_end(struct run *run);

/* It is about to be given back, on a fiber in a shield: then this claim was none, nor a late one. */
void suspects_give_back(struct run *run);

/* Between these two the running fiber of run waits for what others do. Behind it the fiber goes on when its run moves, at once
 * when it is cancelled. Another owner of the run: it is given up (run_give_up). */
void suspects_wait(struct run *run);
/* The same where it waits for who serves what it is going to ask for. */
void suspects_wait_served(struct run *run);
void suspects_go_on(struct run *run);

/* A fiber more has begun to work for run, or one has ended. */
void suspects_fiber_begins(struct run *run);
void suspects_fiber_ends(struct run *run);

#endif
