/* The model worker against a provider that answers as OpenAI's Responses API would. */
#include <check.h>
#include <string.h>

#include "literal.h"
#include "model_bench.h"

TCase *tcase_responses(void);

static struct model_bench bench;

static void
setup(void)
{
	model_bench_start(&bench, NULL);
}

static void
teardown(void)
{
	model_bench_stop(&bench);
}

#define MODEL "'model':'openai:gpt-5-pro'"
#define THOUGHT                                                                          \
	"{'id':'rs_scripted','type':'reasoning','summary':[{'type':'summary_text',"      \
	"'text':'let me think'}],'encrypted_content':'E=='}"
#define SAID "{'type':'text','text':'one two 四','annotations':[],'id':'msg_scripted'}"
#define CALL_ITEM                                                                        \
	"{'id':'fc_t1','type':'function_call','status':'completed','call_id':'t1',"      \
	"'name':'f','arguments':'{\\'a\\':\\'é\\'}'}"
#define MESSAGE                                                                          \
	"{'type':'ai','content':[" THOUGHT "," SAID "," CALL_ITEM                        \
	"],'tool_calls':[{'name':'f','args':{'a':'é'},'id':'t1','type':'tool_call'}],"  \
	"'usage_metadata':{'input_tokens':23,'output_tokens':9,'total_tokens':32,"       \
	"'input_token_details':{'cache_read':20},'output_token_details':{'reasoning':5}" \
	"},"                                                                             \
	"'response_metadata':{'status':'completed','model_name':'gpt-5-pro','id':"       \
	"'resp_scripted','model_provider':'openai'}}"
#define SCRIPT                                                                            \
	"{'gpt-5-pro':[{'content':'one two 四','thought':{'summary':'let me think',"     \
	"'encrypted_content':'E=='},'tool_calls':[{'id':'t1','name':'f','args':{'a':"     \
	"'é'}}],'usage':{'input_tokens':23,'input_tokens_details':{'cached_tokens':20}," \
	"'output_tokens':9,'output_tokens_details':{'reasoning_tokens':5},"               \
	"'total_tokens':32},'piece_bytes':11},{'content':'Done.'}]}"
#define TOOLS "'tools':[{'name':'f','description':'F.','parameters':{'type':'object'}}]"

static const unsigned ways[] = { 0, WIRE_STREAM };

static const struct value *
asked(size_t index)
{
	return value_get(value_at(model_bench_requests(&bench), index), "body");
}

START_TEST(a_call_is_asked_and_answered)
{
	const struct value *body, *request;

	model_bench_script(&bench, SCRIPT);
	body = model_bench_call(&bench, ways[_i],
	    "{" MODEL ",'system_prompt':'Be kind.','model_settings':{'max_tokens':50,"
	    "'reasoning':{'effort':'low'}}," TOOLS "}",
	    "{}");
	ck_assert_value(bench.arena, value_get(body, "messages"), "[" MESSAGE "]");
	request = value_at(model_bench_requests(&bench), 0);
	ck_assert_str_eq(value_get_text(request, "path"), "/v1/responses");
	ck_assert_str_eq(
	    value_get_text(request, "authorization"), "Bearer " MODEL_BENCH_KEY);
	ck_assert_value(bench.arena,
	    value_map_with(bench.arena, value_get(request, "body"), "stream", NULL),
	    "{'model':'gpt-5-pro','input':[{'type':'message','role':'developer',"
	    "'content':'Be kind.'},{'type':'message','role':'user','content':'hi'}],"
	    "'tools':[{'type':'function','name':'f','description':'F.','parameters':{"
	    "'type':'object'},'strict':null}],'max_output_tokens':50,'reasoning':{"
	    "'effort':'low'}}");
	ck_assert_int_eq(
	    value_get_bool(asked(0), "stream", false), ways[_i] == WIRE_STREAM);
	ck_assert_str_eq(
	    model_bench_shown(&bench), ways[_i] == WIRE_STREAM ? "one two 四" : "");
}
END_TEST

/* --- the way back -------------------------------------------------------------------- */

#define SENT_BACK                                                                        \
	"[{'type':'message','role':'user','content':'hi'}," THOUGHT                      \
	",{'type':'message','role':'assistant','id':'msg_scripted','content':[{'type':"  \
	"'output_text','text':'one two 四','annotations':[]}]}," CALL_ITEM               \
	",{'type':'function_call_output','call_id':'t1','output':'3'}"

static const struct value *
thread(const char *rest)
{
	return literal(bench.arena,
	    arena_printf(bench.arena,
		"[{'type':'human','content':'hi','id':'1'}," MESSAGE ",{'type':'tool',"
		"'content':'3','tool_call_id':'t1','name':'f','status':'success'}%s]",
		rest));
}

