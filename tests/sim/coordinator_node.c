/* coordinator_node: a coordinator around its runs (owner.c): the ledger that ships, the inbox, and
 * leases; after coordinator/coordinator.c, shards.c, inbox.c and peer/caller.c. */
#include "world.h"

#define ORPHAN_MS                                                                        \
	3000u /* inbox.c: an entry that its reader has not finished is taken over */
#define DRAIN_MS_MAX 10000u

static struct coordinator_node *
coordinator_of(struct peer_node *peer)
{
	return (struct coordinator_node *)(void *)peer;
}

static struct world *
world_of(const struct coordinator_node *coordinator)
{
	return coordinator->peer.process.world;
}

/* --- the ledger ------------------------------------------------------------------------ */

static void
note(struct coordinator_node *coordinator, struct held_call *call, enum news news,
    const struct header *header)
{
	call->news = news;
	if (header != NULL) {
		call->code = (enum wire_code)header->code;
		call->value = coordinator->incoming != NULL &&
				      coordinator->incoming->payload != NULL
				  ? coordinator->incoming->payload->value
				  : 0;
	}
	if (!task_waits(&coordinator->wake))
		world_after(world_of(coordinator), &coordinator->wake, 0);
}

static void
do_send(struct coordinator_node *coordinator, const struct ledger_action *action)
{
	if (session_send(&coordinator->peer, action->link, &action->header,
		(struct payload *)(void *)action->cargo) == -1 &&
	    action->header.type == MSG_CALL)
		coordinator->unsent[coordinator->unsent_count++] =
		    world_text(world_of(coordinator), "%s", action->header.call_id);
}

static void
perform(struct coordinator_node *coordinator, const struct ledger_action *action)
{
	struct held_call *call = (struct held_call *)(void *)action->waiter;

	switch (action->type) {
	case LEDGER_SEND:
		do_send(coordinator, action);
		break;
	case LEDGER_DELIVER:
		note(coordinator, call, NEWS_DELIVERED, &action->header);
		break;
	case LEDGER_REVOKE:
		note(coordinator, call, NEWS_REVOKED, NULL);
		break;
	case LEDGER_ENDED:
		if (!task_waits(&coordinator->wake))
			world_after(world_of(coordinator), &coordinator->wake, 0);
		break;
	case LEDGER_FREE:
		payload_unref(
		    world_of(coordinator), (struct payload *)(void *)action->cargo);
		break;
	}
}

static void
step(struct coordinator_node *coordinator, const struct ledger_event *event)
{
	struct ledger_actions actions =
	    ledger_step(coordinator->ledger, event, world_of(coordinator)->now_ms);
	size_t i;

	for (i = 0; i < actions.count; i++)
		perform(coordinator, &actions.items[i]);
}

void
coordinator_feed(struct coordinator_node *coordinator, const struct ledger_event *event)
{
	unsigned i;

	step(coordinator, event);
	for (i = 0; i < coordinator->unsent_count; i++)
		step(coordinator, &(struct ledger_event){ .type = LEDGER_UNSENT,
				      .id = coordinator->unsent[i] });
	coordinator->unsent_count = 0;
}

/* The fibers' turn. */
static void
on_wake(struct task *task)
{
	struct coordinator_node *coordinator = task->arg;
	unsigned i;

	if (!process_turn(&coordinator->peer.process, task))
		return;
	for (i = 0; i < THREADS; i++)
		owner_wake(&coordinator->held[i]);
}

/* --- sessions -------------------------------------------------------------------------- */

static void
on_up(struct peer_node *peer, uint32_t link)
{
	coordinator_feed(coordinator_of(peer),
	    &(struct ledger_event){ .type = LEDGER_UP, .link = link });
}

static void
on_down(struct peer_node *peer, uint32_t link)
{
	coordinator_feed(coordinator_of(peer),
	    &(struct ledger_event){ .type = LEDGER_DOWN, .link = link });
}

static void
on_leaving(struct peer_node *peer, uint32_t link)
{
	coordinator_feed(coordinator_of(peer),
	    &(struct ledger_event){ .type = LEDGER_LEAVING, .link = link });
}

static void
on_message(struct peer_node *peer, uint32_t link, struct message *message)
{
	struct coordinator_node *coordinator = coordinator_of(peer);

	switch (message->header.type) {
	case MSG_CALL_ACK:
	case MSG_BUSY:
	case MSG_RELEASE:
	case MSG_RESULT:
		coordinator->incoming = message;
		coordinator_feed(
		    coordinator, &(struct ledger_event){ .type = LEDGER_MESSAGE,
				     .link = link,
				     .header = &message->header });
		coordinator->incoming = NULL;
		break;
	default:
		break; /* OFFER and WITHDRAW are the catalog's */
	}
}

static void
fill(struct peer_node *peer, struct header *header)
{
	(void)peer;
	header->capacity = THREADS;
}

