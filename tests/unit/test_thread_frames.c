/* What who listens to a thread is told, event by event, over its runs; and that with an event's number he is told the rest. */
#include <check.h>
#include <inttypes.h>
#include <string.h>

#include "has.h"
#include "json.h"
#include "literal.h"

/* Interface under test */
#include "thread_frames.h"
#include "thread_number.h"

TCase *tcase_thread_frames(void);

#define ALL (~0u)
#define CALL                                                                             \
	"{'type': 'ai', 'id': 'r-1-1', 'content': '', 'tool_calls': [{'name': 'add', "   \
	"'args': {'a': 1}, 'id': 'c1', 'type': 'tool_call'}]}"
#define ANSWER                                                                           \
	"{'type': 'ai', 'id': 'r-3-1', 'content': 'It is two.', 'usage_metadata': "      \
	"{'input_tokens': 3}, 'response_metadata': {'finish_reason': 'stop'}}"

static struct arena *arena;
static struct thread_frames *frames;

static void
begin(unsigned channels, uint64_t since)
{
	thread_frames_destroy(&frames);
	frames = thread_frames_new(channels, since);
	thread_frames_begin(frames, thread_number_run(since), "r", "agent",
	    thread_frames_event_of(since));
}

static void
setup(void)
{
	arena = arena_new();
	frames = NULL;
	begin(ALL, 0);
}

static void
teardown(void)
{
	thread_frames_destroy(&frames);
	arena_destroy(&arena);
}

/* --- what happens ------------------------------------------------------------------------- */

static void
happens(const char *event, const char *messages, const char *values)
{
	const struct thread_told told = {
		.messages = messages != NULL ? literal(arena, messages) : NULL,
		.values = values != NULL ? literal(arena, values) : NULL,
	};

	thread_frames_event(frames, arena, literal(arena, event), &told);
}

static void
hear_answer(int answer, int step, int offset, const char *text)
{
	thread_frames_live(frames, arena,
	    value_map(arena, "kind", value_str(arena, "token"), "step",
		value_int(arena, step), "offset", value_int(arena, offset), "content",
		value_str(arena, text), "answer",
		answer != 0 ? value_int(arena, answer) : NULL, NULL));
}

static void
hear(int step, int offset, const char *text)
{
	hear_answer(0, step, offset, text);
}

static void
start(void)
{
	happens("{'kind': 'started', 'seq': 2, 'at': 5}", NULL, NULL);
}

/* A whole run: a call of the model, of a tool, of the model. */
static void
play(void)
{
	start();
	happens(
	    "{'kind': 'step', 'seq': 3, 'step': 1, 'node': 'model'}", "[" CALL "]", NULL);
	happens("{'kind': 'step', 'seq': 4, 'step': 2, 'node': 'tools'}",
	    "[{'type': 'tool', 'id': 'r-2-1', 'content': '2', 'tool_call_id': 'c1'}]",
	    "{'messages': []}");
	hear(3, 0, "It ");
	hear(3, 3, "is ");
	happens("{'kind': 'step', 'seq': 5, 'step': 3, 'node': 'model'}", "[" ANSWER "]",
	    NULL);
	happens("{'kind': 'finished', 'seq': 6, 'status': 'success'}", NULL,
	    "{'messages': [1]}");
}

/* --- what is told ------------------------------------------------------------------------- */

/* The events so far: [the envelope]. Each frame is three lines and an empty one. */
static const struct value *
told(void)
{
	const struct packet *bytes = thread_frames_bytes(frames);
	const char *text = arena_copy(arena, bytes->data, bytes->size), *at = text;
	struct value_list list = { .arena = arena };

	while (*at != '\0') {
		const char *data = strstr(at, "\ndata: "), *end, *error;
		const struct value *event;

		ck_assert_msg(strncmp(at, "event: ", 7) == 0 && data != NULL, "%s", at);
		data += 7;
		end = strchr(data, '\n');
		event = json_parse(arena, data, (size_t)(end - data), &error);
		ck_assert_msg(event != NULL, "%s", error);
		ck_assert(strncmp(at + 7, value_get_text(event, "method"),
			      strlen(value_get_text(event, "method"))) == 0);
		at = arena_printf(
		    arena, "\nid: %" PRId64 "\n\n", value_get_int(event, "seq", -1));
		ck_assert_msg(strncmp(end, at, strlen(at)) == 0, "%s", end);
		at = end + strlen(at);
		value_list_add(&list, event);
	}
	return value_list_end(&list);
}

static const struct value *
data_of(const struct value *event)
{
	return value_get(value_get(event, "params"), "data");
}

