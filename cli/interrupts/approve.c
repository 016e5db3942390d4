/* approve: lets calls of tools run that wait for a human. */
#include "decide.h"

static const struct setting table[] = { COMMON_SETTINGS, DECIDE_SETTINGS, SETTINGS_END };

static enum status
run_approve(struct session *session, const void *given, const char *const *rest)
{
	struct arena *arena = session_arena(session);

	return decide(session, given, rest,
	    value_map(arena, "type", value_str(arena, "approve"), NULL), false);
}

const struct command command_approve = {
	.name = "approve",
	.usage = DECIDE_USAGE,
	.summary = "lets calls of tools run that wait for a human",
	.text =
	    "Approves the ACTIONs, by number or id as `flotilla approvals` has them, "
	    "or all that wait there. Returns when the answer was taken; with status 7 "
	    "when it was not: somebody else was first.",
	.table = table,
	.settings_size = sizeof(struct decide_settings),
	.arguments_max = ARGUMENTS_ANY,
	.run = run_approve,
};
