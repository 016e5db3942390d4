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

#define BLOCK_MS 1000u
#define ORPHAN_MS                                                                        \
	"3000" /* an entry its reader has not finished for so long is taken over */
#define ORPHANS_EVERY_MS 1000u
#define READER_IDLE_MS 60000u /* a reader that is silent for longer is forgotten */
#define TIDY_EVERY_MS 30000u
#define CLOSED_MS 20u
#define HELD_MS "20" /* what waits for another reader's is looked at so often */
#define FULL_MS 300u /* without room for runs, what others have left is read so often */

struct inbox {
	struct coordinator *coordinator;
	struct fiber *fiber;
	bool stopping, ended;
	bool holds_own;      /* entries that were read and are to be read again at once */
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
	size_t left;            /* fibers */
	struct value_list done; /* ids of entries that can be deleted */
};

struct entry {
	struct batch *batch;
	struct inbox_entry content;
};

/* --- one entry ---------------------------------------------------------------------- */

/* Moves the entry, and those of its thread behind it until one has to stay. */
static void
entry_main(void *arg)
{
	struct entry *entry = arg;
	struct batch *batch = entry->batch;
	const struct inbox_place *place = &batch->places[entry - batch->entries];
	struct arena *arena;
	bool moved = true;

	while (moved) {
		arena = arena_new();
		moved = inbox_entry_move(batch->inbox->coordinator, arena,
			    &entry->content) == STORE_OK;
		if (moved)
			value_list_add(
			    &batch->done, value_str(batch->arena, entry->content.id));
		else
			log_warnx("entry=%s stays in the inbox: %s", entry->content.id,
			    store_error(batch->inbox->coordinator->store));
		arena_destroy(&arena);
		if (place->next == 0)
			break;
		entry = &batch->entries[place->next];
		place = &batch->places[place->next];
		if (place->is_held) {
			batch->inbox->holds_own = true;
			break;
		}
	}
	batch->left--;
	fiber_wake(batch->waiting);
}

/* --- batches ------------------------------------------------------------------------ */

static void
delete_done(struct batch *batch)
{
	/* Whoever dies between the two leaves an entry that is pending and gone: XAUTOCLAIM
	 * drops it. The other way round it would lie in the stream for ever; so nothing is
	 * acknowledged that may not be deleted, and it is moved again, which does no harm. */
	static const char *const verbs[2][3] = { { "XDEL", STORE_INBOX, NULL },
		{ "XACK", STORE_INBOX, STORE_INBOX_GROUP } };
	size_t count = batch->done.count, verb, i;

	for (verb = 0; verb < 2 && count > 0; verb++) {
		struct redis_arg *args =
		    arena_alloc(batch->arena, (count + 3) * sizeof *args);
		const struct value *reply;
		size_t n = 0;

		for (i = 0; i < 3 && verbs[verb][i] != NULL; i++)
			args[n++] =
			    (struct redis_arg){ verbs[verb][i], strlen(verbs[verb][i]) };
		for (i = 0; i < count; i++)
			args[n++] = (struct redis_arg){ batch->done.items[i]->text,
				batch->done.items[i]->size };
		if (redis_call(batch->inbox->coordinator->redis, batch->arena, BLOCK_MS,
			args, n, &reply) != REDIS_OK)
			return;
	}
}

static void
read_entry(struct batch *batch, const struct value *one)
{
	struct entry *entry = &batch->entries[batch->count];
	struct inbox_place *place = &batch->places[batch->count];
	const struct value *flat = value_at(one, 1);
	struct value_fields fields = { .arena = batch->arena };
	const struct value *run, *thread;
	size_t i;

	if (value_is_nil(flat)) { /* deleted, but not acknowledged */
		value_list_add(&batch->done, value_at(one, 0));
		return;
	}
	for (i = 0; i + 1 < value_size(flat); i += 2)
		value_fields_set(
		    &fields, redis_reply_text(value_at(flat, i)), value_at(flat, i + 1));
	*entry = (struct entry){ batch,
		{ redis_reply_text(value_at(one, 0)), value_fields_end(&fields) } };
	run = value_get(entry->content.fields, "run");
	thread = value_get(entry->content.fields, "thread");
	place->id = entry->content.id;
	place->names_thread =
	    thread != NULL &&
	    (run == NULL || strcmp(redis_reply_text(thread), redis_reply_text(run)) != 0);
	place->thread = thread != NULL ? redis_reply_text(thread)
			: run != NULL
			    ? redis_reply_text(run)
			    : arena_printf(batch->arena, "run-%s", entry->content.id);
	batch->count++;
}

