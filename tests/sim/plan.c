/* plan: what one seed means: the fleet, its runs, and what is done to them. */
#include "world.h"

const struct fault_text fault_texts[] = {
#define FAULT(name, text) { #name, text },
#include "sim_faults.def"
#undef FAULT
};

/* --- making it ------------------------------------------------------------------------- */

static void
make_call(struct rng *rng, struct run_fact *run, unsigned step, unsigned index)
{
	struct call_fact *call = &run->calls[step][index];

	snprintf(call->id, sizeof call->id, "r%u.%u.%u", run->index, step, index);
	call->run = run;
	call->step = step;
	call->index = index;
	call->once = step % 2 == 0 && rng_chance(rng, 35);
	call->poison = !call->once && rng_below(rng, 400) == 0;
}

static void
make_run(struct world *world, struct rng *rng, unsigned number)
{
	struct run_fact *run = &world->runs[number];
	unsigned step, index;

	snprintf(run->id, sizeof run->id, "r%u", number);
	run->index = number;
	run->world = world;
	run->thread = (unsigned)rng_below(rng, world->plan.threads);
	run->rounds = (unsigned)rng_below(rng, ROUNDS + 1);
	if (run->rounds > 1 && rng_chance(rng, 50))
		run->rounds = 1;
	for (step = 0; step < run->rounds; step++)
		run->tools[step] = (unsigned)rng_between(rng, 1, CALLS);
	for (step = 1; step <= run_steps(run); step++)
		for (index = 0; index < step_calls(run, step); index++)
			make_call(rng, run, step, index);
	run->submit_ms = START_MS + 50 + rng_below(rng, 600);
	if (rng_chance(rng, 8))
		run->cancel_ms = run->submit_ms + rng_below(rng, 2500);
}

/* Of half the plans, drawn last of all: the others are what they were before there were pins, and find
 * what they found. */
static void
pin_calls(struct rng *rng, struct run_fact *run)
{
	unsigned step, index;

	for (step = 2; step <= run_steps(run); step += 2)
		for (index = 0; index < step_calls(run, step); index++)
			run->calls[step][index].pinned = rng_chance(rng, 30);
}

static void
make_fault(struct world *world, struct rng *rng, struct fault *fault)
{
	static const enum fault_type rare[] = { FAULT_CLOCK_JUMP, FAULT_FAILOVER };

	/* Those two are the last: what they excuse must not hide the rest. */
	fault->type = (enum fault_type)rng_below(rng, FAULT_CLOCK_JUMP);
	if (rng_below(rng, 25) == 0)
		fault->type = rare[rng_below(rng, 2)];
	fault->target = (unsigned)rng_next(rng);
	fault->other = (unsigned)rng_next(rng);
	fault->at_ms = START_MS + 60 + rng_below(rng, 1800);
	fault->lasting_ms =
	    rng_chance(rng, 50) ? rng_below(rng, 500) : rng_below(rng, 3500);
	/* One half is short; the other long enough for others to have its runs and to end them. */
	if (fault->type == FAULT_CUT_REDIS)
		fault->lasting_ms = fault->other % 2 == 0 ? 0 : 3 * fault->lasting_ms;
	if (fault->at_ms + fault->lasting_ms > world->plan.heal_ms)
		world->plan.heal_ms = fault->at_ms + fault->lasting_ms;
}

static void
make_fleet(struct plan *plan, struct rng *rng)
{
	*plan = (struct plan){
		.brokers = 1,
		.workers = (unsigned)rng_between(rng, 1, 3),
		.coordinators = (unsigned)rng_between(rng, 1, 3),
		.threads = (unsigned)rng_between(rng, 1, THREADS),
		.runs = (unsigned)rng_between(rng, 1, 3),
		.latency_ms = rng_chance(rng, 70) ? 2 : rng_below(rng, 40),
		.heartbeat_ms = 600,
		.heal_ms = START_MS + 700,
		.deadline_ms = rng_chance(rng, 95) ? 600000 : rng_between(rng, 500, 4000),
		.work_ms = rng_between(rng, 600, 4000),
		.slow_percent = (unsigned)rng_below(rng, 50),
		.slots = (unsigned)rng_between(rng, 1, 4),
		.shared_services = rng_chance(rng, 70),
		.fault_count = (unsigned)rng_below(rng, 6),
	};
	if (rng_chance(rng, 40))
		plan->brokers = (unsigned)rng_between(rng, 2, BROKERS);
	/* Now and then a storm. */
	if (rng_chance(rng, 5))
		plan->fault_count = FAULTS;
}

