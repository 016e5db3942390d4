#include "provider_fault.h"

#include <string.h>

#include "utf8.h"

#define MESSAGE_BYTES_MAX 2000u
#define OVERFLOW "ContextOverflowError"

static const struct {
	long status;
	const char *type;
} types[] = {
	{ 400, "BadRequestError" },
	{ 401, "AuthenticationError" },
	{ 403, "PermissionDeniedError" },
	{ 404, "NotFoundError" },
	{ 409, "ConflictError" },
	{ 422, "UnprocessableEntityError" },
	{ 429, "RateLimitError" },
};

static const char *
type_of(long status)
{
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (types[i].status == status)
			return types[i].type;
	return status >= 500 ? "InternalServerError" : "APIStatusError";
}

/* What no time mends, besides what its type says: the request, where it goes, or who pays is at fault. What is
 * neither here nor there may go away, such as 408, and 498, Groq's for a lack of room. */
static bool
stays(long status)
{
	static const long statuses[] = { 402, 405, 406, 410, 411, 413, 414, 415, 451 };

	for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
		if (statuses[i] == status)
			return true;
	return status < 400;
}

/* How providers say that a request is too long for their model: nothing else tells it from any other
 * bad request, but for OpenAI's code (provider_error.c). */
static const char *const overflow_words[] = {
	"prompt is too long",                   /* Anthropic */
	"exceed context limit",                 /* Anthropic, with max_tokens */
	"maximum context length",               /* OpenAI, vLLM, Mistral */
	"exceeds the context window",           /* OpenAI */
	"tokens exceed the configured limit",   /* OpenAI */
	"reduce the length of the messages",    /* OpenAI, Groq */
	"exceeds the maximum number of tokens", /* Google */
	"exceeds the available context size",   /* llama.cpp */
	"longer than the maximum model length", /* vLLM */
	"too long to fit into the model",       /* vLLM, with pictures */
	"greater than the context length",      /* LM Studio */
	"exceeded model token limit",           /* Moonshot */
	"context window exceeds limit",         /* MiniMax */
	"maximum prompt length",                /* xAI */
	"input is too long",                    /* Amazon */
};

/* Status 0: none came. */
static bool
overflows(long status, const char *message)
{
	if (status != 0 && status != 400 && status != 413 && status != 422)
		return false;
	for (size_t i = 0; i < sizeof overflow_words / sizeof overflow_words[0]; i++)
		if (strcasestr(message, overflow_words[i]) != NULL)
			return true;
	return false;
}

/* A provider's page of HTML must not fill a message that a model may read. */
static const char *
shortened(struct arena *arena, const char *text)
{
	size_t size = strlen(text);

	return arena_copy(arena, text, utf8_prefix(text, size, MESSAGE_BYTES_MAX));
}

struct fault *
provider_fault_status(struct arena *arena, const char *endpoint, long status,
    const char *message, int64_t retry_after_ms)
{
	struct fault *fault;

	if (message == NULL || *message == '\0')
		message = "no reason given";
	fault = fault_new(arena, overflows(status, message) ? OVERFLOW : type_of(status),
	    "%s answered with status %ld: %s", endpoint, status,
	    shortened(arena, message));
	fault->retry_after_ms = retry_after_ms;
	if (stays(status))
		fault->retryable = false;
	return fault;
}

struct fault *
provider_fault_overflow(
    struct arena *arena, const char *endpoint, long status, const char *message)
{
	if (message == NULL || *message == '\0')
		message = "the request is too long for the model";
	if (status == 0)
		return fault_new(arena, OVERFLOW, "%s answered with an error: %s",
		    endpoint, shortened(arena, message));
	return fault_new(arena, OVERFLOW, "%s answered with status %ld: %s", endpoint,
	    status, shortened(arena, message));
}

struct fault *
provider_fault_error(struct arena *arena, const char *endpoint, const char *message)
{
	if (overflows(0, message))
		return provider_fault_overflow(arena, endpoint, 0, message);
	return fault_new(arena, "APIError", "%s answered with an error: %s", endpoint,
	    shortened(arena, message));
}

struct fault *
provider_fault_unreadable(struct arena *arena, const char *endpoint, const char *reason)
{
	return fault_new(arena, "APIResponseError", "the answer of %s cannot be read: %s",
	    endpoint, reason);
}

struct fault *
provider_fault_http(struct arena *arena, const char *endpoint, enum http_failure failure,
    const char *reason)
{
	if (reason == NULL)
		reason = "no reason given";
	if (failure == HTTP_CANCELLED)
		return fault_cancelled(arena);
	if (failure == HTTP_TIMEOUT)
		return fault_new(arena, "APITimeoutError",
		    "the request to %s timed out: %s", endpoint, reason);
	if (failure == HTTP_TOO_LARGE)
		return provider_fault_unreadable(arena, endpoint, reason);
	return fault_new(arena, "APIConnectionError", "the connection to %s failed: %s",
	    endpoint, reason);
}
