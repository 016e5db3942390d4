/* copy: a thread into a new one. */
#include <inttypes.h>
#include <stdio.h>

#include "command.h"
#include "find.h"
#include "submit.h"
#include "store_past.h"
#include "tame.h"

struct copy_settings {
	struct submit_settings submit;
	int64_t at;
};

static const struct setting table[] = {
	COMMON_SETTINGS,
	{ "at", SETTING_INTEGER, offsetof(struct copy_settings, at), NULL, 1, INT64_MAX,
	    NULL, "up to this version, as `flotilla history` shows it (default: all)",
	    0 },
	SETTINGS_END,
};

static enum status
copy(struct session *session, const struct copy_settings *settings, const char *agent,
    const char *source, const char *thread)
{
	struct submit_settings submit = settings->submit;
	struct arena *arena = session_arena(session);
	const char *run = submit_run_id(arena);
	enum status status;

	submit.silent = true;
	status = submit_entry(session, &submit, run, thread,
	    value_map(arena, "agent", value_str(arena, agent), "run",
		value_str(arena, run), "thread", value_str(arena, thread), "copy_of",
		value_str(arena, source), "checkpoint",
		submit_version(arena, settings->at), NULL));
	if (status != STATUS_OK)
		return status;
	if (session_json(session))
		printf("%s\n",
		    tame_json(arena, value_map(arena, "thread", value_str(arena, thread),
					 "run", value_str(arena, run), NULL)));
	else
		printf("%s\n", thread);
	return STATUS_OK;
}

static enum status
run_copy_command(struct session *session, const void *given, const char *const *rest)
{
	const struct copy_settings *settings = given;
	const struct value *state = NULL;
	const char *agent;
	struct store_past past;
	enum status status = find_argument(rest[0], "THREAD");

	if (status == STATUS_OK)
		status = find_argument(rest[1], "NEW");
	if (status != STATUS_OK || !submit_check_id("NEW", rest[1]))
		return STATUS_USAGE;
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	status = find_outcome(session,
	    store_thread(session_store(session), session_arena(session), rest[0], &state),
	    rest[0]);
	if (status != STATUS_OK)
		return status;
	agent = value_get_text(value_get(state, "head"), "agent");
	/* Looked at here, too: a run that fails has taken the name. */
	if (agent != NULL && settings->at != 0)
		status = find_checkpoint(session, rest[0], settings->at, &past);
	if (status != STATUS_OK)
		return status;
	if (agent != NULL)
		return copy(session, settings, agent, rest[0], rest[1]);
	complain("thread '%s' has nothing yet that could be copied", rest[0]);
	return STATUS_FAILED;
}

const struct command command_copy = {
	.name = "copy",
	.usage = "THREAD NEW",
	.summary = "copies a thread with its history into a new one",
	.text =
	    "Copies a thread's messages, fields and checkpoints into thread NEW, whole "
	    "or up to a version. Runs and their event logs stay with the old one.",
	.table = table,
	.settings_size = sizeof(struct copy_settings),
	.arguments_max = 2,
	.run = run_copy_command,
};
