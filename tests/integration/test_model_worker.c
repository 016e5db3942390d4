/* The model worker against a provider that answers as told. */
#include <check.h>
#include <signal.h>
#include <string.h>

#include "fiber.h"
#include "literal.h"
#include "model_bench.h"

static struct model_bench bench;

static void
setup(void)
{
	model_bench_start(&bench, NULL);
}

/* For answers that never come: all others must not be measured by this. */
static void
setup_hasty(void)
{
	model_bench_start(&bench, (const char *[]){ "--first-byte-timeout-ms", "300",
				      "--idle-timeout-ms", "300", NULL });
}

static void
teardown(void)
{
	model_bench_stop(&bench);
}

static const struct value *
fault_of(const struct value *body, const char *type)
{
	const struct value *fault = value_get(body, "fault");

	ck_assert_str_eq(value_get_text(fault, "type"), type);
	return fault;
}

static void
assert_contains(const struct value *fault, const char *text)
{
	const char *message = value_get_text(fault, "message");

	ck_assert_msg(strstr(message, text) != NULL, "'%s' is not in: %s", text, message);
}

static const char *
content_of(const struct value *body)
{
	return value_get_text(value_at(value_get(body, "messages"), 0), "content");
}

/* Returns the text that was shown from the index of event `from` on. */
static const char *
shown(const struct value *tokens, size_t from)
{
	const char *text = "";

	for (size_t i = from; i < value_size(tokens); i++) {
		const struct value *token = value_at(tokens, i);

		ck_assert_int_eq(value_get_int(token, "index", -1), (int64_t)(i - from));
		ck_assert_str_eq(value_get_text(token, "run"), "r");
		ck_assert_str_eq(value_get_text(token, "thread"), "t");
		text = arena_printf(
		    bench.arena, "%s%s", text, value_get_text(token, "content"));
	}
	return text;
}

/* --- answers ----------------------------------------------------------------------- */

START_TEST(a_call_is_answered_by_the_provider)
{
	const struct value *body, *request;

	model_bench_script(&bench, "{'main':[{'content':'hello','usage':{'input_tokens':"
				   "3,'output_tokens':1}}]}");
	body = model_bench_call(&bench, 0,
	    "{'system_prompt':'Be "
	    "kind.','model_settings':{'temperature':0.5},'name':'ann'}",
	    "{}");
	ck_assert_value(bench.arena, value_get(body, "messages"),
	    "[{'type':'ai','content':'hello','name':'ann','usage_metadata':{'input_"
	    "tokens':3,"
	    "'output_tokens':1,'total_tokens':4},'response_metadata':{'finish_reason':'"
	    "stop',"
	    "'model_name':'main','id':'chatcmpl-scripted','model_provider':'openai'}}]");
	request = value_at(model_bench_requests(&bench), 0);
	ck_assert_str_eq(value_get_text(request, "path"), "/v1/chat/completions");
	ck_assert_str_eq(
	    value_get_text(request, "authorization"), "Bearer " MODEL_BENCH_KEY);
	ck_assert_value(bench.arena, value_get(request, "body"),
	    "{'model':'main','temperature':0.5,'messages':[{'role':'system','content':"
	    "'Be kind.'},{'role':'user','content':'hi'}]}");
	ck_assert_uint_eq(value_size(model_bench_events(&bench, "token")), 0);
}
END_TEST

START_TEST(a_streamed_answer_is_shown_as_it_comes)
{
	const struct value *body, *request;

	model_bench_script(&bench,
	    "{'main':[{'content':'one two three 四','usage':{'input_tokens':3,"
	    "'output_tokens':1},'tool_calls':[{'id':'c1','name':'f','args':{'a':'é'}}],"
	    "'piece_bytes':7,'piece_delay_ms':1}]}");
	body = model_bench_call(&bench, WIRE_STREAM, "{}", "{}");
	ck_assert_value(bench.arena, value_get(body, "messages"),
	    "[{'type':'ai','content':'one two three "
	    "四','tool_calls':[{'name':'f','args':{"
	    "'a':'é'},'id':'c1','type':'tool_call'}],'usage_metadata':{'input_tokens':3,"
	    "'output_tokens':1,'total_tokens':4},'response_metadata':{'model_name':'main'"
	    ","
	    "'id':'chatcmpl-scripted','finish_reason':'tool_calls','model_provider':"
	    "'openai'}}]");
	ck_assert_str_eq(
	    shown(model_bench_events(&bench, "token"), 0), "one two three 四");
	request = value_get(value_at(model_bench_requests(&bench), 0), "body");
	ck_assert_value(bench.arena, request,
	    "{'model':'main','messages':[{'role':'user','content':'hi'}],'stream':true,"
	    "'stream_options':{'include_usage':true}}");
}
END_TEST

