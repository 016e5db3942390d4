/* provider_exchange: one request to a provider over HTTP and its answer, plain or streamed: what
 * the dialects share.
 *
 * The request's values are gone while the answer is waited for: a call may take minutes, and holds
 * its bytes only. */
#ifndef PROVIDER_EXCHANGE_H
#define PROVIDER_EXCHANGE_H

#include "answer_stream.h"
#include "provider.h"

#define DIALECT_HEADERS_MAX 4u

/* How a kind of provider speaks. */
struct dialect {
	/* Returns the request's body in ask->arena, or NULL with a reason there. */
	const struct value *(*request)(
	    const struct ask *ask, bool stream, const char **error_r);
	/* Fills headers with the dialect's own, at most DIALECT_HEADERS_MAX, for a request with that body; returns
	 * how many. */
	size_t (*headers)(const struct endpoint *endpoint, const struct ask *ask,
	    const struct packet *body, const char *headers[]);
	/* Returns the AI message of an answer's body, or NULL with a reason. */
	const struct value *(*answer)(
	    struct arena *arena, const struct value *body, const char **error_r);
	const struct stream_type *stream; /* its streamed answers */
	const char *stream_form; /* their content type; NULL: text/event-stream */
	/* Returns the fault of an answer with an error status, which has the header error_header; NULL: provider_refusal
	 * does. */
	struct fault *(*refusal)(struct arena *arena, const char *endpoint,
	    const struct http_response *response);
	const char *error_header;
	/* A stream begins before the model thinks, and is silent then: for as long as others are before they begin. */
	bool begins_early;
};

/* Asks endpoint, on a fiber; as provider.send. The message says whose it is (model_provider of its
 * response_metadata); a fault's has no key in it. */
const struct value *provider_exchange(const struct dialect *dialect,
    const struct endpoint *endpoint, const struct ask *ask, struct fault **fault_r);

/* Returns how long a request may take in all: its settings' own `timeout`, else otherwise_ms. */
uint64_t provider_timeout_ms(const struct value *settings, uint64_t otherwise_ms);

#endif
