/* latency: tells how long each call of the model and of a tool took. */
#include "middleware.h"

#include <time.h>

static long long
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	long long began = now_ms();
	struct model_response *response = model_next(next, request);

	model_note(request, "%s took %lld ms", model_name(request), now_ms() - began);
	return response;
}

static struct tool_result *
wrap_tool_call(struct tool_request *request, struct tool_next *next)
{
	long long began = now_ms();
	struct tool_result *result = tool_next(next, request);

	tool_note(request, "%s took %lld ms", tool_name(request), now_ms() - began);
	return result;
}

static const struct middleware latency = {
	.abi = MIDDLEWARE_ABI,
	.name = "latency",
	.summary = "tells how long each call took",
	.wrap_model_call = wrap_model_call,
	.wrap_tool_call = wrap_tool_call,
};

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &latency, NULL };
