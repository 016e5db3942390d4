/* thread_state: what a thread holds, now and before. A checkpoint's id is its
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
#include "run_body.h"
#include "select.h"
#include "shape.h"
#include "store_past.h"
#include "store_runs.h"
#include "tenant.h"
#include "thread_find.h"

#define LIMIT 10
#define LIMIT_MAX 1000
#define READ_AT_ONCE 100 /* states of a history of which some are passed over */

/* The run that was looked at last, and the agent: states of one follow each other. */
struct seen {
	struct arena *arena; /* or NULL */
	const char *name;
	const struct value *record;  /* or NULL: it is not there any more */
	struct arena *agent_arena;   /* or NULL */
	const char *agent, *version; /* or NULL: none */
	struct shape_view view;      /* of its states */
};

static void
forget(struct seen *seen)
{
	arena_destroy(&seen->arena);
	arena_destroy(&seen->agent_arena);
}

static const struct value *
look_at(struct call *call, struct seen *seen, const char *run)
{
	if (seen->arena != NULL && strcmp(seen->name, run) == 0)
		return seen->record;
	arena_destroy(&seen->arena);
	seen->arena = arena_new();
	seen->name = arena_strdup(seen->arena, run);
	seen->record = NULL;
	store_run_brief(
	    api_store(call->api), seen->arena, call->params[0], run, &seen->record);
	/* Runs are found by their shard: those that a copy names are another thread's. */
	if (!value_text_is(value_get(seen->record, "thread"), call->params[0]))
		seen->record = NULL;
	return seen->record;
}

/* The same thread, with what its checkpoint's run says of itself, and why that has failed if it has there. */
static const struct value *
with_run(struct call *call, struct arena *arena, const struct value *thread,
    const struct value *checkpoint, struct seen *seen)
{
	const bool has_failed =
	    value_text_is(value_get(value_get(thread, "head"), "status"), "error");
	const char *run = value_get_text(checkpoint, "run");
	const struct value *record = run != NULL ? look_at(call, seen, run) : NULL;
	const struct value *fault = has_failed ? value_get(record, "fault") : NULL;
	const struct value *metadata = value_get(record, "metadata");

	if (metadata != NULL)
		thread = value_map_with(
		    arena, thread, "run_metadata", value_copy(arena, metadata));
	return fault == NULL
		   ? thread
		   : value_map_with(arena, thread, "fault", value_copy(arena, fault));
}

void
call_state_get(struct call *call)
{
	const char *name = call->params[0];
	struct arena *arena = call->arena;
	const struct value *thread, *values, *last = NULL, *fields, *state;
	struct seen seen = { 0 };
	enum store_status status;

	if (!select_read(call, SELECT_STATE, &fields) || !thread_is_there(call, name))
		return;
	status = blueprint_thread(call, arena, name, NULL, &thread, &values);
	if (status == STORE_OK)
		status = store_standing(api_store(call->api), arena, name, &last);
	if (status == STORE_OK)
		thread =
		    value_map_with(arena, thread, "version", value_get(last, "version"));
	state = status == STORE_OK
		    ? shape_state(arena, with_run(call, arena, thread, last, &seen), last,
			  values, value_get(thread, "asks"))
		    : shape_no_state(arena);
	forget(&seen);
	if (status == STORE_OK || status == STORE_NONE)
		reply(call, 200, select_fields(arena, state, fields));
	else
		reply_failed(call, status, "such thread");
}

static bool
are_equal(const char *left, const char *right)
{
	return left == NULL || right == NULL ? left == right : strcmp(left, right) == 0;
}

/* What of the states that an agent, or none, has left is shown. */
static enum store_status
look_at_agent(struct call *call, struct seen *seen, const struct value *head)
{
	const char *agent = value_get_text(head, "agent");
	const char *version = value_get_text(head, "version");

	if (seen->agent_arena != NULL && are_equal(seen->agent, agent) &&
	    are_equal(seen->version, version))
		return STORE_OK;
	arena_destroy(&seen->agent_arena);
	seen->agent_arena = arena_new();
	seen->agent = agent != NULL ? arena_strdup(seen->agent_arena, agent) : NULL;
	seen->version = version != NULL ? arena_strdup(seen->agent_arena, version) : NULL;
	return blueprint_view(call, seen->agent_arena, head, &seen->view);
}

/* A state of the past: what it waited for then is asked no more. What of it is shown the agent of then says. */
static enum store_status
past_state(struct call *call, struct arena *arena, const struct value *past,
    struct seen *seen, const struct value **state_r)
{
	const struct value *checkpoint = value_get(past, "checkpoint"), *values;
	const struct value *head = value_get(past, "head");
	enum store_status status = look_at_agent(call, seen, head);

