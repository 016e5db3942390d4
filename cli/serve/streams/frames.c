#include "frames_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "chat.h"
#include "json.h"
#include "memory.h"
#include "shape.h"

/* --- life --------------------------------------------------------------------------------- */

static void
read_last_id(struct frames *frames, const char *id)
{
	unsigned long long seen = 0, have = 0;
	unsigned answer = 0, hash = 0, restarts = 0;
	long long step = 0;

	if (id == NULL || *id == '-' ||
	    sscanf(id, "%llu:%lld:%llu:%x:%x:%u", &seen, &step, &have, &answer, &hash,
		&restarts) < 1)
		return;
	frames->seen = seen;
	frames->speech = (struct speech){ step, have, answer, hash, restarts };
}

struct frames *
frames_new(const struct frames_run *run, unsigned modes, const char *last_id)
{
	struct frames *frames = xcalloc(1, sizeof *frames);

	frames->run = *run;
	frames->modes = modes;
	read_last_id(frames, last_id);
	return frames;
}

void
frames_destroy(struct frames **frames_p)
{
	struct frames *frames = *frames_p;

	if (frames == NULL)
		return;
	*frames_p = NULL;
	packet_release(&frames->out);
	packet_release(&frames->text);
	arena_destroy(&frames->round);
	free(frames);
}

void
frames_have_step(struct frames *frames, int64_t step)
{
	if (step > frames->done)
		frames->done = step;
}

uint64_t
frames_seen(const struct frames *frames)
{
	return frames->seen;
}

const struct packet *
frames_bytes(const struct frames *frames)
{
	return &frames->out;
}

void
frames_taken(struct frames *frames)
{
	frames->out.size = 0;
	if (frames->out.room > SERVE_FRAMES_BYTES_KEPT)
		packet_release(&frames->out);
}

/* --- a frame ------------------------------------------------------------------------------ */

static void
append(struct frames *frames, const char *text)
{
	packet_append(&frames->out, text, strlen(text));
}

static void
end_frame(struct frames *frames)
{
	const struct speech *speech = &frames->speech;
	char id[128];

	if (!frames->is_open)
		return;
	frames->is_open = false;
	append(frames, "id: ");
	if (frames->run.names_run) {
		append(frames, frames->run.run);
		append(frames, "/");
	}
	if (speech->step > 0 && (speech->have > 0 || speech->restarts > 0))
		snprintf(id, sizeof id,
		    "%" PRIu64 ":%" PRId64 ":%" PRIu64 ":%x:%x:%u\n\n", frames->seen,
		    speech->step, speech->have, speech->answer, speech->hash,
		    speech->restarts);
	else
		snprintf(id, sizeof id, "%" PRIu64 "\n\n", frames->seen);
	append(frames, id);
}

void
frames_add(struct frames *frames, const char *event, const struct value *data)
{
	end_frame(frames);
	append(frames, "event: ");
	append(frames, event);
	append(frames, "\ndata: ");
	json_write(&frames->out, data);
	append(frames, "\n");
	frames->is_open = true;
}

void
frames_begin(struct frames *frames)
{
	struct arena *arena = arena_new();

	frames_add(frames, "metadata",
	    value_map(arena, "run_id", value_str(arena, frames->run.run), "attempt",
		value_int(arena, 1), NULL));
	end_frame(frames);
	arena_destroy(&arena);
}

/* --- messages ----------------------------------------------------------------------------- */

bool
frames_shows(const struct frames *frames, enum mode mode)
{
	return (frames->modes & mode) != 0;
}

/* The id that the model's message of a step gets: the first that the step makes. What was begun anew after pieces of it were
 * shown is told apart; the state has the right one. */
static const struct value *
speech_id(struct frames *frames, struct arena *arena)
{
	const struct speech *speech = &frames->speech;

	return speech->restarts == 0
		   ? value_printf(
			 arena, "%s-%" PRId64 "-1", frames->run.run, speech->step)
		   : value_printf(arena, "%s-%" PRId64 "-1.%u", frames->run.run,
			 speech->step, speech->restarts);
}

