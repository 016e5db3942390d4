/* run_stream: a run as server-sent events, from its first, or from behind what the client has. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "blueprint.h"
#include "frames.h"
#include "room.h"
#include "runs.h"
#include "tenant.h"
#include "shape.h"
#include "thread_walk.h"
#include "trail.h"

#define MODES_OF_TRAILS                                                                  \
	((unsigned)(MODE_TASKS | MODE_CHECKPOINTS | MODE_DEBUG | MODE_EVENTS |           \
		    MODE_TOOLS))
/* That show nothing of the messages which an event names. */
#define MODES_OF_OTHERS ((unsigned)(MODE_VALUES | MODE_CUSTOM | MODE_CHECKPOINTS))

/* A stream under way. */
struct stream {
	struct call *call;
	const struct run_begun *begun;
	struct frames *frames;
	struct trail *trail; /* or NULL: nobody wants it */
	bool is_changed;     /* the state, since it was shown */
	bool is_cut; /* Redis did not say what belongs to an event; trouble: why */
	enum store_status trouble;
	bool has_ended;
	uint64_t beat_at; /* when a heartbeat is due */
};

/* --- what is shown ------------------------------------------------------------------------ */

/* Writes what is there, or a heartbeat when it is time: not within a frame, which it would end. Returns 0, or -1: the reader is
 * gone. */
static int
flush(struct stream *stream)
{
	struct exchange *exchange = stream->call->exchange;
	const struct packet *bytes = frames_bytes(stream->frames);
	int result = 0;

	if (bytes->size > 0)
		result = exchange_write(exchange, bytes->data, bytes->size);
	else if (beat_rest(stream->beat_at) == 0 && !frames_is_open(stream->frames))
		result = exchange_write(exchange, EVENTS_BEAT, strlen(EVENTS_BEAT));
	else
		return 0;
	stream->beat_at = beat_next(BEAT_MS);
	frames_taken(stream->frames);
	return result;
}

/* Notes that Redis has not said, or that there is no room for it: then the event is not shown, and comes again. What it lacks is passed over. */
static void
note(struct stream *stream, enum store_status status)
{
	stream->is_cut |= thread_walk_is_away(status);
	if (stream->is_cut)
		stream->trouble = status;
}

/* The thread's state; NULL: values are not shown, or the thread cannot be read. */
static const struct value *
read_state(struct stream *stream, struct arena *arena)
{
	const struct value *thread, *values = NULL;

	if ((stream->begun->body.modes & MODE_VALUES) != 0)
		note(stream, blueprint_thread(stream->call, arena, stream->begun->thread,
				 stream->begun->run, &thread, &values));
	return values;
}

static void
show_state(struct stream *stream, struct arena *arena)
{
	if (!stream->is_changed)
		return;
	stream->is_changed = false;
	frames_values(stream->frames, read_state(stream, arena));
}

/* What the event says was added. */
static const struct value *
read_messages(struct stream *stream, struct arena *arena, const struct value *event)
{
	struct call *call = stream->call;
	const struct value *messages = NULL;
	enum store_status status = room_for_state(call);

	if (status == STORE_OK) {
		status = store_messages(api_store(call->api), arena,
		    stream->begun->thread, (uint64_t)value_get_int(event, "first", 0),
		    (uint64_t)value_get_int(event, "count", 0), &messages);
		room_leave_state(call);
	}
	note(stream, status);
	return messages;
}

/* What the event tells of tasks and checkpoints. */
static const struct value *
read_trail(struct stream *stream, struct arena *arena, const struct value *event,
    const struct value *messages)
{
	const struct value *items = NULL;

	if (stream->trail != NULL && !stream->is_cut)
		note(stream, trail_event(stream->trail, arena, event, messages, &items));
	return items;
}

static void
show_items(struct stream *stream, struct arena *arena, const struct value *items,
    size_t from, size_t to)
{
	size_t i;

	for (i = from; !stream->is_cut && i < to; i++)
		frames_trail(stream->frames, arena, value_at(items, i));
}

