/* many: what is done to many threads or runs at once. */
#include <string.h>

#include "bounds.h"
#include "room.h"
#include "runs.h"
#include "shape.h"
#include "store_fleet.h"
#include "store_runs.h"
#include "tenant.h"
#include "thread_find.h"
#include "wire.h"

#define PAGE 100u          /* runs that are looked at, at once */
#define THREADS_MAX 10000u /* whose runs are, the newest */

/* The ids that the body has under that name; NULL after answering that they are none. */
static const struct value *
ids_of(struct call *call, const char *name)
{
	const struct value *ids = value_get(call->body, name);
	size_t i;

	if (!value_is(ids, VALUE_ARRAY) || value_size(ids) > SERVE_IDS_MAX) {
		reply_error(call, 422, "%s: must be an array of at most %u ids", name,
		    SERVE_IDS_MAX);
		return NULL;
	}
	for (i = 0; i < value_size(ids); i++) {
		const char *id = value_text(value_at(ids, i));

		if (id == NULL || !wire_is_run_id(id)) {
			reply_error(call, 422, "%s[%zu]: is no id", name, i);
			return NULL;
		}
	}
	return ids;
}

/* --- threads -------------------------------------------------------------------------- */

/* One that is not free, or not there, is left as it is, and not counted. */
static enum store_status
prune(struct call *call, const char *name, bool is_kept, int64_t *count)
{
	struct store *store = api_store(call->api);
	struct store_pruned pruned;
	enum store_status status =
	    is_kept ? store_prune(store, call->arena, name, 1, false, &pruned)
		    : store_erase(store, call->arena, name, true, &pruned);

	if (status == STORE_OK)
		(*count)++;
	return status == STORE_FAILED || status == STORE_CANCELLED ? status : STORE_OK;
}

void
call_threads_prune(struct call *call)
{
	const struct value *strategy = value_get(call->body, "strategy");
	bool is_kept = value_text_is(strategy, "keep_latest");
	const struct value *ids = ids_of(call, "thread_ids");
	enum store_status status = STORE_OK;
	int64_t count = 0;
	size_t i;

	if (ids == NULL)
		return;
	if (!is_kept && !value_is_nil(strategy) && !value_text_is(strategy, "delete")) {
		reply_error(call, 422, "strategy: must be delete or keep_latest");
		return;
	}
	for (i = 0; i < value_size(ids) && status == STORE_OK; i++)
		status = prune(call, tenant_name(call, value_text(value_at(ids, i))),
		    is_kept, &count);
	if (status != STORE_OK)
		reply_failed(call, status, "threads");
	else
		reply(call, 200,
		    value_map(call->arena, "pruned_count", value_int(call->arena, count),
			NULL));
}

/* --- runs ----------------------------------------------------------------------------- */

/* Whether status is one of the words that runs may be cancelled by. */
static bool
is_word(const char *status)
{
	return strcmp(status, "pending") == 0 || strcmp(status, "running") == 0 ||
	       strcmp(status, "all") == 0;
}

/* Whether a run of record is open, and one of those wanted: "pending", "running", "all". */
static bool
is_wanted(const struct value *record, const char *wanted)
{
	const char *is = shape_run_status(record);

	return (strcmp(is, "pending") == 0 || strcmp(is, "running") == 0) &&
	       (strcmp(wanted, "all") == 0 || strcmp(wanted, is) == 0);
}

/* One that has ended stays as it is. STORE_NONE: there is none on that thread. */
static enum store_status
cancel(struct call *call, struct arena *arena, runs_cancel_fn *how, const char *thread,
    const char *run)
{
	struct store *store = api_store(call->api);
	const char *answer, *ended;
	enum store_status status = store_has_run(store, arena, thread, run);

	if (status == STORE_NONE && call->tenant != NULL) {
		run = tenant_name(call, run);
		status = store_has_run(store, arena, thread, run);
	}
	if (status == STORE_OK)
		status = how(store, arena, thread, run, &answer, &ended);
	return status;
}

/* Of the thread's runs, newest first, the wanted ones among those behind the first offset. *more_r: there are others. */
static enum store_status
cancel_page(struct call *call, runs_cancel_fn *how, const char *thread,
    const char *wanted, size_t offset, bool *more_r)
{
	struct store *store = api_store(call->api);
	struct arena *arena = arena_new();
	const struct value *runs, *record;
	enum store_status status =
	    store_newest_runs(store, arena, thread, offset, PAGE, &runs);
	size_t i;

	*more_r = status == STORE_OK && value_size(runs) > 0;
	for (i = *more_r ? value_size(runs) : 0; status == STORE_OK && i > 0; i--) {
		const char *run = redis_reply_text(value_at(runs, i - 1));

		status = store_run_brief(store, arena, thread, run, &record);
		if (status == STORE_OK && is_wanted(record, wanted))
			status = cancel(call, arena, how, thread, run);
		if (status == STORE_NONE) /* it was deleted meanwhile */
			status = STORE_OK;
	}
	arena_destroy(&arena);
	return status;
}

