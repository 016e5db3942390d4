/* mcp: agents as tools of the Model Context Protocol, for whoever has a model of its own: its streamable HTTP, as of
 * modelcontextprotocol.io, 2025-06-18. Nothing is kept between two requests: there are no sessions, and no stream of
 * the server's own. A call of a tool is a run on a thread of its own. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "assistant_find.h"
#include "blueprint.h"
#include "bounds.h"
#include "chat.h"
#include "fiber.h"
#include "json.h"
#include "room.h"
#include "rpc.h"
#include "runs.h"
#include "settings.h"
#include "store_agents.h"
#include "tenant.h"
#include "utf8.h"

#define PAGE 100        /* tools */
#define SHOWN_BYTES 64u /* of what was asked for */

/* Newest first. They differ in what we do not use, but for batches, which one had and no other has. */
static const char *const revisions[] = { "2025-06-18", "2025-03-26", "2024-11-05" };
#define REVISIONS (sizeof revisions / sizeof *revisions)

/* --- what there is -------------------------------------------------------------------- */

static void
initialize(struct call *call, const struct value *params)
{
	struct arena *arena = call->arena;
	const char *wanted = value_get_text(params, "protocolVersion");
	const char *revision = revisions[0];
	size_t i;

	for (i = 0; wanted != NULL && i < REVISIONS; i++)
		if (strcmp(wanted, revisions[i]) == 0)
			revision = revisions[i];
	rpc_succeed(call,
	    value_map(arena, "protocolVersion", value_str(arena, revision),
		"capabilities", value_map(arena, "tools", value_empty_map(), NULL),
		"serverInfo",
		value_map(arena, "name", value_str(arena, "flotilla"), "version",
		    value_str(arena, FLOTILLA_VERSION), NULL),
		"instructions",
		value_str(arena,
		    "Each tool is an agent. It knows nothing of your conversation but "
		    "the messages that it is given, and answers when it is done."),
		NULL));
}

static void
ping(struct call *call, const struct value *params)
{
	(void)params;
	rpc_succeed(call, value_empty_map());
}

static const struct value *
text_schema(struct arena *arena)
{
	return value_map(arena, "type", value_str(arena, "string"), NULL);
}

/* Messages as a model is best told to write them. */
static const struct value *
messages_schema(struct arena *arena)
{
	const struct value *roles[] = { value_str(arena, "user"),
		value_str(arena, "assistant"), value_str(arena, "system") };
	const struct value *required[] = { value_str(arena, "role"),
		value_str(arena, "content") };
	const struct value *role = value_map(arena, "type", value_str(arena, "string"),
	    "enum", value_array(arena, roles, 3), NULL);

	return value_map(arena, "type", value_str(arena, "array"), "description",
	    value_str(arena, "what the agent is told or asked: mostly one message of "
			     "the role user"),
	    "items",
	    value_map(arena, "type", value_str(arena, "object"), "properties",
		value_map(arena, "role", role, "content", text_schema(arena), NULL),
		"required", value_array(arena, required, 2), NULL),
	    NULL);
}

static const struct value *
input_schema(struct arena *arena, const struct spec *spec)
{
	const struct value *schema = assistant_state_schema(arena, spec, true);
	const struct value *messages = value_str(arena, "messages");
	const struct value *properties = value_map_with(
	    arena, value_get(schema, "properties"), "messages", messages_schema(arena));

	schema = value_map_with(arena, schema, "properties", properties);
	return value_map_with(
	    arena, schema, "required", value_array(arena, &messages, 1));
}

/* The assistant as a tool; NULL when it, or its agent, was deleted meanwhile; *status_r else says why. */
static const struct value *
describe(
    struct call *call, struct arena *arena, const char *name, enum store_status *status_r)
{
	struct assistant assistant;
	struct blueprint read;
	const char *description;

