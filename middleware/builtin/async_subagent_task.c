/* The tools of async_subagent. What runs begins and says how they stand is the coordinator (tool_children_ask); what
 * is known of tasks between calls is in the state. */
#include "async_subagent_task.h"

#include <string.h>
#include <time.h>

#include "async_server.h"
#include "json.h"
#include "subagent.h"

#define REFUSED "success" /* deepagents returns what goes wrong as an ordinary text */
#define TIME_BYTES sizeof "2026-01-01T00:00:00Z"

/* --- tasks ----------------------------------------------------------------------------- */

static const struct value *
now(struct arena *arena)
{
	time_t seconds = time(NULL);
	char text[TIME_BYTES];
	struct tm parts;

	gmtime_r(&seconds, &parts);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
	return value_str(arena, text);
}

/* A run's status in deepagents' words. */
static const char *
status_of(const struct value *status)
{
	static const char *const words[][2] = { { "queued", "running" },
		{ "delayed", "running" }, { "quarantined", "error" },
		{ "refused", "error" }, { "gone", "error" } };
	const char *text = value_text(status);
	size_t i;

	for (i = 0; text != NULL && i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i][0], text) == 0)
			return words[i][1];
	return text != NULL ? text : "error";
}

/* `flotilla update` and other middleware may write the field: what is no task of ours is none. */
static bool
is_task(const struct value *task)
{
	static const char *const texts[] = { "task_id", "agent_name", "thread_id",
		"run_id", "status" };
	size_t i;

	for (i = 0; i < sizeof texts / sizeof *texts; i++)
		if (value_get_text(task, texts[i]) == NULL)
			return false;
	return true;
}

static bool
goes_on(const struct value *task)
{
	return value_text_is(value_get(task, "status"), "running") ||
	       value_text_is(value_get(task, "status"), "interrupted");
}

static const struct value *
named(struct arena *arena, const struct value *task)
{
	return value_map(arena, "run", value_get(task, "run_id"), "thread",
	    value_get(task, "thread_id"), NULL);
}

/* task with its status as it is now. */
static const struct value *
as_seen(struct arena *arena, const struct value *task, const char *status)
{
	bool is_new = !value_text_is(value_get(task, "status"), status);
	const struct value *at = now(arena);

	task = value_map_with(arena, task, "status", value_str(arena, status));
	task = value_map_with(arena, task, "last_checked_at", at);
	return is_new ? value_map_with(arena, task, "last_updated_at", at) : task;
}

/* The answer, and the tasks that changed: {id: task}, or NULL. */
static struct tool_result *
answer(struct tool_request *request, const char *text, const struct value *tasks)
{
	struct arena *arena = tool_arena(request);
	const struct value *message =
	    chat_tool(arena, text, tool_call_id(request), tool_name(request), "success");

	return tool_command(request, value_map(arena, ASYNC_TASKS, tasks, "messages",
					 value_array(arena, &message, 1), NULL));
}

static struct tool_result *
answer_one(struct tool_request *request, const char *text, const struct value *task)
{
	struct arena *arena = tool_arena(request);

	return answer(
	    request, text, value_map(arena, value_get_text(task, "task_id"), task, NULL));
}

static struct tool_result *
refuse(struct tool_request *request, const char *text)
{
	return tool_answer(
	    request, arena_printf(tool_arena(request), "Error: %s", text), REFUSED);
}

static struct tool_result *
refuse_fault(struct tool_request *request, const struct value *came)
{
	const struct value *fault = value_get(came, "fault");
	const char *message = value_get_text(fault, "message");

	if (value_text_is(value_get(fault, "type"), "CancelledError"))
		return tool_fail(request, fault_cancelled(tool_arena(request)));
	return refuse(request, message != NULL ? message : "it failed");
}

/* The task that the arguments name; NULL with the refusal. */
static const struct value *
find_task(struct tool_request *request, struct tool_result **refusal_r)
{
	const char *id = value_get_text(tool_args(request), "task_id");
	const struct value *task = value_get(tool_state(request, ASYNC_TASKS), id);

	if (!is_task(task))
		*refusal_r = refuse(request,
		    arena_printf(tool_arena(request),
			"there is no task `%s`; " ASYNC_LIST " shows those there are",
			id));
	return is_task(task) ? task : NULL;
}