/* "lifecycle running", "messages message-start", "values", ... with spaces between. */
static const char *
story(const struct value *events)
{
	const char *text = "";
	size_t i;

	for (i = 0; i < value_size(events); i++) {
		const char *what = value_get_text(data_of(value_at(events, i)), "event");

		text = arena_printf(arena, "%s%s%s%s%s", text, i > 0 ? ", " : "",
		    value_get_text(value_at(events, i), "method"),
		    what != NULL ? " " : "", what != NULL ? what : "");
	}
	return text;
}

/* All texts of pieces, one behind the other. */
static const char *
spoken(const struct value *events)
{
	const char *text = "";
	size_t i;

	for (i = 0; i < value_size(events); i++) {
		const char *piece = value_get_text(
		    value_get(data_of(value_at(events, i)), "delta"), "text");

		text = arena_printf(arena, "%s%s", text, piece != NULL ? piece : "");
	}
	return text;
}

/* --- tests -------------------------------------------------------------------------------- */

START_TEST(a_run_is_told_from_begin_to_end)
{
	play();
	ck_assert_str_eq(story(told()),
	    "lifecycle running, "
	    "messages message-start, messages content-block-start, "
	    "messages content-block-finish, messages message-finish, tools tool-started, "
	    "updates, "
	    "tools tool-finished, updates, values, "
	    "messages message-start, messages content-block-start, "
	    "messages content-block-delta, messages content-block-delta, "
	    "messages content-block-delta, messages content-block-finish, messages "
	    "usage, "
	    "messages message-finish, updates, "
	    "values, lifecycle completed");
	ck_assert_str_eq(spoken(told()), "It is two.");
}
END_TEST

START_TEST(channels_that_nobody_asked_for_are_left_out)
{
	begin(CHANNEL_LIFECYCLE | CHANNEL_TOOLS, 0);
	play();
	ck_assert_str_eq(story(told()), "lifecycle running, tools tool-started, "
					"tools tool-finished, lifecycle completed");
}
END_TEST

/* As who shows tools has them: one that failed has no output. */
START_TEST(a_tool_that_failed_is_told_so)
{
	begin(CHANNEL_TOOLS, 0);
	happens("{'kind': 'step', 'seq': 4, 'step': 2, 'node': 'tools'}",
	    "[{'type': 'tool', 'id': 'r-2-1', 'content': 'broken', 'tool_call_id': "
	    "'c1', 'status': 'error'}]",
	    NULL);
	ck_assert_value(arena, data_of(value_at(told(), 0)),
	    "{'event': 'tool-error', 'tool_call_id': 'c1', 'message': 'broken'}");
}
END_TEST

START_TEST(numbers_grow_over_runs)
{
	const struct value *events;
	int64_t last = -1;
	size_t i;

	play();
	thread_frames_begin(frames, 1, "r2", "agent", 0);
	start();
	events = told();
	for (i = 0; i < value_size(events); i++) {
		int64_t number = value_get_int(value_at(events, i), "seq", -1);

		ck_assert_int_gt(number, last);
		last = number;
	}
	ck_assert_uint_eq(thread_number_run((uint64_t)last), 1);
}
END_TEST

/* Of fewer runs than there were. */
START_TEST(of_a_thread_that_was_made_again_all_is_told)
{
	thread_frames_destroy(&frames);
	frames = thread_frames_new(ALL, thread_number(5, 3, 0));
	thread_frames_begin(frames, 0, "new", "agent", 0);
	start();
	ck_assert_str_eq(story(told()), "lifecycle running");
	ck_assert_str_eq(value_get_text(value_at(told(), 0), "event_id"), "new.2.0");
}
END_TEST

static const char *
id_of_value(void)
{
	begin(CHANNEL_CUSTOM, 0);
	start();
	thread_frames_live(
	    frames, arena, literal(arena, "{'kind': 'custom', 'value': 1}"));
	return value_get_text(value_at(told(), 0), "event_id");
}

/* Who listens twice hears another value under the same count. */
START_TEST(what_is_not_stored_has_an_id_for_each_who_listens)
{
	ck_assert_str_ne(id_of_value(), id_of_value());
}
END_TEST

