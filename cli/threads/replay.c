/* replay: runs once more what followed a checkpoint. */
#include <inttypes.h>
#include <string.h>

#include "command.h"
#include "find.h"
#include "submit.h"
#include "store_past.h"

struct replay_settings {
	struct submit_settings submit;
	int64_t at;
};

#define SETTING(field) offsetof(struct replay_settings, field)
static const struct setting table[] = {
	COMMON_SETTINGS,
	{ "at", SETTING_INTEGER, SETTING(at), NULL, 1, INT64_MAX, NULL,
	    "the version to begin at, as `flotilla history` shows it (default: the "
	    "newest)",
	    0 },
	{ "context", SETTING_TEXT, SETTING(submit.context), NULL, 0, 0, NULL,
	    "the run's static context as JSON, over that of a run that waits or failed "
	    "there",
	    0 },
	{ "run-id", SETTING_TEXT, SETTING(submit.run), NULL, 0, 0, NULL,
	    "the run's id; submitting the same id twice runs once (default: a fresh one)",
	    0 },
	{ "wait", SETTING_BOOL, SETTING(submit.wait), NULL, 0, 0, NULL,
	    "wait for the end and print the answer", 'w' },
	{ "follow", SETTING_BOOL, SETTING(submit.follow), NULL, 0, 0, NULL,
	    "show each step and token as it happens", 'f' },
	SETTINGS_END,
};

static enum status
run_replay(struct session *session, const void *given, const char *const *rest)
{
	const struct replay_settings *settings = given;
	struct arena *arena = session_arena(session);
	const char *run, *thread = rest[0];
	struct store_past past = { 0 };
	enum status status = find_argument(thread, "THREAD");

	if (status == STATUS_OK &&
	    (!submit_check_id("--run-id", settings->submit.run) ||
		!submit_check_json(arena, "context", settings->submit.context)))
		status = STATUS_USAGE;
	if (status == STATUS_OK)
		status = find_checkpoint(session, thread, settings->at, &past);
	if (status != STATUS_OK)
		return status;
	run = settings->submit.run != NULL ? settings->submit.run : submit_run_id(arena);
	return submit_entry(session, &settings->submit, run, thread,
	    value_map(arena, "agent", value_get(past.head, "agent"), "run",
		value_str(arena, run), "thread", value_str(arena, thread), "checkpoint",
		submit_version(arena, (int64_t)past.version), "context",
		settings->submit.context != NULL
		    ? value_str(arena, settings->submit.context)
		    : NULL,
		"stream", settings->submit.follow ? value_str(arena, "1") : NULL, NULL));
}

const struct command command_replay = {
	.name = "replay",
	.usage = "THREAD",
	.summary = "runs once more what followed a checkpoint",
	.text =
	    "Puts a thread back to one of its checkpoints and goes on from there, as a "
	    "new run. What came after it stays in the history; it leaves the "
	    "conversation.",
	.table = table,
	.settings_size = sizeof(struct replay_settings),
	.arguments_max = 1,
	.run = run_replay,
};
