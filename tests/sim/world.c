#include "world.h"

#include <stdlib.h>

/* --- time ------------------------------------------------------------------------------ */

#define ORDER_BITS 24

void
world_at(struct world *world, struct task *task, uint64_t at_ms)
{
	if (at_ms < world->now_ms)
		at_ms = world->now_ms;
	/* First come, first served, within a millisecond. */
	heap_put(&world->agenda, &task->node, at_ms << ORDER_BITS | world->order++);
}

void
world_after(struct world *world, struct task *task, uint64_t delay_ms)
{
	world_at(world, task, world->now_ms + delay_ms);
}

void
task_cancel(struct world *world, struct task *task)
{
	heap_remove(&world->agenda, &task->node);
}

#define TURN_MS 4u /* a long one */

bool
world_acks_due(struct world *world, struct task *task)
{
	if (task_waits(task))
		return false;
	world_after(
	    world, task, world->plan.ack_wait_ms + rng_below(&world->rng, TURN_MS));
	return true;
}

uint64_t
world_latency(struct world *world)
{
	uint64_t draw = rng_next(&world->rng);

	if (draw % 16 == 0) /* now and then a long one */
		return (draw >> 8) % (world->plan.latency_ms * 10 + 1);
	return (draw >> 8) % (world->plan.latency_ms + 1);
}

/* --- words ----------------------------------------------------------------------------- */

void
violate(struct world *world, const char *format, ...)
{
	va_list args;

	if (world->violation[0] != '\0')
		return;
	va_start(args, format);
	vsnprintf(world->violation, sizeof world->violation, format, args);
	va_end(args);
	TRACE(world, "VIOLATION: %s", world->violation);
}

void
world_trace(struct world *world, const char *format, ...)
{
	va_list args;

	printf("%7llu  ", (unsigned long long)world->now_ms);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

const char *
world_text(struct world *world, const char *format, ...)
{
	char text[256];
	va_list args;
	int size;

	va_start(args, format);
	size = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return region_copy(&world->region, text, (size_t)size);
}

/* --- processes ------------------------------------------------------------------------- */

static void
make_session(struct world *world, char *session)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t word = 0;
	unsigned i;

	for (i = 0; i < SESSION_BYTES; i++) {
		if (i % 16 == 0)
			word = rng_next(&world->rng);
		session[i] = digits[word & 15];
		word >>= 4;
	}
	session[SESSION_BYTES] = '\0';
}

void
process_begin(struct process *process)
{
	process->up = true;
	process->life++;
	process->frozen_until_ms = 0;
	process->turn_ms = process->world->now_ms;
	process->gap_ms = 0;
	make_session(process->world, process->session);
	TRACE(process->world, "%s starts, session %.4s", process->name, process->session);
}

bool
process_turn(struct process *process, struct task *task)
{
	struct world *world = process->world;

	if (!process->up)
		return false;
	if (world->now_ms < process->frozen_until_ms) {
		world_at(world, task, process->frozen_until_ms);
		return false;
	}
	if (world->now_ms > process->turn_ms + UINT64_C(2) * HEARTBEAT_MS)
		process->gap_ms = world->now_ms;
	process->turn_ms = world->now_ms;
	return true;
}

/* --- facts ----------------------------------------------------------------------------- */

/* "r2", "r2.3.1" */
struct run_fact *
run_fact_of(struct world *world, const char *id)
{
	return &world->runs[id[1] - '0'];
}

struct call_fact *
call_fact_of(struct world *world, const char *id)
{
	return &run_fact_of(world, id)->calls[id[3] - '0'][id[5] - '0'];
}

unsigned
run_steps(const struct run_fact *run)
{
	return 2 * run->rounds + 1;
}

unsigned
step_calls(const struct run_fact *run, unsigned step)
{
	return step % 2 == 1 ? 1 : run->tools[step / 2 - 1];
}
