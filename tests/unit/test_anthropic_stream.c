#include <check.h>
#include <string.h>

/* Interface under test */
#include "../../worker-model/anthropic_stream.h"

#include "bounds.h"
#include "literal.h"
#include "stream_kit.h"

static struct arena *arena;
static const char *shown; /* the text, "|" behind each piece */

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

static const struct value *
read_in_pieces(const char *body, size_t piece, struct fault **fault_r)
{
	return stream_read(
	    &anthropic_stream, arena, stream_text(arena, body), piece, &shown, fault_r);
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

#define EVENT(name, rest) "event: " name "\ndata: {'type':'" name "'" rest "}~"
#define BEGIN                                                                            \
	EVENT("message_start",                                                           \
	    ",'message':{'id':'msg_1','type':'message','role':'assistant','model':'"     \
	    "claude-x','content':[],'stop_reason':null,'stop_sequence':null,'usage':{'"  \
	    "input_tokens':10,'cache_read_input_tokens':5,'output_tokens':1}}")
#define START(index, block)                                                              \
	EVENT("content_block_start", ",'index':" #index ",'content_block':{" block "}")
#define TEXT(index) START(index, "'type':'text','text':''")
#define PIECE(index, type, piece)                                                        \
	EVENT("content_block_delta",                                                     \
	    ",'index':" #index ",'delta':{'type':'" type "'," piece "}")
#define STOP(index) EVENT("content_block_stop", ",'index':" #index)
#define REASON(reason)                                                                   \
	EVENT("message_delta", ",'delta':{'stop_reason':'" reason                        \
			       "','stop_sequence':null},'usage':{'output_tokens':15}")
#define END EVENT("message_stop", "")
#define DONE(reason) REASON(reason) END

/* The rest of a message. */
#define SAID(reason)                                                                     \
	"'usage_metadata':{'input_tokens':15,'output_tokens':15,'total_tokens':30,'"     \
	"input_token_details':{'cache_read':5}},'response_metadata':{'stop_reason':"     \
	"'" reason "','model_name':'claude-x','id':'msg_1'}}"

static const struct {
	const char *body, *message, *shown;
} rows[] = {
	{ BEGIN TEXT(0) EVENT("ping", "") PIECE(0, "text_delta", "'text':'he'")
		PIECE(0, "text_delta", "'text':'llo'") STOP(0) DONE("end_turn"),
	    "{'type':'ai','content':'hello'," SAID("end_turn"), "he|llo|" },
	{ BEGIN TEXT(0) PIECE(0, "text_delta", "'text':'ok'") STOP(0)
		START(1, "'type':'tool_use','id':'t1','name':'f','input':{}")
		    PIECE(1, "input_json_delta", "'partial_json':''")
			PIECE(1, "input_json_delta", "'partial_json':'{\\'a\\': \\'é'")
			    PIECE(1, "input_json_delta", "'partial_json':'\\'}'") STOP(1)
				DONE("tool_use"),
	    "{'type':'ai','content':'ok','tool_calls':[{'name':'f','args':{'a':'é'},'id':"
	    "'t1','type':'tool_call'}]," SAID("tool_use"),
	    "ok|" },
	{ BEGIN START(0, "'type':'tool_use','id':'t1','name':'f','input':{}")
		START(1, "'type':'tool_use','id':'t2','name':'g','input':{}")
		    PIECE(1, "input_json_delta", "'partial_json':'{\\'b\\':2}'") STOP(0)
			STOP(1) DONE("tool_use"),
	    "{'type':'ai','content':'','tool_calls':[{'name':'f','args':{},'id':'t1','"
	    "type':'tool_call'},{'name':'g','args':{'b':2},'id':'t2','type':'tool_call'}]"
	    "," SAID("tool_use"),
	    "" },
	{ BEGIN START(0, "'type':'thinking','thinking':'','signature':''") PIECE(
	      0, "thinking_delta", "'thinking':'h'") PIECE(0, "thinking_delta",
	      "'thinking':'m'") PIECE(0, "signature_delta", "'signature':'S=='") STOP(0)
		START(1, "'type':'redacted_thinking','data':'D'") STOP(1) TEXT(2)
		    PIECE(2, "text_delta", "'text':'so'") STOP(2) DONE("end_turn"),
	    "{'type':'ai','content':[{'type':'thinking','thinking':'hm','signature':'S=='"
	    "},{'type':'redacted_thinking','data':'D'},{'type':'text','text':'so'}]"
	    "," SAID("end_turn"),
	    "so|" },
	{ BEGIN START(
	      0, "'type':'server_tool_use','id':'s1','name':'web_search','input':{}")
		PIECE(0, "input_json_delta", "'partial_json':'{\\'query\\':\\'q\\'}'")
		    STOP(0) START(1,
			"'type':'web_search_tool_result','tool_use_id':'s1','content':[{'"
			"type':'web_search_result','url':'u'}]") STOP(1) TEXT(2) PIECE(2,
			"text_delta", "'text':'a'") PIECE(2, "citations_delta",
			"'citation':{'url':'u'}") STOP(2) EVENT("message_delta",
			",'delta':{'stop_reason':'end_turn','stop_sequence':null},'usage'"
			":{'input_tokens':20,'output_tokens':7,'cache_read_input_tokens':"
			"null,'server_tool_use':{'web_search_requests':1}}") END,
	    "{'type':'ai','content':[{'type':'server_tool_use','id':'s1','name':'web_"
	    "search','input':{'query':'q'}},{'type':'web_search_tool_result','tool_use_"
	    "id':'s1','content':[{'type':'web_search_result','url':'u'}]},{'type':'text',"
	    "'text':'a','citations':[{'url':'u'}]}],'usage_metadata':{'input_tokens':25,'"
	    "output_tokens':7,'total_tokens':32,'input_token_details':{'cache_read':5}},'"
	    "response_metadata':{'stop_reason':'end_turn','model_name':'claude-x','id':'"
	    "msg_1'}}",
	    "a|" },
	{ BEGIN EVENT("new_kind",
	      ",'x':1") "data: "
			"{'type':'content_block_start','index':0,'content_block':{'type':"
			"'text','text':'a'}}~" PIECE(0, "new_delta", "'x':1") STOP(0)
			    REASON("max_tokens"),
	    "{'type':'ai','content':'a'," SAID("max_tokens"), "a|" },
	{ BEGIN TEXT(0) PIECE(0, "text_delta", "'text':'a'") STOP(0) END "data: oops~",
	    "{'type':'ai','content':'a','usage_metadata':{'input_tokens':15,'output_"
	    "tokens':1,'total_tokens':16,'input_token_details':{'cache_read':5}},'"
	    "response_metadata':{'model_name':'claude-x','id':'msg_1'}}",
	    "a|" },
	{ BEGIN START(0, "'type':'tool_use','id':'t1','name':'f','input':{}") PIECE(
	      0, "input_json_delta", "'partial_json':'{oops'") STOP(0) DONE("max_tokens"),
	    "{'type':'ai','content':'','invalid_tool_calls':[{'name':'f','args':'{oops','"
	    "id':'t1','error':'?','type':'invalid_tool_call'}]," SAID("max_tokens"),
	    "" },
	/* what begins without an input, or with none */
	{ BEGIN START(0, "'type':'tool_use','id':'t1','name':'f'")
		PIECE(0, "input_json_delta", "'partial_json':'{\\'a\\':1}'") STOP(0)
		    START(1, "'type':'tool_use','id':'t2','name':'g','input':null")
			PIECE(1, "input_json_delta", "'partial_json':'{\\'b\\':2}'")
			    STOP(1) START(2, "'type':'tool_use','id':'t3','name':'h'")
				STOP(2) DONE("tool_use"),
	    "{'type':'ai','content':'','tool_calls':[{'name':'f','args':{'a':1},'id':'t1'"
	    ",'type':'tool_call'},{'name':'g','args':{'b':2},'id':'t2','type':'tool_call'"
	    "},{'name':'h','args':{},'id':'t3','type':'tool_call'}]," SAID("tool_use"),
	    "" },
	{ BEGIN DONE("end_turn"), "{'type':'ai','content':''," SAID("end_turn"), "" },
	/* what the API has made of the messages before: it is to go back as it is */
	{ BEGIN START(0, "'type':'compaction','content':null") PIECE(
	      0, "compaction_delta", "'content':'all of it','encrypted_content':'E=='")
		STOP(0) TEXT(1) PIECE(1, "text_delta", "'text':'a'") STOP(1)
		    START(2, "'type':'compaction','content':null") PIECE(
			2, "compaction_delta", "'content':null") STOP(2) DONE("end_turn"),
	    "{'type':'ai','content':[{'type':'compaction','content':'all of it',"
	    "'encrypted_content':'E=='},{'type':'text','text':'a'},{'type':'compaction',"
	    "'content':null}]," SAID("end_turn"),
	    "a|" },
	/* blocks and pieces of the future; a server that says over and over that it is alive */
	{ BEGIN ": alive~" START(0, "'type':'of_tomorrow','x':1")
		PIECE(0, "of_tomorrow_delta", "'y':2") STOP(0) EVENT("ping", "") TEXT(1)
		    PIECE(1, "text_delta", "'text':'a'") DONE("refusal"),
	    "{'type':'ai','content':[{'type':'of_tomorrow','x':1},{'type':'text','text':'"
	    "a'}]," SAID("refusal"),
	    "a|" },
	/* several texts, as where something is cited */
	{ BEGIN TEXT(0) PIECE(0, "text_delta", "'text':'a'") STOP(0) TEXT(1)
		PIECE(1, "text_delta", "'text':'b'") PIECE(1, "text_delta", "'text':'c'")
		    STOP(1) TEXT(2) STOP(2) START(3, "'type':'text','text':'d'") STOP(3)
			DONE("refusal"),
	    "{'type':'ai','content':[{'type':'text','text':'a'},{'type':'text','text':'"
	    "bc'},{'type':'text','text':''},{'type':'text','text':'d'}]," SAID("refusal"),
	    "a|/b|c|/d|" },
	{ "{'type':'message','id':'msg_1','model':'claude-x','content':[{'type':'text','"
	  "text':'a'},{'type':'text','text':'b'}],'stop_reason':'refusal','usage':{'"
	  "input_tokens':10,'cache_read_input_tokens':5,'output_tokens':15}}\n",
	    "{'type':'ai','content':[{'type':'text','text':'a'},{'type':'text','text':'"
	    "b'}]," SAID("refusal"),
	    "a|/b|" },
	/* a server that knows no streams */
	{ " {'type':'message','id':'msg_1','model':'claude-x','content':[{'type':'"
	  "thinking','thinking':'hm','signature':'S'},{'type':'text','text':'whole'}],'"
	  "stop_reason':'pause_turn','usage':{'input_tokens':10,'cache_read_input_tokens'"
	  ":5,'output_tokens':15}}\n",
	    "{'type':'ai','content':[{'type':'thinking','thinking':'hm','signature':'S'},"
	    "{'type':'text','text':'whole'}]," SAID("pause_turn"),
	    "whole|" },
};

START_TEST(a_stream_is_put_together_whatever_its_pieces)
{
	static const size_t pieces[] = { 1, 2, 7, 64, 1 << 20 };

	for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
		struct fault *fault = NULL;
		const struct value *message =
		    read_in_pieces(rows[_i].body, pieces[i], &fault);

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
	{ BEGIN TEXT(0) PIECE(0, "text_delta", "'text':'a'"), "APIConnectionError",
	    "broke off before its end" },
	{ BEGIN TEXT(0) STOP(0), "APIConnectionError", "broke off before its end" },
	{ BEGIN TEXT(0) REASON(""), "APIConnectionError", "broke off before its end" },
	{ BEGIN EVENT(
	      "error", ",'error':{'type':'overloaded_error','message':'Overloaded'}"),
	    "InternalServerError", "status 529: Overloaded" },
	{ EVENT("error", ",'error':{'type':'rate_limit_error','message':'slow'}"),
	    "RateLimitError", "slow" },
	{ EVENT("error", ",'error':{'type':'invalid_request_error','message':'no'}"),
	    "BadRequestError", "no" },
	{ BEGIN "data: {oops~", "APIResponseError", "no JSON object" },
	{ BEGIN "data: [1]~", "APIResponseError", "no JSON object" },
	{ TEXT(0), "APIResponseError", "does not begin with its message" },
	{ BEGIN BEGIN, "APIResponseError", "second message" },
	{ EVENT("message_start", ""), "APIResponseError", "without a message" },
	{ BEGIN PIECE(0, "text_delta", "'text':'a'"), "APIResponseError",
	    "has not begun" },
	{ BEGIN TEXT(0) TEXT(0), "APIResponseError", "one index" },
	{ BEGIN START(0, "'text':'a'"), "APIResponseError", "has no type" },
	{ BEGIN START(0, "'type':'tool_use','id':'t1','input':{}") DONE("tool_use"),
	    "APIResponseError", "has no name" },
	{ BEGIN TEXT(0) PIECE(0, "text_delta",
	      "'text':'a'") "event: error\ndata: {'type':'api_error','message':'bare'}~",
	    "InternalServerError", "bare" },
	{ "{'type':'error','error':{'type':'overloaded_error','message':'whole'}}",
	    "InternalServerError", "whole" },
	{ "{'type':'message','content':'text'}", "APIResponseError", "no content" },
	{ "{'type':'mess", "APIResponseError", "cannot be read" },
};

START_TEST(what_is_no_whole_answer_is_a_fault)
{
	struct fault *fault = NULL;

	ck_assert_ptr_null(read_in_pieces(bad[_i].body, 5, &fault));
	ck_assert_str_eq(fault->type, bad[_i].type);
	ck_assert_msg(strstr(fault->message, bad[_i].reason) != NULL,
	    "'%s' is not in: %s", bad[_i].reason, fault->message);
}
END_TEST

START_TEST(there_is_an_end_to_blocks)
{
	const char *body = BEGIN;
	struct fault *fault = NULL;

	for (unsigned i = 0; i <= ANSWER_BLOCKS_MAX; i++)
		body = arena_printf(arena,
		    "%sdata: "
		    "{'type':'content_block_start','index':%u,'content_block':{'type':'"
		    "text','text':''}}~",
		    body, i);
	ck_assert_ptr_null(read_in_pieces(body, 4096, &fault));
	ck_assert_ptr_nonnull(strstr(fault->message, "too many blocks"));
}
END_TEST

/* What is there once, in pieces without end, or again and again. */
static const struct {
	const char *before, *behind;
} endless[] = {
	{ "data: "
	  "{'type':'content_block_delta','index':0,'delta':{'type':'thinking_delta','"
	  "thinking':'",
	    "'}}~" },
	{ "data: "
	  "{'type':'content_block_delta','index':0,'delta':{'type':'citations_delta','"
	  "citation':{'url':'",
	    "'}}}~" },
	{ "data: {'type':'message_delta','delta':{'stop_sequence':'", "'}}~" },
};

START_TEST(there_is_an_end_to_what_is_kept)
{
	const char *begin =
	    stream_text(arena, BEGIN START(0, "'type':'thinking','thinking':''"));
	const struct fault *fault = stream_refusal(&anthropic_stream, arena, begin,
	    stream_padded(arena, endless[_i].before, 100000, endless[_i].behind),
	    (size_t)2 * ANSWER_BYTES_MAX);

	ck_assert_ptr_nonnull(fault);
	ck_assert_str_eq(fault->type, "APIResponseError");
	ck_assert_ptr_nonnull(strstr(fault->message, "it is too large"));
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
	tcase_add_loop_test(tcase, there_is_an_end_to_what_is_kept, 0, COUNT(endless));
	return tcase;
}
