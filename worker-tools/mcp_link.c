#include "mcp_link.h"

#include "json.h"
#include "log.h"
#include "utf8.h"

#define SHOWN_BYTES 100u

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

static void
take_unreadable(struct mcp_link *link, const char *name, const char *data, size_t size,
    const char *error, const struct mcp_takers *takers, void *arg)
{
	struct arena *arena = arena_new();
	int64_t id;

	if (mcp_damaged_id(data, size, &id)) {
		log_debug("mcp=%s id=%jd %s", name, (intmax_t)id, error);
		takers->on_response(arg, id, mcp_damaged(arena, id, error));
	} else if (link->has_babbled) {
		log_debug("mcp=%s no JSON: %s", name, error);
	} else {
		link->has_babbled = true;
		log_warnx(
		    "mcp=%s what it says is no message, and passed over, as more of "
		    "the kind will be: '%s': %s",
		    name, utf8_shown(arena, arena_copy(arena, data, size), SHOWN_BYTES),
		    error);
	}
	arena_destroy(&arena);
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
		take_unreadable(link, name, data, size, error, takers, arg);
	else if (value_is(message, VALUE_ARRAY))
		for (i = 0; i < value_size(message); i++)
			take_message(link, name, value_at(message, i), takers, arg);
	else
		take_message(link, name, message, takers, arg);
	arena_destroy(&arena);
}
