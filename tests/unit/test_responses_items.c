/* Messages as the Responses API is sent them. What LangChain JS (@langchain/openai 1.6.0) was seen to send is
 * marked "JS". */
#include <check.h>

/* Interface under test */
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
		.settings = value_get(given, "settings"),
	};
}

static const struct value *
request_of(const struct value *given)
{
	struct ask ask = ask_from(given);
	const char *error = NULL;
	const struct value *body = responses_request(&ask, false, &error);

	ck_assert_msg(body != NULL, "%s", error);
	return body;
}

#define CALL_1 "{'name':'add','args':{'a':1},'id':'c1','type':'tool_call'}"
#define CALL_2 "{'name':'add','args':{'a':2},'id':'c2','type':'tool_call'}"
#define SENT_1                                                                           \
	"{'type':'function_call','call_id':'c1','name':'add','arguments':'{\\'a\\':1}'}"
#define SENT_2                                                                           \
	"{'type':'function_call','call_id':'c2','name':'add','arguments':'{\\'a\\':2}'}"
#define OWN "'response_metadata':{'model_provider':'openai'}"
#define FOREIGN "'response_metadata':{'model_provider':'anthropic'}"
#define THOUGHT                                                                          \
	"{'type':'reasoning','id':'rs_1','summary':[{'type':'summary_text','text':'hm'}" \
	"]"                                                                              \
	",'encrypted_content':'E=='}"
#define SEARCH                                                                           \
	"{'type':'web_search_call','id':'ws_1','status':'completed','action':{'type':"   \
	"'search','query':'q'}}"
#define CITED                                                                            \
	"{'type':'url_citation','url':'u','title':'t','start_index':0,'end_index':1}"
#define SO "{'type':'text','text':'so','annotations':[" CITED "],'id':'msg_1'}"
#define SENT_SO                                                                          \
	"{'type':'message','role':'assistant','id':'msg_1','content':[{'type':"          \
	"'output_text','text':'so','annotations':[" CITED "]}]}"
#define FUNCTION_CALL                                                                    \
	"{'type':'function_call','id':'fc_1','call_id':'c1','name':'add','arguments':"   \
	"'{ }','status':'completed'}"
#define SENT_FUNCTION_CALL                                                               \
	"{'type':'function_call','id':'fc_1','call_id':'c1','name':'add','arguments':"   \
	"'{\\'a\\':1}','status':'completed'}"

