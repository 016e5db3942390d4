/* store_wish: long-term memory from inside of a worker's call. */
#ifndef STORE_WISH_H
#define STORE_WISH_H

#include "worker.h"

/* Has a coordinator do op (store/items.h) as call's number-th, and waits. left_ms: what is left of call's
 * deadline. Returns its answer, {fault} of type ConnectionError among them when nobody
 * answers, or NULL when call was cancelled, or op (by another that runs call); in call's
 * arena. */
const struct value *store_wish_send(
    struct worker_call *call, const struct value *op, unsigned number, uint64_t left_ms);

#endif
