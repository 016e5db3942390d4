#include <check.h>
#include <string.h>

/* Interface under test */
#include "../../worker-model/openai_answer.h"
#include "../../worker-model/provider_error.h"
#include "../../worker-model/provider_fault.h"

#include "bounds.h"
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

/* Returns the body of an answer with this message. */
static const struct value *
body_with(const char *message)
{
	return value_map(arena, "choices",
	    literal(arena, value_text(value_printf(arena, "[{'message':%s}]", message))),
	    NULL);
}

/* --- answers ----------------------------------------------------------------------- */

/* `message` of the answer and the AI message it becomes, type and response_metadata
 * apart. */
static const struct {
	const char *message, *read;
} messages[] = {
	{ "{'role':'assistant','content':'hi'}", "{'content':'hi'}" },
	{ "{'content':null}", "{'content':''}" },
	{ "{}", "{'content':''}" },
	{ "{'content':[{'type':'text','text':'a'}]}",
	    "{'content':[{'type':'text','text':'a'}]}" },
	{ "{'content':null,'refusal':'no'}",
	    "{'content':'','additional_kwargs':{'refusal':'no'}}" },
	{ "{'content':'a','refusal':null,'reasoning_content':'hm'}",
	    "{'content':'a','additional_kwargs':{'reasoning_content':'hm'}}" },
	{ "{'content':'a','reasoning_content':null}", "{'content':'a'}" },
	{ "{'content':'a','reasoning_details':[{'type':'reasoning.encrypted','data':'E'}]"
	  "}",
	    "{'content':'a','additional_kwargs':{'reasoning_details':[{'type':"
	    "'reasoning.encrypted','data':'E'}]}}" },
	{ "{'content':'a','reasoning_details':[]}", "{'content':'a'}" },
	{ "{'reasoning_content':'hm','tool_calls':[{'id':'c1','function':{'name':'f'}},"
	  "{'id':'c2','function':{'name':'g','arguments':'oops'},'extra_content':{'x':1}}"
	  ","
	  "{'id':'c3','function':{'name':'h'},'extra_content':{'x':2}}]}",
	    "{'content':'','tool_calls':[{'name':'f','args':{},'id':'c1','type':"
	    "'tool_call'},{'name':'h','args':{},'id':'c3','type':'tool_call'}],"
	    "'invalid_tool_calls':[{'name':'g','args':'oops','id':'c2','error':'line 1, "
	    "column 2: invalid char in json text.','type':'invalid_tool_call'}],"
	    "'additional_kwargs':{'reasoning_content':'hm','extra_content':{'c2':{'x':1},"
	    "'c3':{'x':2}}}}" },
	{ "{'content':'','tool_calls':[]}", "{'content':''}" },
	{ "{'tool_calls':[{'id':'c1','type':'function','function':{'name':'add','"
	  "arguments':"
	  "'{\\'a\\':1,\\'b\\':[2]}'}}]}",
	    "{'content':'','tool_calls':[{'name':'add','args':{'a':1,'b':[2]},'id':'c1',"
	    "'type':'tool_call'}]}" },
	{ "{'tool_calls':[{'id':'c1','function':{'name':'now','arguments':''}}]}",
	    "{'content':'','tool_calls':[{'name':'now','args':{},'id':'c1','type':"
	    "'tool_call'}]}" },
	{ "{'tool_calls':[{'id':'c1','function':{'name':'now'}}]}",
	    "{'content':'','tool_calls':[{'name':'now','args':{},'id':'c1','type':"
	    "'tool_call'}]}" },
	{ "{'tool_calls':[{'id':'c1','function':{'name':'now','arguments':'null'}}]}",
	    "{'content':'','tool_calls':[{'name':'now','args':{},'id':'c1','type':"
	    "'tool_call'}]}" },
	{ "{'tool_calls':[{'id':'c1','function':{'name':'f','arguments':{'a':1}}}]}",
	    "{'content':'','tool_calls':[{'name':'f','args':{'a':1},'id':'c1','type':"
	    "'tool_call'}]}" },
	{ "{'tool_calls':[{'id':'c1','function':{'name':'f','arguments':"
	  "'{\\'a\\':\\'x\\n\\ty\\\\\\'z\\u0001\\'\\n}'}}]}",
	    "{'content':'','tool_calls':[{'name':'f','args':{'a':'x\\n\\ty\\'z\\u0001'},"
	    "'id':'c1','type':'tool_call'}]}" },
	/* A line break is no escape. */
	{ "{'tool_calls':[{'id':'c1','function':{'name':'f','arguments':"
	  "'{\\'a\\':\\'x\\\\\\n\\'}'}}]}",
	    "{'content':'','invalid_tool_calls':[{'name':'f','args':'{\\'a\\':\\'"
	    "x\\\\\\n\\'}',"
	    "'id':'c1','error':'line 1, column 9: inside a string, \\u0027\\\\\\u0027 "
	    "occurs "
	    "before a "
	    "character which it may not.','type':'invalid_tool_call'}]}" },
	{ "{'tool_calls':[{'id':'c1','function':{'name':'f','arguments':'[1]'}}]}",
	    "{'content':'','invalid_tool_calls':[{'name':'f','args':'[1]','id':'c1','"
	    "error':"
	    "'the arguments are not a JSON object','type':'invalid_tool_call'}]}" },
	{ "{'tool_calls':[{'id':'c1','function':{'name':'f','arguments':5}}]}",
	    "{'content':'','invalid_tool_calls':[{'name':'f','args':'5','id':'c1','error'"
	    ":"
	    "'the arguments are not a JSON object','type':'invalid_tool_call'}]}" },
};

