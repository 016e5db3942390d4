/* command_check: what a run's command names, looked for in its agent before it is submitted: whoever mistyped a node hears so at
 * once. Coordinators look again. */
#ifndef COMMAND_CHECK_H
#define COMMAND_CHECK_H

#include "api.h"

/* command: as of run_body.h, or NULL. Returns false after answering that the agent has no such node or field, that a field takes no such value, or is
 * not the tenant's to write. Of an agent that cannot be compiled here only what a tenant writes is looked at. */
bool command_check(struct call *call, const char *agent, const struct value *command);

#endif
