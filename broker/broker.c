#include "broker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core.h"
#include "log.h"
#include "memory.h"
#include "socket.h"

#define TICK_MS 50
#define LOST_MS 250
#define LINGER_MS 1000
#define ROUTING_ID_BYTES 5u
#define ARENA_BYTES_MAX (256u << 10)

/* The body frames of one message, moved out of it. */
struct body {
	unsigned count;
	zmq_msg_t frames[];
};

struct broker {
	struct service *service;
	struct loop *loop;
	struct socket *router, *status;
	struct timer *tick;
	struct core *core;
	struct arena *arena; /* of decoded headers; made anew when it has grown */
	uint64_t *lost;      /* peers that cannot be sent to any more */
	size_t lost_count, lost_room;
	uint64_t lost_ms; /* when the first of them was noted */
};

#define OFFSET(member) offsetof(struct broker_settings, member)
const struct setting broker_table[] = {
	SERVICE_SETTINGS,
	{ "bind", SETTING_TEXT, OFFSET(bind), "tcp://127.0.0.1:7700", 0, 0, NULL,
	    "where workers, coordinators and the command line connect", 'b' },
	{ "status-bind", SETTING_TEXT, OFFSET(status_bind), "tcp://127.0.0.1:7701", 0, 0,
	    NULL, "where the status channel is published", 's' },
	{ "queue-calls-max", SETTING_INTEGER, OFFSET(queue_calls_max), "100000", 1,
	    QUEUE_CALLS_MAX, NULL, "calls that may wait for one service", 0 },
	{ "bodies-bytes-max", SETTING_INTEGER, OFFSET(bodies_bytes_max), "1073741824",
	    1 << 20, INT64_C(1) << 40, "bytes",
	    "bodies held in memory before new calls are refused", 0 },
	{ .name = NULL },
};

/* --- bodies --------------------------------------------------------------------------- */

/* Returns new: the frames behind the header, moved; NULL when there are none. */
static struct body *
body_take(struct parts *parts, unsigned from, size_t *bytes_r)
{
	unsigned count = parts->count > from ? parts->count - from : 0, i;
	struct body *body;

	*bytes_r = 0;
	if (count == 0)
		return NULL;
	body = xcalloc(1, sizeof *body + count * sizeof body->frames[0]);
	body->count = count;
	for (i = 0; i < count; i++) {
		zmq_msg_init(&body->frames[i]);
		zmq_msg_move(&body->frames[i], &parts->frames[from + i]);
		*bytes_r += sizeof body->frames[0] + zmq_msg_size(&body->frames[i]);
	}
	return body;
}

static void
body_free(struct body *body)
{
	unsigned i;

	for (i = 0; i < body->count; i++)
		zmq_msg_close(&body->frames[i]);
	free(body);
}

/* Appends references: the bytes are shared with what stays here. */
static void
parts_add_body(struct parts *parts, struct body *body)
{
	unsigned i;

	for (i = 0; body != NULL && i < body->count; i++) {
		zmq_msg_init(&parts->frames[parts->count]);
		zmq_msg_copy(&parts->frames[parts->count++], &body->frames[i]);
	}
}

/* --- peers: the routing ids libzmq gives, as numbers ---------------------------------- */

/* Returns the peer, or 0 for an id that the peer has chosen itself. */
static uint64_t
peer_of(const struct parts *parts)
{
	const unsigned char *id = parts_data(parts, 0);
	uint32_t number;

	if (parts_size(parts, 0) != ROUTING_ID_BYTES || id[0] != 0)
		return 0;
	memcpy(&number, id + 1, sizeof number);
	return (uint64_t)1 << 32 | number;
}

static void
parts_add_peer(struct parts *parts, uint64_t peer)
{
	unsigned char id[ROUTING_ID_BYTES] = { 0 };
	uint32_t number = (uint32_t)peer;

	memcpy(id + 1, &number, sizeof number);
	parts_add(parts, id, sizeof id);
}

/* --- actions -------------------------------------------------------------------------- */

/* Whoever owns a message sends it again. These two have no owner: a coordinator that missed
 * one has to begin anew. */
static bool
is_unowned(enum message_type type)
{
	return type == MSG_OFFER || type == MSG_WITHDRAW;
}

/* It is gone, but what it said last may be unread yet: a result, or that it gives its calls
 * back. Until that is read it counts as alive. */
