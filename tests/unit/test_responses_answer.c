#include <check.h>

/* Interface under test */
#include "../../worker-model/responses_answer.h"

#include "bounds.h"
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

#define THOUGHT                                                                          \
	"{'id':'rs_1','type':'reasoning','summary':[{'type':'summary_text','text':'hm'}" \
	"]"                                                                              \
	",'encrypted_content':'E=='}"
#define SEARCH                                                                           \
	"{'type':'web_search_call','id':'ws_1','status':'completed','action':{'type':"   \
	"'search','query':'q'}}"
#define MESSAGE(parts)                                                                   \
	"{'type':'message','id':'msg_1','role':'assistant','status':'completed',"        \
	"'content':[" parts "]}"
#define TEXT(text)                                                                       \
	"{'type':'output_text','text':'" text "','annotations':[],'logprobs':[]}"
#define CALL_ITEM                                                                        \
	"{'type':'function_call','id':'fc_1','call_id':'c1','name':'add','arguments':"   \
	"'{\\'a\\':1}','status':'completed'}"
#define CALL "'tool_calls':[{'name':'add','args':{'a':1},'id':'c1','type':'tool_call'}]"
#define DONE "'response_metadata':{'status':'completed'}"

static const struct {
	const char *body, *message;
} answers[] = {
	{ "{'id':'resp_1','object':'response','created_at':5,'status':'completed','error'"
	  ":null,'incomplete_details':null,'model':'gpt-x','service_tier':'default',"
	  "'output':[" MESSAGE(TEXT(
	      "hello")) "],'usage':{'input_tokens':10,"
			"'input_tokens_details':{'cached_tokens':4},'output_tokens':5,"
			"'output_tokens_details':{'reasoning_tokens':2},'total_tokens':"
			"15}}",
	    "{'type':'ai','content':'hello','usage_metadata':{'input_tokens':10,"
	    "'output_tokens':5,'total_tokens':15,'input_token_details':{'cache_read':4},"
	    "'output_token_details':{'reasoning':2}},'response_metadata':{'status':"
	    "'completed','model_name':'gpt-x','id':'resp_1','service_tier':'default'}}" },
	{ "{'output':[" MESSAGE(TEXT("so")) "," CALL_ITEM "]}",
	    "{'type':'ai','content':'so'," CALL ",'response_metadata':{}}" },
	{ "{'status':'completed','output':[" CALL_ITEM "]}",
	    "{'type':'ai','content':''," CALL "," DONE "}" },
	{ "{'status':'completed','output':[]}", "{'type':'ai','content':''," DONE "}" },
	/* more than text and calls: all of it, in its order, without what is null */
	{ "{'status':'completed','output':[{'id':'rs_1','type':'reasoning','summary':[{"
	  "'type':'summary_text','text':'hm'}],'status':null,'encrypted_content':'E=='}"
	  "," SEARCH
	  "," MESSAGE("{'type':'output_text','text':'so','annotations':[{'type':"
		      "'file_citation','index':3,'file_id':'f'}]}") "," CALL_ITEM "]}",
	    "{'type':'ai','content':[" THOUGHT "," SEARCH ",{'type':'text','text':'so',"
	    "'annotations':[{'type':'file_citation','file_id':'f','file_index':3}],'id':"
	    "'msg_1'}," CALL_ITEM "]," CALL "," DONE "}" },
	{ "{'status':'completed','output':[" CALL_ITEM "," MESSAGE(TEXT("so")) "]}",
	    "{'type':'ai','content':[" CALL_ITEM ",{'type':'text','text':'so',"
	    "'annotations':[],'id':'msg_1'}]," CALL "," DONE "}" },
	{ "{'status':'completed','output':[" MESSAGE(TEXT("a") "," TEXT("b")) "]}",
	    "{'type':'ai','content':[{'type':'text','text':'a','annotations':[],'id':"
	    "'msg_1'},{'type':'text','text':'b','annotations':[],'id':'msg_1'}]," DONE
	    "}" },
	{ "{'output':[{'type':'message','phase':'final_answer','content':[{'type':"
	  "'output_text','text':'a'}]}]}",
	    "{'type':'ai','content':[{'type':'text','text':'a','annotations':[],'phase':"
	    "'final_answer'}],'response_metadata':{}}" },
	{ "{'status':'completed','output':[{'type':'message','id':'msg_1','phase':"
	  "'commentary','content':[{'type':'output_text','text':'a','logprobs':[{'token':"
	  "'a'}]}]}]}",
	    "{'type':'ai','content':[{'type':'text','text':'a','annotations':[],"
	    "'logprobs':[{'token':'a'}],'id':'msg_1','phase':'commentary'}]," DONE "}" },
	{ "{'status':'completed','output':[" MESSAGE(
	      "{'type':'refusal','refusal':'no'}") "]}",
	    "{'type':'ai','content':[{'type':'refusal','refusal':'no','id':'msg_1'}],"
	    "'additional_kwargs':{'refusal':'no'}," DONE "}" },
	{ "{'status':'incomplete','incomplete_details':{'reason':'max_output_tokens'},"
	  "'output':[" MESSAGE(TEXT("ha")) "]}",
	    "{'type':'ai','content':'ha','response_metadata':{'status':'incomplete',"
	    "'incomplete_details':{'reason':'max_output_tokens'}}}" },
	/* calls that are no functions, and functions that say where they are */
	{ "{'output':[{'type':'custom_tool_call','id':'ct_1','call_id':'c1','name':'run',"
	  "'input':'ls'}]}",
	    "{'type':'ai','content':[{'type':'custom_tool_call','id':'ct_1','call_id':"
	    "'c1','name':'run','input':'ls'}],'tool_calls':[{'name':'run','args':{"
	    "'__arg1':'ls'},'id':'c1','type':'tool_call'}],'response_metadata':{}}" },
	{ "{'output':[{'type':'computer_call','id':'cc_1','call_id':'c1','action':{'type'"
	  ":'wait'}}]}",
	    "{'type':'ai','content':[{'type':'computer_call','id':'cc_1','call_id':'c1',"
	    "'action':{'type':'wait'}}],'tool_calls':[{'name':'computer_use','args':{"
	    "'action':{'type':'wait'}},'id':'c1','type':'tool_call'}],"
	    "'response_metadata':{}}" },
	{ "{'output':[{'type':'function_call','call_id':'c1','name':'add','arguments':'',"
	  "'namespace':'n','text':'x'}]}",
	    "{'type':'ai','content':[{'type':'function_call','call_id':'c1','name':'add',"
	    "'arguments':'','namespace':'n','text':'x'}],'tool_calls':[{'name':'add',"
	    "'args':{},'id':'c1','type':'tool_call'}],'response_metadata':{}}" },
	{ "{'output':[{'type':'function_call','call_id':'c1','name':'add','text':'x'}]}",
	    "{'type':'ai','content':'','tool_calls':[{'name':'add','args':{},'id':'c1',"
	    "'type':'tool_call'}],'response_metadata':{}}" },
	{ "{'output':[{'type':'function_call','call_id':'c1','name':'add','arguments':"
	  "'{oops'}]}",
	    "{'type':'ai','content':'','invalid_tool_calls':[{'name':'add','args':"
	    "'{oops','id':'c1','error':'?','type':'invalid_tool_call'}],"
	    "'response_metadata':{}}" },
	/* written to a cache; kinds of items that are new */
	{ "{'output':[{'type':'dance_call','steps':[1,null]}],'usage':{'input_tokens':3,"
	  "'output_tokens':1,'input_tokens_details':{'cached_tokens':0,"
	  "'cache_write_tokens':2}}}",
	    "{'type':'ai','content':[{'type':'dance_call','steps':[1,null]}],"
	    "'usage_metadata':{'input_tokens':3,'output_tokens':1,'total_tokens':4,"
	    "'input_token_details':{'cache_read':0,'cache_creation':2}},"
	    "'response_metadata':{}}" },
	{ "{'output':[{'type':'message','content':'x'},{'type':'message','content':["
	  "null,3,{'type':'new'},{'type':'refusal'}]},{'type':'message'}]}",
	    "{'type':'ai','content':'','response_metadata':{}}" },
};