/* All that are open, the newest first: what waits behind one that ends would begin. */
static enum store_status
cancel_wanted(
    struct call *call, runs_cancel_fn *how, const char *thread, const char *wanted)
{
	enum store_status status = STORE_OK;
	bool more = true;
	size_t offset;

	for (offset = 0; status == STORE_OK && more; offset += PAGE)
		status = cancel_page(call, how, thread, wanted, offset, &more);
	return status;
}

/* Runs that are not there, as they are called in Redis. */
struct missed {
	const char **runs;
	size_t count;
};

/* Which of them lies in the inbox, where nobody can cancel it: STORE_OK, STORE_NONE, or nobody can say. */
static enum store_status
find_untaken(struct call *call, const char *thread, const struct missed *missed,
    const char **run_r)
{
	enum store_status status = missed->count > 0 ? room_for_state(call) : STORE_NONE;
	struct store_untaken found;
	struct arena *arena;

	if (status != STORE_OK)
		return status;
	arena = arena_new();
	status = store_inbox_find_any(
	    api_store(call->api), arena, thread, missed->runs, missed->count, &found);
	if (status == STORE_OK)
		*run_r = arena_strdup(call->arena, found.run);
	arena_destroy(&arena);
	room_leave_state(call);
	return status;
}

static void
miss(struct call *call, struct missed *missed, const char *run)
{
	const char *name = call->tenant != NULL ? tenant_name(call, run) : run;

	if (wire_is_run_id(name))
		missed->runs[missed->count++] = name;
}

/* All of them; answers where that could not be done to one. */
static enum store_status
cancel_named(
    struct call *call, runs_cancel_fn *how, const char *thread, const struct value *runs)
{
	struct missed missed = { .runs = arena_alloc(call->arena,
				     (value_size(runs) + 1) * sizeof *missed.runs) };
	enum store_status status = STORE_OK;
	const char *run, *untaken;
	size_t i;

	for (i = 0; status == STORE_OK && i < value_size(runs); i++) {
		run = value_text(value_at(runs, i));
		status = cancel(call, call->arena, how, thread, run);
		if (status == STORE_NONE) {
			miss(call, &missed, run);
			status = STORE_OK;
		}
	}
	if (status != STORE_OK)
		return status;
	status = find_untaken(call, thread, &missed, &untaken);
	if (status == STORE_OK)
		reply_error(call, 503,
		    "no coordinator has taken run %s yet: ask again when one has",
		    tenant_short(call, untaken));
	for (i = 0; status == STORE_NONE && i < missed.count; i++) {
		/* It may have been taken in between. */
		status = cancel(call, call->arena, how, thread, missed.runs[i]);
		if (status == STORE_OK)
			status = STORE_NONE;
	}
	return status == STORE_NONE ? STORE_OK : status;
}

/* On all threads that whoever asks may see, as a search finds them. */
static enum store_status
cancel_everywhere(struct call *call, runs_cancel_fn *how, const char *wanted)
{
	const struct value *threads;
	uint64_t total;
	enum store_status status = room_for_list(call);
	size_t i;

	if (status != STORE_OK)
		return status;
	status = store_threads(api_store(call->api), call->arena, call->tenant,
	    THREADS_MAX, &threads, &total);
	for (i = 0; status == STORE_OK && i < value_size(threads); i++)
		status = cancel_wanted(
		    call, how, value_get_text(value_at(threads, i), "thread"), wanted);
	room_leave_list(call);
	return status;
}

void
call_runs_cancel(struct call *call)
{
	const char *thread = tenant_name(call, value_get_text(call->body, "thread_id"));
	const char *wanted = value_get_text(call->body, "status");
	runs_cancel_fn *how = runs_read_action(call);
	const struct value *runs = NULL;
	enum store_status status;

	if (how == NULL)
		return;
	if (thread == NULL && wanted == NULL)
		reply_error(call, 422, "thread_id: is missing, or a status");
	else if (wanted != NULL && value_has(call->body, "run_ids"))
		reply_error(call, 422, "status and run_ids: one of them is wanted");
	else if (wanted != NULL && !is_word(wanted))
		reply_error(call, 422, "status: must be pending, running or all");
	if (exchange_is_answered(call->exchange) ||
	    (thread != NULL && !thread_is_there(call, thread)) ||
	    (wanted == NULL && (runs = ids_of(call, "run_ids")) == NULL))
		return;
	if (thread == NULL)
		status = cancel_everywhere(call, how, wanted);
	else
		status = wanted != NULL ? cancel_wanted(call, how, thread, wanted)
					: cancel_named(call, how, thread, runs);
	if (status != STORE_OK)
		reply_failed(call, status, "run");
	else if (!exchange_is_answered(call->exchange))
		reply_nothing(call);
}
