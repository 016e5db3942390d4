/* The Responses API: when it is asked, and what it is sent. What LangChain JS (@langchain/openai 1.6.0) was seen
 * to send is marked "JS". */
#include <check.h>
#include <string.h>

/* Interface under test */
#include "../../worker-model/responses_choice.h"
#include "../../worker-model/responses_request.h"

#include "json.h"
#include "literal.h"

static struct arena *arena;

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

static struct ask
ask_from(const struct value *given)
{
	const char *model = value_get_text(given, "model");

	return (struct ask){
		.arena = arena,
		.provider = "openai",
		.model = model == NULL ? "m" : model,
		.system_prompt = value_get_text(given, "system"),
		.messages = value_get(given, "messages"),
		.tools = value_get(given, "tools"),
		.tool_choice = value_get(given, "tool_choice"),
		.response_format = value_get(given, "response_format"),
		.settings = value_get(given, "settings"),
	};
}

static const struct value *
request_of(const struct value *given, bool stream)
{
	struct ask ask = ask_from(given);
	const char *error = NULL;
	const struct value *body = responses_request(&ask, stream, &error);

	ck_assert_msg(body != NULL, "%s", error);
	return body;
}

/* --- which API ------------------------------------------------------------------------- */

static const struct {
	const char *given;
	bool if_asked, as_fits, always;
} choices[] = {
	{ "{'model':'gpt-4o'}", false, false, true },
	{ "{'model':'gpt-4o','settings':{'use_responses_api':true}}", true, true, true },
	{ "{'model':'gpt-5-codex','settings':{'use_responses_api':false}}", false, false,
	    false },
	/* models: the first five JS */
	{ "{'model':'gpt-5.2-pro'}", false, true, true },
	{ "{'model':'gpt-5.4-pro-2026'}", false, true, true },
	{ "{'model':'gpt-5.5-pro'}", false, true, true },
	{ "{'model':'gpt-5.6-sol'}", false, true, true },
	{ "{'model':'gpt-5.1-codex-mini'}", false, true, true },
	{ "{'model':'codex-mini-latest'}", false, true, true },
	{ "{'model':'gpt-5-pro'}", false, true, true },
	{ "{'model':'gpt-5-pro-2025-10-06'}", false, true, true },
	{ "{'model':'o1-pro'}", false, true, true },
	{ "{'model':'o3-pro-2025-06-10'}", false, true, true },
	{ "{'model':'o4-mini-deep-research'}", false, true, true },
	{ "{'model':'computer-use-preview'}", false, true, true },
	{ "{'model':'gpt-5'}", false, false, true },
	{ "{'model':'gpt-5.2'}", false, false, true },
	{ "{'model':'o3-mini'}", false, false, true },
	{ "{'model':'ft:gpt-5-mini:my-products'}", false, false, true },
	/* tools */
	{ "{'tools':[{'name':'f'}]}", false, false, true },
	{ "{'tools':[{'type':'function','function':{'name':'f'}}]}", false, false, true },
	{ "{'tools':[{'name':'f'},{'type':'web_search'}]}", false, true, true },
	{ "{'tools':[{'type':'custom','name':'f'}]}", false, true, true },
	/* settings */
	{ "{'settings':{'include':['x']}}", false, true, true },
	{ "{'settings':{'text':{'verbosity':'low'}}}", false, true, true },
	{ "{'settings':{'truncation':'auto'}}", false, true, true },
	{ "{'settings':{'previous_response_id':'resp_1'}}", false, true, true },
	{ "{'settings':{'reasoning':{'summary':'auto'}}}", false, true, true },
	{ "{'settings':{'reasoning':{'effort':'low'}}}", false, true, true },
	{ "{'settings':{'prompt':{'id':'p'}}}", false, true, true },
	{ "{'settings':{'context_management':[]}}", false, true, true },
	{ "{'settings':{'conversation':'c'}}", false, true, true },
	{ "{'settings':{'max_tool_calls':3}}", false, true, true },
	{ "{'settings':{'model_kwargs':{'truncation':'auto'}}}", false, true, true },
	{ "{'settings':{'output_version':'responses/v1'}}", false, true, true },
	{ "{'settings':{'output_version':'v0'}}", false, false, true },
	{ "{'settings':{'use_previous_response_id':true}}", false, true, true },
	{ "{'settings':{'reasoning':null,'reasoning_effort':'low','store':false}}", false,
	    false, true },
};

