/* sessions: who is here, and that it is alive. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "permits.h"
#include "planted.h"
#include "tables.h"

#define CATALOGS_SHARE 4u /* of the memory for bodies, which catalogs may take */

struct session *
session_of_peer(const struct core *core, uint64_t peer)
{
	return id_table_get_bytes(core->peers, &peer, sizeof peer);
}

static struct session_list *
list_of_role(struct core *core, enum wire_role role)
{
	if (role == ROLE_WORKER)
		return &core->workers;
	return role == ROLE_COORDINATOR ? &core->coordinators : &core->clients;
}

static void
session_bind(struct core *core, struct session *session, const struct message *hello)
{
	if (session->peer == hello->peer)
		return;
	if (session->peer != 0)
		id_table_remove(core->peers, &session->peer_key);
	session->peer = hello->peer;
	session->inflow = hello->inflow;
	id_table_put_bytes(core->peers, &session->peer_key, &session->peer,
	    sizeof session->peer, session);
}

static struct session *
session_new(struct core *core, const struct header *hello, const char *key)
{
	struct session *session = xcalloc(1, sizeof *session);

	memcpy(session->id, hello->session, SESSION_BYTES);
	session->role = (enum wire_role)hello->role;
	session->name = xstrdup(hello->name);
	session->report.restarts = hello->restarts;
	TAILQ_INIT(&session->asked);
	TAILQ_INIT(&session->work);
	id_table_put(core->sessions, &session->key, session->id, session);
	TAILQ_INSERT_TAIL(list_of_role(core, session->role), session, role_link);
	session->heard_ms = session->spoke_ms = session->opened_ms = core->now_ms;
	TAILQ_INSERT_TAIL(&core->heard, session, heard_link);
	TAILQ_INSERT_TAIL(&core->spoke, session, spoke_link);
	rights_take(core, session, key);
	COUNT(core, sessions_opened);
	return session;
}

void
session_free(struct session *session)
{
	free(session->name);
	free(session->report.trouble);
	free(session->revoked);
	free(session->offers);
	free(session->services);
	free(session);
}

void
session_heard(struct core *core, struct session *session)
{
	session->heard_ms = core->now_ms;
	TAILQ_REMOVE(&core->heard, session, heard_link);
	TAILQ_INSERT_TAIL(&core->heard, session, heard_link);
}

/* Its calls go on elsewhere; what it was to get waits for the next who asks. */
static void
session_leave_calls(struct core *core, struct session *session)
{
	struct call *call;

	while ((call = TAILQ_FIRST(&session->asked)) != NULL) {
		call_ask(core, call, NULL);
		call_arm(core, call);
		if (PLANTED(RESULT_DROPPED) && call->state == CALL_KEPT)
			call_settle(core, call, COUNTER_dropped);
	}
	suspect_judge(session);
	while ((call = TAILQ_FIRST(&session->work)) != NULL) {
		if (call->state == CALL_ASSIGNED) {
			call_lost(core, call);
		} else {
			TAILQ_REMOVE(&session->work, call, work_link);
			call->worker = NULL;
		}
	}
}

static void
tell_withdrawn(struct core *core, struct session *worker, const char *reason)
{
	const struct header header = {
		.type = MSG_WITHDRAW,
		.session = worker->id,
		.name = worker->name,
		.reason = reason,
	};
	struct session *coordinator;

	TAILQ_FOREACH(coordinator, &core->coordinators, role_link)
		send_to(core, coordinator, &header, NULL);
}

static void
catalog_set(struct core *core, struct session *worker, struct blob catalog)
{
	core->catalog_bytes -= worker->catalog.bytes;
	blob_drop(core, &worker->catalog);
	core->catalog_bytes += catalog.bytes;
	worker->catalog = catalog;
}

void
session_end(struct core *core, struct session *session, const char *reason)
{
	offers_release(core, session);
	session_leave_calls(core, session);
	if (session->touched)
		TAILQ_REMOVE(&core->touched_sessions, session, touched_link);
	TAILQ_REMOVE(list_of_role(core, session->role), session, role_link);
	TAILQ_REMOVE(&core->heard, session, heard_link);
	TAILQ_REMOVE(&core->spoke, session, spoke_link);
	id_table_remove(core->peers, &session->peer_key);
	id_table_remove(core->sessions, &session->key);
	rights_give_back(session);
	if (session->role == ROLE_WORKER) {
		pin_gone(core, session);
		tell_withdrawn(core, session, reason);
	}
	if (session->role != ROLE_CLIENT)
		notice(core, session, "down", reason);
	catalog_set(core, session, (struct blob){ 0 });
	TAILQ_INSERT_TAIL(&core->dead_sessions, session, role_link);
}