/* The entry of an agent on another server; NULL: it is one of this fleet, or none. */
static const struct value *
far_agent(struct tool_request *request, const char *name)
{
	const struct value *all = value_get(tool_settings_of(request), "async_subagents");
	size_t i;

	for (i = 0; i < value_size(all); i++)
		if (value_text_is(value_get(value_at(all, i), "name"), name) &&
		    value_has(value_at(all, i), "url"))
			return value_at(all, i);
	return NULL;
}

/* Begins a task, or with one goes on with it; came, or NULL: nothing yet. */
static const struct value *
tell(struct tool_request *request, const char *name, const char *argument,
    const struct value *task)
{
	struct arena *arena = tool_arena(request);
	const struct value *far = far_agent(request, name);
	const struct value *message =
	    chat_human(arena, value_get_text(tool_args(request), argument));
	const struct value *ask =
	    value_map(arena, "op", value_str(arena, task == NULL ? "start" : "update"),
		"name", value_str(arena, name), "run", value_get(task, "run_id"),
		"thread", value_get(task, "thread_id"), NULL);

	if (far == NULL)
		return tool_children_ask(request, value_map_with(arena, ask, "messages",
						      value_array(arena, &message, 1)));
	return async_server_ask(request, far,
	    value_map_with(arena, ask, "text", value_get(tool_args(request), argument)));
}

/* --- the tools ------------------------------------------------------------------------- */

static struct tool_result *
run_start(struct tool_request *request)
{
	struct arena *arena = tool_arena(request);
	const char *name = value_get_text(tool_args(request), "subagent_type");
	const struct value *came, *at, *task;

	if (!value_has(tool_children(request), name) && far_agent(request, name) == NULL)
		return subagent_unknown(request, name, REFUSED);
	came = tell(request, name, "description", NULL);
	if (came == NULL)
		return NULL;
	if (value_has(came, "fault"))
		return refuse_fault(request, came);
	at = now(arena);
	task = value_map(arena, "task_id", value_get(came, "thread"), "agent_name",
	    value_str(arena, name), "thread_id", value_get(came, "thread"), "run_id",
	    value_get(came, "run"), "status", value_str(arena, "running"), "created_at",
	    at, "last_checked_at", at, "last_updated_at", at, NULL);
	return answer_one(request,
	    arena_printf(
		arena, "The task has begun. task_id: %s", value_get_text(came, "thread")),
	    task);
}

static const struct value *
look_far(struct tool_request *request, const struct value *far, const struct value *task)
{
	struct arena *arena = tool_arena(request);

	return async_server_ask(request, far,
	    value_map_with(arena, named(arena, task), "op", value_str(arena, "check")));
}

/* {runs: [...]}, one for each task. Those of the fleet are asked for first: the call may leave for it and
 * come again. */
static const struct value *
look(struct tool_request *request, const struct value *tasks)
{
	struct arena *arena = tool_arena(request);
	struct value_list runs = { .arena = arena }, all = { .arena = arena };
	const struct value *near, *came = NULL, *far;
	size_t i, at = 0;

	for (i = 0; i < value_size(tasks); i++)
		if (far_agent(request,
			value_get_text(value_at(tasks, i), "agent_name")) == NULL)
			value_list_add(&runs, named(arena, value_at(tasks, i)));
	near = value_list_end(&runs);
	if (value_size(near) > 0) {
		came = tool_children_ask(
		    request, value_map(arena, "op", value_str(arena, "check"), "runs",
				 near, NULL));
		if (came == NULL || value_has(came, "fault"))
			return came;
	}
	for (i = 0; i < value_size(tasks); i++) {
		far =
		    far_agent(request, value_get_text(value_at(tasks, i), "agent_name"));
		if (far != NULL)
			value_list_add(&all, look_far(request, far, value_at(tasks, i)));
		else if (at < value_size(value_get(came, "runs")))
			value_list_add(&all, value_at(value_get(came, "runs"), at++));
		else
			break; /* the state has changed since they were asked for */
	}
	return value_map(arena, "runs", value_list_end(&all), NULL);
}

