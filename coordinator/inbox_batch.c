#include "inbox_batch.h"

#include <stdio.h>
#include <string.h>

#include "coordinator.h"
#include "fiber.h"
#include "inbox_entry.h"
#include "inbox_line.h"
#include "log.h"
#include "utf8.h"

#define LOOK_MS 20u      /* what is dealt with is deleted so often */
#define UNKNOWN_MS 1000u /* that it is not known who goes before whom is said so often */
#define FIELD_SHOWN_BYTES 64u

/* Entries of one reading. A fiber moves those of a thread. */
struct batch {
	struct coordinator *coordinator;
	struct arena *arena;
	struct entry *entries;
	struct inbox_place *places; /* of entries */
	size_t count;
	struct fiber *waiting;
	struct inbox_held *held;
	bool is_unknown;        /* what is held is not to be */
	unsigned connects;      /* of Redis, when they were read */
	size_t left;            /* fibers */
	struct value_list done; /* ids of entries that can be deleted */
};

struct entry {
	struct batch *batch;
	struct inbox_entry content;
};

/* --- one entry ---------------------------------------------------------------------- */

/* Place number i stays, with those behind it. */
static void
hold(struct batch *batch, size_t i)
{
	const char *awaits = batch->places[i].awaits;

	if (batch->is_unknown)
		return;
	if (awaits != NULL && batch->held->awaited[0] == '\0')
		snprintf(batch->held->awaited, INBOX_ID_BYTES, "%s", awaits);
	do {
		batch->held->count++;
		i = batch->places[i].next;
	} while (i != 0);
}

/* Returns false when it has to stay. */
static bool
move_entry(struct batch *batch, const struct inbox_entry *entry)
{
	struct coordinator *coordinator = batch->coordinator;
	struct arena *arena = arena_new();
	bool moved = inbox_entry_move(coordinator, arena, entry) == STORE_OK;

	if (moved)
		value_list_add(&batch->done, value_str(batch->arena, entry->id));
	else
		log_warnx("entry=%s stays in the inbox: %s", entry->id,
		    store_error(coordinator->store));
	arena_destroy(&arena);
	return moved;
}

/* Moves the entry, and those of its thread behind it until one has to stay. */
static void
entry_main(void *arg)
{
	struct entry *entry = arg;
	struct batch *batch = entry->batch;
	size_t i = (size_t)(entry - batch->entries);

	while (move_entry(batch, &batch->entries[i].content)) {
		i = batch->places[i].next;
		if (i == 0)
			break;
		if (batch->places[i].is_held) {
			hold(batch, i);
			break;
		}
	}
	batch->left--;
	fiber_wake(batch->waiting);
}

/* --- batches ------------------------------------------------------------------------ */

/* Whoever dies before this leaves entries that are moved again, which does no harm. Nor are those deleted of
 * which Redis, since it is another one maybe, may not know what was made. */
static void
delete_done(struct batch *batch)
{
	size_t count = batch->done.count;

	if (redis_connects(batch->coordinator->redis) != batch->connects)
		batch->done.count = count = 0;
	if (count == 0 || store_inbox_dealt(batch->coordinator->store, batch->arena,
			      batch->done.items, count) != STORE_OK)
		return;
	batch->done.count -= count; /* more may be done meanwhile */
	memmove(batch->done.items, batch->done.items + count,
	    batch->done.count * sizeof *batch->done.items);
}

/* A field that is not empty, or NULL. */
static const char *
given(const struct entry *entry, const char *name)
{
	const struct value *field = value_get(entry->content.fields, name);
	const char *text = field != NULL ? redis_reply_text(field) : "";

	return text[0] != '\0' ? text : NULL;
}

/* Of a field that comes twice one would be lost. Returns what is wrong so, or NULL. */
static const char *
read_fields(struct arena *arena, const struct value *flat, const struct value **fields_r)
{
	struct value_fields fields = { .arena = arena };
	const char *fault = NULL;
	size_t i;

	for (i = 0; i + 1 < value_size(flat); i += 2) {
		const char *name = redis_reply_text(value_at(flat, i));
		size_t known = fields.count;

		if (name == NULL || redis_reply_text(value_at(flat, i + 1)) == NULL)
			continue; /* an entry has texts alone */
		value_fields_set(&fields, name, value_at(flat, i + 1));
		if (fields.count == known && fault == NULL)
			fault = arena_printf(arena, "field '%s' is given twice",
			    utf8_shown(arena, name, FIELD_SHOWN_BYTES));
	}
	*fields_r = value_fields_end(&fields);
	return fault;
}

