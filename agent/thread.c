#include "thread.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "thread_private.h"

#define ROOM_AT_FIRST 16u

/* --- the row of messages ------------------------------------------------------------ */

struct thread *
thread_new(void)
{
	struct thread *thread = xcalloc(1, sizeof *thread);

	thread->view.type = VALUE_ARRAY;
	thread->prefix = xstrdup("");
	return thread;
}

void
thread_destroy(struct thread **thread_p)
{
	struct thread *thread = *thread_p;

	if (thread == NULL)
		return;
	thread_drop_index(thread);
	digest_destroy(&thread->digest);
	free(thread->items);
	free(thread->numbers);
	free(thread->unsaved);
	free(thread->ranges);
	free(thread->prefix);
	free(thread);
	*thread_p = NULL;
}

void
thread_prefix(struct thread *thread, const char *prefix)
{
	free(thread->prefix);
	thread->prefix = xstrdup(prefix);
	thread->fresh = 0;
}

const struct value *
thread_messages(const struct thread *thread)
{
	return &thread->view;
}

/* Lets readers see what items has become. */
static void
show(struct thread *thread)
{
	thread->view.items = thread->items;
	thread->view.size = (uint32_t)thread->count;
}

static void
reserve(struct thread *thread, size_t count)
{
	size_t room = thread->room == 0 ? ROOM_AT_FIRST : thread->room;

	if (count <= thread->room)
		return;
	assert(count < UINT32_MAX);
	while (room < count)
		room *= 2;
	thread->items = xreallocarray(thread->items, room, sizeof *thread->items);
	thread->numbers = xreallocarray(thread->numbers, room, sizeof *thread->numbers);
	thread->room = room;
}

/* Returns a copy in arena that knows its packed bytes: a message is packed for each model
 * call, and once for Redis. */
static const struct value *
settle(struct arena *arena, const struct value *message)
{
	return value_freeze(arena, value_copy(arena, message));
}

static void
note_change(struct thread *thread)
{
	thread->changed = true;
	thread->given = false;
}

void
thread_append(struct thread *thread, struct arena *arena, const struct value *message)
{
	size_t at = thread->count;

	reserve(thread, at + 1);
	thread->items[at] = settle(arena, message);
	thread->numbers[at] = NOT_NUMBERED;
	thread->count++;
	thread_index_last(thread);
	show(thread);
	note_change(thread);
}

/* The order is to be made anew from the numbers. */
static void
disorder(struct thread *thread)
{
	thread->range_count = thread->ranged = 0;
	thread->edited = true;
	thread_unknow(thread);
	note_change(thread);
}

void
thread_replace(struct thread *thread, struct arena *arena, size_t position,
    const struct value *message)
{
	uint32_t number = thread->numbers[position];
	uint32_t first = thread->next_number - (uint32_t)thread->unsaved_count;

	thread->items[position] = settle(arena, message);
	/* What no commit has stored is stored by none: a middleware may have taken out of it
	 * what must not be. */
	if (number != NOT_NUMBERED && number >= first) {
		thread->unsaved[number - first] = thread->items[position];
		thread_unknow(thread);
		note_change(thread);
		return;
	}
	thread->numbers[position] = NOT_NUMBERED;
	disorder(thread);
}

void
thread_keep(struct thread *thread, const bool *keep)
{
	size_t i, kept = 0;

	for (i = 0; i < thread->count; i++) {
		if (!keep[i])
			continue;
		thread->items[kept] = thread->items[i];
		thread->numbers[kept++] = thread->numbers[i];
	}
	thread->count = kept;
	thread_drop_index(thread);
	show(thread);
	disorder(thread);
}

void
thread_compose(struct thread *thread, struct arena *arena, const long *positions,
    const struct value *const *fresh, size_t count)
{
	const struct value **items = xcalloc(count + 1, sizeof *items);
	uint32_t *numbers = xcalloc(count + 1, sizeof *numbers);
	size_t i;

	for (i = 0; i < count; i++) {
		if (positions[i] == -1) {
			items[i] = settle(arena, fresh[i]);
			numbers[i] = NOT_NUMBERED;
		} else {
			items[i] = thread->items[positions[i]];
			numbers[i] = thread->numbers[positions[i]];
		}
	}
	free(thread->items);
	free(thread->numbers);
	thread->items = items;
	thread->numbers = numbers;
	thread->count = count;
	thread->room = count + 1;
	thread_drop_index(thread);
	show(thread);
	disorder(thread);
}

/* Adds what order's range names, as far as it is stored. */
static void
restore_range(
    struct thread *thread, const struct value *stored, const struct value *range)
{
	int64_t n = value_whole(value_at(range, 0), 0);
	int64_t last = value_whole(value_at(range, 1), -1);
	size_t count = value_size(stored);