static const struct value *
about_node(struct arena *arena, const char *node, int64_t step, const char *model)
{
	const struct value *place = value_printf(arena, "%s:%" PRId64, node, step);

	return value_map(arena, "langgraph_node", value_str(arena, node),
	    "langgraph_step", value_int(arena, step), "langgraph_triggers",
	    value_empty_array(), "langgraph_path", value_empty_array(),
	    "langgraph_checkpoint_ns", place, "checkpoint_ns", place, "ls_model_name",
	    model != NULL ? value_str(arena, model) : NULL, NULL);
}

const struct value *
frames_about(struct frames *frames, struct arena *arena, const char *node, int64_t step,
    const char *model)
{
	const struct frames_run *run = &frames->run;
	const struct value *known;

	known = value_map(arena, "tags", value_empty_array(), "run_id",
	    value_str(arena, run->run), "thread_id", value_str(arena, run->thread),
	    "graph_id", value_str(arena, run->agent), "assistant_id",
	    value_str(arena, run->assistant != NULL ? run->assistant : run->agent),
	    "run_attempt", value_int(arena, 1), NULL);
	if (node != NULL)
		known =
		    value_map_merge(arena, known, about_node(arena, node, step, model));
	return run->metadata != NULL ? value_map_merge(arena, run->metadata, known)
				     : known;
}

static void
add_piece(struct frames *frames, struct arena *arena, const struct value *message,
    const struct value *metadata)
{
	const struct value *const pair[] = { message, metadata };

	frames_add(frames, "messages", value_array(arena, pair, 2));
}

static const struct value *
text_message(struct frames *frames, struct arena *arena, const char *text, size_t size)
{
	const struct value *message =
	    value_map(arena, "type", value_str(arena, "ai"), "id",
		speech_id(frames, arena), "content", value_strn(arena, text, size), NULL);

	return value_map_with(arena, shape_message(arena, message), "tool_call_chunks",
	    value_empty_array());
}

/* The same as a piece: LangChain for Python calls it so, and clients add to what they have only what is. */
static const struct value *
as_piece(struct arena *arena, const struct value *message)
{
	return value_map_with(arena, message, "type", value_str(arena, "AIMessageChunk"));
}

/* The old way: what a message is of, once, and behind it, time and again, all of it that there is. */
static void
add_about(struct frames *frames, struct arena *arena, const char *message,
    const struct value *metadata)
{
	frames_add(frames, "messages/metadata",
	    value_map(
		arena, message, value_map(arena, "metadata", metadata, NULL), NULL));
}

static void
add_partial(struct frames *frames, struct arena *arena, const struct value *metadata,
    bool is_first)
{
	const struct packet *text = &frames->text;
	const struct value *message;

	if (text->size != frames->speech.have)
		return; /* its beginning was shown elsewhere */
	if (is_first)
		add_about(frames, arena, value_text(speech_id(frames, arena)), metadata);
	message = text_message(frames, arena, text->data, text->size);
	frames_add(frames, "messages/partial",
	    value_array_add(arena, value_empty_array(), message));
}

/* Whether the client has had pieces of that message, and so what it is of: by the id that the first pieces had. */
static bool
is_begun(const struct frames *frames, struct arena *arena, int64_t step, const char *id)
{
	const struct speech *speech = &frames->speech;

	return speech->step == step && (speech->have > 0 || speech->restarts > 0) &&
	       strcmp(id,
		   arena_printf(arena, "%s-%" PRId64 "-1", frames->run.run, step)) == 0;
}

static void
add_complete(struct frames *frames, struct arena *arena, int64_t step,
    const struct value *message, const struct value *metadata)
{
	const char *id = value_get_text(message, "id");

	if (id != NULL && !is_begun(frames, arena, step, id))
		add_about(frames, arena, id, metadata);
	frames_add(frames, "messages/complete",
	    value_array_add(arena, value_empty_array(), shape_message(arena, message)));
}

static void
begin_speech(struct frames *frames, int64_t step)
{
	if (frames->speech.step == step)
		return;
	speech_begin(&frames->speech, step);
	frames->text.size = 0;
	frames->is_over = false;
}

