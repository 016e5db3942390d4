/* model_wish: the model call that a middleware of a worker makes through the broker: while it
 * wraps a tool call, or a model call whose model another worker serves. */
#ifndef MODEL_WISH_H
#define MODEL_WISH_H

#include "worker.h"

/* Returns the service that has model ("openai:gpt-4o" has "model:openai"), in arena, or NULL when
 * model is not provider:name with a provider that can be part of a service's name. NULL is none. */
const char *model_wish_service(struct arena *arena, const char *model);
/* Returns a RESULT's body: the fault of a middleware that asked for such a model. */
const struct value *model_wish_refused(struct arena *arena, const char *model);

/* Makes the call for wish (turn_call_model's) from inside call, as its number-th, and
 * waits. call's profile fills in what the wish leaves open; of middleware there is what the wish has
 * in `middleware`, as a profile has it. left_ms: what is left of call's
 * deadline. flags: WIRE_INTERNAL, or WIRE_STREAM for the run's own answer. Returns the
 * RESULT's body, or NULL when call was cancelled, or what it asked for (by another that runs call); in
 * call's arena. */
const struct value *model_wish_send(struct worker_call *call, const struct value *wish,
    unsigned number, uint64_t left_ms, unsigned flags);

#endif