static void
note_lost(struct broker *broker, uint64_t peer)
{
	if (broker->lost_count == 0)
		broker->lost_ms = loop_now_ms(broker->loop);
	if (broker->lost_count == broker->lost_room) {
		broker->lost_room = broker->lost_room == 0 ? 16 : 2 * broker->lost_room;
		broker->lost =
		    xreallocarray(broker->lost, broker->lost_room, sizeof *broker->lost);
	}
	broker->lost[broker->lost_count++] = peer;
}

static void
send_parts(
    struct broker *broker, uint64_t peer, enum message_type type, struct parts *parts)
{
	if (socket_send(broker->router, parts) == 0)
		return;
	if (errno == EHOSTUNREACH || is_unowned(type))
		note_lost(broker, peer);
	else
		log_debug("unsent type=%s errno=%d", wire_message_name(type), errno);
}

static void
do_send(struct broker *broker, const struct action *action)
{
	struct parts parts = { .count = 0 };
	struct packet packet = { 0 };

	parts_add_peer(&parts, action->peer);
	wire_encode(&packet, &action->header);
	parts_add_packet(&parts, &packet);
	parts_add_body(&parts, action->body);
	if (action->header.type == MSG_ERROR)
		log_debug("refused peer=%llx code=%s reason=\"%s\"",
		    (unsigned long long)action->peer,
		    wire_code_name((unsigned)action->header.code), action->header.reason);
	send_parts(broker, action->peer, action->header.type, &parts);
}

/* The status channel may drop: PUB never waits for a slow reader. */
static void
do_publish(struct broker *broker, const struct action *action)
{
	struct parts parts = { .count = 0 };

	parts_add(&parts, action->header.topic, strlen(action->header.topic));
	parts_add_body(&parts, action->body);
	socket_send(broker->status, &parts);
}

static const struct value *
notice_value(struct arena *arena, const struct header *header)
{
	struct value_list services = { .arena = arena };
	size_t i;

	for (i = 0; i < header->service_count; i++)
		value_list_add(&services, value_str(arena, header->services[i].name));
	return value_map(arena, "kind", value_str(arena, header->topic), "worker",
	    value_str(arena, header->name), "session", value_str(arena, header->session),
	    "capacity", value_int(arena, (int64_t)header->capacity), "services",
	    value_list_end(&services), "reason",
	    header->reason == NULL ? NULL : value_str(arena, header->reason), NULL);
}

static void
do_notice(struct broker *broker, const struct action *action)
{
	const struct header *header = &action->header;
	struct arena *arena = arena_new();
	struct parts parts = { .count = 0 };
	struct packet packet = { 0 };
	const char *topic =
	    arena_printf(arena, "worker.%s.%s", header->name, header->topic);

	log_info("worker %s name=%s session=%s services=%zu reason=\"%s\"", header->topic,
	    header->name, header->session, header->service_count,
	    header->reason == NULL ? "" : header->reason);
	value_pack(&packet, notice_value(arena, header));
	parts_add(&parts, topic, strlen(topic));
	parts_add_packet(&parts, &packet);
	socket_send(broker->status, &parts);
	arena_destroy(&arena);
}

static void
do_stats(struct broker *broker, const struct action *action)
{
	const struct header header = { .type = MSG_STATS };
	struct arena *arena = arena_new();
	struct parts parts = { .count = 0 };
	struct packet head = { 0 }, body = { 0 };

	wire_encode(&head, &header);
	value_pack(&body, core_stats(broker->core, arena));
	parts_add_peer(&parts, action->peer);
	parts_add_packet(&parts, &head);
	parts_add_packet(&parts, &body);
	send_parts(broker, action->peer, MSG_STATS, &parts);
	arena_destroy(&arena);
}

static void
do_drop(struct broker *broker, const struct action *action)
{
	(void)broker;
	body_free(action->body);
}

static void
feed(struct broker *broker, const struct event *event)
{
	static void (*const performers[])(struct broker *, const struct action *) = {
		[ACTION_SEND] = do_send,
		[ACTION_PUBLISH] = do_publish,
		[ACTION_NOTICE] = do_notice,
		[ACTION_STATS] = do_stats,
		[ACTION_DROP] = do_drop,
	};
	struct actions actions =
	    core_step(broker->core, event, loop_now_ms(broker->loop));
	size_t i;

	for (i = 0; i < actions.count; i++)
		performers[actions.items[i].type](broker, &actions.items[i]);
}

/* At the end of each turn. Sockets are fair: on a busy one a lost peer's words are read long
 * before LOST_MS. */
