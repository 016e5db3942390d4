#include <check.h>
#include <string.h>

/* Interface under test */
#include "../../worker-model/openai_stream.h"

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
	    &openai_stream, arena, stream_text(arena, body), piece, &shown, fault_r);
}

#define DELTA(delta) "data: {'choices':[{'index':0,'delta':" delta "}]}~"
#define FINISH(reason)                                                                   \
	"data: {'choices':[{'index':0,'delta':{},'finish_reason':'" reason "'}]}~"
#define CALL(call) DELTA("{'tool_calls':[" call "]}")
#define DONE "data: [DONE]~"
#define EMPTY                                                                            \
	"'content':'','response_metadata':{'finish_reason':'tool_calls'},'type':'ai'"
#define STOP "'response_metadata':{'finish_reason':'stop'},'type':'ai'}"

static const struct {
	const char *body, *message, *shown;
} rows[] = {
	{ DELTA("{'role':'assistant','content':''}") DELTA("{'content':'he'}")
		DELTA("{'content':'llo'}") FINISH("stop") DONE,
	    "{'content':'hello'," STOP, "he|llo|" },
	{ DELTA("{'content':'帮我'}") FINISH("stop") DONE, "{'content':'帮我'," STOP,
	    "帮我|" },
	{ DELTA("{'content':null,'refusal':'n'}") DELTA("{'refusal':'o'}") FINISH("stop")
		DONE,
	    "{'content':'','additional_kwargs':{'refusal':'no'}," STOP, "" },
	{ DELTA("{'content':[{'type':'thinking','thinking':[{'type':'text','text':'hm'}]"
		"}]}") DELTA("{'content':[{'type':'text','text':'a'},'x',{'type':'text',"
			     "'text':'b'}]}") DELTA("{'content':'c'}") FINISH("stop")
		DONE,
	    "{'content':'abc'," STOP, "a|b|c|" },
	/* what DeepSeek's models think, and want to read again */
	{ DELTA("{'role':'assistant','content':null,'reasoning_content':''}")
		DELTA("{'reasoning_content':'h','content':null}")
		    DELTA("{'reasoning_content':'m'}") DELTA("{'content':'a','reasoning_"
							     "content':null}")
			FINISH("stop") DONE,
	    "{'content':'a','additional_kwargs':{'reasoning_content':'hm'}," STOP, "a|" },
	{ DELTA("{'content':'a','reasoning_content':''}") FINISH("stop") DONE,
	    "{'content':'a','additional_kwargs':{'reasoning_content':''}," STOP, "a|" },
	/* the same by OpenRouter: in pieces, behind them a signature, and what is encrypted */
	{ DELTA("{'content':'','reasoning_details':[{'type':'reasoning.text','text':'h',"
		"'format':'f','index':0}]}")
		DELTA("{'reasoning':'m','reasoning_details':[{'type':'reasoning.text',"
		      "'text':'m','index':0}]}")
		    DELTA("{'reasoning_details':[{'type':'reasoning.text','signature':"
			  "'S','index':0},{'type':'reasoning.encrypted','data':'E','id':"
			  "'c1','index':1},{'type':'reasoning.summary','summary':'s'}]}")
			DELTA("{'reasoning_details':[{'type':'reasoning.summary',"
			      "'summary':'o','index':2},'x']}")
			    DELTA("{'reasoning_details':[{'type':'reasoning.summary',"
				  "'summary':'!','index':3}],'content':'a'}")
				FINISH("stop") DONE,
	    "{'content':'a','additional_kwargs':{'reasoning_details':[{'type':"
	    "'reasoning.text','text':'hm','format':'f','index':0,'signature':'S'},{"
	    "'type':'reasoning.encrypted','data':'E','id':'c1','index':1},{'type':"
	    "'reasoning.summary','summary':'so','index':2},{'type':'reasoning.summary','"
	    "summary':"
	    "'!','index':3}]}," STOP,
	    "a|" },
	/* calls, as OpenAI has them */
	{ CALL("{'index':0,'id':'c1','type':'function','function':{'name':'add','"
	       "arguments':"
	       "''}}") CALL("{'index':0,'function':{'arguments':'{\\'a\\''}}")
		CALL("{'index':0,'function':{'arguments':':1}'}}") FINISH("tool_calls")
		    DONE,
	    "{'tool_calls':[{'name':'add','args':{'a':1},'id':'c1','type':'tool_call'}]"
	    "," EMPTY "}",
	    "" },
	{ CALL("{'index':0,'id':'c1','function':{'name':'f','arguments':'{'}}")
		CALL("{'index':1,'id':'c2','function':{'name':'g','arguments':'{'}}")
		    CALL("{'index':0,'function':{'arguments':'}'}},"
			 "{'index':1,'function':{'arguments':'}'}}") FINISH("tool_calls")
			DONE,
	    "{'tool_calls':[{'name':'f','args':{},'id':'c1','type':'tool_call'},{'name':'"
	    "g',"
	    "'args':{},'id':'c2','type':'tool_call'}]," EMPTY "}",
	    "" },
	/* Google's signatures of what the model thought before a call */
	{ CALL("{'index':0,'id':'c1','function':{'name':'f','arguments':'{}'},"
	       "'extra_content':{'google':{'thought_signature':'S=='}}}")
		CALL("{'index':0,'id':'c2','function':{'name':'g','arguments':'{}'},"
		     "'extra_content':null}") FINISH("tool_calls") DONE,
	    "{'tool_calls':[{'name':'f','args':{},'id':'c1','type':'tool_call'},{'name':'"
	    "g','args':{},'id':'c2','type':'tool_call'}],'additional_kwargs':{"
	    "'extra_content':{'c1':{'google':{'thought_signature':'S=='}}}}," EMPTY "}",
	    "" },
	/* calls without an index, and calls that all have the same */
	{ CALL("{'id':'c1','function':{'name':'f','arguments':'{}'}}")
		CALL("{'id':'c2','function':{'name':'g','arguments':'{'}}")
		    CALL("{'function':{'arguments':'}'}}") FINISH("tool_calls") DONE,
	    "{'tool_calls':[{'name':'f','args':{},'id':'c1','type':'tool_call'},{'name':'"
	    "g',"
	    "'args':{},'id':'c2','type':'tool_call'}]," EMPTY "}",
	    "" },
	{ CALL("{'index':0,'id':'c1','function':{'name':'f','arguments':'{}'}}")
		CALL("{'index':0,'id':'c2','function':{'name':'g','arguments':'{'}}")
		    CALL("{'index':0,'function':{'arguments':'}'}}") FINISH("tool_calls")
			DONE,
	    "{'tool_calls':[{'name':'f','args':{},'id':'c1','type':'tool_call'},{'name':'"
	    "g',"
	    "'args':{},'id':'c2','type':'tool_call'}]," EMPTY "}",
	    "" },
	/* calls without an id, that all have the same index, or none */
	{ CALL("{'index':0,'function':{'name':'e','arguments':''}},{'index':1,'function':"
	       "{'name':'f','arguments':'{}'}}")
		CALL("{'function':{'name':'f','arguments':'{}'}}") FINISH("tool_calls")
		    DONE,
	    "{'tool_calls':[{'name':'e','args':{},'id':'?','type':'tool_call'},{'name':'"
	    "f','args':{},'id':'?','type':'tool_call'},{'name':'f','args':{},'id':'?','"
	    "type':'tool_call'}]," EMPTY "}",
	    "" },
	{ CALL("{'index':0,'id':'','function':{'name':'f','arguments':'{\\'a\\':1}'}}")
		CALL("{'index':0,'id':'','function':{'name':'f','arguments':' "
		     "{\\'a\\':2}'}}"
		     ",{'function':{'name':'g','arguments':{'b':{}}}}")
		    CALL("{'function':{'name':'g','arguments':{}}}") FINISH("tool_calls")
			DONE,
	    "{'tool_calls':[{'name':'f','args':{'a':1},'id':'?','type':'tool_call'},{'"
	    "name':'f','args':{'a':2},'id':'?','type':'tool_call'},{'name':'g','args':{"
	    "'b':{}},'id':'?','type':'tool_call'},{'name':'g','args':{},'id':'?','type':"
	    "'tool_call'}]," EMPTY "}",
	    "" },
	/* ... of which each piece names the function */
	{ CALL("{'index':0,'function':{'name':'f','arguments':'{\\'a\\':{}'}}")
		CALL("{'index':0,'function':{'name':'f','arguments':',\\'b\\':'}}")
		    CALL("{'index':0,'function':{'name':'f','arguments':'{}}'}}")
			CALL("{'index':0,'function':{'name':'f','arguments':''}}")
			    FINISH("tool_calls") DONE,
	    "{'tool_calls':[{'name':'f','args':{'a':{},'b':{}},'id':'?','type':"
	    "'tool_call'}]," EMPTY "}",
	    "" },
	/* id and name with every piece; arguments as a map */
	{ CALL("{'index':0,'id':'c1','function':{'name':'f','arguments':'{'}}")
		CALL("{'index':0,'id':'c1','function':{'name':'f','arguments':'}'}}")
		    FINISH("tool_calls") DONE,
	    "{'tool_calls':[{'name':'f','args':{},'id':'c1','type':'tool_call'}]," EMPTY
	    "}",
	    "" },
	{ CALL("{'index':0,'id':'c1','function':{'name':'f','arguments':{'a':1}}}")
		FINISH("tool_calls") DONE,
	    "{'tool_calls':[{'name':'f','args':{'a':1},'id':'c1','type':'tool_call'}]"
	    "," EMPTY "}",
	    "" },
	/* another id with each piece of a call, and the same index for all: a name begins the next one */
	{ CALL("{'index':0,'id':'A','function':{'name':'f','arguments':''}}")
		CALL("{'index':0,'id':'B','function':{'arguments':'{\\'x\\''}}")
		    CALL("{'index':0,'id':'C','function':{'name':null,'arguments':':1}'}"
			 "},{'index':0,'id':'D','function':{'name':'','arguments':''}}")
			CALL("{'index':0,'id':'E','function':{'name':'g','arguments':''}"
			     "},{'index':0,'id':'F','function':{'arguments':'{}'}}")
			    FINISH("tool_calls") DONE,
	    "{'tool_calls':[{'name':'f','args':{'x':1},'id':'A','type':'tool_call'},{"
	    "'name':'g','args':{},'id':'E','type':'tool_call'}]," EMPTY "}",
	    "" },
	/* ... of two that take turns */
	{ CALL("{'index':0,'id':'A','function':{'name':'f','arguments':'{'}},{'index':1,"
	       "'id':'B','function':{'name':'g','arguments':'{'}}")
		CALL("{'index':0,'id':'C','function':{'arguments':'\\'a\\':1'}},{'index'"
		     ":1,'id':'D','function':{'arguments':'\\'b\\':2'}}")
		    CALL("{'index':1,'id':'E','function':{'arguments':'}'}},{'index':0,"
			 "'id':'F','function':{'arguments':'}'}}") FINISH("tool_calls")
			DONE,
	    "{'tool_calls':[{'name':'f','args':{'a':1},'id':'A','type':'tool_call'},{"
	    "'name':'g','args':{'b':2},'id':'B','type':'tool_call'}]," EMPTY "}",
	    "" },
	/* the same index for two calls that take turns, each piece with its call's id */
	{ CALL("{'index':0,'id':'A','function':{'name':'f','arguments':'{'}}")
		CALL("{'index':0,'id':'B','function':{'name':'g','arguments':'{'}}")
		    CALL("{'index':0,'id':'A','function':{'arguments':'\\'a\\':1}'}},{"
			 "'index':0,'id':'B','function':{'arguments':'\\'b\\':2}'}}")
			FINISH("tool_calls") DONE,
	    "{'tool_calls':[{'name':'f','args':{'a':1},'id':'A','type':'tool_call'},{"
	    "'name':'g','args':{'b':2},'id':'B','type':'tool_call'}]," EMPTY "}",
	    "" },
	/* an id, without an index, and behind it the name: a call of its own */
	{ CALL("{'id':'A','function':{'name':'f','arguments':'{}'}}") CALL("{'id':'B'}")
		CALL("{'function':{'name':'g','arguments':'{}'}}") FINISH("tool_calls")
		    DONE,
	    "{'tool_calls':[{'name':'f','args':{},'id':'A','type':'tool_call'},{'name':'"
	    "g','args':{},'id':'B','type':'tool_call'}]," EMPTY "}",
	    "" },
	/* head and usage */
	{ "data: "
	  "{'id':'x1','model':'m-7','choices':[{'index':0,'delta':{'content':'a'}}],"
	  "'usage':null}~" FINISH(
	      "stop") "data: {'choices':[],'usage':{'prompt_tokens':3,"
		      "'completion_tokens':4}}~" DONE,
	    "{'type':'ai','content':'a','usage_metadata':{'input_tokens':3,'output_"
	    "tokens':4,"
	    "'total_tokens':7},'response_metadata':{'model_name':'m-7','id':'x1',"
	    "'finish_reason':'stop'}}",
	    "a|" },
	/* Azure says first what it has found in the request, and nothing else */
	{ "data: {'id':'','model':'','object':'','created':0,'choices':[],"
	  "'prompt_filter_results':[{'prompt_index':0}]}~"
	  "data: "
	  "{'id':'x1','model':'m-7','system_fingerprint':'fp','choices':[{'index':0,"
	  "'delta':{'content':'a'}}]}~data: {'id':'x2','model':'','choices':[{'index':0,"
	  "'finish_reason':null,'content_filter_offsets':{}}]}~" FINISH("stop") DONE,
	    "{'type':'ai','content':'a','response_metadata':{'model_name':'m-7','id':'x1'"
	    ","
	    "'system_fingerprint':'fp','finish_reason':'stop'}}",
	    "a|" },
	/* other choices are not ours */
	{ "data: {'choices':[{'index':1,'delta':{'content':'no'}}]}~" DELTA(
	      "{'content':'y'}") FINISH("stop") DONE,
	    "{'content':'y'," STOP, "y|" },
	/* the end, as servers say it */
	{ DELTA("{'content':'a'}") FINISH("stop"), "{'content':'a'," STOP, "a|" },
	{ DELTA("{'content':'a'}") DONE,
	    "{'type':'ai','content':'a','response_metadata':{}}", "a|" },
	{ "data: {'choices':[{'index':0,'delta':{'content':'a'},'finish_reason':''}]}"
	  "~" DONE,
	    "{'type':'ai','content':'a','response_metadata':{}}", "a|" },
	{ DELTA("{'content':'a'}") FINISH("stop") "data: [DONE]", "{'content':'a'," STOP,
	    "a|" },
	{ DELTA("{'content':'a'}") FINISH("stop") DONE "data: rubbish~",
	    "{'content':'a'," STOP, "a|" },
	{ DELTA("{'content':'a'}") FINISH("stop") "data: {'choi", "{'content':'a'," STOP,
	    "a|" },
	/* a relay that says that it is alive, by events with nothing in them */
	{ "retry: 1000~id: 1~data:~" DELTA(
	      "{'content':'a'}") "event: ping\ndata: ~data:  "
				 "\ndata:~" FINISH("stop") DONE,
	    "{'content':'a'," STOP, "a|" },
	/* a server that knows no streams */
	{ " {'choices':[{'message':{'content':'whole'},'finish_reason':'stop'}]}",
	    "{'content':'whole'," STOP, "whole|" },
};

