/* How an MCP server is opened, and what it is asked first. */
#include "mcp_private.h"

#include <string.h>

#include "bounds.h"
#include "log.h"
#include "mcp_http.h"
#include "mcp_stdio.h"
#include "settings.h"

static const struct value *
ask_new(struct mcp_server *server, struct arena *arena, const char *method,
    const struct value *params, uint64_t end_ms, const char **reason_r)
{
	const struct fault *fault = NULL;
	bool was_refused;
	const struct value *result =
	    mcp_ask_once(server, arena, method, params, end_ms, &fault, &was_refused);

	if (result == NULL)
		*reason_r = fault->message;
	return result;
}

static int
agree(struct mcp_server *server, struct arena *arena, uint64_t end_ms,
    const char **reason_r)
{
	const struct value *about = value_map(arena, "name", value_str(arena, "flotilla"),
	    "version", value_str(arena, FLOTILLA_VERSION), NULL);
	const struct value *params =
	    value_map(arena, "protocolVersion", value_str(arena, MCP_REVISION),
		"capabilities", value_empty_map(), "clientInfo", about, NULL);
	const struct value *result =
	    ask_new(server, arena, "initialize", params, end_ms, reason_r);
	const char *revision = value_get_text(result, "protocolVersion");

	if (result == NULL)
		return -1;
	if (!mcp_speaks(revision)) {
		*reason_r = arena_printf(arena,
		    "it speaks revision '%.40s' of the protocol, which we do not",
		    revision == NULL ? "?" : revision);
		return -1;
	}
	memcpy(server->way->revision, revision, strlen(revision) + 1);
	server->way->type->tell(
	    server->way, mcp_notice(arena, "notifications/initialized", NULL));
	return 0;
}

/* Adds the tools of one page, copied into the list's arena. */
static void
add_page(struct mcp_server *server, struct arena *arena, const struct value *page,
    struct value_list *list)
{
	const struct value *tools = value_get(page, "tools"), *tool;
	const char *reason;
	size_t i;

	for (i = 0; i < value_size(tools) && list->count < MCP_TOOLS_MAX; i++) {
		tool = mcp_tool_of(arena, server->options, value_at(tools, i), &reason);
		if (tool != NULL)
			value_list_add(list, value_copy(list->arena, tool));
		else if (reason != NULL)
			log_warnx(
			    "mcp=%s not offered: %s", server->options->name, reason);
	}
}

int
mcp_list_tools(struct mcp_server *server, struct arena *arena, uint64_t end_ms,
    const char **reason_r)
{
	struct arena *kept = arena_new();
	struct value_list list = { .arena = kept };
	const struct value *page, *cursor = NULL;
	unsigned pages = 0;

	server->is_stale = false;
	do {
		page = ask_new(server, arena, "tools/list",
		    value_map(arena, "cursor", cursor, NULL), end_ms, reason_r);
		if (page == NULL) {
			arena_destroy(&kept);
			return -1;
		}
		add_page(server, arena, page, &list);
		cursor = value_get(page, "nextCursor");
	} while (
	    value_is(cursor, VALUE_STR) && cursor->size > 0 && ++pages < MCP_PAGES_MAX);
	mcp_set_tools(server, kept, value_list_end(&list));
	return 0;
}

static struct mcp_link *
open_way(struct mcp_server *server, struct arena *arena, const char **reason_r)
{
	const struct mcp_hearer hearer = { mcp_on_notice, mcp_on_lost, server };
	struct loop *loop = server->home->loop;

	if (server->options->url != NULL)
		return mcp_http_open(loop, server->home->http, server->options, &hearer);
	return mcp_stdio_open(loop, arena, server->options, &hearer, reason_r);
}

int
mcp_open(struct mcp_server *server, struct arena *arena, const char **reason_r)
{
	uint64_t end_ms = loop_now_ms(server->home->loop) + server->options->start_ms;

	server->is_lost = false;
	server->way = open_way(server, arena, reason_r);
	if (server->way == NULL || agree(server, arena, end_ms, reason_r) == -1 ||
	    mcp_list_tools(server, arena, end_ms, reason_r) == -1)
		return -1;
	log_info("mcp=%s tools=%zu", server->options->name, value_size(server->tools));
	return 0;
}
