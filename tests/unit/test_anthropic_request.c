#include <check.h>

/* Interface under test */
#include "../../worker-model/anthropic_request.h"

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
	return (struct ask){
		.arena = arena,
		.provider = "anthropic",
		.model = "m",
		.system_prompt = value_get_text(given, "system"),
		.messages = value_get(given, "messages"),
		.tools = value_get(given, "tools"),
		.tool_choice = value_get(given, "tool_choice"),
		.response_format = value_get(given, "response_format"),
		.settings = value_get(given, "settings"),
		.max_output_tokens = value_get_int(given, "max", 0),
	};
}

static const struct value *
request_of(const char *given)
{
	struct ask ask = ask_from(literal(arena, given));
	const char *error = NULL;
	const struct value *body = anthropic_request(&ask, false, &error);

	ck_assert_msg(body != NULL, "%s", error);
	return body;
}

/* --- messages ---------------------------------------------------------------------- */

static const struct {
	const char *given, *sent;
} messages[] = {
	{ "{'type':'human','content':'hi','id':'1','name':'Ann'}",
	    "[{'role':'user','content':[{'type':'text','text':'hi'}]}]" },
	{ "{'type':'human','content':'a'},{'type':'human','content':'b'},{'type':'ai','"
	  "content':'c'},{'type':'ai','content':'d'}",
	    "[{'role':'user','content':[{'type':'text','text':'a'},{'type':'text','text':"
	    "'b'}]},{'role':'assistant','content':[{'type':'text','text':'c'},{'type':'"
	    "text','text':'d'}]}]" },
	{ "{'type':'human','content':'a'},{'type':'ai','content':''},{'type':'human','"
	  "content':' \\n'},{'type':'human','content':'b'}",
	    "[{'role':'user','content':[{'type':'text','text':'a'},{'type':'text','text':"
	    "'b'}]}]" },
	{ "{'type':'ai','content':'let "
	  "me','tool_calls':[{'name':'f','args':{'a':1},'id':'c1','type':'tool_call'}],'"
	  "invalid_tool_calls':[{'name':'g','args':'{oops','id':'c2','error':'e'}]},{'"
	  "type':'tool','content':'3','tool_call_id':'c1','name':'f','status':'success','"
	  "artifact':{'secret':1}},{'type':'tool','content':'no','tool_call_id':'c2','"
	  "status':'error'},{'type':'human','content':'go on'}",
	    "[{'role':'assistant','content':[{'type':'text','text':'let "
	    "me'},{'type':'tool_use','id':'c1','name':'f','input':{'a':1}},{'type':'tool_"
	    "use','id':'c2','name':'g','input':{}}]},{'role':'user','content':[{'type':'"
	    "tool_result','tool_use_id':'c1','content':'3'},{'type':'tool_result','tool_"
	    "use_id':'c2','content':'no','is_error':true},{'type':'text','text':'go "
	    "on'}]}]" },
	{ "{'type':'ai','content':'','tool_calls':[{'name':'f','args':{},'id':'functions."
	  "f:0'}]},{'type':'tool','content':'','tool_call_id':'functions.f:0'}",
	    "[{'role':'assistant','content':[{'type':'tool_use','id':'functions_f_0','"
	    "name':'f','input':{}}]},{'role':'user','content':[{'type':'tool_result','"
	    "tool_use_id':'functions_f_0'}]}]" },
	{ "{'type':'tool','content':{'rows':[1,2]},'tool_call_id':'c1'},{'type':'tool','"
	  "content':[{'type':'text','text':'x'},{'type':'image','base64':'QUJD','mime_"
	  "type':'image/jpeg'}],'tool_call_id':'c2'}",
	    "[{'role':'user','content':[{'type':'tool_result','tool_use_id':'c1','"
	    "content':[{'type':'text','text':'{\\'rows\\':[1,2]}'}]},{'type':'tool_"
	    "result','tool_use_id':'c2','content':[{'type':'text','text':'x'},{'type':'"
	    "image','source':{'type':'base64','media_type':'image/"
	    "jpeg','data':'QUJD'}}]}]}]" },
	{ "{'type':'human','content':['what?',{'type':'image','url':'https://x/"
	  "y.png'},{'type':'image_url','image_url':{'url':'data:image/"
	  "png;base64,QUJD'}},{'type':'image_url','image_url':{'url':'https://"
	  "x'}},{'type':'image','file_id':'f1'},{'type':'image','source':{'type':'url','"
	  "url':'u'}}]}",
	    "[{'role':'user','content':[{'type':'text','text':'what?'},{'type':'image','"
	    "source':{'type':'url','url':'https://x/"
	    "y.png'}},{'type':'image','source':{'type':'base64','media_type':'image/"
	    "png','data':'QUJD'}},{'type':'image','source':{'type':'url','url':'https://"
	    "x'}},{'type':'image','source':{'type':'file','file_id':'f1'}},{'type':'"
	    "image','source':{'type':'url','url':'u'}}]}]" },
	{ "{'type':'human','content':[{'type':'file','base64':'QUJD','mime_type':'"
	  "application/"
	  "pdf','title':'T'},{'type':'text-plain','text':'words'},{'type':'text','text':'"
	  "a','cache_control':{'type':'ephemeral'}}]}",
	    "[{'role':'user','content':[{'type':'document','source':{'type':'base64','"
	    "media_type':'application/"
	    "pdf','data':'QUJD'},'title':'T'},{'type':'document','source':{'type':'text',"
	    "'media_type':'text/"
	    "plain','data':'words'}},{'type':'text','text':'a','cache_control':{'type':'"
	    "ephemeral'}}]}]" },
	{ "{'type':'ai','content':[{'type':'thinking','thinking':'hm','signature':'S=='},"
	  "{'type':'redacted_thinking','data':'D'},{'type':'text','text':'so'},{'type':'"
	  "tool_use','id':'c1','name':'f','input':{'a':1}},{'type':'tool_use','id':'c9','"
	  "name':'f','input':{}},{'type':'reasoning','reasoning':'x'},{'type':'thinking',"
	  "'thinking':'unsigned'}],'tool_calls':[{'name':'g','args':{'b':2},'id':'c1'},{'"
	  "name':'h','args':{},'id':'c3'}]}",
	    "[{'role':'assistant','content':[{'type':'thinking','thinking':'hm','"
	    "signature':'S=='},{'type':'redacted_thinking','data':'D'},{'type':'text','"
	    "text':'so'},{'type':'tool_use','id':'c1','name':'g','input':{'b':2}},{'type'"
	    ":'tool_use','id':'c3','name':'h','input':{}}]}]" },
	{ "{'type':'ai','content':[{'type':'server_tool_use','id':'s1','name':'tool_"
	  "search_tool_bm25','input':{'query':'q'}},{'type':'tool_search_tool_result','"
	  "tool_use_id':'s1','content':{'type':'x'}},{'type':'text','text':'a','"
	  "citations':[{'type':'c'}]}]}",
	    "[{'role':'assistant','content':[{'type':'server_tool_use','id':'s1','name':'"
	    "tool_search_tool_bm25','input':{'query':'q'}},{'type':'tool_search_tool_"
	    "result','tool_use_id':'s1','content':{'type':'x'}},{'type':'text','text':'a'"
	    ",'citations':[{'type':'c'}]}]}]" },
	{ "{'type':'ai','content':[{'type':'thinking','thinking':'hm','signature':'S'},{'"
	  "type':'tool_use','id':'c1','name':'f','input':{}},{'type':'tool_use','id':'c1'"
	  ",'name':'f','input':{}}],'tool_calls':[{'name':'f','args':{},'id':'c1'},{'"
	  "name':'f','args':{},'id':'c2'}]}",
	    "[{'role':'assistant','content':[{'type':'thinking','thinking':'hm','"
	    "signature':'S'},{'type':'tool_use','id':'c1','name':'f','input':{}},{'type':"
	    "'tool_use','id':'c2','name':'f','input':{}}]}]" },
	/* a name that the model made up */
	{ "{'type':'ai','content':'','tool_calls':[{'name':'web.search','args':{},'id':"
	  "'c1'}]}",
	    "[{'role':'assistant','content':[{'type':'tool_use','id':'c1','name':'web_"
	    "search','input':{}}]}]" },
	/* an answer with nothing in it; an error has to say something */
	{ "{'type':'ai','content':'','tool_calls':[{'name':'f','args':{},'id':'c1'},{"
	  "'name':'f','args':{},'id':'c2'}]},{'type':'tool','content':' \\n','tool_call_"
	  "id':'c1'},{'type':'tool','content':'','tool_call_id':'c2','status':'error'}",
	    "[{'role':'assistant','content':[{'type':'tool_use','id':'c1','name':'f','"
	    "input':{}},{'type':'tool_use','id':'c2','name':'f','input':{}}]},{'role':'"
	    "user','content':[{'type':'tool_result','tool_use_id':'c1'},{'type':'tool_"
	    "result','tool_use_id':'c2','content':'error','is_error':true}]}]" },
	/* somebody spoke before the tools had answered */
	{ "{'type':'ai','content':'','tool_calls':[{'name':'f','args':{},'id':'c1'},{"
	  "'name':'f','args':{},'id':'c2'}]},{'type':'tool','content':'1','tool_call_id'"
	  ":'c1'},{'type':'human','content':'quick'},{'type':'tool','content':'2','tool_"
	  "call_id':'c2'},{'type':'human','content':'so?'}",
	    "[{'role':'assistant','content':[{'type':'tool_use','id':'c1','name':'f','"
	    "input':{}},{'type':'tool_use','id':'c2','name':'f','input':{}}]},{'role':'"
	    "user','content':[{'type':'tool_result','tool_use_id':'c1','content':'1'},{'"
	    "type':'tool_result','tool_use_id':'c2','content':'2'},{'type':'text','text'"
	    ":'quick'},{'type':'text','text':'so?'}]}]" },
	/* a result too many, and one without a call: the API says what it thinks of them */
	{ "{'type':'ai','content':'','tool_calls':[{'name':'f','args':{},'id':'c1'}]},{'"
	  "type':'tool','content':'1','tool_call_id':'c1'},{'type':'tool','content':'2','"
	  "tool_call_id':'c1'},{'type':'tool','content':'3','tool_call_id':'c2'}",
	    "[{'role':'assistant','content':[{'type':'tool_use','id':'c1','name':'f','"
	    "input':{}}]},{'role':'user','content':[{'type':'tool_result','tool_use_id':"
	    "'c1','content':'1'},{'type':'tool_result','tool_use_id':'c1','content':'2'},"
	    "{'type':'tool_result','tool_use_id':'c2','content':'3'}]}]" },
	/* what the model is to go on with does not end with blanks */
	{ "{'type':'human','content':'a '},{'type':'ai','content':'b '},{'type':'human',"
	  "'content':'c '},{'type':'ai','content':'d: \\n'}",
	    "[{'role':'user','content':[{'type':'text','text':'a '}]},{'role':'assistant'"
	    ",'content':[{'type':'text','text':'b '}]},{'role':'user','content':[{'type':"
	    "'text','text':'c '}]},{'role':'assistant','content':[{'type':'text','text':'"
	    "d:'}]}]" },
	{ "", "[]" },
};

