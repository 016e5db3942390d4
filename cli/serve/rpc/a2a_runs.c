/* a2a_runs: the runs that tasks are. */
#include <string.h>

#include "a2a.h"
#include "chat.h"
#include "room.h"
#include "shape.h"
#include "store_runs.h"
#include "tenant.h"
#include "wire.h"

#define PAGE 10u       /* runs that are looked at, at once: each may have a large input */
#define EVENTS_BACK 32 /* of a run, for the last that has a message */

/* Methods of 1.0 are words, those of 0.3 paths. */
enum a2a_dialect
a2a_dialect_of(const struct call *call)
{
	const char *method = value_get_text(call->body, "method");

	return method != NULL && strchr(method, '/') != NULL ? A2A_0_3 : A2A_1_0;
}

enum store_status
a2a_runs_of(struct call *call, const char *thread,
    bool (*see)(const struct value *record, void *arg), void *arg)
{
	enum store_status status = STORE_OK;
	size_t offset, found = PAGE, i;
	bool goes_on = true;

	for (offset = 0;
	     status == STORE_OK && goes_on && found == PAGE && offset < A2A_RUNS_MAX;
	     offset += PAGE) {
		struct arena *arena = arena_new();
		const struct value *runs = NULL;

		status = room_for_state(call);
		found = 0;
		if (status == STORE_OK) {
			status = store_thread_runs(
			    api_store(call->api), arena, thread, offset, PAGE, &runs);
			found = status == STORE_OK ? value_size(runs) : 0;
			for (i = 0; i < found && goes_on; i++)
				goes_on = see(value_at(runs, i), arg);
			room_leave_state(call);
		}
		arena_destroy(&arena);
	}
	return status;
}

/* A task that the newest of its runs is looked for. */
struct looking {
	struct arena *arena;
	struct task *task;
};

/* Runs come newest first, those that answered what the task asked before its own. */
static bool
see_run(const struct value *record, void *arg)
{
	struct looking *looking = arg;
	struct task *task = looking->task;

	if (a2a_goes_on_with(record, task->id)) {
		task->record = a2a_keep(looking->arena, record);
		return false;
	}
	return !value_text_is(value_get(record, "run"), task->id);
}

static enum store_status
find_current(struct call *call, struct task *task)
{
	struct looking looking = { call->arena, task };
	enum store_status status = a2a_runs_of(call, task->thread, see_run, &looking);

	task->run = value_get_text(task->record, "run");
	return status;
}

/* A run of the task that is looked for before the one that answered it. */
struct asking {
	struct arena *arena;
	const struct task *task;
	const char *answer;
	const struct value *record; /* of the one that asked, or NULL */
	bool is_answered;
};

static bool
see_asking(const struct value *record, void *arg)
{
	struct asking *asking = arg;
	const struct value *run = value_get(record, "run");
	bool is_first = value_text_is(run, asking->task->id);

	if (asking->is_answered &&
	    (is_first || a2a_goes_on_with(record, asking->task->id))) {
		asking->record = a2a_keep(asking->arena, record);
		return false;
	}
	asking->is_answered |= value_text_is(run, asking->answer);
	return !is_first;
}

enum store_status
a2a_find_answered(struct call *call, struct task *task, const char *answer)
{
	struct asking asking = { .arena = call->arena, .task = task, .answer = answer };
	enum store_status status = a2a_runs_of(call, task->thread, see_asking, &asking);

	if (status == STORE_OK && asking.record == NULL)
		return STORE_NONE;
	if (status == STORE_OK)
		task->record = asking.record;
	return status;
}

/* The run's record, without what went into it. *failed_r: whether that was an answer that it could not use. */
static enum store_status
read_record(struct call *call, struct arena *arena, const char *thread, const char *run,
    const struct value **record_r, bool *failed_r)
{
	struct arena *scratch;
	const struct value *record;
	enum store_status status = room_for_state(call);

	if (status != STORE_OK)
		return status;
	scratch = arena_new();
	status = store_run(api_store(call->api), scratch, thread, run, &record);
	if (status == STORE_OK) {
		*record_r = a2a_keep(arena, record);
		*failed_r = a2a_has_failed_to_answer(record);
	}
	arena_destroy(&scratch);
	room_leave_state(call);
	return status;
}

