/* a2a: agents for other agents, wherever those run: the Agent2Agent protocol by JSON-RPC over HTTP, as of a2a-protocol.org,
 * 1.0 and 0.3, which are told apart by the names of their methods. A context is a thread, a task a run on it; one that asks
 * goes on with the next message that names it. */
#include <stdlib.h>
#include <string.h>

#include "a2a.h"
#include "bounds.h"
#include "json.h"
#include "once.h"
#include "room.h"
#include "tenant.h"
#include "wire.h"

#define CANCEL_LOOK_MS 3000u
#define PAGE 100 /* tasks */
#define TOKEN_BYTES_MAX 9u

#define TASK_NOT_CANCELABLE (-32002)
#define PUSH_NOT_SUPPORTED (-32003)

/* A text that is not empty, which stands for none; or NULL. */
static const char *
given(const struct value *message, const char *name)
{
	const char *text = value_get_text(message, name);

	return text != NULL && *text != '\0' ? text : NULL;
}

static bool
is_text(const struct value *map, const char *name)
{
	const struct value *value = value_get(map, name);

	return value_is_nil(value) ||
	       (value_is(value, VALUE_STR) && strlen(value->text) == value->size);
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
	metadata = value_map_with(arena,
	    value_is(metadata, VALUE_MAP) ? metadata : value_empty_map(), A2A_TASK, NULL);
	if (task->id != NULL)
		return value_map_merge(arena, body,
		    value_map(arena, "command",
			value_map(
			    arena, "resume", a2a_resume(arena, task->record, said), NULL),
			/* Of two who answer at once one is refused. */
			"multitask_strategy", VALUE_TEXT("reject"), "metadata",
			value_map_with(
			    arena, metadata, A2A_TASK, value_str(arena, task->id)),
			NULL));
	human = value_map(arena, "role", VALUE_TEXT("user"), "content", said, NULL);
	return value_map_merge(arena, body,
	    value_map(arena, "input",
		value_map(arena, "messages", value_array(arena, &human, 1), NULL),
		"metadata", metadata, NULL));
}

/* Whether what the task asks is what its thread waits for. false, too, after answering that Redis does not say. */
static bool
waits_for_answer(struct call *call, const struct task *task)
{
	const struct value *head = NULL;
	enum store_status status;

	if (strcmp(a2a_state(task->record), "input-required") != 0)
		return false;
	status = store_head(api_store(call->api), call->arena, task->thread, &head);
	if (status != STORE_OK && status != STORE_NONE)
		reply_failed(call, status, "task");
	return value_text_is(value_get(head, "status"), "interrupted") &&
	       value_text_is(value_get(head, "run"), task->run);
}

/* Whether the message has come before, as the answer to what the task asked then: by its key. false, too, after answering. */
static bool
has_come(struct call *call, struct task *task)
{
	const char *agent = call->params[0], *key, *run;
	enum store_status status;

	if (!once_read(call, &key) || key == NULL)
		return false;
	call->params[0] = task->thread;
	run = once_id(call, key);
	call->params[0] = agent;
	status = a2a_find_answered(call, task, run);
	if (status != STORE_OK && status != STORE_NONE)
		reply_failed(call, status, "task");
	return status == STORE_OK;
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
	if (!is_text(message, "taskId") || !is_text(message, "contextId")) {
		rpc_fail(call, RPC_INVALID_PARAMS,
		    "message.taskId, message.contextId: must be texts");
		return false;
	}
	if (id == NULL)
		return true;
	if (!a2a_find(call, id, task_r))
		return false;
	if (context != NULL && strcmp(context, task_r->thread) != 0)
		rpc_fail(call, RPC_INVALID_PARAMS,
		    "message.contextId: the task is one of another context");
	else if (!has_come(call, task_r) && !exchange_is_answered(call->exchange) &&
		 !waits_for_answer(call, task_r) && !exchange_is_answered(call->exchange))
		rpc_fail(call, RPC_INVALID_PARAMS,
		    "message.taskId: the task asks nothing; a message without it begins "
		    "another one in its context");
	return !exchange_is_answered(call->exchange);
}

/* A context for a task without one: which is found again by who asks again. Returns false after answering. */
static bool
make_context(struct call *call, struct task *task)
{
	const char *key;

	if (!once_read(call, &key))
		return false;
	task->thread = key != NULL ? once_thread_id(call, key) : tenant_new_id(call);
	return true;
}

