/* net: DEALERs and ROUTERs over TCP, by the rules that libzmq has: ordered within a connection;
 * what is under way when one breaks is lost from some point on; a DEALER connects again by itself
 * and then sends what had to wait; a ROUTER knows the new connection by a new id and learns that
 * the old one is gone when it sends there. */
#include "world.h"

#define RECONNECT_MS 100u
#define LOST_MS 250u /* broker.c: how long what a lost peer said last is waited for */

/* --- pipes ----------------------------------------------------------------------------- */

static void
pipe_put(struct world *world, struct pipe *pipe, struct message *message)
{
	uint64_t due_ms = world->now_ms + world_latency(world);

	if (due_ms < pipe->last_due_ms)
		due_ms = pipe->last_due_ms;
	message->due_ms = pipe->last_due_ms = due_ms;
	if (pipe->first == NULL)
		pipe->first = message;
	else
		pipe->last->next = message;
	pipe->last = message;
	if (!task_waits(&pipe->task))
		world_at(world, &pipe->task, due_ms);
}

static struct message *
pipe_take(struct pipe *pipe)
{
	struct message *message = pipe->first;

	pipe->first = message->next;
	if (pipe->first == NULL)
		pipe->last = NULL;
	message->next = NULL;
	return message;
}

/* Loses what is in pipe but for the first keep. */
static void
pipe_lose(struct world *world, struct pipe *pipe, size_t keep)
{
	struct message *message = pipe->first, *next, *last = NULL;

	for (; message != NULL && keep > 0; keep--) {
		last = message;
		message = message->next;
	}
	for (; message != NULL; message = next) {
		next = message->next;
		message_free(world, message);
	}
	if (last != NULL)
		last->next = NULL;
	else
		pipe->first = NULL;
	pipe->last = last;
	if (pipe->first == NULL)
		task_cancel(world, &pipe->task);
}

static size_t
pipe_size(const struct pipe *pipe)
{
	const struct message *message;
	size_t count = 0;

	for (message = pipe->first; message != NULL; message = message->next)
		count++;
	return count;
}

/* Some of it arrives yet, maybe. */
static void
pipe_break(struct world *world, struct pipe *pipe)
{
	if (pipe->first != NULL)
		pipe_lose(world, pipe, rng_below(&world->rng, pipe_size(pipe) + 1));
}

/* Returns true when pipe's task may deliver a message now. */
static bool
pipe_ready(struct world *world, struct pipe *pipe, struct process *process)
{
	if (pipe->stalled_until_ms > world->now_ms) {
		world_at(world, &pipe->task, pipe->stalled_until_ms);
		return false;
	}
	return process_turn(process, &pipe->task);
}

static void
pipe_go_on(struct world *world, struct pipe *pipe)
{
	if (pipe->first != NULL && !task_waits(&pipe->task))
		world_at(world, &pipe->task, pipe->first->due_ms);
}

static void
deliver_up(struct task *task)
{
	struct connection *connection = task->arg;
	struct world *world = connection->world;
	struct message *message;

	if (!pipe_ready(world, &connection->up, &connection->broker->process))
		return;
	message = pipe_take(&connection->up);
	broker_receive(connection->broker, connection->id, message);
	message_free(world, message);
	pipe_go_on(world, &connection->up);
}

static void
deliver_down(struct task *task)
{
	struct connection *connection = task->arg;
	struct world *world = connection->world;
	struct dealer *dealer = connection->dealer;
	struct message *message;

	if (!pipe_ready(world, &connection->down, &dealer->owner->process))
		return;
	message = pipe_take(&connection->down);
	session_receive(dealer->owner, dealer->link, message);
	message_free(world, message);
	/* It may have closed the connection. */
	pipe_go_on(world, &connection->down);
}

/* --- connections ----------------------------------------------------------------------- */

