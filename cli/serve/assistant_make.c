/* assistant_make: assistants made, changed and deleted by HTTP.
 *
 * A deletion is of several steps, each of which may be the last that is done: threads, if that is wanted, then its crons,
 * then itself. Who hears nothing asks again, and finds what is left to do. */
#include <inttypes.h>
#include <string.h>

#include "assistant_body.h"
#include "assistant_find.h"
#include "crons.h"
#include "fiber.h"
#include "shape.h"
#include "store_agents.h"
#include "store_fleet.h"
#include "store_past.h"
#include "store_runs.h"
#include "tenant.h"
#include "wire.h"

static void
reply_one(struct call *call, const char *id)
{
	struct assistant assistant;
	enum store_status status = assistant_find_made(call, call->arena, id, &assistant);

	if (status == STORE_OK)
		reply(call, 200, assistant_body_shape(call->arena, &assistant));
	else
		assistant_reply_failed(call, status, id);
}

static void
reply_is_agent(struct call *call, const char *name)
{
	reply_error(call, 403,
	    "'%s' is an agent of the fleet, which is changed by `flotilla agents apply`; "
	    "POST /assistants makes an assistant of it",
	    name);
}

/* --- a new one ---------------------------------------------------------------------------- */

static bool
can_create(struct call *call, bool *takes_other_r)
{
	const struct value *id = value_get(call->body, "assistant_id");
	const struct value *exists = value_get(call->body, "if_exists");

	*takes_other_r = value_text_is(exists, "do_nothing");
	if (!value_is_nil(id) && !value_is(id, VALUE_STR))
		reply_error(call, 422, "assistant_id: must be a text");
	else if (!value_is_nil(exists) && !*takes_other_r &&
		 !value_text_is(exists, "raise"))
		reply_error(call, 422, "if_exists: must be raise or do_nothing");
	return !exchange_is_answered(call->exchange);
}

/* What the creation came to; takes_other: one that is there already will do. */
static void
reply_created(struct call *call, enum store_status status,
    const struct assistant *assistant, bool takes_other)
{
	if (status == STORE_OK || (status == STORE_KNOWN && takes_other))
		reply_one(call, assistant->id);
	else if (status == STORE_KNOWN)
		reply_error(call, 409, "Assistant already exists");
	else if (status == STORE_TAKEN)
		reply_error(
		    call, 409, "assistant_id: '%s' is an agent's name", assistant->id);
	else if (status == STORE_OUTDATED)
		reply_error(call, 404, "no agent '%s': graph_id is an agent's name",
		    assistant->agent);
	else if (status == STORE_REJECTED)
		reply_error(call, 409, "%s", store_error(api_store(call->api)));
	else
		reply_failed(call, status, "assistant");
}

void
call_assistant_create(struct call *call)
{
	const char *asked = value_get_text(call->body, "assistant_id"), *wrong, *version;
	struct assistant assistant = { .id = asked != NULL ? tenant_name(call, asked)
							   : tenant_new_id(call) };
	enum store_status status = STORE_NONE;
	bool takes_other;

	if (!can_create(call, &takes_other))
		return;
	wrong = assistant_is_id(assistant.id)
		    ? assistant_body_read(call->arena, call->body, &assistant)
		    : arena_printf(
			  call->arena, "assistant_id: " RUN_ID_RULE, RUN_ID_BYTES_MAX);
	if (wrong != NULL) {
		reply_error(call, 422, "%s", wrong);
		return;
	}
	if (asked != NULL) /* which a tenant's key may ask for without its tenant */
		status = store_agent_version(
		    api_store(call->api), call->arena, asked, &version);
	if (status == STORE_OK) {
		assistant.id = asked;
		status = STORE_TAKEN;
	} else if (status == STORE_NONE) {
		status = assistants_create(api_store(call->api), call->arena, &assistant);
	}
	reply_created(call, status, &assistant, takes_other);
}

/* --- changes ------------------------------------------------------------------------------ */

