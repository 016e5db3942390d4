/* mcp_message: what is said to an MCP server and what it says: JSON-RPC 2.0, as of
 * modelcontextprotocol.io, 2025-06-18. Pure. */
#ifndef MCP_MESSAGE_H
#define MCP_MESSAGE_H

#include "fault.h"
#include "mcp_file.h"

/* The newest revision that we speak, which is what we ask for. */
#define MCP_REVISION "2025-06-18"

/* Whether we speak this one. What we use is the same in all of them. */
bool mcp_speaks(const char *revision);

/* JSON without line ends, in arena. params: a map, or NULL. */
const char *mcp_request(
    struct arena *arena, int64_t id, const char *method, const struct value *params);
const char *mcp_notice(
    struct arena *arena, const char *method, const struct value *params);

enum mcp_kind {
	MCP_RESPONSE, /* to the request of that id; it may have neither result nor error */
	MCP_REQUEST,  /* the server's own */
	MCP_NOTICE,
	MCP_NOISE, /* none of these */
};

/* id_r: of a response. */
enum mcp_kind mcp_kind_of(const struct value *message, int64_t *id_r);

/* Returns whether size bytes that are no JSON that we take (not UTF-8, too deep, cut off) begin as one message, and
 * it is the response to the request of that id. */
bool mcp_damaged_id(const char *text, size_t size, int64_t *id_r);
/* The response that stands for it: an error that says why it cannot be read. */
const struct value *mcp_damaged(struct arena *arena, int64_t id, const char *why);

/* What is said to a request of the server's: to `ping` that we are there, to others that we do not know
 * them. */
const char *mcp_answer(struct arena *arena, const struct value *request);

/* Returns the result of a response, a map, or NULL with a fault: McpError. */
const struct value *mcp_result(
    struct arena *arena, const struct value *response, const struct fault **fault_r);

/* What a tool of the server's is here: {remote, definition} with its name there and what models are told
 * (proto/bodies.h), in arena. NULL: it is not wanted; or cannot be offered, with the reason. */
const struct value *mcp_tool_of(struct arena *arena, const struct mcp_options *options,
    const struct value *tool, const char **reason_r);

/* What the result of tools/call says: the content of a tool message, a text or blocks, and its artifact
 * (or NULL); as langchain-mcp-adapters have it. Returns 0, or -1 with a fault: the tool has failed
 * (ToolException). */
int mcp_content(struct arena *arena, const struct value *result,
    const struct value **content_r, const struct value **artifact_r,
    const struct fault **fault_r);

#endif
