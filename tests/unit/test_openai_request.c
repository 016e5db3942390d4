#include <check.h>
#include <string.h>

/* Interface under test */
#include "../../worker-model/openai_request.h"
#include "../../worker-model/provider_exchange.h"

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
	return (struct ask){
		.arena = arena,
		.provider = "openai",
		.model = "m",
		.system_prompt = value_get_text(given, "system"),
		.messages = value_get(given, "messages"),
		.tools = value_get(given, "tools"),
		.tool_choice = value_get(given, "tool_choice"),
		.response_format = value_get(given, "response_format"),
		.settings = value_get(given, "settings"),
	};
}

/* --- messages ---------------------------------------------------------------------- */

/* The system prompt is "S" where one is given; sent is the request's `messages`. */
static const struct {
	const char *messages, *sent;
} messages[] = {
	{ "[{'type':'human','content':'hi','id':'1'}]",
	    "[{'role':'user','content':'hi'}]" },
	{ "[{'type':'system','content':'late'}]",
	    "[{'role':'system','content':'late'}]" },
	{ "[{'type':'human','content':'hi','name':'Ann'}]",
	    "[{'role':'user','content':'hi','name':'Ann'}]" },
	{ "[{'type':'ai','content':'x','name':'The <best> agent'}]",
	    "[{'role':'assistant','content':'x','name':'The__best__agent'}]" },
	{ "[{'type':'ai','content':'','tool_calls':[{'name':'add','args':{'a':1},'id':'"
	  "c1',"
	  "'type':'tool_call'}]}]",
	    "[{'role':'assistant','content':null,'tool_calls':[{'id':'c1','type':'"
	    "function',"
	    "'function':{'name':'add','arguments':'{\\'a\\':1}'}}]}]" },
	{ "[{'type':'ai','content':'let "
	  "me','tool_calls':[{'name':'f','args':{},'id':'c1'}],"
	  "'invalid_tool_calls':[{'name':'g','args':'{oops','id':'c2','error':'e'}]}]",
	    "[{'role':'assistant','content':'let me','tool_calls':["
	    "{'id':'c1','type':'function','function':{'name':'f','arguments':'{}'}},"
	    "{'id':'c2','type':'function','function':{'name':'g','arguments':'{oops'}}]}"
	    "]" },
	{ "[{'type':'tool','content':'3','tool_call_id':'c1','name':'add','status':'"
	  "error',"
	  "'artifact':{'secret':1}}]",
	    "[{'role':'tool','content':'3','tool_call_id':'c1'}]" },
	{ "[{'type':'human','content':[{'type':'text','text':'a'},{'type':'text','text':'"
	  "b'}]"
	  "}]",
	    "[{'role':'user','content':[{'type':'text','text':'a'},{'type':'text','text':"
	    "'b'}]}]" },
	{ "[{'type':'human','content':[{'type':'text','text':'what?'},"
	  "{'type':'image','url':'https://x/y.png'}]}]",
	    "[{'role':'user','content':[{'type':'text','text':'what?'},"
	    "{'type':'image_url','image_url':{'url':'https://x/y.png'}}]}]" },
	{ "[{'type':'human','content':[{'type':'image','base64':'QUJD','mime_type':"
	  "'image/jpeg'}]}]",
	    "[{'role':'user','content':[{'type':'image_url','image_url':{'url':"
	    "'data:image/jpeg;base64,QUJD'}}]}]" },
	{ "[{'type':'human','content':[{'type':'audio','base64':'QUJD','mime_type':"
	  "'audio/mp3'}]}]",
	    "[{'role':'user','content':[{'type':'input_audio','input_audio':{'data':'"
	    "QUJD',"
	    "'format':'mp3'}}]}]" },
	{ "[{'type':'human','content':[{'type':'file','file_id':'f1'}]}]",
	    "[{'role':'user','content':[{'type':'file','file':{'file_id':'f1'}}]}]" },
	{ "[{'type':'human','content':[{'type':'image_url','image_url':{'url':'u'}}]}]",
	    "[{'role':'user','content':[{'type':'image_url','image_url':{'url':'u'}}]}"
	    "]" },
	{ "[{'type':'ai','content':[{'type':'reasoning','reasoning':'hm'},{'type':'text',"
	  "'text':'yes'}]}]",
	    "[{'role':'assistant','content':[{'type':'text','text':'yes'}]}]" },
	{ "[{'type':'ai','content':[{'type':'reasoning','reasoning':'hm'}]}]",
	    "[{'role':'assistant','content':''}]" },
	{ "[{'type':'tool','content':{'rows':[1,2]},'tool_call_id':'c1'}]",
	    "[{'role':'tool','content':'{\\'rows\\':[1,2]}','tool_call_id':'c1'}]" },
	{ "[{'type':'ai','content':null}]", "[{'role':'assistant','content':''}]" },
	{ "[]", "[]" },
};

