#include <check.h>
#include <string.h>

/* Interface under test */
#include "../../worker-model/responses_stream.h"

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
	    &responses_stream, arena, stream_text(arena, body), piece, &shown, fault_r);
}

#define EVENT(type, rest) "event: " type "\ndata: {'type':'" type "'" rest "}~"
#define CREATED                                                                          \
	EVENT("response.created", ",'response':{'id':'resp_1','model':'m-7','status':'"  \
				  "in_progress','output':[]"                             \
				  ",'usage':null}")                                      \
	EVENT("response.in_progress", ",'response':{'id':'resp_1'}")
#define ADDED(index, item)                                                               \
	EVENT("response.output_item.added",                                              \
	    ",'output_index':" #index ",'item':{" item "}")
#define DONE(index, item)                                                                \
	EVENT("response.output_item.done", ",'output_index':" #index ",'item':{" item "}")
#define DELTA(of, index, delta)                                                          \
	EVENT("response." of ".delta", ",'output_index':" #index ",'delta':'" delta "'")
#define COMPLETED(output)                                                                \
	EVENT("response.completed",                                                      \
	    ",'response':{'id':'resp_1','model':'m-7','status':'completed','error':"     \
	    "null,"                                                                      \
	    "'output':[" output "],'usage':{'input_tokens':3,'output_tokens':4,"         \
	    "'total_tokens':7,'output_tokens_details':{'reasoning_tokens':2}}}")
#define SAID                                                                             \
	"'usage_metadata':{'input_tokens':3,'output_tokens':4,'total_tokens':7,"         \
	"'output_token_details':{'reasoning':2}},'response_metadata':{'status':"         \
	"'completed','model_name':'m-7','id':'resp_1'}}"

#define MESSAGE "'type':'message','id':'msg_1','role':'assistant','content':[]"
#define SPOKEN(text)                                                                     \
	"'type':'message','id':'msg_1','role':'assistant','content':[{'type':"           \
	"'output_text','text':'" text "','annotations':[]}]"
#define THOUGHT                                                                          \
	"'type':'reasoning','id':'rs_1','summary':[{'type':'summary_text','text':'hm'}]" \
	","                                                                              \
	"'encrypted_content':'E=='"
#define CALL(args)                                                                       \
	"'type':'function_call','id':'fc_1','call_id':'c1','name':'add','arguments':"    \
	"'" args "'"
#define CALLED "'tool_calls':[{'name':'add','args':{'a':1},'id':'c1','type':'tool_call'}]"
#define ARGS "{\\'a\\':1}"

static const struct {
	const char *body, *message, *shown;
} rows[] = {
	/* as OpenAI has it */
	{ CREATED ADDED(0, MESSAGE) DELTA("output_text", 0, "he") DELTA("output_text", 0,
	      "llo") DONE(0, SPOKEN("hello")) COMPLETED("{" SPOKEN("hello") "}"),
	    "{'type':'ai','content':'hello'," SAID, "he|llo|" },
	{ CREATED ADDED(0, "'type':'reasoning','id':'rs_1','summary':[]")
		EVENT("response.reasoning_summary_part.added",
		    ",'output_index':0,'summary_index"
		    "':0") DELTA("reasoning_summary_text", 0, "hm") DONE(0, THOUGHT)
		    ADDED(1, MESSAGE) DELTA("output_text", 1, "so") DONE(1, SPOKEN("so"))
			ADDED(2, CALL("")) DELTA("function_call_arguments", 2, "{\\'a\\'")
			    DELTA("function_call_arguments", 2, ":1}") DONE(2, CALL(ARGS))
				COMPLETED(""),
	    "{'type':'ai','content':[{" THOUGHT "},{'type':'text','text':'so',"
	    "'annotations':[],'id':'msg_1'},{" CALL(ARGS) "}]," CALLED "," SAID,
	    "so|" },
	{ CREATED ADDED(0, CALL("")) DELTA("function_call_arguments", 0, ARGS)
		DONE(0, CALL(ARGS)) COMPLETED("{" CALL(ARGS) "}"),
	    "{'type':'ai','content':''," CALLED "," SAID, "" },
	{ CREATED EVENT("response.web_search_call.searching", ",'output_index':0")
		DONE(0, "'type':'web_search_call','id':'ws_1'") COMPLETED(""),
	    "{'type':'ai','content':[{'type':'web_search_call','id':'ws_1'}]," SAID, "" },
	{ CREATED ADDED(0, MESSAGE) DELTA("refusal", 0, "n") DELTA("refusal", 0, "o")
		DONE(0, "'type':'message','id':'msg_1','content':[{'type':'refusal',"
			"'refusal':'no'}]") COMPLETED(""),
	    "{'type':'ai','content':[{'type':'refusal','refusal':'no','id':'msg_1'}],"
	    "'additional_kwargs':{'refusal':'no'}," SAID,
	    "" },
	{ CREATED DONE(0, SPOKEN("ha")) EVENT("response.incomplete",
	      ",'response':{'id':'resp_1','status':'incomplete','incomplete_details':{"
	      "'reason':'max_output_tokens'}}"),
	    "{'type':'ai','content':'ha','response_metadata':{'status':'incomplete',"
	    "'incomplete_details':{'reason':'max_output_tokens'},'model_name':'m-7','id'"
	    ":'resp_1'}}",
	    "ha|" },
	/* several texts */
	{ CREATED ADDED(0, MESSAGE) DELTA("output_text", 0, "a")
		EVENT("response.output_text.delta",
		    ",'output_index':0,'content_index':1,'delta':'b'") DONE(0,
		    "'type':'message','id':'msg_1','content':[{'type':'output_text',"
		    "'text':'a'},{'type':'output_text','text':'b'}]") DONE(1, SPOKEN("c"))
		    ADDED(2, MESSAGE) DELTA("output_text", 2, "d") DONE(2, SPOKEN("d"))
			COMPLETED(""),
	    "{'type':'ai','content':[{'type':'text','text':'a','annotations':[],'id':"
	    "'msg_1'},{'type':'text','text':'b','annotations':[],'id':'msg_1'},{'type':"
	    "'text','text':'c','annotations':[],'id':'msg_1'},{'type':'text','text':'d',"
	    "'annotations':[],'id':'msg_1'}]," SAID,
	    "a|/b|/c|/d|" },
	/* the last event alone has it, or all that others have only begun */
	{ COMPLETED("{" SPOKEN("hello") "}"), "{'type':'ai','content':'hello'," SAID,
	    "" },
	{ CREATED ADDED(0, MESSAGE) DELTA("output_text", 0, "he")
		COMPLETED("{" SPOKEN("hello") "}"),
	    "{'type':'ai','content':'hello'," SAID, "he|" },
	/* nobody says it as a whole */
	{ CREATED ADDED(0, "'type':'reasoning','id':'rs_1'") EVENT(
	      "response.reasoning_summary_text.delta",
	      ",'output_index':0,'summary_index':0,'delta':'a'")
		EVENT("response.reasoning_summary_text.delta",
		    ",'output_index':0,'summary_index':1,'delta':'b'") ADDED(1, MESSAGE)
		    DELTA("output_text", 1, "s") DELTA("output_text", 1, "o")
			DELTA("refusal", 1, "no") ADDED(2, CALL(""))
			    DELTA("function_call_arguments", 2, ARGS) ADDED(3,
				"'type':'custom_tool_call','call_id':'c2','name':'run'")
				DELTA("custom_tool_call_input", 3, "ls") COMPLETED(""),
	    "{'type':'ai','content':[{'type':'reasoning','id':'rs_1','summary':[{'type':"
	    "'summary_text','text':'a\\n\\nb'}]},{'type':'text','text':'so',"
	    "'annotations':[],'id':'msg_1'},{'type':'refusal','refusal':'no','id':"
	    "'msg_1'},{" CALL(
		ARGS) "},{'type':'custom_tool_call','call_id':'c2','name':"
		      "'run','input':'ls'}],'tool_calls':[{'name':'add',"
		      "'args':{'a':1},'id':'c1','type':'tool_call'},{"
		      "'name':'run','args':{'__arg1':'ls'},'id':'c2','type'"
		      ":'tool_call'}],'additional_kwargs':{'refusal':'no'}," SAID,
	    "s|o|" },
	/* a server that counts from 0 for each; pieces of nothing, and behind an end */
	{ CREATED ADDED(0, MESSAGE) DELTA("output_text", 0, "so") DONE(0, SPOKEN("so"))
		DELTA("output_text", 0, "late") DELTA("output_text", 7, "lost")
		    ADDED(0, CALL("")) DELTA("function_call_arguments", 0, ARGS)
			DONE(0, CALL(ARGS)) COMPLETED(""),
	    "{'type':'ai','content':'so'," CALLED "," SAID, "so|" },
	/* events that are known by their name alone; what comes behind the last */
	{ "event: response.output_item.done\ndata: {'output_index':0,'item':{" SPOKEN(
	      "so") "}}~" COMPLETED("") "data: {oops~",
	    "{'type':'ai','content':'so'," SAID, "so|" },
	{ CREATED DONE(0, SPOKEN("so")) "event: response.completed\ndata: {'type':"
					"'response.completed','response':{}}",
	    "{'type':'ai','content':'so','response_metadata':{'model_name':'m-7','id':"
	    "'resp_1'}}",
	    "so|" },
	/* a server that knows no streams */
	{ " {'id':'resp_1','output':[{" SPOKEN("whole") "}]}",
	    "{'type':'ai','content':'whole','response_metadata':{'id':'resp_1'}}",
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
		ck_assert_value(arena, message, rows[_i].message);
		ck_assert_str_eq(shown, rows[_i].shown);
	}
}
END_TEST

#define FAILED(error)                                                                    \
	CREATED EVENT("response.failed",                                                 \
	    ",'response':{'id':'resp_1','status':'failed','error':" error "}")

static const struct {
	const char *body, *type, *reason;
} bad[] = {
	{ "", "APIConnectionError", "broke off before its end" },
	{ CREATED DONE(0, SPOKEN("so")), "APIConnectionError",
	    "broke off before its end" },
	{ CREATED DONE(0, SPOKEN("so")) "data: [DONE]~", "APIConnectionError",
	    "broke off before its end" },
	{ FAILED("{'code':'server_error','message':'boom'}"), "InternalServerError",
	    "status 500: boom" },
	{ FAILED("{'code':'rate_limit_exceeded','message':'slow'}"), "RateLimitError",
	    "slow" },
	{ FAILED("{'code':'invalid_prompt','message':'no'}"), "BadRequestError", "no" },
	{ FAILED("{'code':'invalid_image_url','message':'no'}"), "BadRequestError",
	    "no" },
	{ FAILED("{'code':'image_content_policy_violation','message':'no'}"),
	    "BadRequestError", "no" },
	{ FAILED("{'code':'vector_store_timeout','message':'slow'}"),
	    "InternalServerError", "slow" },
	{ FAILED("{'code':'failed_to_download_image','message':'once more'}"), "APIError",
	    "once more" },
	{ FAILED("{'code':'context_length_exceeded','message':'long'}"),
	    "ContextOverflowError", "long" },
	{ FAILED("{'code':'odd','message':'who knows'}"), "APIError", "who knows" },
	{ FAILED("null"), "APIError", "no reason given" },
	{ CREATED EVENT("response.completed",
	      ",'response':{'status':'failed','error':{'code':'server_error','message':"
	      "'boom'}}"),
	    "InternalServerError", "boom" },
	{ CREATED EVENT("response.completed", ",'response':{'status':'cancelled'}"),
	    "APIResponseError", "'cancelled'" },
	{ CREATED EVENT(
	      "error", ",'code':'rate_limit_exceeded','message':'slow','param':null"),
	    "RateLimitError", "slow" },
	{ CREATED "data: {'type':'error','code':'server_error','message':'bare'}~",
	    "InternalServerError", "bare" },
	{ CREATED "data: {'type':'error','code':null,'message':'why'}~", "APIError",
	    "why" },
	{ CREATED "data: {oops~", "APIResponseError", "no JSON object" },
	{ EVENT("response.created", ""), "APIResponseError", "has no response" },
	{ EVENT("response.completed", ""), "APIResponseError", "has no response" },
	{ CREATED ADDED(0, "'id':'x'"), "APIResponseError", "has no type" },
	{ CREATED DONE(0, "'type':3"), "APIResponseError", "has no type" },
	{ CREATED DONE(0, "'type':'function_call','call_id':'c1'") COMPLETED(""),
	    "APIResponseError", "names no function" },
	{ "{'error':{'code':'server_error','message':'whole'},'output':[]}",
	    "InternalServerError", "whole" },
	{ "{'output':3}", "APIResponseError", "no output" },
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

START_TEST(there_is_an_end_to_items)
{
	const char *body = CREATED;
	struct fault *fault = NULL;

	for (unsigned i = 0; i <= ANSWER_BLOCKS_MAX; i++)
		body = arena_printf(arena, "%s%s", body, DONE(0, "'type':'x_call'"));
	ck_assert_ptr_null(read_in_pieces(body, 4096, &fault));
	ck_assert_ptr_nonnull(strstr(fault->message, "too many blocks"));
}
END_TEST

/* What is there once, in pieces without end, or again and again. */
static const struct {
	const char *before, *behind;
} endless[] = {
	{ "data: {'type':'response.output_text.delta','output_index':0,'delta':'",
	    "'}~" },
	{ "data: {'type':'response.refusal.delta','output_index':0,'delta':'", "'}~" },
	{ "data: {'type':'response.reasoning_summary_text.delta','output_index':0,"
	  "'summary_index':0,'delta':'",
	    "'}~" },
	{ "data: {'type':'response.output_item.done','output_index':1,'item':{'type':'",
	    "'}}~" },
	{ "data: {'type':'response.created','response':{'id':'", "'}}~" },
};

START_TEST(there_is_an_end_to_what_is_kept)
{
	const char *begin = stream_text(arena, CREATED ADDED(0, MESSAGE));
	const struct fault *fault = stream_refusal(&responses_stream, arena, begin,
	    stream_padded(arena, endless[_i].before, 100000, endless[_i].behind),
	    (size_t)2 * ANSWER_BYTES_MAX);

	ck_assert_ptr_nonnull(fault);
	ck_assert_str_eq(fault->type, "APIResponseError");
	ck_assert_ptr_nonnull(strstr(fault->message, "it is too large"));
}
END_TEST

/* Behind the last event nothing is waited for. */
START_TEST(the_last_event_is_the_end)
{
	struct answer_stream *stream =
	    answer_stream_open(&responses_stream, arena, "server");
	const char *body = stream_text(arena, CREATED COMPLETED("{" SPOKEN("so") "}"));

	ck_assert_int_eq(answer_stream_feed(stream, body, strlen(body)), 0);
	ck_assert(stream->done);
	ck_assert(stream->type->is_complete(stream));
	answer_stream_close(stream);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

TCase *tcase_responses_stream(void);

TCase *
tcase_responses_stream(void)
{
	TCase *tcase = tcase_create("responses_stream");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, a_stream_is_put_together_whatever_its_pieces, 0, COUNT(rows));
	tcase_add_loop_test(tcase, what_is_no_whole_answer_is_a_fault, 0, COUNT(bad));
	tcase_add_test(tcase, there_is_an_end_to_items);
	tcase_add_loop_test(tcase, there_is_an_end_to_what_is_kept, 0, COUNT(endless));
	tcase_add_test(tcase, the_last_event_is_the_end);
	return tcase;
}
