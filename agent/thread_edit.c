/* add_messages on a thread (semantics.md 2.2), planned first: a step is applied as a
 * whole or not at all, and the only way to fail is found while planning. */
#include <assert.h>
#include <czmq.h>
#include <inttypes.h>
#include <string.h>

#include "chat.h"
#include "key_index.h"
#include "memory.h"
#include "thread_private.h"

/* One id the step writes. */
struct slot {
	const struct value *id;
	const struct value *message; /* NULL: as the thread has it */
	long position;               /* in the thread, or -1: behind its end */
	bool marked;                 /* removed, unless this update sets it again */
	bool gone;
};

struct thread_edit {
	struct arena *arena;
	struct thread *thread;
	struct slot *slots; /* in the order of their first write */
	size_t count, room;
	size_t *marks; /* the slots that are marked, or were, in this update */
	size_t mark_count, mark_room;
	zhashx_t *touched; /* id -> index in slots + 1; NULL for few */
	bool cleared;      /* nothing of the thread stays by itself */
	uint64_t fresh;
};

struct thread_edit *
thread_edit_new(struct arena *arena, struct thread *thread)
{
	struct thread_edit *edit = arena_alloc(arena, sizeof *edit);

	edit->arena = arena;
	edit->thread = thread;
	edit->fresh = thread->fresh;
	return edit;
}

void
thread_edit_destroy(struct thread_edit **edit_p)
{
	if (*edit_p == NULL)
		return;
	zhashx_destroy(&(*edit_p)->touched);
	*edit_p = NULL;
}

#define INDEX_FROM 16u /* slots; fewer are looked through */

static size_t
hash_id(const void *key)
{
	const struct value *id = key;

	return (size_t)key_hash(id->text, id->size);
}

static int
compare_ids(const void *one, const void *other)
{
	return thread_same_id(one, other) ? 0 : 1;
}

/* An index by id; empty, keys are not owned. */
static zhashx_t *
index_new(void)
{
	zhashx_t *index = zhashx_new();

	if (index == NULL)
		arena_exhausted();
	zhashx_set_key_duplicator(index, NULL);
	zhashx_set_key_destructor(index, NULL);
	zhashx_set_key_hasher(index, hash_id);
	zhashx_set_key_comparator(index, compare_ids);
	return index;
}

/* --- planning ----------------------------------------------------------------------- */

static void
touch(struct thread_edit *edit, size_t index)
{
	zhashx_update(
	    edit->touched, edit->slots[index].id, (void *)(uintptr_t)(index + 1));
}

/* Returns the last slot of id, gone or not, or NULL. */
static struct slot *
touched(const struct thread_edit *edit, const struct value *id)
{
	size_t i = edit->count;

	if (edit->touched != NULL) {
		i = (uintptr_t)zhashx_lookup(edit->touched, id);
		return i > 0 ? &edit->slots[i - 1] : NULL;
	}
	while (i > 0 && !thread_same_id(edit->slots[i - 1].id, id))
		i--;
	return i > 0 ? &edit->slots[i - 1] : NULL;
}

static struct slot *
add_slot(struct thread_edit *edit, const struct value *id, long position)
{
	struct slot *slots;
	size_t i;

	if (edit->count == edit->room) {
		edit->room = 2 * edit->room + 8;
		slots = arena_alloc(edit->arena, edit->room * sizeof *slots);
		if (edit->count > 0)
			memcpy(slots, edit->slots, edit->count * sizeof *slots);
		edit->slots = slots;
	}
	edit->slots[edit->count] = (struct slot){ .id = id, .position = position };
	if (edit->touched != NULL) {
		touch(edit, edit->count);
	} else if (edit->count == INDEX_FROM) {
		edit->touched = index_new();
		for (i = 0; i <= edit->count; i++)
			touch(edit, i);
	}
	return &edit->slots[edit->count++];
}

/* Returns the slot of the message that has id as things stand, or NULL. */
static struct slot *
find(struct thread_edit *edit, const struct value *id)
{
	struct slot *slot = touched(edit, id);
	long position;

	if (slot != NULL)
		return slot->gone ? NULL : slot;
	position = edit->cleared ? -1 : thread_find(edit->thread, id);
	return position == -1 ? NULL : add_slot(edit, id, position);
}

/* A user may have taken an id that looks like ours. */
static bool
is_free(const struct thread_edit *edit, const struct value *id)
{
	return touched(edit, id) == NULL && thread_find(edit->thread, id) == -1;
}

static const struct value *
with_id(struct thread_edit *edit, const struct value *message)
{
	const struct value *id;

	if (value_is(value_get(message, "id"), VALUE_STR))
		return message;
	do {
		id = value_printf(
		    edit->arena, "%s-%" PRIu64, edit->thread->prefix, ++edit->fresh);
	} while (!is_free(edit, id));
	return value_map_with(edit->arena, message, "id", id);
}

