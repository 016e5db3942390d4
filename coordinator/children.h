/* children: runs that belong to another run, their parent: a parent that ends by error or is
 * cancelled takes them along, wherever they run, and theirs.
 *
 * What is to be done is in Redis (store.h), so that any coordinator finishes what another
 * began: a parent that was cancelled waits for its children before it ends; of a parent that
 * has ended the sweep of its shard cancels them. */
#ifndef CHILDREN_H
#define CHILDREN_H

#include "coordinator.h"

/* Asks for the end of all children of run that have not ended. STORE_OK: all have been asked. */
enum store_status children_cancel(struct coordinator *coordinator, struct arena *arena,
    const char *thread, const char *run);

/* Cancels run's children and waits until they have ended, at most CANCEL_WAIT_MS; while the coordinator drains, no
 * longer than CANCEL_WAIT_MS after begun_ms, when run was asked to end: it has no more time than for one wait. */
void children_end(struct coordinator *coordinator, const char *thread, const char *run,
    uint64_t begun_ms);

/* Cancels the children that the ended runs of shard have left. */
void children_sweep(struct coordinator *coordinator, unsigned shard);

/* Notes that child, which is queued, is parent's; cancels it when it comes too late. */
enum store_status children_adopt(struct coordinator *coordinator, struct arena *arena,
    const char *parent, const char *child, const char *child_thread);

#endif
