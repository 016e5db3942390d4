/* session: HELLO and WELCOME, heartbeats, connecting anew: after peer/peer.c, line by line, since
 * that one is on the loop. Change both together. */
#include "world.h"

#define GREET_WAIT_MS UINT64_C(600)

static struct session_end *
end_of(struct peer_node *peer, uint32_t link)
{
	return &peer->sessions[link];
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
	};

	peer->events->fill(peer, &header);
	dealer_send(peer, link, &header, NULL);
	end_of(peer, link)->greeted_ms = process->world->now_ms;
}

static void
say(struct peer_node *peer, uint32_t link, enum message_type type)
{
	struct header header = { .type = type };

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
	*end_of(peer, link) = (struct session_end){ .greet_wait_ms = GREET_WAIT_MS };
	connect_anew(peer, link);
}

static void
leave(struct peer_node *peer, uint32_t link, const char *why)
{
	struct session_end *end = end_of(peer, link);
	bool was_up = end->up;

	TRACE(peer->process.world, "%s leaves b%u: %s", peer->process.name, link, why);
	end->up = false;
	end->greet_wait_ms = GREET_WAIT_MS;
	if (was_up)
		peer->events->on_down(peer, link);
	connect_anew(peer, link);
}

static void
on_welcome(struct peer_node *peer, uint32_t link, const struct header *header)
{
	struct session_end *end = end_of(peer, link);

	if (end->up)
		return;
	end->up = true;
	end->heartbeat_ms = header->heartbeat_ms;
	end->liveness_ms = header->liveness_ms;
	end->pinged_ms = peer->process.world->now_ms;
	peer->events->on_up(peer, link);
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
		peer->events->on_message(peer, link, message);
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
	if (!end_of(peer, link)->up)
		return -1;
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
