/* run_async: runs that a tool's call begins and does not wait for, looks at, and cancels (middleware.h,
 * tool_children_ask): those of async_subagent. They belong to nobody's run, and go on when this one has ended;
 * their records name the thread that began them, `started_by`, and calls of other threads' runs get nowhere
 * near them. All of it may be done twice: a run's id is made of its call's. */
#include "run_child.h"

#include <inttypes.h>
#include <string.h>

#include "retention.h"

#define CHECKED_MAX 100u /* runs, at a time */

static bool
is_own(const struct run *run, const struct value *record)
{
	return value_text_is(value_get(record, "started_by"), run->thread);
}

/* Reads the record of a run that this thread began; *record_r is NULL when there is none. */
static enum go
read_own(struct run *run, struct arena *arena, const struct value *named,
    const struct value **record_r)
{
	const char *id = value_get_text(named, "run"),
		   *thread = value_get_text(named, "thread");
	enum store_status status;

	*record_r = NULL;
	if (id == NULL || thread == NULL || !wire_is_run_id(id) ||
	    !wire_is_run_id(thread))
		return GO_ON;
	status = store_run(run->coordinator->store, arena, thread, id, record_r);
	/* Runs are found by their shard, which threads share: a run of one that is our own says nothing of another. */
	if (status != STORE_OK || !is_own(run, *record_r) ||
	    !value_text_is(value_get(*record_r, "thread"), thread))
		*record_r = NULL;
	/* What is damaged is gone for who wants it, and no trouble of its own. */
	return status == STORE_OK || status == STORE_NONE || status == STORE_DAMAGED
		   ? GO_ON
		   : GO_DROP;
}

static const struct value *
record_of(struct run *run, struct arena *arena, const struct child *child,
    const struct value *input, bool goes_on)
{
	const struct value *options = value_map(arena, "context", run->context, NULL);

	return value_map(arena, "agent", value_str(arena, child->agent), "version",
	    value_str(arena, child->version), "multitask",
	    goes_on ? value_str(arena, "interrupt") : NULL, "usual_ttl",
	    retention_usual(run->coordinator, arena), "started_by",
	    value_str(arena, run->thread), "depth", child_depth(arena, run), "tenant",
	    run->tenant != NULL ? value_str(arena, run->tenant) : NULL, "priority",
	    value_printf(arena, "%" PRIu64, run->priority), "traceparent",
	    child->traceparent, "input", input, "options", value_freeze(arena, options),
	    NULL);
}

/* Says that the run's id is that of a run of thread. STORE_KNOWN: it is another's. */
static enum store_status
claim_id(struct run *run, struct arena *arena, const struct child *child)
{
	struct store *store = run->coordinator->store;
	const struct value *before;
	const char *other;
	enum store_status status = child_look(run, arena, child, &before);

	if (status == STORE_OK && !is_own(run, before))
		return STORE_KNOWN;
	return status == STORE_OK || status == STORE_NONE
		   ? store_bind_run(store, arena, child->run, child->thread, &other)
		   : status;
}

static enum go
submit(struct run *run, struct arena *arena, struct child *child,
    const struct value *input, bool goes_on)
{
	struct store *store = run->coordinator->store;
	int64_t before;
	enum store_status status = claim_id(run, arena, child);

	if (status == STORE_OK)
		status = store_submit(store, arena, child->thread, child->run,
		    record_of(run, arena, child, input, goes_on), &before);
	else if (status == STORE_KNOWN)
		child->fault = arena_printf(
		    arena, "run '%s', which it is to be, is another's", child->run);
	if (status == STORE_REJECTED || status == STORE_DAMAGED)
		child->fault = arena_strdup(arena, store_error(store));
	if (child->fault == NULL && (status == STORE_OK || status == STORE_KNOWN))
		coordinator_claim(run->coordinator, child->thread);
	return status == STORE_OK || status == STORE_KNOWN || child->fault != NULL
		   ? GO_ON
		   : GO_DROP;
}

static const struct value *
told(struct arena *arena, const struct child *child, const char *status)
{
	return value_map(arena, "run", value_str(arena, child->run), "thread",
	    value_str(arena, child->thread), "status", value_str(arena, status), NULL);
}