/* From behind any event on, all that follow come, with the ids that they had, and none before. */
START_TEST(who_comes_back_is_told_the_rest)
{
	const struct value *all, *rest;
	size_t i, j;

	/* What is live may be told in other pieces. */
	begin(ALL & ~(unsigned)CHANNEL_MESSAGES, 0);
	play();
	all = told();
	for (i = 0; i < value_size(all); i++) {
		begin(ALL & ~(unsigned)CHANNEL_MESSAGES,
		    (uint64_t)value_get_int(value_at(all, i), "seq", 0));
		play();
		rest = told();
		ck_assert_uint_eq(value_size(rest), value_size(all) - i - 1);
		for (j = 0; j < value_size(rest); j++)
			ck_assert(
			    value_equal(value_at(rest, j), value_at(all, i + 1 + j)));
	}
}
END_TEST

/* Behind a piece: the message begins anew, and its end has all of it, whatever was missed. */
START_TEST(who_comes_back_within_a_text_gets_it_whole)
{
	const struct value *all, *rest, *end;
	uint64_t since;

	start();
	hear(1, 0, "It ");
	all = told();
	since = (uint64_t)value_get_int(value_at(all, value_size(all) - 1), "seq", 0);
	begin(ALL, since);
	start();
	hear(1, 6, "two.");
	happens("{'kind': 'step', 'seq': 3, 'step': 1, 'node': 'model'}", "[" ANSWER "]",
	    NULL);
	rest = told();
	ck_assert_str_eq(story(rest),
	    "messages message-start, messages content-block-start, "
	    "messages content-block-delta, messages content-block-finish, messages "
	    "usage, "
	    "messages message-finish, updates");
	ck_assert_int_gt(value_get_int(value_at(rest, 0), "seq", 0), (int64_t)since);
	end = value_get(data_of(value_at(rest, 3)), "content");
	ck_assert_str_eq(value_get_text(end, "text"), "It is two.");
}
END_TEST

START_TEST(an_answer_that_broke_off_begins_anew)
{
	start();
	hear(1, 0, "Oh ");
	thread_frames_live(
	    frames, arena, literal(arena, "{'kind': 'restart', 'step': 1}"));
	hear(1, 0, "It ");
	ck_assert_str_eq(story(told()),
	    "lifecycle running, "
	    "messages message-start, messages content-block-start, "
	    "messages content-block-delta, "
	    "messages message-start, messages content-block-start, "
	    "messages content-block-delta");
}
END_TEST

/* The first one's worker was given up, and does not know it; of the third, which is committed, nothing was heard. */
START_TEST(so_does_another_answer_that_takes_its_place)
{
	start();
	hear_answer(1, 3, 0, "It ");
	hear_answer(2, 3, 0, "Oh ");
	hear_answer(1, 3, 3, "is ");
	hear_answer(2, 3, 3, "no.");
	happens("{'kind': 'step', 'seq': 5, 'step': 3, 'node': 'model'}", "[" ANSWER "]",
	    NULL);
	ck_assert_has(story(told()),
	    "lifecycle running, "
	    "messages message-start, messages content-block-start, "
	    "messages content-block-delta, "
	    "messages message-start, messages content-block-start, "
	    "messages content-block-delta, messages content-block-delta, "
	    "messages message-start, messages content-block-start, "
	    "messages content-block-delta, messages content-block-finish, ");
}
END_TEST

START_TEST(a_pause_asks_and_is_no_end)
{
	const struct value *events;

	start();
	happens("{'kind': 'interrupted', 'seq': 3, 'interrupts': [{'id': 'i1', 'value': "
		"{'q': 1}}]}",
	    NULL, NULL);
	happens("{'kind': 'finished', 'seq': 4, 'status': 'interrupted'}", NULL, NULL);
	events = told();
	ck_assert_str_eq(
	    story(events), "lifecycle running, input.requested, lifecycle interrupted");
	ck_assert_str_eq(
	    value_get_text(data_of(value_at(events, 1)), "interrupt_id"), "i1");
	ck_assert(value_equal(value_get(data_of(value_at(events, 1)), "payload"),
	    literal(arena, "{'q': 1}")));
}
END_TEST

static const struct {
	const char *status, *event;
} ends[] = { { "success", "completed" }, { "error", "failed" }, { "refused", "failed" },
	{ "cancelled", "interrupted" } };

START_TEST(each_end_is_told)
{
	const struct value *events;

	happens(arena_printf(arena,
		    "{'kind': 'finished', 'seq': 2, 'status': '%s', 'error': "
		    "{'type': 'E', 'message': 'why'}}",
		    ends[_i].status),
	    NULL, NULL);
	events = told();
	ck_assert_uint_eq(value_size(events), 1);
	ck_assert_str_eq(
	    value_get_text(data_of(value_at(events, 0)), "event"), ends[_i].event);
	ck_assert_int_eq(value_has(data_of(value_at(events, 0)), "error"),
	    strcmp(ends[_i].event, "failed") == 0);
}
END_TEST

