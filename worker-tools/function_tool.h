/* function_tool: runs a tool written in C for one call. */
#ifndef FUNCTION_TOOL_H
#define FUNCTION_TOOL_H

#include "loop.h"
#include "middleware.h"

/* Runs tool's function, on a fiber, for its timeout_ms at most: then its waits fail, and
 * the call fails with a TimeoutError when it has returned. The calling fiber is left as
 * it is: whoever wraps the tool may still wait, and try again. */
struct tool_result *function_tool_run(
    struct loop *loop, const struct tool *tool, struct tool_request *request);

#endif
