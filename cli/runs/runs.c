/* runs: the newest runs of all threads. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "asks.h"
#include "command.h"
#include "nearest.h"
#include "show.h"
#include "show_table.h"
#include "store_fleet.h"
#include "submit_options.h"
#include "tame.h"

static int64_t
wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct runs_settings {
	struct common_settings common;
	int64_t limit;
	const char *state, *tenant;
	const char **metadata; /* "name=text" */
	bool dead;
};
static const struct setting runs_table[] = {
	COMMON_SETTINGS,
	{ "limit", SETTING_INTEGER, offsetof(struct runs_settings, limit), "20", 1, 10000,
	    NULL, "how many", 'n' },
	{ "state", SETTING_TEXT, offsetof(struct runs_settings, state), NULL, 0, 0, NULL,
	    "only those delayed, queued, running, success, error, interrupted, cancelled "
	    "or refused",
	    0 },
	{ "tenant", SETTING_TEXT, offsetof(struct runs_settings, tenant), NULL, 0, 0,
	    NULL, "only this tenant's", 0 },
	{ "metadata", SETTING_LIST, offsetof(struct runs_settings, metadata), NULL, 0, 0,
	    NULL, "only those with NAME=TEXT; may be given several times", 0 },
	{ "dead", SETTING_BOOL, offsetof(struct runs_settings, dead), NULL, 0, 0, NULL,
	    "only dead letters: runs that were given up, and why", 0 },
	SETTINGS_END,
};

static const char *const states[] = { "delayed", "queued", "running", "success", "error",
	"interrupted", "cancelled", "refused" };
#define STATE_COUNT (sizeof states / sizeof *states)

static enum status
check_state(const char *state)
{
	const char *near;
	size_t i;

	if (state == NULL)
		return STATUS_OK;
	for (i = 0; i < STATE_COUNT; i++)
		if (strcmp(states[i], state) == 0)
			return STATUS_OK;
	near = nearest_name(state, states, STATE_COUNT);
	complain("--state '%s': no run is ever that%s%s%s; `flotilla runs --help` lists "
		 "the states",
	    state, near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
	    near != NULL ? "'?" : "");
	return STATUS_USAGE;
}

/* What looks like a filter is an address here, as in every command. */
static enum status
check_filters(const struct runs_settings *settings)
{
	const char *const *list = (const char *const *)settings->common.statuses;
	const char *status = list != NULL ? *list : NULL;

	if (status != NULL && strstr(status, "://") == NULL) {
		complain(
		    "--status is the address of the status channel, and '%s' is none; "
		    "the filter is --state %s",
		    status, status);
		return STATUS_USAGE;
	}
	if (settings->dead && (settings->state != NULL || settings->tenant != NULL ||
				  *settings->metadata != NULL)) {
		complain("--dead and --state, --tenant, --metadata exclude each other");
		return STATUS_USAGE;
	}
	return check_state(settings->state);
}

/* What its submission said beside the usual. */
static void
print_more(struct arena *arena, const struct value *run)
{
	const struct value *metadata = value_get(run, "metadata");
	const char *tenant = value_get_text(run, "tenant"), *text = "";
	int64_t priority = value_get_int(run, "priority", PRIORITY_USUAL);
	size_t i;

	if (value_text_is(value_get(run, "status"), "delayed"))
		text = arena_printf(
		    arena, " starts %s", show_date(arena, value_get_int(run, "at", 0)));
	if (value_has(run, "parent"))
		text = arena_printf(arena, "%s %s %s", text,
		    value_has(run, "task") ? "works for" : "of",
		    show_cell(run, "parent"));
	if (value_has(run, "started_by"))
		text = arena_printf(
		    arena, "%s begun by thread %s", text, show_cell(run, "started_by"));
	if (priority != PRIORITY_USUAL)
		text = arena_printf(arena, "%s priority=%d", text, (int)priority);
	if (tenant != NULL)
		text = arena_printf(arena, "%s tenant=%s", text, tenant);
	for (i = 0; i < value_size(metadata); i++) {
		const struct value *value = metadata->pairs[i].value;

		text = arena_printf(arena, "%s %s=%s", text, metadata->pairs[i].key->text,
		    value_is(value, VALUE_STR) ? value->text : tame_json(arena, value));
	}
	if (value_has(run, "webhook_state"))
		text = arena_printf(arena, "%s webhook %s%s%s", text,
		    value_get_text(run, "webhook_state"),
		    value_has(run, "webhook_said") ? ": " : "",
		    value_has(run, "webhook_said") ? value_get_text(run, "webhook_said")
						   : "");
	if (*text != '\0')
		printf("   %s\n", show_line(arena, text, show_rest(3)));
}

/* What it asks, while nobody has answered all of it or left it behind. */
static void
print_asks(struct session *session, const struct value *run)
{
	struct arena *arena = session_arena(session);
	const char *thread = value_get_text(run, "thread"), *id = show_cell(run, "run");
	const struct value *head;

	/* A child's questions are its parent's. */
	if (thread != NULL && value_size(value_get(run, "interrupts")) > 0 &&
	    !value_has(run, "task") &&
	    store_head(session_store(session), arena, thread, &head) == STORE_OK &&
	    value_text_is(value_get(head, "run"), id))
		show_asks(arena, asks_of(arena, head), "    ");
}

/* How wide the columns are that what is in them decides, and all of them. */
struct columns {
	int id, by, agent;
	size_t all;
};