START_TEST(a_middlewares_own_call_is_not_shown)
{
	model_bench_script(&bench, "{'main':[{'content':'secret summary'}]}");
	model_bench_call(&bench, WIRE_STREAM | WIRE_INTERNAL, "{}", "{}");
	ck_assert_uint_eq(value_size(model_bench_events(&bench, "token")), 0);
}
END_TEST

START_TEST(malformed_arguments_travel_as_an_invalid_call)
{
	const struct value *body;

	model_bench_script(&bench, "{'main':[{'content':'','tool_calls':[{'id':'c1','"
				   "name':'f','args':'{oops'}]}]}");
	body = model_bench_call(&bench, 0, "{}", "{}");
	body = value_get(value_at(value_get(body, "messages"), 0), "invalid_tool_calls");
	ck_assert_str_eq(value_get_text(value_at(body, 0), "args"), "{oops");
}
END_TEST

/* --- faults ------------------------------------------------------------------------ */

START_TEST(a_key_that_is_refused_is_not_repeated)
{
	const struct value *fault;

	model_bench_script(&bench,
	    "{'main':[{'http_error':401,'message':'Incorrect API key: " MODEL_BENCH_KEY
	    ", or sk-test-****cdef'}]}");
	fault = fault_of(model_bench_call(&bench, 0, "{}", "{}"), "AuthenticationError");
	ck_assert_str_eq(value_get_text(fault, "message"),
	    "openai answered with status 401: Incorrect API key: [key], or [key]");
}
END_TEST

static const char *const silences[] = {
	"{'main':[{'hang':true}]}",
	"{'main':[{'content':'a b c d e f','piece_bytes':200,'piece_delay_ms':20000}]}",
};

START_TEST(a_streamed_answer_may_not_be_silent_for_long)
{
	const struct value *fault;

	model_bench_script(&bench, silences[_i]);
	fault = fault_of(
	    model_bench_call(&bench, WIRE_STREAM, "{}", "{}"), "APITimeoutError");
	assert_contains(fault, "timed out");
	ck_assert_uint_eq(value_size(model_bench_requests(&bench)), 1);
}
END_TEST

START_TEST(a_timeout_of_the_request_ends_a_plain_call)
{
	model_bench_script(&bench, "{'main':[{'hang':true}]}");
	fault_of(model_bench_call(&bench, 0, "{'model_settings':{'timeout':0.2}}", "{}"),
	    "APITimeoutError");
}
END_TEST

START_TEST(a_provider_that_is_not_there_is_named)
{
	const struct value *fault = fault_of(
	    model_bench_call(&bench, 0, "{'model':'opnai:gpt-4o'}", "{}"), "ValueError");

	assert_contains(fault, "'opnai'");
	assert_contains(fault, "did you mean 'openai'?");
}
END_TEST