/* Ids that were made here are another each time. */
static const struct value *
without_made_ids(const struct value *message)
{
	const struct value *calls = value_get(message, "tool_calls");
	struct value_list list = { .arena = arena };

	for (size_t i = 0; i < value_size(calls); i++) {
		const struct value *call = value_at(calls, i);
		bool made = strncmp(value_get_text(call, "id"), "call_", 5) == 0;

		value_list_add(
		    &list, made ? value_map_with(arena, call, "id", value_str(arena, "?"))
				: call);
	}
	return list.count == 0
		   ? message
		   : value_map_with(arena, message, "tool_calls", value_list_end(&list));
}

START_TEST(an_answer_is_put_together_from_whatever_pieces)
{
	const char *body = rows[_i].body;

	for (size_t piece = 1; piece <= strlen(body); piece += piece < 8 ? 1 : 29) {
		struct fault *fault = NULL;
		const struct value *message = read_in_pieces(body, piece, &fault);

		ck_assert_msg(fault == NULL, "%s", fault == NULL ? "" : fault->message);
		ck_assert_value(arena, without_made_ids(message), rows[_i].message);
		ck_assert_str_eq(shown, rows[_i].shown);
	}
}
END_TEST

static const struct {
	const char *body, *type, *message; /* contains */
} faults[] = {
	{ "", "APIConnectionError", "broke off" },
	{ DONE, "APIConnectionError", "broke off" },
	{ DELTA("{'content':'a'}"), "APIConnectionError", "broke off" },
	{ DELTA("{'content':'a'}") "data: {'choi", "APIConnectionError", "broke off" },
	{ ": ping~: ping~", "APIConnectionError", "broke off" },
	{ "data: {'id':'x1','choices':[]}~data: {'choices':[],'usage':{'prompt_tokens':3}"
	  "}~" DONE,
	    "APIResponseError", "no message" },
	{ DELTA("{'content':'a'}") "data: {'error':{'message':'too many','code':"
				   "'rate_limit_exceeded'}}~",
	    "RateLimitError", "too many" },
	{ "event: error~data: {'error':{'type':'overloaded_error','message':'busy'}}~",
	    "InternalServerError", "busy" },
	{ "event: error\ndata: {'type':'server_error','message':'oh'}~",
	    "InternalServerError", "oh" },
	{ DELTA("{'content':'a'}") "data: {'error':{'message':'late'}}", "APIError",
	    "late" },
	{ DELTA("{'content':'a'}") "data: {'choices':[{'delta':{'content':''},"
				   "'finish_reason':'error','error':{'code':502,"
				   "'message':'upstream'}}]}~",
	    "InternalServerError", "upstream" },
	{ "{'choices':[{'message':{'content':'half'},'finish_reason':'error','error':{"
	  "'message':'gone'}}]}",
	    "APIError", "gone" },
	/* Ollama said so of each piece that was not the last */
	{ "data: {'choices':[{'index':0,'delta':{'content':'a'},'finish_reason':''}]}~",
	    "APIConnectionError", "broke off" },
	/* given up by the server, which ends it as if it were whole */
	{ DELTA("{'content':'half'}") FINISH("abort") DONE, "APIError", "abort" },
	{ DELTA("{'content':'half'}") FINISH("error") DONE, "APIError", "error" },
	{ DELTA("{'content':'half'}") FINISH("insufficient_system_resource") DONE,
	    "APIError", "insufficient_system_resource" },
	{ "{'choices':[{'message':{'content':'half'},'finish_reason':'abort'}]}",
	    "APIError", "abort" },
	{ "data: {'error':{'message':null,'what':'odd'}}~", "APIError", "odd" },
	{ "data: not json~", "APIResponseError", "no JSON object" },
	{ "data: [1]~", "APIResponseError", "no JSON object" },
	{ CALL("{'index':0,'id':'c1'}") FINISH("tool_calls") DONE, "APIResponseError",
	    "names no function" },
	{ "{'error':{'message':'whole','code':500}}", "InternalServerError", "whole" },
	{ "{'choices':[]}", "APIResponseError", "no message" },
	{ "{'choices':[", "APIResponseError", "cannot be read" },
};

