/* seeking: calls that are held are looked for at the workers. Their broker before us told us
 * nothing, but a worker knows what it runs, whichever broker gave it the call. */
#include "memory.h"
#include "tables.h"

/* The ids of up to ANNOUNCED_CALLS_MAX calls, in the step's memory. */
static struct wire_call *
new_list(struct core *core)
{
	struct sought *sought =
	    xcalloc(1, sizeof *sought + ANNOUNCED_CALLS_MAX * sizeof sought->calls[0]);

	SLIST_INSERT_HEAD(&core->sought, sought, next);
	return sought->calls;
}

static void
ask(struct core *core, struct session *worker, const struct wire_call *calls,
    size_t count)
{
	const struct header header = {
		.type = MSG_SEEK, .calls = calls, .call_count = count
	};

	send_to(core, worker, &header, NULL);
}

static void
ask_all(struct core *core, const struct wire_call *calls, size_t count)
{
	struct session *worker;

	if (count == 0)
		return;
	TAILQ_FOREACH(worker, &core->workers, role_link)
		ask(core, worker, calls, count);
}

void
seek_new(struct core *core)
{
	struct wire_call *calls = NULL;
	struct call *call;
	size_t count = 0;

	if (core->unsought == 0)
		return;
	TAILQ_FOREACH(call, &core->held, waiting_link) {
		if (call->sought)
			continue;
		call->sought = true;
		if (count == 0)
			calls = new_list(core);
		calls[count++] = (struct wire_call){ call->id, CALL_RUNNING };
		if (count == ANNOUNCED_CALLS_MAX) {
			ask_all(core, calls, count);
			count = 0;
		}
	}
	ask_all(core, calls, count);
	core->unsought = 0;
}

void
seek_at(struct core *core, struct session *worker)
{
	struct wire_call *calls = NULL;
	struct call *call;
	size_t count = 0;

	TAILQ_FOREACH(call, &core->held, waiting_link) {
		if (count == 0)
			calls = new_list(core);
		calls[count++] = (struct wire_call){ call->id, CALL_RUNNING };
		if (count == ANNOUNCED_CALLS_MAX) {
			ask(core, worker, calls, count);
			count = 0;
		}
	}
	if (count > 0)
		ask(core, worker, calls, count);
}
