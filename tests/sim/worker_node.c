/* worker_node: a worker: the outbox that ships, and calls that take a while, have an effect, and
 * sometimes take their worker down. After peer/worker.c. */
#include <string.h>

#include "world.h"

#define DRAIN_MS 4000u

static void feed(struct worker_node *worker, const struct outbox_event *event);

static struct worker_node *
worker_of(struct peer_node *peer)
{
	return (struct worker_node *)(void *)peer;
}

/* --- calls ----------------------------------------------------------------------------- */

static struct job *
job_find(struct worker_node *worker, const char *id)
{
	unsigned i;

	for (i = 0; i < JOBS; i++)
		if (worker->jobs[i].used && strcmp(worker->jobs[i].call->id, id) == 0)
			return &worker->jobs[i];
	return NULL;
}

/* The call's work is over, or was stopped before it was. */
static void
on_job_end(struct task *task)
{
	struct job *job = task->arg;
	struct worker_node *worker = job->worker;
	struct world *world = worker->peer.process.world;
	struct outbox_event event = { .type = OUTBOX_ENDED, .call_id = job->call->id };

	if (!process_turn(&worker->peer.process, task))
		return;
	if (!job->effect_first && !job->stopped)
		check_effect(world, job->call);
	event.interrupted = job->stopped;
	event.parcel = (struct parcel *)(void *)payload_new(world, job->execution);
	event.body_bytes = (size_t)(job->execution % 4) * CROSSING_BYTES_S; /* as if */
	job->call->good += !job->stopped;
	job->used = false;
	feed(worker, &event);
}

static uint64_t
job_time(struct world *world)
{
	if (rng_chance(&world->rng, world->plan.slow_percent))
		return rng_between(&world->rng, 500, world->plan.work_ms);
	return rng_between(&world->rng, 1, 60);
}

static void
start(struct worker_node *worker, const char *id)
{
	struct world *world = worker->peer.process.world;
	struct job *job = NULL;
	unsigned i;

	for (i = 0; i < JOBS && job == NULL; i++)
		if (!worker->jobs[i].used)
			job = &worker->jobs[i];
	if (job == NULL) {
		violate(world, "12: %s runs more than %u calls",
		    worker->peer.process.name, JOBS);
		return;
	}
	*job = (struct job){ .worker = worker, .used = true };
	job->call = call_fact_of(world, id);
	if (job->call->pinned && strcmp(job->call->pin, worker->pin) != 0)
		violate(world, "19: %s is for %s, and runs at %s", id, job->call->pin,
		    worker->pin);
	check_begin(world, job->call);
	job->execution = job->call->executions;
	job->effect_first = rng_chance(&world->rng, 50);
	job->task = (struct task){ .run = on_job_end, .arg = job };
	if (job->effect_first)
		check_effect(world, job->call);
	if (job->call->poison)
		worker->poisoned_by = job->call;
	world_after(world, &job->task, job_time(world));
}

static void
stop(struct worker_node *worker, const char *id)
{
	struct world *world = worker->peer.process.world;
	struct job *job = job_find(worker, id);

	if (job == NULL || job->stopped)
		return;
	if (rng_chance(&world->rng, 30))
		return; /* it was about to end, and ends well */
	job->stopped = true;
	world_after(world, &job->task, rng_below(&world->rng, 50));
}

/* --- the outbox ------------------------------------------------------------------------ */

static void
perform(struct worker_node *worker, const struct outbox_action *action)
{
	struct world *world = worker->peer.process.world;
	struct payload *payload = (struct payload *)(void *)action->parcel;

	switch (action->type) {
	case OUTBOX_SEND:
		session_send(&worker->peer, action->link, &action->header, payload);
		break;
	case OUTBOX_START:
		start(worker, action->header.call_id);
		break;
	case OUTBOX_START_PROBE:
		snprintf(worker->probe_id, sizeof worker->probe_id, "%s",
		    action->header.call_id);
		worker->probe_link = action->link;
		if (!task_waits(&worker->probe))
			world_after(world, &worker->probe, 1);
		break;
	case OUTBOX_STOP:
		stop(worker, action->header.call_id);
		break;
	case OUTBOX_FREE:
		payload_unref(world, payload);
		break;
	case OUTBOX_DRAINED:
		worker->drained = true;
		break;
	}
}

/* A call that is poison takes its process with it, and what else runs there. */
static void
die_of_poison(struct worker_node *worker)
{
	struct world *world = worker->peer.process.world;

	TRACE(world, "%s is taken down by %s", worker->peer.process.name,
	    worker->poisoned_by->id);
	worker->poisoned_by->kills++;
	world->workers_hurt = true;
	worker_stop(worker);
	if (!task_waits(&worker->peer.process.restart))
		world_after(world, &worker->peer.process.restart,
		    rng_between(&world->rng, 50, 500));
}

static void
feed(struct worker_node *worker, const struct outbox_event *event)
{
	struct outbox_actions actions =
	    outbox_step(worker->outbox, event, worker->peer.process.world->now_ms);
	size_t i;

	for (i = 0; i < actions.count; i++)
		perform(worker, &actions.items[i]);
	if (worker->poisoned_by != NULL)
		die_of_poison(worker);
	else if (worker->drained)
		worker_stop(worker);
}