/* Begins what params ask for. Returns false after answering why not. */
static bool
begin(struct call *call, const struct value *params, enum feed_what what,
    struct task *task_r, struct run_begun *begun_r)
{
	const struct value *body;
	const char *agent = call->params[0];

	if (!value_is_nil(value_get(params, "metadata")) &&
	    !value_is(value_get(params, "metadata"), VALUE_MAP)) {
		rpc_fail(call, RPC_INVALID_PARAMS, "metadata: must be a map");
		return false;
	}
	if (!read_task(call, value_get(params, "message"), task_r))
		return false;
	if (task_r->thread == NULL && !make_context(call, task_r))
		return false;
	if (!wire_is_run_id(task_r->thread)) {
		rpc_fail(call, RPC_INVALID_PARAMS, "message.contextId: is no id");
		return false;
	}
	body = body_of(call, params, task_r);
	if (body == NULL)
		return false;
	call->params[0] = task_r->thread; /* as if the path named it */
	if (!runs_begin(call, body, what, begun_r))
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
	enum store_status status = a2a_read(call, arena, task, &run);

	if (status != STORE_OK)
		return rpc_error(call, RPC_INTERNAL_ERROR, reply_trouble(call, status));
	return rpc_result(call, arena, how(arena, &run));
}

/* The same of a task that was sent a message: an answer that it could not use is told as such, and it asks as before. */
static const struct value *
response_to_message(struct call *call, const struct task *task, const struct value *last)
{
	const struct value *error = value_get(last, "error");
	const char *type = value_get_text(error, "type");
	const char *text = value_get_text(error, "message");
	const struct value *record = NULL;

	if (strcmp(task->run, task->id) != 0 && value_is(error, VALUE_MAP) &&
	    store_run(api_store(call->api), call->arena, task->thread, task->run,
		&record) == STORE_OK &&
	    a2a_has_failed_to_answer(record))
		return rpc_error(call, RPC_INVALID_PARAMS,
		    arena_printf(call->arena, "message: %s: %s; the task asks as before",
			type != NULL ? type : "error", text != NULL ? text : ""));
	return response(call, task, a2a_payload);
}

/* The same of one that has just begun: it has, also where this process ends before it can look. */
static const struct value *
response_at_once(struct call *call, const struct task *task)
{
	struct arena *arena = call->arena;
	struct a2a_run run;
	enum store_status status = a2a_read(call, arena, task, &run);

	if (status == STORE_CANCELLED)
		run.record = a2a_untaken(arena, task);
	else if (status != STORE_OK)
		return rpc_error(call, RPC_INTERNAL_ERROR, reply_trouble(call, status));
	return rpc_result(call, arena, a2a_payload(arena, &run));
}

/* Whether who sends a message waits for what comes of it: unless he says otherwise, as either version does. */
static bool
waits(const struct value *configuration)
{
	return value_get_bool(configuration, "blocking", true) &&
	       !value_get_bool(configuration, "returnImmediately", false);
}

/* Why there is no end to tell. Of who has gone there is nobody to tell it. */
static void
write_trouble(struct call *call, enum store_status status)
{
	if (status == STORE_NONE)
		runs_write(call, rpc_error(call, A2A_TASK_NOT_FOUND, "Task not found"));
	else if (status != STORE_OK && status != STORE_CANCELLED)
		runs_write(call,
		    rpc_error(call, RPC_INTERNAL_ERROR, reply_trouble(call, status)));
}

static void
send_message(struct call *call, const struct value *params)
{
	const struct value *last;
	struct run_begun begun;
	struct task task;

	if (!begin(call, params, FEED_END, &task, &begun))
		return;
	if (!waits(value_get(params, "configuration")))
		reply(call, 200, response_at_once(call, &task));
	else if ((last = runs_await_end(call, &begun)) != NULL)
		runs_write(call, response_to_message(call, &task, last));
	else
		write_trouble(call, feed_status(begun.feed));
	feed_destroy(&begun.feed);
}

static void
get_task(struct call *call, const struct value *params)
{
	struct task task;

	if (a2a_find(call, value_get_text(params, "id"), &task))
		reply(call, 200, response(call, &task, a2a_task));
}

/* Tasks that are looked for among a context's runs. */
struct listing {
	struct call *call;
	struct arena *arena;
	const struct value
	    *answers; /* {task: the record of the run that goes on with it} */
	struct value_list tasks;
	size_t first, last, count; /* which of them are wanted; how many there are */
	size_t bytes;              /* of tasks so far */
	bool is_whole;             /* with what came of them */
	enum store_status status;
};

