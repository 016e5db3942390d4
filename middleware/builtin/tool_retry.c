/* tool_retry: runs a tool again when it failed (semantics.md 6.6). */
#include "retry.h"

static const struct option options[] = {
#include "retry_options.def"
	{ .name = "tools",
	    .type = OPTION_TEXTS,
	    .otherwise = "null",
	    .nullable = true,
	    .text = "Names of the tools to try again; without it: all." },
	{ 0 },
};

/* on_failure: error ends the run whatever the agent says of tool errors. */
static const struct fault *
fatal(struct arena *arena, const struct fault *fault)
{
	struct fault *copy = arena_alloc(arena, sizeof *copy);

	*copy = *fault;
	copy->fatal = true;
	return copy;
}

static struct tool_result *
give_up(struct tool_request *request, const struct retry_policy *policy,
    const struct fault *fault, unsigned attempts)
{
	struct arena *arena = tool_arena(request);
	const char *text = policy->message;

	tool_note(request, "%s: gave up after attempt %u: %s: %s", tool_name(request),
	    attempts, fault->type, fault->message);
	if (policy->end == RETRY_ERROR)
		return tool_fail(request, fatal(arena, fault));
	if (text == NULL)
		text = arena_printf(arena,
		    "The tool %s failed after %s with %s: %s. You may try again.",
		    tool_name(request), retry_count_text(arena, attempts), fault->type,
		    fault->message);
	return tool_answer(request, text, "error");
}

static bool
is_covered(const struct tool_request *request)
{
	const struct value *tools = value_get(tool_settings_of(request), "tools");

	return value_is_nil(tools) || value_contains(tools, tool_name(request));
}

/* Bad arguments and unknown tools come back as messages: they are not tried again. */
static struct tool_result *
wrap_tool_call(struct tool_request *request, struct tool_next *next)
{
	struct retry_policy policy = retry_policy_of(tool_settings_of(request));
	struct tool_result *result;
	unsigned attempt = 1;
	uint64_t delay_ms;

	if (!is_covered(request))
		return tool_next(next, request);
	for (;; attempt++) {
		result = tool_next(next, request);
		/* A fault of another type is not ours: it travels on as it came. */
		if (result->fault == NULL ||
		    !fault_matches(result->fault, policy.retry_on))
			return result;
		if (!retry_again(&policy, result->fault, attempt, tool_left_ms(request),
			&delay_ms))
			return give_up(request, &policy, result->fault, attempt);
		tool_note(request, "%s: attempt %u failed with %s: %s; trying again",
		    tool_name(request), attempt, result->fault->type,
		    result->fault->message);
		if (hook_sleep(delay_ms) == -1)
			return result;
	}
}

const struct middleware middleware_tool_retry = {
	.abi = MIDDLEWARE_ABI,
	.name = "tool_retry",
	.summary = "runs a tool again when it failed",
	.options = options,
	.configure = retry_configure,
	.wrap_tool_call = wrap_tool_call,
};