START_TEST(which_api_is_asked_says_the_request)
{
	struct ask ask = ask_from(literal(arena, choices[_i].given));
	struct endpoint endpoint = { .responses = RESPONSES_IF_ASKED };

	ck_assert_int_eq(responses_chosen(&endpoint, &ask), choices[_i].if_asked);
	endpoint.responses = RESPONSES_AS_FITS;
	ck_assert_int_eq(responses_chosen(&endpoint, &ask), choices[_i].as_fits);
	endpoint.responses = RESPONSES_ALWAYS;
	ck_assert_int_eq(responses_chosen(&endpoint, &ask), choices[_i].always);
}
END_TEST

/* --- what the provider has -------------------------------------------------------------- */

static const struct {
	const char *messages, *settings, *sent; /* besides the model */
} previous[] = {
	{ "[{'type':'human','content':'a'},{'type':'ai','content':'b','response_metadata'"
	  ":"
	  "{'id':'resp_1','model_provider':'openai'}},{'type':'human','content':'c'}]",
	    "{'use_previous_response_id':true}",
	    "{'input':[{'type':'message','role':'user','content':'c'}],"
	    "'previous_response_id':'resp_1'}" },
	{ "[{'type':'ai','content':'b','response_metadata':{'id':'resp_1',"
	  "'model_provider':'openai'}},{'type':'ai','content':'c','response_metadata':{"
	  "'id':'resp_2','model_provider':'other'}}]",
	    "{'use_previous_response_id':true}",
	    "{'input':[{'type':'message','role':'assistant','content':'c'}],"
	    "'previous_response_id':'resp_1'}" },
	{ "[{'type':'ai','content':'b','response_metadata':{'id':'chatcmpl_1',"
	  "'model_provider':'openai'}}]",
	    "{'use_previous_response_id':true}",
	    "{'input':[{'type':'message','role':'assistant','content':'b'}]}" },
	{ "[{'type':'ai','content':'b','response_metadata':{'id':'resp_1',"
	  "'model_provider':'openai'}}]",
	    "{'use_previous_response_id':true,'store':false}",
	    "{'input':[{'type':'message','role':'assistant','content':'b'}],'store':false"
	    "}" },
	{ "[{'type':'ai','content':'b','response_metadata':{'id':'resp_1',"
	  "'model_provider':'openai'}}]",
	    "{'previous_response_id':'resp_0'}",
	    "{'input':[{'type':'message','role':'assistant','content':'b'}],"
	    "'previous_response_id':'resp_0'}" },
};

START_TEST(what_the_provider_has_kept_is_not_sent_again)
{
	struct written written = { 0 };
	struct ask ask =
	    ask_from(value_map(arena, "messages", literal(arena, previous[_i].messages),
		"settings", literal(arena, previous[_i].settings), NULL));
	const char *error = NULL;

	ck_assert_value(arena,
	    value_map_with(arena, responses_request(&ask, false, &error), "model", NULL),
	    previous[_i].sent);
	ask.written = &written;
	ck_assert_str_eq(
	    json_text(arena, value_map_with(arena, responses_request(&ask, false, &error),
				 "model", NULL)),
	    json_text(arena, literal(arena, previous[_i].sent)));
	written_release(&written);
}
END_TEST

/* --- everything else --------------------------------------------------------------------- */

#define ADD                                                                              \
	"{'name':'add','description':'Adds.','parameters':{'type':'object','properties'" \
	":"                                                                              \
	"{'a':{'type':'integer'}}},'return_direct':true}"
#define SENT_ADD                                                                         \
	"{'type':'function','name':'add','description':'Adds.','parameters':{'type':"    \
	"'object','properties':{'a':{'type':'integer'}}},'strict':null}"