START_TEST(a_message_is_read)
{
	const char *error = NULL;
	const struct value *message =
	    openai_answer(arena, body_with(messages[_i].message), &error);

	ck_assert_str_eq(value_get_text(message, "type"), "ai");
	message = value_map_with(arena, message, "type", NULL);
	message = value_map_with(arena, message, "response_metadata", NULL);
	ck_assert_value(arena, message, messages[_i].read);
}
END_TEST

START_TEST(malformed_arguments_make_an_invalid_call_beside_the_valid_ones)
{
	const char *error = NULL;
	const struct value *message = openai_answer(arena,
	    body_with("{'tool_calls':["
		      "{'id':'c1','function':{'name':'add','arguments':'{\\'a\\': 1,'}},"
		      "{'id':'c2','function':{'name':'add','arguments':'{}'}}]}"),
	    &error);
	const struct value *invalid =
	    value_at(value_get(message, "invalid_tool_calls"), 0);

	ck_assert_str_eq(value_get_text(invalid, "name"), "add");
	ck_assert_str_eq(value_get_text(invalid, "id"), "c1");
	ck_assert_str_eq(value_get_text(invalid, "args"), "{\"a\": 1,");
	ck_assert_ptr_nonnull(value_get_text(invalid, "error"));
	ck_assert_value(arena, value_get(message, "tool_calls"),
	    "[{'name':'add','args':{},'id':'c2','type':'tool_call'}]");
}
END_TEST

START_TEST(calls_without_an_id_of_their_own_get_one)
{
	const char *error = NULL;
	const struct value *message = openai_answer(arena,
	    body_with(
		"{'tool_calls':[{'function':{'name':'a'}},{'id':'','function':{'name':"
		"'b'}},{'id':'x','function':{'name':'c'}},{'id':'x','function':{"
		"'name':'d'}}]}"),
	    &error);
	const struct value *calls = value_get(message, "tool_calls");
	const char *ids[4];

	ck_assert_uint_eq(value_size(calls), 4);
	for (size_t i = 0; i < 4; i++) {
		ids[i] = value_get_text(value_at(calls, i), "id");
		ck_assert_uint_gt(strlen(ids[i]), 0);
		for (size_t j = 0; j < i; j++)
			ck_assert_str_ne(ids[i], ids[j]);
	}
	ck_assert_str_eq(ids[2], "x");
}
END_TEST

START_TEST(usage_and_metadata_are_kept)
{
	const char *error = NULL;
	const struct value *message = openai_answer(arena,
	    literal(arena,
		"{'id':'chatcmpl-1','model':'gpt-4o-2024','system_fingerprint':'fp',"
		"'choices':[{'message':{'content':'x'},'finish_reason':'length'}],"
		"'usage':{'prompt_tokens':10,'completion_tokens':5,'total_tokens':15,"
		"'prompt_tokens_details':{'cached_tokens':4},"
		"'completion_tokens_details':{'reasoning_tokens':3}}}"),
	    &error);

	ck_assert_value(arena, value_get(message, "usage_metadata"),
	    "{'input_tokens':10,'output_tokens':5,'total_tokens':15,"
	    "'input_token_details':{'cache_read':4},'output_token_details':{'reasoning':"
	    "3}}");
	ck_assert_value(arena, value_get(message, "response_metadata"),
	    "{'finish_reason':'length','model_name':'gpt-4o-2024','id':'chatcmpl-1',"
	    "'system_fingerprint':'fp'}");
	ck_assert(!value_has(message, "id")); /* a server may give the same one twice */
}
END_TEST