START_TEST(a_model_of_another_worker_is_called_through_the_broker)
{
	const char *broker = arena_printf(bench.arena, "ipc://%s/broker", bench.folder);
	const char *provider =
	    arena_printf(bench.arena, "other=%s/v1", bench.provider_url);
	struct child *other =
	    child_start((const char *[]){ "worker-model", "--broker", broker,
			    "--provider", provider, "--log-level", "warn", NULL },
		(const char *[]){ "OPENAI_BASE_URL=", "OPENAI_API_KEY=", NULL });
	const char *profile =
	    "{'model':'other:x','name':'ann','system_prompt':'Be "
	    "brief.','tools':[{'name':"
	    "'f','description':'','parameters':{}}],'response_format':{'strategy':'tool',"
	    "'schemas':[{'title':'W','required':['c']}],'handle_errors':true}}";
	const struct value *body;

	model_bench_script(&bench,
	    "{'x':[{'content':'from afar','tool_calls':[{'id':'c1','name':'W','args':{'c'"
	    ":1}}]},{'http_error':429,'message':'slow down'}]}");
	body = model_bench_call(
	    &bench, WIRE_STREAM, profile, "{'providers':['openai','other']}");
	ck_assert_str_eq(content_of(body), "from afar");
	ck_assert_str_eq(
	    value_get_text(value_at(value_get(body, "messages"), 0), "name"), "ann");
	ck_assert_value(bench.arena, value_get(body, "structured_response"), "{'c':1}");
	ck_assert_uint_eq(value_size(value_get(body, "messages")), 2);
	ck_assert_str_eq(shown(model_bench_events(&bench, "token"), 0), "from afar");
	body = value_get(value_at(model_bench_requests(&bench), 0), "body");
	ck_assert_uint_eq(value_size(value_get(body, "tools")), 2);
	ck_assert_str_eq(value_get_text(body, "tool_choice"), "required");
	fault_of(model_bench_call(&bench, 0, profile, "{'providers':['openai','other']}"),
	    "RateLimitError");
	child_stop(&other);
}
END_TEST

static const struct {
	const char *profile, *request;
} unreadable[] = {
	{ "{'model':null}", "{}" },
	{ "{'model':3}", "{}" },
	{ "{'middleware':[{'name':'model_fallback','settings':'x'}]}", "{}" },
	{ "{'model_settings':'hot'}", "{}" },
	{ "{}", "{'messages':['Hi']}" },
	{ "{'model':'nix:m'}", "{'providers':[7]}" },
};

START_TEST(a_call_of_another_shape_is_answered_with_a_fault)
{
	const struct value *body =
	    model_bench_call(&bench, 0, unreadable[_i].profile, unreadable[_i].request);

	ck_assert_ptr_nonnull(value_get(body, "fault"));
}
END_TEST

START_TEST(a_middleware_that_is_not_there_is_named)
{
	const struct value *fault =
	    fault_of(model_bench_call(
			 &bench, 0, "{'middleware':[{'name':'no_such_thing'}]}", "{}"),
		"RuntimeError");

	assert_contains(fault, "no_such_thing");
}
END_TEST

/* --- structured output ------------------------------------------------------------- */

#define FORMAT(strategy)                                                                 \
	"{'response_format':{'strategy':'" strategy                                      \
	"','schemas':[{'title':'W','required':['c']}],'handle_errors':true}}"

START_TEST(structured_output_is_the_same_streamed_or_not)
{
	unsigned flags = _i == 0 ? 0 : WIRE_STREAM;
	const struct value *body, *sent;

	model_bench_script(&bench,
	    "{'main':[{'tool_calls':[{'id':'c1','name':'W','args':{'c':1}}],"
	    "'piece_bytes':3},{'content':'{\\u0022c\\u0022: 2}','piece_bytes':3},"
	    "{'content':'It is two.'},{'tool_calls':[{'id':'c1','name':'W','args':"
	    "'{\\u0022c'}]}]}");
	body = model_bench_call(&bench, flags, FORMAT("tool"), "{}");
	ck_assert_value(bench.arena, value_get(body, "structured_response"), "{'c':1}");
	body = model_bench_call(&bench, flags, FORMAT("provider"), "{}");
	ck_assert_value(bench.arena, value_get(body, "structured_response"), "{'c':2}");
	sent = value_get(value_at(model_bench_requests(&bench), 1), "body");
	ck_assert_value(bench.arena, value_get(sent, "response_format"),
	    "{'type':'json_schema','json_schema':{'name':'W','schema':{'title':'W',"
	    "'required':['c']}}}");
	assert_contains(
	    fault_of(model_bench_call(&bench, flags, FORMAT("provider"), "{}"),
		"StructuredOutputValidationError"),
	    "'W'");
	/* Arguments that are no JSON: told of as what they were to be. */
	body = model_bench_call(&bench, flags, FORMAT("tool"), "{}");
	ck_assert_str_eq(
	    value_get_text(value_at(value_get(body, "messages"), 1), "name"), "W");
}
END_TEST

