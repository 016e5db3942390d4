/* respond: a human answers a call of a tool in the tool's place. */
#include "decide.h"

static const struct setting table[] = {
	COMMON_SETTINGS,
	{ "message", SETTING_TEXT, DECIDE_SETTING(message), NULL, 0, 0, NULL,
	    "what the model gets as the tool's answer", 'm' },
	DECIDE_SETTINGS,
	SETTINGS_END,
};

static enum status
run_respond(struct session *session, const void *given, const char *const *rest)
{
	const struct decide_settings *settings = given;
	struct arena *arena = session_arena(session);

	if (settings->message == NULL) {
		complain("--message TEXT is wanted: what the model gets as the tool's "
			 "answer");
		return STATUS_USAGE;
	}
	return decide(session, settings, rest,
	    value_map(arena, "type", value_str(arena, "respond"), "message",
		value_str(arena, settings->message), NULL),
	    true);
}

const struct command command_respond = {
	.name = "respond",
	.usage = DECIDE_USAGE,
	.summary = "answers a call that waits for a human, in the tool's place",
	.text =
	    "Answers the ACTION, by number or id as `flotilla approvals` has it, with "
	    "a text of one's own: the tool does not run.",
	.table = table,
	.settings_size = sizeof(struct decide_settings),
	.arguments_max = ARGUMENTS_ANY,
	.run = run_respond,
};
