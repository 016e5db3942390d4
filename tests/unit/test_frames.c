/* What who follows a run is shown, frame by frame. */
#include <check.h>
#include <string.h>

#include "has.h"
#include "literal.h"

/* Interface under test */
#include "frames_bench.h"

TCase *tcase_frames(void);

/* --- frames ------------------------------------------------------------------------------- */

START_TEST(a_frame_is_an_event_its_data_and_an_id)
{
	fb_begin(MODE_VALUES, NULL);
	frames_begin(fb.frames);
	frames_values(fb.frames, literal(fb.arena, "{'messages': [], 'n': 'a\\nb'}"));
	frames_close(fb.frames, 3);
	packet_append((struct packet *)(uintptr_t)frames_bytes(fb.frames), "", 1);
	ck_assert_str_eq(frames_bytes(fb.frames)->data,
	    "event: metadata\ndata: {\"run_id\":\"r\",\"attempt\":1}\nid: 0\n\n"
	    "event: values\ndata: {\"messages\":[],\"n\":\"a\\nb\"}\nid: 3\n\n");
	frames_taken(fb.frames);
	ck_assert_uint_eq(frames_bytes(fb.frames)->size, 0);
}
END_TEST

/* Whoever has only the first of them is shown all of the event once more. */
START_TEST(an_events_last_frame_has_its_number)
{
	fb_begin(MODE_UPDATES | TUPLE, "6");
	fb_end_step(7, 2, "tools",
	    "[{'type': 'tool', 'id': 'x', 'content': '1'}, "
	    "{'type': 'tool', 'id': 'y', 'content': '2'}]");
	ck_assert_str_eq(fb_shown(),
	    "messages@6 {'x':'1'}\n"
	    "messages@6 {'y':'2'}\n"
	    "updates@7 {'tools':{'messages':["
	    "{'type':'tool','id':'x','content':'1','additional_kwargs':{},"
	    "'response_metadata':{}},"
	    "{'type':'tool','id':'y','content':'2','additional_kwargs':{},"
	    "'response_metadata':{}}]}}\n");
}
END_TEST

START_TEST(a_frame_without_an_event_has_the_number_of_the_one_before)
{
	fb_begin(MODE_VALUES | MODE_UPDATES, NULL);
	fb_end_step(7, 2, "model", "[]");
	frames_values(fb.frames, value_empty_map());
	frames_close(fb.frames, 0);
	ck_assert_str_eq(fb_shown(), "updates@7 {'model':{}}\nvalues@7 {}\n");
	frames_close(fb.frames, 5); /* one that it has seen */
	ck_assert_uint_eq(frames_seen(fb.frames), 7);
}
END_TEST

START_TEST(an_event_that_shows_nothing_counts)
{
	fb_begin(MODE_CUSTOM, NULL);
	fb_end_step(7, 2, "model", "[]");
	ck_assert_str_eq(fb_shown(), "");
	ck_assert_uint_eq(frames_seen(fb.frames), 7);
}
END_TEST

START_TEST(only_what_was_asked_for_is_shown)
{
	static const struct {
		unsigned mode;
		const char *expected;
	} modes[] = {
		{ 0, "" },
		{ MODE_VALUES, "values@2 {'n':1}\nvalues@3 {'__interrupt__':[]}\n" },
		{ MODE_UPDATES,
		    "updates@2 {'tools':{'messages':[{'type':'tool','id':'x','content':"
		    "'1','additional_kwargs':{},'response_metadata':{}}]}}\n"
		    "updates@3 {'__interrupt__':[]}\n" },
		{ MODE_MESSAGES_TUPLE,
		    "messages@1:1:2 {'r-1-1':'Hi'}\nmessages@2:1:2 {'x':'1'}\n" },
		{ MODE_CUSTOM, "custom@1 {'kind':'progress','part':1}\n" },
	};

	fb_begin(modes[_i].mode, "1");
	fb_hear_text(1, 0, "Hi");
	frames_close(fb.frames, 0);
	fb_hear("{'kind': 'progress', 'part': 1}");
	frames_close(fb.frames, 0);
	frames_step(fb.frames, fb.arena,
	    literal(fb.arena, "{'kind': 'step', 'step': 2, 'node': 'tools'}"),
	    literal(fb.arena, "[{'type': 'tool', 'id': 'x', 'content': '1'}]"));
	frames_values(fb.frames, literal(fb.arena, "{'n': 1}"));
	frames_close(fb.frames, 2);
	frames_interrupts(fb.frames, fb.arena, NULL, value_empty_array());
	frames_close(fb.frames, 3);
	ck_assert_str_eq(fb_shown(), modes[_i].expected);
}
END_TEST

