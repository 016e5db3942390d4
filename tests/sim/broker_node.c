/* broker_node: a broker: the core that ships, its actions carried out on the simulated net. */
#include "world.h"

#define AUDIT_STEPS 32u
#define LEAVE_MS 4000u

static void
send_gathered(void *arg, uint64_t peer, const struct header *header)
{
	router_send(arg, peer, header, NULL);
}

static void
perform_send(struct broker_node *broker, const struct action *action)
{
	struct world *world = broker->process.world;

	if (action->gathers && gathered_keep(broker->gathered, action->peer,
				   &action->header, world->now_ms)) {
		world_acks_due(world, &broker->acks_due);
		return;
	}
	if (action->gathers)
		gathered_before(
		    broker->gathered, action->peer, &action->header, world->now_ms);
	router_send(broker, action->peer, &action->header,
	    (struct payload *)(void *)action->body);
}

static void
on_acks_due(struct task *task)
{
	struct broker_node *broker = task->arg;

	if (process_turn(&broker->process, task))
		gathered_send(broker->gathered);
}

static void
perform(struct broker_node *broker, const struct action *action)
{
	struct world *world = broker->process.world;

	switch (action->type) {
	case ACTION_SEND:
		perform_send(broker, action);
		break;
	case ACTION_DROP:
		payload_unref(world, (struct payload *)(void *)action->body);
		break;
	case ACTION_LEFT:
		broker->left = true;
		break;
	default:
		break; /* the status channel, and tables for people */
	}
}

/* Only the loss of a worker makes a further attempt. */
static void
check_attempt(struct broker_node *broker, const struct header *header)
{
	uint64_t losses = core_count(broker->core, COUNTER_requeued);
	bool is_call = header->type == MSG_CALL && header->attempt > 1 + losses;
	bool is_poison = header->type == MSG_RESULT && header->code == CODE_POISON &&
			 losses < CALL_ATTEMPTS_MAX - 1;

	if (is_call || is_poison)
		violate(broker->process.world,
		    "13: %s is at attempt %llu, and workers were lost %llu times",
		    header->call_id, (unsigned long long)header->attempt,
		    (unsigned long long)losses);
}

/* The worker at that end of a connection, or NULL. */
static struct worker_node *
worker_at(struct broker_node *broker, uint64_t peer)
{
	const struct connection *connection = broker->process.world->connections[peer];
	struct dealer *dealer = connection->dealer;

	if (dealer == NULL || dealer->owner->process.kind != PROCESS_WORKER ||
	    dealer->owner_life != dealer->owner->process.life)
		return NULL;
	return (struct worker_node *)(void *)dealer->owner;
}

/* Whether this life of the broker has sent that attempt before: one attempt goes to one worker. From now on it has. */
static bool
was_sent(struct call_fact *call, const struct broker_node *broker, uint64_t attempt)
{
	struct sent_fact *sent = &call->sent[broker->process.index];
	bool was = sent->life == broker->process.life && sent->attempt == attempt;

	*sent = (struct sent_fact){ broker->process.life, attempt };
	return was;
}

/* No call goes to one that drains, but again what it was sent before, and has not acknowledged. */
static void
check_draining(struct broker_node *broker, const struct action *action)
{
	const struct header *header = &action->header;
	const struct worker_node *worker = worker_at(broker, action->peer);
	struct call_fact *call =
	    header->type == MSG_CALL
		? call_fact_of(broker->process.world, header->call_id)
		: NULL;

	if (call != NULL && !was_sent(call, broker, header->attempt) && worker != NULL &&
	    worker->drain_heard[broker->process.index] == broker->process.life &&
	    (header->flags & WIRE_RESEND) == 0)
		violate(broker->process.world, "12: %s is sent to %s, which drains",
		    call->id, worker->peer.process.name);
}

/* Returns false when the event's message was refused. */
static bool
feed(struct broker_node *broker, const struct event *event)
{
	struct world *world = broker->process.world;
	struct actions actions = core_step(broker->core, event, world->now_ms);
	size_t i;

	for (i = 0; i < actions.count; i++) {
		if (actions.items[i].type == ACTION_SEND) {
			check_attempt(broker, &actions.items[i].header);
			check_draining(broker, &actions.items[i]);
		}
		perform(broker, &actions.items[i]);
	}
	if (++broker->steps % AUDIT_STEPS == 0)
		check_broker(broker);
	if (broker->left) {
		gathered_send(broker->gathered);
		broker_stop(broker);
	}
	return !actions.refused;
}

void
broker_receive(struct broker_node *broker, uint64_t peer, struct message *message)
{
	struct header single;
	struct event event = {
		.type = EVENT_MESSAGE,
		.peer = peer,
		.header = &single,
		.body = (struct body *)(void *)payload_ref(message->payload),
		.body_bytes = message->payload == NULL ? 0 : 100,
	};
	struct worker_node *worker;
	size_t i;

	for (i = 0; broker->process.up && acks_single(&message->header, i, &single); i++)
		if (!feed(broker, &event))
			return;
	worker = worker_at(broker, peer);
	if (message->header.type == MSG_DRAIN && worker != NULL)
		worker->drain_heard[broker->process.index] = broker->process.life;
}

void
broker_lost_peer(struct broker_node *broker, uint64_t peer)
{
	feed(broker, &(struct event){ .type = EVENT_UNREACHABLE, .peer = peer });
}

static void
on_tick(struct task *task)
{
	struct broker_node *broker = task->arg;

	if (!process_turn(&broker->process, task))
		return;
	world_after(broker->process.world, task, broker->process.tick_every_ms);
	feed(broker, &(struct event){ .type = EVENT_TICK });
}

void
broker_start(struct broker_node *broker)
{
	struct world *world = broker->process.world;
	struct core_options options = core_defaults;

	process_begin(&broker->process);
	options.session = broker->process.session;
	options.name = broker->process.name;
	options.seed = 1;
	options.heartbeat_ms = world->plan.heartbeat_ms;
	broker->core = core_new(&options, world->now_ms);
	broker->leaving = broker->left = false;
	broker->gathered = gathered_new(send_gathered, broker);
	broker->acks_due = (struct task){ .run = on_acks_due, .arg = broker };
	broker->process.tick = (struct task){ .run = on_tick, .arg = broker };
	world_after(world, &broker->process.tick, broker->process.tick_every_ms);
}

static struct world *dropping;

static void
drop_payload(struct body *body)
{
	payload_unref(dropping, (struct payload *)(void *)body);
}

void
broker_stop(struct broker_node *broker)
{
	if (!broker->process.up)
		return;
	TRACE(broker->process.world, "%s is gone", broker->process.name);
	broker->process.up = false;
	task_cancel(broker->process.world, &broker->process.tick);
	task_cancel(broker->process.world, &broker->acks_due);
	gathered_destroy(&broker->gathered);
	net_broker_gone(broker);
	dropping = broker->process.world;
	core_destroy(&broker->core, drop_payload);
}

void
broker_leave(struct broker_node *broker)
{
	broker->leaving = true;
	feed(broker, &(struct event){ .type = EVENT_LEAVE, .drain_ms = LEAVE_MS });
}
