#include <check.h>
#include <string.h>

/* Interface under test */
#include "../../worker-model/bedrock_error.h"

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

static const struct {
	const char *header, *body;
	long status;
	const char *type, *message; /* whole, or contained where it begins with "..." */
	bool retryable;
} refusals[] = {
	{ "ThrottlingException", "{\"message\":\"Too many requests\"}", 429,
	    "RateLimitError",
	    "b answered with status 429: ThrottlingException: Too many requests", true },
	{ "ModelNotReadyException", "{\"message\":\"cold\"}", 429, "RateLimitError",
	    "...cold", true },
	{ "ValidationException:http://internal.amazon.com/coral/x",
	    "{\"message\":\"bad\"}", 400, "BadRequestError",
	    "b answered with status 400: ValidationException: bad", false },
	{ "ValidationException",
	    "{\"message\":\"The model returned the following errors: prompt is too long: "
	    "200049 tokens > 200000 maximum\"}",
	    400, "ContextOverflowError", "...200049", false },
	{ "AccessDeniedException", "{\"Message\":\"not for you\"}", 403,
	    "PermissionDeniedError", "...AccessDeniedException: not for you", false },
	{ "ResourceNotFoundException", "{\"message\":\"no\"}", 404, "NotFoundError",
	    "...no", false },
	{ "ModelTimeoutException", "{\"message\":\"slow\"}", 408, "APIStatusError",
	    "...408", true },
	{ "ModelErrorException", "{\"message\":\"it broke\"}", 424, "APIStatusError",
	    "...it broke", true },
	{ "InternalServerException", "{\"message\":\"oh\"}", 500, "InternalServerError",
	    "...oh", true },
	{ "ServiceUnavailableException", "", 503, "InternalServerError",
	    "...no reason given", true },
	{ "ServiceQuotaExceededException", "{\"message\":\"enough\"}", 400,
	    "RateLimitError", "...status 400: ServiceQuotaExceededException: enough",
	    true },
	{ "UnrecognizedClientException",
	    "{\"message\":\"The security token included in the request is invalid.\"}",
	    403, "AuthenticationError", "...status 403", false },
	{ NULL, "{\"__type\":\"com.amazon.coral.service#ExpiredTokenException\"}", 400,
	    "AuthenticationError",
	    "...; keys are read when the worker starts: start it with new ones", false },
	{ "InvalidSignatureException",
	    "{\"message\":\"Signature not yet current: 20990101T000000Z is still later "
	    "than 20260101T000500Z (20260101T000000Z + 5 min.)\"}",
	    403, "AuthenticationError", "...; the clock of this machine, by which",
	    false },
	/* somebody before it */
	{ NULL, "upstream connect error", 503, "InternalServerError",
	    "b answered with status 503: upstream connect error", true },
	{ "", "", 502, "InternalServerError",
	    "b answered with status 502: no reason given", true },
};

static void
check(const struct fault *fault, const char *type, const char *message, bool retryable)
{
	ck_assert_str_eq(fault->type, type);
	ck_assert_int_eq(fault->retryable, retryable);
	if (strncmp(message, "...", 3) == 0)
		ck_assert_msg(
		    strstr(fault->message, message + 3) != NULL, "%s", fault->message);
	else
		ck_assert_str_eq(fault->message, message);
}

START_TEST(a_refusal_is_typed_by_its_status_and_its_name)
{
	const struct http_response response = { .status = refusals[_i].status,
		.header = refusals[_i].header,
		.body = refusals[_i].body,
		.body_size = strlen(refusals[_i].body),
		.retry_after_ms = 7 };
	const struct fault *fault = bedrock_refusal(arena, "b", &response);

	check(fault, refusals[_i].type, refusals[_i].message, refusals[_i].retryable);
	if (strcmp(fault->type, "ContextOverflowError") != 0)
		ck_assert_int_eq(fault->retry_after_ms, 7);
}
END_TEST

static const struct {
	const char *name, *text, *type, *message;
	bool retryable;
} exceptions[] = {
	{ "throttlingException", "{\"message\":\"slow\"}", "RateLimitError",
	    "b answered with status 429: throttlingException: slow", true },
	{ "validationException", "{\"message\":\"Input is too long for the model\"}",
	    "ContextOverflowError", "...too long", false },
	{ "internalServerException", "{\"message\":\"oh\"}", "InternalServerError",
	    "...500", true },
	{ "modelStreamErrorException",
	    "{\"message\":\"m\",\"originalStatusCode\":500,\"originalMessage\":\"o\"}",
	    "APIStatusError", "...424: modelStreamErrorException: m", true },
	{ "serviceUnavailableException", "{}", "InternalServerError", "...503", true },
	{ "ofTomorrow", "words", "APIError", "...ofTomorrow: words", true },
	{ "", "", "APIError", "...no reason given", true },
};

START_TEST(an_exception_is_typed_by_its_name)
{
	check(bedrock_exception(arena, "b", exceptions[_i].name, exceptions[_i].text),
	    exceptions[_i].type, exceptions[_i].message, exceptions[_i].retryable);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

TCase *tcase_bedrock_error(void);

TCase *
tcase_bedrock_error(void)
{
	TCase *tcase = tcase_create("bedrock_error");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, a_refusal_is_typed_by_its_status_and_its_name, 0, COUNT(refusals));
	tcase_add_loop_test(
	    tcase, an_exception_is_typed_by_its_name, 0, COUNT(exceptions));
	return tcase;
}