static void
send_offer(struct core *core, struct session *coordinator, struct session *worker)
{
	const struct header header = {
		.type = MSG_OFFER,
		.session = worker->id,
		.name = worker->name,
		.capacity = worker->capacity,
		.services = worker->services,
		.service_count = worker->offer_count,
	};

	send_to(core, coordinator, &header, worker->catalog.body);
}

static void
welcome(struct core *core, struct session *session)
{
	const struct header header = {
		.type = MSG_WELCOME,
		.session = core->session,
		.name = core->name,
		.protocol_min = WIRE_VERSION,
		.protocol_max = WIRE_VERSION,
		.heartbeat_ms = core->options.heartbeat_ms,
		.liveness_ms = core->options.liveness_ms,
		.lists = 1,
	};

	send_to(core, session, &header, NULL);
}

/* Order matters: what is answered may be dropped when its catalog is replaced. */
static void
worker_hello(struct core *core, struct session *worker, struct message *message)
{
	const struct header *hello = message->header;
	struct session *coordinator;

	catalog_set(core, worker, blob_take(message));
	worker->capacity = (uint32_t)hello->capacity;
	/* One that drains says HELLO behind a lost connection, too: with results, whose slots are free
	 * before it can say DRAIN again. */
	if (hello->credit > 0 || PLANTED(DRAIN_FORGOTTEN))
		worker->draining = false;
	offers_set(core, worker, hello);
	session_report(core, worker, hello->credit);
	probes_hello(core, worker, hello);
	TAILQ_FOREACH(coordinator, &core->coordinators, role_link)
		send_offer(core, coordinator, worker);
	seek_at(core, worker);
	if (!PLANTED(ABSENT_KEPT))
		seek_again(core, worker);
}

static void
coordinator_hello(struct core *core, struct session *coordinator)
{
	struct session *worker;

	TAILQ_FOREACH(worker, &core->workers, role_link)
		send_offer(core, coordinator, worker);
}

static void
turn_away(struct core *core, uint64_t peer, enum wire_code code, const char *reason)
{
	const struct header header = {
		.type = MSG_ERROR,
		.code = code,
		.reason = reason,
		.protocol_min = WIRE_VERSION,
		.protocol_max = WIRE_VERSION,
	};

	COUNT(core, protocol_errors);
	send_to_stranger(core, peer, &header);
}

/* One worker's key, or one broken worker, is not to take the room of everybody's calls. */
static bool
has_room_for_catalog(
    const struct core *core, const struct session *session, const struct message *message)
{
	size_t bytes = core->catalog_bytes + message->blob.bytes;

	if (session != NULL)
		bytes -= session->catalog.bytes;
	return message->blob.bytes <= BODY_BYTES_MAX &&
	       bytes <= core->options.bodies_bytes_max / CATALOGS_SHARE;
}

/* Returns the session that hello speaks of, new or known, or NULL after turning it away.
 */
static struct session *
session_open(struct core *core, struct message *message)
{
	const struct header *hello = message->header;
	struct session *session = id_table_get(core->sessions, hello->session);
	enum wire_code code;
	const char *reason;

	if (hello->protocol_min > WIRE_VERSION || hello->protocol_max < WIRE_VERSION) {
		turn_away(
		    core, message->peer, CODE_VERSION, wire_code_text(CODE_VERSION));
		return NULL;
	}
	if (session != NULL && session->role != hello->role) {
		turn_away(
		    core, message->peer, CODE_DENIED, "this session has another role");
		return NULL;
	}
	if (pin_is_usurped(hello)) {
		turn_away(core, message->peer, CODE_DENIED,
		    "a worker:<session> that is not this one");
		return NULL;
	}
	reason = permit_hello(core, message, session, &code);
	if (reason != NULL) {
		turn_away(core, message->peer, code, reason);
		return NULL;
	}
	if (hello->role == ROLE_WORKER && !has_room_for_catalog(core, session, message)) {
		turn_away(core, message->peer, CODE_LIMIT,
		    "what workers say of their tools takes too much memory");
		return NULL;
	}
	if (session == NULL && id_table_size(core->sessions) >= SESSIONS_MAX) {
		turn_away(core, message->peer, CODE_LIMIT, "too many sessions");
		return NULL;
	}
	/* One connection, one session: the process behind it began anew. */
	if (message->session != NULL && message->session != session)
		session_end(core, message->session, "replaced by another session");
	return session != NULL ? session : session_new(core, hello, message->key);
}

