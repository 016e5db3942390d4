/* answers: what workers say of calls: CALL_ACK, RESULT, BUSY, RELEASE, ANNOUNCE. */
#include "memory.h"
#include "permits.h"
#include "planted.h"
#include "tables.h"

static bool
runs_at(const struct call *call, const struct session *worker)
{
	return call != NULL && call->state == CALL_ASSIGNED && call->worker == worker;
}

/* Returns the call a worker speaks of, or NULL. */
static struct call *
named(const struct core *core, const struct message *message)
{
	return call_find(core, message->header->call_id);
}

void
on_call_ack(struct core *core, struct message *message)
{
	struct call *call = named(core, message);

	if (!runs_at(call, message->session))
		return;
	call_acknowledged(call);
	suspect_lives(core, call, message->session);
	session_rank(core, message->session);
	call_arm(core, call);
}

/* A worker goes on with what now runs or has ended elsewhere. Not CANCELLED, since nobody
 * wants the call to end so: a result that said that could reach its requester through
 * another broker. */
static void
tell_to_stop(struct core *core, struct session *worker, const char *id)
{
	const struct header header = {
		.type = MSG_CANCEL, .call_id = id, .code = CODE_WORKER_LOST
	};

	send_to(core, worker, &header, NULL);
}

void
call_stop_unwanted(struct core *core, struct call *call)
{
	tell_to_stop(core, call->worker, call->id);
	slot_forfeit(call);
}

static void
finish_with(struct core *core, struct call *call, struct message *message)
{
	enum wire_code code = (enum wire_code)message->header->code;
	const char *reason = message->header->reason;

	/* What a broker says of a CANCEL: who waits for an outcome would wait on. */
	if (code == CODE_UNKNOWN_CALL) {
		code = CODE_MALFORMED;
		reason = "its worker answered UNKNOWN_CALL, which only a broker says";
	}
	COUNT(core, answered);
	if (call->state == CALL_ASSIGNED && call->worker == message->session &&
	    call->capability != NULL && call->given_ms > 0)
		spread_add(
		    &core->ran[call->capability->kind], core->now_ms - call->given_ms);
	if (!call->asked)
		teller_note(call, message->session);
	call_finish(core, call,
	    (struct outcome){ .code = code,
		.reason = xstrdup(reason),
		.result = blob_take(message),
		.from = message->session });
}

/* Of a call from before our time, or that was given up: it waits for somebody who asks.
 */
static void
adopt_result(struct core *core, struct message *message)
{
	const struct header *header = message->header;
	struct call *call;

	if (settled_has(core->settled, header->call_id)) {
		result_unneeded(core, message->session, header->call_id);
	} else if (id_table_size(core->calls) < core->options.calls_max &&
		   core->bodies_bytes <= core->options.bodies_bytes_max) {
		call = call_new(core, header->call_id);
		call_fill(call, header);
		COUNT(core, adopted);
		finish_with(core, call, message);
	}
	/* else the worker keeps it and sends it again */
}

/* From a worker that has the call no more, as far as we knew. A good answer is good from
 * anybody; a failure is that worker's own, the call goes on where it is. */
static void
result_from_other(struct core *core, struct call *call, struct message *message)
{
	if (message->header->code != CODE_OK) {
		result_unneeded(core, message->session, call->id);
		return;
	}
	if (call->state == CALL_ASSIGNED)
		call_stop_unwanted(core, call);
	finish_with(core, call, message);
}

static void
result_again(struct core *core, struct call *call, struct session *worker)
{
	if (call->worker == NULL) {
		call->worker = worker; /* it was lost meanwhile; it wants RESULT_ACK */
		TAILQ_INSERT_TAIL(&worker->work, call, work_link);
	} else if (call->worker != worker) {
		result_unneeded(core, worker, call->id);
	}
}

void
on_result(struct core *core, struct message *message)
{
	struct call *call = named(core, message);

	if (call == NULL)
		adopt_result(core, message);
	else if (!permit_answer(core, message->session, call))
		result_unneeded(core, message->session, call->id);
	else if (call->state == CALL_KEPT)
		result_again(core, call, message->session);
	else if (runs_at(call, message->session))
		finish_with(core, call, message);
	else
		result_from_other(core, call, message);
}

