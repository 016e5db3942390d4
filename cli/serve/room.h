/* room: few calls at a time hold what may be large, a thread's state or a list of them; others wait for that, and hold nothing.
 * Without it a thousand who ask at once, or wait for the same run, would each hold as much. */
#ifndef SERVE_ROOM_H
#define SERVE_ROOM_H

#include "api.h"

/* Waits for a place among those who read states, and until enough of what was answered is taken. A STORE_OK is given back by
 * room_leave_state; else STORE_CANCELLED, or STORE_REJECTED: too much is going on. */
enum store_status room_for_state(struct call *call);
void room_leave_state(struct call *call);

/* From now on a place that is given back is kept, and given again, until it is let go: of who holds what he has read, and reads more
 * before he lets that go. */
void room_keep_state(struct call *call);
void room_let_go_state(struct call *call);

/* The same among those who make a list of what is large. Its states want a place of their own. */
enum store_status room_for_list(struct call *call);
void room_leave_list(struct call *call);
/* Has make answer call in such a place; answers itself where there is none. What is the name of what is listed, for that. */
void room_in_list(struct call *call, const char *what, void (*make)(struct call *call));
/* The same among searches by meaning, which wait for a model: lists are not to wait with them. */
void room_in_search(struct call *call, const char *what, void (*make)(struct call *call));

#endif
