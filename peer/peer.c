#include "peer.h"

#include <stdlib.h>
#include <string.h>

#include "acks.h"
#include "inflow.h"
#include "log.h"
#include "memory.h"
#include "notify.h"
#include "service.h"
#include "wanted.h"

#define CHECKS_PER_HEARTBEAT 3u
#define GREET_WAIT_MS UINT64_C(600) /* for WELCOME, at first */
#define LINGER_MS 1000
#define SAID_MS 60000u /* between two logged messages that cannot be read */
#define ARENA_BYTES_MAX (256u << 10)

struct peer {
	struct loop *loop;
	struct peer_options options; /* strings, services and catalog are ours */
	struct wire_service *services;
	struct packet catalog; /* packed; empty: none */
	bool is_unsaid;        /* both are others than the last HELLO said */
	char session[SESSION_BYTES + 1];
	struct socket *socket;
	struct timer *timer;
	struct arena *arena;   /* of decoded headers; made anew when it has grown */
	struct packet encoded; /* the header that is sent, or an event */
	struct parts
	    outgoing; /* here: a fiber that waits keeps each page of its stack it ever used */
	bool up;
	char broker[SESSION_BYTES + 1]; /* its session, of the last WELCOME */
	bool gathers;                   /* the broker reads lists of calls */
	struct wanted wanted;           /* on the broker's status channel */
	struct acks call_acks, result_acks;
	struct timer *acks_timer;      /* while there are any, or were a moment ago */
	uint64_t acks_ripe_ms;         /* they go with the next message from then on */
	uint64_t started_ms, restarts; /* of the process, as is its one session */
	uint64_t heartbeat_ms, liveness_ms;
	uint64_t heard_ms;
	struct inflow inflow; /* of the session's connection */
	uint64_t said_ms;     /* that a message cannot be read; 0: never */
	uint64_t pinged_ms;
	uint64_t greeted_ms, greet_wait_ms; /* HELLO was said; our wait for WELCOME */
};

/* --- sending -------------------------------------------------------------------------- */

/* Moves bodies' frames behind the header. */
static int
send_message(struct peer *peer, const struct header *header, struct parts *bodies)
{
	struct parts *parts = &peer->outgoing;

	parts->count = 0;
	peer->encoded.size = 0;
	wire_encode(&peer->encoded, header);
	parts_add(parts, peer->encoded.data, peer->encoded.size);
	if (bodies != NULL) {
		parts_move(parts, bodies, 0);
		parts_release(bodies);
	}
	return socket_send(peer->socket, parts);
}

static void
send_acks(struct peer *peer, struct acks *acks)
{
	if (acks->count > 0)
		send_message(peer, acks_take(acks), NULL);
}

static void
send_gathered(struct peer *peer)
{
	send_acks(peer, &peer->call_acks);
	send_acks(peer, &peer->result_acks);
}

static void
on_acks_due(void *arg)
{
	struct peer *peer = arg;

	timer_stop(&peer->acks_timer);
	send_gathered(peer);
}

static void
gather(struct peer *peer, const struct header *ack)
{
	struct acks *acks =
	    ack->type == MSG_CALL_ACK ? &peer->call_acks : &peer->result_acks;

	if (!acks_add(acks, ack))
		send_acks(peer, acks);
	if (peer->acks_timer != NULL)
		return;
	peer->acks_timer = timer_start(peer->loop, ACK_WAIT_MS, 0, on_acks_due, peer);
	peer->acks_ripe_ms = loop_now_ms(peer->loop) + ACK_RIPE_MS;
}

/* Behind the RESULT_ACK of a call's last outcome its id may be called anew. */
static bool
may_overtake(const struct peer *peer, const struct header *header)
{
	return acks_may_wait_for(header) &&
	       (header->type != MSG_CALL ||
		   !acks_have(&peer->result_acks, header->call_id));
}

