/* reject: calls of tools that wait for a human do not run. */
#include "decide.h"

static const struct setting table[] = {
	COMMON_SETTINGS,
	{ "message", SETTING_TEXT, DECIDE_SETTING(message), NULL, 0, 0, NULL,
	    "the reason, which the model is told", 'm' },
	DECIDE_SETTINGS,
	SETTINGS_END,
};

static enum status
run_reject(struct session *session, const void *given, const char *const *rest)
{
	const struct decide_settings *settings = given;
	struct arena *arena = session_arena(session);

	return decide(session, settings, rest,
	    value_map(arena, "type", value_str(arena, "reject"), "message",
		settings->message != NULL ? value_str(arena, settings->message) : NULL,
		NULL),
	    false);
}

const struct command command_reject = {
	.name = "reject",
	.usage = DECIDE_USAGE,
	.summary = "keeps calls of tools from running that wait for a human",
	.text = "Rejects the ACTIONs, by number or id as `flotilla approvals` has them, "
		"or all that wait there; the model is told, and goes on.",
	.table = table,
	.settings_size = sizeof(struct decide_settings),
	.arguments_max = ARGUMENTS_ANY,
	.run = run_reject,
};
