/* verdict: what must hold after a storm, whatever it was:
 *
 * - every run has ended with success, with exactly the messages of an undisturbed run
 * - its event log is numbered 1, 2, ... and tells each superstep once, in order
 * - its thread's checkpoints are versions 1, 2, ..., which hold all the messages
 * - Redis keeps nothing that was for the time being: no stored outcomes, no due threads, no
 *   leases, no wishes to cancel, nothing in the inbox
 * - no call that must not has started twice */
#ifndef VERDICT_H
#define VERDICT_H

#include "storm.h"

/* Events of a whole run: queued, started, five supersteps, finished. */
#define VERDICT_EVENTS 8u

/* What run number is asked. */
const char *verdict_input(struct arena *arena, unsigned number);

/* Fails the test unless all of it holds. */
void verdict_check(struct storm *storm);

#endif
