/* The model worker against a provider that answers as Anthropic's would. */
#include <check.h>
#include <string.h>

#include "literal.h"
#include "model_bench.h"

TCase *tcase_anthropic(void);

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

#define MODEL "'model':'anthropic:claude-haiku-4-5'"
#define MESSAGE                                                                          \
	"[{'type':'ai','content':[{'type':'thinking','thinking':'let me think',"         \
	"'signature':'S=='},{'type':'text','text':'one two 四'},{'type':'tool_use',"    \
	"'id':'t1','name':'f','input':{'a':'é'}}],'tool_calls':[{'name':'f','args':{"   \
	"'a':'é'},'id':'t1','type':'tool_call'}],'usage_metadata':{'input_tokens':23,"  \
	"'output_tokens':9,'total_tokens':32,'input_token_details':{'cache_read':20}},"  \
	"'response_metadata':{'stop_reason':'tool_use','model_name':'claude-haiku-4-5'," \
	"'id':'msg_scripted','model_provider':'anthropic'}}]"

static const unsigned ways[] = { 0, WIRE_STREAM };

START_TEST(a_call_is_asked_and_answered)
{
	const struct value *body, *request;

	model_bench_script(&bench,
	    "{'claude-haiku-4-5':[{'content':'one two 四','thinking':{'thinking':'let me "
	    "think','signature':'S=='},'tool_calls':[{'id':'t1','name':'f','args':{'a':"
	    "'é'}}],'usage':{'input_tokens':3,'output_tokens':9,"
	    "'cache_read_input_tokens':20},'piece_bytes':11}]}");
	body = model_bench_call(&bench, ways[_i],
	    "{" MODEL ",'system_prompt':'Be kind.','model_settings':{'betas':['x-1']},"
	    "'tools':[{'name':'f','description':'F.','parameters':{'type':'object'}}]}",
	    "{}");
	ck_assert_value(bench.arena, value_get(body, "messages"), MESSAGE);
	request = value_at(model_bench_requests(&bench), 0);
	ck_assert_str_eq(value_get_text(request, "path"), "/v1/messages");
	ck_assert_str_eq(value_get_text(request, "x-api-key"), MODEL_BENCH_KEY);
	ck_assert_str_eq(value_get_text(request, "anthropic-version"), "2023-06-01");
	ck_assert_str_eq(value_get_text(request, "anthropic-beta"), "x-1");
	ck_assert_ptr_null(value_get_text(request, "authorization"));
	ck_assert_value(bench.arena,
	    value_map_with(bench.arena, value_get(request, "body"), "stream", NULL),
	    "{'model':'claude-haiku-4-5','max_tokens':64000,'system':[{'type':'text',"
	    "'text':'Be kind.'}],'messages':[{'role':'user','content':[{'type':'text',"
	    "'text':'hi'}]}],'tools':[{'name':'f','description':'F.','input_schema':{"
	    "'type':'object'}}]}");
	ck_assert_int_eq(value_get_bool(value_get(request, "body"), "stream", false),
	    ways[_i] == WIRE_STREAM);
}
END_TEST

/* What it answered goes back as it came, and the tool's answer behind it. */
START_TEST(thinking_goes_back_with_its_signature)
{
	const struct value *body;

	model_bench_script(&bench, "{'claude-haiku-4-5':[{'content':'Done.'}]}");
	body = model_bench_call(&bench, 0, "{" MODEL "}",
	    "{'messages':[{'type':'human','content':'hi'},{'type':'ai','content':[{'type'"
	    ":"
	    "'thinking','thinking':'hm','signature':'S=='},{'type':'tool_use','id':'t1',"
	    "'name':'f','input':{}}],'tool_calls':[{'name':'f','args':{'a':1},'id':'t1',"
	    "'type':'tool_call'}]},{'type':'tool','content':'3','tool_call_id':'t1','"
	    "name':"
	    "'f','status':'success'}]}");
	ck_assert_str_eq(
	    value_get_text(value_at(value_get(body, "messages"), 0), "content"), "Done.");
	body = value_get(value_at(model_bench_requests(&bench), 0), "body");
	ck_assert_value(bench.arena, value_get(body, "messages"),
	    "[{'role':'user','content':[{'type':'text','text':'hi'}]},{'role':'assistant'"
	    ","
	    "'content':[{'type':'thinking','thinking':'hm','signature':'S=='},{'type':"
	    "'tool_use','id':'t1','name':'f','input':{'a':1}}]},{'role':'user','content':"
	    "[{"
	    "'type':'tool_result','tool_use_id':'t1','content':'3'}]}]");
}
END_TEST

