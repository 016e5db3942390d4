/* history: the past, as Redis has it. Each of its steps is checked against what it did before; when
 * a replica takes over that lacks the last of them, then against those it has: what survives must
 * be one history, too. Effects stay, and epochs that were given out: those of the lost time must
 * not be given to the same owner again. */
#include "world.h"

struct history {
	struct run_fact runs[RUNS];
	struct thread_fact threads[THREADS];
};

void
history_copy(struct world *world)
{
	world->replicated = region_alloc(&world->region, sizeof *world->replicated);
	memcpy(world->replicated->runs, world->runs, sizeof world->runs);
	memcpy(world->replicated->threads, world->threads, sizeof world->threads);
}

static void
restore_call(struct call_fact *call, const struct call_fact *old)
{
	call->stored = old->stored;
	call->value = old->value;
	call->given_up = old->given_up;
}

static void
restore_run(struct run_fact *run, const struct run_fact *old)
{
	unsigned step, index;

	run->known = old->known;
	run->cancel_asked = old->cancel_asked;
	run->over = old->over;
	run->cancel_epoch = old->cancel_epoch;
	run->blame = old->blame;
	run->next_step = old->next_step;
	run->floor = old->floor;
	run->unsaid = old->unsaid;
	for (step = 0; step < STEPS; step++)
		for (index = 0; index < CALLS; index++)
			restore_call(&run->calls[step][index], &old->calls[step][index]);
}

static void
restore_thread(struct thread_fact *thread, const struct thread_fact *old)
{
	thread->epoch = old->epoch;
	thread->owner = old->owner;
	thread->version = old->version;
	thread->messages = old->messages;
	thread->last_commit = old->last_commit;
	thread->last_end = old->last_end;
}

void
history_restore(struct world *world)
{
	unsigned i;

	for (i = 0; i < RUNS; i++)
		restore_run(&world->runs[i], &world->replicated->runs[i]);
	for (i = 0; i < THREADS; i++)
		restore_thread(&world->threads[i], &world->replicated->threads[i]);
}