	*status_r = assistant_find(call, arena, name, &assistant);
	if (*status_r == STORE_OK)
		*status_r = blueprint_read(call, arena, assistant.agent, &read);
	if (*status_r == STORE_DAMAGED)
		*status_r = STORE_NONE;
	if (*status_r != STORE_OK)
		return NULL;
	blueprint_compile(arena, &read);
	description = assistant.description != NULL
			  ? assistant.description
			  : value_get_text(read.source, "description");
	return value_map(arena, "name", value_str(arena, name), "title",
	    assistant_is_made(&assistant) ? value_str(arena, assistant.name) : NULL,
	    "description",
	    description != NULL ? value_str(arena, description)
				: value_printf(arena, "the agent %s", read.name),
	    "inputSchema", input_schema(arena, read.spec), NULL);
}

/* By name, so that pages follow each other whatever comes between. */
static int
by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct names {
	const char **all;
	size_t count;
};

/* What tools are called: agents, and assistants by their ids, of which a tenant's need not say whose they are, unless that
 * were an agent's name: so they are found by either. */
static enum store_status
read_names(struct call *call, struct names *names_r)
{
	struct arena *arena = call->arena;
	struct store *store = api_store(call->api);
	const struct assistant_wish wish = { .tenant = call->tenant };
	struct assistant_list list = { 0 };
	const struct value *agents;
	enum store_status status = store_agents(store, arena, &agents);
	struct names names = { 0 };
	size_t i;

	if (status == STORE_OK)
		status = assistants_find(store, arena, &wish, &list);
	if (status != STORE_OK)
		return status;
	names.all =
	    arena_alloc(arena, (value_size(agents) + list.count + 1) * sizeof *names.all);
	for (i = 0; i < value_size(agents); i++)
		names.all[names.count++] = value_text(agents->pairs[i].key);
	for (i = 0; i < list.count; i++) {
		const char *id = list.items[i].id, *name = tenant_short(call, id);

		name = value_has(agents, name) ? id : name;
		if (!value_has(agents, name)) /* which hides it */
			names.all[names.count++] = name;
	}
	if (names.count > 0)
		qsort(names.all, names.count, sizeof *names.all, by_name);
	*names_r = names;
	return STORE_OK;
}

/* Tools that are listed, and how long they are as JSON. */
struct page {
	struct value_list tools;
	size_t bytes;
};

/* Adds the assistant; what its agent was compiled of is let go. Returns STORE_REJECTED when it is for the next page. */
static enum store_status
add_tool(struct call *call, struct page *page, const char *name)
{
	struct arena *arena = arena_new();
	enum store_status status;
	const struct value *tool = describe(call, arena, name, &status);

	if (tool != NULL) {
		page->bytes += strlen(json_text(arena, tool));
		if (page->tools.count > 0 && page->bytes > SERVE_LIST_BYTES_MAX)
			status = STORE_REJECTED;
		else
			value_list_add(&page->tools, value_copy(call->arena, tool));
	}
	arena_destroy(&arena);
	return status == STORE_NONE ? STORE_OK : status;
}

/* A cursor is the last name of the page before. */
static void
show_tools(struct call *call, const struct value *params)
{
	struct arena *arena = call->arena;
	const char *cursor = value_get_text(params, "cursor");
	struct page page = { .tools = { .arena = arena } };
	struct names names;
	enum store_status status = read_names(call, &names);
	size_t i = 0;

	if (status != STORE_OK) {
		reply_failed(call, status, "agents");
		return;
	}
	while (cursor != NULL && i < names.count && strcmp(names.all[i], cursor) <= 0)
		i++;
	for (; i < names.count && page.tools.count < PAGE; i++) {
		status = add_tool(call, &page, names.all[i]);
		if (status == STORE_REJECTED)
			break;
		if (status != STORE_OK) {
			reply_failed(call, status, "agent");
			return;
		}
		fiber_yield();
	}
	rpc_succeed(
	    call, value_map(arena, "tools", value_list_end(&page.tools), "nextCursor",
		      i < names.count ? value_str(arena, names.all[i - 1]) : NULL, NULL));
}

static void
list_tools(struct call *call, const struct value *params)
{
	enum store_status status = room_for_list(call);

	if (status != STORE_OK) {
		reply_failed(call, status, "agents");
		return;
	}
	show_tools(call, params);
	room_leave_list(call);
}

