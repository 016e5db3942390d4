#include "broker.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "allow.h"
#include "acks.h"
#include "body.h"
#include "core.h"
#include "curve.h"
#include "key_file.h"
#include "log.h"
#include "memory.h"
#include "notice.h"
#include "notify.h"
#include "outlet.h"
#include "status.h"

#define TICK_MS 50
#define ARENA_BYTES_MAX (256u << 10)

struct broker {
	struct service *service;
	struct loop *loop;
	struct outlet *outlet;
	struct status *status;
	struct allow *allow; /* NULL: there are no keys */
	struct timer *tick;
	struct core *core;
	struct arena *arena; /* of decoded headers; made anew when it has grown */
	uint64_t drain_ms;
	bool has_inside;
	struct silent silent[SESSIONS_MAX]; /* of the tick under way */
};

/* The service ends us at drain-ms, come what may: some of it is for the last words. */
static uint64_t
core_drain_ms(uint64_t drain_ms)
{
	return drain_ms - drain_ms / 10;
}

#define OFFSET(member) offsetof(struct broker_settings, member)
const struct setting broker_table[] = {
	SERVICE_SETTINGS_ALONE,
	{ "bind", SETTING_TEXT, OFFSET(bind), "tcp://127.0.0.1:7700", 0, 0, NULL,
	    "where workers, coordinators and the command line connect", 'b' },
	{ "status-bind", SETTING_TEXT, OFFSET(status_bind), "tcp://127.0.0.1:7701", 0, 0,
	    NULL, "where the status channel is published", 's' },
	{ "allow", SETTING_TEXT, OFFSET(allow), NULL, 0, 0, NULL,
	    "file with the keys that may connect, and what each may do (flotilla keys "
	    "allow); "
	    "goes with --key",
	    0 },
	{ "queue-calls-max", SETTING_INTEGER, OFFSET(queue_calls_max), "100000", 1,
	    QUEUE_CALLS_MAX, NULL, "calls that may wait for one service", 0 },
	{ "drain-ms", SETTING_INTEGER, OFFSET(drain_ms), "10000", 100, 600000, "ms",
	    "how long calls under way may end before the broker leaves", 0 },
	{ "bodies-bytes-max", SETTING_INTEGER, OFFSET(bodies_bytes_max), "1073741824",
	    1 << 20, INT64_C(1) << 40, "bytes",
	    "bodies held in memory before new calls are refused", 0 },
	{ "probe-ms", SETTING_INTEGER, OFFSET(probe_ms), "5000", 0, 3600000, "ms",
	    "how often a worker is asked through the way its calls go; 0: never", 0 },
	{ "probe-wait-ms", SETTING_INTEGER, OFFSET(probe_wait_ms), "5000", 100, 3600000,
	    "ms", "a worker that leaves that unanswered for so long gets no new calls",
	    0 },
	{ "probe-drop-ms", SETTING_INTEGER, OFFSET(probe_drop_ms), "30000", 100, 3600000,
	    "ms", "for so long: its calls go elsewhere and it is told to start again",
	    0 },
	{ .name = NULL },
};

/* --- actions -------------------------------------------------------------------------- */

static void
do_send(struct broker *broker, const struct action *action)
{
	struct body *body =
	    action->wanted == WANTED_UNSAID
		? action->body
		: status_wanted(broker->status, action->wanted == WANTED_WHETHER);

	if (action->header.type == MSG_ERROR)
		log_debug("refused peer=%llx code=%s reason=\"%s\"",
		    (unsigned long long)action->peer,
		    wire_code_name((unsigned)action->header.code), action->header.reason);
	if (action->gathers)
		outlet_gather(broker->outlet, action->peer, &action->header, body);
	else
		outlet_send(broker->outlet, action->peer, &action->header, body);
}

/* The status channel may drop: PUB never waits for a slow reader. */
static void
do_publish(struct broker *broker, const struct action *action)
{
	struct parts parts = { .count = 0 };

	parts_add(&parts, action->header.topic, strlen(action->header.topic));
	parts_add_body(&parts, action->body);
	status_send(broker->status, &parts);
}

static void
do_notice(struct broker *broker, const struct action *action)
{
	notice_send(broker->status, &action->header);
}