static const struct {
	const char *messages, *sent;
} messages[] = {
	/* JS */
	{ "{'type':'human','content':'hi','name':'Ann','id':'1'}",
	    "{'type':'message','role':'user','content':'hi'}" },
	{ "{'type':'system','content':'late'}",
	    "{'type':'message','role':'system','content':'late'}" },
	{ "{'type':'ai','content':'let me','tool_calls':[" CALL_1 "," CALL_2
	  "],'additional_kwargs':{'__openai_function_call_ids__':{'c1':'fc_1'}}},"
	  "{'type':'tool','content':'3','tool_call_id':'c1','name':'add'},"
	  "{'type':'tool','content':'no','tool_call_id':'c2','status':'error',"
	  "'artifact':{'secret':1}}",
	    "{'type':'message','role':'assistant','content':'let me'},{'type':"
	    "'function_call','id':'fc_1','call_id':'c1','name':'add','arguments':"
	    "'{\\'a\\':1}'}," SENT_2
	    ",{'type':'function_call_output','call_id':'c1','output':'3'},"
	    "{'type':'function_call_output','call_id':'c2','output':'no'}" },
	{ "{'type':'human','content':[{'type':'text','text':'what?'},{'type':'image_url',"
	  "'image_url':{'url':'https://x/y.png','detail':'low'}},{'type':'image_url',"
	  "'image_url':'u'},{'type':'image','url':'https://z'},{'type':'image','base64':"
	  "'QUJD','mime_type':'image/jpeg','metadata':{'detail':'low'}},{'type':'image',"
	  "'file_id':'f1'}]}",
	    "{'type':'message','role':'user','content':[{'type':'input_text','text':"
	    "'what?'},{'type':'input_image','image_url':'https://x/y.png','detail':'low'}"
	    ",{'type':'input_image','image_url':'u','detail':'auto'},{'type':"
	    "'input_image','image_url':'https://z','detail':'auto'},{'type':'input_image'"
	    ",'image_url':'data:image/jpeg;base64,QUJD','detail':'low'},{'type':"
	    "'input_image','file_id':'f1','detail':'auto'}]}" },
	{ "{'type':'human','content':[{'type':'file','base64':'QUJD','mime_type':"
	  "'application/pdf','metadata':{'filename':'f.pdf'}},{'type':'file','file_id':"
	  "'f2'},{'type':'file','source_type':'id','id':'f3'},{'type':'file','url':"
	  "'https://f'},{'type':'text-plain','text':'words'},{'type':'input_file',"
	  "'file_id':'f9'},{'type':'text','text':'a','extras':{'prompt_cache_breakpoint':"
	  "{'mode':'explicit'}}}]}",
	    "{'type':'message','role':'user','content':[{'type':'input_file','file_data':"
	    "'data:application/pdf;base64,QUJD','filename':'f.pdf'},{'type':'input_file',"
	    "'file_id':'f2'},{'type':'input_file','file_id':'f3'},{'type':'input_file',"
	    "'file_url':'https://f'},{'type':'input_text','text':'words'},{'type':"
	    "'input_file','file_id':'f9'},{'type':'input_text','text':'a',"
	    "'prompt_cache_breakpoint':{'mode':'explicit'}}]}" },
	{ "{'type':'human','content':[{'type':'mcp_approval_response',"
	  "'approval_request_id':'m1','approve':true}]}",
	    "{'type':'mcp_approval_response','approval_request_id':'m1','approve':"
	    "true}" },
	{ "{'type':'tool','content':[{'type':'text','text':'x'},{'type':'image_url',"
	  "'image_url':'u'}],'tool_call_id':'c1'}",
	    "{'type':'function_call_output','call_id':'c1','output':[{'type':'input_text'"
	    ",'text':'x'},{'type':'input_image','image_url':'u','detail':'auto'}]}" },
	{ "{'type':'ai','content':'','additional_kwargs':{'reasoning':{'type':'reasoning'"
	  ",'id':'rs_1','summary':[{'type':'summary_text','text':'a','index':0}],"
	  "'encrypted_content':'E'}},'tool_calls':[" CALL_1 "]}",
	    "{'type':'reasoning','id':'rs_1','summary':[{'type':'summary_text','text':'a'"
	    "}],'encrypted_content':'E'}," SENT_1 },
	/* what is said of a file by the chat completions; bytes without a name */
	{ "{'type':'human','content':['a',{'type':'file','file':{'file_data':'d',"
	  "'filename':'n'}},{'type':'file','base64':'QUJD'}]}",
	    "{'type':'message','role':'user','content':[{'type':'input_text','text':'a'},"
	    "{'type':'input_file','file_data':'d','filename':'n'},{'type':'input_file',"
	    "'file_data':'data:application/pdf;base64,QUJD','filename':'LC_AUTOGENERATED'"
	    "}]}" },
	/* what it does not know may be its own */
	{ "{'type':'human','content':[{'type':'input_new','x':1},{'type':'image'}]}",
	    "{'type':'message','role':'user','content':[{'type':'input_new','x':1},{"
	    "'type':'image'}]}" },
	{ "{'type':'human','content':null},{'type':'human','content':{'a':1}},{'type':"
	  "'human','content':[]}",
	    "{'type':'message','role':'user','content':''},{'type':'message','role':"
	    "'user','content':'{\\'a\\':1}'}" },
	{ "{'type':'tool','content':{'rows':[1,2]},'tool_call_id':'c1'},{'type':'tool',"
	  "'content':[{'type':'audio','base64':'x'}],'tool_call_id':'c2'},{'type':'tool',"
	  "'content':null,'tool_call_id':'c3'},{'type':'tool','content':[],"
	  "'tool_call_id':'c4'}",
	    "{'type':'function_call_output','call_id':'c1','output':'{\\'rows\\':[1,2]}'}"
	    ",{'type':'function_call_output','call_id':'c2','output':'[{\\'type\\':"
	    "\\'audio\\',\\'base64\\':\\'x\\'}]'},{'type':'function_call_output',"
	    "'call_id':'c3','output':''},{'type':'function_call_output','call_id':'c4',"
	    "'output':'[]'}" },
	/* an answer with nothing in it; malformed calls go back as they came */
	{ "{'type':'ai','content':''}", "" },
	{ "{'type':'ai','content':null,'invalid_tool_calls':[{'name':'g','args':'{oops',"
	  "'id':'c2','error':'e'}]}",
	    "{'type':'function_call','call_id':'c2','name':'g','arguments':'{oops'}" },
	/* all that was answered, in its order, with the calls as they are now */
	{ "{'type':'ai','content':[" THOUGHT "," SEARCH "," SO "," FUNCTION_CALL
	  "],'tool_calls':[" CALL_1 "]," OWN "}",
	    THOUGHT "," SEARCH "," SENT_SO "," SENT_FUNCTION_CALL },
	{ "{'type':'ai','content':[" THOUGHT "," FUNCTION_CALL "," THOUGHT "," SO
	  "],'tool_calls':[" CALL_1 "," CALL_2 "]}",
	    THOUGHT "," SENT_FUNCTION_CALL "," THOUGHT "," SENT_SO "," SENT_2 },
	/* a call that is not there any more, and the thought that led to it */
	{ "{'type':'ai','content':[" SO "," THOUGHT "," FUNCTION_CALL "]," OWN "}",
	    SENT_SO },
	/* two calls of one id, of which the second was given another */
	{ "{'type':'ai','content':[" FUNCTION_CALL "," FUNCTION_CALL
	  "],'tool_calls':[" CALL_1 "," CALL_2 "]}",
	    SENT_FUNCTION_CALL "," SENT_2 },
	/* parts of one message, and of two */
	{ "{'type':'ai','content':[{'type':'text','text':'a','id':'msg_1'},{'type':"
	  "'refusal','refusal':'no','id':'msg_1'},{'type':'text','text':'b','id':'msg_2',"
	  "'phase':'final_answer'},{'type':'text','text':''},'c'],'additional_kwargs':{"
	  "'refusal':'no'}}",
	    "{'type':'message','role':'assistant','id':'msg_1','content':[{'type':"
	    "'output_text','text':'a','annotations':[]},{'type':'refusal','refusal':'no'}"
	    "]},{'type':'message','role':'assistant','id':'msg_2','content':[{'type':"
	    "'output_text','text':'b','annotations':[]}],'phase':'final_answer'},{'type':"
	    "'message','role':'assistant','content':[{'type':'output_text','text':'c',"
	    "'annotations':[]}]}" },
	{ "{'type':'ai','content':'','additional_kwargs':{'refusal':'no'}}",
	    "{'type':'message','role':'assistant','content':[{'type':'refusal','refusal':"
	    "'no'}]}" },
	{ "{'type':'ai','content':[{'type':'text','text':'a','annotations':[{'type':"
	  "'file_citation','file_id':'f','file_index':3},{'type':'citation','url':'u'}]}]"
	  "}",
	    "{'type':'message','role':'assistant','content':[{'type':'output_text','text'"
	    ":'a','annotations':[{'type':'file_citation','file_id':'f','index':3}]}]}" },
	/* a picture is known by its id */
	{ "{'type':'ai','content':[{'type':'image_generation_call','id':'ig_1','result':"
	  "'QUJD'},{'type':'tool_search_output','tools':[]},{'type':'mcp_list_tools','id'"
	  ":'m'},{'type':'compaction','encrypted_content':'C'}]}",
	    "{'type':'image_generation_call','id':'ig_1'},{'type':'tool_search_output',"
	    "'tools':[]},{'type':'mcp_list_tools','id':'m'},{'type':'compaction',"
	    "'encrypted_content':'C'}" },
	/* what others thought, and what does not say where it can be found */
	{ "{'type':'ai','content':[{'type':'thinking','thinking':'hm','signature':'S'},{"
	  "'type':'reasoning','reasoning':'x'},{'type':'tool_call','id':'c1'},{'type':"
	  "'server_tool_call'},{'type':'text','text':'so'}]}",
	    "{'type':'message','role':'assistant','content':[{'type':'output_text','text'"
	    ":'so','annotations':[]}]}" },
	{ "{'type':'ai','content':[" THOUGHT "," SEARCH "," SO "," FUNCTION_CALL
	  "],'tool_calls':[" CALL_1 "]," FOREIGN "}",
	    "{'type':'message','role':'assistant','content':[{'type':'output_text','text'"
	    ":'so','annotations':[" CITED "]}]}," SENT_1 },
	/* calls that are no functions */
	{ "{'type':'ai','content':[{'type':'custom_tool_call','id':'ct_1','call_id':'c1',"
	  "'name':'run','input':'old'}],'tool_calls':[{'name':'run','args':{'__arg1':"
	  "'new'},'id':'c1'}]},{'type':'tool','content':'out','tool_call_id':'c1'}",
	    "{'type':'custom_tool_call','id':'ct_1','call_id':'c1','name':'run','input':"
	    "'new'},{'type':'custom_tool_call_output','call_id':'c1','output':'out'}" },
	{ "{'type':'ai','content':[{'type':'computer_call','id':'cc_1','call_id':'c1',"
	  "'action':{'type':'screenshot'}}],'tool_calls':[{'name':'computer_use','args':{"
	  "},'id':'c1'}]},{'type':'tool','content':[{'type':'text','text':'x'},{'type':"
	  "'image','url':'u'}],'tool_call_id':'c1','additional_kwargs':{"
	  "'acknowledged_safety_checks':[]}}",
	    "{'type':'computer_call','id':'cc_1','call_id':'c1','action':{'type':"
	    "'screenshot'}},{'type':'computer_call_output','call_id':'c1','output':{"
	    "'type':'computer_screenshot','image_url':'u'},'acknowledged_safety_checks':["
	    "]}" },
};