/* Adds the task that began as the run of record. */
static void
add_task(struct listing *listing, const struct value *record)
{
	struct arena *arena = listing->arena;
	const char *id = arena_strdup(arena, value_get_text(record, "run"));
	const struct value *current = value_get(listing->answers, id), *task;
	bool is_whole = listing->is_whole && listing->bytes < SERVE_LIST_BYTES_MAX;
	struct a2a_run run = { a2a_dialect_of(listing->call), id,
		a2a_keep(arena, current != NULL ? current : record) };

	if (is_whole)
		listing->status = a2a_complete(listing->call, arena, &run.record);
	task = a2a_task(arena, &run);
	if (!is_whole)
		task = value_map_with(arena, task, "artifacts", NULL);
	listing->bytes += strlen(json_text(arena, task));
	value_list_add(&listing->tasks, task);
}

/* Runs come newest first: what goes on with a task comes before it. */
static bool
see_run(const struct value *record, void *arg)
{
	struct listing *listing = arg;
	const char *task = value_get_text(value_get(record, "metadata"), A2A_TASK);
	const struct value *options = value_get(record, "options");

	if (!a2a_is_its(listing->call, record) || value_has(options, "update") ||
	    value_has(options, "copy_of"))
		return true;
	if (task != NULL) {
		if (a2a_goes_on_with(record, task) && !value_has(listing->answers, task))
			listing->answers = value_map_with(listing->arena,
			    listing->answers, arena_strdup(listing->arena, task),
			    a2a_keep(listing->arena, record));
		return true;
	}
	if (listing->count >= listing->first && listing->count < listing->last)
		add_task(listing, record);
	listing->count++;
	return listing->status == STORE_OK;
}

static bool
read_token(const char *token, size_t *first_r)
{
	size_t size = strlen(token);

	*first_r = strtoul(token, NULL, 10);
	return size <= TOKEN_BYTES_MAX && strspn(token, "0123456789") == size;
}

/* Those of a context and the agent, newest first. A page's token is how many are before it. */
static void
list_tasks(struct call *call, const struct value *params)
{
	struct listing listing = { .call = call,
		.arena = call->arena,
		.answers = value_empty_map(),
		.tasks = { .arena = call->arena },
		.is_whole = value_get_bool(params, "includeArtifacts", false) };
	const char *context = tenant_name(call, given(params, "contextId"));
	const char *token = given(params, "pageToken");
	const struct value *given_size = value_get(params, "pageSize");
	int64_t size = value_get_int(params, "pageSize", PAGE);
	enum store_status status;

	if (context == NULL || !is_text(params, "contextId") ||
	    !wire_is_run_id(context) || size < 1 || size > PAGE ||
	    (!value_is_nil(given_size) && !value_is(given_size, VALUE_INT))) {
		rpc_fail(call, RPC_INVALID_PARAMS,
		    "contextId: tasks are listed by their context; pageSize: 1 to 100");
		return;
	}
	if (!is_text(params, "pageToken") ||
	    (token != NULL && !read_token(token, &listing.first))) {
		rpc_fail(call, RPC_INVALID_PARAMS, "pageToken: is none of ours");
		return;
	}
	listing.last = listing.first + (size_t)size;
	status = room_for_list(call);
	if (status == STORE_OK) {
		status = a2a_runs_of(call, context, see_run, &listing);
		room_leave_list(call);
	}
	if (status == STORE_OK)
		status = listing.status;
	if (status != STORE_OK) {
		reply_failed(call, status, "context");
		return;
	}
	rpc_succeed(
	    call, value_map(call->arena, "tasks", value_list_end(&listing.tasks),
		      "pageSize", value_int(call->arena, size), "totalSize",
		      value_int(call->arena, (int64_t)listing.count), "nextPageToken",
		      listing.count > listing.last
			  ? value_printf(call->arena, "%zu", listing.last)
			  : VALUE_TEXT(""),
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
	feed = feed_new(call, task.thread, task.run, 0, FEED_END);
	feed_was_there(feed, task.record);
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

	if (!begin(call, params, FEED_ALL, &task, &begun))
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
	feed = feed_new(call, task.thread, task.run, 0, FEED_ALL);
	feed_was_there(feed, task.record);
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
