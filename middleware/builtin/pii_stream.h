/* pii_stream: a rule applied to a text that comes in pieces. What goes on is, however the text was
 * cut, what pii_redact makes of the whole.
 *
 * Held back is what may still become a match: the detectors say from where on (pii_seek, "more").
 * A value of any length is so kept whole; lookback holds back more, as LangChain does. */
#ifndef PII_STREAM_H
#define PII_STREAM_H

#include "pii_rule.h"

struct pii_stream;

/* Returns new; keeps rule. lookback: characters at the end that are held back in any case. */
struct pii_stream *pii_stream_new(const struct pii_rule *rule, size_t lookback);
void pii_stream_destroy(struct pii_stream **stream_p); /* NULL is fine */

/* Takes in size more bytes (UTF-8, whole characters) and appends to out what may go on. With
 * PII_BLOCK nothing does before the end. */
void pii_stream_feed(
    struct pii_stream *stream, const char *text, size_t size, struct packet *out);

/* Another text follows, of which the rule knows nothing but itself: no match goes on from one to the other. */
void pii_stream_break(struct pii_stream *stream, struct packet *out);

/* The last text has ended: appends the rest, but nothing when the rule blocks it or gave it up. Returns
 * what was found in all of them. */
struct pii_findings pii_stream_end(struct pii_stream *stream, struct packet *out);

#endif