START_TEST(numbers_of_tokens_that_cannot_be_are_not_believed)
{
	ck_assert_value(arena,
	    openai_usage(arena,
		literal(arena,
		    "{'prompt_tokens':-3,'completion_tokens':9223372036854775807,"
		    "'total_tokens':'many'}"),
		&openai_chat_counts),
	    "{'input_tokens':0,'output_tokens':0,'total_tokens':0}");
	ck_assert_value(arena,
	    openai_usage(arena,
		literal(arena, "{'prompt_tokens':3,'completion_tokens':4}"),
		&openai_chat_counts),
	    "{'input_tokens':3,'output_tokens':4,'total_tokens':7}");
	ck_assert_ptr_null(openai_usage(arena, NULL, &openai_chat_counts));
	ck_assert_ptr_null(openai_usage(arena, value_nil(), &openai_chat_counts));
}
END_TEST

static const struct {
	const char *body, *reason;
} unreadable[] = {
	{ "{}", "it has no message" },
	{ "[]", "it has no message" },
	{ "'text'", "it has no message" },
	{ "{'choices':[]}", "it has no message" },
	{ "{'choices':{'0':1}}", "it has no message" },
	{ "{'choices':[{'message':'hi'}]}", "it has no message" },
	{ "{'choices':[{'delta':{'content':'x'}}]}", "it has no message" },
	{ "{'choices':[{'message':{'content':5}}]}",
	    "its content is neither text nor a list" },
	{ "{'choices':[{'message':{'tool_calls':[{'id':'1'}]}}]}",
	    "a tool call names no function" },
	{ "{'choices':[{'message':{'tool_calls':[{'function':{'name':''}}]}}]}",
	    "a tool call names no function" },
	{ "{'choices':[{'message':{'tool_calls':[7]}}]}",
	    "a tool call names no function" },
	{ "{'choices':[{'message':{'tool_calls':'abc'}}]}",
	    "a tool call names no function" },
};

START_TEST(what_is_no_answer_is_refused_with_a_reason)
{
	const char *error = NULL;

	ck_assert_ptr_null(
	    openai_answer(arena, literal(arena, unreadable[_i].body), &error));
	ck_assert_str_eq(error, unreadable[_i].reason);
}
END_TEST

/* Reads an answer whose message has so many items under a key. */
static const struct value *
answer_with(const char *key, const char *item, size_t count, const char **error_r)
{
	struct value_list items = { .arena = arena };
	const struct value *message, *choice;

	for (size_t i = 0; i < count; i++)
		value_list_add(&items, literal(arena, item));
	message = value_map(arena, key, value_list_end(&items), NULL);
	choice = value_map(arena, "message", message, NULL);
	return openai_answer(arena,
	    value_map(arena, "choices", value_array(arena, &choice, 1), NULL), error_r);
}

static const struct {
	const char *key, *item, *reason;
	size_t max;
} many[] = {
	{ "tool_calls", "{'function':{'name':'f'}}", "too many tool calls in one message",
	    TOOL_CALLS_MAX },
	{ "content", "{'type':'text','text':'a'}", "too many blocks in one message",
	    ANSWER_BLOCKS_MAX },
	{ "reasoning_details", "{'type':'x'}", "too many blocks in one message",
	    ANSWER_BLOCKS_MAX },
};

START_TEST(more_than_the_limit_is_refused)
{
	const char *error = NULL;

	ck_assert_ptr_nonnull(
	    answer_with(many[_i].key, many[_i].item, many[_i].max, &error));
	ck_assert_ptr_null(
	    answer_with(many[_i].key, many[_i].item, many[_i].max + 1, &error));
	ck_assert_str_eq(error, many[_i].reason);
}
END_TEST

/* --- refusals ---------------------------------------------------------------------- */

static const struct {
	long status;
	const char *type;
	bool retryable;
} statuses[] = {
	{ 301, "APIStatusError", false },
	{ 400, "BadRequestError", false },
	{ 401, "AuthenticationError", false },
	{ 403, "PermissionDeniedError", false },
	{ 402, "APIStatusError", false },
	{ 404, "NotFoundError", false },
	{ 405, "APIStatusError", false },
	{ 408, "APIStatusError", true },
	{ 409, "ConflictError", true },
	{ 413, "APIStatusError", false },
	{ 422, "UnprocessableEntityError", false },
	{ 425, "APIStatusError", true },
	{ 429, "RateLimitError", true },
	{ 498, "APIStatusError", true }, /* Groq: no room at the moment */
	{ 500, "InternalServerError", true },
	{ 503, "InternalServerError", true },
	{ 529, "InternalServerError", true },
};

