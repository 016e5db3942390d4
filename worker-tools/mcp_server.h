/* mcp_server: the MCP servers whose tools this worker has. A fiber for each keeps it open: it opens the
 * link, agrees on a revision, asks for the tools, and does all that again when the server is gone or has
 * other tools. A server that cannot be opened is tried again, ever less often, and its tools are not
 * offered meanwhile. */
#ifndef MCP_SERVER_H
#define MCP_SERVER_H

#include "http.h"
#include "mcp_message.h"
#include "tool_source.h"

struct mcp_servers; /* of this worker */
struct mcp_server;  /* one of them; stays until its last holder has let it go */

/* on_change(arg): what mcp_server_tools gives has changed for some of them; on a fiber, does not wait.
 * Keeps loop and http. */
struct mcp_servers *mcp_servers_new(
    struct loop *loop, struct http *http, void (*on_change)(void *arg), void *arg);

/* Has those of source open, and no others. One that is open as source wants it is left as it is. */
void mcp_servers_follow(struct mcp_servers *servers, struct tool_source *source);

/* Whether each is open, or has been tried in vain. */
bool mcp_servers_are_settled(void *servers);

/* Closes all, and takes *servers_p: runs the loop until their fibers have ended. Nobody holds one any
 * more. NULL is fine. */
void mcp_servers_destroy(struct mcp_servers **servers_p);

/* The one that follows the other, in source's order; NULL: the first. NULL: there is none. */
struct mcp_server *mcp_servers_next(
    struct mcp_servers *servers, const struct mcp_server *server);

struct mcp_server *mcp_server_hold(struct mcp_server *server);
void mcp_server_release(struct mcp_server **server_p); /* NULL is fine */

const struct mcp_options *mcp_server_options(const struct mcp_server *server);

/* Lends, until the next wait, its tools (mcp_tool_of); none while it cannot be reached. */
const struct value *mcp_server_tools(const struct mcp_server *server);

/* Why it cannot be reached, lent until the next wait; NULL: it can be, or has not been tried. */
const char *mcp_server_trouble(const struct mcp_server *server);

/* Asks it and waits for end_ms (loop_now_ms) at most, on a fiber; also until it is open again. Returns the
 * result, in arena, or NULL with a fault. */
const struct value *mcp_server_ask(struct mcp_server *server, struct arena *arena,
    const char *method, const struct value *params, uint64_t end_ms,
    const struct fault **fault_r);

#endif
