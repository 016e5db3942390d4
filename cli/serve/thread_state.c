/* thread_state: what a thread holds, now and before, and changes to it that no run makes. A checkpoint's id is its
 * version. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "asks.h"
#include "blueprint.h"
#include "bounds.h"
#include "fiber.h"
#include "graph.h"
#include "json.h"
#include "room.h"
#include "runs.h"
#include "select.h"
#include "shape.h"
#include "tenant.h"
#include "store_past.h"

#define LIMIT 10
#define LIMIT_MAX 1000
#define COPY "__copy__" /* as_node of who wants a checkpoint once more, as it is */

void
call_state_get(struct call *call)
{
	const char *name = call->params[0];
	struct arena *arena = call->arena;
	const struct value *thread, *values, *last = NULL, *fields, *state;
	enum store_status status;

	if (!select_read(call, SELECT_STATE, &fields) || !thread_is_there(call, name))
		return;
	status = blueprint_thread(call, arena, name, NULL, &thread, &values);
	if (status == STORE_OK)
		status = store_last_checkpoint(api_store(call->api), arena, name, &last);
	state = status == STORE_OK
		    ? shape_state(arena, thread, last, values, value_get(thread, "asks"))
		    : shape_no_state(arena);
	if (status == STORE_OK || status == STORE_NONE)
		reply(call, 200, select_fields(arena, state, fields));
	else
		reply_failed(call, status, "such thread");
}

/* A state of the past: what it waited for then is asked no more. */
static const struct value *
past_state(struct arena *arena, const struct value *past, const struct value *hidden)
{
	const struct value *values = shape_values(
	    arena, value_get(past, "messages"), value_get(past, "fields"), hidden);

	if (!value_has(past, "checkpoint"))
		return shape_first_state(arena, past, values);
	return shape_state(arena, past, value_get(past, "checkpoint"), values,
	    asks_of(arena, value_get(past, "head")));
}

/* What is hidden of the thread's states. */
static enum store_status
hidden_on(struct call *call, const char *name, const struct value **hidden_r)
{
	const struct value *head = NULL;
	enum store_status status =
	    store_head(api_store(call->api), call->arena, name, &head);

	if (status != STORE_OK && status != STORE_NONE)
		return status;
	return blueprint_hidden(
	    call->api, call->arena, value_get_text(head, "agent"), hidden_r);
}

/* The version that path or body names, NO_CHECKPOINT where the body names none, or -1 after answering. */
static int64_t
version_asked_for(struct call *call)
{
	const struct value *named =
	    call->params[1] == NULL ? call->body
				    : value_map(call->arena, "checkpoint_id",
					  value_str(call->arena, call->params[1]), NULL);
	int64_t version = run_body_checkpoint(named);

	if (version == -1)
		reply_error(call, 404, "no such checkpoint");
	return version;
}

void
call_state_at(struct call *call)
{
	const char *name = call->params[0];
	const struct value *past, *hidden, *fields;
	int64_t version;
	enum store_status status;

	if (!select_read(call, SELECT_STATE, &fields) || !thread_is_there(call, name) ||
	    (version = version_asked_for(call)) == -1)
		return;
	if (version == NO_CHECKPOINT) {
		call_state_get(call); /* as RemoteGraph asks for the newest */
		return;
	}
	status = room_for_state(call);
	if (status == STORE_OK) {
		status = store_thread_at(
		    api_store(call->api), call->arena, name, (uint64_t)version, &past);
		room_leave_state(call);
	}
	if (status == STORE_OK)
		status = hidden_on(call, name, &hidden);
	if (status == STORE_OK)
		reply(call, 200,
		    select_fields(
			call->arena, past_state(call->arena, past, hidden), fields));
	else
		reply_failed(call, status, "such checkpoint");
}

/* --- history ------------------------------------------------------------------------------ */

/* Before which version: a checkpoint's id, or something that holds one; -1 after answering. */
static int64_t
before_of(struct call *call)
{
	const char *query = exchange_query(call->exchange, "before");
	const struct value *before = value_get(call->body, "before");
	int64_t version;

	if (query != NULL)
		before = value_str(call->arena, query);
	if (value_is(value_get(before, "configurable"), VALUE_MAP))
		before = value_get(before, "configurable");
	if (value_is(before, VALUE_STR))
		before = value_map(call->arena, "checkpoint_id", before, NULL);
	version = value_is_nil(before) || value_is(before, VALUE_MAP)
		      ? run_body_checkpoint(before)
		      : -1;
	if (version == -1)
		reply_error(call, 422, "before: is no checkpoint's id");
	return version == NO_CHECKPOINT ? INT64_MAX : version;
}

/* Each on a turn of its own: of a long thread all of them are as much as it is long, as often as there are checkpoints.
 * What is too much is left out, as behind a limit: `before` goes on there. */
static void
reply_pasts(struct call *call, const struct value *pasts, const struct value *hidden,
    const struct value *fields)
{
	struct reply_list list = { 0 };
	bool has_room = true;
	size_t i;

	for (i = 0; has_room && i < value_size(pasts); i++) {
		struct arena *arena = arena_new();

		has_room = reply_list_add(&list,
		    select_fields(
			arena, past_state(arena, value_at(pasts, i), hidden), fields),
		    SERVE_LIST_BYTES_MAX);
		arena_destroy(&arena);
		fiber_yield();
	}
	reply_list_end(&list, call);
}