/* Begins a conversation, or goes on with one. */
static enum go
begin(struct run *run, struct arena *arena, const struct effect *effect,
    struct child *child, bool goes_on, const struct value **came_r)
{
	const struct value *input = NULL, *record;
	enum go go = GO_ON;

	child->run = child->thread =
	    child_run(arena, run, effect->call.id, value_size(effect->children) + 1);
	child->traceparent = run_trace_child(run, arena, effect->last_id);
	if (goes_on) {
		go = read_own(run, arena, child->wish, &record);
		child->thread = value_get_text(child->wish, "thread");
		if (record == NULL)
			child->fault = "there is no such task of this conversation";
	}
	if (go == GO_ON && child->fault == NULL)
		input = child_input(arena, child, NULL, NULL);
	if (go == GO_ON && child->fault == NULL)
		go = child_find_agent(run, arena, child);
	if (go == GO_ON && child->fault == NULL)
		go = submit(run, arena, child, input, goes_on);
	if (go == GO_ON)
		*came_r = child->fault != NULL
			      ? child_failed_with(arena, child, child->fault)
			      : told(arena, child, "queued");
	agents_unref(run->coordinator->agents, &child->compiled);
	return go;
}

/* What a run has answered is told of one alone: those of many would not fit into a call. */
static const struct value *
seen(struct arena *arena, const struct value *record, bool is_alone)
{
	const struct value *fault = value_get(record, "fault");

	if (record == NULL)
		return value_map(arena, "status", value_str(arena, "gone"), NULL);
	if (!is_alone)
		return value_map(arena, "status", value_get(record, "status"), NULL);
	return value_map(arena, "status", value_get(record, "status"), "content",
	    value_get(record, "answer"), "structured_response",
	    value_get(value_get(record, "output"), "structured_response"), "fault",
	    value_is(fault, VALUE_MAP)
		? value_map(arena, "type", value_get(fault, "type"), "message",
		      value_get(fault, "message"), NULL)
		: NULL,
	    NULL);
}

static enum go
look(struct run *run, struct arena *arena, const struct child *child,
    const struct value **came_r)
{
	const struct value *runs = value_get(child->wish, "runs"), *record;
	struct value_list list = { .arena = arena };
	enum go go = GO_ON;
	size_t i;

	for (i = 0; go == GO_ON && i < value_size(runs) && i < CHECKED_MAX; i++) {
		struct arena *own = arena_new();

		go = read_own(run, own, value_at(runs, i), &record);
		value_list_add(
		    &list, value_copy(arena, seen(own, record, value_size(runs) == 1)));
		arena_destroy(&own);
	}
	*came_r = value_map(arena, "runs", value_list_end(&list), NULL);
	return go;
}

static enum go
cancel(struct run *run, struct arena *arena, struct child *child,
    const struct value **came_r)
{
	const struct value *record;
	const char *answer, *ended;
	enum store_status status;
	enum go go = read_own(run, arena, child->wish, &record);

	child->run = value_get_text(child->wish, "run");
	child->thread = value_get_text(child->wish, "thread");
	if (go != GO_ON)
		return go;
	if (record == NULL) {
		child->run = "";
		*came_r = child_failed_with(
		    arena, child, "there is no such task of this conversation");
		return GO_ON;
	}
	status = store_cancel(
	    run->coordinator->store, arena, child->thread, child->run, &answer, &ended);
	if (status != STORE_OK)
		return GO_DROP;
	*came_r = told(arena, child,
	    strcmp(answer, "ENDED") == 0 && ended != NULL ? ended : "cancelled");
	return GO_ON;
}

enum go
run_async(struct run *run, struct arena *arena, const struct effect *effect,
    struct child *child, const struct value **came_r)
{
	const char *op = value_get_text(child->wish, "op");

	if (op != NULL && strcmp(op, "start") == 0)
		return begin(run, arena, effect, child, false, came_r);
	if (op != NULL && strcmp(op, "update") == 0)
		return begin(run, arena, effect, child, true, came_r);
	if (op != NULL && strcmp(op, "check") == 0)
		return look(run, arena, child, came_r);
	if (op != NULL && strcmp(op, "cancel") == 0)
		return cancel(run, arena, child, came_r);
	child->run = "";
	*came_r = child_failed_with(arena, child, "it wants what nobody does");
	return GO_ON;
}
