/* threads: conversations, from outside: made, found, described, copied, deleted. */
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

#define LIMIT 10
#define LIMIT_MAX 1000
#define SEARCHED_MAX 10000 /* threads that a search looks at, the newest */

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

/* --- found -------------------------------------------------------------------------------- */

/* Returns false after answering what of the body cannot be asked for. */
static bool
can_search(struct call *call)
{
	static const struct select_filter filters[] = { { "metadata", VALUE_MAP },
		{ "values", VALUE_MAP }, { "status", VALUE_STR },
		{ "ids", VALUE_ARRAY } };

	if (!select_check(call, filters, sizeof filters / sizeof *filters))
		return false;
	if (value_size(value_get(call->body, "ids")) > SERVE_IDS_MAX)
		reply_error(call, 422, "ids: are too many");
	return value_size(value_get(call->body, "ids")) <= SERVE_IDS_MAX;
}

/* By what a thread is, whatever its size. */
static bool
may_be_wanted(const struct call *call, const struct value *thread)
{
	const struct value *body = call->body;
	const struct value *status = value_get(body, "status");
	const struct value *ids = value_get(body, "ids");
	const char *name = value_get_text(thread, "thread_id");

	return (value_size(ids) == 0 || value_contains(ids, name) ||
		   value_contains(ids, tenant_short(call, name))) &&
	       (value_is_nil(status) ||
		   value_equal(value_get(thread, "status"), status)) &&
	       select_matches(value_get(thread, "metadata"), value_get(body, "metadata"));
}

/* A search under way. */
struct search {
	struct call *call;
	const struct value *fields; /* that are shown of each */
	struct reply_list list;     /* what is found between first and last */
	size_t count, first, last;
};

/* Shows thread: where the list is too long for what it holds, only that it is there. */
static enum store_status
add_found(struct search *search, struct arena *arena, const struct value *thread,
    const struct value *values)
{
	const struct value *last = NULL;
	const char *name = value_get_text(thread, "thread");
	enum store_status status =
	    store_last_checkpoint(api_store(search->call->api), arena, name, &last);

	if (status != STORE_OK && status != STORE_NONE)
		return status;
	if (last == NULL)
		values = NULL;
	if (!reply_list_add(&search->list,
		select_fields(
		    arena, shape_thread(arena, thread, last, values), search->fields),
		SERVE_LIST_BYTES_MAX))
		reply_list_add(&search->list,
		    select_fields(
			arena, shape_thread(arena, thread, last, NULL), search->fields),
		    SIZE_MAX);
	return STORE_OK;
}

/* Reads what is found, if it is. */
static enum store_status
find(struct search *search, struct arena *arena, const char *name)
{
	struct call *call = search->call;
	const struct value *wanted = value_get(call->body, "values");
	bool is_shown = search->count >= search->first && search->last > 0;
	const struct value *thread, *values = NULL;
	enum store_status status =
	    store_thread_outline(api_store(call->api), arena, name, &thread);

	if (status != STORE_OK ||
	    !may_be_wanted(call, shape_thread(arena, thread, NULL, NULL)))
		return status;
	if (is_shown || value_size(wanted) > 0)
		status = blueprint_thread(call, arena, name, NULL, &thread, &values);
	if (status != STORE_OK ||
	    (value_size(wanted) > 0 && !select_matches(values, wanted)))
		return status;
	search->count++;
	return is_shown ? add_found(search, arena, thread, values) : STORE_OK;
}

/* Looks at threads from the newest on. Returns STORE_OK, or why it ended. */
static enum store_status
look(struct search *search, const struct value *threads)
{
	enum store_status status = STORE_OK;
	size_t i;

	for (i = 0; i < value_size(threads) &&
		    (search->last == 0 || search->count < search->last);
	     i++) {
		struct arena *arena = arena_new();

		status =
		    find(search, arena, value_get_text(value_at(threads, i), "thread"));
		arena_destroy(&arena);
		if (status != STORE_OK && status != STORE_NONE)
			return status;
	}
	return STORE_OK;
}

/* is_open: no thread is passed over. */
static enum store_status
find_all(struct search *search, bool is_open, uint64_t *total_r)
{
	struct call *call = search->call;
	const struct value *threads;
	enum store_status status = store_threads(api_store(call->api), call->arena,
	    call->tenant, is_open && search->last > 0 ? search->last : SEARCHED_MAX,
	    &threads, total_r);

	return status == STORE_OK ? look(search, threads) : status;
}

/* Finds what body asks for; last 0: all, to be counted. Returns false after answering; total_r: how many threads there
 * are that the call reaches. */
static bool
search(struct search *search, uint64_t *total_r)
{
	struct call *call = search->call;
	const struct value *body = call->body;
	bool is_open = value_is_nil(value_get(body, "status")) &&
		       value_size(value_get(body, "metadata")) == 0 &&
		       value_size(value_get(body, "values")) == 0 &&
		       value_size(value_get(body, "ids")) == 0;
	bool makes_list = search->last > search->first; /* else it counts */
	enum store_status status;

	if (!can_search(call))
		return false;
	status = makes_list ? room_for_list(call) : STORE_OK;
	if (status == STORE_OK) {
		status = find_all(search, is_open, total_r);
		if (makes_list)
			room_leave_list(call);
	}
	if (status != STORE_OK)
		reply_failed(call, status, "threads");
	return status == STORE_OK;
}

void
call_threads_search(struct call *call)
{
	int64_t limit = call_number(call, "limit", LIMIT, 1, LIMIT_MAX), offset = 0;
	struct search asked = { .call = call };
	uint64_t total;

	if (limit != -1)
		offset = call_number(call, "offset", 0, 0, SEARCHED_MAX);
	if (limit == -1 || offset == -1 ||
	    !select_read(call, SELECT_THREAD, &asked.fields))
		return;
	asked.first = (size_t)offset;
	asked.last = (size_t)(limit + offset);
	if (!search(&asked, &total)) {
		reply_list_drop(&asked.list);
		return;
	}
	exchange_add_header(call->exchange, "X-Pagination-Total",
	    arena_printf(call->arena, "%" PRIu64, total));
	reply_list_end(&asked.list, call);
}

void
call_threads_count(struct call *call)
{
	struct search asked = { .call = call };
	bool is_all = value_size(call->body) == 0;
	uint64_t total;

	asked.last = is_all ? 1 : 0;
	asked.first = 1; /* nothing is shown */
	if (search(&asked, &total))
		reply(call, 200,
		    value_int(call->arena, (int64_t)(is_all ? total : asked.count)));
}