/* The broker has tried to send there: what came before is read, then it is told. */
static void
on_lost(struct task *task)
{
	struct connection *connection = task->arg;
	struct world *world = connection->world;
	struct process *broker = &connection->broker->process;

	if (broker->life != connection->broker_life || !process_turn(broker, task))
		return;
	if (connection->up.first != NULL && rng_chance(&world->rng, 90)) {
		world_after(world, task, LOST_MS / 10);
		return;
	}
	pipe_lose(world, &connection->up, 0);
	broker_lost_peer(connection->broker, connection->id);
}

static void
connect_now(struct dealer *dealer)
{
	struct world *world = dealer->owner->process.world;
	struct connection *connection = region_alloc(&world->region, sizeof *connection);

	if (world->connection_count + 1 >= CONNECTIONS) {
		violate(world, "more than %u connections: somebody connects in a loop",
		    CONNECTIONS);
		return;
	}
	connection->id = ++world->connection_count;
	world->connections[connection->id] = connection;
	connection->world = world;
	connection->broker = &world->brokers[dealer->link];
	connection->broker_life = connection->broker->process.life;
	connection->dealer = dealer;
	connection->open = true;
	connection->up.task = (struct task){ .run = deliver_up, .arg = connection };
	connection->down.task = (struct task){ .run = deliver_down, .arg = connection };
	connection->lost = (struct task){ .run = on_lost, .arg = connection };
	dealer->connection = connection;
	while (dealer->first != NULL) {
		struct message *message = dealer->first;

		dealer->first = message->next;
		message->next = NULL;
		pipe_put(world, &connection->up, message);
	}
	dealer->last = NULL;
}

static void
on_connect(struct task *task)
{
	struct dealer *dealer = task->arg;
	struct peer_node *peer = dealer->owner;
	struct world *world = peer->process.world;

	if (!dealer->exists || dealer->owner_life != peer->process.life ||
	    dealer->connection != NULL)
		return;
	if (peer->blocked_until_ms[dealer->link] > world->now_ms)
		world_at(world, task, peer->blocked_until_ms[dealer->link]);
	else if (!world->brokers[dealer->link].process.up)
		world_after(world, task, RECONNECT_MS);
	else if (process_turn(&peer->process, task))
		connect_now(dealer);
}

/* The peer's end is gone. The broker's end learns of it, at the latest, when it sends. */
static void
detach(struct connection *connection)
{
	struct world *world = connection->world;
	struct dealer *dealer = connection->dealer;

	if (dealer != NULL && dealer->connection == connection)
		dealer->connection = NULL;
	connection->dealer = NULL;
	pipe_lose(world, &connection->down, 0);
}

void
dealer_open(struct peer_node *peer, uint32_t link)
{
	struct dealer *dealer = &peer->dealers[link];

	dealer->owner = peer;
	dealer->owner_life = peer->process.life;
	dealer->link = link;
	dealer->exists = true;
	dealer->connection = NULL;
	dealer->connect = (struct task){ .run = on_connect, .arg = dealer };
	world_after(
	    peer->process.world, &dealer->connect, world_latency(peer->process.world));
}

void
dealer_close(struct peer_node *peer, uint32_t link)
{
	struct dealer *dealer = &peer->dealers[link];
	struct world *world = peer->process.world;
	unsigned i;

	if (!dealer->exists)
		return;
	dealer->exists = false;
	task_cancel(world, &dealer->connect);
	for (i = 1; i <= world->connection_count; i++) {
		struct connection *connection = world->connections[i];

		if (connection->dealer != dealer)
			continue;
		if (connection->open)
			pipe_break(world, &connection->up);
		connection->open = false;
		detach(connection);
	}
	while (dealer->first != NULL) {
		struct message *message = dealer->first;

		dealer->first = message->next;
		message_free(world, message);
	}
	dealer->last = NULL;
}

void
dealer_send(struct peer_node *peer, uint32_t link, const struct header *header,
    struct payload *payload)
{
	struct dealer *dealer = &peer->dealers[link];
	struct world *world = peer->process.world;
	struct message *message = message_new(world, header, payload);