static void
name_process(
    struct world *world, struct process *process, enum process_kind kind, unsigned index)
{
	static const char letters[] = "bwcR";

	process->world = world;
	process->kind = kind;
	process->index = index;
	process->life = 0;
	process->up = false;
	process->restart = (struct task){ .run = process_restart, .arg = process };
	process->tick_every_ms = 100 + 20 * index;
	snprintf(process->name, sizeof process->name, "%c%u", letters[kind], index);
}

static void
name_all(struct world *world)
{
	unsigned i;

	for (i = 0; i < BROKERS; i++)
		name_process(world, &world->brokers[i].process, PROCESS_BROKER, i);
	for (i = 0; i < WORKERS; i++)
		name_process(world, &world->workers[i].peer.process, PROCESS_WORKER, i);
	for (i = 0; i < COORDINATORS; i++)
		name_process(
		    world, &world->coordinators[i].peer.process, PROCESS_COORDINATOR, i);
	name_process(world, &world->redis.process, PROCESS_REDIS, 0);
	for (i = 0; i < THREADS; i++) {
		struct thread_fact *thread = &world->threads[i];

		snprintf(thread->id, sizeof thread->id, "t%u", i);
		snprintf(thread->key, sizeof thread->key, "%st:t%u", SIM_PREFIX, i);
	}
}

void
plan_make(struct world *world, uint64_t seed, uint64_t without)
{
	struct rng rng = { seed * 0x2545f4914f6cdd1d };
	struct plan *plan = &world->plan;
	unsigned i;

	rng_next(&rng);
	world->seed = seed;
	make_fleet(plan, &rng);
	plan->gathers = seed % 3 != 0; /* else everybody is of the time before that */
	plan->ack_wait_ms = seed % 3 == 1 ? ACK_WAIT_MS : 0;
	for (i = 0; i < plan->runs; i++)
		make_run(world, &rng, i);
	for (i = 0; i < plan->fault_count; i++) {
		make_fault(world, &rng, &plan->faults[i]);
		plan->faults[i].skipped = (without >> i & 1) != 0;
	}
	plan->heal_ms += 100;
	name_all(world);
	/* From here on chance is the world's: faults taken out change it, and nothing else. */
	world->rng.state = rng_next(&rng);
	for (i = 0; i < plan->runs && seed % 2 == 0; i++)
		pin_calls(&rng, &world->runs[i]);
}

/* --- telling it ------------------------------------------------------------------------ */

void
plan_print(const struct world *world)
{
	const struct plan *plan = &world->plan;
	unsigned i;

	printf("seed %llu: %u brokers, %u workers with %u slots, %u coordinators, %u "
	       "runs on "
	       "%u threads; latency %llu ms, calls to %llu ms, healed at %llu ms\n",
	    (unsigned long long)world->seed, plan->brokers, plan->workers, plan->slots,
	    plan->coordinators, plan->runs, plan->threads,
	    (unsigned long long)plan->latency_ms, (unsigned long long)plan->work_ms,
	    (unsigned long long)plan->heal_ms);
	for (i = 0; i < plan->fault_count; i++) {
		const struct fault *fault = &plan->faults[i];

		printf("  fault %u%s: at %llu for %llu ms: %s (%u)\n", i,
		    fault->skipped ? ", left out" : "", (unsigned long long)fault->at_ms,
		    (unsigned long long)fault->lasting_ms, fault_texts[fault->type].text,
		    fault->target);
	}
}
