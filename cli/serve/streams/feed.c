#include "feed_private.h"

#include <stdlib.h>
#include <string.h>

#include "fiber.h"
#include "memory.h"

#define LIVES_BYTES_MAX                                                                  \
	(1u << 20) /* what has come and was not asked for yet: more is dropped */

static struct heard *
first_heard(const struct feed *feed)
{
	return feed->first < feed->count ? &feed->heard[feed->first] : NULL;
}

/* The last one is of the log, too. Then the newer number says it for both: numbers take no room, and are never dropped, since what is
 * published behind them must not come before their events. */
static bool
is_said(struct feed *feed, uint64_t seq)
{
	struct heard *last =
	    feed->first < feed->count ? &feed->heard[feed->count - 1] : NULL;

	if (seq == 0 || last == NULL || last->seq == 0)
		return false;
	last->seq = seq > last->seq ? seq : last->seq;
	return true;
}

/* What was given leaves its place in front. */
static void
close_up(struct feed *feed)
{
	feed->count -= feed->first;
	if (feed->count > 0 && feed->first > 0)
		memmove(feed->heard, feed->heard + feed->first,
		    feed->count * sizeof *feed->heard);
	feed->first = 0;
}

static size_t
held_bytes(const struct feed *feed)
{
	return feed->heard_bytes + arena_bytes(feed->arena);
}

void
feed_count(struct feed *feed)
{
	exchange_keep(feed->exchange, held_bytes(feed));
}

/* What is more than a stream may always hold has room while others do not hold too much. */
static bool
has_room(const struct feed *feed, size_t size)
{
	return feed->heard_bytes + size <= LIVES_BYTES_MAX &&
	       (held_bytes(feed) + size <= HTTP_STREAM_BYTES_MAX ||
		   exchange_has_room(feed->exchange));
}

static void
add(struct feed *feed, const struct heard *said, const void *body, size_t size)
{
	struct heard *heard;

	if (said->seq == 0 && !has_room(feed, size))
		return;
	if (is_said(feed, said->seq))
		return;
	if (feed->first == feed->count || feed->count == feed->room)
		close_up(feed);
	if (feed->count == feed->room) {
		feed->room = feed->room == 0 ? 16 : 2 * feed->room;
		feed->heard = xreallocarray(feed->heard, feed->room, sizeof *feed->heard);
	}
	heard = &feed->heard[feed->count++];
	*heard = *said;
	if (said->seq == 0)
		packet_copy(&heard->body, body, size);
	feed->heard_bytes += heard->body.size + sizeof *heard;
	feed_count(feed);
}

static void
drop_first(struct feed *feed)
{
	struct heard *heard = &feed->heard[feed->first++];

	feed->heard_bytes -= heard->body.size + sizeof *heard;
	packet_release(&heard->body);
	feed_count(feed);
}

/* What has a number is in the log; the others live here alone. */
static void
on_heard(void *arg, const char *kind, const void *body, size_t size)
{
	struct feed *feed = arg;
	struct arena *arena = arena_new();
	const struct value *event;
	const char *error;
	struct heard said = { 0 };

	(void)kind;
	if (value_unpack(arena, body, size, &event, &error) == 0) {
		said.seq = (uint64_t)value_get_int(event, "seq", 0);
		said.step = value_get_int(event, "step", 0);
	}
	arena_destroy(&arena);
	feed->is_known = feed->is_known || feed->entry == NULL;
	if (said.seq > 0)
		feed->look_at = 0;
	add(feed, &said, body, size);
	if (feed->fiber != NULL)
		fiber_wake(feed->fiber);
}

/* The first one says it. */
static void
on_ended(void *arg, const char *kind, const void *body, size_t size)
{
	struct feed *feed = arg;

	(void)kind;
	feed->is_known = feed->is_known || feed->entry == NULL;
	if (feed->end.size == 0)
		packet_copy(&feed->end, body, size);
	if (feed->fiber != NULL)
		fiber_wake(feed->fiber);
}

struct feed *
feed_new(struct call *call, const char *thread, const char *run, uint64_t after,
    enum feed_what what)
{
	struct feed *feed = xcalloc(1, sizeof *feed);

	feed->api = call->api;
	feed->exchange = call->exchange;
	feed->thread = thread;
	feed->run = run;
	feed->given = feed->seen = after;
	feed->pause_ms = LOOK_FIRST_MS;
	feed->what = what;
	feed->limit = EVENTS_FIRST;
	feed->arena = arena_new();
	feed->ear = what == FEED_END
			? live_listen_end(feed->api->live, run, on_ended, feed)
			: live_listen(feed->api->live, run, on_heard, feed);
	return feed;
}

void
feed_destroy(struct feed **feed_p)
{
	struct feed *feed = *feed_p;

	if (feed == NULL)
		return;
	*feed_p = NULL;
	live_unlisten(&feed->ear);
	while (first_heard(feed) != NULL)
		drop_first(feed);
	free(feed->heard);
	packet_release(&feed->end);
	arena_destroy(&feed->arena);
	exchange_keep(feed->exchange, 0);
	free(feed);
}