	TRACE(world, "%s > b%u %s %s%s", peer->process.name, link,
	    wire_message_name(header->type), header->call_id ? header->call_id : "",
	    (header->flags & WIRE_RESEND) != 0 ? " RESEND" : "");
	if (dealer->connection != NULL) {
		pipe_put(world, &dealer->connection->up, message);
		return;
	}
	if (dealer->first == NULL)
		dealer->first = message;
	else
		dealer->last->next = message;
	dealer->last = message;
}

void
router_send(struct broker_node *broker, uint64_t peer, const struct header *header,
    struct payload *payload)
{
	struct world *world = broker->process.world;
	struct connection *connection = world->connections[peer];

	TRACE(world, "%s > %s %s %s%s", broker->process.name,
	    connection->dealer != NULL ? connection->dealer->owner->process.name
				       : "nobody",
	    wire_message_name(header->type), header->call_id ? header->call_id : "",
	    header->code != 0 ? wire_code_name((unsigned)header->code) : "");
	if (connection->open) {
		pipe_put(world, &connection->down, message_new(world, header, payload));
	} else if (!connection->is_noted) {
		connection->is_noted = true;
		world_after(world, &connection->lost, rng_below(&world->rng, 5));
	}
}

/* Both ends live and lose the connection; the peer's connects again by itself. */
void
net_cut(struct world *world, struct connection *connection)
{
	struct dealer *dealer = connection->dealer;

	if (!connection->open)
		return;
	connection->open = false;
	pipe_break(world, &connection->up);
	pipe_break(world, &connection->down);
	if (dealer == NULL || dealer->connection != connection)
		return;
	dealer->connection = NULL;
	world_after(world, &dealer->connect, rng_between(&world->rng, 1, RECONNECT_MS));
}

void
net_block(struct peer_node *peer, uint32_t link, uint64_t until_ms, bool up, bool down)
{
	struct connection *connection = peer->dealers[link].connection;

	if (up && down)
		peer->blocked_until_ms[link] = until_ms;
	if (connection == NULL)
		return;
	if (up)
		connection->up.stalled_until_ms = until_ms;
	if (down)
		connection->down.stalled_until_ms = until_ms;
}

/* Of pipes that a process closes while they stall, nothing arrives any more: close enough. */
void
net_unblock(struct world *world)
{
	unsigned i, link;

	for (i = 1; i <= world->connection_count; i++) {
		world->connections[i]->up.stalled_until_ms = world->now_ms;
		world->connections[i]->down.stalled_until_ms = world->now_ms;
	}
	for (link = 0; link < BROKERS; link++) {
		for (i = 0; i < WORKERS; i++)
			world->workers[i].peer.blocked_until_ms[link] = 0;
		for (i = 0; i < COORDINATORS; i++)
			world->coordinators[i].peer.blocked_until_ms[link] = 0;
	}
}

void
net_broker_gone(struct broker_node *broker)
{
	struct world *world = broker->process.world;
	unsigned i;

	for (i = 1; i <= world->connection_count; i++) {
		struct connection *connection = world->connections[i];

		if (connection->broker != broker)
			continue;
		net_cut(world, connection);
		pipe_lose(world, &connection->up, 0);
		task_cancel(world, &connection->lost);
	}
}

static void
dealers_clear(struct world *world, struct peer_node *peer)
{
	unsigned link;

	for (link = 0; link < BROKERS; link++) {
		while (peer->dealers[link].first != NULL) {
			struct message *message = peer->dealers[link].first;

			peer->dealers[link].first = message->next;
			message_free(world, message);
		}
	}
}

/* The schedule is over: everything under way goes back to the pools. */
void
net_clear(struct world *world)
{
	unsigned i;

	for (i = 1; i <= world->connection_count; i++) {
		pipe_lose(world, &world->connections[i]->up, 0);
		pipe_lose(world, &world->connections[i]->down, 0);
	}
	for (i = 0; i < WORKERS; i++)
		dealers_clear(world, &world->workers[i].peer);
	for (i = 0; i < COORDINATORS; i++)
		dealers_clear(world, &world->coordinators[i].peer);
}