/* The probe went the way that calls go. */
static void
on_probed(struct task *task)
{
	struct worker_node *worker = task->arg;

	if (process_turn(&worker->peer.process, task))
		feed(worker, &(struct outbox_event){ .type = OUTBOX_PROBED,
				 .link = worker->probe_link,
				 .call_id = worker->probe_id });
}

/* --- sessions -------------------------------------------------------------------------- */

static void
on_up(struct peer_node *peer, uint32_t link)
{
	feed(worker_of(peer), &(struct outbox_event){ .type = OUTBOX_UP, .link = link });
}

static void
on_down(struct peer_node *peer, uint32_t link)
{
	feed(
	    worker_of(peer), &(struct outbox_event){ .type = OUTBOX_DOWN, .link = link });
}

static void
on_leaving(struct peer_node *peer, uint32_t link)
{
	(void)peer;
	(void)link;
}

static void
on_message(struct peer_node *peer, uint32_t link, struct message *message)
{
	struct worker_node *worker = worker_of(peer);

	size_t finished = outbox_finished(worker->outbox);

	feed(worker,
	    &(struct outbox_event){
		.type = OUTBOX_MESSAGE, .link = link, .header = &message->header });
	if (worker->peer.process.up && outbox_finished(worker->outbox) < finished)
		check_forgotten(peer->process.world, message->header.call_id);
}

static void
fill(struct peer_node *peer, struct header *header)
{
	static const char *const names[] = { "model:m", "tool:a", "tool:b", "tool:c" };
	const struct plan *plan = &peer->process.world->plan;
	struct worker_node *worker = worker_of(peer);
	unsigned i;

	snprintf(
	    worker->pin, sizeof worker->pin, "worker:%s", worker->peer.process.session);
	worker->services[0] = (struct wire_service){ worker->pin, 0 };
	for (i = 0; i < sizeof names / sizeof *names; i++)
		worker->services[i + 1] = (struct wire_service){ names[i], 0 };
	header->services = worker->services;
	header->service_count = i + 1;
	/* Otherwise each is missing something: the last one all tools but the first. */
	if (!plan->shared_services && peer->process.index > 0)
		header->service_count = 3;
	outbox_report(worker_of(peer)->outbox, header);
	header->probes = header->type == MSG_HELLO;
}

static const struct peer_events events = {
	.on_up = on_up,
	.on_down = on_down,
	.on_leaving = on_leaving,
	.on_message = on_message,
	.fill = fill,
};

/* --- life ------------------------------------------------------------------------------ */

static void
on_tick(struct task *task)
{
	struct worker_node *worker = task->arg;
	unsigned link;

	if (!process_turn(&worker->peer.process, task))
		return;
	world_after(worker->peer.process.world, task, worker->peer.process.tick_every_ms);
	for (link = 0; link < worker->peer.process.world->plan.brokers; link++)
		session_check(&worker->peer, link);
	feed(worker, &(struct outbox_event){ .type = OUTBOX_TICK });
}

void
worker_start(struct worker_node *worker)
{
	struct world *world = worker->peer.process.world;
	unsigned link;

	process_begin(&worker->peer.process);
	worker->peer.events = &events;
	worker->outbox = outbox_new(world->plan.slots, 1);
	worker->drained = false;
	memset(worker->drain_heard, 0, sizeof worker->drain_heard);
	worker->poisoned_by = NULL;
	worker->probe = (struct task){ .run = on_probed, .arg = worker };
	worker->peer.process.tick = (struct task){ .run = on_tick, .arg = worker };
	world_after(
	    world, &worker->peer.process.tick, worker->peer.process.tick_every_ms);
	for (link = 0; link < world->plan.brokers; link++)
		session_start(&worker->peer, link);
}

static struct world *dropping;

static void
drop(struct parcel *parcel)
{
	payload_unref(dropping, (struct payload *)(void *)parcel);
}

void
worker_stop(struct worker_node *worker)
{
	struct world *world = worker->peer.process.world;
	unsigned i;

	if (!worker->peer.process.up)
		return;
	TRACE(world, "%s is gone%s", worker->peer.process.name,
	    worker->drained ? ", drained" : "");
	if (worker->drained)
		for (i = 0; i < world->plan.brokers; i++)
			session_bye(&worker->peer, i);
	worker->peer.process.up = false;
	task_cancel(world, &worker->peer.process.tick);
	task_cancel(world, &worker->probe);
	for (i = 0; i < JOBS; i++) {
		task_cancel(world, &worker->jobs[i].task);
		worker->jobs[i].used = false;
	}
	for (i = 0; i < world->plan.brokers; i++)
		dealer_close(&worker->peer, i);
	dropping = world;
	outbox_destroy(&worker->outbox, drop);
}

void
worker_drain_now(struct worker_node *worker)
{
	feed(
	    worker, &(struct outbox_event){ .type = OUTBOX_DRAIN, .drain_ms = DRAIN_MS });
}