START_TEST(a_stream_that_fails_says_how)
{
	const char *body = faults[_i].body;

	for (size_t piece = 1; piece <= strlen(body) + 1; piece += piece < 8 ? 1 : 29) {
		struct fault *fault = NULL;

		ck_assert_ptr_null(read_in_pieces(body, piece, &fault));
		ck_assert_ptr_nonnull(fault);
		ck_assert_str_eq(fault->type, faults[_i].type);
		ck_assert_msg(strstr(fault->message, faults[_i].message) != NULL, "%s",
		    fault->message);
		ck_assert(fault->retryable);
	}
}
END_TEST

/* Pieces without end of a content, of arguments, of a plain answer; a reason again and again. */
static const struct {
	const char *before, *behind;
} endless[] = {
	{ "data: {'choices':[{'delta':{'reasoning_content':'", "'}}]}~" },
	{ "data: {'choices':[{'delta':{'reasoning_details':[{'type':'reasoning.text',"
	  "'text':'",
	    "'}]}}]}~" },
	{ "data: {'choices':[{'delta':{'reasoning_details':[{'type':'x','data':'",
	    "'}]}}]}~" },
	{ "data: {'choices':[{'delta':{'content':'", "'}}]}~" },
	{ "data: {'choices':[{'delta':{'tool_calls':[{'function':{'arguments':'",
	    "'}}]}}]}~" },
	{ "data: {'choices':[{'delta':{'tool_calls':[{'function':{'arguments':{'a':'",
	    "'}}}]}}]}~" },
	{ "data: {'choices':[{'delta':{},'finish_reason':'", "'}]}~" },
	{ "{'choices':['", "" },
};

