/* requests: what those say who ask for calls: CALL, CANCEL, RESULT_ACK. */
#include "permits.h"
#include "planted.h"
#include "tables.h"

static void
acknowledge(struct core *core, struct session *session, const char *id)
{
	const struct header header = { .type = MSG_CALL_ACK, .call_id = id };

	send_to(core, session, &header, NULL);
}

/* Spread over a while, so that those who are refused together do not come back together.
 */
static void
send_busy(struct core *core, struct session *session, const struct header *call,
    enum wire_code code, unsigned flags)
{
	uint64_t spread = core->counters[COUNTER_busy]++ * 61 % core->options.resend_ms;
	const struct header header = {
		.type = MSG_BUSY,
		.flags = flags,
		.call_id = call->call_id,
		.run = call->run,
		.code = code,
		.retry_after_ms = core->options.resend_ms / 2 + spread,
	};

	send_to(core, session, &header, NULL);
}

static void
refuse_busy(struct core *core, struct message *message, enum wire_code code)
{
	send_busy(core, message->session, message->header, code, 0);
}

static uint64_t
deadline_of(const struct core *core, const struct header *header)
{
	uint64_t left = header->deadline_ms;

	if (left == 0)
		left = CALL_DEADLINE_MS;
	return core->now_ms + (left < CALL_DEADLINE_MS_MAX ? left : CALL_DEADLINE_MS_MAX);
}

/* What the CALL says; where it does not say to whom it counts, its sender's key does. */
static void
fill(struct call *call, const struct message *message)
{
	struct header header = *message->header;

	header.tenant = rights_tenant(message->session, &header);
	call_fill(call, &header);
}

/* A CALL for what a worker told us of: from now on somebody waits for it. */
static void
meet(struct core *core, struct call *call, struct message *message)
{
	fill(call, message);
	call->asked = true;
	call->asked_ms = core->now_ms;
	if (call->state == CALL_KEPT)
		return; /* it has its outcome: nothing will be sent to a worker */
	call->request = blob_take(message);
	call_identify(core, call);
}

/* Whose the outcome was to be has no CALL_ACK that counts any more, if it is not session's. Flagged: a
 * worker may have the call, so that no other broker must take it for a new one. */
static void
disappoint(struct core *core, const struct call *call, const struct session *session)
{
	if (call->asked && call->requester != NULL && call->requester != session)
		send_busy(core, call->requester, &call->header, CODE_BUSY, WIRE_RESEND);
}

/* The same id again: by the same requester, who has not heard from us, or by the next
 * owner of its run. One with an older epoch has lost the run and must not draw the
 * outcome away from its owner. It gets no CALL_ACK, which would promise it the outcome. But a
 * failover may have made it the owner again, and a clock that was set back at the same time gives
 * epochs that are lower than the lost ones: it is to ask until there is an outcome, and is shown
 * that. Should the run be another's, Redis refuses what it makes of it. */
static void
join(struct core *core, struct call *call, struct message *message)
{
	const struct header *header = message->header;

	if (call->asked && header->epoch < call->header.epoch) {
		COUNT(core, repeated);
		if (call->state == CALL_KEPT)
			result_show(core, call, message->session);
		else
			send_busy(core, message->session, header, CODE_BUSY, WIRE_RESEND);
		return;
	}
	core->counters[call->asked && call->requester == message->session
			   ? COUNTER_repeated
			   : COUNTER_joined]++;
	disappoint(core, call, message->session);
	call_ask(core, call, message->session);
	if ((header->flags & WIRE_RESEND) != 0)
		call->fresh = false; /* it may have been at another broker meanwhile */
	if (!call->asked)
		meet(core, call, message);
	call->header.epoch = header->epoch;
	if (call->state == CALL_KEPT) {
		result_send(core, call);
		return;
	}
	call->deadline_ms = deadline_of(core, header);
	call_arm(core, call);
	acknowledge(core, message->session, call->id);
	if (PLANTED(BROKER_SENDS_AGAIN) && call->state == CALL_ASSIGNED) {
		call_leave(core, call);
		call_queue(core, call, false);
	}
}