/* Those before the version of that number, limit at most. */
static enum store_status
show_pasts(struct call *call, int64_t before, int64_t limit, const struct value *fields)
{
	const char *name = call->params[0];
	const struct value *pasts, *hidden;
	enum store_status status = store_pasts(api_store(call->api), call->arena, name,
	    (uint64_t)before, (size_t)limit, &pasts);

	if (status == STORE_OK)
		status = hidden_on(call, name, &hidden);
	if (status == STORE_OK)
		reply_pasts(call, pasts, hidden, fields);
	return status;
}

void
call_history(struct call *call)
{
	const struct value *fields;
	int64_t limit = call_number(call, "limit", LIMIT, 1, LIMIT_MAX), before = 0;
	enum store_status status;

	if (limit == -1 || !select_read(call, SELECT_STATE, &fields) ||
	    (before = before_of(call)) == -1 || !thread_is_there(call, call->params[0]))
		return;
	status = room_for_list(call);
	if (status == STORE_OK) {
		status = show_pasts(call, before, limit, fields);
		room_leave_list(call);
	}
	if (status != STORE_OK)
		reply_failed(call, status, "such thread");
}

/* --- changes ------------------------------------------------------------------------------ */

/* Which agent's state it is: that of the thread's last run, or what the thread was made for. NULL after answering. */
static const char *
agent_of(struct call *call)
{
	const struct value *thread = NULL;
	enum store_status status = store_thread_outline(
	    api_store(call->api), call->arena, call->params[0], &thread);
	const char *agent = value_get_text(value_get(thread, "head"), "agent");

	if (status != STORE_OK && status != STORE_NONE) {
		reply_failed(call, status, "such thread");
		return NULL;
	}
	if (agent == NULL)
		agent = value_get_text(value_get(thread, "metadata"), "graph_id");
	if (agent == NULL)
		reply_error(call, 400,
		    "Thread %s has no graph ID: run an agent on it, or make it with "
		    "metadata {\"graph_id\": AGENT}",
		    call->params[0]);
	return agent;
}

/* As which node's: that of the checkpoint, of the last one for NO_CHECKPOINT, unless it is said. Where none has run yet,
 * as what comes in. NULL after answering. */
static const char *
node_of(struct call *call, int64_t version)
{
	struct store *store = api_store(call->api);
	const char *node = value_get_text(call->body, "as_node"), *name = call->params[0];
	struct store_past past = { 0 };
	enum store_status status;

	if (node != NULL && strcmp(node, COPY) != 0)
		return node;
	status = version == NO_CHECKPOINT
		     ? store_last_checkpoint(store, call->arena, name, &past.checkpoint)
		     : store_past(store, call->arena, name, (uint64_t)version, &past);
	if (status != STORE_OK && status != STORE_NONE) {
		reply_failed(call, status, "such thread");
		return NULL;
	}
	node = value_get_text(past.checkpoint, "node");
	return node != NULL ? node : GRAPH_START;
}

static void
reply_version(struct call *call)
{
	const struct value *last = NULL;
	enum store_status status = store_last_checkpoint(
	    api_store(call->api), call->arena, call->params[0], &last);

	if (status == STORE_OK)
		reply(call, 200,
		    value_map(call->arena, "checkpoint",
			shape_checkpoint(call->arena, call->params[0],
			    value_get_int(last, "version", 0)),
			NULL));
	else
		reply_failed(call, status, "such thread");
}

/* What an agent keeps for itself is not a tenant's to write: it may name what is at another server, with the agent's login
 * there. Returns false after answering that the update writes such a field. */
static bool
may_write(struct call *call, const char *agent, const struct value *update)
{
	struct blueprint read;
	enum store_status status;
	size_t i;

	if (call->tenant == NULL)
		return true;
	status = blueprint_read(call, call->arena, agent, &read);
	if (status != STORE_OK) {
		reply_failed(call, status, "such agent");
		return false;
	}
	blueprint_compile(call->arena, &read);
	for (i = 0; read.spec != NULL && i < read.spec->field_count; i++) {
		const char *name = read.spec->fields[i].name;

		if (read.spec->fields[i].omit_from_input && value_has(update, name)) {
			reply_error(call, 403, "values: '%s' is the agent's own", name);
			return false;
		}
	}
	return true;
}

void
call_state_update(struct call *call)
{
	struct arena *arena = call->arena;
	const char *name = call->params[0], *agent, *node;
	const struct value *given = value_get(call->body, "values");
	const struct value *update = value_is_nil(given) ? value_empty_map() : given;
	struct run_entry entry = { .thread = name, .run = tenant_new_id(call) };
	int64_t version = run_body_checkpoint(call->body);

	if (!thread_is_there(call, name) || (agent = agent_of(call)) == NULL)
		return;
	if (version == -1 || !value_is(update, VALUE_MAP)) {
		reply_error(call, 422,
		    version == -1 ? "checkpoint_id: is none of the thread's"
				  : "values: must be a map of messages and fields");
		return;
	}
	if (!may_write(call, agent, update))
		return;
	node = node_of(call, version);
	if (node == NULL)
		return;
	entry.fields = value_map(arena, "agent", value_str(arena, agent), "run",
	    value_str(arena, entry.run), "thread", value_str(arena, name), "update",
	    value_str(arena, json_text(arena, update)), "as", value_str(arena, node),
	    "checkpoint", version >= 0 ? value_printf(arena, "%" PRId64, version) : NULL,
	    NULL);
	if (runs_do(call, &entry))
		reply_version(call);
}
