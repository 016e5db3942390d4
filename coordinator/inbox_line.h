/* inbox_line: who goes before whom among entries of the inbox. Runs of a thread begin in the order in which
 * they were submitted (docs/runs.md), whoever has read their entries, and whoever dies over it.
 *
 * Of one reading, those of a thread are moved one after the other. One whose thread has an entry before it
 * that another reader has, or that is left from an earlier reading, is held: it stays pending and is read
 * again. Only an entry that names its thread can have any before it; one that does not begins a thread.
 * Pure: no Redis here. */
#ifndef INBOX_LINE_H
#define INBOX_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "value.h"

/* An entry of a reading. The caller sets id and thread, which it keeps, and names_thread. */
struct inbox_place {
	const char *id; /* "ms-number" */
	const char *thread;
	bool names_thread; /* it is not simply the run's id */

	bool is_held;   /* not to be moved now, nor those behind it */
	bool is_behind; /* it is another one's next */
	size_t next;    /* of its thread in this reading; 0: none */
};

/* Returns whether any of them has to know what is ahead. */
bool inbox_line_asks(const struct inbox_place *places, size_t count);

/* Sets the rest of places, which are in the order of their ids. ahead: as store_inbox_ahead gives it for the
 * last of them; NULL where none asks. What is in places, too, is ahead of nobody else's. */
void inbox_line_up(struct inbox_place *places, size_t count, const struct value *ahead);

#endif