/* Why JSON is none is said by who reads it. */
static const struct value *
without_reason(const struct value *message)
{
	const struct value *invalid = value_get(message, "invalid_tool_calls"), *call;

	if (value_size(invalid) == 0)
		return message;
	call = value_map_with(arena, value_at(invalid, 0), "error", VALUE_TEXT("?"));
	return value_map_with(
	    arena, message, "invalid_tool_calls", value_array(arena, &call, 1));
}

START_TEST(an_answer_becomes_a_message)
{
	const char *error = NULL;
	const struct value *message =
	    responses_answer(arena, literal(arena, answers[_i].body), &error);

	ck_assert_msg(message != NULL, "%s", error);
	ck_assert_value(arena, without_reason(message), answers[_i].message);
}
END_TEST

START_TEST(two_calls_of_one_id_are_told_apart)
{
	const char *error = NULL;
	const struct value *message = responses_answer(
	    arena, literal(arena, "{'output':[" CALL_ITEM "," CALL_ITEM "]}"), &error);
	const struct value *calls = value_get(message, "tool_calls");

	ck_assert_uint_eq(value_size(calls), 2);
	ck_assert(!value_equal(
	    value_get(value_at(calls, 0), "id"), value_get(value_at(calls, 1), "id")));
}
END_TEST