START_TEST(messages_go_out_in_the_roles_of_the_provider)
{
	const struct value *given =
	    value_map(arena, "messages", literal(arena, messages[_i].messages), NULL);
	struct ask ask = ask_from(given);
	const char *error = NULL;
	const struct value *body = openai_request(&ask, false, &error);

	ck_assert_value(arena, value_get(body, "messages"), messages[_i].sent);
}
END_TEST

/* --- everything else --------------------------------------------------------------- */

/* Besides model and messages. */
static const struct {
	const char *given, *sent;
} rows[] = {
	{ "{}", "{}" },
	{ "{'tools':[]}", "{}" },
	{ "{'tools':[{'name':'add','description':'Adds.','parameters':{'type':'object',"
	  "'properties':{'a':{'type':'number'}}},'return_direct':true,'timeout_ms':5}]}",
	    "{'tools':[{'type':'function','function':{'name':'add','description':'Adds.',"
	    "'parameters':{'type':'object','properties':{'a':{'type':'number'}}}}}]}" },
	{ "{'tools':[{'name':'bare'}]}",
	    "{'tools':[{'type':'function','function':{'name':'bare','parameters':{'type':"
	    "'object','properties':{}}}}]}" },
	{ "{'tools':[{'type':'web_search'}]}", "{'tools':[{'type':'web_search'}]}" },
	{ "{'tools':[{'type':'function','function':{'name':'x'}}]}",
	    "{'tools':[{'type':'function','function':{'name':'x'}}]}" },
	{ "{'tools':[{'type':'web_search'}],'tool_choice':'auto'}",
	    "{'tools':[{'type':'web_search'}],'tool_choice':'auto'}" },
	{ "{'tools':[{'type':'web_search'}],'tool_choice':'none'}",
	    "{'tools':[{'type':'web_search'}],'tool_choice':'none'}" },
	{ "{'tools':[{'type':'web_search'}],'tool_choice':'any'}",
	    "{'tools':[{'type':'web_search'}],'tool_choice':'required'}" },
	{ "{'tools':[{'type':'web_search'}],'tool_choice':'required'}",
	    "{'tools':[{'type':'web_search'}],'tool_choice':'required'}" },
	{ "{'tools':[{'type':'web_search'}],'tool_choice':true}",
	    "{'tools':[{'type':'web_search'}],'tool_choice':'required'}" },
	{ "{'tools':[{'type':'web_search'}],'tool_choice':false}",
	    "{'tools':[{'type':'web_search'}]}" },
	{ "{'tools':[{'type':'web_search'}],'tool_choice':'add'}",
	    "{'tools':[{'type':'web_search'}],'tool_choice':{'type':'function','function'"
	    ":{"
	    "'name':'add'}}}" },
	{ "{'tools':[{'type':'web_search'}],'tool_choice':{'type':'tool','name':'add'}}",
	    "{'tools':[{'type':'web_search'}],'tool_choice':{'type':'function','function'"
	    ":{"
	    "'name':'add'}}}" },
	{ "{'tools':[{'type':'web_search'}],'tool_choice':{'type':'function','function':{"
	  "'name':'add'}}}",
	    "{'tools':[{'type':'web_search'}],'tool_choice':{'type':'function','function'"
	    ":{"
	    "'name':'add'}}}" },
	{ "{'tool_choice':'any'}", "{}" },
	{ "{'tools':[{'type':'t'}],'settings':{'tool_choice':'any'}}",
	    "{'tools':[{'type':'t'}],'tool_choice':'required'}" },
	{ "{'tools':[{'type':'t'}],'settings':{'temperature':0.5,'top_p':0.25,'max_"
	  "tokens':100,'stop':['a'],'"
	  "seed':7,"
	  "'presence_penalty':1,'parallel_tool_calls':false,'reasoning_effort':'low',"
	  "'something_new':{'x':1}}}",
	    "{'tools':[{'type':'t'}],'temperature':0.5,'top_p':0.25,'max_tokens':100,'"
	    "stop':['a'],'seed':7,"
	    "'presence_penalty':1,'parallel_tool_calls':false,'reasoning_effort':'low',"
	    "'something_new':{'x':1}}" },
	/* Anthropic's, of an agent that was asked before */
	{ "{'settings':{'cache_control':{'type':'ephemeral'},'system_cache_control':{},"
	  "'betas':['b'],'disable_parallel_tool_use':true,'stream_options':{}}}",
	    "{}" },
	/* refused without tools, which a middleware may have taken away */
	{ "{'settings':{'parallel_tool_calls':false}}", "{}" },
	{ "{'settings':{'stop_sequences':['END']}}", "{'stop':['END']}" },
	{ "{'settings':{'temperature':null}}", "{}" },
	{ "{'settings':{'timeout':5,'max_retries':3,'api_key':'k','base_url':'u','n':4,"
	  "'stream':true,'messages':[],'model':'other'}}",
	    "{}" },
	{ "{'settings':{'model_kwargs':{'logit_bias':{'1':2},'model':'other'},'extra_"
	  "body':{"
	  "'top_k':4}}}",
	    "{'logit_bias':{'1':2},'top_k':4}" },
	{ "{'response_format':{'type':'json_schema','json_schema':{'name':'W','schema':{}"
	  "}}}",
	    "{'response_format':{'type':'json_schema','json_schema':{'name':'W','schema':"
	    "{}}}}" },
	{ "{'response_format':{'strategy':'tool','schemas':[{'title':'W'}]}}", "{}" },
	{ "{'response_format':{'strategy':'provider','schemas':[{'title':'The W.1',"
	  "'description':'d','type':'object'}],'handle_errors':true}}",
	    "{'response_format':{'type':'json_schema','json_schema':{'name':'The_W_1',"
	    "'description':'d','schema':{'title':'The W.1','description':'d','type':"
	    "'object'}}}}" },
	{ "{'response_format':{'strategy':'provider','schemas':[{'title':'W'}],"
	  "'strict':true}}",
	    "{'response_format':{'type':'json_schema','json_schema':{'name':'W',"
	    "'schema':{'title':'W'},'strict':true}}}" },
	{ "{'response_format':{'type':'text'},'settings':{'response_format':{'type':"
	  "'json_object'}}}",
	    "{'response_format':{'type':'text'}}" },
	{ "{'settings':{'response_format':{'type':'json_object'}}}",
	    "{'response_format':{'type':'json_object'}}" },
};

