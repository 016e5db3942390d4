/* many: what is done to many threads or runs at once. */
#include <string.h>

#include "bounds.h"
#include "runs.h"
#include "shape.h"
#include "store_fleet.h"
#include "tenant.h"
#include "wire.h"

#define RUNS_MAX 1000u /* of a thread, the newest */

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
	enum store_status status = tenant_look(call, call->arena, name);

	if (status == STORE_OK)
		status = is_kept
			     ? store_prune(store, call->arena, name, 1, false, &pruned)
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
		status = prune(call, value_text(value_at(ids, i)), is_kept, &count);
	if (status != STORE_OK)
		reply_failed(call, status, "threads");
	else
		reply(call, 200,
		    value_map(call->arena, "pruned_count", value_int(call->arena, count),
			NULL));
}

/* --- runs ----------------------------------------------------------------------------- */

/* Those of the thread that are named, or have that status: "pending", "running", "all". NULL after answering. */
static const struct value *
find_runs(struct call *call, const char *thread)
{
	struct value_list found = { .arena = call->arena };
	const char *wanted = value_get_text(call->body, "status");
	const struct value *runs;
	enum store_status status;
	size_t i;

	if (wanted == NULL)
		return ids_of(call, "run_ids");
	if (strcmp(wanted, "pending") != 0 && strcmp(wanted, "running") != 0 &&
	    strcmp(wanted, "all") != 0) {
		reply_error(call, 422, "status: must be pending, running or all");
		return NULL;
	}
	status = store_thread_runs(
	    api_store(call->api), call->arena, thread, 0, RUNS_MAX, &runs);
	if (status != STORE_OK) {
		reply_failed(call, status, "runs");
		return NULL;
	}
	for (i = 0; i < value_size(runs); i++) {
		const char *is = shape_run_status(value_at(runs, i));
		bool is_open = strcmp(is, "pending") == 0 || strcmp(is, "running") == 0;

		if (is_open && (strcmp(wanted, "all") == 0 || strcmp(wanted, is) == 0))
			value_list_add(&found, value_get(value_at(runs, i), "run"));
	}
	return value_list_end(&found);
}

/* Those that have ended, or are not there, stay as they are. */
void
call_runs_cancel(struct call *call)
{
	const char *thread = value_get_text(call->body, "thread_id");
	const char *action = exchange_query(call->exchange, "action");
	const char *answer, *ended;
	const struct value *runs;
	enum store_status status = STORE_OK;
	size_t i;

	if (action != NULL && strcmp(action, "interrupt") != 0) {
		reply_error(call, 422, RUNS_INTERRUPT_ONLY);
		return;
	}
	if (thread == NULL) {
		reply_error(call, 422, "thread_id: is missing");
		return;
	}
	if (!thread_is_there(call, thread) || (runs = find_runs(call, thread)) == NULL)
		return;
	for (i = 0; i < value_size(runs); i++) {
		const char *run = value_text(value_at(runs, i));

		status = store_has_run(api_store(call->api), call->arena, thread, run);
		if (status == STORE_OK)
			status = store_cancel(api_store(call->api), call->arena, thread,
			    run, &answer, &ended);
		if (status != STORE_OK && status != STORE_NONE) {
			reply_failed(call, status, "run");
			return;
		}
	}
	reply_nothing(call);
}
