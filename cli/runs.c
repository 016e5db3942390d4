/* runs: the newest runs of all threads. */
#include <stdio.h>
#include <time.h>

#include "command.h"
#include "json.h"
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