	if (status != STORE_OK)
		return status;
	values = shape_values(
	    arena, value_get(past, "messages"), value_get(past, "fields"), &seen->view);
	*state_r = checkpoint == NULL
		       ? shape_first_state(arena, past, values)
		       : shape_state(arena, with_run(call, arena, past, checkpoint, seen),
			     checkpoint, values, asks_of(arena, head));
	return STORE_OK;
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
	const struct value *past, *state, *fields;
	struct seen seen = { 0 };
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
		status = past_state(call, call->arena, past, &seen, &state);
	if (status == STORE_OK)
		reply(call, 200, select_fields(call->arena, state, fields));
	else
		reply_failed(call, status, "such checkpoint");
	forget(&seen);
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

/* A history under way. */
struct history {
	struct call *call;
	const struct value *fields;
	const struct value *metadata; /* that are wanted, or nil */
	int64_t before, limit;        /* of what is still to be read */
	int64_t only;                 /* the version that is wanted, or NO_CHECKPOINT */
	struct reply_list list;
	struct seen seen;
	bool is_full;
};

/* Adds the state, if it is wanted. What is too much is left out, as behind a limit: `before` goes on there. */
static enum store_status
add_past(struct history *history, struct arena *arena, const struct value *past)
{
	const struct value *state;
	enum store_status status =
	    past_state(history->call, arena, past, &history->seen, &state);

	if (status != STORE_OK)
		return status;
	history->before = value_get_int(past, "version", 0);
	if ((history->only != NO_CHECKPOINT && history->only != history->before) ||
	    !select_matches(value_get(state, "metadata"), history->metadata))
		return STORE_OK;
	history->is_full =
	    !reply_list_add(&history->list, select_fields(arena, state, history->fields),
		SERVE_LIST_BYTES_MAX) ||
	    history->list.count == (size_t)history->limit;
	return STORE_OK;
}

/* Reads so many from before on; more_r: whether there may be others behind them. Each on a turn of its own: of a long thread all
 * of them are as much as it is long, as often as there are checkpoints. */
static enum store_status
add_pasts(struct history *history, size_t count, bool *more_r)
{
	struct call *call = history->call;
	struct arena *pasts_arena;
	const struct value *pasts;
	enum store_status status = room_for_state(call);
	size_t i;

	*more_r = false;
	if (status != STORE_OK)
		return status;
	pasts_arena = arena_new();
	status = store_pasts(api_store(call->api), pasts_arena, call->params[0],
	    (uint64_t)history->before, count, &pasts);
	for (i = 0; status == STORE_OK && !history->is_full && i < value_size(pasts);
	     i++) {
		struct arena *arena = arena_new();

		status = add_past(history, arena, value_at(pasts, i));
		arena_destroy(&arena);
		fiber_yield();
	}
	*more_r = status == STORE_OK && !history->is_full && value_size(pasts) == count;
	arena_destroy(&pasts_arena);
	room_leave_state(call);
	return status;
}

/* Where some are passed over, others are read in their place. */
static enum store_status
read_history(struct history *history)
{
	bool is_filtered = value_size(history->metadata) > 0;
	size_t count = is_filtered && history->limit < READ_AT_ONCE
			   ? READ_AT_ONCE
			   : (size_t)history->limit;
	bool has_more = true;
	enum store_status status = STORE_OK;

	if (history->only != NO_CHECKPOINT && history->only < history->before)
		history->before = history->only + 1;
	else if (history->only != NO_CHECKPOINT)
		has_more = false;
	while (status == STORE_OK && has_more) {
		status = add_pasts(
		    history, history->only != NO_CHECKPOINT ? 1 : count, &has_more);
		has_more = has_more && is_filtered && history->only == NO_CHECKPOINT;
	}
	return status;
}

void
call_history(struct call *call)
{
	static const struct select_filter filters[] = { { "metadata", VALUE_MAP } };
	struct history history = { .call = call,
		.limit = call_number(call, "limit", LIMIT, 1, LIMIT_MAX),
		.metadata = value_get(call->body, "metadata"),
		.only = run_body_checkpoint(call->body) };
	enum store_status status;

	if (history.limit == -1 || !select_read(call, SELECT_STATE, &history.fields) ||
	    !select_check(call, filters, 1) || (history.before = before_of(call)) == -1 ||
	    !thread_is_there(call, call->params[0]))
		return;
	if (history.only == -1) {
		reply_error(call, 422, "checkpoint: is none of the thread's");
		return;
	}
	status = room_for_list(call);
	if (status == STORE_OK) {
		status = read_history(&history);
		room_leave_list(call);
		forget(&history.seen);
	}
	if (status == STORE_OK) {
		reply_list_end(&history.list, call);
		return;
	}
	reply_list_drop(&history.list);
	reply_failed(call, status, "such thread");
}
