/* arrival: a submission that is claimed in the step that queues it, where its thread is free.
 *
 * The run's fiber is there before Redis is asked, and waits for the answer, so that nobody else in this
 * process claims the thread. It is the fiber of the inbox's entry that asks, and those of a thread are one behind
 * the other: submissions reach a thread in their order. */
#ifndef ARRIVAL_H
#define ARRIVAL_H

#include "store.h"

struct arrival;
struct coordinator;
struct run;

/* Submits only. Answers as store_arrive. why_r, with STORE_REJECTED: the reason, with STORE_TAKEN: whose it is, in
 * arena. */
enum store_status arrival_queue(struct coordinator *coordinator, struct arena *arena,
    const struct store_newcomer *comer, const char **why_r);

/* The same, and claims: the run goes on, or waits for its thread. */
enum store_status arrival_submit(struct coordinator *coordinator, struct arena *arena,
    const struct store_newcomer *comer, const char **why_r);

/* What run, which has an arrival, claims first, in run->arena: that one, or what waits before it. Not cut
 * short by a cancel. */
enum store_status arrival_claim(struct run *run, struct store_claim *claim_r);

/* run ends without having claimed its arrival, if it has one: when our lease ends, others will. */
void arrival_leave(struct run *run);

#endif
