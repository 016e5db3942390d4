/* threads: conversations, from outside: made, described, copied, deleted. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "blueprint.h"
#include "bounds.h"
#include "entry.h"
#include "json.h"
#include "room.h"
#include "run_body.h"
#include "select.h"
#include "shape.h"
#include "store_fleet.h"
#include "store_past.h"
#include "tenant.h"
#include "thread_find.h"
#include "thread_update.h"
#include "wire.h"

#define MINUTE_MS 60000.0

/* --- one ---------------------------------------------------------------------------------- */

/* Whether the query wants that shown, too. */
static bool
is_included(struct call *call, const char *what)
{
	const char *text = call_list(call, "include");
	const struct value *names;
	size_t i;

	if (text == NULL)
		return false;
	names = select_split(call->arena, text);
	for (i = 0; i < value_size(names); i++)
		if (value_text_is(value_at(names, i), what))
			return true;
	return false;
}

/* A thread as it is shown, with how long it is kept, if it is not for ever. NULL after answering. */
static const struct value *
with_ttl(struct call *call, const char *name, const struct value *shown)
{
	struct arena *arena = call->arena;
	const char *ttl, *action;
	uint64_t until_ms;
	enum store_status status =
	    store_thread_ttl(api_store(call->api), arena, name, &ttl, &until_ms);

	if (status != STORE_OK) {
		reply_failed(call, status, "such thread");
		return NULL;
	}
	if (ttl == NULL || until_ms == 0 || (action = strchr(ttl, ' ')) == NULL)
		return shown;
	return value_map_with(arena, shown, "ttl",
	    value_map(arena, "strategy", value_str(arena, action + 1), "ttl_minutes",
		value_float(arena, strtod(ttl, NULL) / MINUTE_MS), "expires_at",
		shape_time(arena, (int64_t)until_ms), NULL));
}

