/* fault: a failure as a value: what an exception is in Python.
 *
 * A model call, a tool call and a hook fail with a fault; it travels outward through the
 * wrap chain as part of the response, over the wire in a RESULT, and into the run's
 * record. Types have the names and the inheritance of Python's and the OpenAI client's
 * exceptions, because that is what `retry_on` names (conformance/README.md). User tools
 * may invent types; those descend from Exception. */
#ifndef FAULT_H
#define FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "value.h"

struct fault {
	const char *type;       /* "RateLimitError" */
	const char *message;    /* for people and for the model; never a secret */
	int64_t retry_after_ms; /* as the server asked; 0 when it did not */
	bool retryable;         /* what a retry middleware does by default */
	bool control; /* cancellation, interrupt: passes every wrapper untouched */
	bool fatal;   /* ends the run whatever tool_errors says (semantics.md 13.6) */
};

/* Returns a new fault in arena; retryable as the table says (unknown types: yes). */
struct fault *fault_new(struct arena *arena, const char *type, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The fault of a call that was cancelled: type "CancelledError", control. */
struct fault *fault_cancelled(struct arena *arena);

/* True when type is ancestor, an alias of it, or inherits from it. Every type but the
 * control ones is an "Exception". */
bool fault_type_is(const char *type, const char *ancestor);

/* True when names (array of strings; NULL or nil: every type that is retryable) selects
 * fault. Never for a control fault. */
bool fault_matches(const struct fault *fault, const struct value *names);

/* To and from a map {type, message, retry_after_ms, retryable, control, fatal}. */
const struct value *fault_to_value(struct arena *arena, const struct fault *fault);
struct fault *fault_from_value(struct arena *arena, const struct value *value);

/* Returns the types the table knows, NULL-ended: for docs and for "did you mean". */
const char *const *fault_types(void);

#endif
