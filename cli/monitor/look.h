/* look: one look at the whole fleet, the brokers' tables and what Redis counts, on connections of its
 * own: that one of them is away is something to show. For `top` and `metrics`. */
#ifndef LOOK_H
#define LOOK_H

#include "command.h"
#include "top_screen.h"

struct look;

/* Returns new: connects to Redis and to every broker of the session, and connects again for as long
 * as it lives. It loads no library of functions: who looks for days may be older than the fleet.
 * NULL after saying why. */
struct look *look_new(struct session *session);

/* Takes *look_p. NULL is fine. */
void look_destroy(struct look **look_p);

/* Asks all of them at once and waits, on a fiber, until each has answered or wait_ms are over: what
 * has not answered by then is away. Fills *seen_r, with a new arena that the caller destroys in any
 * case. Returns 0, or -1 when the fiber was cancelled. */
int look_take(struct look *look, uint64_t wait_ms, struct top_look *seen_r);

/* Says on stderr what makes a look useless for who asks once, no broker or no Redis, and returns
 * STATUS_UNREACHABLE; else STATUS_OK. */
enum status look_judge(struct look *look, const struct top_look *seen);

#endif
