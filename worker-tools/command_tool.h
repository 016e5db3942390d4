/* command_tool: runs the program of a tool file for one call. */
#ifndef COMMAND_TOOL_H
#define COMMAND_TOOL_H

#include "loop.h"
#include "middleware.h"
#include "tool_file.h"

/* Runs tool's program with request's arguments, on a fiber. Returns a tool message with
 * what it wrote, or its failure; in the request's arena. */
struct tool_result *command_tool_run(
    struct loop *loop, const struct command_tool *tool, struct tool_request *request);

/* What tool's program is started with that stays, and is no call's (mcp_stdio.h): its command, which
 * has no arguments to fill in; the variables it lists, and PATH. NULL-ended, in arena. */
const char *const *command_tool_argv(
    struct arena *arena, const struct command_tool *tool);
const char *const *command_tool_env(struct arena *arena, const struct command_tool *tool);

#endif