START_TEST(tools_choice_format_and_settings_go_out_as_the_provider_has_them)
{
	struct ask ask = ask_from(literal(arena, rows[_i].given));
	const char *error = NULL;
	const struct value *body = openai_request(&ask, false, &error);

	ck_assert_str_eq(value_get_text(body, "model"), "m");
	ck_assert_uint_eq(value_size(value_get(body, "messages")), 0);
	body = value_map_with(arena, body, "model", NULL);
	ck_assert_value(
	    arena, value_map_with(arena, body, "messages", NULL), rows[_i].sent);
}
END_TEST

static const struct {
	const char *model, *settings, *sent;
} limits[] = {
	{ "gpt-4o", "{'max_tokens':9}", "{'max_tokens':9}" },
	{ "some-o1", "{'max_tokens':9}", "{'max_tokens':9}" },
	{ "o3-mini", "{'max_tokens':9}", "{'max_completion_tokens':9}" },
	{ "gpt-5.1-codex", "{'max_tokens':9}", "{'max_completion_tokens':9}" },
	{ "gpt-5", "{'max_tokens':9,'max_completion_tokens':8}",
	    "{'max_completion_tokens':8}" },
	{ "gpt-4o", "{'max_completion_tokens':8}", "{'max_completion_tokens':8}" },
	{ "gpt-5-chat-latest", "{'max_tokens':9}", "{'max_tokens':9}" },
	{ "gpt-6", "{'max_tokens':9}", "{'max_completion_tokens':9}" },
};

START_TEST(a_limit_goes_out_by_the_name_that_the_model_takes)
{
	struct ask ask = ask_from(
	    value_map(arena, "settings", literal(arena, limits[_i].settings), NULL));
	const struct value *body;
	const char *error = NULL;

	ask.model = limits[_i].model;
	body = openai_request(&ask, false, &error);
	body = value_map_with(arena, body, "model", NULL);
	ck_assert_value(
	    arena, value_map_with(arena, body, "messages", NULL), limits[_i].sent);
}
END_TEST

