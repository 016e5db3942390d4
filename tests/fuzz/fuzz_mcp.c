/* What an MCP server says is a message of some kind; a list of tools gives definitions that can be offered,
 * a result content or a fault. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../worker-tools/mcp_message.h"
#include "bounds.h"
#include "json.h"
#include "schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_tool(struct arena *arena, const struct value *given)
{
	static const struct mcp_options options = { .name = "m", .prefix = "p_" };
	const char *reason;
	const struct value *tool = mcp_tool_of(arena, &options, given, &reason);
	const struct value *definition = value_get(tool, "definition");
	const char *name = value_get_text(definition, "name");

	if (tool == NULL)
		return;
	if (name == NULL || strlen(name) > TOOL_NAME_BYTES_MAX ||
	    value_get_text(tool, "remote") == NULL ||
	    value_get_text(definition, "description") == NULL ||
	    schema_usable(arena, value_get(definition, "parameters"), &reason) == -1)
		abort();
}

static void
check_message(struct arena *arena, const struct value *message)
{
	const struct value *result, *content, *artifact, *tools;
	const struct fault *fault = NULL;
	int64_t id;
	size_t i;

	if (mcp_kind_of(message, &id) == MCP_REQUEST)
		json_parse(arena, mcp_answer(arena, message),
		    strlen(mcp_answer(arena, message)), &(const char *){ NULL });
	result = mcp_result(arena, message, &fault);
	if (result == NULL) {
		if (fault == NULL)
			abort();
		return;
	}
	tools = value_get(result, "tools");
	for (i = 0; i < value_size(tools); i++)
		check_tool(arena, value_at(tools, i));
	if (mcp_content(arena, result, &content, &artifact, &fault) == -1
		? fault == NULL
		: content == NULL)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	const char *error;
	const struct value *message = json_parse(arena, (const char *)data, size, &error);
	int64_t id;

	if (message != NULL)
		check_message(arena, message);
	else if (mcp_damaged_id((const char *)data, size, &id))
		check_message(arena, mcp_damaged(arena, id, error));
	arena_destroy(&arena);
	return 0;
}
