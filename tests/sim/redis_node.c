/* redis_node: Redis as a process: one request after the other, each coordinator on a connection of
 * its own, in order. When one breaks, what was asked on it may have been done, may not, or may be
 * done a while later: the kernel goes on delivering what was written to a closed socket. */
#include <stdlib.h>

#include "world.h"

#define BACK_MS 200u /* until a client is connected again */

uint64_t
redis_clock_ms(const struct world *world)
{
	return (uint64_t)((int64_t)(1700000000000 + world->now_ms) +
			  world->redis.clock_shift_ms);
}

static void
forget_request(struct coordinator_node *coordinator, struct redis_request *request)
{
	struct redis_request **at = &coordinator->first;

	while (*at != NULL && *at != request)
		at = &(*at)->next;
	if (*at != NULL)
		*at = request->next;
}

static void
on_answer(struct task *task)
{
	struct redis_request *request = task->arg;
	struct coordinator_node *coordinator = request->coordinator;

	if (coordinator->peer.process.life != request->coordinator_life ||
	    request->lost || !process_turn(&coordinator->peer.process, task))
		return;
	forget_request(coordinator, request);
	request->answer(request, &request->reply);
}

static void
on_request(struct task *task)
{
	struct redis_request *request = task->arg;
	struct coordinator_node *coordinator = request->coordinator;
	struct world *world = coordinator->peer.process.world;
	uint64_t due_ms;

	if (!world->redis.process.up) {
		/* It waits in its client; what was on the wire has been lost. */
		if (request->lost)
			return;
		coordinator->redis_due_ms = world->now_ms + BACK_MS;
		world_after(world, task, BACK_MS);
		return;
	}
	if (!process_turn(&world->redis.process, task))
		return;
	request->reply = redis_memory_call(world->redis.memory, request->function,
	    request->args, request->count, redis_clock_ms(world));
	check_step(world, request, &request->reply);
	if (request->lost || coordinator->peer.process.life != request->coordinator_life)
		return;
	due_ms = world->now_ms + world_latency(world);
	if (due_ms < coordinator->answer_due_ms)
		due_ms = coordinator->answer_due_ms;
	coordinator->answer_due_ms = due_ms;
	request->arrived = true;
	request->task.run = on_answer;
	world_at(world, task, due_ms);
}

struct redis_request *
redis_send(struct coordinator_node *coordinator, const char *function,
    const char *const *args, size_t count, redis_answer_fn *answer, void *arg)
{
	struct world *world = coordinator->peer.process.world;
	struct redis_request *request = region_alloc(&world->region, sizeof *request);
	struct redis_request **at = &coordinator->first;
	uint64_t due_ms;
	size_t i;

	request->task = (struct task){ .run = on_request, .arg = request };
	request->coordinator = coordinator;
	request->coordinator_life = coordinator->peer.process.life;
	request->function = function;
	for (i = 0; i < count; i++)
		request->args[i] = region_copy(&world->region, args[i], strlen(args[i]));
	request->count = count;
	request->answer = answer;
	request->arg = arg;
	while (*at != NULL)
		at = &(*at)->next;
	*at = request;
	due_ms = world->now_ms + world_latency(world);
	if (due_ms < coordinator->redis_back_ms)
		due_ms = coordinator->redis_back_ms;
	if (due_ms < coordinator->redis_due_ms)
		due_ms = coordinator->redis_due_ms;
	coordinator->redis_due_ms = due_ms;
	world_at(world, &request->task, due_ms);
	return request;
}

static void
on_lost(struct task *task)
{
	struct redis_request *request = task->arg;
	struct coordinator_node *coordinator = request->coordinator;

	if (coordinator->peer.process.life != request->coordinator_life ||
	    !process_turn(&coordinator->peer.process, task))
		return;
	request->answer(request, NULL);
}

/* The client hears that it is lost; the request itself may still be on its way. */
static void
lose(struct redis_request *request, bool redis_is_gone)
{
	struct world *world = request->coordinator->peer.process.world;
	struct task *notice = region_alloc(&world->region, sizeof *notice);

	request->lost = true;
	*notice = (struct task){ .run = on_lost, .arg = request };
	world_after(world, notice, world_latency(world));
	if (request->arrived || redis_is_gone || rng_chance(&world->rng, 50))
		task_cancel(world, &request->task);
	else
		world_after(world, &request->task, rng_below(&world->rng, 1000));
}

static void
cut(struct coordinator_node *coordinator, bool redis_is_gone, uint64_t for_ms)
{
	struct world *world = coordinator->peer.process.world;
	struct redis_request *request = coordinator->first, *next;

	coordinator->first = NULL;
	for (; request != NULL; request = next) {
		next = request->next;
		request->next = NULL;
		lose(request, redis_is_gone);
	}
	coordinator->redis_back_ms =
	    world->now_ms + for_ms + rng_between(&world->rng, 1, BACK_MS);
}

void
redis_cut(struct coordinator_node *coordinator, uint64_t for_ms)
{
	cut(coordinator, false, for_ms);
}

void
redis_start(struct redis_node *redis)
{
	process_begin(&redis->process);
}

/* Requests that come while it is gone wait for it: redis_call tries again for as long. */
void
redis_stop(struct redis_node *redis)
{
	struct world *world = redis->process.world;
	unsigned i;

	redis->process.up = false;
	for (i = 0; i < world->plan.coordinators; i++)
		cut(&world->coordinators[i], true, 0);
}
