/* run_copy: a run that fills its thread with another one, and does nothing else. */
#include "run.h"
#include "store_past.h"

#include <inttypes.h>

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

static enum go
filled(struct run *run, const struct store_past *past, const char *source)
{
	struct arena *batch = run->batch;

	run->version = past->version;
	run->order = past->order;
	run->undone.fields = past->fields;
	run->rest = resting(run, past->head);
	run->source = "copy";
	run_event(run, "copied",
	    value_map(batch, "from", value_str(batch, source), "version",
		value_int(batch, (int64_t)past->version), NULL));
	return run_commit_end(run, "success", NULL);
}

enum go
run_copy(struct run *run, bool is_used, const struct value *options)
{
	struct store *store = run->coordinator->store;
	const char *source = value_get_text(options, "copy_of");
	uint64_t version = (uint64_t)value_get_int(options, "checkpoint", 0);
	const struct value *history = NULL;
	struct store_past past;
	enum store_status status;

	if (is_used)
		return run_fail(run, "ValueError",
		    "thread '%s' is in use: a copy needs a name that no thread has",
		    run->thread);
	status = store_history(store, run->arena, source, &history);
	if (status == STORE_NONE)
		return unknown(run, source, NULL, 0);
	if (status != STORE_OK)
		return GO_DROP;
	if (version == 0)
		version = (uint64_t)value_get_int(
		    value_at(history, value_size(history) - 1), "version", 0);
	if (store_past_of(run->arena, history, version, &past) == -1 || version == 0)
		return unknown(run, source, history, version);
	status = store_fill(store, run->thread, run->id, run->epoch,
	    &(struct store_copy){ source, history, version });
	if (status == STORE_OK)
		return filled(run, &past, source);
	/* What it lacks was pruned meanwhile. */
	return status == STORE_FAILED && redis_is_up(run->coordinator->redis)
		   ? run_fail(run, "RuntimeError", "not copied: %s", store_error(store))
		   : GO_DROP;
}
