/* calls: a call's life: one state at a time, one place in each. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "planted.h"
#include "tables.h"

struct call *
call_find(const struct core *core, const char *id)
{
	return id_table_get(core->calls, id);
}

struct call *
call_new(struct core *core, const char *id)
{
	size_t size = strlen(id) + 1;
	struct call *call = xcalloc(1, sizeof *call + size);

	memcpy(call->id, id, size);
	call->state = CALL_STATES;
	call->attempt = 1;
	call->header = (struct header){ .type = MSG_CALL, .call_id = call->id };
	id_table_put(core->calls, &call->key, call->id, call);
	return call;
}

/* Copies *field to *at, points it there and moves *at behind. */
static void
copy_text(char **at, const char **field)
{
	size_t size;

	if (*field == NULL)
		return;
	size = strlen(*field) + 1;
	memcpy(*at, *field, size);
	*field = *at;
	*at += size;
}

static size_t
text_size(const char *text)
{
	return text == NULL ? 0 : strlen(text) + 1;
}

void
call_fill(struct call *call, const struct header *header)
{
	struct header *own = &call->header;
	char *at;

	free(call->text);
	*own = (struct header){
		.type = MSG_CALL,
		.flags = header->flags,
		.call_id = call->id,
		.run = header->run,
		.step = header->step,
		.epoch = header->epoch,
		.service = header->service,
		.priority =
		    header->priority < PRIORITIES ? header->priority : PRIORITIES - 1,
		.tenant = header->tenant,
		.traceparent = header->traceparent,
		.idempotency_key = header->idempotency_key,
	};
	call->text = at = xcalloc(
	    1, text_size(own->run) + text_size(own->service) + text_size(own->tenant) +
		   text_size(own->traceparent) + text_size(own->idempotency_key) + 1);
	copy_text(&at, &own->run);
	copy_text(&at, &own->service);
	copy_text(&at, &own->tenant);
	copy_text(&at, &own->traceparent);
	copy_text(&at, &own->idempotency_key);
}

void
call_bind(struct core *core, struct call *call)
{
	assert(call->capability == NULL);
	call->capability = capability_get(core, call->header.service);
	call->capability->calls++;
}

void
call_unbind(struct core *core, struct call *call)
{
	struct capability *capability = call->capability;

	if (capability == NULL)
		return;
	call->capability = NULL;
	capability->calls--;
	capability_unused(core, capability);
}

static void
leave_kept(struct core *core, struct call *call)
{
	if (call->requester == NULL) {
		TAILQ_REMOVE(&core->orphans, call, waiting_link);
		core->orphan_count--;
	}
	if (call->worker != NULL)
		TAILQ_REMOVE(&call->worker->work, call, work_link);
	call->worker = NULL;
}

void
call_leave(struct core *core, struct call *call)
{
	switch (call->state) {
	case CALL_QUEUED:
		if (!suspect_unqueue(call))
			queue_remove(&call->capability->queue, call);
		break;
	case CALL_ASSIGNED:
		call_unassign(core, call);
		break;
	case CALL_KEPT:
		leave_kept(core, call);
		break;
	case CALL_HELD:
		TAILQ_REMOVE(&core->held, call, waiting_link);
		core->unsought -= !call->sought;
		break;
	case CALL_STATES:
		return;
	}
	core->states[call->state]--;
	call->state = CALL_STATES;
}

void
call_place(struct core *core, struct call *call, enum call_state state)
{
	assert(call->state == CALL_STATES);
	core->states[state]++;
	call->state = state;
}

void
call_ask(struct core *core, struct call *call, struct session *session)
{
	bool kept = call->state == CALL_KEPT;

	if (call->requester == session)
		return;
	if (call->requester != NULL) {
		TAILQ_REMOVE(&call->requester->asked, call, asked_link);
		call->requester->asked_count--;
	} else if (kept) {
		TAILQ_REMOVE(&core->orphans, call, waiting_link);
		core->orphan_count--;
	}
	call->requester = session;
	if (session != NULL) {
		TAILQ_INSERT_TAIL(&session->asked, call, asked_link);
		session->asked_count++;
	} else if (kept) {
		TAILQ_INSERT_TAIL(&core->orphans, call, waiting_link);
		core->orphan_count++;
		call->until_ms = core->now_ms + RESULT_KEEP_MS;
	}
}

static uint64_t
earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* When an assigned call wants attention. One that only a worker has told us of has nobody
 * who waits and no body to send: its worker brings it to an end. */
static uint64_t
assigned_due(const struct call *call)
{
	uint64_t due = UINT64_MAX;

	if (call->cancelling || call->late || !call->known_there)
		due = call->resend_ms;
	if (call->asked)
		due = earlier(due, call->late ? call->until_ms : call->deadline_ms);
	return due;
}

void
call_arm(struct core *core, struct call *call)
{
	uint64_t due = UINT64_MAX;

	switch (call->state) {
	case CALL_HELD:
		due = earlier(call->until_ms, call->deadline_ms);
		break;
	case CALL_QUEUED:
		due = pin_is(call->header.service)
			  ? earlier(call->until_ms, call->deadline_ms)
			  : call->deadline_ms;
		break;
	case CALL_ASSIGNED:
		due = assigned_due(call);
		break;
	case CALL_KEPT:
		due = call->requester != NULL ? call->resend_ms : call->until_ms;
		break;
	case CALL_STATES:
		break;
	}
	if (due == UINT64_MAX)
		heap_remove(&core->timers, &call->timer);
	else
		heap_put(&core->timers, &call->timer, due);
}

static void
assigned_is_due(struct core *core, struct call *call)
{
	if (call->asked && call->late && core->now_ms >= call->until_ms) {
		call_expire(core, call);
	} else if (call->asked && !call->late && core->now_ms >= call->deadline_ms) {
		call->late = true;
		call->until_ms = core->now_ms + EXPIRE_GRACE_MS;
		call_stop(core, call);
	} else if (call->cancelling || call->late) {
		call_stop(core, call);
	} else if (call->doubted) {
		call_doubt(core, call);
	} else if (PLANTED(CALL_SENT_ONCE)) {
		call->resend_ms = UINT64_MAX;
		call_arm(core, call);
	} else {
		call_send(core, call);
	}
}

void
call_due(struct core *core, struct call *call)
{
	switch (call->state) {
	case CALL_HELD:
		if (core->now_ms >= call->deadline_ms)
			call_expire(core, call);
		else
			call_unhold(core, call);
		break;
	case CALL_QUEUED:
		if (core->now_ms >= call->deadline_ms)
			call_expire(core, call);
		else
			pin_look(core, call);
		break;
	case CALL_ASSIGNED:
		assigned_is_due(core, call);
		break;
	case CALL_KEPT:
		if (call->requester != NULL)
			result_resend(core, call);
		else
			call_settle(core, call, COUNTER_dropped);
		break;
	case CALL_STATES:
		assert(!"a call without a state has no timer");
	}
}

void
call_bury(struct core *core, struct call *call)
{
	call_leave(core, call);
	call_ask(core, call, NULL);
	call_unbind(core, call);
	blob_drop(core, &call->request);
	blob_drop(core, &call->result);
	heap_remove(&core->timers, &call->timer);
	id_table_remove(core->calls, &call->key);
	TAILQ_INSERT_TAIL(&core->dead_calls, call, waiting_link);
}

void
call_free(struct call *call)
{
	free(call->text);
	free(call->reason);
	free(call);
}
