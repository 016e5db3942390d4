#include <check.h>
#include <string.h>

/* Interface under test */
#include "../../worker-model/bedrock_request.h"

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
		.provider = "bedrock_converse",
		.model = model == NULL ? "us.anthropic.claude-x-v1:0" : model,
		.system_prompt = value_get_text(given, "system"),
		.messages = value_get(given, "messages"),
		.tools = value_get(given, "tools"),
		.tool_choice = value_get(given, "tool_choice"),
		.response_format = value_get(given, "response_format"),
		.settings = value_get(given, "settings"),
	};
}

static const struct value *
request_of(const char *given)
{
	struct ask ask = ask_from(literal(arena, given));
	const char *error = NULL;
	const struct value *body = bedrock_request(&ask, false, &error);

	ck_assert_msg(body != NULL, "%s", error);
	return body;
}

#define HI "'messages':[{'type':'human','content':'hi'}]"
#define SAYS_HI "'messages':[{'role':'user','content':[{'text':'hi'}]}]"
#define F "{'name':'f','description':'F.','parameters':{'type':'object'}}"
#define SENT_F                                                                           \
	"{'toolSpec':{'name':'f','description':'F.','inputSchema':{'json':{'type':"      \
	"'object'}}}}"

/* --- messages, to a claude that has a tool ------------------------------------------- */

