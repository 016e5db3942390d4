#include <string.h>

#include "api.h"
#include "bounds.h"
#include "json.h"
#include "nul.h"
#include "openapi.h"
#include "rpc.h"
#include "tenant.h"

/* {} stands for one segment of the path: the call's next parameter. */
static const struct {
	const char *method, *path;
	call_fn *call;
	/* How it is told that the body cannot be read; NULL: as of others. */
	void (*tell_error)(struct call *call, unsigned status, const char *text);
} routes[] = {
	{ "GET", "/", call_about, NULL },
	{ "GET", "/ok", call_ok, NULL },
	{ "GET", "/info", call_info, NULL },
	{ "GET", "/openapi.json", call_openapi, NULL },
	{ "GET", "/docs", call_docs, NULL },
	{ "POST", "/assistants", call_assistant_create, NULL },
	{ "POST", "/assistants/search", call_assistants_search, NULL },
	{ "POST", "/assistants/count", call_assistants_count, NULL },
	{ "GET", "/assistants/{}", call_assistant_get, NULL },
	{ "PATCH", "/assistants/{}", call_assistant_change, NULL },
	{ "DELETE", "/assistants/{}", call_assistant_delete, NULL },
	{ "GET", "/assistants/{}/graph", call_assistant_graph, NULL },
	{ "GET", "/assistants/{}/schemas", call_assistant_schemas, NULL },
	{ "GET", "/assistants/{}/subgraphs", call_assistant_subgraphs, NULL },
	{ "GET", "/assistants/{}/subgraphs/{}", call_assistant_subgraphs, NULL },
	{ "POST", "/assistants/{}/versions", call_assistant_versions, NULL },
	{ "POST", "/assistants/{}/latest", call_assistant_latest, NULL },
	{ "POST", "/threads", call_thread_create, NULL },
	{ "POST", "/threads/search", call_threads_search, NULL },
	{ "POST", "/threads/count", call_threads_count, NULL },
	{ "POST", "/threads/prune", call_threads_prune, NULL },
	{ "GET", "/threads/{}", call_thread_get, NULL },
	{ "PATCH", "/threads/{}", call_thread_change, NULL },
	{ "DELETE", "/threads/{}", call_thread_delete, NULL },
	{ "POST", "/threads/{}/copy", call_thread_copy, NULL },
	{ "GET", "/threads/{}/state", call_state_get, NULL },
	{ "POST", "/threads/{}/state", call_state_update, NULL },
	{ "PATCH", "/threads/{}/state", call_thread_change, NULL },
	{ "POST", "/threads/{}/state/checkpoint", call_state_at, NULL },
	{ "GET", "/threads/{}/state/{}", call_state_at, NULL },
	{ "GET", "/threads/{}/history", call_history, NULL },
	{ "POST", "/threads/{}/history", call_history, NULL },
	{ "POST", "/threads/{}/commands", call_thread_command, NULL },
	{ "POST", "/threads/{}/stream/events", call_thread_events, NULL },
	{ "GET", "/threads/{}/stream", call_thread_join, NULL },
	{ "GET", "/threads/{}/runs", call_runs_list, NULL },
	{ "POST", "/threads/{}/runs", call_run_create, NULL },
	{ "POST", "/threads/{}/runs/stream", call_run_stream, NULL },
	{ "POST", "/threads/{}/runs/wait", call_run_wait, NULL },
	{ "POST", "/threads/{}/runs/crons", call_cron_create, NULL },
	{ "GET", "/threads/{}/runs/{}", call_run_get, NULL },
	{ "DELETE", "/threads/{}/runs/{}", call_run_delete, NULL },
	{ "POST", "/threads/{}/runs/{}/cancel", call_run_cancel, NULL },
	{ "GET", "/threads/{}/runs/{}/join", call_run_join, NULL },
	{ "GET", "/threads/{}/runs/{}/stream", call_run_join_stream, NULL },
	{ "GET", "/runs/{}/stream", call_run_join_stream, NULL },
	{ "POST", "/runs", call_run_create, NULL },
	{ "POST", "/runs/batch", call_runs_batch, NULL },
	{ "POST", "/runs/cancel", call_runs_cancel, NULL },
	{ "POST", "/runs/stream", call_run_stream, NULL },
	{ "POST", "/runs/wait", call_run_wait, NULL },
	{ "POST", "/runs/crons", call_cron_create, NULL },
	{ "POST", "/runs/crons/search", call_crons_search, NULL },
	{ "POST", "/runs/crons/count", call_crons_count, NULL },
	{ "PATCH", "/runs/crons/{}", call_cron_change, NULL },
	{ "DELETE", "/runs/crons/{}", call_cron_delete, NULL },
	{ "POST", "/mcp", call_mcp, rpc_tell_unread },
	{ "POST", "/a2a/{}", call_a2a, rpc_tell_unread },
	{ "GET", "/a2a/{}/.well-known/agent-card.json", call_agent_card, NULL },
	{ "GET", "/.well-known/agent-card.json", call_agent_card, NULL },
	{ "PUT", "/store/items", call_item_put, NULL },
	{ "GET", "/store/items", call_item_get, NULL },
	{ "DELETE", "/store/items", call_item_delete, NULL },
	{ "POST", "/store/items/search", call_items_search, NULL },
	{ "POST", "/store/namespaces", call_namespaces, NULL },
};
#define ROUTE_COUNT (sizeof routes / sizeof *routes)

