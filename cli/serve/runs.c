/* runs: submitted, looked at, cancelled. */
#include "runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "assistant_find.h"
#include "bounds.h"
#include "command_check.h"
#include "entry.h"
#include "fiber.h"
#include "graph.h"
#include "once.h"
#include "room.h"
#include "select.h"
#include "shape.h"
#include "store_runs.h"
#include "tenant.h"
#include "thread_find.h"
#include "thread_walk.h"
#include "trace_context.h"
#include "wire.h"

#define BATCH_MAX 1000u

static int64_t
wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- submitting --------------------------------------------------------------------------- */

/* The trace that the request is part of; a header that is none is passed over, as W3C wants it. */
static const char *
traceparent_of(const struct call *call)
{
	const char *text = exchange_header(call->exchange, "traceparent");
	struct trace_context context;

	return text != NULL && trace_context_read(text, &context) == 0 ? text : NULL;
}

/* What is known of the run, and of the thread that it is to be on. Returns false after answering. */
static bool
find_place(struct call *call, const struct value *body, struct run_place *place_r)
{
	const char *key;
	const struct value *thread = NULL, *head;
	bool makes_thread = value_text_is(value_get(body, "if_not_exists"), "create");
	enum store_status status;

	if (!once_read(call, &key))
		return false;
	if (call->params[0] != NULL && !wire_is_run_id(call->params[0])) {
		reply_error(call, 422, "thread_id: " RUN_ID_RULE, RUN_ID_BYTES_MAX);
		return false;
	}
	*place_r = (struct run_place){ .thread = call->params[0],
		.run = key != NULL ? once_id(call, key) : tenant_new_id(call),
		.tenant = call->tenant,
		.traceparent = traceparent_of(call),
		.fingerprint = key != NULL ? once_fingerprint(call->arena, body) : NULL,
		.is_stateless = call->params[0] == NULL };
	if (place_r
		->is_stateless) { /* by its run's name, which is all that is said of where it is */
		place_r->thread = place_r->run;
		return true;
	}
	status = store_thread_outline(
	    api_store(call->api), call->arena, place_r->thread, &thread);
	if (status == STORE_NONE && !makes_thread)
		return thread_is_there(call, place_r->thread);
	if (status != STORE_OK && status != STORE_NONE) {
		reply_failed(call, status, "such thread");
		return false;
	}
	place_r->version = value_get_int(thread, "standing", 0);
	head = value_get(thread, "head");
	place_r->goes_on = value_text_is(value_get(head, "status"), "interrupted") ||
			   graph_has_failed(head);
	/* Of one that is busy nobody knows where it will stand. */
	if (graph_stands(head) && strcmp(shape_thread_status(thread), "busy") != 0)
		place_r->next = value_get_text(head, "next");
	return true;
}

/* Whether the run of a request with a key is there already. Returns false after answering: it is another one, or Redis
 * has not said. */
static bool
look_back(
    struct call *call, const struct run_place *place, struct feed *feed, bool *is_there_r)
{
	const struct value *record = NULL;
	enum store_status status;

	*is_there_r = false;
	if (place->fingerprint == NULL)
		return true;
	status = store_run_brief(
	    api_store(call->api), call->arena, place->thread, place->run, &record);
	*is_there_r = status == STORE_OK;
	if (*is_there_r)
		feed_was_there(feed, record);
	if (*is_there_r)
		return once_is_same(call, record, place->fingerprint);
	if (status != STORE_NONE)
		reply_failed(call, status, "run");
	return status == STORE_NONE;
}

/* Submits it, unless it was; looked at again behind that, two requests with one key are told apart also when they come at
 * once. Returns false after answering. */
static bool
submit(struct call *call, const struct run_place *place, struct run_begun *begun)
{
	bool is_there;

	if (!look_back(call, place, begun->feed, &is_there) ||
	    (!is_there && !entry_add(call, begun->body.fields, begun->feed)))
		return false;
	if (entry_was_taken(call, begun->feed))
		return is_there || look_back(call, place, begun->feed, &is_there);
	if (!is_there)
		runs_leave(call, begun, false); /* who asked may have left already */
	return false;
}

bool
runs_begin(struct call *call, const struct value *body, enum feed_what what,
    struct run_begun *begun_r)
{
	const char *id = value_get_text(body, "assistant_id"), *wrong;
	enum store_status status = STORE_NONE;
	struct assistant assistant = { 0 };
	struct run_place place;

