#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Interface under test */
#include "../../worker-model/anthropic_stream.h"

#include "bounds.h"
#include "literal.h"

static struct arena *arena;
static char shown[256]; /* the text, "|" behind each piece */

static void
setup(void)
{
	arena = arena_new();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static void
show(void *arg, const char *text, size_t size)
{
	size_t used = strlen(shown);

	(void)arg;
	snprintf(shown + used, sizeof shown - used, "%.*s|", (int)size, text);
}

/* Reads body in pieces of so many bytes, each a copy of its own size. */
static const struct value *
read_in_pieces(const char *body, size_t piece, struct fault **fault_r)
{
	struct anthropic_stream stream;
	const struct value *message = NULL;
	size_t left = strlen(body);
	int fed = 0;

	shown[0] = '\0';
	anthropic_stream_init(&stream, arena, "anthropic");
	stream.on_text = show;
	while (left > 0 && fed == 0) {
		size_t size = left < piece ? left : piece;
		char *copy = malloc(size);

		memcpy(copy, body, size);
		fed = anthropic_stream_feed(&stream, copy, size);
		free(copy);
		body += size;
		left -= size;
	}
	if (fed == 0)
		message = anthropic_stream_end(&stream, fault_r);
	else
		*fault_r = stream.fault;
	anthropic_stream_release(&stream);
	return message;
}

/* Takes ' for " (and \' for \") and ~ for the end of an event. */
static const char *
stream_text(const char *text)
{
	struct packet packet = { 0 };
	const char *made;

	for (; *text != '\0'; text++) {
		const char *bytes = *text == '~' ? "\n\n" : *text == '\'' ? "\"" : text;

		packet_append(&packet, bytes, *text == '~' ? 2 : 1);
	}
	made = arena_copy(arena, packet.data, packet.size);
	packet_release(&packet);
	return made;
}

/* Why JSON is none is said by who reads it. */
static const struct value *
without_reason(const struct value *message)
{
	const struct value *invalid = value_get(message, "invalid_tool_calls"), *call;

	if (value_size(invalid) == 0)
		return message;
	call =
	    value_map_with(arena, value_at(invalid, 0), "error", value_str(arena, "?"));
	return value_map_with(
	    arena, message, "invalid_tool_calls", value_array(arena, &call, 1));
}

static const struct {
	const char *body, *message, *shown;
} rows[] = {
	{ "event: message_start\ndata: "
	  "{'type':'message_start','message':{'id':'msg_1','type':'message','role':'"
	  "assistant','model':'claude-x','content':[],'stop_reason':null,'stop_sequence':"
	  "null,'usage':{'input_tokens':10,'cache_read_input_tokens':5,'output_tokens':1}"
	  "}}~event: content_block_start\ndata: "
	  "{'type':'content_block_start','index':0,'content_block':{'type':'text','text':"
	  "''}}~event: ping\ndata: {'type':'ping'}~event: content_block_delta\ndata: "
	  "{'type':'content_block_delta','index':0,'delta':{'type':'text_delta','text':'"
	  "he'}}~event: content_block_delta\ndata: "
	  "{'type':'content_block_delta','index':0,'delta':{'type':'text_delta','text':'"
	  "llo'}}~event: content_block_stop\ndata: "
	  "{'type':'content_block_stop','index':0}~event: message_delta\ndata: "
	  "{'type':'message_delta','delta':{'stop_reason':'end_turn','stop_sequence':"
	  "null},'usage':{'output_tokens':15}}~event: message_stop\ndata: "
	  "{'type':'message_stop'}~",
	    "{'type':'ai','content':'hello','usage_metadata':{'input_tokens':15,'output_"
	    "tokens':15,'total_tokens':30,'input_token_details':{'cache_read':5}},'"
	    "response_metadata':{'stop_reason':'end_turn','model_name':'claude-x','id':'"
	    "msg_1'}}",
	    "he|llo|" },
	{ "event: message_start\ndata: "
	  "{'type':'message_start','message':{'id':'msg_1','type':'message','role':'"
	  "assistant','model':'claude-x','content':[],'stop_reason':null,'stop_sequence':"
	  "null,'usage':{'input_tokens':10,'cache_read_input_tokens':5,'output_tokens':1}"
	  "}}~event: content_block_start\ndata: "
	  "{'type':'content_block_start','index':0,'content_block':{'type':'text','text':"
	  "''}}~event: content_block_delta\ndata: "
	  "{'type':'content_block_delta','index':0,'delta':{'type':'text_delta','text':'"
	  "ok'}}~event: content_block_stop\ndata: "
	  "{'type':'content_block_stop','index':0}~event: content_block_start\ndata: "
	  "{'type':'content_block_start','index':1,'content_block':{'type':'tool_use','"
	  "id':'t1','name':'f','input':{}}}~event: content_block_delta\ndata: "
	  "{'type':'content_block_delta','index':1,'delta':{'type':'input_json_delta','"
	  "partial_json':''}}~event: content_block_delta\ndata: "
	  "{'type':'content_block_delta','index':1,'delta':{'type':'input_json_delta','"
	  "partial_json':'{\\'a\\': \\'é'}}~event: content_block_delta\ndata: "
	  "{'type':'content_block_delta','index':1,'delta':{'type':'input_json_delta','"
	  "partial_json':'\\'}'}}~event: content_block_stop\ndata: "
	  "{'type':'content_block_stop','index':1}~event: message_delta\ndata: "
	  "{'type':'message_delta','delta':{'stop_reason':'tool_use','stop_sequence':"
	  "null},'usage':{'output_tokens':15}}~event: message_stop\ndata: "
	  "{'type':'message_stop'}~",
	    "{'type':'ai','content':'ok','tool_calls':[{'name':'f','args':{'a':'é'},'id':"
	    "'t1','type':'tool_call'}],'usage_metadata':{'input_tokens':15,'output_"
	    "tokens':15,'total_tokens':30,'input_token_details':{'cache_read':5}},'"
	    "response_metadata':{'stop_reason':'tool_use','model_name':'claude-x','id':'"
	    "msg_1'}}",
	    "ok|" },
	{ "event: message_start\ndata: "
	  "{'type':'message_start','message':{'id':'msg_1','type':'message','role':'"
	  "assistant','model':'claude-x','content':[],'stop_reason':null,'stop_sequence':"
	  "null,'usage':{'input_tokens':10,'cache_read_input_tokens':5,'output_tokens':1}"
	  "}}~event: content_block_start\ndata: "
	  "{'type':'content_block_start','index':0,'content_block':{'type':'tool_use','"
	  "id':'t1','name':'f','input':{}}}~event: content_block_start\ndata: "
	  "{'type':'content_block_start','index':1,'content_block':{'type':'tool_use','"
	  "id':'t2','name':'g','input':{}}}~event: content_block_delta\ndata: "
	  "{'type':'content_block_delta','index':1,'delta':{'type':'input_json_delta','"
	  "partial_json':'{\\'b\\':2}'}}~event: content_block_stop\ndata: "
	  "{'type':'content_block_stop','index':0}~event: content_block_stop\ndata: "
	  "{'type':'content_block_stop','index':1}~event: message_delta\ndata: "
	  "{'type':'message_delta','delta':{'stop_reason':'tool_use','stop_sequence':"
	  "null},'usage':{'output_tokens':15}}~event: message_stop\ndata: "
	  "{'type':'message_stop'}~",
	    "{'type':'ai','content':'','tool_calls':[{'name':'f','args':{},'id':'t1','"
	    "type':'tool_call'},{'name':'g','args':{'b':2},'id':'t2','type':'tool_call'}]"
	    ",'usage_metadata':{'input_tokens':15,'output_tokens':15,'total_tokens':30,'"
	    "input_token_details':{'cache_read':5}},'response_metadata':{'stop_reason':'"
	    "tool_use','model_name':'claude-x','id':'msg_1'}}",
	    "" },
	{ "event: message_start\ndata: "
	  "{'type':'message_start','message':{'id':'msg_1','type':'message','role':'"
	  "assistant','model':'claude-x','content':[],'stop_reason':null,'stop_sequence':"
	  "null,'usage':{'input_tokens':10,'cache_read_input_tokens':5,'output_tokens':1}"
	  "}}~event: content_block_start\ndata: "
	  "{'type':'content_block_start','index':0,'content_block':{'type':'thinking','"
	  "thinking':'','signature':''}}~event: content_block_delta\ndata: "
	  "{'type':'content_block_delta','index':0,'delta':{'type':'thinking_delta','"
	  "thinking':'h'}}~event: content_block_delta\ndata: "
	  "{'type':'content_block_delta','index':0,'delta':{'type':'thinking_delta','"
	  "thinking':'m'}}~event: content_block_delta\ndata: "
	  "{'type':'content_block_delta','index':0,'delta':{'type':'signature_delta','"
	  "signature':'S=='}}~event: content_block_stop\ndata: "
	  "{'type':'content_block_stop','index':0}~event: content_block_start\ndata: "
	  "{'type':'content_block_start','index':1,'content_block':{'type':'redacted_"
	  "thinking','data':'D'}}~event: content_block_stop\ndata: "
	  "{'type':'content_block_stop','index':1}~event: content_block_start\ndata: "
	  "{'type':'content_block_start','index':2,'content_block':{'type':'text','text':"
	  "''}}~event: content_block_delta\ndata: "
	  "{'type':'content_block_delta','index':2,'delta':{'type':'text_delta','text':'"
	  "so'}}~event: content_block_stop\ndata: "
	  "{'type':'content_block_stop','index':2}~event: message_delta\ndata: "
	  "{'type':'message_delta','delta':{'stop_reason':'end_turn','stop_sequence':"
	  "null},'usage':{'output_tokens':15}}~event: message_stop\ndata: "
	  "{'type':'message_stop'}~",
	    "{'type':'ai','content':[{'type':'thinking','thinking':'hm','signature':'S=='"
	    "},{'type':'redacted_thinking','data':'D'},{'type':'text','text':'so'}],'"
	    "usage_metadata':{'input_tokens':15,'output_tokens':15,'total_tokens':30,'"
	    "input_token_details':{'cache_read':5}},'response_metadata':{'stop_reason':'"
	    "end_turn','model_name':'claude-x','id':'msg_1'}}",
	    "so|" },
	{ "event: message_start\ndata: "
	  "{'type':'message_start','message':{'id':'msg_1','type':'message','role':'"
	  "assistant','model':'claude-x','content':[],'stop_reason':null,'stop_sequence':"
	  "null,'usage':{'input_tokens':10,'cache_read_input_tokens':5,'output_tokens':1}"
	  "}}~event: content_block_start\ndata: "
	  "{'type':'content_block_start','index':0,'content_block':{'type':'server_tool_"
	  "use','id':'s1','name':'web_search','input':{}}}~event: "
	  "content_block_delta\ndata: "
	  "{'type':'content_block_delta','index':0,'delta':{'type':'input_json_delta','"
	  "partial_json':'{\\'query\\':\\'q\\'}'}}~event: content_block_stop\ndata: "
	  "{'type':'content_block_stop','index':0}~event: content_block_start\ndata: "
	  "{'type':'content_block_start','index':1,'content_block':{'type':'web_search_"
	  "tool_result','tool_use_id':'s1','content':[{'type':'web_search_result','url':'"
	  "u'}]}}~event: content_block_stop\ndata: "
	  "{'type':'content_block_stop','index':1}~event: content_block_start\ndata: "
	  "{'type':'content_block_start','index':2,'content_block':{'type':'text','text':"
	  "''}}~event: content_block_delta\ndata: "
	  "{'type':'content_block_delta','index':2,'delta':{'type':'text_delta','text':'"
	  "a'}}~event: content_block_delta\ndata: "
	  "{'type':'content_block_delta','index':2,'delta':{'type':'citations_delta','"
	  "citation':{'url':'u'}}}~event: content_block_stop\ndata: "
	  "{'type':'content_block_stop','index':2}~event: message_delta\ndata: "
	  "{'type':'message_delta','delta':{'stop_reason':'end_turn','stop_sequence':"
	  "null},'usage':{'input_tokens':20,'output_tokens':7,'cache_read_input_tokens':"
	  "null,'server_tool_use':{'web_search_requests':1}}}~event: message_stop\ndata: "
	  "{'type':'message_stop'}~",
	    "{'type':'ai','content':[{'type':'server_tool_use','id':'s1','name':'web_"
	    "search','input':{'query':'q'}},{'type':'web_search_tool_result','tool_use_"
	    "id':'s1','content':[{'type':'web_search_result','url':'u'}]},{'type':'text',"
	    "'text':'a','citations':[{'url':'u'}]}],'usage_metadata':{'input_tokens':25,'"
	    "output_tokens':7,'total_tokens':32,'input_token_details':{'cache_read':5}},'"
	    "response_metadata':{'stop_reason':'end_turn','model_name':'claude-x','id':'"
	    "msg_1'}}",
	    "a|" },
	{ "event: message_start\ndata: "
	  "{'type':'message_start','message':{'id':'msg_1','type':'message','role':'"
	  "assistant','model':'claude-x','content':[],'stop_reason':null,'stop_sequence':"
	  "null,'usage':{'input_tokens':10,'cache_read_input_tokens':5,'output_tokens':1}"
	  "}}~event: new_kind\ndata: {'type':'new_kind','x':1}~data: "
	  "{'type':'content_block_start','index':0,'content_block':{'type':'text','text':"
	  "'a'}}~event: content_block_delta\ndata: "
	  "{'type':'content_block_delta','index':0,'delta':{'type':'new_delta','x':1}}~"
	  "event: content_block_stop\ndata: "
	  "{'type':'content_block_stop','index':0}~event: message_delta\ndata: "
	  "{'type':'message_delta','delta':{'stop_reason':'max_tokens','stop_sequence':"
	  "null},'usage':{'output_tokens':15}}~",
	    "{'type':'ai','content':'a','usage_metadata':{'input_tokens':15,'output_"
	    "tokens':15,'total_tokens':30,'input_token_details':{'cache_read':5}},'"
	    "response_metadata':{'stop_reason':'max_tokens','model_name':'claude-x','id':"
	    "'msg_1'}}",
	    "a|" },
	{ "event: message_start\ndata: "
	  "{'type':'message_start','message':{'id':'msg_1','type':'message','role':'"
	  "assistant','model':'claude-x','content':[],'stop_reason':null,'stop_sequence':"
	  "null,'usage':{'input_tokens':10,'cache_read_input_tokens':5,'output_tokens':1}"
	  "}}~event: content_block_start\ndata: "
	  "{'type':'content_block_start','index':0,'content_block':{'type':'text','text':"
	  "''}}~event: content_block_delta\ndata: "
	  "{'type':'content_block_delta','index':0,'delta':{'type':'text_delta','text':'"
	  "a'}}~event: content_block_stop\ndata: "
	  "{'type':'content_block_stop','index':0}~event: message_stop\ndata: "
	  "{'type':'message_stop'}~data: oops~",
	    "{'type':'ai','content':'a','usage_metadata':{'input_tokens':15,'output_"
	    "tokens':1,'total_tokens':16,'input_token_details':{'cache_read':5}},'"
	    "response_metadata':{'model_name':'claude-x','id':'msg_1'}}",
	    "a|" },
	{ "event: message_start\ndata: "
	  "{'type':'message_start','message':{'id':'msg_1','type':'message','role':'"
	  "assistant','model':'claude-x','content':[],'stop_reason':null,'stop_sequence':"
	  "null,'usage':{'input_tokens':10,'cache_read_input_tokens':5,'output_tokens':1}"
	  "}}~event: content_block_start\ndata: "
	  "{'type':'content_block_start','index':0,'content_block':{'type':'tool_use','"
	  "id':'t1','name':'f','input':{}}}~event: content_block_delta\ndata: "
	  "{'type':'content_block_delta','index':0,'delta':{'type':'input_json_delta','"
	  "partial_json':'{oops'}}~event: content_block_stop\ndata: "
	  "{'type':'content_block_stop','index':0}~event: message_delta\ndata: "
	  "{'type':'message_delta','delta':{'stop_reason':'max_tokens','stop_sequence':"
	  "null},'usage':{'output_tokens':15}}~event: message_stop\ndata: "
	  "{'type':'message_stop'}~",
	    "{'type':'ai','content':'','invalid_tool_calls':[{'name':'f','args':'{oops','"
	    "id':'t1','error':'?','type':'invalid_tool_call'}],'usage_metadata':{'input_"
	    "tokens':15,'output_tokens':15,'total_tokens':30,'input_token_details':{'"
	    "cache_read':5}},'response_metadata':{'stop_reason':'max_tokens','model_name'"
	    ":'claude-x','id':'msg_1'}}",
	    "" },
	{ "event: message_start\ndata: "
	  "{'type':'message_start','message':{'id':'msg_1','type':'message','role':'"
	  "assistant','model':'claude-x','content':[],'stop_reason':null,'stop_sequence':"
	  "null,'usage':{'input_tokens':10,'cache_read_input_tokens':5,'output_tokens':1}"
	  "}}~event: message_delta\ndata: "
	  "{'type':'message_delta','delta':{'stop_reason':'end_turn','stop_sequence':"
	  "null},'usage':{'output_tokens':15}}~event: message_stop\ndata: "
	  "{'type':'message_stop'}~",
	    "{'type':'ai','content':'','usage_metadata':{'input_tokens':15,'output_"
	    "tokens':15,'total_tokens':30,'input_token_details':{'cache_read':5}},'"
	    "response_metadata':{'stop_reason':'end_turn','model_name':'claude-x','id':'"
	    "msg_1'}}",
	    "" },
};

START_TEST(a_stream_is_put_together_whatever_its_pieces)
{
	static const size_t pieces[] = { 1, 2, 7, 64, 1 << 20 };
	const char *body = stream_text(rows[_i].body);

	for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
		struct fault *fault = NULL;
		const struct value *message = read_in_pieces(body, pieces[i], &fault);

		ck_assert_msg(message != NULL, "%s", fault == NULL ? "" : fault->message);
		ck_assert_value(arena, without_reason(message), rows[_i].message);
		ck_assert_str_eq(shown, rows[_i].shown);
	}
}
END_TEST

