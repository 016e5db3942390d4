/* What who listens to a thread is told, event by event, over its runs; and that with an event's number he is told the rest. */
#include <check.h>
#include <inttypes.h>
#include <string.h>

#include "literal.h"
#include "thread_bench.h"

/* Interface under test */
#include "thread_number.h"

TCase *tcase_thread_frames(void);

/* --- tests -------------------------------------------------------------------------------- */

START_TEST(a_run_is_told_from_begin_to_end)
{
	talk_play();
	ck_assert_str_eq(talk_story(talk_told()),
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
	ck_assert_str_eq(talk_spoken(talk_told()), "It is two.");
}
END_TEST

START_TEST(channels_that_nobody_asked_for_are_left_out)
{
	talk_begin(CHANNEL_LIFECYCLE | CHANNEL_TOOLS, 0);
	talk_play();
	ck_assert_str_eq(talk_story(talk_told()),
	    "lifecycle running, tools tool-started, "
	    "tools tool-finished, lifecycle completed");
}
END_TEST

/* As who shows tools has them: one that failed has no output. */
START_TEST(a_tool_that_failed_is_told_so)
{
	talk_begin(CHANNEL_TOOLS, 0);
	talk_happens("{'kind': 'step', 'seq': 4, 'step': 2, 'node': 'tools'}",
	    "[{'type': 'tool', 'id': 'r-2-1', 'content': 'broken', 'tool_call_id': "
	    "'c1', 'status': 'error'}]",
	    NULL);
	ck_assert_value(talk_arena, talk_data(value_at(talk_told(), 0)),
	    "{'event': 'tool-error', 'tool_call_id': 'c1', 'message': 'broken'}");
}
END_TEST

START_TEST(numbers_grow_over_runs)
{
	const struct value *events;
	int64_t last = -1;
	size_t i;

	talk_play();
	thread_frames_begin(talk_frames, 1, "r2", "agent", 0);
	talk_start();
	events = talk_told();
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
	thread_frames_destroy(&talk_frames);
	talk_frames = thread_frames_new(TALK_ALL, thread_number(5, 3, 0));
	thread_frames_begin(talk_frames, 0, "new", "agent", 0);
	talk_start();
	ck_assert_str_eq(talk_story(talk_told()), "lifecycle running");
	ck_assert_str_eq(value_get_text(value_at(talk_told(), 0), "event_id"),
	    "synth:new:2.lifecycle.0");
}
END_TEST

/* The run had nine events when the client left, and has five. */
START_TEST(an_end_that_redis_has_again_is_told)
{
	thread_frames_destroy(&talk_frames);
	talk_frames = thread_frames_new(TALK_ALL, thread_number(0, 9, 1));
	thread_frames_begin(talk_frames, 0, "r", "agent", 8);
	talk_happens("{'kind': 'finished', 'seq': 5, 'status': 'success'}", NULL, NULL);
	ck_assert_str_eq(talk_story(talk_told()), "lifecycle completed");
}
END_TEST

static const char *
id_of_value(void)
{
	talk_begin(CHANNEL_CUSTOM, 0);
	talk_start();
	thread_frames_live(talk_frames, talk_arena,
	    literal(talk_arena, "{'kind': 'custom', 'value': 1}"));
	return value_get_text(value_at(talk_told(), 0), "event_id");
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
	talk_begin(TALK_ALL & ~(unsigned)CHANNEL_MESSAGES, 0);
	talk_play();
	all = talk_told();
	for (i = 0; i < value_size(all); i++) {
		talk_begin(TALK_ALL & ~(unsigned)CHANNEL_MESSAGES,
		    (uint64_t)value_get_int(value_at(all, i), "seq", 0));
		talk_play();
		rest = talk_told();
		ck_assert_uint_eq(value_size(rest), value_size(all) - i - 1);
		for (j = 0; j < value_size(rest); j++)
			ck_assert(
			    value_equal(value_at(rest, j), value_at(all, i + 1 + j)));
	}
}
END_TEST

START_TEST(a_pause_asks_and_is_no_end)
{
	const struct value *events;

	talk_start();
	talk_happens(
	    "{'kind': 'interrupted', 'seq': 3, 'interrupts': [{'id': 'i1', 'value': "
	    "{'q': 1}}]}",
	    NULL, NULL);
	talk_happens(
	    "{'kind': 'finished', 'seq': 4, 'status': 'interrupted'}", NULL, NULL);
	events = talk_told();
	ck_assert_str_eq(talk_story(events),
	    "lifecycle running, input.requested, lifecycle interrupted");
	ck_assert_str_eq(
	    value_get_text(talk_data(value_at(events, 1)), "interrupt_id"), "i1");
	ck_assert(value_equal(value_get(talk_data(value_at(events, 1)), "payload"),
	    literal(talk_arena, "{'q': 1}")));
}
END_TEST

static const struct {
	const char *status, *event;
} ends[] = { { "success", "completed" }, { "error", "failed" }, { "refused", "failed" },
	{ "cancelled", "interrupted" } };

START_TEST(each_end_is_told)
{
	const struct value *events;

	talk_happens(arena_printf(talk_arena,
			 "{'kind': 'finished', 'seq': 2, 'status': '%s', 'error': "
			 "{'type': 'E', 'message': 'why'}}",
			 ends[_i].status),
	    NULL, NULL);
	events = talk_told();
	ck_assert_uint_eq(value_size(events), 1);
	ck_assert_str_eq(
	    value_get_text(talk_data(value_at(events, 0)), "event"), ends[_i].event);
	ck_assert_int_eq(value_has(talk_data(value_at(events, 0)), "error"),
	    strcmp(ends[_i].event, "failed") == 0);
}
END_TEST

START_TEST(what_workers_publish_else_is_custom)
{
	const struct value *events;

	talk_start();
	thread_frames_live(talk_frames, talk_arena,
	    literal(talk_arena, "{'kind': 'progress', 'done': 3}"));
	thread_frames_live(
	    talk_frames, talk_arena, literal(talk_arena, "{'kind': 'child'}"));
	thread_frames_live(talk_frames, talk_arena,
	    literal(talk_arena, "{'kind': 'custom', 'value': [7]}"));
	events = talk_told();
	ck_assert_str_eq(talk_story(events), "lifecycle running, custom, custom");
	ck_assert_int_eq(
	    value_at(value_get(talk_data(value_at(events, 2)), "payload"), 0)->integer,
	    7);
}
END_TEST

static void
tell_point(int version, int parent, const char *values)
{
	const struct thread_told told = {
		.values = values != NULL ? literal(talk_arena, values) : NULL,
		.trail = literal(talk_arena,
		    arena_printf(talk_arena,
			"[{'type': 'checkpoint', 'payload': {'checkpoint': "
			"{'checkpoint_id': '%d'}, 'parent_checkpoint': "
			"{'checkpoint_id': '%d'}, 'metadata': {'step': %d, 'source': "
			"'loop'}}}]",
			version, parent, version)),
	};

	thread_frames_event(talk_frames, talk_arena,
	    literal(talk_arena,
		arena_printf(talk_arena, "{'kind': 'step', 'seq': %d}", version)),
	    &told);
}

/* The last checkpoint, which the state is told behind. */
static const struct value *
last_point(void)
{
	const struct value *all = talk_told();

	return talk_data(value_at(all, value_size(all) - 2));
}

START_TEST(checkpoints_without_a_state_are_told_with_the_next)
{
	talk_begin(CHANNEL_VALUES | CHANNEL_CHECKPOINTS, 0);
	tell_point(3, 2, NULL);
	tell_point(4, 3, NULL);
	tell_point(5, 4, "{'messages': []}");
	ck_assert_str_eq(talk_story(talk_told()), "checkpoints, values");
	ck_assert_value(talk_arena, last_point(),
	    "{'id': '5', 'parent_id': '2', 'step': 5, 'source': 'loop'}");
	tell_point(6, 5, "{'messages': []}");
	ck_assert_value(talk_arena, last_point(),
	    "{'id': '6', 'parent_id': '5', 'step': 6, 'source': 'loop'}");
	talk_begin(CHANNEL_CHECKPOINTS, 0);
	tell_point(3, 2, NULL);
	tell_point(4, 3, NULL);
	ck_assert_str_eq(talk_story(talk_told()), "checkpoints, checkpoints");
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

	tcase_add_checked_fixture(tcase, thread_bench_setup, thread_bench_teardown);
	tcase_add_test(tcase, a_run_is_told_from_begin_to_end);
	tcase_add_test(tcase, channels_that_nobody_asked_for_are_left_out);
	tcase_add_test(tcase, a_tool_that_failed_is_told_so);
	tcase_add_test(tcase, numbers_grow_over_runs);
	tcase_add_test(tcase, of_a_thread_that_was_made_again_all_is_told);
	tcase_add_test(tcase, an_end_that_redis_has_again_is_told);
	tcase_add_test(tcase, what_is_not_stored_has_an_id_for_each_who_listens);
	tcase_add_test(tcase, who_comes_back_is_told_the_rest);
	tcase_add_test(tcase, a_pause_asks_and_is_no_end);
	tcase_add_loop_test(tcase, each_end_is_told, 0, sizeof ends / sizeof *ends);
	tcase_add_test(tcase, what_workers_publish_else_is_custom);
	tcase_add_test(tcase, checkpoints_without_a_state_are_told_with_the_next);
	tcase_add_test(tcase, channels_have_names);
	return tcase;
}