static void
show_trail(struct stream *stream, struct arena *arena, const struct value *event)
{
	const struct value *items = read_trail(stream, arena, event, NULL);

	show_items(stream, arena, items, 0, value_size(items));
}

static void
show_step(struct stream *stream, struct arena *arena, const struct value *event)
{
	int64_t count = value_get_int(event, "count", 0);
	const struct value *messages = NULL, *items;
	size_t begun;

	if (count > 0 && (stream->begun->body.modes & ~MODES_OF_OTHERS) != 0)
		messages = read_messages(stream, arena, event);
	items = read_trail(stream, arena, event, messages);
	if (stream->is_cut)
		return;
	/* A node that was not told yet begins before it writes. */
	begun = value_text_is(value_get(value_at(items, 0), "type"), "task");
	show_items(stream, arena, items, 0, begun);
	frames_step(stream->frames, arena, event, messages);
	show_items(stream, arena, items, begun, value_size(items));
	stream->is_changed = true;
}

/* What of the run's input a tenant is shown, which somebody else may have given: as of a state. */
static enum store_status
view_input(struct stream *stream, struct arena *arena, const struct value *record,
    const struct value **input_p)
{
	const struct value *input = *input_p;
	struct shape_view view;
	enum store_status status = blueprint_view(stream->call, arena, record, &view);

	if (status == STORE_OK)
		*input_p = value_map_with(arena, shape_fields(arena, input, &view),
		    "messages", value_get(input, "messages"));
	return status;
}

/* What the run was given. */
static const struct value *
read_input(struct stream *stream, struct arena *arena)
{
	struct call *call = stream->call;
	const struct value *record = NULL, *input;
	enum store_status status = room_for_state(call);

	if (status == STORE_OK) {
		status = store_run(api_store(call->api), arena, stream->begun->thread,
		    stream->begun->run, &record);
		room_leave_state(call);
	}
	input = value_get(record, "input");
	if (status == STORE_OK && call->tenant != NULL && value_is(input, VALUE_MAP))
		status = view_input(stream, arena, record, &input);
	note(stream, status);
	return input != NULL ? input : value_nil();
}

static void
show_start(struct stream *stream, struct arena *arena, const struct value *event)
{
	const struct value *input;

	if ((stream->begun->body.modes & MODE_EVENTS) != 0) {
		input = read_input(stream, arena);
		if (stream->is_cut)
			return;
		frames_graph(stream->frames, arena, false, input);
	}
	show_step(stream, arena, event);
}

/* The state, where it has changed, comes by itself as well: useStream takes of the frame of a pause nothing but what is asked. */
static void
show_pause(struct stream *stream, struct arena *arena, const struct value *event)
{
	const struct value *values = read_state(stream, arena);

	if (stream->is_changed)
		frames_values(stream->frames, values);
	stream->is_changed = false;
	show_trail(stream, arena, event);
	if (stream->is_cut)
		return;
	frames_interrupts(stream->frames, arena, values,
	    shape_interrupts(arena, value_get(event, "interrupts")));
}

/* The graph ends with the state, and what is asked; one that fails, or is cancelled, tells of no end. */
static void
show_graph_end(struct stream *stream, struct arena *arena, const struct value *event)
{
	const struct value *thread, *values = NULL, *asks;

	if ((stream->begun->body.modes & MODE_EVENTS) == 0 || stream->is_cut ||
	    value_is(value_get(event, "error"), VALUE_MAP))
		return;
	note(stream, blueprint_thread(stream->call, arena, stream->begun->thread,
			 stream->begun->run, &thread, &values));
	if (values == NULL)
		return;
	asks = shape_interrupts(arena, value_get(thread, "asks"));
	if (value_text_is(value_get(event, "status"), "interrupted"))
		values = value_map_with(arena, values, "__interrupt__", asks);
	frames_graph(stream->frames, arena, true, values);
}

