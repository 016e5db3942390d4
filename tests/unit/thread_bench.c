#include "thread_bench.h"

#include <check.h>
#include <inttypes.h>
#include <string.h>

#include "json.h"
#include "literal.h"
#include "thread_number.h"

#define CALL                                                                             \
	"{'type': 'ai', 'id': 'r-1-1', 'content': '', 'tool_calls': [{'name': 'add', "   \
	"'args': {'a': 1}, 'id': 'c1', 'type': 'tool_call'}]}"

struct arena *talk_arena;
struct thread_frames *talk_frames;

void
talk_begin(unsigned channels, uint64_t since)
{
	thread_frames_destroy(&talk_frames);
	talk_frames = thread_frames_new(channels, since);
	thread_frames_begin(talk_frames, thread_number_run(since), "r", "agent",
	    thread_frames_event_of(since));
}

void
thread_bench_setup(void)
{
	talk_arena = arena_new();
	talk_frames = NULL;
	talk_begin(TALK_ALL, 0);
}

void
thread_bench_teardown(void)
{
	thread_frames_destroy(&talk_frames);
	arena_destroy(&talk_arena);
}

/* --- what happens ------------------------------------------------------------------------- */

void
talk_happens(const char *event, const char *messages, const char *values)
{
	const struct thread_told told = {
		.messages = messages != NULL ? literal(talk_arena, messages) : NULL,
		.values = values != NULL ? literal(talk_arena, values) : NULL,
	};

	thread_frames_event(talk_frames, talk_arena, literal(talk_arena, event), &told);
}

void
talk_hear_answer(int answer, int step, int offset, const char *text)
{
	thread_frames_live(talk_frames, talk_arena,
	    value_map(talk_arena, "kind", value_str(talk_arena, "token"), "step",
		value_int(talk_arena, step), "offset", value_int(talk_arena, offset),
		"content", value_str(talk_arena, text), "answer",
		answer != 0 ? value_int(talk_arena, answer) : NULL, NULL));
}

void
talk_hear(int step, int offset, const char *text)
{
	talk_hear_answer(0, step, offset, text);
}

void
talk_start(void)
{
	talk_happens("{'kind': 'started', 'seq': 2, 'at': 5}", NULL, NULL);
}

/* A whole run: a call of the model, of a tool, of the model, of whose answer pieces are heard, or not. */
void
talk_play_heard(bool is_heard)
{
	talk_start();
	talk_happens(
	    "{'kind': 'step', 'seq': 3, 'step': 1, 'node': 'model'}", "[" CALL "]", NULL);
	talk_happens("{'kind': 'step', 'seq': 4, 'step': 2, 'node': 'tools'}",
	    "[{'type': 'tool', 'id': 'r-2-1', 'content': '2', 'tool_call_id': 'c1'}]",
	    "{'messages': []}");
	if (is_heard) {
		talk_hear(3, 0, "It ");
		talk_hear(3, 3, "is ");
	}
	talk_happens("{'kind': 'step', 'seq': 5, 'step': 3, 'node': 'model'}",
	    "[" TALK_ANSWER "]", NULL);
	talk_happens("{'kind': 'finished', 'seq': 6, 'status': 'success'}", NULL,
	    "{'messages': [1]}");
}

void
talk_play(void)
{
	talk_play_heard(true);
}

/* --- what is told ------------------------------------------------------------------------- */

/* The events so far: [the envelope]. Each frame is three lines and an empty one. */
const struct value *
talk_told(void)
{
	const struct packet *bytes = thread_frames_bytes(talk_frames);
	const char *text = arena_copy(talk_arena, bytes->data, bytes->size), *at = text;
	struct value_list list = { .arena = talk_arena };

	while (*at != '\0') {
		const char *data = strstr(at, "\ndata: "), *end, *error;
		const struct value *event;

		ck_assert_msg(strncmp(at, "event: ", 7) == 0 && data != NULL, "%s", at);
		data += 7;
		end = strchr(data, '\n');
		event = json_parse(talk_arena, data, (size_t)(end - data), &error);
		ck_assert_msg(event != NULL, "%s", error);
		ck_assert(strncmp(at + 7, value_get_text(event, "method"),
			      strlen(value_get_text(event, "method"))) == 0);
		at = arena_printf(
		    talk_arena, "\nid: %" PRId64 "\n\n", value_get_int(event, "seq", -1));
		ck_assert_msg(strncmp(end, at, strlen(at)) == 0, "%s", end);
		at = end + strlen(at);
		value_list_add(&list, event);
	}
	return value_list_end(&list);
}

const struct value *
talk_data(const struct value *event)
{
	return value_get(value_get(event, "params"), "data");
}

/* "lifecycle running", "messages message-start", "values", ... with spaces between. */
const char *
talk_story(const struct value *events)
{
	const char *text = "";
	size_t i;

	for (i = 0; i < value_size(events); i++) {
		const char *what =
		    value_get_text(talk_data(value_at(events, i)), "event");

		text = arena_printf(talk_arena, "%s%s%s%s%s", text, i > 0 ? ", " : "",
		    value_get_text(value_at(events, i), "method"),
		    what != NULL ? " " : "", what != NULL ? what : "");
	}
	return text;
}

/* All texts of pieces, one behind the other. */
const char *
talk_spoken(const struct value *events)
{
	const char *text = "";
	size_t i;

	for (i = 0; i < value_size(events); i++) {
		const char *piece = value_get_text(
		    value_get(talk_data(value_at(events, i)), "delta"), "text");

		text = arena_printf(talk_arena, "%s%s", text, piece != NULL ? piece : "");
	}
	return text;
}

const struct value *
talk_find(const struct value *events, const struct value *id)
{
	size_t i;

	for (i = 0; i < value_size(events); i++)
		if (value_equal(value_get(value_at(events, i), "event_id"), id))
			return value_at(events, i);
	return NULL;
}