START_TEST(messages_go_out_in_turns)
{
	const struct value *body =
	    request_of(arena_printf(arena, "{'messages':[%s]}", messages[_i].given));

	ck_assert_value(arena, value_get(body, "messages"), messages[_i].sent);
}
END_TEST

START_TEST(system_messages_in_front_are_part_of_the_prompt)
{
	const struct value *body = request_of(
	    "{'system':'A.','messages':[{'type':'system','content':'B.'},{'type':'system'"
	    ","
	    "'content':[{'type':'text','text':'C.'}]},{'type':'human','content':'hi'}]}");

	ck_assert_value(arena, value_get(body, "system"),
	    "[{'type':'text','text':'A.'},{'type':'text','text':'B.'},{'type':'text',"
	    "'text':'C.'}]");
	ck_assert_uint_eq(value_size(value_get(body, "messages")), 1);
}
END_TEST

static const struct {
	const char *second, *error;
} refused[] = {
	{ "{'type':'remove'}", "messages[1].type: a model cannot be sent 'remove'" },
	{ "{'type':'system','content':'late'}",
	    "messages[1]: this provider takes a system message only in front of all "
	    "others" },
};

START_TEST(a_message_that_cannot_be_sent_is_refused_by_its_place)
{
	struct ask ask = ask_from(literal(
	    arena, arena_printf(arena, "{'messages':[{'type':'human','content':'a'},%s]}",
		       refused[_i].second)));
	const char *error = NULL;

	ck_assert_ptr_null(anthropic_request(&ask, false, &error));
	ck_assert_str_eq(error, refused[_i].error);
}
END_TEST

