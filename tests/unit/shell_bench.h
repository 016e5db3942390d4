/* shell_bench: a tool worker's side of shell_tool: shells that begin, run commands and end, with real
 * programs, on a loop of the test's own. */
#ifndef SHELL_BENCH_H
#define SHELL_BENCH_H

#include "has.h"
#include "tool_trial.h"

#define FIELD "shell_session_resources"

extern struct shell_bench {
	struct tool_trial trial;
	struct arena *arena;
	char *folder; /* an empty one */
	const struct middleware_use *use;
} shell;

/* Checked fixtures. No shell is left behind. */
void shell_set_up(void);
void shell_tear_down(void);

/* Begins the run's shell; settings: the inside of a literal. */
void shell_begin(const char *settings);

/* The model calls the tool with args, a literal; with a command, whose answer, with that status, it
 * returns. */
void shell_tool(const char *args);
const char *shell_run(const char *command, const char *status);

/* The same of any tool; internal: the middleware whose internal tool it is, or NULL. What is answered
 * of the session is the state from then on. */
void shell_call(const struct value *definition, const char *internal, const char *args);

/* Of the last answer. */
const struct value *shell_update(void);
const struct value *shell_message(void);
const struct value *shell_artifact(const char *key);

#endif
