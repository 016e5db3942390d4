/* What servers are sent that speak OpenAI's API and are not OpenAI. */
#include <check.h>
#include <string.h>

/* Interface under test */
#include "../../worker-model/call_words.h"
#include "../../worker-model/openai_request.h"

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

static const char *
asked_of(const char *provider, const struct value *given, struct written *written)
{
	struct ask ask = ask_from(given);
	const char *error = NULL;

	ask.provider = provider;
	ask.written = written;
	return json_text(
	    arena, value_get(openai_request(&ask, false, &error), "messages"));
}

/* xAI, Groq, Mistral refuse a name of any but a user. What is kept of the thread's JSON is not of both. */
START_TEST(other_servers_are_not_told_the_names_of_agents)
{
	const struct value *given = literal(arena,
	    "{'messages':[{'type':'human','content':'a','name':'Ann'},{'type':'ai',"
	    "'content':'b','name':'helper'},{'type':'system','content':'c','name':'d'}]"
	    "}");
	const char *all =
	    "[{\"role\":\"user\",\"content\":\"a\",\"name\":\"Ann\"},{\"role\":"
	    "\"assistant\",\"content\":\"b\",\"name\":\"helper\"},{\"role\":\"system\","
	    "\"content\":\"c\",\"name\":\"d\"}]";
	const char *few =
	    "[{\"role\":\"user\",\"content\":\"a\",\"name\":\"Ann\"},{"
	    "\"role\":\"assistant\",\"content\":\"b\"},{\"role\":\"system\","
	    "\"content\":\"c\"}]";
	struct written written = { 0 };

	ck_assert_str_eq(asked_of("grok", given, NULL), few);
	ck_assert_str_eq(asked_of("openai", given, NULL), all);
	ck_assert_str_eq(asked_of("openai", given, &written), all);
	ck_assert_str_eq(asked_of("grok", given, &written), few);
	ck_assert_str_eq(asked_of("mistral", given, &written), few);
	ck_assert_str_eq(asked_of("openai", given, &written), all);
	written_release(&written);
}
END_TEST

/* Who does not get it back refuses what follows: DeepSeek, also of answers that had none, Moonshot. Others refuse to get it. */
START_TEST(what_a_model_thought_goes_back_to_its_provider_alone)
{
	const struct value *given = literal(arena,
	    "{'messages':[{'type':'ai','content':'b','additional_kwargs':{"
	    "'reasoning_content':'hm','reasoning_details':[{'data':'E'}]},'response_"
	    "metadata':{'model_provider':"
	    "'deepseek'}},{'type':'ai','content':'c','additional_kwargs':{"
	    "'reasoning_content':''},'response_metadata':{'model_provider':'deepseek'}},"
	    "{'type':'ai','content':'d','additional_kwargs':{'reasoning_content':'x'}}]"
	    "}");
	const char *own = "[{\"role\":\"assistant\",\"content\":\"b\","
			  "\"reasoning_content\":\"hm\",\"reasoning_details\":[{"
			  "\"data\":\"E\"}]},{\"role\":\"assistant\","
			  "\"content\":\"c\",\"reasoning_content\":\" \"},{\"role\":"
			  "\"assistant\",\"content\":\"d\",\"reasoning_content\":\" \"}]";
	const char *others =
	    "[{\"role\":\"assistant\",\"content\":\"b\"},{\"role\":\"assistant\","
	    "\"content\":\"c\"},{\"role\":\"assistant\",\"content\":\"d\"}]";
	struct written written = { 0 };

	ck_assert_str_eq(asked_of("deepseek", given, NULL), own);
	ck_assert_str_eq(asked_of("groq", given, NULL), others);
	ck_assert_str_eq(asked_of("deepseek", given, &written), own);
	ck_assert_str_eq(asked_of("groq", given, &written), others);
	ck_assert_str_eq(asked_of("deepseek", given, &written), own);
	written_release(&written);
}
END_TEST