static const struct {
	const char *body, *reason;
} unreadable[] = {
	{ "{}", "it has no output" },
	{ "[]", "it has no output" },
	{ "{'output':'text'}", "it has no output" },
	{ "{'output':[3]}", "its output is not a list of items" },
	{ "{'output':[{'type':3}]}", "its output is not a list of items" },
	{ "{'output':[{'type':'function_call'}]}", "a tool call names no function" },
	{ "{'output':[{'type':'function_call','name':''}]}",
	    "a tool call names no function" },
	{ "{'status':'queued','output':[]}", "its status is 'queued'" },
	{ "{'status':'failed','output':[]}", "its status is 'failed'" },
	{ "{'status':{},'output':[]}", "its status is '?'" },
};

START_TEST(an_answer_that_cannot_be_read_says_why)
{
	const char *error = NULL;

	ck_assert_ptr_null(
	    responses_answer(arena, literal(arena, unreadable[_i].body), &error));
	ck_assert_str_eq(error, unreadable[_i].reason);
}
END_TEST

static const struct value *
answer_of_many(const char *item, size_t count, const char **error_r)
{
	struct value_list items = { .arena = arena };

	for (size_t i = 0; i < count; i++)
		value_list_add(&items, literal(arena, item));
	return responses_answer(
	    arena, value_map(arena, "output", value_list_end(&items), NULL), error_r);
}

START_TEST(no_more_than_one_message_holds_is_read)
{
	const char *error = NULL;

	ck_assert_ptr_nonnull(answer_of_many(SEARCH, ANSWER_BLOCKS_MAX, &error));
	ck_assert_ptr_null(answer_of_many(SEARCH, ANSWER_BLOCKS_MAX + 1, &error));
	ck_assert_str_eq(error, "too many blocks in one message");
	ck_assert_ptr_null(answer_of_many(
	    "{'type':'function_call','name':'f'}", TOOL_CALLS_MAX + 1, &error));
	ck_assert_str_eq(error, "more than 128 tool calls in one message");
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

TCase *tcase_responses_answer(void);

TCase *
tcase_responses_answer(void)
{
	TCase *tcase = tcase_create("responses_answer");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, an_answer_becomes_a_message, 0, COUNT(answers));
	tcase_add_test(tcase, two_calls_of_one_id_are_told_apart);
	tcase_add_loop_test(
	    tcase, an_answer_that_cannot_be_read_says_why, 0, COUNT(unreadable));
	tcase_add_test(tcase, no_more_than_one_message_holds_is_read);
	return tcase;
}