static const struct {
	const char *given, *sent;
} messages[] = {
	{ "{'type':'system','content':'Be kind.'},{'type':'human','content':'a','id':'1'}"
	  ",{'type':'human','content':[{'type':'text','text':'b'},'c']},{'type':'ai',"
	  "'content':'d'}",
	    "[{'role':'user','content':[{'text':'a'},{'text':'b'},{'text':'c'}]},{'role':"
	    "'assistant','content':[{'text':'d'}]}]" },
	/* results are one turn, in front of what else a user says */
	{ "{'type':'ai','content':'let me','tool_calls':[{'name':'f','args':{'a':1},'id':"
	  "'c1'},{'name':'f','args':{},'id':'x|y'}],'invalid_tool_calls':[{'name':'g',"
	  "'args':'{oops','id':'c2'}]},{'type':'tool','content':'3','tool_call_id':'c1'}"
	  ",{'type':'human','content':'go on'},{'type':'tool','content':'','tool_call_id'"
	  ":'x|y'},{'type':'tool','content':'no','tool_call_id':'c2','status':'error'}",
	    "[{'role':'assistant','content':[{'text':'let me'},{'toolUse':{'toolUseId':"
	    "'c1','name':'f','input':{'a':1}}},{'toolUse':{'toolUseId':'x_y','name':'f',"
	    "'input':{}}},{'toolUse':{'toolUseId':'c2','name':'g','input':{}}}]},{'role':"
	    "'user','content':[{'toolResult':{'toolUseId':'c1','content':[{'text':'3'}],"
	    "'status':'success'}},{'toolResult':{'toolUseId':'x_y','content':[{'text':"
	    "'.'}],'status':'success'}},{'toolResult':{'toolUseId':'c2','content':[{"
	    "'text':'no'}],'status':'error'}},{'text':'go on'}]}]" },
	/* ids that are too long */
	{ "{'type':'ai','content':'','tool_calls':[{'name':'f','args':{},'id':"
	  "'x0123456789012345678901234567890123456789012345678901234567890123'}]},{"
	  "'type':'tool','content':'a','tool_call_id':"
	  "'x0123456789012345678901234567890123456789012345678901234567890123'}",
	    "[{'role':'assistant','content':[{'toolUse':{'toolUseId':"
	    "'0123456789012345678901234567890123456789012345678901234567890123','name':"
	    "'f','input':{}}}]},{'role':'user','content':[{'toolResult':{'toolUseId':"
	    "'0123456789012345678901234567890123456789012345678901234567890123',"
	    "'content':[{'text':'a'}],'status':'success'}}]}]" },
	/* pictures and documents */
	{ "{'type':'human','content':[{'type':'image','base64':'QUJD','mime_type':"
	  "'image/jpeg'},{'type':'image_url','image_url':{'url':"
	  "'data:image/png;base64,QUJE'}},{'type':'image','url':'s3://b/p.jpg'},{'type':"
	  "'image','source':{'type':'base64','media_type':'image/webp','data':'QUJF'}}]}",
	    "[{'role':'user','content':[{'image':{'format':'jpeg','source':{'bytes':"
	    "'QUJD'}}},{'image':{'format':'png','source':{'bytes':'QUJE'}}},{'image':{"
	    "'format':'jpeg','source':{'s3Location':{'uri':'s3://b/p.jpg'}}}},{'image':{"
	    "'format':'webp','source':{'bytes':'QUJF'}}}]}]" },
	{ "{'type':'human','content':[{'type':'file','base64':'QUJD','mime_type':"
	  "'application/pdf','filename':'My  report_1.pdf'},{'type':'file','data':'QQ=="
	  "','mime_type':'text/csv'},{'type':'file','data':'Qg==','mime_type':"
	  "'application/vnd.openxmlformats-officedocument.wordprocessingml.document',"
	  "'extras':{'name':'document'}},{'type':'text-plain','text':'words','title':"
	  "'(T) [1]'}]}",
	    "[{'role':'user','content':[{'document':{'format':'pdf','name':"
	    "'My report-1-pdf','source':{'bytes':'QUJD'}}},{'document':{'format':'csv',"
	    "'name':'document','source':{'bytes':'QQ=='}}},{'document':{'format':'docx',"
	    "'name':'document-3','source':{'bytes':'Qg=='}}},{'document':{'format':'txt',"
	    "'name':'(T) [1]','source':{'text':'words'}}}]}]" },
	/* the API's own words, as they are and as LangChain has them */
	{ "{'type':'human','content':[{'text':'a'},{'cachePoint':{'type':'default'}},{"
	  "'type':'video','video':{'format':'mp4'}},{'type':'document','document':{"
	  "'name':'n'}},{'type':'json','json':{'a':1}}]}",
	    "[{'role':'user','content':[{'text':'a'},{'cachePoint':{'type':'default'}},{"
	    "'video':{'format':'mp4'}},{'document':{'name':'n'}},{'json':{'a':1}}]}]" },
	{ "{'type':'tool','content':[{'type':'text','text':'x'},{'type':'image','base64':"
	  "'QUJD','mime_type':'image/png'}],'tool_call_id':'c2'}",
	    "[{'role':'user','content':[{'toolResult':{'toolUseId':'c2','content':[{"
	    "'text':'x'},{'image':{'format':'png','source':{'bytes':'QUJD'}}}],'status':"
	    "'success'}}]}]" },
	/* what was thought goes back signed; calls are as they are now */
	{ "{'type':'ai','content':[{'type':'reasoning_content','reasoning_content':{"
	  "'text':'hm','signature':'S=='}},{'type':'reasoning_content',"
	  "'reasoning_content':{'redacted_content':'R=='}},{'type':'reasoning_content',"
	  "'reasoning_content':{'text':'unsigned'}},{'type':'text','text':'so'},{'type':"
	  "'tool_use','id':'c1','name':'f','input':{'a':1}}],'tool_calls':[{'name':'g',"
	  "'args':{'b':2},'id':'c1'}],'response_metadata':{'model_name':'claude-y'}}",
	    "[{'role':'assistant','content':[{'reasoningContent':{'reasoningText':{"
	    "'text':'hm','signature':'S=='}}},{'reasoningContent':{'redactedContent':"
	    "'R=='}},{'text':'so'},{'toolUse':{'toolUseId':'c1','name':'g','input':{'b':"
	    "2}}}]}]" },
	{ "{'type':'ai','content':[{'type':'reasoning_content','reasoning_content':{"
	  "'text':'hm','signature':'S=='}},{'type':'text','text':'so'}],"
	  "'response_metadata':{'model_name':'amazon.nova-2'}}",
	    "[{'role':'assistant','content':[{'text':'so'}]}]" },
	{ "{'type':'ai','content':[{'type':'thinking','thinking':'hm','signature':'S'},{"
	  "'type':'redacted_thinking','data':'D'},{'type':'text','text':'so'}],"
	  "'response_metadata':{'model_name':'claude-y','model_provider':'anthropic'}}",
	    "[{'role':'assistant','content':[{'reasoningContent':{'reasoningText':{"
	    "'text':'hm','signature':'S'}}},{'reasoningContent':{'redactedContent':'D'}},"
	    "{'text':'so'}]}]" },
	/* what Bedrock's own tools did, and those of others */
	{ "{'type':'ai','content':[{'type':'server_tool_use','id':'s1','name':"
	  "'nova_grounding','input':{}},{'type':'server_tool_result',"
	  "'tool_use_id':'s1','content':[{'type':'json','json':{}},{'type':'x','x':1}],'"
	  "result_type':'t'},{'"
	  "type':'text','text':'a'}],'response_metadata':{"
	  "'model_provider':'bedrock_converse'}}",
	    "[{'role':'assistant','content':[{'toolUse':{'toolUseId':'s1','name':"
	    "'nova_grounding','input':{},'type':'server_tool_use'}},{'toolResult':{"
	    "'toolUseId':'s1','content':[{'json':{}},{'x':1}],'status':'success','type':'"
	    "t'}},{'"
	    "text':'a'}]}]" },
	{ "{'type':'ai','content':[{'type':'server_tool_use','id':'s1','name':"
	  "'web_search','input':{}},{'type':'web_search_tool_result','tool_use_id':'s1'"
	  "},{'type':'text','text':'a','citations':[{'url':'u'}]}],'response_metadata':{"
	  "'model_provider':'anthropic'}}",
	    "[{'role':'assistant','content':[{'text':'a'}]}]" },
};

