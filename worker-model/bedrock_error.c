#include "bedrock_error.h"

#include <string.h>
#include <strings.h>
#include <time.h>

#include "json.h"
#include "provider_fault.h"
#include "sigv4.h"

/* --- names --------------------------------------------------------------------------- */

/* The status that an exception in a stream would have come with. */
static const struct {
	const char *name;
	long status;
} exceptions[] = {
	{ "ValidationException", 400 },
	{ "AccessDeniedException", 403 },
	{ "ResourceNotFoundException", 404 },
	{ "ModelTimeoutException", 408 },
	{ "ModelErrorException", 424 },
	{ "ModelStreamErrorException", 424 },
	{ "ModelNotReadyException", 429 },
	{ "ThrottlingException", 429 },
	{ "InternalServerException", 500 },
	{ "ServiceUnavailableException", 503 },
};

/* That it is not known who asks, which AWS says with 400 or 403. */
static const char *const strangers[] = {
	"ExpiredToken",
	"ExpiredTokenException",
	"IncompleteSignature",
	"IncompleteSignatureException",
	"InvalidClientTokenId",
	"InvalidSignatureException",
	"MissingAuthenticationToken",
	"MissingAuthenticationTokenException",
	"SignatureDoesNotMatch",
	"UnrecognizedClientException",
};

static long
status_of(const char *name)
{
	for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++)
		if (strcasecmp(exceptions[i].name, name) == 0)
			return exceptions[i].status;
	return 0;
}

static bool
is_stranger(const char *name)
{
	for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
		if (strcasecmp(strangers[i], name) == 0)
			return true;
	return false;
}

/* Of "com.amazon.coral.service#X" and "X:http://internal.amazon.com/..." it is X. */
static const char *
bare(struct arena *arena, const char *name)
{
	const char *hash = strchr(name, '#');

	if (hash != NULL)
		name = hash + 1;
	return arena_copy(arena, name, strcspn(name, ": \t\r\n"));
}

/* --- reasons ------------------------------------------------------------------------- */

static const char *
reason_in(const struct value *body)
{
	static const char *const keys[] = { "message", "Message" };

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (value_is(value_get(body, keys[i]), VALUE_STR))
			return value_get_text(body, keys[i]);
	return NULL;
}

/* A signature is of a minute: what a wrong clock has signed is refused with words that few connect with it. */
static const char *
advice(struct arena *arena, const char *name, const char *reason)
{
	if (strcasestr(reason, "signature expired") != NULL ||
	    strcasestr(reason, "signature not yet current") != NULL)
		return arena_printf(arena,
		    "; the clock of this machine, by which requests are signed, says %s: "
		    "is it right?",
		    sigv4_time(arena, time(NULL)));
	if (strncasecmp(name, "ExpiredToken", strlen("ExpiredToken")) == 0)
		return "; keys are read when the worker starts: start it with new ones";
	return "";
}

/* By its name rather than by its status, where AWS has one status for several things. */
static void
retype(struct fault *fault, const char *name)
{
	if (is_stranger(name)) {
		fault->type = "AuthenticationError";
		fault->retryable = false;
	} else if (strcasecmp(name, "ServiceQuotaExceededException") == 0) {
		fault->type = "RateLimitError";
		fault->retryable = true;
	}
}

/* Status 0: none came, and the name stands for none. */
static struct fault *
fault_of(struct arena *arena, const char *endpoint, const char *name, long status,
    const char *reason, int64_t retry_after_ms)
{
	struct fault *fault;

	if (reason == NULL || *reason == '\0')
		reason = "no reason given";
	if (*name != '\0')
		reason = arena_printf(
		    arena, "%s: %s%s", name, reason, advice(arena, name, reason));
	fault = status == 0 ? provider_fault_error(arena, endpoint, reason)
			    : provider_fault_status(
				  arena, endpoint, status, reason, retry_after_ms);
	retype(fault, name);
	return fault;
}

struct fault *
bedrock_refusal(
    struct arena *arena, const char *endpoint, const struct http_response *response)
{
	const char *wrong, *name = response->header, *reason;
	const struct value *body =
	    json_parse(arena, response->body, response->body_size, &wrong);

	if (name == NULL)
		name = value_get_text(body, "__type");
	reason = reason_in(body);
	return fault_of(arena, endpoint, name == NULL ? "" : bare(arena, name),
	    response->status, reason == NULL ? response->body : reason,
	    response->retry_after_ms);
}

struct fault *
bedrock_exception(
    struct arena *arena, const char *endpoint, const char *name, const char *text)
{
	const char *wrong, *reason;
	const struct value *body = json_parse(arena, text, strlen(text), &wrong);

	name = bare(arena, name);
	reason = reason_in(body);
	return fault_of(
	    arena, endpoint, name, status_of(name), reason == NULL ? text : reason, 0);
}
