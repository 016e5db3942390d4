#include "inbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator.h"
#include "fiber.h"
#include "guard.h"
#include "inbox_entry.h"
#include "inbox_line.h"
#include "log.h"
#include "memory.h"
#include "utf8.h"

#define BLOCK_MS 1000u
#define ORPHAN_MS                                                                        \
	"3000" /* an entry its reader has not finished for so long is taken over */
#define ORPHANS_EVERY_MS 1000u
#define READER_IDLE_MS 60000u /* a reader that is silent for longer is forgotten */
#define TIDY_EVERY_MS 30000u
#define CLOSED_MS 20u
#define HELD_MS 20u      /* what waits for another reader's is looked at so often */
#define HELD_MS_MAX 160u /* when nothing has moved meanwhile, ever less often */
#define HELD_MAX 64u     /* while more wait, nothing new is read */
#define LEAVE_MS 1000u
#define UNKNOWN_MS 1000u /* that it is not known who goes before whom is said so often */
#define FIELD_SHOWN_BYTES 64u
#define FULL_MS 300u /* without room for runs, what others have left is read so often */

struct inbox {
	struct coordinator *coordinator;
	struct fiber *fiber;
	bool stopping, ended;
	bool holds_own;      /* entries that were read and are to be read again, soon */
	size_t held;         /* of the last readings, at least */
	uint64_t own_at;     /* when to do so next */
	unsigned own_ms;     /* and how long behind that again */
	uint64_t said_at;    /* what UNKNOWN_MS is about */
	uint64_t orphans_at; /* when to look for orphans next */
	uint64_t tidy_at;
	uint64_t full_at;      /* when to read although there is no room */
	char orphans_from[48]; /* entry id */
};

/* Entries of one reading. A fiber moves those of a thread. */
struct batch {
	struct inbox *inbox;
	struct arena *arena;
	struct entry *entries;
	struct inbox_place *places; /* of entries */
	size_t count;
	struct fiber *waiting;
	bool is_unknown;        /* what is held is not to be read again soon */
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
	if (batch->is_unknown)
		return;
	batch->inbox->holds_own = true;
	do {
		batch->inbox->held++;
		i = batch->places[i].next;
	} while (i != 0);
}

/* Returns false when it has to stay. */
static bool
move_entry(struct batch *batch, const struct inbox_entry *entry)
{
	struct coordinator *coordinator = batch->inbox->coordinator;
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

	if (redis_connects(batch->inbox->coordinator->redis) != batch->connects)
		batch->done.count = count = 0;
	if (count == 0 || store_inbox_dealt(batch->inbox->coordinator->store,
			      batch->arena, batch->done.items, count) != STORE_OK)
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
	struct store *store = batch->inbox->coordinator->store;
	const char **ids = arena_alloc(batch->arena, (batch->count + 1) * sizeof *ids);
	size_t i;

	for (i = 0; i < batch->count; i++)
		ids[i] = batch->places[i].id;
	return store_inbox_ahead(store, batch->arena, ids, batch->count, ahead_r) ==
	       STORE_OK;
}

static void
say_unknown(struct inbox *inbox)
{
	uint64_t now_ms = loop_now_ms(inbox->coordinator->loop);

	if (now_ms < inbox->said_at)
		return;
	inbox->said_at = now_ms + UNKNOWN_MS;
	log_warnx("entries that name a thread stay in the inbox: %s",
	    store_error(inbox->coordinator->store));
}

/* Who goes before whom. While nobody can tell, those stay that may have to wait: they are taken over
 * later, by whoever can. */
static void
line_up(struct batch *batch)
{
	const struct value *ahead = NULL;
	bool is_known =
	    !inbox_line_asks(batch->places, batch->count) || look_ahead(batch, &ahead);

	inbox_line_up(batch->places, batch->count, is_known ? ahead : NULL);
	batch->is_unknown = !is_known;
	if (is_known)
		return;
	say_unknown(batch->inbox);
	inbox_line_hold(batch->places, batch->count);
}

static void
begin(struct batch *batch, size_t i)
{
	struct inbox *inbox = batch->inbox;

	if (batch->places[i].is_behind)
		return;
	if (batch->places[i].is_held) {
		hold(batch, i);
		return;
	}
	batch->left++;
	if (fiber_start(inbox->coordinator->loop, "entry", entry_main,
		&batch->entries[i]) == NULL)
		batch->left--; /* it stays pending and is taken over later */
}

