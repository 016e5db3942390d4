/* inbox_entry: one entry of the inbox: its run gets a place in its thread, or the reason why not. */
#ifndef INBOX_ENTRY_H
#define INBOX_ENTRY_H

#include "store.h"
#include "value.h"

struct coordinator;

/* id: the entry's; fields: a map of name to VALUE_BIN; fault: what is wrong with the fields as they were sent,
 * or NULL. All are kept by the caller. */
struct inbox_entry {
	const char *id;
	const struct value *fields;
	const char *fault;
};

/* Moves it, in a fiber. Whoever died over it may have done so already: then nothing is done again, but for a
 * refusal, which is kept once more. Returns STORE_OK when it is dealt with and may be deleted; else
 * store_error says why it has to stay. */
enum store_status inbox_entry_move(struct coordinator *coordinator, struct arena *arena,
    const struct inbox_entry *entry);

#endif