/* The core's tables, and what it does not know: its own loop. */
static const struct value *
stats_value(const struct broker *broker, struct arena *arena)
{
	const struct value *tables = core_stats(broker->core, arena);
	const struct value *self = value_map_with(arena, value_get(tables, "broker"),
	    "lag_ms", value_int(arena, (int64_t)loop_lag_ms(broker->loop)));

	self = value_map_with(
	    arena, self, "restarts", value_int(arena, (int64_t)notify_restarts()));
	return value_map_with(arena, tables, "broker", self);
}

static void
do_stats(struct broker *broker, const struct action *action)
{
	const struct header header = { .type = MSG_STATS };
	struct arena *arena = arena_new();
	struct packet body = { 0 };

	value_pack(&body, stats_value(broker, arena));
	outlet_send_packet(broker->outlet, action->peer, &header, &body);
	arena_destroy(&arena);
}

static void
do_drop(struct broker *broker, const struct action *action)
{
	(void)broker;
	body_free(action->body);
}

static void
do_left(struct broker *broker, const struct action *action)
{
	(void)action;
	log_info("left");
	service_end(broker->service);
}

/* Returns false when the event's message was refused. */
static bool
feed(struct broker *broker, const struct event *event)
{
	static void (*const performers[])(struct broker *, const struct action *) = {
		[ACTION_SEND] = do_send,
		[ACTION_PUBLISH] = do_publish,
		[ACTION_NOTICE] = do_notice,
		[ACTION_STATS] = do_stats,
		[ACTION_LEFT] = do_left,
		[ACTION_DROP] = do_drop,
	};
	struct actions actions =
	    core_step(broker->core, event, loop_now_ms(broker->loop));
	size_t i;

	for (i = 0; i < actions.count; i++)
		performers[actions.items[i].type](broker, &actions.items[i]);
	outlet_step_over(broker->outlet);
	return !actions.refused;
}

/* The end of each turn. */
static void
end_lost_sessions(void *arg)
{
	struct broker *broker = arg;
	size_t i, count = outlet_lost_count(broker->outlet);

	for (i = 0; i < count; i++)
		feed(broker, &(struct event){ .type = EVENT_UNREACHABLE,
				 .peer = outlet_lost(broker->outlet, i) });
	outlet_forget_lost(broker->outlet, count); /* these steps may have found more */
}

/* --- events --------------------------------------------------------------------------- */

/* An acknowledgement of several calls is so many steps; one that is refused is so as a whole. */
static void
feed_decoded(struct broker *broker, struct event *event, const struct header *header)
{
	struct header single;
	size_t i;

	event->type = EVENT_MESSAGE;
	event->header = &single;
	for (i = 0; acks_single(header, i, &single) && feed(broker, event); i++) {
		event->body = NULL; /* the first has it */
		event->body_bytes = 0;
	}
	event->header = NULL;
}

/* The key that a message came with: not of the routing id's frame, which libzmq may leave without. What has
 * none came from inside: nobody else gets through without. */
static const char *
sender_key(const struct broker *broker, struct parts *parts)
{
	const char *key;

	if (broker->allow == NULL)
		return NULL;
	key = parts_sender_key(parts, 1);
	return key == NULL && broker->has_inside ? curve_public_key() : key;
}

static void
feed_message(struct broker *broker, uint64_t peer, struct parts *parts)
{
	struct event event = { .type = EVENT_REFUSED, .peer = peer };
	struct header header;

	if (wire_decode(broker->arena, parts_data(parts, 1), parts_size(parts, 1),
		&header, &event.code, &event.reason) == 0) {
		event.key = sender_key(broker, parts);
		if (header.type == MSG_HELLO)
			event.inflow = inflow_of(parts, 1);
		event.body = body_take(parts, 2, &event.body_bytes);
		feed_decoded(broker, &event, &header);
	} else {
		feed(broker, &event);
	}
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
	uint64_t peer = outlet_peer(parts);

	if (peer == 0)
		log_debug("dropped a message of a peer with a routing id of its own");
	else if (truncated)
		refuse(broker, peer, CODE_TOO_LARGE, "too many frames");
	else if (parts->count < 2)
		refuse(broker, peer, CODE_MALFORMED, "a message has a header");
	else
		feed_message(broker, peer, parts);
}

