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

/* Tools of a server while they are listed. */
struct listing {
	struct value_list tools;
	size_t looked;  /* at so many that are wanted, good ones or not */
	bool *was_seen; /* of each name that the file wants */
	bool has_more;  /* than we look at */
};

static void
note_seen(struct listing *listing, const struct value *wanted, const struct value *tool)
{
	const char *name = value_get_text(tool, "name");
	size_t i;

	for (i = 0; name != NULL && i < value_size(wanted); i++)
		if (value_text_is(value_at(wanted, i), name))
			listing->was_seen[i] = true;
}

/* Adds the tools of one page, copied into the listing's arena. */
static void
add_page(struct mcp_server *server, struct arena *arena, const struct value *page,
    struct listing *listing)
{
	const struct value *tools = value_get(page, "tools"), *tool;
	const char *reason;
	size_t i;

	for (i = 0; i < value_size(tools) && listing->looked < MCP_TOOLS_MAX; i++) {
		note_seen(listing, server->options->tools, value_at(tools, i));
		tool = mcp_tool_of(arena, server->options, value_at(tools, i), &reason);
		listing->looked += tool != NULL || reason != NULL;
		if (tool != NULL)
			value_list_add(
			    &listing->tools, value_copy(listing->tools.arena, tool));
		else if (reason != NULL)
			log_warnx(
			    "mcp=%s not offered: %s", server->options->name, reason);
	}
	listing->has_more = i < value_size(tools);
}

/* Asks for page after page; what came of one goes when the next is there. Returns 0, or -1 with a reason in
 * arena. */
static int
list_pages(struct mcp_server *server, struct arena *arena, uint64_t end_ms,
    struct listing *listing, const char **reason_r)
{
	struct arena *last = arena_new(), *next;
	const struct value *page = NULL, *cursor = NULL;
	bool goes_on = true;
	unsigned pages;

	for (pages = 0; goes_on && pages < MCP_PAGES_MAX && !listing->has_more; pages++) {
		next = arena_new();
		page = ask_new(server, next, "tools/list",
		    value_map(next, "cursor", cursor, NULL), end_ms, reason_r);
		if (page != NULL)
			add_page(server, next, page, listing);
		else
			*reason_r = arena_strdup(arena, *reason_r);
		cursor = value_get(page, "nextCursor");
		goes_on = value_is(cursor, VALUE_STR) && cursor->size > 0;
		arena_destroy(&last);
		last = next;
		if (page == NULL)
			break;
	}
	arena_destroy(&last);
	listing->has_more |= goes_on;
	return page == NULL ? -1 : 0;
}

/* Names in the file that the server does not know are somebody's mistake. */
static void
log_listing(const struct mcp_server *server, const struct listing *listing)
{
	const struct value *wanted = server->options->tools;
	size_t i;

	for (i = 0; i < value_size(wanted); i++)
		if (!listing->was_seen[i])
			log_warnx(
			    "mcp=%s tool=%s not offered: the server has none of that "
			    "name%s",
			    server->options->name, value_text(value_at(wanted, i)),
			    listing->has_more ? " among those that are looked at"
					      : "; --list shows all when the file has no "
						"tools");
	if (listing->has_more && wanted == NULL)
		log_warnx("mcp=%s it has more tools than are looked at (%u, on %u "
			  "pages); name those that are wanted in tools",
		    server->options->name, MCP_TOOLS_MAX, MCP_PAGES_MAX);
}

int
mcp_list_tools(struct mcp_server *server, struct arena *arena, uint64_t end_ms,
    const char **reason_r)
{
	struct arena *kept = arena_new();
	struct listing listing = { .tools = { .arena = kept } };
	const struct value *list;

	server->is_stale = false;
	listing.was_seen = arena_alloc(
	    arena, (value_size(server->options->tools) + 1) * sizeof *listing.was_seen);
	if (list_pages(server, arena, end_ms, &listing, reason_r) == -1) {
		arena_destroy(&kept);
		return -1;
	}
	list = value_list_end(&listing.tools);
	if (!value_equal(list, server->tools) || value_size(list) == 0)
		log_listing(server, &listing);
	mcp_set_tools(server, kept, list);
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