/* --- messages ------------------------------------------------------------------------------- */

#define ABOUT(node, step)                                                                \
	"'tags': [], 'run_id': 'r', 'thread_id': 't', 'graph_id': 'agent', "             \
	"'assistant_id': 'agent', 'run_attempt': 1, 'langgraph_node': '" node            \
	"', 'langgraph_step': " step ", 'langgraph_triggers': [], 'langgraph_path': "    \
	"[], 'langgraph_checkpoint_ns': '" node ":" step "', 'checkpoint_ns': '" node    \
	":" step "'"

START_TEST(a_piece_says_whose_it_is)
{
	fb_begin(TUPLE, NULL);
	fb_hear_text(3, 0, "Hel");
	ck_assert_value(fb.arena, fb_only(),
	    "[{'type': 'AIMessageChunk', 'id': 'r-3-1', 'content': 'Hel', "
	    "'additional_kwargs': {}, 'response_metadata': {}, 'tool_calls': [], "
	    "'invalid_tool_calls': [], 'tool_call_chunks': []}, {" ABOUT(
		"model", "3") ", 'ls_model_name': 'm'}]");
}
END_TEST

/* It says nothing in the place of what is known. */
START_TEST(a_piece_says_what_its_run_was_submitted_with)
{
	const struct frames_run run = { "r", "t", "agent", NULL,
		literal(fb.arena, "{'who': 'me', 'langgraph_node': 'x'}"), false };

	fb.frames = frames_new(&run, TUPLE, NULL);
	fb_hear_text(3, 0, "Hel");
	ck_assert_value(fb.arena, value_at(fb_only(), 1),
	    "{" ABOUT("model", "3") ", 'who': 'me', 'ls_model_name': 'm'}");
}
END_TEST

START_TEST(a_messages_calls_come_with_its_end)
{
	fb_begin(TUPLE, NULL);
	fb_hear_text(3, 0, "I look");
	frames_taken(fb.frames);
	fb_end_step(7, 3, "model",
	    "[{'type': 'ai', 'id': 'r-3-1', 'content': 'I look', 'tool_calls': [{'id': "
	    "'c', 'name': 'find', 'args': {'q': 1}}], 'usage_metadata': {'input_tokens': "
	    "7}, 'response_metadata': {'model_name': 'm2'}}]");
	ck_assert_value(fb.arena, fb_only(),
	    "[{'type': 'AIMessageChunk', 'id': 'r-3-1', 'content': '', 'tool_calls': "
	    "[{'id': 'c', "
	    "'name': 'find', 'args': {'q': 1}}], 'usage_metadata': {'input_tokens': 7}, "
	    "'response_metadata': {'model_name': 'm2'}, 'additional_kwargs': {}, "
	    "'invalid_tool_calls': [], 'tool_call_chunks': [{'type': 'tool_call_chunk', "
	    "'name': 'find', 'args': '{\\'q\\':1}', 'id': 'c', 'index': 0}]}, "
	    "{" ABOUT("model", "3") ", 'ls_model_name': 'm2'}]");
}
END_TEST

