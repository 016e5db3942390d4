/* thread_index: at which position each id is, of a thread that is often searched: a table of positions, so that
 * it does not matter where messages live. */
#include <stdlib.h>
#include <string.h>

#include "key_index.h"
#include "memory.h"
#include "thread_private.h"

#define INDEX_FROM 16u  /* messages; fewer are looked through */
#define SEARCHES_MAX 4u /* an index costs about as much */
#define SLOTS_MIN 64u   /* a power of two, as their number always is */

bool
thread_same_id(const struct value *a, const struct value *b)
{
	return a->size == b->size && memcmp(a->text, b->text, a->size) == 0;
}

const struct value *
thread_id_of(const struct value *message)
{
	const struct value *id = value_get(message, "id");

	return value_is(id, VALUE_STR) ? id : NULL;
}

/* Returns the slot of id, or the free one where it belongs. */
static size_t
slot_of(const struct thread *thread, const struct value *id)
{
	size_t slot = (size_t)key_hash(id->text, id->size);

	for (;; slot++) {
		uint32_t there = thread->slots[slot &= thread->slot_count - 1];

		if (there == 0 ||
		    thread_same_id(thread_id_of(thread->items[there - 1]), id))
			return slot;
	}
}

static void
put(struct thread *thread, size_t position)
{
	const struct value *id = thread_id_of(thread->items[position]);

	if (id != NULL)
		thread->slots[slot_of(thread, id)] = (uint32_t)position + 1;
}

static void
index_all(struct thread *thread)
{
	size_t i;

	thread->slot_count = SLOTS_MIN;
	while (thread->slot_count < 3 * thread->count)
		thread->slot_count *= 2;
	free(thread->slots);
	thread->slots = xcalloc(thread->slot_count, sizeof *thread->slots);
	for (i = 0; i < thread->count; i++)
		put(thread, i);
}

void
thread_index_last(struct thread *thread)
{
	if (thread->slots == NULL)
		return;
	if (2 * thread->count > thread->slot_count)
		index_all(thread);
	else
		put(thread, thread->count - 1);
}

void
thread_drop_index(struct thread *thread)
{
	free(thread->slots);
	thread->slots = NULL;
	thread->slot_count = 0;
	thread->searches = 0;
}

size_t
thread_index_bytes(const struct thread *thread)
{
	return thread->slot_count * sizeof *thread->slots;
}

long
thread_find(struct thread *thread, const struct value *id)
{
	const struct value *other;
	long i;

	if (thread->slots == NULL && thread->count > INDEX_FROM &&
	    ++thread->searches > SEARCHES_MAX)
		index_all(thread);
	if (thread->slots != NULL)
		return (long)thread->slots[slot_of(thread, id)] - 1;
	for (i = (long)thread->count - 1; i >= 0; i--) {
		other = thread_id_of(thread->items[i]);
		if (other != NULL && thread_same_id(other, id))
			return i;
	}
	return -1;
}
