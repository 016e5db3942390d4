#include <string.h>

#include "api.h"
#include "json.h"
#include "tenant.h"

/* {} stands for one segment of the path: the call's next parameter. */
static const struct {
	const char *method, *path;
	call_fn *call;
} routes[] = {
	{ "GET", "/", call_about },
	{ "GET", "/ok", call_ok },
	{ "GET", "/info", call_info },
	{ "POST", "/assistants/search", call_assistants_search },
	{ "POST", "/assistants/count", call_assistants_count },
	{ "GET", "/assistants/{}", call_assistant_get },
	{ "GET", "/assistants/{}/graph", call_assistant_graph },
	{ "GET", "/assistants/{}/schemas", call_assistant_schemas },
	{ "GET", "/assistants/{}/subgraphs", call_assistant_subgraphs },
	{ "GET", "/assistants/{}/subgraphs/{}", call_assistant_subgraphs },
	{ "POST", "/assistants/{}/versions", call_assistant_versions },
	{ "POST", "/threads", call_thread_create },
	{ "POST", "/threads/search", call_threads_search },
	{ "POST", "/threads/count", call_threads_count },
	{ "POST", "/threads/prune", call_threads_prune },
	{ "GET", "/threads/{}", call_thread_get },
	{ "PATCH", "/threads/{}", call_thread_change },
	{ "DELETE", "/threads/{}", call_thread_delete },
	{ "POST", "/threads/{}/copy", call_thread_copy },
	{ "GET", "/threads/{}/state", call_state_get },
	{ "POST", "/threads/{}/state", call_state_update },
	{ "PATCH", "/threads/{}/state", call_thread_change },
	{ "POST", "/threads/{}/state/checkpoint", call_state_at },
	{ "GET", "/threads/{}/state/{}", call_state_at },
	{ "GET", "/threads/{}/history", call_history },
	{ "POST", "/threads/{}/history", call_history },
	{ "POST", "/threads/{}/commands", call_thread_command },
	{ "POST", "/threads/{}/stream/events", call_thread_events },
	{ "GET", "/threads/{}/runs", call_runs_list },
	{ "POST", "/threads/{}/runs", call_run_create },
	{ "POST", "/threads/{}/runs/stream", call_run_stream },
	{ "POST", "/threads/{}/runs/wait", call_run_wait },
	{ "POST", "/threads/{}/runs/crons", call_cron_create },
	{ "GET", "/threads/{}/runs/{}", call_run_get },
	{ "DELETE", "/threads/{}/runs/{}", call_run_delete },
	{ "POST", "/threads/{}/runs/{}/cancel", call_run_cancel },
	{ "GET", "/threads/{}/runs/{}/join", call_run_join },
	{ "GET", "/threads/{}/runs/{}/stream", call_run_join_stream },
	{ "POST", "/runs", call_run_create },
	{ "POST", "/runs/batch", call_runs_batch },
	{ "POST", "/runs/cancel", call_runs_cancel },
	{ "POST", "/runs/stream", call_run_stream },
	{ "POST", "/runs/wait", call_run_wait },
	{ "POST", "/runs/crons", call_cron_create },
	{ "POST", "/runs/crons/search", call_crons_search },
	{ "POST", "/runs/crons/count", call_crons_count },
	{ "PATCH", "/runs/crons/{}", call_cron_change },
	{ "DELETE", "/runs/crons/{}", call_cron_delete },
	{ "POST", "/mcp", call_mcp },
	{ "POST", "/a2a/{}", call_a2a },
	{ "GET", "/a2a/{}/.well-known/agent-card.json", call_agent_card },
	{ "GET", "/.well-known/agent-card.json", call_agent_card },
	{ "PUT", "/store/items", call_item_put },
	{ "GET", "/store/items", call_item_get },
	{ "DELETE", "/store/items", call_item_delete },
	{ "POST", "/store/items/search", call_items_search },
	{ "POST", "/store/namespaces", call_namespaces },
};
#define ROUTE_COUNT (sizeof routes / sizeof *routes)

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
			call->params[count++] = arena_copy(call->arena, word, given);
		else if (wanted != given || memcmp(form - wanted, word, given) != 0)
			return false;
	}
}

/* Returns the body, or NULL after answering that it is none. */
static const struct value *
read_body(struct call *call)
{
	const struct exchange *exchange = call->exchange;
	const struct value *body;
	const char *error;

	if (exchange->body_size == 0)
		return value_empty_map();
	body = json_parse(call->arena, exchange->body, exchange->body_size, &error);
	if (body == NULL)
		reply_error(call, 422, "the body is no JSON: %s", error);
	return body;
}

void
route(struct api *api, struct exchange *exchange)
{
	struct call call = { .api = api,
		.exchange = exchange,
		.arena = exchange->arena,
		.tenant = admit_tenant(api, exchange) };
	bool is_known = false;
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
		call.body = read_body(&call);
		if (call.body != NULL && tenant_admits(&call, routes[i].path))
			routes[i].call(&call);
		return;
	}
	if (is_known)
		reply_error(
		    &call, 405, "%s is not for %s", exchange->method, exchange->path);
	else
		reply_error(&call, 404,
		    "there is no %s; docs/http.md lists what there is", exchange->path);
}
