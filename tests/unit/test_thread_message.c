/* What who listens to a thread is told of an answer that is heard piece by piece, or not; and by which ids he knows what he has. */
#include <check.h>
#include <string.h>

#include "has.h"
#include "literal.h"
#include "thread_bench.h"

TCase *tcase_thread_message(void);

/* Behind a piece: the message begins anew, and its end has all of it, whatever was missed. */
START_TEST(who_comes_back_within_a_text_gets_it_whole)
{
	const struct value *all, *rest, *end;
	uint64_t since;

	talk_start();
	talk_hear(1, 0, "It ");
	all = talk_told();
	since = (uint64_t)value_get_int(value_at(all, value_size(all) - 1), "seq", 0);
	talk_begin(TALK_ALL, since);
	talk_start();
	talk_hear(1, 6, "two.");
	talk_happens("{'kind': 'step', 'seq': 3, 'step': 1, 'node': 'model'}",
	    "[" TALK_ANSWER "]", NULL);
	rest = talk_told();
	ck_assert_str_eq(talk_story(rest),
	    "messages message-start, messages content-block-start, "
	    "messages content-block-delta, messages content-block-finish, messages "
	    "usage, "
	    "messages message-finish, updates");
	ck_assert_int_gt(value_get_int(value_at(rest, 0), "seq", 0), (int64_t)since);
	end = value_get(talk_data(value_at(rest, 3)), "content");
	ck_assert_str_eq(value_get_text(end, "text"), "It is two.");
}
END_TEST

START_TEST(an_answer_that_broke_off_begins_anew)
{
	const struct value *events;
	size_t i;

	talk_start();
	talk_hear(1, 0, "Oh ");
	thread_frames_live(talk_frames, talk_arena,
	    literal(talk_arena, "{'kind': 'restart', 'step': 1}"));
	talk_hear(1, 0, "It ");
	events = talk_told();
	ck_assert_str_eq(talk_story(events),
	    "lifecycle running, "
	    "messages message-start, messages content-block-start, "
	    "messages content-block-delta, "
	    "messages message-start, messages content-block-start, "
	    "messages content-block-delta");
	for (i = 0; i < value_size(events); i++)
		ck_assert_ptr_eq(
		    talk_find(events, value_get(value_at(events, i), "event_id")),
		    value_at(events, i));
}
END_TEST

/* The first one's worker was given up, and does not know it; of the third, which is committed, nothing was heard. */
START_TEST(so_does_another_answer_that_takes_its_place)
{
	talk_start();
	talk_hear_answer(1, 3, 0, "It ");
	talk_hear_answer(2, 3, 0, "Oh ");
	talk_hear_answer(1, 3, 3, "is ");
	talk_hear_answer(2, 3, 3, "no.");
	talk_happens("{'kind': 'step', 'seq': 5, 'step': 3, 'node': 'model'}",
	    "[" TALK_ANSWER "]", NULL);
	ck_assert_has(talk_story(talk_told()),
	    "lifecycle running, "
	    "messages message-start, messages content-block-start, "
	    "messages content-block-delta, "
	    "messages message-start, messages content-block-start, "
	    "messages content-block-delta, messages content-block-delta, "
	    "messages message-start, messages content-block-start, "
	    "messages content-block-delta, messages content-block-finish, ");
}
END_TEST

/* A step may be read before what was published of it is. */
START_TEST(pieces_behind_their_step_say_nothing)
{
	talk_start();
	talk_happens("{'kind': 'step', 'seq': 5, 'step': 3, 'node': 'model'}",
	    "[" TALK_ANSWER "]", NULL);
	thread_frames_taken(talk_frames);
	talk_hear(3, 0, "It ");
	thread_frames_live(talk_frames, talk_arena,
	    literal(talk_arena, "{'kind': 'restart', 'step': 3}"));
	talk_hear(3, 3, "is ");
	ck_assert_uint_eq(value_size(talk_told()), 0);
	talk_hear(4, 0, "On");
	ck_assert_str_eq(talk_story(talk_told()),
	    "messages message-start, messages content-block-start, "
	    "messages content-block-delta");
}
END_TEST

static const struct {
	unsigned channels;
	bool is_heard;
} others[] = { { TALK_ALL, true }, { TALK_ALL, false },
	{ CHANNEL_LIFECYCLE | CHANNEL_TOOLS, false }, { CHANNEL_MESSAGES, true },
	{ CHANNEL_UPDATES | CHANNEL_VALUES, true },
	{ CHANNEL_MESSAGES | CHANNEL_LIFECYCLE, false } };

/* Who has two streams has all when he has heard the first; no two of its events have one id. */
START_TEST(an_event_has_one_id_in_all_streams)
{
	const struct value *all, *other, *event;
	size_t i;

	talk_play();
	all = talk_told();
	for (i = 0; i < value_size(all); i++)
		ck_assert_ptr_eq(talk_find(all, value_get(value_at(all, i), "event_id")),
		    value_at(all, i));
	talk_begin(others[_i].channels, 0);
	talk_play_heard(others[_i].is_heard);
	other = talk_told();
	ck_assert_uint_gt(value_size(other), 0);
	for (i = 0; i < value_size(other); i++) {
		event = talk_find(all, value_get(value_at(other, i), "event_id"));
		ck_assert_msg(
		    event != NULL, "%s", value_get_text(value_at(other, i), "event_id"));
		ck_assert(value_equal(value_get(talk_data(event), "event"),
		    value_get(talk_data(value_at(other, i)), "event")));
	}
}
END_TEST

/* Of which one was heard. */
START_TEST(several_answers_of_a_step_are_told_apart)
{
	const struct value *events;
	size_t i;

	talk_start();
	talk_hear(3, 0, "It ");
	talk_happens("{'kind': 'step', 'seq': 5, 'step': 3, 'node': 'model'}",
	    "[" TALK_ANSWER ", {'type': 'ai', 'id': 'own', 'content': 'It is three.'}]",
	    NULL);
	events = talk_told();
	ck_assert_str_eq(talk_spoken(events), "It is two.It is three.");
	for (i = 0; i < value_size(events); i++)
		ck_assert_ptr_eq(
		    talk_find(events, value_get(value_at(events, i), "event_id")),
		    value_at(events, i));
	ck_assert_str_eq(value_get_text(talk_data(value_at(events, 8)), "id"), "own");
}
END_TEST

TCase *
tcase_thread_message(void)
{
	TCase *tcase = tcase_create("thread_message");

	tcase_add_checked_fixture(tcase, thread_bench_setup, thread_bench_teardown);
	tcase_add_test(tcase, who_comes_back_within_a_text_gets_it_whole);
	tcase_add_test(tcase, an_answer_that_broke_off_begins_anew);
	tcase_add_test(tcase, so_does_another_answer_that_takes_its_place);
	tcase_add_test(tcase, pieces_behind_their_step_say_nothing);
	tcase_add_test(tcase, several_answers_of_a_step_are_told_apart);
	tcase_add_loop_test(
	    tcase, an_event_has_one_id_in_all_streams, 0, sizeof others / sizeof *others);
	return tcase;
}
