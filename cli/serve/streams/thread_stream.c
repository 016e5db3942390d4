/* thread_stream: a thread as server-sent events, run after run, for as long as the client stays. */
#include <inttypes.h>
#include <string.h>

#include "blueprint.h"
#include "room.h"
#include "runs.h"
#include "shape.h"
#include "thread_frames.h"
#include "thread_number.h"
#include "thread_walk.h"
#include "trail.h"

#define LOOK_MS 1000u /* for more of a run; between beats, too */

struct thread_stream {
	struct call *call;
	const char *thread;
	unsigned channels;
	struct thread_frames *frames;
	struct thread_walk walk;
	const char *run;     /* that is shown */
	struct trail *trail; /* its, or NULL: nobody wants it */
	uint64_t since;      /* the number to begin behind, or 0 */
	uint64_t seen;       /* the event to begin behind, of the run that since is of */
	uint64_t beat_at;
};

/* --- writing ------------------------------------------------------------------------------ */

/* Returns 0, or -1: the reader is gone. */
static int
flush(struct thread_stream *stream)
{
	struct exchange *exchange = stream->call->exchange;
	const struct packet *bytes = thread_frames_bytes(stream->frames);
	int result = 0;

	if (bytes->size > 0)
		result = exchange_write(exchange, bytes->data, bytes->size);
	else if (beat_rest(stream->beat_at) == 0)
		result = exchange_write(exchange, EVENTS_BEAT, strlen(EVENTS_BEAT));
	else
		return 0;
	stream->beat_at = beat_next(BEAT_MS);
	thread_frames_taken(stream->frames);
	return result;
}

/* --- a run -------------------------------------------------------------------------------- */

static bool
changes_state(const struct value *event)
{
	const struct value *kind = value_get(event, "kind");

	return value_text_is(kind, "started") || value_text_is(kind, "step");
}

/* Whether the state has changed, and nothing that changes it again is there already. */
static bool
shows_state(const struct thread_stream *stream, const struct value *event,
    const struct feed *feed)
{
	bool is_end = value_text_is(value_get(event, "kind"), "finished");

	return (stream->channels & CHANNEL_VALUES) != 0 &&
	       (is_end || (changes_state(event) && !feed_has_more(feed)));
}

/* Returns 0, or -1: Redis does not say what belongs to it; who comes back is shown it whole. */
static int
show(struct thread_stream *stream, struct arena *arena, const struct value *thing,
    struct feed *feed)
{
	int64_t count = value_get_int(thing, "count", 0);
	const struct value *thread;
	struct thread_told told = { 0 };
	enum store_status status = STORE_OK;

	if (!value_has(thing, "seq")) {
		thread_frames_live(stream->frames, arena, thing);
		return 0;
	}
	if (count > 0 && (status = room_for_state(stream->call)) == STORE_OK) {
		status = store_messages(api_store(stream->call->api), arena,
		    stream->thread, (uint64_t)value_get_int(thing, "first", 0),
		    (uint64_t)count, &told.messages);
		room_leave_state(stream->call);
	}
	if (status == STORE_OK && shows_state(stream, thing, feed))
		status = blueprint_thread(stream->call, arena, stream->thread,
		    stream->run, &thread, &told.values);
	if (!thread_walk_is_away(status) && stream->trail != NULL)
		status =
		    trail_event(stream->trail, arena, thing, told.messages, &told.trail);
	if (thread_walk_is_away(status))
		return -1;
	thread_frames_event(stream->frames, arena, thing, &told);
	return 0;
}

/* Shows one thing of the run. Returns 1; 0: the run has ended; -1: the reader is gone, or Redis. */
static int
show_next(struct thread_stream *stream, struct feed *feed)
{
	struct arena *arena = arena_new();
	const struct value *thing = NULL;
	int found = feed_next(feed, arena, LOOK_MS, &thing), result = 1;

	room_keep_state(stream->call);
	if (found == 1) {
		if (show(stream, arena, thing, feed) == -1)
			result = -1;
		else if (value_text_is(value_get(thing, "kind"), "finished"))
			result = 0;
	}
	if (found == -1) /* its end was shown before, or nobody can say what it was */
		result = feed_status(feed) == STORE_NONE ? 0 : -1;
	arena_destroy(&arena); /* the reader may take his time */
	room_let_go_state(stream->call);
	return flush(stream) == -1 ? -1 : result;
}

