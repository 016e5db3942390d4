/* workbench: tools without a fleet, for the person who writes them. */
#ifndef WORKBENCH_H
#define WORKBENCH_H

#include "bounds.h"
#include "worker_tools.h"

/* Exit statuses, for scripts. */
enum {
	WORKBENCH_OK = 0,
	WORKBENCH_FAILED = 1, /* the tool failed; a file is bad; a server is away */
	WORKBENCH_USAGE =
	    2, /* no such tool, arguments that are no JSON, bad tool files */
	WORKBENCH_ASKS = TOOL_EXIT_ASKS, /* a human is asked, and --answer has no more */
	WORKBENCH_CANCELLED = 130,
};

/* Checks each of files (the setting --tools when there are none) and lists its tools.
 * Returns the exit status. */
int workbench_check(
    const struct worker_tools_settings *settings, const char *const *files);

/* Lists the tools that a worker with these settings would offer: MCP servers are opened, and asked.
 * SIGINT and SIGTERM stop it. Returns the exit status: WORKBENCH_FAILED when one cannot be reached. */
int workbench_list(const struct worker_tools_settings *settings);

/* Runs the tool settings->call with the arguments of rest and prints its content, or its
 * error on stderr. SIGINT and SIGTERM stop it. Returns the exit status. */
int workbench_call(const struct worker_tools_settings *settings, const char *const *rest);

#endif
