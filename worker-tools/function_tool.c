#include "function_tool.h"

#include "fiber.h"

/* The function on a fiber of its own; on the calling fiber's stack. */
struct body {
	const struct tool *tool;
	struct tool_request *request;
	struct tool_result *result;
	struct fiber *caller;
	bool has_ended;
};

static void
body_main(void *arg)
{
	struct body *body = arg;

	body->result = body->tool->run(body->request);
	body->has_ended = true;
	fiber_wake(body->caller);
}

/* Waits until body has ended, its time is over or the caller is cancelled. Returns as
 * fiber_wait_ms. */
static int
wait_for(struct loop *loop, const struct body *body)
{
	uint64_t end_ms = loop_now_ms(loop) + body->tool->timeout_ms, now_ms;

	while (!body->has_ended) {
		now_ms = loop_now_ms(loop);
		if (now_ms >= end_ms)
			return 1;
		/* It may have ended before this fiber had its turn to be cancelled. */
		if (fiber_wait_ms(end_ms - now_ms) == -1 && !body->has_ended)
			return -1;
	}
	return 0;
}

/* body is on this stack: it must have ended, whatever happens to this fiber. */
static void
stop(const struct body *body, struct fiber *fiber)
{
	fiber_cancel(fiber);
	fiber_shield(true);
	while (!body->has_ended)
		fiber_wait();
	fiber_shield(false);
}

struct tool_result *
function_tool_run(
    struct loop *loop, const struct tool *tool, struct tool_request *request)
{
	struct body body = { tool, request, NULL, fiber_current(), false };
	struct arena *arena = tool_arena(request);
	struct fiber *fiber;
	int outcome;

	if (tool->timeout_ms == 0)
		return tool->run(request);
	fiber = fiber_start(loop, tool->name, body_main, &body);
	if (fiber == NULL)
		return tool_fail(request, fault_new(arena, "ToolException",
					      "the worker has no room for another fiber; "
					      "give it fewer --slots"));
	fiber_set_data(fiber, fiber_data(fiber_current()));
	outcome = wait_for(loop, &body);
	if (outcome == 0)
		return body.result;
	stop(&body, fiber);
	return tool_fail(request,
	    outcome == -1 ? fault_cancelled(arena)
			  : fault_new(arena, "TimeoutError",
				"took longer than its timeout_ms of %llu and was stopped",
				(unsigned long long)tool->timeout_ms));
}
