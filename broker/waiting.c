/* waiting: calls without a worker: held after a restart, queued, queued again, too late.
 */
#include <stdio.h>

#include "planted.h"
#include "tables.h"

/* Formats a reason on the heap: it lives as long as the call. */
static char *format_reason(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *
format_reason(const char *format, ...)
{
	char *reason;
	va_list args;
	int size;

	va_start(args, format);
	size = vasprintf(&reason, format, args);
	va_end(args);
	return size == -1 ? NULL : reason;
}

/* Sent before, and we do not know where it is: it may have been to another broker, or to the one
 * before us, and a worker may have it. Workers that are here answer at once when they are asked for
 * it; after our own start they must come first. What must not run twice waits until every worker
 * that lives has had the time to notice that its broker was gone, and to come.
 * docs/internals/broker.md weighs this. */
uint64_t
hold_end(const struct core *core, unsigned flags)
{
	const struct core_options *options = &core->options;
	uint64_t seek_end = core->now_ms + options->seek_ms;
	uint64_t recovery_end = core->started_ms + options->recovery_ms;

	if (PLANTED(NO_RECOVERY_WINDOW))
		return 0;
	if ((flags & WIRE_ONCE) != 0)
		return core->now_ms + options->recovery_ms + options->liveness_ms;
	return seek_end > recovery_end ? seek_end : recovery_end;
}

void
call_hold(struct core *core, struct call *call, uint64_t until_ms)
{
	call->until_ms = until_ms;
	call->sought = false;
	core->unsought++;
	TAILQ_INSERT_TAIL(&core->held, call, waiting_link);
	call_place(core, call, CALL_HELD);
	call_arm(core, call);
}

void
call_hold_cancelled(struct core *core, struct call *call, uint64_t known_ms)
{
	call->cancelling = true;
	if (call->until_ms < known_ms)
		call->until_ms = known_ms;
	call_arm(core, call);
}

/* No worker has announced it. It may have run in one that is gone. */
void
call_unhold(struct core *core, struct call *call)
{
	if (!call->sought && !PLANTED(NO_RECOVERY_WINDOW)) {
		/* So many are held that not all were asked for yet (seek_new()). */
		call->until_ms = core->now_ms + core->options.seek_ms;
		call_arm(core, call);
		return;
	}
	if (call->cancelling) {
		COUNT(core, cancelled);
		call_finish(core, call, (struct outcome){ .code = CODE_CANCELLED });
		return;
	}
	call_leave(core, call);
	if ((call->header.flags & WIRE_ONCE) == 0) {
		call_queue(core, call, false);
		return;
	}
	COUNT(core, lost);
	call_finish(core, call,
	    (struct outcome){ .code = CODE_WORKER_LOST,
		.reason = format_reason(
		    "%s was sent before, no worker knows of it: it may have run",
		    call->header.service) });
}

void
call_queue(struct core *core, struct call *call, bool urgent)
{
	if (core->leaving) {
		call_return(core, call);
		return;
	}
	if (call->capability == NULL)
		call_bind(core, call);
	call_place(core, call, CALL_QUEUED);
	if (!suspect_queue(call))
		queue_put(&call->capability->queue, call, urgent);
	capability_touch(core, call->capability);
	pin_wait(core, call);
	call_arm(core, call);
}

void
call_requeue(struct core *core, struct call *call)
{
	if (!call->asked) {
		/* Known from the worker alone: there is nothing to send to another. */
		COUNT(core, dropped);
		call_bury(core, call);
	} else if (call->cancelling) {
		COUNT(core, cancelled);
		call_finish(core, call, (struct outcome){ .code = CODE_CANCELLED });
	} else if (call->late) {
		call_expire(core, call);
	} else {
		call_leave(core, call);
		call_queue(core, call, true);
	}
}

/* It has ended there: another broker settled it, or the worker gave it back and we did not hear
 * that. Who waits for it will say in a moment that it has the outcome, if it has; so it is not queued
 * at once. */
void
call_missed(struct core *core, struct call *call)
{
	if (call->requester != NULL && call->late && !call->cancelling) {
		call_expire(core, call); /* its slot is forfeited with that */
		return;
	}
	slot_forfeit(call); /* the worker's report counts it among the free ones */
	if (call->requester == NULL) {
		call_leave(core, call);
		call_settle(core, call, COUNTER_settled);
	} else if (call->cancelling) {
		call_requeue(core, call);
	} else {
		call->given_back = true; /* it may be so */
		call_leave(core, call);
		call_unbind(core, call);
		if (PLANTED(ABSENT_REPEATED))
			call_queue(core, call, true);
		else
			call_hold(core, call, hold_end(core, call->header.flags));
	}
}

/* A worker that only fell silent may be frozen, or its machine too busy: what must not run
 * twice waits for it to come back and announce it, since nobody else may run it anyway. */
static bool
may_come_back(const struct core *core, const struct call *call)
{
	return call->asked && (call->header.flags & WIRE_ONCE) != 0 &&
	       call->worker->fell_silent && !call->cancelling && !call->late &&
	       core->now_ms < call->deadline_ms;
}

void
call_lost(struct core *core, struct call *call)
{
	bool poison = suspect_charge(call);

	COUNT(core, requeued);
	if (may_come_back(core, call)) {
		call_leave(core, call);
		call_unbind(core, call);
		call_hold(core, call, core->now_ms + SUSPECT_MS);
	} else if (call->asked && (call->header.flags & WIRE_ONCE) != 0 &&
		   !PLANTED(ONCE_REPEATED)) {
		COUNT(core, lost);
		call_finish(core, call,
		    (struct outcome){ .code = CODE_WORKER_LOST,
			.reason = format_reason("worker %s was lost while it ran %s",
			    call->worker->name, call->header.service) });
	} else if (call->asked && !call->cancelling && !call->late && poison) {
		COUNT(core, poisoned);
		call_finish(core, call,
		    (struct outcome){ .code = CODE_POISON,
			.reason = format_reason(
			    "%s took %u workers down, the last was %s",
			    call->header.service, call->losses, call->worker->name) });
	} else {
		call->attempt++;
		call_requeue(core, call);
	}
}

static char *
not_served_reason(struct core *core, struct capability *capability)
{
	const char *nearest = capability_nearest(core, capability);

	if (nearest == NULL)
		return format_reason("no worker serves %s", capability->name);
	return format_reason("no worker serves %s; the nearest that is served is %s",
	    capability->name, nearest);
}

/* A worker has it that does not answer, or may have had it: that its time is over says nothing
 * about what it did. */
static enum wire_code
expiry_of(const struct call *call)
{
	return (call->header.flags & WIRE_ONCE) != 0 && call->state != CALL_QUEUED
		   ? CODE_WORKER_LOST
		   : CODE_EXPIRED;
}

void
call_expire(struct core *core, struct call *call)
{
	const char *service = call->header.service;
	struct outcome outcome = { .code = expiry_of(call) };

	if (call->state == CALL_QUEUED &&
	    !capability_served(call->capability, call->asked_ms)) {
		outcome.code = CODE_NOT_SERVED;
		outcome.reason = not_served_reason(core, call->capability);
	} else if (call->state == CALL_ASSIGNED) {
		slot_forfeit(call);
		outcome.reason = format_reason(
		    "worker %s did not answer %s in time", call->worker->name, service);
	} else {
		outcome.reason =
		    format_reason("no worker of %s had room in time", service);
	}
	COUNT(core, expired);
	call_finish(core, call, outcome);
}