int
peer_send(struct peer *peer, const struct header *header, struct parts *bodies)
{
	if (!peer->up) {
		if (bodies != NULL)
			parts_release(bodies);
		return -1;
	}
	if (peer->gathers && acks_are(header)) {
		gather(peer, header);
		return 0;
	}
	if (header->type == MSG_RESULT)
		acks_drop(&peer->call_acks, header->call_id);
	else if (!may_overtake(peer, header))
		send_gathered(peer);
	if (peer->acks_timer != NULL && loop_now_ms(peer->loop) >= peer->acks_ripe_ms)
		on_acks_due(peer);
	return send_message(peer, header, bodies);
}

bool
peer_wants(const struct peer *peer, const char *topic)
{
	return peer->up && wanted_has(&peer->wanted, topic);
}

void
peer_publish(struct peer *peer, const char *topic, const struct value *value)
{
	const struct header header = { .type = MSG_EVENT, .topic = topic };
	struct parts bodies = { .count = 0 };
	struct packet packet = { 0 };

	if (!peer_wants(peer, topic))
		return;
	value_pack(&packet, value);
	parts_add_packet(&bodies, &packet);
	peer_send(peer, &header, &bodies);
}

static void
fill_report(struct peer *peer, struct header *header)
{
	header->capacity = header->credit = peer->options.capacity;
	header->lag_ms = loop_lag_ms(peer->loop);
	if (header->lag_ms > CALL_DEADLINE_MS_MAX)
		header->lag_ms = CALL_DEADLINE_MS_MAX; /* stopped for days, and back */
	header->uptime_ms = loop_now_ms(peer->loop) - peer->started_ms;
	header->restarts = peer->restarts;
	if (peer->options.on_ping != NULL)
		peer->options.on_ping(peer->options.arg, header);
}

static void
say_hello(struct peer *peer)
{
	struct header header = {
		.type = MSG_HELLO,
		.flags = WIRE_QUIET,
		.session = peer->session,
		.name = peer->options.name,
		.role = peer->options.role,
		.protocol_min = WIRE_VERSION,
		.protocol_max = WIRE_VERSION,
		.services = peer->services,
		.service_count = peer->options.service_count,
		.lists = 1,
	};
	struct parts bodies = { .count = 0 };

	send_gathered(peer);
	fill_report(peer, &header);
	if (peer->catalog.size > 0)
		parts_add(&bodies, peer->catalog.data, peer->catalog.size);
	send_message(peer, &header, &bodies);
	peer->is_unsaid = false;
	peer->greeted_ms = loop_now_ms(peer->loop);
}

static void
say(struct peer *peer, enum message_type type)
{
	struct header header = { .type = type };

	send_gathered(peer);
	if (type == MSG_PING)
		fill_report(peer, &header);
	send_message(peer, &header, NULL);
}

/* --- the session ---------------------------------------------------------------------- */

static void on_socket(void *arg, struct parts *parts, bool truncated);

/* A new socket: whatever the old one still held belongs to a session that is over. */
static int
connect_anew(struct peer *peer)
{
	const char *error;

	socket_close(&peer->socket, 0);
	peer->socket =
	    socket_dealer(peer->loop, peer->options.endpoint, on_socket, peer, &error);
	if (peer->socket == NULL)
		return -1;
	say_hello(peer);
	return 0;
}

/* There was such a socket before: that it cannot be made now is want of descriptors. The
 * next check tries again. */
static void
leave(struct peer *peer, const char *reason)
{
	bool was_up = peer->up;

	peer->up = peer->gathers = false;
	wanted_forget(&peer->wanted);
	peer->call_acks.count = peer->result_acks.count = 0;
	peer->greet_wait_ms = GREET_WAIT_MS;
	if (was_up && peer->options.on_down != NULL)
		peer->options.on_down(peer->options.arg, reason);
	connect_anew(peer);
}

