/* thread_message: a model's message on a thread's stream: begin, blocks with what of their text there is, and the end. What is heard in
 * pieces by one stream another may be told whole, where it is stored; a client of both, or of one behind the other, knows by the ids what it has. So
 * they say what of the message it is: a piece of text where it begins. The block's end has all of it again. */
#include "thread_frames_private.h"

#include <inttypes.h>
#include <string.h>

#include "chat.h"

/* The name that a step's first message is given, if it has none. */
static const struct value *
usual_id(const struct thread_frames *frames, struct arena *arena, int64_t step)
{
	return value_printf(arena, "%s-%" PRId64 "-1", frames->run, step);
}

/* key: which of the message's it is. */
static void
say(struct thread_frames *frames, struct arena *arena, int64_t step, const char *key,
    const struct value *data)
{
	const struct about about = { .channel = CHANNEL_MESSAGES,
		.method = "messages",
		.part = "model",
		.step = step,
		.key = arena_printf(
		    arena, "%" PRId64 "-%u.%s", step, frames->nth + 1, key) };

	thread_frames_add(frames, arena, &about,
	    value_map_with(arena, data, "run_id", usual_id(frames, arena, step)));
}

static const struct value *
block(struct arena *arena, const char *event, int64_t index, const char *key,
    const struct value *content)
{
	return value_map(arena, "event", value_str(arena, event), "index",
	    value_int(arena, index), key, content, NULL);
}

static const struct value *
text_block(struct arena *arena, const char *text, size_t size)
{
	return value_map(arena, "type", value_str(arena, "text"), "text",
	    value_strn(arena, text, size), NULL);
}

/* Another answer that begins is none of what was heard before. */
static const char *
heard(const struct thread_frames *frames, struct arena *arena, const char *key)
{
	return frames->speech.restarts == 0
		   ? key
		   : arena_printf(arena, "%u.%s", frames->speech.restarts, key);
}

static void
begin_message(struct thread_frames *frames, struct arena *arena, int64_t step,
    const struct value *id)
{
	say(frames, arena, step, heard(frames, arena, "start"),
	    value_map(arena, "event", value_str(arena, "message-start"), "id", id, NULL));
}

/* The text is block 0. */
static void
say_text(struct thread_frames *frames, struct arena *arena, int64_t step,
    const char *text, size_t size)
{
	const char *key;

	if (frames->speech.have == 0)
		say(frames, arena, step, heard(frames, arena, "text"),
		    block(arena, "content-block-start", 0, "content",
			text_block(arena, "", 0)));
	key = arena_printf(arena, "text-%" PRIu64, frames->speech.have);
	speech_add(&frames->speech, text, size);
	say(frames, arena, step, heard(frames, arena, key),
	    block(arena, "content-block-delta", 0, "delta",
		value_map(arena, "type", value_str(arena, "text-delta"), "text",
		    value_strn(arena, text, size), NULL)));
}

/* Pieces behind one that is missing are left out: the block's end has all. Another answer begins the message anew. */
void
thread_message_piece(
    struct thread_frames *frames, struct arena *arena, const struct value *token)
{
	const struct value *content = value_get(token, "content");
	int64_t step = value_get_int(token, "step", 0);
	size_t skip;

	if (step <= frames->done)
		return;
	speech_begin(&frames->speech, step);
	if (!speech_hears(&frames->speech, token, &skip))
		return;
	if (frames->speech.have == 0)
		begin_message(frames, arena, step, usual_id(frames, arena, step));
	say_text(frames, arena, step, content->text + skip, content->size - skip);
}

static void
say_call(struct thread_frames *frames, struct arena *arena, int64_t step, int64_t index,
    const struct value *call)
{
	const struct value *name = value_get(call, "name"), *id = value_get(call, "id");

	say(frames, arena, step, arena_printf(arena, "call-%" PRId64, index),
	    block(arena, "content-block-start", index, "content",
		value_map(arena, "type", value_str(arena, "tool_call_chunk"), "id", id,
		    "name", name, "args", value_str(arena, ""), "index",
		    value_int(arena, index), NULL)));
	say(frames, arena, step, arena_printf(arena, "called-%" PRId64, index),
	    block(arena, "content-block-finish", index, "content",
		value_map(arena, "type", value_str(arena, "tool_call"), "id", id, "name",
		    name, "args", value_get(call, "args"), NULL)));
}

static void
end_message(struct thread_frames *frames, struct arena *arena, int64_t step,
    const struct value *message)
{
	const struct value *usage = value_get(message, "usage_metadata");
	const char *reason =
	    value_get_text(value_get(message, "response_metadata"), "finish_reason");

	if (value_is(usage, VALUE_MAP))
		say(frames, arena, step, "usage",
		    value_map(
			arena, "event", value_str(arena, "usage"), "usage", usage, NULL));
	say(frames, arena, step, "end",
	    value_map(arena, "event", value_str(arena, "message-finish"), "reason",
		value_str(arena, reason != NULL ? reason : "stop"), "usage",
		value_is(usage, VALUE_MAP) ? usage : NULL, NULL));
	speech_begin(&frames->speech, 0);
}

void
thread_message_whole(struct thread_frames *frames, struct arena *arena, int64_t step,
    const struct value *message)
{
	const struct value *calls = value_get(message, "tool_calls");
	const char *text = chat_text(arena, message);
	size_t size = strlen(text), have, i;
	int64_t index = 0;

	speech_begin(&frames->speech, step);
	have = speech_check(&frames->speech, text, size);
	if (have == 0)
		begin_message(frames, arena, step, value_get(message, "id"));
	if (have < size)
		say_text(frames, arena, step, text + have, size - have);
	if (size > 0)
		say(frames, arena, step, "said",
		    block(arena, "content-block-finish", index++, "content",
			text_block(arena, text, size)));
	for (i = 0; i < value_size(calls); i++)
		say_call(frames, arena, step, index++, value_at(calls, i));
	end_message(frames, arena, step, message);
}