static struct tool_result *
run_check(struct tool_request *request)
{
	struct arena *arena = tool_arena(request);
	struct tool_result *refusal = NULL;
	const struct value *task = find_task(request, &refusal), *came, *seen, *text;
	const char *status;

	if (task == NULL)
		return refusal;
	came = look(request, value_array(arena, &task, 1));
	if (came == NULL)
		return NULL;
	if (value_has(came, "fault"))
		return refuse_fault(request, came);
	seen = value_at(value_get(came, "runs"), 0);
	if (value_has(seen, "fault") && !value_has(seen, "status"))
		return refuse_fault(request, seen);
	status = status_of(value_get(seen, "status"));
	text = value_map(arena, "status", value_str(arena, status), "thread_id",
	    value_get(task, "thread_id"), NULL);
	if (strcmp(status, "success") == 0)
		text = value_map_with(arena, text, "result",
		    value_has(seen, "structured_response")
			? value_get(seen, "structured_response")
		    : value_has(seen, "content") ? value_get(seen, "content")
						 : value_str(arena, ""));
	else if (value_has(seen, "fault"))
		text = value_map_with(
		    arena, text, "error", value_get(value_get(seen, "fault"), "message"));
	return answer_one(request, json_text(arena, text), as_seen(arena, task, status));
}

static struct tool_result *
run_update(struct tool_request *request)
{
	struct arena *arena = tool_arena(request);
	struct tool_result *refusal = NULL;
	const struct value *task = find_task(request, &refusal), *came;
	const char *name;

	if (task == NULL)
		return refusal;
	name = value_get_text(task, "agent_name");
	if (!value_has(tool_children(request), name) && far_agent(request, name) == NULL)
		return subagent_unknown(request, name, REFUSED);
	came = tell(request, name, "message", task);
	if (came == NULL)
		return NULL;
	if (value_has(came, "fault"))
		return refuse_fault(request, came);
	task = value_map_with(arena, task, "run_id", value_get(came, "run"));
	task = value_map_with(arena, task, "last_updated_at", now(arena));
	return answer_one(request,
	    arena_printf(arena, "The task has its new instructions. task_id: %s",
		value_get_text(task, "task_id")),
	    value_map_with(arena, task, "status", value_str(arena, "running")));
}

static struct tool_result *
run_cancel(struct tool_request *request)
{
	struct arena *arena = tool_arena(request);
	struct tool_result *refusal = NULL;
	const struct value *task = find_task(request, &refusal), *came, *far, *ask;
	const char *status;

	if (task == NULL)
		return refusal;
	ask = value_map_with(arena, named(arena, task), "op", value_str(arena, "cancel"));
	far = far_agent(request, value_get_text(task, "agent_name"));
	came = far == NULL ? tool_children_ask(request, ask)
			   : async_server_ask(request, far, ask);
	if (came == NULL)
		return NULL;
	if (value_has(came, "fault"))
		return refuse_fault(request, came);
	status = status_of(value_get(came, "status"));
	return answer_one(request,
	    strcmp(status, "cancelled") == 0
		? arena_printf(arena, "The task is cancelled. task_id: %s",
		      value_get_text(task, "task_id"))
		: arena_printf(arena, "The task had ended before: %s. task_id: %s",
		      status, value_get_text(task, "task_id")),
	    as_seen(arena, task, status));
}

/* The tasks that may have changed, each once. */
static const struct value *
open_tasks(struct arena *arena, const struct value *tasks)
{
	struct value_list open = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(tasks); i++)
		if (is_task(tasks->pairs[i].value) && goes_on(tasks->pairs[i].value))
			value_list_add(&open, tasks->pairs[i].value);
	return value_list_end(&open);
}

