/* gate: lets a bounded number of fibers through at a time, first come, first served. */
#ifndef GATE_H
#define GATE_H

#include <stdint.h>
#include <sys/queue.h>

TAILQ_HEAD(gate_queue, gate_waiter);

struct gate {
	uint64_t room; /* 0: no bound */
	uint64_t inside;
	struct gate_queue waiting;
};

void gate_init(struct gate *gate, uint64_t room);

/* From now on it has this room. Who is inside stays, also when that is too many. */
void gate_resize(struct gate *gate, uint64_t room);

/* Waits for a place, on a fiber. Returns 0, and gate_leave gives it back; -1 when the
 * fiber was cancelled: no place is held. */
int gate_enter(struct gate *gate);
/* The same for at most ms: 1 when that is over. */
int gate_enter_ms(struct gate *gate, uint64_t ms);
void gate_leave(struct gate *gate);

/* The same of a gate that all have, and before that of one's own, which holds fewer: who has as many inside as his own lets
 * waits without standing in the others' way. own NULL: there is none. ms for each. */
int gate_enter_both_ms(struct gate *own, struct gate *all, uint64_t ms);
void gate_leave_both(struct gate *own, struct gate *all);

#endif
