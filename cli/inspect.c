/* inspect: watch, state, history, runs, cancel: what the fleet has done and does. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chat.h"
#include "command.h"
#include "follow.h"
#include "json.h"
#include "show.h"
#include "watch_all.h"

static const struct setting common_table[] = { COMMON_SETTINGS, SETTINGS_END };

static int64_t
wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Finds the thread of run. Returns STATUS_OK, or says why not. */
static enum status
thread_of(struct session *session, const char *run, const char **thread_r)
{
	enum store_status status;

	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	status = store_run_thread(
	    session_store(session), session_arena(session), run, thread_r);
	if (status == STORE_NONE) {
		complain("run '%s' is not known; `flotilla runs` lists the newest", run);
		return STATUS_NOT_FOUND;
	}
	return status == STORE_OK ? STATUS_OK
				  : (enum status)session_store_failed(session, status);
}

/* --- state
 * ------------------------------------------------------------------------------- */

static void
print_thread(struct arena *arena, const struct value *thread)
{
	const struct value *head = value_get(thread, "head");
	const struct value *messages = value_get(thread, "messages");
	const struct value *fields = value_get(thread, "fields");
	const char *active = value_get_text(thread, "run");
	const char *status = value_get_text(head, "status");
	size_t i;

	printf("thread %s: %s, %zu messages, %" PRId64 " commits\n",
	    value_get_text(thread, "thread"),
	    active != NULL && *active != '\0' ? "running"
	    : status != NULL                  ? status
					      : "new",
	    value_size(messages), value_get_int(thread, "version", 0));
	if (value_get_text(head, "paused") != NULL)
		printf("paused: %s %s; `flotilla resume %s` goes on\n",
		    value_get_text(head, "paused"), value_get_text(head, "next"),
		    value_get_text(thread, "thread"));
	for (i = 0; i < value_size(messages); i++)
		show_message(arena, value_at(messages, i), "  ");
	for (i = 0; i < value_size(fields); i++) {
		const char *name = value_text(fields->pairs[i].key);

		printf("%s:\n", name);
		if (strcmp(name, "todos") == 0)
			show_todos(arena, fields->pairs[i].value, "  ");
		else
			printf("  %s\n", json_text(arena, fields->pairs[i].value));
	}
}

static enum status
run_state(struct session *session, const void *settings, const char *const *rest)
{
	struct arena *arena = session_arena(session);
	const struct value *thread;
	enum store_status status;

	(void)settings;
	if (rest[0] == NULL) {
		complain("which THREAD?");
		return STATUS_USAGE;
	}
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	status = store_thread(session_store(session), arena, rest[0], &thread);
	if (status == STORE_NONE) {
		complain("thread '%s' is not known", rest[0]);
		return STATUS_NOT_FOUND;
	}
	if (status != STORE_OK)
		return (enum status)session_store_failed(session, status);
	if (session_json(session))
		printf("%s\n", json_text(arena, thread));
	else
		print_thread(arena, thread);
	return STATUS_OK;
}

const struct command command_state = {
	.name = "state",
	.usage = "THREAD",
	.summary = "shows a thread's messages and fields",
	.table = common_table,
	.settings_size = sizeof(struct common_settings),
	.run = run_state,
};

/* --- history
 * ------------------------------------------------------------------------------ */

static void
print_checkpoint(struct arena *arena, const struct value *checkpoint)
{
	const struct value *fields = value_get(checkpoint, "fields");
	struct packet names = { 0 };
	size_t i;

	for (i = 0; i < value_size(fields); i++) {
		packet_append(&names, " ", 1);
		packet_append(
		    &names, fields->pairs[i].key->text, fields->pairs[i].key->size);
	}
	packet_append(&names, "", 1);
	printf("%4" PRId64 "  %s  %-20s step %-4" PRId64 " %-11s next %-24s +%" PRId64
	       " messages%s%s\n",
	    value_get_int(checkpoint, "version", 0),
	    show_time(arena, value_get_int(checkpoint, "at", 0)),
	    value_get_text(checkpoint, "run"), value_get_int(checkpoint, "step", 0),
	    value_get_text(checkpoint, "status"),
	    value_get_text(checkpoint, "next") != NULL
		? value_get_text(checkpoint, "next")
		: "-",
	    value_get_int(checkpoint, "count", 0),
	    value_size(fields) > 0 ? ", fields" : "", names.data);
	packet_release(&names);
}

static enum status
run_history(struct session *session, const void *settings, const char *const *rest)
{
	struct arena *arena = session_arena(session);
	const struct value *history;
	enum store_status status;
	size_t i;

	(void)settings;
	if (rest[0] == NULL) {
		complain("which THREAD?");
		return STATUS_USAGE;
	}
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	status = store_history(session_store(session), arena, rest[0], &history);
	if (status == STORE_NONE) {
		complain("thread '%s' is not known", rest[0]);
		return STATUS_NOT_FOUND;
	}
	if (status != STORE_OK)
		return (enum status)session_store_failed(session, status);
	if (session_json(session)) {
		printf("%s\n", json_text(arena, history));
		return STATUS_OK;
	}
	for (i = 0; i < value_size(history); i++)
		print_checkpoint(arena, value_at(history, i));
	return STATUS_OK;
}