/* --- everything else --------------------------------------------------------------- */

/* Besides model and messages. */
static const struct {
	const char *given, *sent;
} rows[] = {
	{ "{}", "{'max_tokens':4096}" },
	{ "{'max':64000}", "{'max_tokens':64000}" },
	{ "{'max':64000,'settings':{'max_tokens':10}}", "{'max_tokens':10}" },
	{ "{'settings':{'max_completion_tokens':11}}", "{'max_tokens':11}" },
	{ "{'system':'Be kind.'}",
	    "{'max_tokens':4096,'system':[{'type':'text','text':'Be kind.'}]}" },
	{ "{'system':' \\n'}", "{'max_tokens':4096}" },
	{ "{'tools':[]}", "{'max_tokens':4096}" },
	{ "{'tools':[{'name':'f','description':'F.','parameters':{'type':'object','"
	  "properties':{'a':{'type':'number'}}},'return_direct':true,'timeout_ms':5}]}",
	    "{'max_tokens':4096,'tools':[{'name':'f','description':'F.','input_schema':{'"
	    "type':'object','properties':{'a':{'type':'number'}}}}]}" },
	{ "{'tools':[{'name':'bare','description':''}]}",
	    "{'max_tokens':4096,'tools':[{'name':'bare','input_schema':{'type':'object','"
	    "properties':{}}}]}" },
	{ "{'tools':[{'type':'function','function':{'name':'x','parameters':{'properties'"
	  ":{}}}},{'type':'web_search_20250305','name':'web_search','max_uses':2},{'name'"
	  ":'y','input_schema':{'type':'object'}}]}",
	    "{'max_tokens':4096,'tools':[{'name':'x','input_schema':{'properties':{},'"
	    "type':'object'}},{'type':'web_search_20250305','name':'web_search','max_"
	    "uses':2},{'name':'y','input_schema':{'type':'object'}}]}" },
	{ "{'tools':[{'name':'f','parameters':{'type':'object'},'strict':true,'extras':{'"
	  "defer_loading':true,'cache_control':{'type':'ephemeral'}}}]}",
	    "{'max_tokens':4096,'tools':[{'name':'f','input_schema':{'type':'object'},'"
	    "strict':true,'defer_loading':true,'cache_control':{'type':'ephemeral'}}]}" },
	{ "{'tools':[{'name':'f','parameters':{'type':'object'}}],'tool_choice':'any'}",
	    "{'max_tokens':4096,'tools':[{'name':'f','input_schema':{'type':'object'}}],'"
	    "tool_choice':{'type':'any'}}" },
	{ "{'tools':[{'name':'f','parameters':{'type':'object'}}],'tool_choice':'"
	  "required'}",
	    "{'max_tokens':4096,'tools':[{'name':'f','input_schema':{'type':'object'}}],'"
	    "tool_choice':{'type':'any'}}" },
	{ "{'tools':[{'name':'f','parameters':{'type':'object'}}],'tool_choice':true}",
	    "{'max_tokens':4096,'tools':[{'name':'f','input_schema':{'type':'object'}}],'"
	    "tool_choice':{'type':'any'}}" },
	{ "{'tools':[{'name':'f','parameters':{'type':'object'}}],'tool_choice':'auto'}",
	    "{'max_tokens':4096,'tools':[{'name':'f','input_schema':{'type':'object'}}],'"
	    "tool_choice':{'type':'auto'}}" },
	{ "{'tools':[{'name':'f','parameters':{'type':'object'}}],'tool_choice':'none'}",
	    "{'max_tokens':4096,'tools':[{'name':'f','input_schema':{'type':'object'}}],'"
	    "tool_choice':{'type':'none'}}" },
	{ "{'tools':[{'name':'f','parameters':{'type':'object'}}],'tool_choice':'f'}",
	    "{'max_tokens':4096,'tools':[{'name':'f','input_schema':{'type':'object'}}],'"
	    "tool_choice':{'type':'tool','name':'f'}}" },
	{ "{'tools':[{'name':'f','parameters':{'type':'object'}}],'tool_choice':{'type':'"
	  "function','function':{'name':'f'}}}",
	    "{'max_tokens':4096,'tools':[{'name':'f','input_schema':{'type':'object'}}],'"
	    "tool_choice':{'type':'tool','name':'f'}}" },
	{ "{'tools':[{'name':'f','parameters':{'type':'object'}}],'tool_choice':{'type':'"
	  "any','disable_parallel_tool_use':true}}",
	    "{'max_tokens':4096,'tools':[{'name':'f','input_schema':{'type':'object'}}],'"
	    "tool_choice':{'type':'any','disable_parallel_tool_use':true}}" },
	{ "{'tools':[{'name':'f','parameters':{'type':'object'}}],'settings':{'tool_"
	  "choice':'f','disable_parallel_tool_use':true}}",
	    "{'max_tokens':4096,'tools':[{'name':'f','input_schema':{'type':'object'}}],'"
	    "tool_choice':{'type':'tool','name':'f','disable_parallel_tool_use':true}}" },
	{ "{'tools':[{'name':'f','parameters':{'type':'object'}}],'settings':{'parallel_"
	  "tool_calls':false}}",
	    "{'max_tokens':4096,'tools':[{'name':'f','input_schema':{'type':'object'}}],'"
	    "tool_choice':{'type':'auto','disable_parallel_tool_use':true}}" },
	{ "{'tools':[{'name':'f','parameters':{'type':'object'}}],'tool_choice':'none','"
	  "settings':{'parallel_tool_calls':false}}",
	    "{'max_tokens':4096,'tools':[{'name':'f','input_schema':{'type':'object'}}],'"
	    "tool_choice':{'type':'none'}}" },
	{ "{'tool_choice':'any'}", "{'max_tokens':4096}" },
	/* who thinks is not forced */
	{ "{'tools':[{'name':'f','parameters':{'type':'object'}}],'tool_choice':'any','"
	  "settings':{'thinking':{'type':'enabled','budget_tokens':2000}}}",
	    "{'max_tokens':4096,'tools':[{'name':'f','input_schema':{'type':'object'}}],'"
	    "tool_choice':{'type':'auto'},'thinking':{'type':'enabled','budget_tokens':"
	    "2000}}" },
	{ "{'tools':[{'name':'f','parameters':{'type':'object'}}],'tool_choice':'f','"
	  "settings':{'parallel_tool_calls':false,'extra_body':{'thinking':{'type':"
	  "'adaptive'}}}}",
	    "{'max_tokens':4096,'tools':[{'name':'f','input_schema':{'type':'object'}}],'"
	    "tool_choice':{'type':'auto','disable_parallel_tool_use':true},'thinking':{'"
	    "type':'adaptive'}}" },
	{ "{'tools':[{'name':'f','parameters':{'type':'object'}}],'tool_choice':'any','"
	  "settings':{'thinking':{'type':'disabled'}}}",
	    "{'max_tokens':4096,'tools':[{'name':'f','input_schema':{'type':'object'}}],'"
	    "tool_choice':{'type':'any'},'thinking':{'type':'disabled'}}" },
	{ "{'settings':{'temperature':0.5,'top_p':0.25,'top_k':4,'stop':'END','thinking':"
	  "{'type':'enabled','budget_tokens':2000},'metadata':{'user_id':'u'},'service_"
	  "tier':'auto','something_new':1}}",
	    "{'max_tokens':4096,'temperature':0.5,'top_p':0.25,'top_k':4,'stop_sequences'"
	    ":['END'],'thinking':{'type':'enabled','budget_tokens':2000},'metadata':{'"
	    "user_id':'u'},'service_tier':'auto','something_new':1}" },
	{ "{'settings':{'stop_sequences':['a','b'],'timeout':5,'max_retries':3,'api_key':"
	  "'k','base_url':'u','n':4,'stream':true,'messages':[],'system':'s','model':'"
	  "other','betas':['b'],'stream_usage':true,'temperature':null}}",
	    "{'max_tokens':4096,'stop_sequences':['a','b']}" },
	{ "{'settings':{'model_kwargs':{'top_k':2,'model':'other'},'extra_body':{'"
	  "inference_geo':'us'}}}",
	    "{'max_tokens':4096,'top_k':2,'inference_geo':'us'}" },
	{ "{'response_format':{'strategy':'tool','schemas':[{'title':'W'}]}}",
	    "{'max_tokens':4096}" },
	{ "{'response_format':{'strategy':'provider','schemas':[{'title':'W','type':'"
	  "object','properties':{'n':{'type':'integer','minimum':1}},'required':['n']}]},"
	  "'settings':{'output_config':{'effort':'low'}}}",
	    "{'max_tokens':4096,'output_config':{'effort':'low','format':{'type':'json_"
	    "schema','schema':{'title':'W','type':'object','properties':{'n':{'type':'"
	    "integer'}},'required':['n'],'additionalProperties':false}}}}" },
	{ "{'response_format':{'type':'json_schema','schema':{'type':'object'}}}",
	    "{'max_tokens':4096,'output_config':{'format':{'type':'json_schema','schema':"
	    "{'type':'object'}}}}" },
	{ "{'system':'S','settings':{'cache_control':{'type':'ephemeral','ttl':'5m'},'"
	  "system_cache_control':{'type':'ephemeral','ttl':'5m'}}}",
	    "{'max_tokens':4096,'system':[{'type':'text','text':'S','cache_control':{'"
	    "type':'ephemeral','ttl':'5m'}}]}" },
	{ "{'settings':{'system_cache_control':{'type':'ephemeral'}}}",
	    "{'max_tokens':4096}" },
};