START_TEST(a_status_is_typed_as_by_openais_client)
{
	struct fault *fault = provider_refusal(arena, "openai", statuses[_i].status,
	    "{\"error\":{\"message\":\"boom\"}}", 1500);

	ck_assert_str_eq(fault->type, statuses[_i].type);
	ck_assert_int_eq(fault->retryable, statuses[_i].retryable);
	ck_assert_int_eq(fault->retry_after_ms, 1500);
	ck_assert_ptr_nonnull(strstr(fault->message, "openai"));
	ck_assert_ptr_nonnull(strstr(fault->message, "boom"));
}
END_TEST

/* 429 is both: come back later, and pay first. */
static const char *const unpaid[] = {
	"{'error':{'message':'m','type':'insufficient_quota','code':'insufficient_quota'}"
	"}",
	"{'error':{'message':'m','type':'tokens','code':'insufficient_quota'}}",
	"{'error':{'message':'m','type':'insufficient_quota','code':null}}",
};

START_TEST(what_has_to_be_paid_first_does_not_go_away)
{
	const struct value *body = literal(arena, unpaid[_i]);
	const struct fault *fault =
	    provider_refusal(arena, "openai", 429, json_text(arena, body), 0);

	ck_assert_str_eq(fault->type, "RateLimitError");
	ck_assert(!fault->retryable);
	fault = provider_hidden_error(arena, "openai", body);
	ck_assert_str_eq(fault->type, "RateLimitError");
	ck_assert(!fault->retryable);
}
END_TEST

/* Groq blames the request for what its model wrote. */
static const char *const miswritten[] = {
	"{'error':{'message':'Failed to call a function.','type':'invalid_request_error',"
	"'code':'tool_use_failed','failed_generation':'<function=f>'}}",
	"{'error':{'message':'m','type':'invalid_request_error','code':"
	"'json_validate_failed','failed_generation':''}}",
};

START_TEST(what_the_model_wrote_may_be_better_the_next_time)
{
	const struct value *body = literal(arena, miswritten[_i]);
	const struct fault *fault =
	    provider_refusal(arena, "groq", 400, json_text(arena, body), 0);

	ck_assert_str_eq(fault->type, "BadRequestError");
	ck_assert(fault->retryable);
	fault = provider_hidden_error(arena, "groq", body);
	ck_assert_str_eq(fault->type, "BadRequestError");
	ck_assert(fault->retryable);
}
END_TEST

static const struct {
	long status; /* 0: it came with status 200 */
	const char *body, *type;
} long_requests[] = {
	{ 400,
	    "{'error':{'message':'too much','type':'invalid_request_error','code':"
	    "'context_length_exceeded'}}",
	    "ContextOverflowError" },
	{ 400,
	    "{'type':'error','error':{'type':'invalid_request_error','message':"
	    "'prompt is too long: 210000 tokens > 200000 maximum'}}",
	    "ContextOverflowError" },
	{ 400, "{'message':'The model has a maximum context length is 8192 tokens.'}",
	    "ContextOverflowError" },
	{ 413, "{'error':'Prompt is too long'}", "ContextOverflowError" },
	{ 400, "{'error':{'type':'exceed_context_size_error'}}", "ContextOverflowError" },
	{ 0, "{'error':{'message':'m','code':'context_length_exceeded'}}",
	    "ContextOverflowError" },
	{ 0, "{'error':{'message':'your input exceeds the context window'}}",
	    "ContextOverflowError" },
	{ 400,
	    "{'error':'The number of tokens to keep from the initial prompt is greater "
	    "than the context length.'}",
	    "ContextOverflowError" },
	{ 400,
	    "{'error':{'message':'Invalid request: Your request exceeded model token "
	    "limit: 131072'}}",
	    "ContextOverflowError" },
	{ 0, "{'error':{'message':'invalid params, context window exceeds limit'}}",
	    "ContextOverflowError" },
	{ 400,
	    "{'message':'The decoder prompt (length 5000) is longer than the maximum "
	    "model length of 4096.'}",
	    "ContextOverflowError" },
	{ 400,
	    "{'message':'The prompt (total length 25938) is too long to fit into the "
	    "model (context length 4096).'}",
	    "ContextOverflowError" },
	{ 400, "{'error':{'message':'the name of the tool is too long'}}",
	    "BadRequestError" },
	{ 429, "{'error':{'message':'reduce the length of the messages'}}",
	    "RateLimitError" },
	{ 500, "{'error':{'message':'prompt is too long'}}", "InternalServerError" },
};