static const struct value *
list_of(const char *items)
{
	return literal(arena, arena_printf(arena, "[%s]", items));
}

START_TEST(messages_go_out_as_items)
{
	const struct value *given =
	    value_map(arena, "messages", list_of(messages[_i].messages), NULL);

	ck_assert_value(arena, value_get(request_of(given), "input"),
	    arena_printf(arena, "[%s]", messages[_i].sent));
}
END_TEST

START_TEST(other_servers_are_sent_arguments_that_they_can_read)
{
	struct ask ask = ask_from(literal(arena,
	    "{'messages':[{'type':'ai','content':null,'invalid_tool_calls':[{'name':'g',"
	    "'args':'{oops','id':'c2','error':'e'}]}]}"));
	const char *error = NULL;

	ask.provider = "vllm";
	ck_assert_value(arena, value_get(responses_request(&ask, false, &error), "input"),
	    "[{'type':'function_call','call_id':'c2','name':'g','arguments':'{}'}]");
}
END_TEST

/* With `store: false`: nothing is known by its id. */
static const struct {
	const char *messages, *sent;
} forgotten[] = {
	{ "{'type':'ai','content':[" THOUGHT "," SO "," FUNCTION_CALL
	  "],'tool_calls':[" CALL_1 "]}",
	    THOUGHT ",{'type':'message','role':'assistant','content':[{'type':"
		    "'output_text','text':'so','annotations':[" CITED
		    "]}]},{'type':'function_call','call_id':'c1','name':'add',"
		    "'arguments':'{\\'a\\':1}','status':'completed'}" },
	{ "{'type':'ai','content':[{'type':'reasoning','id':'rs_1','summary':[]}," SO "]"
	  "}",
	    "{'type':'message','role':'assistant','content':[{'type':'output_text',"
	    "'text':'so','annotations':[" CITED "]}]}" },
	{ "{'type':'ai','content':'x','tool_calls':[" CALL_1
	  "],'additional_kwargs':{'reasoning':{'type':'reasoning','id':'rs_1','summary':["
	  "]},'__openai_function_call_ids__':{'c1':'fc_1'}}}",
	    "{'type':'message','role':'assistant','content':'x'}," SENT_1 }, /* JS */
	{ "{'type':'ai','content':[{'type':'image_generation_call','id':'ig_1','result':"
	  "'QUJD'}]}",
	    "{'type':'image_generation_call','id':'ig_1','result':'QUJD'}" },
};

