/* find: what an argument names: the thread of a run, a thread's record; said on stderr when it
 * is missing or not known. */
#ifndef FIND_H
#define FIND_H

#include "command.h"
#include "store_past.h"

/* Returns STATUS_OK when the argument is there, else says which one is missing. */
enum status find_argument(const char *argument, const char *what);

/* The thread of run. One that is in the inbox yet, perhaps, is waited for, two seconds. */
enum status find_thread_of(
    struct session *session, const char *run, const char **thread_r);

/* The thread that name is, or that the run of that name is on, and what store_thread says of it, to answer what it
 * asks. STATUS_REFUSED: it works for another run, which asks the same. */
enum status find_pause_of(struct session *session, const char *name,
    const char **thread_r, const struct value **state_r);

/* Says that thread has no checkpoint at. Returns STATUS_NOT_FOUND. */
enum status find_no_checkpoint(const char *thread, int64_t at);

/* The thread's checkpoint at, 0: the newest. */
enum status find_checkpoint(
    struct session *session, const char *thread, int64_t at, struct store_past *past_r);

/* The exit status for a read of thread that ended with status. */
enum status find_outcome(
    struct session *session, enum store_status status, const char *thread);

#endif
