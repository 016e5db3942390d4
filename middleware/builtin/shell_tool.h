/* shell_tool: what another middleware takes over that gives the model the same shell under a provider's own name. */
#ifndef SHELL_TOOL_H
#define SHELL_TOOL_H

#include "middleware.h"

/* For its struct middleware; its configure() calls shell_configure_as (shell_options.h). */
extern const struct field shell_fields[];
extern const char *const shell_reads[];
extern const struct tool *const shell_tools[];
const struct value *shell_before_agent(struct turn *turn);
const struct value *shell_after_agent(struct turn *turn);

#endif
