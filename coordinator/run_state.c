/* run_state: a run's state, made of what is stored; what of it goes to a tool; and what the run leaves of it to the
 * thread's next run, which then begins with what is new. */
#include "run.h"

#include "bounds.h"
#include "warm.h"

enum go
run_restore(struct run *run, const struct store_claim *claim)
{
	struct warm *warm = store_warm(run->coordinator->store);
	struct thread *left = warm_take_left(warm, run->thread, run->epoch);
	struct state_stored stored = {
		.messages = claim->messages,
		.outlive = claim->kept != NULL,
		.order = claim->order,
		.fields = claim->fields,
		.left = &left,
	};
	long damaged;

	run->state = state_new(run->agent->spec);
	if (claim->kept != NULL)
		warm_lend(claim->kept, state_arena(run->state));
	state_restore(run->state, &stored);
	state_left_destroy(&left);
	damaged = state_find_damaged(run->state);
	if (damaged != -1) {
		state_destroy(&run->state);
		/* A disk, a hand or a restore did it, and everybody relies on their form. */
		return run_fail(run, "RuntimeError",
		    "message %ld of thread '%s' is damaged in Redis: restore its list "
		    "%s:m",
		    damaged, run->thread, store_thread_key(run->arena, run->thread));
	}
	run->numbered = (uint32_t)value_size(claim->messages);
	return GO_ON;
}

const struct value *
run_tool_state(struct run *run, struct arena *arena, const struct value *definition)
{
	const struct value *names = run->agent->spec->tool_reads;
	const struct value *reads = value_get(definition, "reads");

	if (value_is(reads, VALUE_ARRAY) && value_size(reads) <= STATE_FIELDS_MAX)
		names = value_array_concat(arena, names, reads);
	return state_slice(run->state, arena, names);
}

static void
destroy_left(void *data)
{
	struct thread *left = data;

	state_left_destroy(&left);
}

void
run_leave(struct run *run)
{
	struct warm *warm = store_warm(run->coordinator->store);
	struct warm_left left = { .destroy = destroy_left };
	const struct value *stored = NULL;

	if (run->state != NULL && run->fault == NULL)
		stored =
		    warm_at_end(warm, run->arena, run->thread, run->epoch, run->version);
	if (stored != NULL)
		left.data = state_leave(run->state, stored);
	if (left.data != NULL) {
		left.bytes = state_left_bytes(left.data);
		warm_leave(warm, run->thread, &left);
	}
	state_destroy(&run->state);
}
