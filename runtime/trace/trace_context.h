/* trace_context: which trace something belongs to, and beneath which span: the ids, and the W3C header
 * `traceparent` that carries them. Pure.
 *
 * Ids are made of what the fleet calls its runs and calls, never by chance:
 *
 *	a run's trace    SHA-256("trace <run id>"), the first 16 bytes
 *	a run's span     SHA-256("run <run id>"), the first 8; likewise
 *	a call's         "call <call id>"
 *	its handling's   "handle <call id> <attempt> <worker's name>"
 *	a request's      "request <call id> <attempt> <worker's name> <number>"
 *
 * So nothing has to be stored: a coordinator that takes a run over goes on with the same trace, and a span that is
 * told twice has the same id. Only where a trace begins elsewhere, at a user's program or at the run whose child it
 * is, the run's record keeps that as `traceparent`.
 *
 * Whether a trace is told of is decided once, where it begins: by the flag that came with it, else by its id
 * (trace_is_sampled); from there on the flag says it to everybody. */
#ifndef TRACE_CONTEXT_H
#define TRACE_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_ID_BYTES 16u
#define SPAN_ID_BYTES 8u
#define TRACEPARENT_BYTES 55u /* in the version that we write, 00 */
#define TRACEPARENT_FORM                                                                 \
	"must be a W3C trace context, such as "                                          \
	"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

struct trace_context {
	uint8_t trace[TRACE_ID_BYTES];
	uint8_t span[SPAN_ID_BYTES];
	bool is_sampled;
};

/* Reads a traceparent, strictly: small hex digits, no id of zeros, 00 of its size and a later version with more only
 * behind a dash, at most TRACEPARENT_BYTES_MAX. Returns 0, or -1. NULL is none. */
int trace_context_read(const char *text, struct trace_context *context_r);

void trace_context_write(
    const struct trace_context *context, char text_r[TRACEPARENT_BYTES + 1]);

/* The trace of a run that begins one. */
void trace_id_make(const char *run, uint8_t id_r[TRACE_ID_BYTES]);

/* format makes the text that is hashed, as above. */
void trace_span_id_make(uint8_t id_r[SPAN_ID_BYTES], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Reads the share of traces that are told of, 0 to 1. Returns 0, or -1. */
int trace_ratio_read(const char *text, double *ratio_r);

/* Whether a trace is among that share: by the last 56 bits of its id, as OpenTelemetry's samplers that need no
 * word from each other do it. */
bool trace_is_sampled(const uint8_t trace[TRACE_ID_BYTES], double ratio);

#endif