static const struct peer_events events = {
	.on_up = on_up,
	.on_down = on_down,
	.on_leaving = on_leaving,
	.on_message = on_message,
	.fill = fill,
};

/* --- claiming -------------------------------------------------------------------------- */

void
coordinator_claim(struct coordinator_node *coordinator, unsigned thread)
{
	struct held_run *run = &coordinator->held[thread];

	if (run->state != RUN_NONE)
		run->more_wait = true;
	else if (!coordinator->draining)
		owner_begin(run);
}

/* --- the inbox ------------------------------------------------------------------------- */

static void on_submitted(struct redis_request *request, const struct reply *reply);

static void
submit(struct coordinator_node *coordinator, struct run_fact *run, unsigned tries)
{
	struct world *world = world_of(coordinator);
	const struct thread_fact *thread = &world->threads[run->thread];
	const char *const args[] = { thread->key, SIM_PREFIX, thread->id, run->id,
		"agent", "a" };

	redis_send(coordinator, "fl_submit", args, 6, on_submitted, run)->arg_life =
	    tries;
}

/* Moving is idempotent by run id; the entry goes when it is done (arrival.c: submit). */
static void
on_submitted(struct redis_request *request, const struct reply *reply)
{
	struct run_fact *run = request->arg;

	if (reply == NULL && request->arg_life == 0) {
		submit(request->coordinator, run, 1);
	} else if (reply != NULL) {
		run->inbox = false;
		coordinator_claim(request->coordinator, run->thread);
	}
}

static void
read_inbox(struct coordinator_node *coordinator)
{
	struct world *world = world_of(coordinator);
	unsigned i;

	for (i = 0; i < world->plan.runs; i++) {
		struct run_fact *run = &world->runs[i];

		if (!run->inbox || !world->redis.process.up ||
		    (run->read_ms != 0 && world->now_ms < run->read_ms + ORPHAN_MS))
			continue;
		run->read_ms = world->now_ms;
		if (coordinator->held[run->thread].state == RUN_NONE &&
		    rng_below(&world->rng, 4) > 0) /* else it has no room now */
			owner_arrive(&coordinator->held[run->thread], run);
		else
			submit(coordinator, run, 0);
	}
}

/* --- leases ---------------------------------------------------------------------------- */

static void
sweep_done(struct redis_request *request, const struct reply *reply)
{
	struct coordinator_node *coordinator = request->coordinator;
	size_t i;

	coordinator->shard_busy = false;
	coordinator->shard_ms = world_of(coordinator)->now_ms + RENEW_MS;
	for (i = 0; reply != NULL && i < reply->count; i++)
		coordinator_claim(coordinator, (unsigned)(reply->items[i].text[1] - '0'));
}

static void
sweep(struct coordinator_node *coordinator)
{
	const char *const args[] = { SIM_DUE, SIM_PREFIX,
		coordinator->peer.process.session, "200" };

	if (coordinator->draining) {
		coordinator->shard_busy = false;
		coordinator->shard_ms = world_of(coordinator)->now_ms + RENEW_MS;
		return;
	}
	redis_send(coordinator, "fl_sweep", args, 4, sweep_done, NULL);
}

/* drop_lost(): whether it is still ours. */
static void
on_asked(struct redis_request *request, const struct reply *reply)
{
	struct held_run *run = request->arg;

	if (reply == NULL || request->arg_life != run->life || run->fact == NULL ||
	    reply->count == 0 || strcmp(reply->items[0].text, "FENCED") != 0)
		return;
	coordinator_feed(request->coordinator,
	    &(struct ledger_event){ .type = LEDGER_DISOWN, .id = run->fact->id });
}

static void
drop_lost(struct coordinator_node *coordinator)
{
	struct world *world = world_of(coordinator);
	unsigned i;

	for (i = 0; i < THREADS; i++) {
		struct held_run *run = &coordinator->held[i];
		const char *args[] = { world->threads[i].key, SIM_PREFIX,
			coordinator->peer.process.session,
			world_text(world, "%llu", (unsigned long long)run->epoch), NULL,
			"" };

		if (run->state == RUN_NONE || run->state == RUN_CLAIMING)
			continue;
		args[4] = run->fact->id;
		redis_send(coordinator, "fl_result", args, 6, on_asked, run)->arg_life =
		    run->life;
	}
}

static void
renewed(struct redis_request *request, const struct reply *reply)
{
	struct coordinator_node *coordinator = request->coordinator;
	size_t i;
	unsigned j;

	if (reply != NULL) {
		coordinator->renewed_ms = coordinator->asked_ms;
		if (coordinator->late || strcmp(reply->items[0].text, "LAPSED") == 0)
			drop_lost(coordinator);
	}
	for (i = 1; reply != NULL && i < reply->count; i++)
		for (j = 0; j < THREADS; j++) {
			struct held_run *run = &coordinator->held[j];

			if (run->state != RUN_NONE && run->state != RUN_CLAIMING &&
			    strcmp(run->fact->id, reply->items[i].text) == 0)
				owner_cancel(run);
		}
	sweep(coordinator);
}