/* auto asks the built-in table. */
START_TEST(auto_knows_models_by_their_names)
{
	const struct value *requests;

	model_bench_script(
	    &bench, "{'gpt-4o':[{'content':'{}'}],'main':[{'content':''}]}");
	model_bench_call(&bench, 0,
	    "{'model':'openai:gpt-4o','response_format':{'title':'W','type':'object'}}",
	    "{}");
	model_bench_call(
	    &bench, 0, "{'response_format':{'title':'W','type':'object'}}", "{}");
	requests = model_bench_requests(&bench);
	ck_assert(value_has(value_get(value_at(requests, 0), "body"), "response_format"));
	ck_assert(value_has(value_get(value_at(requests, 1), "body"), "tools"));
}
END_TEST

/* --- the chain --------------------------------------------------------------------- */

#define RETRY                                                                            \
	"{'middleware':[{'name':'model_retry','settings':{'max_retries':2,"              \
	"'initial_delay':0,'jitter':false}}]}"

START_TEST(a_retry_takes_back_what_was_shown)
{
	const struct value *tokens, *restarts;

	model_bench_script(&bench, "{'main':[{'content':'half "
				   "an','open_end':true},{'content':'whole answer'}]}");
	ck_assert_str_eq(content_of(model_bench_call(&bench, WIRE_STREAM, RETRY, "{}")),
	    "whole answer");
	ck_assert_uint_eq(value_size(model_bench_requests(&bench)), 2);
	restarts = model_bench_events(&bench, "restart");
	ck_assert_uint_eq(value_size(restarts), 1);
	tokens = model_bench_events(&bench, "token");
	ck_assert_str_eq(value_get_text(value_at(tokens, 0), "content"), "half ");
	ck_assert_str_eq(shown(tokens, value_size(tokens) - 2), "whole answer");
}
END_TEST

START_TEST(a_script_in_the_spec_needs_no_provider)
{
	const struct value *body = model_bench_call(&bench, 0,
	    "{'model':'scripted:m','script':{'m':[{'drop':true},{'content':'from the "
	    "script'}]},'middleware':[{'name':'model_retry','settings':{'initial_delay':"
	    "0}}]}",
	    "{}");

	ck_assert_str_eq(content_of(body), "from the script");
	ck_assert_uint_eq(value_size(model_bench_requests(&bench)), 0);
}
END_TEST

/* --- cancel and drain -------------------------------------------------------------- */

START_TEST(a_cancelled_call_leaves_the_provider)
{
	struct model_call call;

	model_bench_script(&bench, "{'main':[{'hang':true},{'content':'next'}]}");
	model_bench_begin(&bench, &call, 0, "{}", "{}");
	model_bench_await_requests(&bench, 1);
	fiber_cancel(call.fiber);
	model_bench_end(&bench, &call);
	ck_assert_int_eq(call.result, -1);
	ck_assert_str_eq(content_of(model_bench_call(&bench, 0, "{}", "{}")), "next");
}
END_TEST

START_TEST(a_worker_told_to_end_finishes_its_call_first)
{
	struct model_call call;

	model_bench_script(&bench, "{'main':[{'content':'in time','delay_ms':300}]}");
	model_bench_begin(&bench, &call, 0, "{}", "{}");
	model_bench_await_requests(&bench, 1);
	kill(child_pid(bench.worker), SIGTERM);
	model_bench_end(&bench, &call);
	ck_assert_int_eq(call.result, 0);
	ck_assert_str_eq(content_of(call.outcome.body), "in time");
	ck_assert_int_eq(child_wait(&bench.worker), 0);
}
END_TEST

/* Plain and streamed; the key in a header of Azure's own, and not told when it is refused. */
START_TEST(azure_is_asked_by_the_name_of_a_deployment)
{
	const struct value *body, *request;

	model_bench_script(&bench,
	    "{'my "
	    "d':[{'content':'Hello.'},{'http_error':400,'message':'No " MODEL_BENCH_KEY
	    ".'}]}");
	body = model_bench_call(
	    &bench, _i == 0 ? 0 : WIRE_STREAM, "{'model':'azure_openai:my d'}", "{}");
	ck_assert_str_eq(
	    value_get_text(value_at(value_get(body, "messages"), 0), "content"),
	    "Hello.");
	request = value_at(model_bench_requests(&bench), 0);
	ck_assert_str_eq(value_get_text(request, "path"),
	    "/openai/deployments/my%20d/chat/completions?api-version=2024-10-21");
	ck_assert_str_eq(value_get_text(request, "api-key"), MODEL_BENCH_KEY);
	ck_assert_ptr_null(value_get_text(request, "authorization"));
	ck_assert_int_eq(value_has(value_get(request, "body"), "stream_options"), _i);
	body = model_bench_call(&bench, 0, "{'model':'azure_openai:my d'}", "{}");
	body = value_get(body, "fault");
	ck_assert_str_eq(value_get_text(body, "type"), "BadRequestError");
	ck_assert_ptr_null(strstr(value_get_text(body, "message"), MODEL_BENCH_KEY));
}
END_TEST

