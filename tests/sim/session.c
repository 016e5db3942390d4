/* session: HELLO and WELCOME, heartbeats, connecting anew: after peer/peer.c, line by line, since
 * that one is on the loop. Change both together. Here a message is whole or not there: what peer.c asks of
 * inflow.h has no place. */
#include "world.h"

#define GREET_WAIT_MS UINT64_C(600)

static struct session_end *
end_of(struct peer_node *peer, uint32_t link)
{
	return &peer->sessions[link];
}

static void
send_acks(struct peer_node *peer, uint32_t link, struct acks *acks)
{
	if (acks->count > 0)
		dealer_send(peer, link, acks_take(acks), NULL);
}

static void
send_gathered(struct peer_node *peer, uint32_t link)
{
	send_acks(peer, link, &end_of(peer, link)->call_acks);
	send_acks(peer, link, &end_of(peer, link)->result_acks);
}

static void
on_acks_due(struct task *task)
{
	struct session_end *end = task->arg;
	struct peer_node *peer = end->peer;

	if (process_turn(&peer->process, task))
		send_gathered(peer, (uint32_t)(end - peer->sessions));
}

static void
gather(struct peer_node *peer, uint32_t link, const struct header *ack)
{
	struct session_end *end = end_of(peer, link);
	struct acks *acks =
	    ack->type == MSG_CALL_ACK ? &end->call_acks : &end->result_acks;

	if (world_acks_due(peer->process.world, &end->acks_due))
		end->acks_ripe_ms = peer->process.world->now_ms + ACK_RIPE_MS;
	if (!acks_add(acks, ack))
		send_acks(peer, link, acks);
}

static void
say_hello(struct peer_node *peer, uint32_t link)
{
	struct process *process = &peer->process;
	struct header header = {
		.type = MSG_HELLO,
		.session = process->session,
		.name = process->name,
		.role = process->kind == PROCESS_WORKER ? ROLE_WORKER : ROLE_COORDINATOR,
		.protocol_min = WIRE_VERSION,
		.protocol_max = WIRE_VERSION,
		.lists = process->world->plan.gathers,
	};

	send_gathered(peer, link);
	peer->events->fill(peer, &header);
	dealer_send(peer, link, &header, NULL);
	end_of(peer, link)->greeted_ms = process->world->now_ms;
}

static void
say(struct peer_node *peer, uint32_t link, enum message_type type)
{
	struct header header = { .type = type };

	send_gathered(peer, link);
	if (type == MSG_PING)
		peer->events->fill(peer, &header);
	header.services = NULL;
	header.service_count = 0;
	dealer_send(peer, link, &header, NULL);
}

static void
connect_anew(struct peer_node *peer, uint32_t link)
{
	dealer_close(peer, link);
	dealer_open(peer, link);
	say_hello(peer, link);
}

void
session_start(struct peer_node *peer, uint32_t link)
{
	struct session_end *end = end_of(peer, link);

	task_cancel(peer->process.world, &end->acks_due);
	*end = (struct session_end){ .greet_wait_ms = GREET_WAIT_MS,
		.peer = peer,
		.acks_due = { .run = on_acks_due, .arg = end } };
	connect_anew(peer, link);
}

static void
leave(struct peer_node *peer, uint32_t link, const char *why)
{
	struct session_end *end = end_of(peer, link);
	bool was_up = end->up;

	TRACE(peer->process.world, "%s leaves b%u: %s", peer->process.name, link, why);
	end->up = end->gathers = false;
	end->call_acks.count = end->result_acks.count = 0;
	end->greet_wait_ms = GREET_WAIT_MS;
	if (was_up)
		peer->events->on_down(peer, link);
	if (peer->process.up) /* one that drains may have waited for nothing else */
		connect_anew(peer, link);
}

static void
on_welcome(struct peer_node *peer, uint32_t link, const struct header *header)
{
	struct session_end *end = end_of(peer, link);

	if (end->up)
		return;
	end->up = true;
	end->gathers = header->lists != 0 && peer->process.world->plan.gathers;
	end->heartbeat_ms = header->heartbeat_ms;
	end->liveness_ms = header->liveness_ms;
	end->pinged_ms = peer->process.world->now_ms;
	peer->events->on_up(peer, link);
}

static void
hand_on(struct peer_node *peer, uint32_t link, struct message *message)
{
	const struct header header = message->header;
	size_t i;

	for (i = 0; peer->process.up && acks_single(&header, i, &message->header); i++)
		peer->events->on_message(peer, link, message);
}

void
session_receive(struct peer_node *peer, uint32_t link, struct message *message)
{
	struct session_end *end = end_of(peer, link);
	const struct header *header = &message->header;
	bool forgotten = header->type == MSG_ERROR && header->code == CODE_NO_SESSION;

	end->heard_ms = peer->process.world->now_ms;
	if (header->type == MSG_WELCOME)
		on_welcome(peer, link, header);
	else if (header->type == MSG_PING)
		say(peer, link, MSG_PONG);
	else if (header->type == MSG_PONG)
		return;
	else if (header->type == MSG_GOAWAY && header->deadline_ms > 0 && end->up)
		peer->events->on_leaving(peer, link);
	else if (header->type == MSG_GOAWAY)
		leave(peer, link, "it is leaving");
	else if (forgotten && end->up)
		leave(peer, link, "it does not know us");
	else if (header->type == MSG_ERROR && !forgotten)
		violate(peer->process.world, "%s was refused by b%u: %s",
		    peer->process.name, link, header->reason);
	else if (end->up)
		hand_on(peer, link, message);
}

void
session_check(struct peer_node *peer, uint32_t link)
{
	struct session_end *end = end_of(peer, link);
	uint64_t now_ms = peer->process.world->now_ms, since_ms = end->heard_ms;

	if (!end->up) {
		if (now_ms < end->greeted_ms + end->greet_wait_ms)
			return;
		end->greet_wait_ms *= 2;
		if (end->greet_wait_ms > HELLO_WAIT_MS_MAX)
			end->greet_wait_ms = HELLO_WAIT_MS_MAX;
		connect_anew(peer, link);
		return;
	}
	if (peer->process.gap_ms > since_ms)
		since_ms = peer->process.gap_ms;
	if (now_ms > since_ms + end->liveness_ms) {
		leave(peer, link, "it is silent");
	} else if (now_ms >= end->pinged_ms + end->heartbeat_ms) {
		end->pinged_ms = now_ms;
		say(peer, link, MSG_PING);
	}
}

int
session_send(struct peer_node *peer, uint32_t link, const struct header *header,
    struct payload *payload)
{
	struct session_end *end = end_of(peer, link);

	if (!end->up)
		return -1;
	if (end->gathers && acks_are(header)) {
		gather(peer, link, header);
		return 0;
	}
	if (header->type == MSG_RESULT)
		acks_drop(&end->call_acks, header->call_id);
	else if (!acks_may_wait_for(header))
		send_gathered(peer, link);
	if (task_waits(&end->acks_due) &&
	    peer->process.world->now_ms >= end->acks_ripe_ms) {
		task_cancel(peer->process.world, &end->acks_due);
		send_gathered(peer, link);
	}
	dealer_send(peer, link, header, payload);
	return 0;
}

/* What was said last still goes out: the dealer lingers. */
void
session_bye(struct peer_node *peer, uint32_t link)
{
	if (end_of(peer, link)->up)
		say(peer, link, MSG_BYE);
	end_of(peer, link)->up = false;
}
