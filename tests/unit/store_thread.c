#include "store_thread.h"

#include <check.h>

#include "store_trial.h"

enum store_status
thread_submit(const char *run, const char *name, const char *text)
{
	struct arena *arena = trial.arena;
	const char *other;
	int64_t before;

	store_bind_run(trial.a, arena, run, "t", &other);
	return store_submit(trial.a, arena, "t", run,
	    value_map(arena, "agent", value_str(arena, "clerk"), name,
		value_str(arena, text), NULL),
	    &before);
}

const struct value *
thread_record(const char *run)
{
	const struct value *record = NULL;

	ck_assert_int_eq(store_run(trial.a, trial.arena, "t", run, &record), STORE_OK);
	return record;
}

const char *
thread_status(const char *run)
{
	return value_get_text(thread_record(run), "status");
}

void
thread_commit(struct store_claim *claim, const char *status, const char *head_status)
{
	struct arena *arena = trial.arena;
	int64_t number = (int64_t)claim->version;
	const struct value *range = value_array_add(arena,
	    value_array_add(arena, value_empty_array(), value_int(arena, number)),
	    value_int(arena, number));
	const struct value *order = value_array_add(arena, value_empty_array(), range);
	const struct value *fields = value_map(arena,
	    arena_printf(arena, "f%d", (int)number), value_int(arena, number), NULL);
	struct store_commit one = {
		.thread = "t",
		.run = claim->run,
		.epoch = claim->epoch,
		.version = claim->version,
		.id = arena_printf(arena, "%s.%d", claim->run, (int)number),
		.last_id = arena_printf(arena, "%s.%d", claim->run, (int)number - 1),
		.status = status,
		.head = value_map(arena, "run", value_str(arena, claim->run), "status",
		    value_str(arena, head_status), NULL),
		.order = order,
		.messages = value_array_add(arena, value_empty_array(),
		    value_map(arena, "type", value_str(arena, "human"), "content",
			value_str(arena, claim->run), NULL)),
		.fields = fields,
		.events = value_empty_array(),
		.run_fields = value_empty_map(),
	};

	one.checkpoint = value_map(arena, "version", value_int(arena, number + 1), "run",
	    value_str(arena, claim->run), "status", value_str(arena, head_status), "spec",
	    value_str(arena, "v1"), "first", value_int(arena, number), "count",
	    value_int(arena, 1), "at", value_int(arena, INT64_MAX / 2), "order", order,
	    "fields", fields, NULL);
	ck_assert_int_eq(store_commit(trial.a, arena, &one, &trial.committed), STORE_OK);
	claim->version = trial.committed.version;
}

void
thread_play(const char *run, unsigned count, const char *status)
{
	struct store_claim claim;

	trial_submit("t", run);
	trial_claim(trial.a, "t", STORE_THREAD_LEASE_MS, &claim);
	ck_assert_str_eq(claim.run, run);
	for (; count > 1; count--)
		thread_commit(&claim, "running", "running");
	thread_commit(&claim, status, status);
}

const struct value *
thread_state(void)
{
	const struct value *state = NULL;

	ck_assert_int_eq(store_thread(trial.a, trial.arena, "t", &state), STORE_OK);
	return state;
}
