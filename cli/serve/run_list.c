/* run_list: the runs of a thread. */
#include <string.h>

#include "room.h"
#include "select.h"
#include "shape.h"
#include "store_runs.h"
#include "thread_find.h"

#define LIMIT 10
#define LIMIT_MAX 1000
#define LISTED_AT_ONCE 100u

/* A list of runs under way. */
struct run_listing {
	struct call *call;
	const struct value *fields;
	const char *status; /* that is wanted, or NULL */
	size_t skip, limit; /* of those that are wanted */
	struct reply_list list;
};

/* Adds the run, if it is wanted. Returns STORE_REJECTED when the list is full. */
static enum store_status
list_run(struct run_listing *listing, const char *run)
{
	struct call *call = listing->call;
	struct arena *arena = arena_new();
	const struct value *record;
	enum store_status status =
	    store_run_brief(api_store(call->api), arena, call->params[0], run, &record);
	bool is_wanted = status == STORE_OK && !shape_run_is_gone(record) &&
			 (listing->status == NULL ||
			     strcmp(listing->status, shape_run_status(record)) == 0);

	if (is_wanted && listing->skip > 0)
		listing->skip--;
	else if (is_wanted &&
		 (!reply_list_add(&listing->list,
		      select_fields(arena, shape_run(arena, record), listing->fields),
		      SERVE_LIST_BYTES_MAX) ||
		     listing->list.count == listing->limit))
		status = STORE_REJECTED;
	arena_destroy(&arena);
	return status == STORE_NONE ? STORE_OK : status; /* it was deleted meanwhile */
}

/* Adds what is wanted, the newest first. */
static enum store_status
list_runs(struct run_listing *listing)
{
	struct call *call = listing->call;
	enum store_status status = STORE_OK;
	const struct value *runs;
	size_t at = 0, i;

	do {
		struct arena *arena = arena_new();

		status = store_newest_runs(api_store(call->api), arena, call->params[0],
		    at, LISTED_AT_ONCE, &runs);
		for (i = status == STORE_OK ? value_size(runs) : 0;
		     status == STORE_OK && i > 0; i--)
			status =
			    list_run(listing, redis_reply_text(value_at(runs, i - 1)));
		if (status == STORE_OK && value_size(runs) < LISTED_AT_ONCE)
			status = STORE_REJECTED;
		at += LISTED_AT_ONCE;
		arena_destroy(&arena);
	} while (status == STORE_OK);
	return status == STORE_REJECTED ? STORE_OK : status;
}

static void
answer_runs(struct call *call)
{
	struct run_listing listing = { .call = call,
		.status = exchange_query(call->exchange, "status") };
	int64_t limit = call_number(call, "limit", LIMIT, 1, LIMIT_MAX), offset = 0;
	enum store_status status;

	if (limit != -1)
		offset = call_number(call, "offset", 0, 0, INT32_MAX);
	if (limit == -1 || offset == -1 ||
	    !select_read(call, SELECT_RUN, &listing.fields) ||
	    !thread_is_there(call, call->params[0]))
		return;
	listing.limit = (size_t)limit;
	listing.skip = (size_t)offset;
	status = list_runs(&listing);
	if (status == STORE_OK) {
		reply_list_end(&listing.list, call);
	} else {
		reply_list_drop(&listing.list);
		reply_failed(call, status, "runs");
	}
}

void
call_runs_list(struct call *call)
{
	room_in_list(call, "runs", answer_runs);
}
