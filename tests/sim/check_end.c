/* check_end: when a schedule is over, and what may be left then: nothing. */
#include "world.h"

static const char *
status_of(struct world *world, const struct run_fact *run)
{
	return redis_memory_field(
	    world->redis.memory, world_text(world, SIM_PREFIX "r:%s", run->id), "status");
}

static bool
is_over(struct world *world, const struct run_fact *run)
{
	const char *status;

	if (!world->failed_over)
		return !run->submitted || run->over;
	if (!run->submitted || run->inbox)
		return !run->submitted;
	status = status_of(world, run); /* NULL: the replica had never heard of it */
	return status == NULL ||
	       (strcmp(status, "queued") != 0 && strcmp(status, "running") != 0);
}

bool
runs_over(struct world *world)
{
	unsigned i;

	for (i = 0; i < world->plan.runs; i++)
		if (!is_over(world, &world->runs[i]))
			return false;
	return true;
}

bool
everybody_is_up(const struct world *world)
{
	unsigned i;

	for (i = 0; i < world->plan.brokers; i++)
		if (!world->brokers[i].process.up || world->brokers[i].leaving)
			return false;
	for (i = 0; i < world->plan.workers; i++)
		if (!world->workers[i].peer.process.up)
			return false;
	for (i = 0; i < world->plan.coordinators; i++)
		if (!world->coordinators[i].peer.process.up)
			return false;
	return world->redis.process.up;
}

/* Returns NULL, or what is not at rest yet. */
const char *
world_unrest(struct world *world)
{
	unsigned i, state;

	if (!everybody_is_up(world))
		return "a process is away";
	for (i = 0; i < world->plan.coordinators; i++)
		if (!coordinator_idle(&world->coordinators[i]))
			return "a coordinator holds a run or a call";
	for (i = 0; i < world->plan.brokers; i++)
		for (state = 0; state < CALL_STATES; state++)
			if (core_calls(world->brokers[i].core, state) > 0)
				return "a broker knows a call";
	for (i = 0; i < world->plan.workers; i++)
		if (outbox_running(world->workers[i].outbox) > 0 ||
		    outbox_finished(world->workers[i].outbox) > 0)
			return "a worker's outbox is not empty";
	return NULL;
}

static void
check_run_left(struct world *world, const struct run_fact *run)
{
	const char *status = status_of(world, run);

	if (!run->submitted)
		return;
	if (status == NULL && !world->failed_over)
		violate(world, "1: %s is lost", run->id);
	if (redis_memory_size(
		world->redis.memory, world_text(world, SIM_PREFIX "r:%s:w", run->id)) > 0)
		violate(world, "9: results of %s are left behind", run->id);
}

void
check_end(struct world *world)
{
	const struct redis_memory *memory = world->redis.memory;
	const char *unrest = world_unrest(world);
	unsigned i;

	for (i = 0; i < world->plan.runs; i++)
		check_run_left(world, &world->runs[i]);
	for (i = 0; i < world->plan.threads; i++) {
		const struct thread_fact *thread = &world->threads[i];
		const char *run = redis_memory_field(memory, thread->key, "run");

		if (run != NULL && run[0] != '\0')
			violate(world, "9: %s still names %s", thread->id, run);
		if (redis_memory_size(memory, world_text(world, "%s:q", thread->key)) > 0)
			violate(world, "9: a run waits for %s", thread->id);
		if (redis_memory_size(memory, world_text(world, "%s:m", thread->key)) !=
		    thread->messages)
			violate(world, "7: %s has messages that nobody committed",
			    thread->id);
	}
	if (redis_memory_size(memory, SIM_DUE) > 0)
		violate(world, "9: a thread is due, and nothing is on it");
	if (redis_memory_size(memory, SIM_PREFIX "cancels") > 0)
		violate(world, "9: somebody is still to be cancelled");
	if (unrest != NULL)
		violate(world, "15: %s in the end", unrest);
	for (i = 0; i < world->plan.brokers; i++)
		check_broker(&world->brokers[i]);
}
