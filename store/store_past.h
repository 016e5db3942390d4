/* store_past: what a thread was: its checkpoints, and what each of them has left. Reads; nothing here changes a thread. */
#ifndef STORE_PAST_H
#define STORE_PAST_H

#include "store.h"

/* The thread's checkpoints, oldest first: [{version, at, run, step, node, next, ...}]; nil in the place of
 * one that cannot be read. */
enum store_status store_history(struct store *store, struct arena *arena,
    const char *thread, const struct value **history_r);
/* A thread as a checkpoint left it. */
struct store_past {
	uint64_t version;
	const struct value
	    *checkpoint;            /* its record; NULL for version 0, an empty thread */
	const struct value *head;   /* what a claim would have given as head, or NULL */
	const struct value *order;  /* [[first, last], ...] */
	const struct value *fields; /* {name: value} */
};
/* Makes it out of history, a thread's checkpoints as of store_history: a checkpoint has the fields
 * that it changed, the first one there is all of them. version 0 is the empty thread. Pure. Returns
 * 0, or -1: there is no such checkpoint, or it is not known what it was since one before it is damaged. */
int store_past_of(struct arena *arena, const struct value *history, uint64_t version,
    struct store_past *past_r);
/* The newest of versions below before, newest first, the empty thread behind the first one: limit at most, as many as there is
 * room for in pasts_r. Without those of which nobody knows what they were. Goes through history once. Returns how many. */
size_t store_pasts_of(struct arena *arena, const struct value *history, uint64_t before,
    size_t limit, struct store_past *pasts_r);
/* What to say of the first of a thread's checkpoints that is damaged, or NULL. */
const char *store_history_damage(
    struct arena *arena, const char *thread, const struct value *history);
/* store_past_of from Redis. STORE_NONE: no such checkpoint; STORE_DAMAGED: nobody can know. */
enum store_status store_past(struct store *store, struct arena *arena, const char *thread,
    uint64_t version, struct store_past *past_r);
/* As store_thread, at a checkpoint: {thread, version, head, messages, fields, checkpoint}. */
enum store_status store_thread_at(struct store *store, struct arena *arena,
    const char *thread, uint64_t version, const struct value **thread_r);
/* As store_thread, as run has left it so far: as it is now while run's commit is the last, else with the messages and the
 * fields (those that come out) that it ended with. As it is now, too, where that is not known: the checkpoint is pruned,
 * or damaged, or the run has not ended. */
enum store_status store_thread_left(struct store *store, struct arena *arena,
    const char *thread, const char *run, const struct value **thread_r);
/* The newest of the thread's checkpoints, as of store_history; STORE_NONE: it has none. */
enum store_status store_last_checkpoint(struct store *store, struct arena *arena,
    const char *thread, const struct value **checkpoint_r);
/* The same, of where the thread stands: the one that it was put back to, if it was. */
enum store_status store_standing(struct store *store, struct arena *arena,
    const char *thread, const struct value **checkpoint_r);
/* The checkpoints of run, of versions above after, oldest first, as of store_history without `order` and `fields`;
 * *newest_r: the thread's newest version that has one, or 0. What cannot be read is left out. Reads from the end of the
 * history, and no more of it than that takes. */
enum store_status store_run_checkpoints(struct store *store, struct arena *arena,
    const char *thread, const char *run, uint64_t after,
    const struct value **checkpoints_r, uint64_t *newest_r);
/* The thread as its newest checkpoints left it, newest first, each as of store_thread_at: at most limit, of versions
 * below before. The last of a thread on which anything has happened is the empty one, without `checkpoint`. Damaged ones are
 * left out, and those of a run that was rolled back, until the next one begins. */
enum store_status store_pasts(struct store *store, struct arena *arena,
    const char *thread, uint64_t before, size_t limit, const struct value **pasts_r);

#endif