	*begun_r = (struct run_begun){ 0 };
	if (!find_place(call, body, &place))
		return false;
	if (id != NULL && *id != '\0')
		status = assistant_find(call, call->arena, id, &assistant);
	if (status == STORE_OK && assistant_is_made(&assistant))
		place.assistant = &assistant;
	wrong = run_body_read(call->arena, body, &place, wall_ms(), &begun_r->body);
	if (wrong != NULL) {
		reply_error(call, 422, "%s", wrong);
		return false;
	}
	begun_r->thread = place.thread;
	begun_r->run = place.run;
	begun_r->has_key = place.fingerprint != NULL;
	if (!assistant_can_run(call, id, status, &assistant) ||
	    !command_check(call, begun_r->body.agent, begun_r->body.command))
		return false;
	begun_r->feed = feed_new(call, place.thread, place.run, 0, what);
	if (submit(call, &place, begun_r)) {
		thread_walk_tell(call->api, place.thread);
		return true;
	}
	feed_destroy(&begun_r->feed);
	return false;
}

/* Names as they are: clients take them from there by what stands around them, and decode nothing. */
void
runs_say_where(struct call *call, const struct run_begun *begun)
{
	const char *path = call->params[0] == NULL
			       ? arena_printf(call->arena, "/runs/%s", begun->run)
			       : arena_printf(call->arena, "/threads/%s/runs/%s",
				     begun->thread, begun->run);

	exchange_add_header(call->exchange, "Content-Location", path);
}

void
runs_leave(struct call *call, const struct run_begun *begun, bool has_ended)
{
	struct store *store = api_store(call->api);
	struct store_pruned pruned;
	const char *answer, *status;

	fiber_shield(true);
	if (!has_ended && begun->body.cancels_on_disconnect &&
	    exchange_is_gone(call->exchange))
		store_cancel(
		    store, call->arena, begun->thread, begun->run, &answer, &status);
	/* Else its time deletes it, which its submission has said: also where it may be asked for again. */
	if (has_ended && call->params[0] == NULL && !begun->body.keeps_thread &&
	    !begun->has_key)
		store_erase(store, call->arena, begun->thread, true, &pruned);
	fiber_shield(false);
}

/* --- calls -------------------------------------------------------------------------------- */

/* What is known of a run that nobody has taken yet. */
static const struct value *
untaken(struct call *call, const char *run, const char *thread, const char *agent,
    const char *assistant)
{
	return value_map(call->arena, "run", value_str(call->arena, run), "thread",
	    value_str(call->arena, thread), "agent", value_str(call->arena, agent),
	    "assistant", assistant != NULL ? value_str(call->arena, assistant) : NULL,
	    "created", value_int(call->arena, wall_ms()), NULL);
}

/* A run that was begun, as it is now. */
static const struct value *
describe(struct call *call, const struct run_begun *begun)
{
	const struct value *record = NULL;

	store_run_brief(
	    api_store(call->api), call->arena, begun->thread, begun->run, &record);
	if (record == NULL)
		record = untaken(call, begun->run, begun->thread, begun->body.agent,
		    begun->body.assistant);
	return shape_run(call->arena, record);
}

void
call_run_create(struct call *call)
{
	struct run_begun begun;

	if (!runs_begin(call, call->body, FEED_END, &begun))
		return;
	runs_say_where(call, &begun);
	reply(call, 200, describe(call, &begun));
	feed_destroy(&begun.feed);
}

/* Each on a thread of its own. The first that is refused ends it: those before it run. */
void
call_runs_batch(struct call *call)
{
	struct value_list list = { .arena = call->arena };
	size_t count = value_size(call->body), i;

	if (!value_is(call->body, VALUE_ARRAY) || count == 0 || count > BATCH_MAX) {
		reply_error(
		    call, 422, "the body must be a list of 1 to %u runs", BATCH_MAX);
		return;
	}
	for (i = 0; i < count; i++) {
		struct run_begun begun;

		call->part = i;
		if (!runs_begin(call, value_at(call->body, i), FEED_END, &begun))
			return;
		value_list_add(&list, describe(call, &begun));
		feed_destroy(&begun.feed);
	}
	reply(call, 200, value_list_end(&list));
}

/* The thread's run of that name, or STORE_NONE. */
static enum store_status
look_for(struct call *call, const char *run, const struct value **record_r)
{
	enum store_status status = STORE_NONE;

	/* What is no run's name may be that of a part of one's, in Redis, of anybody's. */
	if (wire_is_run_id(run))
		status = store_run_brief(
		    api_store(call->api), call->arena, call->params[0], run, record_r);
	/* Runs are found by their shard, which threads share. */
	if (status == STORE_OK &&
	    !value_text_is(value_get(*record_r, "thread"), call->params[0]))
		status = STORE_NONE;
	return status;
}

