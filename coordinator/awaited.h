/* awaited: who of this process waits for the end of which run: fibers of parents, for children that most
 * often run here, too. What ends elsewhere is found by looking from time to time. */
#ifndef AWAITED_H
#define AWAITED_H

#include <stdbool.h>
#include <stdint.h>

struct coordinator;
struct run;

/* Waits, on a fiber of the run `waits`, for run's end, at most ms; while it does, waits counts for no room
 * (coordinator_hold): or children would find none. Returns 0, which may be spurious, 1 when the time is
 * over, -1 when the fiber was cancelled. */
int awaited_wait(
    struct coordinator *coordinator, struct run *waits, const char *run, uint64_t ms);

/* run has ended here. */
void awaited_ended(struct coordinator *coordinator, const char *run);

#endif