static const char *
lines_of(struct arena *arena, const struct value *tasks, const char *wanted)
{
	struct packet packet = { 0 };
	const char *text;
	size_t i, count = 0;

	for (i = 0; i < value_size(tasks); i++) {
		const struct value *task = tasks->pairs[i].value;
		const char *status = value_get_text(task, "status");

		if (!is_task(task) || (wanted != NULL && strcmp(wanted, "all") != 0 &&
					  strcmp(wanted, status) != 0))
			continue;
		count++;
		text = arena_printf(arena, "- task_id: %s agent: %s status: %s\n",
		    value_get_text(task, "task_id"), value_get_text(task, "agent_name"),
		    status);
		packet_append(&packet, text, strlen(text));
	}
	text = arena_copy(arena, packet.data, packet.size);
	packet_release(&packet);
	return count == 0 ? "There is no such task"
			  : arena_printf(arena, "%zu task(s):\n%s", count, text);
}

static struct tool_result *
run_list(struct tool_request *request)
{
	struct arena *arena = tool_arena(request);
	const struct value *tasks = tool_state(request, ASYNC_TASKS), *came = NULL;
	const struct value *open = open_tasks(arena, tasks);
	const struct value *changed = NULL;
	size_t i;

	if (value_size(open) > 0) {
		came = look(request, open);
		if (came == NULL)
			return NULL;
	}
	/* The state may have lost some since they were asked for: a call can wait for a human. */
	for (i = 0; i < value_size(value_get(came, "runs")) && i < value_size(open);
	     i++) {
		const struct value *task = value_at(open, i);
		const struct value *seen = value_at(value_get(came, "runs"), i);

		/* A server that does not answer: as it was. */
		if (value_has(seen, "fault") && !value_has(seen, "status"))
			continue;
		changed = value_map_with(arena, changed, value_get_text(task, "task_id"),
		    as_seen(arena, task, status_of(value_get(seen, "status"))));
	}
	tasks = value_map_merge(arena, tasks, changed);
	return answer(request,
	    lines_of(arena, tasks, value_get_text(tool_args(request), "status_filter")),
	    changed);
}

#define TASK_ID                                                                          \
	"\"task_id\": {\"type\": \"string\", \"description\": \"The id, exactly as it "  \
	"was returned\"}"

static const struct tool start = {
	.name = ASYNC_START,
	.description = "Sets an agent to work on a task in the background, and returns a "
		       "task id at once.",
	.parameters =
	    "{\"type\": \"object\", \"properties\": {"
	    "\"description\": {\"type\": \"string\", \"description\": \"The task, with "
	    "all that the agent needs to know\"},"
	    "\"subagent_type\": {\"type\": \"string\", \"description\": \"The name of "
	    "the agent\"}}, \"required\": [\"description\", \"subagent_type\"]}",
	.run = run_start,
};
static const struct tool check = {
	.name = ASYNC_CHECK,
	.description = "Says how a task in the background stands, and its result once it "
		       "has one.",
	.parameters = "{\"type\": \"object\", \"properties\": {" TASK_ID
		      "}, \"required\": [\"task_id\"]}",
	.run = run_check,
};
static const struct tool update = {
	.name = ASYNC_UPDATE,
	.description = "Gives a task in the background new instructions: its agent sees "
		       "the whole conversation so far, and what it was doing stops.",
	.parameters =
	    "{\"type\": \"object\", \"properties\": {" TASK_ID
	    ", \"message\": {\"type\": \"string\", \"description\": \"What it is to do "
	    "now\"}}, \"required\": [\"task_id\", \"message\"]}",
	.run = run_update,
};
static const struct tool cancel = {
	.name = ASYNC_CANCEL,
	.description = "Cancels a task in the background.",
	.parameters = "{\"type\": \"object\", \"properties\": {" TASK_ID
		      "}, \"required\": [\"task_id\"]}",
	.run = run_cancel,
};
static const struct tool list = {
	.name = ASYNC_LIST,
	.description =
	    "Lists the tasks in the background with how they stand at this moment.",
	.parameters =
	    "{\"type\": \"object\", \"properties\": {\"status_filter\": {\"type\": "
	    "[\"string\", \"null\"], \"default\": null, \"enum\": [null, \"all\", "
	    "\"running\", \"success\", \"error\", \"interrupted\", \"cancelled\"], "
	    "\"description\": \"Only those of this status; all by default\"}}}",
	.run = run_list,
};

const struct tool *const async_subagent_tools[] = { &start, &check, &update, &cancel,
	&list, NULL };