START_TEST(what_was_answered_goes_back_as_it_came)
{
	const struct value *body;

	model_bench_script(&bench, "{'gpt-5-pro':[{'content':'Done.'}]}");
	body = model_bench_call_with(&bench, "{" MODEL "," TOOLS "}",
	    model_bench_request(&bench, "messages", thread(""), NULL, NULL));
	ck_assert_str_eq(
	    value_get_text(value_at(value_get(body, "messages"), 0), "content"), "Done.");
	ck_assert_value(bench.arena, value_get(asked(0), "input"), SENT_BACK "]");
}
END_TEST

/* The JSON that is kept of a thread is of one API at a time. */
START_TEST(a_thread_that_is_known_is_sent_whole)
{
	const struct value *all = thread(",{'type':'human','content':'more','id':'3'}");
	const struct value *base = model_bench_digest(&bench, all, 3),
			   *whole = model_bench_digest(&bench, all, 4), *body;
	const struct value *brief = model_bench_request(
	    &bench, "behind", value_array_slice(bench.arena, all, 3, 4), base, whole);

	model_bench_script(&bench, "{'gpt-5-pro':[{'content':'a'},{'content':'b'},{"
				   "'content':'c'},{'content':'d'}]}");
	body = model_bench_call_with(&bench, "{" MODEL "}",
	    model_bench_request(&bench, "messages",
		value_array_slice(bench.arena, all, 0, 3), NULL, base));
	ck_assert(value_equal(value_get(body, "kept"), base));
	body = model_bench_call_with(&bench, "{" MODEL "}", brief);
	ck_assert(value_equal(value_get(body, "kept"), whole));
	ck_assert_value(bench.arena, value_get(asked(1), "input"),
	    SENT_BACK ",{'type':'message','role':'user','content':'more'}]");
	brief = model_bench_request(&bench, "behind", value_empty_array(), whole, whole);
	model_bench_call_with(
	    &bench, "{" MODEL ",'model_settings':{'use_responses_api':false}}", brief);
	ck_assert_value(bench.arena, value_get(asked(2), "messages"),
	    "[{'role':'user','content':'hi'},{'role':'assistant','content':[{'type':'"
	    "text',"
	    "'text':'one two "
	    "四'}],'tool_calls':[{'id':'t1','type':'function','function':{'name':'f',"
	    "'arguments':'{\\'a\\':\\'é\\'}'}}]},{'role':'tool','content':'3',"
	    "'tool_call_id':'t1'},{'role':'user','content':'more'}]");
	model_bench_call_with(&bench, "{" MODEL "}", brief);
	ck_assert_value(bench.arena, value_get(asked(3), "input"),
	    SENT_BACK ",{'type':'message','role':'user','content':'more'}]");
}
END_TEST

/* --- which API ----------------------------------------------------------------------- */

static const struct {
	const char *profile, *path;
} choices[] = {
	{ "{'model':'openai:gpt-4o'}", "/v1/chat/completions" },
	{ "{'model':'openai:gpt-4o','model_settings':{'use_responses_api':true}}",
	    "/v1/responses" },
	{ "{'model':'openai:gpt-4o','model_settings':{'include':['x']}}",
	    "/v1/responses" },
	{ "{'model':'openai:gpt-4o','tools':[{'name':'f'}],'middleware':[{'name':"
	  "'provider_tool_search','settings':{'searchable_tools':['f']}}]}",
	    "/v1/responses" },
};

START_TEST(the_request_says_which_api_is_asked)
{
	model_bench_script(&bench, "{'gpt-4o':[{'content':'Done.'}]}");
	model_bench_call(&bench, 0, choices[_i].profile, "{}");
	ck_assert_str_eq(
	    value_get_text(value_at(model_bench_requests(&bench), 0), "path"),
	    choices[_i].path);
}
END_TEST

/* As docs/models.md has it. */
START_TEST(a_tool_of_openai_is_added_by_middleware)
{
	const struct value *body;

	model_bench_script(&bench,
	    "{'gpt-4o':[{'items':[{'type':'web_search_call','id':'ws_1','status':"
	    "'completed'},{'type':'message','id':'msg_1','content':[{'type':"
	    "'output_text','text':'It rains.','annotations':[{'type':'url_citation',"
	    "'url':'u'}]}]}]}]}");
	body = model_bench_call(&bench, ways[_i],
	    "{'model':'openai:gpt-4o','middleware':[{'name':'lua','settings':{'name':"
	    "'search','code':'function wrap_model_call(request, handler) "
	    "local tools = request.tools "
	    "tools[#tools + 1] = {type = [[web_search]]} "
	    "return handler(request:override{tools = tools}) end'}}]}",
	    "{}");
	ck_assert_value(bench.arena,
	    value_get(value_at(value_get(body, "messages"), 0), "content"),
	    "[{'type':'web_search_call','id':'ws_1','status':'completed'},{'type':'text',"
	    "'text':'It rains.','annotations':[{'type':'url_citation','url':'u'}],'id':"
	    "'msg_1'}]");
	ck_assert_value(
	    bench.arena, value_get(asked(0), "tools"), "[{'type':'web_search'}]");
	ck_assert_str_eq(
	    value_get_text(value_at(model_bench_requests(&bench), 0), "path"),
	    "/v1/responses");
	ck_assert_str_eq(
	    model_bench_shown(&bench), ways[_i] == WIRE_STREAM ? "It rains." : "");
}
END_TEST

