/* seeking: workers are asked for calls. Those that are held are looked for at all of them: their
 * broker before us told us nothing, but a worker knows what it runs, whichever broker gave it the
 * call. A worker that comes back is asked for those that it had. */
#include <assert.h>
#include <stdint.h>

#include "bounds.h"
#include "memory.h"
#include "tables.h"

/* To one worker or to all, in as many messages as it takes. */
struct question {
	struct session *worker; /* NULL: all */
	unsigned flags;
	struct wire_call *calls; /* ANNOUNCED_CALLS_MAX, in the step's memory */
	size_t count;
};

static struct wire_call *
new_list(struct core *core)
{
	struct sought *sought =
	    xcalloc(1, sizeof *sought + ANNOUNCED_CALLS_MAX * sizeof sought->calls[0]);

	SLIST_INSERT_HEAD(&core->sought, sought, next);
	return sought->calls;
}

static void
ask(struct core *core, struct question *question)
{
	const struct header header = {
		.type = MSG_SEEK,
		.flags = question->flags,
		.calls = question->calls,
		.call_count = question->count,
	};
	struct session *worker;

	if (question->count == 0)
		return;
	question->count = 0;
	if (question->worker != NULL) {
		send_to(core, question->worker, &header, NULL);
		return;
	}
	TAILQ_FOREACH(worker, &core->workers, role_link)
		send_to(core, worker, &header, NULL);
}

static void
ask_for(struct core *core, struct question *question, const struct call *call)
{
	if (question->count == 0)
		question->calls = new_list(core);
	question->calls[question->count++] =
	    (struct wire_call){ .call_id = call->id, .state = CALL_RUNNING };
	if (question->count == ANNOUNCED_CALLS_MAX)
		ask(core, question);
}

/* How many calls are asked for in one step: each of them of all workers. */
static size_t
step_room(const struct core *core)
{
	const struct session *worker;
	size_t workers = 0;

	static_assert(SEEKS_STEP_MAX >= SESSIONS_MAX, "one question is always asked");
	TAILQ_FOREACH(worker, &core->workers, role_link)
		workers++;
	return workers == 0 ? SIZE_MAX : SEEKS_STEP_MAX / workers * ANNOUNCED_CALLS_MAX;
}

/* Its turn to be asked for came late: the answers want their time all the same. */
static void
wait_for_answers(struct core *core, struct call *call)
{
	if (core->now_ms + core->options.seek_ms / 2 <= call->until_ms)
		return;
	call->until_ms = core->now_ms + core->options.seek_ms;
	call_arm(core, call);
}

void
seek_new(struct core *core)
{
	struct question question = { .worker = NULL };
	size_t room = core->unsought > 0 ? step_room(core) : 0;
	struct call *call;

	if (room == 0)
		return;
	TAILQ_FOREACH(call, &core->held, waiting_link) {
		if (call->sought)
			continue;
		if (room-- == 0)
			break;
		call->sought = true;
		core->unsought--;
		wait_for_answers(core, call);
		ask_for(core, &question, call);
	}
	ask(core, &question);
}

void
seek_at(struct core *core, struct session *worker)
{
	struct question question = { .worker = worker };
	struct call *call;

	TAILQ_FOREACH(call, &core->held, waiting_link)
		ask_for(core, &question, call);
	ask(core, &question);
}

void
call_doubt(struct core *core, struct call *call)
{
	struct question question = { .worker = call->worker, .flags = WIRE_RESEND };

	call->doubted = true;
	ask_for(core, &question, call);
	ask(core, &question);
	call->resend_ms = core->now_ms + core->options.resend_ms;
	call_arm(core, call);
}

void
seek_again(struct core *core, struct session *worker)
{
	struct question question = { .worker = worker, .flags = WIRE_RESEND };
	struct call *call;

	TAILQ_FOREACH(call, &worker->work, work_link)
		if (call->state == CALL_ASSIGNED && call->known_there)
			ask_for(core, &question, call);
	ask(core, &question);
}
