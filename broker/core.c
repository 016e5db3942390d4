#include "core.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "permits.h"
#include "tables.h"

const struct core_options core_defaults = {
	.heartbeat_ms = HEARTBEAT_MS,
	.liveness_ms = LIVENESS_MS,
	.resend_ms = RESEND_MS,
	.recovery_ms = RECOVERY_MS,
	.seek_ms = SEEK_MS,
	.probe_ms = PROBE_MS,
	.probe_wait_ms = PROBE_WAIT_MS,
	.probe_drop_ms = PROBE_DROP_MS,
	.queue_calls_max = QUEUE_CALLS_MAX,
	.calls_max = CALLS_MAX,
	.kept_max = RESULTS_KEPT_MAX,
	.bodies_bytes_max = BODIES_BYTES_MAX,
};

#define ACTIONS_KEPT 4096u /* behind a step that had more */

/* Who may say what. A message that is not here is not for a broker. */
#define FROM(role) (1u << (role))
#define FROM_ALL (FROM(ROLE_COORDINATOR) | FROM(ROLE_WORKER) | FROM(ROLE_CLIENT))
#define FROM_CALLERS (FROM(ROLE_COORDINATOR) | FROM(ROLE_WORKER))

static const struct handler {
	message_fn *handle;
	unsigned roles;
} handlers[] = {
	[MSG_HELLO] = { on_hello, FROM_ALL },
	[MSG_BYE] = { on_bye, FROM_ALL },
	[MSG_PING] = { on_ping, FROM_ALL },
	[MSG_PONG] = { on_pong, FROM_ALL },
	[MSG_EVENT] = { on_event, FROM_ALL },
	[MSG_STATS] = { on_stats, FROM(ROLE_COORDINATOR) | FROM(ROLE_CLIENT) },
	[MSG_PROBE] = { on_probe, FROM(ROLE_WORKER) | FROM(ROLE_CLIENT) },
	[MSG_CALL] = { on_call, FROM_CALLERS },
	[MSG_CANCEL] = { on_cancel, FROM_CALLERS },
	[MSG_RESULT_ACK] = { on_result_ack, FROM_CALLERS },
	[MSG_CREDIT] = { on_credit, FROM(ROLE_WORKER) },
	[MSG_CALL_ACK] = { on_call_ack, FROM(ROLE_WORKER) },
	[MSG_PROGRESS] = { on_progress, FROM(ROLE_WORKER) },
	[MSG_RESULT] = { on_result, FROM(ROLE_WORKER) },
	[MSG_BUSY] = { on_busy, FROM(ROLE_WORKER) },
	[MSG_ANNOUNCE] = { on_announce, FROM(ROLE_WORKER) },
	[MSG_RELEASE] = { on_release, FROM(ROLE_WORKER) },
	[MSG_DRAIN] = { on_drain, FROM(ROLE_WORKER) },
};

struct core *
core_new(const struct core_options *options, uint64_t now_ms)
{
	struct core *core = xcalloc(1, sizeof *core);

	core->options = *options;
	core->options.session = core->session = xstrdup(options->session);
	core->options.name = core->name = xstrdup(options->name);
	core->started_ms = core->now_ms = now_ms;
	core->gap_ms =
	    now_ms; /* what was said before, on sockets that are closed by now, may still come */
	core->sessions = id_table_new(options->seed);
	core->peers = id_table_new(options->seed);
	core->calls = id_table_new(options->seed);
	core->capabilities = id_table_new(options->seed);
	core->settled = settled_new(options->seed, SETTLED_IDS_MAX, SETTLED_KEEP_MS);
	TAILQ_INIT(&core->heard);
	TAILQ_INIT(&core->spoke);
	TAILQ_INIT(&core->workers);
	TAILQ_INIT(&core->coordinators);
	TAILQ_INIT(&core->clients);
	TAILQ_INIT(&core->held);
	TAILQ_INIT(&core->orphans);
	TAILQ_INIT(&core->served);
	TAILQ_INIT(&core->unserved);
	core->fleet = 1;
	TAILQ_INIT(&core->touched);
	TAILQ_INIT(&core->touched_sessions);
	TAILQ_INIT(&core->dead_calls);
	TAILQ_INIT(&core->dead_sessions);
	SLIST_INIT(&core->sought);
	return core;
}

