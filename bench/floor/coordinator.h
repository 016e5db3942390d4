/* coordinator: the floor's, and what makes the runs: it begins them itself, so many in flight. A
 * run is 8 commits, a call behind each but the last: model, tools, model ... model. */
#ifndef FLOOR_COORDINATOR_H
#define FLOOR_COORDINATOR_H

#include <stddef.h>

struct coordinator;

/* Returns new, connected; the function library is loaded into Redis. */
struct coordinator *coordinator_new(const char *redis_path, const char *endpoint);
void coordinator_destroy(struct coordinator **coordinator_p);

/* Runs so many to their ends. Their times, ascending, go to latencies_ms (lent; NULL: nobody
 * asks). Returns the seconds it took. */
double coordinator_run(
    struct coordinator *coordinator, size_t runs, size_t in_flight, double *latencies_ms);

/* Begins so many, and returns when all have called the model. */
void coordinator_begin(struct coordinator *coordinator, size_t runs);

/* Reads the last coordinator_run's threads from Redis: each must have its 8 messages, the right answers
 * among them. Returns how many have not. */
size_t coordinator_check(struct coordinator *coordinator);

#endif
