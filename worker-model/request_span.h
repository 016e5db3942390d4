/* request_span: what a traced call tells of each request to a provider: `request`, with what the provider has counted. */
#ifndef REQUEST_SPAN_H
#define REQUEST_SPAN_H

#include "provider.h"
#include "worker.h"

/* For a call with a span: ask is about to be sent. model: "openai:gpt-4o"; number: which of the call's requests this
 * is, from 1. */
void request_span_begin(const struct worker_call *call, struct span *span_r,
    const struct ask *ask, const char *model, unsigned number);

/* message: the answer, or NULL with fault. */
void request_span_end(const struct worker_call *call, struct span *span,
    const struct value *message, const struct fault *fault);

#endif
