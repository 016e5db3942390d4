/* runs: the newest runs of all threads. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "json.h"
#include "nearest.h"
#include "show.h"

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

static const char *const states[] = { "queued", "running", "success", "error",
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

static const char *
text_or_dash(const struct value *run, const char *key)
{
	const char *text = value_get_text(run, key);

	return text != NULL ? text : "-";
}

/* The widest of a column, so that a table is no wider than what is in it. */
static int
column_width(const struct value *runs, const char *key, const char *title)
{
	size_t width = strlen(title), i;

	for (i = 0; i < value_size(runs); i++) {
		size_t size = strlen(text_or_dash(value_at(runs, i), key));

		width = size > width ? size : width;
	}
	return (int)width;
}

static void
print_run(struct arena *arena, const struct value *run, int id_width, int agent_width)
{
	int64_t started = value_get_int(run, "started", 0);
	int64_t ended = value_get_int(run, "ended", 0);
	const struct value *fault = value_get(run, "fault");
	const char *thread = text_or_dash(run, "thread"), *id = text_or_dash(run, "run");
	const char *took = "-", *type = value_get_text(fault, "type");

	if (started > 0)
		took = show_duration(arena, (ended > 0 ? ended : wall_ms()) - started);
	printf("%-*s  %-11s  %-12s  %9s  %-*s  %s\n", id_width, id,
	    text_or_dash(run, "status"),
	    show_date(arena, value_get_int(run, "created", 0)), took, agent_width,
	    text_or_dash(run, "agent"), strcmp(thread, id) == 0 ? "(same id)" : thread);
	if (value_is(fault, VALUE_MAP))
		printf("    %s\n",
		    show_line(arena,
			arena_printf(arena, "%s%s%s", type != NULL ? type : "",
			    type != NULL ? ": " : "", text_or_dash(fault, "message")),
			show_rest(4)));
}

static void
print_runs(struct arena *arena, const struct value *runs)
{
	int id_width = column_width(runs, "run", "RUN");
	int agent_width = column_width(runs, "agent", "AGENT");
	size_t i;

	printf("%-*s  %-11s  %-12s  %9s  %-*s  %s\n", id_width, "RUN", "STATUS",
	    "SUBMITTED", "TOOK", agent_width, "AGENT", "THREAD");
	for (i = 0; i < value_size(runs); i++)
		print_run(arena, value_at(runs, i), id_width, agent_width);
}

static enum status
run_runs(struct session *session, const void *given, const char *const *rest)
{
	const struct runs_settings *settings = given;
	struct arena *arena = session_arena(session);
	const struct value *runs;
	enum store_status status;

	(void)rest;
	if (check_state(settings->state) != STATUS_OK)
		return STATUS_USAGE;
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
	print_runs(arena, runs);
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
