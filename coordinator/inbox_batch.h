/* inbox_batch: entries of the inbox that were read together: each to its thread, in their order (inbox_line.h), and out of
 * the inbox. */
#ifndef INBOX_BATCH_H
#define INBOX_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "value.h"

struct coordinator;

#define INBOX_ID_BYTES 48u

/* What was read and stays: is to be read again, soon. */
struct inbox_held {
	size_t count;
	char awaited
	    [INBOX_ID_BYTES]; /* the entry that the first of them waits for; "": it is not known */
};

/* Moves entries, [[id, [name, text, ...]], ...], in a fiber; returns when all are dealt with, or held. Lends from arena meanwhile.
 * *said_at_p: when it may be said next that nobody knows who goes before whom; 0 at first. Adds to held those that are. */
void inbox_batch_move(struct coordinator *coordinator, struct arena *arena,
    const struct value *entries, uint64_t *said_at_p, struct inbox_held *held);

#endif