START_TEST(an_answer_that_does_not_end_is_refused)
{
	const struct fault *fault = stream_refusal(&openai_stream, arena, "",
	    stream_padded(arena, endless[_i].before, 100000, endless[_i].behind),
	    (size_t)2 * ANSWER_BYTES_MAX);

	ck_assert_ptr_nonnull(fault);
	ck_assert_str_eq(fault->type, "APIResponseError");
	ck_assert_ptr_nonnull(strstr(fault->message, "too large"));
}
END_TEST

#define PIECES 200u /* more than there may be calls */

START_TEST(a_call_of_many_pieces_with_an_id_each_is_one)
{
	const char *body = CALL("{'index':0,'id':'c','function':{'name':'f','arguments':"
				"'{\\'x\\':\\''}}");
	const struct value *message, *call;
	struct fault *fault = NULL;
	char args[PIECES + 1];

	for (unsigned i = 0; i < PIECES; i++)
		body = arena_printf(arena,
		    "%s" CALL("{'index':0,'id':'c%u','function':{'arguments':'%c'}}"),
		    body, i, args[i] = (char)('a' + i % 26));
	args[PIECES] = '\0';
	body = arena_printf(arena,
	    "%s" CALL("{'index':0,'id':'e','function':{'arguments':'\\'}'}}")
		FINISH("tool_calls") DONE,
	    body);
	message = read_in_pieces(body, 4096, &fault);
	ck_assert_msg(fault == NULL, "%s", fault == NULL ? "" : fault->message);
	ck_assert_uint_eq(value_size(value_get(message, "tool_calls")), 1);
	call = value_at(value_get(message, "tool_calls"), 0);
	ck_assert_str_eq(value_get_text(call, "id"), "c");
	ck_assert_str_eq(value_get_text(value_get(call, "args"), "x"), args);
}
END_TEST