/* Returns 0 when it has ended, -1 when the stream has. */
static int
show_run(struct thread_stream *stream, const char *run)
{
	struct arena *arena = arena_new();
	const char *agent;
	struct feed *feed;
	struct trail_run trail = { .thread = stream->thread,
		.run = run,
		.names_only = (stream->channels & CHANNEL_TASKS) == 0 };
	const struct value *record;
	int result = thread_walk_read(&stream->walk, arena, run, &record);

	if (result != 1) {
		arena_destroy(&arena);
		return result;
	}
	/* That one is not there any more. */
	if (stream->walk.cut + stream->walk.number != thread_number_run(stream->since))
		stream->seen = 0;
	stream->run = run;
	agent = value_get_text(record, "agent");
	trail.metadata = value_get(record, "metadata");
	feed = feed_new(stream->call, stream->thread, run, stream->seen, FEED_ALL);
	feed_was_there(feed, record);
	thread_frames_begin(stream->frames, stream->walk.cut + stream->walk.number, run,
	    agent != NULL ? agent : "", stream->seen);
	if ((stream->channels & (CHANNEL_TASKS | CHANNEL_CHECKPOINTS)) != 0)
		stream->trail = trail_new(stream->call, &trail, stream->seen);
	while (result == 1)
		result = show_next(stream, feed);
	trail_destroy(&stream->trail);
	feed_destroy(&feed);
	arena_destroy(&arena);
	return result;
}

/* --- the thread --------------------------------------------------------------------------- */

/* At the first run that goes on, else at the last. Returns a step's status. */
static enum store_status
find_begin(struct thread_stream *stream)
{
	enum store_status status = thread_walk_begin(&stream->walk);

	if (stream->walk.number == stream->walk.count && stream->walk.count > 0)
		stream->walk.number--;
	return status;
}

/* Behind the event of that number, if what it is of is there; else *since_p is 0. Returns a step's status. */
static enum store_status
find_since(struct thread_stream *stream, uint64_t *since_p)
{
	enum store_status status =
	    *since_p == 0 ? STORE_NONE
			  : thread_walk_seek(&stream->walk, thread_number_run(*since_p));

	stream->seen = status == STORE_OK ? thread_frames_event_of(*since_p) : 0;
	if (status != STORE_NONE)
		return status;
	*since_p = 0;
	return find_begin(stream);
}

/* Shows the next run, or waits for it. Returns -1 when the stream has ended. */
static int
go_on(struct thread_stream *stream)
{
	struct arena *arena = arena_new();
	const char *run;
	int result = thread_walk_next(&stream->walk, arena, &run);

	if (result == 1) {
		result = show_run(stream, run);
		thread_walk_step(&stream->walk, run);
		stream->seen = 0;
	}
	arena_destroy(&arena);
	return result == -1 ? -1 : flush(stream);
}

/* Returns false after answering. */
static bool
read_channels(struct call *call, unsigned *channels_r)
{
	const struct value *list = value_get(call->body, "channels");
	size_t i;

	*channels_r = 0;
	for (i = 0; value_is(list, VALUE_ARRAY) && i < list->size; i++) {
		const char *name = value_text(value_at(list, i));

		if (name == NULL || !channel_add(name, channels_r)) {
			reply_error(call, 422, "channels: there is no '%s'",
			    name != NULL ? name : "?");
			return false;
		}
	}
	if (value_is(list, VALUE_ARRAY))
		return true;
	reply_error(call, 422, "channels: must be a list, such as [\"values\"]");
	return false;
}

void
call_thread_events(struct call *call)
{
	struct thread_stream stream = { .call = call,
		.thread = call->params[0],
		.walk = { .call = call, .thread = call->params[0] } };
	int64_t asked = call_number(call, "since", 0, 0, INT64_MAX);
	uint64_t since = (uint64_t)asked;
	enum store_status status;

	if (asked == -1 || !read_channels(call, &stream.channels))
		return;
	status = find_since(&stream, &since);
	if (status != STORE_OK) {
		reply_failed(call, status, "such thread");
		return;
	}
	stream.since = since;
	stream.frames = thread_frames_new(stream.channels, since);
	reply_events(call);
	while (go_on(&stream) == 0)
		continue;
	thread_frames_destroy(&stream.frames);
}
