/* entry: into the inbox, and what a coordinator says of it. */
#ifndef SERVE_ENTRY_H
#define SERVE_ENTRY_H

#include "api.h"
#include "feed.h"

#define ENTRY_TAKEN_MS 3000u /* for a coordinator to take a submission */

/* Adds the entry ({name: text}) to the inbox, for feed. Returns false after answering. */
bool entry_add(struct call *call, const struct value *fields, struct feed *feed);

/* Waits until a coordinator has taken it, for a while, or until nobody can say more, since the server ends or Redis has gone: then
 * whoever follows it hears what becomes of it. Returns false after answering that it was refused, or where who asked is gone. */
bool entry_was_taken(struct call *call, struct feed *feed);

/* An entry for the inbox. */
struct run_entry {
	const char *thread, *run;
	const struct value *fields; /* {name: text} */
};

/* Submits, waits for the end, and returns whether that was a success; false after answering what went wrong. For what
 * runs nothing: copies, updates. */
bool entry_do(struct call *call, const struct run_entry *entry);

#endif