static const char *
thread_of(const struct value *run)
{
	const char *thread = show_cell(run, "thread");

	return strcmp(thread, show_cell(run, "run")) == 0 ? "(same id)" : thread;
}

static struct columns
measure(const struct value *runs, size_t others)
{
	struct columns columns = { .id = show_column(runs, "run", "RUN"),
		.by = show_column(runs, "coordinator", "LAST AT"),
		.agent = show_column(runs, "agent", "AGENT") };
	size_t thread = strlen("THREAD"), i;

	for (i = 0; i < value_size(runs); i++) {
		size_t size = strlen(thread_of(value_at(runs, i)));

		thread = size > thread ? size : thread;
	}
	columns.all = (size_t)(columns.id + columns.agent) + thread + others;
	return columns;
}

static void
print_line(struct arena *arena, const struct columns *columns, const char *const cells[6])
{
	show_row(arena, columns->all,
	    arena_printf(arena, "%-*s  %-11s", columns->id, cells[0], cells[1]),
	    arena_printf(arena, "%-12s  %9s  %-*s  %s", cells[2], cells[3],
		columns->agent, cells[4], cells[5]));
}

static void
print_run(struct session *session, const struct columns *columns, const struct value *run)
{
	struct arena *arena = session_arena(session);
	int64_t started = value_get_int(run, "started", 0);
	int64_t ended = value_get_int(run, "ended", 0);
	const struct value *fault = value_get(run, "fault");
	const char *took = "-", *type = value_get_text(fault, "type");

	if (started > 0)
		took = show_duration(arena, (ended > 0 ? ended : wall_ms()) - started);
	print_line(arena, columns,
	    (const char *const[]){ show_cell(run, "run"), show_cell(run, "status"),
		show_date(arena, value_get_int(run, "created", 0)), took,
		show_cell(run, "agent"), thread_of(run) });
	print_more(arena, run);
	print_asks(session, run);
	if (value_is(fault, VALUE_MAP))
		printf("    %s\n",
		    show_line(arena,
			arena_printf(arena, "%s%s%s", type != NULL ? type : "",
			    type != NULL ? ": " : "", show_cell(fault, "message")),
			show_rest(4)));
}

static void
print_runs(struct session *session, const struct value *runs)
{
	struct columns columns = measure(runs, 11 + 12 + 9 + 5 * 2);
	size_t i;

	print_line(session_arena(session), &columns,
	    (const char *const[]){
		"RUN", "STATUS", "SUBMITTED", "TOOK", "AGENT", "THREAD" });
	for (i = 0; i < value_size(runs); i++)
		print_run(session, &columns, value_at(runs, i));
}

/* --- dead letters ------------------------------------------------------------------- */

static void
print_dead_line(
    struct arena *arena, const struct columns *columns, const char *const cells[6])
{
	show_row(arena, columns->all,
	    arena_printf(arena, "%-*s  %-12s", columns->id, cells[0], cells[1]),
	    arena_printf(arena, "%8s  %-*s  %-*s  %s", cells[2], columns->by, cells[3],
		columns->agent, cells[4], cells[5]));
}

static void
print_dead(struct arena *arena, const struct value *runs)
{
	struct columns columns = measure(runs, 12 + 8 + 5 * 2);
	size_t i;

	columns.all += (size_t)columns.by;
	print_dead_line(arena, &columns,
	    (const char *const[]){
		"RUN", "GIVEN UP", "ATTEMPTS", "LAST AT", "AGENT", "THREAD" });
	for (i = 0; i < value_size(runs); i++) {
		const struct value *run = value_at(runs, i);

		print_dead_line(arena, &columns,
		    (const char *const[]){ show_cell(run, "run"),
			show_date(arena, value_get_int(run, "ended", 0)),
			arena_printf(arena, "%d", (int)value_get_int(run, "attempts", 0)),
			show_cell(run, "coordinator"), show_cell(run, "agent"),
			thread_of(run) });
		printf(
		    "    %s\n", show_line(arena, show_cell(run, "dead"), show_rest(4)));
	}
	if (value_size(runs) > 0 && isatty(STDOUT_FILENO))
		printf("`flotilla retry RUN` submits one again, `flotilla discard RUN` "
		       "forgets it\n");
}

static enum status
run_runs(struct session *session, const void *given, const char *const *rest)
{
	const struct runs_settings *settings = given;
	struct arena *arena = session_arena(session);
	struct run_filter filter = { settings->state, settings->tenant, NULL };
	const struct value *runs;
	enum store_status status;

	(void)rest;
	if (check_filters(settings) != STATUS_OK)
		return STATUS_USAGE;
	filter.metadata = submit_metadata(arena, (const char *const *)settings->metadata);
	if (filter.metadata == NULL)
		return STATUS_USAGE;
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	status = settings->dead ? store_dead(session_store(session), arena,
				      (size_t)settings->limit, &runs)
				: store_find_runs(session_store(session), arena,
				      (size_t)settings->limit, &filter, &runs);
	if (status != STORE_OK)
		return (enum status)session_store_failed(session, status);
	if (session_json(session)) {
		printf("%s\n", tame_json(arena, runs));
		return STATUS_OK;
	}
	if (settings->dead)
		print_dead(arena, runs);
	else
		print_runs(session, runs);
	return STATUS_OK;
}

const struct command command_runs = {
	.name = "runs",
	.usage = "",
	.summary = "lists the newest runs",
	.table = runs_table,
	.settings_size = sizeof(struct runs_settings),
	.arguments_max = 0,
	.run = run_runs,
};