START_TEST(the_system_prompt_is_the_first_message)
{
	struct ask ask = ask_from(
	    literal(arena, "{'system':'Be brief.','messages':[{'type':'human','content':"
			   "'hi'}]}"));
	const char *error = NULL;

	ck_assert_value(arena, value_get(openai_request(&ask, false, &error), "messages"),
	    "[{'role':'system','content':'Be brief.'},{'role':'user','content':'hi'}]");
	ask.system_prompt = "";
	ck_assert_value(arena, value_get(openai_request(&ask, false, &error), "messages"),
	    "[{'role':'user','content':'hi'}]");
}
END_TEST

/* --- what is kept as JSON ------------------------------------------------------------ */

static const char *
sent_json(const struct value *list, const char *system, struct written *written)
{
	struct ask ask = ask_from(value_map(arena, "messages", list, "system",
	    system == NULL ? NULL : value_str(arena, system), NULL));
	const char *error = NULL;
	const struct value *body;

	ask.written = written;
	body = openai_request(&ask, false, &error);
	ck_assert_msg(body != NULL, "%s", error);
	return json_text(arena, body);
}

/* All messages of the table above behind each other. */
static const struct value *
all_messages(void)
{
	struct value_list all = { .arena = arena };
	size_t i, j;

	for (i = 0; i < sizeof messages / sizeof messages[0]; i++) {
		const struct value *some = literal(arena, messages[i].messages);

		for (j = 0; j < value_size(some); j++)
			value_list_add(&all, value_at(some, j));
	}
	return value_list_end(&all);
}

START_TEST(kept_json_is_what_would_be_written)
{
	const struct value *all = all_messages();
	struct written written = { 0 };
	size_t count;

	for (count = 0; count <= value_size(all); count++) {
		const struct value *some = value_array_slice(arena, all, 0, count);

		ck_assert_str_eq(
		    sent_json(some, NULL, &written), sent_json(some, NULL, NULL));
		ck_assert_uint_eq(written.count, count);
		ck_assert_str_eq(
		    sent_json(some, "S", &written), sent_json(some, "S", NULL));
	}
	/* An older call on the thread, which has grown meanwhile. */
	all = value_array_slice(arena, all, 0, 3);
	ck_assert_str_eq(sent_json(all, "S", &written), sent_json(all, "S", NULL));
	ck_assert_uint_gt(written_bytes(&written), 0);
	written_release(&written);
	ck_assert_uint_eq(written_bytes(&written), 0);
}
END_TEST

/* One message may be several items of what a provider is sent, or none. */
START_TEST(kept_json_is_of_as_many_items_as_there_are)
{
	const struct value *items[] = { value_int(arena, 1), value_int(arena, 2) };
	struct value_list list = { .arena = arena };
	struct written written = { 0 };

	written_in(&written, "numbers");
	written_add(&written, items, 0);
	written_put(&written, &list, 1);
	ck_assert_uint_eq(list.count, 0);
	written_add(&written, items, 2);
	written_add(&written, items, 0);
	written_add(&written, items, 1);
	written_put(&written, &list, 3);
	ck_assert_str_eq(json_text(arena, value_list_end(&list)), "[1,2]");
	written_in(&written, "numbers");
	list = (struct value_list){ .arena = arena };
	written_put(&written, &list, 4);
	ck_assert_str_eq(json_text(arena, value_list_end(&list)), "[1,2,1]");
	written_in(&written, "others");
	ck_assert_uint_eq(written.count, 0);
	ck_assert_uint_eq(written_bytes(&written), 0);
	written_release(&written);
}
END_TEST

START_TEST(what_is_kept_is_not_made_again)
{
	struct written written = { 0 };

	sent_json(literal(arena, "[{'type':'human','content':'hi'}]"), NULL, &written);
	/* Only who keeps for another thread would see this. */
	ck_assert_ptr_nonnull(strstr(
	    sent_json(
		literal(arena,
		    "[{'type':'human','content':'other'},{'type':'ai','content':'new'}]"),
		NULL, &written),
	    "[{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"assistant\",\"content\":"
	    "\"new\"}]"));
	written_release(&written);
}
END_TEST