/* What a hook has written is no piece, and was none. */
START_TEST(a_hooks_message_is_whole)
{
	fb_begin(TUPLE, NULL);
	fb_end_step(
	    7, 2, "x.before_model", "[{'type': 'ai', 'id': 'x', 'content': 'Before'}]");
	ck_assert_str_eq(value_get_text(value_at(fb_only(), 0), "type"), "ai");
}
END_TEST

START_TEST(a_tools_message_is_whole)
{
	fb_begin(TUPLE, NULL);
	fb_end_step(7, 4, "tools",
	    "[{'type': 'tool', 'id': 'x', 'content': '1', 'name': 'find', "
	    "'tool_call_id': 'c', 'status': 'success'}]");
	ck_assert_value(fb.arena, fb_only(),
	    "[{'type': 'tool', 'id': 'x', 'content': '1', 'name': 'find', "
	    "'tool_call_id': 'c', 'status': 'success', 'additional_kwargs': {}, "
	    "'response_metadata': {}}, {" ABOUT("tools", "4") "}]");
}
END_TEST

/* Who asks knows what he has asked. */
START_TEST(a_humans_message_is_no_piece)
{
	fb_begin(TUPLE | MODE_MESSAGES, NULL);
	frames_step(fb.frames, fb.arena, literal(fb.arena, "{'kind': 'started'}"),
	    literal(fb.arena, "[{'type': 'human', 'id': 'h', 'content': 'Hi'}]"));
	frames_close(fb.frames, 1);
	ck_assert_str_eq(fb_shown(), "");
	fb_end_step(2, 1, "x.before_model",
	    "[{'type': 'human', 'id': 'i', 'content': 'So far'}]");
	ck_assert_str_eq(fb_shown(), "");
}
END_TEST

/* What it was given else is as little told whole: no node has written it. */
START_TEST(what_a_run_was_given_is_not_told)
{
	fb_begin(MODE_MESSAGES | MODE_MESSAGES_TUPLE, NULL);
	frames_step(fb.frames, fb.arena, literal(fb.arena, "{'kind': 'started'}"),
	    literal(fb.arena, "[{'type': 'ai', 'id': 'a', 'content': 'Before'}, "
			      "{'type': 'tool', 'id': 'b', 'content': 'x'}]"));
	frames_close(fb.frames, 1);
	ck_assert_str_eq(fb_shown(), "");
}
END_TEST

START_TEST(whole_messages_grow)
{
	fb_begin(MODE_MESSAGES, "6");
	fb_hear_text(3, 0, "Hel");
	fb_hear_text(3, 3, "lo ");
	fb_end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(fb_shown(),
	    "messages/metadata@6:3:3 {'r-3-1':{'metadata':{'tags':[],'run_id':'r',"
	    "'thread_id':'t','graph_id':'agent','assistant_id':'agent','run_attempt':1,"
	    "'langgraph_node':'model','langgraph_step':3,'langgraph_triggers':[],"
	    "'langgraph_path':[],'langgraph_checkpoint_ns':'model:3','checkpoint_ns':"
	    "'model:3','ls_model_name':'m'}}}\n"
	    "messages/partial@6:3:3 'Hel'\n"
	    "messages/partial@6:3:6 'Hello '\n"
	    "messages/complete@7 'Hello you'\n");
}
END_TEST

/* As whom each is, once: a tool's message, what was not heard, and what a hook has written. */
START_TEST(whole_messages_say_what_they_are_of)
{
	static const struct {
		const char *node, *message, *begins;
	} whole[] = {
		{ "tools", "[{'type': 'tool', 'id': 'x', 'content': 'It'}]",
		    "messages/metadata@6 {'x':{'metadata':{" },
		{ "model", "[{'type': 'ai', 'id': 'r-3-1', 'content': 'It'}]",
		    "messages/metadata@6 {'r-3-1':{'metadata':{" },
		{ "y.after_model", "[{'type': 'ai', 'id': 'r-3-2', 'content': 'It'}]",
		    "messages/metadata@6 {'r-3-2':{'metadata':{" },
	};
	const char *shown;

	fb_begin(MODE_MESSAGES, "6");
	fb_end_step(7, 3, whole[_i].node, whole[_i].message);
	shown = fb_shown();
	ck_assert_int_eq(strncmp(shown, whole[_i].begins, strlen(whole[_i].begins)), 0);
	ck_assert_has(
	    shown, arena_printf(fb.arena, "'langgraph_node':'%s'", whole[_i].node));
	ck_assert_str_eq(strchr(shown, '\n') + 1, "messages/complete@7 'It'\n");
}
END_TEST

