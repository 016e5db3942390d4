/* stream: listens to the status channel through the proxy, as a user who watches answers being
 * written. Pieces may be lost on the way, and a call that is begun again writes its answer
 * again; but pieces in a row, from the first on, must be the text that is committed. */
#ifndef STREAM_H
#define STREAM_H

#include "tally.h"
#include "value.h"

struct stream;

struct stream *stream_new(struct fleet *fleet);
void stream_destroy(struct stream **stream_p);

/* Compares what was heard of run with the texts of its answers, in their order (8); no empty
 * ones. */
void stream_check(struct stream *stream, struct tally *t, const char *run,
    const struct value *const *answers, size_t count);

/* Pieces heard, for the report. */
unsigned long stream_pieces(const struct stream *stream);
/* Of these after the end of their run. */
unsigned long stream_late(const struct stream *stream);

#endif