#define COUNTED 20000

/* As with vLLM's continuous_usage_stats: who counts in every event must not make an answer large. */
START_TEST(of_counts_in_every_event_the_last_is_kept)
{
	const char *event = stream_text(arena,
	    "data: {'choices':[],'usage':{'prompt_tokens':10,'completion_tokens':1,"
	    "'prompt_tokens_details':{'cached_tokens':4}}}~");
	const char *last = stream_text(arena,
	    FINISH("stop") "data: {'choices':[],'usage':{'prompt_tokens':10,"
			   "'completion_tokens':7}}~" DONE);
	struct answer_stream *stream =
	    answer_stream_open(&openai_stream, arena, "openai");
	struct fault *fault = NULL;
	const struct value *message;
	size_t before;

	ck_assert_int_eq(answer_stream_feed(stream, event, strlen(event)), 0);
	before = arena_bytes(arena);
	for (int i = 1; i < COUNTED; i++)
		ck_assert_int_eq(answer_stream_feed(stream, event, strlen(event)), 0);
	ck_assert_uint_eq(arena_bytes(arena), before);
	ck_assert_int_eq(answer_stream_feed(stream, last, strlen(last)), 0);
	message = answer_stream_end(stream, &fault);
	answer_stream_close(stream); /* and what is in the message is the arena's */
	ck_assert_value(arena, value_get(message, "usage_metadata"),
	    "{'input_tokens':10,'output_tokens':7,'total_tokens':17}");
}
END_TEST

