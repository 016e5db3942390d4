/* cancel: ends a run, and waits until it has ended. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "find.h"
#include "follow.h"
#include "json.h"

static enum status
run_cancel_command(struct session *session, const void *settings, const char *const *rest)
{
	struct follow_options quiet = { .quiet = true };
	struct arena *arena = session_arena(session);
	const char *thread, *answer, *ended;
	enum store_status stored;
	enum status status;

	(void)settings;
	if (find_argument(rest[0], "RUN") != STATUS_OK)
		return STATUS_USAGE;
	status = find_thread_of(session, rest[0], &thread);
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
	.table = command_common_table,
	.settings_size = sizeof(struct common_settings),
	.arguments_max = 1,
	.run = run_cancel_command,
};