static void
show_end(struct stream *stream, struct arena *arena, const struct value *event)
{
	const struct value *error = value_get(event, "error");

	show_state(stream, arena);
	show_trail(stream, arena, event);
	show_graph_end(stream, arena, event);
	if (stream->is_cut)
		return;
	if (value_is(error, VALUE_MAP) &&
	    !value_text_is(value_get(event, "status"), "cancelled"))
		frames_error(stream->frames, arena, error);
	stream->has_ended = true;
}

static const struct {
	const char *kind;
	void (*show)(
	    struct stream *stream, struct arena *arena, const struct value *event);
} shown[] = {
	{ "started", show_start },
	{ "step", show_step },
	{ "interrupted", show_pause },
	{ "finished", show_end },
};

static void
show(struct stream *stream, struct arena *arena, const struct value *thing)
{
	int64_t seq = value_get_int(thing, "seq", 0);
	size_t i;

	if (seq == 0) {
		frames_live(stream->frames, arena, thing);
		return;
	}
	for (i = 0; i < sizeof shown / sizeof *shown; i++)
		if (value_text_is(value_get(thing, "kind"), shown[i].kind))
			shown[i].show(stream, arena, thing);
	if (!stream->is_cut)
		frames_close(stream->frames, (uint64_t)seq);
}

/* --- the stream --------------------------------------------------------------------------- */

static void
show_next(struct stream *stream, struct arena *arena, const struct value *thing)
{
	show(stream, arena, thing);
	if (!stream->is_cut && !feed_has_more(stream->begun->feed)) {
		show_state(stream, arena);
		frames_close(stream->frames, 0);
	}
}

/* Returns false: it has ended, the reader is gone, or Redis is. */
static bool
go_on(struct stream *stream)
{
	struct arena *arena = arena_new();
	const struct value *thing;
	int found =
	    feed_next(stream->begun->feed, arena, beat_rest(stream->beat_at), &thing);
	bool goes_on = found != -1;

	room_keep_state(stream->call);
	if (found == 1)
		show_next(stream, arena, thing);
	else if (found == 0)
		frames_close(stream->frames, 0); /* a heartbeat goes behind it */
	/* The reader may take his time. */
	arena_destroy(&arena);
	room_let_go_state(stream->call);
	if (goes_on && flush(stream) == -1) {
		/* Who comes back finds its end. */
		stream->has_ended = false;
		return false;
	}
	return goes_on && !stream->has_ended && !stream->is_cut;
}

/* Writes it to its end. Redis that is gone ends it by an error: whoever comes back with the last id goes on. */
static void
write_stream(struct stream *stream)
{
	struct arena *arena = stream->call->arena;
	enum store_status trouble;
	bool goes_on;

	stream->beat_at = beat_next(BEAT_MS);
	goes_on = flush(stream) == 0;
	while (goes_on && !stream->is_cut)
		goes_on = go_on(stream);
	trouble = stream->is_cut ? stream->trouble : feed_status(stream->begun->feed);
	if (!stream->has_ended && (stream->is_cut || trouble == STORE_FAILED)) {
		frames_error(stream->frames, arena,
		    value_map(arena, "type", value_str(arena, "ConnectionError"),
			"message", value_str(arena, reply_trouble(stream->call, trouble)),
			NULL));
		frames_close(stream->frames, 0);
		flush(stream);
	}
}

/* Which step the last event is of that the client has. Without it a text of which the client has a piece would
 * come to it from its beginning. */
static enum store_status
recall_step(struct stream *stream)
{
	struct arena *arena = arena_new();
	uint64_t seen = frames_seen(stream->frames);
	const struct value *events = NULL, *event;
	enum store_status status = store_some_events(api_store(stream->call->api), arena,
	    stream->begun->thread, stream->begun->run, seen - 1, 1, &events);

	event = value_at(events, 0);
	if ((uint64_t)value_get_int(event, "seq", 0) == seen)
		frames_have_step(stream->frames, value_get_int(event, "step", 0));
	arena_destroy(&arena);
	return status;
}

