/* otlp: spans as OTLP/HTTP wants them, in its JSON: ids are small hex digits, 64-bit numbers are texts. Pure.
 *
 * One body is otlp_head, spans with a comma between two, otlp_tail. */
#ifndef OTLP_H
#define OTLP_H

#include "span.h"
#include "value.h"

/* Appends what comes before the spans of one process: service.name is flotilla-<program>. */
void otlp_head(struct packet *packet, const char *program, const char *instance);

/* Appends span, which has ended. */
void otlp_span(struct packet *packet, const struct span *span);

void otlp_tail(struct packet *packet);

/* Reads what a collector has said with status 200: returns how many spans it has refused all the same. */
int64_t otlp_refused(const char *body, size_t size);

#endif
