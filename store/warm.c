#include "warm.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "arena.h"
#include "id_table.h"
#include "memory.h"

struct warm_thread {
	struct id_key key;
	TAILQ_ENTRY(warm_thread) link;
	struct arena *arena; /* its name and messages */
	struct value_list messages;
	struct warm_left left;
	uint64_t epoch, version;
	size_t bytes;  /* of arena and left, as counted in warm */
	unsigned refs; /* warm and the arenas it is lent to */
	bool is_left;  /* no run of ours goes on there */
};

struct warm {
	struct id_table *threads;
	TAILQ_HEAD(warm_order, warm_thread) order; /* used last: first */
	size_t bytes, bytes_max;
};

struct warm *
warm_new(size_t bytes_max)
{
	struct warm *warm = xcalloc(1, sizeof *warm);

	warm->threads = id_table_new((uint64_t)arc4random() << 32 | arc4random());
	warm->bytes_max = bytes_max;
	TAILQ_INIT(&warm->order);
	return warm;
}

static void
drop_left(struct warm_thread *kept)
{
	if (kept->left.data != NULL)
		kept->left.destroy(kept->left.data);
	kept->left = (struct warm_left){ 0 };
}

static void
unref(void *data)
{
	struct warm_thread *kept = data;

	if (--kept->refs > 0)
		return;
	arena_destroy(&kept->arena);
	free(kept);
}

void
warm_lend(const struct warm_thread *lent, struct arena *arena)
{
	struct warm_thread *kept = (struct warm_thread *)lent;

	kept->refs++;
	arena_on_destroy(arena, unref, kept);
}

static void
forget(struct warm *warm, struct warm_thread *kept)
{
	id_table_remove(warm->threads, &kept->key);
	TAILQ_REMOVE(&warm->order, kept, link);
	warm->bytes -= kept->bytes;
	drop_left(kept);
	unref(kept);
}

/* Its arena has grown, and it was used. */
static void
touch(struct warm *warm, struct warm_thread *kept)
{
	struct warm_thread *last, *before;

	warm->bytes -= kept->bytes;
	kept->bytes = arena_bytes(kept->arena) + sizeof *kept + kept->left.bytes;
	warm->bytes += kept->bytes;
	TAILQ_REMOVE(&warm->order, kept, link);
	TAILQ_INSERT_HEAD(&warm->order, kept, link);
	for (last = TAILQ_LAST(&warm->order, warm_order); warm->bytes > warm->bytes_max;
	     last = before) {
		before = TAILQ_PREV(last, warm_order, link);
		forget(warm, last);
	}
}

void
warm_destroy(struct warm **warm_p)
{
	struct warm *warm = *warm_p;
	struct warm_thread *kept, *next;

	for (kept = TAILQ_FIRST(&warm->order); kept != NULL; kept = next) {
		next = TAILQ_NEXT(kept, link);
		forget(warm, kept);
	}
	id_table_destroy(&warm->threads);
	free(warm);
	*warm_p = NULL;
}

const struct warm_thread *
warm_find(struct warm *warm, struct arena *arena, const char *thread)
{
	struct warm_thread *kept = id_table_get(warm->threads, thread);

	if (kept == NULL || !kept->is_left)
		return NULL;
	warm_lend(kept, arena);
	return kept;
}

uint64_t
warm_epoch(const struct warm_thread *kept)
{
	return kept->epoch;
}

uint64_t
warm_version(const struct warm_thread *kept)
{
	return kept->version;
}

/* A commit appends behind them: what is lent is as long as it is now. */
const struct value *
warm_messages(const struct warm_thread *kept, struct arena *arena)
{
	struct value *messages = arena_alloc(arena, sizeof *messages);

	if (kept->messages.count == 0)
		return value_empty_array();
	messages->type = VALUE_ARRAY;
	messages->size = (uint32_t)kept->messages.count;
	messages->items = kept->messages.items;
	return messages;
}