static const struct {
	const char *body, *type, *reason;
} bad[] = {
	{ "", "APIConnectionError", "broke off before its end" },
	{ "event: message_start\ndata: "
	  "{'type':'message_start','message':{'id':'msg_1','type':'message','role':'"
	  "assistant','model':'claude-x','content':[],'stop_reason':null,'stop_sequence':"
	  "null,'usage':{'input_tokens':10,'cache_read_input_tokens':5,'output_tokens':1}"
	  "}}~event: content_block_start\ndata: "
	  "{'type':'content_block_start','index':0,'content_block':{'type':'text','text':"
	  "''}}~event: content_block_delta\ndata: "
	  "{'type':'content_block_delta','index':0,'delta':{'type':'text_delta','text':'"
	  "a'}}~",
	    "APIConnectionError", "broke off before its end" },
	{ "event: message_start\ndata: "
	  "{'type':'message_start','message':{'id':'msg_1','type':'message','role':'"
	  "assistant','model':'claude-x','content':[],'stop_reason':null,'stop_sequence':"
	  "null,'usage':{'input_tokens':10,'cache_read_input_tokens':5,'output_tokens':1}"
	  "}}~event: content_block_start\ndata: "
	  "{'type':'content_block_start','index':0,'content_block':{'type':'text','text':"
	  "''}}~event: content_block_stop\ndata: "
	  "{'type':'content_block_stop','index':0}~",
	    "APIConnectionError", "broke off before its end" },
	{ "event: message_start\ndata: "
	  "{'type':'message_start','message':{'id':'msg_1','type':'message','role':'"
	  "assistant','model':'claude-x','content':[],'stop_reason':null,'stop_sequence':"
	  "null,'usage':{'input_tokens':10,'cache_read_input_tokens':5,'output_tokens':1}"
	  "}}~event: error\ndata: "
	  "{'type':'error','error':{'type':'overloaded_error','message':'Overloaded'}}~",
	    "InternalServerError", "status 529: Overloaded" },
	{ "event: error\ndata: "
	  "{'type':'error','error':{'type':'rate_limit_error','message':'slow'}}~",
	    "RateLimitError", "slow" },
	{ "event: error\ndata: "
	  "{'type':'error','error':{'type':'invalid_request_error','message':'no'}}~",
	    "BadRequestError", "no" },
	{ "event: message_start\ndata: "
	  "{'type':'message_start','message':{'id':'msg_1','type':'message','role':'"
	  "assistant','model':'claude-x','content':[],'stop_reason':null,'stop_sequence':"
	  "null,'usage':{'input_tokens':10,'cache_read_input_tokens':5,'output_tokens':1}"
	  "}}~data: {oops~",
	    "APIResponseError", "no JSON object" },
	{ "event: message_start\ndata: "
	  "{'type':'message_start','message':{'id':'msg_1','type':'message','role':'"
	  "assistant','model':'claude-x','content':[],'stop_reason':null,'stop_sequence':"
	  "null,'usage':{'input_tokens':10,'cache_read_input_tokens':5,'output_tokens':1}"
	  "}}~data: [1]~",
	    "APIResponseError", "no JSON object" },
	{ "event: content_block_start\ndata: "
	  "{'type':'content_block_start','index':0,'content_block':{'type':'text','text':"
	  "''}}~",
	    "APIResponseError", "does not begin with its message" },
	{ "event: message_start\ndata: "
	  "{'type':'message_start','message':{'id':'msg_1','type':'message','role':'"
	  "assistant','model':'claude-x','content':[],'stop_reason':null,'stop_sequence':"
	  "null,'usage':{'input_tokens':10,'cache_read_input_tokens':5,'output_tokens':1}"
	  "}}~event: message_start\ndata: "
	  "{'type':'message_start','message':{'id':'msg_1','type':'message','role':'"
	  "assistant','model':'claude-x','content':[],'stop_reason':null,'stop_sequence':"
	  "null,'usage':{'input_tokens':10,'cache_read_input_tokens':5,'output_tokens':1}"
	  "}}~",
	    "APIResponseError", "second message" },
	{ "event: message_start\ndata: {'type':'message_start'}~", "APIResponseError",
	    "without a message" },
	{ "event: message_start\ndata: "
	  "{'type':'message_start','message':{'id':'msg_1','type':'message','role':'"
	  "assistant','model':'claude-x','content':[],'stop_reason':null,'stop_sequence':"
	  "null,'usage':{'input_tokens':10,'cache_read_input_tokens':5,'output_tokens':1}"
	  "}}~event: content_block_delta\ndata: "
	  "{'type':'content_block_delta','index':0,'delta':{'type':'text_delta','text':'"
	  "a'}}~",
	    "APIResponseError", "has not begun" },
	{ "event: message_start\ndata: "
	  "{'type':'message_start','message':{'id':'msg_1','type':'message','role':'"
	  "assistant','model':'claude-x','content':[],'stop_reason':null,'stop_sequence':"
	  "null,'usage':{'input_tokens':10,'cache_read_input_tokens':5,'output_tokens':1}"
	  "}}~event: content_block_start\ndata: "
	  "{'type':'content_block_start','index':0,'content_block':{'type':'text','text':"
	  "''}}~event: content_block_start\ndata: "
	  "{'type':'content_block_start','index':0,'content_block':{'type':'text','text':"
	  "''}}~",
	    "APIResponseError", "one index" },
	{ "event: message_start\ndata: "
	  "{'type':'message_start','message':{'id':'msg_1','type':'message','role':'"
	  "assistant','model':'claude-x','content':[],'stop_reason':null,'stop_sequence':"
	  "null,'usage':{'input_tokens':10,'cache_read_input_tokens':5,'output_tokens':1}"
	  "}}~event: content_block_start\ndata: "
	  "{'type':'content_block_start','index':0,'content_block':{'text':'a'}}~",
	    "APIResponseError", "has no type" },
	{ "event: message_start\ndata: "
	  "{'type':'message_start','message':{'id':'msg_1','type':'message','role':'"
	  "assistant','model':'claude-x','content':[],'stop_reason':null,'stop_sequence':"
	  "null,'usage':{'input_tokens':10,'cache_read_input_tokens':5,'output_tokens':1}"
	  "}}~event: content_block_start\ndata: "
	  "{'type':'content_block_start','index':0,'content_block':{'type':'tool_use','"
	  "id':'t1','input':{}}}~event: message_delta\ndata: "
	  "{'type':'message_delta','delta':{'stop_reason':'tool_use','stop_sequence':"
	  "null},'usage':{'output_tokens':15}}~event: message_stop\ndata: "
	  "{'type':'message_stop'}~",
	    "APIResponseError", "has no name" },
};