/* Besides model and input. */
static const struct {
	const char *given, *sent;
} rows[] = {
	{ "{}", "{}" },
	/* JS */
	{ "{'tools':[" ADD "]}", "{'tools':[" SENT_ADD "]}" },
	{ "{'tools':[" ADD "],'tool_choice':'add'}",
	    "{'tools':[" SENT_ADD "],'tool_choice':{'type':'function','name':'add'}}" },
	{ "{'tools':[" ADD "],'tool_choice':{'type':'function','function':{'name':'add'}}"
	  "}",
	    "{'tools':[" SENT_ADD "],'tool_choice':{'type':'function','name':'add'}}" },
	{ "{'tools':[" ADD "],'tool_choice':{'type':'web_search'}}",
	    "{'tools':[" SENT_ADD "],'tool_choice':{'type':'web_search'}}" },
	{ "{'tools':[{'type':'function','function':{'name':'x','strict':true},"
	  "'defer_loading':true},{'type':'web_search'},{'type':'image_generation'}]}",
	    "{'tools':[{'type':'function','defer_loading':true,'name':'x','strict':true},"
	    "{'type':'web_search'},{'type':'image_generation'}]}" },
	{ "{'settings':{'temperature':0.5,'max_tokens':10,'top_p':0.25,'stop':['x'],"
	  "'user':'u','service_tier':'flex','frequency_penalty':1,'seed':1,"
	  "'model_kwargs':{'foo':1},'parallel_tool_calls':false}}",
	    "{'temperature':0.5,'max_output_tokens':10,'top_p':0.25,'user':'u',"
	    "'service_tier':'flex','foo':1}" },
	{ "{'model':'gpt-5','settings':{'reasoning':{'effort':'low','summary':'auto'},"
	  "'reasoning_effort':'high','verbosity':'low'}}",
	    "{'reasoning':{'effort':'low','summary':'auto'},'text':{'verbosity':'low'}"
	    "}" },
	{ "{'response_format':{'type':'json_schema','json_schema':{'name':'X',"
	  "'description':'D','schema':{'type':'object','properties':{}},'strict':true}}}",
	    "{'text':{'format':{'type':'json_schema','schema':{'type':'object',"
	    "'properties':{}},'description':'D','name':'X','strict':true}}}" },
	{ "{'settings':{'response_format':{'type':'json_object'}}}",
	    "{'text':{'format':{'type':'json_object'}}}" },
	/* what JS leaves out: any, auto, none; the inside of allowed_tools */
	{ "{'tools':[{'type':'t'}],'tool_choice':'any'}",
	    "{'tools':[{'type':'t'}],'tool_choice':'required'}" },
	{ "{'tools':[{'type':'t'}],'tool_choice':'auto'}",
	    "{'tools':[{'type':'t'}],'tool_choice':'auto'}" },
	{ "{'tools':[{'type':'t'}],'settings':{'tool_choice':'none'}}",
	    "{'tools':[{'type':'t'}],'tool_choice':'none'}" },
	{ "{'tools':[{'type':'t'}],'tool_choice':{'type':'allowed_tools','allowed_tools':"
	  "{'mode':'auto','tools':[]}}}",
	    "{'tools':[{'type':'t'}],'tool_choice':{'type':'allowed_tools','mode':'auto',"
	    "'tools':[]}}" },
	{ "{'tools':[{'type':'t'}],'tool_choice':{'type':'mcp','server_label':'s','name':"
	  "'n'}}",
	    "{'tools':[{'type':'t'}],'tool_choice':{'type':'mcp','server_label':'s',"
	    "'name':'n'}}" },
	{ "{'tools':[{'type':'t'}],'tool_choice':{'type':'tool','name':'n'}}",
	    "{'tools':[{'type':'t'}],'tool_choice':{'type':'function','name':'n'}}" },
	{ "{'tool_choice':'any'}", "{}" },
	{ "{'tools':[{'type':'t'}],'settings':{'parallel_tool_calls':false}}",
	    "{'tools':[{'type':'t'}],'parallel_tool_calls':false}" },
	{ "{'tools':[{'name':'bare','extras':{'defer_loading':true}},{'type':'custom',"
	  "'name':'run','format':{'type':'text'}},{'type':'custom','custom':{'name':'run'"
	  ",'format':{'type':'grammar','grammar':{'definition':'d','syntax':'lark'}}}}]}",
	    "{'tools':[{'type':'function','name':'bare','parameters':{'type':'object',"
	    "'properties':{}},'defer_loading':true,'strict':null},{'type':'custom','name'"
	    ":'run','format':{'type':'text'}},{'type':'custom','name':'run','format':{"
	    "'type':'grammar','definition':'d','syntax':'lark'}}]}" },
	/* the chat completions' words for what is here elsewhere */
	{ "{'settings':{'max_completion_tokens':7,'reasoning_effort':'low',"
	  "'stop_sequences':['x'],'logprobs':true,'stream_options':{},'n':2,'input':'x'}"
	  "}",
	    "{'max_output_tokens':7,'reasoning':{'effort':'low'}}" },
	{ "{'settings':{'text':{'verbosity':'high'},'verbosity':'low'},'response_format':"
	  "{'strategy':'provider','schemas':[{'title':'The W','type':'object'}],'strict':"
	  "true}}",
	    "{'text':{'verbosity':'high','format':{'name':'The_W','schema':{'title':"
	    "'The W','type':'object'},'strict':true,'type':'json_schema'}}}" },
	{ "{'response_format':{'strategy':'tool','schemas':[{'title':'W'}]}}", "{}" },
	{ "{'response_format':{'type':'text'},'settings':{'response_format':{'type':"
	  "'json_object'}}}",
	    "{'text':{'format':{'type':'text'}}}" },
	/* how it is asked is not said to it */
	{ "{'settings':{'use_responses_api':true,'output_version':'responses/v1',"
	  "'timeout':5,'api_key':'k','cache_control':{},'truncation':'auto'}}",
	    "{'truncation':'auto'}" },
	/* thoughts that go back */
	{ "{'model':'gpt-5','settings':{'store':false}}",
	    "{'store':false,'include':['reasoning.encrypted_content']}" },
	{ "{'model':'o3','settings':{'store':false,'include':["
	  "'message.output_text.logprobs']}}",
	    "{'store':false,'include':['message.output_text.logprobs',"
	    "'reasoning.encrypted_content']}" },
	{ "{'model':'o3','settings':{'extra_body':{'store':false},'include':["
	  "'reasoning.encrypted_content']}}",
	    "{'store':false,'include':['reasoning.encrypted_content']}" },
	{ "{'model':'gpt-oss','settings':{'store':false,'reasoning':{'effort':'low'}}}",
	    "{'store':false,'reasoning':{'effort':'low'},'include':["
	    "'reasoning.encrypted_content']}" },
	{ "{'model':'gpt-4o','settings':{'store':false}}", "{'store':false}" },
	{ "{'model':'gpt-5','settings':{'store':true}}", "{'store':true}" },
};