static void
on_welcome(struct peer *peer, const struct header *header, struct parts *parts)
{
	bool is_same = strcmp(peer->broker, header->session) == 0;

	peer->inflow = inflow_of(parts, 0);
	if (peer->up && is_same) { /* the answer to a HELLO said anew */
		peer->greet_wait_ms = GREET_WAIT_MS;
		return;
	}
	if (peer->up) { /* the one before was lost unnoticed: nothing was announced to this */
		leave(peer, "the broker is another one");
		return;
	}
	peer->up = true;
	memcpy(peer->broker, header->session, SESSION_BYTES);
	peer->gathers = header->lists != 0;
	peer->heartbeat_ms = header->heartbeat_ms;
	peer->liveness_ms = header->liveness_ms;
	peer->pinged_ms = loop_now_ms(peer->loop);
	if (peer->is_unsaid) /* the HELLO that this answers was under way when they changed */
		say_hello(peer);
	if (peer->options.on_up != NULL)
		peer->options.on_up(peer->options.arg);
}

/* With a time it is a warning: until then the broker brings to an end what it has. */
static void
on_goaway(struct peer *peer, const struct header *header)
{
	if (header->deadline_ms == 0 || !peer->up)
		leave(peer, "the broker is leaving");
	else if (peer->options.on_leaving != NULL)
		peer->options.on_leaving(peer->options.arg, header->deadline_ms);
}

static void
hand_on(struct peer *peer, const struct header *header, struct parts *parts)
{
	struct parts bodies = { .count = 0 };
	struct header single;
	size_t i;

	if (peer->options.on_message == NULL)
		return;
	parts_move(&bodies, parts, 1);
	for (i = 0; acks_single(header, i, &single); i++)
		peer->options.on_message(peer->options.arg, &single, &bodies);
	parts_release(&bodies);
}

static void
dispatch(struct peer *peer, const struct header *header, struct parts *parts)
{
	bool forgotten = header->type == MSG_ERROR && header->code == CODE_NO_SESSION;

	if (header->type == MSG_WELCOME)
		on_welcome(peer, header, parts);
	else if (header->type == MSG_PING)
		say(peer, MSG_PONG);
	else if (header->type == MSG_WANTED || header->type == MSG_PONG)
		wanted_learn(&peer->wanted, parts);
	else if (header->type == MSG_GOAWAY)
		on_goaway(peer, header);
	else if (forgotten && peer->up)
		leave(peer, "the broker does not know us");
	else if (peer->up || header->type == MSG_ERROR)
		hand_on(peer, header, parts);
	if (header->type == MSG_ERROR && header->code == CODE_LIMIT)
		peer->is_unsaid =
		    true; /* there was no room for it: on_check says it again */
}

static void
say_unreadable(struct peer *peer, const char *reason)
{
	uint64_t now_ms = loop_now_ms(peer->loop);

	if (peer->said_ms != 0 && now_ms < peer->said_ms + SAID_MS)
		return;
	peer->said_ms = now_ms;
	log_warnx("broker's message cannot be read: %s endpoint=%s", reason,
	    peer->options.endpoint);
}

/* What cannot be decoded is no life sign and nothing else: the broker is not trusted to be
 * one. */
static void
on_socket(void *arg, struct parts *parts, bool truncated)
{
	struct peer *peer = arg;
	struct header header;
	enum wire_code code;
	const char *reason = "too many frames";

	if (truncated || wire_decode(peer->arena, parts_data(parts, 0),
			     parts_size(parts, 0), &header, &code, &reason) == -1) {
		say_unreadable(peer, reason);
		return;
	}
	peer->heard_ms = loop_now_ms(peer->loop);
	dispatch(peer, &header, parts);
	if (arena_bytes(peer->arena) > ARENA_BYTES_MAX) {
		arena_destroy(&peer->arena);
		peer->arena = arena_new();
	}
}

/* --- time ----------------------------------------------------------------------------- */

static void
check_up(struct peer *peer, uint64_t now_ms)
{
	uint64_t since_ms, gap_ms = loop_gap_ms(peer->loop);

	if (now_ms >= peer->heard_ms + 2 * peer->heartbeat_ms &&
	    inflow_goes_on(&peer->inflow, peer->heard_ms))
		peer->heard_ms = now_ms; /* what it says stands behind a large message */
	since_ms = peer->heard_ms;
	if (gap_ms > since_ms)
		since_ms = gap_ms;
	if (now_ms > since_ms + peer->liveness_ms) {
		leave(peer, "the broker is silent");
	} else if (now_ms >= peer->pinged_ms + peer->heartbeat_ms) {
		peer->pinged_ms = now_ms;
		say(peer, MSG_PING);
	}
}

