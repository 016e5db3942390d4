/* thread: the messages of one thread: their order, their ids, the numbers they are stored
 * under, and which of them no commit has stored yet.
 *
 * Made for long threads: to append, to replace and to find by id costs the same at any
 * length; only removing walks the whole. Used by state alone, which owns the arena that
 * the messages live in. */
#ifndef THREAD_H
#define THREAD_H

#include "digest.h"
#include "state.h"

struct thread;

struct thread *thread_new(void);
void thread_destroy(struct thread **thread_p);

/* Fills a new thread with the messages that order names, of those that are stored, by number: copied
 * into arena; without one it keeps them. */
void thread_restore(struct thread *thread, struct arena *arena,
    const struct value *stored, const struct value *order);

/* Lends the messages, an array, until the next edit or compaction. */
const struct value *thread_messages(const struct thread *thread);

/* Messages without an id get "<prefix>-<n>" from now on, n from 1. */
void thread_prefix(struct thread *thread, const char *prefix);

/* --- editing: planned as a whole, then done ----------------------------------------- */

/* The messages one superstep writes, on top of a thread that stays as it is until
 * thread_edit_apply. */
struct thread_edit;

/* Returns new; keeps thread, uses arena for itself. */
struct thread_edit *thread_edit_new(struct arena *arena, struct thread *thread);
void thread_edit_destroy(struct thread_edit **edit_p);

/* Lays normalised messages over what is planned so far, as add_messages does
 * (semantics.md 2.2). They must live until thread_edit_apply. Returns 0, or -1 with a
 * reason in the edit's arena; the edit is to be dropped then. */
int thread_edit_add(
    struct thread_edit *edit, const struct value *messages, const char **error_r);

/* Does what was planned; what is new is copied into arena. A message that is set to what
 * it was keeps its number. */
void thread_edit_apply(struct thread_edit *edit, struct arena *arena);

/* --- storing ------------------------------------------------------------------------ */

/* Fills the messages' part of changes; see state_changes. */
void thread_changes(
    struct thread *thread, struct arena *arena, struct state_changes *changes_r);
void thread_committed(struct thread *thread);

/* --- names (thread_digest.c) ---------------------------------------------------------- */

/* Of the first messages; see state.h. What was asked is remembered, what is appended is added. */
bool thread_begins_with(
    struct thread *thread, size_t count, const uint8_t digest[DIGEST_BYTES]);
void thread_digest(struct thread *thread, uint8_t digest_r[DIGEST_BYTES]);
size_t thread_packed_bytes(struct thread *thread);

/* --- what is known (thread_known.c) --------------------------------------------------- */

/* See state.h. What was looked at once is not looked at again until it is edited. */
long thread_find_damaged(struct thread *thread);
const struct value *thread_answer_dangling(struct thread *thread, struct arena *arena);

/* --- from run to run (thread_known.c) --------------------------------------------------- */

/* Makes the thread keep the messages of stored, all by number, which has all of its. Returns false when
 * it has not. */
bool thread_rest(struct thread *thread, const struct value *stored);
/* Whether a thread that rests on stored, or on what stored was, is what order says. */
bool thread_goes_on(
    const struct thread *thread, const struct value *stored, const struct value *order);

/* --- memory ------------------------------------------------------------------------- */

/* Bytes held outside the arena. */
size_t thread_bytes(const struct thread *thread);
/* Copies what lives into arena, but what it keeps, and forgets the old one. */
void thread_move(struct thread *thread, struct arena *arena);

#endif