/* --- what goes wrong ----------------------------------------------------------------- */

static const struct {
	unsigned flags;
	const char *reply, *type, *reason;
} faults[] = {
	{ 0, "{'http_error':401,'message':'bad key " MODEL_BENCH_KEY " here'}",
	    "AuthenticationError", "bad key [key] here" },
	{ 0, "{'http_error':429,'message':'slow'}", "RateLimitError", "slow" },
	{ 0,
	    "{'http_error':400,'message':'Your input exceeds the context window of this "
	    "model.'}",
	    "ContextOverflowError", "context window" },
	{ 0, "{'raw':'{}'}", "APIResponseError", "it has no output" },
	{ 0, "{'raw':'{\\'status\\':\\'queued\\',\\'output\\':[]}'}", "APIResponseError",
	    "its status is 'queued'" },
	{ WIRE_STREAM,
	    "{'content':'one two','stream_error':{'code':'server_error','message':"
	    "'boom'}}",
	    "InternalServerError", "boom" },
	{ WIRE_STREAM, "{'content':'one two','open_end':true}", "APIConnectionError",
	    "broke off" },
	{ WIRE_STREAM, "{'content':'one two','cut_after':-60}", "APIConnectionError",
	    "" },
};

START_TEST(what_goes_wrong_has_a_type)
{
	const struct value *fault;

	model_bench_script(
	    &bench, arena_printf(bench.arena, "{'gpt-5-pro':[%s]}", faults[_i].reply));
	fault = value_get(
	    model_bench_call(&bench, faults[_i].flags, "{" MODEL "}", "{}"), "fault");
	ck_assert_str_eq(value_get_text(fault, "type"), faults[_i].type);
	ck_assert_msg(strstr(value_get_text(fault, "message"), faults[_i].reason) != NULL,
	    "'%s' is not in: %s", faults[_i].reason, value_get_text(fault, "message"));
}
END_TEST

/* The stream begins before the model thinks. */
START_TEST(the_silence_of_a_thought_is_not_an_end)
{
	static const char *const flags[] = { "--idle-timeout-ms", "100", NULL };
	const struct value *body;

	model_bench_stop(&bench);
	model_bench_start(&bench, flags);
	model_bench_script(&bench, "{'gpt-5-pro':[{'content':'Done.','piece_bytes':900,"
				   "'piece_delay_ms':400}]}");
	body = model_bench_call(&bench, WIRE_STREAM, "{" MODEL "}", "{}");
	ck_assert_str_eq(
	    value_get_text(value_at(value_get(body, "messages"), 0), "content"), "Done.");
}
END_TEST

START_TEST(structured_output_is_a_format)
{
	const struct value *body;

	model_bench_script(&bench, "{'gpt-5-pro':[{'structured':{'n':3}}]}");
	body = model_bench_call(&bench, 0,
	    "{" MODEL ",'response_format':{'strategy':'provider','schemas':[{'title':'N',"
	    "'type':'object','properties':{'n':{'type':'integer'}},'required':['n']}]}}",
	    "{}");
	ck_assert_value(bench.arena, value_get(body, "structured_response"), "{'n':3}");
	ck_assert_value(bench.arena, value_get(asked(0), "text"),
	    "{'format':{'name':'N','schema':{'title':'N','type':'object','properties':{"
	    "'n':{'type':'integer'}},'required':['n']},'type':'json_schema'}}");
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

TCase *
tcase_responses(void)
{
	TCase *tcase = tcase_create("responses");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, a_call_is_asked_and_answered, 0, COUNT(ways));
	tcase_add_test(tcase, what_was_answered_goes_back_as_it_came);
	tcase_add_test(tcase, a_thread_that_is_known_is_sent_whole);
	tcase_add_loop_test(
	    tcase, the_request_says_which_api_is_asked, 0, COUNT(choices));
	tcase_add_loop_test(
	    tcase, a_tool_of_openai_is_added_by_middleware, 0, COUNT(ways));
	tcase_add_loop_test(tcase, what_goes_wrong_has_a_type, 0, COUNT(faults));
	tcase_add_test(tcase, the_silence_of_a_thought_is_not_an_end);
	tcase_add_test(tcase, structured_output_is_a_format);
	return tcase;
}
