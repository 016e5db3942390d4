/* trail: a run as LangGraph's graphs tell of it to who asks for tasks, checkpoints or debug: each node as it begins and as it
 * ends, and each checkpoint. It is made of what is stored anyway, the run's events and the thread's checkpoints; nobody
 * publishes anything for it, and it is read only where somebody asks.
 *
 * A node is a task. One that begins at a checkpoint is called <thread>:<version>, as in the thread's state, and its input is that
 * state; node hooks that share a commit are called <run>:<step>, and theirs is nobody's to say. */
#ifndef TRAIL_H
#define TRAIL_H

#include "api.h"

struct trail;

/* What a trail is of. Kept. */
struct trail_run {
	const char *thread, *run;
	const struct value *metadata; /* what it was submitted with, or NULL */
	bool names_only;              /* of checkpoints no states, of tasks no input */
};

/* Returns new; seen: the number of the event up to which its reader has it, or 0. */
struct trail *trail_new(struct call *call, const struct trail_run *run, uint64_t seen);
/* Takes *trail_p. NULL is fine. */
void trail_destroy(struct trail **trail_p);

/* What a stored event tells, with the messages that it names: the events must come in their order. *items_r, in arena:
 * [{type, step, at, payload}], type being task, task_result or checkpoint. Not STORE_OK: Redis has not said, or there was no room, and the event is to come again, for
 * a trail of its own. */
enum store_status trail_event(struct trail *trail, struct arena *arena,
    const struct value *event, const struct value *messages,
    const struct value **items_r);

#endif
