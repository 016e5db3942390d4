/* remote_tool: a tool whose worker runs no middleware (`plain`, docs/protocol.md): this worker runs
 * the agent's, and beneath it calls the other one, as a call inside of its own. */
#ifndef REMOTE_TOOL_H
#define REMOTE_TOOL_H

#include "middleware.h"
#include "worker.h"

/* True when call came by way of `wraps`, or of `tools`, for a plain tool of this name. */
bool remote_tool_is(const struct worker_call *call, const char *name);

/* Calls the tool's worker and waits for left_ms at most, on a fiber. *count is how many calls this
 * one has made so: their ids are made of it. Sets call->lost when nobody knows whether a call that
 * must not run twice took effect. NULL: it asks, and there is no answer yet. */
struct tool_result *remote_tool_run(struct worker_call *call,
    struct tool_request *request, uint64_t left_ms, unsigned *count);

#endif
