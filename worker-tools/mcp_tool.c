#include "mcp_tool.h"

/* `_meta` says which call it is, the same each time it is made: a server that knows how may look there
 * whether it has been done. */
static const struct value *
params_of(const struct tool_request *request, const char *remote)
{
	struct arena *arena = tool_arena(request);

	return value_map(arena, "name", value_str(arena, remote), "arguments",
	    tool_args(request), "_meta",
	    value_map(arena, "idempotencyKey",
		value_str(arena, tool_idempotency_key(request)), NULL),
	    NULL);
}

static struct tool_result *
answer(struct tool_request *request, const struct value *content,
    const struct value *artifact)
{
	struct arena *arena = tool_arena(request);
	const struct value *message = value_map(arena, "type", value_str(arena, "tool"),
	    "content", content, "tool_call_id", value_str(arena, tool_call_id(request)),
	    "name", value_str(arena, tool_name(request)), "status",
	    value_str(arena, "success"), "artifact", artifact, NULL);

	return tool_command(
	    request, value_map(arena, "messages", value_array(arena, &message, 1), NULL));
}

struct tool_result *
mcp_tool_run(struct loop *loop, struct mcp_server *server, const char *remote,
    struct tool_request *request)
{
	struct arena *arena = tool_arena(request);
	uint64_t timeout_ms = mcp_server_options(server)->timeout_ms;
	uint64_t left_ms = tool_left_ms(request);
	uint64_t end_ms =
	    loop_now_ms(loop) + (left_ms < timeout_ms ? left_ms : timeout_ms);
	const struct value *result, *content, *artifact;
	const struct fault *fault;

	result = mcp_server_ask(
	    server, arena, "tools/call", params_of(request, remote), end_ms, &fault);
	if (result == NULL ||
	    mcp_content(arena, result, &content, &artifact, &fault) == -1)
		return tool_fail(request, fault);
	return answer(request, content, artifact);
}