START_TEST(who_keeps_nothing_is_sent_all_there_is)
{
	const struct value *given =
	    value_map(arena, "settings", literal(arena, "{'store':false}"), "messages",
		list_of(forgotten[_i].messages), NULL);

	ck_assert_value(arena, value_get(request_of(given), "input"),
	    arena_printf(arena, "[%s]", forgotten[_i].sent));
}
END_TEST

/* Nor what followed on it, by its id. */
START_TEST(a_model_that_does_not_think_is_sent_no_thoughts)
{
	static const char *const models[] = { "gpt-4o", "gpt-4.1-mini",
		"chatgpt-4o-latest", "gpt-5-chat-latest", "ft:gpt-4o:me" };
	const struct value *given =
	    value_map(arena, "model", value_str(arena, models[_i]), "messages",
		list_of("{'type':'ai','content':[" THOUGHT "," SEARCH "," SO
			"," FUNCTION_CALL "],'tool_calls':[" CALL_1 "]}"),
		NULL);

	ck_assert_value(arena, value_get(request_of(given), "input"),
	    "[" SEARCH ",{'type':'message','role':'assistant','content':[{'type':"
	    "'output_text','text':'so','annotations':[" CITED
	    "]}]},{'type':'function_call','call_id':'c1','name':'add','arguments':"
	    "'{\\'a\\':1}','status':'completed'}]");
}
END_TEST