START_TEST(tools_choice_format_and_settings_go_out_as_this_api_has_them)
{
	const struct value *body = request_of(literal(arena, rows[_i].given), false);

	ck_assert_uint_eq(value_size(value_get(body, "input")), 0);
	body = value_map_with(arena, body, "model", NULL);
	ck_assert_value(arena, value_map_with(arena, body, "input", NULL), rows[_i].sent);
}
END_TEST

START_TEST(a_stream_is_asked_for)
{
	ck_assert_value(arena,
	    request_of(literal(arena, "{'model':'gpt-4o','tools':[{'type':"
				      "'image_generation'},{'type':'image_generation',"
				      "'partial_images':2}]}"),
		true),
	    "{'model':'gpt-4o','input':[],'tools':[{'type':'image_generation',"
	    "'partial_images':1},{'type':'image_generation','partial_images':2}],"
	    "'stream':true}");
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

TCase *tcase_responses_request(void);

TCase *
tcase_responses_request(void)
{
	TCase *tcase = tcase_create("responses_request");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, which_api_is_asked_says_the_request, 0, COUNT(choices));
	tcase_add_loop_test(
	    tcase, what_the_provider_has_kept_is_not_sent_again, 0, COUNT(previous));
	tcase_add_loop_test(tcase,
	    tools_choice_format_and_settings_go_out_as_this_api_has_them, 0, COUNT(rows));
	tcase_add_test(tcase, a_stream_is_asked_for);
	return tcase;
}
