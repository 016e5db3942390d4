/* edit: another call runs than the one that waits for a human. */
#include <string.h>

#include "decide.h"
#include "json.h"

static const struct setting table[] = {
	COMMON_SETTINGS,
	{ "args", SETTING_TEXT, DECIDE_SETTING(args), NULL, 0, 0, NULL,
	    "the arguments it runs with, all of them, as JSON", 0 },
	{ "name", SETTING_TEXT, DECIDE_SETTING(name), NULL, 0, 0, NULL,
	    "the tool that runs (default: the one that was called)", 0 },
	DECIDE_SETTINGS,
	SETTINGS_END,
};

static enum status
run_edit(struct session *session, const void *given, const char *const *rest)
{
	const struct decide_settings *settings = given;
	struct arena *arena = session_arena(session);
	const struct value *args;
	const char *error = "no map";

	if (settings->args == NULL) {
		complain("--args JSON is wanted: the arguments it is to run with");
		return STATUS_USAGE;
	}
	args = json_parse(arena, settings->args, strlen(settings->args), &error);
	if (!value_is(args, VALUE_MAP)) {
		complain("--args '%s': a JSON map is wanted: %s", settings->args,
		    args == NULL ? error : "this is none");
		return STATUS_USAGE;
	}
	return decide(session, settings, rest,
	    value_map(arena, "type", value_str(arena, "edit"), "edited_action",
		value_map(arena, "name",
		    settings->name != NULL ? value_str(arena, settings->name) : NULL,
		    "args", args, NULL),
		NULL),
	    true);
}

const struct command command_edit = {
	.name = "edit",
	.usage = DECIDE_USAGE,
	.summary = "lets another call run than the one that waits for a human",
	.text = "The ACTION, by number or id as `flotilla approvals` has it, runs with "
		"other arguments, or is another tool's call. They are held against the "
		"tool's schema and its policy before anything runs.",
	.table = table,
	.settings_size = sizeof(struct decide_settings),
	.arguments_max = ARGUMENTS_ANY,
	.run = run_edit,
};
