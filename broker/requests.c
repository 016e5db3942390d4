/* requests: what those say who ask for calls: CALL, CANCEL, RESULT_ACK. */
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
refuse_busy(struct core *core, struct message *message, enum wire_code code)
{
	uint64_t spread = core->counters[COUNTER_busy]++ * 61 % core->options.resend_ms;
	const struct header header = {
		.type = MSG_BUSY,
		.call_id = message->header->call_id,
		.run = message->header->run,
		.code = code,
		.retry_after_ms = core->options.resend_ms / 2 + spread,
	};

	send_to(core, message->session, &header, NULL);
}

static uint64_t
deadline_of(const struct core *core, const struct header *header)
{
	uint64_t left = header->deadline_ms;

	if (left == 0)
		left = CALL_DEADLINE_MS;
	return core->now_ms + (left < CALL_DEADLINE_MS_MAX ? left : CALL_DEADLINE_MS_MAX);
}

/* A CALL for what a worker told us of: from now on somebody waits for it. */
static void
meet(struct core *core, struct call *call, struct message *message)
{
	call_fill(call, message->header);
	call->asked = true;
	call->asked_ms = core->now_ms;
	if (call->state == CALL_KEPT)
		return; /* it has its outcome: nothing will be sent to a worker */
	call->request = blob_take(message);
	call_identify(core, call);
}

/* The same id again: by the same requester, who has not heard from us, or by the next
 * owner of its run. One with an older epoch has lost the run and must not draw the
 * outcome away from its owner; it is told to be quiet. */
static void
join(struct core *core, struct call *call, struct message *message)
{
	const struct header *header = message->header;

	if (call->asked && header->epoch < call->header.epoch) {
		COUNT(core, repeated);
		acknowledge(core, message->session, call->id);
		return;
	}
	core->counters[call->asked && call->requester == message->session
			   ? COUNTER_repeated
			   : COUNTER_joined]++;
	call_ask(core, call, message->session);
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
}

static bool
has_room_for(const struct core *core, const struct header *header, enum wire_code *code_r)
{
	const struct capability *capability = capability_find(core, header->service);

	*code_r = CODE_LIMIT;
	if (core->leaving || id_table_size(core->calls) >= core->options.calls_max ||
	    core->bodies_bytes > core->options.bodies_bytes_max)
		return false;
	*code_r = CODE_BUSY;
	return capability == NULL ||
	       capability->queue.count < core->options.queue_calls_max;
}

/* Sent before, says its sender, and we do not know it: a worker may. Those that must not
 * run twice wait until every worker that lives has had the time to notice that its broker
 * was gone. */
static uint64_t
hold_until(const struct core *core, const struct header *header)
{
	uint64_t until = core->started_ms + core->options.recovery_ms;

	if ((header->flags & WIRE_RESEND) == 0)
		return 0;
	if ((header->flags & WIRE_ONCE) != 0)
		until += core->options.liveness_ms;
	return until;
}

static void
accept_call(struct core *core, struct message *message)
{
	const struct header *header = message->header;
	struct call *call = call_new(core, header->call_id);
	uint64_t until = hold_until(core, header);

	COUNT(core, accepted);
	call_fill(call, header);
	call->asked = true;
	call->asked_ms = core->now_ms;
	call->request = blob_take(message);
	call->deadline_ms = deadline_of(core, header);
	call_ask(core, call, message->session);
	acknowledge(core, message->session, call->id);
	if (core->now_ms < until)
		call_hold(core, call, until);
	else if ((header->flags & WIRE_RESEND) != 0)
		call_unhold(core, call);
	else
		call_queue(core, call, false);
}

void
on_call(struct core *core, struct message *message)
{
	const struct header *header = message->header;
	struct call *call;
	enum wire_code code;

	call = call_find(core, header->call_id);
	if (call != NULL) {
		join(core, call, message);
	} else if ((header->flags & WIRE_RESEND) == 0 &&
		   settled_has(core->settled, header->call_id)) {
		/* A late copy of what is over. Who means it sends it again, flagged. */
		COUNT(core, repeated);
	} else if (!has_room_for(core, header, &code)) {
		refuse_busy(core, message, code);
	} else {
		accept_call(core, message);
	}
}

/* Nothing of ours is known by that id. In the recovery window a worker may still announce
 * it, so its requester asks again until then. */
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

	if (core->now_ms >= core->started_ms + core->options.recovery_ms)
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
	if (call->asked && message->header->epoch < call->header.epoch)
		return; /* its run has another owner by now */
	if (call->requester == NULL)
		call_ask(core, call, message->session);
	if (call->state == CALL_KEPT) {
		result_send(core, call);
	} else if (call->state != CALL_ASSIGNED) {
		COUNT(core, cancelled);
		call_finish(core, call, (struct outcome){ .code = CODE_CANCELLED });
	} else if (!call->cancelling) {
		call->cancelling = true;
		call_stop(core, call);
	}
}

void
on_result_ack(struct core *core, struct message *message)
{
	const char *id = message->header->call_id;
	struct call *call = call_find(core, id);

	if (call == NULL) {
		/* Stored before we knew of it: its worker may have it still. */
		settled_add(core->settled, id, core->now_ms);
	} else if (call->state == CALL_KEPT &&
		   (call->requester == message->session ||
		       (call->requester == NULL &&
			   message->header->epoch >= call->header.epoch))) {
		call_settle(core, call, COUNTER_settled);
	}
}
