/* shell_options: the settings of shell_tool (shell_tool.c), and of claude_bash_tool, which are those of
 * shell_options.def. */
#ifndef SHELL_OPTIONS_H
#define SHELL_OPTIONS_H

#include "middleware.h"

#define SHELL_TOOL_NAME "shell" /* unless the setting tool_name says otherwise */

#define SHELL_SECONDS_MAX 86400.0

extern const struct option shell_options[];
extern const char *const shell_policies[];

/* Checks what the table cannot say, and gives the first tool of use its name and description. As
 * configure() of struct middleware. */
int shell_configure(
    struct arena *arena, struct middleware_use *use, const char **error_r);
/* The same with a name and, unless NULL, a description of the tool that no setting says. */
int shell_configure_as(struct arena *arena, struct middleware_use *use, const char *name,
    const char *description, const char **error_r);

/* The shell and its arguments, [text]: the setting, or bash where there is none. */
const struct value *shell_command_of(const struct value *settings);

/* Applies the setting redaction_rules to text. Returns what is left, in arena; adds what was found
 * to matches, [{pii_type, count}]. With *is_blocked_r a sentence for the model instead. */
const char *shell_redact(struct arena *arena, const struct value *settings,
    const char *text, struct value_list *matches, bool *is_blocked_r);

#endif
