/* inbox_batch: entries of the inbox that were read together: each to its thread, in their order (inbox_line.h), and out of
 * the inbox. */
#ifndef INBOX_BATCH_H
#define INBOX_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "value.h"

struct coordinator;

/* Moves entries, [[id, [name, text, ...]], ...], in a fiber; returns when all are dealt with, or held. Lends from arena meanwhile.
 * *said_at_p: when it may be said next that nobody knows who goes before whom; 0 at first. Returns how many are held, and are to
 * be read again soon. */
size_t inbox_batch_move(struct coordinator *coordinator, struct arena *arena,
    const struct value *entries, uint64_t *said_at_p);

#endif