START_TEST(tools_choice_format_and_settings_go_out_as_the_provider_has_them)
{
	const struct value *body = request_of(rows[_i].given);

	ck_assert_str_eq(value_get_text(body, "model"), "m");
	ck_assert_uint_eq(value_size(value_get(body, "messages")), 0);
	body = value_map_with(arena, body, "model", NULL);
	ck_assert_value(
	    arena, value_map_with(arena, body, "messages", NULL), rows[_i].sent);
}
END_TEST

START_TEST(a_stream_is_asked_for)
{
	struct ask ask = ask_from(literal(arena, "{'settings':{'stream':false}}"));
	const char *error = NULL;

	ck_assert_value(arena, anthropic_request(&ask, true, &error),
	    "{'model':'m','max_tokens':4096,'messages':[],'stream':true}");
}
END_TEST

/* Thinking may not be marked: what stands before it is. */
static const struct {
	const char *messages, *sent;
} cached[] = {
	{ "{'type':'human','content':'a'},{'type':'ai','content':'b'},{'type':'human',"
	  "'content':['c','d']}",
	    "[{'role':'user','content':[{'type':'text','text':'a'}]},{'role':'assistant',"
	    "'content':[{'type':'text','text':'b'}]},{'role':'user','content':[{'type':"
	    "'text','text':'c'},{'type':'text','text':'d','cache_control':{'type':"
	    "'ephemeral'}}]}]" },
	{ "{'type':'ai','content':'','tool_calls':[{'name':'f','args':{},'id':'c1'}]},"
	  "{'type':'tool','content':'x','tool_call_id':'c1'}",
	    "[{'role':'assistant','content':[{'type':'tool_use','id':'c1','name':'f',"
	    "'input':{}}]},{'role':'user','content':[{'type':'tool_result','tool_use_id':"
	    "'c1','content':'x','cache_control':{'type':'ephemeral'}}]}]" },
	{ "{'type':'human','content':'a'},{'type':'ai','content':[{'type':'thinking',"
	  "'thinking':'hm','signature':'S'}]}",
	    "[{'role':'user','content':[{'type':'text','text':'a','cache_control':{'type'"
	    ":"
	    "'ephemeral'}}]},{'role':'assistant','content':[{'type':'thinking','thinking'"
	    ":"
	    "'hm','signature':'S'}]}]" },
};