START_TEST(messages_are_said_in_its_words)
{
	const struct value *body = request_of(
	    arena_printf(arena, "{'tools':[" F "],'messages':[%s]}", messages[_i].given));

	ck_assert_value(arena, value_get(body, "messages"), messages[_i].sent);
}
END_TEST

START_TEST(another_model_is_told_no_thoughts_of_claude)
{
	ck_assert_value(arena,
	    value_get(
		request_of(
		    "{'model':'amazon.nova-2','messages':[{'type':'human','content':"
		    "'hi'},{'type':'ai','content':[{'type':'thinking','thinking':'hm',"
		    "'signature':'S'},{'type':'text','text':'a'}]}]}"),
		"messages"),
	    "[{'role':'user','content':[{'text':'hi'}]},{'role':'assistant','content':[{"
	    "'text':'a'}]}]");
}
END_TEST

/* --- the whole --------------------------------------------------------------------- */

static const struct {
	const char *given, *sent;
} wholes[] = {
	{ "{'system':'Be kind.'," HI "}",
	    "{'system':[{'text':'Be kind.'}]," SAYS_HI "}" },
	{ "{" HI ",'settings':{'max_tokens':9,'temperature':0.5,'top_p':1,'stop':'x',"
	  "'service_tier':'flex','guardrail_config':{'guardrailIdentifier':'g'},"
	  "'timeout':3,'stream_usage':true,'region_name':'r','top_k':5,'thinking':{"
	  "'type':'disabled'},'additional_model_request_fields':{'top_k':6,'a':1},"
	  "'performanceConfig':{'latency':'optimized'},'requestMetadata':{'k':'v'},"
	  "'additional_model_response_field_paths':['/x'],'inferenceConfig':{"
	  "'maxTokens':1}}}",
	    "{" SAYS_HI ",'serviceTier':{'type':'flex'},'guardrailConfig':{"
	    "'guardrailIdentifier':'g'},'performanceConfig':{'latency':'optimized'},"
	    "'requestMetadata':{'k':'v'},'additionalModelResponseFieldPaths':['/x'],"
	    "'inferenceConfig':{'maxTokens':9,'temperature':0.5,'topP':1,"
	    "'stopSequences':['x']},'additionalModelRequestFields':{'top_k':6,'thinking':"
	    "{'type':'disabled'},'a':1}}" },
	/* tools */
	{ "{" HI ",'tools':[" F ",{'name':'g'},{'type':'function','function':{'name':'h',"
	  "'description':'','parameters':{'properties':{}},'strict':true}},{'systemTool':"
	  "{'name':'nova_grounding'}}]}",
	    "{" SAYS_HI ",'toolConfig':{'tools':[" SENT_F ",{'toolSpec':{'name':'g',"
	    "'description':'g','inputSchema':{'json':{'type':'object','properties':{}}}}}"
	    ",{'toolSpec':{'name':'h','description':'h','inputSchema':{'json':{"
	    "'properties':{},'type':'object'}},'strict':true}},{'systemTool':{'name':"
	    "'nova_grounding'}}]}}" },
	/* which is called */
	{ "{" HI ",'tools':[" F "],'tool_choice':'auto'}",
	    "{" SAYS_HI ",'toolConfig':{'tools':[" SENT_F
	    "],'toolChoice':{'auto':{}}}}" },
	{ "{" HI ",'tools':[" F "],'tool_choice':'required'}",
	    "{" SAYS_HI ",'toolConfig':{'tools':[" SENT_F "],'toolChoice':{'any':{}}}}" },
	{ "{" HI ",'tools':[" F "],'settings':{'tool_choice':'f'}}",
	    "{" SAYS_HI ",'toolConfig':{'tools':[" SENT_F "],'toolChoice':{'tool':{"
	    "'name':'f'}}}}" },
	{ "{" HI ",'tools':[" F "],'tool_choice':{'type':'function','function':{'name':"
	  "'f'}}}",
	    "{" SAYS_HI ",'toolConfig':{'tools':[" SENT_F "],'toolChoice':{'tool':{"
	    "'name':'f'}}}}" },
	{ "{" HI ",'tools':[" F "],'tool_choice':{'any':{}}}",
	    "{" SAYS_HI ",'toolConfig':{'tools':[" SENT_F "],'toolChoice':{'any':{}}}}" },
	{ "{" HI ",'tools':[" F "],'tool_choice':'none'}", "{" SAYS_HI "}" },
	{ "{" HI ",'tools':[" F "],'tool_choice':'any','settings':{"
	  "'additional_model_request_fields':{'thinking':{'type':'enabled'}}}}",
	    "{" SAYS_HI ",'toolConfig':{'tools':[" SENT_F "],'toolChoice':{'auto':{}}},"
	    "'additionalModelRequestFields':{'thinking':{'type':'enabled'}}}" },
	/* without tools calls are told */
	{ "{'messages':[{'type':'human','content':'hi'},{'type':'ai','content':'let me',"
	  "'tool_calls':[{'name':'f','args':{'a':1},'id':'c1'},{'name':'g','args':{},"
	  "'id':'c2'}]},{'type':'tool','content':'3\\u00004','tool_call_id':'c1'},{'type'"
	  ":'tool',"
	  "'content':[{'type':'text','text':'x\\u0000'},{'type':'image','base64':'QUJD',"
	  "'mime_type':'image/png'},{'type':'text','text':'y'}],'tool_call_id':'c2'}]}",
	    "{'messages':[{'role':'user','content':[{'text':'hi'}]},{'role':'assistant',"
	    "'content':[{'text':'let me'},{'text':"
	    "'[Called f with parameters: {\\u0022a\\u0022:1}]'},{'text':'[Called g]'}]},"
	    "{'role':'user','content':[{'text':'[Tool output: 3\\u00004]'},{'text':"
	    "'[Tool output: "
	    "x\\u0000y]'},{'image':{'format':'png','source':{'bytes':'QUJD'}}}]}]"
	    "}" },
	/* what is to be cached */
	{ "{'system':'s','messages':[{'type':'human','content':[{'type':'text','text':"
	  "'a','cache_control':{'type':'ephemeral','ttl':'1h'}}]},{'type':'ai',"
	  "'content':'b'},{'type':'human','content':'c'}],'tools':[{'name':'f',"
	  "'description':'F.','parameters':{'type':'object'},'extras':{'cache_control':{"
	  "'type':'ephemeral'}}}],'settings':{'cache_control':{'type':'ephemeral','ttl':"
	  "'5m'},'system_cache_control':{'type':'ephemeral'}}}",
	    "{'system':[{'text':'s'},{'cachePoint':{'type':'default'}}],'messages':[{"
	    "'role':'user','content':[{'text':'a'},{'cachePoint':{'type':'default','ttl':"
	    "'1h'}}]},{'role':'assistant','content':[{'text':'b'}]},{'role':'user',"
	    "'content':[{'text':'c'},{'cachePoint':{'type':'default'}}]}],'toolConfig':{"
	    "'tools':[" SENT_F ",{'cachePoint':{'type':'default'}}]}}" },
	/* structured output */
	{ "{" HI ",'response_format':{'strategy':'provider','schemas':[{'title':'W',"
	  "'type':'object','properties':{'c':{'type':'integer'}}}]}}",
	    "{" SAYS_HI ",'outputConfig':{'textFormat':{'type':'json_schema','structure':"
	    "{'jsonSchema':{'schema':'{\\u0022type\\u0022:\\u0022object\\u0022,"
	    "\\u0022title\\u0022:\\u0022W\\u0022,\\u0022properties\\u0022:{"
	    "\\u0022c\\u0022:{\\u0022type\\u0022:\\u0022integer\\u0022}},"
	    "\\u0022additionalProperties\\u0022:false}',"
	    "'name':'W'}}}}}" },
};