/* What stands before the pieces is not known here. */
START_TEST(who_comes_back_within_a_text_is_shown_it_whole_at_its_end)
{
	fb_begin(MODE_MESSAGES, "6:3:4");
	fb_hear_text(3, 3, "lo ");
	fb_end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(fb_shown(), "messages/complete@7 'Hello you'\n");
}
END_TEST

START_TEST(a_new_attempt_grows_from_nothing)
{
	const char *shown;

	fb_begin(MODE_MESSAGES, "6");
	fb_hear_text(3, 0, "Hullo");
	fb_hear("{'kind': 'restart', 'step': 3}");
	frames_taken(fb.frames);
	fb_hear_text(3, 0, "Hel");
	shown = fb_shown();
	ck_assert_has(shown, "messages/metadata@6:3:3 {'r-3-1.1':");
	ck_assert_has(shown, "messages/partial@6:3:3 'Hel'\n");
	/* It has the id of the first attempt, which was told. */
	fb_end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(fb_shown(), "messages/complete@7 'Hello you'\n");
}
END_TEST

/* --- the rest ------------------------------------------------------------------------------- */

START_TEST(an_update_has_messages_and_fields)
{
	fb_begin(MODE_UPDATES, NULL);
	frames_step(fb.frames, fb.arena,
	    literal(
		fb.arena, "{'node': 'model', 'step': 3, 'fields': {'n': 1, 'l': []}}"),
	    NULL);
	frames_close(fb.frames, 7);
	ck_assert_str_eq(fb_shown(), "updates@7 {'model':{'n':1,'l':[]}}\n");
	frames_step(fb.frames, fb.arena, literal(fb.arena, "{'kind': 'started'}"), NULL);
	frames_close(fb.frames, 8); /* no node has written it */
	ck_assert_str_eq(fb_shown(), "");
}
END_TEST

/* A value has the state as well, where that can be read. */
START_TEST(a_pause_is_an_update_and_a_value)
{
	const struct value *asks =
	    literal(fb.arena, "[{'id': 'i', 'value': {'q': '?'}}]");

	fb_begin(MODE_UPDATES | MODE_VALUES, "6");
	frames_interrupts(
	    fb.frames, fb.arena, literal(fb.arena, "{'messages': [], 'n': 1}"), asks);
	frames_close(fb.frames, 7);
	ck_assert_str_eq(fb_shown(),
	    "updates@6 {'__interrupt__':[{'id':'i','value':{'q':'?'}}]}\n"
	    "values@7 {'messages':[],'n':1,'__interrupt__':[{'id':'i','value':{'q':'?'}}]"
	    "}\n");
	frames_interrupts(fb.frames, fb.arena, NULL, asks);
	frames_close(fb.frames, 8);
	ck_assert_str_eq(fb_shown(),
	    "updates@7 {'__interrupt__':[{'id':'i','value':{'q':'?'}}]}\n"
	    "values@8 {'__interrupt__':[{'id':'i','value':{'q':'?'}}]}\n");
}
END_TEST

