/* threads: conversations, from outside: made, described, copied, deleted. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "blueprint.h"
#include "bounds.h"
#include "json.h"
#include "room.h"
#include "runs.h"
#include "select.h"
#include "shape.h"
#include "store_fleet.h"
#include "tenant.h"
#include "wire.h"
#include "store_past.h"

/* --- one ---------------------------------------------------------------------------------- */

/* Returns NULL. */
static const struct value *
reply_no_thread(struct call *call, const char *name)
{
	reply_error(call, 404, "Thread with ID %s not found", name);
	return NULL;
}

/* A thread as it is shown; NULL after answering. */
static const struct value *
describe(struct call *call, const char *name)
{
	struct store *store = api_store(call->api);
	const struct value *thread, *values, *last = NULL;
	enum store_status status =
	    blueprint_thread(call, call->arena, name, NULL, &thread, &values);

	if (status == STORE_OK)
		status = store_last_checkpoint(store, call->arena, name, &last);
	else if (status == STORE_NONE)
		return reply_no_thread(call, name);
	if (status == STORE_OK || status == STORE_NONE)
		return shape_thread(
		    call->arena, thread, last, last != NULL ? values : NULL);
	reply_failed(call, status, "such thread");
	return NULL;
}

bool
thread_is_there(struct call *call, const char *name)
{
	enum store_status status = STORE_NONE;

	if (wire_is_run_id(name))
		status = store_has_thread(api_store(call->api), call->arena, name);
	if (status == STORE_NONE)
		reply_no_thread(call, name);
	else if (status != STORE_OK)
		reply_failed(call, status, "such thread");
	return status == STORE_OK;
}

static void
reply_thread(struct call *call, const char *name)
{
	const struct value *thread;

	if (!thread_is_there(call, name))
		return;
	thread = describe(call, name);
	if (thread != NULL)
		reply(call, 200, thread);
}

void
call_thread_get(struct call *call)
{
	reply_thread(call, call->params[0]);
}

/* --- made, changed ------------------------------------------------------------------------ */

static const char *
too_much(struct arena *arena)
{
	return arena_printf(arena, "metadata: more than %u bytes", METADATA_BYTES_MAX);
}

/* The body's metadata and ttl; false after answering that they are wrong. */
static bool
read_notes(struct call *call, const struct value **metadata_r, const char **ttl_r)
{
	const struct value *metadata = value_get(call->body, "metadata");
	const char *error;

	*metadata_r = value_is_nil(metadata) ? value_empty_map() : metadata;
	*ttl_r = run_body_ttl(call->arena, value_get(call->body, "ttl"), &error);
	if (!value_is(*metadata_r, VALUE_MAP))
		error = "metadata: must be a map";
	else if (strlen(json_text(call->arena, *metadata_r)) > METADATA_BYTES_MAX)
		error = too_much(call->arena);
	if (error != NULL)
		reply_error(call, 422, "%s", error);
	return error == NULL;
}

void
call_thread_create(struct call *call)
{
	const char *given = value_get_text(call->body, "thread_id"), *ttl;
	const char *name = given != NULL ? tenant_name(call, given) : tenant_new_id(call);
	const struct value *metadata;
	enum store_status status;

	if (!wire_is_run_id(name)) {
		reply_error(call, 422, "thread_id: " RUN_ID_RULE, RUN_ID_BYTES_MAX);
		return;
	}
	if (!read_notes(call, &metadata, &ttl))
		return;
	status =
	    store_open_thread(api_store(call->api), call->arena, name, metadata, ttl);
	/* A name of our own is nobody else's: we were asked twice, since an answer of Redis was lost. */
	if (status == STORE_KNOWN && given != NULL &&
	    !value_text_is(value_get(call->body, "if_exists"), "do_nothing"))
		reply_error(call, 409, "Thread already exists");
	else if (status != STORE_OK && status != STORE_KNOWN)
		reply_failed(call, status, "thread");
	else
		reply_thread(call, name);
}

void
call_thread_change(struct call *call)
{
	const char *name = call->params[0], *ttl;
	const struct value *metadata;
	enum store_status status;

	if (!thread_is_there(call, name) || !read_notes(call, &metadata, &ttl))
		return;
	status =
	    store_note_thread(api_store(call->api), call->arena, name, metadata, ttl);
	if (status == STORE_STALE)
		reply_error(call, 409, "others change its metadata all the time");
	else if (status == STORE_REJECTED)
		reply_error(call, 422, "%s", too_much(call->arena));
	else if (status != STORE_OK)
		reply_failed(call, status, "such thread");
	else
		reply_thread(call, name);
}

void
call_thread_delete(struct call *call)
{
	struct store_pruned pruned = { 0 };
	enum store_status status;

	if (!thread_is_there(call, call->params[0]))
		return;
	status = store_erase(
	    api_store(call->api), call->arena, call->params[0], true, &pruned);
	if (status == STORE_BUSY)
		reply_error(call, 409,
		    "the thread is not free: run '%s' goes on, waits, or has an end "
		    "that is still to be told; cancel it, or wait",
		    pruned.busy);
	else if (status != STORE_OK)
		reply_failed(call, status, "such thread");
	else
		reply_nothing(call);
}

void
call_thread_copy(struct call *call)
{
	const char *name = call->params[0], *copy = tenant_new_id(call), *agent;
	const struct value *thread = NULL;
	struct run_entry entry = { .thread = copy, .run = tenant_new_id(call) };
	enum store_status status;

	if (!thread_is_there(call, name))
		return;
	status = store_thread_outline(api_store(call->api), call->arena, name, &thread);
	if (status != STORE_OK && status != STORE_NONE) {
		reply_failed(call, status, "such thread");
		return;
	}
	agent = value_get_text(value_get(thread, "head"), "agent");
	if (agent == NULL) {
		reply_error(call, 409, "nothing has happened on that thread yet");
		return;
	}
	entry.fields =
	    value_map(call->arena, "agent", value_str(call->arena, agent), "thread",
		value_str(call->arena, copy), "run", value_str(call->arena, entry.run),
		"copy_of", value_str(call->arena, name), NULL);
	if (runs_do(call, &entry))
		reply_thread(call, copy);
}