START_TEST(the_tail_of_the_messages_is_marked_for_the_cache)
{
	const struct value *body = request_of(arena_printf(arena,
	    "{'messages':[%s],'settings':{'cache_control':{'type':'ephemeral'}}}",
	    cached[_i].messages));

	ck_assert_value(arena, value_get(body, "messages"), cached[_i].sent);
}
END_TEST

#define MARKED(text)                                                                     \
	"{'type':'text','text':'" text "','cache_control':{'type':'ephemeral'}}"
#define SAYS(role, blocks) "{'role':'" role "','content':[" blocks "]}"

/* What is given is sent, but for the oldest marks of the messages, one of them inside of a result; then of
 * the system prompt. */
static const struct {
	const char *given, *messages, *system;
} marked[] = {
	{ "{'messages':[{'type':'human','content':[" MARKED("a") "," MARKED(
	      "b") "," MARKED("c") "," MARKED("d") "]}]}",
	    SAYS("user", MARKED("a") "," MARKED("b") "," MARKED("c") "," MARKED("d")),
	    "null" },
	{ "{'system':'S','settings':{'cache_control':{'type':'ephemeral'},'system_"
	  "cache_"
	  "control':{'type':'ephemeral'}},'messages':[{'type':'human','content':["
	  "" MARKED("a") "]},{'type':'ai','content':'','tool_calls':[{'name':'f','args':"
			 "{},'id':'c'}]},{'type':'tool','tool_call_id':'c','content':"
			 "[" MARKED("b") "," MARKED(
			     "c") "]},{'type':'human','content':[" MARKED("d") ",'e']}]}",
	    SAYS("user", "{'type':'text','text':'a'}") "," SAYS("assistant",
		"{'type':'tool_use','id':'c','name':'f','input':{}}") "," SAYS("user",
		"{'type':'tool_result','tool_use_id':'c','content':[{'type':'text','"
		"text'"
		":'b'}," MARKED("c") "]}," MARKED("d") "," MARKED("e")),
	    "[" MARKED("S") "]" },
	{ "{'messages':[{'type':'system','content':[" MARKED("a") "," MARKED(
	      "b") "," MARKED("c") "," MARKED("d") "," MARKED("e") "]},{'type':'"
								   "human','content':"
								   "[" MARKED("f") "]"
										   "}"
										   "]"
										   "}",
	    SAYS("user", "{'type':'text','text':'f'}"),
	    "[{'type':'text','text':'a'}," MARKED("b") "," MARKED("c") "," MARKED(
		"d") "," MARKED("e") "]" },
};