void
on_hello(struct core *core, struct message *message)
{
	struct session *session;
	bool is_new;

	if (core->left)
		return; /* it finds the next broker here */
	session = session_open(core, message);
	if (session == NULL)
		return;
	is_new = session->peer == 0;
	session_bind(core, session, message);
	session_heard(core, session);
	session->gathers = message->header->lists != 0;
	session->quiet =
	    session->role != ROLE_CLIENT && (message->header->flags & WIRE_QUIET) != 0;
	welcome(core, session);
	if (session->quiet)
		send_wanted(core, session, MSG_WANTED);
	if (session->role == ROLE_WORKER)
		worker_hello(core, session, message);
	else if (session->role == ROLE_COORDINATOR)
		coordinator_hello(core, session);
	if (is_new && session->role != ROLE_CLIENT)
		notice(core, session, "up", NULL);
	session_says(core, session, message->header);
	leave_greet(core, session);
}

void
on_bye(struct core *core, struct message *message)
{
	message->session->said_bye = true;
	session_end(core, message->session, "left");
}

void
on_drain(struct core *core, struct message *message)
{
	message->session->draining = true;
	session_rank(core, message->session);
}

void
on_credit(struct core *core, struct message *message)
{
	if (message->header->capacity > 0)
		message->session->capacity = (uint32_t)message->header->capacity;
	session_report(core, message->session, message->header->credit);
}

void
on_ping(struct core *core, struct message *message)
{
	const struct header header = { .type = MSG_PONG };

	if (message->session->role == ROLE_WORKER)
		on_credit(core, message);
	session_says(core, message->session, message->header);
	if (message->session->quiet)
		send_wanted(core, message->session, MSG_PONG);
	else
		send_to(core, message->session, &header, NULL);
}

static void
tell_wanted(struct core *core, const struct session_list *list)
{
	struct session *session;

	TAILQ_FOREACH(session, list, role_link)
		if (session->quiet)
			send_wanted(core, session, MSG_WANTED);
}

void
sessions_tell_wanted(struct core *core)
{
	tell_wanted(core, &core->workers);
	tell_wanted(core, &core->coordinators);
}

/* Any frame counts as life: there is nothing more to a PONG. */
void
on_pong(struct core *core, struct message *message)
{
	(void)core;
	(void)message;
}

size_t
core_silent(const struct core *core, uint64_t now_ms, struct silent *list)
{
	struct session *session;
	size_t count = 0;

	TAILQ_FOREACH(session, &core->heard, heard_link) {
		if (now_ms < session->heard_ms + 2 * core->options.heartbeat_ms)
			break;
		list[count++] = (struct silent){ .peer = session->peer,
			.heard_ms = session->heard_ms,
			.inflow = &session->inflow };
	}
	return count;
}

void
sessions_expire(struct core *core)
{
	struct session *session;
	uint64_t since_ms;

	while ((session = TAILQ_FIRST(&core->heard)) != NULL) {
		since_ms =
		    session->heard_ms > core->gap_ms ? session->heard_ms : core->gap_ms;
		if (core->now_ms - since_ms <= core->options.liveness_ms)
			break;
		COUNT(core, sessions_lost);
		session->fell_silent = true;
		session_end(core, session, "silent for too long");
	}
}

void
sessions_ping(struct core *core)
{
	const struct header header = { .type = MSG_PING };
	struct session *session;

	while ((session = TAILQ_FIRST(&core->spoke)) != NULL &&
	       core->now_ms - session->spoke_ms >= core->options.heartbeat_ms)
		send_to(core, session, &header, NULL);
}
