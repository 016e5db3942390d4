#include "story_bench.h"

#include <check.h>
#include <string.h>

bool
story_is_piece(const struct serve_frame *frame)
{
	return strcmp(frame->event, "messages") == 0 &&
	       value_text_is(
		   value_get(value_at(frame->data, 0), "type"), "AIMessageChunk");
}

bool
story_on_frame(void *arg, const struct serve_frame *frame)
{
	struct story *story = arg;

	ck_assert_uint_lt(story->count, STORY_FRAMES_MAX);
	story->frames[story->count++] = *frame;
	story->pieces += story_is_piece(frame);
	if (story->pieces_max == 0 || story->pieces < story->pieces_max)
		return true;
	story->pieces_max = 0;
	if (story->act == NULL)
		return false;
	story->act(story->arg);
	return true;
}

struct serve_answer
story_stream_at(const char *url, const char *thread, const char *agent, const char *keys,
    struct story *story)
{
	return ASK(.url = url, .path = serve_text("/threads/%s/runs/stream", thread),
	    .body = serve_text("{'assistant_id': '%s', " HI "%s%s}", agent,
		*keys != '\0' ? ", " : "", keys),
	    .on_frame = story_on_frame, .arg = story);
}

struct serve_answer
story_stream(const char *thread, const char *agent, const char *keys, struct story *story)
{
	struct serve_answer answer = story_stream_at(NULL, thread, agent, keys, story);

	ck_assert_msg(answer.status == 200, "%ld: %.999s", answer.status, answer.body);
	ck_assert_str_eq(serve_header(&answer, "Content-Type"), "text/event-stream");
	return answer;
}

struct serve_answer
story_join_at(
    const char *url, const char *where, const char *last_id, struct story *story)
{
	return ASK(.url = url, .path = where,
	    .headers = { last_id != NULL ? serve_text("Last-Event-ID: %s", last_id)
					 : NULL },
	    .on_frame = story_on_frame, .arg = story);
}

void
story_join(const char *where, const char *last_id, struct story *story)
{
	struct serve_answer answer = story_join_at(NULL, where, last_id, story);

	ck_assert_msg(answer.is_whole && answer.status == 200, "%ld: %.999s",
	    answer.status, answer.body);
}

const char *
story_last_id(const struct story *story)
{
	return story->frames[story->count - 1].id;
}

size_t
story_count(const struct story *story, const char *event)
{
	size_t count = 0, i;

	for (i = 0; i < story->count; i++)
		count += strcmp(story->frames[i].event, event) == 0;
	return count;
}

const struct serve_frame *
story_last(const struct story *story, const char *event)
{
	size_t i;

	for (i = story->count; i > 0; i--)
		if (strcmp(story->frames[i - 1].event, event) == 0)
			return &story->frames[i - 1];
	ck_abort_msg("no frame %s", event);
	return NULL;
}

const char *
story_told(const struct story *story, size_t first, const struct story *more)
{
	struct arena *arena = serve_bench.fleet.arena;
	const struct value *texts = value_empty_map();
	const char *nodes = "", *id, *content;
	size_t count = first + (more != NULL ? more->count : 0), i;

	for (i = 0; i < count; i++) {
		const struct serve_frame *frame =
		    i < first ? &story->frames[i] : &more->frames[i - first];
		const struct value *message = value_at(frame->data, 0);

		if (strcmp(frame->event, "updates") == 0)
			nodes = arena_printf(
			    arena, "%s%s ", nodes, value_text(frame->data->pairs[0].key));
		if (strcmp(frame->event, "messages") != 0)
			continue;
		id = value_get_text(message, "id");
		content = value_get_text(message, "content");
		texts = value_map_with(arena, texts, id,
		    value_printf(arena, "%s%s",
			value_has(texts, id) ? value_get_text(texts, id) : "", content));
	}
	for (i = 0; i < value_size(texts); i++)
		nodes = arena_printf(arena, "%s| %s: %s ", nodes,
		    value_text(texts->pairs[i].key), value_text(texts->pairs[i].value));
	return nodes;
}

const char *
story_talk_of(const char *thread)
{
	const struct value *messages = value_get(
	    value_get(serve_get(serve_text("/threads/%s/state", thread), 200), "values"),
	    "messages");

	ck_assert_str_eq(value_get_text(value_at(messages, 3), "content"), SERVE_TALK);
	return arena_printf(serve_bench.fleet.arena,
	    "model tools model | %s: %s | %s: %s | %s: %s ",
	    value_get_text(value_at(messages, 1), "id"), "I note it.",
	    value_get_text(value_at(messages, 2), "id"),
	    value_get_text(value_at(messages, 2), "content"),
	    value_get_text(value_at(messages, 3), "id"), SERVE_TALK);
}
