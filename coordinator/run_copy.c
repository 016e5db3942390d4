/* run_copy: a run that fills its thread with another one, and does nothing else. Where that waits for a child's
 * question, the child's thread is copied as well, by a child of this run: each of the two is answered by itself. */
#include "run_child.h"
#include "store_past.h"

#include <inttypes.h>

#include "awaited.h"
#include "bounds.h"
#include "log.h"
#include "retention.h"
#include "suspects.h"

static enum go
unknown(
    struct run *run, const char *source, const struct value *history, uint64_t version)
{
	const char *damage = store_history_damage(run->arena, source, history);

	if (damage != NULL)
		return run_fail(run, "RuntimeError", "not copied: %s", damage);
	if (version == 0)
		return run_fail(run, "ValueError",
		    "thread '%s' is not known, or has no checkpoint yet", source);
	return run_fail(run, "ValueError",
	    "thread '%s' has no checkpoint %" PRIu64
	    "; `flotilla history %s` lists those it has",
	    source, version, source);
}

/* The copy waits where the other does; but nothing goes on in it. */
static const struct value *
resting(struct run *run, const struct value *head)
{
	return value_text_is(value_get(head, "status"), "running")
		   ? value_map_with(
			 run->arena, head, "status", value_str(run->arena, "success"))
		   : head;
}

/* --- what its children ask ------------------------------------------------------------- */

/* Of the run that copies the child of a call that is held up, {id, held}. */
static const struct value *
record_of_copy(struct run *run, struct arena *arena, const struct value *call)
{
	const struct value *held = value_get(call, "held");
	const struct value *options = value_map(arena, "copy_of",
	    value_get(held, "thread"), "checkpoint", value_get(held, "version"), NULL);

	return value_map(arena, "options", value_freeze(arena, options), "parent",
	    value_str(arena, run->id), "task", value_get(call, "id"), "depth",
	    child_depth(arena, run), "usual_ttl",
	    retention_usual(run->coordinator, arena), "tenant",
	    value_get(run->record, "tenant"), "priority",
	    value_get(run->record, "priority"), NULL);
}

/* Has child's thread copied; child->fault: it could not be. */
static enum go
copy_thread(struct run *run, const struct value *call, struct child *child)
{
	struct arena *arena = run->arena;
	const struct value *record = NULL;
	enum store_status status;
	enum go go = child_queue(run, arena, child, record_of_copy(run, arena, call));

	if (go != GO_ON || child->fault != NULL)
		return go;
	suspects_wait(run);
	go = child_await(run, arena, child);
	suspects_go_on(run);
	if (go != GO_ON)
		return go;
	status =
	    store_run(run->coordinator->store, arena, child->thread, child->run, &record);
	if (!value_text_is(value_get(record, "status"), "success"))
		child->fault = "see its record";
	return status == STORE_OK || status == STORE_NONE || status == STORE_DAMAGED
		   ? GO_ON
		   : GO_DROP;
}

/* The id of the run that copies what holds up the call under key. It says what that is: who takes run over may find that the thread
 * which it copies waits for something else by now, and that the other one was copied. */
static const char *
copying_run(struct run *run, const char *key, const struct value *held)
{
	struct arena *arena = run->arena;

	return child_run(arena, run,
	    arena_printf(arena, ".copy%s-%s", key, child_digest(arena, held)), 1);
}

/* *call_r: the call under key of what the pause keeps, held up by a copy. By the child itself where that cannot be copied any
 * more: who answers it is told how it stands. */
