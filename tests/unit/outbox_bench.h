/* outbox_bench: a worker's outbox: events in by hand, the actions of the last one looked at, time moved
 * by hand. Parcels are counted: each must be freed. */
#ifndef OUTBOX_BENCH_H
#define OUTBOX_BENCH_H

#include "outbox.h"

struct parcel {
	char mark; /* 'p' */
};

struct outbox_bench {
	struct outbox *outbox;
	struct outbox_actions actions; /* of the last step */
	uint64_t now_ms;
	long parcels;      /* given and not freed */
	size_t body_bytes; /* in those that are given next */
};

extern struct outbox_bench ob;

/* Link 0 is up. */
void ob_open(uint32_t capacity);
void ob_close(void);

/* --- one step each ---------------------------------------------------------------------- */

void ob_step(struct outbox_event event);
void ob_up(uint32_t link);

/* What comes by link 0. */
void ob_message(struct header header);
void ob_call(const char *id, unsigned flags); /* due in 60 s */
void ob_about(enum message_type type, const char *id);

/* Call id ends, with a parcel. */
void ob_end(const char *id, bool interrupted);

void ob_tick(uint64_t ms);

/* --- what came of it ---------------------------------------------------------------------- */

/* The first action of type, of a message_type when it is a SEND, about id unless that is NULL; or
 * NULL. */
const struct outbox_action *ob_find(
    enum outbox_action_type type, enum message_type message_type, const char *id);
const struct outbox_action *ob_sent(enum message_type type, const char *id);
bool ob_started(const char *id);
bool ob_stopped(const char *id);

#endif
