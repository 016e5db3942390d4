/* a2a: agents for other agents, wherever those run: the Agent2Agent protocol by JSON-RPC over HTTP, as of a2a-protocol.org,
 * 1.0 and 0.3, which are told apart by the names of their methods. A context is a thread, a task a run on it; one that asks
 * goes on with the next message that names it. */
#include <stdlib.h>
#include <string.h>

#include "a2a.h"
#include "tenant.h"
#include "wire.h"

#define CANCEL_LOOK_MS 3000u
#define PAGE 100 /* tasks */

#define TASK_NOT_CANCELABLE (-32002)
#define PUSH_NOT_SUPPORTED (-32003)

/* A text that is not empty, which stands for none; or NULL. */
static const char *
given(const struct value *message, const char *name)
{
	const char *text = value_get_text(message, name);

	return text != NULL && *text != '\0' ? text : NULL;
}

/* --- a message ---------------------------------------------------------------------------- */

/* What a run is begun with, as of LangGraph's API; of a task that asks as its answer. NULL after answering. */
static const struct value *
body_of(struct call *call, const struct value *params, const struct task *task)
{
	struct arena *arena = call->arena;
	const struct value *message = value_get(params, "message"), *said, *human;
	const struct value *metadata = value_get(params, "metadata");
	const char *wrong;
	const struct value *body = value_map(arena, "assistant_id",
	    value_str(arena, call->params[0]), "if_not_exists", VALUE_TEXT("create"),
	    "stream_mode", VALUE_TEXT("messages-tuple"), NULL);

	said = task->id != NULL ? a2a_answer(arena, message, &wrong)
				: a2a_content(arena, message, &wrong);
	if (said == NULL) {
		rpc_fail(call, RPC_INVALID_PARAMS, wrong);
		return NULL;
	}
	metadata = value_is(metadata, VALUE_MAP)
		       ? value_map_with(arena, metadata, A2A_TASK, NULL)
		       : value_empty_map();
	if (task->id != NULL)
		return value_map_merge(arena, body,
		    value_map(arena, "command", value_map(arena, "resume", said, NULL),
			"metadata",
			value_map_with(
			    arena, metadata, A2A_TASK, value_str(arena, task->id)),
			NULL));
	human = value_map(arena, "role", VALUE_TEXT("user"), "content", said, NULL);
	return value_map_merge(arena, body,
	    value_map(arena, "input",
		value_map(arena, "messages", value_array(arena, &human, 1), NULL),
		"metadata", metadata, NULL));
}

/* The task that the message goes on with, if it names one: that asks. Returns false after answering. */
static bool
read_task(struct call *call, const struct value *message, struct task *task_r)
{
	const char *id = given(message, "taskId");
	const char *context = tenant_name(call, given(message, "contextId"));

	*task_r = (struct task){ .thread = context };
	if (!value_is(message, VALUE_MAP) || !a2a_is_users(message)) {
		rpc_fail(call, RPC_INVALID_PARAMS,
		    "message: must be a map with the role user, and parts");
		return false;
	}
	if (id == NULL)
		return true;
	if (!a2a_find(call, id, task_r))
		return false;
	if (context != NULL && strcmp(context, task_r->thread) != 0)
		rpc_fail(call, RPC_INVALID_PARAMS,
		    "message.contextId: the task is one of another context");
	else if (strcmp(a2a_state(task_r->record), "input-required") != 0)
		rpc_fail(call, RPC_INVALID_PARAMS,
		    "message.taskId: the task asks nothing; a message without it begins "
		    "another one in its context");
	return !exchange_is_answered(call->exchange);
}

/* Begins what params ask for. Returns false after answering why not. */
static bool
begin(struct call *call, const struct value *params, bool lives, struct task *task_r,
    struct run_begun *begun_r)
{
	const struct value *body;
	const char *agent = call->params[0];