static bool
has_room_for(
    const struct core *core, const struct message *message, enum wire_code *code_r)
{
	const struct header *header = message->header;
	const struct capability *capability = capability_find(core, header->service);

	*code_r = CODE_LIMIT;
	if (core->leaving || id_table_size(core->calls) >= core->options.calls_max ||
	    core->bodies_bytes > core->options.bodies_bytes_max)
		return false;
	*code_r = CODE_BUSY;
	return capability == NULL ||
	       queue_admits(&capability->queue, rights_tenant(message->session, header),
		   core->options.queue_calls_max);
}

static void
accept_call(struct core *core, struct message *message)
{
	const struct header *header = message->header;
	struct call *call = call_new(core, header->call_id);

	COUNT(core, accepted);
	fill(call, message);
	call->asked = call->fresh = true;
	if ((header->flags & WIRE_RESEND) != 0)
		call->fresh = false;
	call->asked_ms = core->now_ms;
	call->request = blob_take(message);
	call->deadline_ms = deadline_of(core, header);
	call_ask(core, call, message->session);
	acknowledge(core, message->session, call->id);
	if ((header->flags & WIRE_RESEND) != 0)
		call_hold(core, call, hold_end(core, header->flags));
	else
		call_queue(core, call, false);
}

/* The end of it for its sender, who would else send it again for ever. */
static void
answer_denied(struct core *core, struct message *message, const char *reason)
{
	const struct header header = {
		.type = MSG_RESULT,
		.call_id = message->header->call_id,
		.run = message->header->run,
		.code = CODE_DENIED,
		.reason = reason,
	};

	send_to(core, message->session, &header, NULL);
}

/* Nothing of it was true. Nor has it settled: the CALL that has come is the first of that id. */
static void
disbelieve(struct core *core, struct call *call)
{
	if (call->state == CALL_ASSIGNED)
		call_stop_unwanted(core, call);
	else if (call->worker != NULL)
		result_unneeded(core, call->worker, call->id);
	COUNT(core, dropped);
	call_bury(core, call);
}

/* Returns the call that message speaks of. One that somebody told us of who may not serve
 * what it turns out to be is none. */
static struct call *
find_believable(struct core *core, const struct header *header)
{
	struct call *call = call_find(core, header->call_id);

	if (call == NULL || permit_teller(core, call, header->service))
		return call;
	disbelieve(core, call);
	return NULL;
}

void
on_call(struct core *core, struct message *message)
{
	const struct header *header = message->header;
	const char *denied = permit_call(core, message, call_find(core, header->call_id));
	struct call *call;
	enum wire_code code;

	if (denied != NULL) {
		answer_denied(core, message, denied);
		return;
	}
	call = find_believable(core, header);
	if (call != NULL) {
		join(core, call, message);
	} else if ((header->flags & WIRE_RESEND) == 0 &&
		   settled_has(core->settled, header->call_id)) {
		/* A late copy of what is over. Who means it sends it again, flagged. */
		COUNT(core, repeated);
	} else if (settled_refuses(core->settled, header->call_id, header->epoch,
		       core->now_ms, LEASE_MS)) {
		/* By the run's next owner. Who asks has slept, most likely, and hears from Redis
		 * that it is fenced before it asks again; only behind a failover with a clock that
		 * was set back may it own the run again (join()), and goes on asking. */
		COUNT(core, repeated);
		send_busy(core, message->session, header, CODE_BUSY, WIRE_RESEND);
	} else if (!has_room_for(core, message, &code)) {
		refuse_busy(core, message, code);
	} else {
		accept_call(core, message);
	}
}

/* From when on every worker that lives has noticed that its broker before us was gone, and has come. */
static uint64_t
known_from(const struct core *core)
{
	return core->started_ms + core->options.recovery_ms + core->options.liveness_ms;
}

