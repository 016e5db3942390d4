#include "webhook.h"

#include <inttypes.h>
#include <sodium.h>
#include <string.h>
#include <time.h>

#include "address.h"
#include "bodies.h"
#include "bounds.h"
#include "fault.h"
#include "json.h"
#include "settings.h"
#include "wire.h"

#define CONNECT_MS 5000u
#define POST_MS 10000u
#define ANSWER_BYTES_READ (64u << 10) /* nobody looks at it */

/* One attempt. */
struct post {
	const struct webhook *webhook;
	struct arena *arena;
	const char *url, *run;
	int64_t attempt;
	char refused[ADDRESS_TEXT_BYTES]; /* the address that was not opened, or "" */
};

bool
webhook_is_setting(const char *text)
{
	return strcmp(text, "off") == 0 || strcmp(text, "public") == 0 ||
	       strcmp(text, "any") == 0;
}

const char *
webhook_signature(struct arena *arena, const char *secret, int64_t seconds,
    const char *body, size_t size)
{
	const char *start = arena_printf(arena, "%" PRId64 ".", seconds);
	unsigned char hash[crypto_auth_hmacsha256_BYTES];
	char hex[2 * sizeof hash + 1];
	crypto_auth_hmacsha256_state state;

	crypto_auth_hmacsha256_init(
	    &state, (const unsigned char *)secret, strlen(secret));
	crypto_auth_hmacsha256_update(
	    &state, (const unsigned char *)start, strlen(start));
	crypto_auth_hmacsha256_update(&state, (const unsigned char *)body, size);
	crypto_auth_hmacsha256_final(&state, hash);
	sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
	sodium_memzero(&state, sizeof state);
	return arena_printf(arena, "t=%" PRId64 ",v1=%s", seconds, hex);
}

/* The address that a name, a number or a rebound answer of the DNS has really become. */
static int
on_address(void *arg, const struct sockaddr *address)
{
	struct post *post = arg;

	if (post->webhook->any || address_is_public(address))
		return 0;
	address_text(address, post->refused);
	return -1;
}

static int
on_data(void *arg, const char *data, size_t size)
{
	(void)arg;
	(void)data;
	(void)size;
	return 0;
}

static const struct value *
failed(struct post *post, struct fault *fault)
{
	return value_map(post->arena, "fault", fault_to_value(post->arena, fault), NULL);
}

static const struct value *
outcome(struct post *post, const struct http_response *response)
{
	struct fault *fault;

	if (response->failure == HTTP_CANCELLED)
		return failed(post, fault_cancelled(post->arena));
	if (response->failure == HTTP_OK || response->status != 0)
		return value_map(post->arena, "status",
		    value_int(post->arena, response->status), "retry_after_ms",
		    response->retry_after_ms > 0
			? value_int(post->arena, response->retry_after_ms)
			: NULL,
		    NULL);
	/* Of several addresses another one may have answered. */
	if (post->refused[0] != '\0') {
		fault = fault_new(post->arena, "PermissionError",
		    "%s is a private or reserved address, and those are told nothing; a "
		    "worker started with --webhooks any does",
		    post->refused);
		fault->retryable = false;
		return failed(post, fault);
	}
	fault = fault_new(post->arena,
	    response->failure == HTTP_TIMEOUT ? "TimeoutError" : "ConnectionError", "%s",
	    response->reason);
	return failed(post, fault);
}

static const struct value *
send_post(struct post *post, const char *body)
{
	size_t size = strlen(body), count = 0;
	const char *lines[6];
	struct http_request request = {
		.method = "POST",
		.url = post->url,
		.headers = lines,
		.body = body,
		.body_size = size,
		.connect_timeout_ms = CONNECT_MS,
		.timeout_ms = POST_MS,
		.body_bytes_max = ANSWER_BYTES_READ,
		.on_data = on_data,
		.on_address = on_address,
		.arg = post,
	};
	struct http_response response;

	lines[count++] = "Content-Type: application/json";
	lines[count++] = "User-Agent: flotilla/" FLOTILLA_VERSION;
	lines[count++] = arena_printf(post->arena, "Flotilla-Run: %s", post->run);
	lines[count++] =
	    arena_printf(post->arena, "Flotilla-Attempt: %" PRId64, post->attempt);
	if (post->webhook->secret != NULL)
		lines[count++] = arena_printf(post->arena, "Flotilla-Signature: %s",
		    webhook_signature(post->arena, post->webhook->secret,
			(int64_t)time(NULL), body, size));
	lines[count] = NULL;
	http_send(post->webhook->http, post->arena, &request, &response);
	return outcome(post, &response);
}

const struct value *
webhook_answer(const struct webhook *webhook, struct worker_call *call)
{
	struct post post = { .webhook = webhook,
		.arena = call->arena,
		.url = value_get_text(call->request, "url"),
		.run = value_get_text(call->request, "run"),
		.attempt = value_get_int(call->request, "attempt", 0) };
	const struct value *record = value_get(call->request, "record");
	struct fault *fault;

	if (post.url != NULL && post.run != NULL && wire_is_run_id(post.run) &&
	    value_is(record, VALUE_MAP))
		return send_post(&post, json_text(call->arena, record));
	fault = fault_new(call->arena, "ValueError",
	    "a call of `webhook` must have url, run and record");
	fault->retryable = false;
	return failed(&post, fault);
}
