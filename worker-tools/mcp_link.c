#include "mcp_link.h"

#include "json.h"
#include "log.h"

static void
take_message(struct mcp_link *link, const char *name, const struct value *message,
    const struct mcp_takers *takers, void *arg)
{
	struct arena *scratch;
	int64_t id;

	switch (mcp_kind_of(message, &id)) {
	case MCP_RESPONSE:
		takers->on_response(arg, id, message);
		return;
	case MCP_REQUEST:
		scratch = arena_new();
		takers->on_request(arg, mcp_answer(scratch, message));
		arena_destroy(&scratch);
		return;
	case MCP_NOTICE:
		link->hearer.on_notice(
		    link->hearer.arg, value_get_text(message, "method"));
		return;
	case MCP_NOISE:
	default:
		log_debug("mcp=%s a message that is none", name);
	}
}

void
mcp_link_take(struct mcp_link *link, const char *name, const char *data, size_t size,
    const struct mcp_takers *takers, void *arg)
{
	struct arena *arena = arena_new();
	const struct value *message;
	const char *error;
	size_t i;

	message = json_parse(arena, data, size, &error);
	if (message == NULL)
		log_debug("mcp=%s no JSON: %s", name, error);
	else if (value_is(message, VALUE_ARRAY))
		for (i = 0; i < value_size(message); i++)
			take_message(link, name, value_at(message, i), takers, arg);
	else
		take_message(link, name, message, takers, arg);
	arena_destroy(&arena);
}
