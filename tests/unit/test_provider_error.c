/* What a provider refuses, and what it fails with. */
#include <check.h>
#include <string.h>

/* Interface under test */
#include "../../worker-model/provider_error.h"
#include "../../worker-model/provider_fault.h"

#include "bounds.h"
#include "json.h"
#include "literal.h"
#include "without_key.h"

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
	{ "IQoJb3/a+b==", "bad token IQoJb3/a+b==\nx", "bad token [key]\nx" },
	{ "bedrock-api-key-YWJjZGVmZ2g=", "bedrock answered: bedrock-api-key-YWJjZGVm",
	    "bedrock answered: [key]" },
	/* of 8 bytes and more wherever it begins, in part */
	{ "12345678", "x12345678 x123456y 12345", "x[key] x[key] 12345" },
	/* shorter ones where they stand alone */
	{ "1234567", "1234567, x1234567 12345678 123456",
	    "[key], x1234567 12345678 123456" },
	{ "key", "the key", "the [key]" },
	{ "key", "keys, monkey: 'key'-key.", "keys, monkey: '[key]'-[key]." },
	{ "k", "k", "[key]" },
	{ "x", "maximum context x", "maximum context [key]" },
	{ "x", "xx x=x", "xx [key]=[key]" },
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

TCase *tcase_provider_error(void);

TCase *
tcase_provider_error(void)
{
	TCase *tcase = tcase_create("provider_error");

	tcase_add_checked_fixture(tcase, setup, teardown);
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
