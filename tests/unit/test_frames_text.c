/* How a model's text is shown to who follows a run: piece by piece, and that with a frame's id he is shown the rest. */
#include <check.h>

#include "has.h"

/* Interface under test */
#include "frames_bench.h"

TCase *tcase_frames_text(void);

#define COUNT(list) (int)(sizeof(list) / sizeof(list)[0])

/* --- a text, piece by piece --------------------------------------------------------------- */

START_TEST(pieces_come_as_they_are_and_the_message_ends_them)
{
	fb_begin(TUPLE, "6");
	fb_hear_text(3, 0, "Hel");
	fb_hear_text(3, 3, "lo ");
	fb_end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(fb_shown(), "messages@6:3:3 {'r-3-1':'Hel'}\n"
				     "messages@6:3:6 {'r-3-1':'lo '}\n"
				     "messages@7 {'r-3-1':'you'}\n");
}
END_TEST

START_TEST(behind_a_piece_that_was_missed_the_message_makes_up)
{
	fb_begin(TUPLE, "6");
	fb_hear_text(3, 0, "Hel");
	fb_hear_text(3, 6, "you");
	fb_end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(fb_shown(), "messages@6:3:3 {'r-3-1':'Hel'}\n"
				     "messages@7 {'r-3-1':'lo you'}\n");
}
END_TEST

START_TEST(behind_all_pieces_the_message_has_no_text)
{
	fb_begin(TUPLE, "6");
	fb_hear_text(3, 0, "Hello you");
	fb_end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(fb_shown(), "messages@6:3:9 {'r-3-1':'Hello you'}\n"
				     "messages@7 {'r-3-1':''}\n");
}
END_TEST

START_TEST(without_pieces_the_message_is_whole)
{
	fb_begin(TUPLE, "6");
	fb_end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(fb_shown(), "messages@7 {'r-3-1':'Hello you'}\n");
}
END_TEST

/* Whoever has it, and not the frame behind it, is not shown it again. */
START_TEST(a_whole_message_counts_as_shown)
{
	fb_begin(TUPLE | MODE_UPDATES, "6");
	fb_end_step(7, 3, "model", ANSWER);
	ck_assert_has(fb_shown(), "messages@6:3:9 {'r-3-1':'Hello you'}\nupdates@7 ");
	fb_begin(TUPLE, "6:3:9");
	fb_end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(fb_shown(), "messages@7 {'r-3-1':''}\n");
}
END_TEST

/* A hook may add some to the model's, or have written one while the model speaks. */
START_TEST(other_messages_are_whole)
{
	fb_begin(TUPLE, "6");
	fb_hear_text(3, 0, "Hel");
	fb_end_step(
	    7, 2, "x.before_model", "[{'type': 'ai', 'id': 'x', 'content': 'Before'}]");
	fb_hear_text(3, 3, "lo ");
	fb_end_step(8, 3, "model",
	    "[{'type': 'ai', 'id': 'r-3-1', 'content': 'Hello you'}, {'type': 'ai', "
	    "'id': "
	    "'r-3-2', 'content': 'And goodbye'}]");
	ck_assert_str_eq(fb_shown(), "messages@6:3:3 {'r-3-1':'Hel'}\n"
				     "messages@7:3:3 {'x':'Before'}\n"
				     "messages@7:3:6 {'r-3-1':'lo '}\n"
				     "messages@7:3:9 {'r-3-1':'you'}\n"
				     "messages@8 {'r-3-2':'And goodbye'}\n");
}
END_TEST

START_TEST(a_piece_that_comes_twice_is_shown_once)
{
	fb_begin(TUPLE, "6");
	fb_hear_text(3, 0, "Hel");
	fb_hear_text(3, 0, "Hel");
	fb_hear_text(3, 0, "Hello ");
	ck_assert_str_eq(fb_shown(), "messages@6:3:3 {'r-3-1':'Hel'}\n"
				     "messages@6:3:6 {'r-3-1':'lo '}\n");
}
END_TEST

START_TEST(each_step_has_a_text_of_its_own)
{
	fb_begin(TUPLE, "6");
	fb_hear_text(3, 0, "Hello you");
	fb_end_step(7, 3, "model", ANSWER);
	fb_hear_text(5, 0, "And");
	fb_end_step(
	    8, 5, "model", "[{'type': 'ai', 'id': 'r-5-1', 'content': 'And so'}]");
	ck_assert_str_eq(fb_shown(), "messages@6:3:9 {'r-3-1':'Hello you'}\n"
				     "messages@7 {'r-3-1':''}\n"
				     "messages@7:5:3 {'r-5-1':'And'}\n"
				     "messages@8 {'r-5-1':' so'}\n");
}
END_TEST