START_TEST(what_is_no_whole_answer_is_a_fault)
{
	struct fault *fault = NULL;

	ck_assert_ptr_null(read_in_pieces(stream_text(bad[_i].body), 5, &fault));
	ck_assert_str_eq(fault->type, bad[_i].type);
	ck_assert_msg(strstr(fault->message, bad[_i].reason) != NULL,
	    "'%s' is not in: %s", bad[_i].reason, fault->message);
}
END_TEST

static const char begin[] = "data: {'type':'message_start','message':{'content':[]}}~";

START_TEST(there_is_an_end_to_blocks)
{
	struct packet body = { 0 };
	struct fault *fault = NULL;

	packet_append(&body, begin, strlen(begin));
	for (unsigned i = 0; i <= ANSWER_BLOCKS_MAX; i++) {
		const char *event = arena_printf(arena,
		    "data: "
		    "{'type':'content_block_start','index':%u,'content_block':{'type':'"
		    "text','text':''}}~",
		    i);

		packet_append(&body, event, strlen(event));
	}
	packet_append(&body, "", 1);
	ck_assert_ptr_null(read_in_pieces(stream_text(body.data), 4096, &fault));
	ck_assert_ptr_nonnull(strstr(fault->message, "too many blocks"));
	packet_release(&body);
}
END_TEST

