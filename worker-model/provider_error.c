#include "provider_error.h"

#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "provider_fault.h"

/* What an error in the midst of a stream would have had as its status, by its code or its
 * type. Numbers stand for themselves. */
static const struct {
	const char *name;
	long status;
} error_names[] = {
	{ "invalid_request_error", 400 },
	{ "context_length_exceeded", 400 },
	{ "invalid_prompt", 400 },
	{ "content_filter", 400 }, /* Azure */
	/* of the Responses API, of pictures that were sent */
	{ "invalid_image", 400 },
	{ "invalid_image_format", 400 },
	{ "invalid_base64_image", 400 },
	{ "invalid_image_url", 400 },
	{ "invalid_image_mode", 400 },
	{ "image_too_large", 400 },
	{ "image_too_small", 400 },
	{ "image_parse_error", 400 },
	{ "image_content_policy_violation", 400 },
	{ "image_file_too_large", 400 },
	{ "image_file_not_found", 400 },
	{ "unsupported_image_media_type", 400 },
	{ "empty_image_file", 400 },
	{ "authentication_error", 401 },
	{ "invalid_api_key", 401 },
	{ "billing_error", 402 },
	{ "permission_error", 403 },
	{ "not_found_error", 404 },
	{ "request_too_large", 413 },
	{ "rate_limit_error", 429 },
	{ "rate_limit_exceeded", 429 },
	{ "insufficient_quota", 429 },
	{ "requests", 429 },
	{ "tokens", 429 },
	{ "api_error", 500 },
	{ "internal_server_error", 500 },
	{ "server_error", 500 },
	{ "service_unavailable", 503 },
	{ "timeout_error", 504 },
	{ "vector_store_timeout", 504 },
	{ "overloaded_error", 529 },
};

static long
status_of_name(const char *name)
{
	for (size_t i = 0; i < sizeof error_names / sizeof error_names[0]; i++)
		if (strcmp(error_names[i].name, name) == 0)
			return error_names[i].status;
	return 0;
}

/* Some servers write the number as text. */
static long
status_of_text(const char *text)
{
	if (strlen(text) == 3 && strspn(text, "0123456789") == 3)
		return strtol(text, NULL, 10);
	return status_of_name(text);
}

/* Returns the status that one of an error's fields stands for; 0: none. */
static long
status_of(const struct value *field)
{
	long status = 0;

	if (value_is(field, VALUE_INT))
		status = (long)field->integer;
	else if (value_is(field, VALUE_STR))
		status = status_of_text(value_text(field));
	return status >= 400 && status < 600 ? status : 0;
}

static long
status_of_error(const struct value *error)
{
	static const char *const fields[] = { "code", "status", "type" };

	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
		long status = status_of(value_get(error, fields[i]));

		if (status != 0)
			return status;
	}
	return 0;
}

/* True when the error's code, in whatever field, is this one. */
static bool
has_code(const struct value *error, const char *code)
{
	return value_text_is(value_get(error, "code"), code) ||
	       value_text_is(value_get(error, "type"), code);
}

/* True when the error is that of a request that is too long. */
static bool
is_overflow(const struct value *error)
{
	return has_code(error, "context_length_exceeded") ||
	       has_code(error, "exceed_context_size_error");
}

/* As provider_fault_status. What has to be paid first does not go away, though its status is that of what does; what the
 * model has written that its server could not use may be better the next time, though 400 blames the request (Groq). */
static struct fault *
status_fault(struct arena *arena, const char *endpoint, long status,
    const struct value *error, const char *reason, int64_t retry_after_ms)
{
	struct fault *fault =
	    provider_fault_status(arena, endpoint, status, reason, retry_after_ms);

	if (has_code(error, "insufficient_quota"))
		fault->retryable = false;
	if (value_is(value_get(error, "failed_generation"), VALUE_STR))
		fault->retryable = true;
	return fault;
}

/* Servers that call themselves compatible put their reason in different places. */
static const char *
reason_in(struct arena *arena, const struct value *body)
{
	const struct value *error = value_get(body, "error");
	const struct value *reason = value_get(error, "message");

	if (reason == NULL)
		reason = error;
	if (value_is_nil(reason))
		reason = value_get(body, "message");
	if (value_is_nil(reason))
		reason = value_get(body, "detail");
	if (value_is_nil(reason))
		reason = error;
	if (value_is_nil(reason))
		return NULL;
	return value_is(reason, VALUE_STR) ? value_text(reason)
					   : json_text(arena, reason);
}

struct fault *
provider_refusal(struct arena *arena, const char *endpoint, long status, const char *text,
    int64_t retry_after_ms)
{
	const char *wrong, *reason;
	const struct value *body = json_parse(arena, text, strlen(text), &wrong), *error;

	if (value_is(body, VALUE_ARRAY)) /* Google's: a list of one */
		body = value_at(body, 0);
	error = value_get(body, "error");
	reason = reason_in(arena, body);
	if (status < 500 && is_overflow(error))
		return provider_fault_overflow(arena, endpoint, status, reason);
	return status_fault(arena, endpoint, status, error,
	    reason == NULL ? text : reason, retry_after_ms);
}

/* Returns the reason that choice ended for, when it is that the server has given it up: what there is of the answer
 * is not all of it, though the server ends it as it ends others. NULL: it is none of these. */
static const char *
given_up(const struct value *choice)
{
	static const char *const reasons[] = {
		"abort",                        /* vLLM, SGLang: their engine ends */
		"error",                        /* Mistral, OpenRouter */
		"insufficient_system_resource", /* DeepSeek */
	};
	const struct value *reason = value_get(choice, "finish_reason");

	for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
		if (value_text_is(reason, reasons[i]))
			return reasons[i];
	return NULL;
}

struct fault *
provider_hidden_error(struct arena *arena, const char *endpoint, const struct value *body)
{
	const struct value *error = value_get(body, "error");
	const struct value *choice = value_at(value_get(body, "choices"), 0);
	const char *reason;
	long status;

	/* Gateways have it in the answer that it put an end to. */
	if (!value_truthy(error)) {
		error = value_get(choice, "error");
		body = choice;
	}
	if (!value_truthy(error)) {
		reason = given_up(choice);
		return reason == NULL
			   ? NULL
			   : provider_fault_error(arena, endpoint,
				 arena_printf(arena,
				     "the answer was given up (finish_reason: %s)",
				     reason));
	}
	reason = reason_in(arena, body);
	status = status_of_error(error);
	if (status < 500 && is_overflow(error))
		return provider_fault_overflow(arena, endpoint, status, reason);
	if (status != 0)
		return status_fault(arena, endpoint, status, error, reason, 0);
	return provider_fault_error(arena, endpoint, reason);
}