/* Google refuses calls without the signature that it sent with them. */
START_TEST(what_came_with_a_call_goes_back_with_it)
{
	const struct value *given = literal(arena,
	    "{'messages':[{'type':'ai','content':'','tool_calls':[{'name':'f','args':{},"
	    "'id':'c1'},{'name':'g','args':{},'id':'c2'}],'additional_kwargs':{"
	    "'extra_content':{'c1':{'google':{'thought_signature':'S'}}}},"
	    "'response_metadata':{'model_provider':'gemini'}}]}");
	const char *own =
	    "[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c1\","
	    "\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"},"
	    "\"extra_content\":{\"google\":{\"thought_signature\":\"S\"}}},{\"id\":"
	    "\"c2\",\"type\":\"function\",\"function\":{\"name\":\"g\",\"arguments\":"
	    "\"{}\"}}]}]";

	ck_assert_str_eq(asked_of("gemini", given, NULL), own);
	ck_assert_ptr_null(strstr(asked_of("openai", given, NULL), "extra_content"));
}
END_TEST

/* The first of several has the signature; a hook may have taken that one away. */
START_TEST(the_first_call_has_a_signature)
{
	struct ask ask = ask_from(literal(arena,
	    "{'messages':[{'type':'ai','content':'','tool_calls':[{'name':'g','args':{},"
	    "'id':'c2'},{'name':'h','args':{},'id':'c3'}],'additional_kwargs':{'extra_"
	    "content':{'c1':{'google':{'thought_signature':'S'}}}},'response_metadata':{"
	    "'model_provider':'google_genai'}}]}"));
	const char *error = NULL;
	const struct value *sent, *calls;

	ask.provider = "google_genai";
	ask.model = "gemini-3-flash";
	sent = value_get(openai_request(&ask, false, &error), "messages");
	calls = value_get(value_at(sent, 0), "tool_calls");
	ck_assert(value_has(value_at(calls, 0), "extra_content"));
	ck_assert(!value_has(value_at(calls, 1), "extra_content"));
}
END_TEST

/* Of those that another model made, or its older ones, it has sent none. */
START_TEST(google_is_sent_calls_of_others_with_what_stands_for_a_signature)
{
	const struct value *given = literal(arena,
	    "{'messages':[{'type':'ai','content':'','tool_calls':[{'name':'f','args':{},"
	    "'id':'c1'}],'response_metadata':{'model_provider':'openai'}}]}");
	static const char signature[] =
	    "{\"id\":\"c1\",\"type\":\"function\",\"function\":{"
	    "\"name\":\"f\",\"arguments\":\"{}\"},\"extra_content\":{"
	    "\"google\":{\"thought_signature\":\"skip_thought_"
	    "signature_validator\"}}}";
	static const struct {
		const char *provider, *model;
		bool wants;
	} asked[] = {
		{ "google_genai", "gemini-3-pro-preview", true },
		{ "google_genai", "gemini-2.5-flash", false },
		{ "google_genai", "gemini-flash-latest", true },
		{ "google_genai", "gemma-3", false },
		{ "openrouter", "gemini-3-pro-preview", false },
	};
	struct written written = { 0 };
	const char *error = NULL;
	struct ask ask = ask_from(given);

	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
		ask.provider = asked[i].provider;
		ask.model = asked[i].model;
		ask.written = NULL;
		ck_assert(asked[i].wants ==
			  (strstr(json_text(arena, openai_request(&ask, false, &error)),
			       signature) != NULL));
		ask.written = &written;
		ck_assert(asked[i].wants ==
			  (strstr(json_text(arena, openai_request(&ask, false, &error)),
			       signature) != NULL));
	}
	written_release(&written);
}
END_TEST

/* Mistral, xAI and Moonshot refuse the others, and all that follows on the thread. */
START_TEST(other_servers_are_sent_no_empty_answer)
{
	const struct value *given = literal(arena,
	    "{'messages':[{'type':'human','content':''},{'type':'ai','content':''},"
	    "{'type':'ai','content':[{'type':'reasoning','reasoning':'hm'}]}]}");

	ck_assert_str_eq(asked_of("mistralai", given, NULL),
	    "[{\"role\":\"user\",\"content\":\"\"},{\"role\":\"assistant\","
	    "\"content\":\".\"},{\"role\":\"assistant\",\"content\":\".\"}]");
	ck_assert_str_eq(asked_of("openai", given, NULL),
	    "[{\"role\":\"user\",\"content\":\"\"},{\"role\":\"assistant\","
	    "\"content\":\"\"},{\"role\":\"assistant\",\"content\":\"\"}]");
}
END_TEST

/* A model has made it up, or a server let through what its model meant for itself: the next request would be refused, and with it what
 * would tell the model. */
