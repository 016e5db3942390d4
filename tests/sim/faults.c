/* faults: what is done to the fleet, what its users do, and how all is healed in the end. */
#include "world.h"

/* --- processes ------------------------------------------------------------------------- */

static void
start_process(struct process *process)
{
	switch (process->kind) {
	case PROCESS_BROKER:
		broker_start((struct broker_node *)(void *)process);
		break;
	case PROCESS_WORKER:
		worker_start((struct worker_node *)(void *)process);
		break;
	case PROCESS_COORDINATOR:
		coordinator_start((struct coordinator_node *)(void *)process);
		break;
	case PROCESS_REDIS:
		redis_start((struct redis_node *)(void *)process);
		break;
	}
}

static void
stop_process(struct process *process)
{
	switch (process->kind) {
	case PROCESS_BROKER:
		broker_stop((struct broker_node *)(void *)process);
		break;
	case PROCESS_WORKER:
		worker_stop((struct worker_node *)(void *)process);
		break;
	case PROCESS_COORDINATOR:
		coordinator_stop((struct coordinator_node *)(void *)process);
		break;
	case PROCESS_REDIS:
		redis_stop((struct redis_node *)(void *)process);
		break;
	}
}

/* Also of one that is draining still: then it is killed. */
void
process_restart(struct task *task)
{
	struct process *process = task->arg;

	stop_process(process);
	start_process(process);
}

static void
restart_at(struct process *process, uint64_t at_ms)
{
	if (task_waits(&process->restart) || process->world->healed)
		return;
	world_at(process->world, &process->restart, at_ms);
}

/* --- faults ---------------------------------------------------------------------------- */

static void
crash(struct fault *fault, struct process *process)
{
	if (!process->up)
		return;
	stop_process(process);
	restart_at(process, process->world->now_ms + 1 + fault->lasting_ms);
}

static void
freeze(struct fault *fault, struct process *process)
{
	uint64_t until_ms = process->world->now_ms + fault->lasting_ms;

	if (process->up && until_ms > process->frozen_until_ms)
		process->frozen_until_ms = until_ms;
}

static void
drain(struct fault *fault, struct process *process)
{
	uint64_t now_ms = process->world->now_ms;

	if (!process->up || now_ms < process->frozen_until_ms)
		return;
	restart_at(process, now_ms + 500 + fault->lasting_ms);
	if (process->kind == PROCESS_BROKER)
		broker_leave((struct broker_node *)(void *)process);
	else if (process->kind == PROCESS_WORKER)
		worker_drain_now((struct worker_node *)(void *)process);
	else
		coordinator_drain_now((struct coordinator_node *)(void *)process);
}

static void
cut(struct fault *fault, struct process *process)
{
	struct peer_node *peer = (struct peer_node *)(void *)process;
	struct connection *connection =
	    peer->dealers[fault->other % fault->world->plan.brokers].connection;

	if (process->up && connection != NULL)
		net_cut(fault->world, connection);
}

static void
block(struct fault *fault, struct process *process)
{
	unsigned ways = fault->other / 16 % 3;

	if (process->up)
		net_block((struct peer_node *)(void *)process,
		    fault->other % fault->world->plan.brokers,
		    fault->world->now_ms + fault->lasting_ms, ways != 0, ways != 1);
}

static void
cut_redis(struct fault *fault, struct process *process)
{
	if (process->up)
		redis_cut((struct coordinator_node *)(void *)process, fault->lasting_ms);
}

static void
jump(struct fault *fault, struct process *process)
{
	(void)process;
	fault->world->redis.clock_shift_ms += (int64_t)(fault->other % 7200000) - 3600000;
}

/* The copy first, then, when some has been written that it lacks, the failover. */
static void
fail_over(struct fault *fault, struct process *process)
{
	struct world *world = fault->world;
	unsigned i;

	(void)process;
	if (!fault->copied) {
		fault->copied = true;
		redis_memory_copy(world->redis.memory);
		history_copy(world);
		world_after(world, &fault->task, fault->lasting_ms);
		return;
	}
	redis_memory_restore(world->redis.memory);
	history_restore(world);
	world->failed_over = true;
	for (i = 0; i < world->plan.coordinators; i++)
		if (world->coordinators[i].peer.process.up)
			redis_cut(&world->coordinators[i], 0);
}

static const struct {
	void (*act)(struct fault *fault, struct process *process);
	enum process_kind whom;
} deeds[] = {
	[FAULT_CRASH_BROKER] = { crash, PROCESS_BROKER },
	[FAULT_CRASH_WORKER] = { crash, PROCESS_WORKER },
	[FAULT_CRASH_COORDINATOR] = { crash, PROCESS_COORDINATOR },
	[FAULT_CRASH_REDIS] = { crash, PROCESS_REDIS },
	[FAULT_FREEZE_BROKER] = { freeze, PROCESS_BROKER },
	[FAULT_FREEZE_WORKER] = { freeze, PROCESS_WORKER },
	[FAULT_FREEZE_COORDINATOR] = { freeze, PROCESS_COORDINATOR },
	[FAULT_FREEZE_REDIS] = { freeze, PROCESS_REDIS },
	[FAULT_CUT_WORKER] = { cut, PROCESS_WORKER },
	[FAULT_CUT_COORDINATOR] = { cut, PROCESS_COORDINATOR },
	[FAULT_BLOCK_WORKER] = { block, PROCESS_WORKER },
	[FAULT_BLOCK_COORDINATOR] = { block, PROCESS_COORDINATOR },
	[FAULT_CUT_REDIS] = { cut_redis, PROCESS_COORDINATOR },
	[FAULT_DRAIN_BROKER] = { drain, PROCESS_BROKER },
	[FAULT_DRAIN_WORKER] = { drain, PROCESS_WORKER },
	[FAULT_DRAIN_COORDINATOR] = { drain, PROCESS_COORDINATOR },
	[FAULT_CLOCK_JUMP] = { jump, PROCESS_REDIS },
	[FAULT_FAILOVER] = { fail_over, PROCESS_REDIS },
};