/* Else nobody would answer it. A pause that asks nothing is seen by what is next. */
START_TEST(a_question_is_told_whatever_was_asked_for)
{
	fb_begin(TUPLE, "6");
	frames_interrupts(fb.frames, fb.arena, NULL, value_empty_array());
	frames_close(fb.frames, 7);
	ck_assert_str_eq(fb_shown(), "");
	frames_interrupts(
	    fb.frames, fb.arena, NULL, literal(fb.arena, "[{'id': 'i', 'value': 1}]"));
	frames_close(fb.frames, 8);
	ck_assert_str_eq(
	    fb_shown(), "values@8 {'__interrupt__':[{'id':'i','value':1}]}\n");
}
END_TEST

START_TEST(an_error_is_always_shown)
{
	fb_begin(0, "6");
	frames_error(fb.frames, fb.arena,
	    literal(fb.arena, "{'type': 'ToolError', 'message': 'no'}"));
	frames_close(fb.frames, 7);
	ck_assert_str_eq(fb_shown(), "error@7 {'error':'ToolError','message':'no'}\n");
}
END_TEST

START_TEST(a_state_that_cannot_be_read_is_not_shown)
{
	fb_begin(MODE_VALUES, NULL);
	frames_values(fb.frames, NULL);
	frames_close(fb.frames, 7);
	ck_assert_str_eq(fb_shown(), "");
}
END_TEST

/* Neither pieces of text, which other modes show, nor what is the fleet's own. */
START_TEST(what_workers_publish_is_custom)
{
	fb_begin(MODE_CUSTOM, "6");
	fb_hear("{'kind': 'progress', 'part': 0.5, 'text': 'half'}");
	fb_hear("{'kind': 'token', 'content': 'x', 'step': 1, 'offset': 0}");
	fb_hear("{'kind': 'restart', 'step': 1}");
	fb_hear("{'kind': 'child', 'run': 'c'}");
	frames_close(fb.frames, 0);
	ck_assert_str_eq(
	    fb_shown(), "custom@6 {'kind':'progress','part':0.5,'text':'half'}\n");
	/* Of what a tool tells, the value, be it nil. */
	fb_hear("{'kind': 'custom', 'run': 'r', 'tool': 't', 'value': [1, {'a': 2}]}");
	fb_hear("{'kind': 'custom', 'value': null}");
	frames_close(fb.frames, 0);
	ck_assert_str_eq(fb_shown(), "custom@6 [1,{'a':2}]\ncustom@6 null\n");
}
END_TEST

/* --- callbacks ---------------------------------------------------------------------------- */

static const char round_of_tools[] =
    "{'type': 'task', 'step': 4, 'payload': {'name': 'tools', 'input': {'messages': ["
    "{'type': 'ai', 'content': '', 'tool_calls': ["
    "{'id': 'a', 'name': 'add', 'args': {'n': 1}}, "
    "{'id': 'b', 'name': 'note', 'args': {}}]}, "
    "{'type': 'tool', 'tool_call_id': 'b', 'content': 'done'}]}}}";

/* One that is answered already does not begin. */
START_TEST(a_tool_begins_and_fails)
{
	fb_begin(MODE_TOOLS, "6");
	frames_trail(fb.frames, fb.arena, literal(fb.arena, round_of_tools));
	fb_end_step(7, 4, "tools",
	    "[{'type': 'tool', 'tool_call_id': 'a', 'name': 'add', 'status': 'error', "
	    "'content': 'no'}]");
	ck_assert_str_eq(fb_shown(),
	    "tools@6 {'event':'on_tool_start','toolCallId':'a','name':'add','input':"
	    "'{\\'n\\':1}'}\n"
	    "tools@7 {'event':'on_tool_error','toolCallId':'a','name':'add','error':"
	    "'no'}\n");
}
END_TEST