/* --- a call --------------------------------------------------------------------------- */

/* What a run came to, as a tool's result: what the agent said last, or its structured response. */
static const struct value *
result_of(struct arena *arena, const struct value *outcome)
{
	const struct value *error = value_get(outcome, "__error__");
	const struct value *asks = value_get(outcome, "__interrupt__");
	const struct value *structured = value_get(outcome, "structured_response");
	const struct value *messages = value_get(outcome, "messages"), *content;
	const char *text;
	bool is_paused = value_has(outcome, "__interrupt__");
	bool is_error = value_is(error, VALUE_MAP) || is_paused;

	if (value_is(error, VALUE_MAP))
		text = arena_printf(arena, "%s: %s", value_get_text(error, "error"),
		    value_get_text(error, "message"));
	else if (is_paused && value_size(asks) == 0)
		text = "The agent has stopped where a human is to look, and cannot be "
		       "told here to go on.";
	else if (is_paused)
		text = arena_printf(arena,
		    "The agent has stopped for a human, whose answer it cannot be given "
		    "here: %s",
		    json_text(arena, asks));
	else if (!value_is_nil(structured))
		text = json_text(arena, structured);
	else
		text =
		    value_size(messages) == 0
			? ""
			: chat_text(arena, value_at(messages, value_size(messages) - 1));
	content = value_map(arena, "type", value_str(arena, "text"), "text",
	    value_str(arena, text), NULL);
	return value_map(arena, "content", value_array(arena, &content, 1),
	    "structuredContent",
	    value_is(structured, VALUE_MAP) && !is_error ? structured : NULL, "isError",
	    value_bool(is_error), NULL);
}

/* Returns false after answering that there is no such tool. */
static bool
is_tool(struct call *call, const char *name)
{
	struct assistant assistant;
	enum store_status status = assistant_find(call, call->arena, name, &assistant);

	if (status == STORE_NONE)
		rpc_fail(call, RPC_INVALID_PARAMS,
		    arena_printf(call->arena, "Unknown tool: %s",
			utf8_shown(call->arena, name, SHOWN_BYTES)));
	else if (status != STORE_OK)
		reply_failed(call, status, "agent");
	return status == STORE_OK;
}

static void
call_tool(struct call *call, const struct value *params)
{
	struct arena *arena = call->arena;
	const struct value *name = value_get(params, "name");
	const struct value *arguments = value_get(params, "arguments"), *body, *outcome;
	struct run_begun begun;
	bool has_ended;

	if (!value_is(name, VALUE_STR) || !value_is(arguments, VALUE_MAP)) {
		rpc_fail(call, RPC_INVALID_PARAMS,
		    "name: must be that of a tool, and arguments: a map");
		return;
	}
	body = value_map(arena, "assistant_id", name, "input", arguments, "on_disconnect",
	    value_str(arena, "cancel"), NULL);
	if (!is_tool(call, value_text(name)) || !runs_begin(call, body, FEED_END, &begun))
		return;
	outcome = runs_await(call, &begun, &has_ended);
	if (outcome != NULL)
		runs_write(call, rpc_result(call, arena, result_of(arena, outcome)));
	feed_destroy(&begun.feed);
	runs_leave(call, &begun, has_ended);
}

/* --- methods -------------------------------------------------------------------------- */

static const struct rpc_method methods[] = {
	{ "initialize", initialize },
	{ "ping", ping },
	{ "tools/list", list_tools },
	{ "tools/call", call_tool },
};

void
call_mcp(struct call *call)
{
	const char *said = exchange_header(call->exchange, "MCP-Protocol-Version");
	size_t i = 0;

	while (said != NULL && i < REVISIONS && strcmp(said, revisions[i]) != 0)
		i++;
	if (said != NULL && i == REVISIONS) {
		call->tell_error = NULL;
		reply_error(
		    call, 400, "MCP-Protocol-Version: %s is served", revisions[0]);
		return;
	}
	rpc_route(call, methods, sizeof methods / sizeof *methods,
	    "tools alone are served here");
}
