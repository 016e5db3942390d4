/* run_past: a run that begins at a checkpoint of the past: after a rollback, as a fork, a replay. */
#include "run.h"
#include "store_past.h"

#include <inttypes.h>

/* What changes when fields take the place of stored, as a commit's fields. */
static const struct value *
differing(struct arena *arena, const struct value *stored, const struct value *fields)
{
	struct value_fields changes = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(stored); i++)
		if (!value_has(fields, value_text(stored->pairs[i].key)))
			value_fields_put(&changes, stored->pairs[i].key, value_nil());
	for (i = 0; i < value_size(fields); i++) {
		const struct value_pair *pair = &fields->pairs[i];
		const struct value *now = value_get(stored, value_text(pair->key));

		if (now == NULL || !value_equal(now, pair->value))
			value_fields_put(&changes, pair->key, pair->value);
	}
	return value_fields_end(&changes);
}

/* Puts claim back to version. */
static enum go
go_back(struct run *run, struct store_claim *claim, uint64_t version,
    const struct value *stored)
{
	struct store_past past;

	switch (store_past(
	    run->coordinator->store, run->arena, run->thread, version, &past)) {
	case STORE_OK:
		break;
	case STORE_NONE:
		return run_fail(run, "ValueError",
		    "thread '%s' has no checkpoint %" PRIu64
		    "; `flotilla history %s` lists those it has",
		    run->thread, version, run->thread);
	case STORE_DAMAGED:
		return run_fail(
		    run, "RuntimeError", "%s", store_error(run->coordinator->store));
	default:
		return GO_DROP;
	}
	claim->head = past.head;
	claim->order = past.order;
	claim->fields = past.fields;
	run->past.version = (int64_t)version;
	run->past.fields = differing(run->arena, stored, past.fields);
	return GO_ON;
}

enum go
run_past_begin(struct run *run, struct store_claim *claim, const struct value *options)
{
	const struct value *stored = claim->fields;
	/* A copy's is the other thread's. */
	int64_t version =
	    value_has(options, "copy_of") ? -1 : value_get_int(options, "checkpoint", -1);
	enum go go = GO_ON;

	if (claim->rollback >= 0) {
		go = go_back(run, claim, (uint64_t)claim->rollback, stored);
		run->undone = run->past;
		run->head = claim->head;
		run->order = claim->order;
	}
	if (go == GO_ON && version >= 0) {
		go = go_back(run, claim, (uint64_t)version, stored);
		run->past.is_named = true;
	}
	return go;
}