/* What is there of the path's name. Returns false after answering that it is not there, or not to be changed. */
static bool
read_one(struct call *call, struct assistant *assistant)
{
	const char *id = call->params[0];
	enum store_status status = assistant_find(call, call->arena, id, assistant);

	if (status != STORE_OK)
		assistant_reply_failed(call, status, id);
	else if (!assistant_is_made(assistant))
		reply_is_agent(call, id);
	return !exchange_is_answered(call->exchange);
}

/* Returns STORE_STALE: once more; or after answering, if that was not STORE_OK. */
static enum store_status
change(struct call *call)
{
	struct assistant assistant;
	enum store_status status;
	const char *wrong;

	if (!read_one(call, &assistant))
		return STORE_NONE;
	wrong = assistant_body_read(call->arena, call->body, &assistant);
	if (wrong != NULL) {
		reply_error(call, 422, "%s", wrong);
		return STORE_NONE;
	}
	status = assistants_change(api_store(call->api), call->arena, &assistant,
	    !value_is_nil(value_get(call->body, "graph_id")));
	if (status == STORE_OUTDATED)
		reply_error(call, 404, "no agent '%s': graph_id is an agent's name",
		    assistant.agent);
	else if (status != STORE_OK && status != STORE_STALE)
		assistant_reply_failed(call, status, call->params[0]);
	return status;
}

/* The same of the body's version. */
static enum store_status
choose(struct call *call)
{
	int64_t version = value_get_int(call->body, "version", 0);
	struct assistant assistant;
	enum store_status status;

	if (!read_one(call, &assistant))
		return STORE_NONE;
	status = assistants_version(api_store(call->api), call->arena, assistant.id,
	    (uint64_t)version, &assistant);
	if (status == STORE_OK)
		status = assistants_choose(api_store(call->api), call->arena, &assistant);
	if (status == STORE_OUTDATED)
		reply_error(call, 404,
		    "assistant '%s' has no version %" PRId64 ", or has it no more",
		    call->params[0], version);
	else if (status != STORE_OK && status != STORE_STALE)
		assistant_reply_failed(call, status, call->params[0]);
	return status;
}

/* Tries until no other change comes in between, and answers with the assistant. */
static void
try(struct call *call, enum store_status (*step)(struct call *call))
{
	enum store_status status = STORE_STALE;
	unsigned tries = 0;

	while (status == STORE_STALE && store_try_again(&tries))
		status = step(call);
	if (status == STORE_OK)
		reply_one(call, call->params[0]);
	else if (status == STORE_STALE)
		reply_error(call, 409, "the assistant is being changed by others");
}

void
call_assistant_change(struct call *call)
{
	try(call, change);
}

void
call_assistant_latest(struct call *call)
{
	if (value_get_int(call->body, "version", 0) < 1)
		reply_error(call, 422, "version: must be a number, from 1 on");
	else
		try(call, choose);
}

/* --- deleting ----------------------------------------------------------------------------- */

/* Whether run, which goes on on the thread or waits there, is the assistant's; NULL and "" are none. */
static enum store_status
look_at_run(struct call *call, struct arena *arena, const char *id, const char *thread,
    const char *run, bool *is_its_r)
{
	const struct value *record = NULL;
	enum store_status status = STORE_NONE;

	if (run != NULL && *run != '\0')
		status =
		    store_run_brief(api_store(call->api), arena, thread, run, &record);
	*is_its_r |= value_text_is(shape_assistant_id(record), id);
	return status == STORE_NONE ? STORE_OK : status;
}

/* Whether the thread is the assistant's: the last run that it has something of was, or one that goes on or waits is. */
static enum store_status
look_at_thread(struct call *call, struct arena *arena, const char *id,
    const struct value *thread, bool *is_its_r)
{
	const char *name = value_get_text(thread, "thread");
	const struct value *queue = value_get(thread, "queue");
	const struct value *metadata =
	    value_get(shape_thread(arena, thread, NULL, NULL), "metadata");
	enum store_status status;
	size_t i;

	*is_its_r = value_text_is(value_get(metadata, "assistant_id"), id);
	status =
	    look_at_run(call, arena, id, name, value_get_text(thread, "run"), is_its_r);
	for (i = 0; status == STORE_OK && !*is_its_r && i < value_size(queue); i++)
		status = look_at_run(
		    call, arena, id, name, value_text(value_at(queue, i)), is_its_r);
	return status;
}

