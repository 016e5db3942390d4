/* mcp_http: an MCP server behind HTTP ("streamable HTTP"): each message of ours is a POST, and what comes
 * back is JSON or a stream of events. No stream of the server's own is held open (GET). */
#ifndef MCP_HTTP_H
#define MCP_HTTP_H

#include "http.h"
#include "mcp_link.h"

/* Returns new; nothing is sent yet. Keeps http and options. */
struct mcp_link *mcp_http_open(struct loop *loop, struct http *http,
    const struct mcp_options *options, const struct mcp_hearer *hearer);

#endif
