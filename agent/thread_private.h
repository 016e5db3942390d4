/* thread_private: what thread.c and thread_edit.c share. */
#ifndef THREAD_PRIVATE_H
#define THREAD_PRIVATE_H

#include <czmq.h>

#include "thread.h"

#define NOT_NUMBERED UINT32_MAX

struct range {
	uint32_t first, last; /* numbers, both included */
};

struct thread {
	struct value view; /* the array of items: what readers get */
	const struct value **items;
	uint32_t *numbers; /* each is stored under, or NOT_NUMBERED yet */
	size_t count, room;
	zhashx_t *index;   /* id (a value) -> position + 1; NULL: not worth it yet */
	unsigned searches; /* for an id through many messages, since there was none */

	char *prefix;   /* of new ids */
	uint64_t fresh; /* the last n given */

	uint32_t next_number;
	uint32_t kept_numbers;        /* what is stored below is kept, all else its own */
	const struct value **unsaved; /* numbered, not committed: the last numbers */
	size_t unsaved_count, unsaved_room;
	struct range *ranges; /* the order of the first `ranged` messages */
	size_t range_count, range_room, ranged;
	bool changed; /* the order, since the last commit */
	bool given;   /* and thread_changes has told so */

	/* What the messages are called (thread_digest.c): so many of the first ones. */
	struct digest *digest; /* of `digested`, or NULL: of none */
	size_t digested, marked, sized;
	uint8_t mark[DIGEST_BYTES]; /* the name of the first `marked`, 0: none */
	size_t packed_bytes;        /* of the first `sized` */
};

/* Messages that have been there are other ones, or gone. */
void thread_undigest(struct thread *thread);

/* An index by id; empty, keys are not owned. */
zhashx_t *thread_index_new(void);

bool thread_same_id(const struct value *a, const struct value *b);

/* Returns id's position, or -1. */
long thread_find(struct thread *thread, const struct value *id);

/* message is copied into arena; it must have an id. */
void thread_append(
    struct thread *thread, struct arena *arena, const struct value *message);
void thread_replace(struct thread *thread, struct arena *arena, size_t position,
    const struct value *message);

/* Takes the messages at all positions where keep is false out of the thread. */
void thread_keep(struct thread *thread, const bool *keep);

/* Makes the thread the count positions of what it is now, in that order; -1 stands for
 * the message of the same place in fresh, which is copied into arena. */
void thread_compose(struct thread *thread, struct arena *arena, const long *positions,
    const struct value *const *fresh, size_t count);

#endif