bool
openapi_route(size_t index, const char **method_r, const char **path_r)
{
	if (index >= ROUTE_COUNT)
		return false;
	*method_r = routes[index].method;
	*path_r = routes[index].path;
	return true;
}

/* The segment at *at_p, which goes behind it; its size, 0 at the end. */
static size_t
segment(const char **at_p)
{
	size_t size;

	while (**at_p == '/')
		(*at_p)++;
	size = strcspn(*at_p, "/");
	*at_p += size;
	return size;
}

/* Whether path is of that form; params: what stands for its {}. */
static bool
fits(struct call *call, const char *form, const char *path)
{
	size_t count = 0;

	memset(call->params, 0, sizeof call->params); /* of a form that nearly fitted */
	for (;;) {
		size_t wanted = segment(&form), given = segment(&path);
		const char *word = path - given;

		if (wanted == 0 || given == 0)
			return wanted == given;
		if (wanted == 2 && memcmp(form - 2, "{}", 2) == 0)
			call->params[count++] = exchange_name(call->arena, word, given);
		else if (wanted != given || memcmp(form - wanted, word, given) != 0)
			return false;
	}
}

/* Returns the body, or NULL after answering that it is none. */
static const struct value *
read_body(struct call *call, bool takes_lists)
{
	const struct exchange *exchange = call->exchange;
	const struct value *body;
	const char *error = NULL;

	if (exchange->body_size == 0)
		return value_empty_map();
	body = json_parse(call->arena, exchange->body, exchange->body_size, &error);
	if (body == NULL)
		reply_error(call, 422, "the body is no JSON: %s", error);
	else if (!exchange_hold(call->exchange, arena_bytes(call->arena)))
		return NULL; /* it is answered */
	else if ((error = nul_check(call->arena, body)) != NULL)
		reply_error(call, 422, "%s", error);
	/* What is asked of a body looks through its names, for each item of a list maybe. */
	else if (value_is(body, VALUE_MAP) && value_size(body) > SERVE_NAMES_MAX)
		reply_error(call, 422, "%s", error = "the body has too many names");
	else if (!value_is(body, VALUE_MAP) && !takes_lists)
		reply_error(call, 422, "%s", error = "the body must be a map");
	return error == NULL ? body : NULL;
}

void
route(struct api *api, struct exchange *exchange)
{
	struct share *share = share_of(exchange);
	struct call call = { .api = api,
		.exchange = exchange,
		.arena = exchange->arena,
		.tenant = share == NULL ? NULL : share->tenant,
		.share = share };
	bool is_known = false;
	const char *shown;
	size_t i;

	for (i = 0; i < ROUTE_COUNT; i++) {
		bool is_method = strcmp(routes[i].method, exchange->method) == 0 ||
				 (strcmp(exchange->method, "HEAD") == 0 &&
				     strcmp(routes[i].method, "GET") == 0);

		if (!fits(&call, routes[i].path, exchange->path))
			continue;
		is_known = true;
		if (!is_method)
			continue;
		exchange_is_of(exchange, (unsigned)i + 1);
		call.tell_error = routes[i].tell_error;
		call.body = read_body(&call,
		    routes[i].tell_error != NULL || routes[i].call == call_runs_batch);
		tenant_bind(&call, routes[i].path);
		if (call.body != NULL)
			routes[i].call(&call);
		return;
	}
	shown = exchange_name(call.arena, exchange->path, strlen(exchange->path));
	if (is_known)
		reply_error(&call, 405, "%s is not for %s", exchange->method, shown);
	else
		reply_error(&call, 404,
		    "there is no %s; docs/http.md lists what there is", shown);
}