/* The last step's actions pointed to these. */
static void
free_the_dead(struct core *core)
{
	struct session *session;
	struct sought *sought;
	struct call *call;

	while ((sought = SLIST_FIRST(&core->sought)) != NULL) {
		SLIST_REMOVE_HEAD(&core->sought, next);
		free(sought);
	}
	while ((call = TAILQ_FIRST(&core->dead_calls)) != NULL) {
		TAILQ_REMOVE(&core->dead_calls, call, waiting_link);
		call_free(call);
	}
	while ((session = TAILQ_FIRST(&core->dead_sessions)) != NULL) {
		TAILQ_REMOVE(&core->dead_sessions, session, role_link);
		session_free(session);
	}
}

static void
end_all(struct core *core)
{
	struct session *session;
	struct heap_node *node;

	while ((session = TAILQ_FIRST(&core->heard)) != NULL)
		session_end(core, session, "the broker ends");
	while ((node = heap_first(&core->timers)) != NULL)
		call_bury(core, HEAP_ITEM(node, struct call, timer));
	assert(id_table_size(core->calls) == 0 && core->bodies_bytes == 0);
}

void
core_destroy(struct core **core_p, void (*drop)(struct body *body))
{
	struct core *core = *core_p;
	size_t i;

	if (core == NULL)
		return;
	core->action_count = 0;
	end_all(core);
	for (i = 0; i < core->action_count && drop != NULL; i++)
		if (core->actions[i].type == ACTION_DROP)
			drop(core->actions[i].body);
	free_the_dead(core);
	id_table_destroy(&core->sessions);
	id_table_destroy(&core->peers);
	id_table_destroy(&core->calls);
	id_table_destroy(&core->capabilities);
	settled_destroy(&core->settled);
	heap_release(&core->timers);
	free(core->actions);
	free(core->session);
	free(core->name);
	free(core);
	*core_p = NULL;
}

/* A peer of the broker before us does not know yet that we are another one. */
static void
refuse_stranger(struct core *core, const struct message *message)
{
	const struct header header = {
		.type = MSG_ERROR,
		.call_id = message->header->call_id,
		.code = CODE_NO_SESSION,
		.reason = wire_code_text(CODE_NO_SESSION),
	};

	core->refused = true;
	send_to_stranger(core, message->peer, &header);
}

/* Tells peer what was wrong; one that is wrong too often is dropped. */
static void
refuse(struct core *core, uint64_t peer, const char *call_id, enum wire_code code,
    const char *reason)
{
	const struct header header = {
		.type = MSG_ERROR, .call_id = call_id, .code = code, .reason = reason
	};
	struct session *session = session_of_peer(core, peer);

	COUNT(core, protocol_errors);
	core->refused = true;
	if (session == NULL) {
		send_to_stranger(core, peer, &header);
		return;
	}
	send_to(core, session, &header, NULL);
	if (++session->errors < PROTOCOL_ERRORS_MAX)
		return;
	COUNT(core, sessions_lost);
	session_end(core, session, "too many protocol errors");
}

/* Tells message's sender what was wrong; one that is wrong too often is dropped, so that
 * message->session may be gone behind this. */
static void
refuse_message(struct core *core, const struct message *message, enum wire_code code,
    const char *reason)
{
	refuse(core, message->peer, message->header->call_id, code, reason);
}

static void
handle_message(struct core *core, struct message *message)
{
	const struct header *header = message->header;
	const struct handler *handler = NULL;

	if ((size_t)header->type < sizeof handlers / sizeof handlers[0])
		handler = &handlers[header->type];
	if (message->session != NULL)
		session_heard(core, message->session);
	if (handler == NULL || handler->handle == NULL) {
		refuse_message(
		    core, message, CODE_MALFORMED, "not a message for a broker");
		return;
	}
	if (message->session == NULL && header->type != MSG_HELLO) {
		refuse_stranger(core, message);
		return;
	}
	if (message->session != NULL &&
	    (handler->roles & FROM(message->session->role)) == 0) {
		refuse_message(core, message, CODE_DENIED, "not a message for this role");
		return;
	}
	handler->handle(core, message);
}

