/* feed_log: what of a run's log is read, and when. */
#include "feed_private.h"

#define LOOK_MS 1000u /* at the log, though nobody said that there is anything */
#define EVENTS_BYTES (256u << 10)

/* When to look into the log again, though nobody says that there is anything. */
void
feed_put_off_look(struct feed *feed)
{
	feed->look_at = loop_now_ms(session_loop(feed->api->session)) + feed->pause_ms;
	feed->pause_ms *= 2;
}

const struct value *
feed_event(const struct feed *feed)
{
	return value_at(feed->events, feed->at);
}

uint64_t
feed_event_seq(const struct value *event)
{
	return (uint64_t)value_get_int(event, "seq", 0);
}

/* The first count; of those the ends alone, where only they are looked for. */
static const struct value *
pick(const struct feed *feed, const struct value *events, size_t count)
{
	struct value_list list = { .arena = feed->arena };
	size_t i;

	for (i = 0; i < count; i++)
		if (!feed->looks_back ||
		    value_text_is(value_get(value_at(events, i), "kind"), "finished"))
			value_list_add(&list, value_at(events, i));
	return value_list_end(&list);
}

/* Reads some of what the log has behind what was seen: each event may be as large as a state. Returns 0, or -1. */
static int
read_some(struct feed *feed)
{
	const struct value *events;
	size_t count;

	arena_destroy(&feed->arena);
	feed->arena = arena_new();
	feed->events = NULL;
	feed->at = 0;
	/* One more says whether there is more. */
	feed->status = store_some_events(api_store(feed->api), feed->arena, feed->thread,
	    feed->run, feed->seen, feed->limit + 1, &events);
	if (feed->status != STORE_OK)
		return -1;
	count = value_size(events);
	feed->is_part = count > feed->limit;
	if (feed->is_part) {
		count = feed->limit;
		feed->look_at = 0;
	}
	if (arena_bytes(feed->arena) >= EVENTS_BYTES)
		feed->limit = EVENTS_FIRST;
	else if (feed->is_part && 2 * feed->limit <= STORE_EVENTS_MAX)
		feed->limit *= 2;
	if (count > 0) {
		feed->seen = feed_event_seq(value_at(events, count - 1));
		feed->is_known = true;
	}
	feed->events = pick(feed, events, count);
	feed_count(feed);
	return 0;
}

/* Reads on, until there is something to give, or nothing more. Returns 0, or -1. */
static int
read_log(struct feed *feed)
{
	int result;

	do
		result = read_some(feed);
	while (result == 0 && feed->is_part && value_size(feed->events) == 0);
	return result;
}

/* Whether the log has the event up to which its reader had it before us: then that may be the end. */
static bool
has_given(struct feed *feed)
{
	const struct value *events = NULL;

	feed->status = store_some_events(api_store(feed->api), feed->arena, feed->thread,
	    feed->run, feed->given - 1, 1, &events);
	return feed->status == STORE_OK && value_size(events) > 0;
}

/* The run has ended, and its end is not behind what was seen: Redis has forgotten some (a failover). Returns 0, or -1: it is gone. */
static int
look_back(struct feed *feed)
{
	if (feed->seen == 0 || (feed->seen == feed->given && has_given(feed)))
		return 0;
	if (feed->status != STORE_OK)
		return -1;
	feed->looks_back = true;
	feed->seen = 0;
	return read_log(feed);
}

/* What is known of the run beside its log: STORE_NONE: it was deleted. One that is not there yet may still be taken out of
 * the inbox, in a step that makes it and takes the entry. */
static enum store_status
look_at_run(struct feed *feed, bool *has_ended_r)
{
	struct store *store = api_store(feed->api);
	bool was_known = feed->is_known, is_queued; /* it may come while we ask */
	enum store_status status;

	status = store_has_ended(
	    store, feed->arena, feed->thread, feed->run, has_ended_r, &is_queued);
	feed->is_known = was_known || status == STORE_OK;
	if (status != STORE_NONE || was_known)
		return status;
	status = feed->entry != NULL ? store_has_entry(store, feed->arena, feed->entry)
				     : STORE_OK;
	feed->is_known = status == STORE_NONE; /* the next look says */
	return status == STORE_NONE ? STORE_OK : status;
}

/* Nothing is behind what was seen. Will anything be? Not of a run that has ended, or was deleted. Returns 1, 0 or -1. */
static int
goes_on(struct feed *feed)
{
	bool has_ended = false;

	feed->status = look_at_run(feed, &has_ended);
	if (feed->status == STORE_NONE)
		return 0;
	return feed->status != STORE_OK ? -1 : !has_ended;
}

int
feed_look(struct feed *feed)
{
	int more;

	if (feed->seen > 0 || feed->pause_ms > LOOK_MS)
		feed->pause_ms = LOOK_MS;
	feed_put_off_look(feed);
	if (read_log(feed) == -1)
		return -1;
	if (value_size(feed->events) > 0)
		return 0;
	more = goes_on(feed);
	if (more != 0)
		return more == -1 ? -1 : 0;
	/* Its last event may have come in between. */
	if (feed->status == STORE_OK && read_log(feed) == -1)
		return -1;
	if (feed->status == STORE_OK && value_size(feed->events) == 0 &&
	    look_back(feed) == -1)
		return -1;
	if (value_size(feed->events) > 0)
		return 0;
	feed->status = STORE_NONE;
	return -1;
}
