/* trace_queue: spans that have ended and wait to be sent, written down already, so that what they take is known to
 * the byte. Pure.
 *
 * What there is no room for is not taken: telling of a run never holds the run up, and never grows. */
#ifndef TRACE_QUEUE_H
#define TRACE_QUEUE_H

#include "span.h"
#include "value.h"

struct trace_queue;

/* Returns new: of one process, with room for bytes_max in all. Keeps the texts. */
struct trace_queue *trace_queue_new(
    const char *program, const char *instance, size_t bytes_max);
void trace_queue_destroy(struct trace_queue **queue_p);

/* Takes down span, which has ended; false: there is no room. */
bool trace_queue_put(struct trace_queue *queue, const struct span *span);

size_t trace_queue_count(const struct trace_queue *queue);
size_t trace_queue_bytes(const struct trace_queue *queue);

/* Moves all of them into the body of one request, which the caller releases. Returns how many they are; 0: there is
 * none, and no body. */
size_t trace_queue_take(struct trace_queue *queue, struct packet *body_r);

#endif
