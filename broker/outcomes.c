/* outcomes: how calls end, and how that reaches who asked. */
#include "resend.h"
#include "tables.h"

void
call_finish(struct core *core, struct call *call, struct outcome outcome)
{
	COUNT(core, finished);
	call_leave(core, call);
	call_unbind(core, call);
	blob_drop(core, &call->request);
	call->code = outcome.code;
	call->reason = outcome.reason;
	call->result = outcome.result;
	call->worker = outcome.from;
	if (call->worker != NULL)
		TAILQ_INSERT_TAIL(&call->worker->work, call, work_link);
	call_place(core, call, CALL_KEPT);
	if (call->requester != NULL) {
		result_send(core, call);
		return;
	}
	call->until_ms = core->now_ms + RESULT_KEEP_MS;
	TAILQ_INSERT_TAIL(&core->orphans, call, waiting_link);
	call_arm(core, call);
	if (++core->orphan_count > core->options.kept_max)
		call_settle(core, TAILQ_FIRST(&core->orphans), COUNTER_dropped);
}

void
result_show(struct core *core, const struct call *call, struct session *session)
{
	const struct header header = {
		.type = MSG_RESULT,
		.call_id = call->id,
		.run = call->header.run,
		.step = call->header.step,
		.attempt = call->attempt,
		.epoch = call->header.epoch,
		.service = call->header.service,
		.traceparent = call->header.traceparent,
		.code = call->code,
		.reason = call->reason,
	};

	send_to(core, session, &header, call->result.body);
}

/* Who does not acknowledge cannot store it, most likely: while Redis is away all that is answered comes together here. */
void
result_resend(struct core *core, struct call *call)
{
	result_show(core, call, call->requester);
	call->resend_ms = core->now_ms + call->pause_ms;
	call->pause_ms = resend_next_ms(call->pause_ms);
	call_arm(core, call);
}

void
result_send(struct core *core, struct call *call)
{
	call->pause_ms = resend_first_ms(core->options.resend_ms, call->result.bytes);
	result_resend(core, call);
}

void
result_unneeded(struct core *core, struct session *worker, const char *id)
{
	const struct header header = { .type = MSG_RESULT_ACK, .call_id = id };

	send_to(core, worker, &header, NULL);
}

void
call_settle(struct core *core, struct call *call, enum core_counter counter)
{
	core->counters[counter]++;
	if (call->worker != NULL)
		result_unneeded(core, call->worker, call->id);
	settled_add_by(core->settled, call->id, call->header.epoch, core->now_ms);
	call_bury(core, call);
}