/* A turn that the provider ends early is one answer, and one of middleware's calls. */
START_TEST(an_answer_that_pauses_goes_on)
{
	const struct value *body, *requests;

	model_bench_script(&bench,
	    "{'claude-haiku-4-5':[{'blocks':[{'type':'text','text':'I look. '},{'type':"
	    "'server_tool_use','id':'s1','name':'web_search','input':{'query':'q'}}],"
	    "'finish_reason':'pause_turn','usage':{'input_tokens':10,'output_tokens':5,"
	    "'cache_read_input_tokens':3}},{'blocks':[{'type':'web_search_tool_result',"
	    "'tool_use_id':'s1','content':[]}],'finish_reason':'pause_turn','usage':{"
	    "'input_tokens':20,'output_tokens':1}},{'content':'Found.','tool_calls':[{"
	    "'id':'t1','name':'f','args':{}}],'usage':{'input_tokens':30,"
	    "'output_tokens':2,'cache_read_input_tokens':4}},{'content':'never'}]}");
	body = model_bench_call(&bench, ways[_i], "{" MODEL "}", "{}");
	ck_assert_value(bench.arena, value_get(body, "messages"),
	    "[{'type':'ai','content':[{'type':'text','text':'I look. '},{'type':"
	    "'server_tool_use','id':'s1','name':'web_search','input':{'query':'q'}},{"
	    "'type':'web_search_tool_result','tool_use_id':'s1','content':[]},{'type':"
	    "'text','text':'Found.'}],'tool_calls':[{'name':'f','args':{},'id':'t1',"
	    "'type':'tool_call'}],'usage_metadata':{'input_tokens':67,'output_tokens':8,"
	    "'total_tokens':75,'input_token_details':{'cache_read':7}},"
	    "'response_metadata':{'stop_reason':'tool_use','model_name':"
	    "'claude-haiku-4-5','id':'msg_scripted','model_provider':'anthropic'}}]");
	requests = model_bench_requests(&bench);
	ck_assert_uint_eq(value_size(requests), 3);
	body = value_get(value_at(requests, 2), "body");
	ck_assert_value(bench.arena, value_get(body, "messages"),
	    "[{'role':'user','content':[{'type':'text','text':'hi'}]},{'role':'assistant'"
	    ",'content':[{'type':'text','text':'I look. '},{'type':'server_tool_use','id'"
	    ":'s1','name':'web_search','input':{'query':'q'}},{'type':"
	    "'web_search_tool_result','tool_use_id':'s1','content':[]}]}]");
	ck_assert_str_eq(
	    model_bench_shown(&bench), ways[_i] == WIRE_STREAM ? "I look. Found." : "");
}
END_TEST

/* Nothing is left of an answer whose rest fails, and a server that only pauses has an end. */
START_TEST(a_pause_without_a_rest_ends)
{
	const char *pause = "{'content':'And ','finish_reason':'pause_turn'}", *all = "";
	const struct value *body;

	model_bench_script(&bench,
	    arena_printf(bench.arena,
		"{'claude-haiku-4-5':[%s,{'http_error':529,'message':'full'}]}", pause));
	body = model_bench_call(&bench, ways[_i], "{" MODEL "}", "{}");
	ck_assert_str_eq(
	    value_get_text(value_get(body, "fault"), "type"), "InternalServerError");
	ck_assert_uint_eq(value_size(value_get(body, "messages")), 0);
	for (unsigned i = 0; i < 20; i++)
		all = arena_printf(bench.arena, "%s%s%s", all, i == 0 ? "" : ",", pause);
	model_bench_script(
	    &bench, arena_printf(bench.arena, "{'claude-haiku-4-5':[%s]}", all));
	body = model_bench_call(&bench, ways[_i], "{" MODEL "}", "{}");
	ck_assert_uint_eq(value_size(value_at(value_get(body, "messages"), 0)) > 0, 1);
	ck_assert_uint_eq(value_size(model_bench_requests(&bench)), 2 + 17);
}
END_TEST