void
feed_expect(struct feed *feed, const char *entry)
{
	feed->entry = entry;
	feed->since_ms = strtoll(entry, NULL, 10);
	feed->is_known = false;
	if (feed->what == FEED_END)
		feed_put_off_look(feed);
}

void
feed_was_there(struct feed *feed, const struct value *record)
{
	feed->since_ms = value_get_int(record, "created", 0);
	feed->is_known = feed->is_known || value_has(record, "status");
}

enum store_status
feed_status(const struct feed *feed)
{
	return feed->status;
}

/* What lives here alone is of a step that goes on, so it comes behind the events of those before, and before what ends that step:
 * a pause or the run's end, which have no step. */
static bool
is_before(const struct value *event, const struct heard *heard)
{
	const struct value *kind = value_get(event, "kind");

	if (heard == NULL || heard->seq > 0)
		return heard == NULL || feed_event_seq(event) <= heard->seq;
	return !value_text_is(kind, "interrupted") && !value_text_is(kind, "finished") &&
	       value_get_int(event, "step", 0) < heard->step;
}

/* Gives the next event if it comes before what was published; else 0. */
static int
take_event(struct feed *feed, struct arena *arena, const struct heard *heard,
    const struct value **thing_r)
{
	const struct value *event = feed_event(feed);

	if (event == NULL || !is_before(event, heard))
		return 0;
	*thing_r = value_copy(arena, event);
	feed->at++;
	return 1;
}

/* Whether the log has more than what was read: it says so, or had when it was read, or a step has begun, of whose predecessor we may not have heard. */
static bool
is_ahead(struct feed *feed, const struct heard *heard)
{
	if (heard->seq > 0)
		return heard->seq > feed->seen;
	if (feed_event(feed) != NULL)
		return false;
	if (feed->is_part)
		return true;
	if (heard->step <= feed->step)
		return false;
	feed->step = heard->step;
	return true;
}

/* What cannot be read was not said, nor what is older than the run: of one that was deleted, or clocks differ. The log has what is. */
static int
take_end(struct feed *feed, struct arena *arena, const struct value **thing_r)
{
	const char *error;

	if (feed->end.size == 0)
		return 0;
	if (value_unpack(arena, feed->end.data, feed->end.size, thing_r, &error) == 0 &&
	    value_get_int(*thing_r, "at", feed->since_ms) >= feed->since_ms)
		return 1;
	packet_release(&feed->end);
	feed->look_at = 0;
	return 0;
}

/* Takes what is next without waiting for it. Returns 1, 0: nothing is; -1. */
static int
take(struct feed *feed, struct arena *arena, const struct value **thing_r)
{
	struct heard *heard;
	const char *error;
	int found;

	if (take_end(feed, arena, thing_r) == 1)
		return 1;
	while ((heard = first_heard(feed)) != NULL) {
		if (take_event(feed, arena, heard, thing_r) == 1)
			return 1;
		if (is_ahead(feed, heard)) {
			if (feed_look(feed) == -1)
				return -1;
			if (feed_event(feed) != NULL)
				continue;
			/* What has come meanwhile may have moved it. */
			heard = first_heard(feed);
		}
		found = heard->seq == 0 && value_unpack(arena, heard->body.data,
					       heard->body.size, thing_r, &error) == 0;
		drop_first(feed);
		if (found != 0)
			return 1;
	}
	return take_event(feed, arena, NULL, thing_r);
}

bool
feed_has_more(const struct feed *feed)
{
	size_t i;

	if (feed_event(feed) != NULL || feed->is_part)
		return true;
	/* Numbers of events that were read stay until something is taken behind them. */
	for (i = feed->first; i < feed->count; i++)
		if (feed->heard[i].seq == 0 || feed->heard[i].seq > feed->seen)
			return true;
	return false;
}

static int
wait_for_more(struct feed *feed, uint64_t until)
{
	uint64_t now = loop_now_ms(session_loop(feed->api->session));
	uint64_t end = until < feed->look_at ? until : feed->look_at;
	int woken;

	if (end <= now)
		return 0;
	feed->fiber = fiber_current();
	woken = fiber_wait_ms(end - now);
	feed->fiber = NULL;
	return woken == -1 ? -1 : 0;
}

int
feed_next(struct feed *feed, struct arena *arena, uint64_t wait_ms,
    const struct value **thing_r)
{
	struct loop *loop = session_loop(feed->api->session);
	uint64_t until = loop_now_ms(loop) + wait_ms;
	int taken;

	for (;;) {
		taken = take(feed, arena, thing_r);
		if (taken != 0)
			return taken;
		if (loop_now_ms(loop) >= feed->look_at) {
			if (feed_look(feed) == -1)
				return -1;
			if (feed_event(feed) != NULL)
				continue;
		}
		if (loop_now_ms(loop) >= until)
			return 0;
		feed->status = STORE_CANCELLED;
		if (wait_for_more(feed, until) == -1)
			return -1;
		feed->status = STORE_OK;
	}
}
