/* mcp_tool: one call of a tool of an MCP server. */
#ifndef MCP_TOOL_H
#define MCP_TOOL_H

#include "mcp_server.h"
#include "middleware.h"

/* Has server run its tool of that name (remote) with request's arguments, on a fiber, for the server's
 * timeout_ms at most. Returns its answer, or its failure; in the request's arena. */
struct tool_result *mcp_tool_run(struct loop *loop, struct mcp_server *server,
    const char *remote, struct tool_request *request);

#endif
