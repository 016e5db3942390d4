/* bedrock_error: what Bedrock says went wrong, under its names of exceptions: in a header of a refusal, or in the midst of a
 * stream. */
#ifndef BEDROCK_ERROR_H
#define BEDROCK_ERROR_H

#include "fault.h"
#include "http.h"

/* The header of a refusal with its exception's name. */
#define BEDROCK_ERROR_HEADER "x-amzn-ErrorType"

/* Returns the fault of an answer with an error status. */
struct fault *bedrock_refusal(
    struct arena *arena, const char *endpoint, const struct http_response *response);

/* Returns the fault of an exception in a stream, by its name; text is its JSON, or its reason alone. */
struct fault *bedrock_exception(
    struct arena *arena, const char *endpoint, const char *name, const char *text);

#endif