START_TEST(the_text_is_shown_as_it_comes)
{
	model_bench_script(&bench,
	    "{'claude-haiku-4-5':[{'content':'one two three','thinking':{'thinking':"
	    "'secret','signature':'S'}}]}");
	model_bench_call(&bench, WIRE_STREAM, "{" MODEL "}", "{}");
	ck_assert_str_eq(model_bench_shown(&bench), "one two three");
}
END_TEST

/* The middleware asks what the provider speaks, whatever its name is. */
START_TEST(what_every_call_begins_with_is_marked_for_the_cache)
{
	const struct value *body;

	model_bench_script(&bench, "{'claude-haiku-4-5':[{'content':'Done.'}]}");
	model_bench_call(&bench, 0,
	    "{" MODEL ",'system_prompt':'S','tools':[{'name':'f','parameters':{'type':"
	    "'object'}}],'middleware':[{'name':'anthropic_prompt_caching','settings':{"
	    "'ttl':'1h'}}]}",
	    "{}");
	body = value_get(value_at(model_bench_requests(&bench), 0), "body");
	ck_assert_value(bench.arena, body,
	    "{'model':'claude-haiku-4-5','max_tokens':64000,'system':[{'type':'text','"
	    "text':"
	    "'S','cache_control':{'type':'ephemeral','ttl':'1h'}}],'messages':[{'role':"
	    "'user','content':[{'type':'text','text':'hi','cache_control':{'type':"
	    "'ephemeral','ttl':'1h'}}]}],'tools':[{'name':'f','input_schema':{'type':"
	    "'object'},'cache_control':{'type':'ephemeral','ttl':'1h'}}]}");
}
END_TEST

/* --- a thread that is known ----------------------------------------------------------- */

/* Thinking that the worker has kept goes back as it came. */
START_TEST(a_thread_that_is_known_is_sent_whole)
{
	const struct value *all = literal(bench.arena,
	    "[{'type':'human','content':'hi','id':'1'},{'type':'ai','id':'2','content':[{"
	    "'type':'thinking','thinking':'hm','signature':'S=='},{'type':'text','text':"
	    "'ho'}]},{'type':'human','content':'more','id':'3'},{'type':'ai','content':"
	    "'less','id':'4'},{'type':'human','content':'end','id':'5'}]");
	const struct value *base = model_bench_digest(&bench, all, 3),
			   *whole = model_bench_digest(&bench, all, 5), *body;

	model_bench_script(
	    &bench, "{'claude-haiku-4-5':[{'content':'a'},{'content':'b'}]}");
	body = model_bench_call_with(&bench, "{" MODEL "}",
	    model_bench_request(&bench, "messages",
		value_array_slice(bench.arena, all, 0, 3), NULL, base));
	ck_assert(value_equal(value_get(body, "kept"), base));
	body = model_bench_call_with(&bench, "{" MODEL "}",
	    model_bench_request(&bench, "behind",
		value_array_slice(bench.arena, all, 3, 5), base, whole));
	ck_assert(value_equal(value_get(body, "kept"), whole));
	body = value_get(value_at(model_bench_requests(&bench), 1), "body");
	ck_assert_value(bench.arena, value_get(body, "messages"),
	    "[{'role':'user','content':[{'type':'text','text':'hi'}]},{'role':'assistant'"
	    ","
	    "'content':[{'type':'thinking','thinking':'hm','signature':'S=='},{'type':"
	    "'text','text':'ho'}]},{'role':'user','content':[{'type':'text','text':'more'"
	    "}]"
	    "},{'role':'assistant','content':[{'type':'text','text':'less'}]},{'role':"
	    "'user','content':[{'type':'text','text':'end'}]}]");
}
END_TEST