/* A step of another node may end in between. */
START_TEST(what_else_happens_leaves_the_text_where_it_is)
{
	fb_begin(TUPLE | MODE_UPDATES, "6");
	fb_hear_text(3, 0, "Hel");
	fb_end_step(7, 2, "tools", "[]");
	fb_hear_text(3, 3, "lo ");
	ck_assert_str_eq(fb_shown(), "messages@6:3:3 {'r-3-1':'Hel'}\n"
				     "updates@7:3:3 {'tools':{}}\n"
				     "messages@7:3:6 {'r-3-1':'lo '}\n");
}
END_TEST

START_TEST(the_text_of_blocks_goes_on_behind_its_pieces)
{
	fb_begin(TUPLE, "6");
	fb_hear_text(3, 0, "Hel");
	fb_end_step(7, 3, "model",
	    "[{'type': 'ai', 'id': 'r-3-1', 'content': [{'type': 'text', 'text': "
	    "'Hello '}, {'type': 'text', 'text': 'you'}]}]");
	ck_assert_str_eq(fb_shown(), "messages@6:3:3 {'r-3-1':'Hel'}\n"
				     "messages@7 {'r-3-1':'lo you'}\n");
}
END_TEST

START_TEST(offsets_count_bytes)
{
	fb_begin(TUPLE, "6:3:4");
	fb_hear_text(3, 0, "\xc3\xa9\xc3\xa8\xc3\xa0");
	fb_end_step(7, 3, "model",
	    "[{'type': 'ai', 'id': 'r-3-1', 'content': '\xc3\xa9\xc3\xa8\xc3\xa0!'}]");
	ck_assert_str_eq(fb_shown(), "messages@6:3:6 {'r-3-1':'\xc3\xa0'}\n"
				     "messages@7 {'r-3-1':'!'}\n");
}
END_TEST

static const char *const nonsense[] = {
	"{'kind': 'token', 'content': 'x', 'offset': 0}",
	"{'kind': 'token', 'content': 'x', 'step': 0, 'offset': 0}",
	"{'kind': 'token', 'content': 'x', 'step': -3, 'offset': 0}",
	"{'kind': 'token', 'content': 'x', 'step': 3, 'offset': -1}",
	"{'kind': 'token', 'content': 'x', 'step': 3, 'offset': 1}",
	"{'kind': 'token', 'content': 7, 'step': 3, 'offset': 0}",
	"{'kind': 'token', 'content': '', 'step': 3, 'offset': 0}",
	"{'kind': 'token'}",
	"{}",
	"[]",
};

START_TEST(a_piece_that_is_none_shows_nothing)
{
	fb_begin(TUPLE | MODE_MESSAGES, "6");
	fb_hear(nonsense[_i]);
	ck_assert_str_eq(fb_shown(), "");
	fb_hear_text(3, 0, "Hel");
	ck_assert_has(fb_shown(), "messages@6:3:3 {'r-3-1':'Hel'}\n");
}
END_TEST

/* --- who comes back ----------------------------------------------------------------------- */

static const struct {
	const char *last_id, *expected;
} resumed[] = {
	/* Within the text; pieces are before it, across it, behind it. */
	{ "6:3:4", "messages@6:3:6 {'r-3-1':'o '}\nmessages@6:3:7 {'r-3-1':'y'}\n"
		   "messages@7 {'r-3-1':'ou'}\n" },
	{ "6:3:3", "messages@6:3:6 {'r-3-1':'lo '}\nmessages@6:3:7 {'r-3-1':'y'}\n"
		   "messages@7 {'r-3-1':'ou'}\n" },
	{ "6:3:6", "messages@6:3:7 {'r-3-1':'y'}\nmessages@7 {'r-3-1':'ou'}\n" },
	{ "6:3:7", "messages@7 {'r-3-1':'ou'}\n" },
	{ "6:3:9", "messages@7 {'r-3-1':''}\n" },
	/* Another one's: of a step that is over. */
	{ "6:1:4", "messages@6:3:3 {'r-3-1':'Hel'}\nmessages@6:3:6 {'r-3-1':'lo '}\n"
		   "messages@6:3:7 {'r-3-1':'y'}\nmessages@7 {'r-3-1':'ou'}\n" },
	/* More than there is: whose id is that? */
	{ "6:3:100", "messages@7 {'r-3-1.1':'Hello you'}\n" },
	{ "6:3:18446744073709551615", "messages@7 {'r-3-1.1':'Hello you'}\n" },
};

START_TEST(who_comes_back_within_a_text_is_shown_its_rest)
{
	fb_begin(TUPLE, resumed[_i].last_id);
	ck_assert_uint_eq(frames_seen(fb.frames), 6);
	fb_hear_text(3, 0, "Hel");
	fb_hear_text(3, 3, "lo ");
	fb_hear_text(3, 6, "y");
	fb_end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(fb_shown(), resumed[_i].expected);
}
END_TEST