const struct command command_history = {
	.name = "history",
	.usage = "THREAD",
	.summary = "lists a thread's checkpoints, oldest first",
	.table = common_table,
	.settings_size = sizeof(struct common_settings),
	.run = run_history,
};

/* --- runs
 * --------------------------------------------------------------------------------- */

struct runs_settings {
	struct common_settings common;
	int64_t limit;
	const char *state;
};
static const struct setting runs_table[] = {
	COMMON_SETTINGS,
	{ "limit", SETTING_INTEGER, offsetof(struct runs_settings, limit), "20", 1, 10000,
	    NULL, "how many", 'n' },
	{ "state", SETTING_TEXT, offsetof(struct runs_settings, state), NULL, 0, 0, NULL,
	    "only those queued, running, success, error, interrupted, cancelled or "
	    "refused",
	    0 },
	SETTINGS_END,
};

static void
print_run(struct arena *arena, const struct value *run)
{
	int64_t started = value_get_int(run, "started", 0);
	int64_t ended = value_get_int(run, "ended", 0);
	const struct value *fault = value_get(run, "fault");
	const char *took = "-";

	if (started > 0)
		took = show_duration(arena, (ended > 0 ? ended : wall_ms()) - started);
	printf("%-26s %-11s %-16s %-26s %s  %8s%s%s\n", value_get_text(run, "run"),
	    value_get_text(run, "status"),
	    value_get_text(run, "agent") != NULL ? value_get_text(run, "agent") : "-",
	    value_get_text(run, "thread"),
	    show_time(arena, value_get_int(run, "created", 0)), took,
	    value_is(fault, VALUE_MAP) ? "  " : "",
	    value_is(fault, VALUE_MAP)
		? show_line(arena, value_get_text(fault, "message"), 60)
		: "");
}

static enum status
run_runs(struct session *session, const void *given, const char *const *rest)
{
	const struct runs_settings *settings = given;
	struct arena *arena = session_arena(session);
	const struct value *runs;
	enum store_status status;
	size_t i;

	(void)rest;
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	status = store_runs(session_store(session), arena, (size_t)settings->limit,
	    settings->state, &runs);
	if (status != STORE_OK)
		return (enum status)session_store_failed(session, status);
	if (session_json(session)) {
		printf("%s\n", json_text(arena, runs));
		return STATUS_OK;
	}
	printf("%-26s %-11s %-16s %-26s %-12s  %8s\n", "RUN", "STATUS", "AGENT", "THREAD",
	    "SUBMITTED", "TOOK");
	for (i = 0; i < value_size(runs); i++)
		print_run(arena, value_at(runs, i));
	return STATUS_OK;
}

const struct command command_runs = {
	.name = "runs",
	.usage = "",
	.summary = "lists the newest runs",
	.table = runs_table,
	.settings_size = sizeof(struct runs_settings),
	.run = run_runs,
};

/* --- cancel
 * ------------------------------------------------------------------------------- */

static enum status
run_cancel_command(struct session *session, const void *settings, const char *const *rest)
{
	struct follow_options quiet = { .quiet = true };
	struct arena *arena = session_arena(session);
	const char *thread, *answer, *ended;
	enum store_status stored;
	enum status status;

	(void)settings;
	if (rest[0] == NULL) {
		complain("which RUN?");
		return STATUS_USAGE;
	}
	status = thread_of(session, rest[0], &thread);
	if (status != STATUS_OK)
		return status;
	stored =
	    store_cancel(session_store(session), arena, thread, rest[0], &answer, &ended);
	if (stored != STORE_OK)
		return (enum status)session_store_failed(session, stored);
	if (strcmp(answer, "ENDED") == 0) {
		complain("run '%s' has ended already (%s)", rest[0], ended);
		return STATUS_FAILED;
	}
	status = (enum status)follow_run(session, thread, rest[0], &quiet, NULL);
	if (status == STATUS_CANCELLED) {
		if (session_json(session))
			printf("{\"run\":%s,\"status\":\"cancelled\"}\n",
			    json_text(arena, value_str(arena, rest[0])));
		else
			printf("%s cancelled\n", rest[0]);
		return STATUS_OK;
	}
	complain("run '%s' ended before it could be cancelled", rest[0]);
	return STATUS_FAILED;
}

const struct command command_cancel = {
	.name = "cancel",
	.usage = "RUN",
	.summary = "cancels a run and waits until it has ended",
	.table = common_table,
	.settings_size = sizeof(struct common_settings),
	.run = run_cancel_command,
};

/* --- watch one run
 * ---------------------------------------------------------------------------- */

static enum status
run_watch(struct session *session, const void *settings, const char *const *rest)
{
	struct follow_options options = { .json = session_json(session), .tokens = true };
	const char *thread;
	enum status status;

	(void)settings;
	if (rest[0] == NULL)
		return watch_all(session);
	status = thread_of(session, rest[0], &thread);
	if (status != STATUS_OK)
		return status;
	return (enum status)follow_run(session, thread, rest[0], &options, NULL);
}

const struct command command_watch = {
	.name = "watch",
	.usage = "[RUN]",
	.summary =
	    "shows a run's events from its beginning, or everything that happens now",
	.text = "With RUN: its stored event log from the first event, then live, until "
		"it ends; the "
		"exit status is the run's. Without: the status channel of the fleet, "
		"until Ctrl-C.",
	.table = common_table,
	.settings_size = sizeof(struct common_settings),
	.run = run_watch,
};
