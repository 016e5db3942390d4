/* awaited: who of this process waits for the end of which run: fibers of parents, for children that most
 * often run here, too. What ends elsewhere is found by looking from time to time. */
#ifndef AWAITED_H
#define AWAITED_H

#include <stdbool.h>
#include <stdint.h>

struct coordinator;
struct run;

/* From here to there a fiber of run waits for children: run takes no room (coordinator_room), or they would
 * find none. */
void awaited_begin(struct run *run);
void awaited_end(struct run *run);

/* Waits for run's end, at most ms. Returns 0, which may be spurious, 1 when the time is over, -1 when the fiber was
 * cancelled. */
int awaited_wait(struct coordinator *coordinator, const char *run, uint64_t ms);

/* run has ended here. */
void awaited_ended(struct coordinator *coordinator, const char *run);

#endif