/* A thread as it is shown; NULL after answering. */
static const struct value *
describe(struct call *call, const char *name)
{
	struct store *store = api_store(call->api);
	const struct value *thread, *values, *last = NULL;
	enum store_status status =
	    blueprint_thread(call, call->arena, name, NULL, &thread, &values);

	if (status == STORE_NONE) {
		thread_reply_none(call, name);
		return NULL;
	}
	if (status == STORE_OK)
		status = store_last_checkpoint(store, call->arena, name, &last);
	if (status != STORE_OK && status != STORE_NONE) {
		reply_failed(call, status, "such thread");
		return NULL;
	}
	values = shape_thread(call->arena, thread, last, last != NULL ? values : NULL);
	return is_included(call, "ttl") ? with_ttl(call, name, values) : values;
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

/* Whether what the body says of a new thread has its type. False after answering. */
static bool
can_create(struct call *call)
{
	static const struct select_filter texts[] = { { "thread_id", VALUE_STR },
		{ "if_exists", VALUE_STR } };
	const struct value *if_exists = value_get(call->body, "if_exists");

	if (!select_check(call, texts, sizeof texts / sizeof *texts))
		return false;
	if (value_is_nil(if_exists) || value_text_is(if_exists, "raise") ||
	    value_text_is(if_exists, "do_nothing"))
		return true;
	reply_error(call, 422, "if_exists: must be raise or do_nothing");
	return false;
}

/* Makes the thread. A name of our own is nobody else's: it is known when we were asked twice, since an answer of Redis was
 * lost. */
static enum store_status
create(struct call *call, const char *name, const struct value *metadata, const char *ttl)
{
	enum store_status status =
	    store_open_thread(api_store(call->api), call->arena, name, metadata, ttl);

	return status == STORE_KNOWN && value_is_nil(value_get(call->body, "thread_id"))
		   ? STORE_OK
		   : status;
}

void
call_thread_create(struct call *call)
{
	const char *given = value_get_text(call->body, "thread_id"), *ttl, *agent;
	const char *name = given != NULL ? tenant_name(call, given) : tenant_new_id(call);
	const struct value *metadata, *steps = value_get(call->body, "supersteps");
	struct store_pruned pruned;
	enum store_status status;

	if (!can_create(call) || !read_notes(call, &metadata, &ttl))
		return;
	agent = value_get_text(metadata, "graph_id");
	if (!wire_is_run_id(name))
		reply_error(call, 422, "thread_id: " RUN_ID_RULE, RUN_ID_BYTES_MAX);
	if (exchange_is_answered(call->exchange) || !supersteps_check(call, steps, agent))
		return;
	status = create(call, name, metadata, ttl);
	if (status == STORE_KNOWN &&
	    !value_text_is(value_get(call->body, "if_exists"), "do_nothing"))
		reply_error(call, 409, "Thread already exists");
	else if (status != STORE_OK && status != STORE_KNOWN)
		reply_failed(call, status, "thread");
	else if (status == STORE_OK && !supersteps_write(call, name, agent, steps))
		store_erase(api_store(call->api), call->arena, name, true, &pruned);
	else
		reply_thread(call, name);
}

/* Puts them to what is kept with the thread. Returns false after answering. */
static bool
add_notes(
    struct call *call, const char *name, const struct value *metadata, const char *ttl)
{
	enum store_status status =
	    store_note_thread(api_store(call->api), call->arena, name, metadata, ttl);

	if (status == STORE_STALE)
		reply_error(call, 409, "others change its metadata all the time");
	else if (status == STORE_REJECTED)
		reply_error(call, 422, "%s", too_much(call->arena));
	else if (status != STORE_OK)
		reply_failed(call, status, "such thread");
	return status == STORE_OK;
}

/* Whether whoever asks wants no more than that it is done (RFC 7240). */
static bool
wants_nothing(const struct call *call)
{
	const char *prefer = exchange_header(call->exchange, "Prefer");

	return prefer != NULL && strstr(prefer, "return=minimal") != NULL;
}

void
call_thread_change(struct call *call)
{
	const char *name = call->params[0], *ttl;
	const struct value *metadata;

	if (!thread_is_there(call, name) || !read_notes(call, &metadata, &ttl) ||
	    !add_notes(call, name, metadata, ttl))
		return;
	if (wants_nothing(call))
		reply_nothing(call);
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

/* Copies what has happened on a thread, by a run of agent. Returns false after answering. */
static bool
copy_state(struct call *call, const char *name, const char *agent, const char *copy)
{
	struct run_entry entry = { .thread = copy, .run = tenant_new_id(call) };

	entry.fields =
	    value_map(call->arena, "agent", value_str(call->arena, agent), "thread",
		value_str(call->arena, copy), "run", value_str(call->arena, entry.run),
		"copy_of", value_str(call->arena, name), NULL);
	return entry_do(call, &entry);
}

void
call_thread_copy(struct call *call)
{
	const char *name = call->params[0], *copy = tenant_new_id(call), *agent;
	const struct value *thread = NULL, *metadata;
	enum store_status status;

	if (!thread_is_there(call, name))
		return;
	status = store_thread_outline(api_store(call->api), call->arena, name, &thread);
	if (status != STORE_OK && status != STORE_NONE) {
		reply_failed(call, status, "such thread");
		return;
	}
	metadata = value_get(thread, "metadata");
	metadata = value_is(metadata, VALUE_MAP) ? metadata : value_empty_map();
	agent = value_get_text(value_get(thread, "head"), "agent");
	if (agent == NULL) { /* nothing has happened on it yet */
		status = store_open_thread(
		    api_store(call->api), call->arena, copy, metadata, NULL);
		if (status != STORE_OK && status != STORE_KNOWN) {
			reply_failed(call, status, "thread");
			return;
		}
	} else if (!copy_state(call, name, agent, copy) ||
		   (value_size(metadata) > 0 && !add_notes(call, copy, metadata, NULL))) {
		return;
	}
	reply_thread(call, copy);
}
