/* inbox_line: who goes before whom among entries of the inbox. Runs of a thread begin in the order in which
 * they were submitted (docs/runs.md), whoever has read their entries, and whoever dies over it.
 *
 * Of one reading, those of a thread are moved one after the other. One whose thread has an entry before it
 * that another reader has, or that is left from an earlier reading, is held: it stays pending and is read
 * again. So is one whose parent's entry stands before it, since a run is refused whose parent nobody knows.
 * An entry waits for earlier ones only, so that none wait for each other. Those of others matter to one that
 * names its thread, or a parent; another begins a thread. Pure: no Redis here. */
#ifndef INBOX_LINE_H
#define INBOX_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "value.h"

/* An entry of a reading. The caller sets the first ones, which it keeps. */
struct inbox_place {
	const char *id; /* "ms-number" */
	const char *thread, *run;
	const char *parent; /* NULL: none */
	bool names_thread;  /* it is not simply the run's id */

	bool is_held;   /* not to be moved now, nor those behind it */
	bool is_behind; /* it is another one's next */
	size_t next;    /* of its thread in this reading; 0: none */
	/* Of a held one: which of those ahead it waits for; NULL: none of them, or nobody knows. */
	const char *awaits;
};

/* Returns whether any of them has to know what is ahead. */
bool inbox_line_asks(const struct inbox_place *places, size_t count);

/* Sets the rest of places, which are in the order of their ids. ahead: as store_inbox_ahead gives it for
 * them, or NULL where none asks. */
void inbox_line_up(struct inbox_place *places, size_t count, const struct value *ahead);

/* When nobody knows what is ahead: holds all that ask. */
void inbox_line_hold(struct inbox_place *places, size_t count);

#endif