/* Who goes before whom. While nobody can tell, those stay that may have to wait. */
static void
line_up(struct batch *batch)
{
	struct inbox_place *places = batch->places;
	const struct value *ahead = NULL;
	size_t i;
	bool is_known = true;

	if (inbox_line_asks(places, batch->count))
		is_known =
		    store_inbox_ahead(batch->inbox->coordinator->store, batch->arena,
			places[batch->count - 1].id, &ahead) == STORE_OK;
	inbox_line_up(places, batch->count, is_known ? ahead : NULL);
	for (i = 0; i < batch->count && !is_known; i++)
		places[i].is_held = places[i].names_thread;
}

static void
begin(struct batch *batch, size_t i)
{
	struct inbox *inbox = batch->inbox;

	if (batch->places[i].is_behind)
		return;
	if (batch->places[i].is_held) {
		inbox->holds_own = true;
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
	struct batch batch = {
		.inbox = inbox, .arena = arena, .waiting = fiber_current()
	};
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
	while (batch.left > 0)
		fiber_wait();
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
		ORPHAN_MS, inbox->orphans_from, "COUNT", "128", NULL) != REDIS_OK)
		return;
	/* A call looks at a part of what is pending: the next one goes on behind it. */
	snprintf(inbox->orphans_from, sizeof inbox->orphans_from, "%s",
	    redis_reply_text(value_at(reply, 0)));
	move_all(inbox, arena, value_at(reply, 1));
}

/* Entries that were read under our name and never finished: by us, or by a process of that name
 * before us. */
static void
finish_own(struct inbox *inbox, struct arena *arena)
{
	struct coordinator *coordinator = inbox->coordinator;
	const struct value *reply;

	if (redis_text(coordinator->redis, arena, BLOCK_MS, &reply, "XREADGROUP", "GROUP",
		STORE_INBOX_GROUP, coordinator->settings->common.name, "COUNT", "128",
		"STREAMS", STORE_INBOX, "0", NULL) != REDIS_OK)
		return;
	inbox->holds_own = false;
	move_all(inbox, arena, value_at(value_at(reply, 0), 1));
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

	redis_destroy(&coordinator->inbox_redis);
	fiber_shield(true);
	if (redis_is_up(coordinator->redis) &&
	    redis_refusal(coordinator->redis) == NULL) {
		finish_own(inbox, arena);
		store_tidy_inbox(coordinator->store, arena,
		    coordinator->settings->common.name, READER_IDLE_MS);
	}
	fiber_shield(false);
	arena_destroy(&arena);
}

/* block: how long Redis may wait for entries, "1" at least: ms as text. */
static void
read_some(struct inbox *inbox, struct arena *arena, const char *block)
{
	struct coordinator *coordinator = inbox->coordinator;
	const struct value *reply;

	switch (redis_text(coordinator->inbox_redis, arena, BLOCK_MS, &reply,
	    "XREADGROUP", "GROUP", STORE_INBOX_GROUP, coordinator->settings->common.name,
	    "COUNT", "128", "BLOCK", block, "STREAMS", STORE_INBOX, ">", NULL)) {
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
	return zhashx_size(coordinator->runs) < (size_t)coordinator->settings->slots;
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
			if (inbox->holds_own)
				finish_own(inbox, arena);
			take_orphans(inbox, arena);
			tidy(inbox, arena);
			read_some(inbox, arena,
			    !room              ? "1"
			    : inbox->holds_own ? HELD_MS
					       : "1000");
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
	struct inbox *inbox = calloc(1, sizeof *inbox);

	if (inbox == NULL)
		abort();
	inbox->coordinator = coordinator;
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
