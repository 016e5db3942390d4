#include "kept_threads.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "digest.h"
#include "id_table.h"
#include "memory.h"

#define ROOM_AT_FIRST 16u

struct entry {
	struct id_key key; /* of name, while it is in the table */
	uint8_t name[DIGEST_BYTES];
	struct digest *digest;
	struct arena *arena;
	const struct value **items; /* in arena: who has seen an array keeps it */
	size_t count, room;
	struct written written;
	size_t bytes;   /* as the table's sum counts it */
	unsigned users; /* calls */
	bool is_known;  /* in the table */
	TAILQ_ENTRY(entry) link;
};

struct kept_threads {
	struct id_table *table;
	TAILQ_HEAD(entry_list, entry) recent; /* last used first */
	size_t bytes, bytes_max;
};

/* A call's share in an entry; in the call's arena. */
struct hold {
	struct kept_threads *threads;
	struct entry *entry;
};

struct kept_threads *
kept_threads_new(size_t bytes_max, uint64_t seed)
{
	struct kept_threads *threads = xcalloc(1, sizeof *threads);

	threads->table = id_table_new(seed);
	threads->bytes_max = bytes_max;
	TAILQ_INIT(&threads->recent);
	return threads;
}

static void
entry_free(struct entry *entry)
{
	assert(entry->users == 0 && !entry->is_known);
	digest_destroy(&entry->digest);
	arena_destroy(&entry->arena);
	written_release(&entry->written);
	free(entry);
}

/* --- the table ---------------------------------------------------------------------- */

/* What it costs besides what its arena hands out: the stream's state, the table's item. */
#define ENTRY_BYTES (sizeof(struct entry) + 1024u)

static void
count_bytes(struct kept_threads *threads, struct entry *entry)
{
	threads->bytes -= entry->bytes;
	entry->bytes =
	    ENTRY_BYTES + arena_bytes(entry->arena) + written_bytes(&entry->written);
	threads->bytes += entry->bytes;
}

static void
enter(struct kept_threads *threads, struct entry *entry)
{
	digest_get(entry->digest, entry->name);
	id_table_put_bytes(
	    threads->table, &entry->key, entry->name, sizeof entry->name, entry);
	TAILQ_INSERT_HEAD(&threads->recent, entry, link);
	entry->is_known = true;
	count_bytes(threads, entry);
}

static void
take_out(struct kept_threads *threads, struct entry *entry)
{
	id_table_remove(threads->table, &entry->key);
	TAILQ_REMOVE(&threads->recent, entry, link);
	threads->bytes -= entry->bytes;
	entry->bytes = 0;
	entry->is_known = false;
}

static void
throw_out(struct kept_threads *threads, struct entry *entry)
{
	take_out(threads, entry);
	if (entry->users == 0)
		entry_free(entry);
}

static void
shrink(struct kept_threads *threads)
{
	struct entry *entry = TAILQ_LAST(&threads->recent, entry_list), *before;

	for (; threads->bytes > threads->bytes_max; entry = before) {
		before = TAILQ_PREV(entry, entry_list, link);
		throw_out(threads, entry);
	}
}

void
kept_threads_destroy(struct kept_threads **threads_p)
{
	struct kept_threads *threads = *threads_p;

	if (threads == NULL)
		return;
	threads->bytes_max = 0;
	shrink(threads);
	id_table_destroy(&threads->table);
	free(threads);
	*threads_p = NULL;
}

/* Returns the entry of that digest, or NULL. */
static struct entry *
find(struct kept_threads *threads, const struct value *digest)
{
	return value_is(digest, VALUE_BIN)
		   ? id_table_get_bytes(threads->table, digest->text, digest->size)
		   : NULL;
}

static void
touch(struct kept_threads *threads, struct entry *entry)
{
	TAILQ_REMOVE(&threads->recent, entry, link);
	TAILQ_INSERT_HEAD(&threads->recent, entry, link);
}

/* --- messages ----------------------------------------------------------------------- */

static void
reserve(struct entry *entry, size_t count)
{
	const struct value **items;
	size_t room = entry->room == 0 ? ROOM_AT_FIRST : entry->room;

	if (count <= entry->room)
		return;
	while (room < count)
		room *= 2;
	items = arena_alloc(entry->arena, room * sizeof *items);
	if (entry->count > 0)
		memcpy(items, entry->items, entry->count * sizeof *items);
	entry->items = items;
	entry->room = room;
}

static void
append(struct entry *entry, const struct value *messages)
{
	size_t i;

	reserve(entry, entry->count + value_size(messages));
	for (i = 0; i < value_size(messages); i++)
		entry->items[entry->count++] =
		    value_copy(entry->arena, value_at(messages, i));
}