START_TEST(a_request_that_is_too_long_is_told_from_a_bad_one)
{
	const struct value *body = literal(arena, long_requests[_i].body);
	const struct fault *fault =
	    long_requests[_i].status == 0
		? provider_hidden_error(arena, "openai", body)
		: provider_refusal(arena, "openai", long_requests[_i].status,
		      json_text(arena, body), 0);

	ck_assert_str_eq(fault->type, long_requests[_i].type);
	if (strcmp(fault->type, "ContextOverflowError") == 0) {
		ck_assert(!fault->retryable);
		ck_assert(fault_type_is(fault->type, "BadRequestError"));
	}
}
END_TEST

static const struct {
	const char *body, *reason;
} reasons[] = {
	{ "{\"error\":{\"message\":\"deep\",\"type\":\"t\"}}", ": deep" },
	{ "{\"error\":\"flat\"}", ": flat" },
	{ "[{\"error\":{\"message\":\"listed\",\"code\":500}}]", ": listed" },
	{ "{\"message\":\"beside\"}", ": beside" },
	{ "{\"detail\":[{\"msg\":\"field\"}]}", ": [{\"msg\":\"field\"}]" },
	{ "<h1>Bad gateway</h1>", ": <h1>Bad gateway</h1>" },
	{ "{\"other\":1}", ": {\"other\":1}" },
	{ "", ": no reason given" },
};

START_TEST(the_reason_is_found_where_servers_put_it)
{
	struct fault *fault = provider_refusal(arena, "openai", 500, reasons[_i].body, 0);
	const char *end = fault->message + strlen(fault->message);

	ck_assert_str_eq(end - strlen(reasons[_i].reason), reasons[_i].reason);
}
END_TEST

START_TEST(a_page_for_a_reason_is_shortened)
{
	char *page = arena_alloc(arena, 100001);
	struct fault *fault;

	memset(page, 'x', 100000);
	fault = provider_refusal(arena, "openai", 502, page, 0);
	ck_assert_uint_lt(strlen(fault->message), 3000);
}
END_TEST

/* --- errors that came with a status of 200 ----------------------------------------- */

static const struct {
	const char *body, *type; /* NULL: no error */
} hidden[] = {
	{ "{'choices':[]}", NULL },
	{ "{'error':null}", NULL },
	{ "{'error':{}}", NULL },
	{ "{'error':{'message':'m','code':429}}", "RateLimitError" },
	{ "{'error':{'message':'m','code':'rate_limit_exceeded'}}", "RateLimitError" },
	{ "{'error':{'message':'m','type':'None','code':'429'}}", "RateLimitError" },
	{ "{'error':{'message':'m','code':'400'}}", "BadRequestError" },
	{ "{'error':{'message':'m','code':'4291'}}", "APIError" },
	{ "{'error':{'message':'m','code':'429x'}}", "APIError" },
	{ "{'error':{'message':'m','code':''}}", "APIError" },
	{ "{'error':{'message':'m','type':'insufficient_quota'}}", "RateLimitError" },
	{ "{'error':{'message':'m','type':'overloaded_error'}}", "InternalServerError" },
	{ "{'error':{'message':'m','type':'server_error','code':null}}",
	    "InternalServerError" },
	{ "{'error':{'message':'m','type':'invalid_request_error'}}", "BadRequestError" },
	{ "{'error':{'message':'m','status':503}}", "InternalServerError" },
	{ "{'error':{'message':'m','code':200}}", "APIError" },
	{ "{'error':{'message':'m','code':7}}", "APIError" },
	{ "{'error':{'message':'m'}}", "APIError" },
	{ "{'error':'m'}", "APIError" },
};

START_TEST(an_error_with_status_200_is_one_all_the_same)
{
	struct fault *fault =
	    provider_hidden_error(arena, "openai", literal(arena, hidden[_i].body));

	if (hidden[_i].type == NULL) {
		ck_assert_ptr_null(fault);
		return;
	}
	ck_assert_str_eq(fault->type, hidden[_i].type);
	ck_assert_str_eq(fault->message + strlen(fault->message) - 3, ": m");
}
END_TEST