static void
tick(struct core *core)
{
	struct heap_node *node;

	sessions_expire(core);
	probes_check(core);
	while ((node = heap_first(&core->timers)) != NULL && node->rank <= core->now_ms)
		call_due(core, HEAP_ITEM(node, struct call, timer));
	settled_expire(core->settled, core->now_ms);
	seek_new(core);
	sessions_ping(core);
	leave_check(core);
}

static void
begin_step(struct core *core, uint64_t now_ms)
{
	free_the_dead(core);
	core->action_count = 0;
	if (core->action_room > ACTIONS_KEPT) {
		free(core->actions);
		core->actions = NULL;
		core->action_room = 0;
	}
	core->refused = false;
	core->lookups = 0;
	if (now_ms > core->now_ms + 2 * core->options.heartbeat_ms)
		core->gap_ms = now_ms;
	if (now_ms > core->now_ms)
		core->now_ms = now_ms;
}

static void
step_message(struct core *core, const struct event *event)
{
	struct message message = {
		.peer = event->peer,
		.session = session_of_peer(core, event->peer),
		.header = event->header,
		.key = event->key,
		.inflow = event->inflow,
		.blob = { event->body, event->body_bytes },
	};

	core->bodies_bytes += event->body_bytes;
	handle_message(core, &message);
	blob_drop(core, &message.blob);
}

static void
step_unreachable(struct core *core, uint64_t peer)
{
	struct session *session = session_of_peer(core, peer);

	if (session == NULL)
		return;
	COUNT(core, sessions_lost);
	/* It may have left since we were silent, and lives: it says HELLO in a moment. */
	session->fell_silent = core->now_ms - core->gap_ms <= core->options.liveness_ms;
	session_end(core, session, "unreachable");
}

static void
step_arrives(struct core *core, uint64_t peer)
{
	struct session *session = session_of_peer(core, peer);

	if (session != NULL)
		session_heard(core, session);
}

struct actions
core_step(struct core *core, const struct event *event, uint64_t now_ms)
{
	begin_step(core, now_ms);
	switch (event->type) {
	case EVENT_MESSAGE:
		step_message(core, event);
		break;
	case EVENT_REFUSED:
		refuse(core, event->peer, NULL, event->code, event->reason);
		break;
	case EVENT_UNREACHABLE:
		step_unreachable(core, event->peer);
		break;
	case EVENT_ARRIVES:
		step_arrives(core, event->peer);
		break;
	case EVENT_TICK:
		tick(core);
		break;
	case EVENT_LEAVE:
		leave_begin(core, event->drain_ms);
		break;
	case EVENT_WANTED:
		sessions_tell_wanted(core);
		break;
	case EVENT_RIGHTS:
		rights_change(core, event->book);
		break;
	}
	hand_out(core);
	return (struct actions){ core->actions, core->action_count, core->refused };
}

void
on_event(struct core *core, struct message *message)
{
	const char *topic = message->header->topic;
	const char *reason = permit_event(core, message->session, topic);

	if (reason != NULL)
		refuse_message(core, message, CODE_DENIED, reason);
	else
		publish(core, topic, message->blob.body);
}

/* Of a call that went elsewhere meanwhile it is too late, and no mistake. */
void
on_progress(struct core *core, struct message *message)
{
	const struct call *call = call_find(core, message->header->call_id);
	const char *topic = message->header->topic;

	if (permit_progress(message->session, call, topic))
		publish(core, topic, message->blob.body);
	else
		COUNT(core, denied);
}

void
on_stats(struct core *core, struct message *message)
{
	ask_for_stats(core, message->session);
}

size_t
core_calls(const struct core *core, enum call_state state)
{
	return core->states[state];
}

uint64_t
core_count(const struct core *core, enum core_counter counter)
{
	return core->counters[counter];
}
