#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bounds.h"
#include "chat.h"
#include "json.h"
#include "memory.h"
#include "shape.h"
#include "thread_frames_private.h"
#include "thread_number.h"

/* --- life --------------------------------------------------------------------------------- */

struct thread_frames *
thread_frames_new(unsigned wanted, uint64_t since)
{
	struct thread_frames *frames = xcalloc(1, sizeof *frames);

	frames->channels = wanted;
	frames->since = since;
	arc4random_buf(&frames->mark, sizeof frames->mark);
	return frames;
}

void
thread_frames_destroy(struct thread_frames **frames_p)
{
	struct thread_frames *frames = *frames_p;

	if (frames == NULL)
		return;
	*frames_p = NULL;
	packet_release(&frames->out);
	free(frames);
}

/* The one before: the rest of its frames may be missing. */
uint64_t
thread_frames_event_of(uint64_t since)
{
	uint64_t event = thread_number_event(since);

	return event > 0 ? event - 1 : 0;
}

const struct packet *
thread_frames_bytes(const struct thread_frames *frames)
{
	return &frames->out;
}

void
thread_frames_taken(struct thread_frames *frames)
{
	frames->out.size = 0;
	if (frames->out.room > SERVE_FRAMES_BYTES_KEPT)
		packet_release(&frames->out);
}

static void
begin_event(struct thread_frames *frames, uint64_t event)
{
	frames->event = event;
	frames->count = 0;
	memset(frames->places, 0, sizeof frames->places);
}

void
thread_frames_begin(struct thread_frames *frames, uint64_t number, const char *run,
    const char *agent, uint64_t seen)
{
	/* The thread was made again. */
	if (number < thread_number_run(frames->since))
		frames->since = 0;
	frames->number = number;
	frames->run = run;
	frames->agent = agent;
	begin_event(frames, seen);
	frames->points = (struct points){ 0 };
	frames->speech = (struct speech){ 0 };
	frames->done = 0;
}

/* --- a frame ------------------------------------------------------------------------------ */

static void
append(struct thread_frames *frames, const char *text)
{
	packet_append(&frames->out, text, strlen(text));
}

/* Of a stored event, outside of any node. */
static struct about
about_event(unsigned channel, const char *method, const struct value *event)
{
	return (struct about){
		.channel = channel, .method = method, .at = value_get_int(event, "at", 0)
	};
}

static const struct value *
namespace_of(struct arena *arena, const struct about *about)
{
	if (about->part == NULL)
		return value_empty_array();
	return value_array_add(arena, value_empty_array(),
	    value_printf(arena, "%s:%" PRId64, about->part, about->step));
}

/* The events of a run's that the agent server makes up itself, its life, have an id that the SDK reads the run's from. */
static const struct value *
event_id(struct thread_frames *frames, struct arena *arena, const struct about *about)
{
	unsigned place = frames->places[ffs((int)about->channel) - 1]++;

	if (about->key != NULL)
		return value_printf(
		    arena, "%s.%s.%s", frames->run, about->method, about->key);
	if (about->is_live)
		return value_printf(arena, "%s.%" PRIu64 ".%s.%08" PRIx32 "-%u",
		    frames->run, frames->event, about->method, frames->mark, place);
	return value_printf(arena,
	    about->channel == CHANNEL_LIFECYCLE ? "synth:%s:%" PRIu64 ".%s.%u"
						: "%s.%" PRIu64 ".%s.%u",
	    frames->run, frames->event, about->method, place);
}

void
thread_frames_add(struct thread_frames *frames, struct arena *arena,
    const struct about *about, const struct value *data)
{
	uint64_t number = thread_number(frames->number, frames->event, frames->count);
	const struct value *id = event_id(frames, arena, about);
	const struct value *params;

	frames->count++;
	if ((frames->channels & about->channel) == 0 || number <= frames->since)
		return;
	params = value_map(arena, "namespace", namespace_of(arena, about), "timestamp",
	    value_int(arena, about->at), "node",
	    about->node != NULL ? value_str(arena, about->node) : NULL, "data", data,
	    NULL);
	append(frames, arena_printf(arena, "event: %s\ndata: ", about->method));
	json_write(
	    &frames->out, value_map(arena, "type", value_str(arena, "event"), "event_id",
			      id, "seq", value_int(arena, (int64_t)number), "method",
			      value_str(arena, about->method), "params", params, NULL));
	append(frames, arena_printf(arena, "\nid: %" PRIu64 "\n\n", number));
}