/* Azure's first event is what it has found in the request; then the model thinks. The first piece is that event. */
#define FOUND_FIRST                                                                      \
	"{'raw':'data: {\\'id\\':\\'\\',\\'model\\':\\'\\',\\'choices\\':[],"            \
	"\\'prompt_filter_results\\':[{\\'prompt_index\\':0,\\'content_filter_"          \
	"results\\':{\\'hate\\':{\\'filtered\\':false,\\'severity\\':\\'safe\\'}}}]}"    \
	"\\n\\ndata: {\\'choices\\':[{\\'index\\':0,\\'delta\\':{\\'content\\':\\'"      \
	"Done.\\'},\\'finish_reason\\':\\'stop\\'}]}\\n\\ndata: [DONE]\\n\\n',"          \
	"'content_type':'text/event-stream','piece_bytes':157,'piece_delay_ms':400}"

START_TEST(azure_may_think_behind_the_first_event)
{
	static const char *const flags[] = { "--idle-timeout-ms", "100", NULL };
	const struct value *body;

	model_bench_stop(&bench);
	model_bench_start(&bench, flags);
	model_bench_script(&bench,
	    arena_printf(bench.arena, "{'main':[%s,%s]}", FOUND_FIRST, FOUND_FIRST));
	body =
	    model_bench_call(&bench, WIRE_STREAM, "{'model':'azure_openai:main'}", "{}");
	ck_assert_str_eq(content_of(body), "Done.");
	body = model_bench_call(&bench, WIRE_STREAM, "{}", "{}");
	fault_of(body, "APITimeoutError");
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

TCase *tcase_model_worker_timeouts(void);

TCase *
tcase_model_worker_timeouts(void)
{
	TCase *tcase = tcase_create("model_worker_timeouts");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup_hasty, teardown);
	tcase_add_loop_test(
	    tcase, a_streamed_answer_may_not_be_silent_for_long, 0, COUNT(silences));
	return tcase;
}

TCase *tcase_model_worker(void);

TCase *
tcase_model_worker(void)
{
	TCase *tcase = tcase_create("model_worker");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_call_is_answered_by_the_provider);
	tcase_add_loop_test(tcase, azure_is_asked_by_the_name_of_a_deployment, 0, 2);
	tcase_add_test(tcase, azure_may_think_behind_the_first_event);
	tcase_add_test(tcase, a_streamed_answer_is_shown_as_it_comes);
	tcase_add_test(tcase, a_middlewares_own_call_is_not_shown);
	tcase_add_test(tcase, malformed_arguments_travel_as_an_invalid_call);
	tcase_add_test(tcase, a_key_that_is_refused_is_not_repeated);
	tcase_add_test(tcase, a_timeout_of_the_request_ends_a_plain_call);
	tcase_add_test(tcase, a_provider_that_is_not_there_is_named);
	tcase_add_test(tcase, a_model_of_another_worker_is_called_through_the_broker);
	tcase_add_loop_test(tcase, a_call_of_another_shape_is_answered_with_a_fault, 0,
	    sizeof unreadable / sizeof unreadable[0]);
	tcase_add_test(tcase, a_middleware_that_is_not_there_is_named);
	tcase_add_loop_test(tcase, structured_output_is_the_same_streamed_or_not, 0, 2);
	tcase_add_test(tcase, auto_knows_models_by_their_names);
	tcase_add_test(tcase, a_retry_takes_back_what_was_shown);
	tcase_add_test(tcase, a_script_in_the_spec_needs_no_provider);
	tcase_add_test(tcase, a_cancelled_call_leaves_the_provider);
	tcase_add_test(tcase, a_worker_told_to_end_finishes_its_call_first);
	return tcase;
}