/* Pieces that the client has, or behind one that it has not, are left out: the message makes up for that. So are those of a
 * step that is over: they were published before it, and come behind what was read of it. */
static void
add_token(struct frames *frames, struct arena *arena, const struct value *event)
{
	struct speech *speech = &frames->speech;
	const struct value *content = value_get(event, "content"), *metadata, *piece;
	int64_t step = value_get_int(event, "step", 0);
	size_t skip;
	bool is_first;

	if (step <= frames->done)
		return;
	end_frame(frames); /* whose id tells of what was before */
	begin_speech(frames, step);
	if (!speech_hears(speech, event, &skip))
		return;
	is_first = speech->have == 0;
	if (is_first)
		frames->text.size = 0;
	if (frames->text.size == speech->have)
		packet_append(&frames->text, content->text + skip, content->size - skip);
	speech_add(speech, content->text + skip, content->size - skip);
	metadata =
	    frames_about(frames, arena, "model", step, value_get_text(event, "model"));
	piece = as_piece(arena,
	    text_message(frames, arena, content->text + skip, content->size - skip));
	if (frames_shows(frames, MODE_MESSAGES_TUPLE))
		add_piece(frames, arena, piece, metadata);
	if (frames_shows(frames, MODE_MESSAGES))
		add_partial(frames, arena, metadata, is_first);
	if (frames_shows(frames, MODE_EVENTS))
		frames_call_piece(frames, arena, step, piece, metadata);
	end_frame(frames);
}

static void
restart(struct frames *frames, const struct value *event)
{
	int64_t step = value_get_int(event, "step", frames->speech.step);

	if (step <= frames->done)
		return;
	end_frame(frames);
	begin_speech(frames, step);
	speech_restart(&frames->speech, event);
}

void
frames_live(struct frames *frames, struct arena *arena, const struct value *event)
{
	const struct value *kind = value_get(event, "kind");
	bool shows_text = (frames->modes & MODES_OF_TEXT) != 0;

	if (value_text_is(kind, "restart"))
		restart(frames, event);
	else if (value_text_is(kind, "token") && shows_text)
		add_token(frames, arena, event);
	else if (frames_shows(frames, MODE_CUSTOM) && !value_text_is(kind, "token") &&
		 !value_text_is(kind, "child"))
		frames_add(frames, "custom", shape_told(event));
}

/* Calls as the pieces that they would have come in. */
static const struct value *
call_chunks(struct arena *arena, const struct value *message)
{
	const struct value *calls = value_get(message, "tool_calls");
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(calls); i++) {
		const struct value *call = value_at(calls, i);

		value_list_add(&list,
		    value_map(arena, "type", value_str(arena, "tool_call_chunk"), "name",
			value_get(call, "name"), "args",
			value_str(arena, json_text(arena, value_get(call, "args"))), "id",
			value_get(call, "id"), "index", value_int(arena, (int64_t)i),
			NULL));
	}
	return value_list_end(&list);
}

/* What of the model's message, a step's first, the client has not had: all of it, or what is behind its pieces. Behind void
 * ones it is another message, as its pieces would be. is_models: else a hook has written it. */
static const struct value *
rest_of(struct frames *frames, struct arena *arena, const struct value *message,
    int64_t step, bool is_models)
{
	struct speech *speech = &frames->speech;
	const char *text = chat_text(arena, message);
	size_t size = strlen(text), have;

	message = value_map_with(arena, shape_message(arena, message), "tool_call_chunks",
	    call_chunks(arena, message));
	if (step < speech->step || (step == speech->step && frames->is_over))
		return message;
	begin_speech(frames, step);
	have = speech_check(speech, text, size);
	if (have > 0)
		message = value_map_with(arena, message, "content",
		    value_strn(arena, text + have, size - have));
	speech_add(speech, text + have, size - have);
	frames->is_over = true;
	if (is_models)
		message = as_piece(arena, message);
	return have > 0 || speech->restarts > 0
		   ? value_map_with(arena, message, "id", speech_id(frames, arena))
		   : message;
}