START_TEST(what_workers_publish_else_is_custom)
{
	const struct value *events;

	start();
	thread_frames_live(
	    frames, arena, literal(arena, "{'kind': 'progress', 'done': 3}"));
	thread_frames_live(frames, arena, literal(arena, "{'kind': 'child'}"));
	thread_frames_live(
	    frames, arena, literal(arena, "{'kind': 'custom', 'value': [7]}"));
	events = told();
	ck_assert_str_eq(story(events), "lifecycle running, custom, custom");
	ck_assert_int_eq(
	    value_at(value_get(data_of(value_at(events, 2)), "payload"), 0)->integer, 7);
}
END_TEST

static void
tell_point(int version, int parent, const char *values)
{
	const struct thread_told told = {
		.values = values != NULL ? literal(arena, values) : NULL,
		.trail = literal(arena,
		    arena_printf(arena,
			"[{'type': 'checkpoint', 'payload': {'checkpoint': "
			"{'checkpoint_id': '%d'}, 'parent_checkpoint': "
			"{'checkpoint_id': '%d'}, 'metadata': {'step': %d, 'source': "
			"'loop'}}}]",
			version, parent, version)),
	};

	thread_frames_event(frames, arena,
	    literal(arena, arena_printf(arena, "{'kind': 'step', 'seq': %d}", version)),
	    &told);
}

/* The last checkpoint, which the state is told behind. */
static const struct value *
last_point(void)
{
	const struct value *all = told();

	return data_of(value_at(all, value_size(all) - 2));
}

START_TEST(checkpoints_without_a_state_are_told_with_the_next)
{
	begin(CHANNEL_VALUES | CHANNEL_CHECKPOINTS, 0);
	tell_point(3, 2, NULL);
	tell_point(4, 3, NULL);
	tell_point(5, 4, "{'messages': []}");
	ck_assert_str_eq(story(told()), "checkpoints, values");
	ck_assert_value(arena, last_point(),
	    "{'id': '5', 'parent_id': '2', 'step': 5, 'source': 'loop'}");
	tell_point(6, 5, "{'messages': []}");
	ck_assert_value(arena, last_point(),
	    "{'id': '6', 'parent_id': '5', 'step': 6, 'source': 'loop'}");
	begin(CHANNEL_CHECKPOINTS, 0);
	tell_point(3, 2, NULL);
	tell_point(4, 3, NULL);
	ck_assert_str_eq(story(told()), "checkpoints, checkpoints");
}
END_TEST

START_TEST(channels_have_names)
{
	unsigned channels = 0;

	ck_assert(channel_add("values", &channels));
	ck_assert_uint_eq(channels, CHANNEL_VALUES);
	ck_assert(channel_add("tasks", &channels));
	ck_assert_uint_eq(channels, CHANNEL_VALUES | CHANNEL_TASKS);
	ck_assert(channel_add("custom:mine", &channels));
	ck_assert_uint_eq(channels, CHANNEL_VALUES | CHANNEL_TASKS | CHANNEL_CUSTOM);
	ck_assert(!channel_add("value", &channels));
	ck_assert(!channel_add("", &channels));
}
END_TEST

TCase *
tcase_thread_frames(void)
{
	TCase *tcase = tcase_create("thread_frames");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_run_is_told_from_begin_to_end);
	tcase_add_test(tcase, channels_that_nobody_asked_for_are_left_out);
	tcase_add_test(tcase, a_tool_that_failed_is_told_so);
	tcase_add_test(tcase, numbers_grow_over_runs);
	tcase_add_test(tcase, of_a_thread_that_was_made_again_all_is_told);
	tcase_add_test(tcase, what_is_not_stored_has_an_id_for_each_who_listens);
	tcase_add_test(tcase, who_comes_back_is_told_the_rest);
	tcase_add_test(tcase, who_comes_back_within_a_text_gets_it_whole);
	tcase_add_test(tcase, an_answer_that_broke_off_begins_anew);
	tcase_add_test(tcase, so_does_another_answer_that_takes_its_place);
	tcase_add_test(tcase, a_pause_asks_and_is_no_end);
	tcase_add_loop_test(tcase, each_end_is_told, 0, sizeof ends / sizeof *ends);
	tcase_add_test(tcase, what_workers_publish_else_is_custom);
	tcase_add_test(tcase, checkpoints_without_a_state_are_told_with_the_next);
	tcase_add_test(tcase, channels_have_names);
	return tcase;
}