static void
release(void *data)
{
	struct hold *hold = data;
	struct entry *entry = hold->entry;

	assert(entry->users > 0);
	entry->users--;
	if (entry->is_known) {
		count_bytes(hold->threads, entry); /* JSON may have come to it */
		shrink(hold->threads);
	} else if (entry->users == 0) {
		entry_free(entry);
	}
}

/* Returns entry's messages as they are now, an array that lives as long as arena. */
static const struct value *
look(struct kept_threads *threads, struct arena *arena, struct entry *entry)
{
	struct value *messages = arena_alloc(arena, sizeof *messages);
	struct hold *hold = arena_alloc(arena, sizeof *hold);

	hold->threads = threads;
	hold->entry = entry;
	entry->users++;
	arena_on_destroy(arena, release, hold);
	messages->type = VALUE_ARRAY;
	messages->size = (uint32_t)entry->count;
	messages->items = entry->items;
	return messages;
}

/* Adds messages to stream. Returns false when they are not what digest then says, or no array. */
static bool
add_to(struct digest *stream, const struct value *messages, const struct value *digest)
{
	uint8_t name[DIGEST_BYTES];

	if (!value_is(messages, VALUE_ARRAY))
		return false;
	digest_add(stream, messages, 0, value_size(messages));
	digest_get(stream, name);
	return digest_is(name, digest);
}

/* Adds messages to entry, which is their base. Returns false when they are not what digest says. */
static bool
extend(struct kept_threads *threads, struct entry *entry, const struct value *messages,
    const struct value *digest)
{
	struct digest *next = digest_copy(entry->digest);

	if (!add_to(next, messages, digest)) {
		digest_destroy(&next);
		return false;
	}
	take_out(threads, entry);
	digest_destroy(&entry->digest);
	entry->digest = next;
	append(entry, messages);
	enter(threads, entry);
	return true;
}

/* Keeps a thread that came whole. Returns false when messages are not what digest says, or too
 * many. */
static bool
learn(struct kept_threads *threads, const struct value *messages,
    const struct value *digest)
{
	struct digest *stream = digest_new();
	struct entry *entry;

	if (!add_to(stream, messages, digest)) {
		digest_destroy(&stream);
		return false;
	}
	entry = xcalloc(1, sizeof *entry);
	entry->digest = stream;
	entry->arena = arena_new();
	append(entry, messages);
	enter(threads, entry);
	shrink(threads);
	return find(threads, digest) != NULL;
}

/* --- requests ----------------------------------------------------------------------- */

static const struct value *
open_whole(struct kept_threads *threads, const struct value *request,
    const struct value *digest, const struct value **kept_r)
{
	struct entry *entry = find(threads, digest);

	if (entry != NULL)
		touch(threads, entry);
	if (entry != NULL || learn(threads, value_get(request, "messages"), digest))
		*kept_r = digest;
	return request;
}

/* Puts messages where the chain looks for them, also in the state when that is to have them. */
static const struct value *
with_messages(
    struct arena *arena, const struct value *request, const struct value *messages)
{
	const struct value *state = value_get(request, "state");

	if (value_has(state, "messages"))
		request = value_map_with(arena, request, "state",
		    value_map_with(arena, state, "messages", messages));
	return value_map_with(arena, request, "messages", messages);
}

const struct value *
kept_threads_open(struct kept_threads *threads, struct arena *arena,
    const struct value *request, const struct value **kept_r)
{
	const struct value *base = value_get(request, "base"), *messages;
	const struct value *digest = value_get(request, "digest");
	struct entry *entry;

	*kept_r = NULL;
	if (base == NULL && (digest == NULL || threads->bytes_max == 0))
		return request;
	if (base == NULL)
		return open_whole(threads, request, digest, kept_r);
	/* Also when this very call was here before: it is known under its own digest. */
	entry = find(threads, digest);
	if (entry != NULL) {
		touch(threads, entry);
	} else {
		entry = find(threads, base);
		if (entry == NULL ||
		    !extend(threads, entry, value_get(request, "behind"), digest))
			return NULL;
	}
	messages = look(threads, arena, entry);
	shrink(threads);
	*kept_r = entry->is_known ? digest : value_nil();
	return with_messages(arena, request, messages);
}

struct written *
kept_threads_written(struct kept_threads *threads, const struct value *request)
{
	struct entry *entry;

	if (!value_has(request, "base"))
		return NULL;
	entry = find(threads, value_get(request, "digest"));
	return entry == NULL ? NULL : &entry->written;
}

size_t
kept_threads_count(const struct kept_threads *threads)
{
	return id_table_size(threads->table);
}

size_t
kept_threads_bytes(const struct kept_threads *threads)
{
	return threads->bytes;
}