static void
add_lifecycle(struct thread_frames *frames, struct arena *arena,
    const struct value *event, const char *what, const struct value *error)
{
	const struct about about = about_event(CHANNEL_LIFECYCLE, "lifecycle", event);

	thread_frames_add(frames, arena, &about,
	    value_map(arena, "event", value_str(arena, what), "graph_name",
		value_str(arena, frames->agent), "error", error, NULL));
}

/* --- tools -------------------------------------------------------------------------------- */

static void
add_tool(struct thread_frames *frames, struct arena *arena, int64_t step,
    const struct value *data)
{
	const struct about about = {
		.channel = CHANNEL_TOOLS, .method = "tools", .part = "tools", .step = step
	};

	thread_frames_add(frames, arena, &about, data);
}

/* The node behind a model's that calls tools. */
static void
begin_tools(struct thread_frames *frames, struct arena *arena, int64_t step,
    const struct value *message)
{
	const struct value *calls = value_get(message, "tool_calls");
	size_t i;

	for (i = 0; i < value_size(calls); i++) {
		const struct value *call = value_at(calls, i);

		add_tool(frames, arena, step + 1,
		    value_map(arena, "event", value_str(arena, "tool-started"),
			"tool_call_id", value_get(call, "id"), "tool_name",
			value_get(call, "name"), "input",
			value_str(arena, json_text(arena, value_get(call, "args"))),
			NULL));
	}
}

static void
end_tool(struct thread_frames *frames, struct arena *arena, int64_t step,
    const struct value *message)
{
	bool fails = value_text_is(value_get(message, "status"), "error");

	add_tool(frames, arena, step,
	    value_map(arena, "event",
		value_str(arena, fails ? "tool-error" : "tool-finished"), "tool_call_id",
		value_get(message, "tool_call_id"), "message",
		fails ? chat_said(arena, message) : NULL, "output",
		fails ? NULL : shape_message(arena, message), NULL));
}

/* --- stored events ------------------------------------------------------------------------ */

static void
show_messages(struct thread_frames *frames, struct arena *arena,
    const struct value *event, const struct value *messages)
{
	int64_t step = value_get_int(event, "step", 0);
	bool is_model = value_text_is(value_get(event, "node"), "model");
	size_t i;

	for (i = 0; i < value_size(messages); i++) {
		const struct value *message = value_at(messages, i);

		if (chat_is(message, "tool"))
			end_tool(frames, arena, step, message);
		if (!is_model || !chat_is(message, "ai"))
			continue;
		thread_message_whole(frames, arena, step, message);
		begin_tools(frames, arena, step, message);
		frames->nth++;
	}
	frames->nth = 0;
}

static void
show_step(struct thread_frames *frames, struct arena *arena, const struct value *event,
    const struct value *messages)
{
	const struct about about = { .channel = CHANNEL_UPDATES,
		.method = "updates",
		.node = value_get_text(event, "node"),
		.at = value_get_int(event, "at", 0) };

	show_messages(frames, arena, event, messages);
	frames->done = value_get_int(event, "step", frames->done);
	if (about.node != NULL)
		thread_frames_add(frames, arena, &about,
		    shape_update(arena, messages, value_get(event, "fields")));
}

static void
show_questions(
    struct thread_frames *frames, struct arena *arena, const struct value *event)
{
	const struct value *asks = value_get(event, "interrupts");
	const struct about about = about_event(CHANNEL_INPUT, "input.requested", event);
	size_t i;

