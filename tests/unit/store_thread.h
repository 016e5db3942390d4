/* store_thread: the thread "t" of a trial: its runs, one by one. */
#ifndef STORE_THREAD_H
#define STORE_THREAD_H

#include "store.h"

#define STORE_THREAD_LEASE_MS 60000u /* longer than any test */

/* Submits run with one more field. */
enum store_status thread_submit(const char *run, const char *name, const char *text);

const struct value *thread_record(const char *run);
const char *thread_status(const char *run);

/* Commits the version that the claim stands before: one message, a field with its number. */
void thread_commit(
    struct store_claim *claim, const char *status, const char *head_status);

/* Runs run in count commits. */
void thread_play(const char *run, unsigned count, const char *status);

const struct value *thread_state(void);

#endif