/* Nothing of ours is known by that id. To say so ends the requester's wait, so it is not said while a
 * worker may still come and announce the call. The requester asks again. */
static void
cancel_unknown(struct core *core, struct message *message)
{
	const struct header header = {
		.type = MSG_RESULT,
		.call_id = message->header->call_id,
		.run = message->header->run,
		.code = CODE_UNKNOWN_CALL,
		.reason = wire_code_text(CODE_UNKNOWN_CALL),
	};

	if (core->now_ms >= known_from(core))
		send_to(core, message->session, &header, NULL);
}

void
on_cancel(struct core *core, struct message *message)
{
	struct call *call = call_find(core, message->header->call_id);

	if (call == NULL) {
		cancel_unknown(core, message);
		return;
	}
	if (!permit_asker(core, message->session, call, call->id)) {
		answer_denied(
		    core, message, "this key does not allow to touch this call");
		return;
	}
	if (call->asked && message->header->epoch < call->header.epoch)
		return; /* its run has another owner by now */
	if (call->requester == NULL)
		call_ask(core, call, message->session);
	if (call->state == CALL_KEPT) {
		result_send(core, call);
	} else if (call->state == CALL_HELD) {
		call_hold_cancelled(core, call, known_from(core));
	} else if (call->state != CALL_ASSIGNED) {
		COUNT(core, cancelled);
		call_finish(core, call, (struct outcome){ .code = CODE_CANCELLED });
	} else if (!call->cancelling) {
		call->cancelling = true;
		call_stop(core, call);
	}
}

/* Its worker has had it acknowledged by another broker. The result itself came before, so
 * that whoever still waits here has it or will get it. */
static void
settled_by_worker(struct core *core, struct call *call)
{
	if (call->state == CALL_KEPT) {
		TAILQ_REMOVE(&call->worker->work, call, work_link);
		call->worker = NULL;
		if (call->requester == NULL)
			call_settle(core, call, COUNTER_settled);
	} else if (call->requester == NULL) {
		call_leave(core, call);
		call_settle(core, call, COUNTER_settled);
	} else {
		call_lost(core, call);
	}
}

/* Its requester has the outcome by another broker, and has stored it. */
static void
settled_elsewhere(struct core *core, struct call *call)
{
	if (call->state == CALL_ASSIGNED)
		call_stop_unwanted(core, call);
	call_leave(core, call);
	call_settle(core, call, COUNTER_settled);
}

/* From the next owner of call's run, who had the outcome by way of another broker; or from one that a
 * failover has deposed, whose epochs are higher when the clock was set back, too. The requester, who
 * may be the owner then, asks again (disappoint()): with its CALL_ACK it would wait till the deadline. */
static bool
is_later(const struct call *call, const struct header *header)
{
	return call->header.epoch > 0 && header->epoch > call->header.epoch;
}

void
on_result_ack(struct core *core, struct message *message)
{
	const char *id = message->header->call_id;
	struct session *session = message->session;
	struct call *call = call_find(core, id);

	/* Of what it has itself a worker may say so. */
	if ((call == NULL || call->worker != session) &&
	    !permit_asker(core, session, call, id))
		return;
	if (call == NULL) {
		/* Stored before we knew of it: its worker may have it still. */
		settled_add_by(core->settled, id, message->header->epoch, core->now_ms);
	} else if (call->worker == session && call->requester != session) {
		settled_by_worker(core, call);
	} else if (call->requester == session || is_later(call, message->header) ||
		   (call->requester == NULL &&
		       message->header->epoch >= call->header.epoch)) {
		disappoint(core, call, session);
		if (is_later(call, message->header))
			call->header.epoch = message->header->epoch;
		if (call->state == CALL_KEPT)
			call_settle(core, call, COUNTER_settled);
		else
			settled_elsewhere(core, call);
	}
}