START_TEST(more_thoughts_than_the_limit_are_refused)
{
	const char *body = "";
	struct fault *fault = NULL;

	for (unsigned i = 0; i <= ANSWER_BLOCKS_MAX; i++)
		body = arena_printf(arena,
		    "%sdata: "
		    "{'choices':[{'delta':{'reasoning_details':[{'type':'x'}]}}]}~",
		    body);
	ck_assert_ptr_null(read_in_pieces(body, 4096, &fault));
	ck_assert_ptr_nonnull(strstr(fault->message, "too many blocks"));
}
END_TEST

START_TEST(more_calls_than_the_limit_are_refused)
{
	const char *body = "";
	struct fault *fault = NULL;

	for (unsigned i = 0; i <= TOOL_CALLS_MAX; i++)
		body = arena_printf(arena,
		    "%sdata: {'choices':[{'delta':{'tool_calls':[{'index':%u}]}}]}~",
		    body, i);
	ck_assert_ptr_null(read_in_pieces(body, 4096, &fault));
	ck_assert_ptr_nonnull(strstr(fault->message, "more than 128 tool calls"));
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

TCase *tcase_openai_stream(void);

TCase *
tcase_openai_stream(void)
{
	TCase *tcase = tcase_create("openai_stream");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, an_answer_is_put_together_from_whatever_pieces, 0, COUNT(rows));
	tcase_add_loop_test(tcase, a_stream_that_fails_says_how, 0, COUNT(faults));
	tcase_add_loop_test(
	    tcase, an_answer_that_does_not_end_is_refused, 0, COUNT(endless));
	tcase_add_test(tcase, a_call_of_many_pieces_with_an_id_each_is_one);
	tcase_add_test(tcase, of_counts_in_every_event_the_last_is_kept);
	tcase_add_test(tcase, more_calls_than_the_limit_are_refused);
	tcase_add_test(tcase, more_thoughts_than_the_limit_are_refused);
	return tcase;
}