	if (!read_task(call, value_get(params, "message"), task_r))
		return false;
	if (task_r->thread == NULL)
		task_r->thread = tenant_new_id(call);
	if (!wire_is_run_id(task_r->thread)) {
		rpc_fail(call, RPC_INVALID_PARAMS, "message.contextId: is no id");
		return false;
	}
	body = body_of(call, params, task_r);
	if (body == NULL)
		return false;
	call->params[0] = task_r->thread; /* as if the path named it */
	if (!runs_begin(call, body, lives, begun_r))
		return false;
	call->params[0] = agent;
	task_r->run = begun_r->run;
	if (task_r->id == NULL)
		task_r->id = begun_r->run;
	return true;
}

/* --- answers ------------------------------------------------------------------------------ */

/* The task as it is now, by how; or why that cannot be said. */
static const struct value *
response(struct call *call, const struct task *task,
    const struct value *(*how)(struct arena *arena, const struct a2a_run *run))
{
	struct arena *arena = call->arena;
	struct a2a_run run;

	if (a2a_read(call, arena, task, &run) != STORE_OK)
		return rpc_error(
		    call, RPC_INTERNAL_ERROR, store_error(api_store(call->api)));
	return rpc_result(call, arena, how(arena, &run));
}

/* Whether who sends a message waits for what comes of it: unless he says otherwise, as either version does. */
static bool
waits(const struct value *configuration)
{
	return value_get_bool(configuration, "blocking", true) &&
	       !value_get_bool(configuration, "returnImmediately", false);
}

static void
send_message(struct call *call, const struct value *params)
{
	struct run_begun begun;
	struct task task;

	if (!begin(call, params, false, &task, &begun))
		return;
	if (!waits(value_get(params, "configuration")))
		reply(call, 200, response(call, &task, a2a_payload));
	else if (runs_await_end(call, &begun) != NULL)
		runs_write(call, response(call, &task, a2a_payload));
	else if (feed_status(begun.feed) == STORE_FAILED)
		runs_write(call, rpc_error(call, RPC_INTERNAL_ERROR,
				     store_error(api_store(call->api))));
	feed_destroy(&begun.feed);
}

static void
get_task(struct call *call, const struct value *params)
{
	struct task task;

	if (a2a_find(call, value_get_text(params, "id"), &task))
		reply(call, 200, response(call, &task, a2a_task));
}

/* Of a thread's runs, newest first, the one that goes on with the task of number i: the first that says so, or its own. */
static const struct value *
goes_on_with(const struct value *runs, size_t i)
{
	const struct value *id = value_get(value_at(runs, i), "run");
	size_t j;

	for (j = 0; j < i; j++)
		if (value_equal(
			value_get(value_get(value_at(runs, j), "metadata"), A2A_TASK),
			id))
			return value_at(runs, j);
	return value_at(runs, i);
}

/* Adds the tasks among the runs; with their answers only where those are asked for. */
static enum store_status
add_tasks(struct call *call, const struct value *params, const struct value *runs,
    struct value_list *list)
{
	bool is_whole = value_get_bool(params, "includeArtifacts", false);
	enum store_status status = STORE_OK;
	size_t i;

	for (i = 0; i < value_size(runs) && status == STORE_OK; i++) {
		const struct value *run = value_at(runs, i), *task;
		struct a2a_run shown = { a2a_dialect_of(call), value_get_text(run, "run"),
			goes_on_with(runs, i) };

		if (value_has(value_get(run, "metadata"), A2A_TASK))
			continue; /* it is of another one */
		if (is_whole)
			status = a2a_complete(call, call->arena, &shown.record);
		task = a2a_task(call->arena, &shown);
		value_list_add(list,
		    is_whole ? task
			     : value_map_with(call->arena, task, "artifacts", NULL));
	}
	return status;
}

