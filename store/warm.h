/* warm: the messages of threads that this process ran last, so that its next claim of one need not
 * read them again: a turn costs the same however long the thread is.
 *
 * What is kept of a thread is as of a claim of ours (its epoch) and the version that our commits
 * behind it led to. No owner is ever given an epoch twice, and nobody but the owner of the newest
 * claim writes messages: so whoever finds that epoch, that version and our session in Redis finds
 * these messages there, however often the thread was claimed, deleted or made anew meanwhile (then
 * one of the three differs). Pruned messages are empty in Redis and may still be here: no state that
 * is left names them.
 *
 * Memory is bounded; those that were used last stay. */
#ifndef WARM_H
#define WARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "value.h"

#define WARM_MESSAGES_MIN 32u /* shorter threads are not worth it */

struct warm;
struct warm_thread;

/* Returns new. bytes_max: of all that is kept; 0: nothing is. */
struct warm *warm_new(size_t bytes_max);
/* What claims have been lent stays until their arenas go. */
void warm_destroy(struct warm **warm_p);

/* Returns what is kept of thread as its last run of ours left it, or NULL. Lent to arena, with its
 * messages, also when warm forgets it. */
const struct warm_thread *warm_find(
    struct warm *warm, struct arena *arena, const char *thread);
uint64_t warm_epoch(const struct warm_thread *kept);
uint64_t warm_version(const struct warm_thread *kept);

/* Lends it, with its messages as they are now, to arena as well. */
void warm_lend(const struct warm_thread *lent, struct arena *arena);

/* thread was claimed, and Redis has what is kept of it. */
void warm_claimed(struct warm *warm, const struct warm_thread *kept, uint64_t epoch);

/* thread was claimed, and this is what Redis answered: [bytes]. Returns what is kept of it now, lent to
 * arena: the messages decoded (what cannot be is nil). Forgets what was kept before. For threads that
 * are worth it. */
const struct warm_thread *warm_read(struct warm *warm, struct arena *arena,
    const char *thread, uint64_t epoch, uint64_t version, const struct value *bytes);
/* Returns its messages as they are now, lent as it is. */
const struct value *warm_messages(const struct warm_thread *kept, struct arena *arena);

/* A commit of the run that holds thread since that epoch has appended messages; it built on version.
 * is_end: the run is over. */
void warm_committed(struct warm *warm, struct arena *scratch, const char *thread,
    uint64_t epoch, uint64_t version, const struct value *messages, bool is_end);

/* --- what a run leaves for the next one ------------------------------------------------ */

/* Of whoever holds a thread; it is destroyed when what is kept of the thread is forgotten, or is other than
 * it was when this was left. */
struct warm_left {
	void *data; /* NULL: nothing */
	size_t bytes;
	void (*destroy)(void *data);
};

/* Returns all messages of thread, lent to arena, if they are as a run that held it since that epoch has
 * left them, at that version, with its end; else NULL. */
const struct value *warm_at_end(struct warm *warm, struct arena *arena,
    const char *thread, uint64_t epoch, uint64_t version);
/* Directly behind it: takes left. */
void warm_leave(struct warm *warm, const char *thread, const struct warm_left *left);
/* Returns what was left there, now the caller's, to who holds thread since that epoch and has committed
 * nothing; or NULL. */
void *warm_take_left(struct warm *warm, const char *thread, uint64_t epoch);

/* Nothing is sure of thread any more. */
void warm_forget(struct warm *warm, const char *thread);

/* Bytes of all that is kept. */
size_t warm_bytes(const struct warm *warm);

#endif
