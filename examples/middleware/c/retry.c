/* retry: asks the model again when a call failed, after longer and longer pauses. */
#include "middleware.h"

static const struct option options[] = {
	{ .name = "attempts",
	    .type = OPTION_INTEGER,
	    .otherwise = "3",
	    .min = 1,
	    .max = 100,
	    .text = "How often the model is asked at most." },
	{ .name = "pause_ms",
	    .type = OPTION_INTEGER,
	    .otherwise = "1000",
	    .max = 60000,
	    .text = "The first pause; each further one is twice as long." },
	{ 0 },
};

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	const struct value *settings = model_settings_of(request);
	int64_t attempts = value_get_int(settings, "attempts", 3), attempt;
	uint64_t pause_ms = (uint64_t)value_get_int(settings, "pause_ms", 1000);
	struct model_response *response;

	for (attempt = 1;; attempt++) {
		response = model_next(next, request);
		if (response->fault == NULL || !response->fault->retryable ||
		    attempt == attempts)
			return response;
		model_note(request, "attempt %lld failed: %s", (long long)attempt,
		    response->fault->type);
		if (hook_sleep(pause_ms) == -1)
			return response;
		pause_ms *= 2;
	}
}

static const struct middleware retry = {
	.abi = MIDDLEWARE_ABI,
	.name = "retry",
	.summary = "asks the model again when a call failed",
	.options = options,
	.wrap_model_call = wrap_model_call,
};

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &retry, NULL };
