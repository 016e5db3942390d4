/* leaving: the broker goes, and what it has goes on elsewhere. What no worker has is given
 * back at once; what runs may end here, for a while. */
#include <stdlib.h>

#include "memory.h"
#include "planted.h"
#include "tables.h"

static void
say_goaway(struct core *core, struct session *session, uint64_t left_ms)
{
	const struct header header = { .type = MSG_GOAWAY,
		.deadline_ms = left_ms,
		.reason = "the broker is leaving" };

	send_to(core, session, &header, NULL);
}

static void
say_to_all(struct core *core, uint64_t left_ms)
{
	struct session *session;

	TAILQ_FOREACH(session, &core->heard, heard_link)
		say_goaway(core, session, left_ms);
}

/* None will get it from us any more. One that is held may be at a worker that we cannot see, one that
 * a worker has begun may have made calls that go on: its requester may have sent it only once, and
 * is told to flag it. */
void
call_return(struct core *core, struct call *call)
{
	bool may_run =
	    (call->state == CALL_HELD || call->attempt > 1 || call->given_back) &&
	    !PLANTED(RELEASE_UNFLAGGED);
	const struct header header = {
		.type = MSG_RELEASE,
		.flags = may_run ? WIRE_RESEND : 0,
		.call_id = call->id,
		.run = call->header.run,
	};

	COUNT(core, returned);
	if (call->requester != NULL)
		send_to(core, call->requester, &header, NULL);
	call_bury(core, call);
}

static void
return_waiting(struct core *core)
{
	size_t count = core->timers.count, i;
	struct call **calls = xcalloc(count + 1, sizeof *calls);

	for (i = 0; i < count; i++)
		calls[i] = HEAP_ITEM(core->timers.nodes[i], struct call, timer);
	for (i = 0; i < count; i++)
		if (calls[i]->state == CALL_QUEUED || calls[i]->state == CALL_HELD)
			call_return(core, calls[i]);
	free(calls);
}

/* The warning goes first: who gets a call back must not send it here again. */
void
leave_begin(struct core *core, uint64_t drain_ms)
{
	if (core->leaving)
		return;
	core->leaving = true;
	core->leave_ms = core->now_ms + drain_ms;
	say_to_all(core, drain_ms > 0 ? drain_ms : 1);
	return_waiting(core);
	leave_check(core);
}

void
leave_greet(struct core *core, struct session *session)
{
	if (core->leaving)
		say_goaway(core, session,
		    core->leave_ms > core->now_ms ? core->leave_ms - core->now_ms : 1);
}

/* True while somebody here waits for the outcome of a call. */
static bool
is_waited_for(const struct core *core)
{
	const struct session *session;

	TAILQ_FOREACH(session, &core->heard, heard_link)
		if (session->asked_count > 0)
			return true;
	return false;
}

void
leave_check(struct core *core)
{
	if (!core->leaving || core->left ||
	    (core->now_ms < core->leave_ms && is_waited_for(core)))
		return;
	core->left = true;
	say_to_all(core, 0);
	act_left(core);
}
