#include "shell_bench.h"

#include <check.h>
#include <string.h>

#include "children.h"
#include "hook_stub.h"
#include "json.h"
#include "literal.h"
#include "process.h"
#include "registry.h"
#include "shell_session.h"

struct shell_bench shell;

void
shell_set_up(void)
{
	tool_trial_open(&shell.trial);
	shell.arena = shell.trial.arena;
	shell.folder = folder_new();
}

void
shell_tear_down(void)
{
	shell_sessions_close(shell.trial.loop);
	process_close();
	folder_remove(&shell.folder);
	tool_trial_close(&shell.trial);
}

const struct value *
shell_update(void)
{
	return value_get(value_at(value_get(shell.trial.body, "commands"), 0), "update");
}

const struct value *
shell_message(void)
{
	return value_at(value_get(shell_update(), "messages"), 0);
}

const struct value *
shell_artifact(const char *key)
{
	return value_get(value_get(shell_message(), "artifact"), key);
}

void
shell_call(const struct value *definition, const char *internal, const char *args)
{
	shell.trial.internal = internal;
	shell.trial.chain = stub_chain(shell.arena, shell.use, NULL);
	tool_trial_call(&shell.trial, definition, args);
	if (value_has(shell_update(), FIELD))
		shell.trial.state =
		    value_map(shell.arena, FIELD, value_get(shell_update(), FIELD), NULL);
}

void
shell_begin(const char *settings)
{
	const char *path = "", *error = "";

	shell.use = registry_use(shell.arena, "shell_tool",
	    literal(shell.arena, arena_printf(shell.arena, "{%s}", settings)), &path,
	    &error);
	ck_assert_msg(shell.use != NULL, "%s: %s", path, error);
	shell_call(literal(shell.arena, "{'name': 'start_shell'}"), "shell_tool", "{}");
}

void
shell_tool(const char *args)
{
	shell_call(value_at(shell.use->tools, 0), NULL,
	    json_text(shell.arena, literal(shell.arena, args)));
}

const char *
shell_run(const char *command, const char *status)
{
	shell_call(value_at(shell.use->tools, 0), NULL,
	    json_text(shell.arena, value_map(shell.arena, "command",
				       value_str(shell.arena, command), NULL)));
	return tool_trial_answer(&shell.trial, status);
}
