/* mcp_stdio: a program that is an MCP server: a JSON-RPC message a line, on its standard input and
 * output. It stays for as long as the link; what it says on standard error is kept for who asks why it
 * has ended. */
#ifndef MCP_STDIO_H
#define MCP_STDIO_H

#include "mcp_link.h"

/* Starts options' program, on a fiber. Returns new, or NULL with a reason in arena; NULL as the reason:
 * the fiber was cancelled. Keeps options. */
struct mcp_link *mcp_stdio_open(struct loop *loop, struct arena *arena,
    const struct mcp_options *options, const struct mcp_hearer *hearer,
    const char **reason_r);

#endif
