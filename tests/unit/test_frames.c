/* What who follows a run is shown, frame by frame, and that with a frame's id he is shown the rest. */
#include <check.h>
#include <string.h>

#include "has.h"
#include "json.h"
#include "literal.h"

/* Interface under test */
#include "frames.h"

TCase *tcase_frames(void);

#define COUNT(list) (int)(sizeof(list) / sizeof(list)[0])
#define TUPLE MODE_MESSAGES_TUPLE

static const struct frames_run run = { "r", "t", "agent" };
static struct arena *arena;
static struct frames *frames;

static void
begin(unsigned modes, const char *last_id)
{
	frames_destroy(&frames);
	frames = frames_new(&run, modes, last_id);
}

static void
setup(void)
{
	arena = arena_new();
	frames = NULL;
}

static void
teardown(void)
{
	frames_destroy(&frames);
	arena_destroy(&arena);
}

/* --- what happens ------------------------------------------------------------------------- */

static void
hear(const char *event)
{
	frames_live(frames, arena, literal(arena, event));
}

static void
hear_text(int step, int offset, const char *text)
{
	frames_live(frames, arena,
	    value_map(arena, "kind", value_str(arena, "token"), "step",
		value_int(arena, step), "offset", value_int(arena, offset), "content",
		value_str(arena, text), "model", value_str(arena, "m"), NULL));
}

/* A step's event, with the messages that it has written. */
static void
end_step(int seq, int step, const char *node, const char *messages)
{
	frames_step(frames, arena,
	    value_map(arena, "kind", value_str(arena, "step"), "step",
		value_int(arena, step), "node", value_str(arena, node), NULL),
	    literal(arena, messages));
	frames_close(frames, (uint64_t)seq);
}

/* --- what is shown ------------------------------------------------------------------------ */

/* What begins the line at *at_p and ends it; NULL where another line stands. Goes behind it. */
static const char *
take_line(const char **at_p, const char *begin)
{
	size_t size = strcspn(*at_p, "\n");
	const char *line = arena_copy(arena, *at_p, size);

	if (strncmp(line, begin, strlen(begin)) != 0)
		return NULL;
	*at_p += size + 1;
	return line + strlen(begin);
}

static const char *
summary(const char *event, const char *id, const struct value *data)
{
	const struct value *message = value_at(data, 0);

	if (strcmp(event, "messages") == 0)
		data = value_map(arena, value_get_text(message, "id"),
		    value_get(message, "content"), NULL);
	else if (strncmp(event, "messages/", 9) == 0 && message != NULL)
		data = value_get(message, "content");
	return arena_printf(arena, "%s@%s %s\n", event, id, json_text(arena, data));
}

/* All frames, each as "event@id data", of a message in short, with ' for "; they are taken. */
static const char *
shown(void)
{
	const struct packet *bytes = frames_bytes(frames);
	const char *all = "", *at = arena_copy(arena, bytes->data, bytes->size), *error;
	char *quote;

	while (*at != '\0') {
		const char *event = take_line(&at, "event: ");
		const char *text = take_line(&at, "data: ");
		const char *id = take_line(&at, "id: ");
		const struct value *data;

		ck_assert_msg(event != NULL && text != NULL && id != NULL && *at == '\n',
		    "no frame: %s", bytes->data);
		at++;
		data = json_parse(arena, text, strlen(text), &error);
		ck_assert_msg(data != NULL, "%s: %s", error, text);
		all = arena_printf(arena, "%s%s", all, summary(event, id, data));
	}
	frames_taken(frames);
	all = quote = arena_strdup(arena, all);
	while ((quote = strchr(quote, '"')) != NULL)
		*quote = '\'';
	return all;
}

/* The data of the only frame that there is. */
static const struct value *
only(void)
{
	const char *text = strstr(frames_bytes(frames)->data, "data: "), *error;
	const struct value *data;

	ck_assert_ptr_nonnull(text);
	text = arena_copy(arena, text + 6, strcspn(text + 6, "\n"));
	data = json_parse(arena, text, strlen(text), &error);
	ck_assert_msg(data != NULL, "%s: %s", error, text);
	frames_taken(frames);
	return data;
}