/* A large message is nothing until it is whole, and what its sender says besides stands behind it. */
static void
hear_arrivals(struct broker *broker)
{
	struct silent *silent = broker->silent;
	size_t i, count = core_silent(broker->core, loop_now_ms(broker->loop), silent);

	for (i = 0; i < count; i++)
		if (inflow_goes_on(silent[i].inflow, silent[i].heard_ms))
			feed(broker, &(struct event){
					 .type = EVENT_ARRIVES, .peer = silent[i].peer });
}

static void
on_tick(void *arg)
{
	hear_arrivals(arg);
	feed(arg, &(struct event){ .type = EVENT_TICK });
}

/* --- life ----------------------------------------------------------------------------- */

static void
check_bound(const void *bound, const char *endpoint, const char *error)
{
	if (bound == NULL)
		fatalx("cannot bind %s: %s", endpoint, error);
}

static void
on_wanted(void *arg)
{
	feed(arg, &(struct event){ .type = EVENT_WANTED });
}

static void
bind_sockets(struct broker *broker, const struct broker_settings *settings)
{
	const char *error = NULL;

	broker->status =
	    status_new(broker->loop, settings->status_bind, on_wanted, broker, &error);
	check_bound(broker->status, settings->status_bind, error);
	log_info("bound endpoint=%s", status_endpoint(broker->status));
	broker->outlet =
	    outlet_new(broker->loop, settings->bind, on_message, broker, &error);
	if (broker->outlet == NULL)
		status_destroy(&broker->status); /* its file stays else */
	check_bound(broker->outlet, settings->bind, error);
	log_info("bound endpoint=%s", outlet_endpoint(broker->outlet));
	broker->has_inside = settings->inside != NULL;
	if (broker->has_inside &&
	    outlet_bind_inside(broker->outlet, settings->inside) == -1)
		fatal("cannot bind %s", settings->inside);
}

static void
on_rights(void *arg, struct rights_book *book, bool watcher_lost)
{
	struct broker *broker = arg;

	feed(broker, &(struct event){ .type = EVENT_RIGHTS, .book = book });
	if (watcher_lost && broker->status != NULL)
		status_renew(broker->status);
}

static void
on_reload(void *arg)
{
	struct broker *broker = arg;

	allow_reload(broker->allow);
}

/* A key without a list would let every key in, a list without a key means nothing. */
static void
open_allow_list(struct broker *broker, const struct broker_settings *settings)
{
	const char *error = NULL;

	if (settings->allow == NULL && settings->common.key == NULL)
		return;
	if (settings->allow == NULL)
		settings_refuse("broker", "--key", key_file_shown(settings->common.key),
		    "given together with --allow FILE, the keys that may connect");
	if (settings->common.key == NULL)
		settings_refuse("broker", "--allow", settings->allow,
		    "given together with --key FILE, the broker's own pair");
	broker->allow = allow_new(
	    broker->loop, settings->allow, on_rights, broker, broker->arena, &error);
	if (broker->allow == NULL)
		fatalx("--allow: %s", error);
	service_on_reload(broker->service, on_reload, broker);
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
	options.probe_ms = (uint64_t)settings->probe_ms;
	options.probe_wait_ms = (uint64_t)settings->probe_wait_ms;
	options.probe_drop_ms = (uint64_t)settings->probe_drop_ms;
	if (getentropy(&options.seed, sizeof options.seed) == -1)
		fatal("getentropy");
	return core_new(&options, now_ms);
}

struct broker *
broker_new(struct service *service, const struct broker_settings *settings)
{
	struct broker *broker = xcalloc(1, sizeof *broker);

	broker->service = service;
	broker->drain_ms = core_drain_ms((uint64_t)settings->drain_ms);
	broker->loop = service_loop(service);
	broker->arena = arena_new();
	broker->core = make_core(settings, loop_now_ms(broker->loop));
	open_allow_list(broker, settings);
	bind_sockets(broker, settings);
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
	outlet_destroy(&broker->outlet);
	status_destroy(&broker->status);
	core_destroy(&broker->core, body_free);
	allow_destroy(&broker->allow);
	arena_destroy(&broker->arena);
	free(broker);
	*broker_p = NULL;
}

void
broker_drain(void *arg)
{
	struct broker *broker = arg;

	log_info("leaving assigned=%zu queued=%zu",
	    core_calls(broker->core, CALL_ASSIGNED),
	    core_calls(broker->core, CALL_QUEUED));
	feed(
	    broker, &(struct event){ .type = EVENT_LEAVE, .drain_ms = broker->drain_ms });
}
