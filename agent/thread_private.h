/* thread_private: what the files of thread share. */
#ifndef THREAD_PRIVATE_H
#define THREAD_PRIVATE_H

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
	uint32_t *slots; /* of ids: position + 1 (thread_index.c); NULL: no index */
	size_t slot_count;
	unsigned searches; /* for an id through many messages, since there was none */

	char *prefix;   /* of new ids */
	uint64_t fresh; /* the last n given */

	uint32_t next_number;
	uint32_t kept_numbers;        /* what is stored below is kept, all else its own */
	const struct value **unsaved; /* numbered, not committed: the last numbers */
	size_t unsaved_count, unsaved_room;
	struct range *ranges; /* the order of the first `ranged` messages */
	size_t range_count, range_room, ranged;
	bool edited;  /* more than appended to, since it was restored or rested */
	bool changed; /* the order, since the last commit */
	bool given;   /* and thread_changes has told so */

	/* What the messages are called (thread_digest.c): so many of the first ones. */
	struct digest *digest; /* of `digested`, or NULL: of none */
	size_t digested, marked, sized;
	size_t sound, answered; /* found so (thread_known.c): so many of the first ones */
	uint8_t mark[DIGEST_BYTES]; /* the name of the first `marked`, 0: none */
	size_t packed_bytes;        /* of the first `sized` */
};

/* Messages that have been there are other ones, or gone: nothing is known of them any more. */
void thread_unknow(struct thread *thread);

/* --- ids (thread_index.c) --- */

bool thread_same_id(const struct value *a, const struct value *b);
/* Returns the message's, or NULL. */
const struct value *thread_id_of(const struct value *message);
/* The last position is new. */
void thread_index_last(struct thread *thread);
/* The messages are other ones, or at other places. */
void thread_drop_index(struct thread *thread);
size_t thread_index_bytes(const struct thread *thread);

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