bool
a2a_is_its(const struct call *call, const struct value *record)
{
	const struct value *id = shape_assistant_id(record);

	return value_text_is(id, call->params[0]) ||
	       value_text_is(id, tenant_name(call, call->params[0]));
}

static enum store_status
look_for_id(struct call *call, const char *id, struct task *task_r)
{
	enum store_status status = STORE_NONE;
	bool has_failed;

	*task_r = (struct task){ .id = id };
	if (id != NULL && wire_is_run_id(id))
		status = store_run_thread(
		    api_store(call->api), call->arena, id, &task_r->thread);
	if (status == STORE_OK && !tenant_owns(call, task_r->thread))
		status = STORE_NONE;
	if (status == STORE_OK)
		status = read_record(
		    call, call->arena, task_r->thread, id, &task_r->record, &has_failed);
	if (status == STORE_OK && !a2a_is_its(call, task_r->record))
		status = STORE_NONE;
	return status == STORE_OK ? find_current(call, task_r) : status;
}

/* As runs_find: what a tenant's key has begun is called as its threads are. */
static enum store_status
look_for(struct call *call, const char *id, struct task *task_r)
{
	enum store_status status = look_for_id(call, id, task_r);

	return status == STORE_NONE && id != NULL && call->tenant != NULL
		   ? look_for_id(call, tenant_name(call, id), task_r)
		   : status;
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

/* What a step has added last, if the agent says it. */
static enum store_status
said_in(struct call *call, struct arena *arena, const char *thread,
    const struct value *event, const struct value **message_r)
{
	int64_t added = value_get_int(event, "count", 0);
	const struct value *messages = NULL, *last;
	enum store_status status;

	if (added <= 0)
		return STORE_OK;
	status = store_messages(api_store(call->api), arena, thread,
	    (uint64_t)(value_get_int(event, "first", 0) + added - 1), 1, &messages);
	last = value_at(messages, 0);
	if (status == STORE_OK && chat_is(last, "ai"))
		*message_r = last;
	return status;
}

/* What the agent has said last in the run; NULL: nothing. */
static enum store_status
last_message(struct call *call, struct arena *arena, const struct value *record,
    const struct value **message_r)
{
	const char *thread = value_get_text(record, "thread");
	int64_t count = value_get_int(record, "events", 0);
	const struct value *events;
	enum store_status status = store_events(api_store(call->api), arena, thread,
	    value_get_text(record, "run"),
	    count > EVENTS_BACK ? (uint64_t)(count - EVENTS_BACK) : 0, 0, &events);
	size_t i;

	*message_r = NULL;
	for (i = value_size(events); status == STORE_OK && *message_r == NULL && i > 0;
	     i--)
		status = said_in(call, arena, thread, value_at(events, i - 1), message_r);
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
		*record_p =
		    value_map_with(arena, *record_p, "answer", chat_said(arena, message));
	return status == STORE_NONE ? STORE_OK : status;
}

const struct value *
a2a_untaken(struct arena *arena, const struct task *task)
{
	return value_map(arena, "run", value_str(arena, task->run), "thread",
	    value_str(arena, task->thread), NULL);
}

enum store_status
a2a_read(struct call *call, struct arena *arena, const struct task *task,
    struct a2a_run *run_r)
{
	const struct value *record = NULL;
	bool has_failed = false;
	enum store_status status =
	    read_record(call, arena, task->thread, task->run, &record, &has_failed);

	if (status == STORE_NONE) {
		record = a2a_untaken(arena, task);
		status = STORE_OK;
	} else if (status == STORE_OK && strcmp(task->run, task->id) != 0 && has_failed) {
		record = task->record; /* it asks as before */
	} else if (status == STORE_OK) {
		status = a2a_complete(call, arena, &record);
	}
	*run_r = (struct a2a_run){ a2a_dialect_of(call), task->id, record };
	return status;
}
