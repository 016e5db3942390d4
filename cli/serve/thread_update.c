#include "thread_update.h"

#include <inttypes.h>
#include <string.h>

#include "command_body.h"
#include "entry.h"
#include "graph.h"
#include "json.h"
#include "run_body.h"
#include "shape.h"
#include "store_past.h"
#include "tenant.h"
#include "thread_find.h"
#include "update_check.h"

#define COPY "__copy__"   /* as_node of who wants a checkpoint once more, as it is */
#define UPDATES_MAX 1000u /* of a new thread */

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
		     ? store_standing(store, call->arena, name, &past.checkpoint)
		     : store_past(store, call->arena, name, (uint64_t)version, &past);
	if (status != STORE_OK && status != STORE_NONE) {
		reply_failed(call, status, "such thread");
		return NULL;
	}
	node = value_get_text(past.checkpoint, "node");
	return node != NULL ? node : GRAPH_START;
}

/* Clients go on from there by one of the three: the SDK for JavaScript knows the second alone. */
static void
reply_version(struct call *call)
{
	const struct value *last = NULL, *checkpoint;
	enum store_status status = store_last_checkpoint(
	    api_store(call->api), call->arena, call->params[0], &last);

	if (status != STORE_OK) {
		reply_failed(call, status, "such thread");
		return;
	}
	checkpoint = shape_checkpoint(
	    call->arena, call->params[0], value_get_int(last, "version", 0));
	reply(call, 200,
	    value_map(call->arena, "checkpoint", checkpoint, "configurable", checkpoint,
		"checkpoint_id", value_get(checkpoint, "checkpoint_id"), NULL));
}

/* Whether the tenant may write that. Returns false after answering. */
static bool
may_write(struct call *call, const char *agent, const struct value *update)
{
	struct blueprint read;

	return call->tenant == NULL ||
	       (blueprint_open(call, agent, &read) &&
		   update_may_write(call, &read, update, "values"));
}

/* Writes update, a map, as node; version: the checkpoint that it changes, or NO_CHECKPOINT. Returns false after answering. */
static bool
write_as(struct call *call, const char *thread, const char *agent, const char *node,
    const struct value *update, int64_t version)
{
	struct arena *arena = call->arena;
	struct run_entry entry = { .thread = thread, .run = tenant_new_id(call) };

	entry.fields = value_map(arena, "agent", value_str(arena, agent), "run",
	    value_str(arena, entry.run), "thread", value_str(arena, thread), "update",
	    value_str(arena, json_text(arena, update)), "as", value_str(arena, node),
	    "checkpoint", version >= 0 ? value_printf(arena, "%" PRId64, version) : NULL,
	    NULL);
	return may_write(call, agent, update) && entry_do(call, &entry);
}

/* What of update, a map, is the state's: what else LangGraph's clients give is passed over, as of an input. NULL after
 * answering that there is no such agent. */
static const struct value *
fields_of_state(struct call *call, const char *agent, const struct value *update)
{
	struct value_fields fields = { .arena = call->arena };
	struct blueprint read;
	size_t i;

	if (!blueprint_open(call, agent, &read))
		return NULL;
	for (i = 0; read.spec != NULL && i < value_size(update); i++) {
		const struct value_pair *pair = &update->pairs[i];
		const char *name = value_text(pair->key);

		if (blueprint_is_common(name) || spec_field(read.spec, name) != NULL)
			value_fields_put(&fields, pair->key, pair->value);
	}
	return read.spec != NULL ? value_fields_end(&fields) : update;
}

void
call_state_update(struct call *call)
{
	const char *name = call->params[0], *agent, *node;
	const struct value *given = value_get(call->body, "values");
	const struct value *update = value_is_nil(given) ? value_empty_map() : given;
	int64_t version = run_body_checkpoint(call->body);

	if (!thread_is_there(call, name) || (agent = agent_of(call)) == NULL)
		return;
	if (version == -1 || !value_is(update, VALUE_MAP)) {
		reply_error(call, 422,
		    version == -1 ? "checkpoint_id: is none of the thread's"
				  : "values: must be a map of messages and fields");
		return;
	}
	node = node_of(call, version);
	update = node != NULL ? fields_of_state(call, agent, update) : NULL;
	if (update != NULL && write_as(call, name, agent, node, update, version))
		reply_version(call);
}

/* --- a new thread ------------------------------------------------------------------------- */

/* What an update of a superstep writes, a map: its values, or its command's update. NULL: it is none, *flaw_r says why. */
static const struct value *
written_by(struct arena *arena, const struct value *update, const char **flaw_r)
{
	const struct run_place nowhere = { 0 };
	const struct value *command = value_get(update, "command");
	const struct value *values = value_get(update, "values");
	struct command_body read = { 0 };

	*flaw_r = NULL;
	if (value_get_text(update, "as_node") == NULL)
		*flaw_r = "as_node: is missing";
	else if (!value_is_nil(values) && !value_is_nil(command))
		*flaw_r = "values and command: an update has one of them";
	else if (!value_is_nil(command))
		*flaw_r =
		    command_body_read(arena, command, &nowhere, NO_CHECKPOINT, &read);
	else if (!value_is_nil(values) && !value_is(values, VALUE_MAP))
		*flaw_r = "values: must be a map of messages and fields";
	if (*flaw_r != NULL)
		return NULL;
	if (value_is_nil(command))
		return value_is_nil(values) ? value_empty_map() : values;
	values = value_get(read.moves, "update");
	if (read.resume != NULL || read.ends != NULL || value_has(read.moves, "resume") ||
	    value_has(read.moves, "goto"))
		*flaw_r = "command: no run begins here, so it has an update, and nothing "
			  "else";
	return *flaw_r == NULL ? values : NULL;
}

bool
supersteps_check(struct call *call, const struct value *supersteps, const char *agent)
{
	size_t i, j, count = 0;
	const char *flaw = value_is_nil(supersteps) || value_is(supersteps, VALUE_ARRAY)
			       ? NULL
			       : "must be a list";

	if (value_size(supersteps) > 0 && agent == NULL)
		flaw = "want the agent whose state they are, as graph_id of metadata";
	for (i = 0; flaw == NULL && i < value_size(supersteps); i++) {
		const struct value *updates =
		    value_get(value_at(supersteps, i), "updates");

		if (!value_is(updates, VALUE_ARRAY))
			flaw = "must have updates, a list";
		count += value_size(updates);
		for (j = 0; flaw == NULL && j < value_size(updates); j++)
			written_by(call->arena, value_at(updates, j), &flaw);
	}
	if (flaw == NULL && count > UPDATES_MAX)
		flaw = "are too many";
	if (flaw != NULL)
		reply_error(call, 422, "supersteps: %s", flaw);
	return flaw == NULL;
}

bool
supersteps_write(struct call *call, const char *thread, const char *agent,
    const struct value *supersteps)
{
	size_t i, j;

	for (i = 0; i < value_size(supersteps); i++) {
		const struct value *updates =
		    value_get(value_at(supersteps, i), "updates");

		for (j = 0; j < value_size(updates); j++) {
			const struct value *update = value_at(updates, j);
			const char *flaw;

			if (!write_as(call, thread, agent,
				value_get_text(update, "as_node"),
				written_by(call->arena, update, &flaw), NO_CHECKPOINT))
				return false;
		}
	}
	return true;
}
