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
	link_set known;    /* whose brokers know of it from us, or gave it to us */
	link_set unwanted; /* of these: who has it elsewhere and wants it stopped here */
	char *run;
	uint64_t step, epoch, attempt;
	uint64_t started_ms;
	struct heap_node timer;  /* running: its deadline; finished: RESULT again */
	TAILQ_ENTRY(entry) link; /* of running or finished; dead: of dead */
	enum stop_cause cause;   /* running: it was told to stop */
	/* finished */
	struct parcel *parcel;
	size_t body_bytes; /* in it */
	enum wire_code code;
	uint64_t resend_ms;  /* the next pause */
	uint64_t arrives_ms; /* by then all of told may have it */
	link_set told;       /* by the last RESULT that went to all */
	char id[];
};
TAILQ_HEAD(entry_list, entry);

/* What the ANNOUNCEs of a step point into. */
struct announced {
	SLIST_ENTRY(announced) next;
	struct wire_call calls[];
};

struct outbox {
	uint32_t capacity;
	link_set up;
	struct id_table *entries;
	struct entry_list running, finished; /* oldest first */
	size_t running_count, finished_count;
	struct settled *once;   /* ids that must not run again */
	struct settled *sought; /* ids that a broker has looked for in vain */
	uint64_t credit_ms;     /* when the free slots were told last */
	bool credit_due;        /* they changed since then */
	struct heap timers;
	uint64_t now_ms, lost;
	bool draining, drained;
	uint64_t drain_end_ms; /* then running calls are stopped and given back */
	uint64_t flush_end_ms; /* then results are waited for no more */
	uint64_t idle_ms; /* since when nothing runs in the drain; 0: something does */

	struct outbox_action *actions;
	size_t action_count, action_room;
	SLIST_HEAD(, announced) announced; /* the actions point to them */
	struct entry_list dead;            /* so */
};

/* Appends an empty action of type, lent until the next. */
struct outbox_action *outbox_act(struct outbox *outbox, enum outbox_action_type type);
/* Sends header, with parcel (or NULL), on each of links that is up. */
void outbox_send(struct outbox *outbox, link_set links, const struct header *header,
    struct parcel *parcel);
void outbox_send_about(
    struct outbox *outbox, link_set links, enum message_type type, const char *id);
void outbox_send_busy(struct outbox *outbox, link_set links, const char *id);
/* A RESULT that is not kept: there is nothing to it but the code. */
void outbox_send_code(
    struct outbox *outbox, link_set links, const char *id, enum wire_code code);
/* Sends entry's RESULT on links. */
void outbox_send_result(struct outbox *outbox, link_set links, struct entry *entry);
/* The same to one that asks, unless it is on its way there: a copy would come behind it. */
void outbox_show_result(struct outbox *outbox, uint32_t link, struct entry *entry);
/* Sends it to all that know the call and sets the timer for the next time. */
void outbox_resend_result(struct outbox *outbox, struct entry *entry);
/* Takes parcel, or NULL. */
void outbox_free_parcel(struct outbox *outbox, struct parcel *parcel);

/* Returns the new, running entry of call. */
struct entry *outbox_entry_new(struct outbox *outbox, const struct header *call);
/* Moves it from running to finished; takes event's parcel. */
void outbox_entry_finish(struct outbox *outbox, struct entry *entry, enum wire_code code,
    const struct outbox_event *event);
/* Out of the table; freed in the next step. */
void outbox_entry_forget(struct outbox *outbox, struct entry *entry);
/* Frees what the last step's actions pointed to. */
void outbox_free_dead(struct outbox *outbox);

/* --- outbox_announce.c ---------------------------------------------------------------- */

/* link is up: tells its broker of the calls that it knew, and of those that no other link
 * that is up knows; results follow. */
void outbox_announce_up(struct outbox *outbox, uint32_t link);
/* link is down: tells the others of the calls that it knew. */
void outbox_announce_down(struct outbox *outbox, uint32_t link);
/* Tells all links that are up, but those that know it, of one call. */
void outbox_announce_call(struct outbox *outbox, struct entry *entry);
/* Answers SEEK: which of its calls are here. */
void outbox_announce_sought(
    struct outbox *outbox, uint32_t link, const struct header *seek);

#endif
