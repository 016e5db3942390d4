/* a2a_runs: the runs that tasks are. */
#include <string.h>

#include "a2a.h"
#include "chat.h"
#include "tenant.h"
#include "wire.h"

#define LOOKED_BACK 10 /* runs of a thread, for the one that goes on with a task */
#define EVENTS_BACK 32 /* of a run, for the last that has a message */

/* Methods of 1.0 are words, those of 0.3 paths. */
enum a2a_dialect
a2a_dialect_of(const struct call *call)
{
	const char *method = value_get_text(call->body, "method");

	return method != NULL && strchr(method, '/') != NULL ? A2A_0_3 : A2A_1_0;
}

/* The newest of the thread's runs that answered what the task asked; the task's own, where there was none. */
static enum store_status
find_current(struct call *call, struct task *task)
{
	const struct value *runs;
	enum store_status status = store_thread_runs(
	    api_store(call->api), call->arena, task->thread, 0, LOOKED_BACK, &runs);
	size_t i;

	for (i = 0; status == STORE_OK && i < value_size(runs); i++) {
		const struct value *record = value_at(runs, i);

		if (value_text_is(
			value_get(value_get(record, "metadata"), A2A_TASK), task->id)) {
			task->record = record;
			break;
		}
	}
	task->run = value_get_text(task->record, "run");
	return status;
}

static enum store_status
look_for(struct call *call, const char *id, struct task *task_r)
{
	struct store *store = api_store(call->api);
	enum store_status status = STORE_NONE;

	id = tenant_name(call, id);
	*task_r = (struct task){ .id = id };
	if (id != NULL && wire_is_run_id(id))
		status = store_run_thread(store, call->arena, id, &task_r->thread);
	if (status == STORE_OK && !tenant_owns(call, task_r->thread))
		status = STORE_NONE;
	if (status == STORE_OK)
		status =
		    store_run(store, call->arena, task_r->thread, id, &task_r->record);
	if (status == STORE_OK &&
	    !value_text_is(value_get(task_r->record, "agent"), call->params[0]))
		status = STORE_NONE;
	return status == STORE_OK ? find_current(call, task_r) : status;
}

bool
a2a_find(struct call *call, const char *id, struct task *task_r)
{
	enum store_status status = look_for(call, id, task_r);

	if (status == STORE_NONE)
		rpc_fail(call, A2A_TASK_NOT_FOUND, "Task not found");
	else if (status != STORE_OK)
		reply_failed(call, status, "task");
	return status == STORE_OK;
}

/* The message that the run's last step with one has added; NULL: there is none. */
static enum store_status
last_message(struct call *call, struct arena *arena, const struct value *record,
    const struct value **message_r)
{
	struct store *store = api_store(call->api);
	const char *thread = value_get_text(record, "thread");
	int64_t count = value_get_int(record, "events", 0);
	const struct value *events, *messages = NULL;
	enum store_status status =
	    store_events(store, arena, thread, value_get_text(record, "run"),
		count > EVENTS_BACK ? (uint64_t)(count - EVENTS_BACK) : 0, 0, &events);
	size_t i;

	*message_r = NULL;
	for (i = value_size(events); status == STORE_OK && i > 0; i--) {
		const struct value *event = value_at(events, i - 1);
		int64_t added = value_get_int(event, "count", 0);

		if (added <= 0)
			continue;
		status = store_messages(store, arena, thread,
		    (uint64_t)(value_get_int(event, "first", 0) + added - 1), 1,
		    &messages);
		*message_r = value_at(messages, 0);
		break;
	}
	return status;
}

enum store_status
a2a_complete(struct call *call, struct arena *arena, const struct value **record_p)
{
	const struct value *message;
	enum store_status status;

	if (strcmp(a2a_state(*record_p), "completed") != 0 ||
	    value_has(*record_p, "answer"))
		return STORE_OK;
	status = last_message(call, arena, *record_p, &message);
	if (status == STORE_OK && message != NULL)
		*record_p = value_map_with(arena, *record_p, "answer",
		    value_str(arena, chat_text(arena, message)));
	return status == STORE_NONE ? STORE_OK : status;
}

enum store_status
a2a_read(struct call *call, struct arena *arena, const struct task *task,
    struct a2a_run *run_r)
{
	const struct value *record = NULL;
	enum store_status status =
	    store_run(api_store(call->api), arena, task->thread, task->run, &record);

	if (status == STORE_NONE) {
		record = value_map(arena, "run", value_str(arena, task->run), "thread",
		    value_str(arena, task->thread), NULL);
		status = STORE_OK;
	} else if (status == STORE_OK) {
		status = a2a_complete(call, arena, &record);
	}
	*run_r = (struct a2a_run){ a2a_dialect_of(call), task->id, record };
	return status;
}
