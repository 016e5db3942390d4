/* What a provider's server says instead of HTTP, or as HTTP: status lines, headers, Retry-After, error
 * bodies, through the real client on a real connection. Each exchange ends, with an answer or a failure
 * that has a reason, and makes a fault that says something and waits no longer than a call may. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../worker-model/openai_answer.h"
#include "../../worker-model/provider_error.h"
#include "../../worker-model/provider_fault.h"
#include "bounds.h"
#include "fiber.h"
#include "speaker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct loop *loop;
static struct http *http;
static char url[64];

static void
check_fault(const struct fault *fault)
{
	if (fault == NULL || fault->type == NULL || fault->message == NULL ||
	    *fault->message == '\0' || fault->retry_after_ms < 0 ||
	    fault->retry_after_ms > CALL_DEADLINE_MS_MAX)
		abort();
}

static void
check_answer(struct arena *arena, const struct http_response *response)
{
	if (response->body == NULL || strlen(response->body) > response->body_size)
		abort();
	if (response->status > 299)
		check_fault(provider_refusal(arena, "openai", response->status,
		    response->body, response->retry_after_ms));
}

static void
ask(void *arg)
{
	const char *const headers[] = { "Authorization: Bearer secret", NULL };
	const struct http_request request = { .method = "POST",
		.url = url,
		.headers = headers,
		.body = "{}",
		.body_size = 2,
		.timeout_ms = 2000,
		.body_bytes_max = 4096 };
	struct http_response response;
	struct arena *arena = arena_new();

	(void)arg;
	http_send(http, arena, &request, &response);
	if (response.failure == HTTP_OK)
		check_answer(arena, &response);
	else
		check_fault(provider_fault_http(
		    arena, "openai", response.failure, response.reason));
	arena_destroy(&arena);
	loop_stop(loop);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (loop == NULL) {
		loop = loop_new();
		http = http_new(loop);
		snprintf(
		    url, sizeof url, "http://127.0.0.1:%u/v1/chat", speaker_listen(NULL));
	}
	speaker_say(data, size);
	if (fiber_start(loop, "ask", ask, NULL) == NULL)
		abort();
	loop_run(loop);
	return 0;
}
