/* watch: one run from its first event, or all that happens now. */

#include "command.h"
#include "find.h"
#include "follow.h"
#include "watch_all.h"

static enum status
run_watch(struct session *session, const void *settings, const char *const *rest)
{
	struct follow_options options = { .json = session_json(session), .tokens = true };
	const char *thread;
	enum status status;

	(void)settings;
	if (rest[0] == NULL)
		return watch_all(session);
	status = find_thread_of(session, rest[0], &thread);
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
	.table = command_common_table,
	.settings_size = sizeof(struct common_settings),
	.arguments_max = 1,
	.run = run_watch,
};