/* Moves entries ([[id, [name, text, ...]], ...]); returns when all are dealt with, or held. */
static void
move_all(struct inbox *inbox, struct arena *arena, const struct value *entries)
{
	struct batch batch = { .inbox = inbox,
		.arena = arena,
		.waiting = fiber_current(),
		.connects = redis_connects(inbox->coordinator->redis) };
	size_t room = value_size(entries) + 1, i;

	batch.done.arena = arena;
	batch.entries = arena_alloc(arena, room * sizeof *batch.entries);
	batch.places = arena_alloc(arena, room * sizeof *batch.places);
	for (i = 0; i < value_size(entries); i++)
		read_entry(&batch, value_at(entries, i));
	line_up(&batch);
	for (i = 0; i < batch.count; i++)
		begin(&batch, i);
	fiber_shield(true);
	/* One that takes long must not make others wait for what is long done. */
	while (batch.left > 0)
		if (fiber_wait_ms(HELD_MS) == 1)
			delete_done(&batch);
	delete_done(&batch);
	fiber_shield(false);
}

static void
make_group(struct inbox *inbox, struct arena *arena)
{
	const struct value *reply;

	redis_text(inbox->coordinator->redis, arena, BLOCK_MS, &reply, "XGROUP", "CREATE",
	    STORE_INBOX, STORE_INBOX_GROUP, "0", "MKSTREAM", NULL);
}

/* Entries whose reader died between reading and deleting. */
static void
take_orphans(struct inbox *inbox, struct arena *arena)
{
	struct coordinator *coordinator = inbox->coordinator;
	const struct value *reply;

	if (loop_now_ms(coordinator->loop) < inbox->orphans_at)
		return;
	inbox->orphans_at = loop_now_ms(coordinator->loop) + ORPHANS_EVERY_MS;
	if (redis_text(coordinator->redis, arena, BLOCK_MS, &reply, "XAUTOCLAIM",
		STORE_INBOX, STORE_INBOX_GROUP, coordinator->settings->common.name,
		ORPHAN_MS, inbox->orphans_from, "COUNT",
		arena_printf(arena, "%u", INBOX_BATCH), NULL) != REDIS_OK)
		return;
	/* A call looks at a part of what is pending: the next one goes on behind it. */
	snprintf(inbox->orphans_from, sizeof inbox->orphans_from, "%s",
	    redis_reply_text(value_at(reply, 0)));
	if (value_size(value_at(reply, 1)) == INBOX_BATCH ||
	    strcmp(inbox->orphans_from, "0-0") != 0)
		inbox->orphans_at = 0; /* there are more */
	move_all(inbox, arena, value_at(reply, 1));
}

/* Entries that were read under our name and never finished: by us, or by a process of that name
 * before us. */
static void
finish_own(struct inbox *inbox, struct arena *arena)
{
	struct coordinator *coordinator = inbox->coordinator;
	const struct value *reply;
	size_t held = inbox->held;

	/* HELD_MAX and a reading at most, so those that wait hide nobody. */
	if (redis_text(coordinator->redis, arena, BLOCK_MS, &reply, "XREADGROUP", "GROUP",
		STORE_INBOX_GROUP, coordinator->settings->common.name, "COUNT",
		arena_printf(arena, "%u", HELD_MAX + INBOX_BATCH), "STREAMS", STORE_INBOX,
		"0", NULL) != REDIS_OK)
		return;
	inbox->holds_own = false;
	inbox->held = 0;
	move_all(inbox, arena, value_at(value_at(reply, 0), 1));
	if (inbox->held == 0 || inbox->held < held)
		inbox->own_ms = HELD_MS;
	else if (inbox->own_ms < HELD_MS_MAX)
		inbox->own_ms *= 2;
	inbox->own_at = loop_now_ms(coordinator->loop) + inbox->own_ms;
}

/* Forgets readers that have gone. */
static void
tidy(struct inbox *inbox, struct arena *arena)
{
	uint64_t now_ms = loop_now_ms(inbox->coordinator->loop);

	if (now_ms < inbox->tidy_at)
		return;
	inbox->tidy_at = now_ms + TIDY_EVERY_MS;
	store_tidy_inbox(inbox->coordinator->store, arena, "", READER_IDLE_MS);
}

/* Leaves nothing behind. The connection goes first: a read that blocks in it could still be given
 * an entry. */