void
warm_claimed(struct warm *warm, const struct warm_thread *kept, uint64_t epoch)
{
	struct warm_thread *there = id_table_get(warm->threads, kept->key.bytes);

	/* Forgotten while Redis was asked: what is lent is as good. */
	if (there != kept)
		return;
	there->epoch = epoch;
	there->is_left = false;
	touch(warm, there);
}

static void
add(struct warm_thread *kept, const void *data, size_t size)
{
	const struct value *message = NULL;
	const char *error;

	if (size > 0)
		value_unpack(kept->arena, data, size, &message, &error);
	value_list_add(&kept->messages, message != NULL ? message : value_nil());
}

static void
add_all(struct warm_thread *kept, const struct value *bytes)
{
	size_t i;

	for (i = 0; i < value_size(bytes); i++) {
		const struct value *one = value_at(bytes, i);
		bool is_there = value_is(one, VALUE_BIN);

		add(kept, is_there ? one->text : NULL, is_there ? one->size : 0);
	}
}

const struct warm_thread *
warm_read(struct warm *warm, struct arena *arena, const char *thread, uint64_t epoch,
    uint64_t version, const struct value *bytes)
{
	struct warm_thread *kept = xcalloc(1, sizeof *kept);

	warm_forget(warm, thread);
	kept->arena = kept->messages.arena = arena_new();
	kept->epoch = epoch;
	kept->version = version;
	kept->refs = 1;
	add_all(kept, bytes);
	warm_lend(kept, arena);
	id_table_put(warm->threads, &kept->key, arena_strdup(kept->arena, thread), kept);
	TAILQ_INSERT_HEAD(&warm->order, kept, link);
	touch(warm, kept);
	return kept;
}

void
warm_committed(struct warm *warm, struct arena *scratch, const char *thread,
    uint64_t epoch, uint64_t version, const struct value *messages, bool is_end)
{
	struct warm_thread *kept = id_table_get(warm->threads, thread);
	size_t i;

	if (kept == NULL)
		return;
	if (kept->is_left || kept->epoch != epoch || kept->version != version) {
		forget(warm, kept);
		return;
	}
	for (i = 0; i < value_size(messages); i++) {
		const struct value *message = value_at(messages, i);

		if (message->packed == NULL)
			message = value_freeze(scratch, message);
		add(kept, message->packed, message->packed_size);
	}
	kept->version++;
	kept->is_left = is_end;
	drop_left(kept);
	touch(warm, kept);
}

const struct value *
warm_at_end(struct warm *warm, struct arena *arena, const char *thread, uint64_t epoch,
    uint64_t version)
{
	struct warm_thread *kept = id_table_get(warm->threads, thread);

	if (kept == NULL || !kept->is_left || kept->epoch != epoch ||
	    kept->version != version)
		return NULL;
	warm_lend(kept, arena);
	return warm_messages(kept, arena);
}

void
warm_leave(struct warm *warm, const char *thread, const struct warm_left *left)
{
	struct warm_thread *kept = id_table_get(warm->threads, thread);

	assert(kept != NULL && kept->is_left);
	drop_left(kept);
	kept->left = *left;
	touch(warm, kept);
}

void *
warm_take_left(struct warm *warm, const char *thread, uint64_t epoch)
{
	struct warm_thread *kept = id_table_get(warm->threads, thread);
	void *data;

	if (kept == NULL || kept->is_left || kept->epoch != epoch)
		return NULL;
	data = kept->left.data;
	kept->left = (struct warm_left){ 0 };
	touch(warm, kept);
	return data;
}

void
warm_forget(struct warm *warm, const char *thread)
{
	struct warm_thread *kept = id_table_get(warm->threads, thread);

	if (kept != NULL)
		forget(warm, kept);
}

size_t
warm_bytes(const struct warm *warm)
{
	return warm->bytes;
}
