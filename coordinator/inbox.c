#include "inbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator.h"
#include "fiber.h"
#include "guard.h"
#include "inbox_batch.h"
#include "memory.h"

#define BLOCK_MS 1000u
#define ORPHAN_MS                                                                        \
	3000u /* an entry its reader has not finished for so long is taken over */
#define ORPHANS_EVERY_MS 1000u
#define READER_IDLE_MS 60000u /* a reader that is silent for longer is forgotten */
#define TIDY_EVERY_MS 30000u
#define CLOSED_MS 20u
#define HELD_MS 20u      /* what waits for another reader's is looked at so often */
#define HELD_MS_MAX 160u /* when nothing has moved meanwhile, ever less often */
#define HELD_MAX 64u     /* while more wait, nothing new is read */
#define AWAITED_MS                                                                       \
	3u /* whether another reader has dealt with what is awaited is asked so often */
#define LEAVE_MS 1000u
#define FULL_MS 300u /* without room for runs, what others have left is read so often */

struct inbox {
	struct coordinator *coordinator;
	struct fiber *fiber;
	bool stopping, ended;
	bool holds_own; /* entries that were read and are to be read again, soon */
	struct inbox_held held; /* of the last readings, at least */
	uint64_t own_at;        /* when to do so next */
	unsigned own_ms;        /* and how long behind that again */
	uint64_t said_at;       /* inbox_batch_move */
	uint64_t orphans_at;    /* when to look for orphans next */
	uint64_t tidy_at;
	uint64_t full_at; /* when to read although there is no room */
	char orphans_from[INBOX_ID_BYTES];
};

/* Those that are held are to be read again, soon. */
static void
move_all(struct inbox *inbox, struct arena *arena, const struct value *entries)
{
	size_t held = inbox->held.count;

	inbox_batch_move(
	    inbox->coordinator, arena, entries, &inbox->said_at, &inbox->held);
	inbox->holds_own = inbox->holds_own || inbox->held.count > held;
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
	const char *from = inbox->orphans_from;
	const struct value *entries;

	if (loop_now_ms(coordinator->loop) < inbox->orphans_at)
		return;
	inbox->orphans_at = loop_now_ms(coordinator->loop) + ORPHANS_EVERY_MS;
	if (store_inbox_orphans(coordinator->store, arena,
		coordinator->settings->common.name, ORPHAN_MS, &from,
		&entries) != STORE_OK)
		return;
	/* A call looks at a part of what is pending: the next one goes on behind it. */
	snprintf(inbox->orphans_from, sizeof inbox->orphans_from, "%s", from);
	if (strcmp(inbox->orphans_from, "0-0") != 0)
		inbox->orphans_at = 0; /* there are more */
	move_all(inbox, arena, entries);
}

/* Moves those behind *from_p that were read under our name, at most count, and sets it to the last one. Returns how
 * many; -1: Redis has not said. */
static long
finish_some(struct inbox *inbox, char from[INBOX_ID_BYTES], unsigned count)
{
	struct coordinator *coordinator = inbox->coordinator;
	struct arena *arena = arena_new();
	const struct value *entries, *last;
	long found = -1;

	if (store_inbox_read(coordinator->store, arena,
		coordinator->settings->common.name, from, count, &entries) == STORE_OK)
		found = (long)value_size(entries);
	if (found > 0) {
		last = value_at(entries, (size_t)found - 1);
		snprintf(from, INBOX_ID_BYTES, "%s", redis_reply_text(value_at(last, 0)));
		move_all(inbox, arena, entries);
	}
	arena_destroy(&arena);
	return found;
}

/* Entries that were read under our name and never finished: by us, or by a process of that name
 * before us. HELD_MAX and a reading at most, so those that wait hide nobody. */
static void
finish_own(struct inbox *inbox)
{
	char from[INBOX_ID_BYTES] = "0";
	unsigned left = HELD_MAX + INBOX_BATCH;
	size_t held = inbox->held.count;
	long found;

	inbox->holds_own = false;
	inbox->held = (struct inbox_held){ 0 };
	do {
		found = finish_some(inbox, from, left);
		left -= found > 0 ? (unsigned)found : 0;
	} while (found > 0 && left > 0);
	if (found == -1)
		inbox->holds_own = true;
	if (inbox->held.count == 0 || inbox->held.count < held)
		inbox->own_ms = HELD_MS;
	else if (inbox->own_ms < HELD_MS_MAX)
		inbox->own_ms *= 2;
	inbox->own_at = loop_now_ms(inbox->coordinator->loop) + inbox->own_ms;
}