static struct process *
target_of(struct fault *fault, enum process_kind kind)
{
	struct world *world = fault->world;
	const struct plan *plan = &world->plan;

	switch (kind) {
	case PROCESS_BROKER:
		return &world->brokers[fault->target % plan->brokers].process;
	case PROCESS_WORKER:
		return &world->workers[fault->target % plan->workers].peer.process;
	case PROCESS_COORDINATOR:
		return &world->coordinators[fault->target % plan->coordinators]
			    .peer.process;
	case PROCESS_REDIS:
	default:
		return &world->redis.process;
	}
}

static void
on_fault(struct task *task)
{
	struct fault *fault = task->arg;
	struct process *process = target_of(fault, deeds[fault->type].whom);

	TRACE(fault->world, "FAULT %s %s for %llu ms", fault_texts[fault->type].name,
	    process->name, (unsigned long long)fault->lasting_ms);
	if (deeds[fault->type].whom == PROCESS_WORKER)
		fault->world->workers_hurt = true;
	if (deeds[fault->type].whom == PROCESS_BROKER)
		fault->world->brokers_hurt = true;
	deeds[fault->type].act(fault, process);
}

/* --- users ----------------------------------------------------------------------------- */

static bool
redis_answers(const struct world *world)
{
	return world->redis.process.up &&
	       world->now_ms >= world->redis.process.frozen_until_ms;
}

/* XADD fl:inbox: with its answer the run is promised. */
static void
on_submit(struct task *task)
{
	struct run_fact *run = task->arg;
	struct world *world = run->world;

	if (!redis_answers(world)) {
		world_after(world, task, 50);
		return;
	}
	run->submitted = run->inbox = true;
}

static void
on_cancel(struct task *task)
{
	struct run_fact *run = task->arg;
	struct world *world = run->world;
	const struct thread_fact *thread = &world->threads[run->thread];
	const char *const args[] = { thread->key, SIM_PREFIX, thread->id, run->id };
	struct reply reply;

	if (!redis_answers(world)) {
		world_after(world, task, 50);
		return;
	}
	reply = redis_memory_call(
	    world->redis.memory, "fl_cancel", args, 4, redis_clock_ms(world));
	if (reply.type != REPLY_ARRAY) {
		violate(world, "fl_cancel fails: %s", reply.text);
		return;
	}
	TRACE(world, "cancel %s: %s", run->id, reply.items[0].text);
	if (strcmp(reply.items[0].text, "CANCELLED") == 0)
		run->over = run->was_over = true;
	else if (strcmp(reply.items[0].text, "CANCELLING") == 0)
		run->cancel_asked = run->was_cancelled = true;
}

void
faults_start(struct world *world)
{
	struct plan *plan = &world->plan;
	unsigned i;

	redis_start(&world->redis);
	for (i = 0; i < plan->brokers; i++)
		broker_start(&world->brokers[i]);
	for (i = 0; i < plan->workers; i++)
		worker_start(&world->workers[i]);
	for (i = 0; i < plan->coordinators; i++)
		coordinator_start(&world->coordinators[i]);
	for (i = 0; i < plan->runs; i++) {
		struct run_fact *run = &world->runs[i];

		run->submit = (struct task){ .run = on_submit, .arg = run };
		world_at(world, &run->submit, run->submit_ms);
		run->cancel = (struct task){ .run = on_cancel, .arg = run };
		if (run->cancel_ms > 0)
			world_at(world, &run->cancel, run->cancel_ms);
	}
	for (i = 0; i < plan->fault_count; i++) {
		plan->faults[i].world = world;
		plan->faults[i].task =
		    (struct task){ .run = on_fault, .arg = &plan->faults[i] };
		if (!plan->faults[i].skipped)
			world_at(world, &plan->faults[i].task, plan->faults[i].at_ms);
	}
}

/* --- healing --------------------------------------------------------------------------- */

static void
heal(struct process *process)
{
	if (process->frozen_until_ms > process->world->now_ms)
		process->frozen_until_ms = process->world->now_ms;
	if (!process->up && !task_waits(&process->restart))
		start_process(process);
}

/* From now on nothing happens any more but what the fleet does itself, and that restarts end. */
void
world_heal(struct world *world)
{
	const struct plan *plan = &world->plan;
	unsigned i;

	TRACE(world, "HEALED");
	for (i = 0; i < plan->fault_count; i++)
		task_cancel(world, &world->plan.faults[i].task);
	net_unblock(world);
	heal(&world->redis.process);
	for (i = 0; i < plan->brokers; i++)
		heal(&world->brokers[i].process);
	for (i = 0; i < plan->workers; i++)
		heal(&world->workers[i].peer.process);
	for (i = 0; i < plan->coordinators; i++)
		heal(&world->coordinators[i].peer.process);
	world->healed = true;
}

void
plan_end(struct world *world)
{
	const struct plan *plan = &world->plan;
	unsigned i;

	for (i = 0; i < plan->coordinators; i++)
		stop_process(&world->coordinators[i].peer.process);
	for (i = 0; i < plan->workers; i++)
		stop_process(&world->workers[i].peer.process);
	for (i = 0; i < plan->brokers; i++)
		stop_process(&world->brokers[i].process);
}
