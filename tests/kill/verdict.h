/* verdict: what must hold after a storm, whatever it was:
 *
 * - every run has ended with success, with exactly the messages of an undisturbed run
 * - its event log is numbered 1, 2, ... and tells each superstep once, in order
 * - its thread's checkpoints are versions 1, 2, ..., which hold all the messages
 * - Redis keeps nothing that was for the time being: no key but those of history, nothing in the
 *   inbox, no reader of it that has gone
 * - every call of a tool has started, or the model was told that nobody knows: while no worker
 *   dies, one of the two
 * - no call that must not has started twice */
#ifndef VERDICT_H
#define VERDICT_H

#include "storm.h"

/* Events of a whole run: queued, started, five supersteps, finished; and with every middleware about
 * how many more, its hooks. */
#define VERDICT_EVENTS 8u
#define VERDICT_HOOKS 27u
unsigned verdict_events(const struct storm *storm);

/* What run number is asked. */
const char *verdict_input(struct arena *arena, unsigned number);

/* Fails the test unless all of it holds. */
void verdict_check(struct storm *storm);

/* Parts of it, for storms of other runs: the checkpoints of the thread, which is as store_thread
 * gives it; and what Redis keeps. */
void verdict_history(struct storm *storm, unsigned number, const struct value *thread);
void verdict_leftovers(struct storm *storm);

/* Waits until no broker that runs knows of any call: nothing was left behind at one when its
 * calls went on by another. */
void verdict_brokers(struct storm *storm);

#endif
