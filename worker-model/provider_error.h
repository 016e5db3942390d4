/* provider_error: what a provider says went wrong, in its answer's body. */
#ifndef PROVIDER_ERROR_H
#define PROVIDER_ERROR_H

#include "fault.h"
#include "value.h"

/* Returns the fault of an answer with an error status; text is its body. */
struct fault *provider_refusal(struct arena *arena, const char *endpoint, long status,
    const char *text, int64_t retry_after_ms);

/* Returns the fault that body, which came with status 200, really is; NULL when it is
 * none. */
struct fault *provider_hidden_error(
    struct arena *arena, const char *endpoint, const struct value *body);

#endif