static bool
owns_some(const struct coordinator_node *coordinator)
{
	unsigned i;

	for (i = 0; i < THREADS; i++)
		if (coordinator->held[i].state != RUN_NONE)
			return true;
	return false;
}

/* shard_main() */
static void
tend_shard(struct coordinator_node *coordinator)
{
	const char *const args[] = { SIM_DUE, SIM_PREFIX,
		coordinator->peer.process.session, "1500" };

	_Static_assert(LEASE_MS == 1500, "as the text above");
	if (coordinator->shard_busy ||
	    world_of(coordinator)->now_ms < coordinator->shard_ms)
		return;
	coordinator->shard_busy = true;
	coordinator->asked_ms = world_of(coordinator)->now_ms;
	coordinator->late =
	    coordinator->asked_ms - coordinator->renewed_ms > LEASE_MS - RENEW_MS;
	if (owns_some(coordinator)) {
		redis_send(coordinator, "fl_renew", args, 4, renewed, NULL);
	} else {
		coordinator->renewed_ms = coordinator->asked_ms;
		sweep(coordinator);
	}
}

/* --- life ------------------------------------------------------------------------------ */

static void
on_tick(struct task *task)
{
	struct coordinator_node *coordinator = task->arg;
	struct world *world = world_of(coordinator);
	unsigned link;

	if (!process_turn(&coordinator->peer.process, task))
		return;
	world_after(world, task, coordinator->peer.process.tick_every_ms);
	for (link = 0; link < world->plan.brokers; link++)
		session_check(&coordinator->peer, link);
	if (ledger_pending(coordinator->ledger) > 0 ||
	    ledger_owed(coordinator->ledger) > 0)
		coordinator_feed(
		    coordinator, &(struct ledger_event){ .type = LEDGER_TICK });
	if (!coordinator->draining)
		read_inbox(coordinator);
	tend_shard(coordinator);
	if (coordinator->draining && !owns_some(coordinator))
		coordinator_stop(coordinator);
}

void
coordinator_start(struct coordinator_node *coordinator)
{
	struct world *world = world_of(coordinator);
	uint64_t identities[BROKERS];
	unsigned i;

	process_begin(&coordinator->peer.process);
	coordinator->peer.events = &events;
	for (i = 0; i < BROKERS; i++)
		identities[i] = 1000 + i;
	coordinator->ledger = ledger_new(identities, world->plan.brokers, 1);
	for (i = 0; i < THREADS; i++)
		coordinator->held[i] = (struct held_run){ .coordinator = coordinator,
			.thread = i,
			.life = coordinator->held[i].life + 1 };
	coordinator->first = NULL;
	coordinator->redis_back_ms = coordinator->redis_due_ms =
	    coordinator->answer_due_ms = 0;
	coordinator->shard_ms = world->now_ms + rng_below(&world->rng, RENEW_MS);
	coordinator->renewed_ms = world->now_ms;
	coordinator->shard_busy = coordinator->draining = false;
	coordinator->newest_epoch = 0;
	coordinator->wake = (struct task){ .run = on_wake, .arg = coordinator };
	coordinator->peer.process.tick =
	    (struct task){ .run = on_tick, .arg = coordinator };
	world_after(world, &coordinator->peer.process.tick,
	    rng_below(&world->rng, coordinator->peer.process.tick_every_ms));
	for (i = 0; i < world->plan.brokers; i++)
		session_start(&coordinator->peer, i);
}

static struct world *dropping;

static void
drop(struct cargo *cargo)
{
	payload_unref(dropping, (struct payload *)(void *)cargo);
}

void
coordinator_stop(struct coordinator_node *coordinator)
{
	struct world *world = world_of(coordinator);
	unsigned i;

	if (!coordinator->peer.process.up)
		return;
	TRACE(world, "%s is gone%s", coordinator->peer.process.name,
	    coordinator->draining ? ", drained" : "");
	if (coordinator->draining)
		for (i = 0; i < world->plan.brokers; i++)
			session_bye(&coordinator->peer, i);
	coordinator->peer.process.up = false;
	task_cancel(world, &coordinator->peer.process.tick);
	task_cancel(world, &coordinator->wake);
	for (i = 0; i < world->plan.brokers; i++)
		dealer_close(&coordinator->peer, i);
	dropping = world;
	ledger_destroy(&coordinator->ledger, drop);
}

/* drain_main() */
void
coordinator_drain_now(struct coordinator_node *coordinator)
{
	unsigned i;

	coordinator->draining = true;
	for (i = 0; i < THREADS; i++)
		if (coordinator->held[i].state != RUN_NONE)
			owner_release(&coordinator->held[i]);
}

bool
coordinator_idle(const struct coordinator_node *coordinator)
{
	return !owns_some(coordinator) &&
	       (coordinator->ledger == NULL || ledger_pending(coordinator->ledger) == 0);
}