static void
end_lost_sessions(void *arg)
{
	struct broker *broker = arg;
	size_t i, count = broker->lost_count;

	if (count == 0 || (socket_has_input(broker->router) &&
			      loop_now_ms(broker->loop) < broker->lost_ms + LOST_MS))
		return;
	for (i = 0; i < count; i++)
		feed(broker, &(struct event){
				 .type = EVENT_UNREACHABLE, .peer = broker->lost[i] });
	/* These steps may have found more. */
	broker->lost_count -= count;
	memmove(broker->lost, broker->lost + count,
	    broker->lost_count * sizeof *broker->lost);
}

/* --- events --------------------------------------------------------------------------- */

static void
feed_message(struct broker *broker, uint64_t peer, struct parts *parts)
{
	struct event event = { .type = EVENT_REFUSED, .peer = peer };
	struct header header;

	if (wire_decode(broker->arena, parts_data(parts, 1), parts_size(parts, 1),
		&header, &event.code, &event.reason) == 0) {
		event.type = EVENT_MESSAGE;
		event.header = &header;
		event.body = body_take(parts, 2, &event.body_bytes);
	}
	feed(broker, &event);
	if (arena_bytes(broker->arena) > ARENA_BYTES_MAX) {
		arena_destroy(&broker->arena);
		broker->arena = arena_new();
	}
}

static void
refuse(struct broker *broker, uint64_t peer, enum wire_code code, const char *reason)
{
	feed(broker,
	    &(struct event){
		.type = EVENT_REFUSED, .peer = peer, .code = code, .reason = reason });
}

static void
on_message(void *arg, struct parts *parts, bool truncated)
{
	struct broker *broker = arg;
	uint64_t peer = peer_of(parts);

	if (peer == 0)
		log_debug("dropped a message of a peer with a routing id of its own");
	else if (truncated)
		refuse(broker, peer, CODE_TOO_LARGE, "too many frames");
	else if (parts->count < 2)
		refuse(broker, peer, CODE_MALFORMED, "a message has a header");
	else
		feed_message(broker, peer, parts);
}

static void
on_tick(void *arg)
{
	feed(arg, &(struct event){ .type = EVENT_TICK });
}

/* --- life ----------------------------------------------------------------------------- */

static void
check_bound(const struct socket *socket, const char *endpoint, const char *error)
{
	if (socket == NULL)
		fatalx("cannot bind %s: %s", endpoint, error);
	log_info("bound endpoint=%s", socket_endpoint(socket));
}

static struct core *
make_core(const struct broker_settings *settings, uint64_t now_ms)
{
	struct core_options options = core_defaults;
	char session[SESSION_BYTES + 1];

	service_session(session);
	options.session = session;
	options.name = settings->common.name;
	options.queue_calls_max = (size_t)settings->queue_calls_max;
	options.bodies_bytes_max = (size_t)settings->bodies_bytes_max;
	if (getentropy(&options.seed, sizeof options.seed) == -1)
		fatal("getentropy");
	return core_new(&options, now_ms);
}

struct broker *
broker_new(struct service *service, const struct broker_settings *settings)
{
	struct broker *broker = xcalloc(1, sizeof *broker);
	const char *error = NULL;

	broker->service = service;
	broker->loop = service_loop(service);
	broker->arena = arena_new();
	broker->core = make_core(settings, loop_now_ms(broker->loop));
	broker->status = socket_pub(broker->loop, settings->status_bind, &error);
	check_bound(broker->status, settings->status_bind, error);
	broker->router =
	    socket_router(broker->loop, settings->bind, on_message, broker, &error);
	check_bound(broker->router, settings->bind, error);
	broker->tick = timer_start(broker->loop, TICK_MS, TICK_MS, on_tick, broker);
	loop_add_flush(broker->loop, end_lost_sessions, broker);
	return broker;
}

void
broker_destroy(struct broker **broker_p)
{
	struct broker *broker = *broker_p;

	if (broker == NULL)
		return;
	timer_stop(&broker->tick);
	loop_remove_flush(broker->loop, end_lost_sessions, broker);
	socket_close(&broker->router, LINGER_MS);
	socket_close(&broker->status, LINGER_MS);
	core_destroy(&broker->core, body_free);
	arena_destroy(&broker->arena);
	free(broker->lost);
	free(broker);
	*broker_p = NULL;
}

void
broker_drain(void *arg)
{
	struct broker *broker = arg;

	feed(broker, &(struct event){ .type = EVENT_LEAVE });
	service_end(broker->service);
}
