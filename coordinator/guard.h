/* guard: the coordinator's eye on Redis: whether it can be trusted with runs, and has room for
 * more of them.
 *
 * It ends the process at the first look when Redis would throw runs away or does not let us in.
 * Later it closes the inbox, for as long as Redis is nearly full or refuses to write, and tells
 * the log and the status channel (coordinator.<name>.redis). What runs goes on meanwhile. */
#ifndef GUARD_H
#define GUARD_H

#include <stdbool.h>
#include <stddef.h>

struct coordinator;
struct guard;

/* Returns new; keeps coordinator. */
struct guard *guard_new(struct coordinator *coordinator);
/* Ends its fiber; it may look no more. */
void guard_stop(struct guard *guard);
void guard_destroy(struct guard **guard_p);

/* Runs the loop until Redis has been looked at, for at most 2 s: a Redis that is late is
 * looked at when it comes. */
void guard_wait(struct guard *guard);

/* Fills text with what is wrong with Redis although it answers; false when nothing is. */
bool guard_trouble(const struct guard *guard, char *text, size_t size);

/* Whether submissions may be taken from the inbox. */
bool guard_admits(const struct guard *guard);
/* Whether threads may be claimed. */
bool guard_claims(const struct guard *guard);

#endif