/* With a status or without, and wherever it stands. */
static const char *const long_errors[] = {
	"{'error':{'message':'%s','code':429}}",
	"{'error':{'message':'%s'}}",
	"{'choices':[{'error':'%s'}]}",
};

START_TEST(a_hidden_error_is_told_in_short)
{
	char text[100001];
	const struct fault *fault;
	const char *format = long_errors[_i], *gap = strstr(format, "%s");

	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	fault = provider_hidden_error(arena, "openai",
	    literal(arena, arena_printf(arena, "%.*s%s%s", (int)(gap - format), format,
			       text, gap + strlen("%s"))));
	ck_assert_uint_gt(strlen(fault->message), 1000);
	ck_assert_uint_lt(strlen(fault->message), 3000);
}
END_TEST

/* --- keys -------------------------------------------------------------------------- */

static const struct {
	const char *key, *text, *clean;
} keys[] = {
	{ "sk-secret123456", "bad key sk-secret123456, sorry", "bad key [key], sorry" },
	{ "sk-secret123456", "bad key: sk-secr****3456.", "bad key: [key]" },
	{ "sk-secret123456", "sk-secret123456sk-secret123456", "[key]" },
	{ "sk-secret123456", "sk-secret123456 sk-secret999999", "[key] [key]" },
	{ "sk-secret123456", "another sk-other", "another sk-other" },
	{ "key", "the key", "the [key]" },
	{ "k", "k", "[key]" },
	{ "", "nothing to hide", "nothing to hide" },
	{ NULL, "nothing to hide", "nothing to hide" },
};

START_TEST(a_key_never_stays_in_a_message)
{
	ck_assert_str_eq(without_key(arena, keys[_i].text, keys[_i].key), keys[_i].clean);
}
END_TEST

START_TEST(a_failed_exchange_is_typed_by_what_failed)
{
	ck_assert_str_eq(
	    provider_fault_http(arena, "openai", HTTP_CONNECTION, "reset")->type,
	    "APIConnectionError");
	ck_assert_str_eq(provider_fault_http(arena, "openai", HTTP_TIMEOUT, NULL)->type,
	    "APITimeoutError");
	ck_assert_str_eq(
	    provider_fault_http(arena, "openai", HTTP_TOO_LARGE, "over")->type,
	    "APIResponseError");
	ck_assert(provider_fault_http(arena, "openai", HTTP_CANCELLED, NULL)->control);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

TCase *tcase_openai_answer(void);

TCase *
tcase_openai_answer(void)
{
	TCase *tcase = tcase_create("openai_answer");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, a_message_is_read, 0, COUNT(messages));
	tcase_add_test(
	    tcase, malformed_arguments_make_an_invalid_call_beside_the_valid_ones);
	tcase_add_test(tcase, calls_without_an_id_of_their_own_get_one);
	tcase_add_test(tcase, usage_and_metadata_are_kept);
	tcase_add_test(tcase, numbers_of_tokens_that_cannot_be_are_not_believed);
	tcase_add_loop_test(
	    tcase, what_is_no_answer_is_refused_with_a_reason, 0, COUNT(unreadable));
	tcase_add_loop_test(tcase, more_than_the_limit_is_refused, 0, COUNT(many));
	tcase_add_loop_test(
	    tcase, a_status_is_typed_as_by_openais_client, 0, COUNT(statuses));
	tcase_add_loop_test(
	    tcase, what_has_to_be_paid_first_does_not_go_away, 0, COUNT(unpaid));
	tcase_add_loop_test(tcase, what_the_model_wrote_may_be_better_the_next_time, 0,
	    COUNT(miswritten));
	tcase_add_loop_test(tcase, a_request_that_is_too_long_is_told_from_a_bad_one, 0,
	    COUNT(long_requests));
	tcase_add_loop_test(
	    tcase, the_reason_is_found_where_servers_put_it, 0, COUNT(reasons));
	tcase_add_test(tcase, a_page_for_a_reason_is_shortened);
	tcase_add_loop_test(
	    tcase, an_error_with_status_200_is_one_all_the_same, 0, COUNT(hidden));
	tcase_add_loop_test(
	    tcase, a_hidden_error_is_told_in_short, 0, COUNT(long_errors));
	tcase_add_loop_test(tcase, a_key_never_stays_in_a_message, 0, COUNT(keys));
	tcase_add_test(tcase, a_failed_exchange_is_typed_by_what_failed);
	return tcase;
}