/* Those of a context, newest first. A page is of so many runs, and its token how many are before it. */
static void
list_tasks(struct call *call, const struct value *params)
{
	struct value_list list = { .arena = call->arena };
	const char *context = tenant_name(call, given(params, "contextId"));
	const char *token = given(params, "pageToken");
	int64_t size = value_get_int(params, "pageSize", PAGE);
	size_t first = token != NULL ? strtoul(token, NULL, 10) : 0;
	const struct value *runs;
	enum store_status status;

	if (context == NULL || !wire_is_run_id(context) || size < 1 || size > PAGE) {
		rpc_fail(call, RPC_INVALID_PARAMS,
		    "contextId: tasks are listed by their context; pageSize: 1 to 100");
		return;
	}
	status = store_thread_runs(
	    api_store(call->api), call->arena, context, first, (size_t)size, &runs);
	if (status == STORE_OK)
		status = add_tasks(call, params, runs, &list);
	if (status != STORE_OK) {
		reply_failed(call, status, "context");
		return;
	}
	rpc_succeed(call,
	    value_map(call->arena, "tasks", value_list_end(&list), "pageSize",
		value_int(call->arena, size), "totalSize",
		value_int(call->arena, (int64_t)(first + list.count)), "nextPageToken",
		value_size(runs) < (size_t)size
		    ? VALUE_TEXT("")
		    : value_printf(call->arena, "%zu", first + (size_t)size),
		NULL));
}

static void
cancel_task(struct call *call, const struct value *params)
{
	const char *answer, *ended;
	enum store_status status;
	struct feed *feed;
	struct task task;

	if (!a2a_find(call, value_get_text(params, "id"), &task))
		return;
	if (a2a_is_over(a2a_state(task.record))) {
		rpc_fail(call, TASK_NOT_CANCELABLE,
		    "Task cannot be canceled: it does not work");
		return;
	}
	status = store_cancel(
	    api_store(call->api), call->arena, task.thread, task.run, &answer, &ended);
	if (status != STORE_OK) {
		reply_failed(call, status, "task");
		return;
	}
	feed = feed_new(call->api, task.thread, task.run, 0, false);
	feed_end(feed, call->arena, CANCEL_LOOK_MS, NULL, NULL);
	feed_destroy(&feed);
	reply(call, 200, response(call, &task, a2a_task));
}

static void
refuse_push(struct call *call, const struct value *params)
{
	(void)params;
	rpc_fail(call, PUSH_NOT_SUPPORTED,
	    "Push Notification is not supported: a task may be subscribed to");
}

static void
stream_message(struct call *call, const struct value *params)
{
	struct run_begun begun;
	struct task task;

	if (!begin(call, params, true, &task, &begun))
		return;
	a2a_follow(call, &task, begun.feed);
	feed_destroy(&begun.feed);
}

static void
subscribe(struct call *call, const struct value *params)
{
	struct feed *feed;
	struct task task;

	if (!a2a_find(call, value_get_text(params, "id"), &task))
		return;
	feed = feed_new(call->api, task.thread, task.run, 0, true);
	a2a_follow(call, &task, feed);
	feed_destroy(&feed);
}

static const struct rpc_method methods[] = {
	{ "SendMessage", send_message },
	{ "SendStreamingMessage", stream_message },
	{ "GetTask", get_task },
	{ "ListTasks", list_tasks },
	{ "CancelTask", cancel_task },
	{ "SubscribeToTask", subscribe },
	{ "CreateTaskPushNotificationConfig", refuse_push },
	{ "GetTaskPushNotificationConfig", refuse_push },
	{ "ListTaskPushNotificationConfigs", refuse_push },
	{ "DeleteTaskPushNotificationConfig", refuse_push },
	{ "message/send", send_message },
	{ "message/stream", stream_message },
	{ "tasks/get", get_task },
	{ "tasks/cancel", cancel_task },
	{ "tasks/resubscribe", subscribe },
	{ "tasks/pushNotificationConfig/set", refuse_push },
	{ "tasks/pushNotificationConfig/get", refuse_push },
	{ "tasks/pushNotificationConfig/list", refuse_push },
	{ "tasks/pushNotificationConfig/delete", refuse_push },
};

void
call_a2a(struct call *call)
{
	rpc_route(call, methods, sizeof methods / sizeof *methods,
	    "docs/http.md lists what of the protocol is served");
}