START_TEST(a_name_of_a_tool_is_sent_as_its_provider_takes_it)
{
	static const struct {
		const char *provider, *given, *sent;
	} names[] = {
		{ "openai", "search-the_web2", "search-the_web2" },
		{ "openai", "browser.tabs open", "browser_tabs_open" },
		{ "deepseek", "add<|channel|>x", "add__channel__x" },
		{ "mistralai", "caf\xc3\xa9", "caf__" },
		{ "google_genai", "ns:web.search$", "ns:web.search_" },
		{ "google_genai", "7zip", "_zip" },
		{ "openai", "7zip", "7zip" },
		{ "vllm", "web.search", "web.search" },
		{ "together", "web.search", "web.search" },
		{ "openai", "", "" },
		{ "openai",
		    "a123456789b123456789c123456789d123456789e123456789f123456789g1234567"
		    "89",
		    "a123456789b123456789c123456789d123456789e123456789f123456789g123" },
	};

	struct ask ask = { .arena = arena, .model = "m" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		ask.provider = names[i].provider;
		ck_assert_str_eq(
		    value_text(call_name(&ask, value_str(arena, names[i].given))),
		    names[i].sent);
	}
	ck_assert_ptr_null(call_name(&ask, NULL));
	/* A provider of a kind that is known, under a name of its user's choice. */
	ask.provider = "west";
	ask.rules = "azure_openai";
	ck_assert_str_eq(value_text(call_name(&ask, value_str(arena, "a.b"))), "a_b");
	/* Who is offered such a tool takes such names. */
	ask.tools = literal(arena, "[{'name':'fine'},{'name':'web.search'}]");
	ck_assert_str_eq(value_text(call_name(&ask, value_str(arena, "a.b"))), "a.b");
	ck_assert(!call_names_fit(&ask));
}
END_TEST

/* vLLM, llama.cpp and Ollama read the arguments of what was called before. */
START_TEST(other_servers_are_sent_arguments_that_they_can_read)
{
	const struct value *given = literal(arena,
	    "{'messages':[{'type':'ai','content':'','invalid_tool_calls':[{'name':'f',"
	    "'args':'{oops','id':'c1'},{'name':'g','args':'[1]','id':'c2'},{'name':'h',"
	    "'args':'{\\'a\\': 1}','id':'c3'},{'name':'i','args':'','id':'c4'}]}]}");
	static const char *const others[] = { "{}", "{}", "{\"a\": 1}", "{}" };
	static const char *const own[] = { "{oops", "[1]", "{\"a\": 1}", "" };

	for (size_t i = 0; i < 8; i++) {
		struct ask ask = ask_from(given);
		const char *error = NULL;
		const struct value *calls;

		ask.provider = i < 4 ? "vllm" : "openai";
		calls = value_get(
		    value_at(
			value_get(openai_request(&ask, false, &error), "messages"), 0),
		    "tool_calls");
		ck_assert_str_eq(
		    value_get_text(
			value_get(value_at(calls, i % 4), "function"), "arguments"),
		    (i < 4 ? others : own)[i % 4]);
	}
}
END_TEST

/* OpenAI is sent what LangChain sends it; not every server takes a list from everybody. */
START_TEST(other_servers_are_sent_text_as_one_string)
{
	const struct value *given = literal(arena,
	    "{'messages':[{'type':'human','content':['a',{'type':'text','text':'b'}]},"
	    "{'type':'ai','content':[{'type':'reasoning','reasoning':'hm'},{'type':"
	    "'text','text':'c'}]}]}");

	ck_assert_str_eq(asked_of("vllm", given, NULL),
	    "[{\"role\":\"user\",\"content\":\"ab\"},{\"role\":\"assistant\","
	    "\"content\":\"c\"}]");
	ck_assert_str_eq(asked_of("openai", given, NULL),
	    "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{"
	    "\"type\":\"text\",\"text\":\"b\"}]},{\"role\":\"assistant\",\"content\":"
	    "[{\"type\":\"text\",\"text\":\"c\"}]}]");
	ck_assert_str_eq(
	    asked_of("vllm",
		literal(arena, "{'messages':[{'type':'human','content':[{'type':"
			       "'text','text':'a\\u0000b'}]}]}"),
		NULL),
	    "[{\"role\":\"user\",\"content\":\"a\\u0000b\"}]");
}
END_TEST

TCase *tcase_openai_others(void);

