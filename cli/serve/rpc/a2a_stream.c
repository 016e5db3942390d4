/* a2a_stream: a task as server-sent events: what it is, what the agent says as it comes, where it is, and what came of it. */
#include <string.h>

#include "a2a.h"
#include "json.h"
#include "speech.h"

/* A task's stream under way. */
struct stream {
	struct call *call;
	const struct task *task;
	struct feed *feed;
	struct a2a_run run;   /* its record as it was in the beginning */
	struct speech speech; /* whose pieces come */
	uint64_t beat_at;     /* when a heartbeat is due */
};

/* Returns 0, or -1: the reader is gone. */
static int
write_response(struct stream *stream, const struct value *response)
{
	struct packet packet = { 0 };
	int written;

	packet_append(&packet, "data: ", 6);
	json_write(&packet, response);
	packet_append(&packet, "\n\n", 2);
	written = exchange_write(stream->call->exchange, packet.data, packet.size);
	packet_release(&packet);
	stream->beat_at = beat_next(BEAT_MS);
	return written;
}

static int
write_event(struct stream *stream, struct arena *arena, const struct value *result)
{
	return write_response(stream, rpc_result(stream->call, arena, result));
}

/* Why no more comes, where Redis does not say what came of it. Returns -1: that was it. */
static int
write_trouble(struct stream *stream, enum store_status status)
{
	if (status == STORE_FAILED || status == STORE_REJECTED || status == STORE_DAMAGED)
		write_response(stream, rpc_error(stream->call, RPC_INTERNAL_ERROR,
					   reply_trouble(stream->call, status)));
	return -1;
}

/* A piece of what the model says. What it says next takes the place of what it said before it called a tool: the last is the
 * answer, which comes whole in the end. So pieces that came out of order are left out. */
static int
show_piece(struct stream *stream, struct arena *arena, const struct value *event)
{
	struct speech *speech = &stream->speech;
	const struct value *content = value_get(event, "content");
	int64_t step = value_get_int(event, "step", 0);
	bool adds;
	size_t skip;

	if (step < speech->step)
		return 0;
	speech_begin(speech, step);
	/* Who comes in the middle of a text hears the rest. */
	if (speech->have == 0 && speech->restarts == 0)
		speech_join(speech, (uint64_t)value_get_int(event, "offset", 0));
	if (!speech_hears(speech, event, &skip))
		return 0;
	adds = speech->have > 0;
	speech_add(speech, content->text + skip, content->size - skip);
	content = value_strn(arena, content->text + skip, content->size - skip);
	return write_event(
	    stream, arena, a2a_piece_update(arena, &stream->run, content, adds));
}

/* Where the run is now; with its end what came of it before. Returns 0, or -1: that was it, or it cannot be shown. */
static int
show_status(struct stream *stream, struct arena *arena)
{
	struct a2a_run run;
	const char *state;
	enum store_status status;

	status = a2a_read(stream->call, arena, stream->task, &run);
	if (status != STORE_OK)
		return write_trouble(stream, status);
	state = a2a_state(run.record);
	if (strcmp(state, "completed") == 0 &&
	    write_event(stream, arena, a2a_answer_update(arena, &run)) == -1)
		return -1;
	if (write_event(stream, arena, a2a_status_update(arena, &run)) == -1)
		return -1;
	return a2a_is_over(state) ? -1 : 0;
}

/* Returns 0, or -1: it is over, or the reader is gone. */
static int
show(struct stream *stream, struct arena *arena, const struct value *thing)
{
	const struct value *kind = value_get(thing, "kind");

	if (value_text_is(kind, "token"))
		return show_piece(stream, arena, thing);
	if (value_text_is(kind, "restart"))
		speech_restart(&stream->speech, thing);
	return value_text_is(kind, "started") || value_text_is(kind, "interrupted") ||
		       value_text_is(kind, "finished")
		   ? show_status(stream, arena)
		   : 0;
}

static int
go_on(struct stream *stream)
{
	struct arena *arena = arena_new();
	const struct value *thing;
	struct call *call = stream->call;
	int found = feed_next(stream->feed, arena, beat_rest(stream->beat_at), &thing);
	int result = 0;

	if (found == 1)
		result = show(stream, arena, thing);
	else if (found == -1)
		result = write_trouble(stream, feed_status(stream->feed));
	if (result == 0 && beat_rest(stream->beat_at) == 0) {
		stream->beat_at = beat_next(BEAT_MS);
		result = exchange_write(call->exchange, EVENTS_BEAT, strlen(EVENTS_BEAT));
	}
	arena_destroy(&arena);
	return result;
}

void
a2a_follow(struct call *call, const struct task *task, struct feed *feed)
{
	struct stream stream = { .call = call, .task = task, .feed = feed };
	enum store_status status = a2a_read(call, call->arena, task, &stream.run);

	if (status != STORE_OK) {
		reply_failed(call, status, "task");
		return;
	}
	reply_events(call);
	if (write_event(&stream, call->arena, a2a_payload(call->arena, &stream.run)) == 0)
		while (go_on(&stream) == 0)
			continue;
}
