/* model_retry: asks the model again when a call failed (semantics.md 6.5). */
#include "retry.h"

static const struct option options[] = {
#include "retry_options.def"
	{ 0 },
};

static struct model_response *
give_up(struct model_request *request, const struct retry_policy *policy,
    const struct fault *fault, unsigned attempts)
{
	struct arena *arena = model_arena(request);
	const char *text = policy->message;

	model_note(request, "gave up after attempt %u: %s: %s", attempts, fault->type,
	    fault->message);
	if (policy->end == RETRY_ERROR)
		return model_fail(request, fault);
	if (text == NULL)
		text = arena_printf(arena, "The model call failed after %s with %s: %s",
		    retry_count_text(arena, attempts), fault->type, fault->message);
	return model_answer(request, chat_ai(arena, text));
}

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	struct retry_policy policy = retry_policy_of(model_settings_of(request));
	struct model_response *response;
	unsigned attempt = 1;
	uint64_t delay_ms;

	for (;; attempt++) {
		response = model_next(next, request);
		/* A fatal fault is a mistake in the agent, not in the call. */
		if (response->fault == NULL || response->fault->control ||
		    response->fault->fatal)
			return response;
		if (!retry_again(&policy, response->fault, attempt,
			model_left_ms(request), &delay_ms))
			return give_up(request, &policy, response->fault, attempt);
		model_note(request, "attempt %u failed with %s: %s; trying again",
		    attempt, response->fault->type, response->fault->message);
		if (hook_sleep(delay_ms) == -1)
			return response;
	}
}

const struct middleware middleware_model_retry = {
	.abi = MIDDLEWARE_ABI,
	.name = "model_retry",
	.summary = "asks the model again when a call failed",
	.options = options,
	.configure = retry_configure,
	.wrap_model_call = wrap_model_call,
};
