/* outbox_table: the calls an outbox holds and the actions of its step. Private to it. */
#ifndef OUTBOX_TABLE_H
#define OUTBOX_TABLE_H

#include <sys/queue.h>

#include "heap.h"
#include "id_table.h"
#include "outbox.h"
#include "settled.h"

enum stop_cause {
	STOP_NONE,
	STOP_CANCELLED,
	STOP_EXPIRED,
	STOP_RELEASED, /* taken away by the broker, or the drain's time is over */
};

struct entry {
	struct id_key key;
	bool finished;
	unsigned flags;
	char *run;
	uint64_t step, epoch, attempt;
	struct heap_node timer;  /* running: its deadline; finished: RESULT again */
	TAILQ_ENTRY(entry) link; /* of running or finished; dead: of dead */
	enum stop_cause cause;   /* running: it was told to stop */
	/* finished */
	struct parcel *parcel;
	enum wire_code code;
	uint64_t resend_ms; /* the next pause */
	char id[];
};
TAILQ_HEAD(entry_list, entry);

struct outbox {
	uint32_t capacity;
	struct id_table *entries;
	struct entry_list running, finished; /* oldest first */
	size_t running_count, finished_count;
	struct settled *once; /* ids that must not run again */
	struct heap timers;
	uint64_t now_ms, lost;
	bool draining, drained;
	uint64_t drain_end_ms; /* then running calls are stopped and given back */
	uint64_t flush_end_ms; /* then results are waited for no more */
	uint64_t idle_ms; /* since when nothing runs in the drain; 0: something does */

	struct outbox_action *actions;
	size_t action_count, action_room;
	struct wire_call *announced; /* the last ANNOUNCEs point into it */
	struct entry_list dead;      /* the actions point to them */
};

/* Appends an empty action of type, lent until the next. */
struct outbox_action *outbox_act(struct outbox *outbox, enum outbox_action_type type);
void outbox_send(struct outbox *outbox, enum message_type type, const char *id);
void outbox_send_busy(struct outbox *outbox, const char *id);
/* A RESULT that is not kept: there is nothing to it but the code. */
void outbox_send_code(struct outbox *outbox, const char *id, enum wire_code code);
/* Sends entry's RESULT and sets the timer for the next time. */
void outbox_send_result(struct outbox *outbox, struct entry *entry);
/* Takes parcel, or NULL. */
void outbox_free_parcel(struct outbox *outbox, struct parcel *parcel);

/* Returns the new, running entry of call. */
struct entry *outbox_entry_new(struct outbox *outbox, const struct header *call);
/* Moves it from running to finished; takes parcel. */
void outbox_entry_finish(struct outbox *outbox, struct entry *entry, enum wire_code code,
    struct parcel *parcel);
/* Out of the table; freed in the next step. */
void outbox_entry_forget(struct outbox *outbox, struct entry *entry);
void outbox_free_dead(struct outbox *outbox);

#endif