START_TEST(a_request_has_what_it_wants)
{
	ck_assert_value(arena, request_of(wholes[_i].given), wholes[_i].sent);
}
END_TEST

/* --- what cannot be said ----------------------------------------------------------- */

static const struct {
	const char *messages, *error;
} unsayable[] = {
	{ "{'type':'human','content':[{'type':'image','url':'https://x/y.png'}]}",
	    "pictures and documents as their bytes" },
	{ "{'type':'human','content':[{'type':'file','file_id':'f1'}]}",
	    "pictures and documents as their bytes" },
	{ "{'type':'human','content':[{'type':'of_tomorrow','x':1}]}",
	    "no block of type 'of_tomorrow'" },
	{ "{'type':'human','content':'a'},{'type':'system','content':'b'}",
	    "only in front" },
	{ "{'type':'remove','content':''}", "a model cannot be sent 'remove'" },
};

START_TEST(what_it_has_no_words_for_is_refused)
{
	struct ask ask = ask_from(literal(
	    arena, arena_printf(arena, "{'messages':[%s]}", unsayable[_i].messages)));
	const char *error = NULL;

	ck_assert_ptr_null(bedrock_request(&ask, true, &error));
	ck_assert_msg(strstr(error, unsayable[_i].error) != NULL, "%s", error);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

TCase *tcase_bedrock_request(void);

TCase *
tcase_bedrock_request(void)
{
	TCase *tcase = tcase_create("bedrock_request");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, messages_are_said_in_its_words, 0, COUNT(messages));
	tcase_add_test(tcase, another_model_is_told_no_thoughts_of_claude);
	tcase_add_loop_test(tcase, a_request_has_what_it_wants, 0, COUNT(wholes));
	tcase_add_loop_test(
	    tcase, what_it_has_no_words_for_is_refused, 0, COUNT(unsayable));
	return tcase;
}