static enum go
copy_child(struct run *run, const char *key, const struct value *call,
    const struct value **call_r)
{
	struct arena *arena = run->arena;
	const struct value *held = value_get(call, "held");
	struct child child = { 0 };
	enum go go;

	*call_r = call;
	/* One that was at work asks nothing: where it stands, it stands for both. */
	if (value_get_text(held, "thread") == NULL || value_has(held, "at_work") ||
	    child_depth_above(run) >= CHILD_DEPTH_MAX)
		return GO_ON;
	child.run = child.thread = copying_run(run, key, held);
	awaited_begin(run);
	go = copy_thread(run, call, &child);
	awaited_end(run);
	if (go != GO_ON)
		return go;
	if (child.fault == NULL)
		*call_r = value_map_with(arena, call, "held",
		    value_map_with(
			arena, held, "thread", value_str(arena, child.thread)));
	else
		log_warnx("run=%s child=%s: thread=%s not copied: %s", run->id, child.run,
		    value_get_text(held, "thread"), child.fault);
	return GO_ON;
}

enum go
run_copy_children(struct run *run, const struct value *head, const struct value **head_r)
{
	const struct value *round = value_get(head, "round"), *call;
	struct value_fields fields = { .arena = run->arena };
	enum go go;
	size_t i;

	*head_r = head;
	if (!value_is(round, VALUE_MAP) ||
	    (!value_text_is(value_get(head, "status"), "interrupted") &&
		!graph_has_failed(head)))
		return GO_ON;
	for (i = 0; i < value_size(round); i++) {
		go = copy_child(
		    run, value_text(round->pairs[i].key), round->pairs[i].value, &call);
		if (go != GO_ON)
			return go;
		value_fields_put(&fields, round->pairs[i].key, call);
	}
	*head_r = value_map_with(run->arena, head, "round", value_fields_end(&fields));
	return GO_ON;
}

/* --- the copy -------------------------------------------------------------------------- */

static enum go
filled(struct run *run, const struct store_past *past, const struct value *head,
    const char *source)
{
	struct arena *batch = run->batch;

	run->version = past->version;
	run->order = past->order;
	run->undone.fields = past->fields;
	run->rest = resting(run, head);
	run->source = "copy";
	run_event(run, "copied",
	    value_map(batch, "from", value_str(batch, source), "version",
		value_int(batch, (int64_t)past->version), NULL));
	return run_commit_end(run, "success", NULL);
}

/* Where source stands: what was rolled back is copied no more than it is shown. 0: nowhere. */
static enum store_status
standing(struct run *run, const char *source, uint64_t *version_r)
{
	const struct value *checkpoint = NULL;
	enum store_status status =
	    store_standing(run->coordinator->store, run->arena, source, &checkpoint);

	*version_r = (uint64_t)value_get_int(checkpoint, "version", 0);
	return status == STORE_NONE ? STORE_OK : status;
}

enum go
run_copy(struct run *run, bool is_used, const struct value *options)
{
	struct store *store = run->coordinator->store;
	const char *source = value_get_text(options, "copy_of");
	uint64_t version = (uint64_t)value_get_int(options, "checkpoint", 0);
	const struct value *history = NULL, *head;
	struct store_past past;
	enum store_status status = STORE_OK;
	enum go go;

	if (is_used)
		return run_fail(run, "ValueError",
		    "thread '%s' is in use: a copy needs a name that no thread has",
		    run->thread);
	if (version == 0)
		status = standing(run, source, &version);
	if (status == STORE_DAMAGED)
		return run_fail(
		    run, "RuntimeError", "not copied: %s", store_error(store));
	if (status == STORE_OK)
		status = store_history(store, run->arena, source, &history);
	if (status == STORE_NONE)
		return unknown(run, source, NULL, 0);
	if (status != STORE_OK)
		return GO_DROP;
	if (store_past_of(run->arena, history, version, &past) == -1 || version == 0)
		return unknown(run, source, history, version);
	go = run_copy_children(run, past.head, &head);
	if (go != GO_ON)
		return go;
	status = store_fill(store, run->thread, run->id, run->epoch,
	    &(struct store_copy){ source, history, version });
	if (status == STORE_OK)
		return filled(run, &past, head, source);
	/* What it lacks was pruned meanwhile. */
	return status == STORE_FAILED && redis_is_up(run->coordinator->redis)
		   ? run_fail(run, "RuntimeError", "not copied: %s", store_error(store))
		   : GO_DROP;
}