/* Mistral's own have nine letters and digits, and it refuses a thread with others. */
START_TEST(mistral_is_sent_ids_as_it_makes_them)
{
	const struct value *given = literal(arena,
	    "{'messages':[{'type':'ai','content':'','tool_calls':[{'name':'f','args':{},"
	    "'id':'call_1'},{'name':'f','args':{},'id':'D681PevKs'},{'name':'f','args':"
	    "{},'id':'123456789a'}]},{'type':'tool','content':'x','tool_call_id':"
	    "'call_1'},{'type':'tool','content':'y','tool_call_id':'D681PevKs'}]}");
	const struct value *sent, *calls, *first;
	struct ask ask = ask_from(given);
	const char *error = NULL;

	ask.provider = "mistralai";
	sent = value_get(openai_request(&ask, false, &error), "messages");
	calls = value_get(value_at(sent, 0), "tool_calls");
	first = value_get(value_at(calls, 0), "id");
	ck_assert_uint_eq(first->size, 9);
	ck_assert_uint_eq(
	    strspn(value_text(first), "0123456789ABCDEFabcdef"), first->size);
	ck_assert(value_equal(first, value_get(value_at(sent, 1), "tool_call_id")));
	ck_assert_str_eq(value_get_text(value_at(calls, 1), "id"), "D681PevKs");
	ck_assert_str_eq(value_get_text(value_at(sent, 2), "tool_call_id"), "D681PevKs");
	ck_assert_uint_eq(value_get(value_at(calls, 2), "id")->size, 9);
	ask.provider = "groq";
	sent = value_get(openai_request(&ask, false, &error), "messages");
	ck_assert_str_eq(value_get_text(value_at(sent, 1), "tool_call_id"), "call_1");
}
END_TEST

/* Gateways make them, with what belongs elsewhere behind them; OpenAI's chat completions take 40 bytes. */
START_TEST(long_ids_of_calls_are_sent_short)
{
	static const char *const ends[] = { "openai", "azure_openai", "groq", "west" };
	const char *longest = arena_printf(arena, "call_%060d", 1);
	const struct value *given = literal(arena,
	    arena_printf(arena,
		"{'messages':[{'type':'ai','content':'','tool_calls':[{'name':'f','args':"
		"{},"
		"'id':'%s'},{'name':'f','args':{},'id':'call_2'}],'response_metadata':{"
		"'model_provider':'gateway'}},{'type':'tool','content':'x','tool_call_id'"
		":"
		"'%s'}]}",
		longest, longest));
	struct ask ask = ask_from(given);
	const char *error = NULL, *id;
	const struct value *sent, *calls;

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		ask.provider = ends[i];
		ask.rules = i == 3 ? "azure_openai" : NULL;
		sent = value_get(openai_request(&ask, false, &error), "messages");
		calls = value_get(value_at(sent, 0), "tool_calls");
		id = value_get_text(value_at(calls, 0), "id");
		ck_assert(i == 2 ? strcmp(id, longest) == 0 : strlen(id) <= 40);
		ck_assert_str_eq(value_get_text(value_at(sent, 1), "tool_call_id"), id);
		ck_assert_str_eq(value_get_text(value_at(calls, 1), "id"), "call_2");
	}
	/* One that it has made itself it knows: that of a gateway may have more in it. */
	ask.provider = "gateway";
	ask.rules = "openai";
	sent = value_get(openai_request(&ask, false, &error), "messages");
	ck_assert_str_eq(value_get_text(value_at(sent, 1), "tool_call_id"), longest);
}
END_TEST

TCase *
tcase_openai_others(void)
{
	TCase *tcase = tcase_create("openai_others");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, other_servers_are_not_told_the_names_of_agents);
	tcase_add_test(tcase, what_a_model_thought_goes_back_to_its_provider_alone);
	tcase_add_test(tcase, what_came_with_a_call_goes_back_with_it);
	tcase_add_test(tcase, other_servers_are_sent_arguments_that_they_can_read);
	tcase_add_test(tcase, other_servers_are_sent_text_as_one_string);
	tcase_add_test(tcase, mistral_is_sent_ids_as_it_makes_them);
	tcase_add_test(tcase, long_ids_of_calls_are_sent_short);
	tcase_add_test(
	    tcase, google_is_sent_calls_of_others_with_what_stands_for_a_signature);
	tcase_add_test(tcase, the_first_call_has_a_signature);
	tcase_add_test(tcase, other_servers_are_sent_no_empty_answer);
	tcase_add_test(tcase, a_name_of_a_tool_is_sent_as_its_provider_takes_it);
	return tcase;
}