START_TEST(who_comes_back_when_no_pieces_come_any_more_is_shown_the_rest)
{
	fb_begin(TUPLE, "6:3:4");
	fb_end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(fb_shown(), "messages@7 {'r-3-1':'o you'}\n");
}
END_TEST

static const struct {
	const char *last_id;
	uint64_t seen;
} ids[] = {
	{ NULL, 0 },
	{ "", 0 },
	{ "0", 0 },
	{ "-1", 0 },
	{ "-7:3:120", 0 },
	{ "x", 0 },
	{ "7", 7 },
	{ "7:3:120", 7 },
	{ "7:3", 7 },
	{ "7:-3:120", 7 },
	{ "7:x", 7 },
};

START_TEST(an_id_says_how_far_its_client_has_come)
{
	fb_begin(TUPLE, ids[_i].last_id);
	ck_assert_uint_eq(frames_seen(fb.frames), ids[_i].seen);
	fb_hear_text(5, 0, "Hi");
	ck_assert_str_eq(
	    fb_shown(), arena_printf(fb.arena, "messages@%u:5:2 {'r-5-1':'Hi'}\n",
			    (unsigned)ids[_i].seen));
}
END_TEST

/* --- an answer that is begun anew --------------------------------------------------------- */

START_TEST(pieces_of_another_attempt_are_of_another_message)
{
	fb_begin(TUPLE, "6");
	fb_hear_text(3, 0, "Hullo");
	fb_hear("{'kind': 'restart', 'step': 3}");
	fb_hear_text(3, 0, "Hel");
	fb_end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(fb_shown(), "messages@6:3:5 {'r-3-1':'Hullo'}\n"
				     "messages@6:3:3 {'r-3-1.1':'Hel'}\n"
				     "messages@7 {'r-3-1.1':'lo you'}\n");
}
END_TEST

/* Else its text would be put behind what is void. */
START_TEST(a_whole_message_behind_void_pieces_is_of_another_message)
{
	fb_begin(TUPLE, "6");
	fb_hear_text(3, 0, "Hullo");
	fb_hear("{'kind': 'restart', 'step': 3}");
	fb_end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(fb_shown(), "messages@6:3:5 {'r-3-1':'Hullo'}\n"
				     "messages@7 {'r-3-1.1':'Hello you'}\n");
}
END_TEST

START_TEST(a_restart_of_what_nobody_saw_changes_nothing)
{
	fb_begin(TUPLE, "6");
	fb_hear("{'kind': 'restart', 'step': 3}");
	fb_hear_text(3, 0, "Hel");
	ck_assert_str_eq(fb_shown(), "messages@6:3:3 {'r-3-1':'Hel'}\n");
	fb_hear("{'kind': 'restart'}");
	fb_hear("{'kind': 'restart', 'step': 5}"); /* the next one's */
	fb_hear_text(5, 0, "Hel");
	ck_assert_str_eq(fb_shown(), "messages@6:5:3 {'r-5-1':'Hel'}\n");
}
END_TEST

/* --- several answers at once -------------------------------------------------------------- */

/* Whoever was taken for dead writes on. */
START_TEST(an_answer_that_begins_takes_the_place_of_another)
{
	fb_begin(TUPLE, "6");
	fb_hear_answer(1, 3, 0, "Hel");
	fb_hear_answer(2, 3, 0, "He");
	fb_hear_answer(1, 3, 3, "p!");
	fb_hear_answer(2, 3, 2, "llo ");
	fb_hear("{'kind': 'restart', 'step': 3, 'answer': 1}");
	fb_end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(fb_shown(), "messages@6:3:3 {'r-3-1':'Hel'}\n"
				     "messages@6:3:2 {'r-3-1.1':'He'}\n"
				     "messages@6:3:6 {'r-3-1.1':'llo '}\n"
				     "messages@7 {'r-3-1.1':'you'}\n");
}
END_TEST

/* Of the one that was committed nothing was heard, or not its beginning. */
START_TEST(what_was_heard_of_another_answer_is_not_the_messages_beginning)
{
	fb_begin(TUPLE, "6");
	fb_hear_answer(1, 3, 0, "Help");
	fb_hear_answer(2, 3, 4, "o y");
	fb_end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(fb_shown(), "messages@6:3:4 {'r-3-1':'Help'}\n"
				     "messages@7 {'r-3-1.1':'Hello you'}\n");
}
END_TEST

START_TEST(a_restart_is_of_the_answer_that_it_names)
{
	fb_begin(TUPLE, "6");
	fb_hear_answer(1, 3, 0, "Hel");
	fb_hear("{'kind': 'restart', 'step': 3, 'answer': 2}");
	fb_hear_answer(1, 3, 3, "lo");
	fb_hear("{'kind': 'restart', 'step': 3, 'answer': 1}");
	fb_hear_answer(3, 3, 0, "Hello");
	ck_assert_str_eq(fb_shown(), "messages@6:3:3 {'r-3-1':'Hel'}\n"
				     "messages@6:3:5 {'r-3-1':'lo'}\n"
				     "messages@6:3:5 {'r-3-1.1':'Hello'}\n");
}
END_TEST