static void
set(struct thread_edit *edit, const struct value *message)
{
	const struct value *id;
	struct slot *slot;

	message = with_id(edit, message);
	id = value_get(message, "id");
	slot = find(edit, id);
	if (slot == NULL)
		slot = add_slot(edit, id, -1);
	slot->message = message;
	slot->marked = false;
}

static bool
removes_all(const struct value *message)
{
	return chat_is(message, "remove") &&
	       value_text_is(value_get(message, "id"), REMOVE_ALL);
}

/* Returns the position behind the last message that removes all, or 0. */
static size_t
start_of(const struct value *messages)
{
	size_t i = value_size(messages);

	while (i > 0 && !removes_all(value_at(messages, i - 1)))
		i--;
	return i;
}

static void
note_mark(struct thread_edit *edit, size_t index)
{
	size_t *marks;

	if (edit->mark_count == edit->mark_room) {
		edit->mark_room = 2 * edit->mark_room + 8;
		marks = arena_alloc(edit->arena, edit->mark_room * sizeof *marks);
		if (edit->mark_count > 0)
			memcpy(marks, edit->marks, edit->mark_count * sizeof *marks);
		edit->marks = marks;
	}
	edit->marks[edit->mark_count++] = index;
}

static int
mark(struct thread_edit *edit, const struct value *id)
{
	struct slot *slot = value_is(id, VALUE_STR) ? find(edit, id) : NULL;

	if (slot == NULL)
		return -1;
	slot->marked = true;
	note_mark(edit, (size_t)(slot - edit->slots));
	return 0;
}

/* A step may have thousands of updates: each looks at its own marks alone. */
static void
drop_marked(struct thread_edit *edit)
{
	struct slot *slot;

	while (edit->mark_count > 0) {
		slot = &edit->slots[edit->marks[--edit->mark_count]];
		slot->gone |= slot->marked;
		slot->marked = false;
	}
}

int
thread_edit_add(
    struct thread_edit *edit, const struct value *messages, const char **error_r)
{
	size_t i = start_of(messages);

	if (i > 0) {
		edit->cleared = true;
		edit->count = 0;
		zhashx_destroy(&edit->touched);
	}
	for (; i < value_size(messages); i++) {
		const struct value *message = value_at(messages, i);
		const struct value *id = value_get(message, "id");

		if (!chat_is(message, "remove")) {
			set(edit, message);
		} else if (mark(edit, id) == -1) {
			*error_r = arena_printf(edit->arena,
			    "messages[%zu]: there is no message with id \"%s\" to remove",
			    i, value_is(id, VALUE_STR) ? id->text : "");
			return -1;
		}
	}
	drop_marked(edit);
	return 0;
}

/* --- doing -------------------------------------------------------------------------- */

static bool
is_same(const struct thread *thread, long position, const struct value *message)
{
	const struct value *old = thread->items[position];

	return old == message || value_equal(old, message);
}

/* The thread anew: what comes back unchanged keeps its number. */
static void
compose(struct thread_edit *edit, struct arena *arena)
{
	struct thread *thread = edit->thread;
	long *positions = arena_alloc(edit->arena, edit->count * sizeof *positions);
	const struct value **fresh =
	    arena_alloc(edit->arena, edit->count * sizeof *fresh);
	size_t i, count = 0, in_place = 0;

	for (i = 0; i < edit->count; i++) {
		const struct slot *slot = &edit->slots[i];
		long old = thread_find(thread, slot->id);

		if (slot->gone)
			continue;
		fresh[count] = slot->message;
		positions[count] =
		    old != -1 && is_same(thread, old, slot->message) ? old : -1;
		in_place += positions[count] == (long)count;
		count++;
	}
	if (in_place < count || count < thread->count)
		thread_compose(thread, arena, positions, fresh, count);
}

static void
remove_gone(struct thread_edit *edit)
{
	struct thread *thread = edit->thread;
	bool *keep = NULL;
	size_t i;

	for (i = 0; i < edit->count; i++) {
		const struct slot *slot = &edit->slots[i];

		if (!slot->gone || slot->position == -1)
			continue;
		if (keep == NULL) {
			keep = arena_alloc(edit->arena, thread->count * sizeof *keep);
			memset(keep, true, thread->count * sizeof *keep);
		}
		keep[slot->position] = false;
	}
	if (keep != NULL)
		thread_keep(thread, keep);
}

void
thread_edit_apply(struct thread_edit *edit, struct arena *arena)
{
	struct thread *thread = edit->thread;
	size_t i;

	thread->fresh = edit->fresh;
	if (edit->cleared) {
		compose(edit, arena);
		return;
	}
	for (i = 0; i < edit->count; i++) {
		const struct slot *slot = &edit->slots[i];

		if (slot->gone || slot->position == -1 || slot->message == NULL ||
		    is_same(thread, slot->position, slot->message))
			continue;
		thread_replace(thread, arena, (size_t)slot->position, slot->message);
	}
	/* From here on positions are others. */
	remove_gone(edit);
	for (i = 0; i < edit->count; i++) {
		if (!edit->slots[i].gone && edit->slots[i].position == -1)
			thread_append(thread, arena, edit->slots[i].message);
	}
}