START_TEST(a_tool_ends_with_what_it_was_given)
{
	static const char message[] =
	    "[{'type': 'tool', 'tool_call_id': 'a', 'name': 'add', 'content': '1'}]";

	fb_begin(MODE_EVENTS, "6");
	frames_trail(fb.frames, fb.arena, literal(fb.arena, round_of_tools));
	frames_close(fb.frames, 6);
	fb_shown();
	fb_end_step(7, 4, "tools", message);
	ck_assert_value(
	    fb.arena, value_get(value_get(fb_only(), "data"), "input"), "{'n': 1}");
	/* Who has come behind its beginning does not know it. */
	fb_begin(MODE_EVENTS, "6");
	fb_end_step(7, 4, "tools", message);
	ck_assert(!value_has(value_get(fb_only(), "data"), "input"));
}
END_TEST

static const struct {
	const char *payload;
	size_t shown;
} ends[] = {
	{ "'result': {}, 'error': null, 'interrupts': []", 1 },
	{ "'result': {}, 'error': 'broken', 'interrupts': []", 0 },
	{ "'result': {}, 'error': null, 'interrupts': [{'id': 'i', 'value': 1}]", 0 },
};

/* One that fails, or asks, does not; and only nodes of tools have tools. */
START_TEST(a_node_ends)
{
	fb_begin(MODE_EVENTS, "6");
	frames_trail(fb.frames, fb.arena,
	    literal(fb.arena, arena_printf(fb.arena,
				  "{'type': 'task_result', 'step': 4, 'payload': "
				  "{'name': 'guard.after_model', %s}}",
				  ends[_i].payload)));
	fb_end_step(7, 4, "guard.after_model",
	    "[{'type': 'tool', 'tool_call_id': 'a', 'name': 'add', 'content': 'no'}]");
	ck_assert_uint_eq(frames_bytes(fb.frames)->size > 0, ends[_i].shown);
	if (ends[_i].shown > 0)
		ck_assert_str_eq(value_get_text(fb_only(), "event"), "on_chain_end");
}
END_TEST

TCase *
tcase_frames(void)
{
	TCase *tcase = tcase_create("frames");

	tcase_add_checked_fixture(tcase, fb_open, fb_close);
	tcase_add_test(tcase, a_frame_is_an_event_its_data_and_an_id);
	tcase_add_test(tcase, an_events_last_frame_has_its_number);
	tcase_add_test(tcase, a_frame_without_an_event_has_the_number_of_the_one_before);
	tcase_add_test(tcase, an_event_that_shows_nothing_counts);
	tcase_add_loop_test(tcase, only_what_was_asked_for_is_shown, 0, 5);
	tcase_add_test(tcase, a_piece_says_whose_it_is);
	tcase_add_test(tcase, a_piece_says_what_its_run_was_submitted_with);
	tcase_add_test(tcase, a_messages_calls_come_with_its_end);
	tcase_add_test(tcase, a_hooks_message_is_whole);
	tcase_add_test(tcase, a_tools_message_is_whole);
	tcase_add_test(tcase, a_humans_message_is_no_piece);
	tcase_add_test(tcase, what_a_run_was_given_is_not_told);
	tcase_add_test(tcase, whole_messages_grow);
	tcase_add_loop_test(tcase, whole_messages_say_what_they_are_of, 0, 3);
	tcase_add_test(tcase, who_comes_back_within_a_text_is_shown_it_whole_at_its_end);
	tcase_add_test(tcase, a_new_attempt_grows_from_nothing);
	tcase_add_test(tcase, an_update_has_messages_and_fields);
	tcase_add_test(tcase, a_pause_is_an_update_and_a_value);
	tcase_add_test(tcase, a_question_is_told_whatever_was_asked_for);
	tcase_add_test(tcase, an_error_is_always_shown);
	tcase_add_test(tcase, a_state_that_cannot_be_read_is_not_shown);
	tcase_add_test(tcase, what_workers_publish_is_custom);
	tcase_add_test(tcase, a_tool_begins_and_fails);
	tcase_add_test(tcase, a_tool_ends_with_what_it_was_given);
	tcase_add_loop_test(tcase, a_node_ends, 0, sizeof ends / sizeof *ends);
	return tcase;
}
