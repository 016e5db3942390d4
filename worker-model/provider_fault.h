/* provider_fault: what went wrong at a provider, typed as OpenAI's client types it, for
 * `retry_on` (conformance/README.md). */
#ifndef PROVIDER_FAULT_H
#define PROVIDER_FAULT_H

#include "fault.h"
#include "http.h"

/* The fault of an answer with that status, above 299. message is the provider's, or NULL. One that says
 * that the request was too long for the model is a ContextOverflowError. */
struct fault *provider_fault_status(struct arena *arena, const char *endpoint,
    long status, const char *message, int64_t retry_after_ms);

/* The fault of a request that is too long for the model, when a code says so; status 0: none came. */
struct fault *provider_fault_overflow(
    struct arena *arena, const char *endpoint, long status, const char *message);

/* The fault of an error that names no status; of one that is too long as above. */
struct fault *provider_fault_error(
    struct arena *arena, const char *endpoint, const char *message);

/* The fault of an exchange that gave no whole answer: failure is not HTTP_OK. */
struct fault *provider_fault_http(struct arena *arena, const char *endpoint,
    enum http_failure failure, const char *reason);

/* The fault of an answer that cannot be read. */
struct fault *provider_fault_unreadable(
    struct arena *arena, const char *endpoint, const char *reason);

#endif