/* What is held is read again when what it waits for is dealt with, at the latest when its time has come: who
 * has much to read again does not do so for nothing, and whoever waits for him waits no longer than he must. */
static bool
is_own_due(struct inbox *inbox, struct arena *arena)
{
	struct coordinator *coordinator = inbox->coordinator;
	const char *awaited = inbox->held.awaited;
	const struct value *pending;

	if (!inbox->holds_own || loop_now_ms(coordinator->loop) >= inbox->own_at)
		return inbox->holds_own;
	return awaited[0] != '\0' &&
	       redis_text(coordinator->redis, arena, BLOCK_MS, &pending, "XPENDING",
		   STORE_INBOX, STORE_INBOX_GROUP, awaited, awaited, "1",
		   NULL) == REDIS_OK &&
	       value_size(pending) == 0;
}

static bool
is_awaiting(const struct inbox *inbox)
{
	return inbox->holds_own && inbox->held.awaited[0] != '\0';
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
		finish_own(inbox);
		while (inbox->holds_own && loop_now_ms(coordinator->loop) < end_ms) {
			fiber_sleep(HELD_MS);
			finish_own(inbox);
		}
		store_tidy_inbox(coordinator->store, arena,
		    coordinator->settings->common.name, READER_IDLE_MS);
	}
	fiber_shield(false);
	arena_destroy(&arena);
}

static void
move_read(struct inbox *inbox, struct arena *arena, const struct value *entries)
{
	/* What was read while the inbox was closed waits. */
	if (!guard_admits(inbox->coordinator->guard))
		inbox->holds_own = true;
	else
		move_all(inbox, arena, entries);
}

/* Redis may wait for an entry (BLOCK, 1 at least), unless there is something else to be done. */
static enum redis_status
await_one(
    struct inbox *inbox, struct arena *arena, bool room, const struct value **entries_r)
{
	struct coordinator *coordinator = inbox->coordinator;
	const char *block = !room              ? "1"
			    : inbox->holds_own ? arena_printf(arena, "%u", HELD_MS)
					       : "1000";
	const struct value *reply;
	enum redis_status status =
	    redis_text(coordinator->inbox_redis, arena, BLOCK_MS, &reply, "XREADGROUP",
		"GROUP", STORE_INBOX_GROUP, coordinator->settings->common.name, "COUNT",
		"1", "BLOCK", block, "STREAMS", STORE_INBOX, ">", NULL);

	if (status == REDIS_OK)
		*entries_r = value_at(value_at(reply, 0), 1);
	return status;
}

/* What is there is read, so much as can be moved at once; else one is awaited. */
static void
read_some(struct inbox *inbox, struct arena *arena, bool room)
{
	struct coordinator *coordinator = inbox->coordinator;
	struct store *store = coordinator->store;
	const struct value *entries;
	enum store_status status = store_inbox_read(
	    store, arena, coordinator->settings->common.name, ">", INBOX_BATCH, &entries);
	enum redis_status awaited = REDIS_OK;

	if (status == STORE_OK && value_size(entries) == 0 && is_awaiting(inbox))
		fiber_sleep(AWAITED_MS);
	else if (status == STORE_OK && value_size(entries) == 0)
		awaited = await_one(inbox, arena, room, &entries);
	if (status == STORE_OK && awaited == REDIS_OK) {
		move_read(inbox, arena, entries);
		return;
	}
	inbox->holds_own = true; /* an answer that was lost may have had some */
	if (awaited == REDIS_ERROR || (status == STORE_FAILED && !store_is_gone(store)))
		make_group(inbox, arena); /* a Redis that lost everything has no group */
	fiber_sleep(100);
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
	struct arena *arena = arena_new();
	bool room;

	while (!guard_admits(inbox->coordinator->guard) && fiber_sleep(CLOSED_MS) == 0)
		continue;
	make_group(inbox, arena);
	finish_own(inbox);
	arena_destroy(&arena);
	while (!inbox->stopping && !fiber_cancelled()) {
		arena = arena_new();
		room = has_room(inbox->coordinator);
		if (guard_admits(inbox->coordinator->guard) &&
		    (room || reads_when_full(inbox))) {
			if (is_own_due(inbox, arena))
				finish_own(inbox);
			take_orphans(inbox, arena);
			tidy(inbox, arena);
			if (inbox->held.count < HELD_MAX)
				read_some(inbox, arena, room);
			else
				fiber_sleep(is_awaiting(inbox) ? AWAITED_MS : HELD_MS);
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