	for (i = 0; i < value_size(asks); i++)
		thread_frames_add(frames, arena, &about,
		    value_map(arena, "interrupt_id", value_get(value_at(asks, i), "id"),
			"payload", value_get(value_at(asks, i), "value"), NULL));
}

static void
show_point(struct thread_frames *frames, struct arena *arena, const struct value *event)
{
	struct about about = about_event(CHANNEL_CHECKPOINTS, "checkpoints", event);
	const struct value *point = points_take(&frames->points, arena);

	/* What others are told one by one is told as one here. */
	about.key = point != NULL ? value_get_text(point, "id") : NULL;
	if (point != NULL)
		thread_frames_add(frames, arena, &about, point);
}

/* Checkpoints go before the state, where that is told. */
static void
show_trail(struct thread_frames *frames, struct arena *arena, const struct value *event,
    const struct thread_told *told)
{
	const struct about about = about_event(CHANNEL_TASKS, "tasks", event);
	const struct about state = about_event(CHANNEL_VALUES, "values", event);
	size_t i;

	for (i = 0; i < value_size(told->trail); i++) {
		const struct value *item = value_at(told->trail, i);
		const struct value *payload = value_get(item, "payload");

		if (!value_text_is(value_get(item, "type"), "checkpoint")) {
			thread_frames_add(frames, arena, &about, payload);
			continue;
		}
		points_hold(&frames->points, payload);
		if ((frames->channels & CHANNEL_VALUES) == 0)
			show_point(frames, arena, event);
	}
	if (told->values == NULL)
		return;
	show_point(frames, arena, event);
	thread_frames_add(frames, arena, &state, told->values);
}

static void
show_end(struct thread_frames *frames, struct arena *arena, const struct value *event)
{
	const struct value *status = value_get(event, "status");
	const char *what =
	    value_text_is(status, "success") ? "completed"
	    : value_text_is(status, "interrupted") || value_text_is(status, "cancelled")
		? "interrupted"
		: "failed";
	bool has_failed = strcmp(what, "failed") == 0;

	add_lifecycle(frames, arena, event, what,
	    has_failed ? value_get(value_get(event, "error"), "message") : NULL);
}

void
thread_frames_event(struct thread_frames *frames, struct arena *arena,
    const struct value *event, const struct thread_told *told)
{
	const struct value *kind = value_get(event, "kind");
	uint64_t seq = (uint64_t)value_get_int(event, "seq", 0), since;

	/* Redis has forgotten what the client has, and the run's end has a number from before (feed.h). */
	if (seq < frames->event && value_text_is(kind, "finished"))
		frames->since = 0;
	since = frames->since;
	begin_event(frames, seq);
	if (value_text_is(kind, "started"))
		add_lifecycle(frames, arena, event, "running", NULL);
	else if (value_text_is(kind, "step"))
		show_step(frames, arena, event, told->messages);
	else if (value_text_is(kind, "interrupted"))
		show_questions(frames, arena, event);
	show_trail(frames, arena, event, told);
	if (value_text_is(kind, "finished"))
		show_end(frames, arena, event);
	/* What was live behind it, and the client has, is not told again: what comes now has other numbers. */
	if (thread_number_run(since) == frames->number &&
	    thread_number_event(since) == frames->event &&
	    frames->count <= thread_number_count(since))
		frames->count = thread_number_count(since) + 1;
}

void
thread_frames_live(
    struct thread_frames *frames, struct arena *arena, const struct value *event)
{
	const struct value *kind = value_get(event, "kind");
	const struct about about = {
		.channel = CHANNEL_CUSTOM, .method = "custom", .is_live = true
	};

	if (value_text_is(kind, "restart") &&
	    value_get_int(event, "step", INT64_MAX) <= frames->done)
		return;
	if (value_text_is(kind, "restart"))
		speech_restart(&frames->speech, event);
	else if (value_text_is(kind, "token"))
		thread_message_piece(frames, arena, event);
	else if (!value_text_is(kind, "child"))
		thread_frames_add(frames, arena, &about,
		    value_map(arena, "payload", shape_told(event), NULL));
}