/* What has happened while he was away: nothing; another answer; a restart. */
static const struct {
	unsigned answer;
	int offset;
	const char *text, *message, *expected;
} returns[] = {
	{ 7, 3, "lo ", ANSWER,
	    "messages@6:3:6 {'r-3-1':'lo '}\nmessages@7 {'r-3-1':'you'}\n" },
	{ 8, 0, "Hello", ANSWER,
	    "messages@6:3:5 {'r-3-1.1':'Hello'}\nmessages@7 {'r-3-1.1':' you'}\n" },
	{ 8, 3, "lo ", ANSWER, "messages@7 {'r-3-1':'lo you'}\n" },
	{ 8, 3, "lo ", "[{'type': 'ai', 'id': 'r-3-1', 'content': 'Good day'}]",
	    "messages@7 {'r-3-1.1':'Good day'}\n" },
};

START_TEST(who_comes_back_says_which_answer_he_has)
{
	const char *id;

	fb_begin(TUPLE, "6");
	fb_hear_answer(7, 3, 0, "Hel");
	id = fb_last_id();
	fb_begin(TUPLE, id);
	fb_hear_answer(returns[_i].answer, 3, returns[_i].offset, returns[_i].text);
	fb_end_step(7, 3, "model", returns[_i].message);
	ck_assert_str_eq(fb_shown(), returns[_i].expected);
}
END_TEST

START_TEST(who_comes_back_behind_void_pieces_is_shown_another_message)
{
	const char *id;

	fb_begin(TUPLE | MODE_CUSTOM, "6");
	fb_hear_answer(7, 3, 0, "Hel");
	fb_hear("{'kind': 'restart', 'step': 3, 'answer': 7}");
	fb_hear("{'kind': 'progress', 'step': 3}");
	frames_close(fb.frames, 0);
	id = fb_last_id();
	fb_begin(TUPLE, id);
	fb_hear_answer(8, 3, 0, "Hello");
	ck_assert_str_eq(fb_shown(), "messages@6:3:5 {'r-3-1.1':'Hello'}\n");
}
END_TEST

TCase *
tcase_frames_text(void)
{
	TCase *tcase = tcase_create("frames_text");

	tcase_add_checked_fixture(tcase, fb_open, fb_close);
	tcase_add_test(tcase, pieces_come_as_they_are_and_the_message_ends_them);
	tcase_add_test(tcase, behind_a_piece_that_was_missed_the_message_makes_up);
	tcase_add_test(tcase, behind_all_pieces_the_message_has_no_text);
	tcase_add_test(tcase, without_pieces_the_message_is_whole);
	tcase_add_test(tcase, a_whole_message_counts_as_shown);
	tcase_add_test(tcase, other_messages_are_whole);
	tcase_add_test(tcase, a_piece_that_comes_twice_is_shown_once);
	tcase_add_test(tcase, each_step_has_a_text_of_its_own);
	tcase_add_test(tcase, what_else_happens_leaves_the_text_where_it_is);
	tcase_add_test(tcase, the_text_of_blocks_goes_on_behind_its_pieces);
	tcase_add_test(tcase, offsets_count_bytes);
	tcase_add_loop_test(
	    tcase, a_piece_that_is_none_shows_nothing, 0, COUNT(nonsense));
	tcase_add_loop_test(
	    tcase, who_comes_back_within_a_text_is_shown_its_rest, 0, COUNT(resumed));
	tcase_add_test(
	    tcase, who_comes_back_when_no_pieces_come_any_more_is_shown_the_rest);
	tcase_add_loop_test(tcase, an_id_says_how_far_its_client_has_come, 0, COUNT(ids));
	tcase_add_test(tcase, pieces_of_another_attempt_are_of_another_message);
	tcase_add_test(tcase, a_whole_message_behind_void_pieces_is_of_another_message);
	tcase_add_test(tcase, a_restart_of_what_nobody_saw_changes_nothing);
	tcase_add_test(tcase, an_answer_that_begins_takes_the_place_of_another);
	tcase_add_test(
	    tcase, what_was_heard_of_another_answer_is_not_the_messages_beginning);
	tcase_add_test(tcase, a_restart_is_of_the_answer_that_it_names);
	tcase_add_loop_test(
	    tcase, who_comes_back_says_which_answer_he_has, 0, COUNT(returns));
	tcase_add_test(tcase, who_comes_back_behind_void_pieces_is_shown_another_message);
	return tcase;
}