START_TEST(the_system_prompt_is_the_first_item)
{
	ck_assert_value(arena,
	    value_get(request_of(literal(arena, "{'system':'S','messages':[{'type':"
						"'human','content':'hi'}]}")),
		"input"),
	    "[{'type':'message','role':'system','content':'S'},{'type':'message','role':"
	    "'user','content':'hi'}]");
	ck_assert_value(arena,
	    value_get(
		request_of(literal(arena, "{'model':'gpt-5','system':'S','messages':[{"
					  "'type':'system','content':'T'}]}")),
		"input"),
	    "[{'type':'message','role':'developer','content':'S'},{'type':'message',"
	    "'role':'developer','content':'T'}]");
	ck_assert_value(arena,
	    value_get(request_of(literal(arena, "{'system':'','messages':[]}")), "input"),
	    "[]");
}
END_TEST

START_TEST(a_message_that_no_model_is_sent_is_named)
{
	struct ask ask =
	    ask_from(literal(arena, "{'messages':[{'type':'human','content':'x'},{'type':"
				    "'remove','id':'1'}]}"));
	struct written written = { 0 };
	const char *error = NULL;

	ck_assert_ptr_null(responses_request(&ask, false, &error));
	ck_assert_str_eq(error, "messages[1].type: a model cannot be sent 'remove'");
	error = NULL;
	ask.written = &written;
	ck_assert_ptr_null(responses_request(&ask, false, &error));
	ck_assert_str_eq(error, "messages[1].type: a model cannot be sent 'remove'");
	written_release(&written);
}
END_TEST

/* --- what is kept as JSON ---------------------------------------------------------------- */

static const char *
sent_json_to(const char *model, const struct value *list, const char *settings,
    struct written *written)
{
	struct ask ask = ask_from(value_map(
	    arena, "messages", list, "settings", literal(arena, settings), NULL));
	const char *error = NULL;
	const struct value *body;

	ask.written = written;
	if (model != NULL)
		ask.model = model;
	body = responses_request(&ask, false, &error);
	ck_assert_msg(body != NULL, "%s", error);
	return json_text(arena, body);
}

static const char *
sent_json(const struct value *list, const char *settings, struct written *written)
{
	return sent_json_to(NULL, list, settings, written);
}

START_TEST(kept_json_is_what_would_be_written)
{
	struct value_list list = { .arena = arena };
	struct written written = { 0 };
	const struct value *all;
	size_t count, i;

	for (i = 0; i < sizeof messages / sizeof messages[0]; i++)
		value_list_add_all(&list, list_of(messages[i].messages));
	all = value_list_end(&list);
	for (count = 0; count <= value_size(all); count++) {
		const struct value *some = value_array_slice(arena, all, 0, count);

		ck_assert_str_eq(
		    sent_json(some, "{}", &written), sent_json(some, "{}", NULL));
		ck_assert_uint_eq(written.count, count);
	}
	/* to models that think, that do not, and of which nobody knows */
	for (i = 0; i < 6; i++) {
		static const char *const models[] = { "gpt-4o", "o3", "mine" };

		ck_assert_str_eq(sent_json_to(models[i % 3], all, "{}", &written),
		    sent_json_to(models[i % 3], all, "{}", NULL));
	}
	/* in other words, and again in these */
	ck_assert_str_eq(sent_json(all, "{'store':false}", &written),
	    sent_json(all, "{'store':false}", NULL));
	ck_assert_str_eq(sent_json(all, "{}", &written), sent_json(all, "{}", NULL));
	ck_assert_str_ne(
	    sent_json(all, "{}", NULL), sent_json(all, "{'store':false}", NULL));
	written_release(&written);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

TCase *tcase_responses_items(void);

TCase *
tcase_responses_items(void)
{
	TCase *tcase = tcase_create("responses_items");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, other_servers_are_sent_arguments_that_they_can_read);
	tcase_add_loop_test(tcase, messages_go_out_as_items, 0, COUNT(messages));
	tcase_add_loop_test(
	    tcase, who_keeps_nothing_is_sent_all_there_is, 0, COUNT(forgotten));
	tcase_add_loop_test(tcase, a_model_that_does_not_think_is_sent_no_thoughts, 0, 5);
	tcase_add_test(tcase, the_system_prompt_is_the_first_item);
	tcase_add_test(tcase, a_message_that_no_model_is_sent_is_named);
	tcase_add_test(tcase, kept_json_is_what_would_be_written);
	return tcase;
}
