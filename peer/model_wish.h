/* model_wish: the model call that a middleware of a worker makes through the broker: while it
 * wraps a tool call, or a model call whose model another worker serves. */
#ifndef MODEL_WISH_H
#define MODEL_WISH_H

#include "worker.h"

/* Makes the call for wish (turn_call_model's) from inside call, as its number-th, and
 * waits. call's profile fills in what the wish leaves open. left_ms: what is left of call's
 * deadline. flags: WIRE_INTERNAL, or WIRE_STREAM for the run's own answer. Returns the
 * RESULT's body, or NULL when call was cancelled; in call's arena. */
const struct value *model_wish_send(struct worker_call *call, const struct value *wish,
    unsigned number, uint64_t left_ms, unsigned flags);

#endif