static void
read_entry(struct batch *batch, const struct value *one)
{
	struct entry *entry = &batch->entries[batch->count];
	struct inbox_place *place = &batch->places[batch->count];
	const struct value *flat = value_at(one, 1);
	const struct value *fields;
	const char *run, *thread, *fault;

	if (redis_reply_text(value_at(one, 0)) == NULL)
		return;           /* no entry: the answer of another command */
	if (value_is_nil(flat)) { /* deleted, but not acknowledged */
		value_list_add(&batch->done, value_at(one, 0));
		return;
	}
	fault = read_fields(batch->arena, flat, &fields);
	*entry = (struct entry){ batch,
		{ redis_reply_text(value_at(one, 0)), fields, fault } };
	place->id = entry->content.id;
	run = given(entry, "run");
	thread = given(entry, "thread");
	place->run =
	    run != NULL ? run : arena_printf(batch->arena, "run-%s", entry->content.id);
	place->thread = thread != NULL ? thread : place->run;
	place->parent = given(entry, "parent");
	place->names_thread = strcmp(place->thread, place->run) != 0;
	batch->count++;
}

/* Returns false when it cannot be known. */
static bool
look_ahead(struct batch *batch, const struct value **ahead_r)
{
	struct store *store = batch->coordinator->store;
	const char **ids = arena_alloc(batch->arena, (batch->count + 1) * sizeof *ids);
	size_t i;

	for (i = 0; i < batch->count; i++)
		ids[i] = batch->places[i].id;
	return store_inbox_ahead(store, batch->arena, ids, batch->count, ahead_r) ==
	       STORE_OK;
}

/* *said_at_p: when it may be said next. */
static void
say_unknown(const struct batch *batch, uint64_t *said_at_p)
{
	uint64_t now_ms = loop_now_ms(batch->coordinator->loop);

	if (now_ms < *said_at_p)
		return;
	*said_at_p = now_ms + UNKNOWN_MS;
	log_warnx("entries that name a thread stay in the inbox: %s",
	    store_error(batch->coordinator->store));
}

/* Who goes before whom. While nobody can tell, those stay that may have to wait: they are taken over
 * later, by whoever can. */
static void
line_up(struct batch *batch, uint64_t *said_at_p)
{
	const struct value *ahead = NULL;
	bool is_known =
	    !inbox_line_asks(batch->places, batch->count) || look_ahead(batch, &ahead);

	inbox_line_up(batch->places, batch->count, is_known ? ahead : NULL);
	batch->is_unknown = !is_known;
	if (is_known)
		return;
	say_unknown(batch, said_at_p);
	inbox_line_hold(batch->places, batch->count);
}

static void
begin(struct batch *batch, size_t i)
{
	if (batch->places[i].is_behind)
		return;
	if (batch->places[i].is_held) {
		hold(batch, i);
		return;
	}
	batch->left++;
	if (fiber_start(batch->coordinator->loop, "entry", entry_main,
		&batch->entries[i]) == NULL)
		batch->left--; /* it stays pending and is taken over later */
}

void
inbox_batch_move(struct coordinator *coordinator, struct arena *arena,
    const struct value *entries, uint64_t *said_at_p, struct inbox_held *held)
{
	struct batch batch = { .coordinator = coordinator,
		.arena = arena,
		.waiting = fiber_current(),
		.held = held,
		.connects = redis_connects(coordinator->redis) };
	size_t room = value_size(entries) + 1, i;

	batch.done.arena = arena;
	batch.entries = arena_alloc(arena, room * sizeof *batch.entries);
	batch.places = arena_alloc(arena, room * sizeof *batch.places);
	for (i = 0; i < value_size(entries); i++)
		read_entry(&batch, value_at(entries, i));
	line_up(&batch, said_at_p);
	for (i = 0; i < batch.count; i++)
		begin(&batch, i);
	fiber_shield(true);
	/* One that takes long must not make others wait for what is long done. */
	while (batch.left > 0)
		if (fiber_wait_ms(LOOK_MS) == 1)
			delete_done(&batch);
	delete_done(&batch);
	fiber_shield(false);
}