START_TEST(there_is_an_end_to_what_is_kept)
{
	static char text[100001];
	struct packet body = { 0 };
	struct fault *fault = NULL;
	const char *event;

	memset(text, 'x', sizeof text - 1);
	event = arena_printf(arena,
	    "data: "
	    "{'type':'content_block_delta','index':0,'delta':{'type':'thinking_delta','"
	    "thinking':'%s'}}~",
	    text);
	packet_append(&body, begin, strlen(begin));
	packet_append(&body,
	    "data: "
	    "{'type':'content_block_start','index':0,'content_block':{'type':'thinking','"
	    "thinking':''}}~",
	    strlen("data: "
		   "{'type':'content_block_start','index':0,'content_block':{'type':'"
		   "thinking','thinking':''}}~"));
	for (size_t size = 0; size <= ANSWER_BYTES_MAX; size += sizeof text - 1)
		packet_append(&body, event, strlen(event));
	packet_append(&body, "", 1);
	ck_assert_ptr_null(read_in_pieces(stream_text(body.data), 1 << 16, &fault));
	ck_assert_ptr_nonnull(strstr(fault->message, "it is too large"));
	packet_release(&body);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

TCase *tcase_anthropic_stream(void);

TCase *
tcase_anthropic_stream(void)
{
	TCase *tcase = tcase_create("anthropic_stream");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, a_stream_is_put_together_whatever_its_pieces, 0, COUNT(rows));
	tcase_add_loop_test(tcase, what_is_no_whole_answer_is_a_fault, 0, COUNT(bad));
	tcase_add_test(tcase, there_is_an_end_to_blocks);
	tcase_add_test(tcase, there_is_an_end_to_what_is_kept);
	return tcase;
}
