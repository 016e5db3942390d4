/* shell_options: the settings of shell_tool (shell_tool.c). */
#ifndef SHELL_OPTIONS_H
#define SHELL_OPTIONS_H

#include "middleware.h"

#define SHELL_TOOL_NAME "shell" /* unless the setting tool_name says otherwise */

extern const struct option shell_options[];

/* Checks what the table cannot say, and gives the first tool of use its name and description. As
 * configure() of struct middleware. */
int shell_configure(
    struct arena *arena, struct middleware_use *use, const char **error_r);

/* Applies the setting redaction_rules to text. Returns what is left, in arena; adds what was found
 * to matches, [{pii_type, count}]. With *is_blocked_r a sentence for the model instead. */
const char *shell_redact(struct arena *arena, const struct value *settings,
    const char *text, struct value_list *matches, bool *is_blocked_r);

#endif