/* --- tools found later ---------------------------------------------------------------- */

START_TEST(what_a_search_found_goes_back)
{
	const struct value *requests, *body, *ai;

	model_bench_script(&bench,
	    "{'claude-haiku-4-5':[{'blocks':[{'type':'server_tool_use','id':'s1','name':"
	    "'tool_search_tool_bm25','input':{'query':'add'}},{'type':"
	    "'tool_search_tool_result','tool_use_id':'s1','content':{'type':"
	    "'tool_search_tool_search_result','tool_references':[{'type':'tool_reference'"
	    ","
	    "'tool_name':'f'}]}},{'type':'tool_use','id':'t1','name':'f','input':{'a':1}}"
	    "]}"
	    ",{'content':'Done.'}]}");
#define FINDS                                                                            \
	"{" MODEL                                                                        \
	",'tools':[{'name':'f','parameters':{'type':'object'}}],'middleware':[{"         \
	"'name':'provider_tool_search','settings':{'searchable_tools':['f']}}]}"
	body = model_bench_call(&bench, WIRE_STREAM, FINDS, "{}");
	ai = value_at(value_get(body, "messages"), 0);
	ck_assert_uint_eq(value_size(value_get(ai, "tool_calls")), 1);
	model_bench_call_with(&bench, FINDS,
	    model_bench_request(&bench, "messages",
		value_array_concat(bench.arena, value_array(bench.arena, &ai, 1),
		    literal(bench.arena,
			"[{'type':'tool','content':'2','tool_call_id':'t1'}]")),
		NULL, NULL));
	requests = model_bench_requests(&bench);
	ck_assert_str_eq(value_get_text(value_at(requests, 0), "anthropic-beta"),
	    "advanced-tool-use-2025-11-20");
	ck_assert_value(bench.arena,
	    value_get(value_get(value_at(requests, 0), "body"), "tools"),
	    "[{'name':'f','input_schema':{'type':'object'},'defer_loading':true},{'type':"
	    "'tool_search_tool_bm25_20251119','name':'tool_search_tool_bm25'}]");
	body = value_get(value_at(requests, 1), "body");
	ck_assert_value(bench.arena, value_get(body, "messages"),
	    "[{'role':'assistant','content':[{'type':'server_tool_use','id':'s1','name':"
	    "'tool_search_tool_bm25','input':{'query':'add'}},{'type':"
	    "'tool_search_tool_result','tool_use_id':'s1','content':{'type':"
	    "'tool_search_tool_search_result','tool_references':[{'type':'tool_reference'"
	    ","
	    "'tool_name':'f'}]}},{'type':'tool_use','id':'t1','name':'f','input':{'a':1}}"
	    "]},"
	    "{'role':'user','content':[{'type':'tool_result','tool_use_id':'t1','content'"
	    ":"
	    "'2'}]}]");
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

TCase *
tcase_anthropic(void)
{
	TCase *tcase = tcase_create("anthropic");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, a_call_is_asked_and_answered, 0, COUNT(ways));
	tcase_add_test(tcase, thinking_goes_back_with_its_signature);
	tcase_add_loop_test(tcase, an_answer_that_pauses_goes_on, 0, COUNT(ways));
	tcase_add_loop_test(tcase, a_pause_without_a_rest_ends, 0, COUNT(ways));
	tcase_add_test(tcase, the_text_is_shown_as_it_comes);
	tcase_add_test(tcase, what_every_call_begins_with_is_marked_for_the_cache);
	tcase_add_test(tcase, a_thread_that_is_known_is_sent_whole);
	tcase_add_test(tcase, what_a_search_found_goes_back);
	return tcase;
}