static void
leave(struct inbox *inbox)
{
	struct coordinator *coordinator = inbox->coordinator;
	struct arena *arena = arena_new();
	uint64_t end_ms;

	redis_destroy(&coordinator->inbox_redis);
	fiber_shield(true);
	if (redis_is_up(coordinator->redis) &&
	    redis_refusal(coordinator->redis) == NULL) {
		end_ms = loop_now_ms(coordinator->loop) + LEAVE_MS;
		finish_own(inbox, arena);
		while (inbox->holds_own && loop_now_ms(coordinator->loop) < end_ms) {
			fiber_sleep(HELD_MS);
			finish_own(inbox, arena);
		}
		store_tidy_inbox(coordinator->store, arena,
		    coordinator->settings->common.name, READER_IDLE_MS);
	}
	fiber_shield(false);
	arena_destroy(&arena);
}

/* Redis may wait for entries (BLOCK, 1 at least), unless there is something else to be done. */
static void
read_some(struct inbox *inbox, struct arena *arena, bool room)
{
	struct coordinator *coordinator = inbox->coordinator;
	const char *block = !room              ? "1"
			    : inbox->holds_own ? arena_printf(arena, "%u", HELD_MS)
					       : "1000";
	const struct value *reply;

	switch (redis_text(coordinator->inbox_redis, arena, BLOCK_MS, &reply,
	    "XREADGROUP", "GROUP", STORE_INBOX_GROUP, coordinator->settings->common.name,
	    "COUNT", arena_printf(arena, "%u", INBOX_BATCH), "BLOCK", block, "STREAMS",
	    STORE_INBOX, ">", NULL)) {
	case REDIS_OK:
		/* A read that was under way when the inbox was closed has got something. */
		if (!guard_admits(coordinator->guard))
			inbox->holds_own = true;
		else
			move_all(inbox, arena, value_at(value_at(reply, 0), 1));
		break;
	case REDIS_ERROR:
		make_group(inbox, arena); /* a Redis that lost everything has no group */
		fiber_sleep(100);
		break;
	default:
		fiber_sleep(100);
	}
}

static bool
has_room(const struct coordinator *coordinator)
{
	return coordinator_room(coordinator) > 0;
}

/* Runs that wait are in the order of their priorities; those in the inbox are not. So it is read
 * without room for runs, too, but leaves those who have some the time to be first. */
static bool
reads_when_full(struct inbox *inbox)
{
	uint64_t now_ms = loop_now_ms(inbox->coordinator->loop);

	if (now_ms < inbox->full_at)
		return false;
	inbox->full_at = now_ms + FULL_MS;
	return true;
}

static void
inbox_main(void *arg)
{
	struct inbox *inbox = arg;
	struct loop *loop = inbox->coordinator->loop;
	struct arena *arena = arena_new();
	bool room;

	while (!guard_admits(inbox->coordinator->guard) && fiber_sleep(CLOSED_MS) == 0)
		continue;
	make_group(inbox, arena);
	finish_own(inbox, arena);
	arena_destroy(&arena);
	while (!inbox->stopping && !fiber_cancelled()) {
		arena = arena_new();
		room = has_room(inbox->coordinator);
		if (guard_admits(inbox->coordinator->guard) &&
		    (room || reads_when_full(inbox))) {
			if (inbox->holds_own && loop_now_ms(loop) >= inbox->own_at)
				finish_own(inbox, arena);
			take_orphans(inbox, arena);
			tidy(inbox, arena);
			if (inbox->held < HELD_MAX)
				read_some(inbox, arena, room);
			else
				fiber_sleep(HELD_MS);
		} else {
			fiber_sleep(CLOSED_MS);
		}
		arena_destroy(&arena);
	}
	leave(inbox);
	inbox->ended = true;
}

struct inbox *
inbox_new(struct coordinator *coordinator)
{
	struct inbox *inbox = xcalloc(1, sizeof *inbox);

	inbox->coordinator = coordinator;
	inbox->holds_own = true; /* for all it knows */
	inbox->own_ms = HELD_MS;
	strcpy(inbox->orphans_from, "0-0");
	inbox->fiber = fiber_start(coordinator->loop, "inbox", inbox_main, inbox);
	return inbox;
}

void
inbox_stop(struct inbox *inbox)
{
	inbox->stopping = true;
	if (!inbox->ended)
		fiber_cancel(inbox->fiber);
}

int
inbox_idle(const struct inbox *inbox)
{
	return inbox->ended;
}

void
inbox_destroy(struct inbox **inbox_p)
{
	free(*inbox_p);
	*inbox_p = NULL;
}