bool
runs_show(struct call *call, struct run_begun *begun, bool names_run, const char *last_id)
{
	const struct frames_run run = { begun->run, begun->thread, begun->body.agent,
		begun->body.assistant, begun->body.metadata, names_run };
	const struct trail_run trail = { begun->thread, begun->run, begun->body.metadata,
		false };
	struct stream stream = { .call = call, .begun = begun };
	bool is_whole;

	stream.frames = frames_new(&run, begun->body.modes, last_id);
	if ((begun->body.modes & MODES_OF_TRAILS) != 0)
		stream.trail = trail_new(call, &trail, frames_seen(stream.frames));
	if (begun->feed == NULL) {
		begun->feed = feed_new(call, begun->thread, begun->run,
		    frames_seen(stream.frames), FEED_ALL);
		feed_was_there(begun->feed, begun->record);
	}
	if (frames_seen(stream.frames) == 0) {
		frames_begin(stream.frames);
	} else { /* what it was shown of the state may be old */
		stream.is_changed = true;
		note(&stream, recall_step(&stream));
	}
	write_stream(&stream);
	is_whole = stream.has_ended || feed_status(begun->feed) == STORE_NONE;
	frames_destroy(&stream.frames);
	trail_destroy(&stream.trail);
	feed_destroy(&begun->feed);
	runs_leave(call, begun, stream.has_ended);
	return is_whole;
}

const char *
runs_segment(struct arena *arena, const char *name)
{
	static const char plain[] = "-._~!$&'()*+,;=:@";
	char *text = arena_alloc(arena, 3 * strlen(name) + 1), *end = text;

	for (; *name != '\0'; name++)
		if (isalnum((unsigned char)*name) || strchr(plain, *name) != NULL)
			*end++ = *name;
		else
			end += snprintf(end, 4, "%%%02X", (unsigned char)*name);
	*end = '\0';
	return text;
}

void
runs_say_stream(struct call *call, const char *thread, const char *run, unsigned modes)
{
	struct arena *arena = call->arena;
	const char *of_run =
	    run == NULL ? "" : arena_printf(arena, "/runs/%s", runs_segment(arena, run));

	exchange_add_header(call->exchange, "Location",
	    arena_printf(arena, "/threads/%s%s/stream?stream_mode=%s",
		runs_segment(arena, thread), of_run, mode_names(arena, modes)));
}

void
call_run_stream(struct call *call)
{
	struct run_begun begun;

	if (!runs_begin(call, call->body, FEED_ALL, &begun))
		return;
	runs_say_where(call, &begun);
	runs_say_stream(call, begun.thread, begun.run, begun.body.modes);
	reply_events(call);
	runs_show(call, &begun, false, NULL);
}

bool
runs_read_modes(struct call *call, unsigned *modes_r)
{
	const char *text = call_list(call, "stream_mode");
	size_t size;

	*modes_r = text == NULL || *text == '\0' ? RUNS_JOIN_MODES : 0;
	for (; text != NULL && *text != '\0'; text += size + (text[size] == ',')) {
		size = strcspn(text, ",");
		if (!mode_add(arena_copy(call->arena, text, size), modes_r)) {
			reply_error(call, 422, "stream_mode: there is no '%.*s'",
			    (int)size, text);
			return false;
		}
	}
	return true;
}

/* One of a path without thread has a thread of its own name. */
void
call_run_join_stream(struct call *call)
{
	const struct value *record;
	struct run_begun begun;

	if (call->params[1] == NULL)
		call->params[0] = call->params[1] = tenant_name(call, call->params[0]);
	record = runs_find(call);
	begun = (struct run_begun){
		.thread = call->params[0], .run = call->params[1], .record = record
	};
	if (record == NULL || !runs_read_modes(call, &begun.body.modes))
		return;
	run_body_recall(record, &begun.body);
	begun.body.cancels_on_disconnect = call_flag(call, "cancel_on_disconnect");
	runs_say_stream(call, begun.thread, begun.run, begun.body.modes);
	reply_events(call);
	runs_show(call, &begun, false, exchange_header(call->exchange, "Last-Event-ID"));
}