static void
add_message(struct frames *frames, struct arena *arena, const struct value *event,
    const struct value *message)
{
	int64_t step = value_get_int(event, "step", 0);
	const char *node = value_get_text(event, "node");
	bool is_models = node != NULL && strcmp(node, "model") == 0;
	const struct value *metadata =
	    frames_about(frames, arena, node != NULL ? node : "", step,
		value_get_text(value_get(message, "response_metadata"), "model_name"));
	const struct value *piece = NULL;
	/* Who asks knows what he has asked, and what else the run was given: no node has written that. */
	bool is_told = node != NULL && !chat_is(message, "human");

	if (frames_shows(frames, MODE_MESSAGES) && is_told)
		add_complete(frames, arena, step, message, metadata);
	if ((frames->modes & (MODE_MESSAGES_TUPLE | MODE_EVENTS)) != 0)
		piece = chat_is(message, "ai")
			    ? rest_of(frames, arena, message, step, is_models)
			    : shape_message(arena, message);
	if (frames_shows(frames, MODE_MESSAGES_TUPLE) && is_told)
		add_piece(frames, arena, piece, metadata);
	if (is_models && chat_is(message, "ai"))
		frames_call_piece(frames, arena, step, piece, metadata);
	frames_call_message(frames, arena, event, message, metadata);
}

/* --- what is stored ----------------------------------------------------------------------- */

void
frames_step(struct frames *frames, struct arena *arena, const struct value *event,
    const struct value *messages)
{
	const char *node = value_get_text(event, "node");
	size_t i;

	for (i = 0; i < value_size(messages); i++)
		add_message(frames, arena, event, value_at(messages, i));
	if (frames->speech.step == value_get_int(event, "step", 0))
		frames->is_over = true;
	frames_have_step(frames, value_get_int(event, "step", 0));
	if (frames_shows(frames, MODE_UPDATES) && node != NULL)
		frames_add(frames, "updates",
		    value_map(arena, node,
			shape_update(arena, messages, value_get(event, "fields")), NULL));
}

void
frames_values(struct frames *frames, const struct value *values)
{
	if (frames_shows(frames, MODE_VALUES) && values != NULL)
		frames_add(frames, "values", values);
}

void
frames_trail(struct frames *frames, struct arena *arena, const struct value *item)
{
	const struct value *type = value_get(item, "type");
	const struct value *payload = value_get(item, "payload");
	bool is_checkpoint = value_text_is(type, "checkpoint");

	if (!is_checkpoint)
		frames_call_task(frames, arena, item);
	if (frames_shows(frames, is_checkpoint ? MODE_CHECKPOINTS : MODE_TASKS))
		frames_add(frames, is_checkpoint ? "checkpoints" : "tasks", payload);
	if (frames_shows(frames, MODE_DEBUG))
		frames_add(frames, "debug",
		    value_map(arena, "step", value_get(item, "step"), "timestamp",
			shape_time(arena, value_get_int(item, "at", 0)), "type", type,
			"payload", payload, NULL));
}

void
frames_interrupts(struct frames *frames, struct arena *arena, const struct value *values,
    const struct value *interrupts)
{
	const struct value *data = value_map(arena, "__interrupt__", interrupts, NULL);
	bool is_untold = (frames->modes & (MODE_UPDATES | MODE_VALUES)) == 0;

	if (frames_shows(frames, MODE_UPDATES))
		frames_add(frames, "updates", data);
	data = value_map_merge(arena, values, data);
	/* Who asked for neither hears of a question all the same, as with LangGraph's server. */
	if (frames_shows(frames, MODE_VALUES) ||
	    (is_untold && value_size(interrupts) > 0))
		frames_add(frames, "values", data);
}

void
frames_error(struct frames *frames, struct arena *arena, const struct value *error)
{
	frames_add(frames, "error",
	    value_map(arena, "error", value_get(error, "type"), "message",
		value_get(error, "message"), NULL));
}

void
frames_close(struct frames *frames, uint64_t seq)
{
	if (seq > frames->seen)
		frames->seen = seq;
	if (frames->is_over)
		begin_speech(frames, 0);
	end_frame(frames);
}

bool
frames_is_open(const struct frames *frames)
{
	return frames->is_open;
}