	for (; n >= 0 && n <= last && (size_t)n < count && thread->count < count; n++) {
		reserve(thread, thread->count + 1);
		thread->items[thread->count] = value_at(stored, (size_t)n);
		thread->numbers[thread->count++] = (uint32_t)n;
	}
}

void
thread_restore(struct thread *thread, struct arena *arena, const struct value *stored,
    const struct value *order)
{
	size_t i;

	assert(thread->count == 0);
	for (i = 0; i < value_size(order); i++)
		restore_range(thread, stored, value_at(order, i));
	for (i = 0; arena != NULL && i < thread->count; i++)
		thread->items[i] = settle(arena, thread->items[i]);
	show(thread);
	thread->next_number = (uint32_t)value_size(stored);
	thread->kept_numbers = arena == NULL ? thread->next_number : 0;
}

/* --- storing ------------------------------------------------------------------------ */

static void
add_unsaved(struct thread *thread, const struct value *message)
{
	if (thread->unsaved_count == thread->unsaved_room) {
		thread->unsaved_room = 2 * thread->unsaved_room + ROOM_AT_FIRST;
		thread->unsaved = xreallocarray(
		    thread->unsaved, thread->unsaved_room, sizeof *thread->unsaved);
	}
	thread->unsaved[thread->unsaved_count++] = message;
}

static void
add_to_order(struct thread *thread, uint32_t number)
{
	size_t count = thread->range_count;

	if (count > 0 && thread->ranges[count - 1].last + 1 == number) {
		thread->ranges[count - 1].last = number;
		return;
	}
	if (count == thread->range_room) {
		thread->range_room = 2 * thread->range_room + ROOM_AT_FIRST;
		thread->ranges = xreallocarray(
		    thread->ranges, thread->range_room, sizeof *thread->ranges);
	}
	thread->ranges[thread->range_count++] = (struct range){ number, number };
}

/* Numbers what has no number yet and brings the order up to date. */
static void
number_messages(struct thread *thread)
{
	for (; thread->ranged < thread->count; thread->ranged++) {
		uint32_t *number = &thread->numbers[thread->ranged];

		if (*number == NOT_NUMBERED) {
			assert(thread->next_number < NOT_NUMBERED);
			*number = thread->next_number++;
			add_unsaved(thread, thread->items[thread->ranged]);
		}
		add_to_order(thread, *number);
	}
}

static const struct value *
order_value(struct arena *arena, const struct thread *thread)
{
	struct value_list order = { .arena = arena };
	size_t i;

	for (i = 0; i < thread->range_count; i++) {
		const struct value *ends[] = {
			value_int(arena, thread->ranges[i].first),
			value_int(arena, thread->ranges[i].last),
		};

		value_list_add(&order, value_array(arena, ends, 2));
	}
	return value_list_end(&order);
}

void
thread_changes(
    struct thread *thread, struct arena *arena, struct state_changes *changes_r)
{
	number_messages(thread);
	changes_r->messages = value_array(arena, thread->unsaved, thread->unsaved_count);
	changes_r->first_number = thread->next_number - (uint32_t)thread->unsaved_count;
	changes_r->order = order_value(arena, thread);
	changes_r->order_changed = thread->changed;
	thread->given = true;
}

void
thread_committed(struct thread *thread)
{
	/* What was edited since the changes were given has no number yet. */
	thread->unsaved_count = 0;
	if (thread->given)
		thread->changed = false;
}

/* --- memory ------------------------------------------------------------------------- */

size_t
thread_bytes(const struct thread *thread)
{
	return sizeof *thread + thread_index_bytes(thread) +
	       (thread->digest != NULL ? digest_bytes() : 0) +
	       thread->room * (sizeof *thread->items + sizeof *thread->numbers) +
	       thread->unsaved_room * sizeof *thread->unsaved +
	       thread->range_room * sizeof *thread->ranges;
}

/* A message may have been numbered and then replaced before its commit: it is stored all
 * the same, so that numbers have no holes. */
static void
move_unsaved(struct thread *thread, struct arena *arena)
{
	uint32_t first = thread->next_number - (uint32_t)thread->unsaved_count;
	size_t i;

	for (i = 0; i < thread->unsaved_count; i++) {
		long at = thread_find(thread, thread_id_of(thread->unsaved[i]));

		if (at != -1 && thread->numbers[at] == first + i)
			thread->unsaved[i] = thread->items[at];
		else
			thread->unsaved[i] = value_copy(arena, thread->unsaved[i]);
	}
}

void
thread_move(struct thread *thread, struct arena *arena)
{
	size_t i;

	for (i = 0; i < thread->count; i++) {
		if (thread->numbers[i] >= thread->kept_numbers)
			thread->items[i] = settle(arena, thread->items[i]);
	}
	move_unsaved(thread, arena);
}