static void
greet_again(struct peer *peer)
{
	peer->greet_wait_ms *= 2;
	if (peer->greet_wait_ms > HELLO_WAIT_MS_MAX)
		peer->greet_wait_ms = HELLO_WAIT_MS_MAX;
	if (peer->up) {
		say(peer, MSG_PING); /* as in peer_set_services */
		say_hello(peer);
	} else {
		connect_anew(peer);
	}
}

static void
on_check(void *arg)
{
	struct peer *peer = arg;
	uint64_t now_ms = loop_now_ms(peer->loop);

	if (peer->up)
		check_up(peer, now_ms);
	if ((!peer->up || peer->is_unsaid) &&
	    now_ms >= peer->greeted_ms + peer->greet_wait_ms)
		greet_again(peer);
}

/* --- life ----------------------------------------------------------------------------- */

static void
services_release(struct peer *peer)
{
	size_t i;

	for (i = 0; i < peer->options.service_count; i++)
		free((char *)peer->services[i].name);
	free(peer->services);
	peer->services = NULL;
	packet_release(&peer->catalog);
}

static void
services_copy(struct peer *peer, const struct wire_service *services, size_t count,
    const struct value *catalog)
{
	size_t i;

	peer->services = xcalloc(count + 1, sizeof *peer->services);
	for (i = 0; i < count; i++) {
		peer->services[i] = services[i];
		peer->services[i].name = xstrdup(services[i].name);
	}
	peer->options.service_count = count;
	if (catalog != NULL)
		value_pack(&peer->catalog, catalog);
}

static void
peer_free(struct peer *peer)
{
	services_release(peer);
	packet_release(&peer->encoded);
	wanted_forget(&peer->wanted);
	arena_destroy(&peer->arena);
	free((char *)peer->options.endpoint);
	free((char *)peer->options.name);
	free(peer);
}

struct peer *
peer_new(struct loop *loop, const struct peer_options *options)
{
	struct peer *peer = xcalloc(1, sizeof *peer);

	peer->loop = loop;
	peer->started_ms = loop_now_ms(loop);
	peer->restarts = notify_restarts();
	peer->options = *options;
	peer->options.endpoint = xstrdup(options->endpoint);
	peer->options.name = xstrdup(options->name);
	services_copy(peer, options->services, options->service_count, options->catalog);
	if (options->session != NULL)
		memcpy(peer->session, options->session, SESSION_BYTES);
	else
		service_session(peer->session);
	peer->arena = arena_new();
	peer->greet_wait_ms = GREET_WAIT_MS;
	if (connect_anew(peer) == -1) {
		peer_free(peer);
		return NULL;
	}
	peer->timer = timer_start(loop, HEARTBEAT_MS / CHECKS_PER_HEARTBEAT,
	    HEARTBEAT_MS / CHECKS_PER_HEARTBEAT, on_check, peer);
	return peer;
}

void
peer_destroy(struct peer **peer_p)
{
	struct peer *peer = *peer_p;

	if (peer == NULL)
		return;
	timer_stop(&peer->timer);
	timer_stop(&peer->acks_timer);
	if (peer->up)
		say(peer, MSG_BYE);
	socket_close(&peer->socket, peer->up ? LINGER_MS : 0);
	peer_free(peer);
	*peer_p = NULL;
}

bool
peer_is_up(const struct peer *peer)
{
	return peer->up;
}

void
peer_set_services(struct peer *peer, const struct wire_service *services,
    size_t service_count, const struct value *catalog)
{
	services_release(peer);
	services_copy(peer, services, service_count, catalog);
	peer->is_unsaid = true;
	if (!peer->up)
		return;
	/* A broker that has given us up says so to this; a HELLO would open another session there,
	 * of which we would not hear that it is another: WELCOME names the broker's. */
	say(peer, MSG_PING);
	say_hello(peer);
}