/* --- frames ------------------------------------------------------------------------------- */

START_TEST(a_frame_is_an_event_its_data_and_an_id)
{
	begin(MODE_VALUES, NULL);
	frames_begin(frames);
	frames_values(frames, literal(arena, "{'messages': [], 'n': 'a\\nb'}"));
	frames_close(frames, 3);
	packet_append((struct packet *)(uintptr_t)frames_bytes(frames), "", 1);
	ck_assert_str_eq(frames_bytes(frames)->data,
	    "event: metadata\ndata: {\"run_id\":\"r\",\"attempt\":1}\nid: 0\n\n"
	    "event: values\ndata: {\"messages\":[],\"n\":\"a\\nb\"}\nid: 3\n\n");
	frames_taken(frames);
	ck_assert_uint_eq(frames_bytes(frames)->size, 0);
}
END_TEST

/* Whoever has only the first of them is shown all of the event once more. */
START_TEST(an_events_last_frame_has_its_number)
{
	begin(MODE_UPDATES | TUPLE, "6");
	end_step(7, 2, "tools",
	    "[{'type': 'tool', 'id': 'x', 'content': '1'}, "
	    "{'type': 'tool', 'id': 'y', 'content': '2'}]");
	ck_assert_str_eq(shown(),
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
	begin(MODE_VALUES | MODE_UPDATES, NULL);
	end_step(7, 2, "model", "[]");
	frames_values(frames, value_empty_map());
	frames_close(frames, 0);
	ck_assert_str_eq(shown(), "updates@7 {'model':{}}\nvalues@7 {}\n");
	frames_close(frames, 5); /* one that it has seen */
	ck_assert_uint_eq(frames_seen(frames), 7);
}
END_TEST

START_TEST(an_event_that_shows_nothing_counts)
{
	begin(MODE_CUSTOM, NULL);
	end_step(7, 2, "model", "[]");
	ck_assert_str_eq(shown(), "");
	ck_assert_uint_eq(frames_seen(frames), 7);
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

	begin(modes[_i].mode, "1");
	hear_text(1, 0, "Hi");
	frames_close(frames, 0);
	hear("{'kind': 'progress', 'part': 1}");
	frames_close(frames, 0);
	frames_step(frames, arena,
	    literal(arena, "{'kind': 'step', 'step': 2, 'node': 'tools'}"),
	    literal(arena, "[{'type': 'tool', 'id': 'x', 'content': '1'}]"));
	frames_values(frames, literal(arena, "{'n': 1}"));
	frames_close(frames, 2);
	frames_interrupts(frames, arena, value_empty_array());
	frames_close(frames, 3);
	ck_assert_str_eq(shown(), modes[_i].expected);
}
END_TEST

/* --- a text, piece by piece --------------------------------------------------------------- */

#define ANSWER "[{'type': 'ai', 'id': 'r-3-1', 'content': 'Hello you'}]"

START_TEST(pieces_come_as_they_are_and_the_message_ends_them)
{
	begin(TUPLE, "6");
	hear_text(3, 0, "Hel");
	hear_text(3, 3, "lo ");
	end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(shown(), "messages@6:3:3 {'r-3-1':'Hel'}\n"
				  "messages@6:3:6 {'r-3-1':'lo '}\n"
				  "messages@7 {'r-3-1':'you'}\n");
}
END_TEST

START_TEST(behind_a_piece_that_was_missed_the_message_makes_up)
{
	begin(TUPLE, "6");
	hear_text(3, 0, "Hel");
	hear_text(3, 6, "you");
	end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(shown(), "messages@6:3:3 {'r-3-1':'Hel'}\n"
				  "messages@7 {'r-3-1':'lo you'}\n");
}
END_TEST

START_TEST(behind_all_pieces_the_message_has_no_text)
{
	begin(TUPLE, "6");
	hear_text(3, 0, "Hello you");
	end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(shown(), "messages@6:3:9 {'r-3-1':'Hello you'}\n"
				  "messages@7 {'r-3-1':''}\n");
}
END_TEST

START_TEST(without_pieces_the_message_is_whole)
{
	begin(TUPLE, "6");
	end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(shown(), "messages@7 {'r-3-1':'Hello you'}\n");
}
END_TEST

/* Whoever has it, and not the frame behind it, is not shown it again. */
START_TEST(a_whole_message_counts_as_shown)
{
	begin(TUPLE | MODE_UPDATES, "6");
	end_step(7, 3, "model", ANSWER);
	ck_assert_has(shown(), "messages@6:3:9 {'r-3-1':'Hello you'}\nupdates@7 ");
	begin(TUPLE, "6:3:9");
	end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(shown(), "messages@7 {'r-3-1':''}\n");
}
END_TEST

/* A hook may add some to the model's, or have written one while the model speaks. */
START_TEST(other_messages_are_whole)
{
	begin(TUPLE, "6");
	hear_text(3, 0, "Hel");
	end_step(
	    7, 2, "x.before_model", "[{'type': 'ai', 'id': 'x', 'content': 'Before'}]");
	hear_text(3, 3, "lo ");
	end_step(8, 3, "model",
	    "[{'type': 'ai', 'id': 'r-3-1', 'content': 'Hello you'}, {'type': 'ai', "
	    "'id': "
	    "'r-3-2', 'content': 'And goodbye'}]");
	ck_assert_str_eq(shown(), "messages@6:3:3 {'r-3-1':'Hel'}\n"
				  "messages@7:3:3 {'x':'Before'}\n"
				  "messages@7:3:6 {'r-3-1':'lo '}\n"
				  "messages@7:3:9 {'r-3-1':'you'}\n"
				  "messages@8 {'r-3-2':'And goodbye'}\n");
}
END_TEST

START_TEST(a_piece_that_comes_twice_is_shown_once)
{
	begin(TUPLE, "6");
	hear_text(3, 0, "Hel");
	hear_text(3, 0, "Hel");
	hear_text(3, 0, "Hello ");
	ck_assert_str_eq(shown(), "messages@6:3:3 {'r-3-1':'Hel'}\n"
				  "messages@6:3:6 {'r-3-1':'lo '}\n");
}
END_TEST

START_TEST(each_step_has_a_text_of_its_own)
{
	begin(TUPLE, "6");
	hear_text(3, 0, "Hello you");
	end_step(7, 3, "model", ANSWER);
	hear_text(5, 0, "And");
	end_step(8, 5, "model", "[{'type': 'ai', 'id': 'r-5-1', 'content': 'And so'}]");
	ck_assert_str_eq(shown(), "messages@6:3:9 {'r-3-1':'Hello you'}\n"
				  "messages@7 {'r-3-1':''}\n"
				  "messages@7:5:3 {'r-5-1':'And'}\n"
				  "messages@8 {'r-5-1':' so'}\n");
}
END_TEST

/* A step of another node may end in between. */
START_TEST(what_else_happens_leaves_the_text_where_it_is)
{
	begin(TUPLE | MODE_UPDATES, "6");
	hear_text(3, 0, "Hel");
	end_step(7, 2, "tools", "[]");
	hear_text(3, 3, "lo ");
	ck_assert_str_eq(shown(), "messages@6:3:3 {'r-3-1':'Hel'}\n"
				  "updates@7:3:3 {'tools':{}}\n"
				  "messages@7:3:6 {'r-3-1':'lo '}\n");
}
END_TEST

START_TEST(the_text_of_blocks_goes_on_behind_its_pieces)
{
	begin(TUPLE, "6");
	hear_text(3, 0, "Hel");
	end_step(7, 3, "model",
	    "[{'type': 'ai', 'id': 'r-3-1', 'content': [{'type': 'text', 'text': "
	    "'Hello '}, {'type': 'text', 'text': 'you'}]}]");
	ck_assert_str_eq(shown(), "messages@6:3:3 {'r-3-1':'Hel'}\n"
				  "messages@7 {'r-3-1':'lo you'}\n");
}
END_TEST

START_TEST(offsets_count_bytes)
{
	begin(TUPLE, "6:3:4");
	hear_text(3, 0, "\xc3\xa9\xc3\xa8\xc3\xa0");
	end_step(7, 3, "model",
	    "[{'type': 'ai', 'id': 'r-3-1', 'content': '\xc3\xa9\xc3\xa8\xc3\xa0!'}]");
	ck_assert_str_eq(shown(), "messages@6:3:6 {'r-3-1':'\xc3\xa0'}\n"
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
	begin(TUPLE | MODE_MESSAGES, "6");
	hear(nonsense[_i]);
	ck_assert_str_eq(shown(), "");
	hear_text(3, 0, "Hel");
	ck_assert_has(shown(), "messages@6:3:3 {'r-3-1':'Hel'}\n");
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
	{ "6:3:100", "messages@7 {'r-3-1':'Hello you'}\n" },
	{ "6:3:18446744073709551615", "messages@7 {'r-3-1':'Hello you'}\n" },
};

START_TEST(who_comes_back_within_a_text_is_shown_its_rest)
{
	begin(TUPLE, resumed[_i].last_id);
	ck_assert_uint_eq(frames_seen(frames), 6);
	hear_text(3, 0, "Hel");
	hear_text(3, 3, "lo ");
	hear_text(3, 6, "y");
	end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(shown(), resumed[_i].expected);
}
END_TEST

START_TEST(who_comes_back_when_no_pieces_come_any_more_is_shown_the_rest)
{
	begin(TUPLE, "6:3:4");
	end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(shown(), "messages@7 {'r-3-1':'o you'}\n");
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
	begin(TUPLE, ids[_i].last_id);
	ck_assert_uint_eq(frames_seen(frames), ids[_i].seen);
	hear_text(5, 0, "Hi");
	ck_assert_str_eq(shown(), arena_printf(arena, "messages@%u:5:2 {'r-5-1':'Hi'}\n",
				      (unsigned)ids[_i].seen));
}
END_TEST

/* --- an answer that is begun anew --------------------------------------------------------- */

START_TEST(pieces_of_another_attempt_are_of_another_message)
{
	begin(TUPLE, "6");
	hear_text(3, 0, "Hullo");
	hear("{'kind': 'restart', 'step': 3}");
	hear_text(3, 0, "Hel");
	end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(shown(), "messages@6:3:5 {'r-3-1':'Hullo'}\n"
				  "messages@6:3:3 {'r-3-1.1':'Hel'}\n"
				  "messages@7 {'r-3-1.1':'lo you'}\n");
}
END_TEST

/* Else its text would be put behind what is void. */
START_TEST(a_whole_message_behind_void_pieces_is_of_another_message)
{
	begin(TUPLE, "6");
	hear_text(3, 0, "Hullo");
	hear("{'kind': 'restart', 'step': 3}");
	end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(shown(), "messages@6:3:5 {'r-3-1':'Hullo'}\n"
				  "messages@7 {'r-3-1.1':'Hello you'}\n");
}
END_TEST

START_TEST(a_restart_of_what_nobody_saw_changes_nothing)
{
	begin(TUPLE, "6");
	hear("{'kind': 'restart', 'step': 3}");
	hear_text(3, 0, "Hel");
	ck_assert_str_eq(shown(), "messages@6:3:3 {'r-3-1':'Hel'}\n");
	hear("{'kind': 'restart'}");
	hear("{'kind': 'restart', 'step': 5}"); /* the next one's */
	hear_text(5, 0, "Hel");
	ck_assert_str_eq(shown(), "messages@6:5:3 {'r-5-1':'Hel'}\n");
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
	begin(TUPLE, NULL);
	hear_text(3, 0, "Hel");
	ck_assert_value(arena, only(),
	    "[{'type': 'ai', 'id': 'r-3-1', 'content': 'Hel', 'additional_kwargs': {}, "
	    "'response_metadata': {}, 'tool_calls': [], 'invalid_tool_calls': [], "
	    "'tool_call_chunks': []}, {" ABOUT("model", "3") ", 'ls_model_name': 'm'}]");
}
END_TEST

START_TEST(a_messages_calls_come_with_its_end)
{
	begin(TUPLE, NULL);
	hear_text(3, 0, "I look");
	frames_taken(frames);
	end_step(7, 3, "model",
	    "[{'type': 'ai', 'id': 'r-3-1', 'content': 'I look', 'tool_calls': [{'id': "
	    "'c', 'name': 'find', 'args': {'q': 1}}], 'usage_metadata': {'input_tokens': "
	    "7}, 'response_metadata': {'model_name': 'm2'}}]");
	ck_assert_value(arena, only(),
	    "[{'type': 'ai', 'id': 'r-3-1', 'content': '', 'tool_calls': [{'id': 'c', "
	    "'name': 'find', 'args': {'q': 1}}], 'usage_metadata': {'input_tokens': 7}, "
	    "'response_metadata': {'model_name': 'm2'}, 'additional_kwargs': {}, "
	    "'invalid_tool_calls': [], 'tool_call_chunks': [{'type': 'tool_call_chunk', "
	    "'name': 'find', 'args': '{\\'q\\':1}', 'id': 'c', 'index': 0}]}, "
	    "{" ABOUT("model", "3") ", 'ls_model_name': 'm2'}]");
}
END_TEST

START_TEST(a_tools_message_is_whole)
{
	begin(TUPLE, NULL);
	end_step(7, 4, "tools",
	    "[{'type': 'tool', 'id': 'x', 'content': '1', 'name': 'find', "
	    "'tool_call_id': 'c', 'status': 'success'}]");
	ck_assert_value(arena, only(),
	    "[{'type': 'tool', 'id': 'x', 'content': '1', 'name': 'find', "
	    "'tool_call_id': 'c', 'status': 'success', 'additional_kwargs': {}, "
	    "'response_metadata': {}}, {" ABOUT("tools", "4") "}]");
}
END_TEST

/* Who asks knows what he has asked. */
START_TEST(a_humans_message_is_no_piece)
{
	begin(TUPLE | MODE_MESSAGES, NULL);
	frames_step(frames, arena, literal(arena, "{'kind': 'started'}"),
	    literal(arena, "[{'type': 'human', 'id': 'h', 'content': 'Hi'}]"));
	frames_close(frames, 1);
	ck_assert_str_eq(shown(), "messages/complete@1 'Hi'\n");
}
END_TEST

START_TEST(whole_messages_grow)
{
	begin(MODE_MESSAGES, "6");
	hear_text(3, 0, "Hel");
	hear_text(3, 3, "lo ");
	end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(shown(),
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

/* What stands before the pieces is not known here. */
START_TEST(who_comes_back_within_a_text_is_shown_it_whole_at_its_end)
{
	begin(MODE_MESSAGES, "6:3:4");
	hear_text(3, 3, "lo ");
	end_step(7, 3, "model", ANSWER);
	ck_assert_str_eq(shown(), "messages/complete@7 'Hello you'\n");
}
END_TEST

START_TEST(a_new_attempt_grows_from_nothing)
{
	begin(MODE_MESSAGES, "6");
	hear_text(3, 0, "Hullo");
	hear("{'kind': 'restart', 'step': 3}");
	frames_taken(frames);
	hear_text(3, 0, "Hel");
	ck_assert_has(shown(), "messages/partial@6:3:3 'Hel'\n");
}
END_TEST

/* --- the rest ------------------------------------------------------------------------------- */

START_TEST(an_update_has_messages_and_fields)
{
	begin(MODE_UPDATES, NULL);
	frames_step(frames, arena,
	    literal(arena, "{'node': 'model', 'step': 3, 'fields': {'n': 1, 'l': []}}"),
	    NULL);
	frames_close(frames, 7);
	ck_assert_str_eq(shown(), "updates@7 {'model':{'n':1,'l':[]}}\n");
	frames_step(frames, arena, literal(arena, "{'kind': 'started'}"), NULL);
	frames_close(frames, 8); /* no node has written it */
	ck_assert_str_eq(shown(), "");
}
END_TEST

START_TEST(a_pause_is_an_update_and_a_value)
{
	begin(MODE_UPDATES | MODE_VALUES, "6");
	frames_interrupts(
	    frames, arena, literal(arena, "[{'id': 'i', 'value': {'q': '?'}}]"));
	frames_close(frames, 7);
	ck_assert_str_eq(shown(),
	    "updates@6 {'__interrupt__':[{'id':'i','value':{'q':'?'}}]}\n"
	    "values@7 {'__interrupt__':[{'id':'i','value':{'q':'?'}}]}\n");
}
END_TEST

START_TEST(an_error_is_always_shown)
{
	begin(0, "6");
	frames_error(
	    frames, arena, literal(arena, "{'type': 'ToolError', 'message': 'no'}"));
	frames_close(frames, 7);
	ck_assert_str_eq(shown(), "error@7 {'error':'ToolError','message':'no'}\n");
}
END_TEST

START_TEST(a_state_that_cannot_be_read_is_not_shown)
{
	begin(MODE_VALUES, NULL);
	frames_values(frames, NULL);
	frames_close(frames, 7);
	ck_assert_str_eq(shown(), "");
}
END_TEST

/* Neither pieces of text, which other modes show, nor what is the fleet's own. */
START_TEST(what_workers_publish_is_custom)
{
	begin(MODE_CUSTOM, "6");
	hear("{'kind': 'progress', 'part': 0.5, 'text': 'half'}");
	hear("{'kind': 'token', 'content': 'x', 'step': 1, 'offset': 0}");
	hear("{'kind': 'restart', 'step': 1}");
	hear("{'kind': 'child', 'run': 'c'}");
	frames_close(frames, 0);
	ck_assert_str_eq(
	    shown(), "custom@6 {'kind':'progress','part':0.5,'text':'half'}\n");
}
END_TEST

TCase *
tcase_frames(void)
{
	TCase *tcase = tcase_create("frames");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_frame_is_an_event_its_data_and_an_id);
	tcase_add_test(tcase, an_events_last_frame_has_its_number);
	tcase_add_test(tcase, a_frame_without_an_event_has_the_number_of_the_one_before);
	tcase_add_test(tcase, an_event_that_shows_nothing_counts);
	tcase_add_loop_test(tcase, only_what_was_asked_for_is_shown, 0, 5);
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
	tcase_add_test(tcase, a_piece_says_whose_it_is);
	tcase_add_test(tcase, a_messages_calls_come_with_its_end);
	tcase_add_test(tcase, a_tools_message_is_whole);
	tcase_add_test(tcase, a_humans_message_is_no_piece);
	tcase_add_test(tcase, whole_messages_grow);
	tcase_add_test(tcase, who_comes_back_within_a_text_is_shown_it_whole_at_its_end);
	tcase_add_test(tcase, a_new_attempt_grows_from_nothing);
	tcase_add_test(tcase, an_update_has_messages_and_fields);
	tcase_add_test(tcase, a_pause_is_an_update_and_a_value);
	tcase_add_test(tcase, an_error_is_always_shown);
	tcase_add_test(tcase, a_state_that_cannot_be_read_is_not_shown);
	tcase_add_test(tcase, what_workers_publish_is_custom);
	return tcase;
}