START_TEST(of_too_many_marks_the_oldest_are_left_out)
{
	const struct value *body = request_of(marked[_i].given);
	const struct value *system = value_get(body, "system");

	ck_assert_value(arena, value_get(body, "messages"),
	    arena_printf(arena, "[%s]", marked[_i].messages));
	ck_assert_value(arena, system == NULL ? value_nil() : system, marked[_i].system);
}
END_TEST

START_TEST(a_schema_is_closed_and_without_what_is_refused)
{
	const struct value *schema = literal(arena,
	    "{'title':'T','type':'object','properties':{'a':{'type':'string','minLength':"
	    "1,"
	    "'pattern':'x','format':'email'},'b':{'type':'array','items':{'type':'object'"
	    ","
	    "'properties':{'c':{'$ref':'#/$defs/D'}},'additionalProperties':true},"
	    "'maxItems':3},'type':{'enum':[1,2]}},'$defs':{'D':{'oneOf':[{'const':1},"
	    "{'type':'null'}]}},'required':['a']}");

	ck_assert_value(arena, anthropic_schema(arena, schema),
	    "{'type':'object','title':'T','required':['a'],'properties':{'a':{'type':"
	    "'string','format':'email'},'b':{'type':'array','items':{'type':'object',"
	    "'properties':{'c':{'$ref':'#/$defs/D'}},'additionalProperties':false}},"
	    "'type':{'enum':[1,2]}},'$defs':{'D':{'anyOf':[{'const':1},{'type':'null'}]}}"
	    ","
	    "'additionalProperties':false}");
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

TCase *tcase_anthropic_request(void);

TCase *
tcase_anthropic_request(void)
{
	TCase *tcase = tcase_create("anthropic_request");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, messages_go_out_in_turns, 0, COUNT(messages));
	tcase_add_test(tcase, system_messages_in_front_are_part_of_the_prompt);
	tcase_add_loop_test(tcase, a_message_that_cannot_be_sent_is_refused_by_its_place,
	    0, COUNT(refused));
	tcase_add_loop_test(tcase,
	    tools_choice_format_and_settings_go_out_as_the_provider_has_them, 0,
	    COUNT(rows));
	tcase_add_test(tcase, a_stream_is_asked_for);
	tcase_add_loop_test(
	    tcase, the_tail_of_the_messages_is_marked_for_the_cache, 0, COUNT(cached));
	tcase_add_loop_test(
	    tcase, of_too_many_marks_the_oldest_are_left_out, 0, COUNT(marked));
	tcase_add_test(tcase, a_schema_is_closed_and_without_what_is_refused);
	return tcase;
}