/* The same, while no coordinator has taken it out of the inbox. */
static enum store_status
look_in_inbox(struct call *call, const char *run, const struct value **record_r)
{
	struct store_untaken found;
	enum store_status status =
	    wire_is_run_id(run) ? room_for_state(call) : STORE_NONE;

	if (status != STORE_OK)
		return status;
	status = store_inbox_find(api_store(call->api), call->arena, run, &found);
	room_leave_state(call);
	if (status == STORE_NONE) /* it may have been taken in between */
		return look_for(call, run, record_r);
	if (status != STORE_OK)
		return status;
	if (strcmp(found.thread, call->params[0]) != 0)
		return STORE_NONE;
	*record_r = untaken(call, run, found.thread, found.agent,
	    *found.assistant != '\0' ? found.assistant : NULL);
	return STORE_OK;
}

/* The run of the path, also one that was rolled back; NULL after answering that there is none. */
static const struct value *
find_any(struct call *call)
{
	const struct value *record = NULL;
	enum store_status status = look_for(call, call->params[1], &record);

	/* Those that a tenant's key has begun are called as its threads are. */
	if (status == STORE_NONE && call->tenant != NULL) {
		call->params[1] = tenant_name(call, call->params[1]);
		status = look_for(call, call->params[1], &record);
	}
	if (status == STORE_NONE)
		status = look_in_inbox(call, call->params[1], &record);
	if (status == STORE_NONE)
		reply_error(call, 404, "Run not found");
	else if (status != STORE_OK)
		reply_failed(call, status, "run");
	return status == STORE_OK ? record : NULL;
}

const struct value *
runs_find(struct call *call)
{
	const struct value *record = find_any(call);

	if (record == NULL || !shape_run_is_gone(record))
		return record;
	reply_error(call, 404, "Run not found");
	return NULL;
}

void
call_run_get(struct call *call)
{
	const struct value *record = runs_find(call);

	if (record != NULL)
		reply(call, 200, shape_run(call->arena, record));
}

void
call_run_delete(struct call *call)
{
	const char *answer;
	enum store_status status;

	if (find_any(call) == NULL)
		return;
	status = store_forget_run(
	    api_store(call->api), call->arena, call->params[0], call->params[1], &answer);
	if (status != STORE_OK)
		reply_failed(call, status, "run");
	else if (strcmp(answer, "FORGOTTEN") == 0)
		reply_nothing(call);
	else if (strcmp(answer, "TELLS") == 0)
		reply_error(call, 409,
		    "the run has ended, and a webhook or a subagent is still to be told");
	else if (strcmp(answer, "CHILD") == 0)
		reply_error(call, 409,
		    "the run is a subagent's: it goes with the run that has begun it");
	else
		reply_error(call, 409, "the run has not ended: cancel it first");
}

runs_cancel_fn *
runs_read_action(struct call *call)
{
	const char *action = exchange_query(call->exchange, "action");

	if (action == NULL || strcmp(action, "interrupt") == 0)
		return store_cancel;
	if (strcmp(action, "rollback") == 0)
		return store_cancel_back;
	reply_error(call, 422, "action: must be interrupt or rollback");
	return NULL;
}

/* Asks for its end. Returns whether it is still to come; else it is answered. */
static bool
ask_for_end(struct call *call, runs_cancel_fn *cancel)
{
	const char *answer, *ended;
	enum store_status status = cancel(api_store(call->api), call->arena,
	    call->params[0], call->params[1], &answer, &ended);

	if (status != STORE_OK)
		reply_failed(call, status, "run");
	else if (strcmp(answer, "UNKNOWN") == 0)
		reply_error(call, 503,
		    "no coordinator has taken the run yet: ask again when one has");
	else if (strcmp(answer, "CANCELLING") != 0)
		reply_nothing(call);
	return !exchange_is_answered(call->exchange);
}

void
call_run_cancel(struct call *call)
{
	const struct value *record = runs_find(call), *last;
	runs_cancel_fn *cancel = record != NULL ? runs_read_action(call) : NULL;
	struct feed *feed;

	if (cancel == NULL || !ask_for_end(call, cancel))
		return;
	if (!call_flag(call, "wait")) {
		reply(call, 202, value_empty_map());
		return;
	}
	feed = feed_new(call, call->params[0], call->params[1],
	    (uint64_t)value_get_int(record, "events", 0), FEED_END);
	feed_was_there(feed, record);
	last = feed_end(feed, call->arena, ENTRY_TAKEN_MS, NULL, NULL);
	if (last != NULL || feed_status(feed) == STORE_NONE)
		reply_nothing(call);
	else
		reply_failed(call, feed_status(feed), "run");
	feed_destroy(&feed);
}