/* Deletes the thread if it is the assistant's. One that is not free counts as busy. */
static enum store_status
erase(struct call *call, struct arena *arena, const char *id, const char *name,
    size_t *busy)
{
	struct store *store = api_store(call->api);
	struct store_pruned pruned;
	const struct value *thread;
	bool is_its = false;
	enum store_status status = store_thread_outline(store, arena, name, &thread);

	if (status == STORE_OK)
		status = look_at_thread(call, arena, id, thread, &is_its);
	if (status == STORE_OK && is_its)
		status = store_erase(store, arena, name, true, &pruned);
	*busy += status == STORE_BUSY;
	return status;
}

/* Those of a shard. */
static enum store_status
erase_some(struct call *call, const char *id, unsigned shard, size_t *busy)
{
	struct arena *arena = arena_new();
	const struct value *threads;
	enum store_status status =
	    store_threads_in(api_store(call->api), arena, call->tenant, shard, &threads);
	size_t i;

	for (i = 0; status == STORE_OK && i < value_size(threads); i++) {
		struct arena *own = arena_new();

		status = erase(call, own, id, value_text(value_at(threads, i)), busy);
		arena_destroy(&own);
		if (status == STORE_NONE || status == STORE_BUSY ||
		    status == STORE_DAMAGED)
			status = STORE_OK;
		fiber_yield();
	}
	arena_destroy(&arena);
	return status;
}

/* Returns false after answering that some stay. */
static bool
erase_threads(struct call *call, const char *id)
{
	enum store_status status = STORE_OK;
	unsigned shard;
	size_t busy = 0;

	for (shard = 0; shard < SHARDS && status == STORE_OK; shard++)
		status = erase_some(call, id, shard, &busy);
	if (status != STORE_OK)
		reply_failed(call, status, "threads");
	else if (busy > 0)
		reply_error(call, 409,
		    "of its threads %zu cannot be deleted now: cancel what goes on or "
		    "waits there, and ask again",
		    busy);
	return status == STORE_OK && busy == 0;
}

static bool
is_cron_of(const struct cron *cron, const void *arg)
{
	return cron->assistant != NULL && strcmp(cron->assistant, arg) == 0;
}

/* Returns false after answering. */
static bool
delete_crons(struct call *call, const char *id)
{
	const struct cron_wish wish = { is_cron_of, id, true };
	struct store *store = api_store(call->api);
	struct cron_list list;
	enum store_status status = crons_find(store, call->arena, &wish, &list);
	size_t i;

	for (i = 0; i < list.count && status == STORE_OK; i++) {
		status = crons_delete(store, call->arena, list.items[i].id);
		status = status == STORE_NONE ? STORE_OK : status;
	}
	if (status != STORE_OK)
		reply_failed(call, status, "crons");
	return status == STORE_OK;
}

/* Whether there is one that can be deleted: also one that cannot be read, or is hidden by an agent. */
static bool
is_there(struct call *call)
{
	struct assistant assistant;
	const char *id = call->params[0], *version;
	enum store_status status = assistant_find_made(call, call->arena, id, &assistant);

	if (status == STORE_NONE && store_agent_version(api_store(call->api), call->arena,
					id, &version) == STORE_OK)
		reply_is_agent(call, id);
	else if (status != STORE_OK && status != STORE_DAMAGED)
		assistant_reply_failed(call, status, id);
	return !exchange_is_answered(call->exchange);
}

void
call_assistant_delete(struct call *call)
{
	const char *id = tenant_name(call, call->params[0]);
	enum store_status status;

	if (!is_there(call) ||
	    (call_flag(call, "delete_threads") && !erase_threads(call, id)) ||
	    !delete_crons(call, id))
		return;
	status = assistants_delete(api_store(call->api), call->arena, id);
	if (status == STORE_OK)
		reply_nothing(call);
	else
		assistant_reply_failed(call, status, call->params[0]);
}