START_TEST(a_message_that_cannot_be_sent_is_not_kept)
{
	struct ask ask = ask_from(literal(arena, "{'messages':[{'type':'human','content':"
						 "'hi'},{'type':'odd','content':'x'}]}"));
	struct written written = { 0 };
	unsigned turn;

	ask.written = &written;
	for (turn = 0; turn < 2; turn++) {
		const char *error = NULL;

		ck_assert_ptr_null(openai_request(&ask, false, &error));
		ck_assert_str_eq(error, "messages[1].type: a model cannot be sent 'odd'");
		ck_assert_uint_eq(written.count, 1);
	}
	written_release(&written);
}
END_TEST

START_TEST(a_stream_is_asked_for_with_its_usage)
{
	struct ask ask = ask_from(literal(arena, "{'settings':{'stream':false}}"));
	const char *error = NULL;

	ck_assert_value(arena, openai_request(&ask, true, &error),
	    "{'model':'m','messages':[],'stream':true,'stream_options':{'include_usage':"
	    "true}}");
	ask.settings = literal(arena, "{'stream_usage':false}");
	ck_assert_value(arena, openai_request(&ask, true, &error),
	    "{'model':'m','messages':[],'stream':true}");
}
END_TEST

START_TEST(a_message_of_no_known_type_is_refused_by_its_place)
{
	struct ask ask = ask_from(literal(
	    arena, "{'messages':[{'type':'human','content':'a'},{'type':'remove'}]}"));
	const char *error = NULL;

	ck_assert_ptr_null(openai_request(&ask, false, &error));
	ck_assert_str_eq(error, "messages[1].type: a model cannot be sent 'remove'");
}
END_TEST

START_TEST(a_long_name_is_cut_between_characters)
{
	const char *message = "{'messages':[{'type':'human','content':'','name':"
			      "'ééééééééééééééééééééééééééééééééxéééé'}]}";
	struct ask ask = ask_from(literal(arena, message));
	const char *error = NULL;
	const struct value *body = openai_request(&ask, false, &error);

	ck_assert_value(arena,
	    value_get(value_at(value_get(body, "messages"), 0), "name"),
	    "'éééééééééééééééééééééééééééééééé'");
}
END_TEST

static const struct {
	const char *settings;
	uint64_t ms;
} timeouts[] = {
	{ "{}", 600000 },
	{ "{'timeout':2}", 2000 },
	{ "{'timeout':0.25}", 250 },
	{ "{'timeout':0.0009}", 1 },
	{ "{'timeout':1e-300}", 1 },
	{ "{'request_timeout':3}", 3000 },
	{ "{'timeout':1,'request_timeout':3}", 1000 },
	{ "{'timeout':null}", 600000 },
	{ "{'timeout':'soon'}", 600000 },
	{ "{'timeout':-1}", 600000 },
	{ "{'timeout':1e300}", 600000 },
};

START_TEST(a_timeout_in_the_settings_is_in_seconds)
{
	const struct value *settings = literal(arena, timeouts[_i].settings);

	ck_assert_uint_eq(provider_timeout_ms(settings, 600000), timeouts[_i].ms);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

TCase *tcase_openai_request(void);

TCase *
tcase_openai_request(void)
{
	TCase *tcase = tcase_create("openai_request");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, messages_go_out_in_the_roles_of_the_provider, 0, COUNT(messages));
	tcase_add_loop_test(tcase,
	    tools_choice_format_and_settings_go_out_as_the_provider_has_them, 0,
	    COUNT(rows));
	tcase_add_loop_test(
	    tcase, a_limit_goes_out_by_the_name_that_the_model_takes, 0, COUNT(limits));
	tcase_add_test(tcase, the_system_prompt_is_the_first_message);
	tcase_add_test(tcase, kept_json_is_what_would_be_written);
	tcase_add_test(tcase, kept_json_is_of_as_many_items_as_there_are);
	tcase_add_test(tcase, what_is_kept_is_not_made_again);
	tcase_add_test(tcase, a_message_that_cannot_be_sent_is_not_kept);
	tcase_add_test(tcase, a_stream_is_asked_for_with_its_usage);
	tcase_add_test(tcase, a_message_of_no_known_type_is_refused_by_its_place);
	tcase_add_test(tcase, a_long_name_is_cut_between_characters);
	tcase_add_loop_test(
	    tcase, a_timeout_in_the_settings_is_in_seconds, 0, COUNT(timeouts));
	return tcase;
}