static void
refused(struct core *core, struct call *call)
{
	struct session *worker = call->worker;

	COUNT(core, released);
	call_requeue(core, call);
	session_full(core, worker);
}

void
on_busy(struct core *core, struct message *message)
{
	struct call *call = named(core, message);

	if (!runs_at(call, message->session))
		return;
	if (call->copies > 0)
		call->copies--;
	/* Behind what it refuses another one is under way, which may find room, and run. */
	if (call->copies > 0) {
		call_unknown_there(call);
		session_full(core, message->session);
		call_doubt(core, call);
		return;
	}
	refused(core, call);
}

void
on_release(struct core *core, struct message *message)
{
	struct call *call = named(core, message);

	if (!runs_at(call, message->session))
		return;
	COUNT(core, released);
	call->attempt += PLANTED(RELEASE_COUNTS_CALL);
	/* What must not run twice is not given back once it has begun. */
	if ((call->header.flags & WIRE_ONCE) == 0)
		call->given_back = true;
	call_requeue(core, call);
}

static void
adopt_running(struct core *core, struct session *worker, const char *id)
{
	struct call *call;

	if (settled_has(core->settled, id)) {
		tell_to_stop(core, worker, id);
		return;
	}
	/* It is asked again for what somebody wants. */
	if (id_table_size(core->calls) >= core->options.calls_max ||
	    worker->untold >= slots_max(worker))
		return;
	call = call_new(core, id);
	teller_note(call, worker);
	COUNT(core, adopted);
	call_attach(core, call, worker, true);
}

static void
announced_running(struct core *core, struct session *worker, const char *id)
{
	struct call *call = call_find(core, id);

	if (call == NULL) {
		adopt_running(core, worker, id);
		return;
	}
	if (!permit_answer(core, worker, call)) {
		tell_to_stop(core, worker, id);
		return;
	}
	suspect_lives(core, call, worker);
	if (runs_at(call, worker)) {
		if (!call->known_there) {
			session_more(worker); /* its report left this slot out */
			call_acknowledged(call);
		}
		session_rank(core, worker);
		call_arm(core, call);
	} else if (call->state == CALL_HELD || call->state == CALL_QUEUED) {
		call_leave(core, call);
		if (call->capability == NULL)
			call_bind(core, call);
		call_attach(core, call, worker, true);
	} else if (call->worker != worker) {
		tell_to_stop(core, worker, id);
	}
}

/* Its RESULT follows: until then it must not go to somebody else. */
static void
announced_finished(struct core *core, struct session *worker, const char *id)
{
	struct call *call = call_find(core, id);

	if (call == NULL) {
		if (settled_has(core->settled, id))
			result_unneeded(core, worker, id);
		return;
	}
	if (!permit_answer(core, worker, call)) {
		result_unneeded(core, worker, id);
		return;
	}
	suspect_lives(core, call, worker);
	if (call->state == CALL_HELD || call->state == CALL_QUEUED) {
		call_leave(core, call);
		if (call->capability == NULL)
			call_bind(core, call);
		call_attach(core, call, worker, false);
	} else if (call->state == CALL_KEPT) {
		result_again(core, call, worker);
	}
}

/* Of what it had when it was asked, which is what it has acknowledged, and of what it was asked about (call_doubt): else a CALL
 * that was sent since is still under way. */
static void
announced_absent(struct core *core, struct session *worker, const char *id)
{
	struct call *call = call_find(core, id);

	if (!runs_at(call, worker))
		return;
	if (call->known_there)
		call_missed(core, call);
	else if (call->doubted)
		refused(core, call);
}

void
on_announce(struct core *core, struct message *message)
{
	const struct header *header = message->header;
	struct session *worker = message->session;
	size_t i;

	for (i = 0; i < header->call_count; i++) {
		const char *id = header->calls[i].call_id;

		if (header->calls[i].state == CALL_RUNNING)
			announced_running(core, worker, id);
		else if (header->calls[i].state == CALL_FINISHED)
			announced_finished(core, worker, id);
		else
			announced_absent(core, worker, id);
	}
}
